"""What goes into a store, checked at the door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from director_ai.core.identifiers import check_identifier, is_utc_timestamp
from director_ai.errors import ConfigError
from director_ai.knowledge.tables import Change
from director_ai.knowledge.terms import index_terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.knowledge.tables import Vectors

__all__ = ["Entry", "change_of", "checked_count", "checked_entry", "checked_key", "checked_query", "in_batches"]

BATCH = 256
LONGEST_KEY = 512
LONGEST_FACT = 100_000
"""Characters. A verdict about a whole book helps nobody: `facts ingest` splits documents into passages."""
LONGEST_QUERY = 20_000
MOST_RESULTS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A fact to be stored, and where it comes from."""

    key: str
    text: str
    tenant_id: str = ""
    source: str = ""
    start: int | None = None
    end: int | None = None
    added_by: str = ""
    added_at: str = ""
    """When it was first added, for a fact from another store; by default now."""


def in_batches(facts: Mapping[str, str] | Iterable[Any], tenant_id: str, added_by: str) -> Iterator[list[Entry]]:
    """Yield checked entries in batches; a mapping or pairs get the tenant that the call names."""
    items: Iterable[Any] = facts.items() if isinstance(facts, Mapping) else facts
    if isinstance(facts, str | bytes) or not isinstance(items, Iterable):
        raise ConfigError(f"facts must be a mapping of keys to facts, or a series of them, got {type(facts).__name__}")
    batch: list[Entry] = []
    for place, item in enumerate(items):
        batch.append(checked_entry(_entry(item, place, tenant_id, added_by), f"fact {place}"))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _entry(item: Any, place: int, tenant_id: str, added_by: str) -> Entry:
    if isinstance(item, Entry):
        own = check_identifier("tenant_id", item.tenant_id)
        if tenant_id and own not in {"", tenant_id}:
            raise ConfigError(f"fact {place} names another tenant than the call does")
        return Entry(
            key=item.key, text=item.text, tenant_id=own or tenant_id, source=item.source, start=item.start,
            end=item.end, added_by=item.added_by or added_by, added_at=item.added_at,
        )  # fmt: skip
    if isinstance(item, tuple | list) and len(item) == 2:
        return Entry(key=item[0], text=item[1], tenant_id=tenant_id, added_by=added_by)
    raise ConfigError(f"fact {place} must be a key and a text, got {type(item).__name__}")


def checked_entry(entry: Entry, where: str) -> Entry:
    """Return an entry as plain values, or say what is wrong with the fact at that place."""
    text = entry.text
    if not isinstance(text, str):
        raise ConfigError(f"{where} must be a text, got {type(text).__name__}")
    if not text.strip():
        raise ConfigError(f"{where} is blank; a fact says something")
    if len(text) > LONGEST_FACT:
        raise ConfigError(f"{where} has {len(text)} characters, the most is {LONGEST_FACT}; split it into passages")
    _check_storable(text, where)
    check_identifier("tenant_id", entry.tenant_id)
    for name, value in (("source", entry.source), ("added_by", entry.added_by)):
        if not isinstance(value, str) or len(value) > LONGEST_KEY:
            raise ConfigError(f"{name} of {where} must be a text of at most {LONGEST_KEY} characters")
        _check_storable(value, f"{name} of {where}")
    for name, number in (("start", entry.start), ("end", entry.end)):
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < 2**62):
            raise ConfigError(f"{name} of {where} must be a place in its source, or None")
    if entry.added_at and not is_utc_timestamp(entry.added_at):
        raise ConfigError(f"added_at of {where} must be a time in UTC such as 2026-01-31T12:00:00Z")
    return Entry(
        key=checked_key(entry.key, where), text=str.__str__(text), tenant_id=str.__str__(entry.tenant_id),
        source=str.__str__(entry.source), start=entry.start, end=entry.end, added_by=str.__str__(entry.added_by),
        added_at=entry.added_at,
    )  # fmt: skip


def checked_key(key: object, where: str = "the fact") -> str:
    """Return a fact's key as a plain string."""
    if not isinstance(key, str) or not key.strip() or len(key) > LONGEST_KEY or key != key.strip():
        raise ConfigError(
            f"the key of {where} must be a text of 1 to {LONGEST_KEY} characters without spaces around it, "
            f"got a {type(key).__name__}" + (f" of {len(key)} characters" if isinstance(key, str) else "")
        )
    _check_storable(key, f"the key of {where}")
    return str.__str__(key)


def _check_storable(text: str, what: str) -> None:
    if "\0" in text:
        raise ConfigError(f"{what} holds a NUL character, which no database keeps; remove it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{what} holds half of a surrogate pair, which is no character; remove it") from None


def checked_query(query: object) -> str:
    """Return what is searched for as a plain string; of an endless one the end, where the clause stands."""
    if not isinstance(query, str):
        raise ConfigError(f"a query must be a text, got {type(query).__name__}")
    return str.__str__(query)[-LONGEST_QUERY:]


def checked_count(name: str, value: object) -> int:
    """Return a number of results."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_RESULTS:
        raise ConfigError(f"{name} must be a whole number from 1 to {MOST_RESULTS}, got {value!r}")
    return int(value)


def change_of(entry: Entry, vectors: Vectors | None) -> Change:
    """Return an entry as the tables take it."""
    return Change(
        tenant_id=entry.tenant_id, key=entry.key, text=entry.text, source=entry.source, start=entry.start,
        end=entry.end, added_by=entry.added_by, added_at=entry.added_at, terms=tuple(index_terms(entry.text)),
        vectors=vectors,
    )  # fmt: skip
