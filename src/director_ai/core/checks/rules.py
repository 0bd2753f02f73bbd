"""What a check is: it reads a piece of text and returns edits; its frontier says which piece it needs to be sure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, get_args, runtime_checkable

from director_ai.core.ranges import check_seconds
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.core.merge import Conflict, Edit

__all__ = [
    "FRONTIERS",
    "MOST_LOOKAHEAD",
    "Check",
    "CheckedText",
    "Failure",
    "Frontier",
    "OnError",
    "OnFail",
    "Rule",
    "Stop",
    "check_frontier",
    "check_name",
    "rule_of",
]

Frontier = Literal["word", "sentence", "text"] | int
"""How much text a check needs before it can say something final.

    "word"      what it says of a word depends on that word alone; it is given whole words
    "sentence"  what it says of a sentence depends on that sentence alone; it is given one at a time
    "text"      it must see all of it: nothing is released before the end
    64          it is given blocks of words with so many characters behind them, enough for the longest thing it looks
                for that has white space in it; an edit that reaches the end is asked for again with more text
"""
FRONTIERS: Final = ("word", "sentence", "text")
MOST_LOOKAHEAD: Final = 4_096


@runtime_checkable
class Check(Protocol):
    """Whatever finds something to change. It keeps nothing between calls: one serves any number of streams."""

    @property
    def name(self) -> str:
        """Stands in its edits, in conflicts and in records."""
        ...

    @property
    def frontier(self) -> Frontier:
        """How much text it needs."""
        ...

    def find(self, text: str) -> Iterable[Edit]:
        """Return the edits of this text, with places in it; an awaitable of them where streams are asynchronous."""
        ...


def check_name(name: object) -> None:
    """Refuse what cannot stand in a record as the name of a check."""
    if not isinstance(name, str) or not name.strip() or len(name) > 64 or not name.isprintable():
        raise ConfigError("the name of a check must be a short text of 1 to 64 characters")


def check_frontier(frontier: object) -> Frontier:
    """Return a frontier, or refuse what is none."""
    if isinstance(frontier, int) and not isinstance(frontier, bool):
        if not 1 <= frontier <= MOST_LOOKAHEAD:
            raise ConfigError(f"a frontier in characters must be from 1 to {MOST_LOOKAHEAD}, got {frontier}")
        return frontier
    if frontier not in FRONTIERS:
        raise UnknownOption("frontier", frontier, FRONTIERS)
    return frontier


Action = Literal["fix", "redact", "filter", "refrain", "halt", "noop", "exception", "reask"]
OnFail = Action | Callable[[str, Sequence[Any]], Any]
"""What happens where a check found something.

    fix         its edits are applied
    redact      what it found is removed; a removal keeps its own placeholder
    filter      the whole sentence is removed
    refrain     the stream ends before it; of a finished text nothing is shown at all
    halt        the stream ends before it, with a reason
    noop        it is only recorded
    exception   CheckFailed is raised, after what came before it was released
    reask       generation goes on from the text before it, by a continuation
    function    (text, edits) -> edits: whatever you like
"""
OnError = Literal["halt", "redact", "pass"]
"""What happens where a check raised, hung or answered with nonsense; `pass` fails open, and is recorded."""
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
ENDING: Final = frozenset({"refrain", "halt", "exception", "reask"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A check, and what follows from what it finds."""

    check: Check
    on_fail: OnFail = "fix"
    on_error: OnError = "halt"
    deadline: float | None = None
    """Seconds for one piece of text; what comes later counts as an error."""

    def __post_init__(self) -> None:
        if isinstance(self.check, type):
            raise ConfigError(f"a check must be made first: {self.check.__name__}(...), got the class itself")
        for name in ("name", "frontier", "find"):
            if not hasattr(self.check, name):
                raise ConfigError(f"a check needs a {name}; a {type(self.check).__name__} has none")
        check_name(self.check.name)
        check_frontier(self.check.frontier)
        if getattr(self.check, "reads_json", False) and self.check.frontier != "text":
            raise ConfigError("a check that reads JSON as it is written must see all of it: its frontier is text")
        if not callable(self.on_fail) and self.on_fail not in ACTIONS:
            raise UnknownOption("on_fail", self.on_fail, ACTIONS)
        if self.on_error not in get_args(OnError):
            raise UnknownOption("on_error", self.on_error, get_args(OnError))
        check_seconds("deadline", self.deadline)

    @property
    def action(self) -> str:
        """The name of what happens."""
        return self.on_fail if isinstance(self.on_fail, str) else "custom"


def rule_of(given: object) -> Rule:
    """Return a rule, or a check as a rule with the defaults."""
    return given if isinstance(given, Rule) else Rule(check=given)  # type: ignore[arg-type]  # refused if it is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Something that a check found, or a check that could not be asked. No text: places and names only."""

    check: str
    action: str
    """What was done about it; for a check that failed itself, its `on_error`."""
    reason: str
    start: int
    """In the text that was checked."""
    end: int
    is_error: bool = False
    detail: str = ""
    """Of a check that failed itself: the type of what it raised or answered, for whoever mends it."""


class Stop(NamedTuple):
    """Where a stream ends, and why."""

    at: int
    action: str
    failure: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """What came of a text or a stream."""

    text: str
    """What was released."""
    applied: tuple[Edit, ...] = ()
    """With places in the text that came in."""
    conflicts: tuple[Conflict, ...] = ()
    failures: tuple[Failure, ...] = ()
    ended_by: str = ""
    """Empty where the text was released to its end; otherwise halt, refrain, exception, check_error, …"""
    reasks: int = 0
    flags: tuple[str, ...] = ()
    """What was odd about the tokens."""

    @property
    def halted(self) -> bool:
        """Whether text was held back at the end."""
        return bool(self.ended_by)

    @property
    def unchanged(self) -> bool:
        """Whether everything was released as it came."""
        return not self.applied and not self.halted
