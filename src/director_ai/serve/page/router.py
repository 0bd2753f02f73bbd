"""The routes of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.errors import MissingExtra

try:
    import jinja2  # noqa: F401 - the page is drawn with it
    from fastapi import APIRouter
except ImportError:
    raise MissingExtra("the review page", extra="server") from None

from director_ai.serve.page.assets import serve_asset
from director_ai.serve.page.deciding import decide_case, do_to_case, show_case, show_state
from director_ai.serve.page.desk import Desk, UnknownPage
from director_ai.serve.page.editing import edit_case
from director_ai.serve.page.inbox import show_inbox
from director_ai.serve.page.monitoring import show_monitoring
from director_ai.serve.page.playground import check_answer, show_playground, stream_answer
from director_ai.serve.page.samples import Samples
from director_ai.serve.page.signing_in import show_sign_in, sign_in, sign_out

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from director_ai.serve.page.desk import Visit
    from director_ai.serve.page.serving import Serving

__all__ = ["page_router"]


def page_router(server: Serving) -> APIRouter:
    """Return the routes of the page, to be mounted at /review.

    Counters are sampled from the first request on; `router.samples.begin()` does it from an earlier moment.
    """
    desk, samples = Desk(server), Samples(server.streams, server.figures.registry)
    router = APIRouter()
    router.samples = samples  # type: ignore[attr-defined]  # for whoever starts the server

    def add(method: str, path: str, view: Callable[[Visit], Any], *, open_to_all: bool = False) -> None:
        answer = desk.view(view, open_to_all=open_to_all)

        async def watched(request: Request) -> Response:
            samples.begin()
            return await answer(request)

        router.add_route(path, watched, methods=[method], name=f"page {method} {path}", include_in_schema=False)

    for path, views in _VIEWS.items():
        for method, view in views.items():
            add(method, path, view, open_to_all=path == "/login")
    add("GET", "/monitoring", show_monitoring(samples))
    router.add_route("/static/{name:path}", serve_asset, methods=["GET"], include_in_schema=False)
    add("GET", "/{path:path}", no_page)
    return router


async def no_page(visit: Visit) -> Response:
    """Answer whoever followed a link that leads nowhere."""
    raise UnknownPage(f"there is no page at {visit.request.url.path[:200]}")


_VIEWS: dict[str, dict[str, Callable[[Visit], Awaitable[Response]]]] = {
    "/": {"GET": show_inbox},
    "/login": {"GET": show_sign_in, "POST": sign_in},
    "/logout": {"POST": sign_out},
    "/cases/{case_id}": {"GET": show_case},
    "/cases/{case_id}/state": {"GET": show_state},
    "/cases/{case_id}/decide": {"POST": decide_case},
    "/cases/{case_id}/edit": {"POST": edit_case},
    "/cases/{case_id}/do/{does}": {"POST": do_to_case},
    "/playground": {"GET": show_playground},
    "/playground/check": {"POST": check_answer},
    "/playground/stream": {"POST": stream_answer},
}
