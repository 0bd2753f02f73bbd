"""Figures state their units, and a unit of another kind is never taken for the right one."""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.errors import PayloadError
from director_ai.hooks.cyber_physical.quantities import KINDS, FigureRefused, read_figure, read_point, read_rate

THEIRS = pint.UnitRegistry()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("angle", "180 deg", math.pi),
        ("angle", "180°", math.pi),
        ("angle", "0.5 turn", math.pi),
        ("angle", {"value": 180, "unit": "deg"}, math.pi),
        ("angle", THEIRS.Quantity(180, "deg"), math.pi),
        ("angular_velocity", "60 rpm", 2 * math.pi),
        ("length", " 25.4mm ", 0.0254),
        ("length", "1e3 µm", 0.001),
        ("length", ".5 m", 0.5),
        ("length", {"value": np.float64(2), "unit": "m"}, 2.0),
        ("length", {"value": Fraction(1, 2), "unit": "m"}, 0.5),
        ("acceleration", "9.81 m/s²", 9.81),
        ("acceleration", "9810 mm s^-2", 9.81),
        ("torque", "5 Nm", 5.0),
        ("torque", "5 N m", 5.0),
        ("torque", "500 N*cm", 5.0),
        ("torque", THEIRS.Quantity(5, "newton*meter"), 5.0),
        ("temperature", "25 degC", 298.15),
        ("temperature", "-40 degF", 233.15),
        ("temperature", THEIRS.Quantity(25, "degC"), 298.15),
        ("pressure", "2 bar", 2e5),
        ("flow", "60 L/min", 1e-3),
        ("frequency", "50 Hz", 50.0),
        ("ratio", 0.25, 0.25),
        ("ratio", "25 %", 0.25),
        ("ratio", "0.25", 0.25),
    ],
    ids=str,
)
def test_a_figure_is_read_in_the_unit_of_its_kind(kind: str, value: Any, expected: float) -> None:
    assert read_figure(kind, value) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        ("angle", 90, "unit_missing"),
        ("angle", 90.0, "unit_missing"),
        ("angle", "90", "unit_missing"),
        ("angle", "50 %", "unit_mismatch"),
        ("angle", "1 m", "unit_mismatch"),
        ("angular_velocity", "1 Hz", "unit_mismatch"),
        ("frequency", "60 rpm", "unit_mismatch"),
        ("torque", "5 J", "unit_mismatch"),
        ("torque", "5 W*s", "unit_mismatch"),
        ("temperature", "25 C", "unit_mismatch"),
        ("temperature", "25 K/s", "unit_mismatch"),
        ("power", "3 dBm", "unit_unknown"),
        ("length", "3 furlings", "unit_unknown"),
        ("length", "3 m**99999999", "unit_unknown"),
        ("length", "3 9**9**9**9", "unit_unknown"),
        ("length", "3 m; import os", "unit_unknown"),
        ("length", "3 (m)", "unit_unknown"),
        ("length", "3 __class__", "unit_unknown"),
        ("length", "1 0 m", "unit_unknown"),
        ("length", "1,5 m", "figure_malformed"),
        ("length", "1_000 m", "figure_malformed"),
        ("length", "٣ m", "figure_malformed"),
        ("length", "３ m", "figure_malformed"),
        ("length", "−3 m", "figure_malformed"),
        ("length", "0x10 m", "unit_unknown"),
        ("length", "nan m", "figure_malformed"),
        ("length", "inf m", "figure_malformed"),
        ("length", "", "figure_malformed"),
        ("length", "m", "figure_malformed"),
        ("length", "1" * 200 + " m", "figure_malformed"),
        ("length", "1 " + "m*" * 60 + "m", "figure_malformed"),
        ("length", "1 m\x00", "unit_unknown"),
        ("length", "1e999 m", "figure_not_finite"),
        ("length", math.nan, "figure_not_finite"),
        ("length", math.inf, "figure_not_finite"),
        ("length", {"value": -math.inf, "unit": "m"}, "figure_not_finite"),
        ("length", True, "figure_malformed"),
        ("length", None, "figure_malformed"),
        ("length", b"1 m", "figure_malformed"),
        ("length", [1, "m"], "figure_malformed"),
        ("length", 1j, "figure_malformed"),
        ("length", 10**400, "figure_malformed"),
        ("length", Decimal(1), "figure_malformed"),
        ("length", {"value": "1", "unit": "m"}, "figure_malformed"),
        ("length", {"value": 1, "unit": ""}, "figure_malformed"),
        ("length", {"value": 1}, "figure_malformed"),
        ("length", {"value": 1, "unit": "m", "more": 1}, "figure_malformed"),
        ("length", THEIRS.Quantity(np.array([1.0, 2.0]), "m"), "figure_malformed"),
        ("length", THEIRS.Quantity(1, "s"), "unit_mismatch"),
        ("ratio", "3 m", "unit_mismatch"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_figure_of_its_kind_is_refused_with_the_reason(kind: str, value: Any, code: str) -> None:
    with pytest.raises(FigureRefused) as refused:
        read_figure(kind, value)
    assert refused.value.code == code
    assert isinstance(refused.value, PayloadError)


def test_a_declared_unit_is_for_bare_numbers_alone() -> None:
    assert read_figure("length", 30, unit="mm") == pytest.approx(0.03)
    assert read_figure("length", "30", unit="mm") == pytest.approx(0.03)
    assert read_figure("length", "30 cm", unit="mm") == pytest.approx(0.3)


def test_a_difference_of_temperatures_has_no_zero_point() -> None:
    assert read_figure("temperature", "5 delta_degC", difference=True) == pytest.approx(5.0)
    assert read_figure("temperature", "5 K", difference=True) == 5.0
    with pytest.raises(FigureRefused) as refused:
        read_figure("temperature", "5 degC", difference=True)
    assert refused.value.code == "unit_mismatch"


def test_rates_are_per_second() -> None:
    assert read_rate("temperature", "60 K/min") == pytest.approx(1.0)
    assert read_rate("angle", "180 deg/s") == pytest.approx(math.pi)
    assert read_rate("velocity", "2 m/s^2") == pytest.approx(2.0)
    with pytest.raises(FigureRefused):
        read_rate("angle", "180 deg")


def test_a_place_has_three_lengths() -> None:
    assert read_point(["1 m", "20 cm", "3 mm"]) == pytest.approx((1.0, 0.2, 0.003))
    assert read_point({"x": 1, "y": 2, "z": 3}, unit="m") == (1.0, 2.0, 3.0)
    for wrong in ([1, 2], [1, 2, 3, 4], "123", {"x": 1, "y": 2}, None, {1, 2, 3}):
        with pytest.raises(FigureRefused):
            read_point(wrong, unit="m")


def test_a_string_that_changes_its_mind_is_read_once() -> None:
    class Shifty(str):
        def strip(self, *_: Any) -> str:  # type: ignore[override]
            return "1 mm"

    assert read_figure("length", Shifty("3 m")) == 3.0


@settings(max_examples=200, derandomize=True)
@given(st.sampled_from(sorted(KINDS)), st.text(max_size=40) | st.from_regex(r"[0-9]{1,3} ?[a-zA-Z°µ/*^0-9. -]{0,20}"))
def test_any_text_is_a_finite_figure_or_refused(kind: str, text: str) -> None:
    try:
        figure = read_figure(kind, text)
    except FigureRefused:
        figure = 0.0
    assert math.isfinite(figure)


def test_threads_read_the_same() -> None:
    found: list[float] = []
    threads = [
        threading.Thread(target=lambda i=i: found.append(read_figure("length", f"{i} yard") / max(i, 1)))
        for i in range(1, 17)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == pytest.approx([0.9144] * 16)
