"""Where personal data stands that has the same shape in every country: addresses, accounts, cards, numbers, dates."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

from director_ai.validators.checksums import base58_holds, bech32_holds, digits_of, luhn_holds, mod97
from director_ai.validators.pii_shapes import DASH, GAP, Shape, Span, words

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ANYWHERE", "NUMBERS", "find_emails", "find_ibans"]

_LOCAL_MOST: Final = 64
_LOCAL: Final = re.compile(r"[\w.+\-'!#$%^*~]*")
_AT: Final = re.compile(r"[@＠]|%40|\s?[\[({]\s?at\s?[\])}]\s?", re.IGNORECASE)
_DOMAIN: Final = re.compile(
    r"(?:[^\W_](?:[^\W_]|-){0,62}(?:\.|\s?[\[({]\s?dot\s?[\])}]\s?)){1,8}(?:xn--[a-z0-9-]{2,59}|[^\W\d_]{2,24})",
    re.IGNORECASE,
)


def find_emails(text: str) -> Iterator[Span]:
    """Yield e-mail addresses: from each sign between name and domain, as far as both go."""
    for at in _AT.finditer(text):
        before = _LOCAL.match(text[max(0, at.start() - _LOCAL_MOST) : at.start()][::-1])
        name = before.group()[::-1].lstrip("'.!#$%^*~-") if before else ""
        domain = _DOMAIN.match(text, at.end()) if name else None
        if domain:
            yield Span(at.start() - len(name), domain.end(), "email")


_COUNTRY_LENGTHS: Final = (
    "NO15 BE16 DK18 FI18 FK18 FO18 GL18 NL18 SD18 MK19 SI19 AT20 BA20 EE20 KZ20 LT20 LU20 MN20 XK20 CH21 HR21 LI21"
    " LV21 BG22 BH22 CR22 DE22 GB22 GE22 IE22 ME22 RS22 VA22 AE23 GI23 IL23 IQ23 OM23 SO23 TL23 AD24 CZ24 ES24 MD24"
    " PK24 RO24 SA24 SE24 SK24 TN24 VG24 LY25 PT25 ST25 IS26 TR26 BI27 DJ27 FR27 GR27 IT27 MC27 MR27 SM27 AL28 AZ28"
    " BY28 CY28 DO28 GT28 HU28 LB28 NI28 PL28 SV28 BR29 EG29 PS29 QA29 UA29 JO30 KW30 MU30 YE30 MT31 SC31 LC32 RU33"
)
_ACCOUNTS: Final = {
    entry[:2]: re.compile(rf"[A-Za-z]{{2}}\d\d(?:{GAP}?[A-Za-z0-9]){{{int(entry[2:]) - 4}}}(?![^\W_])")
    for entry in _COUNTRY_LENGTHS.split()
}
_ACCOUNT_START: Final = re.compile(rf"(?<![^\W_])[A-Za-z]{{2}}(?=\d\d{GAP}?[A-Za-z0-9]{{2}})")


def find_ibans(text: str) -> Iterator[Span]:
    """Yield bank accounts of the length of their country whose check digits are right, in groups or in one piece."""
    for start in _ACCOUNT_START.finditer(text):
        shape = _ACCOUNTS.get(start.group().upper())
        found = shape.match(text, start.start()) if shape else None
        if found and mod97("".join(sign for sign in found.group().upper() if sign.isalnum())) == 1:
            yield Span(*found.span(), "iban")


_ISSUERS: Final = (
    # first and last number of a range of prefixes, and the lengths of its cards
    ("4", "4", (13, 16, 19)),
    ("51", "55", (16,)),
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),
    ("37", "37", (15,)),
    ("300", "305", (14, 16, 17, 18, 19)),
    ("309", "309", (14, 16, 17, 18, 19)),
    ("36", "36", (14, 16, 17, 18, 19)),
    ("38", "39", (14, 16, 17, 18, 19)),
    ("35", "35", (16, 17, 18, 19)),
    ("1800", "1800", (15,)),
    ("2131", "2131", (15,)),
    ("2200", "2205", (16, 17, 18, 19)),
    ("60", "60", (16, 17, 18, 19)),
    ("62", "62", (16, 17, 18, 19)),
    ("63", "65", (16, 17, 18, 19)),
    ("67", "67", (16, 17, 18, 19)),
    ("50", "50", (16, 18, 19)),
    ("56", "58", (16, 18, 19)),
    ("81", "82", (16,)),
    ("9792", "9792", (16,)),
)


def _card(text: str) -> bool:
    digits = digits_of(text)
    if not luhn_holds(digits) or len(set(digits)) == 1:
        return False
    head = "".join(map(str, digits[:4]))
    return any(len(digits) in lengths and low <= head[: len(low)] <= high for low, high, lengths in _ISSUERS)


def _luhn(text: str) -> bool:
    return luhn_holds(digits_of(text))


_SEPARATOR: Final = GAP.replace("[", "[.", 1)
_CARDS: Final = (
    r"\d{13,19}",
    rf"\d{{4}}(?P<gap>{_SEPARATOR})\d{{4}}(?P=gap)\d{{4}}(?P=gap)\d{{4}}(?:(?P=gap)\d{{3}})?",
    rf"\d{{4}}(?P<gap>{_SEPARATOR})\d{{6}}(?P=gap)\d{{4,5}}",
    # Digit by digit, or in groups of any length: only where a run of numbers begins, up to its end.
    rf"(?<!\d{_SEPARATOR})\d(?:{_SEPARATOR}?\d){{12,18}}(?!{_SEPARATOR}\d)",
)


def _ip4(text: str) -> bool:
    parts = [int(part) for part in text.split(".")]
    # Four single digits are the number of a section or a version.
    return 9 < max(parts) < 256 and parts[0] not in (0, 127) and parts != [255] * 4


def _ip6(text: str) -> bool:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return False
    groups = [group for group in text.split(":") if group]
    # a::b is how programs name things, and 3::4 is a slice.
    telling = len(groups) > 3 or (any(map(str.isdigit, text)) and any(len(group) > 2 for group in groups))
    return telling and len(groups) > 1 and not address.is_loopback


_VERSION: Final = r"(?<![vV])(?<!version )(?<!Version )(?<!release )(?<!build )"
_HEX: Final = "[0-9A-Fa-f]"
_OWN_START: Final = r"(?<![^\W_])"


def _born(text: str) -> bool:
    years = [int(run) for run in re.findall(r"\d+", text) if len(run) == 4]
    return not years or 1900 <= years[0] <= 2100


_MONTH_NAMES: Final = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|märz|apr(?:il)?|ma[yi]|june?|juni|july?|juli|aug(?:ust)?"
    r"|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\.?"
)
_DATE: Final = r"\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)(?:\d{4}|\d\d)|\d{4}(?P<sign>[./-])\d{1,2}(?P=sign)\d{1,2}"
_WRITTEN_DATE: Final = (
    rf"(?i:\d{{1,2}}(?:st|nd|rd|th|\.)?(?: of)? {_MONTH_NAMES},? \d{{4}}"
    rf"|{_MONTH_NAMES} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}})"
)
_BIRTH: Final = words("birth birthday birthdate dob geburtsdatum")
# What encyclopedias say of everybody, "born 25 February 1938", is left alone.
_BORN: Final = _BIRTH | words("born geboren né née nacido nacida")
_BANK: Final = words("account acct routing aba checking savings konto")
_LICENSE: Final = words("license licence licenses licences permit DL")

_IP4: Final = rf"{_OWN_START}(?<!\d\.){_VERSION}(?=(?P<it>(?:\d{{1,3}}\.){{3}}\d{{1,3}})(?!\d|\.\d|[^\W\d_]))"
_IP6: Final = (
    rf"(?<![\w:.])(?=(?P<it>(?:{_HEX}{{0,4}}:){{2,7}}(?:(?:\d{{1,3}}\.){{3}}\d{{1,3}}|{_HEX}{{1,4}})?)(?![\w:]))"
)

ANYWHERE: Final = (
    Shape("ip", re.compile(_IP4), _ip4),
    Shape("ip", re.compile(_IP6), _ip6),
    Shape.of("mac", rf"{_HEX}{{2}}(?P<sign>[:-]){_HEX}{{2}}(?:(?P=sign){_HEX}{{2}}){{4}}(?![:-]{_HEX})"),
    Shape.of("crypto", r"[13][1-9A-HJ-NP-Za-km-z]{25,34}", base58_holds),
    Shape.of("crypto", r"bc1[02-9ac-hj-np-z]{11,71}|BC1[02-9AC-HJ-NP-Z]{11,71}", bech32_holds),
    Shape.of("crypto", rf"0x{_HEX}{{40}}"),
    Shape.of("date_of_birth", _DATE, _born, context=_BORN),
    Shape.of("date_of_birth", _WRITTEN_DATE, _born, context=_BIRTH),
)
"""What may hold hardly any digits."""

NUMBERS: Final = (
    *(Shape.of("card", body, _card) for body in _CARDS),
    Shape.of("card", r"(?:5[0678]|6[0-9])\d{10}", _luhn, context=words("card maestro debit")),
    Shape.of("us_passport", r"[A-Z]?\d{8,9}", context=words("passport passports")),
    Shape.of("us_bank", r"\d{8,17}", context=_BANK),
    Shape.of(
        "us_driver_license",
        rf"(?!(?:19|20)\d\d{GAP}[01]\d{GAP})[A-Z]{{0,2}}{DASH}?\d(?:[ -]?\d){{4,14}}",
        context=_LICENSE,
    ),
)
"""What holds at least six digits, close to each other."""
