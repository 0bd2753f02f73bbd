"""What a runner does with what its checks find: each case on the synchronous driver, on asyncio and on trio."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pytest

from checked import AsyncFinder, Finder, finish, run_checks
from director_ai.core.checks.rules import CheckedText, Failure
from director_ai.core.merge import Edit
from director_ai.errors import ConfigError, UnknownOption
from director_ai.testing import ScriptedTokens
from director_ai.validators import PII, BannedWords, Casing, CheckFailed, Checks, Disguise, Length, Rule, TextFunction
from drivers import Driver

TEXT = "One is fine. Two is bad here. Three is fine."
TOKENS = ["One is", " fine. T", "wo is ba", "d here. ", "Three is fine."]
BEFORE = "One is fine. Two is "


def rewriting(**options: Any) -> Finder:
    return Finder("bad", kind="rewrite", replacement="good", **options)


ACTIONS: dict[str, tuple[Any, str, str]] = {
    "fix": ("fix", TEXT.replace("bad", "[X]"), ""),
    "redact": ("redact", TEXT.replace("bad", "[X]"), ""),
    "filter": ("filter", "One is fine. Three is fine.", ""),
    "refrain": ("refrain", BEFORE, "refrain"),
    "halt": ("halt", BEFORE, "halt"),
    "noop": ("noop", TEXT, ""),
    "a function": (lambda _, edits: [Edit(e.start, e.end, "???", "rewrite", e.check) for e in edits], TEXT.replace("bad", "???"), ""),
    "a function that lets it be": (lambda _, edits: [], TEXT, ""),
}  # fmt: skip


@pytest.mark.parametrize(
    ("driver", "kind"),
    [("sync", Finder), ("asyncio", Finder), ("asyncio", AsyncFinder), ("trio", Finder), ("trio", AsyncFinder)],
    indirect=["driver"],
)
@pytest.mark.parametrize("action", ACTIONS)
def test_what_follows_from_a_finding(driver: Driver, action: str, kind: type[Finder]) -> None:
    on_fail, text, ended_by = ACTIONS[action]
    checks = Checks([Rule(check=kind("bad"), on_fail=on_fail)])
    pieces, result = run_checks(driver, checks, TOKENS)
    assert ("".join(pieces), result.text, result.ended_by) == (text, text, ended_by)
    assert result.halted == bool(ended_by)
    assert result.unchanged == (text == TEXT)
    expected = "custom" if callable(on_fail) else on_fail
    if action != "a function that lets it be":
        reason = "" if action == "a function" else "found"
        assert result.failures == (Failure(check="finder", action=expected, reason=reason, start=20, end=23),)
    finished = finish(driver, checks, TEXT)
    if action == "refrain":
        assert (finished.text, finished.applied, finished.ended_by) == ("", (), "refrain")
        assert finished.failures == result.failures
    else:
        assert finished == result


def test_an_exception_is_raised_after_what_came_before_it_was_released(driver: Driver) -> None:
    checks = Checks([Rule(check=Finder("bad"), on_fail="exception")])
    with pytest.raises(CheckFailed, match="finder found something") as raised:
        run_checks(driver, checks, TOKENS)
    assert raised.value.result.text == BEFORE
    assert raised.value.result.ended_by == "exception"
    assert raised.value.failure == Failure(check="finder", action="exception", reason="found", start=20, end=23)
    assert "bad" not in str(raised.value)
    with pytest.raises(CheckFailed):
        finish(driver, checks, TEXT)


def test_redact_puts_no_rewrite_in_place_of_what_was_found(driver: Driver) -> None:
    checks = Checks([Rule(check=rewriting(), on_fail="redact")])
    assert finish(driver, checks, TEXT).text == TEXT.replace("bad", "[REDACTED]")


def test_a_stream_that_halted_releases_nothing_of_what_follows(driver: Driver) -> None:
    source = ScriptedTokens([*TOKENS, *["and so on. "] * 1_000])
    pieces, result = run_checks(driver, Checks([Rule(check=Finder("bad"), on_fail="halt"), PII()]), source)
    assert ("".join(pieces), result.ended_by) == (BEFORE, "halt")
    assert source.closed
    assert source.given < 200, "it was read on and on"


# --- asking again -----------------------------------------------------------------------------------------------------


class Continuation:
    """Answers with the next of some token lists; `asked` is what it was given."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, Failure]] = []

    def __call__(self, prefix: str, failure: Failure) -> Any:
        self.asked.append((prefix, failure))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def reasking(continuation: Any, **options: Any) -> Checks:
    return Checks([Rule(check=Finder("bad"), on_fail="reask"), PII()], continuation=continuation, **options)


def test_a_stream_that_is_asked_again_goes_on_from_the_text_before(driver: Driver) -> None:
    source, second = ScriptedTokens(TOKENS), ScriptedTokens(["good ", "here. Write to jo@example.org."])
    continuation = Continuation(second)
    pieces, result = run_checks(driver, reasking(continuation), source)
    assert "".join(pieces) == result.text == BEFORE + "good here. Write to [EMAIL]."
    assert (result.reasks, result.ended_by) == (1, "")
    assert [(prefix, failure.reason) for prefix, failure in continuation.asked] == [(BEFORE, "found")]
    assert source.closed
    assert second.closed


def test_asking_again_ends(driver: Driver) -> None:
    continuation = Continuation(*[["worse and bad "]] * 9)
    pieces, result = run_checks(driver, reasking(continuation, most_reasks=3), TOKENS)
    assert result.text == BEFORE + "worse and " * 3 == "".join(pieces)
    assert (result.reasks, result.ended_by, len(continuation.asked)) == (3, "reask", 3)
    assert continuation.asked[-1][0] == BEFORE + "worse and worse and "
    assert run_checks(driver, reasking(continuation, most_reasks=0), TOKENS)[1].reasks == 0


def test_a_continuation_that_fails_ends_the_stream_with_a_reason(driver: Driver) -> None:
    pieces, result = run_checks(driver, reasking(Continuation(OSError("secret"))), TOKENS)
    assert "".join(pieces) == result.text == BEFORE
    assert result.ended_by == "continuation_error"
    assert [failure.reason for failure in result.failures] == ["found", "continuation_error type=OSError"]


@pytest.mark.parametrize("tokens", [None, 5], ids=["nothing", "a number"])
def test_a_continuation_that_returns_no_tokens_ends_the_stream(driver: Driver, tokens: Any) -> None:
    result = run_checks(driver, reasking(Continuation(tokens)), TOKENS)[1]
    assert (result.text, result.ended_by) == (BEFORE, "continuation_error")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_continuation_may_be_asynchronous(backend: str) -> None:
    async def go_on(prefix: str, failure: Failure) -> Any:
        await anyio.sleep(0)
        return ScriptedTokens(["good."])

    assert run_checks(Driver(backend), reasking(go_on), TOKENS)[1].text == BEFORE + "good."


def test_what_was_found_across_a_seam_is_found(driver: Driver) -> None:
    """What was held when the stream was asked again is checked together with what follows it."""
    checks = Checks(
        [Rule(check=Finder("bad"), on_fail="reask"), PII()], continuation=Continuation(["example.org now."])
    )
    result = run_checks(driver, checks, ["Write to jo@", "bad and so on. "])[1]
    assert result.text == "Write to jo@[EMAIL] now."  # what was shown before the seam stays
    assert result.reasks == 1
    assert [(each.start, each.end) for each in result.applied] == [(12, 23)]


def test_what_was_shown_before_a_seam_is_not_found_again(driver: Driver) -> None:
    rules = [Rule(check=Finder("bad"), on_fail="reask"), Rule(check=Finder("fine", name="noop"), on_fail="noop")]
    rules += [
        Rule(check=Finder("fine", name=str(frontier), frontier=frontier), on_fail="filter")
        for frontier in ("word", "sentence", 40)
    ]
    result = run_checks(driver, Checks(rules, continuation=Continuation(["good. Fin", "e. All fine."])), TOKENS)[1]
    assert result.text == "Two is good. Fine. "
    assert [(each.start, each.end) for each in result.failures if each.check == "noop"] == [(7, 11), (23, 27)]


# --- when text leaves -------------------------------------------------------------------------------------------------


FRONTIERS = {
    "a word": ("word", ["One ", "two ", "three."]),
    "a sentence": ("sentence", ["One two three."]),
    "the text": ("text", ["One two three."]),
}


@pytest.mark.parametrize("frontier", FRONTIERS)
def test_pieces_leave_as_soon_as_all_checks_agree(driver: Driver, frontier: str) -> None:
    wanted, expected = FRONTIERS[frontier]
    pieces, _ = run_checks(driver, Checks([Finder("x", frontier=wanted), Casing()]), ["One ", "two ", "three."])
    assert [piece.lower() for piece in expected] == pieces


def test_no_piece_waits_for_a_token_that_it_does_not_need() -> None:
    given: list[str] = []

    def source() -> Iterator[str]:
        for token in ("One is fine. ", "Two ", "is bad ", "here. ") * 20:
            given.append(token)
            yield token

    stream = Checks([Finder("bad"), BannedWords(("x",))]).stream(source())
    first = next(iter(stream))
    assert first.text
    assert len(given) < 20, "a block of 96 characters, and the longest word"
    assert "bad" not in first.text + "".join(piece.text for piece in stream)


def test_a_check_with_a_window_holds_back_no_more_than_it_needs() -> None:
    released = read = 0

    def source() -> Iterator[str]:
        nonlocal read
        for _ in range(500):
            read += 5
            yield "word "

    for piece in Checks([Finder("jo@x", frontier=100)]).stream(source()):
        released += len(piece.text)
        assert read - released <= 2 * 100 + 2 * 64 + 10
    assert released == 2_500


def test_checks_that_run_first_show_the_others_their_outcome(driver: Driver) -> None:
    first = Finder("b-a-d", name="first", kind="rewrite", replacement="bad")
    checks = Checks([Rule(check=Finder("bad"), on_fail="halt")], first=[first])
    pieces, result = run_checks(driver, checks, ["This is b-a", "-d. ", "More ", "text."])
    assert "".join(pieces) == "This is "
    assert result.ended_by == "halt"
    assert [(each.check, each.start, each.end) for each in result.failures] == [("first", 8, 13), ("finder", 8, 13)]


def test_a_pipe_runs_each_check_on_what_the_one_before_it_made() -> None:
    checks = Checks([Finder("a", name="1", replacement="b"), Finder("b", name="2", replacement="c")])
    assert checks.run("a b.").text == "b c."
    result = checks.pipe("a b.")
    assert result.text == "c c."
    assert [(edit.start, edit.end, edit.check) for edit in result.applied] == [(0, 1, "1"), (0, 1, "2"), (2, 3, "2")]
    assert Checks([]).pipe("a b.") == CheckedText(text="a b.")
    assert Checks([Length(most_words=1), Casing()]).pipe("Aa Bb").text == "aa"


@pytest.mark.parametrize(("priority", "text"), [(("one", "two"), "1."), (("two", "one"), "22.")])
def test_of_two_rewrites_at_one_place_the_declared_priority_decides(
    driver: Driver, priority: tuple[str, ...], text: str
) -> None:
    rules = [
        Finder("bad word", name="one", frontier="sentence", kind="rewrite", replacement="1"),
        Finder("bad word", name="two", frontier="sentence", kind="rewrite", replacement="22"),
    ]
    result = finish(driver, Checks(rules, priority=priority), "bad word.")
    assert result.text == text
    assert [(each.won.check, each.lost.check) for each in result.conflicts] == [priority]


def test_what_a_rewrite_would_put_there_is_checked_as_well(driver: Driver) -> None:
    leak = TextFunction(lambda text: text.replace("them", "jo@example.org"), name="leak")
    assert finish(driver, Checks([leak, PII()]), "Ask them now.").text == "Ask [EMAIL] now."
    halting = Checks([leak, Rule(check=PII(), on_fail="halt")])
    assert finish(driver, halting, "Ask them now.").text == "Ask [REDACTED] now."
    strict = Checks([leak, Rule(check=Finder("jo@", kind="rewrite", replacement="jo@"), on_fail="redact")])
    assert "jo@" not in finish(driver, strict, "Ask them now.").text


def test_a_function_that_adds_to_every_sentence_adds_to_every_sentence(driver: Driver) -> None:
    signed = Checks([TextFunction(lambda text: text + "(c) ", name="signed")])
    assert run_checks(driver, signed, ["One. ", "Two", "."])[1].text == "One. (c) Two.(c) "


def test_removed_text_stays_removed_whatever_the_others_do(driver: Driver) -> None:
    checks = Checks(
        [
            PII(),
            Casing(to="upper"),
            Finder("jo", name="half", kind="rewrite", replacement="jo jo"),
            Rule(check=Finder("example", name="noop"), on_fail="noop"),
        ]
    )
    pieces, result = run_checks(driver, checks, list("Write to jo.smith@example.org or jo@example.org today."))
    assert result.text == "WRITE TO [EMAIL] OR [EMAIL] TODAY."
    assert all("@" not in piece and "SMITH" not in piece.upper() for piece in pieces)


def test_flags_say_what_was_odd_about_the_tokens(driver: Driver) -> None:
    result = run_checks(driver, Checks([Casing()]), ["a\ud800", "b"])[1]
    assert (result.text, result.flags) == ("a\ufffdb", ("lone_surrogate",))


# --- leaving, and others ----------------------------------------------------------------------------------------------


def test_closing_early_closes_the_source() -> None:
    for begin in (True, False):
        source = ScriptedTokens(["One ", "two "] * 100)
        tokens = iter(source)
        if not begin:
            next(tokens)
        with Checks([Casing()]).stream(tokens) as stream:
            if begin:
                next(stream)
        assert source.closed
        assert stream.result.ended_by == "left"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_closing_an_asynchronous_stream_early_closes_the_source(backend: str) -> None:
    async def main() -> None:
        source = ScriptedTokens(["One ", "two "] * 100)
        async with Checks([Casing(), AsyncFinder("x")]).astream(source) as stream:
            await anext(stream)
        assert source.closed
        assert stream.result.ended_by == "left"

    anyio.run(main, backend=backend)


def marked(number: int) -> list[str]:
    return [f"Stream{number} ", "writes to ", f"jo{number}", f"@example{number}", ".org. "] * 20


def expected(number: int) -> str:
    return f"stream{number} writes to [EMAIL]. " * 20


def test_streams_on_one_runner_in_threads_see_nothing_of_each_other() -> None:
    checks = Checks([PII(), Rule(check=Casing(), deadline=30.0)], first=[Disguise()])
    barrier = threading.Barrier(8)

    def one(number: int) -> str:
        stream = checks.stream(marked(number))
        barrier.wait(10)
        if number % 2:
            first = next(stream).text
            stream.close()
            return first
        return "".join(piece.text for piece in stream)

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(one, range(8)))
    for number, outcome in enumerate(outcomes):
        assert outcome == expected(number) if number % 2 == 0 else expected(number).startswith(outcome)
        assert outcome


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_streams_on_one_runner_in_tasks_see_nothing_of_each_other(backend: str) -> None:
    checks = Checks([PII(), AsyncFinder("zzz"), Casing()])
    outcomes: dict[int, str] = {}

    async def one(number: int) -> None:
        outcomes[number] = ""
        async with checks.astream(ScriptedTokens(marked(number))) as stream:
            async for piece in stream:
                outcomes[number] += piece.text
                await anyio.sleep(0)
                if number % 2:
                    break

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)

    anyio.run(main, backend=backend)
    for number, outcome in outcomes.items():
        assert outcome == expected(number) if number % 2 == 0 else expected(number).startswith(outcome)
        assert outcome


def test_a_stream_that_is_dropped_half_way_is_closed() -> None:
    source = ScriptedTokens(["One ", "two "] * 100)
    stream = Checks([Casing()]).stream(source)
    next(stream)
    del stream
    gc.collect()
    assert source.closed


# --- what is refused --------------------------------------------------------------------------------------------------


REFUSED: dict[str, Any] = {
    "no list of checks": lambda: Checks(5),
    "a text for checks": lambda: Checks("pii"),
    "something that is no check": lambda: Checks([5]),
    "the class of a check": lambda: Checks([PII]),
    "two checks of one name": lambda: Checks([Finder("a"), Finder("b")]),
    "reask without a continuation": lambda: Checks([Rule(check=Finder("a"), on_fail="reask")]),
    "a continuation that is none": lambda: Checks([], continuation=5),
    "a priority in one text": lambda: Checks([], priority="finder"),
    "reasks below 0": lambda: Checks([], most_reasks=-1),
    "a timeout of nothing": lambda: Checks([], token_timeout=0.0),
    "a timeout that is no number": lambda: Checks([], token_timeout=float("nan")),
    "a deadline of nothing": lambda: Rule(check=Finder("a"), deadline=0),
    "a deadline in words": lambda: Rule(check=Finder("a"), deadline="1"),
    "no text": lambda: Checks([]).run(b"x"),
    "no tokens": lambda: Checks([]).stream(5),
    "asynchronous tokens": lambda: Checks([]).stream(ScriptedTokens([]).__aiter__()),
    "no asynchronous tokens": lambda: Checks([]).astream(5),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_the_door(case: str) -> None:
    with pytest.raises(ConfigError):
        REFUSED[case]()


def test_a_misspelled_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="token_timeout"):
        Checks([], token_timout=1.0)
    with pytest.raises(UnknownOption, match="halt"):
        Rule(check=Finder("a"), on_fail="hallt")  # type: ignore[arg-type]
    with pytest.raises(UnknownOption):
        Rule(check=Finder("a"), on_error="ignore")  # type: ignore[arg-type]
