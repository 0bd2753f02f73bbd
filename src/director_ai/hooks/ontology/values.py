"""Whether something written is a value of a data type of XML Schema."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_value_of"]

_WHOLE: Final = r"[+-]?\d+"
_DECIMAL: Final = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_DAY: Final = r"-?\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_TIME: Final = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?"
_PATTERNS: Final = {
    name: re.compile(pattern, re.ASCII)
    for names, pattern in (
        ("integer int long short byte", _WHOLE),
        ("nonNegativeInteger unsignedLong unsignedInt unsignedShort unsignedByte", r"\+?\d+|-0+"),
        ("positiveInteger", r"\+?0*[1-9]\d*"),
        ("negativeInteger", r"-0*[1-9]\d*"),
        ("nonPositiveInteger", r"-\d+|\+?0+"),
        ("decimal", _DECIMAL),
        ("float double", rf"{_DECIMAL}(?:[eE][+-]?\d+)?"),
        ("boolean", r"true|false|0|1"),
        ("date", _DAY),
        ("dateTime", rf"{_DAY}T{_TIME}"),
        ("time", _TIME),
        ("gYear", r"-?\d{4}"),
    )
    for name in names.split()
}


def is_value_of(name: str, written: str) -> bool:
    """Whether something written is of a data type, by its short name; of others than these everything is."""
    pattern = _PATTERNS.get(name)
    return pattern is None or pattern.fullmatch(written.strip()) is not None
