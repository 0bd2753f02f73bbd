"""What is set for each tenant: its guard, where its answers come from, and how much it may ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from director_ai.errors import DirectorError, UnknownOption
from director_ai.guard import ProductionGuard
from director_ai.judges import LLMJudge
from director_ai.serve.backlog import Backlog
from director_ai.serve.casework import WatchedGuarding
from director_ai.serve.guarding import Guarding
from director_ai.serve.limiting import TenantRates
from director_ai.serve.proxy import Overloaded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from director_ai.core.safety_event import SafetyEvent
    from director_ai.hooks.protocol import Hook
    from director_ai.knowledge.store import GroundTruthStore
    from director_ai.record.trail import AuditTrail
    from director_ai.serve.callers import Caller
    from director_ai.serve.casework import CaseWork
    from director_ai.serve.sections import TenantSettings, UpstreamSettings
    from director_ai.serve.settings import ServerSettings
    from director_ai.serve.upstream import Upstream
    from director_ai.settings import GuardSettings

__all__ = ["Guards", "NoUpstream", "Source", "TenantDirectory"]


class NoUpstream(DirectorError):
    """Nothing that the server knows speaks this protocol for this tenant."""


class Source(NamedTuple):
    """An upstream, and the protocols that it speaks."""

    kinds: frozenset[str]
    upstream: Upstream


class Guards:
    """One guard for each set of settings; they share the knowledge base and the trail."""

    def __init__(
        self,
        store: GroundTruthStore,
        trail: AuditTrail,
        hooks: Iterable[Hook] = (),
        upstreams: Mapping[str, UpstreamSettings] | None = None,
    ) -> None:
        self._store, self._trail, self._hooks, self._upstreams = store, trail, tuple(hooks), upstreams or {}
        self._made: dict[GuardSettings, ProductionGuard] = {}

    def get(self, settings: GuardSettings) -> ProductionGuard:
        """Return the guard of some settings."""
        if settings not in self._made:
            self._made[settings] = ProductionGuard(
                settings, store=self._store, hooks=self._hooks, audit=self._trail, judge=self._judge(settings.judge)
            )
        return self._made[settings]

    def _judge(self, wanted: str | None) -> LLMJudge | None:
        """Return the judge that is one of the server's own upstreams; None leaves it to the guard."""
        if wanted is None or not wanted.startswith("upstream:"):
            return None
        name, _, model = wanted.removeprefix("upstream:").partition(":")
        if name not in self._upstreams:
            raise UnknownOption("upstream of the judge", name, self._upstreams)
        upstream = self._upstreams[name]
        return LLMJudge(
            model,
            provider=upstream.kind,
            base_url=upstream.base_url.rstrip("/").removesuffix("/v1")  # Anthropic's SDK adds it itself
            if upstream.kind == "anthropic"
            else upstream.base_url,
            api_key=upstream.key(name) or "none",
            timeout=upstream.timeout,
        )

    @property
    def record(self) -> Callable[[SafetyEvent], Any]:
        """What keeps events in the trail."""
        return self._trail.record

    def warm_up(self, wanted: Iterable[GuardSettings]) -> None:
        """Load what guards need now rather than at the first clause."""
        # Judged for a tenant that has facts: the scorer warns of a knowledge base that is empty, and this one is not.
        tenant_id = next((tenant for tenant in self._store.tables.tenants()), "")
        for settings in dict.fromkeys(wanted):
            self.get(settings).warm_up(tenant_id)


class TenantDirectory:
    """What the proxy asks about a caller's tenant."""

    def __init__(self, settings: ServerSettings, guards: Guards, sources: Mapping[str, Source], work: CaseWork) -> None:
        self._settings, self._guards, self._sources, self._work = settings, guards, sources, work
        self._rates = TenantRates(settings.rate_store)
        self._backlog = Backlog(settings.most_delay)
        self.is_closing = False
        """Whether the server is about to end, and lets nobody in."""
        self.entering = 0
        """Requests whose answer has not begun, whoever asks to be admitted among them."""

    def guarding(self, caller: Caller, prompt: str, request_id: str) -> Guarding:
        """Return the guard of an exchange; what it holds back is put before people."""
        own = self._settings.tenant(caller.tenant_id)
        return WatchedGuarding(
            guard=self._guards.get(own.guard),
            prompt=prompt,
            tenant_id=caller.tenant_id,
            request_id=request_id,
            mode=own.mode,
            shows_evidence=caller.shows_evidence,
            work=self._work,
            review_halts=own.review_halts,
            review_redactions=own.review_redactions,
            allows_optimism=own.optimistic,
            record=self._guards.record,
            lagged=self._backlog.take,
        )

    def plain_guarding(self, caller: Caller, prompt: str, request_id: str) -> Guarding:
        """Return the guard of a tenant for trying something out: nobody is told of what it holds back."""
        own = self._settings.tenant(caller.tenant_id)
        return Guarding(
            guard=self._guards.get(own.guard),
            prompt=prompt,
            tenant_id=caller.tenant_id,
            request_id=request_id,
            mode=own.mode,
            shows_evidence=caller.shows_evidence,
        )

    def upstream(self, caller: Caller, path: str) -> Upstream:
        """Return where a tenant's answers come from: of those that are set for it, the first that speaks so."""
        kind = "anthropic" if path == "/v1/messages" else "openai"
        own = self._settings.tenant(caller.tenant_id)
        found = [each for each in self._named(own) if kind in each.kinds]
        if not found and path == "/v1/models":
            found = self._named(own)
        if not found:
            raise NoUpstream(f"no upstream is set up that speaks the {kind} protocol for this tenant")
        return found[0].upstream

    def _named(self, own: TenantSettings) -> list[Source]:
        return [self._sources[name] for name in own.upstream or self._sources if name in self._sources]

    def admit(self, caller: Caller, open_streams: int) -> None:
        """Let a request in, or say when to come again."""
        if self.is_closing:
            raise Overloaded("the server is about to end; come again", status=503, retry_after=5)
        if open_streams + self.entering > self._settings.most_streams or self._work.is_behind:
            raise Overloaded("the server is full; come again", status=503, retry_after=1)
        if open_streams and self._backlog.is_long:
            raise Overloaded("the guard is behind with what is being said; come again", status=503, retry_after=2)
        self._rates.take(caller.tenant_id, self._settings.tenant(caller.tenant_id).rate)
