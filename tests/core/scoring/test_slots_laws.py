"""What holds for every text: exact spans, no difference from itself, no error, linear work."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.core.scoring.slots import compare_slots, find_slots
from director_ai.core.scoring.slots.lexicon import Lexicon

FRAGMENTS = (
    "a an the not no n't never 1 30 31 days % $ € 5 - – to between and at least March May 2021 , . : 14:00 9 am pm "
    "o'clock half past quarter of twenty-five hundred million thirds Jane Doe U.S. I II all open closed more than or "
    "older 's ’ \n ½ 1/2 3k mg km / h ² one two dozen couple first 3rd century per Q1 Monday 12/13/2021 1.2.3 ( ) + "
    "without fails refuses may can permitted forbidden if too per Smith ; 1,000 .5 \ud800 \x00 ͏ İ ß ﬁ ٣ ५ 九"
).split(" ")
TEXTS = st.one_of(
    st.text(max_size=80),
    st.text(alphabet=st.characters(), max_size=40),
    st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(" ".join),
    st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join),
    st.text(alphabet="0123456789.,:/- $%a'’\ud800\x00", max_size=40),
)


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_spans_are_exact_sorted_and_apart_within_a_kind(text: str) -> None:
    slots = find_slots(text)
    assert [slot.start for slot in slots] == sorted(slot.start for slot in slots)
    ends: dict[str, int] = {}
    for slot in slots:
        assert slot.text == text[slot.start : slot.end] != ""
        assert slot.start >= ends.get(slot.kind, 0)
        ends[slot.kind] = slot.end


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert compare_slots(text, text) == ()


@settings(deadline=None, max_examples=150)
@given(TEXTS, TEXTS)
def test_more_evidence_does_not_undo_a_sentence_that_is_there(text: str, more: str) -> None:
    assert compare_slots(text, f"{text}\n{more}") == ()


@settings(deadline=None, max_examples=200)
@given(TEXTS, TEXTS)
def test_a_difference_is_between_slots_of_the_two_texts(claim: str, evidence: str) -> None:
    found = compare_slots(claim, evidence)
    assert found == compare_slots(claim, evidence)
    for difference in found:
        assert difference.claim.text == claim[difference.claim.start : difference.claim.end]
        if difference.evidence is not None:
            assert difference.evidence.text == evidence[difference.evidence.start : difference.evidence.end]


UNITS = {
    "numbers": "1 ",
    "numbers with stops": "1. ",
    "grouped digits": "1,000",
    "digits": "9",
    "hyphenated words": "twenty-",
    "ranges": "1 to ",
    "fractions": "1/2 ",
    "negations": "not ",
    "sentences of negations": "never never. ",
    "refusals": "fail to ",
    "dotted letters": "a.b.",
    "titles": "Mr. X ",
    "capitals": "A ",
    "hyphenated capitals": "A-",
    "bounds": "at least ",
    "signs": "($",
    "months": "March ",
    "quantifiers": "all ",
    "lines": "x\n",
    "sentences of numbers": "more than 3 days and 4 men. ",
    "joined numbers": "1-",
    "commas": "1,1,",
    "amounts": "$1",
    "percentages": "1%",
    "lines of numbers": "1\n",
    "compound measures": "1 hour 1 minute ",
    "telephone numbers": "1-2-3-",
    "spaced thousands": "1 000 ",
    "dates": "May 1, 2020 ",
    "spaces": "x" + " " * 50,
    "initials": "J. ",
    "names": "Jane Doe met Bob Ray. ",
    "contractions": "isn't ",
    "non": "non-",
    "signs alone": "’",
    "sentences of antonyms": "The pool is open. The pool is closed. ",
}


def count_calls(claim: str, evidence: str) -> int:
    """Calls of Python and built-in functions while comparing."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        compare_slots(claim, evidence)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_twice_the_text_is_at_most_twice_the_work(unit: str) -> None:
    text = unit * (1500 // len(unit))
    once, twice = count_calls(text + "z 7", text), count_calls(text * 2 + "z 7", text * 2)
    assert twice <= 2.2 * once


def test_of_a_dump_of_numbers_only_the_first_five_thousand_are_compared_but_all_are_found() -> None:
    numbers = " ".join(str(number) for number in range(10, 5_200))
    text = f"{numbers}. The fee is $30 there."
    assert find_slots(text)[-1].text == "$30"
    assert compare_slots("The fee is $31 there.", text) == ()
    (difference,) = compare_slots("The fee is $31 there.", text.partition(". ")[2])
    assert difference.claim.text == "$31"


def test_the_lexicon_stays_small_whatever_it_meets() -> None:
    lexicon = Lexicon()
    for number in range(90_000):
        assert lexicon[f"w{number} "].raw == f"w{number}"
    assert len(lexicon) <= 40_000
    before = len(lexicon)
    assert lexicon["x" * 100_000].word == "x" * 100_000
    assert len(lexicon) == before, "a long word is not kept"


def test_the_verbatim_sentence_is_found_in_a_long_text() -> None:
    evidence = " ".join(f"Room {number} has {number + 3} beds." for number in range(300))
    assert compare_slots("Room 250 has 253 beds.", evidence) == ()
