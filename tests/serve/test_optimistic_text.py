"""One text that is shown before it is judged: whatever the guard lets go, a client that applies all events holds it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.repair.streams import RepairPiece
from director_ai.serve.optimism import Correction, ShownText


class Client:
    """Holds a text, and applies what it is told."""

    def __init__(self) -> None:
        self.text, self.final = "", 0

    def take(self, told: Iterable[Correction | str]) -> list[str]:
        names = []
        for each in told:
            if isinstance(each, str):
                self.text += each
                names.append("text")
                continue
            assert self.final <= each.start <= each.end <= len(self.text)
            names.append(each.event)
            if each.event == "confirm":
                assert each.start == self.final
                self.final = each.end
            else:
                self.text = self.text[: each.start] + each.text + self.text[each.end :]
        return names


words = st.text("ab .é🙂", max_size=12)
steps = st.lists(
    st.one_of(st.tuples(st.just("show"), words), st.tuples(st.just("settle"), words, st.integers(0, 30))), max_size=20
)


@given(steps, st.integers(1, 20), st.booleans())
def test_what_is_confirmed_is_what_was_let_go_and_nothing_else_stays(
    told: list[tuple[object, ...]], most: int, goes_on: bool
) -> None:
    shown, client, released, end = ShownText(most), Client(), "", 0
    for _ in range(1 + goes_on):
        end = 0
        for kind, text, *more in told:
            if kind == "show":
                client.take([shown.show(str(text))])
            else:
                end += int(more[0]) if more else 0
                client.take(shown.settle(RepairPiece(str(text), (), end)))
                released += str(text)
            assert client.text[: client.final] == released
            assert len(client.text) - client.final <= most
        client.take(shown.retract())
        assert client.text == released


def told_of(said: str, *pieces: tuple[str, int], most: int = 4_000) -> list[Correction | str]:
    shown = ShownText(most)
    shown.show(said)
    return [each for text, end in pieces for each in shown.settle(RepairPiece(text, (), end))]


ROWS = {
    "kept": ("One. Two. ", ("One. ", 5), [Correction("confirm", 0, 5)]),
    "a word is replaced": (
        "It is 90 days. Yes.",
        ("It is 30 days. ", 15),
        [Correction("replace", 6, 8, "30"), Correction("confirm", 0, 15)],
    ),
    "a part of a word is the whole word": (
        "in 1987. Yes.",
        ("in 1992. ", 9),
        [Correction("replace", 3, 8, "1992."), Correction("confirm", 0, 9)],
    ),
    "a word is removed": (
        "a big dog. Yes.",
        ("a dog. ", 11),
        [Correction("retract", 2, 6), Correction("confirm", 0, 7)],
    ),
    "nothing is left": ("One. Two. ", ("", 5), [Correction("retract", 0, 5)]),
    "something is added": (
        "One. Two. ",
        ("One. And ", 5),
        [Correction("replace", 5, 5, "And "), Correction("confirm", 0, 9)],
    ),
}


@pytest.mark.parametrize(("said", "piece", "expected"), ROWS.values(), ids=ROWS)
def test_changes_are_as_small_as_words(said: str, piece: tuple[str, int], expected: list[Correction]) -> None:
    assert told_of(said, piece) == expected


def test_places_count_characters_and_not_their_halves() -> None:
    shown = ShownText()
    assert shown.show("\ud83d") == ""
    assert shown.show("\ude42! ") == "🙂! "
    assert list(shown.settle(RepairPiece("🙂! ", (), 3))) == [Correction("confirm", 0, 3)]


def test_half_of_a_character_comes_with_the_verdict() -> None:
    shown = ShownText()
    assert shown.show("Hi \ud83d") == "Hi "
    told = list(shown.settle(RepairPiece("Hi \ufffd", (), 4)))
    assert told == [Correction("confirm", 0, 3), "\ufffd", Correction("confirm", 3, 4)]


@pytest.mark.parametrize(
    ("said", "pieces"),
    [
        ("Hid\u200bden. Next one. Last.", [("Hidden. ", 8), ("Next one. ", 18), ("Last.", 23)]),
        ("The ﬁne. Next one. Last.", [("The fine. ", 10), ("Next one. ", 20), ("Last.", 25)]),
    ],
    ids=["shorter", "longer"],
)
def test_a_check_that_comes_first_costs_its_own_clause_alone(said: str, pieces: list[tuple[str, int]]) -> None:
    changes = [each for each in told_of(said, *pieces) if isinstance(each, Correction) and each.event != "confirm"]
    assert len(changes) == 1


def test_text_beyond_the_bound_waits_and_leaves_as_text() -> None:
    told = told_of("One. Two. Three.", ("One. ", 5), ("Two. ", 10), ("Three.", 16), most=7)
    assert "".join(each for each in told if isinstance(each, str)) == "o. Three."
    assert {each.event for each in told if isinstance(each, Correction)} == {"confirm"}


def test_what_was_held_and_then_changed_is_added_behind_what_stays() -> None:
    told = told_of("It is 90 days.", ("It is 30 days.", 14), most=8)
    assert told == [Correction("retract", 6, 8), Correction("confirm", 0, 6), "30 days.", Correction("confirm", 6, 14)]


def test_a_text_that_begins_anew_goes_on_where_it_was() -> None:
    shown = ShownText()
    shown.show("One. Tw")
    assert list(shown.settle(RepairPiece("One. ", (), 5))) == [Correction("confirm", 0, 5)]
    assert list(shown.retract()) == [Correction("retract", 5, 7)]
    shown.show("Three. Four.")
    told = list(shown.settle(RepairPiece("3. ", (), 7)))
    assert told == [Correction("replace", 5, 11, "3."), Correction("confirm", 5, 8)]
