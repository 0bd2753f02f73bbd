"""Personal data in what a model says: e-mail, telephone, cards, accounts, national identifiers, addresses of machines.

Names of people are found by whatever recogniser is given; everything else by shapes and check digits, offline.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from director_ai.core.checks.rules import check_name
from director_ai.core.merge import Edit
from director_ai.errors import ConfigError, UnknownOption
from director_ai.validators.national_ids import NATIONAL_IDS
from director_ai.validators.phones import PHONE_WORDS, library_finder, own_finder
from director_ai.validators.pii_patterns import ANYWHERE, NUMBERS, find_emails, find_ibans
from director_ai.validators.pii_shapes import Nearby, Shape, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from director_ai.validators.phones import PhoneFinder

    NameFinder = Callable[[str], Iterable[tuple[int, int]]]

__all__ = ["DEFAULT_KINDS", "KINDS", "PII"]

_SHAPES: Final = (*ANYWHERE, *NUMBERS, *NATIONAL_IDS)
_LAST: Final = ("phone", "us_bank", "us_driver_license", "us_passport", "url")
"""Of two kinds at one place, these yield to the others: their shapes say the least."""
KINDS: Final = tuple(
    dict.fromkeys(
        ("email", "iban", "card", *(shape.kind for shape in _SHAPES if shape.kind not in _LAST), "name", *_LAST)
    )
)
"""All that can be looked for; the order decides which one stands where two are found at one place."""
DEFAULT_KINDS: Final = tuple(kind for kind in KINDS if kind != "url")
_ANYWHERE: Final = frozenset(shape.kind for shape in ANYWHERE) | {"in_pan", "it_fiscal_code"}
_ORDER: Final = {kind: place for place, kind in enumerate(KINDS)}
_URL: Final = re.compile(r"(?<![^\W_])(?:(?:https?|ftp)://|www\.)[^\s<>\"'`]+(?<![.,;:!?)\]}])", re.IGNORECASE)
_SIGNS: Final = re.compile(r"[@＠\d]|[\[({]\s?at\s?[\])}]|::|www\.|://", re.IGNORECASE)
_MANY_DIGITS: Final = re.compile(r"\d(?:\D{0,4}\d){5,}")
_MARGIN: Final = 24
"""So far around its digits a number may reach: letters, an extension."""
_VOCABULARY: Final = frozenset(PHONE_WORDS.union(*(shape.context for shape in _SHAPES if shape.context)))
_FRONTIER: Final = 64
"""A name of 64 characters, the sign, and 63 of a domain up to its first dot; context words reach less far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PII:
    """Removes personal data and leaves a typed placeholder, such as `[EMAIL]` or `[US_SSN]`."""

    kinds: tuple[str, ...] = DEFAULT_KINDS
    """What is looked for, out of `KINDS`. National identifiers with a check digit or an unmistakable shape are found
    as they stand; passports, bank accounts, licenses, dates of birth and bare numbers only behind a word for them."""
    names: NameFinder | None = None
    """Returns where names of people stand in a text, as starts and ends; without it none are found."""
    regions: tuple[str, ...] = ("US", "GB", "DE")
    """Where telephone numbers without a country code come from."""
    phonenumbers: bool = False
    """Ask the package `phonenumbers` (extra `pii`) for telephone numbers, in place of the shapes known here."""
    name: str = "pii"
    _anywhere: tuple[Shape, ...] = field(init=False, repr=False, compare=False)
    _numbers: tuple[Shape, ...] = field(init=False, repr=False, compare=False)
    _phones: PhoneFinder | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for option in ("kinds", "regions"):
            values = getattr(self, option)
            if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
                raise ConfigError(f"{option} must be a list of words, got {values!r:.60}")
            object.__setattr__(self, option, tuple(values))
        for kind in self.kinds:
            if kind not in _ORDER:
                raise UnknownOption("kind of personal data", kind, KINDS)
        if not self.kinds:
            raise ConfigError("kinds must name at least one kind of personal data")
        if self.names is not None and not callable(self.names):
            raise ConfigError(f"names must be a callable, got a {type(self.names).__name__}")
        if not isinstance(self.phonenumbers, bool):
            raise ConfigError(f"phonenumbers must be True or False, got a {type(self.phonenumbers).__name__}")
        check_name(self.name)
        finder = (library_finder if self.phonenumbers else own_finder)(self.regions)
        object.__setattr__(self, "_phones", finder if "phone" in self.kinds else None)
        shapes = [shape for shape in _SHAPES if shape.kind in self.kinds]
        object.__setattr__(self, "_anywhere", tuple(shape for shape in shapes if shape.kind in _ANYWHERE))
        object.__setattr__(self, "_numbers", tuple(shape for shape in shapes if shape.kind not in _ANYWHERE))

    @property
    def frontier(self) -> int:
        """How many characters it needs around a place."""
        return _FRONTIER

    def find(self, text: str) -> tuple[Edit, ...]:
        """Return a removal for each piece of personal data, in the order of the text."""
        spans = set(self._named(text))
        if _SIGNS.search(text):
            spans.update(self._written(text))
        return tuple(
            Edit(span.start, span.end, f"[{span.kind.upper()}]", "remove", self.name, span.kind)
            for span in _settled(spans)
        )

    def _named(self, text: str) -> Iterator[Span]:
        if self.names is None or "name" not in self.kinds:
            return
        for start, end in self.names(text):
            if not 0 <= start < end <= len(text):
                raise ConfigError("names must return starts and ends within the text it was given")
            yield Span(start, end, "name")

    def _written(self, text: str) -> Iterator[Span]:
        if "email" in self.kinds:
            yield from find_emails(text)
        if "url" in self.kinds:
            yield from (Span(*found.span(), "url") for found in _URL.finditer(text))
        if "iban" in self.kinds:
            yield from find_ibans(text)
        nearby = Nearby(text, _VOCABULARY)
        zones = _zones(text)
        for shape in self._anywhere:
            yield from shape.spans(text, [(0, len(text))], nearby)
        for shape in self._numbers if zones else ():
            yield from shape.spans(text, zones, nearby)
        if self._phones:
            yield from self._phones(text, zones, nearby)


def _zones(text: str) -> list[tuple[int, int]]:
    """Return the stretches with enough digits for a number, with what may belong to it; apart from each other."""
    zones: list[tuple[int, int]] = []
    for found in _MANY_DIGITS.finditer(text):
        start, end = max(0, found.start() - _MARGIN), found.end() + _MARGIN
        if zones and start <= zones[-1][1]:
            start = zones.pop()[0]
        zones.append((start, end))
    return zones


def _settled(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, each place once: those of one kind that overlap as one, and of two kinds at one place the
    one that comes first.
    """
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end, _ORDER[span.kind])):
        last = kept[-1] if kept else None
        if last is None or span.start >= last.end or (span.end > last.end and span.kind != last.kind):
            kept.append(span)
        elif span.kind == last.kind:
            kept[-1] = Span(last.start, max(last.end, span.end), last.kind)
        elif last.kind in _LAST and _ORDER[span.kind] < _ORDER[last.kind]:
            kept[-1] = Span(last.start, last.end, span.kind)
    return kept
