"""The default rewriter: puts a fact's value in the place of the clause's, and changes nothing else.

A patch states only what one fact states. It is offered only if that fact speaks of the same subject, attribute,
qualifiers and time as the clause (`scoring.same_subject`) and the patched clause no longer differs from it.
"""

from __future__ import annotations

import re
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

    from director_ai.core.scoring.slots.values import SlotDifference
    from director_ai.rewrite.patches import Group

__all__ = ["EvidencePatch", "find_patches"]

_LONGEST_CLAUSE: Final = 4_000
_LONGEST_EVIDENCE: Final = 20_000
_MOST_TEXTS: Final = 8
_MOST_OFFERS: Final = 12
_EMPHASIS: Final = re.compile(r"(\*{1,3}|_{1,3}|`)(?=\S)(.+?)(?<=\S)\1")
_VALUE: Final = "\0"
_SPACES: Final = re.compile(r"\s+")
_ADDED: Final = re.compile(
    r"\s*(?:(?:of|after|from) (?:the |a |your )?[^\W\d_]+)?(?:,? and (?!(?:only|if|for)\b)[^\d,;:()]+)?"
)
_ANSWER: Final = re.compile(r"\A(?:yes|no)\b\W+")
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
    if compare_readings(patched, fact) or not _repeats(said, patched, difference, fact):
        return ()
    return patches


def _repeats(said: Reading, patched: Reading, difference: SlotDifference, fact: Reading) -> bool:
    """Whether a patched clause says a sentence of the fact word for word, or would but for the way it writes the value.

    Every rule that let other words pass wrote falsehoods sooner or later: "fell by 20 EUR" and "fell to 80 EUR" differ
    in a word that says nothing elsewhere. The fact may go on behind the clause with what its value counts from ("of
    purchase") or with a second statement, and not with a condition or another value.
    """
    mine, theirs = difference.claim, difference.evidence
    if theirs is None:
        return False
    place = next(i for i, start in enumerate(fact.t.starts) if start >= theirs.start)
    first, end = fact.t.sentences[fact.t.sentence_of[place]]
    begin, stop = fact.t.starts[first], fact.t.starts[end - 1] + len(fact.t.raw[end - 1])
    clause, source = said.t.text, fact.t.text
    if _goes_on(_ANSWER.sub("", _plainly(patched.t.text)), _plainly(source[begin:stop])):
        return True
    before, behind = _plainly(f"{clause[: mine.start]}{_VALUE}{clause[mine.end :]}").split(_VALUE)
    known, rest = _plainly(f"{source[begin : theirs.start]}{_VALUE}{source[theirs.end : stop]}").split(_VALUE)
    return before == known and _goes_on(behind, rest)


def _goes_on(mine: str, theirs: str) -> bool:
    """Whether one text begins with all of the other, and adds nothing that narrows it."""
    mine, theirs = mine.removesuffix(".").rstrip(), theirs.removesuffix(".").rstrip()
    rest = theirs.removeprefix(mine)
    if not theirs.startswith(mine) or (rest and mine and rest[0].isalnum()):
        return False
    return not rest or _ADDED.fullmatch(rest) is not None


def _plainly(text: str) -> str:
    """Return a text in lower case, without emphasis and superfluous spaces."""
    return _SPACES.sub(" ", _EMPHASIS.sub(r"\2", text)).strip().lower()


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
