from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.checks.rules import Check
from director_ai.validators.disguise import Disguise
from director_ai.validators.links import Links
from director_ai.validators.stages import Change, apply_changes, chain_changes

SPANS = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.text("xy", max_size=3)), max_size=6)
WORDS = st.sampled_from("word and more text here, a < b list[0] <b>".split(" "))
FINDS = st.sampled_from(
    [
        "[the docs](http://evil.com/a?b=c)",
        "[a [b] c](https://ok.example/x)",
        f"[long {'x ' * 60}](javascript:alert(1))",
        f'![a](https://evil.com/x.png "{"title " * 15}")',
        f"https://ok.example{'.x' * 50}.evil.com/",
        f"<a title='{'y ' * 50}' href=//e>",
        f"<script>{'more code ' * 12}</script>",
        "[r]: http://evil.com 'T'\n",
        "[open",
        "pаssword",
        "👩\u200d💻\u200b",
        "می\u200cخواهم",
        "aB3" * 60,
        "\x1b[31m",
        "e" + "\u0301" * 9,
    ]
)


def changes_of(text: str, spans: list[tuple[int, int, str]]) -> list[Change]:
    found, place = [], 0
    for gap, length, new in spans:
        start, end = place + gap, place + gap + length
        if end > len(text):
            break
        found.append(Change(start, end, new, "rewrite", "test"))
        place = end
    return found


@given(st.text("abc", max_size=40), SPANS, SPANS)
def test_two_rounds_of_changes_become_one(
    text: str, first: list[tuple[int, int, str]], then: list[tuple[int, int, str]]
) -> None:
    made = changes_of(text, first)
    middle = apply_changes(text, made)
    more = changes_of(middle, then)
    together = chain_changes(middle, made, more)
    assert apply_changes(text, together) == apply_changes(middle, more)
    assert all(one.end <= other.start for one, other in itertools.pairwise(together))


def released(check: Check, text: str, upto: int) -> str:
    """Return what the edits make of the beginning of a text."""
    edits = [Change(e.start, e.end, e.replacement, e.kind, "") for e in check.find(text) if e.start < upto]
    return apply_changes(text[: max([upto, *(each.end for each in edits)])], edits)


@pytest.mark.parametrize("check", [Links(allowed_hosts=("ok.example",)), Disguise()], ids=["links", "disguise"])
@given(parts=st.lists(st.one_of(WORDS, WORDS, FINDS), min_size=1, max_size=20), data=st.data())
def test_what_was_decided_stays_decided_when_the_text_goes_on(
    check: Check, parts: list[str], data: st.DataObject
) -> None:
    text = " ".join(parts)
    cut = data.draw(st.integers(0, len(text)))
    assert isinstance(check.frontier, int)
    seen = list(check.find(text[:cut]))
    sure = min([cut - check.frontier, *(edit.start for edit in seen if edit.end == cut)])
    for edit in sorted([*seen, *check.find(text)], key=lambda each: -each.start):
        sure = edit.start if edit.start < sure < edit.end else sure
    if sure > 0:
        assert released(check, text[:cut], sure) == released(check, text, sure)
