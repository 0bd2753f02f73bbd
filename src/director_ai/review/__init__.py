"""People decide what a machine must not: an inbox, its decisions, and releases that happen once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.review.cases import ReviewCase, ReviewDecision
    from director_ai.review.corrections import Correction
    from director_ai.review.queue import HumanReviewQueue

__all__ = ["Correction", "HumanReviewQueue", "ReviewCase", "ReviewDecision"]

_HOMES = {
    "Correction": "review.corrections",
    "HumanReviewQueue": "review.queue",
    "ReviewCase": "review.cases",
    "ReviewDecision": "review.cases",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
