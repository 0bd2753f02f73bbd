"""What reports and pages show alike: marks for what is invisible, differences as stretches, words for verdicts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.scoring.slots import compare_slots
from director_ai.core.showing.stretches import compare_texts, mark_values
from director_ai.core.showing.unseen import escape_visibly
from director_ai.core.showing.words import figure, why

# --- marks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>&\"'", "&lt;b&gt;&amp;&quot;&#x27;"),
        ("a\u202eb", "U+202E"),
        ("a\u200bb", "U+200B"),
        ("a\x1b[31mb", "U+001B"),
        ("a\u00adb", "U+00AD"),
        ("a\ufeffb", "U+FEFF"),
        ("a\U000e0041b", "U+E0041"),
    ],
    ids=["markup", "bidi", "zero width", "escape", "soft hyphen", "byte order mark", "tag character"],
)
def test_what_nobody_sees_is_shown(text: str, shown: str) -> None:
    assert shown in escape_visibly(text)


def test_lines_and_pictures_stay_as_they_are() -> None:
    assert escape_visibly("one\n\ttwo 👩\u200d💻 ❤\ufe0f") == "one\n\ttwo 👩\u200d💻 ❤\ufe0f"


@given(st.text())
def test_no_markup_comes_out_of_a_text(text: str) -> None:
    shown = escape_visibly(text).replace('<span class="unseen" title="', "").replace("</span>", "").replace('">U+', "")
    assert "<" not in shown
    assert ">" not in shown


# --- differences ----------------------------------------------------------------------------------------------


@given(st.text(alphabet="ab1., \n"), st.text(alphabet="ab1., \n"))
def test_two_texts_can_be_read_off_their_differences(old: str, new: str) -> None:
    made = compare_texts(old, new)
    assert "".join(text for kind, text in made if kind != "new") == old
    assert "".join(text for kind, text in made if kind != "gone") == new


def test_whole_values_and_names_differ_not_their_letters() -> None:
    made = compare_texts("Martin Keller pays 3.1 % a year.", "Clara Voss pays 2.1 % a year.")
    assert [(kind, text) for kind, text in made if kind != "same"] == [
        ("gone", "Martin Keller"),
        ("new", "Clara Voss"),
        ("gone", "3.1"),
        ("new", "2.1"),
    ]


def test_texts_of_a_million_characters_are_compared_as_wholes() -> None:
    assert [kind for kind, _ in compare_texts("a " * 500_000, "b " * 500_000)] == ["gone", "new"]


def test_the_differing_value_of_evidence_is_marked() -> None:
    evidence = "Refunds are available within 30 days."
    (found,) = compare_slots("Refunds are available within 90 days.", evidence)
    assert found.evidence is not None
    assert ("value", found.evidence.text) in mark_values(evidence, [found.evidence])


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (0.0, "0.00"), (0.0001, "<0.01"), (0.951, "0.95")])
def test_a_score_is_shown_with_two_decimals(value: float | None, shown: str) -> None:
    assert figure(value) == shown


def test_a_reason_without_words_of_its_own_is_shown_in_its_own() -> None:
    assert why("contradicted") == "the evidence says otherwise"
    assert why("something_new") == "something new"
