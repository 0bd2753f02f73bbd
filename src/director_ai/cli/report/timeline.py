"""The timeline of a report: for each clause how well it is supported, and how long it was held back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from director_ai.cli.report.figures import milliseconds
from director_ai.cli.report.markup import Markup, tag, visible
from director_ai.core.showing.words import figure, outcome_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.repair.record import ClauseAction

__all__ = ["draw_timeline"]

_EXCERPT: Final = 90


def draw_timeline(actions: Sequence[ClauseAction], threshold: float) -> Markup:
    """Return a row for each clause, on one scale of support and one of time."""
    longest = max((max(action.held_seconds or 0.0, action.scoring_seconds) for action in actions), default=0.0)
    rows = [_row(number, action, threshold, longest) for number, action in enumerate(actions, 1)]
    return tag("div", _axis(threshold, longest), tag("ol", *rows), class_="timeline")


def _axis(threshold: float, longest: float) -> Markup:
    marks = [
        tag("span", visible("0"), class_="tick", style="left:0%"),
        tag("span", visible(f"kept from {threshold:g}"), class_="tick limit-name", style=f"left:{threshold:.2%}"),
    ]
    return tag(
        "div",
        tag("span", class_="n"),
        tag("span", visible("clause"), class_="excerpt"),
        tag("span", *marks, class_="scale"),
        tag("span", visible(f"0 to {milliseconds(longest)}"), class_="spent"),
        class_="axis",
        aria_hidden="true",
    )


def _row(number: int, action: ClauseAction, threshold: float, longest: float) -> Markup:
    return tag(
        "li",
        tag("a", visible(str(number)), href=f"#clause-{number}", class_="n", aria_label=f"clause {number}"),
        tag("span", visible(_shortened(action.clause)), class_="excerpt"),
        _support(action, threshold),
        _time(action, longest),
        class_=action.action if action.support is not None or action.changed else "nothing",
    )


def _shortened(clause: str) -> str:
    words = " ".join(clause.split())
    return words if len(words) <= _EXCERPT else words[: _EXCERPT - 1] + "…"


def _support(action: ClauseAction, threshold: float) -> Markup:
    limit = tag("i", class_="limit", style=f"left:{threshold:.2%}")
    if action.support is None:
        return tag("span", limit, tag("span", visible(outcome_of(action)), class_="said"), class_="track none")
    said = f"support {figure(action.support)}"
    dots = [limit]
    if action.rewritten_support is not None:
        said += f", rewritten {figure(action.rewritten_support)}"
        low, high = sorted((action.support, action.rewritten_support))
        dots.append(tag("i", class_="way", style=f"left:{low:.2%};width:{high - low:.2%}"))
        dots.append(tag("i", class_="dot after", style=f"left:{action.rewritten_support:.2%}"))
    dots.append(tag("i", class_="dot before", style=f"left:{action.support:.2%}"))
    return tag("span", *dots, class_="track", role="img", aria_label=said, title=said)


def _time(action: ClauseAction, longest: float) -> Markup:
    held = action.held_seconds or 0.0
    said = f"held back {milliseconds(action.held_seconds)}, scored in {milliseconds(action.scoring_seconds)}"
    bars = [
        tag("i", class_=name, style=f"width:{seconds / longest if longest else 0.0:.2%}")
        for name, seconds in (("held", held), ("scoring", action.scoring_seconds))
    ]
    return tag(
        "span",
        tag("span", *bars, class_="bars", role="img", aria_label=said, title=said),
        tag("span", visible(milliseconds(action.held_seconds)), class_="figure"),
        class_="spent",
    )
