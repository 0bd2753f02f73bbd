"""Promise 2: whatever a check does wrong, nothing unchecked is released. And promise 13: work in proportion."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest

from checked import AsyncFinder, Finder, finish, run_checks
from director_ai.core.merge import Edit
from director_ai.testing import FAULTS, ScriptedTokens, make_fault
from director_ai.validators import (
    PII,
    BannedWords,
    Casing,
    Checks,
    Disguise,
    JsonSchema,
    Length,
    Links,
    Pattern,
    Predicate,
    PresidioCheck,
    Rule,
    Secrets,
    TextFunction,
)
from drivers import Driver

LIMIT = 0.5
SAFE = "some safe words are here. " * 20
UNSAFE = "unsafe"
TEXT = f"{SAFE}Now comes the {UNSAFE} part of it. {SAFE}"
TOKENS = [TEXT[at : at + 9] for at in range(0, len(TEXT), 9)]
REASONS = ("check_error", "check_invalid", "check_timeout")


class NoNames:
    def analyze(self, text: str, language: str, **options: Any) -> list[Any]:
        return []


SLOTS: dict[str, Any] = {
    "pii": PII(),
    "links": Links(),
    "secrets": Secrets(),
    "casing": Casing(),
    "banned words": BannedWords(("bad",)),
    "pattern": Pattern("bad"),
    "disguise": Disguise(),
    "length": Length(most_characters=10**6),
    "json": JsonSchema({"type": "string"}),
    "function": TextFunction(str.lower, name="function"),
    "predicate": Predicate(lambda _: True, name="predicate"),
    "presidio": PresidioCheck(analyzer=NoNames()),
}
BY_FRONTIER = ("casing", "predicate", "pii", "length")


class Panic(BaseException):
    """What a crashing extension module raises."""


def forged(start: Any, end: Any) -> Edit:
    """An edit that went round its constructor."""
    edit = Edit(0, 0, "", "remove", "x")
    object.__setattr__(edit, "start", start)
    object.__setattr__(edit, "end", end)
    return edit


def breaking(edits: list[Any], error: BaseException) -> Iterator[Any]:
    yield from edits
    raise error


class Edits(Edit):
    """No edit: a subclass may say anything."""


def raise_(error: BaseException) -> Any:
    raise error


ANSWERS: dict[str, Callable[[str], Any]] = {
    **{fault: make_fault(fault) for fault in FAULTS if fault not in ("hangs", "slow")},
    "raises StopIteration": lambda _: raise_(StopIteration()),
    "raises GeneratorExit": lambda _: raise_(GeneratorExit()),
    "empty text": lambda _: "",
    "dict": lambda _: {},
    "bytes": lambda _: b"",
    "a number": lambda _: 5,
    "wrong types inside": lambda _: [1, None, "x"],
    "pairs": lambda _: [(0, 1)],
    "out of range": lambda text: [Edit(0, len(text) + 1, "", "remove", "x")],
    "far out of range": lambda text: [Edit(10**9, 10**9 + 1, "", "remove", "x")],
    "negative": lambda _: [Edit(-2, 1, "", "remove", "x")],
    "reversed": lambda _: [Edit(3, 1, "", "remove", "x")],
    "forged negative": lambda _: [forged(-2, 1)],
    "forged reversed": lambda _: [forged(3, 1)],
    "forged in words": lambda _: [forged("0", "1")],
    "hollow": lambda _: [Edit.__new__(Edit)],
    "a subclass": lambda _: [Edits(0, 1, "", "remove", "x")],
    "breaks off": lambda _: breaking([Edit(0, 1, "", "remove", "x")], OSError("secret")),
    "panics on the way": lambda _: breaking([], Panic()),
}


class Faulty:
    """Stands in the slot of a check and answers like it until it comes upon something unsafe."""

    def __init__(self, check: Any, answer: Callable[[str], Any]) -> None:
        self.name, self.frontier = check.name, check.frontier
        self._check, self._answer = check, answer

    def find(self, text: str) -> Any:
        return self._answer(text) if UNSAFE in text else self._check.find(text)


class AsyncFaulty(Faulty):
    async def find(self, text: str) -> Any:
        await anyio.sleep(0)
        return super().find(text)


def checks_with(slot: str, answer: Callable[[str], Any], kind: type[Faulty] = Faulty, **rule: Any) -> Checks:
    faulty = Rule(check=kind(SLOTS[slot], answer), **rule)
    others = [Rule(check=check, on_fail="noop") for name, check in SLOTS.items() if name != slot]
    waiting = slot in ("length", "json")
    return Checks([faulty, *(other for other in others if waiting or other.check.frontier != "text")])


def assert_failed_closed(slot: str, pieces: list[str], result: Any) -> None:
    assert UNSAFE not in "".join(pieces)
    assert "".join(pieces) == result.text
    assert TEXT.lower().startswith(result.text.lower())
    assert result.ended_by in REASONS
    (error,) = [failure for failure in result.failures if failure.is_error]
    assert (error.check, error.reason, error.action) == (SLOTS[slot].name, result.ended_by, "halt")


@pytest.mark.parametrize("slot", SLOTS)
def test_every_fault_of_every_check_halts_with_a_typed_reason(driver: Driver, slot: str) -> None:
    for fault, answer in ANSWERS.items():
        kinds = [Faulty] if driver.name == "sync" or slot not in BY_FRONTIER else [Faulty, AsyncFaulty]
        for kind in kinds:
            if kind is AsyncFaulty and fault == "raises GeneratorExit":
                continue  # that is how a coroutine is closed
            pieces, result = run_checks(driver, checks_with(slot, answer, kind), TOKENS)
            assert_failed_closed(slot, pieces, result)


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize("fault", ["hangs", "slow"])
@pytest.mark.parametrize("slot", BY_FRONTIER)
def test_a_check_that_takes_too_long_halts_in_time(driver: Driver, slot: str, fault: str) -> None:
    release = threading.Event()
    try:
        checks = checks_with(slot, make_fault(fault, release=release), deadline=LIMIT)
        pieces, result = run_checks(driver, checks, TOKENS)
    finally:
        release.set()
    assert_failed_closed(slot, pieces, result)
    assert result.ended_by == "check_timeout"


def test_a_check_that_hangs_on_every_sentence_costs_its_deadline_once(driver: Driver) -> None:
    release, asked = threading.Event(), []
    hang = make_fault("hangs", release=release)
    hanging = Faulty(Predicate(lambda _: True, name="p"), lambda text: asked.append(text) or hang(text))
    try:
        result = finish(driver, Checks([Rule(check=hanging, deadline=LIMIT)]), f"This is {UNSAFE}. " * 300)
    finally:
        release.set()
    assert (result.text, result.ended_by) == ("", "check_timeout")
    assert len(asked) == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_check_that_takes_too_long_is_given_up(backend: str) -> None:
    class Sleeping(Finder):
        async def find(self, text: str) -> Any:
            if UNSAFE in text:
                await anyio.sleep(60)
            return []

    class Blocking(Finder):
        async def find(self, text: str) -> Any:
            if UNSAFE in text:
                time.sleep(2 * LIMIT)
            return []

    for kind in (Sleeping, Blocking):
        result = run_checks(Driver(backend), Checks([Rule(check=kind("x"), deadline=LIMIT)]), TOKENS)[1]
        assert (result.text, result.ended_by) == (f"{SAFE}Now comes the ", "check_timeout")


@pytest.mark.parametrize("fault", ["raises", "panics", "none", "wrong types inside", "forged negative"])
def test_a_rule_may_redact_what_could_not_be_checked(driver: Driver, fault: str) -> None:
    for slot in BY_FRONTIER:
        result = run_checks(driver, checks_with(slot, ANSWERS[fault], on_error="redact"), TOKENS)[1]
        assert UNSAFE not in result.text
        assert "[REDACTED]" in result.text
        assert result.ended_by == ""
        assert {failure.reason for failure in result.failures if failure.is_error} <= set(REASONS)
    result = run_checks(driver, checks_with("casing", ANSWERS[fault], on_error="redact"), TOKENS)[1]
    assert result.text == TEXT.lower().replace(UNSAFE, "[REDACTED]")


def test_a_rule_may_let_pass_what_could_not_be_checked_and_it_is_recorded(driver: Driver) -> None:
    result = run_checks(driver, checks_with("casing", ANSWERS["raises"], on_error="pass"), TOKENS)[1]
    assert (result.text, result.ended_by) == (TEXT.lower(), "")
    assert [failure.action for failure in result.failures if failure.is_error] == ["pass"]


def test_a_late_check_with_another_rule_goes_on_with_the_next_piece(driver: Driver) -> None:
    release = threading.Event()
    faulty = Faulty(Casing(), make_fault("hangs", release=release))
    try:
        checks = Checks([Rule(check=faulty, deadline=LIMIT, on_error="redact")])
        result = finish(driver, checks, f"Some {UNSAFE} and MORE {UNSAFE} words. ")
    finally:
        release.set()
    assert result.text == "some [REDACTED] and more [REDACTED] words. "


def test_an_asynchronous_check_in_a_synchronous_stream_halts() -> None:
    result = Checks([AsyncFinder("x")]).run("Some text.")
    assert (result.text, result.ended_by) == ("", "check_error")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("deadline", [None, 30.0])
def test_a_function_that_turns_out_asynchronous_is_awaited(backend: str, deadline: float | None) -> None:
    async def upper(text: str) -> str:
        await anyio.sleep(0)
        return text.upper()

    checks = Checks([Rule(check=TextFunction(upper, name="upper"), deadline=deadline)])
    assert finish(Driver(backend), checks, "One. Two.").text == "ONE. TWO."


# --- interrupts, and the source ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)], ids=["interrupt", "exit"])
@pytest.mark.parametrize("deadline", [None, 30.0])
def test_interrupts_pass_through_and_the_source_is_closed(
    driver: Driver, error: BaseException, deadline: float | None
) -> None:
    source = ScriptedTokens(TOKENS)
    with pytest.raises(type(error)):
        run_checks(driver, checks_with("pii", lambda _: raise_(error), deadline=deadline), source)
    assert source.closed


def test_a_cancellation_that_a_check_raises_passes_through() -> None:
    source = ScriptedTokens(TOKENS)
    with pytest.raises(asyncio.CancelledError):
        run_checks(Driver("sync"), checks_with("pii", lambda _: raise_(asyncio.CancelledError())), source)
    assert source.closed


@pytest.mark.timeout(50)  # what hangs lets go after a minute
@pytest.mark.parametrize("kind", ["asynchronous", "on a thread"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_reader_leaves_at_once_and_closes_the_source(backend: str, kind: str) -> None:
    release = threading.Event()

    class Sleeping(Finder):
        async def find(self, text: str) -> Any:
            await anyio.sleep_forever()

    hanging = Faulty(Casing(), make_fault("hangs", release=release))
    rule = Rule(check=Sleeping("x")) if kind == "asynchronous" else Rule(check=hanging, deadline=60.0)
    source, shown = ScriptedTokens(TOKENS), []

    async def main() -> None:
        with anyio.move_on_after(LIMIT) as scope:
            async for piece in Checks([rule]).astream(source):
                shown.append(piece.text)  # noqa: PERF401 - what was shown before the end counts
        assert scope.cancelled_caught

    try:
        anyio.run(main, backend=backend)
    finally:
        release.set()
    assert UNSAFE not in "".join(shown)
    assert source.closed


@pytest.mark.parametrize("first", [(), (Disguise(),), (Finder("zzz"),)], ids=["one stage", "two stages", "words first"])
@pytest.mark.parametrize("error", [ConnectionError("secret"), Panic()], ids=["error", "panic"])
def test_a_source_that_fails_releases_nothing_that_is_held(driver: Driver, error: BaseException, first: Any) -> None:
    source = ScriptedTokens([SAFE, "Write to jo [at] example "], error=error)
    pieces, result = run_checks(driver, Checks([PII()], first=first), source)
    assert SAFE.startswith("".join(pieces))
    assert result.ended_by == "source_error"
    assert result.failures[0].reason == f"source_error type={type(error).__name__}"


@pytest.mark.parametrize("token", [None, b"x", 5, {}, ["x"]], ids=str)
def test_a_token_that_is_none_halts(driver: Driver, token: Any) -> None:
    result = run_checks(driver, Checks([Casing()]), ["Safe ", "words ", token, UNSAFE])[1]
    assert (result.text, result.ended_by) == ("safe words ", "source_error")


class Hostile(str):
    """Says something else each time it is asked."""

    def __len__(self) -> int:
        return 0

    def __str__(self) -> str:
        return UNSAFE

    def __getitem__(self, place: Any) -> str:
        return UNSAFE


def test_a_text_with_methods_of_its_own_is_taken_for_what_it_holds(driver: Driver) -> None:
    assert run_checks(driver, Checks([Casing()]), [Hostile("Safe "), "words"])[1].text == "safe words"


def test_a_source_that_hangs_is_given_up(driver: Driver) -> None:
    release = threading.Event()

    class Hanging:
        def __iter__(self) -> Any:
            release.wait(60)
            return iter(["x"])

    def stalling() -> Iterator[str]:
        yield "Safe "
        release.wait(60)
        yield UNSAFE

    try:
        for tokens, text in ((Hanging(), ""), (stalling(), "safe ")):
            result = run_checks(driver, Checks([Casing()], token_timeout=LIMIT), tokens)[1]
            assert (result.text, result.ended_by) == (text, "timeout")
    finally:
        release.set()


# --- work in proportion -----------------------------------------------------------------------------------------------


class Counting:
    """Counts what a check is handed."""

    def __init__(self, check: Any) -> None:
        self.name, self.frontier, self._check = check.name, check.frontier, check
        self.handed = 0

    def find(self, text: str) -> Any:
        self.handed += len(text)
        return self._check.find(text)


SHAPES = {
    "prose": "Some words of prose. And 4111 1111 1111 1111 of mine.\n",
    "no white space": "ab.c-d",
    "digits": "12345678 ",
    "one number": "7",
    "addresses": "jo@example.org,",
    "one address": "http://a.b/",
    "open links": "[a](b ",
    "open tags": "<a href=",
    "blank": " ",
    "invisible": "a\u200b",
}


CELLS = [(slot, "prose") for slot in ("casing", "banned words", "pattern", "length", "function", "predicate")]
CELLS += [(slot, shape) for slot in ("pii", "links", "secrets", "disguise") for shape in SHAPES]


@pytest.mark.parametrize(("slot", "shape"), CELLS, ids=["-".join(cell) for cell in CELLS])
def test_twice_the_text_is_twice_the_work(slot: str, shape: str) -> None:
    """Beyond the first windows: what comes later costs as much as what came before."""

    def handed(size: int) -> int:
        counting = Counting(SLOTS[slot])
        text = (SHAPES[shape] * size)[:size]
        stream = Checks([Rule(check=counting, on_fail="noop")]).stream(text[at : at + 50] for at in range(0, size, 50))
        assert sum(len(piece.text) for piece in stream) == size
        return counting.handed

    first, second, third = (handed(size) for size in (6_000, 12_000, 18_000))
    assert third - second <= 1.2 * (second - first) + 4_000
    assert third <= 80 * 18_000
    if shape == "prose":
        assert second <= 2.2 * first


def test_a_hundred_thousand_tokens_of_one_letter(driver: Driver) -> None:
    counting = Counting(PII())
    result = run_checks(driver, Checks([counting, Casing(), Links()]), list("A word. " * 12_500))[1]
    assert result.text == "a word. " * 12_500
    assert counting.handed < 12 * 100_000


@pytest.mark.timeout(100)  # some seconds
@pytest.mark.parametrize("token", ["a" * 10**6, "A1-b" * 250_000, "<" * 10**6], ids=["letters", "mixed", "open tags"])
def test_one_token_of_a_million_characters_ends(token: str) -> None:
    pieces, result = run_checks(
        Driver("sync"), Checks([PII(), Secrets(), Links(), Casing()], first=[Disguise()]), [token]
    )
    assert result.ended_by in ("", "held_too_much")
    assert sum(map(len, pieces)) == len(result.text)


def test_what_is_held_is_limited(driver: Driver) -> None:
    """Also in a later stage: an endless source is left, not read on for nothing."""
    source = ScriptedTokens(["x" * 50_000] * 200)
    for first in ((), (Finder("y", frontier=10),)):
        result = run_checks(driver, Checks([Casing(), Length(most_words=5)], first=first), source)[1]
        assert (result.text, result.ended_by) == ("", "held_too_much")
        assert source.given < 60
        source = ScriptedTokens(["x" * 50_000] * 200)


def test_a_check_that_fails_says_of_what_type_its_fault_was() -> None:
    class Broken:
        name, frontier = "broken", "sentence"

        def find(self, text: str) -> list[Edit]:
            raise ValueError(text)

    (failure,) = Checks([Broken()]).run("A secret.").failures
    assert (failure.reason, failure.detail) == ("check_error", "type=ValueError")
