"""A check that follows a stream: it cuts the text itself, asks about it step by step, and remembers what was said."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from director_ai.core.merge import Edit

if TYPE_CHECKING:
    from director_ai.core.checks.answers import Outcome
    from director_ai.core.checks.rules import Stop

__all__ = ["FOLLOWER", "Fix", "Fixes", "Follow", "Follower"]

FOLLOWER: Final = -1
"""Stands for the follower where the rules of a stage have their numbers."""


class Fix(NamedTuple):
    """What a follower wants in place of a stretch of text that must not be shown as it is."""

    edits: tuple[Edit, ...]
    removal: Edit
    """Of the whole stretch, where its edits cannot come about as they were wanted."""
    text: str = ""
    """What stands there with all of its edits; empty where it is a removal itself."""

    @property
    def whole(self) -> Edit:
        """The same as one edit: what it puts there is examined as it will be read."""
        removal = self.removal
        return Edit(removal.start, removal.end, self.text, "rewrite", removal.check, removal.reason)


class Follower(Protocol):
    """One of them follows one stream. Places count from the beginning of what its gate reads."""

    @property
    def name(self) -> str:
        """Stands in its edits."""
        ...

    @property
    def decided(self) -> float:
        """All before this place was judged."""
        ...

    @property
    def pending(self) -> bool:
        """Whether there is something to ask about."""
        ...

    @property
    def stop(self) -> Stop | None:
        """Where the stream is to end."""
        ...

    def feed(self, text: str) -> None:
        """Take the next piece of the stream."""
        ...

    def finish(self) -> None:
        """The stream is at its end."""
        ...

    def ask(self) -> Any:
        """Return what it wants to know now, or None."""
        ...

    def ask_early(self) -> Any:
        """Return what it wants to know about text that seems to be complete, or None: prepared work, no decision."""
        ...

    def answer(self, outcome: Outcome) -> None:
        """Take the answer to what it asked last."""
        ...

    def take_fixes(self) -> list[Fix]:
        """Return what is to be changed, once."""
        ...

    def overrule(self, removal: Edit) -> None:
        """A fix could not come about; its stretch is removed."""
        ...

    def leave(self, released: int) -> None:
        """The stream is resumed behind what was released, up to a place, and another one follows it from there."""
        ...


Follow = Callable[[str, int], Follower]
"""From the text that was shown last, and how much was shown in all, to a follower of what comes behind it."""


class Fixes:
    """The fixes of a follower whose text was not released yet, in the order of the text."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._open: list[Fix] = []

    def add(self, fix: Fix) -> None:
        """Take another one, that stands behind the others."""
        self._open.append(fix)

    @property
    def removals(self) -> list[Edit]:
        """The stretches that are to be changed, each as a whole."""
        return [fix.removal for fix in self._open]

    def forget(self, before: int) -> None:
        """Let go of what was released."""
        self._open = [fix for fix in self._open if fix.removal.start >= before]

    def edits_of(self, edit: Edit) -> tuple[Edit, ...]:
        """Return the edits that a rewrite consists of, where it is a whole fix and came through as it was wanted."""
        fix = self._around(edit)
        is_whole = fix is not None and edit == fix.whole
        return fix.edits if fix is not None and is_whole else (edit,)

    def overrule(self, edits: list[Edit], lost: Iterable[Edit]) -> list[Edit] | None:
        """Return edits in which each fix that lost one of its own is a removal instead: half a fix is none.

        None where no fix did.
        """
        broken = {fix.removal.start: fix for edit in lost if (fix := self._around(edit)) is not None}
        if not broken:
            return None
        for fix in broken.values():
            self._follower.overrule(fix.removal)
        others = [edit for edit in edits if (fix := self._around(edit)) is None or fix.removal.start not in broken]
        self._open = [fix for fix in self._open if fix.removal.start not in broken]
        return others + [fix.removal for fix in broken.values()]

    def _around(self, edit: Edit) -> Fix | None:
        """Return the fix that an edit is a part of."""
        if edit.check != self._follower.name:
            return None
        place = bisect.bisect_right(self._open, edit.start, key=lambda fix: fix.removal.start) - 1
        return self._open[place] if place >= 0 and edit.end <= self._open[place].removal.end else None
