"""Whose turn it is to take a connection: of several workers, the one that has the fewest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import MutableSequence

__all__ = ["NOBODY", "Turns"]

NOBODY: Final = -1
"""In the place of a worker that does not accept."""


class Turns:
    """How many connections each worker has, in memory that all share; each writes at its own place alone.

    Args:
        counts: One for each worker.
        place: Whose turns these are.
    """

    def __init__(self, counts: MutableSequence[int], place: int) -> None:
        self._counts, self._place = counts, place

    def note(self, connections: int) -> None:
        """Let the others know how many connections this worker has."""
        self._counts[self._place] = connections

    def leave(self) -> None:
        """Let the others know that this worker takes none."""
        self._counts[self._place] = NOBODY

    @property
    def is_anothers(self) -> bool:
        """Whether another worker has fewer."""
        counts = list(self._counts)
        return any(NOBODY < count < counts[self._place] for count in counts)
