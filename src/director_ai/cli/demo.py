"""`director-ai demo`: a scripted answer, guarded while it arrives, halted where it leaves the facts."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from director_ai.cli.terminal import for_terminal
from director_ai.core.segment import ClauseSegmenter, split_clauses
from director_ai.core.types import CoherenceScore, EvidenceChunk, ScoringEvidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from director_ai.core.runtime.session import StreamSession

__all__ = ["demo"]

QUESTION: Final = "What is your return policy?"
FACTS: Final = {
    "kb:return-window": "Refunds are available within 30 days of delivery.",
    "kb:return-shipping": "Return shipping is free for every customer.",
    "kb:support-hours": "The support desk is open from 9 to 17 on weekdays.",
}
ANSWER: Final = (
    "Happy to help! Return shipping is free for every customer. The support desk is open from 9 to 17 on weekdays. "
    "Refunds are available within 90 days of delivery. Refunds are doubled on Fridays."
)

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]{2,}")
_STOP: Final = frozenset(
    "the is are of in on at to for and or an we you our your it this that with from by every".split()
)


class WordOverlapScorer:
    """Support by shared words, and none where a figure differs: enough to see a kernel work, no more than that."""

    def review(self, prompt: str, text: str) -> tuple[bool, CoherenceScore]:  # noqa: ARG002 - the documented signature
        """Judge the last clause of a text, with a divergence per fact."""
        claim = split_clauses(text)[-1]
        divergences = [1.0 - support(claim, fact) for fact in FACTS.values()]
        related = [shared(claim, fact) for fact in FACTS.values()]
        chunks = [EvidenceChunk(fact, 1.0 - r, ref) for (ref, fact), r in zip(FACTS.items(), related, strict=True)]
        # A fact that has nothing to do with the claim does not contradict it.
        weights = [d * r for d, r in zip(divergences, related, strict=True)]
        evidence = ScoringEvidence(chunks, " ".join(FACTS.values()), claim, max(weights), chunk_scores=weights)
        score = 1.0 - max(weights)
        return score >= 0.5, CoherenceScore(score, score >= 0.5, max(weights), max(weights), evidence)


def words(text: str) -> set[str]:
    """The words of a text that carry meaning, figures included."""
    return {word.lower() for word in _WORD.findall(text)} - _STOP


def shared(claim: str, fact: str) -> float:
    """The share of the claim's words that the fact has too."""
    said = words(claim)
    return len(said & words(fact)) / len(said) if said else 0.0


def support(claim: str, fact: str) -> float:
    """How far a fact supports a claim; a figure that the fact does not have leaves next to nothing."""
    figures = {word for word in words(claim) if word[0].isdigit()}
    return 0.05 if figures - words(fact) else shared(claim, fact)


def make_callback() -> Callable[[str], float]:
    """Return a callback that gathers tokens into clauses; the worst clause so far is the coherence."""
    segmenter = ClauseSegmenter()
    worst = 1.0

    def coherence(token: str) -> float:
        nonlocal worst
        for clause in segmenter.feed(token):
            worst = min(worst, judge(clause.text))
        # Half a sentence is no claim yet; a figure that contradicts the fact it is about can be told at once.
        return min(worst, judge(segmenter.held)) if any(c.isdigit() for c in token) else worst

    return coherence


def judge(claim: str) -> float:
    """Support by the fact that shares the most words; what shares none with any states nothing the demo knows."""
    nearest = max(FACTS.values(), key=lambda fact: shared(claim, fact))
    return support(claim, nearest) if shared(claim, nearest) >= 0.4 else 0.9


def arriving(text: str, delay: float) -> Iterator[str]:
    """Yield a text as a model would: a word at a time."""
    for token in re.findall(r"\S+\s*", text):
        time.sleep(delay)
        yield token


def demo(
    delay: Annotated[float, typer.Option(min=0.0, max=2.0, help="Seconds between two tokens.")] = 0.04,
) -> None:
    """Guard a scripted answer, live, and show where it is halted and on what evidence."""
    from rich.console import Console  # noqa: PLC0415 - keeps `--help` quick

    from director_ai.streaming import StreamingKernel  # noqa: PLC0415

    console = Console(highlight=False)
    console.print("\n[bold]Director AI[/] · a scripted answer, judged while it arrives\n")
    for ref, fact in FACTS.items():
        console.print(f"  [cyan]{ref:<20}[/] {fact}")
    console.print(f"\n  [bold]Question[/]  {QUESTION}\n  [bold]Answer[/]    ", end="")

    kernel = StreamingKernel.for_domain("finance")
    pace = delay if console.is_terminal else 0.0
    live = kernel.stream(
        arriving(ANSWER, pace),
        make_callback(),
        scorer=WordOverlapScorer(),
        prompt=QUESTION,
        request_id="demo",
    )
    for event in live:
        console.print(for_terminal(event.token), style="green", end="", soft_wrap=True, markup=False)
    show_halt(console, live.session)


def show_halt(console: Console, session: StreamSession) -> None:
    """Show the halt and what it rests on."""
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.panel import Panel  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    evidence = session.halt_evidence_structured
    if evidence is None or evidence.trace_attribution is None:
        console.print("\n\n  The stream was not halted.\n")
        return
    console.print("[bold white on red] HALTED [/]\n")
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for title in ("evidence", "fact", "divergence"):
        table.add_column(title)
    for chunk, score in zip(evidence.evidence_chunks, evidence.nli_scores or [], strict=True):
        bar = "█" * round(score * 20) or "·"
        colour = "red" if score > 0.5 else "dim"
        table.add_row(escape(chunk.source), escape(chunk.text), f"[{colour}]{score:.2f} {bar}[/]")
    body = Table.grid(padding=(1, 0))
    body.add_row(
        f"[bold]{session.halt_reason}[/]\ntoken {session.halt_index} was read and not shown; "
        f"{len(session.tokens)} tokens were released, {len(ANSWER.split()) - len(session.events)} never read"
    )
    body.add_row(table)
    change = evidence.counterfactual_diagnostic and evidence.counterfactual_diagnostic.best_change
    if change:
        fact = f"[cyan]{escape(change.fact_source)}[/] said: [italic]{escape(change.proposed_fact)}[/]"
        body.add_row(f"It would have passed if {fact}")
    body.add_row(f"Event [cyan]{session.safety_events[0].event_id}[/] holds identifiers and figures, no text.")
    console.print(Panel(body, title="why", border_style="red", padding=(1, 2)))
