"""`director-ai demo`: an answer with three planted errors, repaired clause by clause while it arrives."""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from director_ai.cli.terminal import for_terminal
from director_ai.demo_bank import ANSWER, FACTS, PROFILE, QUESTION
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from director_ai.core.repair.record import RepairResult

__all__ = ["demo"]

REPORT: Final = "director-ai-demo.html"
_PIECE = re.compile(r"\w{1,5}|[^\w\s]|\s+")


def demo(
    delay: Annotated[float, typer.Option(min=0.0, max=2.0, help="Seconds between two tokens, in a terminal.")] = 0.03,
    report: Annotated[str, typer.Option(metavar="PATH", help="Where the report is written.")] = REPORT,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    model: Annotated[bool, typer.Option(help="Judge with the bundled model, or without one.")] = True,
) -> None:
    """Repair an answer with three planted errors, live, and say what was changed and on what evidence.

    For example: director-ai demo --report report.html
    """
    from rich.console import Console  # noqa: PLC0415 - keeps `--help` quick

    from director_ai.cli.report.live import LiveReport  # noqa: PLC0415
    from director_ai.guard import ProductionGuard  # noqa: PLC0415

    console = Console(highlight=False)
    _introduce(console)
    with ProductionGuard.from_profile(PROFILE, use_nli=model, metrics=False) as guard:
        guard.load_facts(FACTS)
        guard.warm_up()
        live = LiveReport(console)
        tokens = live.reading(_arriving(ANSWER, delay if console.is_terminal else 0.0))
        with live, guard.stream(QUESTION, tokens, request_id="demo") as stream:
            for piece in stream:
                live.show(piece)
        threshold = guard.profile.repair.threshold
    live.show_halt(stream.result)
    path = None
    try:
        path = None if no_report else _report(stream.result, report, threshold, live.first_clause)
    finally:  # who cannot have the report has the summary
        _sum_up(console, stream.result, live.first_clause, path)


def _arriving(text: str, delay: float) -> Iterator[str]:
    """Yield a text as a model would: in pieces of words."""
    for token in _PIECE.findall(text):
        time.sleep(delay)
        yield token


def _introduce(console: Console) -> None:
    from rich.table import Table  # noqa: PLC0415 - as above

    from director_ai.cli.report.live import print_block  # noqa: PLC0415

    print_block(console, "\n[bold]Director AI[/] repairs an answer while it arrives\n")
    known = Table.grid(padding=(0, 2, 0, 0))
    known.add_column(style="cyan", no_wrap=True)
    known.add_column(overflow="fold")
    for key, fact in FACTS.items():
        known.add_row(key, fact)
    print_block(console, known)
    print_block(console, f"\n[bold]Question[/]  {QUESTION}\n")


def _report(result: RepairResult, wanted: str, threshold: float, first_clause: float | None) -> Path:
    """Write the report where it is wanted; by default in the working folder, or else in a temporary one."""
    from director_ai.cli.report import write_report  # noqa: PLC0415 - as above

    def write(path: Path | str) -> Path:
        return write_report(
            result,
            path,
            title="An answer with three planted errors",
            threshold=threshold,
            prompt=QUESTION,
            facts=FACTS,
            first_clause=first_clause,
        )

    try:
        return write(wanted)
    except ConfigError:
        if wanted != REPORT:
            raise
        return write(Path(tempfile.mkdtemp(prefix="director-ai-")) / REPORT)


def _sum_up(console: Console, result: RepairResult, first_clause: float | None, path: Path | None) -> None:
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415

    from director_ai.cli.report.figures import Figures, milliseconds  # noqa: PLC0415
    from director_ai.cli.report.live import print_block  # noqa: PLC0415

    told = Figures.of(result)
    lines = {
        "Clauses": f"{told.clauses}: [green]{told.kept} kept[/], [yellow]{told.rewritten} rewritten[/], "
        f"[red]{told.redacted} redacted[/]",
        "First clause": f"{milliseconds(first_clause)} after the first token",
        "Held back": f"median {milliseconds(told.held_median)}, worst {milliseconds(told.held_worst)}",
        "Scoring": f"median {milliseconds(told.scoring_median)}, worst {milliseconds(told.scoring_worst)}",
        "Events": f"{told.events}, with identifiers and figures, and no text",
    }
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines.items():
        table.add_row(name, value)
    console.print()
    print_block(console, table)
    if path is not None:
        link = f"[link={path.as_uri()}]{escape(for_terminal(str(path)))}[/link]"
        console.print(f"  [bold]Report[/]        {link}", soft_wrap=True)
    console.print()
