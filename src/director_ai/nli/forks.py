"""A forked child has the parent's objects but none of its threads: locks may stay held, pools stand still."""

from __future__ import annotations

import os
import weakref
from typing import Protocol

__all__ = ["reset_after_fork"]


class Resettable(Protocol):
    """Something whose threads and locks do not survive a fork."""

    def after_fork(self) -> None:
        """Begin anew, in the child."""


_alive: weakref.WeakSet[Resettable] = weakref.WeakSet()


def reset_after_fork(part: Resettable) -> None:
    """Have the object begin anew in every child process, for as long as it lives."""
    _alive.add(part)


def _reset_all() -> None:
    for part in list(_alive):
        part.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_reset_all)
