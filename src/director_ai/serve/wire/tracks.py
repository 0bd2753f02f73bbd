"""One text on both sides of the guard: which places of it were shown as they came, and where they stand now."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from director_ai.core.merge import Edit
    from director_ai.core.repair.streams import RepairPiece

__all__ = ["Track", "entries_of"]

_WORD: Final = re.compile(r"\s*\S{0,32}\s*")
"""What a token that was not chosen may be: several words could say what nobody judged."""


class Track:
    """Follows one channel.

    Probabilities of tokens leave with their text; those of tokens that were changed never do. Places in the model's
    text are found again in what is shown.
    """

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        """What was heard and not shown yet; its first text from `_cut` on."""
        self._cut = 0
        self._heard = 0
        self._read = 0
        self._written = 0
        self._same: list[tuple[int, int, int]] = []
        """Runs that were shown as they came: start, end, and how far they moved."""
        self._logprobs: deque[tuple[int, int, Any]] = deque()

    def hear(self, text: str, logprobs: Any = None) -> None:
        """Take text of the model, with the probabilities of its tokens; they are dropped if they are of another."""
        place = self._heard
        for entry in entries_of(logprobs, text):
            self._logprobs.append((place, place + len(entry["token"]), entry))
            place += len(entry["token"])
        self._waiting.append(text)
        self._heard += len(text)

    def show(self, piece: RepairPiece) -> list[Any]:
        """Take what is shown, and return the probabilities of those of its tokens that are as they came."""
        source = self._take(piece.end - self._read)
        edits = sorted((edit for action in piece.actions for edit in action.edits), key=lambda edit: edit.start)
        runs = list(_runs(edits, self._read, self._read + len(source)))
        if "".join(_applied(source, self._read, edits)) == piece.text:
            for start, end, moved in runs:
                self._add(start, end, self._written - self._read + moved)
        elif source == piece.text:
            self._add(self._read, self._read + len(source), self._written - self._read)
        self._read += len(source)
        self._written += len(piece.text)
        return list(self._due())

    def place_of(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where a stretch of the model's text is shown; None where it was changed, or not shown."""
        for first, last, moved in self._same:
            if first <= start and end <= last:
                return start + moved, end + moved
        return None

    def _take(self, count: int) -> str:
        taken = []
        while count > 0 and self._waiting:
            text = self._waiting[0][self._cut : self._cut + count]
            self._cut += len(text)
            count -= len(text)
            taken.append(text)
            if self._cut == len(self._waiting[0]):
                self._waiting.popleft()
                self._cut = 0
        return "".join(taken)

    def _add(self, start: int, end: int, moved: int) -> None:
        if start == end:
            return
        if self._same and self._same[-1][1] == start and self._same[-1][2] == moved:
            start = self._same.pop()[0]
        self._same.append((start, end, moved))

    def _due(self) -> Iterator[Any]:
        while self._logprobs and self._logprobs[0][1] <= self._read:
            start, end, entry = self._logprobs.popleft()
            # The runs are sought from the end: tokens leave in their order.
            for first, last, _ in reversed(self._same):
                if first <= start and end <= last:
                    yield entry
                if last <= start:
                    break


def _runs(edits: Iterable[Edit], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield what lies between edits, each with how far the edits before it moved it."""
    moved = 0
    for edit in edits:
        yield start, edit.start, moved
        moved += len(edit.replacement) - (edit.end - edit.start)
        start = edit.end
    yield start, end, moved


def _applied(source: str, base: int, edits: Iterable[Edit]) -> Iterator[str]:
    place = base
    for edit in edits:
        yield source[place - base : edit.start - base]
        yield edit.replacement
        place = edit.end
    yield source[place - base :]


def entries_of(logprobs: Any, text: str) -> list[dict[str, Any]]:
    """Return the documented fields of the probabilities of a text's tokens; nothing where they are of another text."""
    found = [_entry(each) for each in logprobs] if isinstance(logprobs, list) else []
    known = [entry for entry in found if entry is not None]
    return known if "".join(entry["token"] for entry in known) == text else []


def _entry(value: Any, *, chosen: bool = True) -> dict[str, Any] | None:
    if not isinstance(value, dict) or not isinstance(value.get("token"), str):
        return None
    made = {name: value[name] for name in ("token", "logprob", "bytes") if _is_figure(name, value.get(name))}
    others = value.get("top_logprobs")
    if chosen and isinstance(others, list):
        read = (_entry(other, chosen=False) for other in others[:20])
        made["top_logprobs"] = [other for other in read if other is not None and _WORD.fullmatch(other["token"])]
    return made


def _is_figure(name: str, value: Any) -> bool:
    if name == "bytes":
        return value is None or (isinstance(value, list) and all(type(each) is int for each in value))
    if name == "logprob":
        return isinstance(value, int | float) and abs(value) < 1e9
    return isinstance(value, str)
