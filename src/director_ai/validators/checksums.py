"""Check digits of cards, accounts, addresses and national identifiers. All take bare characters, without separators."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "base58_holds",
    "bech32_holds",
    "digits_of",
    "iso7064_holds",
    "luhn_holds",
    "mod97",
    "verhoeff_holds",
    "weighted",
]

_NO_DIGIT: Final = re.compile(r"\D+")
_DOUBLED: Final = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
_BASE58: Final = {sign: at for at, sign in enumerate("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")}
_BECH32: Final = {sign: at for at, sign in enumerate("qpzry9x8gf2tvdw0s3jn54khce6mua7l")}
_BECH32_RESIDUES: Final = (1, 0x2BC830A3)
_BECH32_STEPS: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)


def digits_of(text: str) -> list[int]:
    """Return the value of every decimal digit of any script; whatever else stands there is skipped."""
    return list(map(int, _NO_DIGIT.sub("", text)))


def luhn_holds(digits: Sequence[int]) -> bool:
    """Tell whether the last digit is the check digit of the others by Luhn's rule."""
    return (sum(digits[-1::-2]) + sum(map(_DOUBLED.__getitem__, digits[-2::-2]))) % 10 == 0


def weighted(digits: Iterable[int], weights: Iterable[int]) -> int:
    """Return the sum of digits times their weights, as far as there are both."""
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def mod97(account: str) -> int:
    """Return the ISO 13616 remainder of an IBAN in upper case; 1 is right."""
    return int("".join(str(int(sign, 36)) for sign in account[4:] + account[:4])) % 97


def iso7064_holds(digits: Sequence[int]) -> bool:
    """Tell whether the last digit is the check digit of the others by ISO 7064, MOD 11,10."""
    product = 10
    for digit in digits[:-1]:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == digits[-1]


def _dihedral(left: int, right: int) -> int:
    """Return the product in the group of the turns and flips of a pentagon."""
    if left < 5:
        return (left + right) % 5 + (5 if right >= 5 else 0)
    return (left - right) % 5 + (0 if right >= 5 else 5)


def _powers() -> tuple[tuple[int, ...], ...]:
    first = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
    rows = [tuple(range(10))]
    for _ in range(7):
        rows.append(tuple(first[digit] for digit in rows[-1]))
    return tuple(rows)


_PERMUTED: Final = _powers()
_PRODUCTS: Final = tuple(tuple(_dihedral(left, right) for right in range(10)) for left in range(10))


def verhoeff_holds(digits: Sequence[int]) -> bool:
    """Tell whether the last digit is the check digit of the others by Verhoeff's rule."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total = _PRODUCTS[total][_PERMUTED[place & 7][digit]]
    return total == 0


def base58_holds(address: str) -> bool:
    """Tell whether an address of 25 bytes in base 58 ends with its own checksum."""
    number = 0
    for sign in address:
        if sign not in _BASE58:
            return False
        number = number * 58 + _BASE58[sign]
    if number.bit_length() > 200:
        return False
    raw = number.to_bytes(25, "big")
    return hashlib.sha256(hashlib.sha256(raw[:21]).digest()).digest()[:4] == raw[21:]


def bech32_holds(address: str) -> bool:
    """Tell whether a Bitcoin address in bech32 or bech32m, with its `bc1`, ends with its own checksum."""
    prefix, _, data = address.lower().partition("1")
    values = [*(ord(sign) >> 5 for sign in prefix), 0, *(ord(sign) & 31 for sign in prefix)]
    total = 1
    for value in [*values, *(_BECH32.get(sign, 0) for sign in data)]:
        top, total = total >> 25, (total & 0x1FFFFFF) << 5 ^ value
        for bit, step in enumerate(_BECH32_STEPS):
            total ^= step if top >> bit & 1 else 0
    return total in _BECH32_RESIDUES and all(sign in _BECH32 for sign in data)
