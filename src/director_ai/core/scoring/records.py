"""Does a value of a JSON object belong to another row of the facts than the object is about?

`{"branch": "Riverside", "monthly_rent_gbp": 158}` is wrong if the table gives 158 to Northgate. The facts are read as
rows: rows of tables, JSON objects, and sentences. What else the object says, and the question, tell which row it is
about; the key and the unit tell which of its values is meant. A value that no row speaks of is left alone: it may be a
parameter of the call.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from director_ai.core.scoring.slots.agreement import agree, comparable
from director_ai.core.scoring.slots.comparison import VALUE_KINDS
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from director_ai.core.scoring.slots.values import Slot

__all__ = ["Finding", "compare_record"]

Finding = Literal["stated", "contradicted", "unknown"]

_MOST_FACT: Final = 6_000
_MOST_ROWS: Final = 400
_CLEARLY: Final = 1.25
"""How many times better the right row must fit than the one that has the value."""
_LATER: Final = 0.7
"""What each value counts beside the one before it: the first ones say what an object is about."""
_FIGURE: Final = re.compile(r"-?\d+(?:\.\d+)?")
_SCHEMA: Final = re.compile(r"\b(?:arguments?|parameters?|calls)\b", re.IGNORECASE)
"""Sentences that say how to call a tool, not what its values are."""
_WORD: Final = re.compile(r"[^\W_]+(?:[-.'’][^\W_]+)*")
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_DIVIDER: Final = re.compile(r"[\s|:-]+")
_UNITS: Final = {
    "eur": "€{}", "euro": "€{}", "euros": "€{}", "usd": "${}", "dollars": "${}", "gbp": "£{}", "pounds": "£{}",
    "chf": "CHF {}", "percent": "{} %", "pct": "{} %", "m2": "{} m²", "sqm": "{} m²", "m3": "{} m³", "celsius": "{} °C",
    **{
        unit: f"{{}} {unit}"
        for unit in "seconds minutes hours days weeks months years mg g kg t mm cm m km ml l kw w kwh v hp kb mb gb tb "
        "lessons nights pages users seats km/h".split()
    },
}  # fmt: skip
"""Words of a key that say in what its number counts, and how such a number is written in a sentence."""
_TRUE: Final = {"true": "yes", "false": "no"}


class _Cell(NamedTuple):
    label: frozenset[str]
    text: str
    slots: tuple[Slot, ...]


class _Row(NamedTuple):
    words: frozenset[str]
    cells: tuple[_Cell, ...]
    is_keyed: bool
    around: frozenset[str] = frozenset()
    """Of the other sentences of the same fact: the first one says what the next ones are about."""


def compare_record(
    label: str, value: str, siblings: Sequence[tuple[str, str]], question: str, facts: Sequence[str]
) -> Finding:
    """Return what the facts say of a value.

    Args:
        label: Its key, in words.
        value: As it is written, without quotes.
        siblings: Keys and values that stand before it in the same object, in words.
        question: What was asked.
        facts: What was found, as texts.
    """
    rows = [row for fact in facts for row in _rows_of(fact[:_MOST_FACT])][:_MOST_ROWS]
    wanted = _label(label)
    slots, plain = _slots_of(value, wanted), _plain(value)
    if _is_asked_for(slots, plain, question):
        return "unknown"
    if _names_row(rows, wanted, slots) and not _is_clear(_fits(rows, siblings, "")):
        return "unknown"
    fits = _fits(rows, siblings, question)
    level, meant = _meant(rows, fits, wanted, slots, is_figure=_FIGURE.fullmatch(value) is not None)
    best = max((fit for fit, _, _ in meant), default=0.0)
    if best <= 0.0:
        return "unknown"
    having = [fit for fit, _, cells in meant if any(_has_value(cell, slots, plain) for cell in cells)]
    if any(fit * _CLEARLY >= best for fit in having):
        return "stated"
    nearest = [(row, cells) for fit, row, cells in meant if fit == best]
    if level == "key":
        is_closed = _is_closed(slots, plain, [cells for _, cells in nearest])
    else:
        is_closed = level == "words" and all(_is_only(row, cells, slots, siblings) for row, cells in nearest)
    return "contradicted" if having or is_closed else "unknown"


def _is_only(row: _Row, cells: Sequence[_Cell], slots: Sequence[Slot], siblings: Sequence[tuple[str, str]]) -> bool:
    """Whether a sentence is about what the object names, and has a single value that could be meant."""
    around = row.words | row.around
    is_about = any(_words(value) and _words(value) <= around for _, value in siblings if not _FIGURE.fullmatch(value))
    alike = [each for cell in cells for each in cell.slots if any(m.unit and comparable(m, each) for m in slots)]
    return is_about and len(alike) == 1


def _is_asked_for(slots: tuple[Slot, ...], plain: str, question: str) -> bool:
    """Whether the user said the value: a parameter of the call, and no claim about the facts."""
    if re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", _plain(question)):
        return True
    asked = [each.slot for each in Reading(question[:_MOST_FACT]).placed]
    return any(mine.kind == theirs.kind and agree(mine, theirs) for mine in slots for theirs in asked)


def _names_row(rows: Sequence[_Row], wanted: frozenset[str], slots: tuple[Slot, ...]) -> bool:
    """Whether a value says which row is meant: words or a code of which every row has its own."""
    if any(slot.unit or slot.kind != "number" for slot in slots):
        return False
    named = [
        _plain(cell.text) for row in rows for cell in row.cells if row.is_keyed and _is_same_label(cell.label, wanted)
    ]
    return len(named) > 1 and len(set(named)) == len(named) and not all(_FIGURE.fullmatch(text) for text in named)


def _is_clear(fits: Sequence[float]) -> bool:
    """Whether one row fits clearly better than any other."""
    best, second, *_ = [*sorted(fits, reverse=True), 0.0, 0.0]
    return best > 0.0 and best >= _CLEARLY * second


_Meant = tuple[float, _Row, list[_Cell]]


def _meant(
    rows: Sequence[_Row], fits: Sequence[float], wanted: frozenset[str], slots: tuple[Slot, ...], *, is_figure: bool
) -> tuple[Literal["key", "words", "unit"], list[_Meant]]:
    """Return the rows with the values that a key may mean: under the same key, in its words, or of the same unit."""

    def is_alike(cell: _Cell) -> bool:
        return any(mine.unit and comparable(mine, theirs) for mine in slots for theirs in cell.slots)

    def chosen(wants: Callable[[_Row, _Cell], bool]) -> list[_Meant]:
        found = [
            (fit, row, [cell for cell in row.cells if wants(row, cell)]) for fit, row in zip(fits, rows, strict=True)
        ]
        return [each for each in found if each[2]]

    same = chosen(lambda row, cell: row.is_keyed and _is_same_label(cell.label, wanted))
    if same:
        return "key", same
    needs_unit = is_figure and any(slot.unit for slot in slots)
    told = chosen(
        lambda row, cell: not row.is_keyed and _speaks_of(cell.label, wanted) and (is_alike(cell) or not needs_unit)
    )
    if told:
        return "words", told
    return "unit", chosen(lambda _, cell: is_alike(cell))


def _is_closed(slots: tuple[Slot, ...], plain: str, nearest: Sequence[Sequence[_Cell]]) -> bool:
    """Whether the value of a row that has the very key leaves no other: a number or a yes, but not free words."""
    if plain in _TRUE.values():
        return all(_plain(cell.text) in _TRUE.values() for cells in nearest for cell in cells)
    return bool(slots) and all(cell.slots for cells in nearest for cell in cells)


def _fits(rows: Sequence[_Row], siblings: Sequence[tuple[str, str]], question: str) -> list[float]:
    """Return how far each row is what an object speaks of: rare words of its other values, then of the question."""
    counts = Counter(word for row in rows for word in row.words)
    asked = _words(question)
    told = [_words(value) | _words(key) for key, value in siblings]

    def weight(word: str) -> float:
        return 1.0 / counts[word] if counts[word] else 0.0

    fits = []
    for row in rows:
        fit = 0.5 * sum(weight(word) for word in asked & row.words)
        for place, ((_, value), words) in enumerate(zip(siblings, told, strict=True)):
            of_value = _words(value)
            near = _share(of_value, row.words)
            share = near + 0.7 * (_share(of_value, row.words | row.around) - near)
            rarest = max((weight(word) for word in of_value & (row.words | row.around)), default=0.0)
            fit += _LATER**place * (share * (0.2 + rarest) + 0.1 * sum(weight(word) for word in words & row.words))
        fits.append(fit)
    return fits


def _share(wanted: frozenset[str], known: frozenset[str]) -> float:
    return len(wanted & known) / len(wanted) if wanted else 0.0


def _is_same_label(one: frozenset[str], two: frozenset[str]) -> bool:
    return bool(one) and one == two


def _speaks_of(words: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether a sentence has the words of a key in some form: "arrive" and "arrival"."""
    named = {word for word in wanted if word not in _UNITS}
    return bool(named) and all(any(word[:5] == other[:5] for other in words) for word in named)


def _has_value(cell: _Cell, slots: tuple[Slot, ...], plain: str) -> bool:
    if slots and cell.slots:
        return any(agree(mine, theirs) for mine in slots for theirs in cell.slots)
    text = _plain(cell.text)
    return plain == text or re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", text) is not None


def _slots_of(value: str, label: frozenset[str]) -> tuple[Slot, ...]:
    unit = next((_UNITS[word] for word in sorted(label) if word in _UNITS), "{}")
    found = Reading(unit.format(value) if _FIGURE.fullmatch(value) else value).placed
    return tuple(each.slot for each in found if each.slot.kind in VALUE_KINDS)


@functools.lru_cache(maxsize=256)
def _rows_of(fact: str) -> tuple[_Row, ...]:
    return tuple([*_json_rows(fact), *_table_rows(fact)] or _sentence_rows(fact))


def _json_rows(fact: str) -> Iterator[_Row]:
    decoder, at = json.JSONDecoder(), 0
    while (match := re.compile(r"[{\[]").search(fact, at)) is not None:
        try:
            value, at = decoder.raw_decode(fact, match.start())
        except (ValueError, RecursionError):
            at = match.end()
            continue
        yield from _objects(value, {})


def _objects(value: Any, above: dict[str, str]) -> Iterator[_Row]:
    if isinstance(value, list):
        for each in value:
            yield from _objects(each, above)
    elif isinstance(value, dict):
        own = {str(key): _scalar(each) for key, each in value.items() if isinstance(each, str | int | float)}
        if own:
            yield _row({**above, **own})
        for each in value.values():
            yield from _objects(each, {**above, **own})


def _scalar(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _table_rows(fact: str) -> Iterator[_Row]:
    header: list[str] = []
    for line in fact.splitlines():
        if line.count("|") < 2:
            header = []
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not header:
            header = cells
        elif not _DIVIDER.fullmatch(line) and len(cells) == len(header):
            yield _row(dict(zip(header, cells, strict=True)))


def _row(cells: dict[str, str]) -> _Row:
    found = tuple(_Cell(_label(key), text, _slots_of(text, _label(key))) for key, text in cells.items())
    return _Row(frozenset().union(*(_words(text) for text in cells.values())), found, is_keyed=True)


def _sentence_rows(fact: str) -> Iterator[_Row]:
    around = _words(fact)
    for sentence in _SENTENCE.split(fact):
        words = _words(sentence)
        if words and not _SCHEMA.search(sentence):
            slots = tuple(each.slot for each in Reading(sentence).placed if each.slot.kind in VALUE_KINDS)
            yield _Row(words, (_Cell(words, sentence, slots),), is_keyed=False, around=around - words)


def _label(key: str) -> frozenset[str]:
    words = _WORD.findall(key.replace("_", " ").lower())
    return frozenset(word if word in _UNITS else stem(word) for word in words if word not in FUNCTION_WORDS)


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS)


def _plain(text: str) -> str:
    plain = " ".join(text.lower().split()).strip(" .")
    return _TRUE.get(plain, plain)
