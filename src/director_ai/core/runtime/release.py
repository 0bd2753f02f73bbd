"""The door: a token stays behind it until it was judged, and a halted stream opens it no more.

`TokenGate` holds the whole decision of a kernel and acts on nothing. A driver reads tokens, asks the callback and the
scorer, and hands what they answered to the gate:

    accept(token)   the text to score, or None while more is gathered
    end()           the text left to score when the source is exhausted, or None
    judge(answer)   releases what was scored, or halts before it
    finish()        after the last judgement: releases what was waiting for a clause border
    fail(...)       the stream ends here, whatever is held stays behind
    explain(...)    the evidence for a halt, once
    conclude()      the finished session

What was released is `session.tokens`; nothing else may be shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, Literal

from director_ai.core.ranges import as_score, check_count
from director_ai.core.runtime.clause_border import ClauseBorder
from director_ai.core.runtime.halt_report import Review, report_halt
from director_ai.core.runtime.halting import Cadence, Halt, HaltMechanism, HaltMonitor, HaltRules
from director_ai.core.runtime.intake import TokenIntake
from director_ai.core.runtime.session import StreamSession
from director_ai.core.runtime.structured_recovery import StructuredRecovery
from director_ai.core.safety_event import SafetyEvent
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.core.runtime.structured_recovery import StructuredRecoveryConfig

__all__ = ["GateSettings", "HaltMode", "StreamContext", "TokenGate"]

HaltMode = Literal["hard", "soft"]

_HOOK: Final = "streaming.kernel"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    """How often to score, when to halt, and what to note on the way."""

    rules: HaltRules = field(default_factory=HaltRules)
    score_every_n: int = 1
    adaptive: bool = False
    max_cadence: int = 8
    """The most tokens gathered between two scores when adaptive."""
    streaming_debug: bool = False
    halt_mode: HaltMode = "hard"
    """`hard` ends before the halting token; `soft` ends at the next clause border."""

    def __post_init__(self) -> None:
        check_count("score_every_n", self.score_every_n, 1)
        check_count("max_cadence", self.max_cadence, 1)
        for name in ("adaptive", "streaming_debug"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be True or False, got a {type(getattr(self, name)).__name__}")
        if self.halt_mode not in ("hard", "soft"):
            raise UnknownOption("halt_mode", self.halt_mode, ("hard", "soft"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamContext:
    """What one stream is about, as far as its records need to know."""

    tenant_id: str = ""
    request_id: str = ""
    top_k: int = 3
    recovery: StructuredRecoveryConfig | None = None
    clock: Callable[[], float]
    """Seconds; the core has no clock of its own."""


class TokenGate:
    """The state of one stream through a kernel."""

    def __init__(self, settings: GateSettings, context: StreamContext) -> None:
        self.session = StreamSession()
        self.halt: Halt | None = None
        self.closed = False
        """No further token may be accepted."""
        self._context = context
        self._monitor = HaltMonitor(settings.rules)
        self._cadence = Cadence(
            settings.rules, every=settings.score_every_n, adaptive=settings.adaptive, most=settings.max_cadence
        )
        self._adaptive = settings.adaptive
        self._debug = settings.streaming_debug
        self._intake = TokenIntake()
        self._recovery = StructuredRecovery(context.recovery) if context.recovery else None
        self._border = ClauseBorder() if settings.halt_mode == "soft" else None
        self._held: list[str] = []
        self._last_score = 0.0
        self._unjudged = 0
        self._ended = False
        self._began: float | None = None
        self._cut_at: int | None = None

    # --- what the driver hands in -----------------------------------------------------------------------------

    def begin(self) -> None:
        """The stream is about to be read: time counts from here."""
        self._began = self._context.clock()

    def accept(self, token: object) -> str | None:
        """Take the next token; return the text to score now, or None while more is gathered."""
        if type(token) is not str or not token.isascii() or self._intake.half:
            if not issubclass(type(token), str):  # by its real type: a mock may claim any other
                self.fail("source_error", f"expected=str got={type_name(token)}")
                return None
            token = self._intake.take(token)  # type: ignore[arg-type]  # checked on the lines above
        if not token:
            return None
        held = self._held
        held.append(token)
        if len(held) < self._cadence.stride:
            return None
        return token if len(held) == 1 else "".join(held)

    def end(self) -> str | None:
        """The source is exhausted: return the text still to be scored, or None where nothing is held."""
        rest = self._intake.finish()
        if rest:
            self._held.append(rest)
        return "".join(self._held) if self._held else None

    def judge(self, answer: object) -> None:
        """Take the callback's answer to the text of `accept` or `end`, and release that text or halt before it."""
        score = answer if type(answer) is float and 0.0 <= answer <= 1.0 else as_score(answer)
        if score is None:
            if type(answer) is CoroutineType:
                answer.close()  # nobody will await it
            self.fail("invalid_score", f"got={_describe(answer)}", scoring=True)
            return
        self._last_score = score
        halt = self._monitor.observe(score)
        if self._adaptive:
            self._cadence.observe(score)
        held, self._held = self._held, []
        if len(held) == 1 and not self._debug:  # nearly always, and worth a tenth of the kernel's time
            self.session.scores.append(score)
            self.session.warned.append(self._monitor.warning and halt is None)
        else:
            self._note(len(held), score, self._monitor.warning and halt is None)
        if halt is not None and self.halt is None:
            self._halt_at(halt, len(self.session.scores) - len(held))
            if self._border is None:
                self.closed = True
                self.session.withheld += held
                return
        if self._border is not None:
            held = self._up_to_border(self._border, held)
        self._let_out(held)

    def finish(self) -> None:
        """The source is exhausted and its tail was judged: the end of the text is a clause border."""
        if self.closed:
            return
        self.closed = self._ended = True
        if self._border is not None:
            leaving = self._border.finish()
            self._settle(self._border, leaving)
            self._let_out(leaving)

    def fail(self, mechanism: HaltMechanism, detail: str, *, scoring: bool = False) -> None:
        """Something did not answer, or not with what was asked for: end here, release nothing that is held.

        `scoring` says that the tokens held were being judged; otherwise the next token is the one that failed.
        """
        self.closed = True
        held, self._held = self._held, []
        self._unjudged = len(held)
        self._note(len(held), 0.0, False)
        self.session.withheld += [*(self._border.rest() if self._border else ()), *held]
        if self.halt is None:
            first = len(self.session.scores) - (len(held) if scoring else 0)
            self._halt_at(Halt(mechanism=mechanism, detail=detail), first)

    # --- what the driver takes out ----------------------------------------------------------------------------

    @property
    def unexplained(self) -> bool:
        """Whether the stream was halted and `explain` was not called yet."""
        return self.halt is not None and not self.session.safety_events

    @property
    def out_of_time(self) -> bool:
        """Whether the halt came because time was up: then nobody is asked anything further."""
        return self.halt is not None and self.halt.mechanism == "timeout"

    @property
    def text_at_halt(self) -> str:
        """Everything up to and including the halting token: what a scorer is asked to explain."""
        waiting = self._border.waiting if self._border else []
        return self.session.output + "".join([*self.session.withheld, *waiting])

    def explain(self, review: Review | None) -> None:
        """Attach the evidence of the halt and the event that records it; without a review, the event alone."""
        if self.halt is None:
            raise ConfigError("explain is for a halted stream")
        evidence = report_halt(
            self.halt,
            last_score=self._last_score,
            token_offset=self.session.halt_index,
            text=self.text_at_halt,
            review=review or Review(),
            top_k=self._context.top_k,
        )
        event = SafetyEvent.from_halt_evidence(
            evidence,
            hook_id=_HOOK,
            request_id=self._context.request_id,
            tenant_id=self._context.tenant_id,
            latency_ms=self._elapsed_ms(),
            observed_score=self._last_score if self.halt.threshold is not None else None,
            attributes={"evidence": "failed"} if review is not None and review.failed else {},
        )
        self.session.safety_events = (event,)
        self.session.halt_evidence_structured = None if review is None else evidence
        self.session.forget_events(self.session.halt_index)

    def conclude(self) -> StreamSession:
        """Return the finished session."""
        self.closed = True
        session = self.session
        if self._border is not None:
            session.withheld += self._border.rest()  # of a stream that was left or interrupted
        if self.unexplained:
            self.explain(None)
        session.duration_ms = self._elapsed_ms()
        judged = session.scores[: len(session.scores) - self._unjudged]
        if self._cut_at is not None:
            del judged[self._cut_at]  # one token, though it became two
        if judged:
            session.avg_coherence = math.fsum(judged) / len(judged)
            session.min_coherence = min(judged)
        if self._intake.lone_surrogates:
            session.flags["lone_surrogate"] = self._intake.lone_surrogates
        if self._recovery is not None:
            # A stream that a reader left did not end by itself either: its last number may be half a number.
            session.structured_recovery = self._recovery.result(halted=session.halted or not self._ended)
        return session

    # --- behind the door --------------------------------------------------------------------------------------

    def _elapsed_ms(self) -> float:
        elapsed = 0.0 if self._began is None else (self._context.clock() - self._began) * 1000.0
        return max(0.0, elapsed) if math.isfinite(elapsed) else 0.0

    def _note(self, count: int, score: float, warning: bool) -> None:
        """Write down what was said of the next tokens, before they are released or withheld."""
        session = self.session
        for _ in range(count):
            if self._debug:
                session.debug_log.append(self._snapshot(len(session.scores), score))
            session.scores.append(score)
            session.warned.append(warning)

    def _snapshot(self, index: int, score: float) -> dict[str, Any]:
        return {
            "index": index,
            "coherence": score,
            "window_avg": self._monitor.window_avg,
            "trend_drop": self._monitor.trend_drop,
            "accumulated_tokens": index + 1,
        }

    def _halt_at(self, halt: Halt, index: int) -> None:
        self.halt = halt
        session = self.session
        session.halted = True
        session.halt_reason = halt.reason
        session.halt_index = index

    def _let_out(self, tokens: list[str]) -> None:
        self.session.tokens += tokens
        if self._recovery is not None:
            for token in tokens:
                self._recovery.feed(token)

    def _up_to_border(self, border: ClauseBorder, tokens: list[str]) -> list[str]:
        """Soft halt: go on until the clause in which the halt fell is complete, and no further."""
        if self.halt is None:
            border.follow(tokens)
            return tokens
        leaving = border.keep(tokens)
        if border.reached:
            self.closed = True
            self._settle(border, leaving)
        return leaving

    def _settle(self, border: ClauseBorder, leaving: list[str]) -> None:
        """Withhold what lies behind the border; where it cut a token in two, both halves have figures."""
        session = self.session
        session.withheld += border.rest()
        if len(session.tokens) + len(leaving) + len(session.withheld) > len(session.scores):
            self._cut_at = len(session.tokens) + len(leaving) - 1
            session.split_after(self._cut_at)


def _describe(answer: object) -> str:
    """Name a bad answer without repeating it: its figure if it is a float, else its type."""
    return f"{answer:.6g}" if type(answer) is float else type_name(answer)


def type_name(value: object) -> str:
    """Return the name of a value's type as a word that may stand in a reason."""
    name: str = type.__dict__["__name__"].__get__(type(value))  # a metaclass may say anything, or nothing
    return name if name.isascii() and name.isidentifier() and len(name) <= 64 else "other"
