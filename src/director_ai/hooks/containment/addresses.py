"""Finding the hosts that a text names: in links of any spelling, as numbers, and as bare words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.hooks.containment.numerals import addresses_of
from director_ai.hooks.containment.spelling import decodings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.hooks.containment.networks import HostRules

__all__ = ["Mention", "find_hosts", "hosts_of_number", "hosts_of_remote", "hosts_of_value"]

LONGEST_AUTHORITY: Final = 320
LEAST_NUMBER: Final = 2**24
"""Below it a number is rather a port, a size or a count than an address."""
_LENIENT: Final = frozenset({"http", "https", "ws", "wss", "ftp", "ftps"})
"""Where browsers take any number of slashes, or none."""
_STARTS: Final[tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]] = (
    ((":/", ":\\"), re.compile(r":[/\\]{1,8}")),
    (("//", "\\"), re.compile(r"(?<![^\s\"'(<=\[,`{|])[/\\]{2}(?=[\w\[@])")),
    (("http", "ws", "ftp"), re.compile(r"(?<![a-z0-9])(?:https?|wss?|ftps?):(?=[^\s/\\])")),
)
"""How links begin; a plain text out of the first of each pair must be there."""
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{0,30}\Z")
_AUTHORITY: Final = re.compile(r"[^\s/?#\"<>`\\]*")
_AUTHORITY_WITH_BACKSLASH: Final = re.compile(r"[^\s/?#\"<>`]*")
_HOST: Final = re.compile(r"\[[^\[\]\s]{0,80}\]|[^\s:'(){}|\[\],;!$&*+=^~、「」『』【】《》〈〉“”‘’«»]+")
_INNER_DOT: Final = re.compile(r"\.(?<=\w\.)\w")
DOTTED: Final = re.compile(r"(?<![\w-])[\w-]+(?:\.[\w-]+)+")
_FOUR: Final = re.compile(r"(?:0x[0-9a-f]{1,8}|[0-9]{1,10})(?:\.(?:0x[0-9a-f]{1,8}|[0-9]{1,10})){3}")
_SIX: Final = re.compile(
    r"(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}(?:(?<=:)[0-9]{1,3}(?:\.[0-9]{1,3}){3})?(?![\w:])"
)
_PORT: Final = re.compile(r":\d{0,5}\Z")
_NUMBER: Final = re.compile(r"(?<!\S)[\"']?(?:[^\s/@]{1,64}@)?(0x[0-9a-f]{1,8}|[0-9]{8,11})(?![\w.-])")
_REMOTE: Final = re.compile(r"[\w.+-]{1,64}@(\[[0-9a-f:.]{2,45}\]|[\w.-]{1,253}):[^\s:]\S{0,2000}")
_SEPARATED: Final = re.compile(r"[,;]")
_PATH: Final = re.compile(r"[/\\?#]")


class Mention(NamedTuple):
    """A host that a text names."""

    host: str
    is_sure: bool
    """False: a word that has the shape of a host, and may be none."""


def find_hosts(text: str, rules: HostRules) -> Iterator[Mention]:
    """Yield the hosts of a text, also those behind escapes; one may come several times."""
    for spelled in decodings(text):
        for hints, start in _STARTS:
            if any(hint in spelled for hint in hints):
                for found in start.finditer(spelled):
                    yield from _of_link(spelled, found)
        if "." in spelled and _INNER_DOT.search(spelled):
            for word in DOTTED.findall(spelled):
                yield Mention(word, _FOUR.fullmatch(word) is not None)
        if "::" in spelled or spelled.count(":") > 6:
            for found in _SIX.finditer(spelled):
                yield Mention(f"[{found[0]}]", is_sure=False)
        words = rules.denied.words
        if words is not None and any(hint in spelled for hint in rules.denied.word_hints):
            for found in words.finditer(spelled):
                yield Mention(found[0], is_sure=False)


def hosts_of_value(value: str, *, is_strict: bool) -> Iterator[Mention]:
    """Yield the hosts of a value that is to be one by its name; strictly, a word without a dot is one as well."""
    for spelled in decodings(value):
        for part in _SEPARATED.split(spelled):
            words = part.split()
            for word in words:
                before = _PATH.split(word, maxsplit=1)[0]
                host = _without_port(before.rpartition("@")[2])
                is_dotted = "." in host.strip(".") or host.startswith("[")
                needs_dot = not is_strict or len(words) > 1  # a word of a sentence
                if not host or "://" in word or (needs_dot and not is_dotted) or (not is_strict and "@" in before):
                    continue
                yield Mention(host, is_sure=True)


def hosts_of_number(text: str) -> Iterator[Mention]:
    """Yield the addresses that are written as one number, where a host is to be expected."""
    for found in _NUMBER.finditer(text):
        if any(int(address) >= LEAST_NUMBER for address in addresses_of(found[1])[0]):
            yield Mention(found[1], is_sure=True)


def hosts_of_remote(value: str) -> Iterator[Mention]:
    """Yield the host of a value that is an address of ssh as a whole, such as `git@example.org:x.git`."""
    if "@" in value and ":" in value and len(value) < 2_500:
        for spelled in decodings(value.strip()):
            found = _REMOTE.fullmatch(spelled)
            if found:
                yield Mention(found[1], is_sure=True)


def _of_link(text: str, found: re.Match[str]) -> Iterator[Mention]:
    """Yield the hosts that a link may lead to, by each way of reading it."""
    sign = found[0]
    needs_dot = sign[0] != ":"  # `//` opens comments as well, and `http:` may end a clause
    if sign[0] == ":":
        scheme = _SCHEME.search(text, max(0, found.start() - 32), found.start())
        if len(sign) != 3 and (scheme is None or scheme[0] not in _LENIENT):
            return
        needs_dot = scheme is None or len(scheme[0]) == 1  # a drive, not a scheme
    rest = text[found.end() : found.end() + LONGEST_AUTHORITY + 1]
    for authority in _authorities(rest):
        if len(authority) > LONGEST_AUTHORITY:
            yield Mention("", is_sure=not needs_dot)
            continue
        first, *others = authority.split("@")
        for part in others or [first]:
            host = _HOST.match(part)
            name = host[0].rstrip(".-_") if host else ""
            if name:
                yield Mention(name, not needs_dot or "." in name or name.isdigit() or name[0] == "[")


def _authorities(rest: str) -> set[str]:
    """Return what stands up to the path; whether a backslash begins one depends on who reads it."""
    browsers, others = _AUTHORITY.match(rest), _AUTHORITY_WITH_BACKSLASH.match(rest)
    assert browsers is not None  # noqa: S101 - both match the empty text
    assert others is not None  # noqa: S101
    return {browsers[0], others[0]} if "@" in others[0] else {browsers[0]}


def _without_port(authority: str) -> str:
    return authority if authority.count(":") > 1 and "]" not in authority else _PORT.sub("", authority)
