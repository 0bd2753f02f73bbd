"""White space inside a clause reads like one space: where a line is wrapped hides nothing, and moves no edit."""

from __future__ import annotations

import pytest

from director_ai import ProductionGuard
from director_ai.core.scoring.claims import read_claim
from director_ai.core.scoring.slots import compare_slots, find_slots
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.segment import split_clauses

SPACES = {
    "line feed": "\n",
    "trailing spaces": "  \n",
    "carriage return": "\r\n",
    "tab": "\t",
    "no-break space": "\u00a0",
    "line separator": "\u2028",
    "next line": "\x85",
    "vertical tab": "\v",
    "several spaces": "    ",
    "indented": "\n   ",
}
FACTS = {
    "keeper": "The keeper of the lighthouse is Greta Holm.",
    "tower": "The tower is 48 metres high.",
    "visits": "Visitors are not allowed in the engine room.",
}
WRONG = (
    "The keeper of the lighthouse{}is Oskar Lund.",
    "The keeper of{}the lighthouse is Oskar{}Lund, as everybody knows.",
    "The tower{}is 62 metres high.",
    "The tower is 62{}metres high.",
    "Visitors{}are allowed in the{}engine room.",
)
RIGHT = ("The keeper of the lighthouse{}is Greta Holm.", "The tower is 48{}metres{}high.")


def spaced(sentence: str, space: str) -> str:
    return sentence.replace("{}", space)


@pytest.fixture(scope="module")
def guard() -> ProductionGuard:
    made = ProductionGuard.from_profile("finance", use_nli=False, search="words", metrics=False, rewriter="none")
    made.load_facts(FACTS)
    return made


WRAPPED = [
    pytest.param(sentence, text, id=f"{sentence}-{name}")
    for sentence in (*WRONG, *RIGHT)
    for name, space in SPACES.items()
    if len(split_clauses(text := spaced(sentence, space))) == 1  # other lines the segmenter takes as clauses
]


@pytest.mark.parametrize(("sentence", "text"), WRAPPED)
def test_a_clause_is_judged_as_if_it_stood_in_one_line(guard: ProductionGuard, sentence: str, text: str) -> None:
    (plain,) = guard.scorer.judge("", spaced(sentence, " "))
    (wrapped,) = guard.scorer.judge("", text)

    assert (wrapped.verdict, wrapped.support, wrapped.claim) == (plain.verdict, plain.support, plain.claim)
    assert wrapped.verdict == ("unsupported" if sentence in WRONG else "supported")


@pytest.mark.parametrize("space", SPACES)
def test_a_redaction_takes_exactly_the_clause(guard: ProductionGuard, space: str) -> None:
    clause = spaced("The keeper of the lighthouse{}is Oskar Lund.", SPACES[space])
    text = f"Hello! {clause} The tower is 48 metres high."

    result = guard.repair_stream("", text)

    (fix,) = [action for action in result.actions if action.changed]
    assert text[fix.start : fix.end] == clause
    assert result.repaired_text == text.replace(clause, "[redacted: not supported]")


def test_a_wrapped_line_that_goes_on_with_a_name_is_read_on(guard: ProductionGuard) -> None:
    """At the width at which people wrap the next line may begin with a capital; alone, the clause looks like two."""
    text = "From Easter to October the island is open to all. The keeper of the lighthouse is\nOskar Lund."
    assert guard.repair_stream("", text).actions[-1].action == "redact"


@pytest.mark.parametrize("space", SPACES)
def test_a_patch_puts_the_value_in_its_place(space: str) -> None:
    with ProductionGuard.from_profile("finance", use_nli=False, search="words", metrics=False) as guard:
        guard.load_facts(FACTS)
        text = spaced("The tower{}is 62 metres high.", SPACES[space])
        (action,) = guard.repair_stream("", text).actions
        assert (action.action, " ".join(action.text.split())) == ("rewrite", "The tower is 48 metres high.")


@pytest.mark.parametrize("space", ["\n", "\r\n", "\u2028"])
def test_facts_that_are_wrapped_are_read_on_too(space: str) -> None:
    fact = f"The keeper of the lighthouse{space}is Greta Holm."
    assert compare_slots("The keeper of the lighthouse is Oskar Lund.", fact)
    assert not compare_slots("The keeper of the lighthouse is Greta Holm.", fact)


@pytest.mark.parametrize(
    "text",
    [
        "Height: 48 metres\nKeeper: Greta Holm",
        "- The tower is high\n- The Keeper is Greta",
        "Holm\n\nLund",
        "Holm\nLund",
    ],
    ids=["labels", "list", "paragraphs", "short lines"],
)
def test_lines_that_the_segmenter_separates_stay_separate(text: str) -> None:
    assert len(split_clauses(text)) == 2
    assert len(Reading(text).t.sentences) == 2


def test_narrow_spaces_still_group_digits() -> None:
    for space in ("\u00a0", "\u2009", "\u202f"):
        said = read_claim(f"It holds 12{space}500 litres.").text
        assert [slot.value.low for slot in find_slots(said) if slot.kind == "number"] == [12_500]  # type: ignore[union-attr]
