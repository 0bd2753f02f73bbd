"""Writes the evidence's amount the way the clause writes its own: "$90" beside "30 USD" becomes "$30"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.core.scoring.slots import Interval
from director_ai.core.scoring.slots.units import UNITS
from director_ai.rewrite.inflection import plural, singular
from director_ai.rewrite.number_words import (
    ordinal_ending,
    read_number,
    read_ordinal,
    spell_number,
    spell_ordinal,
)

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot

__all__ = ["is_one", "write_amount"]

_LEAD: Final = re.compile(
    r"(?:(?:at (?:the )?(?:very )?(?:least|most)|(?:no|not) (?:more|less|fewer|later|earlier) than|"
    r"(?:more|less|fewer|greater|higher|lower|longer|shorter|older|younger) than|up to|as (?:much|many|few|little) as|"
    r"(?:a |the )?(?:maximum|minimum|max|min) of|just (?:over|under)|over|under|above|below|exceed(?:s|ing)?|about|"
    r"around|approximately|approx|roughly|nearly|almost|some|circa|ca|within)\b\.?\s*|[~≥≤<>]\s*)+(?=\S)",
    re.IGNORECASE,
)
_TRAIL: Final = re.compile(
    r"\s*(?:\bor (?:more|less|fewer|over|under|older|younger|above|below|longer|later|earlier)|"
    r"\band (?:over|above|under|older)|\bat (?:the )?(?:most|least|latest|earliest)|\+)$",
    re.IGNORECASE,
)
_RATE: Final = re.compile(
    r"(?:\s*/\s*|\s+(?:per|an?|each|every)\s+)[a-z]+$|\s+(?:hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually)$",
    re.IGNORECASE,
)
_MONEY: Final = re.compile(
    r"(?P<before>(?:[A-Z]{1,3})?[$€£¥₹]\s?|[A-Z]{3}\s?)?"
    r"(?P<number>\d[\d,.]*(?:\s?(?:thousand|million|billion|trillion|[kmb]n?))?|[a-z]+(?:-[a-z]+)?)"
    r"(?P<after>\s?(?:[$€£¥₹]|[A-Z]{3}\b|(?:US |Swiss )?(?i:dollar|euro|pound|franc|yen|rupee|krone|krona|kroner)s?))?"
)
_PERCENT: Final = re.compile(r"(?P<number>[\d,.]+|[a-z]+(?:-[a-z]+)?)(?P<sign>\s?%|[\s-]per\s?cent)", re.IGNORECASE)
_MEASURE: Final = re.compile(
    r"(?:(?P<figure>\d[\d,.]*)(?P<gap>[\s-]?)|(?P<word>[a-z]+(?:-[a-z]+)?)(?P<space>[\s-]))"
    r"(?P<unit>(?!thousand|million|billion|trillion|hundred|dozen)[^\W\d]+)",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"\s+([a-z]+)\b")
_LINKS: Final = frozenset({"in", "of", "on", "from", "for", "at", "before", "after"})
_SHORT_WORDS: Final = frozenset({"day", "ton", "bit"})
_LIMIT_BEFORE: Final = re.compile(r"\b(?:as (?:long|far|late|old|high|low) as|within|by|until|(?:max|min)imum of)\s+$")
_STRICT: Final = frozenset({"more than", "less than"})
_UP: Final = frozenset({"at least", "more than"})
_FIRST: Final = re.compile(r"\d{1,2}(?![\d,.]*\d)|[a-z]+(?:-[a-z]+)?", re.IGNORECASE)


class _Parts(NamedTuple):
    """An amount in its parts: "at least", "18 years", " a week", " of age", " or more"."""

    lead: str
    core: str
    rate: str
    rest: str
    trail: str


def is_one(slot: Slot) -> bool:
    """Whether a slot counts exactly one."""
    return isinstance(slot.value, Interval) and slot.value == (1, 1)


def write_amount(claim: Slot, evidence: Slot, clause: str) -> str:
    """Return the text for the claim's place: the evidence's value, with the claim's words around it where they fit."""
    if claim.unit == "ordinal" and evidence.unit == "ordinal":
        return _write_rank(claim.text, evidence.text)
    ours, theirs = _split(claim), _split(evidence)
    core = _write_core(claim, ours.core, evidence, theirs.core)
    lead, trail = _choose_bound(claim, ours, evidence, theirs)
    if _LIMIT_BEFORE.search(clause[max(0, claim.start - 20) : claim.start]):
        lead = ours.lead
    rate = theirs.rate
    if ours.rate and (not rate or claim.per == evidence.per):
        rate = ours.rate
    elif rate and not ours.rate and _says_rate(clause, claim, evidence.per):
        rate = ""
    return f"{lead}{core}{rate}{ours.rest}{trail}"


def _split(slot: Slot) -> _Parts:
    text = slot.text.removesuffix("'s").removesuffix("’s")
    lead = _LEAD.match(text)
    at = lead.end() if lead else 0
    trail = _TRAIL.search(text, at)
    end = trail.start() if trail else len(text)
    rest = _rest(text, at, end, slot.unit) if trail else end
    rate = _RATE.search(text[:rest], at) if slot.per else None
    stop = rate.start() if rate and rate.start() > at else rest
    return _Parts(text[:at], text[at:stop], text[stop:rest], text[rest:end], text[end:])


def _rest(text: str, at: int, end: int, noun: str) -> int:
    """Where the words between an amount and its bound begin: the "toys" of "five toys at most"."""
    for found in _WORD.finditer(text, at + 1, end):
        if found[1] in _LINKS or (noun and singular(found[1]) == noun):
            return found.start()
    return end


def _choose_bound(claim: Slot, ours: _Parts, evidence: Slot, theirs: _Parts) -> tuple[str, str]:
    """The words of the bound: the claim's where the evidence has the same sense, otherwise the evidence's."""
    mine, other = claim.bound, evidence.bound
    has_words = bool(ours.lead or ours.trail)
    if "-" in ours.core and _MEASURE.fullmatch(ours.core):  # "a 14-day course" has no room for "more than"
        return ours.lead, ours.trail
    if not other:
        return (ours.lead, ours.trail) if mine not in _STRICT else ("", "")
    if mine == other or (mine and (mine in _UP) == (other in _UP) and "about" not in (mine, other)):
        if mine != other and mine in _STRICT | {other}:
            return theirs.lead, theirs.trail
        return (ours.lead, ours.trail) if has_words or not mine else ("", "")
    return theirs.lead, theirs.trail


def _says_rate(clause: str, claim: Slot, per: str) -> bool:
    rest = (clause[: claim.start] + clause[claim.end :]).lower()
    adverb = {"day": "daily", "year": "annual"}.get(per, f"{per}ly")
    return any(word in rest for word in (f"per {per}", f"each {per}", f"every {per}", f"a {per}", adverb))


def _write_core(claim: Slot, mine: str, evidence: Slot, other: str) -> str:
    if claim.kind == "money" and claim.unit == evidence.unit and (money := _write_money(mine, other)):
        return money
    if claim.kind == "percent" and (percent := _write_percent(mine, other)):
        return percent
    written = _write_measure(mine, other) if claim.kind in {"duration", "number"} else ""
    return written or _in_style(mine, other)


def _write_money(mine: str, other: str) -> str:
    """The evidence's number in the claim's currency signs or words."""
    ours, theirs = _MONEY.fullmatch(mine), _MONEY.fullmatch(other)
    if not ours or not theirs:
        return ""
    before, after = ours["before"] or "", ours["after"] or ""
    if not (before or after) or not (theirs["before"] or theirs["after"]):
        return ""
    number = theirs["number"] if before else _in_style(ours["number"], theirs["number"])
    if not number[:1].isdigit() and before:
        return ""
    if after.strip().isalpha() and after.strip().islower():
        after = plural(singular(after)) if number not in {"1", "one"} else singular(after)
    return f"{before}{number}{after}"


def _write_percent(mine: str, other: str) -> str:
    ours, theirs = _PERCENT.fullmatch(mine), _PERCENT.fullmatch(other)
    if not ours or not theirs:
        return ""
    number = _in_style(ours["number"], theirs["number"])
    if number.isalpha() and ours["sign"].strip() == "%":
        return ""
    return number + ours["sign"]


def _write_measure(mine: str, other: str) -> str:
    """The evidence's number and unit, with the claim's hyphen, and its word where that names the same unit."""
    ours, theirs = _measure(mine), _measure(other)
    if ours is None or theirs is None:
        return ""
    unit, own = theirs.unit, ours.unit
    if UNITS.get(own.lower()) == UNITS.get(unit.lower(), ("", 0)):
        unit = own
    if len(unit) < 4 and unit.lower() not in _SHORT_WORDS:  # an abbreviation has no plural
        return f"{theirs.number}{theirs.gap if unit != own else ours.gap}{unit}"
    number = _in_style(ours.number, theirs.number)
    is_attribute = ours.gap == "-"
    unit = singular(unit) if is_attribute or number.lower() in {"1", "one", "a", "an"} else plural(singular(unit))
    gap = "-" if is_attribute else " " if theirs.gap == "-" else theirs.gap
    return f"{number}{gap}{unit}"


class _Measure(NamedTuple):
    number: str
    gap: str
    unit: str


def _measure(text: str) -> _Measure | None:
    found = _MEASURE.fullmatch(text)
    if found is None:
        return None
    return _Measure(found["figure"] or found["word"], found["gap"] or found["space"] or "", found["unit"])


def _in_style(mine: str, other: str) -> str:
    """A small number in words where the claim's is in words, in figures where the claim's is in figures."""
    ours, theirs = _FIRST.match(mine), _FIRST.match(other)
    if not ours or not theirs:
        return other
    word = theirs.group()
    if word.isdigit() and read_number(ours.group()) is not None:
        styled = spell_number(int(word))
    elif mine[:1].isdigit() and (number := read_number(word)) is not None:
        styled = str(number)
    else:
        return other
    styled = styled[:1].upper() + styled[1:] if ours.group()[0].isupper() else styled
    return styled + other[theirs.end() :]


def _write_rank(mine: str, other: str) -> str:
    rank = read_ordinal(other)
    digits = re.match(r"(\d+)", other)
    if mine[:1].isdigit() and rank is not None:
        return f"{rank}{ordinal_ending(rank)}"
    if not mine[:1].isdigit() and digits:
        return spell_ordinal(int(digits[1])) or other
    return other
