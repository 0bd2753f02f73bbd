"""A straight line enters a keep-out volume exactly where a walk along it would."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.errors import ConfigError, PayloadError
from director_ai.hooks.cyber_physical.volumes import Box, HalfSpace, KeepOut, Sphere, Workspace

BOX = Box(name="press", low=(0, 0, 0), high=(1, 1, 1), unit="m")
BALL = Sphere(name="head", center=("0 m", "0 m", "0 m"), radius="1 m")
FLOOR = HalfSpace(name="floor", normal=(0, 0, -2), through=(0, 0, 0), unit="m")


@pytest.mark.parametrize(
    ("volume", "start", "end", "entry"),
    [
        (BOX, (-1, 0.5, 0.5), (2, 0.5, 0.5), 1 / 3),
        (BOX, (2, 0.5, 0.5), (-1, 0.5, 0.5), 1 / 3),
        (BOX, (-1, 0.5, 0.5), (-0.1, 0.5, 0.5), None),
        (BOX, (-1, 2, 0.5), (2, 2, 0.5), None),
        (BOX, (-1, 1, 1), (2, 1, 1), 1 / 3),
        (BOX, (-0.5, 0.6, 0.5), (0.6, -0.5, 0.5), 5 / 11),
        (BOX, (-0.5, 0.4, 0.5), (0.4, -0.5, 0.5), None),
        (BOX, (0.5, 0.5, 0.5), (5, 5, 5), 0.0),
        (BOX, (1, 1, 1), (1, 1, 1), 0.0),
        (BOX, (1.1, 1, 1), (1.1, 1, 1), None),
        (BALL, (-2, 0, 0), (2, 0, 0), 0.25),
        (BALL, (-2, 1, 0), (2, 1, 0), 0.5),
        (BALL, (-2, 1.001, 0), (2, 1.001, 0), None),
        (BALL, (-2, 0, 0), (-1.5, 0, 0), None),
        (BALL, (2, 0, 0), (5, 0, 0), None),
        (BALL, (0.5, 0, 0), (3, 0, 0), 0.0),
        (BALL, (2, 0, 0), (2, 0, 0), None),
        (FLOOR, (0, 0, 1), (0, 0, -1), 0.5),
        (FLOOR, (0, 0, 1), (5, 5, 0.1), None),
        (FLOOR, (0, 0, 1), (5, 5, 0), 1.0),
        (FLOOR, (0, 0, -1), (0, 0, 1), 0.0),
    ],
)
def test_where_a_line_enters(volume: KeepOut, start: Any, end: Any, entry: float | None) -> None:
    found = volume.entry(start, end, 0.0)
    assert found == (None if entry is None else pytest.approx(entry))


def test_a_clearance_makes_every_volume_larger() -> None:
    assert BOX.entry((1.05, 0.5, 0.5), (1.05, 0.5, 0.5), 0.1) == 0.0
    assert BALL.entry((1.05, 0, 0), (1.05, 0, 0), 0.1) == 0.0
    assert FLOOR.entry((0, 0, 0.05), (0, 0, 0.05), 0.1) == 0.0


PLACE = st.tuples(*[st.floats(-3, 3)] * 3)


def inside(volume: KeepOut, point: Any, by: float) -> bool:
    """Whether a point is inside by more than a little."""
    if isinstance(volume, Box):
        low, high = volume.corners
        return all(a + by < p < b - by for a, p, b in zip(low, point, high, strict=True))
    if isinstance(volume, Sphere):
        return math.dist(point, volume.ball[0]) < volume.ball[1] - by
    return point[2] < -by


@settings(max_examples=300, derandomize=True)
@given(st.sampled_from([BOX, BALL, FLOOR]), PLACE, PLACE)
def test_a_walk_along_the_line_agrees(volume: KeepOut, start: Any, end: Any) -> None:
    walk = [tuple(a + (b - a) * i / 200 for a, b in zip(start, end, strict=True)) for i in range(201)]
    within = [i / 200 for i, point in enumerate(walk) if inside(volume, point, 1e-6)]
    entry = volume.entry(start, end, 0.0)
    if within:
        assert entry is not None
        assert entry <= within[0] + 1e-9
    if entry is not None:
        point = tuple(a + (b - a) * entry for a, b in zip(start, end, strict=True))
        assert inside(volume, point, -1e-6)


@settings(max_examples=200, derandomize=True)
@given(PLACE, PLACE.filter(lambda place: math.hypot(*place) > 0.01))
def test_whatever_ends_on_the_surface_of_a_sphere_enters_it(start: Any, toward: Any) -> None:
    end = tuple(each / math.hypot(*toward) for each in toward)
    if math.dist(end, (0.0, 0.0, 0.0)) <= 1.0:
        assert BALL.entry(start, end, 0.0) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box(name="b", low=(0, 0, 0), high=(1, 1, 1)),
        lambda: Box(name="b", low=(1, 0, 0), high=(0, 1, 1), unit="m"),
        lambda: Box(name="b", low=(0, 0), high=(1, 1, 1), unit="m"),
        lambda: Box(name="b", low=(0, 0, math.nan), high=(1, 1, 1), unit="m"),
        lambda: Box(name="the box", low=(0, 0, 0), high=(1, 1, 1), unit="m"),
        lambda: Box(name="", low=(0, 0, 0), high=(1, 1, 1), unit="m"),
        lambda: Box(name="b", low=(0, 0, 0), high=(1, 1, 1), unit="s"),
        lambda: Box(name="b", low=(0, 0, 0), high=(1, 1, 1), unit="m", on_violation="allow"),  # type: ignore[arg-type]
        lambda: Sphere(name="s", center=(0, 0, 0), radius="0 m", unit="m"),
        lambda: Sphere(name="s", center=(0, 0, 0), radius="-1 m", unit="m"),
        lambda: Sphere(name="s", center=(0, 0, 0), radius=1.0),
        lambda: HalfSpace(name="h", normal=(0, 0, 0), through=(0, 0, 0), unit="m"),
        lambda: HalfSpace(name="h", normal=(0, 0, math.inf), through=(0, 0, 0), unit="m"),
        lambda: Workspace(outer="1 m", inner="2 m"),
        lambda: Workspace(outer="0 m"),
        lambda: Workspace(outer="1 m", speed="1 m"),
        lambda: Workspace(outer="1 m", speed="-1 m/s"),
        lambda: Workspace(outer="1 m", clearance="-1 m"),
        lambda: Workspace(target="the tool"),
    ],
)
def test_what_is_no_volume_is_refused(make: Any) -> None:
    with pytest.raises((ConfigError, PayloadError)):
        make()
