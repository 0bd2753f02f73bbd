"""A repair in a terminal: each clause as it is released, why it was changed, and how much is held back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from rich.box import ROUNDED
from rich.console import Group
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from director_ai.cli.report.changes import changes_of
from director_ai.cli.report.figures import milliseconds, why_of
from director_ai.cli.terminal import for_terminal
from director_ai.core.identifiers import ref_of
from director_ai.core.showing.words import figure, outcome_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console, RenderableType

    from director_ai.core.repair.record import ClauseAction, RepairResult
    from director_ai.core.repair.streams import RepairPiece

__all__ = ["LiveReport", "print_block"]

_WIDEST: Final = 100
_FOR_SCORES: Final = 60
_BOXED: Final = 40


class _Look(NamedTuple):
    sign: str
    plain: str
    """Where the terminal has no other letters than ASCII."""
    style: str


_LOOKS: Final = {
    "kept": _Look("✓", "+", "green"),
    "no claim": _Look("·", ".", "dim"),
    "rewritten": _Look("✎", "~", "yellow"),
    "redacted": _Look("✕", "x", "red"),
}


class LiveReport:
    """Shows one stream; as a context manager it keeps a line below that says what is held back."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = min(console.width, _WIDEST)
        self._scores = self._width >= _FOR_SCORES
        self._marks = not console.is_terminal or console.no_color
        self._read = self._released = 0
        self._since: float | None = None
        self.first_clause: float | None = None
        """Seconds from the first token to the first clause that could be read."""
        self._spinner = Spinner("line" if console.options.ascii_only else "dots", style="cyan")
        moves = console.is_terminal and not console.is_dumb_terminal
        self._live = (
            Live(console=console, transient=True, refresh_per_second=12, get_renderable=self._status) if moves else None
        )

    def __enter__(self) -> Self:
        if self._scores:
            self._print(_row("", Text("Answer", style="bold"), Text("support", "dim"), Text("held", "dim")))
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._live is not None:
            self._live.stop()

    def reading(self, tokens: Iterable[str]) -> Iterator[str]:
        """Yield tokens, counting what is held back."""
        for token in tokens:
            if self._since is None:
                self._since = time.perf_counter()
            self._read += len(token)
            yield token

    def show(self, piece: RepairPiece) -> None:
        """Show the clauses that a piece completes."""
        for action in piece.actions:
            if self.first_clause is None and self._since is not None:
                self.first_clause = time.perf_counter() - self._since
            self._released += len(action.clause)
            self._show_clause(action)
        if self._live is not None:
            self._live.refresh()

    def show_halt(self, result: RepairResult) -> None:
        """Say that a stream was halted, where it was."""
        if result.halted:
            reason = Text(for_terminal(f" {result.halt_reason}"))
            self._print(Text.assemble(("HALTED", "bold white on red"), reason))

    def _status(self) -> RenderableType:
        held = max(0, self._read - self._released)
        self._spinner.update(text=Text(f"held back: {held} characters", style="dim"))
        return Padding(self._spinner, (0, 0, 0, 2))

    def _print(self, shown: RenderableType) -> None:
        print_block(self._console, shown, self._width)

    def _show_clause(self, action: ClauseAction) -> None:
        look = _LOOKS[outcome_of(action)]
        sign = Text(look.plain if self._console.options.ascii_only else look.sign, style=look.style)
        body: RenderableType = self._redaction(action) if action.action == "redact" else self._words(action)
        columns: list[RenderableType] = [self._support(action), Text(milliseconds(action.held_seconds), style="dim")]
        self._print(_row(sign, body, *(columns if self._scores else ())))
        if action.changed:
            self._print(_row(" ", Group(*self._grounds(action))))

    def _words(self, action: ClauseAction) -> Text:
        shown = Text(style="" if action.changed or action.support is not None else "dim")
        for kind, text in changes_of(action):
            words = for_terminal(text.strip("\r\n"))
            if kind == "same":
                shown.append(words)
            elif self._marks:
                shown.append(f"[-{words}-]" if kind == "gone" else f"{{+{words}+}}")
            else:
                shown.append(words, style="strike red" if kind == "gone" else "bold green")
                shown.append(" " if kind == "gone" else "")
        shown.rstrip()
        return shown

    def _redaction(self, action: ClauseAction) -> RenderableType:
        parts = changes_of(action)
        gone = " ".join(for_terminal("".join(text for kind, text in parts if kind == "gone")).split())
        if self._marks or self._width < _BOXED:
            put = for_terminal("".join(text for kind, text in parts if kind != "gone").strip())
            return Text.assemble((put, "bold"), " ", (f"[-{gone}-]" if self._marks else gone, "dim strike"))
        label = Text("redacted", style="not dim bold red")
        return Panel(
            Text.assemble((gone, "dim strike")),
            box=ROUNDED,
            title=label,
            title_align="left",
            border_style="dim",
            expand=False,
        )

    def _support(self, action: ClauseAction) -> Text:
        if action.support is None:
            return Text("no claim" if action.verdict == "not_a_claim" else "none", style="dim")
        style = "green" if not action.changed else _LOOKS[outcome_of(action)].style
        said = Text(figure(action.support), style=style)
        if action.rewritten_support is not None:
            arrow = "->" if self._console.options.ascii_only else "→"
            said.append(f" {arrow} ", "dim").append(figure(action.rewritten_support), "green")
        return said

    def _grounds(self, action: ClauseAction) -> Iterator[RenderableType]:
        """Yield why a clause was changed, and the evidence that comes nearest to it."""
        why = self._plain(why_of(action))
        score = "" if self._scores else f" (support {'none' if action.support is None else figure(action.support)})"
        yield Text(f"{outcome_of(action)}: {for_terminal(why)}{score}", style=_LOOKS[outcome_of(action)].style)
        for chunk in action.evidence[:1]:
            text = Text(for_terminal(chunk.text), style="dim")
            for each in action.differences:
                if each.evidence is not None and each.evidence.text:
                    text.highlight_words([for_terminal(each.evidence.text)], "not dim bold green")
            found = Table.grid(padding=(0, 2, 0, 0))
            source = Text(for_terminal(ref_of(chunk.source, chunk.text)), style="cyan", overflow="fold")
            found.add_row(*([] if action.differences else [Text("nearest", style="dim")]), source, text)
            yield found

    def _plain(self, text: str) -> str:
        return text.replace("“", '"').replace("”", '"') if self._console.options.ascii_only else text


def print_block(console: Console, shown: RenderableType, width: int | None = None) -> None:
    """Print something a little indented; in a file no line ends in the blanks that it was aligned with."""
    block = Padding(shown, (0, 1, 0, 2))
    if console.is_terminal:
        console.print(block, width=width)
        return
    with console.capture() as captured:
        console.print(block, width=width)
    lines = "\n".join(line.rstrip() for line in captured.get().splitlines())
    console.print(lines, markup=False, emoji=False, soft_wrap=True)


def _row(sign: RenderableType, body: RenderableType, *scores: RenderableType) -> Table:
    """Return a line with a sign before it and figures behind it."""
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(width=1, no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    options: dict[str, Any] = {"justify": "right", "no_wrap": True}
    for width in (13, 8)[: len(scores)]:
        grid.add_column(width=width, **options)
    grid.add_row(sign, body, *scores)
    return grid
