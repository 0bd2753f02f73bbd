"""Plain text: passages hold what stands between their offsets, and nothing is lost between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingested import fold, ingest, located, texts

from director_ai.knowledge.ingest import Passage
from director_ai.knowledge.ingest.grouping import MOST_WORDS

prose = st.text(alphabet="abAB .!?,;:-*#|`$\n\r\t\f\x1f\x85\xa0\u2028\u2029'\"()[]019é語。•👍🏽\u0301", max_size=300)
anything = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\t .!?"), max_size=200)


@given(prose | anything, st.integers(1, 5))
def test_a_passage_is_the_folded_text_between_its_offsets(document: str, sentences: int) -> None:
    document = document.removeprefix("\ufeff")
    for passage in ingest(document, sentences=sentences):
        assert passage.text
        assert fold(document[passage.start : passage.end]) == passage.text
        assert passage.key == f"{passage.source}#{passage.start}-{passage.end}"


@given(prose | anything)
def test_passages_are_in_order_and_apart_and_lose_only_marks_of_lists_and_lines(document: str) -> None:
    document = document.removeprefix("\ufeff")
    at = 0
    lost = ""
    for passage in ingest(document):
        assert passage.start >= at
        lost += document[at : passage.start]
        at = passage.end
    lost += document[at:]
    assert not set(lost.replace("•", "")) - set("-=_*~#+–") - {char for char in lost if char.isspace()}


@given(st.lists(st.sampled_from(["It is new.", "The fee is ten euros.", "Nine days pass quickly here."]), max_size=30))
def test_a_passage_has_at_most_three_sentences_and_about_sixty_words(sentences: list[str]) -> None:
    for text in texts(" ".join(sentences)):
        assert 1 <= text.count(".") <= 3
        assert len(text.split()) <= MOST_WORDS


GROUPED = {
    "three sentences of one paragraph are one passage": (
        "The clinic opens at nine. Parking is free. Dogs may enter.",
        ["The clinic opens at nine. Parking is free. Dogs may enter."],
    ),
    "four sentences are two and two": (
        "The fee is ten. Tea is free. Dogs may enter. Cats may not.",
        ["The fee is ten. Tea is free.", "Dogs may enter. Cats may not."],
    ),
    "a sentence stays with the one that says what it is about": (
        "The clinic opens at nine. It closes at five. It is shut on Sunday. Parking is free.",
        ["The clinic opens at nine. It closes at five. It is shut on Sunday.", "Parking is free."],
    ),
    "paragraphs stay apart": ("The fee is ten.\n\nTea is free.", ["The fee is ten.", "Tea is free."]),
    "a line that is wrapped goes on": ("The fee is\nten euros.", ["The fee is ten euros."]),
    "blank lines may hold spaces": ("The fee is ten.\n \t\nTea is free.", ["The fee is ten.", "Tea is free."]),
    "a form feed ends a paragraph": ("The fee is ten.\fTea is free.", ["The fee is ten.", "Tea is free."]),
    "items are passages without their bullets": (
        "- one\n- two. And more.\n* three",
        ["one", "two. And more.", "three"],
    ),
    "numbers of items stay": ("1. Wash the hands.\n2. Dry them.", ["1. Wash the hands.", "2. Dry them."]),
    "a line under a title is no text": ("Title\n=====\nThe fee is ten.", ["Title", "The fee is ten."]),
    "a line alone is no passage": ("The fee is ten.\n\n-----\n\nTea is free.", ["The fee is ten.", "Tea is free."]),
    "Japanese sentences end without spaces": ("料金は十円です。犬は入れます。", ["料金は十円です。犬は入れます。"]),
    "nothing": ("", []),
    "only white space": (" \n\t\r\n \u2029 ", []),
}


@pytest.mark.parametrize(("document", "expected"), GROUPED.values(), ids=GROUPED)
def test_sentences_are_grouped(document: str, expected: list[str]) -> None:
    assert texts(document) == expected


def test_one_sentence_at_a_time_on_request() -> None:
    assert texts("The fee is ten. Tea is free.", sentences=1) == ["The fee is ten.", "Tea is free."]


def test_long_sentences_are_not_put_together() -> None:
    long = "The fee " + "and the tax " * 12 + "are paid at once."
    assert texts(f"{long} {long}") == [long, long]


def test_a_sentence_beyond_two_thousand_characters_is_cut_at_its_clauses() -> None:
    document = "; ".join(f"the fee of the clinic number {n} is {n} euros" for n in range(100)) + "."
    found = texts(document)
    assert len(found) > 10
    assert all(len(text) <= 2000 and text.startswith("the fee") for text in found)
    assert fold(" ".join(found)) == document


@pytest.mark.parametrize("size", [2001, 100_000], ids=["just too long", "very long"])
def test_a_text_without_any_end_is_cut_and_kept(size: int) -> None:
    found = texts("x" * size)
    assert "".join(found) == "x" * size
    assert max(map(len, found)) <= 2000


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\u2028"], ids=["LF", "CR", "CRLF", "line separator"])
def test_every_line_end_counts_as_one_line(end: str) -> None:
    document = f"The fee is ten.{end}{end}Tea is free.{end}"
    assert located(document, ".txt") == [("The fee is ten.", "line 1"), ("Tea is free.", "line 3")]


ENCODED = {
    "UTF-8": "Die Gebühr ist zehn €.".encode(),
    "UTF-8 with a mark": "Die Gebühr ist zehn €.".encode("utf-8-sig"),
    "UTF-16 with a mark, little end first": b"\xff\xfe" + "Die Gebühr ist zehn €.".encode("utf-16-le"),
    "UTF-16 with a mark, big end first": b"\xfe\xff" + "Die Gebühr ist zehn €.".encode("utf-16-be"),
    "NUL characters": b"Die Geb\0\xc3\xbchr ist\0 zehn \xe2\x82\xac.\0",
    "lone surrogates": b"Die Geb\xed\xa0\x80\xc3\xbchr ist zehn \xe2\x82\xac.",
    "lone surrogates in UTF-16": b"\xff\xfe\x00\xd8" + "Die Gebühr ist zehn €.".encode("utf-16-le"),
    "control characters": b"\x1b\x01Die Geb\xc3\xbchr ist\x7f zehn \xc2\x80\xe2\x82\xac.",
}


@pytest.mark.parametrize("data", ENCODED.values(), ids=ENCODED)
def test_text_is_decoded_and_cleaned(data: bytes) -> None:
    (passage,) = ingest(data)
    assert passage == Passage(
        key="document.txt#0-22", text="Die Gebühr ist zehn €.", source="document.txt", start=0, end=22, locator="line 1"
    )
