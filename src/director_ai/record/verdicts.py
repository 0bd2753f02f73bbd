"""What a check of a trail says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Problem", "ProblemKind", "Verification"]

ProblemKind = Literal[
    "row_malformed",  # a column holds what is never written there
    "row_missing",  # the row of this number is gone
    "row_extra",  # a row of a number that there is already, or cannot be
    "row_changed",  # the row, or the one before it, is not what was hashed
    "row_forged",  # the hashes are right, the seal is not: written without the key
    "other_key",  # sealed with another key than the one given
    "body_changed",  # the text is not what was hashed
    "body_missing",  # the text is gone, and no retention row says so
    "checkpoint_differs",  # a signed checkpoint says that the row was another
    "tail_cut",  # a signed checkpoint says that there were more rows
    "checkpoints_missing",  # more rows without a checkpoint than there can be
    "checkpoint_forged",  # a checkpoint that the key has not signed
    "line_malformed",  # a line of an export is none
    "file_changed",  # an export is not as it was written
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The first thing that is wrong with a trail."""

    kind: ProblemKind
    tenant_id: str
    """`?` where the row names none that there can be."""
    sequence: int
    """The first row that is proved to be bad, or is missing; 0 where no row is."""
    since: int
    """From which row on it may be: an earlier one than `sequence` only where nothing but a checkpoint is the proof."""
    sentence: str
    """What is wrong, without anything that stands in the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What came out when a trail was checked."""

    ok: bool
    rows: int
    """That were found good."""
    tenants: int
    bad_tenants: int
    checkpoints: int
    """That the key has signed."""
    unsigned_rows: int
    """After the last checkpoint of their tenant: that they were the last ones is not provable yet."""
    forgotten_rows: int
    """Whose text was let go at the end of its time."""
    seals_checked: bool
    """False where only the public key was given: then rows without a checkpoint are proved by nothing."""
    problem: Problem | None = None
