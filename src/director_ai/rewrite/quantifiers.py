"""Puts one quantifier in the place of another, with the noun and the verb that go with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.rewrite.inflection import plural, singular, with_capital_of
from director_ai.rewrite.patches import Patch

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot
    from director_ai.rewrite.patches import Group

__all__ = ["fit_quantifier"]

_OF_ONE: Final = frozenset({"every", "each"})
_OF_THE: Final = re.compile(r" of (?:the|these|those|our|its|their) \w+s (has|is|was|does)\b")
_OF_MANY: Final = frozenset("all some most many few several numerous".split())
_NEXT: Final = re.compile(
    r"\s+([^\W\d_]+)(?:\s+(is|are|was|were|has|have|does|do|needs|need|costs|cost|gets|get)\b|"
    r"(?=\s+(?:of|in|at|on|with|for|from|will|can|may|must)\b|\W*$))"
)
"""A noun that is known for one by what follows it: a verb whose forms we know, a preposition, or the end."""
_MANY: Final = {
    "is": "are", "was": "were", "has": "have", "does": "do", "needs": "need", "costs": "cost", "gets": "get",
}  # fmt: skip
_ONE: Final = {many: one for one, many in _MANY.items()}


def fit_quantifier(clause: str, claim: Slot, evidence: Slot) -> Group:
    """Return the patches that replace a quantifier; "every room is" beside "some" becomes "some rooms are"."""
    new = with_capital_of(evidence.text, claim.text)
    main = Patch(claim.start, claim.end, new)
    mine, other = claim.text.lower().removesuffix(" single"), evidence.text.lower()
    if (of := _OF_THE.match(clause, claim.end)) and mine in _OF_ONE | {"none"} and other in _OF_MANY:
        return (main, Patch(of.start(1), of.end(1), _MANY[of[1]]))
    if (mine in _OF_ONE) == (other in _OF_ONE) or {mine, other}.isdisjoint(_OF_MANY):
        return (main,)
    found = _NEXT.match(clause, claim.end)
    if found is None:
        return ()
    change, verbs = (_pluralize, _MANY) if mine in _OF_ONE else (singular, _ONE)
    patches = [main, Patch(found.start(1), found.end(1), change(found[1]))]
    if found[2]:
        patches.append(Patch(found.start(2), found.end(2), verbs.get(found[2], found[2])))
    return tuple(patch for patch in patches if clause[patch.start : patch.end] != patch.text)


def _pluralize(noun: str) -> str:
    return plural(singular(noun))
