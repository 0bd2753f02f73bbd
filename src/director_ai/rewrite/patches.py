"""A patch: a stretch of a clause and what stands there instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Group", "Patch", "apply_patches", "merge_groups"]


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


def merge_groups(groups: Iterable[Group]) -> Group:
    """Return the patches of all groups that fit together; of two that touch the same text the first one stays."""
    kept: list[Patch] = []
    for group in groups:
        if not any(_meet(patch, other) for patch in group for other in kept):
            kept += group
    return tuple(sorted(kept))


def _meet(one: Patch, two: Patch) -> bool:
    return (one.start < two.end and two.start < one.end) or one.start == two.start
