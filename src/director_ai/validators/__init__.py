"""Checks that read text and return edits, and the runner that merges them on a live stream.

Names are loaded when they are first used: no check pays for another one's libraries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.core.checks.rules import Check, CheckedText, Failure, Rule
    from director_ai.core.checks.runner import CheckFailed, Checks
    from director_ai.core.merge import Edit, merge_edits
    from director_ai.validators.banned import BannedWords
    from director_ai.validators.casing import Casing
    from director_ai.validators.disguise import Disguise
    from director_ai.validators.functions import Predicate, TextFunction
    from director_ai.validators.json_schema import JsonSchema
    from director_ai.validators.length import Length
    from director_ai.validators.links import Links
    from director_ai.validators.patterns import Pattern
    from director_ai.validators.pii import PII
    from director_ai.validators.placeholders import Conversation
    from director_ai.validators.presidio import PresidioCheck
    from director_ai.validators.secrets import Secrets

__all__ = [
    "PII",
    "BannedWords",
    "Casing",
    "Check",
    "CheckFailed",
    "CheckedText",
    "Checks",
    "Conversation",
    "Disguise",
    "Edit",
    "Failure",
    "JsonSchema",
    "Length",
    "Links",
    "Pattern",
    "Predicate",
    "PresidioCheck",
    "Rule",
    "Secrets",
    "TextFunction",
    "merge_edits",
]

_HOMES = {
    "PII": "validators.pii",
    "BannedWords": "validators.banned",
    "Casing": "validators.casing",
    "Check": "core.checks.rules",
    "CheckFailed": "core.checks.runner",
    "CheckedText": "core.checks.rules",
    "Checks": "core.checks.runner",
    "Conversation": "validators.placeholders",
    "Disguise": "validators.disguise",
    "Edit": "core.merge",
    "Failure": "core.checks.rules",
    "JsonSchema": "validators.json_schema",
    "Length": "validators.length",
    "Links": "validators.links",
    "Pattern": "validators.patterns",
    "Predicate": "validators.functions",
    "PresidioCheck": "validators.presidio",
    "Rule": "core.checks.rules",
    "Secrets": "validators.secrets",
    "TextFunction": "validators.functions",
    "merge_edits": "core.merge",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
