"""Right passages must pass and wrong ones must halt: 144 of each, over twelve topics, at the limits the profiles use.

    python benchmarks/regression_suite.py           without the model
    python benchmarks/regression_suite.py --nli     with it
    python benchmarks/regression_suite.py --nli --list    also names what was missed and what was halted wrongly

Each passage has a knowledge base of its own. It streams through a kernel with the limits of its topic's profile, clause
by clause; a claim that the facts do not support is unsupported (the `closed` policy, whatever the profile: each passage
comes with all there is to know). The same figures under the profile's own policy are printed below: an open one lets
invented details pass, by its definition.

The passages were written before anything was tuned on them. `tests/test_regression_suite.py` asserts the figures.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from director_ai import StreamingKernel, VectorGroundTruthStore
from director_ai.profiles import get_profile
from director_ai.scorer import CoherenceScorer

PASSAGES = Path(__file__).parent / "passages"
SLOT_ERRORS = frozenset({"number", "unit", "date", "name", "negation"})
Policy = Literal["open", "closed"]


@dataclass
class Figures:
    """What a run over all passages gave."""

    right: int = 0
    false_halts: list[str] = field(default_factory=list)
    planted: Counter[str] = field(default_factory=Counter)
    caught: Counter[str] = field(default_factory=Counter)
    """Halted at the sentence that is wrong."""
    missed: list[str] = field(default_factory=list)
    misplaced: list[str] = field(default_factory=list)
    """Halted at another sentence than the wrong one."""
    coherence: list[float] = field(default_factory=list)
    """Of the right passages."""

    def share(self, kinds: frozenset[str] | None = None) -> float:
        """Errors that were caught, of all kinds or of some."""
        chosen = kinds or frozenset(self.planted)
        return sum(self.caught[kind] for kind in chosen) / max(1, sum(self.planted[kind] for kind in chosen))


def passages() -> list[dict[str, Any]]:
    """Every item, with the profile of its topic."""
    files = [json.loads(path.read_text("utf-8")) for path in sorted(PASSAGES.glob("*.json"))]
    return [{**item, "topic": file["topic"], "profile": file["profile"]} for file in files for item in file["items"]]


def measure(*, use_nli: bool, policy: Policy | None = "closed", every: int = 1) -> Figures:
    """Stream all passages, or every second, third, …; `policy` None is the profile's own."""
    figures = Figures()
    for item in passages()[::every]:
        profile = get_profile(item["profile"])
        with VectorGroundTruthStore(facts=item["facts"]) as store:
            scorer = CoherenceScorer(
                threshold=profile.rules.hard_limit,
                use_nli=use_nli,
                ground_truth_store=store,
                policy=policy or profile.policy,
            )
            _stream_right(figures, item, scorer)
            _stream_wrong(figures, item, scorer)
    return figures


def _stream(item: dict[str, Any], text: str, scorer: CoherenceScorer) -> Any:
    tokens = [text[at : at + 4] for at in range(0, len(text), 4)]
    stream = scorer.stream(item["prompt"])
    return StreamingKernel.for_domain(item["profile"]).stream_tokens(stream.clauses(tokens), stream)


def _stream_right(figures: Figures, item: dict[str, Any], scorer: CoherenceScorer) -> None:
    session = _stream(item, item["correct"], scorer)
    figures.right += 1
    figures.coherence.append(session.avg_coherence)
    if session.halted:
        figures.false_halts.append(f"{item['id']}: {_halted_clause(session)}")


def _stream_wrong(figures: Figures, item: dict[str, Any], scorer: CoherenceScorer) -> None:
    planted = item["planted"]
    session = _stream(item, planted["text"], scorer)
    figures.planted[planted["kind"]] += 1
    clause = _halted_clause(session)
    if not session.halted:
        figures.missed.append(f"{item['id']} ({planted['kind']}): {planted['error']}")
    elif clause.rstrip(".,; ") in planted["error"]:
        figures.caught[planted["kind"]] += 1
    else:
        figures.misplaced.append(f"{item['id']}: {clause}")


def _halted_clause(session: Any) -> str:
    return session.withheld[0].strip() if session.halted and session.withheld else ""


def show(console: Console, title: str, figures: Figures) -> None:
    """Print one run."""
    table = Table(title=title, title_justify="left")
    for name in ("error", "planted", "caught", "share"):
        table.add_column(name, justify="left" if name == "error" else "right")
    for kind, count in sorted(figures.planted.items()):
        table.add_row(kind, str(count), str(figures.caught[kind]), f"{figures.caught[kind] / count:.0%}")
    table.add_row("slot errors", "", "", f"{figures.share(SLOT_ERRORS):.1%}")
    table.add_row("all", str(figures.planted.total()), str(figures.caught.total()), f"{figures.share():.1%}")
    console.print(table)
    console.print(
        f"right passages halted: {len(figures.false_halts)} of {figures.right}; wrong ones halted at a right sentence: "
        f"{len(figures.misplaced)}; mean coherence of right ones: {sum(figures.coherence) / figures.right:.3f}\n"
    )


def main() -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nli", action="store_true", help="with the bundled model")
    parser.add_argument("--list", action="store_true", help="name every wrong decision")
    parser.add_argument("--tiny", action="store_true", help="two passages: does it still run?")
    options = parser.parse_args()
    console = Console()
    mode = "model mode" if options.nli else "heuristic mode"
    for policy, name in (("closed", "closed policy"), (None, "each profile's own policy")):
        figures = measure(use_nli=options.nli, policy=policy, every=72 if options.tiny else 1)  # type: ignore[arg-type]  # the two literals above
        show(console, f"{mode}, {name}", figures)
        if options.list and policy:
            for title in ("false_halts", "misplaced", "missed"):
                console.print(title, style="bold")
                for line in getattr(figures, title):
                    console.print("  " + line, markup=False, highlight=False)


if __name__ == "__main__":
    main()
