"""Courtesies: what is said beside the matter is no claim, and no claim hides behind one."""

from __future__ import annotations

import pytest

from director_ai.core.scoring.claims import read_claim, role_of

BESIDE = {
    "I understand your concern.": "greeting",
    "I understand how frustrating that must be.": "greeting",
    "I apologize for the confusion.": "greeting",
    "You're welcome!": "greeting",
    "You’re very welcome!": "greeting",
    "Sure thing.": "greeting",
    "Take care!": "greeting",
    "Don't worry.": "greeting",
    "Great news! ": "greeting",
    "Welcome to our shop!": "greeting",
    "Thanks for reaching out, and sorry about the trouble.": "greeting",
    "Let's go through this step by step.": "greeting",
    "First, let me explain.": "offer",
    "Sorry, I cannot help with that.": "hedge",
    "I'm sorry, but I can't assist you with your order.": "hedge",
    "Unfortunately, I can't answer that.": "hedge",
    "I'm an AI assistant.": "hedge",
    "As an AI language model, I cannot give medical advice.": "hedge",
    "I'm not a doctor.": "hedge",
    "I'm not a lawyer, ": "hedge",
    "I'm not a lawyer, but here is some general information.": "offer",
    "This is not legal advice.": "hedge",
    "This does not constitute legal or financial advice.": "hedge",
    "This information is for general purposes only.": "hedge",
    "I have no information on this.": "hedge",
    "The documents do not mention this.": "hedge",
    "The documents say nothing about this.": "hedge",
    "There is no information about this in the knowledge base.": "hedge",
    "I recommend speaking to an adviser.": "instruction",
    "You may want to call us.": "instruction",
}
TRAPS = {
    "I understand that refunds are free.": "Refunds are free.",
    "I understand that refunds take 90 days.": "Refunds take 90 days.",
    "I appreciate that the fee is waived.": "",
    "I apologize for the confusion, the fee is waived.": "The fee is waived.",
    "I apologize for the fee of the card.": "",
    "You're welcome to bring dogs.": "",
    "Sure thing, the fee is waived.": "The fee is waived.",
    "Take care of the fee.": "",
    "Don't worry, the fee is waived.": "The fee is waived.",
    "Sorry, refunds take 90 days.": "Refunds take 90 days.",
    "I'm sorry that refunds are never paid.": "",
    "Glad that your deposit is insured.": "",
    "Great news: refunds are free.": "Refunds are free.",
    "Welcome to our shop of free goods.": "",
    "Thanks for reaching out, your deposit is insured.": "Your deposit is insured.",
    "Thanks for reaching out, and sorry about the trouble, the fee is waived.": "The fee is waived.",
    "Let's go through the fee: it is waived.": "",
    "First, let me explain that refunds are free.": "Refunds are free.",
    "I cannot give refunds.": "",
    "We cannot help with refunds because they are never granted.": "",
    "Unfortunately, I can't answer that, but refunds are free.": "Refunds are free.",
    "I'm an AI assistant and the fee is waived.": "",
    "As an AI I know that the CEO is John.": "The CEO is John.",
    "I'm not a doctor, but you can take 8000 mg.": "You can take 8000 mg.",
    "I'm not a doctor, but you can take more.": "You can take more.",
    "I'm not a refundable customer.": "",
    "This is not a refundable ticket.": "",
    "This is not legal advice, but the contract is void.": "The contract is void.",
    "This information is for members only.": "",
    "I have no information on this, but refunds are free.": "Refunds are free.",
    "The documents do not mention a fee.": "",
    "The policy does not cover this.": "",
    "There is no fee.": "",
    "There is no information fee.": "",
    "I recommend speaking to an adviser who is free.": "",
    "You may want to pay the fee.": "",
}
INTRODUCED = [
    "According to our policy, the card has a fee of 95 euros.",
    "Based on the documents provided, the card has a fee of 95 euros.",
    "Based on the information you provided, the card has a fee of 95 euros.",
    "Per our terms, the card has a fee of 95 euros.",
    "As stated in the price list, the card has a fee of 95 euros.",
    "As mentioned above, the card has a fee of 95 euros.",
    "As of today, the card has a fee of 95 euros.",
    "As far as I know, the card has a fee of 95 euros.",
    "To be clear, the card has a fee of 95 euros.",
    "It's important to note that the card has a fee of 95 euros.",
    "I’m happy to tell you that the card has a fee of 95 euros.",
    "Our records show that the card has a fee of 95 euros.",
    "The fact sheet says the card has a fee of 95 euros.",
    "Great news! The card has a fee of 95 euros.",
    "Thanks for asking! According to our policy, the card has a fee of 95 euros.",
]


@pytest.mark.parametrize(("clause", "role"), BESIDE.items())
def test_what_says_nothing_of_the_subject_is_no_claim(clause: str, role: str) -> None:
    assert role_of(clause) == role


@pytest.mark.parametrize(("clause", "stated"), TRAPS.items())
def test_no_statement_hides_in_a_courtesy(clause: str, stated: str) -> None:
    claim = read_claim(clause)
    assert (claim.role, claim.text) == ("claim", stated or clause)


@pytest.mark.parametrize("clause", INTRODUCED)
def test_what_is_introduced_is_judged_without_its_introduction(clause: str) -> None:
    assert read_claim(clause).text == "The card has a fee of 95 euros."


@pytest.mark.parametrize(
    "clause",
    [
        "According to the old policy, refunds are free.",
        "According to John Smith, refunds are free.",
        "According to our 2019 policy, refunds are free.",
        "As of 2019, refunds are free.",
        "The website shows prices in euros.",
    ],
    ids=["not in force", "a person", "of a year", "since a year", "shows a thing"],
)
def test_an_introduction_that_says_something_stays(clause: str) -> None:
    assert read_claim(clause).text == clause


@pytest.mark.parametrize("source", ["(source: price list)", "[Source: Refund Policy]", "(see our terms)"])
def test_a_text_that_is_cited_is_not_judged(source: str) -> None:
    clause = f"The card has a fee of 95 euros {source}."
    assert read_claim(clause).text == "The card has a fee of 95 euros"


@pytest.mark.parametrize("source", ["(source: John Smith)", "(source: price list 2019)", "(only for members)"])
def test_other_words_in_brackets_are_judged(source: str) -> None:
    clause = f"The card has a fee of 95 euros {source}."
    assert read_claim(clause).text == clause


@pytest.mark.parametrize(
    "piece",
    ["sorry, ", "as an ai ", "the a ", "i really ", "so, but ", "medical or ", "according to our ", "( [ see a "],
)
def test_a_long_row_of_courtesies_is_read(piece: str) -> None:
    assert read_claim(piece * 4_000)
