"""What every view of the page goes through: who asks, whether the form is ours, what is said when something fails."""

from __future__ import annotations

import asyncio
import logging
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, RedirectResponse, Response

from director_ai.core.showing import words
from director_ai.errors import ConfigError, DirectorError, PayloadError, RecordError, Refused, UnknownCase
from director_ai.serve.bodies import BodyTooLarge
from director_ai.serve.callers import Caller, NotAuthenticated
from director_ai.serve.page import wording
from director_ai.serve.page.forms import read_form
from director_ai.serve.page.marks import visible
from director_ai.serve.page.sessions import Sessions, form_token, is_form_token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from director_ai.serve.page.serving import Serving

__all__ = ["HEADERS", "Desk", "UnknownPage", "Visit"]

PLACE: Final = "/review"
SESSION: Final = "director_review"
NONCE: Final = "director_form"
MOST_TRIALS: Final = 4
"""Trials of the playground that run at once."""
HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class NotOurForm(DirectorError):
    """A form that no page of ours made for this browser."""


class UnknownPage(DirectorError):
    """A path at which there is nothing."""


_STATUS: Final[tuple[tuple[type[Exception], int], ...]] = (
    (BodyTooLarge, 413),
    (PayloadError, 400),
    (UnknownCase, 404),
    (UnknownPage, 404),
    (NotOurForm, 403),
    (Refused, 409),
    (ConfigError, 400),
    (RecordError, 503),
)
_log: Final = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Visit:
    """One request of somebody who may be here."""

    desk: Desk
    request: Request
    caller: Caller | None = None
    cookie: str = ""
    """Of the session; empty where there is none."""
    nonce: str
    form: dict[str, str] = field(default_factory=dict)

    @property
    def who(self) -> Caller:
        """Whoever asks, where the view is for callers alone."""
        if self.caller is None:
            raise NotAuthenticated("sign in with a reviewer's key")
        return self.caller

    @property
    def base(self) -> str:
        """Where the page begins."""
        root = str(self.request.scope.get("root_path", "")).rstrip("/")
        return root if root.endswith(PLACE) else root + PLACE

    @property
    def is_partial(self) -> bool:
        """Whether a part of a page is asked for, to be put into one that is open."""
        return self.request.headers.get("hx-request") == "true"

    def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return a page."""
        content = self.desk.templates.get_template(template).render(
            base=self.base,
            caller=self.caller,
            signed_in=bool(self.cookie),
            form_token=form_token(self.nonce, self.cookie),
            now=datetime.now(UTC),
            said=wording.SAID.get(self.request.query_params.get("said", ""), ""),
            here=self.request.url.path.removeprefix(self.base),
            **values,
        )
        return HTMLResponse(content, status)

    def go(self, path: str, said: str = "") -> Response:
        """Return a redirect inside of the page."""
        return RedirectResponse(self.base + path + (f"?said={said}" if said else ""), 303)


class Desk:
    """Lets callers in, and answers for what goes wrong."""

    def __init__(self, server: Serving) -> None:
        self.server = server
        self.sessions = Sessions(server.queue.trail.database)
        self.templates = _templates()
        self.trials = asyncio.Semaphore(MOST_TRIALS)

    def view(
        self, handle: Callable[[Visit], Awaitable[Response]], *, open_to_all: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return a view as a route: nobody gets to it without the scope, and no form that is not ours."""

        async def answer(request: Request) -> Response:
            visit = Visit(desk=self, request=request, nonce=request.cookies.get(NONCE, "") or secrets.token_urlsafe(24))
            try:
                response = await self._let_in(visit, handle, open_to_all=open_to_all)
            except Exception as error:  # noqa: BLE001 - whoever looks gets a sentence, never a trace
                response = self._failed(visit, error)
            return _finished(visit, response)

        answer.__name__ = getattr(handle, "__name__", "view")
        return answer

    async def _let_in(
        self, visit: Visit, handle: Callable[[Visit], Awaitable[Response]], *, open_to_all: bool
    ) -> Response:
        request = visit.request
        try:
            await self._find_caller(visit)
        except NotAuthenticated:
            if not open_to_all:
                raise
        if request.method not in {"GET", "HEAD"}:
            visit.form = await read_form(request)
            self._check_form(visit)
        return await handle(visit)

    async def _find_caller(self, visit: Visit) -> None:
        """Find out who asks: by a session, or as the server's own function does it."""
        cookie = visit.request.cookies.get(SESSION, "")
        session = await asyncio.to_thread(self.sessions.find, cookie) if cookie else None
        if session is not None:
            if session.ends_at is not None or await self.server.authenticate.still_valid(session.caller):
                visit.caller, visit.cookie = session.caller, cookie
                return
            await asyncio.to_thread(self.sessions.close, cookie)
        visit.caller = await self.server.authenticate(visit.request, "reviewer")

    def _check_form(self, visit: Visit) -> None:
        nonce = visit.request.cookies.get(NONCE, "")
        given = visit.form.pop("form_token", "")
        if not is_form_token(given, nonce, visit.cookie) or _is_foreign(visit.request):
            raise NotOurForm("this form was not made for this browser, or it is too old; open the page again")

    async def sign_in(self, visit: Visit, key: str) -> str:
        """Return the cookie of a new session for a key, or refuse the key."""
        scope = dict(visit.request.scope) | {
            "headers": [(b"authorization", b"Bearer " + key.encode("utf-8", "replace"))]
        }
        caller = await self.server.authenticate(HTTPConnection(scope), "reviewer")
        if visit.cookie:
            await asyncio.to_thread(self.sessions.close, visit.cookie)
        return await asyncio.to_thread(self.sessions.open, caller, self.server.authenticate.ends_at(caller))

    def _failed(self, visit: Visit, error: Exception) -> Response:
        """Return a page that says what went wrong."""
        if isinstance(error, NotAuthenticated) and error.status == 401:
            return self._to_sign_in(visit)
        status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
        if isinstance(error, NotAuthenticated):
            status = 403
        if not isinstance(error, DirectorError):
            _log.error("a view of the page ended in %s", type(error).__name__)
        sentence = str(error) if isinstance(error, DirectorError) else "something went wrong; nothing was changed"
        return visit.render("error.html", status, sentence=sentence, code=status, phrase=HTTPStatus(status).phrase)

    def _to_sign_in(self, visit: Visit) -> Response:
        request = visit.request
        target = f"{visit.base}/login"
        if request.method in {"GET", "HEAD"} and not visit.is_partial:
            path = request.url.path.removeprefix(visit.base)
            return RedirectResponse(f"{target}?next={quote(path)}" if path.strip("/") else target, 303)
        response = visit.render("login.html", 401, sentence="Sign in first; nothing was changed.", wanted="")
        if visit.is_partial:
            response.headers["hx-redirect"] = target
        return response


def _finished(visit: Visit, response: Response) -> Response:
    """Return a response with what every response of the page has."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if visit.request.cookies.get(NONCE) != visit.nonce:
        keep_cookie(visit, response, NONCE, visit.nonce)
    return response


def keep_cookie(visit: Visit, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts cannot read and other sites cannot send; an empty one is taken away."""
    options: dict[str, Any] = {
        "path": visit.base,
        "secure": visit.request.url.scheme == "https",
        "httponly": True,
        "samesite": "strict",
    }
    if value:
        response.set_cookie(name, value, **options)
    else:
        response.delete_cookie(name, **options)


def _is_foreign(request: Request) -> bool:
    """Whether a browser says that a form came from another site."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return True
    origin = request.headers.get("origin", "")
    return origin != "" and origin.partition("://")[2] != request.headers.get("host", "")


def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("director_ai.serve.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "age": wording.age_of,
        "counted": wording.counted,
        "figure": words.figure,
        "percent": wording.percent,
        "seen": visible,
        "span": wording.seconds,
        "state_name": wording.state_name,
        "headline": wording.title_of,
        "when": wording.when,
        "why": words.why,
    }
    return made
