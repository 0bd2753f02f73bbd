"""A check by a regular expression that hostile text cannot make slow.

RE2 (the extra `re2`) reads a pattern if it is installed and can. Otherwise Python's own engine does, once the tree of
the pattern shows that there is next to nothing for it to try again (`regex_cost`). Whichever engine reads it,
`\\w`, `\\d`, `\\s` and `\\b` know ASCII only.
"""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.checks.rules import MOST_LOOKAHEAD
from director_ai.core.merge import Edit
from director_ai.errors import ConfigError, MissingExtra
from director_ai.validators.regex_cost import ignores_case, parse, weigh

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.core.merge import EditKind

__all__ = ["Pattern", "check_backtracking", "linear_regex"]

_ROUNDS: Final = 24
"""So many times over may a pattern read the window before it; one that can backtrack does so hundreds of times."""
_REMEDY: Final = "make its repeats possessive, `a++`, or bounded, `a{1,9}`"
_SOUND: Final = sys.version_info >= (3, 11, 5)
"""Before, CPython runs possessive repeats and atomic groups wrongly (gh-106052)."""
_ATOMIC = re.compile(r"[*+?}]\+|\(\?>")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """Puts a replacement where a regular expression matches; matches of no characters are ignored.

    No match of up to `longest` characters is missed. A longer one is found whole where it can go on at every place,
    as `\\S+` can, and then counts even if a border that the pattern asks for behind it (`\\b`, `$`) never comes; one
    that needs a certain ending (`x.*y`) may be missed. With `groups`, only what those groups matched is replaced.
    """

    pattern: str
    _: KW_ONLY
    replacement: str = "[REMOVED]"
    kind: EditKind = "remove"
    name: str = "pattern"
    longest: int = 256
    groups: tuple[int | str, ...] | None = None
    _engine: Any = field(init=False, repr=False, compare=False)
    _numbers: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if type(self.longest) is not int or not 1 <= self.longest <= MOST_LOOKAHEAD:
            raise ConfigError(f"longest must be a whole number from 1 to {MOST_LOOKAHEAD}")
        Edit(0, 0, self.replacement, self.kind, self.name, self.name)  # refuses what no edit may hold
        engine = linear_regex(self.pattern, window=2 * self.longest)
        object.__setattr__(self, "_engine", engine if isinstance(engine, _Re2) else _Python(engine))
        if parse(self.pattern).getwidth()[0] > self.longest:
            raise ConfigError("the pattern matches nothing as short as longest; raise longest")
        object.__setattr__(self, "_numbers", self._groups())

    def _groups(self) -> tuple[int, ...]:
        """Return the numbers of the groups to replace."""
        if self.groups is None:
            return (0,)
        if not isinstance(self.groups, tuple) or not self.groups:
            raise ConfigError("groups must be a tuple of numbers or names of groups, or None for the whole match")
        state = parse(self.pattern).state
        numbers = [state.groupdict.get(group, -1) if isinstance(group, str) else group for group in self.groups]
        if not all(type(number) is int and 0 <= number < state.groups for number in numbers):
            raise ConfigError(f"groups names one that the pattern does not have; it has {state.groups - 1}")
        return tuple(numbers)

    @property
    def frontier(self) -> int:
        """As far as one match may reach."""
        return self.longest

    def find(self, text: str) -> list[Edit]:
        """Return an edit for every match, or for every group asked for in one."""
        edits = []
        for match in self._engine.matches(text, self.longest, self._numbers):
            for start, end in match:
                if start < end:
                    edits.append(Edit(start, end, self.replacement, self.kind, self.name, self.name))
        return edits


def linear_regex(pattern: str, *, window: int) -> Any:
    """Return something with the `search` of a compiled pattern that takes linear time per `window`, or refuse."""
    tree = parse(pattern)
    re2 = _re2()
    if re2 is not None:
        options = re2.Options()
        options.log_errors = False
        try:
            return _Re2(
                re2.compile(_ESCAPE.sub(lambda found: r"\z" if found[1] == "Z" else found[0], pattern), options)
            )
        except (re2.error, UnicodeEncodeError):
            pass  # what RE2 does not know (look-around, possessive repeats) may still be harmless
    if re2 is None and ignores_case(tree) and not pattern.isascii():
        raise MissingExtra("a pattern that ignores the case of letters beyond ASCII", extra="re2")
    weight = weigh(tree, window=window)
    if weight.cost > _ROUNDS * window and re2 is None and not weight.strange:
        raise MissingExtra(f"a pattern that can backtrack (or {_REMEDY})", extra="re2")
    check_backtracking(pattern, window=window)
    if not _SOUND and _ATOMIC.search(pattern):
        regex = importlib.import_module("regex")  # reads the same patterns, and has no such fault
        return regex.compile(pattern, regex.ASCII)
    return re.compile(pattern, re.ASCII)


def check_backtracking(pattern: str, *, window: int) -> None:
    """Refuse a pattern that Python's own engine could take long over."""
    if weigh(parse(pattern), window=window).cost > _ROUNDS * window:
        raise ConfigError(f"a pattern can backtrack, or refers back, or looks around without a bound; {_REMEDY}")


def _re2() -> Any:
    try:
        return importlib.import_module("re2")
    except ImportError:
        return None


class _Python:
    """Python's engine, with a pattern that has been weighed."""

    __slots__ = ("_regex",)

    def __init__(self, regex: re.Pattern[str]) -> None:
        self._regex = regex

    def matches(self, text: str, longest: int, groups: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
        for found in _scan(self._regex.search, self._regex.match, text, longest):
            yield [found.span(group) for group in groups]


class _Re2:
    """RE2, which reads bytes: places are counted back into characters, each byte once."""

    __slots__ = ("_regex",)

    def __init__(self, regex: Any) -> None:
        self._regex = regex

    def search(self, text: str) -> Any:
        return self._regex.search(_encoded(text))

    def matches(self, text: str, longest: int, groups: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
        data = _encoded(text)
        reach = longest if len(data) == len(text) else 4 * longest
        place = read = 0
        for found in _scan(self._search, self._match, data, reach):
            start = found.start()
            place, read = place + _count(data, read, start), start
            spans = [span for span in map(found.span, groups) if span[0] >= 0]
            yield [(place + _count(data, start, low), place + _count(data, start, high)) for low, high in spans]

    def _search(self, data: bytes, start: int, stop: int) -> Any:
        return self._within(self._regex.search, data, start, stop)

    def _match(self, data: bytes, start: int, stop: int) -> Any:
        return self._within(self._regex.match, data, start, stop)

    def _within(self, method: Any, data: bytes, start: int, stop: int) -> Any:
        """Look from `start` as if the text ended at `stop`, with a look at what stands before."""
        base = max(0, start - 8)
        found = method(data[base:stop], start - base, stop - base)
        return found and _Moved(found, base)


class _Moved:
    """A match with its places counted from the beginning of the whole text."""

    __slots__ = ("_base", "_found")

    def __init__(self, found: Any, base: int) -> None:
        self._found = found
        self._base = base

    def start(self) -> int:
        return self.span(0)[0]

    def end(self) -> int:
        return self.span(0)[1]

    def span(self, group: int) -> tuple[int, int]:
        start, end = self._found.span(group)
        return (start + self._base, end + self._base) if start >= 0 else (start, end)


def _scan(search: Any, match: Any, text: str | bytes, reach: int) -> Iterator[Any]:
    """Yield the matches in a text, with windows of twice the reach: no place is read more than so many times."""
    start, size = 0, len(text)
    while start < size:
        stop = _border(text, min(size, start + 2 * reach))
        found = search(text, start, stop)
        latest = size if stop == size else _border(text, stop - reach)
        if found is None or found.start() > latest:
            if stop == size:
                return
            start = latest if found is None else found.start()
            continue
        found = _whole(match, text, found, stop)
        if found.end() > found.start():
            yield found
            start = found.end()
        else:
            start = _border(text, found.end() + 1, up=True)


def _whole(match: Any, text: str | bytes, found: Any, stop: int) -> Any:
    """Return a match that reached the end of its window as long as it is; twice as much text each time."""
    while found.end() == stop < len(text):
        stop = _border(text, min(len(text), stop + max(8, stop - found.start())))
        longer = match(text, found.start(), stop)
        if longer is None or longer.end() < found.end():
            return found
        found = longer
    return found


def _border(text: str | bytes, place: int, *, up: bool = False) -> int:
    """Return a place that splits no character: this one, or the nearest before it, or behind it."""
    if isinstance(text, bytes):
        while 0 < place < len(text) and text[place] & 0xC0 == 0x80:
            place += 1 if up else -1
    return place


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # halves of characters, which no other text can hold
        return _SURROGATE.sub("\ufffd", text).encode()


def _count(data: bytes, start: int, end: int) -> int:
    return len(data[start:end].decode())
