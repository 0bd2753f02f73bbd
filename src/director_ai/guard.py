"""ProductionGuard: a knowledge base, a scorer, checks and repairs wired together by one profile."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import logging
import os
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypedDict, TypeVar, Unpack, cast, overload

import anyio.to_thread

from director_ai.core.scoring.injection import InjectionDetector
from director_ai.core.streaming_repair import RepairResult, StreamingRepairer
from director_ai.errors import ConfigError, ModelError, ModelUnavailable, UnknownOption
from director_ai.hooks.attachment import AttachedHooks
from director_ai.hooks.protocol import Occasion, may_go_on
from director_ai.judges import LLMJudge, TransformersJudge
from director_ai.judges.panel import JudgePanel
from director_ai.knowledge.store import GroundTruthStore, VectorGroundTruthStore
from director_ai.profiles import Profile, get_profile
from director_ai.scorer import CoherenceScorer
from director_ai.settings import OFF, GuardSettings
from director_ai.streaming import StreamingKernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.checks.rules import Rule
    from director_ai.core.checks.runner import Continuation, Conversation
    from director_ai.core.evidence import Retriever
    from director_ai.core.runtime.correction import GroundedCorrectionDraft, HaltCorrectionContext
    from director_ai.core.safety_event import SafetyEvent
    from director_ai.core.streaming_repair import AsyncRepairStream, ClauseAction, RepairStream, Request, Shape
    from director_ai.core.types import CoherenceScore, InjectionResult
    from director_ai.hooks.protocol import Hook, ProposedAction, Verdict
    from director_ai.judges.language_model import Provider
    from director_ai.judges.panel import Judge
    from director_ai.knowledge.tables import Loaded
    from director_ai.record.metrics import RepairMetrics
    from director_ai.record.trail import AuditTrail
    from director_ai.settings import Off

__all__ = ["ProductionGuard"]

_log = logging.getLogger(__name__)
Client = TypeVar("Client")
Mode = Literal["repair", "halt"]
MODES: Final = ("repair", "halt")
WRAPPED: Final = {
    "openai": ("OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"),
    "anthropic": ("Anthropic", "AsyncAnthropic"),
}
"""Clients that `wrap` takes, and subclasses of a user's own, by the SDK that they are of."""


class StreamOptions(TypedDict, total=False):
    """What can be said of one answer."""

    tenant_id: str
    """Its own facts are read beside the shared ones."""
    request_id: str
    """Stands in the events."""
    rewrite_fn: Callable[..., Any] | None
    """(clause, evidence texts) -> a rewrite, instead of the settings' rewriter."""
    continuation: Continuation | None
    """Goes on behind a rewrite."""
    shape: Shape
    """"json" for JSON and tool arguments: string values are repaired, and it stays JSON."""
    mode: Mode
    """"halt" ends the stream before the first clause that is not supported."""
    conversation: Conversation | None
    """Numbers the placeholders of other checks."""
    passport: str
    """A signed statement of which agent is speaking, for hooks; so are the next three."""
    sender: str
    receiver: str
    exchange_id: str
    """Of one answer and the actions that belong to it; must not come from whoever is examined."""


class ActionOptions(TypedDict, total=False):
    """What hooks may know of an action."""

    prompt: str
    passport: str
    sender: str
    receiver: str
    tenant_id: str
    request_id: str
    exchange_id: str


class ProductionGuard:
    """Guards any number of answers and streams at once; what belongs to one of them is kept with it.

    Args:
        settings: What is wanted, by default that of the profile `general`; see `from_profile` and `from_config`.
        store: Where facts live, instead of the one that the settings name.
        scorer: Another scorer than the one that the settings describe; it must be a CoherenceScorer.
        checks, first: Checks beside those that the settings name; their edits are merged with the repairs.
        on_action: Told what became of each clause as it is released.
        hooks: Examine what is said and done beside the scorer (`director_ai.hooks`); a stream ends before what one of
            them refuses.
        audit: Keeps every fix and halt before it is shown; a stream whose events cannot be kept ends there.
        judge: Decides about clauses of which the model is not sure, instead of the one that the settings name.
    """

    def __init__(  # noqa: PLR0913 - whatever a guard is made of
        self,
        settings: GuardSettings | None = None,
        *,
        store: Retriever | None = None,
        scorer: CoherenceScorer | None = None,
        injection_detector: InjectionDetector | None = None,
        checks: Iterable[Any] = (),
        first: Iterable[Any] = (),
        on_action: Callable[[ClauseAction], None] | None = None,
        hooks: Iterable[Hook] = (),
        audit: AuditTrail | None = None,
        judge: Judge | Callable[..., Any] | None = None,
    ) -> None:
        self.settings = settings if settings is not None else GuardSettings()
        if not isinstance(self.settings, GuardSettings):
            raise ConfigError(f"settings must be GuardSettings, got a {type(settings).__name__}; try from_profile()")
        self.profile: Profile = get_profile(self.settings.profile)
        if scorer is not None and not isinstance(scorer, CoherenceScorer):
            raise ConfigError(f"scorer must be a CoherenceScorer, got a {type(scorer).__name__}")
        self._owns_store = store is None and (scorer is None or scorer.ground_truth_store is None)
        self.store: Any = store if store is not None else (scorer.ground_truth_store if scorer else None)
        if self.store is None:
            self.store = _opened_store(self.settings)
        if judge is not None and scorer is not None:
            raise ConfigError("judge belongs to the scorer: give it to CoherenceScorer, or leave out scorer")
        self.scorer = scorer if scorer is not None else _scorer(self.settings, self.profile, self.store, judge)
        self.injection_detector = injection_detector or InjectionDetector()
        named_first, named = _named_checks(self.settings.checks)
        self._first, self._checks = [*named_first, *first], [*named, *checks]
        if on_action is not None and not callable(on_action):
            raise ConfigError(f"on_action must be a function, got a {type(on_action).__name__}")
        self._on_action = on_action
        if audit is not None and not callable(getattr(audit, "record", None)):
            raise ConfigError(f"audit must be an AuditTrail, got a {type(audit).__name__}")
        self._record = audit.record if audit is not None else None
        self._hooks = AttachedHooks(hooks, deadline=self.settings.deadline, record=self._record)
        self._count = _shared_metrics().count if self.settings.metrics else None
        self._repairer("", {}, [])  # refuses what does not fit together now rather than at the first stream

    @classmethod
    def from_profile(cls, name: str, **options: Any) -> Self:
        """Return a guard with the limits and policy of a domain; options are settings, or the constructor's own."""
        settings, own = _sorted_out(options)
        return cls(GuardSettings.load({}, env={}, profile=name, **settings), **own)

    @classmethod
    def from_config(
        cls,
        source: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Self:
        """Return a guard by a TOML or YAML file, or a mapping; then the environment, then options, win over it."""
        settings, own = _sorted_out(options)
        return cls(GuardSettings.load(source, env=os.environ if env is None else env, **settings), **own)

    # --- facts ------------------------------------------------------------------------------------------------

    def load_facts(self, facts: Mapping[str, str], tenant_id: str = "", *, replace: bool = False) -> Loaded:
        """Add facts by their keys: shared ones, which every tenant reads, or one tenant's own."""
        if not isinstance(facts, Mapping):
            raise ConfigError(f"facts must map keys to texts, got a {type(facts).__name__}")
        return self._writable().add_many(facts, tenant_id, replace=replace)

    def ingest(
        self,
        path: str | os.PathLike[str],
        tenant_id: str = "",
        *,
        replace: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Read a document (text, Markdown, HTML, CSV, JSON lines, PDF) and add its passages as facts, all or none."""
        from director_ai.knowledge.entries import Entry  # noqa: PLC0415 - only who reads documents pays for it
        from director_ai.knowledge.ingest import read_passages  # noqa: PLC0415

        entries = (
            Entry(key=each.key, text=each.text, source=each.source, start=each.start, end=each.end)
            for each in read_passages(Path(path))
        )
        return self._writable().add_many(entries, tenant_id, replace=replace, progress=progress)

    def _writable(self) -> GroundTruthStore:
        if not isinstance(self.store, GroundTruthStore):
            raise ConfigError(
                f"facts cannot be added to a {type(self.store).__name__}; add them where it keeps its own"
            )
        return self.store

    # --- whole answers ----------------------------------------------------------------------------------------

    def check(
        self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()
    ) -> tuple[bool, CoherenceScore]:
        """Return whether an answer is approved, and its score."""
        found = self.scorer.review(prompt, response, tenant_id, history=history)
        return self._examined(found, prompt, response, tenant_id) if self._hooks else found

    async def acheck(
        self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()
    ) -> tuple[bool, CoherenceScore]:
        """Return the same without blocking the event loop on the model."""
        found = await self.scorer.areview(prompt, response, tenant_id, history=history)
        if not self._hooks:
            return found
        return await anyio.to_thread.run_sync(self._examined, found, prompt, response, tenant_id)

    def _examined(
        self, found: tuple[bool, CoherenceScore], prompt: str, response: str, tenant_id: str
    ) -> tuple[bool, CoherenceScore]:
        """Return a judgement as the hooks leave it."""
        occasion = Occasion(text=response, prompt=prompt, tenant_id=tenant_id)
        if may_go_on(self._hooks.consult(occasion, "request", "text")):
            return found
        return False, dataclasses.replace(found[1], approved=False)

    @property
    def examines_actions(self) -> bool:
        """Whether a hook wants to see what is to be done."""
        return self._hooks.wants("action")

    def check_action(self, action: ProposedAction, **about: Unpack[ActionOptions]) -> tuple[bool, tuple[Verdict, ...]]:
        """Return whether the hooks let an agent do something, and what each of them says."""
        verdicts = self._hooks.consult(Occasion(action=action, **about), "action")
        return may_go_on(verdicts), verdicts

    def check_injection(self, text: str = "", *, intent: str = "", response: str = "") -> InjectionResult:
        """Screen a text from outside for instructions; with a response, compare its claims with the intent too."""
        return self.injection_detector.detect(text, intent=intent, response=response)

    def correction_builder(
        self, prompt: str, text: str, *, tenant_id: str = ""
    ) -> Callable[[HaltCorrectionContext], GroundedCorrectionDraft]:
        """Return a builder for `CorrectionLoop.propose_from_halt`: the answer that was halted, repaired and judged."""

        def build(context: HaltCorrectionContext) -> GroundedCorrectionDraft:
            from director_ai.core.repair.drafting import draft_of_repair  # noqa: PLC0415 - only who corrects pays

            repaired = self.repair_stream(prompt, text, tenant_id=tenant_id)
            _, score = self.check(prompt, repaired.repaired_text, tenant_id)
            return draft_of_repair(context, repaired, score)

        return build

    def kernel(self, **options: Any) -> StreamingKernel:
        """Return a streaming kernel with the profile's limits, for streams that are to halt token by token."""
        return StreamingKernel.for_domain(self.profile.name, **options)

    # --- streams ----------------------------------------------------------------------------------------------

    @overload
    def repair_stream(  # type: ignore[overload-overlap]  # a text is a stream of its letters, but here it is a text
        self, prompt: str, text_or_tokens: str, **options: Unpack[StreamOptions]
    ) -> RepairResult: ...
    @overload
    def repair_stream(
        self, prompt: str, text_or_tokens: AsyncIterable[str], **options: Unpack[StreamOptions]
    ) -> AsyncRepairStream: ...
    @overload
    def repair_stream(
        self, prompt: str, text_or_tokens: Iterable[str], **options: Unpack[StreamOptions]
    ) -> RepairStream: ...

    def repair_stream(self, prompt: str, text_or_tokens: Any, **options: Unpack[StreamOptions]) -> Any:
        """Repair an answer: a finished text gives its result, a stream of tokens the pieces as they may be shown.

        Options are `StreamOptions`; without a `rewrite_fn` the settings' rewriter is used.
        """
        if isinstance(text_or_tokens, bytes | bytearray):
            raise ConfigError("text_or_tokens must be a string or strings, got bytes; decode them first")
        if not isinstance(text_or_tokens, str):
            is_async = isinstance(text_or_tokens, AsyncIterable)
            return (self.astream if is_async else self.stream)(prompt, text_or_tokens, **options)
        noted: list[SafetyEvent] = []
        return self._repairer(prompt, options, noted).repair(text_or_tokens, **self._request(options, noted))

    def stream(self, prompt: str, tokens: Iterable[str], **options: Unpack[StreamOptions]) -> RepairStream:
        """Yield pieces with a `.text` as soon as they may be shown; `.result` tells the rest."""
        noted: list[SafetyEvent] = []
        return self._repairer(prompt, options, noted).stream(tokens, **self._request(options, noted))

    def astream(
        self, prompt: str, tokens: AsyncIterable[str] | Iterable[str], **options: Unpack[StreamOptions]
    ) -> AsyncRepairStream:
        """Yield the same of an asynchronous stream; tokens and functions may be either."""
        noted: list[SafetyEvent] = []
        return self._repairer(prompt, options, noted).astream(tokens, **self._request(options, noted))

    def wrap(self, client: Client, **options: Any) -> Client:
        """Return a client of an SDK like the one given, whose answers are guarded, stream or not.

        Options hold for all of its answers: `tenant_id`, `mode`, `shows_evidence` and `shows_reasoning`.
        """
        for kind in type(client).__mro__:
            sdk = kind.__module__.split(".")[0]  # by its name: the SDK is the user's, and may be absent
            if sdk in WRAPPED:
                if kind.__name__ not in WRAPPED[sdk]:
                    break
                made: Client = importlib.import_module(f"director_ai.integrations.{sdk}").wrap(self, client, **options)
                return made
        known = ", ".join(f"{sdk}.{name}" for sdk, names in WRAPPED.items() for name in names)
        raise ConfigError(f"wrap takes a client of one of {known}, got a {type(client).__name__}")

    def _request(self, options: StreamOptions, noted: Sequence[SafetyEvent]) -> Request:
        """Return what of the options belongs to the stream itself."""
        return {
            "tenant_id": options.get("tenant_id", ""),
            "request_id": options.get("request_id", ""),
            "shape": options.get("shape", "text"),
            "conversation": options.get("conversation"),
            "on_action": self._told,
            "record": self._record,
            "noted": noted,
        }

    def _repairer(self, prompt: str, options: StreamOptions, noted: list[SafetyEvent]) -> StreamingRepairer:
        for name in options:
            if name not in StreamOptions.__annotations__:
                raise UnknownOption("option of a stream", name, StreamOptions.__annotations__)
        mode, rewrite_fn = options.get("mode", "repair"), options.get("rewrite_fn")
        if mode not in MODES:
            raise UnknownOption("mode", mode, MODES)
        settings, halts = self.settings, mode == "halt"
        if rewrite_fn is None and not halts:
            rewrite_fn = _rewriter(settings.rewriter)
        rules = self.profile.repair
        least = rules.threshold if settings.repair_threshold is None else settings.repair_threshold
        judge, judge_rewrite, functions = self.scorer.judge_of_stream(
            prompt, options.get("tenant_id", ""), threshold=least
        )
        after = 8 if settings.cap_after is None else settings.cap_after
        return StreamingRepairer.by_judge(
            judge,
            functions,
            threshold=least,
            judge_rewrite=judge_rewrite,
            question=prompt,
            rewrite_fn=None if halts else rewrite_fn,
            deadline=settings.deadline,
            token_timeout=settings.token_timeout,
            most_redacted=0 if halts else _capped(settings.most_redacted, rules.most_redacted),
            most_redacted_share=None if halts else _capped(settings.most_redacted_share, rules.most_redacted_share),
            cap_after=0 if halts else after,
            continuation=options.get("continuation"),
            most_continuations=settings.most_continuations,
            checks=[*self._checks, *self._hook_rules(prompt, options, noted)],
            first=self._first,
            read_ahead=settings.read_ahead,
            early=settings.early,
            placeholder=settings.placeholder,
        )

    def _hook_rules(self, prompt: str, options: StreamOptions, noted: list[SafetyEvent]) -> list[Rule]:
        if not self._hooks:
            return []
        occasion = Occasion(
            prompt=prompt,
            passport=options.get("passport", ""),
            sender=options.get("sender", ""),
            receiver=options.get("receiver", ""),
            tenant_id=options.get("tenant_id", ""),
            request_id=options.get("request_id", ""),
            exchange_id=options.get("exchange_id", ""),
        )
        return self._hooks.rules(occasion, noted)

    def _told(self, action: ClauseAction) -> None:
        if self._count is not None:
            self._count(action)
        if self._on_action is not None:
            self._on_action(action)

    # --- the end ----------------------------------------------------------------------------------------------

    def warm_up(self, tenant_id: str = "") -> None:
        """Load now what the first answer would otherwise wait for, the model too; nothing is recorded or counted."""
        warm = ProductionGuard(dataclasses.replace(self.settings, metrics=False), scorer=self.scorer)
        warm.repair_stream("", _WARMING, tenant_id=tenant_id)

    def close(self) -> None:
        """Let go of the knowledge base, where the guard opened it itself."""
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


_WARMING: Final = "The harbour cost 90 thalers in 1654, and it opens at 9 am on Sundays. Nobody of the crew went there."
_CONSTRUCTED: Final = frozenset({"scorer", "injection_detector", "first", "on_action", "hooks", "audit"})
"""Options that are the constructor's alone; a store, checks and a judge may be settings too."""


def _sorted_out(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return which of the options are settings, and which the constructor's: a store and checks may be either."""
    own = {name: value for name, value in options.items() if name in _CONSTRUCTED}
    settings = {name: value for name, value in options.items() if name not in _CONSTRUCTED}
    if isinstance(settings.get("store"), os.PathLike):
        settings["store"] = os.fspath(settings["store"])
    if "store" in settings and not isinstance(settings["store"], str):
        own["store"] = settings.pop("store")
    if settings.get("judge") is not None and not isinstance(settings["judge"], str):
        own["judge"] = settings.pop("judge")
    if isinstance(settings.get("checks"), list | tuple):
        given = settings.pop("checks")
        own["checks"] = [check for check in given if not isinstance(check, str)]
        settings |= {"checks": names} if (names := [check for check in given if isinstance(check, str)]) else {}
    return settings, own


def _opened_store(settings: GuardSettings) -> GroundTruthStore:
    """Open the store. Without the encoder a search by meaning is refused, or falls back to words if that is allowed."""
    if settings.search == "words":
        return GroundTruthStore(settings.store)
    try:
        return VectorGroundTruthStore(settings.store)
    except ModelError as error:
        if settings.model_fallback == "raise":
            raise ModelUnavailable(error, "encoder", 'model_fallback="heuristic" or search="words"') from error
        _log.warning("the encoder cannot be used (%s): facts are found by their words alone", error)
        return GroundTruthStore(settings.store)


def _panel(settings: GuardSettings, profile: Profile, judge: Any) -> JudgePanel | None:
    """Return the judge with the rules for asking it; the settings' band and doubt win over the profile's."""
    chosen = judge if judge is not None else _named_judge(settings)
    if chosen is None:
        return None
    return JudgePanel(
        chosen,
        band=settings.judge_band or profile.repair.judge_band,
        budget=settings.judge_budget,
        doubt=settings.judge_doubt or profile.repair.judge_doubt,
        on_usage=_shared_metrics().count_judge if settings.metrics else None,
    )


def _named_judge(settings: GuardSettings) -> Judge | None:
    if settings.judge is None:
        return None
    kind, _, name = settings.judge.partition(":")
    if kind == "folder":
        return TransformersJudge(name)
    if kind == "upstream":
        raise ConfigError(f"judge={settings.judge!r} names an upstream, which a server has; use openai:MODEL here")
    return LLMJudge(
        name,
        provider=cast("Provider", kind),
        base_url=settings.judge_url,
        timeout=settings.judge_budget.seconds,
    )


def _scorer(settings: GuardSettings, profile: Profile, store: Any, judge: Any) -> CoherenceScorer:
    return CoherenceScorer(
        threshold=profile.rules.hard_limit if settings.threshold is None else settings.threshold,
        use_nli=settings.use_nli,
        strict_mode=settings.strict_mode,
        model_fallback=settings.model_fallback,
        policy=settings.policy or profile.policy,
        top_k=settings.top_k,
        ground_truth_store=store,
        judge=_panel(settings, profile, judge),
    )


def _capped(wanted: float | Off | None, usual: float | None) -> Any:
    """Return a cap: that of the settings, else the profile's."""
    chosen = usual if wanted is None else wanted
    return None if chosen == OFF else chosen


@functools.cache
def _rewriter(name: str) -> Callable[..., Any] | None:
    from director_ai.rewrite import EvidencePatch, EvidenceQuote  # noqa: PLC0415 - only the one that is needed

    return None if name == "none" else {"patch": EvidencePatch, "quote": EvidenceQuote}[name]()


def _named_checks(names: Iterable[str]) -> tuple[list[Any], list[Any]]:
    """Return checks by their names in the settings: those that come first, and the others."""
    from director_ai import validators  # noqa: PLC0415 - only who wants checks pays for them

    kinds: dict[str, Callable[[], Any]] = {
        "disguise": validators.Disguise,
        "links": validators.Links,
        "pii": validators.PII,
        "secrets": validators.Secrets,
        "casing-lower": lambda: validators.Casing(to="lower"),
        "casing-upper": lambda: validators.Casing(to="upper"),
        "casing-sentence": lambda: validators.Casing(to="sentence"),
    }
    made = [(name == "disguise", kinds[name]()) for name in names]
    return [check for is_first, check in made if is_first], [check for is_first, check in made if not is_first]


def _shared_metrics() -> RepairMetrics:
    from director_ai.record.metrics import shared_metrics  # noqa: PLC0415 - loads the exporter's library

    return shared_metrics()
