"""Whoever can write to the database and has no key: takes the rows out, changes them, puts them back."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from director_ai.record import AuditTrail
from director_ai.record.chain import START, hash_row
from director_ai.record.tables import AUDIT

Row = dict[str, Any]
Found = tuple[str, int]
"""The tenant and the number of the first row that is not what it was."""

TENANTS = {"": 90, "acme": 70, "zeta": 20}


def fill(trail: AuditTrail, tenant_id: str, count: int, *, begin: int = 0) -> None:
    """Add rows, ten in a commit."""
    for start in range(begin, begin + count, 10):

        def work(writer: Any, numbers: range = range(start, min(start + 10, begin + count))) -> None:
            for number in numbers:
                body = {"case_id": f"case-{number}", "reviewer": "ann", "note": "é" if number % 7 else "plain"}
                writer.append("note.decided" if number % 3 else "note.opened", f"case-{number}", body)

        trail.write(work, tenant_id)


_DELETE = sa.delete(AUDIT).where(AUDIT.c.tenant == sa.bindparam("of"), AUDIT.c.sequence == sa.bindparam("nr"))


class Forger:
    """A connection of one's own, without the triggers that keep rows as they are."""

    def __init__(self, place: str) -> None:
        url = f"postgresql+psycopg://{place.split('://', 1)[1]}" if "://" in place else f"sqlite:///{place}"
        self._engine = sa.create_engine(url)
        self._present: dict[Found, Row] = {}
        self.is_sqlite = self._engine.dialect.name == "sqlite"
        if self.is_sqlite:
            sa.event.listen(self._engine, "connect", lambda made, _: made.execute("PRAGMA synchronous=OFF").close())

    def run(self, *statements: str) -> None:
        with self._engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    def disarm(self) -> None:
        on = "" if self.is_sqlite else " ON director_audit"
        self.run(f"DROP TRIGGER director_audit_stays{on}", f"DROP TRIGGER director_audit_unchanged{on}")

    def rows(self) -> list[Row]:
        with self._engine.connect() as connection:
            query = sa.select(AUDIT)
            found = [dict(row) for row in connection.execute(query).mappings()]
        self._present = {(row["tenant"], row["sequence"]): dict(row) for row in found}
        return sorted(found, key=lambda row: (row["tenant"], row["sequence"]))

    def put(self, rows: list[Row]) -> None:
        """Make these the rows of the table, at the price of those that differ."""
        wanted = {(row["tenant"], row["sequence"]): row for row in rows}
        assert len(wanted) == len(rows)
        present = self._present
        gone = [{"of": key[0], "nr": key[1]} for key, row in present.items() if wanted.get(key) != row]
        new = [row for key, row in wanted.items() if present.get(key) != row]
        with self._engine.begin() as connection:
            for statement, values in ((_DELETE, gone), (sa.insert(AUDIT), new)):
                if values:
                    connection.execute(statement, values)
        self._present = {key: dict(row) for key, row in wanted.items()}

    def close(self) -> None:
        self._engine.dispose()


def rehash(rows: list[Row], tenant: str, begin: int) -> None:
    """Make the hashes of a tenant right again from a row on; the seals stay what they were."""
    previous = START
    for row in _own(rows, tenant):
        if row["sequence"] >= begin:
            row["hash"] = hash_row(*(row[name] for name in HASHED), previous)
        previous = row["hash"]


HASHED = ("tenant", "sequence", "at", "kind", "subject", "body_hash", "key")


def _own(rows: list[Row], tenant: str) -> list[Row]:
    return sorted((row for row in rows if row["tenant"] == tenant), key=lambda row: row["sequence"])


def _at(rows: list[Row], tenant: str, sequence: int) -> Row:
    return next(row for row in rows if (row["tenant"], row["sequence"]) == (tenant, sequence))


def _shift(rows: list[Row], tenant: str, begin: int, by: int) -> None:
    for row in rows:
        if row["tenant"] == tenant and row["sequence"] >= begin:
            row["sequence"] += by


def _sha(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


# ---- the kinds of tampering: each changes the rows and says which is the first that is not what it was


def _place(rows: list[Row], rng: random.Random, *, spare: int = 0) -> Found:
    tenant = rng.choice(sorted({row["tenant"] for row in rows}))
    return tenant, rng.randint(1, len(_own(rows, tenant)) - spare)


def _edit(column: str, change: Callable[[Any], Any]) -> Callable[[list[Row], random.Random], Found]:
    def tamper(rows: list[Row], rng: random.Random) -> Found:
        tenant, sequence = _place(rows, rng)
        row = _at(rows, tenant, sequence)
        row[column] = change(row[column])
        if column == "body" and rng.random() < 0.5:
            row["body_hash"] = _sha(row["body"])
        return tenant, sequence

    return tamper


def edit_sequence(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng)
    _at(rows, tenant, sequence)["sequence"] = 10_000
    return tenant, sequence


def insert(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng)
    new = {**_at(rows, tenant, sequence), "subject": "case-forged"}
    _shift(rows, tenant, sequence, 1)
    rows.append(new)
    return tenant, sequence


def append(rows: list[Row], rng: random.Random) -> Found:
    tenant, _ = _place(rows, rng)
    last = _own(rows, tenant)[-1]
    new = {**last, "sequence": last["sequence"] + 1, "subject": "case-forged"}
    new["hash"] = hash_row(*(new[name] for name in HASHED), last["hash"])
    rows.append(new)
    return tenant, new["sequence"]


def duplicate(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng)
    new = dict(_at(rows, tenant, sequence))
    _shift(rows, tenant, sequence + 1, 1)
    rows.append({**new, "sequence": sequence + 1})
    return tenant, sequence + 1


def delete_leaving_a_gap(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng, spare=1)
    rows.remove(_at(rows, tenant, sequence))
    return tenant, sequence


def delete_first(rows: list[Row], rng: random.Random) -> Found:
    tenant, _ = _place(rows, rng)
    rows.remove(_at(rows, tenant, 1))
    return tenant, 1


def delete_closing_up(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng, spare=1)
    rows.remove(_at(rows, tenant, sequence))
    _shift(rows, tenant, sequence, -1)
    return tenant, sequence


def cut_tail(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng)
    rows[:] = [row for row in rows if row["tenant"] != tenant or row["sequence"] < sequence]
    return tenant, sequence


def remove_tenant(rows: list[Row], rng: random.Random) -> Found:
    tenant, _ = _place(rows, rng)
    rows[:] = [row for row in rows if row["tenant"] != tenant]
    return tenant, 1


def swap_rows(rows: list[Row], rng: random.Random) -> Found:
    tenant, first = _place(rows, rng, spare=1)
    second = rng.randint(first + 1, len(_own(rows, tenant)))
    one, other = _at(rows, tenant, first), _at(rows, tenant, second)
    one["sequence"], other["sequence"] = second, first
    return tenant, first


def reorder_rows(rows: list[Row], rng: random.Random) -> Found:
    tenant, first = _place(rows, rng, spare=2)
    window = _own(rows, tenant)[first - 1 : first + 2]
    for row, sequence in zip(window, (first + 2, first, first + 1), strict=True):
        row["sequence"] = sequence
    return tenant, first


def swap_bodies(rows: list[Row], rng: random.Random) -> Found:
    tenant, first = _place(rows, rng, spare=1)
    one, other = _at(rows, tenant, first), _at(rows, tenant, first + 1)
    names = ("body", "body_hash") if rng.random() < 0.5 else ("body",)
    for name in names:
        one[name], other[name] = other[name], one[name]
    return tenant, first


def copy_from_another_tenant(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng)
    source, other = next((name, nr) for name, nr in iter(lambda: _place(rows, rng), None) if name != tenant)
    new = {**_at(rows, source, other), "tenant": tenant, "sequence": sequence}
    rows.remove(_at(rows, tenant, sequence))
    rows.append(new)
    return tenant, sequence


def move_to_another_tenant(rows: list[Row], rng: random.Random) -> Found:
    tenant, _ = _place(rows, rng)
    target = rng.choice(sorted({row["tenant"] for row in rows} - {tenant}))
    row = _own(rows, tenant)[-1]
    gone, end = row["sequence"], len(_own(rows, target)) + 1
    row["tenant"], row["sequence"] = target, end
    return min((tenant, gone), (target, end))


def empty_body(rows: list[Row], rng: random.Random) -> Found:
    tenant, sequence = _place(rows, rng)
    _at(rows, tenant, sequence)["body"] = None
    return tenant, sequence


def _other_hex(digest: str) -> str:
    return ("0" if digest[0] != "0" else "1") + digest[1:]


KINDS: dict[str, Callable[[list[Row], random.Random], Found]] = {
    "the body edited": _edit("body", lambda body: body.replace("ann", "bob")),
    "the time edited": _edit("at", lambda at: at + 1),
    "the kind edited": _edit("kind", lambda kind: kind + ".x"),
    "the subject edited": _edit("subject", lambda subject: "x" + subject),
    "the hash of the body edited": _edit("body_hash", _other_hex),
    "the key edited": _edit("key", _other_hex),
    "the hash edited": _edit("hash", _other_hex),
    "the seal edited": _edit("seal", _other_hex),
    "the sequence edited": edit_sequence,
    "inserted": insert,
    "appended": append,
    "duplicated": duplicate,
    "deleted with a gap": delete_leaving_a_gap,
    "deleted without a gap": delete_closing_up,
    "the first deleted": delete_first,
    "the tail cut": cut_tail,
    "a tenant removed": remove_tenant,
    "two rows swapped": swap_rows,
    "rows reordered": reorder_rows,
    "bodies swapped": swap_bodies,
    "copied from another tenant": copy_from_another_tenant,
    "moved to another tenant": move_to_another_tenant,
    "the body emptied": empty_body,
}
HASH_STAYS = {"the hash edited", "the seal edited"}
"""Whoever re-hashes begins behind the row, or would undo the edit."""
