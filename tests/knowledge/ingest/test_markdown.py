"""Markdown: what a reader sees, under its headings, and where it stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ingested import ingest, located, texts

from director_ai.errors import ConfigError

READ = {
    "emphasis": ("The **fee** is *ten* __euros__ ***now***.", ["The fee is ten euros now."]),
    "marks that are no emphasis": ("Take 2 * 3 * 4 and snake_case_name.", ["Take 2 * 3 * 4 and snake_case_name."]),
    "inline code": ("Call `fee()` and `` a`b ``.", ["Call fee() and a`b."]),
    "a link keeps its text": ('Pay [the *fee*](http://x.y/fee "now")fee here.', ["Pay the feefee here."]),
    "a link with a target that no browser follows": ("Pay [here](javascript:alert(1)).", ["Pay here."]),
    "an image keeps its text": ("See ![the **door**](door.png) first.", ["See the door first."]),
    "an image in a link": ("See [![door](d.png)](x) first.", ["See door first."]),
    "reference links, and their definitions": ("See [the fee][1] and [rules].\n\n[1]: /f\n[rules]: /r 'R'", ["See the fee and rules."]),
    "an address in brackets": ("Write to <a@b.de> or <http://x.y/z>.", ["Write to a@b.de or http://x.y/z."]),
    "escapes": (r"Use \*stars\* and 5 \| 6 and C:\dir.", [r"Use *stars* and 5 | 6 and C:\dir."]),
    "entities": ("Fee &lt; 10 &euro; &#x41;&copy; &nosuch;", ["Fee < 10 € A© &nosuch;"]),
    "what is struck out no longer holds": ("The fee is ~~nine~~ ten.", ["The fee is ten."]),
    "tags and comments inside a line": ("The <b>fee</b><!-- old: 9 --> is<br>ten.", ["The fee is ten."]),
    "a paragraph over several lines": ("The fee\nis ten\\\neuros.", ["The fee is ten euros."]),
    "a list": ("- one\n- two\n\n* three", ["one", "two", "three"]),
    "a nested list": ("1. one\n   - two\n     goes on\n   - three\n2. four", ["one", "two goes on", "three", "four"]),
    "an item of two paragraphs": ("- one\n\n  more\n- two", ["one", "more", "two"]),
    "a quotation": ("> The fee\n> is ten.\n>\n> Tea is free.", ["The fee is ten.", "Tea is free."]),
    "code is skipped": ("Before.\n\n```py\nfee = 9\n```\n\n~~~\nx\n~~~\n\n    indented\n\nAfter.", ["Before.", "After."]),
    "a line between": ("Before.\n\n***\n\nAfter.", ["Before.", "After."]),
    "front matter": ("---\ntitle: Fees\n---\nThe fee is ten.", ["The fee is ten."]),
    "other front matter": ("+++\ntitle = 'Fees'\n+++\nThe fee is ten.", ["The fee is ten."]),
    "a line at the top is no front matter": ("---\n\nThe fee is ten.\n\n---\n", ["The fee is ten."]),
    "a comment of several lines": ("<!--\nold\n\nolder\n-->\n\nThe fee is ten.", ["The fee is ten."]),
    "a block of HTML": ("<div>\n<p>The fee</p><p hidden>no</p>\n<script>x</script></div>\n\nis ten.", ["The fee", "is ten."]),
    "a table": (
        "| Day | Hours |\n|---|:-:|\n| Mon | 9\\|5 |\n| Tue | |\n| **Wed** | `10` |",
        ["Day: Mon; Hours: 9|5", "Day: Tue", "Day: Wed; Hours: 10"],
    ),
    "a table without rows": ("| Day | Hours |\n|---|---|\n\nAfter.", ["Day; Hours", "After."]),
    "a table in an item": ("- | Day | Hours |\n  |---|---|\n  | Mon | 9 |", ["Day: Mon; Hours: 9"]),
    "nothing": ("", []),
    "headings only": ("# One\n\n## Two\n", []),
}  # fmt: skip


@pytest.mark.parametrize(("document", "expected"), READ.values(), ids=READ)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028"], ids=["LF", "CRLF", "CR", "line separator"])
def test_markup_is_read(document: str, expected: list[str], end: str) -> None:
    assert texts(document.replace("\n", end), ".md") == expected


def test_headings_are_the_locator() -> None:
    document = "One.\n\n# Fees & *more* #\nTwo.\n\nRefunds\n-------\nThree.\n\n### Late ###\n- Four\n\n# End\nFive."
    assert located(document, ".markdown") == [
        ("One.", "line 1"),
        ("Two.", "Fees & more"),
        ("Three.", "Fees & more > Refunds"),
        ("Four", "Fees & more > Refunds > Late"),
        ("Five.", "End"),
    ]


def test_a_heading_that_is_a_sentence_is_a_passage_too() -> None:
    assert texts("# Refunds take five days.\n\n# Fees\n\nThe fee is ten.", ".md") == [
        "Refunds take five days.",
        "The fee is ten.",
    ]


def test_a_heading_in_html_counts() -> None:
    assert located("<h1 align=center>Fees</h1>\n\nThe fee is ten.", ".md") == [("The fee is ten.", "Fees")]


PLACED = {
    "after front matter": ("---\na: b\n---\n\nThe fee is ten.", ["The fee is ten."]),
    "in a link": ("See [fee](fee) fee, [a](b)b.", ["See [fee](fee) fee, [a](b)b."]),
    "in a quotation in a list": ("- > The **fee**\n  > is ten.", ["The **fee**\n  > is ten."]),
    "between entities": ("&lt;b&gt; One &amp;", ["&lt;b&gt; One &amp;"]),
    "in a cell": ("|A|B|\n|-|-|\n|x\\|y|*z*|\n|y|x|", ["x\\|y|*z", "y|x"]),
    "after tabs": ("-\tone\n\n\ttwo", ["one", "two"]),
    "in a block of HTML in a quotation": ("> <p>One\n> two &lt;\n> </p>", ["One\n> two &lt;"]),
    "in code": ("`` `a` `` `b`", ["`a` `` `b"]),
    "in sentences of one paragraph": ("*One* is. `Two` is.", ["One* is.", "Two` is."]),
    "in an image": ("![a ![b](c) d](e) f", ["a ![b](c) d](e) f"]),
}


@pytest.mark.parametrize(("document", "stretches"), PLACED.values(), ids=PLACED)
def test_offsets_hold_the_text_with_its_markup(document: str, stretches: list[str]) -> None:
    assert [document[p.start : p.end] for p in ingest(document, ".md", sentences=1)] == stretches


words = st.sampled_from(["fee", "Ten", "euros.", "tea", "1", "é", "語"])
marks = st.sampled_from(
    [
        "*",
        "**",
        "_",
        "`",
        " ",
        " ",
        "\n",
        "\n\n",
        "[",
        "](u)",
        "![",
        "\\",
        "&amp;",
        "<b>",
        "> ",
        "- ",
        "~~",
        "#",
        "\r\n",
        "|",
        "\t",
    ]
)


@given(st.lists(words | marks, max_size=40).map("".join))
def test_the_words_of_a_passage_stand_between_its_offsets_in_order(document: str) -> None:
    for passage in ingest(document, ".md"):
        stretch = document[passage.start : passage.end]
        assert stretch[:1] in {passage.text[0], "&", "\\"}
        assert stretch[-1:] in {passage.text[-1], ";"}
        rest = iter(stretch)
        assert all(char in rest for char in passage.text.replace(" ", ""))


@given(
    st.lists(st.sampled_from(["fee", "Ten", "euros.", "*", "**", " ", "\n", "\n\n", "> ", "+ "]), max_size=40).map(
        "".join
    )
)
def test_no_word_of_running_text_is_lost(document: str) -> None:
    assume("    " not in document)  # that would be code
    kept = " ".join(texts(document, ".md"))
    assert re.findall(r"\w", kept) == re.findall(r"\w", document)


HOSTILE = {
    "brackets": "fee" + "[" * 10_000,
    "images in images": "fee" + "![" * 10_000,
    "emphasis that does not end": "fee " + "*a _b " * 10_000,
    "images in images that end": "![" * 1000 + "fee" + "](x)" * 1000,
    "backticks of every length": "fee " + "".join("e" + "`" * n for n in range(300)),
    "a line of pipes": "fee\n" + "|" * 50_000,
    "a wide table without cells": "fee\n\n" + "|a" * 500 + "\n" + "|-" * 500 + "\n" + "x\n" * 100,
    "tags that do not end": "fee " + "<a " * 30_000,
    "front matter that does not end": "---\nfee: ten\n" + "a: b\n" * 10_000,
    "a hundred thousand blank lines": "fee" + "\n" * 100_000,
    "template braces, SQL and formulas": "fee {{ x }} {% if %} '; DROP TABLE facts; -- =SUM(A1)",
    "text that runs from right to left": "fee \u202eeef\u202c \u2066x\u2069",
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.timeout(60)
def test_hostile_documents_are_read_to_their_end(document: str) -> None:
    assert "fee" in " ".join(texts(document, ".md"))


NESTED = {
    "quotations": ("> " * 39 + "fee", "> " * 40 + "secret", "> " * 50_000 + "secret"),
    "lists": ("- " * 19 + "fee", "- " * 20 + "secret", "- " * 50_000 + "secret"),
}


@pytest.mark.parametrize(("deep", "deeper", "deepest"), NESTED.values(), ids=NESTED)
def test_what_is_nested_too_deeply_is_refused_and_not_left_out(deep: str, deeper: str, deepest: str) -> None:
    assert texts(deep, ".md") == ["fee"]
    for document in (deeper, deepest):
        with pytest.raises(ConfigError, match="nested too deeply at line 3") as caught:
            ingest(f"fee\n\n{document}", ".md")
        assert "secret" not in str(caught.value)
