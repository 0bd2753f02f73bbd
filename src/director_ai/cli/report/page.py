"""One page of HTML that tells what a repair did; it needs nothing beside it and asks nobody for anything."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from director_ai.cli.files import written
from director_ai.cli.report.changes import changes_of, passages_of
from director_ai.cli.report.figures import Figures, milliseconds
from director_ai.cli.report.markup import Markup, joined, tag, visible
from director_ai.cli.report.table import draw_table
from director_ai.cli.report.timeline import draw_timeline

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from director_ai.cli.report.changes import Passage
    from director_ai.core.repair.record import ClauseAction, RepairResult
    from director_ai.core.showing.stretches import Stretch

__all__ = ["render_report", "write_report"]


def write_report(
    result: RepairResult,
    path: str | os.PathLike[str],
    *,
    title: str,
    threshold: float,
    prompt: str = "",
    facts: Mapping[str, str] | None = None,
    first_clause: float | None = None,
) -> Path:
    """Write the report of a repair, whole or not at all, and return where it stands."""
    page = render_report(
        result, title=title, threshold=threshold, prompt=prompt, facts=facts, first_clause=first_clause
    )
    with written(str(path)) as stream:
        stream.write(page)
    return Path(path).resolve()


def render_report(
    result: RepairResult,
    *,
    title: str,
    threshold: float,
    prompt: str = "",
    facts: Mapping[str, str] | None = None,
    first_clause: float | None = None,
) -> str:
    """Return the page in ASCII; `first_clause` is how many seconds after the first token it could be read."""
    page = Template(_read("page.html")).substitute(
        style=_read("page.css"),
        title=visible(title),
        prompt=tag("p", tag("span", visible("Asked"), class_="label"), visible(prompt), class_="prompt")
        if prompt
        else "",
        halt=_halt(result),
        tiles=_tiles(Figures.of(result), first_clause),
        answer=joined([_passage(each, result.actions) for each in passages_of(result)]),
        timeline=draw_timeline(result.actions, threshold),
        clauses=draw_table(result.actions),
        facts=_facts(facts or {}),
        events=_events(result),
    )
    return page.encode("ascii", "xmlcharrefreplace").decode("ascii")


@cache
def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _halt(result: RepairResult) -> Markup:
    if not result.halted:
        return Markup("")
    reason = tag("code", visible(result.halt_reason))
    return tag("p", tag("strong", visible("Halted. ")), visible("The rest was withheld: "), reason, class_="halt")


def _tiles(figures: Figures, first_clause: float | None) -> Markup:
    told = [
        ("", str(figures.clauses), "clauses"),
        ("keep", str(figures.kept), "kept"),
        ("rewrite", str(figures.rewritten), "rewritten"),
        ("redact", str(figures.redacted), "redacted"),
        ("time", milliseconds(figures.held_median), f"held back, median; worst {milliseconds(figures.held_worst)}"),
        ("time", milliseconds(figures.scoring_median), f"scoring, median; worst {milliseconds(figures.scoring_worst)}"),
    ]
    if first_clause is not None:
        told.append(("time", milliseconds(first_clause), "until the first clause could be read"))
    return joined(
        [
            tag("div", tag("dd", visible(value)), tag("dt", visible(name)), class_=f"tile {kind}".strip())
            for kind, value, name in told
        ]
    )


def _passage(passage: Passage, actions: tuple[ClauseAction, ...]) -> Markup:
    if passage.clause is None:
        return joined([_change(change) for change in passage.changes])
    number, action = passage.clause + 1, actions[passage.clause]
    content = [_change(change) for change in changes_of(action)]
    if action.changed:
        note = tag("a", visible(str(number)), href=f"#clause-{number}", aria_label=f"why: clause {number}")
        place = len(content) - 1 if len(content) > 1 and not changes_of(action)[-1].text.strip() else len(content)
        content.insert(place, tag("sup", note))
    return tag("span", *content, class_=action.action)


def _change(change: Stretch) -> Markup:
    names = {"same": "", "gone": "del", "new": "ins"}
    text = visible(change.text)
    return tag(names[change.kind], text) if names[change.kind] else text


def _facts(facts: Mapping[str, str]) -> Markup:
    if not facts:
        return Markup("")
    rows = [tag("div", tag("dt", tag("code", visible(key))), tag("dd", visible(text))) for key, text in facts.items()]
    summary = tag("summary", visible(f"Knowledge base ({len(facts)} facts)"))
    return tag("details", summary, tag("dl", *rows, class_="facts"))


def _events(result: RepairResult) -> Markup:
    told = json.dumps([event.to_dict() for event in result.events], indent=2, ensure_ascii=False)
    summary = tag("summary", visible(f"Events ({len(result.events)}) as JSON: identifiers and figures, no text"))
    return tag("details", summary, tag("pre", visible(told), tabindex=0, aria_label="events as JSON", role="region"))
