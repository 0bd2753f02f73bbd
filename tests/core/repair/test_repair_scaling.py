"""Promise 13: the work of a repair stays proportional. Counted, not timed: calls, questions, characters handed out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from counting import count_calls
from director_ai.core.streaming_repair import REDACTED_CLAUSE, RepairResult, StreamingRepairer
from director_ai.validators import PII, Casing

MOST = 2.2


class Counted:
    """Functions that count what they are asked and how much they are handed."""

    def __init__(self, **options: Any) -> None:
        self.calls = self.characters = 0
        self.rewritten = 0
        self._options = options

    def score(self, clause: str) -> float:
        self.calls += 1
        self.characters += len(clause)
        return 0.1 if "bad" in clause else 0.9

    def retrieve(self, clause: str) -> list[str]:
        self.calls += 1
        self.characters += len(clause)
        return ["a fact"]

    def rewrite(self, clause: str, evidence: list[str]) -> str:
        self.calls += 1
        self.characters += len(clause)
        self.rewritten += 1
        return clause.replace("bad", "good")

    def run(self, tokens: Iterable[str], shape: str = "text") -> RepairResult:
        repairer = StreamingRepairer(
            self.score, retrieve_fn=self.retrieve, rewrite_fn=self.rewrite, read_ahead=0, **self._options
        )
        with repairer.stream(tokens, shape=shape) as stream:  # type: ignore[arg-type]
            for _ in stream:
                pass
        return stream.result


def words(text: str) -> list[str]:
    return [f"{word} " for word in text.split(" ")]


STREAMS: dict[str, Callable[[int], Iterable[str]]] = {
    "prose": lambda size: words("It is so, and that is that. " * (size // 28)),
    "letter by letter": lambda size: iter("It is so, and that is that. " * (size // 28)),
    "many repairs": lambda size: words("It is bad here. That is fine. " * (size // 30)),
    "all repairs in one token": lambda size: ["It is bad here. That is bad. " * (size // 30)],
    "no end of a clause": lambda size: words("and so on " * (size // 10)),
    "no white space": lambda size: iter("x" * size),
    "no white space, dots": lambda size: iter("x." * (size // 2)),
    "what seems to be complete": lambda size: words("a. b. c. " * (size // 9)),
    "what seems to be complete, letter by letter": lambda size: iter("a. b. c! d? " * (size // 12)),
    "abbreviations": lambda size: words("e.g. i.e. No. 5 of Dr. A. B. " * (size // 28)),
    "blank": lambda size: iter(" \n" * (size // 2)),
    "marks": lambda size: iter("- * # " * (size // 6)),
    "one clause again and again": lambda size: ["It is so. "] * (size // 10),
}
LETTERS = ("letter by letter", "blank", "marks")
"""These have the most tokens."""


@pytest.mark.parametrize("beside", [(), (PII(), Casing(to="lower"))], ids=["alone", "checks beside"])
@pytest.mark.parametrize("name", STREAMS)
def test_twice_the_stream_costs_at_most_2_2_times_the_work(name: str, beside: tuple[Any, ...]) -> None:
    def work(size: int) -> tuple[int, int, int]:
        counted = Counted(checks=beside)
        called = count_calls(lambda: counted.run(STREAMS[name](size)))
        return called, counted.calls, counted.characters

    size = 1_000 if name.endswith(LETTERS) else 2_000
    few, many = work(size), work(2 * size)
    for first, second in zip(few, many, strict=True):
        assert second <= MOST * first + 2


@pytest.mark.parametrize("name", STREAMS)
def test_each_character_is_handed_out_a_few_times_at_the_most(name: str) -> None:
    """Once when it is scored, twice early, and where it is wrong once for evidence, for a rewrite and for its score."""
    counted = Counted()
    result = counted.run(STREAMS[name](20_000))
    assert counted.characters <= (6 if "repairs" in name else 3) * 20_000
    assert counted.calls <= 3 * max(1, len(result.actions)) + 3 * counted.rewritten


@pytest.mark.parametrize("kind", ["values", "one long value", "escapes", "figures", "nested"])
def test_twice_the_json_costs_at_most_2_2_times_the_work(kind: str) -> None:
    def text(count: int) -> str:
        return {
            "values": "[" + ", ".join(['{"a": "It is bad here. It is so."}'] * count) + "]",
            "one long value": '["' + "It is so, and that is bad. " * count + '"]',
            "escapes": '["' + "\\u00e9\\n\\\\ is bad. " * count + '"]',
            "figures": "[" + ", ".join(["12.5"] * count) + "]",
            "nested": "[" * count + '"It is bad."' + "]" * count,
        }[kind]

    def work(count: int) -> tuple[int, int, int]:
        counted = Counted()
        tokens = [text(count)[at : at + 5] for at in range(0, len(text(count)), 5)]
        return count_calls(lambda: counted.run(tokens, "json")), counted.calls, counted.characters

    for first, second in zip(work(150), work(300), strict=True):
        assert second <= MOST * first + 2


def test_fixes_that_lose_to_other_checks_cost_no_more_than_others() -> None:
    """Of a finished text everything is merged at once."""

    def work(count: int) -> int:
        counted = Counted(checks=[PII()])
        text = "Write to bad@example.org of it. It is so. " * count
        found: list[RepairResult] = []
        calls = count_calls(lambda: found.append(counted.run([text])))
        assert found[0].repaired_text.count(REDACTED_CLAUSE) == count
        return calls

    few, many = work(100), work(200)
    assert many <= MOST * few


def test_generation_that_is_resumed_does_not_read_all_of_it_again() -> None:
    handed: list[int] = []

    def score(clause: str) -> float:
        handed.append(len(clause))
        return 0.1 if "bad" in clause else 0.9

    long = "It is so, and that is that. " * 400
    repairer = StreamingRepairer(
        score,
        retrieve_fn=lambda _: ["a fact"],
        rewrite_fn=lambda *_: "It is good.",
        continuation=lambda *_: [" " + long, "It is bad. Dropped."],
        most_continuations=20,
    )
    result = repairer.repair(f"{long}It is bad. Dropped.")
    assert result.checked.reasks == 20
    assert sum(handed) <= 1.2 * len(result.repaired_text)


@pytest.mark.parametrize(
    ("token", "count"), [("a. b. c. ", 30_000), ("x", 100_000), ("It is so. ", 10_000), ("bad. ", 1_000)]
)
def test_many_tokens_pass_and_each_clause_is_asked_about_a_few_times(token: str, count: int) -> None:
    counted = Counted()
    result = counted.run(token for _ in range(count))
    assert result.repaired_text == token.replace("bad", "good") * count
    assert counted.calls <= 4 * len(result.actions)


@pytest.mark.timeout(100)  # some seconds
@pytest.mark.parametrize(
    "text", ["x", "word ", "It is so. ", "\u0301", '"'], ids=["letters", "words", "clauses", "marks", "quotes"]
)
@pytest.mark.parametrize("shape", ["text", "json"])
def test_a_token_of_10_mb_does_not_hang(text: str, shape: str) -> None:
    """Of short clauses and of empty strings there are millions: a little of it shows whether anything hangs."""
    size = 200_000 if text in ("It is so. ", '"') else 10_000_000
    token = text * (size // len(text))
    result = StreamingRepairer(lambda clause: 0.9).repair(f'"{token}"' if shape == "json" else token, shape=shape)  # type: ignore[arg-type]
    assert len(result.repaired_text) >= size - len(text)
