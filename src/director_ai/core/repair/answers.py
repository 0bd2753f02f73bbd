"""Reading what injected functions answer: anything that is not what was asked for is a reason to redact."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.ranges import as_score
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late
from director_ai.core.types import EvidenceChunk

if TYPE_CHECKING:
    from director_ai.core.checks.answers import Outcome

__all__ = ["MOST_CANDIDATES", "read_candidates", "read_evidence", "read_score", "trouble_of"]

MOST_CANDIDATES: Final = 4
_MOST_EVIDENCE: Final = 20


def trouble_of(part: str, error: object) -> str:
    """Return the reason that a part failed; interrupts are raised again. No message: it may hold the text."""
    if isinstance(error, BaseException) and must_pass(error) and not isinstance(error, GeneratorExit):
        raise error
    return f"{part}_timeout" if isinstance(error, Late) else f"{part}_error"


def read_score(outcome: Outcome) -> float | str:
    """Return a score in [0, 1], or what is wrong with it."""
    answered, value = outcome
    if not answered:
        return trouble_of("scorer", value)
    score = as_score(value)
    return "scorer_invalid" if score is None else score


def read_evidence(outcome: Outcome) -> tuple[EvidenceChunk, ...] | str:
    """Return what a retriever found, or what is wrong with it; entries may be texts, mappings, pairs or chunks."""
    answered, value = outcome
    if not answered:
        return trouble_of("retriever", value)
    if value is None:
        return ()
    if isinstance(value, str | bytes | Mapping):
        return "retriever_invalid"
    try:
        found = [_chunk(each) for each in itertools.islice(iter(value), _MOST_EVIDENCE)]
    except BaseException as error:  # noqa: BLE001 - a foreign retriever may answer with anything
        trouble_of("retriever", error)
        return "retriever_invalid"
    return tuple(chunk for chunk in found if chunk.text.strip())


def _chunk(entry: Any) -> EvidenceChunk:
    if isinstance(entry, str):
        return EvidenceChunk(str.__str__(entry), 0.0)
    if isinstance(entry, Mapping):
        text, source = entry["text"], entry.get("id", entry.get("source", ""))
    elif isinstance(entry, tuple) and len(entry) == 2:
        source, text = entry
    else:
        text, source = entry.text, getattr(entry, "source", "")
    return EvidenceChunk(str.__str__(text), 0.0, str(source))


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError("neither a text nor a list of texts")
    return list(itertools.islice(value, MOST_CANDIDATES))


def read_candidates(outcome: Outcome, clause: str, longest: int) -> tuple[str, ...] | str:
    """Return what a rewriter offers in a clause's place, the best first, or why there is nothing."""
    answered, value = outcome
    if not answered:
        return trouble_of("rewriter", value)
    if value is None:
        return "rewrite_blank"
    try:
        offered = [value] if isinstance(value, str) else _listed(value)
        texts = [" ".join(str.__str__(each).split()) for each in offered]  # by its real type: a mock may claim any
    except Exception:  # noqa: BLE001 - as above
        return "rewriter_invalid"
    texts = [text for text in dict.fromkeys(texts) if text]
    if not texts:
        return "rewrite_blank"
    others = [text for text in texts if text != " ".join(clause.split())]
    if not others:
        return "rewrite_same"
    short = [text for text in others if len(text) <= longest]
    return tuple(short) if short else "rewrite_too_long"
