"""The checkpoints of a trail, each checked against the key."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError, PayloadError
from director_ai.record.checkpoints import Checkpoint
from director_ai.record.verdicts import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.record.keys import VerifyKey

__all__ = ["SignedPoints", "is_torn"]


class SignedPoints:
    """What signed checkpoints say of each tenant; memory grows by them, one for 64 rows, and not by rows.

    Args:
        lines: The checkpoints, a line each.
        key: Whose signatures count.
        tenant_id: Take only those of one tenant.
    """

    def __init__(self, lines: Iterable[str], key: VerifyKey, tenant_id: str | None = None) -> None:
        self.of: dict[str, dict[int, str]] = {}
        """The hash that each signed row of a tenant has; empty where two checkpoints contradict each other."""
        self.count = 0
        self.problem: Problem | None = None
        """The first line that the key has not signed."""
        self.line = 0
        """Its number."""
        for number, line in enumerate(lines, 1):
            self._take(line.rstrip("\r\n"), number, key, tenant_id)

    def _take(self, line: str, number: int, key: VerifyKey, tenant_id: str | None) -> None:
        if is_torn(line):
            return
        given = Checkpoint.from_line(line)
        if given is not None and tenant_id is not None and given.tenant_id != tenant_id:
            return
        if given is None or not _is_signed(given, line, key):
            if self.problem is None:
                self.problem, self.line = _problem(given, number), number
            return
        self.count += 1
        points = self.of.setdefault(given.tenant_id, {})
        if points.setdefault(given.sequence, given.hash) != given.hash:
            points[given.sequence] = ""


def is_torn(line: str) -> bool:
    """Whether a line is the beginning of one that a crash or a full disk cut off; it says no more than none."""
    return line.startswith('{"at":') and not line.rstrip().endswith("}")


def _is_signed(given: Checkpoint, line: str, key: VerifyKey) -> bool:
    try:
        same = given.line() == line
    except PayloadError:  # half a character
        return False
    return same and given.key_id == key.key_id and key.has_signed(given.message(), given.signature)


def _problem(given: Checkpoint | None, number: int) -> Problem:
    tenant, sequence = "?", 0
    if given is not None:
        with contextlib.suppress(ConfigError):
            tenant, sequence = check_identifier("tenant_id", given.tenant_id), given.sequence
    return Problem(
        kind="checkpoint_forged",
        tenant_id=tenant,
        sequence=sequence,
        since=sequence,
        sentence=f"line {number} of the checkpoints was not signed with this key, or was changed",
    )
