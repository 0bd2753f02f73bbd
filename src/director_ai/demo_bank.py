"""The bank of the demos: what is known of it, what somebody asks, and an answer with three planted errors."""

from __future__ import annotations

from typing import Final

__all__ = ["ANSWER", "FACTS", "PROFILE", "QUESTION", "answer_to"]

PROFILE: Final = "finance"
QUESTION: Final = "What do I get with the Standard Account?"
FACTS: Final = {
    "kb:fees": "The Standard Account has a monthly fee of 4 euros.",
    "kb:interest": "Savings earn 2.1 % interest a year, paid on the last day of December.",
    "kb:cash": "Cash withdrawals are free at every machine in the euro zone.",
    "kb:transfers": "An international transfer arrives within 3 working days.",
    "kb:insurance": "Deposits are insured up to 100,000 euros per customer.",
    "kb:founder": "Harbour Bank was founded by Clara Voss in 1987.",
}
ANSWER: Final = (
    "Thanks for asking! The Standard Account costs 4 euros a month. "
    "Savings earn 3.1 % interest a year, paid on the last day of December. Here is what else you get:\n\n"
    "- Cash withdrawals are free at every machine in the euro zone.\n"
    "- An international transfer takes at most 3 working days.\n"
    "- The card also opens the airport lounge in Vienna.\n\n"
    "Your deposits are insured up to 100,000 euros. "
    "Harbour Bank was founded by Martin Keller in 1987. Would you like to open an account?"
)
_ANSWERS: Final = (
    (("founder", "founded"), "Harbour Bank was founded by Martin Keller in 1987. Can I help you with anything else?"),
    (("interest", "savings"), "Savings earn 3.1 % interest a year, paid on the last day of December."),
    (("transfer",), "An international transfer arrives within 3 working days."),
)


def answer_to(asked: str) -> str:
    """Return what the bank's assistant says: some of it is wrong."""
    words = asked.lower()
    return next((answer for signs, answer in _ANSWERS if any(sign in words for sign in signs)), ANSWER)
