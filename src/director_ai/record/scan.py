"""Rows as they stand in a database, rubbish included: for who has to judge them."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from director_ai.record.tables import AUDIT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

__all__ = ["FIELDS", "RawRow", "pages_of", "rows_like", "strange_tenants", "tenants_in"]

RawRow = tuple[Any, Any, Any, Any, Any, Any, Any, Any, Any]
"""sequence, at, kind, subject, body, body_hash, key, hash, seal: whatever stands in the columns."""

FIRST_ROWS: Final = 128
MOST_ROWS: Final = 4_000
MOST_CHARACTERS: Final = 8_000_000
"""Of the bodies on one page, about: the pages get shorter where bodies are long."""
_BY_INDEX: Final = "SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)"
"""Before a new table was analyzed, PostgreSQL would sort all that is left for every page."""
FIELDS: Final = ("sequence", "at", "kind", "subject", "body", "body_hash", "key", "hash", "seal")
_COLUMNS: Final = ", ".join(f'"{name}"' for name in FIELDS)


def tenants_in(connection: Connection) -> Iterator[str]:
    """Yield the tenants that have rows, each once; one look into the index for each."""
    lite = _is_sqlite(connection)
    mark = "CAST(? AS TEXT)" if lite else "%s"
    name = "CAST(tenant AS BLOB)" if lite else "tenant"
    texts = " AND tenant < x''" if lite else ""  # whatever else there is sorts before or behind them
    bound = ">= ''"
    found: tuple[Any, ...] = ()
    while True:
        query = f"SELECT {name} FROM director_audit WHERE tenant {bound}{texts} ORDER BY tenant LIMIT 1"  # noqa: S608 - ours
        first = connection.exec_driver_sql(query, found).first()
        if first is None:
            return
        found, bound = (first[0],), f"> {mark}"
        yield first[0].decode("utf-8", "surrogateescape") if lite else first[0]


def strange_tenants(connection: Connection) -> bool:
    """Whether there are rows whose tenant is no text at all; only SQLite takes such."""
    if not _is_sqlite(connection):
        return False
    strange = "SELECT 1 FROM director_audit WHERE tenant < '' OR tenant >= x'' LIMIT 1"
    return connection.exec_driver_sql(strange).first() is not None


def pages_of(connection: Connection, tenant_id: str, most: int = MOST_ROWS) -> Iterator[list[RawRow]]:
    """Yield the rows of a tenant in order of their sequence, page by page; memory does not grow with the trail.

    The sequence of a page's last row must be a whole number, or the next page is not asked for.
    """
    lite = _is_sqlite(connection)
    if not lite:
        connection.exec_driver_sql(_BY_INDEX)
    mark = "?" if lite else "%s"
    query = f"SELECT {_COLUMNS} FROM director_audit WHERE tenant = {mark}"  # noqa: S608 - nothing of it is anybody's text
    after, limit = "", FIRST_ROWS
    values: tuple[Any, ...] = (tenant_id,)
    while True:
        page = _page(connection, f"{query}{after} ORDER BY sequence LIMIT {limit}", values)
        if page:
            yield page
        if len(page) < limit or type(page[-1][0]) is not int:
            return
        after, values = f" AND sequence > {mark}", (tenant_id, page[-1][0])
        characters = sum(len(row[4]) for row in page if isinstance(row[4], str))
        limit = max(1, min(most, 4 * limit, MOST_CHARACTERS * len(page) // (characters + 1)))


def rows_like(
    connection: Connection,
    tenant_id: str,
    *,
    subject: str | None = None,
    kind: str | None = None,
    newest: int | None = None,
) -> Iterator[RawRow]:
    """Yield a tenant's rows of one subject or kind, in order; or only the newest, the last one first."""
    # With a subject the tenant is a condition without an index: SQLite would go through the tenant's whole trail.
    owner = AUDIT.c.tenant if subject is None else AUDIT.c.tenant.concat("")
    query = sa.select(*(AUDIT.c[name] for name in FIELDS)).where(owner == tenant_id)
    for column, wanted in ((AUDIT.c.subject, subject), (AUDIT.c.kind, kind)):
        query = query if wanted is None else query.where(column == wanted)
    if newest is None:
        query = query.order_by(AUDIT.c.sequence)
    else:
        query = query.order_by(AUDIT.c.sequence.desc()).limit(newest)
    for row in connection.execution_options(yield_per=100).execute(query):
        yield tuple(row)


def _page(connection: Connection, query: str, values: tuple[Any, ...]) -> list[RawRow]:
    """Return the answer to a query, by the driver itself: a layer above it would take half of the time."""
    driver: Any = connection.connection.driver_connection
    try:
        try:
            return _asked(driver, query, values)
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
        kept, driver.text_factory = driver.text_factory, _decoded
        try:
            return _asked(driver, query, values)
        finally:
            driver.text_factory = kept
    except connection.dialect.loaded_dbapi.Error as error:
        raise exc.OperationalError(None, None, error) from None


def _asked(driver: Any, query: str, values: tuple[Any, ...]) -> list[RawRow]:
    with contextlib.closing(driver.cursor()) as cursor:
        return list(cursor.execute(query, values).fetchall())


def _decoded(value: bytes) -> str:
    """Return bytes that need not be UTF-8 as a text whose hash nobody has sealed."""
    return value.decode("utf-8", "surrogateescape")


def _is_sqlite(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"
