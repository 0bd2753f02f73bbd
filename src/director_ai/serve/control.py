"""For operators: health, figures, switches, open streams and keys."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field

from director_ai.serve.callers import Scope  # noqa: TC001 - fastapi reads it when it runs
from director_ai.serve.readiness import readiness_of
from director_ai.serve.routing import (
    IDENTIFIER,
    ONE_LINE,
    OPTIONAL,
    CallerOf,
    TenantQuery,
    guarded_router,
    may_act_on,
)
from director_ai.serve.switches import EVERYBODY, check_target

if TYPE_CHECKING:
    from director_ai.serve.server import Server

__all__ = ["admin_router", "health_router", "metrics_router", "openapi_router"]

TARGET: Final = rf"^(?:\*|{IDENTIFIER})?$"
TargetQuery = Annotated[
    str | None,
    Query(max_length=128, pattern=TARGET, description="Whose; `*` is everybody, by default the key's own tenant."),
]


class _Body(BaseModel):
    """What a request holds, and nothing beside it."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Health(BaseModel):
    """Whether the process answers."""

    status: str = "ok"


class Readiness(BaseModel):
    """Whether it can do its work, and what is missing."""

    ready: bool
    model: bool
    database: bool
    upstream: bool


class Switch(_Body):
    """Whose answers: a tenant's, or with `*` everybody's."""

    tenant_id: str = Field(max_length=128, pattern=TARGET)


class Switched(BaseModel):
    """What is switched off now, and how many answers of this process that ended."""

    killed: list[str]
    ended: int = 0


class Streams(BaseModel):
    """How many streams of this process are open; `/metrics` counts those of all workers."""

    process: int
    open: int
    by_tenant: dict[str, int]
    killed: list[str]


class NewKey(_Body):
    """What a key is for."""

    tenant_id: str | None = Field(default=None, max_length=128, pattern=OPTIONAL)
    scopes: list[Scope] = Field(min_length=1, max_length=3)
    label: str = Field(default="", max_length=200, pattern=ONE_LINE)
    expires_after: float | None = Field(default=None, ge=1, le=315_360_000, description="In seconds.")
    shows_evidence: bool = False
    shows_reasoning: bool = False


class Key(BaseModel):
    """What is known of a key."""

    prefix: str
    tenant_id: str
    scopes: list[str]
    label: str
    shows_evidence: bool
    shows_reasoning: bool
    created_at: str
    expires_at: str | None
    revoked_at: str | None


class CreatedKey(Key):
    """A new key; `secret` is shown this once."""

    secret: str


def health_router(server: Server) -> APIRouter:
    """Return the routes that need no key: they tell nothing of anybody."""
    router = APIRouter(tags=["health"])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz")
    async def healthz() -> Health:
        """Say that the process answers."""
        return Health()

    @router.get("/readyz", responses={503: {"model": Readiness}})
    async def readyz() -> JSONResponse:
        """Say whether it can do its work."""
        found = Readiness(**await asyncio.to_thread(readiness_of, server))
        return JSONResponse(found.model_dump(), 200 if found.ready else 503)

    return router


def metrics_router(server: Server) -> APIRouter:
    """Return the route of the figures."""
    router = guarded_router(server, "admin", demo_opens=True)

    @router.get("/metrics", response_class=Response)
    def metrics() -> Response:
        """Return the figures for Prometheus: of this process, or of all workers together."""
        return Response(server.figures.text(), media_type=CONTENT_TYPE_LATEST)

    return router


def admin_router(server: Server) -> APIRouter:
    """Return the routes of operators: a key of a tenant acts on that one, a key of none on all."""
    router = guarded_router(server, "admin", prefix="/admin")
    _add_switches(router, server)
    _add_keys(router, server)

    @router.get("/streams")
    async def streams(caller: CallerOf) -> Streams:
        """Count the streams that are open in this process."""
        counted = server.streams.count_by_tenant()
        if caller.tenant_id:
            counted = {tenant: count for tenant, count in counted.items() if tenant == caller.tenant_id}
        killed = [each for each in server.streams.killed() if caller.tenant_id in {"", each} or each == EVERYBODY]
        return Streams(process=os.getpid(), open=sum(counted.values()), by_tenant=counted, killed=killed)

    return router


def _add_switches(router: APIRouter, server: Server) -> None:
    def killed(tenant_id: str) -> list[str]:
        return [each for each in server.streams.killed() if tenant_id in {"", each} or each == EVERYBODY]

    @router.post("/kill")
    async def kill(switch: Switch, caller: CallerOf) -> Switched:
        """End the answers of a tenant that are in work, or with `*` of all, and let no new ones begin."""
        tenant = check_target(may_act_on(caller, switch.tenant_id))
        ended = await server.kill(tenant, by=caller.caller_id)
        return Switched(killed=killed(caller.tenant_id), ended=ended)

    @router.delete("/kill")
    async def revive(caller: CallerOf, tenant_id: TargetQuery = None) -> Switched:
        """Let answers begin again."""
        tenant = check_target(may_act_on(caller, tenant_id))
        await server.revive(tenant, by=caller.caller_id)
        return Switched(killed=killed(caller.tenant_id))


def _add_keys(router: APIRouter, server: Server) -> None:
    @router.get("/keys")
    def list_keys(caller: CallerOf, tenant_id: TenantQuery = None) -> list[Key]:
        """List keys: a tenant's, or with a key of no tenant all; never the keys themselves."""
        wanted = may_act_on(caller, tenant_id) if caller.tenant_id else tenant_id
        return [Key(**key.to_dict()) for key in server.keys.keys_of(wanted)]

    @router.post("/keys", status_code=201)
    def create_key(new: NewKey, caller: CallerOf) -> CreatedKey:
        """Make a key; the answer is the only place where it can be read."""
        issued = server.keys.create(
            may_act_on(caller, new.tenant_id),
            new.scopes,
            label=new.label,
            expires_after=new.expires_after,
            shows_evidence=new.shows_evidence,
            shows_reasoning=new.shows_reasoning,
            by=caller.caller_id,
        )
        return CreatedKey(**issued.key.to_dict(), secret=issued.secret)

    @router.post("/keys/{prefix}/rotate", status_code=201)
    def rotate_key(prefix: str, caller: CallerOf) -> CreatedKey:
        """Revoke a key, and make one with the same rights in its place."""
        issued = server.keys.rotate(prefix, tenant_id=caller.tenant_id or None, by=caller.caller_id)
        return CreatedKey(**issued.key.to_dict(), secret=issued.secret)

    @router.delete("/keys/{prefix}")
    def revoke_key(prefix: str, caller: CallerOf) -> Key:
        """Revoke a key: within five seconds its answers that are in work end, too."""
        return Key(**server.keys.revoke(prefix, tenant_id=caller.tenant_id or None, by=caller.caller_id).to_dict())


def openapi_router(server: Server, describe: Any) -> APIRouter:
    """Return the route of the interface's description."""
    router = guarded_router(server, "admin")

    @router.get("/openapi.json", response_class=JSONResponse)
    def openapi(request: Request) -> JSONResponse:  # noqa: ARG001 - fastapi hands it over
        """Describe the control plane."""
        return JSONResponse(describe())

    return router
