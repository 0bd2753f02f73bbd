"""The default rewriter: puts a fact's value in the place of the clause's, and changes nothing else.

A patch states only what one fact states. It is offered only if that fact speaks of the same subject, attribute,
qualifiers and time as the clause (`scoring.same_subject`) and the patched clause no longer differs from it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from director_ai.core.ranges import check_count
from director_ai.core.scoring.same_subject import contradicts, may_correct
from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.slots.tokens import in_one_line
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS
from director_ai.rewrite.patches import apply_patches
from director_ai.rewrite.slot_patch import patch_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from director_ai.rewrite.patches import Group

__all__ = ["EvidencePatch", "find_patches"]

_LONGEST_CLAUSE: Final = 4_000
_LONGEST_EVIDENCE: Final = 20_000
_MOST_TEXTS: Final = 8
_MOST_OFFERS: Final = 12
_LEAST_SHOUTED: Final = 3
"""Words in capitals from which on what is put in is written in capitals too."""


class EvidencePatch:
    """Offers a clause again with a fact's value in the place of the one that contradicts it.

    Args:
        most: The most candidates that are offered.
    """

    def __init__(self, *, most: int = 4) -> None:
        self._most = check_count("most", most, 1, _MOST_OFFERS)
        self.is_quick = type(self) is EvidencePatch
        """It only computes; what a subclass does is not known."""

    def __call__(self, clause: str, evidence: Sequence[str]) -> list[str]:
        """Return rewrites of the clause, nearest fact first; an empty list if no fact offers one."""
        offers = (apply_patches(clause, group) for group in find_patches(clause, evidence))
        if clause.isupper() and len(clause.split()) >= _LEAST_SHOUTED:
            offers = (offer.upper() for offer in offers)
        return list(islice(dict.fromkeys(offer for offer in offers if offer not in {clause, ""}), self._most))


def find_patches(clause: str, evidence: Sequence[str]) -> list[Group]:
    """Return the patches that are offered for a clause, one group for each fact that contradicts it."""
    if len(clause) > _LONGEST_CLAUSE:
        return []
    said = Reading(in_one_line(clause))
    groups = (_patch(clause, said, fact) for fact in _nearest(said, evidence))
    return [group for group in groups if group]


def _patch(clause: str, said: Reading, fact: Reading) -> Group:
    """Return the patches with which a clause says what one fact says; none unless a single value differs.

    Where two values differ, one of them may say what the clause is about: "The deadline for 2026 is 15 July 2026."
    """
    differences = compare_readings(said, fact)
    if len(differences) != 1:
        return ()
    (difference,) = differences
    if not contradicts(said, difference, fact) or not may_correct(said, difference, fact):
        return ()
    patches = patch_difference(clause, difference, fact.t.text)
    if not patches:
        return ()
    patched = Reading(in_one_line(apply_patches(clause, patches)))
    return () if compare_readings(patched, fact) else patches


def _nearest(said: Reading, evidence: Iterable[str]) -> Iterator[Reading]:
    """Return the facts that share most words with the clause first, as far as they are read at all."""
    wanted = frozenset().union(*said.topics) - LIGHT_STEMS
    facts: list[Reading] = []
    left = _LONGEST_EVIDENCE
    for text in islice(evidence, _MOST_TEXTS):
        if left > 0 and text.strip():
            facts.append(Reading(text[:left]))
            left -= len(text)
    yield from sorted(facts, key=lambda fact: -len(wanted & frozenset().union(*fact.topics)))
