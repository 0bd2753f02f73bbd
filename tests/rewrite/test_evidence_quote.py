"""The rewriter that quotes the evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.rewrite import EvidenceQuote

FACTS = ["The museum is closed. Refunds are accepted within 30 days of delivery", "Delivery is free."]


def test_the_sentence_that_shares_most_is_quoted_whole() -> None:
    assert (
        EvidenceQuote()("You get refunds within 90 days.", FACTS) == "Refunds are accepted within 30 days of delivery."
    )


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ("- the shop opens at nine", "The shop opens at nine."),
        ("Does the shop open at nine?", "Does the shop open at nine?"),
        ('He said: "The shop opens at nine."', 'He said: "The shop opens at nine."'),
    ],
    ids=["a list item", "a question", "a full stop inside quotes"],
)
def test_a_quote_has_a_capital_and_an_end(evidence: str, expected: str) -> None:
    assert EvidenceQuote()("The shop opens at ten.", [evidence]) == expected


def test_evidence_about_something_else_is_not_quoted() -> None:
    assert EvidenceQuote()("The café serves tea.", FACTS) == ""


def test_the_clause_itself_is_not_quoted() -> None:
    assert EvidenceQuote()("Delivery is free.", ["Delivery is free."]) == ""


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=3))
def test_any_texts_give_another_text_and_no_error(clause: str, evidence: list[str]) -> None:
    assert EvidenceQuote()(clause, evidence) != clause or clause == ""
