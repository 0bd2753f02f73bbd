"""What the scorer gets right, what changes its mind, and what a stream costs.

    python benchmarks/scoring.py                    all three, some minutes (100 rows per dev file)
    python benchmarks/scoring.py accuracy --rows 0  all rows of the dev files
    python benchmarks/scoring.py relations          the metamorphic relations alone
    python benchmarks/scoring.py speed --peer       the speed, beside director-ai 3.21.0's documented closure
    python benchmarks/scoring.py --save             also writes results/scoring.json and its plot (needs matplotlib)

Accuracy: the premise of a row is what a retriever found for its hypothesis, one chunk of evidence, and the hypothesis
is an answer that is reviewed under the closed policy. That is the way an answer takes in the product, roles of clauses
included: what states nothing scores 1, even where the data calls it unsupported.

Relations: each fact of the passages is reviewed against the facts of its passage, as it stands and changed by rules of
this file. A value with a bound ("at least 5") is left as it is, because a wider one may follow from it. "slots differ"
is the share of changes that slot comparison alone finds: what it finds and the scorer approves was weighed too little.

Speed: CPU seconds of this process, the best of several runs. The peer is installed into a throw-away environment and
used through its public interface only.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from kernel import PEER, install_peer
from model import auc, balanced_accuracy, dev_rows, ece, show, with_mean
from regression_suite import passages
from reporting import labelled_files
from rich.console import Console
from rich.progress import track

from director_ai import CoherenceScorer, EvidenceChunk, GroundTruthStore, VectorGroundTruthStore
from director_ai.core.scoring.slots import Slot, compare_slots, find_slots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "dev"
MODES = {"lexical": False, "model": True}
SIZES = [100, 200, 400, 800, 1_600, 3_200, 6_400]
PROMPT = "What should I know?"
Row = dict[str, Any]


class Found:
    """A retriever that finds what it is told to."""

    def __init__(self) -> None:
        self.texts: Sequence[str] = ()

    def retrieve_context_with_chunks(self, _query: str, _top_k: int = 3, _tenant_id: str = "") -> list[EvidenceChunk]:
        return [EvidenceChunk(text, 0.0, f"fact:{index}") for index, text in enumerate(self.texts)]


class Reviewer:
    """Reviews an answer beside given evidence, in one mode."""

    def __init__(self, *, use_nli: bool) -> None:
        self._found = Found()
        self._scorer = CoherenceScorer(use_nli=use_nli, ground_truth_store=self._found)

    def score(self, answer: str, evidence: Sequence[str]) -> float:
        self._found.texts = evidence
        return self._scorer.score("", answer).score

    def approves(self, answer: str, evidence: Sequence[str]) -> bool:
        self._found.texts = evidence
        return self._scorer.review("", answer)[0]


# Accuracy.


def measure_accuracy(folder: Path, count: int) -> dict[str, list[Row]]:
    """Figures per file of the development data, for each mode."""
    paths = labelled_files(folder)
    reviewers = {mode: Reviewer(use_nli=use_nli) for mode, use_nli in MODES.items()}
    found: dict[str, list[Row]] = {mode: [] for mode in MODES}
    pooled: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {mode: [] for mode in MODES}
    for path in track(paths, description="dev files", transient=True):
        rows = dev_rows(path, count)
        good = np.array([row["label"] == "supported" for row in rows])
        for mode, reviewer in reviewers.items():
            scores = np.array([reviewer.score(row["hypothesis"], [row["premise"]]) for row in rows])
            pooled[mode].append((scores, good))
            figures = {
                "balanced_accuracy": balanced_accuracy(scores, good, 0.5),
                "auc": auc(scores, good),
                "ece": ece(scores, good),
            }
            found[mode].append({"file": path.name.removesuffix(".jsonl.gz"), "rows": len(rows)} | figures)
    for mode, parts in pooled.items():
        together = [np.concatenate(each) for each in zip(*parts, strict=True)]
        pool = {"balanced_accuracy": balanced_accuracy(*together, 0.5), "auc": auc(*together), "ece": ece(*together)}
        pooled_row = {"file": "all rows together", "rows": len(together[0])} | pool
        found[mode] = [*with_mean(found[mode]), pooled_row]
    return found


def side_by_side(found: dict[str, list[Row]]) -> list[Row]:
    """One row per file, the modes next to each other."""
    rows = []
    for lexical, model in zip(found["lexical"], found["model"], strict=True):
        figures = {
            f"{name} {mode}": row[key]
            for key, name in (("balanced_accuracy", "bal. acc."), ("auc", "AUC"), ("ece", "ECE"))
            for mode, row in (("lexical", lexical), ("model", model))
        }
        rows.append({"file": lexical["file"], "rows": lexical["rows"]} | figures)
    return rows


# Changes to a fact. Each returns what the fact no longer supports, or None where it has nothing to change.

NUMBER_WORDS = "two three four five six seven eight nine ten eleven twelve".split()
UNITS = {
    "minute": "hour", "hour": "day", "day": "week", "week": "month", "month": "year", "year": "month",
    "second": "minute", "euro": "dollar", "metre": "mile", "meter": "mile", "kilometre": "metre", "kilometer": "meter",
    "gram": "kilogram", "milligram": "gram", "liter": "gallon", "litre": "gallon",
}  # fmt: skip
SYMBOLS = {
    "EUR": "GBP", "GBP": "EUR", "USD": "EUR", "CHF": "EUR", "€": "$", "$": "£", "£": "€", "mg": "g", "g": "kg",
    "kg": "g", "km": "m", "m": "km", "cm": "m", "mm": "cm", "ml": "l", "l": "ml", "MB": "GB", "GB": "TB", "KB": "MB",
    "TB": "GB", "°C": "°F", "km/h": "mph", "kWh": "Wh", "MW": "kW", "W": "kW", "mph": "km/h",
}  # fmt: skip
MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
OPEN_ENDED = re.compile(
    r"\b(?:since|until|before|after|by|from|earlier than|later than|least|most)\W+\Z", re.IGNORECASE
)
AUXILIARY = re.compile(r"\b(is|are|was|were|can|may|must|will|should|has been|have been)\b(?! not)")
NEGATED = re.compile(r"\b(is|are|was|were|may|must|will|should|can|does|do)(?: not|not)\b")
AMOUNTS = frozenset({"number", "money", "percent", "duration"})


def _put(fact: str, slot: Slot, text: str) -> str | None:
    return fact[: slot.start] + text + fact[slot.end :] if text != slot.text else None


def _exact(fact: str, kinds: frozenset[str]) -> Iterator[Slot]:
    for slot in find_slots(fact):
        if slot.kind in kinds and not slot.bound and slot.unit != "ordinal":
            yield slot


def change_number(fact: str) -> str | None:
    """A higher first digit in the last number of a value, or the next number word."""
    for slot in _exact(fact, AMOUNTS):
        numbers = list(re.finditer(r"(?<![0-9,.])[0-9]", slot.text))
        if numbers:
            at = numbers[-1].start()
            return _put(fact, slot, slot.text[:at] + str(int(slot.text[at]) + 1) + slot.text[at + 1 :])
        for word, after in zip(NUMBER_WORDS, [*NUMBER_WORDS[1:], "twenty"], strict=True):
            if re.match(rf"{word}\b", slot.text, re.IGNORECASE):
                return _put(fact, slot, after + slot.text[len(word) :])
    return None


def change_unit(fact: str) -> str | None:
    """The same number of something else: of another unit of time, length, mass, money or data."""
    for slot in _exact(fact, AMOUNTS):
        for name, other in UNITS.items():
            text = re.sub(rf"(?<=[\d\w] |\d-){name}(s?)\b", rf"{other}\1", slot.text, count=1)
            if text != slot.text:
                return _put(fact, slot, text)
        for name, other in SYMBOLS.items():
            text = re.sub(rf"(?<![^\W\d]){re.escape(name)}(?![^\W\d])", other, slot.text, count=1)
            if text != slot.text:
                return _put(fact, slot, text)
    return None


def change_date(fact: str) -> str | None:
    """Another month, weekday, year or hour; the last one of a range, and none that is open to one side."""
    for slot in reversed(list(_exact(fact, frozenset({"date", "time"})))):
        if OPEN_ENDED.search(fact[: slot.start]):
            continue
        text = _later(slot.text) if slot.kind == "date" else _another_hour(slot.text)
        if text and text != slot.text:
            return _put(fact, slot, text)
    return None


def _later(text: str) -> str | None:
    for names, step in ((MONTHS, 5), (WEEKDAYS, 2)):
        found = list(re.finditer("|".join(names), text))
        if found:
            last = found[-1]
            other = names[(names.index(last[0]) + step) % len(names)]
            return text[: last.start()] + other + text[last.end() :]
    years = list(re.finditer(r"\b[12][0-9]{3}\b", text))
    return text[: years[-1].start()] + str(int(years[-1][0]) + 3) + text[years[-1].end() :] if years else None


def _another_hour(text: str) -> str | None:
    hours = list(re.finditer(r"\b([0-9]{1,2})(?=:|\.|\s?[ap]\.?m)", text))
    if not hours:
        return None
    last = hours[-1]
    later = int(last[0]) + 1 if int(last[0]) not in {12, 23} else int(last[0]) - 1
    return text[: last.start()] + str(later).zfill(len(last[0])) + text[last.end() :]


def negate(fact: str) -> str | None:
    """The first auxiliary negated, or the first negated one not."""
    if NEGATED.search(fact):
        return NEGATED.sub(r"\1", fact, count=1)
    if not AUXILIARY.search(fact) or re.search(r"\b(?:no|not|never|none|without)\b|n't\b", fact):
        return None
    text = AUXILIARY.sub(
        lambda match: match[0].replace(" ", " not ") if " " in match[0] else f"{match[0]} not", fact, 1
    )
    return text.replace("can not", "cannot")


@dataclass
class Namer:
    """Puts the name of another passage in the place of one of a fact's."""

    names: dict[int, list[tuple[str, str]]]
    """By how many words they have: the passage and the name."""

    @classmethod
    def of(cls, facts: Sequence[Fact]) -> Namer:
        names: dict[int, list[tuple[str, str]]] = {}
        for fact in facts:
            for slot in find_slots(fact.text):
                if slot.kind == "name":
                    names.setdefault(len(slot.text.split()), []).append((fact.topic, slot.text))
        return cls(names)

    def change(self, fact: Fact, rng: random.Random) -> str | None:
        slots = [slot for slot in find_slots(fact.text) if slot.kind == "name"]
        if not slots:
            return None
        name = slots[-1].text
        others = [other for topic, other in self.names[len(name.split())] if topic != fact.topic and other != name]
        return fact.text.replace(name, rng.choice(others)) if others else None


# Relations.


@dataclass(frozen=True)
class Fact:
    """A fact of a passage, and the others of that passage."""

    text: str
    others: tuple[str, ...]
    topic: str

    @property
    def evidence(self) -> list[str]:
        return [self.text, *self.others]


@dataclass(frozen=True)
class Case:
    """An answer beside its evidence; `like` is the answer and evidence whose verdict it must share."""

    relation: str
    answer: str
    evidence: Sequence[str]
    approved: bool = False
    like: tuple[str, Sequence[str]] | None = None


def all_facts() -> list[Fact]:
    return [
        Fact(text, tuple(other for other in item["facts"].values() if other != text), item["topic"])
        for item in passages()
        for text in item["facts"].values()
    ]


def cases(count: int, seed: int = 5) -> list[Case]:
    """At most `count` of each relation, from facts in an order drawn from a seed."""
    rng = random.Random(seed)
    facts = all_facts()
    namer = Namer.of(facts)
    rng.shuffle(facts)
    made: list[Case] = []
    for fact, stranger in zip(facts, [*facts[1:], facts[0]], strict=True):
        changes = {
            "number change": change_number(fact.text),
            "unit change": change_unit(fact.text),
            "date or time change": change_date(fact.text),
            "negation flip": negate(fact.text),
            "entity change": namer.change(fact, rng),
        }
        made.append(Case("identity", fact.text, fact.evidence, approved=True))
        made += [Case(relation, text, fact.evidence) for relation, text in changes.items() if text]
        wrong = next((text for text in changes.values() if text), None)
        made += _same_verdict(fact, wrong, stranger)
        made += _joined(fact, wrong)
    kept: dict[str, list[Case]] = {}
    for case in made:
        kept.setdefault(case.relation, []).append(case)
    return [case for group in kept.values() for case in group[: count or None]]


def _same_verdict(fact: Fact, wrong: str | None, stranger: Fact) -> Iterator[Case]:
    """What must not matter, on the fact and on a wrong form of it."""
    for answer in filter(None, (fact.text, wrong)):
        like = (answer, fact.evidence)
        if stranger.topic != fact.topic:
            with_prefix = [f"{stranger.text} {fact.text}", *fact.others]
            yield Case("irrelevant prefix (same verdict)", answer, with_prefix, like=like)
        yield Case("premise order (same verdict)", answer, fact.evidence[::-1], like=like)
        yield Case("casing (same verdict)", answer.lower(), fact.evidence, like=like)
        yield Case("casing (same verdict)", answer.upper(), fact.evidence, like=like)
        yield Case("invisible characters (same verdict)", _with_invisible(answer), fact.evidence, like=like)


def _with_invisible(text: str) -> str:
    """A zero-width space, soft hyphen, word joiner or byte order mark inside every third word."""
    words = text.split(" ")
    for at in range(0, len(words), 3):
        half = len(words[at]) // 2
        words[at] = words[at][:half] + "\u200b\u00ad\u2060\ufeff"[at // 3 % 4] + words[at][half:]
    return " ".join(words)


def _joined(fact: Fact, wrong: str | None) -> Iterator[Case]:
    if not fact.others or ";" in fact.text + fact.others[0]:
        return
    first = fact.others[0].rstrip(".")
    yield Case("conjunction of two facts", f"{first} and {_lowered(fact.text)}", fact.evidence, approved=True)
    if wrong:
        yield Case("conjunction, one changed", f"{first} and {_lowered(wrong)}", fact.evidence)


def _lowered(text: str) -> str:
    first = text.split(maxsplit=1)[0].lower()
    common = first in {"the", "a", "an", "all", "every", "each", "no", "in", "on", "for", "after"}
    return text[0].lower() + text[1:] if common else text


def measure_relations(count: int) -> list[Row]:
    """Share of expected verdicts per relation and mode, and of right clauses that are approved."""
    drawn = cases(count)
    rows: dict[str, Row] = {}
    for mode, use_nli in MODES.items():
        reviewer = Reviewer(use_nli=use_nli)
        for case in track(drawn, description=f"relations, {mode}", transient=True):
            expected = reviewer.approves(*case.like) if case.like else case.approved
            row = rows.setdefault(case.relation, {"relation": case.relation, "cases": 0, "lexical": 0, "model": 0})
            row[mode] += reviewer.approves(case.answer, case.evidence) == expected
            row["cases"] += mode == "lexical"
    for relation, row in rows.items():
        for mode in MODES:
            row[mode] /= row["cases"]
        changed = [case for case in drawn if case.relation == relation and not case.approved and not case.like]
        seen = [bool(compare_slots(case.answer, " ".join(case.evidence))) for case in changed]
        row["slots differ"] = sum(seen) / len(seen) if seen else ""
    return [*rows.values(), paraphrases() | {"slots differ": ""}]


def paraphrases() -> Row:
    """Share of the claims in right passages that are supported, retrieved as in the product."""
    row: Row = {"relation": "right paraphrases approved", "cases": 0}
    for mode, use_nli in MODES.items():
        verdicts = []
        for item in passages():
            with (VectorGroundTruthStore if use_nli else GroundTruthStore)(facts=item["facts"]) as store:
                scorer = CoherenceScorer(use_nli=use_nli, ground_truth_store=store)
                verdicts += [each for each in scorer.judge(item["prompt"], item["correct"]) if each.is_claim]
        row["cases"] = len(verdicts)
        row[mode] = sum(each.verdict == "supported" for each in verdicts) / len(verdicts)
    return row


# Speed.

CLOSURE = """
import gc, json, sys, time
from director_ai import CoherenceScorer, GroundTruthStore

given = json.load(open(sys.argv[1]))
store = GroundTruthStore()
for key, value in given["facts"].items():
    store.add(key, value)
scorer = CoherenceScorer(use_nli=False, ground_truth_store=store)

def cost(tokens):
    so_far = []
    def callback(token):
        so_far.append(token)
        _, score = scorer.review(given["prompt"], "".join(so_far))
        return score.score
    gc.collect()
    started = time.process_time()
    for token in tokens:
        callback(token)
    return time.process_time() - started

cost(given["tokens"][:50])
print("figures", json.dumps({size: cost(given["tokens"][:size]) for size in given["sizes"]}))
"""


def varied_tokens() -> list[str]:
    """The words of all passages, the right and the wrong ones; no sentence comes twice."""
    texts = [text for item in passages() for text in (item["correct"], item["planted"]["text"])]
    random.Random(3).shuffle(texts)
    return re.findall(r"\S+\s*", " ".join(texts))


def stream_cost(scorer: CoherenceScorer, tokens: Sequence[str], runs: int) -> tuple[float, int, int]:
    """CPU seconds for one stream, its clauses, and how many of them were compared with evidence."""
    best = float("inf")
    for _ in range(runs):
        stream = scorer.stream(PROMPT)
        started = time.process_time()
        for token in tokens:
            stream(token)
        stream.finish()
        best = min(best, time.process_time() - started)
    return best, len(stream.verdicts), sum(bool(each.chunks) for each in stream.verdicts)


def measure_speed(runs: int, peer: Callable[[Row], dict[str, float]] | None) -> Row:
    """The cost of streams by their length, of a clause alone, and of the peer's closure over the same tokens."""
    tokens = varied_tokens()
    facts = {f"fact{index}": fact.text for index, fact in enumerate(all_facts())}
    few = dict(list(facts.items())[:3])
    rows: list[Row] = []
    theirs = peer({"facts": few, "tokens": tokens, "sizes": SIZES, "prompt": PROMPT}) if peer else {}
    with GroundTruthStore(facts=few) as small, GroundTruthStore(facts=facts) as large:
        stores: dict[str, Any] = {"no search": Found(), "3 facts": small, f"{len(facts)} facts": large}
        scorers = {name: CoherenceScorer(use_nli=False, ground_truth_store=store) for name, store in stores.items()}
        for scorer in scorers.values():
            stream_cost(scorer, tokens[-400:], 1)
        for size in SIZES:
            row: Row = {"tokens": size}
            for name, scorer in scorers.items():
                seconds, clauses, compared = stream_cost(scorer, tokens[:size], runs)
                before = rows[-1][f"ms, {name}"] if rows else None
                row[f"ms, {name}"] = seconds * 1e3
                row[f"x2, {name}"] = seconds * 1e3 / before if before else ""
                row[f"compared, {name}"] = f"{compared}/{clauses}"
            if theirs:
                row["ms, peer, 3 facts"] = theirs[str(size)] * 1e3
                row["peer / ours"] = theirs[str(size)] * 1e3 / row["ms, 3 facts"]
            rows.append(row)
    return {"streams": rows, "clause_ms": clause_cost(runs)}


def clause_cost(runs: int) -> dict[str, float]:
    """CPU milliseconds per clause where the evidence is at hand: all facts of its passage, or the first alone."""
    found = Found()
    scorer = CoherenceScorer(use_nli=False, ground_truth_store=found)
    costs = {}
    for name, most in (("all facts of its passage", 5), ("one fact", 1)):
        total, clauses = 0.0, 0
        for item in passages():
            found.texts = list(item["facts"].values())[:most]
            seconds, count, _ = stream_cost(scorer, re.findall(r"\S+\s*", item["correct"]), runs)
            total, clauses = total + seconds, clauses + count
        costs[name] = total / clauses * 1e3
    return costs


def run_peer(given: Row) -> dict[str, float]:
    """CPU seconds of the documented closure in the published package, by the number of tokens."""
    with tempfile.TemporaryDirectory() as folder:
        python = install_peer(Path(folder) / "peer")
        path = Path(folder) / "given.json"
        path.write_text(json.dumps(given), "utf-8")
        ran = subprocess.run([python, "-c", CLOSURE, str(path)], check=True, capture_output=True, text=True)
    printed = next(line for line in ran.stdout.splitlines() if line.startswith("figures "))
    seconds: dict[str, float] = json.loads(printed.removeprefix("figures "))
    return seconds


# The run.


def show_speed(console: Console, speed: Row) -> None:
    plain = [{key: value for key, value in row.items() if key != "compared, no search"} for row in speed["streams"]]
    show(console, "Streams in heuristic mode (CPU); x2 is t(2n)/t(n); compared: clauses that had evidence", plain)
    for name, cost in speed["clause_ms"].items():
        console.print(f"a clause without retrieval, {name}: [bold]{cost:.3f} ms[/]   (goal: at most 0.2)")
    last = speed["streams"][-1]
    if "peer / ours" in last:
        console.print(f"peer / ours at 6,400 tokens: [bold]{last['peer / ours']:.0f}[/]   (goal: at least 50)")


def plot(saved: Row) -> None:
    import matplotlib  # noqa: PLC0415 - only a saved run needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(13, 4.6))
    rows = saved["relations"][::-1]
    for offset, mode, color in ((0.2, "lexical", "#a52"), (-0.2, "model", "#2a7")):
        places = [at + offset for at in range(len(rows))]
        left.barh(places, [row[mode] for row in rows], 0.38, color=color, label=mode)
    left.set_yticks(range(len(rows)), [row["relation"] for row in rows])
    left.set(xlim=(0, 1), title="Expected verdicts")
    left.legend()
    streams = saved["speed"]["streams"]
    for name in (key for key in streams[0] if key.startswith("ms, ")):
        right.loglog([row["tokens"] for row in streams], [row[name] for row in streams], marker="o", label=name[4:])
    right.set(xlabel="tokens", ylabel="CPU ms", title="A stream, scored at every token (heuristic mode)")
    right.legend()
    figure.tight_layout()
    figure.savefig(RESULTS / "scoring.svg", metadata={"Date": None})


def main() -> None:
    """Run as a command."""
    parts = ("accuracy", "relations", "speed")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="accuracy, relations, speed; by default all")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the development data")
    parser.add_argument("--rows", type=int, default=100, help="rows per dev file; 0 for all")
    parser.add_argument("--cases", type=int, default=150, help="cases per relation; 0 for all")
    parser.add_argument("--runs", type=int, default=3, help="runs of which the best counts")
    parser.add_argument("--peer", action="store_true", help=f"also time {PEER}")
    parser.add_argument("--save", action="store_true", help="write results/scoring.json and .svg")
    options = parser.parse_args()
    if set(options.parts) - set(parts):
        parser.error(f"PART is one of {', '.join(parts)}")
    chosen = options.parts or parts
    console = Console(width=160)
    saved: Row = {"python": platform.python_version(), "machine": platform.machine()}
    if "accuracy" in chosen and not options.data.is_dir():
        console.print(f"no development data at {options.data}: accuracy is left out")
    elif "accuracy" in chosen:
        saved["accuracy"] = measure_accuracy(options.data, options.rows)
        show(console, "Accuracy at 0.5, the premise as evidence, closed policy", side_by_side(saved["accuracy"]))
    if "relations" in chosen:
        saved["relations"] = measure_relations(options.cases)
        show(console, "Share of expected verdicts", saved["relations"])
    if "speed" in chosen:
        saved["speed"] = measure_speed(options.runs, run_peer if options.peer else None)
        show_speed(console, saved["speed"])
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / "scoring.json"
        known = json.loads(path.read_text("utf-8")) if path.exists() else {}
        saved = known | saved
        path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", "utf-8")
        if {"relations", "speed"} <= saved.keys():
            plot(saved)
        console.print(f"written to {path.name}")


if __name__ == "__main__":
    main()
