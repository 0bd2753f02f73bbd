"""Fits a new value into its clause: "a" or "an", one or many, "in" or "on", the full stop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.slots import CalendarDate
from director_ai.rewrite.amounts import is_one
from director_ai.rewrite.inflection import article_for, plural, singular, with_capital_of
from director_ai.rewrite.patches import Patch

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot
    from director_ai.rewrite.patches import Group

__all__ = ["fit_count", "fit_value"]

_ARTICLE: Final = re.compile(r"(?:^|(?<=[\s(\"“]))(an?)(\s+)$", re.IGNORECASE)
_DETERMINED: Final = re.compile(r"(?:an?|the|his|her|its|their|our|your|no|every|each)\s", re.IGNORECASE)
_PREPOSITION: Final = re.compile(r"(?:^|(?<=\s))(in|on|at)(\s+)$", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W\d_][\w'’-]*")
_THERE: Final = re.compile(r"\bthere\s+(is|are|was|were)\s+$", re.IGNORECASE)
_MANY: Final = {"is": "are", "was": "were", "has": "have", "does": "do"}
_ONE: Final = {many: one for one, many in _MANY.items()}
_REACH: Final = 24


def fit_value(clause: str, slot: Slot, new: str, evidence: Slot | None = None) -> Group:
    """Return the patches that put a new text in the place of a slot and make the words around it agree."""
    return _fit(clause, slot.start, slot.end, new, evidence)


def _fit(clause: str, start: int, end: int, new: str, evidence: Slot | None) -> Group:
    old = clause[start:end]
    if _begins_sentence(clause, start):
        new = new[:1].upper() + new[1:]
    if old.endswith(".") and not new.endswith(".") and end == len(clause):
        new += "."
    elif new.endswith(".") and clause[end : end + 1] == "." and not old.endswith("."):
        new = new[:-1]
    new, end = _with_possessive(clause, old, new, end)
    group = [Patch(start, end, new), *_fit_before(clause, start, new, evidence)]
    return tuple(sorted(patch for patch in group if clause[patch.start : patch.end] != patch.text))


def _begins_sentence(clause: str, start: int) -> bool:
    return clause[start : start + 1].isupper() and not clause[:start].strip(" \t\"'“‘(*_")


def _with_possessive(clause: str, old: str, new: str, end: int) -> tuple[str, int]:
    """The new text with the "'s" or "'" that the old one had."""
    if old.endswith(("'s", "’s")) and not new.endswith(("'s", "’s")):
        return new + old[-2:], end
    if new.endswith(("'s", "’s")) and not old.endswith(("'s", "’s")):
        new = new[:-2]
    mark = clause[end : end + 1]
    if mark and mark in "'’" and old.endswith("s") and clause[end + 1 : end + 2] in {" ", ""} and not new.endswith("s"):
        return f"{new}{mark}s", end + 1
    if mark and mark in "'’" and clause[end + 1 : end + 2] == "s" and new.endswith("s") and new[:1].isdigit():
        return f"{new}{mark}", end + 2
    return new, end


def _fit_before(clause: str, start: int, new: str, evidence: Slot | None) -> list[Patch]:
    before = clause[max(0, start - _REACH) : start]
    shift = start - len(before)
    if found := _ARTICLE.search(before):
        if _DETERMINED.match(new):
            return [Patch(shift + found.start(1), start, "")] if found.start(1) or shift else []
        article = with_capital_of(article_for(new), found[1])
        return [Patch(shift + found.start(1), shift + found.end(1), article)]
    if (found := _PREPOSITION.search(before)) and evidence and isinstance(evidence.value, CalendarDate):
        if "weekend" in new.lower():
            return []
        has_day = evidence.value.day is not None or evidence.value.weekdays is not None
        names_day = has_day and re.search(r"\b\d{1,2}(?!\d)|day", new) is not None
        word = with_capital_of("on" if names_day else "in", found[1])
        return [Patch(shift + found.start(1), shift + found.end(1), word)]
    return []


def fit_count(clause: str, claim: Slot, evidence: Slot) -> list[Patch]:
    """Return the patches of the counted noun, and of the verb beside it, where one became many or many one."""
    was_one, now_one = is_one(claim), is_one(evidence)
    if was_one == now_one or not claim.unit or claim.kind != "number" or claim.unit == "ordinal":
        return []
    found = _counted_noun(clause, claim)
    if found is None:
        return []
    noun = found.group()
    new = singular(noun) if now_one else plural(singular(noun))
    patches = [Patch(found.start(), found.end(), new)]
    verbs = _ONE if now_one else _MANY
    after = _WORD.search(clause, found.end())
    if after and not clause[found.end() : after.start()].strip() and after.group() in verbs:
        patches.append(Patch(after.start(), after.end(), verbs[after.group()]))
    elif there := _THERE.search(clause, 0, claim.start):
        verb = there[1]
        if verb in verbs:
            patches.append(Patch(there.start(1), there.end(1), verbs[verb]))
    return [patch for patch in patches if clause[patch.start : patch.end] != patch.text]


def _counted_noun(clause: str, claim: Slot) -> re.Match[str] | None:
    """The noun after a number, at most four words away."""
    at = claim.end
    for _ in range(4):
        found = _WORD.search(clause, at)
        if found is None or clause[at : found.start()].strip():
            return None
        if singular(found.group().lower()) == claim.unit or found.group().lower() == claim.unit:
            return found
        at = found.end()
    return None
