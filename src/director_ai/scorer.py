"""CoherenceScorer: the scoring core wired to a knowledge base and the bundled model."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, NoReturn, TypeVar

from director_ai.core.identifiers import check_identifier
from director_ai.core.ranges import as_score, check_count, check_number
from director_ai.core.runtime.carrying import acarry_out, carry_out
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.scoring.coherence import ClauseVerdict, Limits, combine_verdicts, task_type_of, worst_of
from director_ai.core.scoring.judging import Circumstances, judge_clauses, without_model
from director_ai.core.scoring.text_evidence import Earlier, Sentences, earlier_claims
from director_ai.core.segment import Clause, ClauseSegmenter
from director_ai.core.types import CoherenceScore, EvidenceChunk
from director_ai.errors import ConfigError, DirectorError, ModelUnavailable, UnknownOption
from director_ai.judges.panel import JudgePanel
from director_ai.knowledge.store import GroundTruthStore, KnowledgeView
from director_ai.nli.language import is_english
from director_ai.stream_scorer import StreamScorer

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from director_ai.core.evidence import Retriever
    from director_ai.core.scoring.coherence import JudgeMode
    from director_ai.core.scoring.entailment import Entailer
    from director_ai.core.scoring.injection import InjectionDetector
    from director_ai.core.scoring.judging import Ask, Judgement

    Find = Callable[[str, str, Sequence[str]], Any]
    """From a claim, the prompt and the claims before it to evidence."""

__all__ = ["CoherenceScorer", "StreamJudge"]

_log = logging.getLogger(__name__)

Policy = Literal["open", "closed"]
_POLICIES: Final = ("open", "closed")
ModelFallback = Literal["raise", "heuristic"]
_FALLBACKS: Final = ("raise", "heuristic")
_SOFT: Final = 0.1
"""How far above the threshold a score is approved with a warning, where no soft limit is given."""
FLOOR: Final = 0.1
"""Relevance below which a fact is not even looked at; above it the scorer judges for itself."""
Review = tuple[bool, CoherenceScore]


class StreamJudge(NamedTuple):
    """Judges the clauses of one stream: a plan, and the functions that answer what it asks."""

    judge: Callable[[Sequence[Clause], list[str]], Judgement]
    judge_rewrite: Callable[[Sequence[Clause], list[str]], Judgement]
    """Judges what a rewriter offers: one fact alone must entail it, with a margin."""
    functions: dict[str, Callable[..., Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class _Predict:
    """The model, to be asked or awaited."""

    call: Callable[..., Any]
    acall: Callable[..., Any]
    """Awaited instead, if the caller can."""

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return self.call(pairs)


@dataclasses.dataclass(frozen=True, slots=True)
class _Look:
    """The search for evidence; what is handed to it is searched with."""

    is_quick: bool
    """It may be called in place, where others are waiting."""

    def __call__(self, find: Find, *question: Any) -> Any:
        return find(*question)


Result = TypeVar("Result")


class CoherenceScorer:
    """Judges answers clause by clause against a knowledge base; any number of threads and tasks may share one.

    Args:
        threshold: Scores from here on are approved.
        soft_limit: Approved scores below it carry a warning; by default 0.1 above the threshold.
        use_nli: Whether the bundled model is asked. Without it words and typed values alone decide ("heuristic mode").
        ground_truth_store: Where evidence is found. Without one the prompt is the premise.
        strict_mode: Reject everything while the model cannot be used, rather than raise or go on without it.
        policy: What a claim is that the evidence neither supports nor contradicts: `closed` unsupported, `open` kept.
        top_k: Facts that a claim is compared with.
        entailer: Another model than the bundled one.
        model_fallback: If the bundled model cannot be loaded, `raise` refuses to construct a scorer; `heuristic` goes
            on in heuristic mode, and every verdict says so.
        injection_detector: Fills `injection_risk`.
        cost_per_million_tokens: Of the model, in US dollars, for the cost estimate; nothing for the bundled one.
        judge: Decides about the claims of which the model is not sure.
    """

    def __init__(  # noqa: PLR0913 - the documented constructor
        self,
        threshold: float = 0.5,
        soft_limit: float | None = None,
        use_nli: bool = True,
        ground_truth_store: Retriever | None = None,
        strict_mode: bool = False,
        policy: Policy = "closed",
        *,
        top_k: int = 5,
        entailer: Entailer | None = None,
        model_fallback: ModelFallback = "raise",
        injection_detector: InjectionDetector | None = None,
        cost_per_million_tokens: float = 0.0,
        judge: JudgePanel | None = None,
        **unknown: NoReturn,
    ) -> None:
        for name in unknown:
            raise UnknownOption("CoherenceScorer option", name, _OPTIONS)
        low = check_number("threshold", threshold)
        soft = min(1.0, low + _SOFT) if soft_limit is None else check_number("soft_limit", soft_limit)
        if soft < low:
            raise ConfigError(f"soft_limit ({soft:g}) must be at least threshold ({low:g})")
        for name, value in (("use_nli", use_nli), ("strict_mode", strict_mode)):
            if not isinstance(value, bool):
                raise ConfigError(f"{name} must be True or False, got a {type(value).__name__}")
        if policy not in _POLICIES:
            raise UnknownOption("policy", policy, _POLICIES)
        if model_fallback not in _FALLBACKS:
            raise UnknownOption("model_fallback", model_fallback, _FALLBACKS)
        self.limits = Limits(threshold=low, soft_limit=soft)
        self.policy: Policy = policy
        self.use_nli = use_nli
        self.strict_mode = strict_mode
        self.model_fallback: ModelFallback = model_fallback
        self.ground_truth_store = _checked_store(ground_truth_store)
        self._top_k = check_count("top_k", top_k, 1, 20)
        if entailer is not None and not callable(getattr(entailer, "predict", None)):
            raise ConfigError(f"entailer must have a method predict(pairs), got a {type(entailer).__name__}")
        self._entailer = entailer
        if injection_detector is not None and not callable(getattr(injection_detector, "detect", None)):
            raise ConfigError(
                f"injection_detector must have a method detect, got a {type(injection_detector).__name__}"
            )
        self._detector = injection_detector
        if judge is not None and not isinstance(judge, JudgePanel):
            raise ConfigError(
                f"judge must be a JudgePanel, got a {type(judge).__name__}; wrap it: JudgePanel(judge, …)"
            )
        self.judge_panel = judge
        self._price = check_number("cost_per_million_tokens", cost_per_million_tokens, 0.0, 1e9)
        self._unavailable = False
        self._told_empty = False
        if use_nli and entailer is None:
            self._load()

    @property
    def mode(self) -> JudgeMode:
        """What decides: the model beside words and values, or words and values alone."""
        return "heuristic" if self._model() is None else "model"

    # --- whole answers ----------------------------------------------------------------------------------------

    def review(self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()) -> Review:
        """Return whether an answer is approved, and its score; `history` are the session's earlier answers."""
        return self._run(self._review(prompt, response, tenant_id, history, self._reader()), prompt)

    async def areview(self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()) -> Review:
        """Return the same without blocking the event loop on the model; store and model may be asynchronous."""
        plan = self._review(prompt, response, tenant_id, history, self._reader())
        return await self._arun(plan, prompt)

    def score(self, prompt: str, response: str, tenant_id: str = "", *, history: Sequence[str] = ()) -> CoherenceScore:
        """Return the score of an answer."""
        return self.review(prompt, response, tenant_id, history=history)[1]

    def review_batch(self, items: Iterable[tuple[str, str]], tenant_id: str = "") -> list[Review]:
        """Return a review for each (prompt, response), in order; all see the same revision of the knowledge base."""
        pairs = [_checked_pair(index, item) for index, item in enumerate(items)]
        reader = self._reader()
        return [self._run(self._review(prompt, text, tenant_id, (), reader), prompt) for prompt, text in pairs]

    def score_chunked(self, premise: str, hypothesis: str) -> CoherenceScore:
        """Compare two texts sentence by sentence; the worst sentence of the hypothesis decides."""
        _check_text("premise", premise)
        _check_text("hypothesis", hypothesis)
        return self._run(self._score(hypothesis, "", Sentences(premise, self._top_k).find), "")

    def judge(self, prompt: str, text: str, tenant_id: str = "") -> list[ClauseVerdict]:
        """Return the verdict on each clause of a text."""
        _check_text("prompt", prompt)
        _check_text("text", text)
        find = self._finder(self._reader(), check_identifier("tenant_id", tenant_id))
        return self._run(self._verdicts(text, prompt, find), prompt)

    # --- streams ----------------------------------------------------------------------------------------------

    def stream(self, prompt: str = "", tenant_id: str = "") -> StreamScorer:
        """Return a scorer for one stream: `feed` it tokens, or hand it to a kernel as the coherence callback."""
        _check_text("prompt", prompt)
        tenant = check_identifier("tenant_id", tenant_id)
        find = self._finder(self._reader(), tenant)
        said: list[str] = []
        functions = self._functions(prompt)

        def judge(clauses: Sequence[Clause]) -> list[ClauseVerdict]:
            return _run(self._judgement(clauses, said, prompt, find), functions)

        def combine(verdicts: Sequence[ClauseVerdict]) -> CoherenceScore:
            return combine_verdicts(verdicts, self.limits, searched=self._searches, has_judge=bool(self.judge_panel))

        return StreamScorer(judge, combine)

    def judge_of_stream(self, prompt: str = "", tenant_id: str = "", *, threshold: float | None = None) -> StreamJudge:
        """Return a judge of one stream's clauses, for a repair: all of them see the same revision of the facts."""
        _check_text("prompt", prompt)
        view = self._reader()
        find = self._finder(view, check_identifier("tenant_id", tenant_id))
        look = _Look(view is None or (type(view) is KnowledgeView and view.is_quick))
        least = self.limits.threshold if threshold is None else check_number("threshold", threshold)

        def judge(clauses: Sequence[Clause], said: list[str], *, one_fact: bool = False) -> Judgement:
            if self.strict_mode and self._model() is None:
                return without_model(clauses)
            return self._judgement(clauses, said, prompt, find, least, one_fact=one_fact)

        rewrite = functools.partial(judge, one_fact=True)
        return StreamJudge(judge, rewrite, {"evidence": look, **self._functions(prompt)})

    # --- plans ------------------------------------------------------------------------------------------------

    def _review(
        self, prompt: str, response: str, tenant_id: str, history: Sequence[str], reader: Any
    ) -> Generator[Ask, Any, Review]:
        _check_text("prompt", prompt)
        _check_text("response", response)
        tenant = check_identifier("tenant_id", tenant_id)
        if isinstance(history, str) or not isinstance(history, Iterable):
            raise ConfigError(f"history must be a list of earlier answers, got a {type(history).__name__}")
        score = yield from self._score(response, prompt, self._finder(reader, tenant))
        fields: dict[str, Any] = {"detected_task_type": task_type_of(prompt)}
        if history and not score.strict_mode_rejected:
            fields |= yield from self._across_turns(response, earlier_claims(history))
        if self._detector is not None:
            fields["injection_risk"] = self._injection_risk(self._detector, prompt, response, score)
        score = dataclasses.replace(score, **fields)
        return score.approved, score

    def _score(self, response: str, prompt: str, find: Find) -> Generator[Ask, Any, CoherenceScore]:
        if self.strict_mode and self._model() is None:
            return CoherenceScore(0.0, False, 0.0, 1.0, strict_mode_rejected=True)
        verdicts = yield from self._verdicts(response, prompt, find)
        worst = worst_of(verdicts)
        scores = None
        if worst is not None and worst.chunks and worst.verdict in {"unsupported", "unverified"}:
            scores = yield from self._chunk_scores(worst)
        return combine_verdicts(
            verdicts,
            self.limits,
            chunk_scores=scores,
            token_count=self._tokens(verdicts),
            cost_per_million=self._price,
            searched=self._searches,
            has_judge=self.judge_panel is not None,
        )

    def _verdicts(self, text: str, prompt: str, find: Find, *, escalates: bool = True) -> Judgement:
        segmenter = ClauseSegmenter()
        clauses = [*segmenter.feed(text), *segmenter.finish()]
        return self._judgement(clauses, [], prompt, find, escalates=escalates)

    def _judgement(
        self,
        clauses: Sequence[Clause],
        said: list[str],
        prompt: str,
        find: Find,
        threshold: float | None = None,
        *,
        one_fact: bool = False,
        escalates: bool = True,
    ) -> Judgement:
        mode, panel = self.mode, self.judge_panel if escalates else None
        circumstances = Circumstances(
            find=find,
            prompt=prompt,
            policy=self.policy,
            threshold=self.limits.threshold if threshold is None else threshold,
            use_model=mode == "model",
            knows_claims=bool(getattr(self._entailer, "knows_claims", False)),
            knows_context=bool(getattr(self._entailer, "knows_context", False)),
            is_english=is_english,
            one_fact=one_fact,
            band=panel.band if panel else None,
            doubt=panel.doubt if panel else "reject",
        )
        verdicts = yield from judge_clauses(clauses, said, circumstances)
        return [dataclasses.replace(verdict, mode=mode) for verdict in verdicts]

    @staticmethod
    def _injection_risk(detector: InjectionDetector, prompt: str, response: str, score: CoherenceScore) -> float:
        """How likely the answer serves another intent than the prompt and its evidence; 1 where nobody could tell."""
        intent = "\n".join(dict.fromkeys([prompt, *(claim.source_sentence for claim in score.attributions)])).strip()
        try:
            found = detector.detect(prompt, intent=intent, response=response) if intent else detector.detect(response)
            risk = as_score(found.injection_risk)
        except BaseException as error:
            if must_pass(error):
                raise
            risk = None
        return 1.0 if risk is None else risk

    def _chunk_scores(self, worst: ClauseVerdict) -> Generator[Ask, Any, list[float] | None]:
        """How far the worst claim diverges from each of its facts alone."""
        clause = Clause(text=worst.claim, start=0, kind="prose", ends_sentence=True)
        facts = iter(worst.chunks)
        plan = self._judgement([clause] * len(worst.chunks), [], "", lambda *_: [next(facts)], escalates=False)
        verdicts = yield from plan
        supports = [verdict.support for verdict in verdicts]
        return None if None in supports else [round(1.0 - support, 6) for support in supports if support is not None]

    def _across_turns(self, response: str, earlier: Earlier) -> Generator[Ask, Any, dict[str, float | None]]:
        verdicts = yield from self._verdicts(response, "", earlier.find, escalates=False)
        compared = [verdict.contradiction for verdict in verdicts if verdict.chunks and verdict.support is not None]
        if not compared:
            return {"cross_turn_divergence": 0.0, "contradiction_index": 0.0}
        return {
            "cross_turn_divergence": max(compared),
            "contradiction_index": round(sum(compared) / len(compared), 6),
        }

    # --- what the plans ask for -------------------------------------------------------------------------------

    @property
    def _searches(self) -> bool:
        return self.ground_truth_store is not None

    def _functions(self, prompt: str) -> dict[str, Any]:
        """Return what answers a plan's questions about one answer; the judge's budget belongs to it."""
        functions: dict[str, Any] = {"predict": _Predict(self._predict, self._apredict)}
        return functions | ({"judge": self.judge_panel.session(prompt)} if self.judge_panel else {})

    def _run(self, plan: Generator[Ask, Any, Result], prompt: str) -> Result:
        return _run(plan, self._functions(prompt))

    async def _arun(self, plan: Generator[Ask, Any, Result], prompt: str) -> Result:
        return await _arun(plan, self._functions(prompt))

    def _reader(self) -> Any:
        """The knowledge base as it stands now: one text is judged by one revision."""
        store = self.ground_truth_store
        return store.at() if isinstance(store, GroundTruthStore) else store

    def _finder(self, view: Any, tenant_id: str) -> Find:
        if view is None:
            return lambda _claim, prompt, _before: [EvidenceChunk(prompt, 0.0, "prompt")] if prompt.strip() else []
        if not isinstance(view, KnowledgeView):
            plain = view.retrieve_context_with_chunks
            return lambda claim, _prompt, _before: plain(claim, self._top_k, tenant_id)

        looked = self._told_empty

        def read(claim: str, prompt: str, before: Sequence[str]) -> Any:
            nonlocal looked
            found = view.evidence_for(
                claim, prompt=prompt, preceding=before, top_k=self._top_k, tenant_id=tenant_id, floor=FLOOR
            )
            if not found and not looked:
                looked = True
                self._tell_empty(view, tenant_id)
            return found

        return read

    def _tell_empty(self, view: KnowledgeView, tenant_id: str) -> None:
        """Say once that there is nothing to judge by, where that is so."""
        if self.policy == "closed" and all(next(view.facts(scope), None) is None for scope in {"", tenant_id}):
            self._told_empty = True
            _log.warning("the knowledge base is empty: under the closed policy no claim is supported; add facts")

    def _model(self) -> Entailer | None:
        """The model; None in heuristic mode or if it could not be loaded."""
        return None if not self.use_nli or self._unavailable else self._entailer

    def _load(self) -> None:
        """Load the bundled model, which all scorers of the process share.

        Now rather than when the first claim comes: a guard that cannot judge as it was asked to must not start.
        """
        from director_ai.nli import load_entailer  # noqa: PLC0415 - loads numpy and onnxruntime

        try:
            self._entailer = load_entailer()
        except Exception as error:
            if not self.strict_mode and self.model_fallback == "raise":
                raise ModelUnavailable(error) from error
            self._unavailable = True
            what = "everything is rejected (strict_mode)" if self.strict_mode else "words and values alone decide"
            _log.warning("the entailment model cannot be used (%s): %s", type(error).__name__, what)

    def _tokens(self, verdicts: Sequence[ClauseVerdict]) -> int | None:
        count = getattr(self._entailer, "count_tokens", None)
        if not self.use_nli or not callable(count):
            return None
        judged = [verdict for verdict in verdicts if verdict.opinion is not None]
        return int(sum(count([*(chunk.text for chunk in each.chunks), each.claim]) for each in judged))

    def _predict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        if self._entailer is None:
            raise DirectorError("there is no entailment model")
        return self._entailer.predict(pairs)

    def _apredict(self, pairs: Sequence[tuple[str, str]]) -> Any:
        ask = getattr(self._entailer, "apredict", None)
        return ask(pairs) if callable(ask) else self._predict(pairs)


_OPTIONS: Final = tuple(name for name in inspect.signature(CoherenceScorer).parameters if name != "unknown")


def _run(plan: Generator[Ask, Any, Result], functions: Mapping[str, Any]) -> Result:
    """Carry out a plan in place."""

    def act(kind: str, parts: tuple[Any, ...]) -> Any:
        first, *rest = parts
        answer = first(*rest) if kind == "evidence" else functions[kind](first)
        if inspect.iscoroutine(answer):
            answer.close()  # nobody can await it here; the plan sees that it is no answer
        return answer

    return carry_out(plan, act)


async def _arun(plan: Generator[Ask, Any, Result], functions: Mapping[str, Any]) -> Result:
    """Carry out a plan, waiting for what is asynchronous."""

    async def act(kind: str, parts: tuple[Any, ...]) -> Any:
        first, *rest = parts
        answer = first(*rest) if kind == "evidence" else functions[kind].acall(first)
        return await answer if inspect.isawaitable(answer) else answer

    return await acarry_out(plan, act)


def _check_text(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a string, got a {type(value).__name__}")


def _checked_pair(index: int, item: object) -> tuple[str, str]:
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ConfigError(f"item {index} must be (prompt, response), got a {type(item).__name__}")
    return item[0], item[1]


def _checked_store(store: Any) -> Any:
    if store is not None and not callable(getattr(store, "retrieve_context_with_chunks", None)):
        raise ConfigError(
            f"ground_truth_store must have a method retrieve_context_with_chunks, got a {type(store).__name__}"
        )
    return store
