"""How much of a message its context bears out, by words and figures alone."""

from __future__ import annotations

import functools
import re
from typing import Final

from director_ai.core.grammar import words
from director_ai.core.scoring.claims import role_of
from director_ai.core.segment import split_sentences

__all__ = ["word_support"]

_WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]{2,}")
_SPACED = re.compile(r"(?<!\w)[^\W\d_](?: [^\W\d_]){3,}(?!\w)")
_DENIED = re.compile(r"n['’]t\b")
_SHORTENED = re.compile(r"['’](?:ll|ve|re|d|m|s)\b")
_ORDER = re.compile(
    r"(?:^|[.!?;,:\n])\s*(?:(?:now|then|just|please|yes|ok),? )*(?:do (?:it|that|this|so)|go)\b(?! (?:not|t)\b)"
)
_SIGNS: Final = frozenset("/\\|&$`<>{}*~=")
_COMMON: Final = words(
    "the and for are was were has have had that this these those with from into onto over under its their his her our "
    "your they them you she him who whom whose which what when where why how not nor but all any some each every both "
    "been being does did done will would shall should can could may might must there here then than also only just "
    "very more most other such about after before between because while until since through during please "
    "is it to of in on at by an as or if we he me my no so do go up us am be ca wo oh hi ok eg ie vs pm "
    "kg km cm mm ml mg "
    # What agents say of their own work, and to be polite; it tells nothing that a context could bear out.
    "okay yes thanks thank sure noted understood received got look looking looks see check checking let know knows "
    "find found moment minute soon shortly now working ready well good great fine right away one back get sounds "
    "agreed again"
)
_DENIALS: Final = words("not never cannot nor neither")
_DENIED_SUPPORT: Final = 0.6
"""The most that a message earns which denies, where its context denies nothing."""
_LONGEST_GREETING: Final = 80
_BEGINNING: Final = 5
"""Letters by which words are compared: "deliver" and "delivery" are one."""


def word_support(text: str, context: str) -> float | None:
    """Return the share of a message's telling words, or of its figures if that is less, that its context has.

    None where it has neither: a message that tells nothing, or only greets, earns nothing. Orders without a telling
    word, and signs without any word, are borne out by nothing.
    """
    held = _held(context)
    support = _share(text, held)
    if support is None or support == 1.0:
        return support
    return _share("".join(each for each in split_sentences(text) if not _is_greeting(each)), held)


@functools.lru_cache(maxsize=512)
def _is_greeting(sentence: str) -> bool:
    """Agents greet with the same few words."""
    return len(sentence) <= _LONGEST_GREETING and role_of(sentence) == "greeting"


@functools.lru_cache(maxsize=32)
def _held(context: str) -> frozenset[str]:
    """What the messages of a stream are compared with is the same for all."""
    found = _words(_plain(context))
    beginnings = {word if word[0].isdigit() else word[:_BEGINNING] for word in found}
    return frozenset(beginnings if _DENIALS.isdisjoint(found) else beginnings | _DENIALS)


def _plain(text: str) -> str:
    """Return a text in small letters, without short forms and without spaces between single letters."""
    small = text.casefold()
    if "'" in small or "’" in small:
        small = _SHORTENED.sub("", _DENIED.sub(" not", small))
    return _SPACED.sub(lambda found: found[0].replace(" ", ""), small)


def _words(plain: str) -> set[str]:
    return set(_WORD.findall(plain))


def _share(text: str, held: frozenset[str]) -> float | None:
    plain = _plain(text)
    found = _words(plain)
    told = found - _COMMON - _DENIALS
    if not told:
        is_order = _ORDER.search(plain) is not None
        return 0.0 if is_order or not (found or _SIGNS.isdisjoint(plain)) else None
    figures = {word for word in told if word[0].isdigit()}
    telling = {word[:_BEGINNING] for word in told - figures}
    shares = [len(part & held) / len(part) for part in (figures, telling) if part]
    if not (found & _DENIALS <= held):
        shares.append(_DENIED_SUPPORT)
    return min(shares)
