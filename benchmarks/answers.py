"""Whole answers as a deployment sees them: what becomes of the right ones, and of one error in each of the wrong ones.

    python benchmarks/answers.py [FILE] [--profiles finance general] [--list] [--save]
    python benchmarks/answers.py [FILE] --profiles finance --peer
    python benchmarks/answers.py [FILE] --profiles finance --judge judge.jsonl [--band 0 0.9] [--missing FILE]

FILE holds JSON lines, gzipped or not, with `facts`, `question`, `right`, `wrong`, `error_span`, `truth`, `kind` and
`lang`; by default `../shared/data/dev/answers.jsonl.gz` beside the repository. Thresholds may be chosen on that file,
so its figures are no estimate of what unseen answers meet. `answers_test/test.jsonl` is the test part: nothing is
chosen on it. Intervals are Wilson's, 95 %.

With `--peer`, the published director-ai checks each clause with the same facts, question and profile; what it does not
approve counts as redacted. It runs with its accelerator and without the models that it would download. It has no
profile `general`.

With `--judge`, clauses whose support lies in the band are escalated to a language model whose answers were recorded
(`recorded_judge.py`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from kernel import PEER, install_peer
from peer_checks import check_clauses, clauses_of
from recorded_judge import BUDGET, Cassette
from reporting import RESULTS, machine, show
from rich.console import Console
from rich.progress import track

from director_ai import ProductionGuard

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "dev" / "answers.jsonl.gz"
DEV = Path(__file__).parent / "answers_dev" / "dev.jsonl"
PROFILES = ("finance", "medical", "general")
PEER_PROFILES = ("finance", "medical")
"""Those of ours that the published package has too."""
LEFT_OUT = "noinfo"
Case = dict[str, Any]
Row = dict[str, Any]


def load(path: Path) -> list[Case]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def judged(case: Case, profile: str, **options: Any) -> Row:
    """What the guard of a profile makes of one case; `options` are the guard's."""
    with ProductionGuard.from_profile(profile, metrics=False, **options) as guard:
        guard.load_facts(case["facts"])
        right = guard.repair_stream(case["question"], case["right"], shape=case["shape"])
        found: Row = {
            "case": case,
            "right": right.repaired_text,
            "exact": right.repaired_text == case["right"],
            "clauses": Counter(action.action for action in right.actions),
            "escalated": [action.escalated is not None for action in right.actions],
        }
        if case["wrong"]:
            wrong = guard.repair_stream(case["question"], case["wrong"], shape=case["shape"])
            span, text = case["error_span"], wrong.repaired_text
            found["wrong"] = text
            found["gone"] = text.count(span) < case["wrong"].count(span)
            found["rewritten"] = [action for action in wrong.actions if action.action == "rewrite"]
            found["true"] = bool(found["rewritten"]) and found["gone"] and case["truth"] in text
            found["escalated"] += [action.escalated is not None for action in wrong.actions]
        return found


def checked_by_peer(cases: list[Case], profile: str, python: str) -> Row:
    """The published package's row: a clause that it does not approve counts as redacted."""
    cases = [case for case in cases if case["lang"] == "en" and case["shape"] == "text"]
    answers = [(case, name) for case in cases for name in ("right", "wrong") if case[name]]
    clauses = [clauses_of(case[name]) for case, name in answers]
    texts = [
        {"prompt": case["question"], "facts": case["facts"], "clauses": [clause.text for clause in parts]}
        for (case, _), parts in zip(answers, clauses, strict=True)
    ]
    kept: list[list[bool]] = []
    gone, kept_silent = [], []
    for (case, name), parts, found in zip(
        answers, clauses, check_clauses(texts, python, profile)["clauses"], strict=True
    ):
        approved = [ok for _, ok in found]
        if name == "wrong":
            at = case["wrong"].find(case["error_span"])
            end = at + len(case["error_span"])
            hit = [part.start < end and at < part.start + len(part.text) for part in parts]
            gone.append(any(is_wrong and not ok for is_wrong, ok in zip(hit, approved, strict=True)))
        elif case["kind"] == LEFT_OUT:
            kept_silent.append(all(approved))
        else:
            kept.append(approved)
    return {
        "profile": f"{PEER}, {profile}",
        "right answers byte for byte": interval(sum(map(all, kept)), len(kept)),
        "right clauses kept": interval(sum(map(sum, kept)), sum(map(len, kept))),
        "errors gone": interval(sum(gone), len(gone)),
        "no-info answers kept": f"{sum(kept_silent)}/{len(kept_silent)}",
    }


def interval(good: int, of: int) -> str:
    """A share with its 95 % interval."""
    if not of:
        return "-"
    z, share = 1.96, good / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return f"{good}/{of} = {share:.0%} ({max(0.0, middle - half):.0%} to {min(1.0, middle + half):.0%})"


def figures(profile: str, found: list[Row]) -> Row:
    """The table's row of one profile; other languages are counted apart, since nothing in them is judged."""
    english = [row for row in found if row["case"]["lang"] == "en"]
    answers = [row for row in english if row["case"]["kind"] != LEFT_OUT]
    wrong = [row for row in answers if "wrong" in row]
    none = [row for row in english if row["case"]["kind"] == LEFT_OUT]
    clauses: Counter[str] = sum((row["clauses"] for row in answers), Counter())
    foreign = [row for row in found if row["case"]["lang"] != "en"]
    return {
        "profile": profile,
        "right answers byte for byte": interval(sum(row["exact"] for row in answers), len(answers)),
        "right clauses kept": interval(clauses["keep"], clauses.total()),
        "right answers rewritten": sum(row["clauses"]["rewrite"] > 0 for row in found),
        "errors gone": interval(sum(row["gone"] for row in wrong), len(wrong)),
        "patched to the truth": sum(row["true"] for row in wrong),
        "other patches": sum(bool(row["rewritten"]) and not row["true"] for row in wrong),
        "no-info answers kept": f"{sum(row['exact'] for row in none)}/{len(none)}",
        "rewrites in other languages": sum(
            row["clauses"]["rewrite"] + len(row.get("rewritten", ())) for row in foreign
        ),
    }


def by_kind(found: list[Row]) -> list[Row]:
    kinds: dict[str, list[Row]] = {}
    for row in found:
        if row["case"]["lang"] == "en" and "wrong" in row:
            kinds.setdefault(row["case"]["kind"], []).append(row)
    return [
        {
            "kind": kind,
            "errors": len(rows),
            "gone": sum(r["gone"] for r in rows),
            "exact": sum(r["exact"] for r in rows),
        }
        for kind, rows in sorted(kinds.items())
    ]


def tell(console: Console, found: list[Row]) -> None:
    """Which right answers were changed, and every patch."""
    for row in found:
        case = row["case"]
        if not row["exact"]:
            console.print(f"[{case['id']}] LOST {case['right']!r}\n   -> {row['right']!r}", markup=False)
        for action in row.get("rewritten", ()):
            console.print(f"[{case['id']}] PATCH {action.clause!r}\n   -> {action.text!r}", markup=False)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what becomes of whole answers.")
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--profiles", nargs="+", default=list(PROFILES))
    parser.add_argument("--cases", type=int, default=0, help="as many cases; 0 for all")
    parser.add_argument("--list", action="store_true", help="show what was lost, and what was patched")
    parser.add_argument("--peer", action="store_true", help=f"also measure {PEER}")
    parser.add_argument("--judge", type=Path, help="recorded answers of a language model")
    parser.add_argument("--band", nargs=2, type=float, metavar=("LOW", "HIGH"), help="support that is escalated")
    parser.add_argument("--missing", type=Path, help="write the prompts here that have no recorded answer")
    parser.add_argument("--save", action="store_true", help="write results/answers.json, or answers-test.json")
    options = parser.parse_args()
    console = Console()
    if not options.data.is_file():
        console.print(f"no answers at {options.data}: nothing is measured")
        return
    cases = load(options.data)[: options.cases or None]
    saved: Row = {**machine(), "file": options.data.name, "profiles": [], "kinds": {}}
    cassette = Cassette(options.judge) if options.judge else None
    extra: Row = {"judge": cassette.judge(), "judge_budget": BUDGET} if cassette else {}
    if options.band:
        extra["judge_band"] = tuple(options.band)
    for profile in options.profiles:
        found = [judged(case, profile, **extra) for case in track(cases, profile, console=console, transient=True)]
        saved["profiles"].append(figures(profile, found))
        if cassette:
            escalated = [each for row in found for each in row["escalated"]]
            saved["profiles"][-1] |= {
                "clauses escalated": interval(sum(escalated), len(escalated)),
                "prompts without an answer": len(cassette.missing),
            }
        saved["kinds"][profile] = by_kind(found)
        if options.list:
            tell(console, found)
    if options.peer:
        with tempfile.TemporaryDirectory() as folder:
            python = install_peer(Path(folder) / "peer")
            wanted = [profile for profile in PEER_PROFILES if profile in options.profiles]
            saved["profiles"] += [checked_by_peer(cases, profile, python) for profile in wanted]
    for name in list(saved["profiles"][0])[1:]:
        show(console, name, [{"profile": row["profile"], name: row[name]} for row in saved["profiles"] if name in row])
    for profile, rows in saved["kinds"].items():
        show(console, f"{profile}, by kind of error", rows)
    if cassette and options.missing:
        cassette.write_missing(options.missing)
    if options.save:
        name = "answers-test.json" if options.data.stem == "test" else "answers.json"
        (RESULTS / name).write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", "utf-8")
        console.print(f"written to {name}")


if __name__ == "__main__":
    main()
