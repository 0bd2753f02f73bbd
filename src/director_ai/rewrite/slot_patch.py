"""Turns the differences between a clause and its evidence into patches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from director_ai.core.scoring.slots.agreement import MEASURES
from director_ai.core.scoring.slots.framing import figure
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import LIGHT_STEMS
from director_ai.rewrite.amounts import write_amount
from director_ai.rewrite.dates import write_date, write_time
from director_ai.rewrite.fitting import fit_count, fit_value
from director_ai.rewrite.negation import affirm, answer_anew, deny

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot, SlotDifference
    from director_ai.rewrite.patches import Group

__all__ = ["patch_difference", "put_value"]

_PAST = re.compile(r"\b(?:half|quarter|five|ten|twenty|twenty-five)\s+(?:past|to)\s+$", re.IGNORECASE)
_TITLE = re.compile(r"(?:Mrs?|Ms|Miss|Dr|Prof|Professor|Sir|Lady|Lord|Dame)\b")
_PLACE_BEFORE = re.compile(r"\b(?:in|into|near|outside)\s+(?:the\s+)?$", re.IGNORECASE)
_WHOM = re.compile(r"\s+(?P<link>for|in|on|at|to|with|by)\s+(?P<words>[^\W\d_][\w-]*(?:\s+[^\W\d_][\w-]*){0,2})")


def patch_difference(clause: str, difference: SlotDifference, evidence_text: str) -> Group:
    """Return the patches that put one difference right; none where it cannot be done without guessing."""
    claim, evidence = difference.claim, difference.evidence
    if difference.kind == "negation":
        if evidence is not None and _speaks_of_others(clause[claim.end :], evidence_text[evidence.end :]):
            return ()
        if claim.unit == "negated":
            return answer_anew(clause, affirm(clause, claim, evidence, evidence_text), "yes")
        return answer_anew(clause, deny(clause, claim, evidence), "no")
    if evidence is None:
        return ()
    return put_value(clause, claim, evidence)


def _speaks_of_others(rest: str, other: str) -> bool:
    """Whether "free for children" stands beside "not free for adults", which may both be true."""
    mine, theirs = _WHOM.match(rest), _WHOM.match(other)
    if mine is None or theirs is None or mine["link"] != theirs["link"]:
        return False
    words = {stem(word) for word in mine["words"].lower().split()} - LIGHT_STEMS
    return not words <= {stem(word) for word in re.findall(r"[\w-]+", other.lower())}


def put_value(clause: str, claim: Slot, evidence: Slot) -> Group:
    """Return the patches that put the evidence's value or name in the place of the clause's."""
    if claim.kind == "date":
        return fit_value(clause, claim, write_date(claim, evidence), evidence)
    if claim.kind == "time":
        if _PAST.search(clause[max(0, claim.start - 20) : claim.start]):  # only the hour is in the slot
            return ()
        return fit_value(clause, claim, write_time(claim, evidence))
    if claim.kind == "name":
        if _TITLE.match(evidence.text) and _PLACE_BEFORE.search(clause, 0, claim.start):
            return ()
        return fit_value(clause, claim, evidence.text)
    if _dimension(claim) != _dimension(evidence) and figure(claim) != figure(evidence):
        return ()
    group = fit_value(clause, claim, write_amount(claim, evidence, clause))
    return tuple(sorted((*group, *fit_count(clause, claim, evidence))))


def _dimension(slot: Slot) -> str:
    """What a slot measures; the things that a bare number counts are all one."""
    if slot.kind != "number":
        return slot.kind
    return slot.unit if slot.unit in MEASURES else ""
