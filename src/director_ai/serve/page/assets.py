"""Style sheets, scripts and pictures of the page, by name; there are no others."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

from starlette.responses import PlainTextResponse, Response

from director_ai.serve.page.desk import HEADERS

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["serve_asset"]

_KINDS: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
NAMES: Final = ("icon.svg", "page.css", "page.js", "playground.js", "theme.js", "vendor/htmx.min.js")


async def serve_asset(request: Request) -> Response:
    """Return a file of the page; browsers keep it and ask whether it has changed."""
    name = request.path_params["name"]
    if name not in NAMES:
        return PlainTextResponse("there is no such file", 404, headers=HEADERS)
    content, tag = _read(name)
    headers = HEADERS | {"cache-control": "no-cache", "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(None, 304, headers=headers)
    return Response(content, headers=headers, media_type=_KINDS[name.rpartition(".")[2]])


@cache
def _read(name: str) -> tuple[bytes, str]:
    content = resources.files("director_ai.serve.page").joinpath("static", *name.split("/")).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
