"""Where an address leads: read as the most lenient browser does, so that no way of writing it hides the host."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["checked_hosts", "leads_inside"]

_LONGEST_AUTHORITY: Final = 320
_IGNORED = re.compile("[\x00-\x20\x7f-\xa0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\\s]+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_RISKY = re.compile(r"[:&\\%]|//|[^\x00-\x7f]|/\s+/")
"""Without any of these, an address is a relative one."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.\-]*:")
_HOST = re.compile(r"(?:[\w\-]{1,63}\.){0,30}[\w\-]{1,63}|\[[0-9a-f:.]{2,45}\]")
_WEB: Final = frozenset({"http:", "https:"})
_WITHOUT_HOST: Final = frozenset({"mailto:", "tel:"})


def checked_hosts(hosts: Iterable[str]) -> frozenset[str]:
    """Return hosts in the form in which they are compared, or refuse what is none; "*.host" means all below it."""
    if isinstance(hosts, str | bytes) or not hasattr(hosts, "__iter__"):
        raise ConfigError(f"allowed_hosts must be several names of hosts, got a {type(hosts).__name__}")
    found = set()
    for host in hosts:
        below = isinstance(host, str) and host.startswith("*.")
        name = _ascii_host(host[2:] if below else host) if isinstance(host, str) else ""
        if not name:
            raise ConfigError("an allowed host is a name without scheme, port or path, such as example.org")
        found.add(f"*.{name}" if below else name)
    return frozenset(found)


def leads_inside(address: str, hosts: frozenset[str]) -> bool:
    """Tell whether an address stays on the page or its own host, is mail or telephone, or leads to one of the hosts."""
    if not _RISKY.search(address):
        return True
    if not _inside(_cleaned(address), hosts):
        return False
    return "\\" not in address or _inside(_cleaned(_ESCAPED.sub(r"\1", address)), hosts)


def _cleaned(address: str) -> str:
    """Return an address without what browsers skip; entities are resolved twice, for text inside of an attribute."""
    plain = address[: 8 * _LONGEST_AUTHORITY]
    if "&" in plain:
        plain = html.unescape(html.unescape(plain))
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", _IGNORED.sub("", plain))
    return _IGNORED.sub("", plain).lower().replace("\\", "/")


def _inside(address: str, hosts: frozenset[str]) -> bool:
    scheme = _SCHEME.match(address)
    if scheme is None:
        if not address.startswith("//"):
            # A relative address; one whose first part holds a colon or an escape might be read as something else.
            return not re.match(r"[^/?#]*(?:[:&]|%3a)", address)
    elif scheme[0] in _WITHOUT_HOST:
        return True
    elif scheme[0] not in _WEB:
        return False
    rest = address[scheme.end() if scheme else 0 :].lstrip("/")[: _LONGEST_AUTHORITY + 1]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if len(authority) > _LONGEST_AUTHORITY or "%" in authority or authority.count("@") > 1:
        return False
    host = re.sub(r":\d{0,5}$", "", authority.rpartition("@")[2])
    name = _ascii_host(host)
    if not name:
        return False
    below = name.split(".")
    return name in hosts or any(f"*.{'.'.join(below[at:])}" in hosts for at in range(1, len(below)))


def _ascii_host(host: str) -> str:
    """Return a host in lower case and in the letters of the domain system; nothing if it is none."""
    plain = unicodedata.normalize("NFKC", host).lower().replace("\u3002", ".").removesuffix(".")
    if not _HOST.fullmatch(plain):
        return ""
    if plain.isascii():
        return plain
    try:
        return plain.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
