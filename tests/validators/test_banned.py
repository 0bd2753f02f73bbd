from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError
from director_ai.validators.banned import BannedWords


def applied(check: BannedWords, text: str) -> str:
    return merge_edits(text, check.find(text)).text


@pytest.mark.parametrize(
    ("words", "options", "text", "expected"),
    [
        pytest.param(["bad"], {}, "Bad, bads, BAD!", "[REMOVED], bads, [REMOVED]!", id="whole words in any case"),
        pytest.param(["bad"], {"whole_words": False}, "bads", "[REMOVED]s", id="inside of words"),
        pytest.param(["Bad"], {"ignore_case": False}, "bad Bad", "bad [REMOVED]", id="case counts"),
        pytest.param(
            ["a b", "a"], {}, "a  \n b a", "[REMOVED] [REMOVED]", id="phrase over a line break, longest first"
        ),
        pytest.param(["c++", ".net"], {}, "C++ asp.NET c+", "[REMOVED] asp[REMOVED] c+", id="words of signs"),
        pytest.param(["café"], {}, "cafe\u0301 cafe", "[REMOVED] cafe", id="both ways of writing an accent"),
        pytest.param(["हिन"], {}, "हिन्दी हिन", "हिन्दी [REMOVED]", id="an Indic vowel sign belongs to its word"),
        pytest.param(["fuss"], {}, "Fuß", "[REMOVED]", id="a letter that folds into two"),
        pytest.param(
            ["cafe"], {"fold": True}, "CAFÉ\u0301! ｃａｆｅ", "[REMOVED]! [REMOVED]", id="accents and full width"
        ),
        pytest.param(["x"], {"replacement": ""}, "a x b", "a  b", id="nothing in its place"),
        pytest.param([], {}, "all of it", "all of it", id="no words"),
        pytest.param(["(.*"], {}, "a (.* b", "a [REMOVED] b", id="signs of patterns are signs"),
    ],
)
def test_banned_words_are_replaced(words: list[str], options: dict[str, object], text: str, expected: str) -> None:
    assert applied(BannedWords(words, **options), text) == expected  # type: ignore[arg-type]


@given(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=30), st.text("abc ", max_size=60))
def test_whole_words_agree_with_a_list_of_words(words: list[str], text: str) -> None:
    expected = " ".join("[REMOVED]" if word in words else word for word in text.split(" "))
    assert applied(BannedWords(words), text) == expected


@given(st.lists(st.text(min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=5), st.text(), st.booleans())
def test_a_banned_word_among_others_goes(words: list[str], around: str, fold: bool) -> None:
    plain = [word for word in words if unicodedata.normalize("NFKD", word).isalnum() and word.strip()]
    if plain:
        check = BannedWords(plain, fold=fold, replacement="")
        text = f"{around} {plain[0]} "
        assert any(edit.start <= len(around) + 1 < edit.end for edit in check.find(text))


@pytest.mark.timeout(60)  # a second; minutes, where the words are tried one after the other
def test_thousands_of_words_and_words_within_words_do_not_hang() -> None:
    check = BannedWords([*(f"w{n}ord" for n in range(5_000)), *("a" * n for n in range(1, 300))], whole_words=False)
    text = "a" * 299 + " w4999ord " + "w4999orx " * 2_000_000
    assert [(edit.start, edit.end) for edit in check.find(text)] == [(0, 299), (300, 308)]


def test_the_frontier_is_the_longest_phrase() -> None:
    assert BannedWords(["ab", "abcd"]).frontier == 5
    assert BannedWords(["ab cd"]).frontier == 13


@pytest.mark.parametrize(
    "words",
    ["bad", [""], [" "], [1], None, ["x" * 5_000]],
    ids=["one text", "empty", "a space", "a number", "none", "too long"],
)
def test_what_is_no_list_of_words_is_refused(words: object) -> None:
    with pytest.raises(ConfigError) as refused:
        BannedWords(words)  # type: ignore[arg-type]
    assert "bad" not in str(refused.value)
