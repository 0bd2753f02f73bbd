"""Telephone numbers: international ones, those as given regions write them, any other beside a word for it."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import MissingExtra, UnknownOption
from director_ai.validators.pii_shapes import DASH, SPACE, Nearby, Span, united, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    PhoneFinder = Callable[[str, Sequence[tuple[int, int]], Nearby], Iterator[Span]]

__all__ = ["PHONE_WORDS", "REGIONS", "library_finder", "own_finder"]

_SIGN: Final = rf"(?:{SPACE}|{DASH}|[./])"
_START: Final = r"(?<![^\W_])(?<![\d)][.,/+])(?<!\d[-:])"
_EXTENSION: Final = r"(?: ?(?:x|ext\.?|extension|#) ?\d{1,6})?"
_END: Final = r"(?![^\W_])(?![.,:/]\d)"
_NO_DATE: Final = (
    rf"(?!\d{{1,2}}{_SIGN}\d{{1,2}}{_SIGN}(?:19|20)\d\d(?!\d))(?!(?:19|20)\d\d{_SIGN}[01]?\d{_SIGN}[0-3]?\d(?!\d))"
)
_INTERNATIONAL: Final = (
    rf"(?:\+{SPACE}?|00{_SIGN}?)[1-9]\d{{0,2}}(?:{_SIGN}?\(0\))?(?:{_SIGN}?(?:\(\d{{1,5}}\)|\d)){{4,13}}"
)
_AMERICAN: Final = rf"(?:1{_SIGN})?(?:\([2-9]\d\d\){_SIGN}?|[2-9]\d\d{_SIGN})\d{{3}}{_SIGN}\d{{4}}"
# Behind five digits that may be a postal code, four more are a house.
_TRUNK: Final = (
    rf"\(?0[1-9](?:\d{{0,2}}|\d{{3,4}}(?=\D{{1,3}}(?:\d\D?){{5}}))\)?{_SIGN}{{1,2}}\d{{2,8}}(?:{_SIGN}\d{{2,4}}){{0,4}}"
)
_BRITISH: Final = r"0[1237]\d{9}"
_PAIRS: Final = rf"0[1-9](?:{_SIGN}?\d\d){{4}}"
_NINE: Final = rf"[5-9]\d\d{_SIGN}(?:\d{{3}}{_SIGN}\d{{3}}|\d\d{_SIGN}\d\d{_SIGN}\d\d)"
_EIGHT: Final = rf"[2-9]\d(?:{_SIGN}\d\d){{3}}"
_TEN: Final = rf"[6-9]\d{{4}}{_SIGN}\d{{5}}"
_WRITTEN: Final = {
    **dict.fromkeys(("US", "CA"), (_AMERICAN,)),
    **dict.fromkeys(("DE", "AT", "CH", "NL", "BE", "SE", "FI", "IE", "AU", "NZ", "ZA", "JP", "IL"), (_TRUNK,)),
    "GB": (_TRUNK, _BRITISH),
    "IT": (_TRUNK, _NINE),
    "FR": (_TRUNK, _PAIRS),
    **dict.fromkeys(("ES", "PT", "PL", "CZ"), (_NINE,)),
    **dict.fromkeys(("DK", "NO"), (_EIGHT,)),
    "IN": (_TRUNK, _TEN),
}
REGIONS: Final = tuple(sorted(_WRITTEN))
_ANY: Final = rf"\(?\d(?:(?:{_SIGN}|[()]){{0,2}}\d){{6,14}}"
_LED: Final = words(
    "phone phones telephone mobile cell cellular cellphone tel fax call called calling sms whatsapp desk dial reach"
    " handy telefon telefone telefono teléfono téléphone tél mobil rufnummer"
)
_FOLLOWED: Final = words("office fax mobile cell desk phone home work direct")
PHONE_WORDS: Final = _LED | _FOLLOWED
_DIGIT: Final = re.compile(r"\d")


def own_finder(regions: tuple[str, ...]) -> PhoneFinder:
    """Return what finds numbers without any library; refuses a region whose way of writing is not known here."""
    bodies: dict[str, None] = {}
    for region in regions:
        if region not in _WRITTEN:
            raise UnknownOption("region", region, _WRITTEN)
        bodies.update(dict.fromkeys(_WRITTEN[region]))
    firm = re.compile(rf"{_START}{_NO_DATE}(?=(?P<it>(?:{'|'.join([_INTERNATIONAL, *bodies])}){_EXTENSION}){_END})")
    loose = re.compile(rf"{_START}(?<!\d{_SIGN}){_NO_DATE}(?=(?P<it>{_ANY}{_EXTENSION}){_END})")

    def certain(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        for found in firm.finditer(text, start, end):
            it = found["it"]
            if len(it) > 15 or len(_DIGIT.findall(it)) >= (9 if it.startswith(("0", "(0")) else 8):
                yield found.span("it")

    def beside_words(text: str, start: int, end: int, nearby: Nearby) -> Iterator[tuple[int, int]]:
        for found in loose.finditer(text, start, end):
            if nearby.leads(_LED, found.start()) or nearby.follows(_FOLLOWED, found.end("it")):
                yield found.span("it")

    def find(text: str, zones: Sequence[tuple[int, int]], nearby: Nearby) -> Iterator[Span]:
        for start, end in zones:
            yield from united(certain(text, start, end), "phone")
            if nearby.knows(PHONE_WORDS):
                yield from united(beside_words(text, start, end, nearby), "phone")

    return find


def library_finder(regions: tuple[str, ...]) -> PhoneFinder:
    """Return what asks the package `phonenumbers`, which knows the numbers of every region."""
    try:
        library: Any = importlib.import_module("phonenumbers")
    except ImportError as missing:
        raise MissingExtra("phonenumbers=True", extra="pii") from missing
    for region in regions:
        if region not in library.SUPPORTED_REGIONS:
            raise UnknownOption("region", region, library.SUPPORTED_REGIONS)

    def find(text: str, zones: Sequence[tuple[int, int]], _: Nearby) -> Iterator[Span]:
        for start, end in zones:
            for region in regions or (None,):
                for found in library.PhoneNumberMatcher(text[start:end], region, leniency=library.Leniency.VALID):
                    yield Span(start + found.start, start + found.end, "phone")

    return find
