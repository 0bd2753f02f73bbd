"""How often a right passage is halted, and how many wrong ones are: one figure means nothing without the other.

    python benchmarks/streaming_false_halt_bench.py                without the model
    python benchmarks/streaming_false_halt_bench.py --nli          with it
    python benchmarks/streaming_false_halt_bench.py --per-token    the kernel asks at every token, not at clause borders

The passages are those of `regression_suite.py`: 144 right ones, and 144 with one planted error each. They stream
through a kernel with the limits of their topic's profile, under the closed policy.

At clause borders nothing is released before it was judged. Token by token the kernel releases a clause while it is
still open, so an error is caught once its sentence is over: what follows is stopped, the sentence itself is out. The
last sentence of a stream is over when the stream is, after the last token was scored; what is found there only is
counted apart, and is not among the caught. `halted by` says which rule of the kernel halted right passages.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from regression_suite import SLOT_ERRORS, Figures, measure, passages, show
from rich.console import Console
from rich.table import Table

from director_ai import CoherenceScorer, GroundTruthStore, StreamingKernel, VectorGroundTruthStore
from director_ai.profiles import get_profile


@dataclass
class PerToken(Figures):
    """What a run gave in which every token was scored."""

    too_late: list[str] = field(default_factory=list)
    """Errors in the last sentence, found after all of it was released."""
    halted_by: Counter[str] = field(default_factory=Counter)
    """The rules that halted right passages."""


def measure_per_token(*, use_nli: bool) -> PerToken:
    """Stream all passages with the scorer itself as the callback."""
    figures = PerToken()
    for item in passages():
        limits = get_profile(item["profile"]).rules
        with (VectorGroundTruthStore if use_nli else GroundTruthStore)(facts=item["facts"]) as store:
            scorer = CoherenceScorer(threshold=limits.hard_limit, use_nli=use_nli, ground_truth_store=store)
            session, _, _ = _stream(item, item["correct"], scorer)
            figures.right += 1
            figures.coherence.append(session.avg_coherence)
            if session.halted:
                figures.false_halts.append(item["id"])
                figures.halted_by[session.halt_reason.split()[0]] += 1
            _note_wrong(figures, item, *_stream(item, item["planted"]["text"], scorer))
    return figures


def _stream(item: dict[str, Any], text: str, scorer: CoherenceScorer) -> tuple[Any, str, str]:
    """Return the session, the clause that was judged last, and the worst of those judged at the end only."""
    stream = scorer.stream(item["prompt"])
    tokens = [text[at : at + 4] for at in range(0, len(text), 4)]
    session = StreamingKernel.for_domain(item["profile"]).stream_tokens(iter(tokens), stream)
    judged = stream.verdicts[-1].clause.strip() if stream.verdicts else ""
    rest = [] if session.halted else stream.finish()
    late = [each.clause.strip() for each in rest if each.coherence < scorer.limits.threshold]
    return session, judged, late[0] if late else ""


def _note_wrong(figures: PerToken, item: dict[str, Any], session: Any, judged: str, late: str) -> None:
    planted = item["planted"]
    figures.planted[planted["kind"]] += 1
    if session.halted and _within(judged, planted["error"]):
        figures.caught[planted["kind"]] += 1
    elif session.halted:
        figures.misplaced.append(f"{item['id']}: {judged}")
    elif late and _within(late, planted["error"]):
        figures.too_late.append(item["id"])
    else:
        figures.missed.append(item["id"])


def _within(clause: str, error: str) -> bool:
    return clause.rstrip(".,; ") in error


def summary(figures: Figures, title: str) -> Table:
    """The documented table, with what was caught beside it."""
    table = Table(title=title, title_justify="left")
    table.add_column("metric")
    table.add_column("value", justify="right")
    wrong = figures.planted.total()
    slots = sum(figures.planted[kind] for kind in SLOT_ERRORS)
    rows = {
        "passages tested": str(figures.right),
        "false halts": str(len(figures.false_halts)),
        "false-halt rate": f"{len(figures.false_halts) / figures.right:.1%}",
        "average coherence": f"{sum(figures.coherence) / figures.right:.3f}",
        "planted errors caught": f"{figures.caught.total()} of {wrong} ({figures.share():.1%})",
        "slot errors caught": f"{sum(figures.caught[k] for k in SLOT_ERRORS)} of {slots} "
        f"({figures.share(SLOT_ERRORS):.1%})",
        "wrong passages halted at a right sentence": str(len(figures.misplaced)),
    }
    if isinstance(figures, PerToken):
        rows["errors found after the last token only"] = str(len(figures.too_late))
        rows["right passages halted by"] = ", ".join(f"{name} {n}" for name, n in figures.halted_by.most_common())
    for row in rows.items():
        table.add_row(*row)
    return table


def main() -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nli", action="store_true", help="with the bundled model")
    parser.add_argument("--per-token", action="store_true", help="score at every token")
    parser.add_argument("--by-kind", action="store_true", help="also the caught errors by their kind")
    parser.add_argument("--tiny", action="store_true", help="two passages: does it still run?")
    options = parser.parse_args()
    mode = "model mode" if options.nli else "heuristic mode (use_nli=False)"
    places = "at every token" if options.per_token else "at clause borders"
    figures = (
        measure_per_token(use_nli=options.nli)
        if options.per_token
        else measure(use_nli=options.nli, every=72 if options.tiny else 1)
    )
    console = Console()
    console.print(summary(figures, f"{mode}, scored {places}"))
    if options.by_kind:
        show(console, "by kind of error", figures)


if __name__ == "__main__":
    main()
