"""Signing in with a key, and out again."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from director_ai.serve.callers import NotAuthenticated
from director_ai.serve.page.desk import SESSION, keep_cookie

if TYPE_CHECKING:
    from starlette.responses import Response

    from director_ai.serve.page.desk import Visit

__all__ = ["show_sign_in", "sign_in", "sign_out"]

LONGEST_KEY: Final = 4_096
_PLACES: Final = re.compile(r"/(?:monitoring|playground|cases/[A-Za-z0-9-]{1,128})?")


async def show_sign_in(visit: Visit) -> Response:
    """Show the form for a key."""
    return visit.render("login.html", sentence="", wanted=_wanted(visit.request.query_params.get("next", "")))


async def sign_in(visit: Visit) -> Response:
    """Begin a session for whoever has a reviewer's key."""
    key, wanted = visit.form.get("key", "").strip(), _wanted(visit.form.get("next", ""))
    try:
        cookie = await visit.desk.sign_in(visit, _checked(key))
    except NotAuthenticated as error:
        sentence = "This key is not for reviewers." if error.status == 403 else "This key is not known, or no longer."
        return visit.render("login.html", error.status, sentence=sentence, wanted=wanted)
    response = visit.go(wanted or "/")
    keep_cookie(visit, response, SESSION, cookie)
    return response


async def sign_out(visit: Visit) -> Response:
    """End the session."""
    await asyncio.to_thread(visit.desk.sessions.close, visit.cookie)
    response = visit.go("/login", "signed_out")
    keep_cookie(visit, response, SESSION, "")
    return response


def _checked(key: str) -> str:
    if not key or len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise NotAuthenticated("there is no key")
    return key


def _wanted(path: str) -> str:
    """Return where to go after signing in: a place of the page and nowhere else."""
    return path if _PLACES.fullmatch(path) else ""
