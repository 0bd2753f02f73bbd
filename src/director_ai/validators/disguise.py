"""The disguise check: text that reads otherwise than it looks becomes what it looks like."""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from director_ai.core.checks.rules import check_name
from director_ai.errors import ConfigError
from director_ai.validators.disguise_tables import (
    CONDITIONAL,
    CYRILLIC_TWINS,
    EMOJI,
    FLAG_TAGS,
    FOREIGN,
    GENERIC_MARKS,
    HIDDEN,
    JOINED_SCRIPTS,
    LATIN,
    MONGOLIAN,
    SMALL_CAPITALS,
    STRONG_TWINS,
    VIRAMAS,
    WEAK_TWINS,
    marks,
)
from director_ai.validators.stages import Change, as_edits, run_stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from director_ai.core.checks.rules import Frontier
    from director_ai.core.merge import Edit

__all__ = ["Disguise"]

_FRONTIER: Final = 64
_SHORTEST_ENCODED: Final = 120
_RESTLESS: Final = 0.2
"""So many letters in one are of another kind than the one before them: words are not like that, encoded bytes are."""

_PLAIN_BYTES: Final = bytes([9, 10, *range(32, 127)])
_TERMINAL = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\Z)"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,2000}(?:\x07|\x1b\\|\x9c|\Z)"
    r"|\x1b[ -/]*(?:[0-~]|\Z))+"
)
_BREAK = re.compile(r"(?:\r(?!\n)|[\x0b\x0c\x85])+")
_UNSEEN = re.compile(f"[{HIDDEN}{CONDITIONAL}]+")
_HIDDEN = re.compile(f"[{HIDDEN}]+")
_EMOJI = re.compile(f"[{EMOJI}]")
_JOINED = re.compile(f"[{JOINED_SCRIPTS}]")
_MONGOLIAN = re.compile(f"[{MONGOLIAN}]")

_WIDE = re.compile("[\uff01-\uff5e]+")
_WIDE_LETTERS = re.compile(
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a](?:[\uff01-\uff5e]*[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a])?"
)
_MATHEMATICAL = re.compile("[\U0001d400-\U0001d7ff]+")
_LETTERLIKE_SET: Final = "ℂℊℋℌℍℎℐℑℒℕℙℚℛℜℝℤℨℬℭℯℰℱℳℴ"
_LETTERLIKE_ANY = re.compile(f"[{_LETTERLIKE_SET}]")
_LETTERLIKE = re.compile(
    rf"(?<=[^\W\d_])[{_LETTERLIKE_SET}]+"
    rf"|[{_LETTERLIKE_SET}]+(?![{_LETTERLIKE_SET}])(?=[^\W\d_])"  # the whole run: these signs count as letters, too
    rf"|[{_LETTERLIKE_SET}]{{2,}}"
)
_ENCLOSED = re.compile(
    "[\u249c-\u24b5\u24b6-\u24e9\U0001f110-\U0001f129\U0001f130-\U0001f149\U0001f150-\U0001f169\U0001f170-\U0001f189]{3,}"
)
_RAISED = re.compile("[\u02b0-\u02b8\u02e0-\u02e4\u1d2c-\u1d6a\u1d9b-\u1dbf\u2071\u207f\u2090-\u209c]{3,}")
_CAPITALS: Final = "".join(SMALL_CAPITALS)
_SMALL = re.compile(f"[{_CAPITALS}]{{3,}}")
_FORMS = re.compile(
    f"[\uff01-\uff5e\U0001d400-\U0001d7ff\u2100-\u214f\u249c-\u24e9\U0001f110-\U0001f189\u02b0-\u02ff\u1d00-\u1dbf"
    f"\u2071-\u209c{_CAPITALS}]"
)
_WIDE_SIGNS = re.compile("(?<=[A-Za-z0-9])[\uff0e\uff20](?=[A-Za-z0-9])")
_NON_LATIN = re.compile(f"[{FOREIGN}]")
_WORD = re.compile(f"[{LATIN}{FOREIGN}][{LATIN}{FOREIGN}0-9{GENERIC_MARKS}]*")
_MIXED = re.compile(f"[{LATIN}][0-9{GENERIC_MARKS}]*[{FOREIGN}]|[{FOREIGN}][0-9{GENERIC_MARKS}]*[{LATIN}]")
_LATIN = re.compile(f"[{LATIN}]")

_UNIT: Final = r"[A-Za-z0-9+/_\-]"
_ENCODED = re.compile(
    rf"(?<!{_UNIT})(?:{_UNIT}{{{_SHORTEST_ENCODED},}}|{_UNIT}{{32,119}}(?:\r?\n[ \t]*{_UNIT}{{32,}})+)"
    rf"(?:\r?\n[ \t]*{_UNIT}{{1,76}}=)?={{0,2}}"
)
_ESCAPES = re.compile(
    r"(?:%[0-9A-Fa-f]{2}[A-Za-z0-9._~+\-]{0,2}){30,}|(?:\\x[0-9A-Fa-f]{2}){30,}|(?:\\u[0-9A-Fa-f]{4}){20,}"
    r"|(?:&#[xX]?[0-9A-Fa-f]{1,6};){20,}"
)
_UNIT_OR_NOT: Final = bytes(ord("a") if re.match(_UNIT, chr(code)) else ord(" ") for code in range(256))
_LONG_UNIT: Final = b"a" * 32
_TURN = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F\s]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Disguise:
    """Takes off what text hides behind; applied to what it leaves, it finds nothing.

    removed     characters without a look of their own (joiners and selectors stay where a script or an emoji needs
                them), orders to a terminal, more marks than a letter carries, long encoded runs
    rewritten   full-width, mathematical, enclosed and raised letters, and letters of another script inside a word
    """

    homoglyphs: bool = True
    forms: bool = True
    """Rewrite full-width and other forms of plain letters."""
    encoded: str = "[ENCODED]"
    """What stands for a long encoded run; empty: such runs stay."""
    most_marks: int = 4
    """So many accents one letter keeps; twice as many marks of scripts that stack them."""
    name: str = "disguise"

    def __post_init__(self) -> None:
        for option in ("homoglyphs", "forms"):
            if not isinstance(getattr(self, option), bool):
                raise ConfigError(f"{option} must be True or False, got a {type(getattr(self, option)).__name__}")
        if not isinstance(self.encoded, str) or len(self.encoded) >= 32:
            raise ConfigError("encoded must be a text of less than 32 characters")
        if type(self.most_marks) is not int or not 1 <= self.most_marks <= 16:
            raise ConfigError("most_marks must be a whole number from 1 to 16")
        check_name(self.name)

    @property
    def frontier(self) -> Frontier:
        """Enough for an encoded run to be seen as one, and for a word."""
        return _FRONTIER

    def find(self, text: str) -> Iterable[Edit]:
        """Return the edits that take the disguise off this text."""
        if text.isascii():
            stages: list[Callable[[str], Sequence[Change]]] = []
            if text.encode().translate(None, _PLAIN_BYTES):
                stages = [_terminal_orders, _line_breaks, _unseen]
        else:
            stages = [_terminal_orders, _line_breaks, _unseen, *self._floods()]
            stages += [_plain_forms, _letterlike_signs] * self.forms + [_homoglyphs] * self.homoglyphs
            stages += [_wide_signs] * self.forms
        if self.encoded:
            stages.append(functools.partial(_encoded_runs, self.encoded))
        return as_edits(run_stages(text, stages)[1], self.name)

    def _floods(self) -> list[Callable[[str], Sequence[Change]]]:
        return [
            functools.partial(_flood, marks(), 2 * self.most_marks),
            functools.partial(_flood, GENERIC_MARKS, self.most_marks),
        ]


def _terminal_orders(text: str) -> list[Change]:
    return [Change(*found.span(), "", "remove", "terminal order") for found in _TERMINAL.finditer(text)]


def _line_breaks(text: str) -> list[Change]:
    return [Change(*found.span(), "\n" * len(found[0]), "rewrite", "line break") for found in _BREAK.finditer(text)]


def _unseen(text: str) -> list[Change]:
    """Remove runs of unseen characters, but for what the characters around a run need of it."""
    changes = []
    for found in _UNSEEN.finditer(text):
        start, end = found.span()
        needed = _needed(text[start - 1 : start], found[0], text[end : end + 1])
        if needed != found[0]:
            changes.append(Change(start, end, needed, "remove", "unseen characters"))
    return changes


def _needed(before: str, run: str, after: str) -> str:
    """Return what of a run of unseen characters has a use between these two: a selector, a joiner, or a flag."""
    run = _HIDDEN.sub("", run)
    if not run or not before:
        return ""
    if before == "\U0001f3f4" and (flag := next((tags for tags in FLAG_TAGS if run.startswith(tags)), "")):
        return flag
    selector, joiner = run[0], ""
    if _EMOJI.match(before) or (before in "0123456789#*" and after == "\u20e3"):
        selector = selector if selector in "\ufe0e\ufe0f" else ""
    elif not (_MONGOLIAN.match(before) and selector in "\u180b\u180c\u180d\u180f"):
        selector = ""
    if rest := [each for each in run[len(selector) :] if each in "\u200c\u200d"]:
        joiner = rest[0] if _joins(before, rest[0], after) else ""
    return selector + joiner


def _joins(before: str, joiner: str, after: str) -> bool:
    """Tell whether a joiner does something between two characters."""
    if joiner == "\u200d" and _EMOJI.match(before) and _EMOJI.match(after):
        return True
    return bool(_JOINED.match(before)) and (before in VIRAMAS or bool(_JOINED.match(after)))


@functools.cache
def _floods_of(kinds: str, most: int) -> re.Pattern[str]:
    return re.compile(f"[{kinds}]{{{most + 1},}}")


def _flood(kinds: str, most: int, text: str) -> list[Change]:
    return [
        Change(found.start() + most, found.end(), "", "remove", "marks")
        for found in _floods_of(kinds, most).finditer(text)
    ]


def _plain_forms(text: str) -> list[Change]:
    """Rewrite other forms of plain letters; full-width punctuation stays where no such letters are around it."""
    if not _FORMS.search(text):
        return []
    found = [piece for run in _WIDE.finditer(text) for piece in _WIDE_LETTERS.finditer(text, *run.span())]
    for pattern in (_MATHEMATICAL, _ENCLOSED, _RAISED):
        found += pattern.finditer(text)
    spans = [(*piece.span(), _compatible(piece[0])) for piece in found]
    spans += [
        (*piece.span(), "".join(SMALL_CAPITALS.get(letter, letter) for letter in piece[0]))
        for piece in _SMALL.finditer(text)
    ]
    return [
        Change(start, end, new, "rewrite", "letter forms")
        for start, end, new in sorted(spans)
        if new != text[start:end]
    ]


def _letterlike_signs(text: str) -> list[Change]:
    """Rewrite signs such as that for the real numbers where they stand beside letters, plain by now."""
    if not _LETTERLIKE_ANY.search(text):
        return []
    return [
        Change(*found.span(), _compatible(found[0]), "rewrite", "letter forms") for found in _LETTERLIKE.finditer(text)
    ]


def _wide_signs(text: str) -> list[Change]:
    """Rewrite the signs of an address, wide between letters that are plain by now."""
    return [
        Change(*found.span(), _compatible(found[0]), "rewrite", "letter forms") for found in _WIDE_SIGNS.finditer(text)
    ]


def _compatible(letters: str) -> str:
    """Return plain letters; circled and squared ones without a decomposition follow the alphabet."""
    plain = []
    for letter in letters:
        code = ord(letter)
        if 0x1F150 <= code <= 0x1F169 or 0x1F170 <= code <= 0x1F189:
            plain.append(chr(ord("A") + (code - 0x1F150) % 32))
        else:
            said = unicodedata.normalize("NFKC", letter)
            plain.append(said.strip("()") if 0x2474 <= code <= 0x24B5 or code >= 0x1F110 else said)
    return "".join(plain)


def _homoglyphs(text: str) -> list[Change]:
    """Rewrite letters that pretend to be of the script of the rest of their word."""
    if not _NON_LATIN.search(text) or not _MIXED.search(text):
        return []
    changes = []
    for found in _WORD.finditer(text):
        word, start = found[0], found.start()
        if not word.isascii() and (twins := _twins_of(word)):
            places = [at for at, letter in enumerate(word) if letter in twins]
            if places:
                low, high = places[0], places[-1] + 1
                new = "".join(twins.get(letter, letter) for letter in word[low:high])
                changes.append(Change(start + low, start + high, new, "rewrite", "homoglyph"))
    return changes


def _twins_of(word: str) -> dict[str, str] | None:
    """Return which letters of a word to put in the place of which, if it mixes scripts on the sly.

    Latin and then foreign letters, or the other way round, are a word with an ending, unless each of them has a twin.
    """
    scripts = ["latin" if _LATIN.match(letter) else "foreign" for letter in word if letter.isalpha()]
    foreign = _NON_LATIN.findall(word)
    latin = len(scripts) - len(foreign)
    if not foreign or not latin:
        return None
    if all(letter in STRONG_TWINS for letter in foreign):
        return STRONG_TWINS
    borders = sum(one != other for one, other in itertools.pairwise(scripts))
    if latin < len(foreign):
        cyrillic = all("\u0400" <= letter <= "\u052f" for letter in foreign)
        return CYRILLIC_TWINS if cyrillic and (borders > 1 or latin == 1) else None
    if borders == 1:
        greek = all(
            letter in STRONG_TWINS or ("\u0370" <= letter <= "\u03ff" and letter in WEAK_TWINS) for letter in foreign
        )
        return STRONG_TWINS | WEAK_TWINS if greek and latin >= 4 else None
    return STRONG_TWINS | WEAK_TWINS if len(scripts) >= 4 else STRONG_TWINS


def _encoded_runs(placeholder: str, text: str) -> list[Change]:
    changes = [Change(*found.span(), placeholder, "remove", "encoded") for found in _encoded(text)]
    return sorted(changes)


def _encoded(text: str) -> Iterator[re.Match[str]]:
    """Yield long encoded runs; a rule of dashes, a path and a slug are none."""
    if any(mark in text for mark in ("%", "\\x", "\\u", "&#")):
        yield from (found for found in _ESCAPES.finditer(text) if len(found[0]) >= _SHORTEST_ENCODED)
    if _LONG_UNIT not in text.encode("ascii", "replace").translate(_UNIT_OR_NOT):
        return
    for found in _ENCODED.finditer(text):
        run = found[0]
        if len(run) < _SHORTEST_ENCODED:
            continue
        hexadecimal = _HEXADECIMAL.fullmatch(run) and not run.isalpha() and re.search("[a-fA-F]", run)
        if hexadecimal or len(_TURN.findall(run)) >= _RESTLESS * len(run):
            yield found
