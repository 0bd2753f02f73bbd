"""Optimistic mode: an answer's text is shown at once, and confirmed, replaced or retracted as it is judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from director_ai.core.merge import in_common
from director_ai.core.runtime.intake import TokenIntake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from director_ai.core.repair.streams import RepairPiece
    from director_ai.serve.wire.items import Channel, Say, Wire

__all__ = ["MOST_UNCONFIRMED", "Correction", "Optimism", "ShownText"]

MOST_UNCONFIRMED: Final = 4_000
"""Characters of one text that may be shown and not judged yet; what comes beyond them waits for the guard."""
_SLACK: Final = 64
"""Characters by which checks that come first may have moved a place."""
_TAIL: Final = 4
"""Characters by which the end of a piece is found again."""


class Correction(NamedTuple):
    """What becomes of text that was shown, in places of the text as the client holds it by then."""

    event: Literal["confirm", "replace", "retract"]
    start: int
    end: int
    text: str = ""


class ShownText:
    """One text at a client: what of it is final, and what was shown before it was judged.

    The client's text is always what the guard let go, and behind it what it has not judged yet.
    """

    def __init__(self, most: int = MOST_UNCONFIRMED) -> None:
        self._most = most
        self._intake = TokenIntake()
        self._final = 0
        """Characters that the guard let go."""
        self._open = ""
        """What was shown behind them."""
        self._held = ""
        """What came behind that, and is not shown yet."""
        self._read = 0
        """How far the guard is in the text of its present stream."""

    def show(self, text: str) -> str:
        """Take text of the model, and return what of it is shown now."""
        self._held += self._intake.take(text)
        return self._more()

    def settle(self, piece: RepairPiece) -> Iterator[Correction | str]:
        """Yield what a client must be told of what the guard let go: corrections, and text that was held so far."""
        reach = self._reach(piece)
        self._read = piece.end
        old, self._open = self._open[:reach], self._open[reach:]
        taken, self._held = self._held[: reach - len(old)], self._held[reach - len(old) :]
        new = piece.text
        if not self._open and (taken or new.startswith(old)):
            # What was not shown yet leaves as text, and not in a correction: every client knows how to add text.
            new = old[: _common_words(old, new)] if not new.startswith(old) else old
        if new != old:
            yield _change(self._final, old, new)
        yield from self._confirm(len(new))
        if rest := piece.text[len(new) :]:
            yield rest
            yield from self._confirm(len(rest))
        if more := self._more():
            yield more

    def retract(self) -> Iterator[Correction]:
        """Take back what is not judged; where the text goes on, it begins anew behind what stays."""
        if self._open:
            yield Correction("retract", self._final, self._final + len(self._open))
        self._open, self._held, self._read, self._intake = "", "", 0, TokenIntake()

    def _confirm(self, count: int) -> Iterator[Correction]:
        start, self._final = self._final, self._final + count
        if count:
            yield Correction("confirm", start, self._final)

    def _more(self) -> str:
        more = self._held[: max(0, self._most - len(self._open))]
        self._held = self._held[len(more) :]
        self._open += more
        return more

    def _reach(self, piece: RepairPiece) -> int:
        """Return how much of what is not settled a piece stands for.

        Its end says so, but where other checks come first, it is in the text as they left it.
        """
        count = max(0, piece.end - self._read)
        said, tail = self._open + self._held[: count + _SLACK], piece.text[-_TAIL:]
        if not count or len(tail) < _TAIL or said.endswith(tail, 0, count):
            return min(count, len(said))
        places = range(max(1, count - _SLACK), min(count + _SLACK, len(said)) + 1)
        near = (place for place in places if said.endswith(tail, 0, place))
        return min(near, key=lambda place: abs(place - count), default=min(count, len(said)))


class Optimism:
    """The texts of one exchange that are shown before they are judged.

    Args:
        wire: How the protocol writes them.
        told: Hears of every correction.
    """

    def __init__(self, wire: Wire, *, told: Callable[[Correction], None] | None = None) -> None:
        self._wire, self._told = wire, told
        self._texts: dict[Channel, ShownText] = {}
        self.tally: Counter[str] = Counter()
        """How many corrections of each kind there were, and how many characters were taken back."""

    def takes(self, say: Say) -> bool:
        """Whether a text is shown at once: the answer's own, where it is prose."""
        return say.channel[0] == self._wire.answers and say.shape == "text"

    def show(self, say: Say) -> bytes:
        """Return what is shown of a text at once."""
        text = self._texts.setdefault(say.channel, ShownText()).show(say.text)
        return self._wire.write_plain(say.channel, text) if text else b""

    def settle(self, channel: Channel, piece: RepairPiece, guard: Mapping[str, Any] | None) -> bytes:
        """Return what a client is told of text that the guard let go."""
        self._wire.settle(channel, piece, guard)
        told, written = dict(guard or {}), b""
        for each in self._texts[channel].settle(piece):
            if isinstance(each, str):
                written += self._wire.write_plain(channel, each)
            else:
                written += self._corrected(channel, each, told)
                told = {}
        return written

    def retract(self, ends: Callable[[Channel], bool] = lambda _: True) -> bytes:
        """Return what takes back all that is not judged of some texts."""
        found = ((channel, text) for channel, text in self._texts.items() if ends(channel))
        return b"".join(self._corrected(channel, each, {}) for channel, text in found for each in text.retract())

    def _corrected(self, channel: Channel, each: Correction, told: Mapping[str, Any]) -> bytes:
        self.tally[each.event] += 1
        if each.event != "confirm":
            self.tally["characters"] += each.end - each.start
        if self._told is not None:
            self._told(each)
        made: dict[str, Any] = {"event": each.event, "start": each.start, "end": each.end}
        if each.event == "replace":
            made["text"] = each.text
        return self._wire.write_plain(channel, "", {**made, "shown_before_judged": True, **told})


def _change(start: int, old: str, new: str) -> Correction:
    """Return the change from one text to another, in whole words."""
    head = _common_words(old, new)
    before, after = old[head:], new[head:]
    tail = in_common(before[::-1], after[::-1])
    while tail and not (_is_border(before, len(before) - tail) and _is_border(after, len(after) - tail)):
        tail -= 1
    text = after[: len(after) - tail]
    return Correction("replace" if text else "retract", start + head, start + len(old) - tail, text)


def _is_border(text: str, at: int) -> bool:
    return at == 0 or text[at].isspace() or text[at - 1].isspace()


def _common_words(one: str, other: str) -> int:
    """Return how far two texts are the same, up to the end of a space."""
    head = in_common(one, other)
    while head and not one[head - 1].isspace():
        head -= 1
    return head
