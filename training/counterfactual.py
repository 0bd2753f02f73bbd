"""Pairs made from one sentence: changed in a single slot (contradicted), or said in another way (supported).

A model that only counts shared words cannot tell the two apart, so it has to read.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from director_ai.core.scoring.slots import Slot, find_slots

__all__ = ["change", "misplace", "restate"]

_VALUES = {"name", "number", "money", "percent", "duration", "date", "time"}
_TOGETHER = re.compile(r"\b(?:and|or|with|versus|vs|between|both)\b|[,&/]")

_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_MONTHS = "January February March April May June July August September October November December".split()
_NUMBER = re.compile(r"(?<![\w.,/-])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w]|[.,/-]\d)")
_YEAR = re.compile(r"(?<![\w.,/-])(1[5-9]\d\d|20[0-4]\d)(?![\w]|[.,/-]\d)")
_SMALL = re.compile(r"\b(" + "|".join(_ONES[2:]) + r")\b")
_MONTH = re.compile(r"\b(" + "|".join(_MONTHS) + r")\b")
_DATE = re.compile(r"\b(" + "|".join(_MONTHS) + r") (\d{1,2}), (\d{4})\b")
_DATE_BACK = re.compile(r"\b(\d{1,2}) (" + "|".join(_MONTHS) + r") (\d{4})\b")
_BE = re.compile(
    r"\b(is|are|was|were|can|could|will|would|has been|have been|had been|may|must|should)\b(?! not\b| never\b)"
)
_NOT = re.compile(r"\b(is|are|was|were|can|could|will|would|did|does|do|may|must|should) not ")
_TIME = re.compile(r"\b(\d{1,2})(?::(\d\d))? ?(a\.?m\.?|p\.?m\.?|AM|PM)(?=\W|$)")
_NAME = re.compile(r"(?<=[a-z,;] )((?:[A-Z][a-z]{2,} )*[A-Z][a-z]{2,})\b")

_SWAPS = [
    ("more than", "fewer than"), ("less than", "more than"), ("at least", "at most"), ("before", "after"), ("above", "below"),
    ("higher", "lower"), ("larger", "smaller"), ("increased", "decreased"), ("increase", "decrease"), ("first", "last"),
    ("all", "none"), ("every", "no"), ("always", "never"), ("most", "few"), ("many", "few"), ("both", "neither"),
    ("north", "south"), ("east", "west"), ("won", "lost"), ("accepted", "rejected"), ("open", "closed"), ("early", "late"),
    ("allowed", "forbidden"), ("married", "divorced"), ("began", "ended"), ("born", "died"), ("oldest", "youngest"),
    ("husband", "brother"), ("mother", "sister"), ("son", "nephew"), ("father", "uncle"), ("male", "female"), ("old", "new"),
    ("minimum", "maximum"), ("include", "exclude"), ("includes", "excludes"), ("with", "without"), ("same", "different"),
    ("days", "weeks"), ("weeks", "months"), ("months", "years"), ("hours", "minutes"), ("miles", "kilometers"),
    ("million", "billion"), ("thousand", "million"), ("kg", "g"), ("mg", "g"), ("percent", "people"),
]  # fmt: skip
_SAME = [
    ("approximately", "about"), ("about", "around"), ("more than", "over"), ("began", "started"), ("located in", "situated in"),
    ("also known as", "also called"), ("purchased", "bought"), ("large", "big"), ("film", "movie"), ("died", "passed away"),
    ("in order to", "to"), ("however", "but"), ("received", "got"), ("children", "kids"), ("United States", "U.S."),
    ("such as", "for example"), ("created", "made"), ("is not", "isn't"), ("was not", "wasn't"), ("did not", "didn't"),
    ("cannot", "can not"), ("does not", "doesn't"), ("per cent", "percent"), ("%", " percent"), ("million", ",000,000"),
]  # fmt: skip
_CONVERT = [
    (re.compile(r"\b(\d{1,2}) years\b"), lambda m: f"{int(m[1]) * 12} months"),
    (re.compile(r"\b(\d{1,2}) weeks\b"), lambda m: f"{int(m[1]) * 7} days"),
    (re.compile(r"\b(\d{1,2}) hours\b"), lambda m: f"{int(m[1]) * 60} minutes"),
    (re.compile(r"\b(\d{1,3}) (?:kilometers|kilometres|km)\b"), lambda m: f"{int(m[1]) * 1000:,} meters"),
    (re.compile(r"\b(\d{1,3}) (?:kilograms|kg)\b"), lambda m: f"{int(m[1]) * 1000} grams"),
    (re.compile(r"\b(\d{1,3}) g\b"), lambda m: f"{int(m[1]) * 1000} mg"),
]  # fmt: skip


def _in_words(number: int) -> str:
    if number < 20:
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")


def _replace(text: str, match: re.Match[str], by: str) -> str:
    return text[: match.start()] + by + text[match.end() :]


def _pick(pattern: re.Pattern[str], text: str, rnd: random.Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return rnd.choice(found) if found else None


def _other_number(text: str, rnd: random.Random) -> str | None:
    match = _pick(_YEAR, text, rnd) if rnd.random() < 0.4 else _pick(_NUMBER, text, rnd)
    if match is None:
        match = _pick(_SMALL, text, rnd)
        if match is None:
            return None
        return _replace(text, match, rnd.choice([w for w in _ONES[2:13] if w != match[1]]))
    value = int(match[1].replace(",", ""))
    step = max(1, value // rnd.choice([2, 3, 5, 10, 30])) if value < 1500 or value > 2050 else rnd.randint(1, 12)
    changed = value + step * rnd.choice([-1, 1])
    if changed < 0 or changed == value:
        changed = value + step
    shown = f"{changed:,}" if "," in match[1] else str(changed)
    return _replace(text, match, shown + (match[2] or "" if match.lastindex and match.lastindex > 1 else ""))


def _other_month(text: str, rnd: random.Random) -> str | None:
    match = _pick(_MONTH, text, rnd)
    return match and _replace(text, match, rnd.choice([m for m in _MONTHS if m != match[1]]))


def _negated(text: str, rnd: random.Random) -> str | None:
    match = _pick(_NOT, text, rnd)
    if match is not None:
        verb = "" if match[1] in {"did", "does", "do"} else match[1] + " "
        return _replace(text, match, verb) if verb else None
    match = _BE.search(text)
    if match is None:
        return None
    words = match[1].split()
    return _replace(text, match, " ".join([words[0], rnd.choice(["not", "not", "never"]), *words[1:]]))


def _swapped(text: str, rnd: random.Random) -> str | None:
    for a, b in rnd.sample(_SWAPS, len(_SWAPS)):
        for old, new in ((a, b), (b, a)):
            match = re.search(rf"\b{re.escape(old)}\b", text)
            if match:
                return _replace(text, match, new)
    return None


def _other_name(text: str, rnd: random.Random, names: list[str]) -> str | None:
    match = _pick(_NAME, text, rnd)
    others = [
        name
        for name in names
        if match and name not in text and match[1] not in name and name.count(" ") == match[1].count(" ")
    ]
    return _replace(text, match, rnd.choice(others)) if match and others else None


def change(text: str, rnd: random.Random, names: list[str]) -> str | None:
    """The sentence with one slot changed so that the original contradicts it; None where nothing can be changed."""
    ways: list[Callable[[], str | None]] = [
        lambda: _other_number(text, rnd),
        lambda: _other_number(text, rnd),
        lambda: _other_month(text, rnd),
        lambda: _negated(text, rnd),
        lambda: _swapped(text, rnd),
        lambda: _other_name(text, rnd, names),
    ]
    for way in rnd.sample(ways, len(ways)):
        changed = way()
        if changed and changed != text:
            return changed
    return None


def restate(text: str, rnd: random.Random) -> str | None:
    """The sentence with the same meaning in another form; None where no rule applies."""
    made = text
    for pattern, say in rnd.sample(_CONVERT, len(_CONVERT)):
        made = pattern.sub(say, made, count=1)
    made = _DATE.sub(lambda m: f"{m[2]} {m[1]} {m[3]}", made) if rnd.random() < 0.7 else made
    made = _DATE_BACK.sub(lambda m: f"{m[2]} {m[1]}, {m[3]}", made) if made == text else made
    if rnd.random() < 0.6:
        made = _NUMBER.sub(
            lambda m: _in_words(int(m[1])) if not m[2] and "," not in m[1] and int(m[1]) < 100 else m[0], made, count=1
        )
    made = _TIME.sub(lambda m: f"{int(m[1]) % 12 + (12 if m[3].lower().startswith('p') else 0)}:{m[2] or '00'}", made)
    for old, new in rnd.sample(_SAME, 8):
        made = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, made, count=1)
    return made if made != text else None


def misplace(statement: str, premise: str, rnd: random.Random) -> str | None:
    """The statement with a value of the premise in the wrong place: each word is in the evidence, what they say is not.

    Either one value gives way to another of its kind from the premise, or two names of the statement change places.
    """
    slots = [slot for slot in find_slots(statement) if slot.kind in _VALUES]
    names = [slot for slot in slots if slot.kind == "name"]
    if len(names) > 1 and rnd.random() < 0.3:
        first, second = sorted(rnd.sample(names, 2), key=lambda slot: slot.start)
        between = statement[first.end : second.start]
        if first.value != second.value and not _TOGETHER.search(between) and len(between.split()) > 1:
            return statement[: first.start] + second.text + between + first.text + statement[second.end :]
    others = [slot for slot in find_slots(premise) if slot.kind in _VALUES]
    for slot in rnd.sample(slots, len(slots)):
        fitting = [other for other in others if _is_another(slot, other, statement)]
        if fitting:
            return statement[: slot.start] + rnd.choice(fitting).text + statement[slot.end :]
    return None


def _is_another(slot: Slot, other: Slot, statement: str) -> bool:
    if other.kind != slot.kind or other.value == slot.value or other.text.lower() in statement.lower():
        return False
    if slot.kind == "name":
        return not set(slot.text.lower().split()) & set(other.text.lower().split())
    return slot.text.isdigit() == other.text.isdigit()  # a year for a year, a day for a day
