"""HTML: what a reader of the page sees, however the page was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingested import ingest, located, texts

READ = {
    "paragraphs": ("<p>The fee\n is <b>ten</b>.</p><p>Tea is free.</p>", ["The fee is ten.", "Tea is free."]),
    "paragraphs that are not closed": ("<p>One<p>Two<div>Three", ["One", "Two", "Three"]),
    "text without any tag": ("The fee is ten.", ["The fee is ten."]),
    "line breaks": ("<p>The fee<br>is ten.<br><br>Tea is <br/> free.", ["The fee is ten.", "Tea is free."]),
    "entities": ("<p>1 &lt; 2 &amp;amp; &#65;&#x42; &nbsp; &copy &nosuch; AT&T</p>", ["1 < 2 &amp; AB © &nosuch; AT&T"]),
    "a list": ("<ul><li>one<li>two<ol><li>three</ol></ul>four", ["one", "two", "three", "four"]),
    "a quotation and a listing": ("<blockquote>One</blockquote><pre>The fee\n\nis ten</pre>", ["One", "The fee", "is ten"]),
    "a definition list": (
        "<dl><dt>Hours<dd>9 to 5<dd>shut on Sunday<dt>May dogs enter?<dd><p>They may.<p>Not cats.<dt>Alone</dl>",
        ["Hours: 9 to 5", "Hours: shut on Sunday", "May dogs enter? They may.", "Not cats.", "Alone"],
    ),
    "script, style and other things that are not shown": (
        "<script>if (a<b) x('<p>no</p>')</script><style>p{}</style><template>no</template><noscript>no</noscript>"
        "<svg><title>no</title><text>no</text></svg><iframe>no</iframe><textarea>no</textarea><p>yes",
        ["yes"],
    ),
    "the frame of a page": ("<nav><ul><li>no</ul></nav><main>yes</main><aside>no</aside><footer><p>no</footer>", ["yes"]),
    "the head": ("<head><meta charset=utf-8><title>T</title></head>yes", ["yes"]),
    "a head that is not closed": ("<head><title>T</title><p>yes", ["yes"]),
    "text ends the head": ("<head>yes", ["yes"]),
    "hidden elements": (
        "<p hidden>no<p>yes<div aria-hidden='true'><p>no</div><div style='color:red; DISPLAY : none'>no<p>no</div>"
        '<span hidden="">no</span><p style="visibility:hidden">no</p><p aria-hidden=false>also</p>',
        ["yes", "also"],
    ),
    "comments and declarations": ("<!doctype html><!-- no > no --><?php no ?><p>yes<!no><![CDATA[no]]>", ["yes"]),
    "a comment that does not end": ("<p>yes<!-- no <b> also", ["yes also"]),
    "what is struck out no longer holds": ("<p>The fee is <del>nine</del> <s>eight</s> ten.", ["The fee is ten."]),
    "a table": (
        "<table><thead><tr><th>Day</th><th>Hours</th></tr></thead><tbody><tr><td>Mon</td><td>9. To 5.</td></tr>"
        "<tr><th>Tue</th><td></td></tr></tbody></table>",
        ["Day: Mon; Hours: 9. To 5.", "Day: Tue"],
    ),
    "a table that is not closed": ("<table><tr><th>Day<th>Hours<tr><td>Mon<td><b>9<tr><td>Tue<td>10", ["Day: Mon; Hours: 9", "Day: Tue; Hours: 10"]),
    "rows with names": ("<table><tr><th>Founded<td>1990<tr><th>Seat<td>Bonn</table>", ["Founded: 1990", "Seat: Bonn"]),
    "a row that does not fit its header": ("<table><tr><th>Day<th>Hours<tr><td colspan=2>Shut</table>", ["Shut", "Day; Hours"]),
    "a table without names": ("<table><tr><td>Mon<td>9<tr><td>Tue<td>10</table>", ["Mon; 9", "Tue; 10"]),
    "names without rows": ("<table><tr><th>Day<th>Hours</table>x", ["Day; Hours", "x"]),
    "a table that lays out the page": (
        "<table><tr><td><h2>Fees</h2><p>Ten.<p>Nine.<td><table><tr><th>A<th>B<tr><td>1<td>2</table><td>last</table>",
        ["Ten.", "Nine.", "A: 1; B: 2", "last"],
    ),
    "paragraphs in cells": ("<table><tr><td><p>One.</p><p>Two.</p></td><td>3</td></tr></table>", ["One.", "Two.", "3"]),
    "a closing tag of something outside": ("<div><table><tr><td>a</div>b<td>c</table></div>", ["a", "b", "c"]),
    "closing tags that nothing opened": ("</p></div>One</b></li> two</table>three", ["One", "two", "three"]),
    "elements that overlap": ("<p>One <b>two <i>three</b> four</i> five", ["One two three four five"]),
    "a heading that is not closed": ("<h1>Fees<p>The fee is ten.", ["The fee is ten."]),
    "attributes with brackets": ("<p title='a > b' data-x=\"<p>no</p>\">yes", ["yes"]),
    "an attribute that is not closed": ('<p title="a>The fee</p> is ten', ["The fee", "is ten"]),
    "a tag that is not closed": ("The fee <b is ten", ["The fee <b is ten"]),
    "signs that are no tags": ("<p>1 < 2 <3 and a<-b > c", ["1 < 2 <3 and a<-b > c"]),
    "upper case and white space in tags": ("<P >One</P\n><SCRIPT>no</ScRiPt ><DIV\nHIDDEN>no</DIV>two", ["One", "two"]),
    "custom elements": ("<x-card>The fee <my-b>is</my-b> ten.</x-card>", ["The fee is ten."]),
    "elements that close themselves": ("<p>One<script src=x /><div hidden/>two", ["One", "two"]),
    "a script that does not end": ("<p>yes<script>no", ["yes"]),
    "nothing": ("", []),
    "no text": ("<html><body><p></p></body></html>", []),
}  # fmt: skip


@pytest.mark.parametrize(("document", "expected"), READ.values(), ids=READ)
def test_a_page_is_read(document: str, expected: list[str]) -> None:
    assert texts(document, ".html") == expected


def test_the_title_and_the_headings_are_the_locator() -> None:
    document = """<title>Clinic &amp; Co</title><p>One.<h1>Clinic &amp; Co</h1><p>Two.<h3><b>Late</b> fees</h3>
        <ul><li>Three</ul><nav><h1>no</h1></nav><h2></h2><h2>All fees are final.</h2><p>Four."""
    assert located(document, ".htm") == [
        ("One.", "Clinic & Co"),
        ("Two.", "Clinic & Co"),
        ("Three", "Clinic & Co > Late fees"),
        ("All fees are final.", "Clinic & Co > All fees are final."),
        ("Four.", "Clinic & Co > All fees are final."),
    ]


def test_a_long_heading_is_shortened_in_the_locator_and_kept_as_a_passage() -> None:
    (heading, body) = ingest(f"<h1>{'fee ' * 100}</h1>Ten.", ".html")
    assert len(heading.text) == 399
    assert len(body.locator) == 200


PLACED = {
    "tags inside": ("<p>The <b>fee</b>.</p>", ["The <b>fee</b>."]),
    "entities": ("<p>a&lt;b &amp;</p>", ["a&lt;b &amp;"]),
    "sentences": ("<p>One is. Two is.</p>", ["One is.", "Two is."]),
    "cells": ("<table><tr><th>A<th>B<tr><td>x<td>y</table>", ["x<td>y"]),
    "definitions": ("<dl><dt>A<dd>x", ["x"]),
}


@pytest.mark.parametrize(("document", "stretches"), PLACED.values(), ids=PLACED)
def test_offsets_hold_the_text_with_its_markup(document: str, stretches: list[str]) -> None:
    assert [document[p.start : p.end] for p in ingest(document, ".html", sentences=1)] == stretches


TAGS = "p div b i ul li table tr td th dl dt dd h1 h2 br pre script title head body nav del".split()
pieces = st.sampled_from(
    [f"<{name}>" for name in TAGS]
    + [f"</{name}>" for name in TAGS]
    + ["<p hidden>", "<!--", "-->", "<", ">", '"', "&lt;", "fee", " ", "\n", "<a x='", "='"]
)


@given(st.lists(pieces, max_size=60).map("".join))
def test_whatever_the_tags_passages_are_in_the_document(document: str) -> None:
    for passage in ingest(document, ".html"):
        assert passage.text == " ".join(passage.text.split()) != ""
        assert 0 <= passage.start <= passage.end <= len(document)


visible = st.sampled_from("p div b i ul li span section h1 blockquote table tr td".split())


@given(st.lists(st.tuples(visible, st.booleans(), st.sampled_from(["", "fee", "ten. "])), max_size=40))
def test_no_word_that_a_reader_sees_is_lost(parts: list[tuple[str, bool, str]]) -> None:
    document = "".join(f"<{'/' if closing else ''}{name}>{word}" for name, closing, word in parts)
    found = ingest(document, ".html")
    kept = " ".join([p.text for p in found] + [p.locator for p in found])
    if not any(name == "h1" for name, _, _ in parts):  # a heading above nothing is no passage
        assert kept.count("fee") == document.count("fee")
        assert kept.count("ten") == document.count("ten")


HOSTILE = {
    "nested a hundred thousand deep": "<div>" * 100_000 + "fee",
    "tables in tables": "<table><tr><td>fee" * 10_000,
    "closed as deep without being open": "<div>" * 50_000 + "</p>" * 50_000 + "fee",
    "tags that do not end": "fee" + "<a " * 50_000,
    "quotes that do not end": "fee" + '<a x="' * 20_000,
    "quotes that end far away": "fee<p>" + '<a x=\'>"<b y=">' * 10_000,
    "comments that do not end": "fee" + "<!-- >" * 20_000,
    "elements of raw text that do not end": "fee" + "<title>" * 20_000,
    "entities that do not end": "fee" + "&a" * 50_000,
    "a number that is no character": "fee &#99999999999999999999;&#xD800;&#0;&#1;",
    "brackets": "fee" + "<" * 100_000 + ">",
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.timeout(60)
def test_hostile_pages_are_read_to_their_end(document: str) -> None:
    assert any("fee" in text for text in texts(document, ".html"))
