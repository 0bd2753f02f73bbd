"""The application: the proxy's routes, the control plane and the page, behind one door."""

from __future__ import annotations

import contextlib
import importlib.util
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import DirectorError, MissingExtra

try:
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
except ImportError:
    raise MissingExtra("the server", extra="server") from None

from director_ai import __version__
from director_ai.errors import PayloadError
from director_ai.serve.control import admin_router, health_router, metrics_router, openapi_router
from director_ai.serve.control_facts import facts_router
from director_ai.serve.control_reviews import reviews_router
from director_ai.serve.errors_http import error_response
from director_ai.serve.proxy import WIRES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from director_ai.serve.server import Server

__all__ = ["create_app"]

PAGE: Final = "director_ai.serve.page"


def create_app(server: Server) -> FastAPI:
    """Return the application of a server; it starts and ends with it."""
    page = _page_of(server)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await server.start()
        if page is not None:
            page.samples.begin()
        try:
            yield
        finally:
            if page is not None:
                page.samples.end()
            await server.end()

    app = FastAPI(
        title="Director AI",
        version=__version__,
        description="Guarded answers of a language model, reviews, and what operators need.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    for path in WIRES:
        app.add_route(path, server.handle, methods=["POST"], include_in_schema=False)
    app.add_route("/v1/models", server.proxy.models, methods=["GET"], include_in_schema=False)
    for router in (
        health_router(server),
        metrics_router(server),
        admin_router(server),
        facts_router(server),
        reviews_router(server),
        openapi_router(server, app.openapi),
    ):
        app.include_router(router)
    if page is not None:
        app.mount("/review", page)
    app.add_exception_handler(DirectorError, _answer_error)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_middleware(Contained)
    return app


def _page_of(server: Server) -> Any:
    """Return the review page, where it is installed."""
    if importlib.util.find_spec(PAGE) is None:
        return None
    return importlib.import_module(PAGE).page_router(server)


async def _answer_error(request: Request, error: Exception) -> Response:
    return error_response(request, error)


async def _answer_http(request: Request, error: Exception) -> Response:
    """Answer what the frame refuses: a path or a method that is not there, a body that it could not read."""
    if isinstance(error.__cause__, DirectorError):
        return error_response(request, error.__cause__)
    return error_response(request, error)


async def _answer_invalid(request: Request, error: Exception) -> Response:
    """Say which fields are wrong, without repeating what they held."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    places = [".".join(str(part) for part in each["loc"] if str(part).isidentifier()) for each in found[:5]]
    kinds = [str(each["type"]) for each in found[:5]]
    told = "; ".join(f"{place}: {kind}" for place, kind in zip(places, kinds, strict=True))
    return error_response(request, PayloadError(f"the request is not as it should be: {told or 'malformed'}"))


class Contained:
    """Lets no error out of the application: a client gets a sentence, a log the type of the error alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - what nobody expected must not be shown, nor logged with its text
            response: Any = error_response(Request(scope), error)
            if not begun:  # behind bytes that were sent, the connection breaks off, which no client takes for an end
                await response(scope, receive, send)
