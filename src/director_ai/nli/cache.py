"""Answers that were computed before, found again by an exact key."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from director_ai.nli.forks import reset_after_fork

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["AnswerCache"]

Answer = TypeVar("Answer")


class AnswerCache(Generic[Answer]):
    """The last `size` answers, by when they were last asked for; safe to use from several threads."""

    def __init__(self, size: int) -> None:
        self.hits = 0
        self.misses = 0
        self._size = size
        self._answers: OrderedDict[bytes, Answer] = OrderedDict()
        self.after_fork()
        reset_after_fork(self)

    def after_fork(self) -> None:
        """Take a lock that no thread of the parent process holds."""
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Answer]:
        """Return the answers that are known, and count who found one."""
        found: dict[bytes, Answer] = {}
        with self._lock:
            for key in keys:
                if (answer := self._answers.get(key)) is None:
                    self.misses += 1
                else:
                    self._answers.move_to_end(key)
                    self.hits += 1
                    found[key] = answer
        return found

    def keep(self, answers: Mapping[bytes, Answer]) -> None:
        """Remember answers, and forget those that were not asked for the longest."""
        with self._lock:
            self._answers.update(answers)
            while len(self._answers) > self._size:
                self._answers.popitem(last=False)
