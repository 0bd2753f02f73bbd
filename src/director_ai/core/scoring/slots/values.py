"""What a slot is: a stretch of text with a kind and a value that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

__all__ = ["Bound", "CalendarDate", "Interval", "Slot", "SlotDifference", "SlotKind", "SlotValue"]

SlotKind = Literal[
    "number",
    "money",
    "percent",
    "duration",
    "date",
    "time",
    "name",
    "negation",
    "quantifier",
    "comparative",
    "antonym",
]
Bound = Literal["", "about", "at least", "at most", "more than", "less than"]


class Interval(NamedTuple):
    """A closed interval in the base unit; one number has both ends equal."""

    low: float
    high: float


class CalendarDate(NamedTuple):
    """The parts of a date that the text states; None is a part it does not."""

    year: int | None = None
    years: int = 1
    """How many years it spans from `year` on: 10 for a decade, 100 for a century."""
    month: int | None = None
    day: int | None = None
    quarter: int | None = None
    weekdays: tuple[int, int] | None = None
    """First and last weekday, Monday is 0."""
    either: bool = False
    """The text does not say which of `month` and `day` is which: "03/05/2021"."""


SlotValue = Interval | CalendarDate | tuple[int, ...] | str


class Slot(NamedTuple):
    """One typed value in a text; a tuple, because a long text has many."""

    kind: SlotKind
    start: int
    end: int
    text: str
    value: SlotValue
    """An `Interval` for number, money, percent and duration; a `CalendarDate`; the minutes after midnight that a time
    may mean; otherwise the folded word or name."""
    unit: str = ""
    """Base unit ("g", "s", "month", "EUR", "%"), the counted noun of a bare number, or the scale of a word."""
    bound: Bound = ""
    per: str = ""
    """What a rate is counted by, as written: the "day" of "3 times a day"."""

    @property
    def approximate(self) -> bool:
        """Whether the text states a neighborhood or a limit rather than the value itself."""
        return self.bound != ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotDifference:
    """A slot of the claim that the evidence does not bear out: `claim` may be replaced by the evidence's text."""

    kind: SlotKind
    claim: Slot
    evidence: Slot | None
    """What the evidence says instead; None when it says something else but in no single place."""
