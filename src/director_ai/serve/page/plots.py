"""Plots as shapes with places: a template draws them as SVG, without scripts and without styles."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Bar", "Line", "Plot", "Tick", "draw_bars", "draw_lines", "milliseconds"]

WIDTH: Final = 560
HEIGHT: Final = 180
LEFT: Final = 78
RIGHT: Final = 8
TOP: Final = 10
BOTTOM: Final = 28
SHORTEST_SECONDS: Final = 120.0
"""A plot reaches back at least so far."""


class Bar(NamedTuple):
    """A rectangle of a kind."""

    kind: str
    x: float
    y: float
    width: float
    height: float


class Line(NamedTuple):
    """A line of a kind: the points of a polyline, once for each stretch without a gap."""

    kind: str
    parts: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    """Values without neighbors, and the last one."""


class Tick(NamedTuple):
    """A label at an axis."""

    place: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Shapes in a frame of fixed size, which the page scales."""

    bars: tuple[Bar, ...] = ()
    lines: tuple[Line, ...] = ()
    rows: tuple[Tick, ...] = ()
    """At the left."""
    columns: tuple[Tick, ...] = ()
    """Below."""
    summary: str = ""
    """The same in words."""

    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    floor: int = HEIGHT - BOTTOM


def draw_bars(times: Sequence[float], series: Mapping[str, Sequence[float]], summary: str) -> Plot:
    """Return stacked bars: of each series one value for each stretch between two times."""
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    top = _nice(max(totals, default=0.0))
    xs = _xs(times)
    bars = []
    for place, (begin, end) in enumerate(itertools.pairwise(xs)):
        y = float(HEIGHT - BOTTOM)
        for kind, values in series.items():
            height = values[place] / top * (HEIGHT - TOP - BOTTOM)
            y -= height
            if height > 0:
                bars.append(
                    Bar(kind, round(begin, 2), round(y, 2), round(max(end - begin - 1.2, 1), 2), round(height, 2))
                )
    return Plot(bars=tuple(bars), rows=_rows(top, _count), columns=_columns(times), summary=summary)


def draw_lines(
    times: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    summary: str,
    *,
    is_time: bool = False,
) -> Plot:
    """Return lines over time; where a value is missing, the line has a gap."""
    top = _nice(max((value for values in series.values() for value in values if value is not None), default=0.0))
    xs = _xs(times)
    lines = []
    for kind, values in series.items():
        points = [
            None if value is None else (x, HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM))
            for x, value in zip(xs, values, strict=True)
        ]
        lines.append(Line(kind, _parts(points), _dots(points)))
    label = milliseconds if is_time else _count
    return Plot(lines=tuple(lines), rows=_rows(top, label), columns=_columns(times), summary=summary)


def milliseconds(seconds: float | None) -> str:
    """Return a time as people read it."""
    if seconds is None:
        return "–"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms"


def _window(times: Sequence[float]) -> tuple[float, float]:
    """Return from when to when a plot reaches."""
    end = times[-1] if times else 0.0
    return min([*times[:1], end - SHORTEST_SECONDS]), end


def _xs(times: Sequence[float]) -> list[float]:
    begin, end = _window(times)
    return [LEFT + (time - begin) / (end - begin) * (WIDTH - LEFT - RIGHT) for time in times]


def _parts(points: Sequence[tuple[float, float] | None]) -> tuple[str, ...]:
    parts: list[list[str]] = [[]]
    for point in points:
        if point is None:
            parts.append([])
        else:
            parts[-1].append(f"{point[0]:.1f},{point[1]:.1f}")
    return tuple(" ".join(part) for part in parts if len(part) > 1)


def _dots(points: Sequence[tuple[float, float] | None]) -> tuple[tuple[float, float], ...]:
    padded = [None, *points, None]
    alone = [point for before, point, after in zip(padded, points, padded[2:], strict=False) if not (before or after)]
    last = [point for point in points if point is not None][-1:]
    return tuple((round(x, 1), round(y, 1)) for x, y in filter(None, dict.fromkeys([*alone, *last])))


def _nice(value: float) -> float:
    """Return a round number at or above a value, for the top of an axis."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * step for step in (1, 2, 2.5, 5, 10) if size * step >= value * 0.999)


def _rows(top: float, label: object) -> tuple[Tick, ...]:
    name = label if callable(label) else str
    shares = (0.0, 0.5, 1.0) if label is milliseconds or (top / 2).is_integer() else (0.0, 1.0)  # no half clauses
    return tuple(
        Tick(round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1), name(top * share)) for share in shares
    )


def _columns(times: Sequence[float]) -> tuple[Tick, ...]:
    if not times:
        return ()
    begin, end = _window(times)
    return tuple(
        Tick(round(x, 1), f"{datetime.fromtimestamp(time, UTC):%H:%M:%S}")
        for x, time in ((LEFT, begin), ((LEFT + WIDTH - RIGHT) / 2, (begin + end) / 2), (WIDTH - RIGHT, end))
    )


def _count(value: float) -> str:
    return f"{value:.3g}"
