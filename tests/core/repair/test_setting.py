"""A clause is corrected only with facts that mention what it is said under: its heading, its lead-in, the question."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from director_ai import ProductionGuard

FACTS = {"lift": "The lift carries 8 people.", "porter": "The porter is Ana Reis.", "tower": "The Tower has 12 floors."}
RIGHT = "The lift carries 8 people."
WRONG = "The lift carries 20 people."


@pytest.fixture(scope="module")
def guard() -> Iterator[ProductionGuard]:
    with ProductionGuard.from_profile("finance", use_nli=False, search="words", metrics=False) as made:
        made.load_facts(FACTS)
        yield made


ELSEWHERE = {
    "a heading": "## Warehouse in Porto\n\n{}",
    "a heading with a line below": "Warehouse\n---------\n\n{}",
    "a bold line": "**Warehouse**\n\n{}",
    "a short line": "Warehouse\n\n{}",
    "a lead-in": "For the warehouse:\n- {}",
    "a sentence that sets the scene": "At the Porto site things differ. {}",
}


@pytest.mark.parametrize("before", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_is_said_of_something_else_is_not_corrected(guard: ProductionGuard, before: str, size: int) -> None:
    text = before.format(WRONG)
    tokens = [text[at : at + size] for at in range(0, len(text), size)]
    with guard.stream("", tokens) as stream:
        list(stream)
    actions = stream.result.actions
    assert all(action.action != "rewrite" for action in actions)
    assert actions[-1].action == "redact"


AT_HOME = {
    "a heading that the facts know": "## The lift\n\n{}",
    "a heading that says nothing": "## Key facts\n\n{}",
    "a lead-in": "Here is the information:\n- {}",
}


@pytest.mark.parametrize("before", AT_HOME.values(), ids=AT_HOME)
def test_what_is_said_of_what_the_facts_know_is_corrected(guard: ProductionGuard, before: str) -> None:
    assert guard.repair_stream("", before.format(WRONG)).repaired_text.endswith(RIGHT)


def test_a_heading_ends_with_the_next_one(guard: ProductionGuard) -> None:
    text = f"## Warehouse\n\n{WRONG}\n\n## Lift\n\n{WRONG}"
    assert [action.action for action in guard.repair_stream("", text).actions if action.changed][-2:] == [
        "redact",
        "rewrite",
    ]


def test_a_lead_in_ends_with_its_list(guard: ProductionGuard) -> None:
    text = f"For the warehouse:\n- {RIGHT}\n\n{WRONG}"
    assert guard.repair_stream("", text).actions[-1].action == "rewrite"


def test_a_clause_that_names_what_it_is_about_stands_under_its_heading_all_the_same(guard: ProductionGuard) -> None:
    text = "## Warehouse in Porto\n\nThe Tower has 9 floors."
    assert guard.repair_stream("", text).actions[-1].action == "redact"


ASKED = {
    "How many people fit into the lift in Porto?": "redact",
    "And in the old building?": "redact",
    "How many people does the mill's lift carry?": "redact",
    "How many people does the lift carry if it rains?": "redact",
    "How many people did the lift carry in 2019?": "redact",
    "what about the freight lift": "redact",
    "How many people does the lift carry?": "rewrite",
    "Could you tell me how much the lift carries, please?": "rewrite",
    "I am in Porto. How many people can the lift carry?": "rewrite",
}


@pytest.mark.parametrize(("question", "action"), ASKED.items())
def test_a_question_about_something_else(guard: ProductionGuard, question: str, action: str) -> None:
    assert guard.repair_stream(question, WRONG).actions[0].action == action


UNSURE = {
    "a question": "And the mill? {}",
    "a fragment": "In winter. {}",
    "an invitation to imagine": "Imagine another house. {}",
    "the item above": "* Mill\n  * {}",
    "a numbered item above": "1. Mill\n   {}",
}


@pytest.mark.parametrize("text", UNSURE.values(), ids=UNSURE)
@pytest.mark.parametrize("size", [1, 6, 1000])
def test_what_is_said_after_words_that_no_fact_has_is_not_corrected(
    guard: ProductionGuard, text: str, size: int
) -> None:
    text = text.format(WRONG)
    with guard.stream("", [text[at : at + size] for at in range(0, len(text), size)]) as stream:
        list(stream)
    before, last = stream.result.actions[:-1], stream.result.actions[-1]
    assert last.action == "redact" or all(action.action == "redact" for action in before)


def test_what_is_said_after_small_talk_or_supported_clauses_is_corrected(guard: ProductionGuard) -> None:
    text = f"Sure, happy to help! The porter is Ana Reis. {WRONG}"
    assert guard.repair_stream("", text).repaired_text == f"Sure, happy to help! The porter is Ana Reis. {RIGHT}"


def test_a_row_of_a_table_is_not_corrected_since_its_columns_are_not_read(guard: ProductionGuard) -> None:
    text = "| | Tower | Mill |\n|---|---|---|\n| The lift carries | 8 people | 20 people |\n"
    assert all(action.action != "rewrite" for action in guard.repair_stream("", text).actions)


def test_a_value_of_a_json_object_is_redacted_since_another_member_may_say_what_it_is_about(
    guard: ProductionGuard,
) -> None:
    result = guard.repair_stream("", '{"porter": "Ben Ode", "site": "Porto"}', shape="json")
    assert result.repaired_text == '{"porter": "[redacted: not supported]", "site": "Porto"}'


WRAPPED = {
    "a name": ("The porter is John\nSmith.", "The porter is Ana Reis"),
    "a name in a list": ("- The porter is John\n  Smith.\n", "The porter is Ana Reis"),
}


@pytest.mark.parametrize(("text", "never"), WRAPPED.values(), ids=WRAPPED)
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_half_of_a_sentence_that_goes_on_in_the_next_line_is_not_corrected(
    guard: ProductionGuard, text: str, never: str, size: int
) -> None:
    with guard.stream("", [text[at : at + size] for at in range(0, len(text), size)]) as stream:
        list(stream)
    assert never not in stream.result.repaired_text
    assert not any(action.action == "rewrite" for action in stream.result.actions)


def test_a_line_that_is_whole_is_corrected(guard: ProductionGuard) -> None:
    text = "- The lift carries 20 people\n- The porter is John Smith\n\nThe lift carries 20 people\n\nThank you."
    told = "- The lift carries 8 people\n- The porter is Ana Reis\n\nThe lift carries 8 people\n\nThank you."
    assert guard.repair_stream("", text).repaired_text == told


def test_what_is_redacted_in_a_fence_leaves_its_language(guard: ProductionGuard) -> None:
    text = "```yaml\nlift: carries 20 people\nporter: Ben Ode\n```\nThat is all."
    told = "```yaml\n[redacted: not supported]\n```\nThat is all."
    assert guard.repair_stream("", text).repaired_text == told
