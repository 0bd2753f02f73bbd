"""What a regular expression can cost Python's engine, which tries again wherever something did not fit.

Each part of a pattern has a cost, the steps it takes from one place, and a number of ways in which it can match there;
behind a part, everything is paid once for each way. A repeat has one way where the character that follows says
whether it goes on, and as many as it has rounds where it does not. Every figure is an upper bound.
"""

from __future__ import annotations

import itertools
import re
from re import _constants as sre  # type: ignore[attr-defined]  # private, and the only place where the tree is
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final, NamedTuple

from director_ai.errors import ConfigError

__all__ = ["MANY", "Weight", "ignores_case", "parse", "weigh"]

MANY: Final = 10**9
_OTHER: Final = 1 << 128
"""Stands for all characters beyond ASCII."""
_ALL: Final = (1 << 129) - 1
_FOLDED_FAR: Final = sum(1 << ord(letter) for letter in "iIkKsS")  # they have relatives beyond ASCII
_CLASSES: Final = {"DIGIT": r"\d", "WORD": r"\w", "SPACE": r"\s"}
_SINGLE: Final = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY"})


def parse(pattern: object) -> Any:
    """Return the tree of a pattern, or refuse it."""
    if not isinstance(pattern, str) or not pattern:
        raise ConfigError("a pattern must be a text that is not empty")
    try:
        tree = _parser.parse(pattern, re.ASCII)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise ConfigError(f"no regular expression: {getattr(error, 'msg', type(error).__name__)}") from None
    if tree.state.flags & re.VERBOSE:
        raise ConfigError("a pattern must not be verbose, (?x): RE2 does not know it")
    return tree


def weigh(tree: Any, *, window: int) -> Weight:
    """Return what a pattern can cost from one place of a text, with `window` characters to come."""
    return _Weigher(window, ignore_case=ignores_case(tree)).sequence(list(tree), 0)


class Weight(NamedTuple):
    """What a part of a pattern can cost the engine that goes through it from one place."""

    cost: int
    ways: int
    first: int
    """The characters it can begin with, a bit for each."""
    empty: bool
    """It can match no characters."""
    size: int = 1
    """How often it may read a character that it then consumes."""
    strange: bool = False
    """Holds what RE2 does not know either."""


class _Weigher:
    """Weighs a parsed pattern; every answer is an upper bound."""

    def __init__(self, window: int, *, ignore_case: bool) -> None:
        self._window = window
        self._ignore_case = ignore_case
        self._firsts: dict[int, int] = {}

    def sequence(self, items: list[Any], follow: int) -> Weight:
        """Weigh parts that come one after the other, and then one of the characters of `follow`, or the end."""
        weight = Weight(0, 1, 0, True, 0)
        for operation, argument in reversed(items):
            after = weight.first | (follow if weight.empty else 0)
            part = self._part(str(operation), argument, after)
            weight = Weight(
                cost=min(MANY, part.cost + part.ways * (weight.cost + 1)),
                ways=min(MANY, part.ways * weight.ways),
                first=part.first | (weight.first if part.empty else 0),
                empty=part.empty and weight.empty,
                size=part.size + weight.size,
                strange=part.strange or weight.strange,
            )
        return weight

    def _part(self, operation: str, argument: Any, follow: int) -> Weight:
        match operation:
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY" | "RANGE" | "CATEGORY":
                return Weight(1, 1, self._fold(_characters(operation, argument)), False)
            case "AT":
                return Weight(1, 1, _ALL, True)  # may fail anywhere, so that what stands before it is tried again
            case "BRANCH":
                weight = self._branch([self.sequence(list(branch), follow) for branch in argument[1]])
                return weight._replace(ways=1) if self._are_distinct_words(argument[1]) else weight
            case "SUBPATTERN" if not argument[1] & re.UNICODE:  # (?u:...) widens what `_characters` takes for granted
                return self.sequence(list(argument[3]), follow)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(argument, follow)
            case "POSSESSIVE_REPEAT" | "ATOMIC_GROUP":
                return self._final(argument)
            case "ASSERT" | "ASSERT_NOT":
                inner = self.sequence(list(argument[1]), 0)
                wide = argument[1].getwidth()[1] > self._window
                return Weight(MANY if wide else inner.cost, 1, _ALL, True, self._window, strange=True)
            case _:  # a reference to what a group matched, or something that no version knows yet
                return Weight(MANY, MANY, _ALL, True, strange=True)

    def _final(self, argument: Any) -> Weight:
        """Weigh what is never tried again once it has matched."""
        if isinstance(argument, _parser.SubPattern):
            return self.sequence(list(argument), 0)._replace(ways=1, size=self._window, strange=True)
        plain = len(argument[2]) == 1 and str(argument[2][0][0]) in _SINGLE
        return self._repeat(argument, 0)._replace(ways=1, size=1 if plain else self._window, strange=True)

    def _are_distinct_words(self, branches: Any) -> bool:
        """Whether all branches are words of which none begins another."""
        words = []
        for branch in branches:
            if not len(branch) or any(str(operation) != "LITERAL" for operation, _ in branch):
                return False
            word = "".join(chr(code) for _, code in branch)
            if self._ignore_case and not word.isascii():
                return False
            words.append(word.lower() if self._ignore_case else word)
        return not any(longer.startswith(word) for word, longer in itertools.pairwise(sorted(words)))

    @staticmethod
    def _branch(branches: list[Weight]) -> Weight:
        seen, apart = 0, True
        for branch in branches:
            apart = apart and not seen & branch.first and not branch.empty
            seen |= branch.first
        ways = [branch.ways for branch in branches]
        return Weight(
            cost=min(MANY, sum(branch.cost + 1 for branch in branches)),
            ways=min(MANY, max(ways) if apart else sum(ways)),
            first=seen,
            empty=any(branch.empty for branch in branches),
            size=sum(branch.size for branch in branches),
            strange=any(branch.strange for branch in branches),
        )

    def _repeat(self, argument: Any, follow: int) -> Weight:
        low, high, item = argument
        most = min(int(high), self._window)
        if most > 1 and id(item) not in self._firsts:
            self._firsts[id(item)] = self.sequence(list(item), 0).first
        again = self._firsts[id(item)] if most > 1 else 0
        one = self.sequence(list(item), follow | again)
        if (one.empty and most > 1) or (one.ways > 1 and most > 8):
            return one._replace(cost=MANY, ways=MANY, empty=True)
        ends = most - min(low, most) + 1 if one.first & follow or one.empty else 1
        ways = ends if one.ways == 1 else sum(one.ways**count for count in range(min(low, most), most + 1))
        cost = most * (one.cost + 1) * (1 if one.ways == 1 else ways)
        if one.ways == 1:  # every round reads on from where the last one ended
            cost = min(cost, self._window * (one.size + 1))
        return Weight(min(MANY, cost), min(MANY, ways), one.first, one.empty or low == 0, one.size, one.strange)

    def _fold(self, characters: int) -> int:
        if not self._ignore_case:
            return characters
        for upper in range(ord("A"), ord("Z") + 1):
            both = 1 << upper | 1 << upper + 32
            characters |= both if characters & both else 0
        return characters | (_OTHER if characters & _FOLDED_FAR else 0) | (_FOLDED_FAR if characters & _OTHER else 0)


def _characters(operation: str, argument: Any) -> int:
    """Return the characters that a part for one character matches, at least."""
    match operation:
        case "LITERAL":
            return 1 << min(int(argument), 128)
        case "NOT_LITERAL":
            return _ALL & ~(1 << argument) if argument < 128 else _ALL
        case "RANGE":
            low, high = (min(int(end), 128) for end in argument)
            return (1 << high + 1) - (1 << low)
        case "CATEGORY":
            _, *opposite, kind = str(argument).split("_")
            inside = sum(1 << code for code in range(128) if re.match(_CLASSES[kind], chr(code)))
            return _ALL & ~inside if opposite else inside
        case "IN":
            negated = str(argument[0][0]) == "NEGATE"
            inside = 0
            for inner, what in argument[negated:]:
                inside |= _characters(str(inner), what)
            return _ALL & ~inside | _OTHER if negated else inside
        case _:
            return _ALL


def ignores_case(tree: Any) -> bool:
    """Whether any part of a pattern ignores case."""
    if tree.state.flags & re.IGNORECASE:
        return True
    parts = [list(tree)]
    while parts:
        for operation, argument in parts.pop():
            if operation is sre.SUBPATTERN and argument[1] & re.IGNORECASE:
                return True
            parts += _inner(argument)
    return False


def _inner(argument: Any) -> list[list[Any]]:
    """Return the sequences inside the argument of one operation."""
    if isinstance(argument, _parser.SubPattern):
        return [list(argument)]
    if isinstance(argument, (list, tuple)):
        return [inner for each in argument for inner in _inner(each)]
    return []
