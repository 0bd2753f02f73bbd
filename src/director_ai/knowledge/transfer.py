"""Facts as JSON lines, out of a store and into another, with where they come from.

The first line says what the file is; every other line is a fact. All of it is ASCII, with anything else escaped: it
passes through every pipe, locale, editor and terminal unharmed, and a line of the file is a line for every tool.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TextIO

from director_ai.core.identifiers import check_identifier, utc_now
from director_ai.errors import ConfigError
from director_ai.knowledge.entries import Entry, checked_entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from director_ai.core.evidence import Fact
    from director_ai.knowledge.store import GroundTruthStore
    from director_ai.knowledge.tables import Loaded

__all__ = ["export_facts", "import_facts", "read_facts", "record_of"]

FORMAT = 1
LONGEST_LINE = 2**21
"""Characters: the longest fact with every character escaped, and room for the rest."""
PAGE = 1_000

_FIELDS: dict[str, type] = {
    "key": str, "text": str, "tenant_id": str, "source": str, "start": int, "end": int, "version": int,
    "added_at": str, "added_by": str, "ended": bool,
}  # fmt: skip
_HEADER: dict[str, type] = {"director_ai": str, "format": int, "revision": int, "exported_at": str}
_NAMES = {str: "a text", int: "a whole number", bool: "true or false"}


def export_facts(
    store: GroundTruthStore,
    stream: TextIO,
    tenant_id: str = "",
    *,
    versions: bool = False,
    all_tenants: bool = False,
    now: Callable[[], str] = utc_now,
) -> int:
    """Write a scope's own facts as of one revision, and return how many lines were written for them.

    With `all_tenants`, those of every scope.
    With `versions`, what was changed or removed is written too, marked as ended: to be read, not to be imported.
    """
    check_identifier("tenant_id", tenant_id)
    if tenant_id and all_tenants:
        raise ConfigError("tenant_id names one scope and all_tenants takes all; give one of the two")
    view = store.at()
    header = {"director_ai": "facts", "format": FORMAT, "revision": view.revision, "exported_at": now()}
    stream.write(json.dumps(header) + "\n")
    written = 0
    for scope in store.tables.tenants() if all_tenants else [tenant_id]:
        for record in _all_versions(store, scope, view.revision) if versions else map(record_of, view.facts(scope)):
            stream.write(json.dumps(record) + "\n")
            written += 1
    return written


def record_of(fact: Fact, *, ended: bool = False) -> dict[str, Any]:
    """Return a fact as its line holds it: without what is empty."""
    fields = {name: getattr(fact, name) for name in _FIELDS if name != "ended"}
    record = {name: value for name, value in fields.items() if value not in ("", None)}
    return {**record, "ended": True} if ended else record


def read_facts(stream: TextIO) -> Iterator[Entry]:
    """Yield the facts of an export, each line checked; an error names its line and never what stands in it."""
    return (entry for _, entry in _numbered(stream))


def import_facts(
    store: GroundTruthStore,
    stream: TextIO,
    *,
    tenant_id: str = "",
    replace: bool = False,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Add the facts of an export, all of them or none.

    A tenant takes the facts that name no tenant or itself, and no others; without one, each fact goes where it came
    from. The store counts versions of its own; the source, the offsets, the time and who added a fact are kept.
    """
    check_identifier("tenant_id", tenant_id)
    entries = _of_tenant(stream, tenant_id)
    return store.add_many(entries, tenant_id, replace=replace, dry_run=dry_run, progress=progress)


def _all_versions(store: GroundTruthStore, tenant_id: str, revision: int) -> Iterator[dict[str, Any]]:
    last = 0
    while page := store.tables.page(tenant_id, after=last, most=PAGE, at=None):
        last = page[-1].id
        for stored in page:
            if stored.born <= revision:
                yield record_of(stored.fact, ended=stored.died <= revision)


def _of_tenant(stream: TextIO, tenant_id: str) -> Iterator[Entry]:
    for number, entry in _numbered(stream):
        if tenant_id and entry.tenant_id not in {"", tenant_id}:
            raise ConfigError(f"line {number} is a fact of another tenant than the one to import into")
        yield entry


def _numbered(stream: TextIO) -> Iterator[tuple[int, Entry]]:
    lines = _lines(stream)
    number, line = next(lines, (1, ""))
    _check_header(number, line)
    for number, line in lines:
        record = _record(number, line, _FIELDS)
        for name in ("key", "text"):
            if name not in record:
                raise ConfigError(f"line {number} has no {name!r}")
        provenance = {name: value for name, value in record.items() if name not in {"version", "ended"}}
        entry = _entry(number, Entry(**provenance))
        if not record.get("ended"):
            yield number, entry


def _lines(stream: TextIO) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers; never more of one than a line may have."""
    number = 0
    while True:
        number += 1
        try:
            line = stream.readline(LONGEST_LINE + 1)
        except UnicodeDecodeError:
            raise ConfigError(f"line {number} or one soon after it is not UTF-8; save the file as UTF-8") from None
        if not line:
            return
        if len(line) > LONGEST_LINE:
            raise ConfigError(f"line {number} has more than {LONGEST_LINE} characters; is this an export of facts?")
        if number == 1:
            line = line.removeprefix("\ufeff")  # what some editors put before a text
        if line.strip():
            yield number, line


def _check_header(number: int, line: str) -> None:
    hint = "`director-ai facts ingest` reads files of other kinds"
    if not line:
        raise ConfigError(f"the file is empty; an export of facts begins with a line that says so; {hint}")
    try:
        record = _record(number, line, None)
    except ConfigError:
        record = {}
    if record.get("director_ai") != "facts":
        raise ConfigError(f"line {number} does not say that this is an export of facts; {hint}")
    version = record.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ConfigError(f"line {number}: 'format' must be a whole number from 1")
    if version > FORMAT:
        raise ConfigError(
            f"the export has format {version}, and this version of director-ai reads up to {FORMAT}; update director-ai"
        )
    _check_fields(number, record, _HEADER)


def _record(number: int, line: str, fields: dict[str, type] | None) -> dict[str, Any]:
    """Return the object that a line is; with fields, one that has no others and each of its type."""
    try:
        record = json.loads(line, object_pairs_hook=_once, parse_constant=_refuse_constant)
    except ConfigError as error:
        raise ConfigError(f"line {number} {error}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"line {number} is not JSON that can be read; was the file cut off or edited?") from None
    if not isinstance(record, dict):
        raise ConfigError(f"line {number} must be a JSON object, got another value")
    if fields is not None:
        _check_fields(number, record, fields)
    return record


def _check_fields(number: int, record: dict[str, Any], fields: dict[str, type]) -> None:
    unknown = record.keys() - fields.keys()
    if unknown:
        raise ConfigError(f"line {number} has {len(unknown)} unknown field(s); known: {', '.join(fields)}")
    for name, value in record.items():
        if type(value) is not fields[name]:
            raise ConfigError(f"line {number}: {name!r} must be {_NAMES[fields[name]]}")


def _entry(number: int, entry: Entry) -> Entry:
    """Return an entry as a store would take it; what the store refuses is refused here, with the line."""
    try:
        return checked_entry(entry, "the fact")
    except ConfigError as error:
        raise ConfigError(f"line {number}: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ConfigError("has a field twice")
    return record


def _refuse_constant(_: str) -> None:
    raise ConfigError("holds NaN or an infinity, which JSON does not have")
