"""The default rewriter: no language model, only the evidence's own words in the place of those that differ."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.core.ranges import check_count
from director_ai.core.scoring.slots.comparison import compare_readings
from director_ai.core.scoring.slots.framing import figure
from director_ai.core.scoring.slots.reading import Reading
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS
from director_ai.rewrite.patches import apply_patches, merge_groups
from director_ai.rewrite.phrase_patch import patch_phrases
from director_ai.rewrite.polarity_turn import turn_clause
from director_ai.rewrite.slot_patch import patch_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from director_ai.core.scoring.slots import Slot, SlotDifference
    from director_ai.rewrite.patches import Group

__all__ = ["EvidencePatch", "find_patches"]

_LONGEST_CLAUSE: Final = 4_000
_LONGEST_EVIDENCE: Final = 20_000
_MOST_TEXTS: Final = 8
_NEAREST: Final = 2
_MOST_WEIGHED: Final = 12
_LEAST_SHOUTED: Final = 3
"""Words in capitals from which on what is put in is written in capitals too."""
_MEASURED: Final = frozenset({"number", "money", "percent", "duration"})
_VALUES: Final = _MEASURED | {"date", "time"}


class _Text(NamedTuple):
    text: str
    reading: Reading


class EvidencePatch:
    """Offers a clause again with what the evidence says in the place of what differs; the rest stays byte for byte.

    Args:
        most: The most candidates that are offered.
    """

    def __init__(self, *, most: int = 4) -> None:
        self._most = check_count("most", most, 1, _MOST_WEIGHED)
        self.is_quick = type(self) is EvidencePatch
        """It only computes; what a subclass does is not known."""

    def __call__(self, clause: str, evidence: Sequence[str]) -> list[str]:
        """Return rewrites of the clause, the best first; none where the evidence offers nothing for it."""
        if len(clause) > _LONGEST_CLAUSE:
            return []
        said = Reading(clause)
        texts = _nearest(said, evidence)
        if not texts:
            return []
        whole = _join(texts)
        offers = (apply_patches(clause, group) for group in _offers(clause, said, texts, whole))
        if clause.isupper() and len(clause.split()) >= _LEAST_SHOUTED:
            offers = (offer.upper() for offer in offers)
        found = islice(dict.fromkeys(offer for offer in offers if offer not in {clause, ""}), _MOST_WEIGHED)
        return sorted(found, key=lambda offer: _count_wrong(Reading(offer), whole.reading))[: self._most]


def find_patches(clause: str, evidence: Sequence[str]) -> list[Group]:
    """Return the patches that are offered for a clause, those that compare best with the evidence first."""
    said = Reading(clause[:_LONGEST_CLAUSE])
    texts = _nearest(said, evidence)
    return list(_offers(clause, said, texts, _join(texts))) if texts else []


def _offers(clause: str, said: Reading, texts: list[_Text], whole: _Text) -> Iterator[Group]:
    """What is surely wrong, all that differs, and each alone; then a phrase; then the clause turned around."""
    compared = [_compare(clause, said, text, whole) for text in [*texts, *([whole] if len(texts) > 1 else [])]]
    every = sorted((fix for fixes in compared for fix in fixes), key=lambda fix: fix.rank)
    yield merge_groups(fix.group for fix in every if fix.rank < _KNOWN)
    yield merge_groups(fix.group for fix in every)
    for fixes in compared:
        yield merge_groups(fix.group for fix in fixes)
    for fix in every:
        yield fix.group
    for text in texts:
        yield from patch_phrases(clause, text.text)
    for text in texts[:_NEAREST]:
        yield from turn_clause(clause, said, text.reading)


class _Fix(NamedTuple):
    group: Group
    rank: int
    """Lower is surer."""


def _compare(clause: str, said: Reading, text: _Text, whole: _Text) -> list[_Fix]:
    return [
        _Fix(group, _rank(difference, said, whole.reading))
        for difference in compare_readings(said, text.reading)
        if (group := patch_difference(clause, difference, text.text))
    ]


_SAME_FIGURE, _UNKNOWN, _KNOWN = range(3)


def _rank(difference: SlotDifference, said: Reading, evidence: Reading) -> int:
    """How sure it is that the slot is the wrong one: what the evidence has elsewhere may be right."""
    mine, other = difference.claim, difference.evidence
    if mine.kind in _MEASURED and other is not None and figure(mine) and figure(mine) == figure(other):
        return _SAME_FIGURE
    is_said_already = other is not None and other.kind in _VALUES and said.has_value(other)
    return _KNOWN if is_said_already or _is_known(mine, evidence) else _UNKNOWN


def _is_known(slot: Slot, evidence: Reading) -> bool:
    if slot.kind == "name":
        return set(str(slot.value).split()) <= evidence.vocabulary
    if slot.kind in {"antonym", "comparative"}:
        return any(placed.slot.kind == slot.kind and placed.slot.value == slot.value for placed in evidence.placed)
    return slot.kind in _VALUES and evidence.has_value(slot)


def _count_wrong(offer: Reading, evidence: Reading) -> int:
    """How much of an offer the evidence still speaks against and has nowhere."""
    return sum(_rank(difference, offer, evidence) < _KNOWN for difference in compare_readings(offer, evidence))


def _nearest(said: Reading, evidence: Iterable[str]) -> list[_Text]:
    """The texts that share most with the clause, as far as they are read at all."""
    wanted = frozenset().union(*said.topics) - LIGHT_STEMS
    texts: list[_Text] = []
    left = _LONGEST_EVIDENCE
    for text in islice(evidence, _MOST_TEXTS):
        if left > 0 and text.strip():
            texts.append(_Text(text[:left], Reading(text[:left])))
            left -= len(text)
    return sorted(texts, key=lambda text: -len(wanted & frozenset().union(*text.reading.topics)))


def _join(texts: list[_Text]) -> _Text:
    if len(texts) == 1:
        return texts[0]
    joined = " ".join(text.text for text in texts)
    return _Text(joined, Reading(joined))
