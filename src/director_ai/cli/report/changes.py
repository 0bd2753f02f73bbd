"""What was changed in a clause or an answer, as stretches that stayed, went and came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.core.scoring.claims import body_of
from director_ai.core.showing.stretches import Stretch, compare_texts, told

if TYPE_CHECKING:
    from director_ai.core.repair.record import ClauseAction, RepairResult

__all__ = ["Passage", "changes_of", "passages_of"]

_LOOK_AHEAD: Final = 4_000
_MOSTLY: Final = 0.7
"""Where more than this of a clause differs, all of it is shown as changed."""


class Passage(NamedTuple):
    """A stretch of the answer as it was shown, and which clause it is; None between clauses."""

    changes: tuple[Stretch, ...]
    clause: int | None = None


def changes_of(action: ClauseAction) -> tuple[Stretch, ...]:
    """Return a clause as stretches: without the new ones it is the model's, without those that went it is shown."""
    if not action.changed:
        return told([Stretch("same", action.text)])
    said, shown = action.clause, action.text
    start, end = body_of(said)
    lead, tail = said[:start], said[end:]
    if not (shown.startswith(lead) and shown.endswith(tail) and len(shown) >= len(lead) + len(tail)):
        lead = tail = ""
    old, new = said[len(lead) : len(said) - len(tail)], shown[len(lead) : len(shown) - len(tail)]
    inner = compare_texts(old, new)
    if action.action == "redact" or sum(len(text) for kind, text in inner if kind == "gone") > _MOSTLY * len(old):
        inner = (Stretch("gone", old), Stretch("new", new))
    return told([Stretch("same", lead), *inner, Stretch("same", tail)])


def passages_of(result: RepairResult) -> tuple[Passage, ...]:
    """Return all that was released, clause by clause where they can be found again, with what went from them."""
    text, place = result.repaired_text, 0
    passages: list[Passage] = []
    for number, action in enumerate(result.actions):
        at = text.find(action.text, place, place + len(action.text) + _LOOK_AHEAD) if action.text else -1
        if at < 0:  # a check beside the repair changed it, or it is written in another form
            continue
        if at > place:
            passages.append(Passage((Stretch("same", text[place:at]),)))
        passages.append(Passage(changes_of(action), number))
        place = at + len(action.text)
    if place < len(text):
        passages.append(Passage((Stretch("same", text[place:]),)))
    return tuple(passages)
