"""What the knowledge base holds and how it is asked: facts, the questions of a clause, one order out of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from typing import TypeVar

    from director_ai.core.types import EvidenceChunk

    Item = TypeVar("Item", bound=Hashable)

__all__ = ["Fact", "Question", "Retriever", "fuse_rankings", "points_back", "questions_of"]

RANK_OFFSET = 10
"""Of reciprocal rank fusion: how little it matters whether something came first or third."""
CONTEXT_CLAUSES = 2
"""What "it" means was said a sentence or two ago; the beginning of a long answer would only mislead."""
POINTING = frozenset(
    "it its they them their theirs he him his she her hers this that these those there here both such ones".split()
)
"""Words that stand for what was named before."""
FIRST_WORDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement of the knowledge base, with where it comes from and since when it stands there."""

    key: str
    text: str
    tenant_id: str = ""
    """Empty for the shared facts, which every tenant reads."""
    source: str = ""
    start: int | None = None
    """Where in its source it begins and ends, in characters."""
    end: int | None = None
    version: int = 1
    added_at: str = ""
    added_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to search by, and how much its answers count beside those of the others."""

    parts: tuple[str, ...]
    """The clause last, before it what was asked and said."""
    weight: float = 1.0
    decides: bool = True
    """Whether a fact's relevance may be judged by this question alone."""

    @property
    def text(self) -> str:
        """All of it."""
        return " ".join(self.parts)


class Retriever(Protocol):
    """Whatever finds evidence: the stores of `director_ai.knowledge`, or a caller's own."""

    def retrieve_context_with_chunks(self, query: str, top_k: int = 3, tenant_id: str = "") -> list[EvidenceChunk]:
        """Return the most relevant evidence first, and an empty list when nothing is relevant."""
        ...


def questions_of(clause: str, *, prompt: str = "", preceding: Sequence[str] = ()) -> list[Question]:
    """Return what to ask about a clause: itself, and itself with what was asked and said before.

    "It opens at nine." finds the right fact only with the sentence that says what opens; a clause that names its
    subject is found better alone. Both are asked, and their answers are fused; what a clause that points back is about
    is decided by its context, or another shop that opens at nine would bear it out.
    """
    context = [part for part in (prompt, *preceding[-CONTEXT_CLAUSES:]) if part.strip()]
    if not context:
        return [Question(parts=(clause,))]
    whole = Question(parts=(*context, clause))
    if points_back(clause):
        return [whole, Question(parts=(clause,), weight=0.5, decides=False)]
    return [Question(parts=(clause,)), whole]


def points_back(clause: str) -> bool:
    """Whether a clause begins with a word that stands for something named before it."""
    return any(word.strip("\"'“”‘’(),.").lower() in POINTING for word in clause.split()[:FIRST_WORDS])


def fuse_rankings(rankings: Iterable[tuple[Sequence[Item], float]]) -> list[Item]:
    """Return the items of several rankings, each with a weight, in the order of their summed reciprocal ranks."""
    scores: dict[Item, float] = {}
    for ranking, weight in rankings:
        for rank, item in enumerate(ranking):
            scores[item] = scores.get(item, 0.0) + weight / (RANK_OFFSET + rank + 1)
    return sorted(scores, key=lambda item: -scores[item])  # stable: ties keep the order of the first ranking
