"""What a check answered: edits of the text it was given, or the name of what is wrong with the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from director_ai.core.merge import Edit
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late
from director_ai.core.runtime.release import type_name

if TYPE_CHECKING:
    from director_ai.core.checks.rules import Rule

__all__ = ["Outcome", "Trouble", "read_answer"]

Outcome = tuple[bool, Any]
"""Whether a check answered, and what it answered or raised."""


class Trouble(NamedTuple):
    """What is wrong with an answer. Types only: a message may hold the text that was being checked."""

    reason: str
    detail: str


def read_answer(rule: Rule, text: str, outcome: Outcome) -> list[Edit] | Trouble:
    """Return what a check found, or what is wrong with its answer."""
    answered, value = outcome
    if not answered:
        if must_pass(value) and not isinstance(value, GeneratorExit):  # a check's own is a failure like any other
            raise value
        if isinstance(value, Late):
            return Trouble("check_timeout", f"limit_s={value.limit:g}")
        return Trouble("check_error", f"type={type_name(value)}")
    if isinstance(value, str | bytes | dict):
        return Trouble("check_invalid", f"got={type_name(value)}")
    try:
        return [_signed(edit, rule.check.name, len(text)) for edit in value]
    except Exception:  # noqa: BLE001 - a foreign check may answer with anything
        return Trouble("check_invalid", f"got={type_name(value)}")


def _signed(edit: Edit, check: str, length: int) -> Edit:
    """Return an edit in its check's name, examined again: it may have been made without its constructor."""
    if type(edit) is not Edit or edit.end > length:
        raise TypeError("no edit of this text")
    return Edit(edit.start, edit.end, edit.replacement, edit.kind, check, edit.reason)
