from __future__ import annotations

import json
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import anyio
import pytest

from director_ai.core.safety_event import validate_safety_event
from director_ai.core.streaming_repair import REDACTED_CLAUSE, StreamingRepairer
from director_ai.core.types import EvidenceChunk
from director_ai.errors import ConfigError, UnknownOption
from director_ai.validators import PII, Casing, Pattern

ANSWER = "The CEO is a robot. Contact support."
CEO = {"id": "kb:ceo", "text": "The CEO is Jane Doe."}


def score(clause: str) -> float:
    return 0.1 if "robot" in clause else 0.9


def retrieve(clause: str) -> list[dict[str, str]]:
    return [CEO]


def rewrite(clause: str, evidence: list[str]) -> str:
    return evidence[0]


def pieces(stream: Any) -> list[str]:
    return [piece.text for piece in stream]


# --- keep, rewrite, redact --------------------------------------------------------------------------------------


def test_a_supported_clause_is_kept_byte_for_byte() -> None:
    text = "  Hello there!\n\n* The CEO   is Jane Doe.\n1. Contact support…\t"

    result = StreamingRepairer(score).repair(text)

    assert result.repaired_text == text
    assert not result.repaired
    assert {action.action for action in result.actions} == {"keep"}
    assert result.events == ()


def test_a_wrong_clause_is_rewritten_and_the_rest_flows_on() -> None:
    repairer = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=rewrite)

    result = repairer.repair(ANSWER, tenant_id="acme", request_id="r-1")

    assert result.repaired_text == "The CEO is Jane Doe. Contact support."
    first, second = result.actions
    assert (first.action, first.support, first.rewritten_support, first.evidence_ids) == (
        "rewrite",
        0.1,
        0.9,
        ("kb:ceo",),
    )
    assert (second.action, second.reason) == ("keep", "supported")


def test_each_fix_has_one_warn_event_without_text() -> None:
    result = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=rewrite).repair(
        ANSWER, tenant_id="acme", request_id="r-1"
    )

    (event,) = result.events
    assert validate_safety_event(event.to_dict()) == event
    assert (event.policy_decision, event.tenant_id, event.request_id) == ("warn", "acme", "r-1")
    assert event.halt_reason == "clause_rewrite why=below_threshold"
    assert event.evidence_refs == ("kb:ceo",)
    assert not any(word in event.to_json() for word in ("robot", "Jane", "CEO"))


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        ({}, "no_rewriter"),
        ({"retrieve_fn": retrieve}, "no_rewriter"),
        ({"rewrite_fn": rewrite}, "no_evidence"),
        ({"retrieve_fn": lambda clause: [], "rewrite_fn": rewrite}, "no_evidence"),
        ({"retrieve_fn": lambda clause: None, "rewrite_fn": rewrite}, "no_evidence"),
        ({"retrieve_fn": lambda clause: {"id": 1}, "rewrite_fn": rewrite}, "retriever_invalid"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda *_: ""}, "rewrite_blank"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda *_: " \n"}, "rewrite_blank"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda *_: None}, "rewrite_blank"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda clause, _: clause}, "rewrite_same"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda *_: 7}, "rewriter_invalid"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda *_: "It is a robot after all."}, "rewrite_unsupported"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda *_: "She is fine. " * 40}, "rewrite_too_long"),
        ({"retrieve_fn": retrieve, "rewrite_fn": lambda *_: "Jane Doe. Our robot likes her."}, "rewrite_unsupported"),
    ],
)
def test_what_cannot_be_rewritten_is_redacted_with_the_reason(options: dict[str, Any], detail: str) -> None:
    result = StreamingRepairer(score, **options).repair(ANSWER)

    assert result.repaired_text == f"{REDACTED_CLAUSE} Contact support."
    assert (result.actions[0].action, result.actions[0].detail) == ("redact", detail)


def test_of_several_rewrites_the_first_that_is_supported_is_taken() -> None:
    offers = ["A robot is the CEO.", "The CEO is Jane.", "The CEO is Jane Doe."]

    result = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=lambda *_: offers).repair(ANSWER)

    assert result.repaired_text == "The CEO is Jane. Contact support."


def test_list_marks_and_white_space_stay_where_a_clause_is_changed() -> None:
    result = StreamingRepairer(score).repair("Two things:\n\n1. A robot.\n2. A person.\n")

    assert result.repaired_text == f"Two things:\n\n1. {REDACTED_CLAUSE}\n2. A person.\n"


@pytest.mark.parametrize(
    "evidence",
    [["a fact"], [("kb:1", "a fact")], [{"source": "kb:1", "text": "a fact"}], [EvidenceChunk("a fact", 0.1, "kb:1")]],
    ids=["texts", "pairs", "mappings", "chunks"],
)
def test_evidence_comes_in_any_usual_shape(evidence: list[Any]) -> None:
    given: list[list[str]] = []

    def keep(clause: str, texts: list[str]) -> str:
        given.append(texts)
        return ""

    StreamingRepairer(score, retrieve_fn=lambda _: evidence, rewrite_fn=keep).repair(ANSWER)

    assert given == [["a fact"]]


def test_a_rewrite_changes_only_the_words_that_differ() -> None:
    repairer = StreamingRepairer(
        lambda clause: 0.1 if "90" in clause else 0.9,
        retrieve_fn=retrieve,
        rewrite_fn=lambda clause, _: clause.replace("90", "30"),
    )

    result = repairer.repair("Refunds are open for 90 days after delivery.")

    (edit,) = result.applied
    assert (edit.start, edit.end, edit.replacement) == (21, 23, "30")


# --- live -------------------------------------------------------------------------------------------------------


def test_a_clause_leaves_before_the_next_one_ends() -> None:
    shown: list[str] = []
    seen_at_second = []

    def tokens() -> Iterator[str]:
        yield from ["The CEO ", "is Jane ", "Doe. ", "Contact "]
        seen_at_second.extend(shown)
        yield "support."

    for piece in StreamingRepairer(score).stream(tokens()):
        shown += [piece.text]

    assert seen_at_second == ["The CEO is Jane Doe. "]


def test_an_open_clause_is_scored_when_its_last_token_arrives() -> None:
    scored: list[str] = []
    scored_before_second = []

    def tokens() -> Iterator[str]:
        yield from ["The CEO ", "is Jane ", "Doe."]
        scored_before_second.extend(scored)
        yield " Contact support."

    def scoring(clause: str) -> float:
        scored.append(clause)
        return 0.9

    list(StreamingRepairer(scoring).stream(tokens()))

    assert scored_before_second == ["The CEO is Jane Doe."]
    assert scored == ["The CEO is Jane Doe.", "Contact support."]


def test_text_that_only_looks_complete_is_not_paid_for_many_times() -> None:
    scored: list[str] = []

    def scoring(clause: str) -> float:
        scored.append(clause)
        return 0.9

    text = "We saw " + " and ".join(f"item no{n}. b" for n in range(30)) + " today."
    StreamingRepairer(scoring).stream(list(text)).close()
    list(StreamingRepairer(scoring).stream(list(text)))

    assert len(scored) <= 4


def test_pieces_tell_what_became_of_the_clauses_they_complete() -> None:
    stream = StreamingRepairer(score).stream(ANSWER)

    told = [(piece.text, [action.action for action in piece.actions]) for piece in stream]

    assert told == [(f"{REDACTED_CLAUSE} ", ["redact"]), ("Contact support.", ["keep"])]
    assert all(action.held_seconds is not None for action in stream.result.actions)


def test_while_a_clause_is_rewritten_later_tokens_are_read_up_to_a_bound() -> None:
    read: list[int] = []
    read_during_rewrite: list[int] = []

    def tokens() -> Iterator[str]:
        yield "The CEO is a robot. Then"
        for number in range(20):
            read.append(number)
            yield f" word{number}"
        yield "."

    def slow(clause: str, evidence: list[str]) -> str:
        deadline = time.monotonic() + 60
        while len(read) < 5 and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.05)
        read_during_rewrite.extend(read)
        return evidence[0]

    repairer = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=slow, read_ahead=5)
    shown = "".join(pieces(repairer.stream(tokens())))

    assert shown == "The CEO is Jane Doe. Then" + "".join(f" word{n}" for n in range(20)) + "."
    assert 5 <= len(read_during_rewrite) <= 7


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_stream_is_read_on_as_well(backend: str) -> None:
    read: list[int] = []

    async def tokens() -> AsyncIterator[str]:
        yield "The CEO is a robot. Then"
        for number in range(20):
            read.append(number)
            yield f" word{number}"

    read_during_rewrite: list[int] = []

    async def slow(clause: str, evidence: list[str]) -> str:
        while len(read) < 5:
            await anyio.sleep(0)
        await anyio.sleep(0.01)
        read_during_rewrite.extend(read)
        return evidence[0]

    async def main() -> str:
        repairer = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=slow, read_ahead=5)
        with anyio.fail_after(60):
            return "".join([piece.text async for piece in repairer.astream(tokens())])

    shown = anyio.run(main, backend=backend)
    assert shown == "The CEO is Jane Doe. Then" + "".join(f" word{n}" for n in range(20))
    assert 5 <= len(read_during_rewrite) <= 7


# --- how functions may come -------------------------------------------------------------------------------------


def test_several_clauses_are_asked_about_at_once_where_functions_take_lists() -> None:
    calls: list[tuple[str, int]] = []

    def scores(clauses: list[str]) -> list[float]:
        calls.append(("score", len(clauses)))
        return [score(clause) for clause in clauses]

    def retrieves(clauses: list[str]) -> list[Any]:
        calls.append(("retrieve", len(clauses)))
        return [retrieve(clause) for clause in clauses]

    def rewrites(clauses: list[str], evidence: list[list[str]]) -> list[str]:
        calls.append(("rewrite", len(clauses)))
        return [f"CEO {number} is {texts[0][11:]}" for number, texts in enumerate(evidence)]

    repairer = StreamingRepairer(
        scores, retrieve_fn=retrieves, rewrite_fn=rewrites, batched=("score_fn", "retrieve_fn", "rewrite_fn")
    )
    result = repairer.repair("One robot. Two robots. Three people. Four robots. Five.")

    assert [action.action for action in result.actions] == ["rewrite", "rewrite", "keep", "rewrite", "keep"]
    assert calls[:4] == [("score", 4), ("retrieve", 3), ("rewrite", 3), ("score", 3)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_asynchronous_functions_are_asked_side_by_side(backend: str) -> None:
    running, most = 0, 0

    async def slow_score(clause: str) -> float:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1
        return score(clause)

    async def main() -> str:
        return (await StreamingRepairer(slow_score).arepair("One. Two. A robot. Four. Five. Six.")).repaired_text

    assert anyio.run(main, backend=backend) == f"One. Two. {REDACTED_CLAUSE} Four. Five. Six."
    assert most > 1


def test_a_finished_text_can_be_repaired_with_asynchronous_functions_without_a_loop() -> None:
    async def slow_score(clause: str) -> float:
        await anyio.sleep(0)
        return score(clause)

    assert StreamingRepairer(slow_score).repair(ANSWER).repaired_text == f"{REDACTED_CLAUSE} Contact support."


def test_asynchronous_functions_are_refused_where_nobody_can_await_them() -> None:
    async def slow_score(clause: str) -> float:
        return 0.9

    repairer = StreamingRepairer(slow_score)
    with pytest.raises(ConfigError, match=r"astream\(\)"):
        repairer.stream([ANSWER])

    async def main() -> None:
        with pytest.raises(ConfigError, match=r"arepair\(\)"):
            repairer.repair(ANSWER)

    anyio.run(main)


def test_an_object_with_an_asynchronous_form_is_awaited_by_an_asynchronous_stream() -> None:
    class Rewriter:
        def __call__(self, clause: str, evidence: Sequence[str]) -> str:
            raise AssertionError("the asynchronous form was to be called")

        async def acall(self, clause: str, evidence: Sequence[str]) -> str:
            await anyio.sleep(0)
            return evidence[0]

    async def main() -> str:
        repairer = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=Rewriter())
        return (await repairer.arepair(ANSWER)).repaired_text

    assert anyio.run(main) == "The CEO is Jane Doe. Contact support."


def test_a_rewriter_that_hangs_is_left_behind() -> None:
    release = threading.Event()
    repairer = StreamingRepairer(
        score, retrieve_fn=retrieve, rewrite_fn=lambda *_: release.wait(30), deadline=0.05, read_ahead=0
    )

    result = repairer.repair(f"{ANSWER} Another robot.")
    release.set()

    assert [action.detail for action in result.actions] == ["rewriter_timeout", "", "rewriter_timeout"]
    assert result.repaired_text == f"{REDACTED_CLAUSE} Contact support. {REDACTED_CLAUSE}"


# --- caps, continuation, other checks ---------------------------------------------------------------------------


def test_a_stream_halts_where_too_much_would_be_redacted() -> None:
    text = "A robot. " * 3 + "Fine. " * 5 + "A robot. " * 3

    result = StreamingRepairer(score, most_redacted=3, cap_after=8).repair(text)

    assert result.repaired_text == f"{REDACTED_CLAUSE} " * 3 + "Fine. " * 5
    assert result.halted
    assert result.halt_reason == "too_many_redactions count=4 judged=9"
    assert result.halt_evidence is not None
    assert result.events[-1].policy_decision == "halt"
    assert len(result.actions) == 8


def test_a_share_of_redactions_counts_only_once_enough_was_judged() -> None:
    repairer = StreamingRepairer(score, most_redacted_share=0.5, cap_after=4)

    assert not repairer.repair("A robot. A robot. A robot. ").halted
    assert repairer.repair("A robot. A robot. A robot. A robot. ").halted


def test_nothing_is_capped_by_default() -> None:
    assert not StreamingRepairer(score).repair("A robot. " * 50).halted


def test_behind_a_rewrite_generation_goes_on_from_the_corrected_text() -> None:
    asked: list[str] = []

    def go_on(prefix: str, failure: Any) -> list[str]:
        asked.append(prefix)
        return [" She ", "is ", "kind."]

    repairer = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=rewrite, continuation=go_on)
    closed = []

    def tokens() -> Iterator[str]:
        try:
            yield from ["Hello! ", "The CEO is a robot. ", "It needs oil. ", "It beeps."]
        finally:
            closed.append(True)

    stream = repairer.stream(tokens())
    shown = "".join(pieces(stream))

    assert shown == "Hello! The CEO is Jane Doe. She is kind."
    assert asked == ["Hello! The CEO is Jane Doe."]
    assert closed == [True]
    assert [(action.action, action.clause.strip()) for action in stream.result.actions] == [
        ("keep", "Hello!"),
        ("rewrite", "The CEO is a robot."),
        ("keep", "She is kind."),
    ]
    assert not stream.result.halted


def test_generation_is_resumed_only_so_often_and_then_simply_goes_on() -> None:
    repairer = StreamingRepairer(
        score,
        retrieve_fn=retrieve,
        rewrite_fn=rewrite,
        continuation=lambda prefix, failure: [" A robot again. And more."],
        most_continuations=2,
    )
    stream = repairer.stream(["A robot. Lost."])

    assert "".join(pieces(stream)) == "The CEO is Jane Doe. The CEO is Jane Doe. The CEO is Jane Doe. And more."
    assert stream.result.checked.reasks == 2


def test_a_continuation_that_fails_ends_the_stream_behind_the_rewrite() -> None:
    def broken(prefix: str, failure: Any) -> list[str]:
        raise OSError

    stream = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=rewrite, continuation=broken).stream([ANSWER])

    assert "".join(pieces(stream)) == "The CEO is Jane Doe."
    assert stream.result.halt_reason.startswith("continuation_error")


def test_edits_of_other_checks_are_merged_with_repairs() -> None:
    repairer = StreamingRepairer(score, checks=[PII(), Casing(to="upper")])

    result = repairer.repair("Write to ada@example.com today. The CEO is a robot. Bye.")

    assert result.repaired_text == f"WRITE TO [EMAIL] TODAY. {REDACTED_CLAUSE} BYE."


def test_what_a_rewriter_puts_there_is_seen_by_the_other_checks() -> None:
    repairer = StreamingRepairer(
        score, retrieve_fn=retrieve, rewrite_fn=lambda *_: "Ask ada@example.com about it.", checks=[PII()]
    )

    assert repairer.repair(ANSWER).repaired_text == "Ask [EMAIL] about it. Contact support."


def test_a_rewrite_that_loses_to_a_removal_becomes_a_redaction() -> None:
    repairer = StreamingRepairer(
        score,
        retrieve_fn=retrieve,
        rewrite_fn=lambda clause, _: clause.replace("robot ada", "person bob"),
        checks=[Pattern(pattern=r"ada|bob")],
    )

    result = repairer.repair("The CEO is a robot ada. Contact support.")

    assert "robot" not in result.repaired_text
    assert result.repaired_text.endswith(" Contact support.")
    assert result.actions[0].action == "redact"
    assert "robot" not in result.actions[0].text


# --- JSON -------------------------------------------------------------------------------------------------------


def test_string_values_are_repaired_and_the_text_stays_json() -> None:
    text = json.dumps({"robot": 'The CEO is a robot.\nContact "support".', "n": [1, 2.5, None], "s": "ok"}, indent=1)
    repairer = StreamingRepairer(score, retrieve_fn=retrieve, rewrite_fn=lambda *_: 'The CEO is "Jane" Doe.')

    stream = repairer.stream(text, shape="json")
    shown = "".join(pieces(stream))

    assert json.loads(shown) == {"robot": 'The CEO is "Jane" Doe.\nContact "support".', "n": [1, 2.5, None], "s": "ok"}


# --- settings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": float("nan")},
        {"threshold": "0.5"},
        {"threshold": -0.1},
        {"threshold": True},
        {"retrieve_fn": 3},
        {"rewrite_fn": "x"},
        {"deadline": 0},
        {"most_redacted": -1},
        {"most_redacted_share": 1.5},
        {"read_ahead": -1},
        {"placeholder": " "},
        {"early": "yes"},
        {"batched": "score_fn"},
    ],
    ids=str,
)
def test_bad_settings_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        StreamingRepairer(score, **options)


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownOption, match="rewrite_fn"):
        StreamingRepairer(score, rewrite_fun=rewrite)
    with pytest.raises(UnknownOption, match="score_fn"):
        StreamingRepairer(score, batched=["score"])
    with pytest.raises(UnknownOption, match="json"):
        StreamingRepairer(score).repair("x", shape="jsn")  # type: ignore[arg-type]


@pytest.mark.parametrize("tenant_id", [" ", "../x", "a/b", "*", "%", "x" * 300])
def test_a_tenant_that_is_none_is_refused(tenant_id: str) -> None:
    with pytest.raises(ConfigError, match="tenant_id"):
        StreamingRepairer(score).repair(ANSWER, tenant_id=tenant_id)
