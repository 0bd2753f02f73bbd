"""The file of an exported trail: a line that says what it is, rows, checkpoints, a line that says it is whole."""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError
from director_ai.record.links import TenantCheck
from director_ai.record.scan import FIELDS
from director_ai.record.signatures import SignedPoints
from director_ai.record.verdicts import Problem, ProblemKind, Verification
from director_ai.record.verification import Findings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from director_ai.record.keys import VerifyKey
    from director_ai.record.scan import RawRow

__all__ = ["FORMAT", "ExportFile", "first_line", "json_line", "verify_export"]

FORMAT: Final = 1
LONGEST_LINE: Final = 2**24
"""Bytes: the longest body with every character escaped, and room for the rest."""
PAGE: Final = 500


def json_line(value: Any) -> str:
    """Return a value as a line of ASCII, with one way to write it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n"


def first_line() -> str:
    """Return the line that says what the file is."""
    return json_line({"director_ai": "audit", "format": FORMAT})


class ExportFile:
    """An export, read from the beginning as often as needed; it is looked through once when it is opened."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.rows = 0
        self.checkpoints = 0
        self.digest = ""
        """Of all lines but the last."""
        self.rows_digest = ""
        """Of the lines that are rows."""
        self.problem: Problem | None = None
        """What is wrong with the file as such: it was cut, or is not as it was written."""
        self._look_through()

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with their numbers; what is too long to be one comes in pieces."""
        self._stream.seek(0)
        number = 0
        while line := self._stream.readline(LONGEST_LINE):
            number += 1
            yield number, line

    def row_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines that are rows, or nothing that there can be."""
        for number, line in self.lines():
            if number > 1 and not line.startswith((b'{"checkpoint":', b'{"end":')):
                yield number, line

    def checkpoint_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the checkpoints, each as it stands in the file of a trail."""
        for number, line in self.lines():
            if line.startswith(b'{"checkpoint":'):
                yield number, line.decode("utf-8", "replace").rstrip("\r\n").removeprefix('{"checkpoint":')[:-1]

    def _look_through(self) -> None:
        seen, rows, end, last = hashlib.sha256(), hashlib.sha256(), b"", 0
        for last, line in self.lines():
            if last == 1:
                _check_first(line)
            if end:
                self.problem = self.problem or _problem("file_changed", f"line {last} comes after the end")
                continue
            if line.startswith(b'{"end":'):
                end = line
                continue
            seen.update(line)
            if line.startswith(b'{"checkpoint":'):
                self.checkpoints += 1
            elif last > 1:
                self.rows += 1
                rows.update(line)
        if not last:
            raise ConfigError("the file is empty; an export of an audit trail begins with a line that says so")
        self.digest, self.rows_digest = seen.hexdigest(), rows.hexdigest()
        if self.problem is None and end != self.end_line().encode():
            said = f"line {last} does not fit the lines before it: the file was edited"
            cut = f"the file ends after line {last}, without the line that ends an export: it was cut"
            self.problem = _problem("file_changed", said if end else cut)

    def end_line(self) -> str:
        """Return the line that such a file ends with."""
        return end_line(self.rows, self.checkpoints, self.digest)


def end_line(rows: int, checkpoints: int, digest: str) -> str:
    """Return the line that says that a file is whole."""
    return json_line({"end": {"rows": rows, "checkpoints": checkpoints, "sha256": digest}})


def parsed_row(line: bytes) -> tuple[str, RawRow] | None:
    """Return the tenant and the columns that a line holds; None where it is no row."""
    try:
        given = json.loads(line.decode("ascii"))
        row = given["row"]
        tenant = check_identifier("tenant_id", row["tenant"])
        columns: Any = tuple([row[name] for name in FIELDS])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return (tenant, columns) if len(given) == 1 and len(row) == len(FIELDS) + 1 else None


def verify_export(file: ExportFile, key: VerifyKey, *, progress: Callable[[int], None] | None = None) -> Verification:
    """Check the trail in an export, and name the first line that is not good."""
    points = SignedPoints((text for _, text in file.checkpoint_lines()), key)
    findings = Findings()
    reading = _Reading(key, points, findings, strict=file.problem is not None)
    for number, line in file.row_lines():
        reading.take(number, line)
        if progress is not None and number % PAGE == 0:
            progress(findings.rows + reading.rows)
    reading.finish()
    for tenant in sorted(points.of.keys() - reading.seen):
        problem = TenantCheck(tenant, key, points.of[tenant]).finish()
        if problem is not None:
            findings.problems.append(problem)
    if points.problem is not None:
        number, _ = next(islice(file.checkpoint_lines(), points.line - 1, None))
        said = f"line {number}: the checkpoint was not signed with this key, or was changed"
        points.problem = _at(points.problem, said)
    elif file.problem is not None:
        findings.problems.append(file.problem)
    return findings.verdict(points, key)


class _Reading:
    """Takes the rows of a file, tenant after tenant."""

    def __init__(self, key: VerifyKey, points: SignedPoints, findings: Findings, *, strict: bool) -> None:
        self.seen: set[str] = set()
        self._key = key
        self._points = points
        self._findings = findings
        self._strict = strict
        """Refuse lines that say a good row in another way than we do: the file was edited somewhere."""
        self._check: TenantCheck | None = None
        self._tenant = ""
        self._begins = 0
        self._bad = False

    @property
    def rows(self) -> int:
        """How many of the present tenant's rows are good."""
        return self._check.rows if self._check is not None else 0

    def take(self, number: int, line: bytes) -> None:
        """Take the next line."""
        parsed = parsed_row(line)
        if parsed is None:
            self._malformed(number)
            return
        tenant, columns = parsed
        if self._check is None or tenant != self._tenant:
            self._begin(tenant, number)
        if self._bad or self._check is None:
            return
        problem = self._check.take([columns])
        if problem is None and self._strict and json_line(record_of(tenant, columns)).encode() != line:
            problem = _problem("line_malformed", "is written in another way than an export is", tenant, columns[0])
        if problem is not None:
            self._fail(problem, number)

    def finish(self) -> None:
        """Close the present tenant."""
        check = self._check
        if check is None:
            return
        problem = None if self._bad else check.finish()
        if problem is not None:
            self._fail(problem, self._begins + problem.sequence - 1)
        self._findings.add(check)
        self._check = None

    def _begin(self, tenant: str, number: int) -> None:
        self.finish()
        again = bool(self.seen) and tenant <= self._tenant
        self.seen.add(tenant)
        self._tenant, self._begins, self._bad = tenant, number, False
        self._check = TenantCheck(tenant, self._key, self._points.of.get(tenant, {}))
        if again:
            self._fail(_problem("row_extra", "stands where no row of its tenant can", tenant), number)

    def _malformed(self, number: int) -> None:
        if not self._bad:
            expected = self.rows + 1 if self._check is not None else 1
            self._fail(_problem("line_malformed", "is no row of an audit trail", self._tenant or "?", expected), number)

    def _fail(self, problem: Problem, number: int) -> None:
        self._bad = True
        self._findings.problems.append(_at(problem, f"line {number}: {problem.sentence}"))


def record_of(tenant: str, columns: RawRow) -> dict[str, Any]:
    """Return what the line of a row says."""
    return {"row": {"tenant": tenant, **dict(zip(FIELDS, columns, strict=True))}}


def _check_first(line: bytes) -> None:
    try:
        given = json.loads(line.decode("utf-8-sig"))
        kind, version = given["director_ai"], given["format"]
    except (ValueError, TypeError, KeyError, RecursionError):
        kind, version = "", None
    if kind != "audit":
        raise ConfigError("line 1 does not say that this is an export of an audit trail")
    if type(version) is not int or version < 1:
        raise ConfigError("line 1: 'format' must be a whole number from 1")
    if version > FORMAT:
        raise ConfigError(
            f"line 1: the export has format {version}, and this version of director-ai reads up to {FORMAT}; "
            "update director-ai"
        )


def _at(problem: Problem, sentence: str) -> Problem:
    return Problem(
        kind=problem.kind,
        tenant_id=problem.tenant_id,
        sequence=problem.sequence,
        since=problem.since,
        sentence=sentence,
    )


def _problem(kind: ProblemKind, sentence: str, tenant_id: str = "?", sequence: int = 0) -> Problem:
    return Problem(kind=kind, tenant_id=tenant_id, sequence=sequence, since=sequence, sentence=sentence)
