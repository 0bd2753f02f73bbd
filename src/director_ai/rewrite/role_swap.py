"""Exchanges the two sides of a statement: "The tenant pays the landlord" for "The landlord pays the tenant"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.rewrite.inflection import singular
from director_ai.rewrite.patches import Patch

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot
    from director_ai.rewrite.patches import Group

__all__ = ["swap_roles"]

_WORD: Final = re.compile(r"[^\W_][\w'’-]*")
_BEFORE_VERB: Final = frozenset(
    "is are was were be been being has have had do does did will would can could should may might must shall not never "
    "also only always more less most".split()
)
_AFTER_VERB: Final = frozenset("by to from than for with on at of into before after against".split())
_DETERMINERS: Final = frozenset(
    "the a an its his her their our your my this that these those all every each any both no one two three four".split()
)
_ENDS: Final = frozenset(
    "by to from than for with on at of in into before after during within when while if because and or but that which "
    "who is are was were has have will not per as since until".split()
)
_LONGEST: Final = 6
_TO_MANY: Final = {"is": "are", "was": "were", "has": "have", "does": "do"}
_TO_ONE: Final = {many: one for one, many in _TO_MANY.items()}
_MODALS: Final = frozenset("will would can could should may might must shall had did".split())


def swap_roles(clause: str, verb: Slot, other: Slot | None, evidence_text: str) -> Group:
    """Return the patches that exchange the phrases on either side of a verb; none where the clause is less plain."""
    subject = _phrase_before(clause, verb.start)
    thing = _phrase_after(clause, verb.end)
    if subject is None or thing is None or other is None:
        return ()
    first, second = clause[slice(*subject)], clause[slice(*thing)]
    if first.lower() == second.lower() or _is_pronoun(first) or _is_pronoun(second):
        return ()
    if not _is_crosswise(first, second, clause[verb.end : thing[0]], other, evidence_text):
        return ()
    agreed = _agree(clause, subject[1], verb, first, second)
    if agreed is None:
        return ()
    if subject[0] == 0 or clause[subject[0] - 1] in "\"'“(*":
        begins, inside = second[:1].upper() + second[1:], _lowered(first)
    else:
        begins, inside = second, first
    return (Patch(*subject, begins), *agreed, Patch(*thing, inside))


def _is_crosswise(first: str, second: str, link: str, other: Slot, evidence: str) -> bool:
    """Whether the evidence has the second phrase before the verb and the first after it, in the same voice."""
    before = {word.lower() for word in _WORD.findall(evidence[: other.start])}
    after = {word.lower() for word in _WORD.findall(evidence[other.end :])}
    is_passive = "by" in link.split()
    same_voice = is_passive == (evidence[other.end :].split()[:1] == ["by"])
    left, right = _WORD.findall(second)[-1].lower(), _WORD.findall(first)[-1].lower()
    return same_voice and left in before and right in after


def _agree(clause: str, start: int, verb: Slot, first: str, second: str) -> tuple[Patch, ...] | None:
    """What makes the verb agree with its new subject; None where that is not simple."""
    is_many, was_many = _is_plural(second), _is_plural(first)
    if is_many == was_many:
        return ()
    forms = _TO_MANY if is_many else _TO_ONE
    for found in _WORD.finditer(clause, start, verb.end):
        if found.group() in forms:
            return (Patch(found.start(), found.end(), forms[found.group()]),)
        if found.group() in _MODALS or found.group().endswith("ed"):
            return ()
    return None


def _is_plural(phrase: str) -> bool:
    head: str = _WORD.findall(phrase)[-1]
    return singular(head) != head and head[:1].islower()


def _is_pronoun(phrase: str) -> bool:
    return phrase.lower() in {
        "it",
        "he",
        "she",
        "they",
        "we",
        "you",
        "i",
        "this",
        "that",
        "there",
        "them",
        "him",
        "her",
    }


def _lowered(phrase: str) -> str:
    head, *_ = phrase.split(maxsplit=1)
    return phrase[:1].lower() + phrase[1:] if head.lower() in _DETERMINERS else phrase


def _phrase_before(clause: str, end: int) -> tuple[int, int] | None:
    """The subject: everything from the start, or from the last comma, up to the verb and its auxiliaries."""
    begin = max(clause.rfind(mark, 0, end) for mark in ",;:") + 1
    words = [(found.start(), found.end()) for found in _WORD.finditer(clause, begin, end)]
    while words and clause[slice(*words[-1])].lower() in _BEFORE_VERB:
        words.pop()
    if words and clause[slice(*words[-1])].lower() in _DETERMINERS:  # no verb but a noun: "the teacher of"
        return None
    if not words or len(words) > _LONGEST or any(clause[slice(*word)].lower() in _ENDS - {"of"} for word in words):
        return None
    return words[0][0], words[-1][1]


def _phrase_after(clause: str, start: int) -> tuple[int, int] | None:
    """The other side: the words after the verb and its preposition, up to the next one."""
    words: list[tuple[int, int]] = []
    at = start
    for found in _WORD.finditer(clause, start):
        word = found.group().lower()
        if clause[at : found.start()].strip() or (words and word in _ENDS):
            break
        at = found.end()
        if not words and (word in _AFTER_VERB or word in {"more", "less"} or word.endswith("er")):
            continue
        words.append((found.start(), found.end()))
    if not words or len(words) > _LONGEST or clause[slice(*words[-1])].lower() in _DETERMINERS:
        return None
    return words[0][0], words[-1][1]
