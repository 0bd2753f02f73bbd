"""What of an answer may be quoted, by the verdicts on its clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from director_ai.core.segment import split_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["supported_sentences"]


def supported_sentences(text: str, verdicts: Iterable[Any]) -> str:
    """Return the sentences whose claims are all supported; nothing where the verdicts are not those of the text."""
    kept = []
    try:
        rest = iter([(str.__str__(each.clause), each.verdict) for each in verdicts])
        for sentence in split_sentences(text):
            clauses, found = "", set()
            while len(clauses) < len(sentence):
                clause, verdict = next(rest)
                clauses += clause
                found.add(verdict)
            if clauses != sentence:
                return ""
            if "supported" in found and found <= {"supported", "not_a_claim"}:
                kept.append(sentence)
    except Exception:  # noqa: BLE001 - a foreign scorer may answer with anything
        return ""
    return "".join(kept).strip()
