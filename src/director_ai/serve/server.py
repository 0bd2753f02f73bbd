"""Server: everything that lives as long as the process does, and what is watched in the background."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Final, Self

from director_ai.errors import ConfigError, DirectorError
from director_ai.hooks.naming import hooks_named
from director_ai.knowledge.store import GroundTruthStore, VectorGroundTruthStore
from director_ai.review.queue import HumanReviewQueue
from director_ai.serve.authentication import Authentication
from director_ai.serve.casework import CaseWork
from director_ai.serve.figures import Figures
from director_ai.serve.keys import KeyStore
from director_ai.serve.open_streams import OpenStreams
from director_ai.serve.proxy import Proxy
from director_ai.serve.switches import Switches
from director_ai.serve.tenancy import Guards, Source, TenantDirectory
from director_ai.serve.upstream import HttpUpstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from director_ai.hooks.protocol import Hook
    from director_ai.serve.callers import Caller
    from director_ai.serve.guarding import Guarding
    from director_ai.serve.oidc import OidcTokens
    from director_ai.serve.settings import ServerSettings

__all__ = ["Server"]

POLL_SECONDS: Final = 0.5
"""Between two looks at the switches: one that another process turned acts here within a second."""
POLLS_PER_KEY_CHECK: Final = 4
POLLS_PER_EXPIRY: Final = 20
_log: Final = logging.getLogger(__name__)


class Server:
    """The knowledge base, the guards, the review queue, keys, upstreams and open streams of one process.

    Args:
        settings: What is wanted.
        sources: Upstreams by name, instead of those that the settings name.
        hooks: Examine what is said and done for all tenants, instead of those that the settings name.
        is_demo: Whether the key `demo` is taken, and the page opens without one; on this machine only.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        settings: ServerSettings,
        *,
        sources: Mapping[str, Source] | None = None,
        hooks: Iterable[Hook] | None = None,
        is_demo: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if is_demo and not settings.is_local:
            raise ConfigError("a demo is for this machine alone: its host must be 127.0.0.1 or localhost")
        self.settings, self.is_demo = settings, is_demo
        with contextlib.ExitStack() as opened:
            guard = settings.usual.guard
            kinds = {"words": GroundTruthStore, "meaning": VectorGroundTruthStore}
            self.store = opened.enter_context(kinds[guard.search](guard.store))
            self.queue = opened.enter_context(
                HumanReviewQueue(
                    settings.database,
                    checkpoints=settings.checkpoints or None,
                    signing_key=settings.signing_key or None,
                    clock=clock,
                )
            )
            self.keys = KeyStore(self.queue.trail, clock=clock)
            if not settings.is_local and not self.keys.has_any():
                raise ConfigError(
                    "the server would be open to others, and there is no key yet; make one with "
                    "`director-ai keys create`, or bind it to 127.0.0.1"
                )
            self.sources = dict(_sources(settings) if sources is None else sources)
            made = hooks_named(settings.hooks) if hooks is None and settings.hooks else hooks or ()
            self.guards = Guards(self.store, self.queue.trail, made, settings.upstreams)
            for each in (settings.usual, *settings.tenants.values()):
                self.guards.get(each.guard)
            self._opened = opened.pop_all()
        self.authenticate = Authentication(self.keys, tokens=_tokens(settings), is_demo=is_demo, clock=clock)
        self.streams, self.switches = OpenStreams(), Switches(self.queue.trail)
        self.figures = Figures(self.streams)
        self.work = CaseWork(self.queue)
        self.tenants = TenantDirectory(settings, self.guards, self.sources, self.work)
        self.proxy = Proxy(self.tenants, self.authenticate, self.streams)
        self.is_warm = False
        """Whether the models are loaded."""
        self.polls = 0
        """How often the switches were looked at."""
        self._unsaved: set[str] = set()
        """Switches that were turned off here and could not be kept."""
        self._tasks: list[asyncio.Task[None]] = []

    def guarding(self, caller: Caller, prompt: str, request_id: str) -> Guarding:
        """Return the guard of a tenant for trying something out: no case is opened."""
        return self.tenants.plain_guarding(caller, prompt, request_id)

    async def handle(self, request: Request) -> Response:
        """Answer a request of the proxy; from its first moment it counts among what the server holds."""
        self.tenants.entering += 1
        try:
            return await self.proxy.handle(request)
        finally:
            self.tenants.entering -= 1

    @property
    def is_full(self) -> bool:
        """Whether there is no room for another answer."""
        return len(self.streams) + self.tenants.entering >= self.settings.most_streams

    # --- its life -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to watch, and load the models."""
        await self._look_at_switches()
        self._tasks = [asyncio.create_task(self._watch()), asyncio.create_task(self._warm_up())]

    async def end(self) -> None:
        """End what is open, and let go of everything; text that was not judged is never shown."""
        self.close_streams()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.work.drain()
        for source in self.sources.values():
            with contextlib.suppress(Exception):  # it is left anyway
                await source.upstream.aclose()
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Let go of the databases."""
        self._opened.close()

    def refuse_new(self) -> None:
        """Let nobody in any more; whoever is in goes on."""
        self.tenants.is_closing = True

    def close_streams(self) -> int:
        """End all streams for good, and return how many."""
        self.refuse_new()
        return self.streams.close("shutdown")

    async def _warm_up(self) -> None:
        wanted = [each.guard for each in (self.settings.usual, *self.settings.tenants.values())]
        try:
            await asyncio.to_thread(self.guards.warm_up, wanted)
            self.is_warm = True
        except DirectorError as error:
            _log.error("the models could not be loaded: %s", error)
        except Exception as error:  # noqa: BLE001 - readiness says no; the message may repeat text
            _log.error("the models could not be loaded: %s", type(error).__name__)

    # --- switches -----------------------------------------------------------------------------------------------

    async def kill(self, tenant_id: str, *, by: str = "") -> int:
        """End the streams of a tenant, or with `*` of all, in every process; return how many ended here."""
        ended = self.streams.kill(tenant_id)
        self._unsaved.add(tenant_id)
        await asyncio.to_thread(self.switches.turn_off, tenant_id, by=by)
        self._unsaved.discard(tenant_id)
        return ended

    async def revive(self, tenant_id: str, *, by: str = "") -> None:
        """Let streams begin again."""
        await asyncio.to_thread(self.switches.turn_on, tenant_id, by=by)
        self._unsaved.discard(tenant_id)
        self.streams.revive(tenant_id)

    # --- the background -----------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        failed = False
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._look()
                failed = False
            except DirectorError as error:
                if not failed:  # once, not twice a second
                    _log.error("the switches and keys cannot be looked at: %s", error)
                failed = True

    async def _look(self) -> None:
        """See what changed in the database, and act on it here."""
        self.polls += 1
        for tenant_id in tuple(self._unsaved):
            await asyncio.to_thread(self.switches.turn_off, tenant_id)
            self._unsaved.discard(tenant_id)
        await self._look_at_switches()
        if self.polls % POLLS_PER_KEY_CHECK == 0 and (callers := self.streams.callers()):
            # Of those that were asked about alone: others may have come in the meantime.
            ended = {caller.caller_id for caller in callers} - await self.authenticate.valid_among(callers)
            self.streams.stop("key_revoked", lambda caller: caller.caller_id in ended)
        if self.polls % POLLS_PER_EXPIRY == 0:
            await asyncio.to_thread(self.queue.expire_due)

    async def _look_at_switches(self) -> None:
        self.streams.follow(await asyncio.to_thread(self.switches.turned_off) | self._unsaved)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _sources(settings: ServerSettings) -> dict[str, Source]:
    return {
        name: Source(
            frozenset({each.kind}),
            HttpUpstream(
                each.base_url,
                headers=each.headers(name),
                timeout=each.timeout,
                connections=settings.most_streams + 10,
            ),
        )
        for name, each in settings.upstreams.items()
    }


def _tokens(settings: ServerSettings) -> OidcTokens | None:
    if settings.oidc is None:
        return None
    from director_ai.serve.oidc import OidcTokens  # noqa: PLC0415 - an extra of its own

    return OidcTokens(settings.oidc)
