"""Promise 3: how the model cuts its tokens changes nothing of what a repair releases, records or ends by."""

from __future__ import annotations

import codecs
import json
import random
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repairs import BAD, SHAPES, Words, cut

from director_ai.core.streaming_repair import RepairResult, StreamingRepairer
from director_ai.validators import PII, BannedWords, Casing, Disguise, Rule


def score(clause: str) -> float:
    return 0.1 if BAD.search(clause) else 0.9


def retrieve(clause: str) -> Any:
    return [] if zlib.crc32(clause.encode()) % 7 == 0 else [("kb:1", "a fact")]


def rewrite(clause: str, evidence: list[str]) -> Any:
    """A rewriter of any quality that answers the same each time."""
    mended = BAD.sub("re1z", clause)
    answers = (mended, mended.split()[0], "", f"{mended} Write to jo1@example.org or ok2z!", clause, [clause, mended])
    return answers[zlib.crc32(clause.encode()) % len(answers)]


def go_on(prefix: str, failure: Any) -> list[str]:
    words = Words(random.Random(zlib.crc32(prefix.encode())))
    return [" ", words.text(2), words.text(2)]


def go_on_in_json(prefix: str, failure: Any) -> list[str]:
    return [json.dumps("".join(go_on(prefix, failure)))[1:], ', "last": "No9z is so, and ok8z is."}']


TOOLS: dict[str, Any] = {"score_fn": score, "retrieve_fn": retrieve, "rewrite_fn": rewrite, "read_ahead": 0}
REPAIRERS = {
    "redacts": StreamingRepairer(score),
    "rewrites": StreamingRepairer(**TOOLS),
    "rewrites, without early scores": StreamingRepairer(**TOOLS, early=False),
    "reads ahead": StreamingRepairer(**TOOLS | {"read_ahead": 16}),
    "halts where much is redacted": StreamingRepairer(score, most_redacted=1, cap_after=2),
    "halts where a share is redacted": StreamingRepairer(**TOOLS, most_redacted_share=0.1, cap_after=3),
    "resumes": StreamingRepairer(**TOOLS, continuation=go_on),
    "resumes, checks beside": StreamingRepairer(**TOOLS, continuation=go_on, checks=[PII(), Casing(to="lower")]),
    "checks beside": StreamingRepairer(**TOOLS, checks=[PII(), Casing(to="sentence")], first=[Disguise()]),
    "checks that halt": StreamingRepairer(
        **TOOLS,
        most_redacted=2,
        cap_after=0,
        checks=[Rule(check=PII(), on_fail="halt"), Rule(check=BannedWords(("euros",)), on_fail="filter")],
    ),
    "json": StreamingRepairer(**TOOLS, checks=[PII()]),
    "json, resumes": StreamingRepairer(**TOOLS, continuation=go_on_in_json),
    "json, checks beside": StreamingRepairer(
        **TOOLS,
        continuation=go_on_in_json,
        checks=[PII(), Casing(to="upper"), Rule(check=BannedWords(("euros",)), on_fail="filter")],
        first=[Disguise()],
    ),
}


def text_of(name: str, seed: int, longest: int) -> str:
    words = Words(random.Random(seed))
    return (words.json() if name.startswith("json") else words.text())[:longest]


def streamed(name: str, tokens: list[str]) -> tuple[Any, ...]:
    """All that came of a stream, but for when it was and how its events are numbered."""
    shape = "json" if name.startswith("json") else "text"
    told: list[Any] = []
    with REPAIRERS[name].stream(tokens, shape=shape, on_action=told.append, request_id="r-1") as stream:  # type: ignore[arg-type]
        shown = "".join(piece.text for piece in stream)
    result = stream.result
    assert shown == result.repaired_text
    assert [action.start for action in told] == [action.start for action in result.actions]
    return compared(result)


def compared(result: RepairResult) -> tuple[Any, ...]:
    checked = result.checked
    return (
        result.repaired_text,
        result.actions,
        [
            (event.policy_decision, event.halt_reason, event.observed_score, event.evidence_refs, event.attributes)
            for event in result.events
        ],
        result.halt_reason,
        result.halt_evidence,
        (checked.applied, checked.conflicts, checked.failures, checked.ended_by, checked.reasks),
        # What is odd behind a halt is seen only where it came along with the halt.
        () if result.halted or checked.reasks else checked.flags,
    )


@pytest.mark.parametrize("texts", [2, pytest.param(5, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", REPAIRERS)
def test_every_cut_in_two_gives_the_same(name: str, texts: int) -> None:
    for seed in range(texts):
        text = text_of(name, 100 * seed + 1, 80)
        whole = streamed(name, [text])
        for at in range(1, len(text)):
            assert streamed(name, [text[:at], text[at:]]) == whole, (seed, at)


@pytest.mark.parametrize("name", REPAIRERS)
def test_twenty_partitions_of_a_text_give_the_same(name: str) -> None:
    for seed in range(4):
        text = text_of(name, 10_000 + seed, 500)
        whole = streamed(name, [text])
        chance = random.Random(seed)
        for _ in range(19):
            assert streamed(name, cut(text, chance)) == whole, seed
        assert streamed(name, list(text)) == whole, seed


@pytest.mark.soak
@pytest.mark.parametrize("name", REPAIRERS)
def test_twenty_partitions_of_ten_thousand_texts_give_the_same(name: str) -> None:
    for seed in range(10_000 // len(REPAIRERS) + 1):
        text = text_of(name, 1_000_000 + seed, 2_000)
        whole = streamed(name, [text])
        chance = random.Random(seed)
        for _ in range(20):
            assert streamed(name, cut(text, chance)) == whole, seed


@pytest.mark.parametrize("name", ["rewrites", "resumes, checks beside", "json"])
def test_long_clauses_without_an_end_give_the_same(name: str) -> None:
    for seed in range(3):
        chance = random.Random(seed)
        text = text_of(name, 20_000 + seed, 300)
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(("word " * 600, "x" * 2_500, "é" * 2_100, "ok2z, " * 500)) + text[at:]
        whole = streamed(name, [text])
        for tokens in (cut(text, chance), [text[at : at + 7] for at in range(0, len(text), 7)]):
            assert streamed(name, tokens) == whole, seed


def as_units(text: str) -> str:
    """The same text in UTF-16 units, as a tokenizer that cuts through characters gives it."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(int.from_bytes(raw[at : at + 2], "little")) for at in range(0, len(raw), 2))


def decoded(raw: bytes, chance: random.Random) -> list[str]:
    """The tokens of a reader that gets bytes cut anywhere, and decodes them as they come."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    places = sorted(chance.choices(range(len(raw) + 1), k=chance.choice((1, 5, len(raw)))))
    parts = [raw[low:high] for low, high in zip([0, *places], [*places, len(raw)], strict=True)]
    return [decoder.decode(part) for part in parts] + [decoder.decode(b"", final=True)]


@pytest.mark.parametrize("name", ["rewrites", "checks beside", "json"])
def test_cuts_through_characters_give_the_same(name: str) -> None:
    for seed in range(15):
        chance = random.Random(seed)
        text = text_of(name, 30_000 + seed, 500).replace("ok", "😀👩‍👩‍👧 é ok", 2)
        whole = streamed(name, [text])
        units = as_units(text)
        for tokens in (list(units), cut(units, chance), decoded(text.encode(), chance), decoded(text.encode(), chance)):
            assert streamed(name, tokens) == whole, seed


def test_half_a_character_is_the_same_wherever_it_is_cut_off() -> None:
    text = "Ok1z is \ud83d ok2z. No3z is \udc00so. \ud800Ok4z.\ud83d"
    whole = streamed("rewrites", [text])
    assert whole[-1] == ("lone_surrogate",)
    assert "\ufffd" in whole[0]
    for at in range(1, len(text)):
        assert streamed("rewrites", [text[:at], text[at:]]) == whole, at
    assert streamed("rewrites", list(text)) == whole


def test_a_finished_text_comes_out_as_its_stream_does() -> None:
    for name, repairer in REPAIRERS.items():
        for seed in range(5):
            text = text_of(name, 40_000 + seed, 600)
            shape = "json" if name.startswith("json") else "text"
            assert compared(repairer.repair(text, request_id="r-1", shape=shape)) == streamed(name, [text])  # type: ignore[arg-type]


@settings(max_examples=25)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([shape.format("ok1z", "no2z", "ok3z") for shape in SHAPES]),
            st.text(alphabet='ab.!?"\\{}[]:, \n-*1)é。', max_size=12),
        ),
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_any_partition_of_any_mix_gives_the_same(pieces: list[str], chance: random.Random) -> None:
    text = "".join(pieces)
    for name in ("rewrites", "resumes", "json", "checks that halt"):
        assert streamed(name, cut(text, chance)) == streamed(name, [text]), name


@settings(max_examples=20)
@given(st.text(max_size=60), st.randoms(use_true_random=False))
def test_any_text_at_all_may_be_cut_anywhere(text: str, chance: random.Random) -> None:
    assert streamed("json", cut(as_units(text), chance)) == streamed("json", [text])
    assert streamed("resumes", cut(as_units(text), chance)) == streamed("resumes", [text])
