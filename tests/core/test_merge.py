"""Merging the edits of several checks: exact, order-free, and nothing removed comes back."""

from __future__ import annotations

import os
import random
import string
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.merge import Conflict, Edit, EditKind, Merged, MergePolicy, edits_between, merge_edits
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SOURCE = string.ascii_lowercase  # every character once; replacements use others
KINDS: tuple[EditKind, ...] = ("remove", "rewrite", "style")
RANK = {"remove": 0, "rewrite": 1, "style": 2}


def remove(start: int, end: int, new: str = "#", check: str = "pii") -> Edit:
    return Edit(start, end, new, "remove", check)


def rewrite(start: int, end: int, new: str = "W", check: str = "facts") -> Edit:
    return Edit(start, end, new, "rewrite", check)


def style(start: int, end: int, new: str, check: str = "case") -> Edit:
    return Edit(start, end, new, "style", check)


@pytest.mark.parametrize(
    ("source", "edits", "expected"),
    [
        pytest.param("abcdef", [], "abcdef", id="no edit changes nothing"),
        pytest.param("", [], "", id="an empty text"),
        pytest.param("", [rewrite(0, 0, "X")], "X", id="an insertion into an empty text"),
        pytest.param("abcdef", [remove(0, 6, "")], "", id="everything is removed"),
        pytest.param("abcdef", [remove(1, 3)], "a#def", id="one removal"),
        pytest.param("abcdef", [remove(1, 3), remove(2, 5)], "a#f", id="overlapping removals unite"),
        pytest.param("abcdef", [remove(0, 2, "1"), remove(1, 5, "2"), remove(4, 6, "3")], "2", id="a chain of removals unites, and the longest says what stands there"),
        pytest.param("abcdef", [remove(1, 5, "1"), remove(2, 3, "2")], "a1f", id="a removal inside another"),
        pytest.param("abcdef", [remove(1, 3, "1"), remove(3, 5, "2")], "a12f", id="touching removals both apply"),
        pytest.param("abcdef", [remove(1, 3), rewrite(0, 6)], "a#def", id="a removal wins over a rewrite around it"),
        pytest.param("abcdef", [remove(0, 6), rewrite(2, 3)], "#", id="a removal wins over a rewrite inside it"),
        pytest.param("abcdef", [remove(2, 4), style(0, 6, "ABCDEF")], "AB#EF", id="a removal wins over style around it"),
        pytest.param("abcdef", [rewrite(0, 3, "1"), rewrite(2, 5, "2")], "1def", id="of overlapping rewrites the earlier one wins"),
        pytest.param("abcdef", [rewrite(0, 3, "1"), rewrite(0, 5, "2")], "2f", id="of rewrites that start together the longer one wins"),
        pytest.param("abcdef", [rewrite(0, 3, "1"), rewrite(3, 5, "2")], "12f", id="touching rewrites both apply"),
        pytest.param("abcdef", [rewrite(2, 4, "W"), style(0, 6, "ABCDEF")], "ABWEF", id="style applies outside a rewrite"),
        pytest.param("abcdef", [rewrite(0, 4, "W"), style(2, 6, "CDEF")], "WEF", id="style is cut at its beginning"),
        pytest.param("abcdef", [rewrite(2, 6, "W"), style(0, 4, "ABCD")], "ABW", id="style is cut at its end"),
        pytest.param("abcdef", [rewrite(0, 6, "W"), style(2, 4, "CD")], "W", id="style inside a rewrite is dropped"),
        pytest.param("abcdef", [rewrite(1, 1, "+"), style(0, 3, "ABC")], "A+BCdef", id="style around an insertion keeps it"),
        pytest.param("one two three four five six", [rewrite(8, 13, "3"), style(0, 27, "One two three four five  six")], "One two 3 four five  six", id="style of another length is cut word by word"),
        pytest.param("abcdef", [rewrite(3, 3, "+")], "abc+def", id="an insertion"),
        pytest.param("abcdef", [rewrite(3, 3, "+"), remove(3, 5)], "abc+#f", id="an insertion before a removal applies"),
        pytest.param("abcdef", [rewrite(5, 5, "+"), remove(3, 5)], "abc#+f", id="an insertion behind a removal applies"),
        pytest.param("abcdef", [rewrite(4, 4, "+"), remove(3, 5)], "abc#f", id="an insertion inside a removal does not"),
        pytest.param("abcdef", [rewrite(2, 2, "+"), rewrite(1, 4)], "aWef", id="an insertion inside an earlier rewrite does not"),
        pytest.param("abcdef", [remove(1, 3), Edit(1, 3, "#", "remove", "other")], "a#def", id="equal edits of two checks count once"),
        pytest.param("abcdef", [remove(1, 3), remove(1, 3)], "a#def", id="the same edit twice counts once"),
        pytest.param("abcdef", [remove(0, 1, ""), remove(5, 6, "")], "bcde", id="both ends"),
    ],
)  # fmt: skip
def test_edits_become_one_text(source: str, edits: list[Edit], expected: str) -> None:
    assert merge_edits(source, edits).text == expected
    assert merge_edits(source, reversed(edits)) == merge_edits(source, edits)


@pytest.mark.parametrize(
    ("edits", "outcomes"),
    [
        pytest.param([remove(1, 3)], [], id="one edit has no conflict"),
        pytest.param([remove(1, 3), remove(3, 5)], [], id="touching edits have none"),
        pytest.param([remove(1, 3), remove(1, 3, check="other")], [], id="equal edits have none"),
        pytest.param([remove(1, 3), remove(2, 5)], [(1, "united"), (2, "united")], id="both of two that unite"),
        pytest.param([remove(1, 5), remove(2, 3)], [(2, "united")], id="a removal that covers the other is applied as it is"),
        pytest.param([remove(1, 3), rewrite(2, 5)], [(2, "dropped")], id="a rewrite that loses to a removal"),
        pytest.param([rewrite(1, 3), rewrite(2, 5)], [(2, "dropped")], id="a rewrite that loses to a rewrite"),
        pytest.param([rewrite(1, 3), style(2, 5, "CDE")], [(2, "cut")], id="style that is cut"),
        pytest.param([rewrite(1, 5), style(2, 4, "CD")], [(2, "dropped")], id="style with nothing left"),
    ],
)  # fmt: skip
def test_conflicts_say_what_did_not_come_about(edits: list[Edit], outcomes: list[tuple[int, str]]) -> None:
    merged = merge_edits("abcdef", edits)
    assert [(conflict.lost.start, conflict.outcome) for conflict in merged.conflicts] == outcomes


def test_priority_decides_between_rewrites() -> None:
    edits = [rewrite(0, 3, "1", "first"), rewrite(2, 5, "2", "second")]
    assert merge_edits("abcdef", edits).text == "1def"
    policy = MergePolicy(priority=("second", "first"))
    merged = merge_edits("abcdef", edits, policy=policy)
    assert merged.text == "ab2f"
    assert merged.conflicts == (Conflict(lost=edits[0], won=edits[1], outcome="dropped"),)


def test_who_is_not_in_the_priority_comes_last() -> None:
    edits = [rewrite(0, 3, "1", "nobody"), rewrite(2, 5, "2", "named")]
    assert merge_edits("abcdef", edits, policy=MergePolicy(priority=("named",))).text == "ab2f"


def test_priority_says_what_stands_for_united_removals() -> None:
    edits = [remove(0, 2, "1", "short"), remove(1, 6, "2", "long")]
    assert merge_edits("abcdef", edits, policy=MergePolicy(priority=("short",))).text == "1"


def test_no_priority_lets_a_rewrite_beat_a_removal() -> None:
    edits = [rewrite(0, 6, "W", "first"), remove(2, 4, "#", "second")]
    assert merge_edits("abcdef", edits, policy=MergePolicy(priority=("first", "second"))).text == "ab#ef"


# Refusals.


class Hostile(str):
    """A text that lies about itself."""

    __slots__ = ()

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, key: Any) -> str:
        return "secret"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((-1, 2, "", "remove", "c"), id="a negative start"),
        pytest.param((3, 2, "", "remove", "c"), id="an end before the start"),
        pytest.param((0.0, 2, "", "remove", "c"), id="a start that is a float"),
        pytest.param((0, "2", "", "remove", "c"), id="an end that is a text"),
        pytest.param((False, True, "", "remove", "c"), id="places that are truth values"),
        pytest.param((0, None, "", "remove", "c"), id="no end"),
        pytest.param((0, 2, None, "remove", "c"), id="no replacement"),
        pytest.param((0, 2, b"x", "remove", "c"), id="a replacement in bytes"),
        pytest.param((0, 2, "", "delete", "c"), id="an unknown kind"),
        pytest.param((0, 2, "", "Remove", "c"), id="a kind in capitals"),
        pytest.param((0, 2, "", None, "c"), id="no kind"),
        pytest.param((0, 2, "", "remove", 7), id="a check that is a number"),
        pytest.param((0, 2, "", "remove", "c", None), id="no reason"),
    ],
)
def test_what_is_no_edit_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError):
        Edit(*arguments)


def test_an_unknown_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownOption, match="did you mean 'remove'"):
        Edit(0, 1, "", "removed", "c")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "edits"),
    [
        pytest.param("abc", [remove(0, 4)], id="an edit behind the end"),
        pytest.param("", [remove(0, 1)], id="an edit of an empty text"),
        pytest.param("abc", [(0, 1, "")], id="a tuple for an edit"),
        pytest.param("abc", [None], id="None for an edit"),
        pytest.param(b"abc", [], id="bytes for a source"),
        pytest.param(None, [], id="no source"),
    ],
)
def test_what_cannot_be_merged_is_refused(source: Any, edits: list[Any]) -> None:
    with pytest.raises(ConfigError):
        merge_edits(source, edits)


@pytest.mark.parametrize("priority", [["a"], "a", ("a", 1), None])
def test_a_priority_must_be_a_tuple_of_names(priority: Any) -> None:
    with pytest.raises(ConfigError):
        MergePolicy(priority=priority)


def test_refusals_repeat_no_text() -> None:
    secret = "my card is 4111 1111"
    for attempt in (
        lambda: Edit(0, 1, "", secret, "c"),  # type: ignore[arg-type]
        lambda: merge_edits(secret, [remove(0, 99)]),
    ):
        with pytest.raises(ConfigError) as raised:
            attempt()
        assert "4111" not in str(raised.value)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((0, 1, Hostile("#"), "remove", "c"), id="as a replacement"),
        pytest.param((0, 1, "#", Hostile("remove"), "c"), id="as a kind"),
        pytest.param((0, 1, "#", "remove", Hostile("c")), id="as a check"),
        pytest.param((0, 1, "#", "remove", "c", Hostile("r")), id="as a reason"),
    ],
)
def test_a_text_that_lies_about_itself_is_refused_in_an_edit(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ConfigError):
        Edit(*arguments)


def test_a_source_that_lies_about_itself_is_read_as_what_it_is() -> None:
    merged = merge_edits(Hostile("abcdef"), [remove(1, 3), rewrite(4, 5)])
    assert merged == merge_edits("abcdef", [remove(1, 3), rewrite(4, 5)])
    assert type(merged.text) is str
    with pytest.raises(ConfigError):
        merge_edits(Hostile("abcdef"), [remove(1, 7)])


# Laws.


def naively(source: str, edits: Iterable[Edit]) -> str:
    for edit in sorted(edits, key=lambda each: (each.start, each.end), reverse=True):
        source = source[: edit.start] + edit.replacement + source[edit.end :]
    return source


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits want the same character, or one inserts strictly inside the other."""
    if one.start == one.end or other.start == other.end:
        return one.start < other.end and other.start < one.end
    return max(one.start, other.start) < min(one.end, other.end)


def check_laws(source: str, edits: Sequence[Edit], merged: Merged, priority: Sequence[str] = ()) -> None:
    """Assert what holds for all edits of a source with unique characters and replacements without any of them."""
    removed = {place for edit in edits if edit.kind == "remove" for place in range(edit.start, edit.end)}
    touched = {place for edit in edits for place in range(edit.start, edit.end)}
    out = merged.text
    assert not {source[place] for place in removed} & set(out)
    kept = [character for place, character in enumerate(source) if place not in touched]
    assert [character for character in out if character in set(kept)] == kept
    assert all(not overlap(one, other) for one, other in pairwise(merged.applied))
    assert out == naive_in_order(source, merged.applied)
    check_fates(edits, merged, priority)
    check_maps(source, merged)


def naive_in_order(source: str, applied: Sequence[Edit]) -> str:
    for edit in reversed(applied):
        source = source[: edit.start] + edit.replacement + source[edit.end :]
    return source


def check_fates(edits: Sequence[Edit], merged: Merged, priority: Sequence[str]) -> None:
    applied = set(merged.applied)
    lost = {conflict.lost for conflict in merged.conflicts}
    seen = {(edit.start, edit.end, edit.replacement, edit.kind) for edit in applied | lost}
    for edit in edits:
        assert (edit.start, edit.end, edit.replacement, edit.kind) in seen
    assert lost <= set(edits)
    for conflict in merged.conflicts:
        loser, winner = conflict.lost, conflict.won
        assert winner in applied
        assert overlap(loser, winner)
        assert rank(winner, priority) <= rank(loser, priority)
        assert (conflict.outcome == "united") == (loser.kind == "remove")
        assert conflict.outcome != "cut" or loser.kind == "style"


def rank(edit: Edit, priority: Sequence[str]) -> tuple[int, int]:
    """Removals ignore the priority: they unite."""
    place = priority.index(edit.check) if edit.check in priority else len(priority)
    return RANK[edit.kind], 0 if edit.kind == "remove" else place


def check_maps(source: str, merged: Merged) -> None:
    to_source = [merged.to_source(place) for place in range(len(merged.text) + 1)]
    to_merged = [merged.to_merged(place) for place in range(len(source) + 1)]
    assert to_source == sorted(to_source)
    assert to_merged == sorted(to_merged)
    assert to_source[-1] <= len(source)
    assert to_merged[-1] <= len(merged.text)
    written, grown = set(), 0
    for edit in merged.applied:
        start = edit.start + grown
        end = start + len(edit.replacement)
        grown += len(edit.replacement) - (edit.end - edit.start)
        assert merged.text[start:end] == edit.replacement
        assert all(to_source[place] == edit.start for place in range(start, end))
        assert all(to_merged[place] == start for place in range(edit.start + 1, edit.end))
        written |= set(range(start, end))
    for place, character in enumerate(merged.text):
        if place not in written:
            assert source[to_source[place]] == character
            assert to_merged[to_source[place]] == place


@st.composite
def sources(draw: st.DrawFn) -> str:
    return SOURCE[: draw(st.integers(0, 14))]


@st.composite
def edit_sets(draw: st.DrawFn) -> tuple[str, list[Edit]]:
    """A source and edits of it by two to five checks."""
    source = draw(sources())
    edits = []
    for check in range(draw(st.integers(2, 5))):
        for _ in range(draw(st.integers(0, 4))):
            start = draw(st.integers(0, len(source)))
            end = draw(st.integers(start, len(source)))
            kind = draw(st.sampled_from(KINDS))
            new = source[start:end].upper() if draw(st.booleans()) else draw(st.text(alphabet="0123", max_size=4))
            edits.append(Edit(start, end, new, kind, f"check {check}", draw(st.sampled_from(["", "why"]))))
    return source, edits


@given(edit_sets(), st.permutations(["check 0", "check 1", "check 2"]))
def test_every_law_holds_for_any_edits(case: tuple[str, list[Edit]], names: list[str]) -> None:
    source, edits = case
    policy = MergePolicy(priority=tuple(names))
    check_laws(source, edits, merge_edits(source, edits, policy=policy), names)


@given(edit_sets(), st.randoms(use_true_random=False))
def test_the_order_of_edits_changes_nothing(case: tuple[str, list[Edit]], chance: random.Random) -> None:
    source, edits = case
    mixed = list(edits)
    chance.shuffle(mixed)
    assert merge_edits(source, mixed) == merge_edits(source, edits)


@given(sources(), st.data())
def test_disjoint_and_touching_edits_are_applied_exactly(source: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(source)), max_size=8)))
    edits = [
        Edit(start, end, new, data.draw(st.sampled_from(KINDS)), data.draw(st.sampled_from("abc")))
        for start, end in pairwise(cuts)
        if (new := data.draw(st.none() | st.text(alphabet="XYZ", max_size=3))) is not None
    ]
    merged = merge_edits(source, edits)
    assert merged.text == naively(source, edits)
    assert set(merged.applied) == set(edits)
    assert merged.conflicts == ()


@given(st.text())
def test_no_edits_change_nothing_and_every_place_stays(source: str) -> None:
    merged = merge_edits(source, [])
    assert (merged.text, merged.applied, merged.conflicts) == (source, (), ())
    assert all(merged.to_source(place) == place == merged.to_merged(place) for place in range(len(source) + 1))


@given(edit_sets())
def test_what_was_applied_merges_to_the_same_text(case: tuple[str, list[Edit]]) -> None:
    source, edits = case
    merged = merge_edits(source, edits)
    again = merge_edits(source, merged.applied)
    assert (again.text, again.applied, again.conflicts) == (merged.text, merged.applied, ())


def random_edits(chance: random.Random, source: str) -> list[Edit]:
    edits = []
    for check in range(chance.randint(2, 5)):
        for _ in range(chance.randint(0, 3)):
            start = chance.randint(0, len(source))
            end = min(len(source), start + chance.randint(0, 5))
            new = chance.choice((source[start:end].upper(), "", "1", "23"))
            edits.append(Edit(start, end, new, chance.choice(KINDS), f"check {check}"))
    return edits


@pytest.mark.parametrize("sets", [10_000, pytest.param(50_000, marks=pytest.mark.soak)])
def test_the_laws_hold_for_a_great_many_random_edit_sets(sets: int) -> None:
    chance = random.Random(6)
    for _ in range(int(os.environ.get("DIRECTOR_EDIT_SETS", sets))):
        source = SOURCE[: chance.randint(0, 12)]
        edits = random_edits(chance, source)
        check_laws(source, edits, merge_edits(source, edits))


# What a function from text to text did.


@pytest.mark.parametrize(
    ("source", "fixed", "expected"),
    [
        pytest.param("one two three", "one two three", [], id="nothing"),
        pytest.param("one two three", "one 2 three", [(4, 7, "2")], id="a word"),
        pytest.param("one two", "one", [(3, 7, "")], id="the end goes"),
        pytest.param("one two", "two", [(0, 4, "")], id="the beginning goes"),
        pytest.param("one", "one two", [(3, 3, " two")], id="something is added"),
        pytest.param("", "one", [(0, 0, "one")], id="all of it is added"),
        pytest.param("one", "", [(0, 3, "")], id="all of it goes"),
        pytest.param("A B", "a b", [(0, 1, "a"), (2, 3, "b")], id="two words, and the gap between them stays"),
    ],
)
def test_the_edits_between_two_texts_are_by_words(
    source: str, fixed: str, expected: list[tuple[int, int, str]]
) -> None:
    edits = edits_between(source, fixed, check="f")
    assert [(edit.start, edit.end, edit.replacement) for edit in edits] == expected


@given(st.text(alphabet="ab .\n"), st.text(alphabet="ab .\n"))
def test_the_edits_between_two_texts_make_one_into_the_other(source: str, fixed: str) -> None:
    edits = edits_between(source, fixed, check="f", kind="style", reason="why")
    assert merge_edits(source, edits).text == fixed
    assert all(one.end <= other.start for one, other in pairwise(edits))
    assert all((edit.kind, edit.check, edit.reason) == ("style", "f", "why") for edit in edits)


@given(st.text(), st.text())
def test_any_text_becomes_any_other(source: str, fixed: str) -> None:
    assert merge_edits(source, edits_between(source, fixed, check="f")).text == fixed


@given(st.lists(st.sampled_from(["Alpha", "beta", "Gamma", "delta"]), max_size=60))
def test_a_text_in_small_letters_differs_in_its_capitals_only(words: list[str]) -> None:
    source = " ".join(words)
    edits = edits_between(source, source.lower(), check="case", kind="style")
    assert all(source[edit.start : edit.end].lower() == edit.replacement for edit in edits)
    assert len(edits) == sum(not word.islower() for word in words)


def test_a_long_text_that_is_all_different_is_compared_at_once() -> None:
    source = "WORD " * 20_000
    assert merge_edits(source, edits_between(source, source.lower(), check="case")).text == source.lower()
