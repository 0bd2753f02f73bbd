"""National identifiers: those with a check digit or an unmistakable shape as they stand, others beside a word for them.

Each was written from the published rule of its office: how it is composed, which numbers are never issued, and how its
check digit is computed.
"""

from __future__ import annotations

from typing import Final

from director_ai.validators.checksums import digits_of, iso7064_holds, luhn_holds, verhoeff_holds, weighted
from director_ai.validators.pii_shapes import DASH, GAP, SPACE, Shape, words

__all__ = ["NATIONAL_IDS"]

_DNI_LETTERS: Final = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_SIGNS: Final = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_FISCAL_ODD: Final = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_DAY_OF_MONTH: Final = r"(?:0[1-9]|[12]\d|3[01])"
_MONTH: Final = r"(?:0[1-9]|1[0-2])"


def _ssn(text: str) -> bool:
    digits = "".join(map(str, digits_of(text)))
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    # Two numbers were printed on sample cards and withdrawn.
    return (
        area not in ("000", "666")
        and area < "900"
        and group != "00"
        and serial != "0000"
        and digits not in ("078051120", "219099999")
    )


def _itin(text: str) -> bool:
    group = digits_of(text)[3] * 10 + digits_of(text)[4]
    return 50 <= group <= 65 or 70 <= group <= 88 or 90 <= group <= 92 or 94 <= group <= 99


def _nhs(text: str) -> bool:
    digits = digits_of(text)
    return len(set(digits)) > 1 and (11 - weighted(digits, range(10, 1, -1)) % 11) % 11 == digits[9]


def _de_tax_id(text: str) -> bool:
    digits = digits_of(text)
    body = digits[:10]
    most = max(body.count(digit) for digit in set(body))
    # One digit comes twice or three times, and all others once: of ten digits, one or two do not occur.
    return len(set(body)) == 11 - most and most in (2, 3) and iso7064_holds(digits)


def _nir(text: str) -> bool:
    bare = "".join(sign for sign in text.upper() if sign.isalnum())
    number = bare[:13].replace("2A", "19").replace("2B", "18") if bare[6] in "AB" else bare[:13]
    return 97 - int(number) % 97 == int(bare[13:])


def _dni(text: str) -> bool:
    bare = "".join(sign for sign in text.upper() if sign.isalnum())
    number = str("XYZ".index(bare[0])) + bare[1:8] if bare[0] in "XYZ" else bare[:8]
    return _DNI_LETTERS[int(number) % 23] == bare[8]


def _fiscal_code(text: str) -> bool:
    values = [int(sign, 36) if sign.isdigit() else ord(sign) - 65 for sign in text.upper()]
    total = sum(_FISCAL_ODD[value] for value in values[0:15:2]) + sum(values[1:15:2])
    return total % 26 == values[15]


def _bsn(text: str) -> bool:
    digits = digits_of(text)
    digits = [0] * (9 - len(digits)) + digits
    return any(digits) and weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _tfn(text: str) -> bool:
    digits = digits_of(text)
    weights = (1, 4, 3, 7, 5, 8, 6, 9, 10) if len(digits) == 9 else (10, 7, 8, 4, 6, 3, 5, 1)
    return weighted(digits, weights) % 11 == 0


def _luhn(text: str) -> bool:
    return luhn_holds(digits_of(text))


def _personnummer(text: str) -> bool:
    return luhn_holds(digits_of(text)[-10:])


def _verhoeff(text: str) -> bool:
    return verhoeff_holds(digits_of(text))


def _pesel(text: str) -> bool:
    return weighted(digits_of(text), (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _hetu(text: str) -> bool:
    return _HETU_SIGNS[int(text[:6] + text[7:10]) % 31] == text[10]


def _be_number(text: str) -> bool:
    digits = "".join(map(str, digits_of(text)))
    return int(digits[9:]) in (97 - int(digits[:9]) % 97, 97 - int("2" + digits[:9]) % 97)


def _ean13(text: str) -> bool:
    return weighted(digits_of(text), (1, 3) * 6 + (1,)) % 10 == 0


def _cpf(text: str) -> bool:
    digits = digits_of(text)
    first = weighted(digits[:9], range(10, 1, -1)) * 10 % 11 % 10
    second = weighted(digits[:10], range(11, 1, -1)) * 10 % 11 % 10
    return len(set(digits)) > 1 and digits[9:] == [first, second]


def _nric(text: str) -> bool:
    rest = (weighted(digits_of(text), (2, 7, 6, 5, 4, 3, 2)) + (4 if text[0] in "TG" else 0)) % 11
    return ("JZIHGFEDCBA" if text[0] in "ST" else "XWUTRQPNMLK")[rest] == text[8]


def _cn_id(text: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return "10X98765432"[weighted(digits_of(text[:17]), weights) % 11] == text[17].upper()


def _rrn(text: str) -> bool:
    digits = digits_of(text)
    return (11 - weighted(digits[:12], (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10 == digits[12]


def _pps(text: str) -> bool:
    second = ord(text[8]) - 64 if len(text) > 8 and text[8] != "W" else 0
    return "WABCDEFGHIJKLMNOPQRSTUV"[(weighted(digits_of(text), range(8, 1, -1)) + second * 9) % 23] == text[7]


def _nif(text: str) -> bool:
    digits = digits_of(text)
    rest = weighted(digits[:8], range(9, 1, -1)) % 11
    return digits[8] == (0 if rest < 2 else 11 - rest)


_FISCAL_DIGIT: Final = "[0-9LMNPQRSTUVlmnpqrstuv]"
_NINO: Final = r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]"
_SSN_WORDS: Final = words("ssn ssns social")
_TAX_WORDS: Final = words("itin taxpayer tax")
_NINE: Final = rf"\d{{3}}{GAP}?\d{{3}}{GAP}?\d{{3}}"

NATIONAL_IDS: Final = (
    Shape.of("us_ssn", rf"[0-8]\d\d{DASH}\d\d{DASH}\d{{4}}", _ssn),
    Shape.of("us_ssn", r"[0-8]\d\d[ .]?\d\d[ .]?\d{4}", _ssn, context=_SSN_WORDS),
    Shape.of("us_itin", rf"9\d\d{DASH}\d\d{DASH}\d{{4}}", _itin),
    Shape.of("us_itin", r"9\d\d ?\d\d ?\d{4}", _itin, context=_TAX_WORDS),
    Shape.of("uk_nhs", rf"\d{{3}}{GAP}?\d{{3}}{GAP}?\d{{4}}", _nhs, context=words("nhs")),
    Shape.of("uk_nino", rf"{_NINO}{SPACE}?\d\d{SPACE}?\d\d{SPACE}?\d\d{SPACE}?[A-D]"),
    Shape.of("de_tax_id", rf"[1-9]\d{SPACE}?\d{{3}}{SPACE}?\d{{3}}{SPACE}?\d{{3}}", _de_tax_id),
    Shape.of(
        "fr_nir",
        rf"[1-478]{SPACE}?\d\d{SPACE}?(?:0[1-9]|1[0-2]|[2-9]\d){SPACE}?(?:\d\d|2[ABab]){SPACE}?\d{{3}}{SPACE}?\d{{3}}"
        rf"{GAP}?(?:0[1-9]|[1-8]\d|9[0-7])",
        _nir,
    ),
    Shape.of("es_dni", rf"\d{{8}}{DASH}?[A-HJ-NP-TV-Za-hj-np-tv-z]", _dni),
    Shape.of("es_nie", rf"[XYZxyz]{DASH}?\d{{7}}{DASH}?[A-HJ-NP-TV-Za-hj-np-tv-z]", _dni),
    Shape.of(
        "it_fiscal_code",
        rf"[A-Za-z]{{6}}{_FISCAL_DIGIT}{{2}}[A-EHLMPR-Ta-ehlmpr-t]{_FISCAL_DIGIT}{{2}}[A-Za-z]{_FISCAL_DIGIT}{{3}}[A-Za-z]",
        _fiscal_code,
    ),
    Shape.of("nl_bsn", r"\d{8,9}|\d{4}[. ]\d\d[. ]\d{3}", _bsn, context=words("bsn burgerservicenummer sofinummer")),
    Shape.of("in_aadhaar", rf"[2-9]\d{{3}}{GAP}\d{{4}}{GAP}\d{{4}}", _verhoeff),
    Shape.of("in_aadhaar", r"[2-9]\d{11}", _verhoeff, context=words("aadhaar aadhar uidai uid")),
    Shape.of("in_pan", r"[A-Z]{3}[ABCFGHJLPT][A-Z]\d{4}[A-Z]"),
    Shape.of("au_tfn", rf"{_NINE}|\d{{8}}", _tfn, context=words("tfn tax")),
    Shape.of(
        "ca_sin",
        rf"[1-79]\d\d{GAP}?\d{{3}}{GAP}?\d{{3}}",
        _luhn,
        context=words("SIN insurance"),
    ),
    Shape.of("pl_pesel", r"\d{11}", _pesel, context=words("pesel")),
    Shape.of("se_personnummer", rf"(?:19|20)?\d\d{_MONTH}{_DAY_OF_MONTH}[-+]\d{{4}}", _personnummer),
    Shape.of("fi_hetu", rf"{_DAY_OF_MONTH}{_MONTH}\d\d[-+A-FU-Y]\d{{3}}[0-9A-FHJ-NPR-Y]", _hetu),
    Shape.of("be_national_number", rf"\d\d\.\d\d\.\d\d{DASH}\d{{3}}\.\d\d", _be_number),
    Shape.of("ch_ahv", r"756\.?\d{4}\.?\d{4}\.?\d\d", _ean13),
    Shape.of("br_cpf", rf"\d{{3}}\.\d{{3}}\.\d{{3}}{DASH}\d\d", _cpf),
    Shape.of("br_cpf", r"\d{11}", _cpf, context=words("cpf")),
    Shape.of("sg_nric", r"[STFG]\d{7}[A-Z]", _nric),
    Shape.of("cn_id", rf"[1-8]\d{{5}}(?:19|20)\d\d{_MONTH}{_DAY_OF_MONTH}\d{{3}}[\dXx]", _cn_id),
    Shape.of("kr_rrn", rf"\d\d{_MONTH}{_DAY_OF_MONTH}-[1-8]\d{{6}}", _rrn),
    Shape.of("ie_pps", r"\d{7}[A-W][A-IW]?", _pps, context=words("pps ppsn")),
    Shape.of("pt_nif", _NINE, _nif, context=words("nif contribuinte")),
)
