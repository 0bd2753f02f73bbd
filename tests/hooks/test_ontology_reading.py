"""Assertions from text: plain statements are understood, and nothing is asserted that was not said."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ontologies import MEDICINE

from director_ai import ProductionGuard
from director_ai.core.safety_event import validate_safety_event
from director_ai.hooks.ontology import OntologyHook, parse_ontology
from director_ai.hooks.ontology.terms import name_key
from director_ai.hooks.protocol import Occasion, consult

ONTOLOGY = parse_ontology(MEDICINE, syntax="turtle")
HOOK = OntologyHook(ONTOLOGY)


def said(text: str) -> list[tuple[str, ...]]:
    return [tuple(assertion) for assertion in HOOK.check_text(text).assertions]


UNDERSTOOD: dict[str, list[tuple[str, str, str]]] = {
    "Aspirin is a drug.": [("Aspirin", "is a", "drug")],
    "Aspirin was a drug.": [("Aspirin", "is a", "drug")],
    "Painkillers are drugs.": [("Painkillers", "is a", "drugs")],
    "A painkiller is a kind of drug.": [("painkiller", "is a", "drug")],
    "Aspirin treats headaches.": [("Aspirin", "treat", "headaches")],
    "ASPIRIN TREATS MALARIA": [("ASPIRIN", "treat", "MALARIA")],
    "Aspirin treats malaria and headaches.": [("Aspirin", "treat", "malaria"), ("Aspirin", "treat", "headaches")],
    "Aspirin treats malaria, headaches, and Paris.": [("Aspirin", "treat", "malaria"), ("Aspirin", "treat", "headaches"), ("Aspirin", "treat", "Paris")],
    "Aspirin treats malaria and quartz treats headaches.": [("Aspirin", "treat", "malaria"), ("quartz", "treat", "headaches")],
    "Aspirin is a drug and treats malaria.": [("Aspirin", "is a", "drug"), ("Aspirin", "treat", "malaria")],
    "However, aspirin treats malaria in adults.": [("aspirin", "treat", "malaria")],
    "Ann was born in Rome.": [("Ann", "born in", "Rome")],
    "The finger is part of the hand.": [("finger", "part of", "hand")],
    "Paris is the capital of France.": [("Paris", "capital of", "France")],
    "A finger is a part of a hand.": [("finger", "part of", "hand")],
    "Malaria is treated by quartz.": [("Malaria", "treated by", "quartz")],
    "Foozol treats malaria.": [("Foozol", "treat", "malaria")],
    "Ann born on 1990-02-28.": [("Ann", "born on", "1990-02-28")],
    "Foozol is a drug that helps.": [("Foozol", "is a", "drug")],
    "Every painkiller is a drug.": [("painkiller", "is a", "drug")],
    "Paris is\na drug.": [("Paris", "is a", "drug")],
    "Paris is a\r\nDrug.": [("Paris", "is a", "Drug")],
    "Aspirin treats\nMalaria.": [("Aspirin", "treat", "Malaria")],
    "Paris is a city\nRome is a drug": [("Paris", "is a", "city"), ("Rome", "is a", "drug")],
    "paris is a city\nrome is a drug": [("paris", "is a", "city"), ("rome", "is a", "drug")],
    "- Paris is a city\n- Rome is a drug": [("Paris", "is a", "city"), ("Rome", "is a", "drug")],
    "Cities\n\nrome is a drug": [("rome", "is a", "drug")],
    "Yes, Paris is a drug.": [("Paris", "is a", "drug")],
    "No, Paris is a drug.": [("Paris", "is a", "drug")],
    "In fact, Paris is a drug.": [("Paris", "is a", "drug")],
    "Of course Paris is a drug.": [("Paris", "is a", "drug")],
    "Paris is, of course, a drug.": [("Paris", "is a", "drug")],
    "Paris is definitely a drug.": [("Paris", "is a", "drug")],
    "Quartz certainly treats malaria.": [("Quartz", "treat", "malaria")],
    "Paris's a drug.": [("Paris", "is a", "drug")],
    "Paris’s actually a drug.": [("Paris", "is a", "drug")],
    "Paris is a drug that can help.": [("Paris", "is a", "drug")],
    "Paris is a drug, which may help if taken early.": [("Paris", "is a", "drug")],
    "Paris is a drug and may help.": [("Paris", "is a", "drug")],
    "Paris is a drug, but it can not cure malaria.": [("Paris", "is a", "drug")],
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), UNDERSTOOD.items(), ids=UNDERSTOOD.keys())
def test_plain_statements_are_understood(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert said(text) == expected


NOT_ASSERTED = [
    "Aspirin is not a drug.", "Aspirin isn't a drug.", "Aspirin isn’t a drug.", "Is aspirin a drug?", "Aspirin is a drug?",
    "Aspirin may treat malaria.", "If aspirin treats malaria, tell me.", "Some drugs are minerals.", "No drug is a mineral.",
    "Aspirin is a drug dealer.", "Aspirin is a drug of abuse.", "Aspirin is a promising new drug.", "It treats malaria.",
    "This is a drug.", "The drug is a painkiller.", "He was born in Rome.", "There is a drug.", "Aspirin is in Paris.",
    "Aspirin treats malaria or headaches.", "Aspirin never treats malaria.", "The new plan from last week treats malaria.",
    "Ann treats everyone with respect.", "Ann treats guests with respect.", "Ann treats guests well.", "Ann treats us.",
    "It is not true that\nParis is a drug.", "Paris is\nnot a drug.", "We do not think, whatever the others may say,\nParis is a drug.",
    "Paris is a drug that works, allegedly.", "Of course Paris is not a drug.", "No, Paris is not a drug.", "Paris is possibly a drug.",
    "It's a drug.", "That's a drug.", "There's a drug.", "Paris's drug is a mineral water.", "Aspirin treats malaria and headaches only if you rest.",
    "He denies that Paris is a drug that can help.", "No drug that can help is a mineral.", "In fact, it may be a drug.",
    "Ann is near the bank.", "Bank is near Rome.", "Aspirin is a drug, allegedly.", f"{'x' * 90} is a drug.", "Hello!", "42", "", "Aspirin.", "is a", "is a drug", "treats", "a a a a", "Nobody knows whether aspirin is a drug.",
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_ASSERTED)
def test_what_is_denied_asked_doubted_or_put_otherwise_is_not_asserted(text: str) -> None:
    assert said(text) == []


def test_what_was_not_understood_is_said_to_be_not_checked() -> None:
    verdict = HOOK.check_text("Aspirin is a drug. It may help. Who knows? Quartz treats malaria.")
    assert (len(verdict.assertions), verdict.not_checked) == (2, 2)
    assert verdict.reasons == ("domain at=1",)
    assert verdict.safety_event.attributes["not_checked"] == "2"
    nothing = HOOK.check_text("All is well that ends well.")
    assert (nothing.decision, nothing.reasons, nothing.not_checked) == ("allow", ("nothing_checked",), 1)


def test_disguised_words_are_read_as_they_look() -> None:
    assert HOOK.check_text("Qu\u200bartz treats mal\u0430ria.").decision == "halt"
    assert HOOK.check_text("Ｑｕａｒｔｚ treats malaria.").decision == "halt"


def test_sentences_contradict_each_other_across_an_answer() -> None:
    assert HOOK.check_text("Foozol is a drug. It helps a lot. Foozol is a city.").reasons == ("disjoint at=1",)


def test_no_text_is_none_of_its_business() -> None:
    assert HOOK.examine(Occasion(prompt="Aspirin is a city.", text=" ")) is None


def test_a_text_too_long_is_blocked_and_not_read() -> None:
    hook = OntologyHook(ONTOLOGY, max_characters=20)
    verdict = hook.examine(Occasion(text="Aspirin is a drug. " * 2))
    assert (verdict.decision, verdict.reasons) == ("block", ("text_too_long",))
    assert validate_safety_event(verdict.safety_event.to_dict())


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab .,!?\n’'-é\u200b0中"), max_size=60) | st.text(max_size=40))
def test_any_text_has_a_verdict_and_a_valid_event(text: str) -> None:
    verdict = HOOK.check_text(text)
    assert validate_safety_event(verdict.safety_event.to_dict()) == verdict.safety_event


WORDS = ["aspirin", "quartz", "is", "are", "a", "the", "drug", "treats", "malaria", "and", ",", ".", "not", "born", "in", "Rome", "Ann", "part", "of"]  # fmt: skip


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_row_of_words_has_a_verdict(words: list[str]) -> None:
    verdict = HOOK.check_text(" ".join(words))
    for assertion in verdict.assertions:
        assert all(part.strip() for part in assertion)
    assert "malformed_assertion" not in {broken.kind for broken in verdict.broken}


@pytest.mark.parametrize("text", ["is a " * 30_000, "a" * 150_000, "treats, and " * 15_000, "aspirin " * 20_000, "aspirin treats " * 10_000, "." * 150_000, "a.b" * 50_000], ids=["copulas", "one word", "commas", "names", "one long sentence", "stops", "dots"])  # fmt: skip
def test_text_made_to_be_slow_is_read_all_the_same(text: str) -> None:
    assert HOOK.check_text(text).decision == "allow"


# -- a reader of one's own ---------------------------------------------------------------------------------------------


def test_another_reader_may_take_the_assertions() -> None:
    hook = OntologyHook(ONTOLOGY, reader=lambda text: [(text, "treats", "malaria")])
    assert hook.examine(Occasion(text="quartz")).reasons == ("domain at=0",)


class Strange(BaseException):
    """Neither an Exception nor an interrupt."""


def raising(error: BaseException) -> Any:
    def reader(_text: str) -> Any:
        raise error

    return reader


def failing_late(_text: str) -> Any:
    yield ("aspirin", "is_a", "Drug")
    raise ValueError("CANARY")


async def awaited(_text: str) -> Any:
    return []


FAULTS: dict[str, tuple[Any, str]] = {
    "raises": (raising(ValueError("CANARY")), "reader_error"),
    "raises a BaseException": (raising(Strange("CANARY")), "reader_error"),
    "exits": (raising(SystemExit("CANARY")), "reader_error"),
    "closes a generator": (raising(GeneratorExit("CANARY")), "reader_error"),
    "is cancelled": (raising(asyncio.CancelledError("CANARY")), "reader_error"),
    "raises while it is read": (failing_late, "reader_error"),
    "must be awaited": (awaited, "reader_invalid"),
    **{
        f"answers {value!r}": (lambda _text, value=value: value, "reader_invalid")
        for value in (None, "aspirin", True, 0.5, float("nan"), float("inf"), {"a": 1}, b"x")
    },
    "answers with two parts": (lambda _text: [("aspirin", "is_a")], "malformed_assertion at=0"),
    "answers with NaN inside": (lambda _text: [("aspirin", "is_a", float("nan"))], "malformed_assertion at=0"),
    "answers without end": (lambda _text: iter(lambda: ("aspirin", "is_a", "Drug"), None), "too_many_assertions"),
}


@pytest.mark.parametrize(("reader", "reason"), FAULTS.values(), ids=FAULTS.keys())
def test_a_reader_that_fails_blocks(reader: Any, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    verdict = OntologyHook(ONTOLOGY, reader=reader).examine(Occasion(text="CANARY"))
    assert (verdict.decision, verdict.reasons) == ("block", (reason,))
    assert validate_safety_event(verdict.safety_event.to_dict()) == verdict.safety_event
    assert "CANARY" not in caplog.text + verdict.safety_event.to_json()


def test_a_reader_that_hangs_blocks_at_the_deadline() -> None:
    gate = threading.Event()
    hook = OntologyHook(ONTOLOGY, reader=lambda _text: gate.wait(20) and [])
    (late,) = consult([hook], Occasion(text="x"), deadline=0.05)
    gate.set()
    assert (late.safety_event.policy_decision, late.safety_event.halt_reason) == ("block", "hook_timeout")


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        OntologyHook(ONTOLOGY, reader=raising(KeyboardInterrupt())).examine(Occasion(text="x"))


def test_one_hook_serves_many_threads() -> None:
    reasons: list[str] = []

    def work(name: str) -> None:
        for _ in range(50):
            reasons.extend(HOOK.check_text(f"{name} is a drug. {name} treats malaria.").reasons)

    threads = [threading.Thread(target=work, args=(f"Foozol{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(reasons) == {"within_ontology"}


@pytest.mark.parametrize(
    ("one", "many"),
    [("headache", "headaches"), ("virus", "viruses"), ("city", "cities"), ("movie", "movies"), ("church", "churches"),
     ("box", "boxes"), ("cause", "causes"), ("glass", "glasses"), ("disease", "diseases"), ("child", "children")],
)  # fmt: skip
def test_one_and_many_are_one_name(one: str, many: str) -> None:
    assert name_key(one) == name_key(many)


@pytest.mark.parametrize("name", ["has_part", "has part", "Has Parts", "HAVE PART", "hasPart", "has-part"])
def test_ways_of_writing_a_name_are_one(name: str) -> None:
    assert name_key(name) == "have part"


# -- on a stream -------------------------------------------------------------------------------------------------------


def guarded(hook: OntologyHook, text: str) -> Any:
    guard = ProductionGuard.from_profile("general", use_nli=False, search="words", hooks=[hook])
    return guard.repair_stream("What is it?", text, tenant_id="acme")


def test_a_stream_ends_before_what_the_ontology_rules_out() -> None:
    outcome = guarded(HOOK, "Aspirin is a drug. Quartz treats malaria. Aspirin treats malaria.")
    assert outcome.halted
    assert "Aspirin is a drug." in outcome.repaired_text
    assert "Quartz" not in outcome.repaired_text


def test_sentences_that_contradict_each_other_need_the_whole_text() -> None:
    text = "Foozol is a drug. Foozol is a city."
    assert not guarded(HOOK, text).halted
    assert guarded(OntologyHook(ONTOLOGY, frontier="text"), text).halted
