"""A patch: a stretch of a clause and what stands there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Group", "Patch", "apply_patches"]


class Patch(NamedTuple):
    """What replaces `clause[start:end]`."""

    start: int
    end: int
    text: str


Group = tuple[Patch, ...]
"""The patches that put one thing right, in order: the value itself, and the words that must agree with it."""


def apply_patches(clause: str, patches: Iterable[Patch]) -> str:
    """Return the clause with patches that do not overlap; everything else stays byte for byte."""
    parts, at = [], 0
    for patch in sorted(patches):
        parts += [clause[at : patch.start], patch.text]
        at = patch.end
    return "".join([*parts, clause[at:]])
