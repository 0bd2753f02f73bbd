"""`director-ai doctor`: whether what the guard needs is here and whole, and what to do where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import typer

from director_ai.cli.facts_show import console, shown, table, write_json
from director_ai.cli.facts_store import AsJson  # noqa: TC001 - typer reads the annotations
from director_ai.cli.guard_options import Config  # noqa: TC001 - as above

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.cli.examining import Finding

__all__ = ["doctor"]

BROKEN: Final = 1
_LOOKS: Final = {"ok": ("✓", "green"), "note": ("·", "yellow"), "broken": ("✕", "red")}


def doctor(config: Config = "", as_json: AsJson = False) -> None:
    """Examine this installation: Python, packages, the model's files, databases, settings, disk and clock.

    Exit status: 0 all is well or only parts are missing that need not be there, 1 something is broken.

    For example: director-ai doctor --json
    """
    from director_ai.cli.examining import examine  # noqa: PLC0415 - keeps `--help` quick

    findings = list(_watched(examine(config)))
    if as_json:
        write_json(each._asdict() for each in findings)
    else:
        _show(findings)
    if any(each.state == "broken" for each in findings):
        raise typer.Exit(BROKEN)


def _watched(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield findings; while the next one is sought, somebody at a terminal sees that."""
    to = console(error=True)
    if not to.is_terminal:
        yield from findings
        return
    with to.status("examining") as status:
        for each in findings:
            status.update(f"examined {each.what}")
            yield each


def _show(findings: list[Finding]) -> None:
    rows = table("", "what", "found")
    for each in findings:
        sign, style = _LOOKS[each.state]
        mark = shown(sign)
        mark.stylize(style)
        found = shown(each.found)
        if each.advice:
            advice = shown(f"\n{each.advice}")
            advice.stylize(style)
            found.append_text(advice)
        rows.add_row(mark, shown(each.what), found)
    console().print(rows)
