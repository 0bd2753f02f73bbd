from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from director_ai.core.merge import merge_edits
from director_ai.errors import UnknownOption
from director_ai.validators.casing import Casing

CASED = st.text(st.one_of(st.characters(), st.sampled_from("AbΣσςßẞİıŉﬁΐ.'-: \u0301\u00ad")))


def applied(check: Casing, text: str) -> str:
    return merge_edits(text, check.find(text)).text


@given(CASED)
@example("ΌΣΟΣ ΑΣ.Β ΑΣ. Σ İΣİ")
def test_lower_case_is_exactly_that_of_the_language(text: str) -> None:
    assert applied(Casing(), text) == text.lower()


@given(CASED)
@example("straße ŉ ﬁ ΐ")
def test_upper_case_is_exactly_that_of_the_language(text: str) -> None:
    assert applied(Casing(to="upper"), text) == text.upper()


@given(CASED)
def test_every_character_of_an_edit_changes_and_no_two_edits_of_equal_length_touch(text: str) -> None:
    edits = list(Casing().find(text))
    for edit in edits:
        assert edit.kind == "style"
        if len(edit.replacement) == edit.end - edit.start:
            assert all(old != new for old, new in zip(text[edit.start : edit.end], edit.replacement, strict=True))
        else:
            assert edit.end - edit.start == 1
    for one, other in itertools.pairwise(edits):
        assert one.end < other.start or "İ" in (text[one.start], text[other.start])


def test_one_edit_stands_for_a_whole_run() -> None:
    assert [(edit.start, edit.end, edit.replacement) for edit in Casing().find("a BIG Dog")] == [
        (2, 5, "big"),
        (6, 7, "d"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("hello there. YOU", "Hello there. YOU", id="first letter only"),
        pytest.param("“the end”", "“The end”", id="behind a quotation mark"),
        pytest.param("3 cats", "3 cats", id="a number comes first"),
        pytest.param("Fine", "Fine", id="a capital already"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_sentence_begins_with_a_capital(text: str, expected: str) -> None:
    assert applied(Casing(to="sentence"), text) == expected


def test_frontiers_and_unknown_cases() -> None:
    assert (Casing().frontier, Casing(to="sentence").frontier) == ("word", "sentence")
    with pytest.raises(UnknownOption, match="lower"):
        Casing(to="lowr")  # type: ignore[arg-type]
