"""The rows of a trail: each holds the hash of the one before it in its tenant, and a seal that only the key makes."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from director_ai.core.identifiers import is_ref
from director_ai.errors import PayloadError, TrailBroken
from director_ai.record.canonical import canonical, sha256_of
from director_ai.record.tables import AUDIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from director_ai.record.keys import SigningKey

__all__ = [
    "START",
    "AuditRow",
    "Writer",
    "check_links",
    "check_seal",
    "has_rows",
    "hash_at",
    "hash_row",
    "head_of",
    "rows_about",
    "rows_of",
    "sealed_rows_about",
]

START: Final = "0" * 64
"""What stands for the row before the first."""
MOST_BODY: Final = 1_000_000
MOST_AHEAD: Final = 3_600 * 1_000_000
"""Microseconds by which clocks of one trail may differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One thing that happened: identifiers, hashes and figures."""

    tenant_id: str
    sequence: int
    """From 1, without a gap, in each tenant."""
    at: int
    """Microseconds since 1970, in UTC; never before the row before."""
    kind: str
    """For example `case.decided`."""
    subject: str
    """What it is about: a case, a request, an event."""
    body: str | None
    """Canonical JSON; None where it was let go at the end of its time, and its hash stays."""
    body_hash: str
    key_id: str
    hash: str
    seal: str

    @property
    def content(self) -> dict[str, Any]:
        """The body, read."""
        return json.loads(self.body) if self.body is not None else {}


_COLUMNS: Final = (
    AUDIT.c.tenant,
    AUDIT.c.sequence,
    AUDIT.c.at,
    AUDIT.c.kind,
    AUDIT.c.subject,
    AUDIT.c.body,
    AUDIT.c.body_hash,
    AUDIT.c.key,
    AUDIT.c.hash,
    AUDIT.c.seal,
)
_HEAD: Final = (
    sa.select(*_COLUMNS).where(AUDIT.c.tenant == sa.bindparam("of")).order_by(AUDIT.c.sequence.desc()).limit(1)
)
_ROWS: Final = (
    sa.select(*_COLUMNS)
    .where(AUDIT.c.tenant == sa.bindparam("of"), AUDIT.c.sequence > sa.bindparam("after"))
    .order_by(AUDIT.c.sequence)
    .limit(sa.bindparam("most"))
)
_BEFORE: Final = AUDIT.alias("before")
_ABOUT: Final = (
    sa.select(*_COLUMNS, _BEFORE.c.hash)
    .join_from(
        AUDIT,
        _BEFORE,
        (_BEFORE.c.tenant == AUDIT.c.tenant) & (_BEFORE.c.sequence == AUDIT.c.sequence - 1),
        isouter=True,
    )
    # The tenant is a condition without an index: by that of the tenant, SQLite would read the whole trail.
    .where(AUDIT.c.tenant.concat("") == sa.bindparam("of"), AUDIT.c.subject == sa.bindparam("about"))
    .order_by(AUDIT.c.sequence)
)
_INSERT: Final = sa.insert(AUDIT)


def hash_row(
    tenant: str, sequence: int, at: int, kind: str, subject: str, body_hash: str, key: str, previous: str
) -> str:
    """Return the hash of a row: that of its header as canonical JSON.

    None of the fields can hold a quotation mark, so that no two rows have the same header.
    """
    header = (
        f'{{"at":{at},"body":"{body_hash}","key":"{key}","kind":"{kind}","previous":"{previous}",'
        f'"sequence":{sequence},"subject":"{subject}","tenant":"{tenant}","version":1}}'
    )
    return hashlib.sha256(header.encode("utf-8", "surrogatepass")).hexdigest()


def head_of(connection: Connection, tenant_id: str) -> AuditRow | None:
    """Return the last row of a tenant."""
    found = connection.execute(_HEAD, {"of": tenant_id}).first()
    return _row(found) if found is not None else None


def has_rows(connection: Connection) -> bool:
    """Whether anything was written to the trail of anybody."""
    return connection.scalar(sa.select(AUDIT.c.sequence).limit(1)) is not None


def hash_at(connection: Connection, tenant_id: str, sequence: int) -> str | None:
    """Return the hash of one row, as it stands there."""
    wanted = sa.select(AUDIT.c.hash).where(AUDIT.c.tenant == tenant_id, AUDIT.c.sequence == sequence)
    return connection.scalar(wanted)


def rows_of(connection: Connection, tenant_id: str, *, after: int = 0, most: int = 1_000) -> list[AuditRow]:
    """Return the rows of a tenant behind a place, in order."""
    return [_row(found) for found in connection.execute(_ROWS, {"of": tenant_id, "after": after, "most": most})]


def rows_about(connection: Connection, tenant_id: str, subject: str) -> list[AuditRow]:
    """Return the rows about one subject, in order, as they are found."""
    return [_row(found[:-1]) for found in connection.execute(_ABOUT, {"of": tenant_id, "about": subject})]


def sealed_rows_about(connection: Connection, tenant_id: str, subject: str, key: SigningKey) -> list[AuditRow]:
    """Return the rows about one subject, in order; one that this key did not seal as it is now is refused."""
    rows = []
    for *found, previous in connection.execute(_ABOUT, {"of": tenant_id, "about": subject}):
        row = _row(found)
        check_seal(row, key)
        _check_hash(row, START if row.sequence == 1 else str(previous))
        rows.append(row)
    return rows


def _row(found: Sequence[Any]) -> AuditRow:
    tenant, sequence, at, kind, subject, body, body_hash, key, digest, seal = found
    return AuditRow(
        tenant_id=tenant,
        sequence=sequence,
        at=at,
        kind=kind,
        subject=subject,
        body=body,
        body_hash=body_hash,
        key_id=key,
        hash=digest,
        seal=seal,
    )


class Writer:
    """A transaction that adds to one tenant's trail what it does."""

    def __init__(self, connection: Connection, tenant_id: str, key: SigningKey, now: int) -> None:
        self.connection = connection
        self.tenant_id = tenant_id
        self._key = key
        self._head = head_of(connection, tenant_id)
        if self._head is not None:
            check_seal(self._head, key)
        self.last = 0 if self._head is None else self._head.sequence
        """The last row before the transaction."""
        latest = 0 if self._head is None else self._head.at
        self.at = max(now, latest)
        """When its rows are written: never before the row before."""
        self.now = now if latest > now + MOST_AHEAD else self.at
        """The present: not behind what was recorded, unless that comes from a clock that was far ahead."""
        self.added: list[AuditRow] = []

    def append(self, kind: str, subject: str, body: Mapping[str, Any]) -> AuditRow:
        """Add a row."""
        if not (is_ref(kind) and is_ref(subject)):
            raise PayloadError("kind and subject of an audit row must be identifiers")
        text = canonical(dict(body))
        if len(text) > MOST_BODY:
            raise PayloadError(f"the body of an audit row has at most {MOST_BODY} characters")
        head, body_hash = self._head, sha256_of(text)
        sequence, previous = (1, START) if head is None else (head.sequence + 1, head.hash)
        digest = hash_row(self.tenant_id, sequence, self.at, kind, subject, body_hash, self._key.key_id, previous)
        row = AuditRow(
            tenant_id=self.tenant_id,
            sequence=sequence,
            at=self.at,
            kind=kind,
            subject=subject,
            body=text,
            body_hash=body_hash,
            key_id=self._key.key_id,
            hash=digest,
            seal=self._key.seal(digest),
        )
        self.connection.execute(
            _INSERT,
            {
                "tenant": row.tenant_id,
                "sequence": row.sequence,
                "at": row.at,
                "kind": row.kind,
                "subject": row.subject,
                "body": row.body,
                "body_hash": row.body_hash,
                "key": row.key_id,
                "hash": row.hash,
                "seal": row.seal,
            },
        )
        self._head = row
        self.added.append(row)
        return row


def check_seal(row: AuditRow, key: SigningKey) -> None:
    """Refuse a row that this key did not seal, or whose text is not what was sealed."""
    texts = (row.tenant_id, row.kind, row.subject, row.body_hash, row.key_id, row.hash, row.seal, row.body or "")
    if not all(type(each) is str and each.isascii() for each in texts[:-1]) or type(texts[-1]) is not str:
        raise TrailBroken("a row holds what we never write; run `director-ai audit verify`")
    if type(row.sequence) is not int or type(row.at) is not int:
        raise TrailBroken("a row holds what we never write; run `director-ai audit verify`")
    if row.key_id != key.key_id:
        raise TrailBroken(
            f"row {row.sequence} was sealed with another key ({row.key_id}, ours is {key.key_id}); "
            "give the signing_key that the trail was begun with"
        )
    if not hmac.compare_digest(row.seal.encode(), key.seal(row.hash).encode()):
        raise TrailBroken(f"row {row.sequence} was not written by us; run `director-ai audit verify`")
    if row.body is not None and sha256_of(row.body) != row.body_hash:
        raise TrailBroken(f"row {row.sequence} was changed; run `director-ai audit verify`")


def check_links(rows: Sequence[AuditRow], previous: AuditRow | None, key: SigningKey) -> None:
    """Refuse rows that do not follow one another, or that this key did not seal."""
    for row in rows:
        check_seal(row, key)
        _check_hash(row, START if previous is None else previous.hash)
        if row.sequence != (1 if previous is None else previous.sequence + 1):
            raise TrailBroken(f"a row before row {row.sequence} is gone; run `director-ai audit verify`")
        previous = row


def _check_hash(row: AuditRow, previous: str) -> None:
    expected = hash_row(row.tenant_id, row.sequence, row.at, row.kind, row.subject, row.body_hash, row.key_id, previous)
    if row.hash != expected:
        raise TrailBroken(f"row {row.sequence} or the one before it was changed; run `director-ai audit verify`")
