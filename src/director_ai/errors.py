"""Everything this package raises on purpose.

    DirectorError
    ├── ConfigError            (also ValueError)  a setting or an argument that cannot be right
    │   └── UnknownOption      (also TypeError)   a setting that does not exist; names the nearest one
    ├── PayloadError           (also ValueError)  a record that is malformed or carries raw text
    ├── MissingExtra           (also ImportError) an optional part that is not installed
    ├── ModelError             a model cannot be loaded or run, or answered with something that is no probability
    ├── ModelUnavailable       the bundled model cannot be loaded, and nothing was told to go on without it
    ├── RecordError            the database of reviews and records cannot be read or written
    │   └── TrailBroken        the audit trail is not the one that was written
    └── Refused                (also ValueError)  the gate lets a correction, an approval or a release not through
        ├── NoGo               the action is physical or cannot be undone
        ├── Ungrounded         a draft that does not rest on the evidence it was given
        ├── NotAllowed         the verifiers' consensus did not allow the correction
        ├── NotApproved        approvals are missing
        ├── ApprovalReused     an approval or release id that was used for something else
        ├── SelfApproval       the proposer cannot approve
        ├── ReviewerRefused    the reviewer may not act in this tenant
        ├── CaseClaimed        another reviewer holds the case
        ├── CaseDecided        the case was decided otherwise already
        ├── CaseExpired        the case or its approval came to its end
        ├── TextChanged        the text or what was approved with it is not what it was
        ├── AlreadyReleased    each approval releases once
        └── UnknownCase        (also LookupError) there is no such case in this tenant

Messages say what was expected, what came and what to do. They never hold prompts, facts or generated text.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AlreadyReleased",
    "ApprovalReused",
    "CaseClaimed",
    "CaseDecided",
    "CaseExpired",
    "ConfigError",
    "DirectorError",
    "MissingExtra",
    "ModelError",
    "ModelUnavailable",
    "NoGo",
    "NotAllowed",
    "NotApproved",
    "PayloadError",
    "RecordError",
    "Refused",
    "ReviewerRefused",
    "SelfApproval",
    "TextChanged",
    "TrailBroken",
    "Ungrounded",
    "UnknownCase",
    "UnknownOption",
]


class DirectorError(Exception):
    """The root of the tree: `except DirectorError` catches whatever this package raises on purpose."""


class ConfigError(DirectorError, ValueError):
    """A setting or an argument that cannot be right."""


class UnknownOption(ConfigError, TypeError):
    """A name that is not among the known ones; says which one is nearest."""

    def __init__(self, what: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        # Only what looks like a name is repeated: anything else may be text that must not reach a log.
        plain = isinstance(name, str) and len(name) <= 64 and name.replace("-", "_").isidentifier()
        shown = repr(name) if plain else f"(a {type(name).__name__} that is no name)"
        close = difflib.get_close_matches(str(name), names, n=1) if plain else []
        hint = f"did you mean {close[0]!r}? " if close else ""
        super().__init__(f"unknown {what} {shown}; {hint}known: {', '.join(names)}")


class PayloadError(DirectorError, ValueError):
    """A record that is malformed, or that carries raw text where only identifiers may stand."""


class MissingExtra(DirectorError, ImportError):
    """An optional part was asked for that this installation lacks."""

    def __init__(self, what: str, *, extra: str) -> None:
        super().__init__(f"{what} needs an optional part; install it in a checkout with: pip install '.[{extra}]'")


class ModelError(DirectorError):
    """A model that cannot be loaded or run, or that answered with something that is no probability."""


class ModelUnavailable(DirectorError):
    """The bundled model is missing, damaged or cannot be run, and the settings do not allow to go on without it."""

    def __init__(
        self,
        cause: Exception,
        model: str = "entailment model",
        instead: str = 'heuristic mode: model_fallback="heuristic" or use_nli=False',
    ) -> None:
        # Messages of our own name the file and what is wrong with it. Those of other libraries may hold anything.
        what = str(cause) if isinstance(cause, DirectorError) else type(cause).__name__
        super().__init__(
            f"the {model} cannot be loaded: {what}. Reinstall director-ai (`director-ai doctor` shows what is wrong), "
            f"or choose {instead}"
        )


class RecordError(DirectorError):
    """The database of reviews and records cannot be read or written; nothing of the call was kept."""


class TrailBroken(RecordError):
    """The audit trail is not the one that was written: rows were changed, added or removed."""


class Refused(DirectorError, ValueError):
    """The gate does not let a correction, an approval or a release through; nothing was released."""


class NoGo(Refused):
    """The action is physical or cannot be undone: no correction of it is made by a machine."""


class Ungrounded(Refused):
    """A draft that does not rest on the evidence it was given."""


class NotAllowed(Refused):
    """The consensus of the verifiers did not allow the correction; no approval can stand in for it."""


class NotApproved(Refused):
    """Approvals are missing."""


class ApprovalReused(Refused):
    """An approval or release id that was used for something else."""


class SelfApproval(Refused):
    """Whoever proposed a text cannot approve it."""


class ReviewerRefused(Refused):
    """The reviewer may not act in this tenant."""


class CaseClaimed(Refused):
    """Another reviewer holds the case."""


class CaseDecided(Refused):
    """The case was decided otherwise already."""


class CaseExpired(Refused):
    """The case, or its approval, came to its end."""


class TextChanged(Refused):
    """The text, or what was approved together with it, is not what it was."""


class AlreadyReleased(Refused):
    """Each approval releases once."""


class UnknownCase(Refused, LookupError):
    """There is no such case in this tenant."""
