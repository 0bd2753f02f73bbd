"""What a repair removes and what it keeps: on our own passages, and on answers of the development data.

Used by `repair.py`. A clause is wrong where it overlaps a marked place; the others are right, and kept only byte for
byte. The curve is that of all thresholds: claims are judged once, and those below a threshold count as removed. The
scorer's own threshold is 1 there, so that it asks about parts of a claim wherever some threshold would.
"""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import math
import random
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from regression_suite import passages
from rich.progress import track

from director_ai import CoherenceScorer, ProductionGuard, VectorGroundTruthStore
from director_ai.core.merge import edits_between
from director_ai.core.streaming_repair import RedactionCap
from director_ai.nli import load_entailer
from director_ai.profiles import get_profile
from director_ai.settings import OFF, GuardSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from director_ai.core.streaming_repair import ClauseAction

PROFILE = "finance"
MODES = {"heuristic": False, "model": True}
FILES = ("bump", "factcheckgpt", "summedits")
LEVELS = (0.99, 0.98, 0.95, 0.90, 0.80)
NOT_A_CLAIM = math.inf
REMEMBERED = 200_000
"""Answers of the model that are kept from one threshold to the next."""
Row = dict[str, Any]
Span = tuple[int, int]


# Texts, and where they are wrong.


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A text to repair, what is known, and where it is wrong."""

    name: str
    kind: str
    prompt: str
    text: str
    spans: tuple[Span, ...]
    facts: Mapping[str, str] | None = None
    context: str = ""
    """A document, in place of facts."""
    reference: str | None = None
    """The text as it should be."""


def passage_samples() -> list[Sample]:
    """The right and the wrong text of every passage; the wrong place is the sentence with the error."""
    samples = []
    for item in passages():
        known = {"prompt": item["prompt"], "facts": item["facts"]}
        planted = item["planted"]
        start = planted["text"].index(planted["error"])
        samples.append(Sample(name=item["id"], kind="right", text=item["correct"], spans=(), **known))
        spans = ((start, start + len(planted["error"])),)
        samples.append(Sample(name=item["id"], kind=planted["kind"], text=planted["text"], spans=spans, **known))
    return samples


def file_samples(path: Path, rows: int, seed: int = 7) -> list[Sample]:
    """The rows of a file, or a sample of them."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    if rows and rows < len(found):
        found = random.Random(seed).sample(found, rows)
    return [
        Sample(
            name=row["id"],
            kind=path.name.removeprefix("repair_").removesuffix(".jsonl.gz"),
            prompt=row["question_or_instruction"],
            text=row["response"],
            spans=marked_spans(row),
            context=row["context"],
            reference=row["reference_repair"],
        )
        for row in found
    ]


def marked_spans(row: Row) -> tuple[Span, ...]:
    """Where a response is wrong: as marked, or by the words in which it differs from the reference."""
    if "spans" in row:
        return tuple((span["start"], span["end"]) for span in row["spans"])
    response, spans = row["response"], []
    for edit in edits_between(response, row["reference_repair"], check="reference"):
        said = response[edit.start : edit.end]
        start = edit.start + len(said) - len(said.lstrip())
        spans.append((start, max(start, edit.start + len(said.rstrip()))))
    return tuple(spans)


def overlaps(start: int, end: int, spans: Iterable[Span]) -> bool:
    """Whether a stretch has a character of a span, or the place of an empty one within it."""
    return any((low < end and high > start) if low < high else start < low < end for low, high in spans)


def reference_part(response: str, reference: str, start: int, end: int) -> str | None:
    """Return what the reference has in place of a stretch; None where a change goes beyond it."""
    edits = [
        edit for edit in edits_between(response, reference, check="reference") if edit.start < end and edit.end > start
    ]
    if any(edit.start < start or edit.end > end for edit in edits):
        return None
    pieces, place = [], start
    for edit in edits:
        pieces += [response[place : edit.start], edit.replacement]
        place = edit.end
    return "".join((*pieces, response[place:end]))


# Guards.


@functools.cache
def remembering_entailer() -> Any:
    return load_entailer(cache_size=REMEMBERED)


def opened_guard(store: Any, *, use_nli: bool, entailer: Any = None, **settings: Any) -> ProductionGuard:
    """A guard of the profile that never halts, over a store of the caller's."""
    scorer = CoherenceScorer(
        threshold=1.0,
        use_nli=use_nli,
        ground_truth_store=store,
        policy="closed",
        top_k=GuardSettings().top_k,
        entailer=(entailer or remembering_entailer()) if use_nli else None,
    )
    settings = {"most_redacted": OFF, "most_redacted_share": OFF, "deadline": 600.0} | settings
    return ProductionGuard.from_profile(PROFILE, scorer=scorer, **settings)


def profile_threshold() -> float:
    return get_profile(PROFILE).repair.threshold


def load_context(guard: ProductionGuard, context: str) -> None:
    """Make a document known to a guard, as a text file is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "context.txt"
        path.write_text(context, "utf-8")
        guard.ingest(path)


def _known(sample: Sample) -> tuple[str, ...]:
    return (sample.context, *(sample.facts or {}).values())


def with_stores(samples: Sequence[Sample], label: str) -> Iterator[tuple[Any, Sample]]:
    """Each sample with a store of what is known; those that know the same share one."""
    order = sorted(samples, key=_known)
    steps = iter(track(order, description=label, transient=True))
    for _, group in itertools.groupby(order, key=_known):
        with VectorGroundTruthStore() as store:
            for place, sample in enumerate(group):
                next(steps)
                if not place and sample.facts is None:
                    load_context(ProductionGuard.from_profile(PROFILE, store=store), sample.context)
                elif not place:
                    store.add_many(sample.facts)
                yield store, sample
    next(steps, None)


# The curve of all thresholds.


@dataclass(frozen=True, slots=True)
class Curve:
    """Support of what is wrong and of what is right."""

    wrong: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, wrong: Iterable[float], right: Iterable[float]) -> Curve:
        return cls(np.sort(np.array(list(wrong), float)), np.sort(np.array(list(right), float)))

    def at(self, threshold: float) -> tuple[float, float]:
        """Shares of what is wrong that is removed, and of what is right that is kept."""
        removed = np.searchsorted(self.wrong, threshold) / max(len(self.wrong), 1)
        kept = 1 - np.searchsorted(self.right, threshold) / max(len(self.right), 1)
        return float(removed), float(kept)

    def threshold_at(self, kept: float) -> float:
        """The highest threshold that keeps at least this share of what is right."""
        spare = math.floor((1 - kept) * len(self.right) + 1e-9)
        return min(1.0, float(self.right[spare])) if spare < len(self.right) else 1.0

    def removed_at(self, kept: float) -> float:
        return self.at(self.threshold_at(kept))[0]

    @property
    def auc(self) -> float:
        """How often something wrong has less support than something right; a tie is half."""
        below = np.searchsorted(self.right, self.wrong, "left")
        until = np.searchsorted(self.right, self.wrong, "right")
        pairs = max(len(self.wrong) * len(self.right), 1)
        return float((2 * len(self.right) - below - until).sum() / 2 / pairs)

    def points(self, most: int = 200) -> list[list[float]]:
        """Threshold, removed and kept, at no more places than a plot needs."""
        scores = np.unique(np.concatenate((self.wrong, self.right)))
        scores = scores[np.isfinite(scores)]
        chosen = scores[np.unique(np.linspace(0, len(scores) - 1, min(most, len(scores))).astype(int))]
        return [[round(float(each), 6), *(round(share, 4) for share in self.at(each))] for each in chosen]

    def levels(self) -> Row:
        return {f"removed at {level:.0%} kept": self.removed_at(level) for level in LEVELS}


@dataclass(frozen=True, slots=True)
class ClauseScore:
    """What the scorer makes of a clause, and whether it is wrong."""

    score: float
    wrong: bool


def judged(guard: ProductionGuard, sample: Sample) -> list[ClauseScore]:
    found = []
    for verdict in guard.scorer.judge(sample.prompt, sample.text):
        start, end = body(verdict.clause, verdict.start)
        score = NOT_A_CLAIM if verdict.verdict == "not_a_claim" else verdict.coherence
        found.append(ClauseScore(score, overlaps(start, end, sample.spans)))
    return found


def body(clause: str, start: int) -> Span:
    """Where the words of a clause stand."""
    return start + len(clause) - len(clause.lstrip()), start + len(clause.rstrip())


def curve_of_errors(scores: Iterable[list[ClauseScore]]) -> Curve:
    """One error per text: it is gone where any of its clauses is."""
    texts = list(scores)
    wrong = [min(each.score for each in text if each.wrong) for text in texts if any(each.wrong for each in text)]
    return Curve.of(wrong, [each.score for text in texts for each in text if not each.wrong])


def curve_of_clauses(scores: Iterable[list[ClauseScore]]) -> Curve:
    clauses = [each for text in scores for each in text]
    return Curve.of([each.score for each in clauses if each.wrong], [each.score for each in clauses if not each.wrong])


# Repairs as they really happen.


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """What a repair made of one text."""

    sample: Sample
    wrong: tuple[ClauseAction, ...]
    right: tuple[ClauseAction, ...]
    would_halt: bool
    """Whether the profile's cap on redactions would have ended it early."""

    @property
    def fate(self) -> str:
        """What became of what is wrong, as a whole."""
        actions = {action.action for action in self.wrong}
        return "redacted" if "redact" in actions else "patched" if "rewrite" in actions else "shown"

    @property
    def equals_reference(self) -> bool:
        """Whether the wrong clauses now read as in the reference."""
        sample = self.sample
        if not self.wrong or sample.reference is None:
            return False
        expected = reference_part(sample.text, sample.reference, self.wrong[0].start, self.wrong[-1].end)
        return expected is not None and "".join(each.text for each in self.wrong).strip() == expected.strip()


def repaired(guard: ProductionGuard, sample: Sample) -> Repaired:
    result = guard.repair_stream(sample.prompt, sample.text)
    if "".join(action.text for action in result.actions).strip() != result.repaired_text.strip():
        raise RuntimeError(f"{sample.name}: the actions do not add up to what was shown")
    sides: dict[bool, list[ClauseAction]] = {True: [], False: []}
    for action in result.actions:
        sides[overlaps(action.start, action.end, sample.spans)].append(action)
    halts = would_halt([action.action for action in result.actions])
    return Repaired(sample=sample, wrong=tuple(sides[True]), right=tuple(sides[False]), would_halt=halts)


def would_halt(actions: Sequence[str]) -> bool:
    """Whether the profile's cap is exceeded at any clause."""
    rules = get_profile(PROFILE).repair
    cap = RedactionCap(count=rules.most_redacted, share=rules.most_redacted_share)
    redacted = itertools.accumulate(action == "redact" for action in actions)
    return any(cap.is_exceeded(count, judged) for judged, count in enumerate(redacted, 1))


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def kept_share(found: Iterable[Repaired]) -> float:
    right = [action for each in found for action in each.right]
    return share(sum(action.text == action.clause for action in right), len(right))


# Our passages.


def measure_passages(count: int = 0) -> Row:
    """Errors removed and right clauses kept, at the profile's threshold and at all others."""
    samples = passage_samples()[: 2 * count or None]
    saved: Row = {"summary": [], "kinds": [], "levels": [], "curves": {}, "missed": {}, "lost": {}}
    by_kind: dict[str, Row] = {}
    for mode, use_nli in MODES.items():
        scores, found = [], []
        for store, sample in with_stores(samples, f"passages, {mode}"):
            guard = opened_guard(store, use_nli=use_nli)
            scores.append(judged(guard, sample))
            found.append(repaired(guard, sample))
        curve = curve_of_errors(scores)
        errors = [each for each in found if each.wrong]
        fates = Counter(each.fate for each in errors)
        saved["summary"].append(
            {"mode": mode, "threshold": profile_threshold(), "errors": len(errors)}
            | {"removed": share(fates["patched"] + fates["redacted"], len(errors))}
            | {name: share(fates[name], len(errors)) for name in ("patched", "redacted")}
            | {"right clauses": len(curve.right), "kept": kept_share(found), "AUC": curve.auc}
        )
        saved["levels"].append({"mode": mode} | curve.levels() | {"threshold at 98%": curve.threshold_at(0.98)})
        saved["curves"][mode] = curve.points()
        saved["missed"][mode] = [f"{e.sample.name} ({e.sample.kind})" for e in errors if e.fate == "shown"]
        saved["lost"][mode] = [
            f"{each.sample.name}: {action.clause.strip()}" for each in found for action in each.right if action.changed
        ]
        for kind, row in fates_by_kind(errors).items():
            known = {"error": kind, "planted": row["planted"]}
            by_kind.setdefault(kind, known).update({f"{mode} {name}": row[name] for name in ("removed", "patched")})
    saved["kinds"] = list(by_kind.values())
    return saved


def fates_by_kind(errors: Sequence[Repaired]) -> dict[str, Row]:
    """Shares removed and patched for each kind of error."""
    rows = {}
    for kind in sorted({each.sample.kind for each in errors}):
        fates = Counter(each.fate for each in errors if each.sample.kind == kind)
        gone = fates["patched"] + fates["redacted"]
        rows[kind] = {"planted": fates.total(), "removed": share(gone, fates.total())}
        rows[kind]["patched"] = share(fates["patched"], fates.total())
    return rows


# The development data.


def measure_files(folder: Path, rows: int, modes: Sequence[str] = tuple(MODES)) -> Row:
    """The curve of each file and of all, and repairs at the profile's threshold and at that of 95 % kept."""
    by_file = {name: file_samples(folder / f"repair_{name}.jsonl.gz", rows) for name in FILES}
    samples = [sample for each in by_file.values() for sample in each]
    saved: Row = {"curve": [], "repairs": [], "curves": {}}
    for mode in modes:
        use_nli = MODES[mode]
        scores: dict[str, list[list[ClauseScore]]] = {name: [] for name in FILES}
        found: list[Repaired] = []
        for store, sample in with_stores(samples, f"files, {mode}"):
            guard = opened_guard(store, use_nli=use_nli)
            scores[sample.kind].append(judged(guard, sample))
            found.append(repaired(guard, sample))
        pooled = [text for each in scores.values() for text in each]
        for name, texts in (*scores.items(), ("all", pooled)):
            curve = curve_of_clauses(texts)
            counts = {"wrong clauses": len(curve.wrong), "right clauses": len(curve.right)}
            saved["curve"].append({"mode": mode, "file": name, "answers": len(texts)} | counts | curve.levels())
            saved["curve"][-1]["AUC"] = curve.auc
        saved["curves"][mode] = curve.points()
        saved["repairs"] += repair_rows(mode, profile_threshold(), found)
        least = curve.threshold_at(0.95)
        again = [
            repaired(opened_guard(store, use_nli=use_nli, repair_threshold=least), sample)
            for store, sample in with_stores(samples, f"files, {mode}, at {least:.3f}")
        ]
        saved["repairs"] += repair_rows(mode, least, again)
    return saved


def repair_rows(mode: str, threshold: float, found: Sequence[Repaired]) -> list[Row]:
    """What became of the clauses of each file, and of all, at one threshold."""
    rows = []
    for name in (*FILES, "all"):
        chosen = [each for each in found if name in {"all", each.sample.kind}]
        wrong = Counter(action.action for each in chosen for action in each.wrong)
        single = [each for each in chosen if each.wrong and len(each.sample.spans) == 1]
        fates = Counter(each.fate for each in single)
        equal = sum(each.equals_reference for each in single)
        rows.append(
            {"mode": mode, "threshold": threshold, "file": name}
            | {"removed": share(wrong["rewrite"] + wrong["redact"], wrong.total())}
            | {"kept": kept_share(chosen), "single errors": len(single)}
            | {kind: share(fates[kind], len(single)) for kind in ("patched", "redacted")}
            | {"as reference": share(equal, len(single)), "of patched": share(equal, fates["patched"])}
            | {"would halt": share(sum(each.would_halt for each in chosen), len(chosen))}
        )
    return rows
