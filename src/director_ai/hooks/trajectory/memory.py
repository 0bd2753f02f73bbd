"""Verdicts remembered for the occasions that they were given on; occasions are kept as hashes."""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from director_ai.core.ranges import check_number

if TYPE_CHECKING:
    from director_ai.hooks.protocol import Occasion

__all__ = ["OccasionMemory", "key_of"]

_V = TypeVar("_V")
_DEEPEST: Final = 16
_MOST_NODES: Final = 2_000


class OccasionMemory(Generic[_V]):
    """The last verdicts, at most so many and at most so old."""

    def __init__(self, size: int, seconds: float, clock: Callable[[], float]) -> None:
        self._size, self._seconds, self._clock = size, seconds, clock
        self._kept: OrderedDict[bytes, tuple[_V, float]] = OrderedDict()
        self._lock = threading.Lock()

    def _now(self) -> float:
        try:
            return check_number("clock", self._clock(), -math.inf, math.inf)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - without a time nothing is remembered, and so it is judged anew
            return math.nan

    def recall(self, key: bytes | None) -> _V | None:
        """Return what was kept; nothing that is too old, or that a clock gone back calls future."""
        if key is None or not self._size:
            return None
        now = self._now()
        with self._lock:
            verdict, at = self._kept.get(key, (None, 0.0))
            if verdict is None or not 0.0 <= now - at < self._seconds:
                self._kept.pop(key, None)
                return None
            self._kept.move_to_end(key)
            return verdict

    def keep(self, key: bytes | None, verdict: _V) -> None:
        """Keep a verdict, and let go of the one longest unused."""
        if key is None or not self._size:
            return
        now = self._now()
        with self._lock:
            self._kept[key] = (verdict, now)
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)


def key_of(occasion: Occasion) -> bytes | None:
    """Return a hash of what is asked for, by whom; None where the arguments are too many or too odd to tell apart."""
    action = occasion.action
    asked: list[Any] = [occasion.tenant_id, occasion.request_id, occasion.sender, occasion.receiver, occasion.prompt]
    if action is not None:
        frozen = _Freezing().freeze(action.arguments, 0)
        if frozen is None:
            return None
        asked += [action.name, frozen]
    return hashlib.sha256(repr(asked).encode("utf-8", "surrogatepass")).digest()


class _Freezing:
    """Turns plain data into nested tuples whose `repr` tells any two apart."""

    def __init__(self) -> None:
        self._nodes = 0

    def freeze(self, value: Any, depth: int) -> object | None:
        """Return the data frozen; None where it is not plain, too deep or too large."""
        self._nodes += 1
        if depth > _DEEPEST or self._nodes > _MOST_NODES:
            return None
        if value is None or type(value) in (str, int, float, bool, bytes):
            return (type(value).__name__, value)
        if isinstance(value, Mapping) and all(type(key) is str for key in value):
            parts = [(key, self.freeze(each, depth + 1)) for key, each in sorted(value.items())]
            return None if any(part is None for _, part in parts) else ("mapping", tuple(parts))
        if type(value) in (list, tuple):
            items = [self.freeze(each, depth + 1) for each in value]
            return None if any(item is None for item in items) else (type(value).__name__, tuple(items))
        return None
