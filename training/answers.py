"""Claims of whole answers with the evidence that the store finds for them: what the signals are calibrated on.

An answer of the dev files comes right and with one error. Each claim of the right one is right, the claim that holds the
error is wrong, and a right claim whose best fact is taken away is one that the facts are silent about.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from director_ai import ProductionGuard
from director_ai.core.scoring.claims import read_claim
from director_ai.core.scoring.entailment import Opinion, premises_of
from director_ai.core.scoring.judging import REMEMBERED, more_supportive, with_context
from director_ai.nli import load_entailer

Kind = Literal["right", "wrong", "invented", "silent"]
INVENTED = {"invented_detail", "invented_sentence"}
"""Errors of which the facts say nothing: unsupported, and not contradicted."""
LEAST_FACTS = 3
SURE = 0.5


class AnswerClaim(NamedTuple):
    """One claim, what it is compared with, and what the model makes of that."""

    text: str
    premises: tuple[str, ...]
    kind: Kind
    kb: str
    context: str
    """The claim with what was asked and said before it."""
    opinions: tuple[Opinion, ...] = ()


def load_cases(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def claims_of(files: Iterable[Path]) -> list[AnswerClaim]:
    """Return every claim of the English answers in free text, with the model's opinions."""
    found: list[AnswerClaim] = []
    entailer = load_entailer()
    for case in itertools.chain.from_iterable(map(load_cases, files)):
        if case["lang"] != "en" or case["shape"] != "text":
            continue
        # Nothing is supported enough for this threshold, so whatever states nothing is told from the claims.
        with ProductionGuard.from_profile("finance", metrics=False, threshold=0.999) as guard:
            guard.load_facts(case["facts"])
            for text, span in ((case["right"], ""), (case["wrong"] or "", case["error_span"] or "")):
                at = text.find(span) if span else -1
                said: list[str] = []
                for verdict in guard.scorer.judge(case["question"], text):
                    context = with_context(verdict.claim, case["question"], said[-REMEMBERED:]) or verdict.claim
                    said += [verdict.claim] if verdict.claim else []
                    is_wrong = at >= 0 and verdict.start < at + len(span) and at < verdict.start + len(verdict.clause)
                    is_judged = verdict.support is not None and verdict.chunks and read_claim(verdict.claim).reading
                    if not is_judged or (span and not is_wrong):
                        continue  # beside the error stands what stands in the right answer too
                    kind: Kind = "right" if not is_wrong else "invented" if case["kind"] in INVENTED else "wrong"
                    facts = [chunk.text.strip() for chunk in verdict.chunks if chunk.text.strip()]
                    found.append(
                        AnswerClaim(verdict.claim, tuple(premises_of(verdict.chunks)), kind, case["kb"], context)
                    )
                    if kind == "right" and len(facts) >= LEAST_FACTS:
                        alone = [each.supported for each in entailer.predict([(fact, verdict.claim) for fact in facts])]
                        best = alone.index(max(alone))
                        if alone[best] >= SURE:
                            rest = [chunk for chunk in verdict.chunks if chunk.text.strip() != facts[best]]
                            found.append(
                                AnswerClaim(verdict.claim, tuple(premises_of(rest)), "silent", case["kb"], context)
                            )
    pairs = [(premise, text) for each in found for text in (each.text, each.context) for premise in each.premises]
    said_of = iter([Opinion(p.supported, p.contradicted, p.neutral) for p in entailer.predict(pairs)])
    return [each._replace(opinions=tuple(more_supportive(*_taken(said_of, len(each.premises))))) for each in found]


def _taken(opinions: Iterator[Opinion], count: int) -> list[list[Opinion]]:
    """The next opinions of a claim alone, then of the same in its context."""
    return [list(itertools.islice(opinions, count)) for _ in range(2)]
