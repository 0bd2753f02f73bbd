"""The links check: nothing that a reader's screen would fetch or run from a host that is not allowed."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args

from director_ai.core.checks.rules import check_name
from director_ai.errors import ConfigError, UnknownOption
from director_ai.validators.hosts import checked_hosts, leads_inside
from director_ai.validators.html_tags import HtmlMode, open_tag, tag_changes
from director_ai.validators.markdown_links import link_changes, open_link
from director_ai.validators.stages import Change, apply_changes, as_edits, chain_changes, run_stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from director_ai.core.checks.rules import Frontier
    from director_ai.core.merge import Edit

__all__ = ["ImageMode", "Links"]

ImageMode = Literal["remove", "alt"]
_FRONTIER: Final = 64
_ROUNDS: Final = 4
_LONGEST_ADDRESS: Final = 4_000
_CARRIER = re.compile(r"[<\[\]&：]|:(?!\s)|(?i:www\.)")
_COLON: Final = r"(?:[:：]|&colon;?|&#x0*3a;?|&#0*58;?)"
_SLASH: Final = r"(?:[/\\／＼]|&sol;?|&bsol;?|&#x0*(?:2f|5c);?|&#0*(?:47|92);?)"
_UNTIL_SPACE: Final = rf"[^\s<>]{{0,{_LONGEST_ADDRESS}}}"
_HINT = re.compile(r"[:：]|&(?:colon|#)|www\.", re.IGNORECASE)
_SCHEME_BEFORE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*\Z")
_ADDRESS = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.\-]{{1,40}}{_COLON}{_SLASH}{{2}}{_UNTIL_SPACE}"
    rf"|://(?=[^\s<>/]){_UNTIL_SPACE}"
    rf"|https?{_COLON}{_SLASH}*[^\s<>]{_UNTIL_SPACE}"
    rf"|(?:javascript|vbscript|livescript){_COLON}{_UNTIL_SPACE}"
    rf"|data{_COLON}(?:[a-z]+/|[;,]){_UNTIL_SPACE}"
    rf"|www\.(?=[^\s<>.]){_UNTIL_SPACE}",
    re.IGNORECASE,
)
_TRAILING: Final = ".,;:!?)]}'\"*_~|`"
_FUSES = re.compile(r"<(?=[A-Za-z/!?])|\](?=[(:\[])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Takes the address from links, and images, active HTML and foreign addresses from text.

    A link keeps its visible text. Addresses on the page's own host, of mail and of telephones stay, and those of
    allowed hosts. What is still open at the end of a text is held back by an edit up to there that changes nothing.
    """

    allowed_hosts: tuple[str, ...] = ()
    """Names of hosts; "*.example.org" allows all below example.org."""
    images: ImageMode = "remove"
    """What becomes of an image: nothing, or its description."""
    html: HtmlMode = "remove"
    """What becomes of a tag that loads or runs something: nothing, or text that can be read."""
    replacement: str = "[LINK]"
    """Stands for an address in the open."""
    name: str = "links"
    _hosts: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hosts", checked_hosts(self.allowed_hosts))
        object.__setattr__(self, "allowed_hosts", tuple(self.allowed_hosts))
        if self.images not in get_args(ImageMode):
            raise UnknownOption("treatment of images", self.images, get_args(ImageMode))
        if self.html not in get_args(HtmlMode):
            raise UnknownOption("treatment of html", self.html, get_args(HtmlMode))
        if not isinstance(self.replacement, str) or _CARRIER.search(
            self.replacement.removeprefix("[").removesuffix("]")
        ):
            raise ConfigError("the replacement of an address must be a text without one")
        check_name(self.name)

    @property
    def frontier(self) -> Frontier:
        """Enough to see that something begins; what is open is held back however long it is."""
        return _FRONTIER

    def find(self, text: str) -> Iterable[Edit]:
        """Return the edits after which no carrier is left in this text."""
        if not _CARRIER.search(text):
            return ()
        left, changes = text, list[Change]()
        for _ in range(_ROUNDS):
            left, fresh = run_stages(middle := left, self._stages())
            if not fresh:
                break
            changes = chain_changes(middle, changes, fresh)
        else:
            changes = chain_changes(left, changes, _defused(left))
        return as_edits(_held_back(text, changes, self._open_from(text)), self.name)

    def _stages(self) -> list[Callable[[str], Sequence[Change]]]:
        return [
            functools.partial(tag_changes, hosts=self._hosts, mode=self.html),
            functools.partial(link_changes, hosts=self._hosts, keep_alt=self.images == "alt"),
            self._addresses,
        ]

    def _addresses(self, text: str) -> list[Change]:
        """Replace addresses in the open, without the punctuation behind them."""
        changes = []
        for found in _addresses_of(text):
            address = found[0] if found[0][:4].lower() != "www." else f"//{found[0]}"
            bare = address.rstrip(_TRAILING)
            if leads_inside(address, self._hosts) or (bare != address and leads_inside(bare, self._hosts)):
                continue
            behind = found[0][len(found[0].rstrip(_TRAILING)) :]
            last = found.end() == len(text)  # more of it may come: the change must reach the end
            end = found.end() if last else max(found.end() - len(behind), found.start() + 1)
            new = self.replacement + behind * last
            if new != found[0]:
                changes.append(Change(found.start(), end, new, "remove", "url"))
        return changes

    def _open_from(self, text: str) -> int | None:
        """Return from where on a text may still become something else when it goes on."""
        places = [place for place in (open_tag(text), open_link(text)) if place is not None]
        last = re.compile(r"\S*\Z").search(text, max(0, len(text) - _LONGEST_ADDRESS))
        if last:
            places += [last.start() + found.start() for found in _addresses_of(last[0])][:1]
        return min(places, default=None)


def _addresses_of(text: str) -> Iterator[re.Match[str]]:
    """Yield addresses in the open; looking for their colons first is many times faster."""
    place = 0
    for hint in _HINT.finditer(text):
        start = hint.start()
        if start < place:
            continue
        if hint[0][-1] != "." and (scheme := _SCHEME_BEFORE.search(text[max(place, start - 41) : start])):
            start -= len(scheme[0])
        if found := _ADDRESS.match(text, start):
            yield found
            place = found.end()


def _defused(text: str) -> list[Change]:
    """Take the marks from what was built to become a new carrier over and over."""
    return [Change(*found.span(), f"{found[0]} ", "remove", "carrier") for found in _FUSES.finditer(text)]


def _held_back(text: str, changes: list[Change], start: int | None) -> list[Change]:
    """Return changes of which one, from where something is open, reaches the end of the text."""
    if start is None or start == len(text):
        return changes
    inside = [change for change in changes if change.end > start]
    start = min([start, *(change.start for change in inside)])
    new = apply_changes(
        text[start:], (each._replace(start=each.start - start, end=each.end - start) for each in inside)
    )
    kind: Literal["remove", "style"] = "remove" if inside else "style"
    return [*changes[: len(changes) - len(inside)], Change(start, len(text), new, kind, "open")]
