"""Functions as checks: what they change becomes edits, and what they get wrong is refused."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.checks.rules import Check
from director_ai.core.merge import Edit, merge_edits
from director_ai.errors import ConfigError, DirectorError, UnknownOption
from director_ai.validators.functions import Predicate, TextFunction


def lower(text: str) -> str:
    return text.lower()


async def lower_later(text: str) -> str:
    await asyncio.sleep(0)
    return text.lower()


def polite(text: str) -> bool:
    return "damn" not in text


async def polite_later(text: str) -> bool:
    await asyncio.sleep(0)
    return "damn" not in text


class Loud(str):
    """A text with a will of its own."""

    __slots__ = ()

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> str:
        return "secret"


def test_what_a_function_changes_becomes_edits() -> None:
    check = TextFunction(lower, name="case", kind="style")
    assert list(check.find("An Old house")) == [
        Edit(0, 2, "an", "style", "case", "case"),
        Edit(3, 6, "old", "style", "case", "case"),
    ]


def test_a_function_that_changes_nothing_makes_no_edit() -> None:
    assert not TextFunction(lower, name="case").find("an old house")


@given(st.text(), st.text())
def test_the_edits_give_what_the_function_returned(text: str, answer: str) -> None:
    edits = TextFunction(lambda _: answer, name="answer").find(text)
    assert merge_edits(text, edits).text == answer


def test_an_asynchronous_function_gives_an_awaitable() -> None:
    answer = TextFunction(lower_later, name="case").find("An Old house")
    assert inspect.isawaitable(answer)

    async def wait() -> Any:
        return await answer

    assert asyncio.run(wait()) == TextFunction(lower, name="case").find("An Old house")


@pytest.mark.parametrize("answer", [None, b"bytes", 7, ["text"], True])
def test_a_result_that_is_no_text_is_refused_without_the_text(answer: Any) -> None:
    with pytest.raises(DirectorError, match="must return a text") as raised:
        TextFunction(lambda _: answer, name="odd").find("my secret")
    assert "secret" not in str(raised.value)


def test_an_asynchronous_result_that_is_no_text_is_refused() -> None:
    async def nothing(text: str) -> Any:
        return None

    async def wait() -> Any:
        return await TextFunction(nothing, name="odd").find("my secret")

    with pytest.raises(DirectorError, match="NoneType"):
        asyncio.run(wait())


def test_a_text_with_a_will_of_its_own_is_read_as_what_it_is() -> None:
    edits = TextFunction(lambda _: Loud("an old house"), name="loud").find("An old house")
    assert merge_edits("An old house", edits).text == "an old house"


def test_what_a_function_raises_is_passed_on() -> None:
    def fails(text: str) -> str:
        raise LookupError

    with pytest.raises(LookupError):
        TextFunction(fails, name="fails").find("text")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("All is well. ", "All is well. ", id="a piece that is fine"),
        pytest.param("Oh damn it. ", "[REMOVED] ", id="the white space behind a piece stays"),
        pytest.param("\n  damn", "\n  [REMOVED]", id="the white space before a piece stays"),
        pytest.param("damn", "[REMOVED]", id="a piece without any"),
    ],
)
def test_a_predicate_removes_the_whole_piece(text: str, expected: str) -> None:
    check = Predicate(polite, name="polite", reason="rude")
    edits = check.find(text)
    assert merge_edits(text, edits).text == expected
    assert all((edit.kind, edit.check, edit.reason) == ("remove", "polite", "rude") for edit in edits)


def test_a_predicate_can_refuse_white_space_and_nothing() -> None:
    check = Predicate(lambda _: False, name="never")
    assert merge_edits("  ", check.find("  ")).text == "[REMOVED]"
    assert check.find("") == (Edit(0, 0, "", "remove", "never", "refused"),)


def test_an_asynchronous_predicate_gives_an_awaitable() -> None:
    async def wait() -> Any:
        return await Predicate(polite_later, name="polite").find("damn")

    assert asyncio.run(wait()) == Predicate(polite, name="polite").find("damn")


@pytest.mark.parametrize("answer", [None, 1, 0, "yes", []])
def test_an_answer_that_is_neither_true_nor_false_is_refused(answer: Any) -> None:
    with pytest.raises(DirectorError, match="True or False"):
        Predicate(lambda _: answer, name="odd").find("text")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        pytest.param(lambda: TextFunction("lower", name="x"), ConfigError, id="a function that is a text"),
        pytest.param(lambda: TextFunction(lower, name=""), ConfigError, id="a name without letters"),
        pytest.param(lambda: TextFunction(lower, name=None), ConfigError, id="no name"),
        pytest.param(lambda: TextFunction(lower, name="x", frontier="page"), UnknownOption, id="an unknown frontier"),
        pytest.param(lambda: TextFunction(lower, name="x", frontier=0), ConfigError, id="a frontier of nothing"),
        pytest.param(lambda: TextFunction(lower, name="x", kind="fix"), UnknownOption, id="an unknown kind"),
        pytest.param(lambda: Predicate(None, name="x"), ConfigError, id="no predicate"),
        pytest.param(lambda: Predicate(polite, name="x", frontier=64), ConfigError, id="a predicate of windows"),
        pytest.param(lambda: Predicate(polite, name="x", reason=None), ConfigError, id="no reason"),
        pytest.param(lambda: Predicate(polite, name="x", replacement=7), ConfigError, id="a replacement that is a number"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_check_is_refused(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_both_are_checks() -> None:
    assert isinstance(TextFunction(lower, name="x", frontier=64), Check)
    assert isinstance(Predicate(polite, name="x", frontier="text"), Check)
