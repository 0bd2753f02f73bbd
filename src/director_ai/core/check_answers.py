"""What a check answered: edits of the text it was given, or the name of what is wrong with the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.core.merge import Edit
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late

if TYPE_CHECKING:
    from director_ai.core.checks import Rule

__all__ = ["Outcome", "read_answer"]

Outcome = tuple[bool, Any]
"""Whether a check answered, and what it answered or raised."""


def read_answer(rule: Rule, text: str, outcome: Outcome) -> list[Edit] | str:
    """Return what a check found, or the name of what is wrong with its answer."""
    answered, value = outcome
    if not answered:
        if must_pass(value) and not isinstance(value, GeneratorExit):  # a check's own is a failure like any other
            raise value
        return "check_timeout" if isinstance(value, Late) else "check_error"
    if isinstance(value, str | bytes | dict):
        return "check_invalid"
    try:
        return [_signed(edit, rule.check.name, len(text)) for edit in value]
    except Exception:  # noqa: BLE001 - a foreign check may answer with anything
        return "check_invalid"


def _signed(edit: Edit, check: str, length: int) -> Edit:
    """Return an edit in its check's name, examined again: it may have been made without its constructor."""
    if type(edit) is not Edit or edit.end > length:
        raise TypeError("no edit of this text")
    return Edit(edit.start, edit.end, edit.replacement, edit.kind, check, edit.reason)
