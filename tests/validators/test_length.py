"""The check of length: where it cuts, and that what is too short is pointed out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.checks.rules import Check
from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError
from director_ai.validators.length import Length

TEXT = "One two three. Four five! Six seven eight nine."


def fixed(check: Length, text: str) -> str:
    return merge_edits(text, check.find(text)).text


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        pytest.param({"most_characters": 47}, TEXT, TEXT, id="just long enough"),
        pytest.param({"most_characters": 46}, TEXT, "One two three. Four five!", id="behind the last sentence that fits"),
        pytest.param({"most_characters": 14}, TEXT, "One two three.", id="a sentence that fits exactly"),
        pytest.param({"most_characters": 13}, TEXT, "One two", id="no sentence fits, so behind a word"),
        pytest.param({"most_characters": 2}, TEXT, "On", id="no word fits"),
        pytest.param({"most_characters": 2}, "ae\u0301x", "a", id="no word fits, and a letter keeps its accent"),
        pytest.param({"most_words": 9}, TEXT, TEXT, id="just as many words"),
        pytest.param({"most_words": 6}, TEXT, "One two three. Four five!", id="too many words"),
        pytest.param({"most_words": 2}, TEXT, "One two", id="fewer words than a sentence"),
        pytest.param({"most_sentences": 3}, TEXT, TEXT, id="just as many sentences"),
        pytest.param({"most_sentences": 1}, TEXT, "One two three.", id="too many sentences"),
        pytest.param({"most_sentences": 2, "most_words": 4}, TEXT, "One two three.", id="the tighter of two limits"),
        pytest.param({"most_words": 4, "least_words": 4}, TEXT, "One two three. Four", id="behind a word where the sentence is too short"),
        pytest.param({"most_characters": 3}, "abc  \n", "abc", id="only white space is too much"),
        pytest.param({"most_sentences": 1}, "Hi.\n\n", "Hi.\n\n", id="white space is no sentence"),
        pytest.param({"most_characters": 5}, "", "", id="an empty text"),
    ],
)  # fmt: skip
def test_too_long_text_is_cut(options: dict[str, int], text: str, expected: str) -> None:
    assert fixed(Length(**options), text) == expected


def test_the_rest_is_removed_and_says_why() -> None:
    (edit,) = Length(most_words=3).find(TEXT)
    assert (edit.start, edit.end, edit.replacement, edit.kind, edit.check, edit.reason) == (
        14, len(TEXT), "", "remove", "length", "too_long",
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"least_characters": 48}, id="characters"),
        pytest.param({"least_words": 10}, id="words"),
        pytest.param({"least_sentences": 4}, id="sentences"),
        pytest.param({"least_words": 10, "most_characters": 5}, id="too short in one way and too long in another"),
    ],
)
def test_too_short_text_fails_without_a_change(options: dict[str, int]) -> None:
    (edit,) = Length(**options).find(TEXT)
    assert (edit.start, edit.end, edit.replacement) == (len(TEXT), len(TEXT), "")
    assert (edit.kind, edit.reason) == ("rewrite", "too_short")
    assert fixed(Length(**options), TEXT) == TEXT


def test_a_text_of_the_least_length_passes() -> None:
    assert Length(least_characters=47, least_words=9, least_sentences=3).find(TEXT) == []


def test_it_waits_for_the_whole_text() -> None:
    check = Length(most_words=3, name="short")
    assert isinstance(check, Check)
    assert check.frontier == "text"
    assert check.find(TEXT)[0].check == "short"


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="no limit"),
        pytest.param({"most_words": 0}, id="no words"),
        pytest.param({"most_words": -1}, id="fewer than none"),
        pytest.param({"most_words": 2.0}, id="a float"),
        pytest.param({"most_words": True}, id="a truth value"),
        pytest.param({"most_words": "3"}, id="a text"),
        pytest.param({"most_words": 3, "least_words": 4}, id="a least that is more than the most"),
        pytest.param({"most_words": 3, "name": None}, id="no name"),
    ],
)
def test_limits_that_cannot_be_right_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Length(**options)  # type: ignore[arg-type]


TEXTS = st.text(alphabet="ab A.!?\n1)-é\u0301", max_size=80)


@given(TEXTS, st.integers(1, 30), st.integers(1, 8), st.integers(1, 4))
def test_what_stays_is_a_beginning_that_fits(text: str, characters: int, words: int, sentences: int) -> None:
    check = Length(most_characters=characters, most_words=words, most_sentences=sentences)
    kept = fixed(check, text)
    assert text.startswith(kept)
    assert check.find(kept) == []
    assert len(kept) <= characters
    assert len(kept.split()) <= words


@given(TEXTS.filter(str.strip), st.integers(1, 30))
def test_something_stays(text: str, characters: int) -> None:
    assert fixed(Length(most_characters=characters), text.strip())


@pytest.mark.timeout(60)  # a second at most, where the work is proportional
@pytest.mark.parametrize(
    "text", ["a" * 400_000, "A b. " * 80_000, " " * 400_000, "e" + "\u0301" * 400_000, "1. " * 130_000]
)
def test_a_long_text_is_cut_without_hanging(text: str) -> None:
    kept = fixed(Length(most_characters=5_000, most_words=900, most_sentences=90), text)
    assert text.startswith(kept)
    assert len(kept) <= 5_000
