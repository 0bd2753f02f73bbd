"""Promise 2: whatever the parts of a repair do wrong, nothing unsafe is shown, and the record says what it was."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import MagicMock

import anyio
import pytest
from repairs import repair_stream

from checked import Finder
from director_ai.core.streaming_repair import REDACTED_CLAUSE, StreamingRepairer
from director_ai.testing import FAULTS, Panic, ScriptedTokens, make_fault
from director_ai.validators import Rule
from drivers import Driver

LIMIT = 0.5
UNSAFE = "unsafe"
SAFE = "Some safe words are here. " * 6
TEXT = f"{SAFE}Now comes the {UNSAFE} part of it. {SAFE}"
TOKENS = [f"{word} " for word in TEXT.split()]
REDACTED = TEXT.replace(f"Now comes the {UNSAFE} part of it.", REDACTED_CLAUSE)
MENDED = "Now comes the mended part of it."
HANGS = ("hangs", "slow")
PARTS = ("scorer", "retriever", "rewriter", "continuation", "source", "check")


def raise_(error: BaseException) -> Any:
    raise error


def breaking(error: BaseException) -> Iterator[str]:
    yield "a fact"
    raise error


class HostileList(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        raise OSError("secret")

    def __len__(self) -> int:
        return 1


class OwnProblem(Exception):
    def __str__(self) -> str:
        raise RuntimeError("secret")


MORE: dict[str, Callable[..., Any]] = {
    "raises StopIteration": lambda *_: raise_(StopIteration()),
    "raises StopAsyncIteration": lambda *_: raise_(StopAsyncIteration()),
    "raises GeneratorExit": lambda *_: raise_(GeneratorExit()),
    "raises what cannot be told": lambda *_: raise_(OwnProblem()),
    "bytes": lambda *_: b"\x01",
    "complex": lambda *_: 1j,
    "dict": lambda *_: {"text": "x"},
    "a mock": lambda *_: MagicMock(),
    "a mock of a text": lambda *_: MagicMock(spec=str),
    "a mock of a list": lambda *_: MagicMock(spec=list),
    "a hostile list": lambda *_: HostileList([0.9]),
    "breaks off": lambda *_: breaking(OSError("secret")),
    "panics on the way": lambda *_: breaking(Panic()),
}
ANSWERS = {**{fault: make_fault(fault) for fault in FAULTS if fault not in HANGS}, **MORE}


def score(clause: str) -> float:
    return 0.9 if "safe words" in clause or "mended" in clause else 0.1


def faulty(answer: Callable[..., Any], good: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is as good as another until it comes upon something unsafe."""
    return lambda text, *more: answer(text, *more) if UNSAFE in text else good(text, *more)


class FaultyCheck(Finder):
    def __init__(self, answer: Callable[..., Any]) -> None:
        super().__init__("zzz", name="beside")
        self._answer = answer

    def find(self, text: str) -> Any:
        return self._answer(text) if UNSAFE in text else super().find(text)


def parts_with(part: str, answer: Callable[..., Any], wrap: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Options of a repairer of which one part fails."""
    functions = {"score_fn": score, "retrieve_fn": lambda clause: ["a fact"], "rewrite_fn": lambda *_: MENDED}
    place = {"scorer": "score_fn", "retriever": "retrieve_fn", "rewriter": "rewrite_fn"}.get(part)
    if place:
        functions[place] = faulty(answer, functions[place])
    found = {name: wrap(function) for name, function in functions.items()}
    if part == "check":
        found["checks"] = [Rule(check=FaultyCheck(answer), deadline=options.get("deadline"))]
    if part == "continuation":
        found["continuation"] = answer
    return found | options


def source_with(answer: Callable[..., Any]) -> Iterator[Any]:
    for token in TOKENS:
        yield answer() if UNSAFE in token else token


def _as_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    async def ask(*args: Any) -> Any:
        answer = function(*args)
        return await answer if hasattr(answer, "__await__") else answer

    return ask


def typed_reasons(part: str, result: Any) -> list[str]:
    """The words of what a record says of a failure."""
    redacted = [action.detail if part in ("retriever", "rewriter") else action.reason for action in result.actions]
    own = {"retriever": ("retriever_", "no_evidence"), "rewriter": ("rewriter_", "rewrite_"), "scorer": ("scorer_",)}
    if part in own:
        return [reason for reason in redacted if reason.startswith(own[part])]
    return [result.halt_reason.split()[0]] if result.halt_reason else []


NO_FAULT = {
    "dict": "its keys are tokens",
    "breaks off": "the text before it is one",
    "a mock": "it iterates, over nothing",
    "a mock of a list": "it iterates, over nothing",
    "a mock of a text": "it iterates, over nothing",
    "raises StopAsyncIteration": "that is the end of a source",
}
"""What is a fault of a function and none of those that give tokens or edits."""
HALTS = {
    "continuation": ("continuation_error", "source_error", "timeout"),
    "source": ("source_error", "timeout"),
    "check": ("check_error", "check_invalid", "check_timeout"),
}


def assert_failed_closed(part: str, fault: str, pieces: list[str], result: Any) -> None:
    shown = "".join(pieces)
    assert shown == result.repaired_text
    assert UNSAFE not in shown
    assert "secret" not in repr(result.events) + result.halt_reason
    is_text = fault in ("str", "a hostile text")  # tokens and rewrites are texts, and are judged as such
    if part in HALTS and not (is_text and part in ("continuation", "source")):
        assert result.halted
        assert typed_reasons(part, result)[0] in HALTS[part]
        assert SAFE.rstrip() in shown or part == "check"
    elif part not in HALTS:
        assert shown == REDACTED
        assert len(typed_reasons(part, result)) == 1
        assert [event.halt_reason.split()[0] for event in result.events] == ["clause_redact"]


@pytest.mark.parametrize(
    ("part", "fault"),
    [(part, fault) for part in PARTS for fault in ANSWERS if not (part in HALTS and fault in NO_FAULT)],
)
def test_every_fault_of_every_part_is_told_and_shows_nothing_unsafe(driver: Driver, part: str, fault: str) -> None:
    for wrap in (_as_it_is,) if driver.name == "sync" else (_as_it_is, _awaited):
        if wrap is _awaited and fault == "raises GeneratorExit":
            continue  # that is how a coroutine is closed
        repairer = StreamingRepairer(**parts_with(part, ANSWERS[fault], wrap))
        tokens = source_with(ANSWERS[fault]) if part == "source" else TOKENS
        pieces, result = repair_stream(driver, repairer, tokens)
        assert_failed_closed(part, fault, pieces, result)


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("fault", HANGS)
def test_what_takes_too_long_is_given_up(driver: Driver, part: str, fault: str) -> None:
    release = threading.Event()
    try:
        answer = make_fault(fault, release=release)
        options = parts_with(part, answer, _as_it_is, deadline=LIMIT, token_timeout=LIMIT)
        tokens = source_with(answer) if part == "source" else TOKENS
        pieces, result = repair_stream(driver, StreamingRepairer(**options), tokens)
    finally:
        release.set()
    assert_failed_closed(part, fault, pieces, result)
    assert "timeout" in typed_reasons(part, result)[0]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("part", ["scorer", "retriever", "rewriter"])
@pytest.mark.parametrize("kind", ["sleeping", "blocking"])
def test_an_asynchronous_function_that_takes_too_long_is_given_up(backend: str, part: str, kind: str) -> None:
    async def sleep(*_: Any) -> Any:
        await anyio.sleep(60)

    async def block(*_: Any) -> Any:
        time.sleep(2 * LIMIT)
        return 0.9 if part == "scorer" else [MENDED]

    options = parts_with(part, sleep if kind == "sleeping" else block, _awaited, deadline=LIMIT)
    pieces, result = repair_stream(Driver(backend), StreamingRepairer(**options), TOKENS)
    assert_failed_closed(part, kind, pieces, result)
    assert "timeout" in typed_reasons(part, result)[0]


WRONG = {
    "too many": lambda items: [0.9] * (len(items) + 1),
    "too few": lambda items: [0.9] * (len(items) - 1),
    "one figure": lambda items: 0.9,
    "text": lambda items: "9" * len(items),
    "bytes": lambda items: b"\x01" * len(items),
    "dict": lambda items: dict.fromkeys(range(len(items)), 0.9),
    "generator": lambda items: (0.9 for _ in items),
    "hostile": lambda items: HostileList([0.9]),
    "raises": lambda items: raise_(OSError("secret")),
    "panics": lambda items: raise_(Panic()),
}


@pytest.mark.parametrize("name", ["score_fn", "retrieve_fn", "rewrite_fn"])
@pytest.mark.parametrize("fault", WRONG)
def test_a_batch_of_the_wrong_length_or_kind_answers_nothing(driver: Driver, name: str, fault: str) -> None:
    functions: dict[str, Any] = {
        "score_fn": lambda clauses: [score(clause) for clause in clauses],
        "retrieve_fn": lambda clauses: [["a fact"] for _ in clauses],
        "rewrite_fn": lambda clauses, evidence: [MENDED for _ in clauses],
    }
    good = functions[name]
    functions[name] = lambda items, *more: (
        WRONG[fault](items) if any(UNSAFE in item for item in items) else good(items, *more)
    )
    repairer = StreamingRepairer(**functions, batched=tuple(functions), early=False)
    part = {"score_fn": "scorer", "retrieve_fn": "retriever", "rewrite_fn": "rewriter"}[name]
    pieces, result = repair_stream(driver, repairer, TOKENS)
    if fault != "text" or name != "rewrite_fn":
        assert UNSAFE not in "".join(pieces)
        assert len(typed_reasons(part, result)) >= 1
    assert result.repaired_text in (REDACTED, REDACTED.replace(REDACTED_CLAUSE, MENDED))


def test_a_scorer_that_fails_asks_no_rewriter() -> None:
    """What cannot be judged cannot be judged again: neither could the rewrite be."""
    asked: list[str] = []
    repairer = StreamingRepairer(
        lambda clause: None, retrieve_fn=lambda clause: ["a fact"], rewrite_fn=lambda clause, _: asked.append(clause)
    )
    assert repairer.repair("It is so.").actions[0].detail == "not_judged"
    assert asked == []


def test_a_scorer_that_fails_on_the_rewrite_keeps_it_back() -> None:
    repairer = StreamingRepairer(
        lambda clause: 0.1 if "wrong" in clause else None,
        retrieve_fn=lambda _: ["a fact"],
        rewrite_fn=lambda *_: MENDED,
    )
    (action,) = repairer.repair("It is wrong.").actions
    assert (action.action, action.detail) == ("redact", "rewrite_unsupported")


def test_a_judge_whose_function_leaves_like_a_generator_is_a_failure_like_any_other() -> None:
    from director_ai.core.repair.plan import score_judge

    def judge(clauses: Any, said: list[str]) -> Any:
        with contextlib.suppress(RuntimeError):
            yield "evidence", ("x",)
        return (yield from score_judge(0.5)([], said)) or [verdict_of(clause) for clause in clauses]

    def verdict_of(clause: Any) -> Any:
        from director_ai.core.scoring.coherence import ClauseVerdict

        return ClauseVerdict(
            clause=clause.text, start=0, role="claim", verdict="not_evaluated", reason="failed", coherence=0.0
        )

    repairer = StreamingRepairer.by_judge(judge, {"evidence": lambda _: raise_(GeneratorExit())}, threshold=0.5)
    assert repairer.repair("It is so.").repaired_text == REDACTED_CLAUSE


# --- interrupts, cancellation, and the source -------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["interrupt", "exit"])
@pytest.mark.parametrize("part", ["scorer", "retriever", "rewriter", "continuation", "check"])
@pytest.mark.parametrize("deadline", [None, 30.0])
def test_interrupts_pass_through_and_the_source_is_closed(
    driver: Driver, part: str, error: BaseException, deadline: float | None
) -> None:
    source = ScriptedTokens(TOKENS)
    options = parts_with(part, lambda *_: raise_(error), _as_it_is, deadline=deadline)
    with pytest.raises(type(error)):
        repair_stream(driver, StreamingRepairer(**options), source)
    assert source.closed


def test_a_cancellation_that_a_function_raises_passes_through() -> None:
    source = ScriptedTokens(TOKENS)
    options = parts_with("scorer", lambda *_: raise_(asyncio.CancelledError()), _as_it_is)
    with pytest.raises(asyncio.CancelledError):
        repair_stream(Driver("sync"), StreamingRepairer(**options), source)
    assert source.closed


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize("kind", ["asynchronous", "on a thread"])
@pytest.mark.parametrize("part", ["scorer", "retriever", "rewriter"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_reader_leaves_at_once_and_closes_the_source(backend: str, part: str, kind: str) -> None:
    release, source, shown = threading.Event(), ScriptedTokens(TOKENS), []
    gc.freeze()  # only what this test makes is looked for at its end

    async def sleep(*_: Any) -> Any:
        await anyio.sleep_forever()

    if kind == "asynchronous":
        options = parts_with(part, sleep, _awaited)
    else:
        options = parts_with(part, make_fault("hangs", release=release), _as_it_is, deadline=60.0)

    async def main() -> None:
        with anyio.move_on_after(LIMIT) as scope:
            async with StreamingRepairer(**options).astream(source) as stream:
                async for piece in stream:
                    shown.append(piece.text)  # noqa: PERF401 - what was shown before the end counts
        assert scope.cancelled_caught

    try:
        anyio.run(main, backend=backend)
    finally:
        release.set()
        gc.collect()  # what was left in the middle of a question goes without a word
        gc.unfreeze()
    assert UNSAFE not in "".join(shown)
    assert source.closed


def test_a_listener_that_fails_takes_nothing_from_the_reader(driver: Driver) -> None:
    repairer = StreamingRepairer(score)
    _, result = repair_stream(driver, repairer, TOKENS, on_action=lambda _: raise_(Panic()))
    assert result.repaired_text == REDACTED
    with pytest.raises(KeyboardInterrupt):
        repair_stream(driver, repairer, TOKENS, on_action=lambda _: raise_(KeyboardInterrupt()))
