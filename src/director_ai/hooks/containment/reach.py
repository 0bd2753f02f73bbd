"""What reaches out of a scope: hosts, credentials and claims to be elsewhere, in texts and in arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.identifiers import ref_of
from director_ai.core.runtime.interrupts import must_pass
from director_ai.hooks.answers import answer_of
from director_ai.hooks.containment.addresses import (
    LEAST_NUMBER,
    Mention,
    find_hosts,
    hosts_of_number,
    hosts_of_remote,
    hosts_of_value,
)
from director_ai.hooks.containment.arguments import COMMAND_KEYS, Leaf, TooLarge, key_words, walk_arguments
from director_ai.hooks.containment.commands import begins_command, hosts_of_command
from director_ai.hooks.containment.credentials import finds_credential, names_credential
from director_ai.hooks.containment.scope_claims import argument_disagrees, text_disagrees
from director_ai.hooks.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from director_ai.hooks.containment.networks import HostRules
    from director_ai.hooks.protocol import ProposedAction

__all__ = ["OUTREACH_REASONS", "Outreach"]

OUTREACH_REASONS: Final = {
    "text.too_large": "halt",
    "text.host_denied": "halt",
    "text.host_outside": "warn",
    "text.host_unreadable": "warn",
    "text.credential": "halt",
    "text.secret_check_failed": "halt",
    "text.other_scope": "warn",
    "action.too_large": "block",
    "action.unreadable": "block",
    "action.host_denied": "block",
    "action.host_outside": "block",
    "action.host_unreadable": "block",
    "action.credential": "block",
    "action.secret_check_failed": "block",
    "action.other_scope": "block",
}
"""A text that names a place has not gone there yet; an action would."""

MOST_TEXT: Final = 1_000_000
MOST_HOSTS: Final = 5_000
_HOST_KEYS: Final = frozenset(
    "host hosts hostname hostnames server servers ip ips dsn upstream proxy broker brokers".split()
)
_LINK_KEYS: Final = frozenset(
    """
    endpoint endpoints url urls uri uris href link links webhook callback domain domains site website origin
    address addresses addr remote gateway peer peers node nodes cluster bootstrap
    """.split()
)
_URL_KEYS: Final = frozenset("url urls uri uris href endpoint endpoints webhook".split())
"""Where a large number is an address as well."""
_SHELLS: Final = frozenset("bash cmd command console exec powershell sh shell terminal zsh".split())
"""Words of a tool's name by which its texts are commands."""
_REMARKS: Final = frozenset("comment description explanation justification note reason thought title".split())
_INPUT_KEYS: Final = frozenset("code exec input line program run".split())
_PLACE_KEYS: Final = frozenset({"address", "addresses", "origin"})
_PLACE: Final = re.compile(r"(?<![^\s,;])(?:St|Ste|Mt|Ft|Dr|Mr|Mrs|Ms|Prof)\.[A-Z][a-z]{3,30}(?![^\s,;])")
"""An abbreviation and a name without a space; what is denied is found all the same."""
_NO_PROXY: Final = frozenset({"none", "null", "direct", "off", "false", "no", "disabled"})
_LINK_BEGIN: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-\t\r\n]{0,30}:")
_SKIPPED: Final = re.compile(r"[\t\r\n]+")


class Outreach:
    """Looks for what reaches out of one scope; it keeps nothing between calls."""

    def __init__(
        self,
        scope: str,
        rules: HostRules,
        decisions: Mapping[str, str],
        finds_secret: Callable[[str], bool] | None,
    ) -> None:
        self._scope, self._rules, self._decisions = scope, rules, decisions
        self._finds_secret = finds_secret

    def of_text(self, text: str) -> list[Finding]:
        """Return what a text names that lies outside."""
        text = str.__str__(text)
        if not text:
            return []
        if len(text) > MOST_TEXT:
            return [self._finding("text.too_large", "text")]
        found = self._hosts("text", "text", find_hosts(text, self._rules))
        found += self._secret("text", "text", text)
        if text_disagrees(text, self._scope):
            found.append(self._finding("text.other_scope", "text"))
        return found

    def of_action(self, action: ProposedAction) -> list[Finding]:
        """Return what an action would reach outside; each value of its arguments is looked at."""
        found: list[Finding] = []
        try:
            name = str.__str__(action.name)
            if len(name) > MOST_TEXT:
                return [self._finding("action.too_large", "name")]
            found += self._of_leaf(Leaf("", name, "name"))
            is_shell = not _SHELLS.isdisjoint(key_words(name))
            for leaf in walk_arguments(action.arguments):
                found += self._of_leaf(leaf, is_shell=is_shell)
                if not leaf.is_readable:
                    found.append(self._finding("action.unreadable", leaf.place))
        except TooLarge:
            found.append(self._finding("action.too_large", "arguments"))
        except BaseException as error:  # a mapping of the caller's own may raise anything
            if must_pass(error):
                raise
            found.append(self._finding("action.unreadable", "arguments"))
        return found

    def _of_leaf(self, leaf: Leaf, *, is_shell: bool = False) -> list[Finding]:
        value, found = leaf.value, []
        disagrees = bool(leaf.key) and argument_disagrees(leaf.key, value, self._scope)
        if isinstance(value, str):
            if value and not self._is_harmless(leaf.key, value):
                found += self._hosts("action", leaf.place, self._mentions(leaf.key, value, is_shell=is_shell))
                found += self._secret("action", leaf.place, value, leaf.key)
                disagrees = disagrees or text_disagrees(value, self._scope)
        elif isinstance(value, int | float) and leaf.key:
            found += self._of_number(leaf, value)
        if disagrees:
            found.append(self._finding("action.other_scope", leaf.place))
        return found

    def _of_number(self, leaf: Leaf, value: float) -> list[Finding]:
        """Return what is wrong with a number: an address may be one, and so may a password."""
        words, found = key_words(leaf.key), []
        least = 256 if not _HOST_KEYS.isdisjoint(words) else LEAST_NUMBER if not _URL_KEYS.isdisjoint(words) else 2**32
        if not isinstance(value, bool) and least <= value < 2**32 and value == int(value):
            found += self._hosts("action", leaf.place, [Mention(str(int(value)), is_sure=True)])
        if names_credential(leaf.key, value):
            found.append(self._finding("action.credential", leaf.place))
        return found

    def _is_harmless(self, key: str, value: str) -> bool:
        """Whether a value is one short word, which can hold neither a link nor a key nor a sentence."""
        if len(value) >= 16 or not value.isascii() or not value.isidentifier() or self._finds_secret is not None:
            return False
        if key and (not _HOST_KEYS.isdisjoint(key_words(key)) or names_credential(key, value)):
            return False
        words = self._rules.denied.words
        return words is None or words.fullmatch(value.lower()) is None

    def _mentions(self, key: str, value: str, *, is_shell: bool) -> Iterable[Mention]:
        words = key_words(key)
        is_strict = not _HOST_KEYS.isdisjoint(words)
        if words[-1:] == ("proxy",) and value.strip().lower() in _NO_PROXY:
            is_strict = False
        by_name = is_strict or not _LINK_KEYS.isdisjoint(words)
        spellings = [value]
        if _SKIPPED.search(value) and (by_name or _LINK_BEGIN.match(value)):
            spellings.append(_SKIPPED.sub("", value))  # as browsers do
        for spelled in spellings:
            yield from find_hosts(spelled, self._rules)
            if by_name:
                is_place = not is_strict and not _PLACE_KEYS.isdisjoint(words)
                yield from hosts_of_value(_PLACE.sub("", spelled) if is_place else spelled, is_strict=is_strict)
            if not _URL_KEYS.isdisjoint(words):
                yield from hosts_of_number(spelled)
        yield from hosts_of_remote(value)
        if _is_command(words, value, is_shell=is_shell):
            yield from hosts_of_command(value)

    def _hosts(self, kind: str, place: str, mentions: Iterable[Mention]) -> list[Finding]:
        """Judge each host once."""
        seen: set[Mention] = set()
        found: dict[str, Finding] = {}
        for mention in mentions:
            if mention in seen:
                continue
            seen.add(mention)
            if len(seen) > MOST_HOSTS:
                return [*found.values(), self._finding(f"{kind}.too_large", place)]
            word = self._rules.judge(mention.host, is_sure=mention.is_sure)
            if word:
                finding = self._finding(f"{kind}.{word}", place, ref_of("", mention.host or "-"))
                found.setdefault(f"{word} {mention.host}", finding)
        return list(found.values())

    def _secret(self, kind: str, place: str, text: str, key: str = "") -> list[Finding]:
        """Say that there is a secret, and nothing about it: even its hash could be tried out."""
        if key and names_credential(key, text):
            return [self._finding(f"{kind}.credential", place)]
        answer = answer_of(self._finds_secret or finds_credential, text)
        if answer is False:
            return []
        return [self._finding(f"{kind}.{'credential' if answer is True else 'secret_check_failed'}", place)]

    def _finding(self, reason: str, place: str, ref: str = "") -> Finding:
        return Finding(reason=reason, decision=self._decisions[reason], ref=ref, place=place)


def _is_command(words: tuple[str, ...], value: str, *, is_shell: bool) -> bool:
    """Whether a text is run, by its name, by the tool that gets it, or by how its input begins."""
    if not COMMAND_KEYS.isdisjoint(words) or (is_shell and words and _REMARKS.isdisjoint(words)):
        return True
    return not _INPUT_KEYS.isdisjoint(words) and begins_command((value[:200].split(maxsplit=1) or [""])[0])
