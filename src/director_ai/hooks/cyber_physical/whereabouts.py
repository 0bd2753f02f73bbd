"""Where things are: what was last seen of them, and what they were told to do since."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from director_ai.hooks.cyber_physical.volumes import HalfSpace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.hooks.cyber_physical.quantities import Point
    from director_ai.hooks.cyber_physical.volumes import KeepOut

__all__ = ["MOST_TOLD", "Key", "Known", "Whereabouts", "swept"]

Key = tuple[str, str]
"""A thing, and the kind of quantity; or a tool, and `place`."""
Known = tuple[Any, float]
"""A value or a place that was seen, and when."""
MOST_TOLD: Final = 256
_HALVINGS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """What is known; its holder sees to it that one thread at a time changes it."""

    seen: dict[Key, Known] = field(default_factory=dict)
    told: dict[Key, tuple[Known, ...]] = field(default_factory=dict)
    """Values, and places in the order of their paths, of actions that were allowed, and when."""

    def copy(self) -> Whereabouts:
        """Return what is known now."""
        return Whereabouts(seen=self.seen.copy(), told=self.told.copy())

    def see(self, key: Key, known: Known) -> None:
        """Take note of what was seen; what was told before that no longer matters."""
        self.seen[key] = known
        self.told[key] = tuple(each for each in self.told.get(key, ()) if each[1] > known[1])

    def tell(self, key: Key, values: tuple[Any, ...], at: float) -> None:
        """Take note of what was allowed; one more than the most is kept, which tells that there are too many."""
        earlier = self.told.get(key, ())
        if tuple(value for value, _ in earlier[-len(values) :]) == values:  # once more the same: it is there later
            earlier = earlier[: -len(values)]
        self.told[key] = (*earlier, *((value, at) for value in values))[-MOST_TOLD - 1 :]

    def is_as(self, other: Whereabouts, keys: Iterable[Key]) -> bool:
        """Whether nothing has become known of these since."""
        return all(
            self.seen.get(key) is other.seen.get(key) and self.told.get(key) is other.told.get(key) for key in keys
        )


def swept(
    volume: KeepOut, leg: tuple[Point, Point], end: Point, margin: float, halvings: int = _HALVINGS
) -> float | None:
    """Return where a volume is entered on the way to a place from somewhere on a leg; None where from nowhere.

    The ways from both ends of the leg are known to be clear. What is thinner than a 128th of the leg may be missed.
    """
    if halvings < 0 or isinstance(volume, HalfSpace):  # whose other side is convex, so that the ends say it all
        return None
    (a, b, c), (x, y, z) = leg
    middle = ((a + x) / 2.0, (b + y) / 2.0, (c + z) / 2.0)
    # Every way from the leg stays within half its length of the way from its middle.
    half = ((a - x) ** 2 + (b - y) ** 2 + (c - z) ** 2) ** 0.5 / 2.0
    if volume.entry(middle, end, margin + half) is None:
        return None
    at = volume.entry(middle, end, margin)
    if at is not None:
        return at
    first = swept(volume, (leg[0], middle), end, margin, halvings - 1)
    return first if first is not None else swept(volume, (middle, leg[1]), end, margin, halvings - 1)
