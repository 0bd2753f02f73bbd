"""One tenant's rows, checked one after the other as they come."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from director_ai.record.chain import START, hash_row
from director_ai.record.checkpoints import EVERY_ROWS
from director_ai.record.keys import SigningKey
from director_ai.record.retention import RETENTION
from director_ai.record.verdicts import Problem, ProblemKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from director_ai.record.keys import VerifyKey
    from director_ai.record.scan import RawRow

__all__ = ["TenantCheck"]


class TenantCheck:
    """Says where a tenant's trail is no longer the one that was written.

    Args:
        tenant_id: Whose rows.
        key: The key that they were sealed with, or its public half: then seals are not checked.
        points: The hashes that signed checkpoints give, by sequence.
    """

    def __init__(self, tenant_id: str, key: VerifyKey, points: Mapping[int, str]) -> None:
        self.rows = 0
        """That are good so far."""
        self.forgotten = 0
        self.signed = 0
        """The last row that a checkpoint is of."""
        self.last_at = 0
        """When the last of them was written, in microseconds since 1970."""
        self.tenant_id = tenant_id
        self._key_id = key.key_id
        self._seal = key.seal if isinstance(key, SigningKey) else None
        self._points = points
        self._hash = START
        self._emptied: list[list[int]] = []
        """First and last row of the stretches without text that no retention row has explained yet."""
        self._claimed: list[tuple[int, int]] = []
        """Stretches that retention rows explain, which count from the next checkpoint on where seals are not read."""

    @property
    def unsigned(self) -> int:
        """How many rows come after the last checkpoint."""
        return self.rows - self.signed

    def take(self, rows: Sequence[RawRow]) -> Problem | None:
        """Return what is wrong with the first row that is not good; after that, nothing more may be given."""
        tenant, key_id, seal_of, points = self.tenant_id, self._key_id, self._seal, self._points
        sha256, previous, expected = hashlib.sha256, self._hash, self.rows + 1
        for row in rows:
            sequence, at, kind, subject, body, body_hash, key, digest, seal = row
            try:
                good = (
                    type(sequence) is int
                    and sequence == expected
                    and type(at) is int
                    and hash_row(tenant, sequence, at, kind, subject, body_hash, key, previous) == digest
                    and (body is None or sha256(body.encode()).hexdigest() == body_hash)
                    and key == key_id
                    and (seal_of is None or seal_of(digest) == seal)
                )
            except (AttributeError, TypeError, ValueError):  # what stands there is no text, or half a character
                good = False
            if not good:
                return self._diagnosed(row, previous)
            previous, self._hash, self.rows, self.last_at = digest, digest, expected, at
            expected += 1
            if body is None or kind == RETENTION:
                problem = self._note(sequence, kind, body)
                if problem is not None:
                    return problem
            if sequence in points and (problem := self._compared(sequence, digest)) is not None:
                return problem
        return None

    def finish(self) -> Problem | None:
        """Return what is wrong with the trail as a whole, if every row of it was good."""
        if self._emptied:
            return self._without_text(self._emptied[0][0])
        there = max(self._points, default=0)
        if there > self.rows:
            since = self.signed + 1 if self._seal is None else self.rows + 1
            said = f"is gone: a signed checkpoint says that there were {there} rows"
            return self._problem("tail_cut", self.rows + 1, said, since=since)
        if self.unsigned > EVERY_ROWS:
            said = f"and the {self.unsigned - 1} after it are covered by no checkpoint; there is one every {EVERY_ROWS}"
            return self._problem("checkpoints_missing", self.signed + 1, said)
        return None

    def _note(self, sequence: int, kind: str, body: str | None) -> Problem | None:
        """Remember a row without text, or what a retention row says of such."""
        if body is None:
            if kind == RETENTION:
                return self._without_text(sequence)
            self.forgotten += 1
            if self._emptied and self._emptied[-1][1] == sequence - 1:
                self._emptied[-1][1] = sequence
            else:
                self._emptied.append([sequence, sequence])
            return None
        stretch = _stretch(body, sequence)
        if stretch is not None:
            self._claimed.append(stretch)
            if self._seal is not None:
                self._explain()
        return None

    def _compared(self, sequence: int, digest: str) -> Problem | None:
        if self._points[sequence] == digest:
            self.signed = sequence
            self._explain()
            return None
        since = self.signed + 1
        said = "is not the one that was signed in a checkpoint"
        said += f"; what was changed is in the rows {since} to {sequence}" if since < sequence else ""
        return self._problem("checkpoint_differs", sequence, said, since=since)

    def _explain(self) -> None:
        """Strike out the stretches that retention rows explain."""
        for first, last in self._claimed:
            left: list[list[int]] = []
            for start, end in self._emptied:
                left += [[start, min(end, first - 1)]] if start < first else []
                left += [[max(start, last + 1), end]] if end > last else []
            self._emptied = left
        self._claimed = []

    def _diagnosed(self, row: RawRow, previous: str) -> Problem:
        """Return what is wrong with a row that is not good."""
        sequence, at, kind, subject, body, body_hash, key, digest, _ = row
        expected = self.rows + 1
        texts = (kind, subject, body_hash, key, digest, row[8], "" if body is None else body)
        if type(sequence) is not int or type(at) is not int or not all(_is_text(each) for each in texts):
            return self._problem("row_malformed", expected, "holds what is never written to a trail")
        if sequence > expected:
            return self._problem("row_missing", expected, f"is gone: the next one there is {sequence}")
        if sequence < expected:
            return self._problem("row_extra", sequence, "is there, and cannot be")
        if hash_row(self.tenant_id, sequence, at, kind, subject, body_hash, key, previous) != digest:
            return self._problem("row_changed", sequence, "is not what was written, or does not follow the one before")
        if body is not None and hashlib.sha256(body.encode()).hexdigest() != body_hash:
            return self._problem("body_changed", sequence, "has another text than the one that was written")
        if key != self._key_id:
            return self._problem("other_key", sequence, "was sealed with another key than the one given")
        return self._problem("row_forged", sequence, "was not sealed by the key: somebody without it wrote the row")

    def _without_text(self, sequence: int) -> Problem:
        return self._problem(
            "body_missing", sequence, "has lost its text, and no retention row that can be proved says so"
        )

    def _problem(self, kind: ProblemKind, sequence: int, said: str, *, since: int | None = None) -> Problem:
        return Problem(
            kind=kind,
            tenant_id=self.tenant_id,
            sequence=sequence,
            since=sequence if since is None else since,
            sentence=f"row {sequence} {said}",
        )


def _stretch(body: str, sequence: int) -> tuple[int, int] | None:
    """Return the first and the last row that a retention row speaks of; they come before it."""
    try:
        given: Any = json.loads(body)
        first, last = given["first"], given["last"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    if type(first) is int and type(last) is int and 1 <= first <= last < sequence:
        return first, last
    return None


def _is_text(value: object) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False
