"""Text longer than the model's window: cut into overlapping windows, and one answer made of theirs.

A pair that fits is one window. Otherwise the premise is read in windows that overlap by half, so that a sentence cut by
one is whole in the next. A hypothesis that leaves the premise less than half the room is read in parts too.

- Over the windows of the premise: the one that supports most decides, unless some window contradicts more strongly than
  any supports; then that one decides. Evidence stands in one place; the rest of a long text is silent about it.
- Beside the windows, the most telling sentences of the premise are read as one text (`focus`); the mean of both counts.
- Over the parts of the hypothesis: the whole is supported as little as its least supported part, and contradicted as
  much as its most contradicted one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Words = Sequence[int] | NDArray[np.int32]

__all__ = [
    "MOST_WINDOWS",
    "PairWindow",
    "Scores",
    "Span",
    "join_parts",
    "join_views",
    "join_windows",
    "pair_windows",
    "spans",
]

MOST_WINDOWS = 65_536
"""Of one pair. Two long texts need the product of their windows: hours of work that nobody meant to ask for."""

Span = tuple[int, int]
"""From one token up to, but without, another."""


class Scores(NamedTuple):
    """Probabilities of one window, or of several joined."""

    supported: float
    contradicted: float
    neutral: float


class PairWindow(NamedTuple):
    """A stretch of the premise beside a stretch of the hypothesis."""

    part: int
    """Which part of the hypothesis this is about."""
    premise: Span
    hypothesis: Span


def spans(words: Words, room: int) -> list[Span]:
    """Cover a text with windows of at most `room` tokens that overlap by about half and begin with whole words.

    `words` tells for each token which word it is of.
    """
    count, start = len(words), 0
    found: list[Span] = []
    while start + room < count:
        found.append((start, start + room))
        start = _next_start(words, start, room)
    found.append((start, count))
    return found


def _next_start(words: Words, start: int, room: int) -> int:
    """Return where the window after the one at `start` begins: half a window on, at the beginning of that word."""
    middle = begin = start + max(1, room // 2)
    least = start + room // 4
    while begin > least and words[begin - 1] == words[begin]:
        begin -= 1
    return begin if begin > least else middle  # a word as long as that is cut


def pair_windows(premise: Words, hypothesis: Words, room: int) -> Iterator[PairWindow]:
    """Return what to score for a pair, given the word of each token and the room for both texts together."""
    if len(premise) + len(hypothesis) <= room:
        yield PairWindow(0, (0, len(premise)), (0, len(hypothesis)))
        return
    parts = spans(hypothesis, max(room // 2, room - len(premise)))
    stretches = {size: spans(premise, room - size) for size in {end - start for start, end in parts}}
    needed = sum(len(stretches[end - start]) for start, end in parts)
    if needed > MOST_WINDOWS:
        raise ConfigError(
            f"a pair of {len(premise)} and {len(hypothesis)} tokens needs {needed} windows, "
            f"the most is {MOST_WINDOWS}; split the hypothesis into sentences, or the premise into passages"
        )
    for number, part in enumerate(parts):
        for stretch in stretches[part[1] - part[0]]:
            yield PairWindow(number, stretch, part)


def join_windows(windows: Iterable[Scores]) -> Scores:
    """Return the scores of the window that decides about a hypothesis."""
    found = list(windows)
    most_supporting = max(found, key=lambda scores: scores.supported)
    most_contradicting = max(found, key=lambda scores: scores.contradicted)
    contradicts = most_contradicting.contradicted > most_supporting.supported
    return most_contradicting if contradicts else most_supporting


def join_views(windows: Scores, focused: Sequence[Scores]) -> Scores:
    """Return the mean of what the windows said and of what the most telling sentences said, where they were read."""
    views = [windows, *focused]
    return Scores(*(sum(column) / len(views) for column in zip(*views, strict=True)))


def join_parts(parts: Iterable[Scores]) -> Scores:
    """Return the scores of a hypothesis made of these parts, all of which it asserts."""
    found = list(parts)
    if len(found) == 1:
        return found[0]
    supported = min(scores.supported for scores in found)
    contradicted = max(scores.contradicted for scores in found)  # with the least support this is never more than 1
    return Scores(supported, contradicted, max(0.0, 1.0 - supported - contradicted))
