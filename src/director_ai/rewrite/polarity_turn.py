"""Turns a clause around where the evidence on its topic has a "not" more or less, or the contrary of one word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.slots.word_lists import CONTRASTS, LIGHT_STEMS
from director_ai.rewrite.fitting import fit_value
from director_ai.rewrite.inflection import is_alike
from director_ai.rewrite.negation import affirm, answer_anew, deny_verb
from director_ai.rewrite.slot_patch import write_opposite

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.rewrite.patches import Group

__all__ = ["turn_clause"]

_LEAST_SHARE: Final = 0.6
_MOST: Final = 20
_LIMITS: Final = frozenset(
    "above after before below beyond but except later earlier less more once outside over past since than till under "
    "unless until without".split()
)
"""Words behind which a statement may be denied that is true on their other side."""


def turn_clause(clause: str, said: Reading, evidence: Reading) -> list[Group]:
    """Return patches that take a negation out, put one in, or put a word's contrary in its place.

    A negation is taken out where the evidence states the negated word plainly, and put in where it negates one of the
    clause's; neither where the clause speaks of other things or beyond another limit, where its contrary may be true.
    """
    topic = frozenset().union(*said.topics) - LIGHT_STEMS
    if len(topic & frozenset().union(*evidence.topics)) < _LEAST_SHARE * len(topic):
        return []
    groups = _turn_words(clause, said, evidence)
    if not _is_within(said, topic, evidence):
        return groups
    ours, theirs = _negated(said), _negated(evidence)
    stated = set(evidence.t.stems) - set(theirs)
    for word, slot in ours.items():
        if word in stated:
            groups.append(answer_anew(clause, affirm(clause, slot, None, evidence.t.text), "yes"))
    if not ours and not topic.isdisjoint(theirs):
        groups.append(answer_anew(clause, deny_verb(clause), "no"))
    return [group for group in groups if group]


def _is_within(said: Reading, topic: frozenset[str], evidence: Reading) -> bool:
    """Whether a clause speaks of nothing else than the evidence, and of no other side of a limit."""
    limits = _LIMITS.intersection(said.t.words)
    return topic <= frozenset().union(*evidence.topics) and limits <= evidence.vocabulary


def _negated(reading: Reading) -> dict[str, Slot]:
    """The stems of what a text negates."""
    negations = [placed for placed in reading.placed if placed.slot.kind == "negation" and placed.predicate >= 0]
    return {reading.t.stems[placed.predicate]: placed.slot for placed in negations[:_MOST]}


def _turn_words(clause: str, said: Reading, evidence: Reading) -> list[Group]:
    """The evidence's contrary words in the place of the clause's."""
    opposites = _contrasting(evidence)
    known = {slot.value for slot in opposites}
    groups = []
    for mine in _contrasting(said):
        if mine.value in known:  # both sides are stated: either may be the right one
            continue
        other = next((slot for slot in opposites if _exclude(mine, slot) and is_alike(slot.text, mine.text)), None)
        if other is not None:
            groups.append(fit_value(clause, mine, write_opposite(mine.text, other.text)))
    return groups


def _contrasting(reading: Reading) -> list[Slot]:
    return [placed.slot for placed in reading.placed if placed.slot.kind in {"antonym", "comparative"}][:_MOST]


def _exclude(one: Slot, two: Slot) -> bool:
    sides = {group: side for group, side, _ in CONTRASTS.get(str(one.value), ())}
    return any(sides.get(group, side) != side for group, side, _ in CONTRASTS.get(str(two.value), ()))
