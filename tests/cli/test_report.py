"""The report of a repair: everything in it, nothing outside it, and no text that could be taken for markup."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.cli.report import Figures, render_report, write_report
from director_ai.cli.report.changes import changes_of, passages_of
from director_ai.cli.report.figures import milliseconds, why_of
from director_ai.cli.report.markup import tag, visible
from director_ai.core.repair.record import Action, ClauseAction, RepairResult
from director_ai.core.scoring.slots import compare_slots
from director_ai.core.streaming_repair import StreamingRepairer
from director_ai.core.types import EvidenceChunk
from director_ai.errors import ConfigError

VOID = {"meta"}
FACT = "Savings earn 2.1 % interest a year."


def clause(said: str, shown: str, action: Action = "rewrite", **more: object) -> ClauseAction:
    made = {"verdict": "unsupported", "reason": "contradicted", "support": 0.01, "start": 0, "end": len(said)} | more
    return ClauseAction(action=action, clause=said, text=shown, **made)


def repaired(text: str, *, shape: str = "text", **options: object) -> RepairResult:
    """Whatever is big is wrong and should be small, unless it is a whale."""
    made = StreamingRepairer(
        lambda said: 0.1 if "big" in said else 0.9,
        retrieve_fn=lambda _: [EvidenceChunk("It is small & <b>not</b> large.", 0.1, "kb:size")],
        rewrite_fn=lambda said, _: said.replace("big", "small") if "whale" not in said else "",
        **options,
    )
    return made.repair(text, shape=shape, request_id="r-1")


@dataclass
class Page(HTMLParser):
    """Reads a page and refuses elements that are not closed in order."""

    open: list[str] = field(default_factory=list)
    seen: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} stands there twice"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"{tag} was never opened"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for name in set(self.open):
            self.texts[name] = self.texts.get(name, "") + data


def read(page: str) -> Page:
    reader = Page()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def render(result: RepairResult, **more: object) -> str:
    return render_report(result, **{"title": "A test", "threshold": 0.6} | more)


# --- what was changed -------------------------------------------------------------------------------------------

CHANGES = {
    "a figure": ("It earns 3.1 % a year. ", "It earns 2.1 % a year. ", "It earns [-3.1-]{+2.1+} % a year. "),
    "a name of two words": ("By Ann Lee in May.", "By Bob Roe in May.", "By [-Ann Lee-]{+Bob Roe+} in May."),
    "the last word": ("It began in 1987.", "It began in 1985.", "It began in [-1987-]{+1985+}."),
    "a word that was missing": ("It is free.", "It is not free.", "It is {+not +}free."),
    "a word too many": ("It is not free.", "It is free.", "It is [-not -]free."),
    "half a word": ("They withdrew it.", "They withdraw it.", "They [-withdrew-]{+withdraw+} it."),
    "two figures apart": (
        "From 3 to 5 days, for 9 euros.",
        "From 2 to 5 days, for 8 euros.",
        "From [-3-]{+2+} to 5 days, for [-9-]{+8+} euros.",
    ),
    "all of it": ("Wholly wrong.", "Quite another thing!", "[-Wholly wrong.-]{+Quite another thing!+}"),
    "an item of a list": ("- It costs 3 euros.\n", "- It costs 2 euros.\n", "- It costs [-3-]{+2+} euros.\n"),
}


def written(action: ClauseAction) -> str:
    signs = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
    return "".join(signs[kind].format(text) for kind, text in changes_of(action))


@pytest.mark.parametrize(("said", "shown", "told"), CHANGES.values(), ids=CHANGES.keys())
def test_whole_words_are_struck_and_put_in(said: str, shown: str, told: str) -> None:
    assert written(clause(said, shown)) == told


def test_a_redaction_keeps_its_place_in_a_list() -> None:
    action = clause("- It is so.\n\n", "- [redacted]\n\n", "redact")
    assert changes_of(action) == (("same", "- "), ("gone", "It is so."), ("new", "[redacted]"), ("same", "\n\n"))


TEXTS = st.text(alphabet="ab 1.,-\n(%", max_size=40)


@given(TEXTS, TEXTS, st.sampled_from(["rewrite", "redact"]))
def test_both_texts_can_be_read_from_the_changes(said: str, shown: str, action: Action) -> None:
    changes = changes_of(clause(said, shown, action))
    assert "".join(text for kind, text in changes if kind != "new") == said
    assert "".join(text for kind, text in changes if kind != "gone") == shown


@given(
    st.lists(
        st.sampled_from(["It is big. ", "It is so. ", "A whale is big. ", "- A big one.\n", "Why?\n\n"]), max_size=12
    )
)
def test_the_answer_of_the_report_is_the_one_that_was_released(said: list[str]) -> None:
    result = repaired("".join(said))
    shown = [text for passage in passages_of(result) for kind, text in passage.changes if kind != "gone"]
    assert "".join(shown) == result.repaired_text


def test_the_answer_is_whole_where_clauses_cannot_be_found_again() -> None:
    result = repaired('{"a": "It is \\"big\\" here.", "n": 3, "b": "All is well."}', shape="json")
    shown = [text for passage in passages_of(result) for kind, text in passage.changes if kind != "gone"]
    assert "".join(shown) == result.repaired_text
    assert json.loads(result.repaired_text)["a"] == 'It is "small" here.'


# --- the page ---------------------------------------------------------------------------------------------------


def test_the_page_holds_what_was_changed_and_why() -> None:
    page = read(
        render(
            repaired("All is well. It is big. The whale is big."),
            prompt="What is it?",
            facts={"kb:size": "It is small."},
        )
    )
    assert page.texts["del"].startswith("Struck throughbigThe whale is big.")
    assert "small" in page.texts["ins"]
    assert "What is it?" in page.texts["body"]
    assert page.texts["h1"] == "A test"
    assert [attributes["id"] for name, attributes in page.seen if name == "tr" and "id" in attributes] == [
        "clause-1",
        "clause-2",
        "clause-3",
    ]
    events = json.loads(page.texts["pre"])
    assert [event["attributes"]["action"] for event in events] == ["rewrite", "redact"]


def test_the_value_that_differs_is_marked_in_the_evidence() -> None:
    said = "Savings earn 3.1 % interest a year."
    action = clause(
        said,
        said.replace("3.1", "2.1"),
        evidence=(EvidenceChunk(FACT, 0.1, "kb:interest"),),
        differences=tuple(compare_slots(said, FACT)),
        rewritten_support=0.99,
    )
    assert why_of(action) == "“3.1 %” should be “2.1 %”"
    result = repaired("")
    page = read(render(RepairResult(repaired_text=action.text, actions=(action,), checked=result.checked)))
    assert page.texts["mark"] == "2.1 %"


HOSTILE = "<script>alert(1)</script> \"'&<img src=//e.example/x onerror=alert(1)> is big $title ${style} </style>"


def test_no_text_becomes_markup() -> None:
    result = repaired(f"{HOSTILE} It is so. {HOSTILE} whale.")
    page = render(result, title=HOSTILE, prompt=HOSTILE, facts={HOSTILE: HOSTILE})
    reader = read(page)
    assert {name for name, _ in reader.seen}.isdisjoint({"script", "img", "iframe", "link", "base", "form", "object"})
    assert not any(key.startswith("on") for _, attributes in reader.seen for key in attributes)
    assert reader.texts["h1"] == HOSTILE
    assert "It is small & <b>not</b> large." in reader.texts["td"]


def test_the_page_asks_nobody_for_anything() -> None:
    page = render(repaired("All is well. It is big. The whale is big."), prompt="p", facts={"a": "b"})
    reader = read(page)
    assert not re.search(r"https?:|url\(|@import|javascript:", page)
    assert not any(
        {"src", "srcset", "action", "data", "background"} & attributes.keys() for _, attributes in reader.seen
    )
    assert all(str(each["href"]).startswith("#") for _, each in reader.seen if "href" in each)
    policy = [each["content"] for name, each in reader.seen if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert page.isascii()


def test_every_link_leads_somewhere() -> None:
    reader = read(render(repaired("It is big. " * 3)))
    ids = [each["id"] for _, each in reader.seen if "id" in each]
    assert len(ids) == len(set(ids))
    assert {str(each["href"])[1:] for _, each in reader.seen if "href" in each} <= set(ids)


@given(st.text(), st.text())
def test_any_text_makes_a_page(said: str, asked: str) -> None:
    page = render(repaired(said), prompt=asked, facts={asked: said}, title=asked or "t")
    assert read(page).texts["title"] is not None
    assert page.isascii()


def test_a_halt_is_told() -> None:
    result = repaired("The whale is big. It is so.", most_redacted=0, cap_after=0)
    assert result.halted
    assert result.halt_reason in read(render(result)).texts["header"]


def test_nothing_at_all_makes_a_page() -> None:
    page = read(render(repaired("")))
    assert "not timed" in page.texts["dd"]


HIDDEN = {
    "right to left": ("a\u202eb", "U+202E"),
    "no width": ("a\u200bb", "U+200B"),
    "a tag": ("a\U000e0041b", "U+E0041"),
    "a variation selector": ("a\ufe01b", "U+FE01"),
    "an escape": ("a\x1bb", "U+001B"),
    "half a character": ("a\ud800b", "U+D800"),
    "a soft hyphen": ("a\u00adb", "U+00AD"),
    "a blank letter": ("a\u3164b", "U+3164"),
}


@pytest.mark.parametrize(("text", "mark"), HIDDEN.values(), ids=HIDDEN.keys())
def test_what_nobody_sees_is_marked(text: str, mark: str) -> None:
    shown = visible(text)
    assert f">{mark}</span>" in shown
    assert text[1] not in shown


@pytest.mark.parametrize("text", ["a\tb\nc\r\nd", "für 5 €", "שלום", "👨‍👩‍👧 ❤️"])
def test_what_is_seen_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_attributes_are_escaped() -> None:
    assert tag("a", visible("<"), class_="x", aria_label='"><') == '<a class="x" aria-label="&quot;&gt;&lt;">&lt;</a>'


# --- figures ----------------------------------------------------------------------------------------------------


def test_the_figures_count_the_clauses() -> None:
    figures = Figures.of(repaired("All is well. It is big. The whale is big."))
    assert (figures.clauses, figures.kept, figures.rewritten, figures.redacted, figures.events) == (3, 1, 1, 1, 2)
    assert figures.held_median is not None
    assert figures.held_worst is not None
    assert figures.held_median <= figures.held_worst


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (milliseconds(None), "not timed"),
        (milliseconds(0.00123), "1.2 ms"),
        (milliseconds(0.1234), "123 ms"),
    ],
)
def test_figures_as_people_read_them(figure: str, words: str) -> None:
    assert figure == words


# --- the file ---------------------------------------------------------------------------------------------------


def test_a_report_replaces_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "r.html").write_text("old")
    path = write_report(repaired("It is big."), tmp_path / "r.html", title="T", threshold=0.6)
    assert path == (tmp_path / "r.html").resolve()
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert [each.name for each in tmp_path.iterdir()] == ["r.html"]


def test_a_report_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_report(repaired(""), tmp_path / "none" / "r.html", title="T", threshold=0.6)
