"""Figures with units: what a value from outside stands for, in the one unit that its kind is compared in."""

from __future__ import annotations

import functools
import math
import re
import threading
from collections.abc import Mapping
from typing import Any, Final

from director_ai.core.ranges import check_number
from director_ai.errors import MissingExtra, PayloadError, UnknownOption

try:
    import pint
except ImportError:
    raise MissingExtra("the cyber-physical hook", extra="hooks") from None

__all__ = ["KINDS", "Figure", "FigureRefused", "Point", "check_kind", "read_figure", "read_point", "read_rate"]

KINDS: Final[Mapping[str, str]] = {
    "angle": "radian",
    "angular_velocity": "radian / second",
    "angular_acceleration": "radian / second ** 2",
    "length": "meter",
    "velocity": "meter / second",
    "acceleration": "meter / second ** 2",
    "force": "newton",
    "torque": "newton * meter",
    "temperature": "kelvin",
    "pressure": "pascal",
    "energy": "joule",
    "power": "watt",
    "voltage": "volt",
    "current": "ampere",
    "frequency": "hertz",
    "mass": "kilogram",
    "volume": "meter ** 3",
    "flow": "meter ** 3 / second",
    "duration": "second",
    "ratio": "dimensionless",
}
"""What can be limited, each with the unit that its figures are compared in; a ratio alone needs no unit."""

Figure = str | float | Mapping[str, Any] | pint.Quantity[Any]
"""`"30 deg"`, `{"value": 30, "unit": "deg"}`, a quantity of pint's, or a number where the unit was declared."""
Point = tuple[float, float, float]
"""In meters."""

_LONGEST_FIGURE: Final = 96
_FIGURE: Final = re.compile(
    r"([+-]?(?:[0-9]{1,32}(?:\.[0-9]{0,32})?|\.[0-9]{1,32})(?:[eE][+-]?[0-9]{1,3})?)(?![0-9.,_])\s{0,4}(.{0,64})"
)
_FACTOR: Final = r"[A-Za-zµμ°ΩΩ][A-Za-z0-9_µμ°ΩΩ]{0,39}(?:[²³]|\s?(?:\^|\*\*)\s?-?[1-4](?:\.0)?)?"
# Units come from outside, and pint's grammar has powers of numbers: only products of named units get that far.
_UNIT: Final = re.compile(rf"%|(?:1\s?/\s?)?{_FACTOR}(?:(?:\s?[*·/]\s?|\s){_FACTOR}){{0,4}}")
# To pint "Nm" is the number of a yarn; to everybody else it is a torque.
_SPELLINGS: Final = {"Nm": "newton*meter", "mNm": "millinewton*meter", "kNm": "kilonewton*meter", "%": "percent"}
_PARSED_AT_MOST: Final = 4096


class FigureRefused(PayloadError):
    """A value that is not a figure of its kind; `code` says why in a word."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_kind(kind: object) -> str:
    """Return the name of a kind of quantity, or refuse it with the nearest one."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise UnknownOption("kind of quantity", kind, KINDS)
    return kind


def read_figure(kind: str, value: object, *, unit: str = "", difference: bool = False) -> float:
    """Return a value in the unit of its kind; `unit` is what a bare number is in, else it is refused.

    A difference has no zero point: 5 °C more are 5 K, and must be said as such.
    """
    return _convert(KINDS[kind], value, "" if kind != "ratio" or unit else "dimensionless", unit, difference)


def read_rate(kind: str, value: object) -> float:
    """Return a change per second in the unit of its kind."""
    return _convert(f"{KINDS[kind]} / second" if kind != "ratio" else "1 / second", value, "", "", True)


def read_point(value: object, *, unit: str = "") -> Point:
    """Return a place in meters from three lengths, as a list or as a mapping of x, y and z."""
    if isinstance(value, Mapping):
        if set(value) != {"x", "y", "z"}:
            raise FigureRefused("figure_malformed", "a place as a mapping has exactly x, y and z")
        value = (value["x"], value["y"], value["z"])
    if not isinstance(value, tuple | list) or len(value) != 3:
        raise FigureRefused("figure_malformed", f"a place has three lengths, got a {type(value).__name__}")
    x, y, z = (read_figure("length", each, unit=unit) for each in value)
    return x, y, z


def _convert(canonical: str, value: object, bare: str, unit: str, difference: bool) -> float:
    number, stated = _split(value)
    found = stated or unit or bare
    if not found:
        raise FigureRefused("unit_missing", f"a figure in {canonical} must state its unit")
    factor, offset = (1.0, 0.0) if found == canonical else _conversion(canonical, found)
    if difference and offset:
        raise FigureRefused("unit_mismatch", "a difference needs a unit without a zero point, such as K or delta_degC")
    converted = number * factor + offset
    if not math.isfinite(converted):
        raise FigureRefused("figure_not_finite", f"a figure in {canonical} must be finite")
    return converted


def _split(value: Any) -> tuple[float, str]:
    """Return the number and the unit that stands with it, if any."""
    if type(value) is float and math.isfinite(value):
        return value, ""
    if isinstance(value, str):
        text = str.__str__(value)  # a plain copy: a subclass may answer differently
        text = text.strip() if len(text) <= _LONGEST_FIGURE else ""
        found = _FIGURE.fullmatch(text)
        if found is None:
            raise FigureRefused("figure_malformed", "a figure as text is a number and a unit, such as '30 deg'")
        return float(found[1]), found[2]
    unit = ""
    if isinstance(value, Mapping):
        if set(value) != {"value", "unit"} or not isinstance(value["unit"], str) or not value["unit"]:
            raise FigureRefused("figure_malformed", "a figure as a mapping has exactly a value and a unit")
        value, unit = value["value"], value["unit"]
    elif isinstance(value, pint.Quantity):
        value, unit = value.magnitude, str(value.units)
    try:
        return check_number("a figure", value, -math.inf, math.inf, PayloadError), unit
    except PayloadError:
        is_number = isinstance(value, float)
        code, wanted = ("figure_not_finite", "finite") if is_number else ("figure_malformed", "a number")
        raise FigureRefused(code, f"a figure must be {wanted}, got a {type(value).__name__}") from None


@functools.lru_cache(maxsize=1024)
def _conversion(canonical: str, unit: str) -> tuple[float, float]:
    """Return factor and offset from a unit to the canonical one."""
    if _UNIT.fullmatch(unit) is None and unit != "dimensionless":
        raise FigureRefused("unit_unknown", "a unit is a product of named units, such as 'deg' or 'mm / s ** 2'")
    try:
        return _registry.conversion(canonical, _SPELLINGS.get(unit, unit))
    except FigureRefused:
        raise
    except Exception as error:  # noqa: BLE001 - whatever pint makes of a text from outside, it is no unit
        raise FigureRefused("unit_unknown", f"not a known unit ({type(error).__name__})") from None


class _Registry:
    """pint's units, shared by threads; made anew where too many were read, as it forgets none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._units: pint.UnitRegistry[Any] | None = None
        self._parsed = 0

    def conversion(self, canonical: str, unit: str) -> tuple[float, float]:
        """Return factor and offset from one unit to another of the same kind."""
        with self._lock:
            self._parsed += 1
            if self._units is None or self._parsed > _PARSED_AT_MOST:
                self._units, self._parsed = pint.UnitRegistry(), 0
            units = self._units
            wanted, given = units.parse_units(canonical), units.parse_units(unit)
            # By root units, not by dimension: an angle has none, and a hertz would pass for a radian per second.
            if units.get_root_units(wanted)[1] != units.get_root_units(given)[1]:
                raise FigureRefused("unit_mismatch", f"the unit is not one of {canonical}")
            if canonical == KINDS["torque"] and not _names_a_force(units, given):
                raise FigureRefused("unit_mismatch", "a torque is a force times a length; a joule is not one")
            zero, one, two = (float(units.Quantity(each, given).to(wanted).magnitude) for each in (0.0, 1.0, 2.0))
            if not math.isclose(two - one, one - zero, rel_tol=1e-9):
                raise FigureRefused("unit_unknown", "a unit on a logarithmic scale is not read")
            return (one, 0.0) if zero == 0.0 else (one - zero, zero)


def _names_a_force(units: pint.UnitRegistry[Any], given: Any) -> bool:
    force = units.parse_units("newton").dimensionality
    names = [name for name in re.split(r"[ */]+", str(given)) if name[:1].isalpha()]
    return any(units.parse_units(name).dimensionality == force for name in names)


_registry: Final = _Registry()
