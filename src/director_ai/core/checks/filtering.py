"""Sentences of which all goes where a rule says `filter` and its check found something in them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from director_ai.core.checks.tracks import Track
from director_ai.core.checks.units import cutter_for
from director_ai.core.merge import Edit

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.core.checks.json_lens import JsonLens
    from director_ai.core.checks.rules import Rule

__all__ = ["SentenceFilter"]


class SentenceFilter:
    """Follows the sentences of one stream, and keeps what was found in those that were not released yet."""

    def __init__(self, rule: Rule, lens: JsonLens | None) -> None:
        self.track = Track(-1, rule, lens)
        self.track.cutter, self.track.joins = cutter_for("sentence"), False
        self._found: list[Edit] = []

    def add(self, edit: Edit) -> None:
        """Take what was found."""
        self._found.append(edit)

    @property
    def border(self) -> int:
        """Where the last sentence ends of which is known whether it goes."""
        return self.track.place(self.track.decided)

    def removals(self, limit: int, base: int, source: Callable[[Edit], str]) -> list[Edit]:
        """Return the removals of sentences that end up to a limit; nothing before the base is touched."""
        track, made = self.track, list[Edit]()
        ahead, around = deque(sorted(self._found, key=lambda edit: edit.start)), list[Edit]()
        while track.units and (end := track.place(track.units[0].end)) <= limit:
            unit = track.units.popleft()
            begin, track.decided = track.place(unit.start), unit.end
            while ahead and ahead[0].start < end:
                around.append(ahead.popleft())
            hits = [edit for edit in around if max(edit.end, edit.start + 1) > begin]
            around = [edit for edit in around if edit.end > end]
            if hits and end > begin:
                first = min(hits, key=lambda edit: (edit.start, edit.end, edit.check, edit.reason))
                start = max(begin, base)
                removal = Edit(start, max(start, end), "", "remove", first.check, first.reason)
                made += [removal] if track.lens is None else track.lens.within(removal, hits, source(removal))
        self._found = [*around, *ahead]
        return made
