"""StreamingRepairer: keeps what is supported, rewrites or redacts the clause that is not, and lets the rest flow on."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypedDict, Unpack, get_args

import anyio

from director_ai.core.checks.runner import Checks, Following
from director_ai.core.clause_source import ProseClauses
from director_ai.core.identifiers import check_identifier
from director_ai.core.json_clauses import JsonClauses
from director_ai.core.ranges import check_count, check_number, check_seconds
from director_ai.core.repair.follower import RepairFollower
from director_ai.core.repair.performing import SLOW, AsyncPerformer, Injected, SyncPerformer, is_async
from director_ai.core.repair.plan import Judge, Tools, score_judge
from director_ai.core.repair.record import (
    NAME,
    REDACTED_CLAUSE,
    Action,
    ClauseAction,
    RedactionCap,
    RepairRecord,
    RepairResult,
)
from director_ai.core.repair.streams import AsyncRepairStream, Listeners, RepairPiece, RepairStream
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Mapping, Sequence

    from director_ai.core.checks.runner import Continuation, Conversation
    from director_ai.core.clause_source import ClauseSource
    from director_ai.core.safety_event import SafetyEvent

__all__ = [
    "REDACTED_CLAUSE",
    "Action",
    "AsyncRepairStream",
    "ClauseAction",
    "RedactionCap",
    "RepairPiece",
    "RepairResult",
    "RepairStream",
    "StreamingRepairer",
]

Shape = Literal["text", "json"]
_SOURCES: Final[dict[str, Callable[[], ClauseSource]]] = {"text": ProseClauses, "json": JsonClauses}
FUNCTIONS: Final = ("score_fn", "retrieve_fn", "rewrite_fn")


class Request(TypedDict, total=False):
    """What belongs to one text or stream."""

    tenant_id: str
    request_id: str
    shape: Shape
    """"json" for JSON and tool arguments: string values are repaired, and it stays JSON."""
    conversation: Conversation | None
    """Numbers the placeholders of other checks."""
    on_action: Callable[[ClauseAction], None] | None
    """Told what became of each clause as it is released."""
    record: Callable[[SafetyEvent], Any] | None
    """Keeps each event before what it is about is shown, such as `AuditTrail.record`; if it fails, the stream ends."""
    noted: Sequence[SafetyEvent]
    """Events of others about this stream; the result tells them too."""


class StreamingRepairer:
    """Repairs any number of texts and streams at once; it keeps nothing between them.

    Args:
        score_fn: clause -> support in [0, 1]. Like the other functions it may be asynchronous.
        threshold: Support from here on keeps a clause.
        retrieve_fn: clause -> evidence: texts, `{"id": …, "text": …}`, (id, text) or chunks, the most relevant first.
        rewrite_fn: (clause, evidence texts) -> a rewrite, or several with the best first; it is judged like any clause.
        batched: Which of the functions take lists and return one, such as `("score_fn",)`.
        deadline: Seconds for one call of a function; what comes later counts as a failure.
        most_redacted, most_redacted_share: Redactions after which a stream halts, once `cap_after` clauses were judged.
        continuation: (corrected text so far, failure) -> the tokens that follow it. After a rewrite the rest of the
            model's stream is dropped, and generation goes on from there.
        most_continuations: How often that may happen in one stream.
        checks, first: Other checks whose edits are merged with the repairs, and those that come before all of them.
        read_ahead: Tokens that are read while a clause is being rewritten.
        early: Whether an open clause that seems to be complete is scored before the next token says that it is.
        placeholder: What stands in place of a clause that was redacted.
    """

    def __init__(  # noqa: PLR0913 - the documented constructor
        self,
        score_fn: Callable[..., Any],
        *,
        threshold: float = 0.6,
        retrieve_fn: Callable[..., Any] | None = None,
        rewrite_fn: Callable[..., Any] | None = None,
        batched: Iterable[str] = (),
        deadline: float | None = None,
        token_timeout: float | None = None,
        most_redacted: int | None = None,
        most_redacted_share: float | None = None,
        cap_after: int = 8,
        continuation: Continuation | None = None,
        most_continuations: int = 2,
        checks: Iterable[Any] = (),
        first: Iterable[Any] = (),
        read_ahead: int = 256,
        early: bool = True,
        placeholder: str = REDACTED_CLAUSE,
        **unknown: NoReturn,
    ) -> None:
        for name in unknown:
            raise UnknownOption("StreamingRepairer option", name, _OPTIONS)
        given = {"score_fn": score_fn, "retrieve_fn": retrieve_fn, "rewrite_fn": rewrite_fn}
        if score_fn is None:
            raise ConfigError("score_fn must be a function from a clause to its support, got None")
        for name, function in given.items():
            if function is not None and not callable(function):
                raise ConfigError(f"{name} must be a function, got a {type(function).__name__}")
        lists = _checked_names(batched)
        self.threshold = check_number("threshold", threshold)
        self._functions = {
            name.removesuffix("_fn"): Injected(function, name in lists)
            for name, function in given.items()
            if function is not None
        }
        self._judge: Judge = score_judge(self.threshold)
        self._judge_rewrite: Judge | None = None
        self._question = ""
        self._deadline = check_seconds("deadline", deadline)
        self._cap = RedactionCap(
            count=None if most_redacted is None else check_count("most_redacted", most_redacted, 0),
            share=None if most_redacted_share is None else check_number("most_redacted_share", most_redacted_share),
            after=check_count("cap_after", cap_after, 0),
        )
        self._continuation = continuation
        self._most_continuations = check_count("most_continuations", most_continuations, 0, 100)
        self._checks = Checks(
            checks,
            first=first,
            continuation=continuation,
            most_reasks=self._most_continuations,
            token_timeout=token_timeout,
        )
        if any(rule.check.name == NAME for rule in self._checks.rules):
            raise ConfigError(f"a check is named {NAME!r}; give it another name")
        self._read_ahead = check_count("read_ahead", read_ahead, 0)
        self._early = _checked_flag("early", early)
        self._placeholder = _checked_placeholder(placeholder)

    @classmethod
    def by_judge(
        cls,
        judge: Judge,
        functions: Mapping[str, Callable[..., Any]],
        *,
        threshold: float,
        judge_rewrite: Judge | None = None,
        question: str = "",
        **options: Any,
    ) -> StreamingRepairer:
        """Return a repairer that asks a judge's own questions instead of one for a score; evidence comes with them."""
        rewrite = options.pop("rewrite_fn", None)
        made = cls(_never, threshold=threshold, rewrite_fn=rewrite, **options)
        made._judge, made._judge_rewrite, made._question = judge, judge_rewrite, question
        made._functions = {kind: Injected(function, single=True) for kind, function in functions.items()} | {
            kind: injected for kind, injected in made._functions.items() if kind == "rewrite"
        }
        return made

    # --- finished text ----------------------------------------------------------------------------------------

    def repair(self, text: str, **request: Unpack[Request]) -> RepairResult:
        """Repair a finished text; the result is that of a stream of the same text."""
        if self._awaits:
            return self._repair_in_loop(text, request)
        with self.stream([_text(text)], **request) as stream:
            for _ in stream:
                pass
        return stream.result

    async def arepair(self, text: str, **request: Unpack[Request]) -> RepairResult:
        """Return the same where functions are asynchronous."""
        async with self.astream([_text(text)], **request) as stream:
            async for _ in stream:
                pass
        return stream.result

    def _repair_in_loop(self, text: str, request: Request) -> RepairResult:
        try:
            return anyio.run(functools.partial(self.arepair, text, **request))
        except RuntimeError as error:
            if "running" not in str(error).lower():
                raise
            raise ConfigError("a function is asynchronous and an event loop is running: await arepair() here") from None

    # --- streams ----------------------------------------------------------------------------------------------

    def stream(self, tokens: Iterable[str], **request: Unpack[Request]) -> RepairStream:
        """Yield pieces with a `.text` as soon as they may be shown; `.result` tells the rest."""
        if self._awaits:
            raise ConfigError("a function is asynchronous: use astream()")
        record, performer = self._record(request), SyncPerformer(self._functions, self._deadline)
        following = self._following(record, request.get("shape", "text"), perform=performer)
        pieces = self._checks.stream(tokens, conversation=request.get("conversation"), following=following)
        return RepairStream(pieces, record, performer, _listeners(request))

    def astream(self, tokens: AsyncIterable[str] | Iterable[str], **request: Unpack[Request]) -> AsyncRepairStream:
        """Yield the same of an asynchronous stream; tokens and functions may be either."""
        record, performer = self._record(request), AsyncPerformer(self._functions, self._deadline)
        following = self._following(record, request.get("shape", "text"), aperform=performer)
        pieces = self._checks.astream(tokens, conversation=request.get("conversation"), following=following)
        return AsyncRepairStream(pieces, record, performer, _listeners(request))

    @property
    def _awaits(self) -> bool:
        return any(is_async(injected.function) for injected in self._functions.values())

    def _record(self, request: Request) -> RepairRecord:
        for name in request:
            if name not in Request.__annotations__:
                raise UnknownOption("option of a repair", name, Request.__annotations__)
        for name in ("on_action", "record"):
            _check_listener(name, request.get(name))
        return RepairRecord(
            threshold=self.threshold,
            tenant_id=check_identifier("tenant_id", request.get("tenant_id", "")),
            request_id=check_identifier("request_id", request.get("request_id", "")),
            placeholder=self._placeholder,
            cap=self._cap,
            continuations=self._most_continuations if self._continuation is not None else 0,
            early=self._early,
            clock=time.perf_counter,
        )

    def _following(self, record: RepairRecord, shape: Shape, **performers: Any) -> Following:
        if shape not in get_args(Shape):
            raise UnknownOption("shape", shape, get_args(Shape))
        tools = Tools(
            judge=self._judge,
            judge_rewrite=self._judge_rewrite,
            question=self._question,
            retrieves="retrieve" in self._functions,
            rewrites="rewrite" in self._functions,
        )
        slow = [kind for kind in SLOW & self._functions.keys() if not self._functions[kind].is_quick]
        return Following(
            follow=lambda context, shown: RepairFollower(_SOURCES[shape](), tools, record, context, shown),
            slow=frozenset(slow if self._read_ahead else ()),
            read_ahead=self._read_ahead,
            continuation=self._continuation,
            is_json=shape == "json",
            **{"perform": _never, "aperform": _never} | performers,
        )


def _checked_names(batched: object) -> frozenset[str]:
    if isinstance(batched, str) or not isinstance(batched, Iterable):
        raise ConfigError(f"batched must be a list of names of functions, got a {type(batched).__name__}")
    names = frozenset(batched)
    for name in names:
        if name not in FUNCTIONS:
            raise UnknownOption("batched function", name, FUNCTIONS)
    return names


def _checked_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False, got a {type(value).__name__}")
    return value


def _check_listener(name: str, listener: object) -> None:
    if listener is not None and (not callable(listener) or is_async(listener)):
        raise ConfigError(f"{name} must be a synchronous function or None, got a {type(listener).__name__}")


def _listeners(request: Request) -> Listeners:
    return Listeners(request.get("on_action"), request.get("record"), request.get("noted", ()))


def _checked_placeholder(placeholder: object) -> str:
    if not isinstance(placeholder, str) or not placeholder.strip() or len(placeholder) > 200:
        raise ConfigError("placeholder must be a text of 1 to 200 characters that says that something was redacted")
    return placeholder


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise ConfigError(f"text must be a string, got a {type(text).__name__}")
    return text


def _never(*_: object) -> NoReturn:
    raise ConfigError("this stream is driven another way")


_OPTIONS: Final = tuple(name for name in inspect.signature(StreamingRepairer).parameters if name != "unknown")
