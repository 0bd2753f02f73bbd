"""Reads quantities: a number with its unit or currency, its range, its bound and its rate."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.measures import Measure, read_measure
from director_ai.core.scoring.slots.numbers import Number, read_number, read_ordinal
from director_ai.core.scoring.slots.units import RATES, UNITS
from director_ai.core.scoring.slots.values import Bound, Interval, Slot, SlotKind
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["read_quantity"]

_BEFORE: dict[str, Bound] = {
    "about": "about", "around": "about", "approximately": "about", "approx": "about", "roughly": "about",
    "nearly": "about", "almost": "about", "some": "about", "circa": "about", "ca": "about", "~": "about", "≈": "about",
    "close to": "about", "over": "more than", "above": "more than", "exceeding": "more than", ">": "more than",
    "under": "less than", "below": "less than", "<": "less than", "≥": "at least", "≤": "at most",
    "at least": "at least", "at most": "at most", "more than": "more than", "less than": "less than",
    "fewer than": "less than", "greater than": "more than", "higher than": "more than", "lower than": "less than",
    "older than": "more than", "younger than": "less than", "longer than": "more than", "shorter than": "less than",
    "larger than": "more than", "smaller than": "less than", "up to": "at most", "minimum of": "at least",
    "maximum of": "at most", "upwards of": "at least", "just over": "about", "just under": "about",
    "not exceed": "at most", "not exceeding": "at most", "no more than": "at most", "no less than": "at least",
    "no fewer than": "at least", "not more than": "at most", "not less than": "at least", "as much as": "at most",
    "as many as": "at most", "as little as": "at least", "as few as": "at least", "a minimum of": "at least",
    "a maximum of": "at most", "no longer than": "at most", "no later than": "at most", "no older than": "at most",
    "no higher than": "at most", "no lower than": "at least", "no younger than": "at least",
    "no larger than": "at most", "no shorter than": "at least", "no smaller than": "at least", "exceed": "more than",
    "exceeds": "more than", "closer than": "less than", "nearer than": "less than", "farther than": "more than",
    "further than": "more than", "heavier than": "more than", "lighter than": "less than", "taller than": "more than",
    "warmer than": "more than", "colder than": "less than", "well over": "more than",
    "slightly more than": "about", "slightly less than": "about", "a little over": "about",
}  # fmt: skip
_BEFORE_ENDS = frozenset(phrase.rsplit(" ", 1)[-1] for phrase in _BEFORE)
_AFTER: dict[str, Bound] = {
    "or more": "at least", "or less": "at most", "or fewer": "at most", "or older": "at least", "or over": "at least",
    "or above": "at least", "or higher": "at least", "or longer": "at least", "or later": "at least",
    "or younger": "at most", "or under": "at most", "or below": "at most", "or lower": "at most", "or so": "about",
    "and above": "at least", "and over": "at least", "and older": "at least", "and up": "at least",
    "and under": "at most", "and younger": "at most", "at most": "at most", "at least": "at least",
    "of age or": "", "or greater": "at least", "or better": "at least", "at minimum": "at least",
}  # fmt: skip
_ENDS: dict[str, Bound] = {"most": "at most", "least": "at least"}
_TO = frozenset({"to", "-", "–", "—", "through"})
_LABELS = frozenset(
    "chapter page room article section version level step grade gate line platform route highway number no type part "
    "phase act table figure floor flight item volume season episode paragraph clause zone track lane bus terminal port "
    "error code vitamin".split()
)
_PLURALS = frozenset({"people", "men", "women", "children", "staff", "feet", "teeth", "mice", "fish", "sheep"})
_TURNED: dict[Bound, Bound] = {"more than": "at most", "less than": "at least"}
_LINKS = frozenset("be been is are was at any to last take have of".split())
_SPREADING = frozenset("spread distributed divided scattered extends extending stretches spaced split".split())
_CUES = frozenset({"not", "never", "cannot"})
_LIMITS: dict[str, Bound] = {
    "maximum": "at most", "max": "at most", "limit": "at most", "limited": "at most", "minimum": "at least",
    "min": "at least",
}  # fmt: skip
_LIMIT_REACH = 8
_COUNTED_BY = frozenset({"person", "user", "night", "quarter", "head", "unit", "seat", "item", "order", "file"})
_CASED = frozenset({"a", "w", "v", "j"})  # "100 a V" is no rate
_BACKWARDS = frozenset({"before", "prior", "ahead", "in"})
_COMPOUND = frozenset({"s", "month", "m", "g"})
_FOOT = UNITS["foot"][1]
_PLAIN_MINUS = frozenset("-−–")


def read_quantity(t: Tokens, i: int) -> tuple[Slot, int] | None:
    """The quantity that begins at token `i`, and the token after it."""
    rank = _read_rank(t, i)
    if rank:
        return rank
    first = read_measure(t, i)
    if first is None or _is_identifier(t, i, first) or _is_always(t, first):
        return None
    if first.base in _COMPOUND and t.words[i - 1] != "between":
        first = _with_smaller(t, _with_smaller(t, first))
    low = high = first
    low_value = high_value = _in_base(first.number.value, first)
    hanging = t.words[first.end] == "-" and t.words[first.end + 1] == "to"  # "18- to 49-year-old"
    second = read_measure(t, first.end + 1 + hanging) if _may_range(t, i, first) else None
    if second and (first.base in {"", second.base}) and second.kind != "time":
        low_value, high_value = _range_ends(first, second)
        if low_value < high_value:
            high = second
        else:  # "3-1" is a score, not a range: two numbers
            low_value = high_value = _in_base(first.number.value, first)
    return _make_slot(t, i, low, high, Interval(low_value, high_value))


def _with_smaller(t: Tokens, first: Measure) -> Measure:
    """The measure with the smaller one that goes on: "1 hour and 30 minutes", "5 ft 10 in"."""
    second = read_measure(t, first.end + (t.words[first.end] == "and"))
    if second is None:
        return first
    base, size, end = second.base, second.size, second.end
    if base == "" and first.size == _FOOT and t.words[end] == "in":
        base, size, end = "m", _FOOT / 12, end + 1
    if base != first.base or second.number.value * size >= first.size:
        return first
    value = first.number.value + second.number.value * size / first.size
    return first._replace(number=Number(value, end), end=end)


def _in_base(value: float, measure: Measure) -> float:
    if measure.base == "°C" and measure.size != 1:
        return (value - 32) * 5 / 9
    return value * measure.size


def _range_ends(first: Measure, second: Measure) -> tuple[float, float]:
    low, high = first.number.value, _in_base(second.number.value, second)
    if first.base:
        return _in_base(low, first), high
    if first.number.scale == 1 and low < 1000:
        low *= second.number.scale
    return _in_base(low, second), high


def _may_range(t: Tokens, i: int, first: Measure) -> bool:
    sep = t.words[first.end]
    if first.number.fraction:
        return False
    return sep in _TO or (sep == "and" and "between" in (t.words[i - 1], t.words[i - 2]))


def _is_identifier(t: Tokens, i: int, measure: Measure) -> bool:
    """Whether the digits are part of a name: "COVID-19", "3D", "A4", "#12"."""
    if t.kinds[i] != "number":
        return t.words[i] == "one" and _is_pronoun(t, i, measure)
    if t.touches(i) and (
        (t.kinds[i - 1] in {"word", "dotted"} and t.words[i - 1] != "v")
        or t.words[i - 1] in {"#", "/", "_", "=", ".", "@", "&"}
    ):
        return True
    if t.touches(i) and t.words[i - 1] == "-" and t.touches(i - 1) and t.raw[i - 2][-1].isalnum():
        return t.raw[i - 2][0].isupper() and t.words[i - 2] not in UNITS
    j = measure.end
    return j == measure.number.end and t.touches(j) and t.kinds[j] in {"word", "dotted"}


def _is_always(t: Tokens, measure: Measure) -> bool:
    """Whether it is "seven days a week" or "24 hours a day"."""
    words = " ".join(t.words[measure.end - 1 : measure.end + 2])
    whole = {"days a week": 7, "days per week": 7, "hours a day": 24, "hours per day": 24}.get(words, 0)
    return measure.number.value == whole


def _is_pronoun(t: Tokens, i: int, measure: Measure) -> bool:
    after = t.words[i + 1]
    if measure.base or after == "-" or t.words[i - 1] in {"number", "#"}:
        return False
    if after == "to" and read_number(t, i + 2):
        return False
    if not after.isalpha() or after in FUNCTION_WORDS or t.raw[i][0].isupper() or after == "calendar":
        return True
    if t.words[i - 1] == "from" and t.words[i + 2] == "to":  # "from one shift to the next"
        return True
    return t.words[i - 1] in {"no", "this", "that", "the", "every", "each", "any", "another", "some", "which", "only"}


def _make_slot(t: Tokens, i: int, low: Measure, high: Measure, value: Interval) -> tuple[Slot, int]:
    first, end, unit, kind = i, high.end, high.base, high.kind
    if low is high and _is_negative(t, i):
        value, first = Interval(-value.high, -value.low), i - 1
    if kind == "money" and t.touches(first) and t.words[first - 1] in {"us", "a", "au", "c", "ca", "nz", "hk", "s"}:
        first -= 1
    if unit == "":
        unit = _counted_noun(t, i, end, value)
    per, end = _read_rate(t, end, kind, counts=high.base == "")
    bound, start = _bound_before(t, first)
    if bound in _TURNED and _is_turned(t, start):
        bound, start = _TURNED[bound], first  # the "more than" goes with the "not", and stays
    if bound == "more than" and _is_spread(t, start, kind):
        bound, start = "", first
    if bound == "at most" and t.words[start + 1] == "later" and t.words[end] in _BACKWARDS:
        bound = "at least"  # a deadline that is counted backwards
    if low is not high and t.words[first - 1] in {"between", "from"} and bound == "":
        start = first - 1 if t.words[first - 1] == "between" else first
    if bound == "":
        bound, end = _bound_after(t, end)
    if bound == "" and low is high:
        bound = _limit_before(t, first)
    if bound in {"at least", "more than"}:
        value = Interval(value.low, inf)
    elif bound in {"at most", "less than"}:
        value = Interval(-inf, value.high)
    begin, stop, text = t.span(start, end - 1)
    slot = Slot(kind=kind, start=begin, end=stop, text=text, value=value, unit=unit, bound=bound, per=per)
    return slot, end


def _is_turned(t: Tokens, i: int) -> bool:
    """Whether a "not" before token `i` turns the bound there; in "no dogs under 18" it turns the verb."""
    first = t.sentences[t.sentence_of[i]][0]
    before = t.words[max(first, i - 3) : i]
    if "no" in before[-1:]:
        return True
    at = next((k for k, word in enumerate(before) if word in _CUES or word.endswith("n't")), None)
    return at is not None and (t.words[i + 1] == "than" or all(word in _LINKS for word in before[at + 1 :]))


def _is_spread(t: Tokens, i: int, kind: SlotKind) -> bool:
    """Whether "over" is no bound: "Over four days, the fair had many visitors", "spread over 28 rooms"."""
    if t.words[i] != "over":
        return False
    return t.words[i - 1] in _SPREADING or (kind == "duration" and _begins(t, i))


def _begins(t: Tokens, i: int) -> bool:
    return i == t.sentences[t.sentence_of[i]][0] or t.words[i - 1] == ","


def _is_negative(t: Tokens, i: int) -> bool:
    if t.words[i - 1] == "minus":
        return t.kinds[i - 2] != "number"
    return t.words[i - 1] in _PLAIN_MINUS and t.touches(i) and not t.touches(i - 1)


def _read_rate(t: Tokens, j: int, kind: SlotKind, *, counts: bool) -> tuple[str, int]:
    """What the quantity is counted by, and the token after it."""
    if t.words[j] in RATES:
        return RATES[t.words[j]], j + 1
    if kind == "duration":
        return "", j
    k = j
    if counts and t.words[j + 1] in {"per", "a", "/"} and t.words[j].endswith("s"):  # "100 requests per second"
        k = j + 1
    elif t.words[j] not in {"per", "/", "a", "an", "each", "every"}:
        return "", j
    unit = t.words[k + 1]
    if unit == "kilowatt" and t.words[k + 2] in {"hour", "hours"}:
        return "kwh", k + 3
    if (unit in UNITS or unit in _COUNTED_BY) and unit not in _CASED:
        return RATES.get(unit, unit), k + 2
    return "", j


def _counted_noun(t: Tokens, i: int, j: int, value: Interval) -> str:
    """The noun that a bare number counts, or nothing where the number is a label or stands alone."""
    before = t.words[i - 1]
    if t.kinds[j] not in {"word", "dotted"} and t.words[j] != "-":
        return ""
    if before in _LABELS or (t.raw[i - 1][0].isupper() and t.sentence_of[i - 2] == t.sentence_of[i]):
        return ""
    if t.words[j] == "-" and t.touches(j) and t.touches(j + 1):
        return _singular(t.words[j + 1])
    k = j + 1 if t.words[j] == "of" else j
    k += t.words[k] in {"the", "these", "those", "our", "their", "its", "his", "her", "different", "other"}
    for at in range(k, k + 4):
        word = t.words[at]
        if t.kinds[at] not in {"word", "dotted"} or word in FUNCTION_WORDS:
            break
        if word in _PLURALS or (word.endswith("s") and not word.endswith(("ss", "'s", "ous"))) or value.high == 1:
            return _singular(word)
    return ""


def _singular(noun: str) -> str:
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "ches", "shes", "xes")):
        return noun[:-2]
    if noun.endswith("s") and not noun.endswith("ss"):
        return noun[:-1]
    return {"people": "person", "men": "man", "women": "woman", "children": "child"}.get(noun, noun)


def _bound_before(t: Tokens, i: int) -> tuple[Bound, int]:
    """The bound that the words before token `i` put on it, and where they begin."""
    at = i - 1
    if at >= 0 and t.words[at] == "a" and t.words[at + 1] in {"quarter", "third", "half"}:
        at -= 1
    if t.words[at] in {"the", "a"} and t.words[at - 1] in {"about", "nearly", "almost"}:
        at -= 1
    if t.words[at] not in _BEFORE_ENDS:
        return "", i
    for length in (3, 2, 1):
        if at - length + 1 < 0:
            continue
        bound = _BEFORE.get(" ".join(t.words[at - length + 1 : at + 1]))
        if bound:
            return bound, at - length + 1
    return "", i


def _limit_before(t: Tokens, i: int) -> Bound:
    """The bound of "the maximum dose is 4 g": it is stated, but no part of the value."""
    if t.words[i - 1] not in {"is", "of", ":", "to", "be", "was", "at", "max", "min", "maximum", "minimum"}:
        return ""
    for word in t.words[max(t.sentences[t.sentence_of[i]][0], i - _LIMIT_REACH) : i]:
        if word in _LIMITS:
            return _LIMITS[word]
    return ""


def _bound_after(t: Tokens, j: int) -> tuple[Bound, int]:
    if t.words[j] == "+" and t.touches(j):
        return "at least", j + 1
    for skip in (0, 1, 2, 3):  # "18 years of age or older", "30 items or more"
        word = t.words[j + skip]
        bound = _AFTER.get(f"{word} {t.words[j + skip + 1]}")
        if bound:
            return bound, j + skip + 2
        if word == "at" and t.words[j + skip + 1] == "the" and t.words[j + skip + 2] in _ENDS:
            return _ENDS[t.words[j + skip + 2]], j + skip + 3
        if not word.isalpha() or word in {"and", "or", "to"}:
            break
    return "", j


def _read_rank(t: Tokens, i: int) -> tuple[Slot, int] | None:
    found = read_ordinal(t, i)
    if found is None:
        return None
    rank, end = found
    if t.words[i] == "second" and t.words[i - 1] in {"a", "per", "every", "each", "split", "/"}:
        after = t.words[end]
        if t.words[i - 1] != "a" or not after.isalpha() or after in FUNCTION_WORDS:
            return None  # a unit of time
    start, stop, text = t.span(i, end - 1)
    value = Interval(rank, rank)
    return Slot(kind="number", start=start, end=stop, text=text, value=value, unit="ordinal"), end
