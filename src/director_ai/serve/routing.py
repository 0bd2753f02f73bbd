"""Routers whose every route asks who comes before it reads anything, and reads no more than it must."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, Query, Request, Security
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel

from director_ai.serve.bodies import parse_object, read_body
from director_ai.serve.callers import Caller, NotAuthenticated

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.responses import Response

    from director_ai.serve.callers import Scope
    from director_ai.serve.server import Server

__all__ = ["ONE_LINE", "OPTIONAL", "PLAIN", "REQUIRED", "CallerOf", "TenantQuery", "guarded_router", "may_act_on"]

MOST_BYTES: Final = 256 * 1024
"""Of a request that is no chat."""
IDENTIFIER: Final = r"[A-Za-z0-9](?:(?:\.?[A-Za-z0-9_:@-])*\.?[A-Za-z0-9])?"
"""As `check_identifier` has it: no two dots in a row."""
OPTIONAL: Final = rf"^(?:{IDENTIFIER})?$"
REQUIRED: Final = rf"^{IDENTIFIER}$"
ONE_LINE: Final = r"^[^\x00-\x1f\x7f-\x9f]*$"
PLAIN: Final = r"^[^\x00]*$"
TenantQuery = Annotated[
    str | None, Query(max_length=128, pattern=OPTIONAL, description="Whose; by default the key's own tenant.")
]
_SCHEME: Final = HTTPBearer(auto_error=False, description="An API key, or a token of the identity provider.")


class ErrorDetail(BaseModel):
    """What went wrong, in a sentence and in a word."""

    message: str
    type: str
    param: None
    code: str


class ErrorBody(BaseModel):
    """What is answered to a request that is refused."""

    error: ErrorDetail


class _Request(Request):
    """A request whose body is bounded, and whose JSON has no name twice, no NaN and no endless depth."""

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await read_body(self, MOST_BYTES)
        return self._body

    async def json(self) -> Any:
        return parse_object(await self.body())


def guarded_router(server: Server, scope: Scope, *, prefix: str = "", demo_opens: bool = False) -> APIRouter:
    """Return a router for callers with a scope; a demo may open it to all of this machine."""

    class GuardedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def answer(request: Request) -> Response:
                request.state.caller = await server.authenticate(request, scope, demo_opens=demo_opens)
                return await handle(_Request(request.scope, request.receive))

            return answer

    # The scheme is for the description of the interface alone; who comes in was decided before.
    return APIRouter(
        prefix=prefix,
        route_class=GuardedRoute,
        dependencies=[Security(_SCHEME)],
        tags=[scope],
        responses={"4XX": {"model": ErrorBody}, 503: {"model": ErrorBody}},
    )


def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


CallerOf = Annotated[Caller, Depends(_caller)]


def may_act_on(caller: Caller, tenant_id: str | None) -> str:
    """Return the tenant that is meant; a key of a tenant is for that one alone, a key of none for all."""
    if tenant_id is None:
        return caller.tenant_id
    if caller.tenant_id and tenant_id != caller.tenant_id:
        raise NotAuthenticated("this key is for its own tenant alone", status=403)
    return tenant_id
