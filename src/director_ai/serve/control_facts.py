"""For operators: the facts of a tenant, listed, sought, added and removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from director_ai.core.identifiers import check_identifier
from director_ai.serve.routing import OPTIONAL, PLAIN, CallerOf, TenantQuery, guarded_router, may_act_on

if TYPE_CHECKING:
    from director_ai.core.evidence import Fact
    from director_ai.serve.server import Server

__all__ = ["facts_router"]

SOLID: Final = r"[^\s\x00-\x1f\x85]"
"""A character that is no space."""
KEY: Final = rf"^{SOLID}(?:[^\x00]*{SOLID})?$"


class StoredFact(BaseModel):
    """A fact, with where it comes from."""

    key: str
    text: str
    tenant_id: str
    source: str
    version: int
    added_at: str
    added_by: str


class FactPage(BaseModel):
    """Some facts, and where the next ones begin; `next` is null at the end."""

    facts: list[StoredFact]
    next: int | None


class FoundFact(BaseModel):
    """A fact that bears on what was asked; 0 is nearest."""

    key: str
    text: str
    distance: float


class NewFact(BaseModel):
    """A fact to add; with `replace`, a known key gets it as its next version."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key: str = Field(max_length=512, pattern=KEY)
    text: str = Field(max_length=100_000, pattern=rf"^[^\x00]*{SOLID}[^\x00]*$")
    tenant_id: str | None = Field(default=None, max_length=128, pattern=OPTIONAL)
    source: str = Field(default="", max_length=512, pattern=PLAIN)
    replace: bool = False


class Changed(BaseModel):
    """What a change did."""

    added: int = 0
    updated: int = 0
    removed: int = 0
    revision: int


def facts_router(server: Server) -> APIRouter:
    """Return the routes of facts: a key of a tenant is for its own, a key of none also for the shared ones."""
    router = guarded_router(server, "admin", prefix="/admin/facts")
    store = server.store

    @router.get("")
    def list_facts(
        caller: CallerOf,
        tenant_id: TenantQuery = None,
        after: Annotated[int, Query(ge=0, le=2**53)] = 0,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> FactPage:
        """List facts in the order in which they came."""
        tenant = check_identifier("tenant_id", may_act_on(caller, tenant_id))
        page = store.tables.page(tenant, after=after, most=limit, at=store.revision)
        more = page[-1].id if len(page) == limit else None
        return FactPage(facts=[_shown(stored.fact) for stored in page], next=more)

    @router.get("/search")
    def search_facts(
        caller: CallerOf,
        q: Annotated[str, Query(min_length=1, max_length=2_000)],
        tenant_id: TenantQuery = None,
        limit: Annotated[int, Query(ge=1, le=20)] = 5,
    ) -> list[FoundFact]:
        """Find what a tenant's answers would be judged by: its own facts and the shared ones."""
        tenant = may_act_on(caller, tenant_id)
        found = store.retrieve_context_with_chunks(q, limit, tenant)
        return [FoundFact(key=chunk.source, text=chunk.text, distance=chunk.distance) for chunk in found]

    @router.post("", status_code=201)
    def add_fact(new: NewFact, caller: CallerOf) -> Changed:
        """Add a fact; answers that begin from now on are judged by it."""
        tenant = may_act_on(caller, new.tenant_id)
        change = store.update if new.replace and store.get(new.key, tenant) is not None else store.add
        loaded = change(new.key, new.text, tenant, source=new.source, added_by=caller.caller_id)
        return Changed(added=len(loaded.added), updated=len(loaded.updated), revision=loaded.revision)

    @router.delete("")
    def remove_fact(
        caller: CallerOf, key: Annotated[str, Query(max_length=512, pattern=KEY)], tenant_id: TenantQuery = None
    ) -> Changed:
        """Remove a fact; its versions stay as history."""
        removed = store.remove(key, may_act_on(caller, tenant_id))
        return Changed(removed=int(removed), revision=store.revision)

    return router


def _shown(fact: Fact) -> StoredFact:
    return StoredFact(
        key=fact.key,
        text=fact.text,
        tenant_id=fact.tenant_id,
        source=fact.source,
        version=fact.version,
        added_at=fact.added_at,
        added_by=fact.added_by,
    )
