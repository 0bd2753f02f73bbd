"""IP addresses in every notation that some resolver accepts."""

from __future__ import annotations

import ipaddress
import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final

__all__ = ["IpAddress", "addresses_of"]

IpAddress = IPv4Address | IPv6Address

_PARTS: Final = re.compile(
    r"(?:0[xX][0-9a-fA-F]{0,16}|[0-9]{1,20})(?:\.(?:0[xX][0-9a-fA-F]{0,16}|[0-9]{1,20})){0,3}\.?"
)
_LAST_NUMBER: Final = re.compile(r"(?:.*\.)?(?:0[xX][0-9a-fA-F]*|[0-9]+)\.?", re.DOTALL)
"""A name whose last label is a number is no name: browsers take it for an address, or refuse it."""
_NAT64: Final = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_LOW_32: Final = 0xFFFF_FFFF


def addresses_of(host: str) -> tuple[tuple[IpAddress, ...], bool]:
    """Return every address that a host may be read as, and whether it can only be an address."""
    plain = host.strip("[]")
    if ":" in plain:
        return _of_six(plain), True
    if not plain or not (plain[-1].isdigit() or plain[-1] in ".xXabcdefABCDEF") or not _LAST_NUMBER.fullmatch(plain):
        return (), False
    if not _PARTS.fullmatch(plain):
        return (), True
    parts = plain.removesuffix(".").split(".")
    readings = {_of_four(parts, octal=True), _of_four(parts, octal=False)} - {None}
    return tuple(sorted(reading for reading in readings if reading is not None)), True


def _of_four(parts: list[str], *, octal: bool) -> IPv4Address | None:
    """Return the address of one to four numbers, of which the last fills what is left."""
    numbers = []
    for part in parts:
        try:
            if part[:2] in ("0x", "0X"):
                numbers.append(int(part[2:] or "0", 16))
            else:
                numbers.append(int(part, 8 if octal and len(part) > 1 and part.startswith("0") else 10))
        except ValueError:  # 8 and 9 are no octal digits
            return None
    *head, last = numbers
    if any(number > 255 for number in head) or last >= 256 ** (4 - len(head)):
        return None
    return IPv4Address(sum(number << (24 - 8 * at) for at, number in enumerate(head)) + last)


def _of_six(text: str) -> tuple[IpAddress, ...]:
    """Return the address and those of the older protocol that are wrapped in it."""
    try:
        address = IPv6Address(text.partition("%")[0])
    except ValueError:
        return ()
    number = int(address)
    wrapped = {address.ipv4_mapped, address.sixtofour, *(address.teredo or ())}
    if any(address in network for network in _NAT64) or 1 < number <= _LOW_32 or (number >> 32) & 0xFDFF_FFFF == 0x5EFE:
        wrapped.add(IPv4Address(number & _LOW_32))
    return (address, *sorted(found for found in wrapped if found is not None))
