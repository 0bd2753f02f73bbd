"""Cuts a stream of text into clauses: lossless, in linear time, and wherever the tokens happen to end.

The segmenter keeps a buffer and looks for the next character that may end a clause. One rule per kind of character
then answers with a `_Step`: a border, or where to go on looking; or with None, when text that has not come yet could
change the answer. No rule looks further than `LOOKAHEAD` code points ahead, so what a rule answers depends on the text
alone and never on how it was cut into tokens, and nobody waits for long.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from director_ai.core.borders import (
    BULLETS,
    CLOSERS,
    LINE_ENDS,
    OPENERS,
    OPENS_LIST,
    abbreviation,
    is_enumerator,
    is_item,
    is_statement,
    is_successor,
    lines_differ,
    may_end,
    small_start,
    what_follows,
)
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LOOKAHEAD", "MAX_CLAUSE", "Clause", "ClauseKind", "ClauseSegmenter", "split_clauses", "split_sentences"]

MAX_CLAUSE = 2000
"""No clause is longer than this many code points."""
LOOKAHEAD = 200
"""How many code points after a character may decide whether it ends a clause."""
_LONGEST_HALF = 400
"""How long the first half of a sentence may be to be cut from the second: reading it must stay cheap."""

ClauseKind = Literal["prose", "heading", "item", "row", "code"]
_Mode = Literal["prose", "line", "math", "code"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One piece of the stream; all of them, joined, are the stream."""

    text: str
    """Exact, with the white space that follows it."""
    start: int
    """Offset in the stream, in code points."""
    kind: ClauseKind
    ends_sentence: bool
    """False where the sentence goes on in the next clause."""

    @property
    def end(self) -> int:
        """Offset of the first code point after this clause."""
        return self.start + len(self.text)


class _Step(NamedTuple):
    """What a rule decided about one character."""

    resume: int
    """Where to look for the next candidate, if there is no border here."""
    border: int = 0
    """Where the clause ends; 0 for no border."""
    ends_sentence: bool = True


_FULL_STOPS = "。！？｡︒﹒﹖﹗؟۔।॥։።፧။។៕᠃᠉"  # of scripts that need no space after a sentence
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two of them make a flag

_CANDIDATE: dict[_Mode, re.Pattern[str]] = {
    "prose": re.compile(f"[.!?…‼⁇⁈⁉;,)`~$|#\\\\{BULLETS}{_FULL_STOPS}{LINE_ENDS}]"),
    "line": re.compile(f"[{LINE_ENDS}]"),
    "math": re.compile(f"[$\\\\{LINE_ENDS}]"),
    "code": re.compile("[`~]"),
}
_NEWLINE = re.compile(f"\r\n|[{LINE_ENDS}]")
_GAP = re.compile(r"\s*+")
_AFTER_STOP = re.compile(
    rf"""(?P<run>[.!?…‼⁇⁈⁉]++(?:[ ]\.(?!\w))*+)
         (?P<close>(?:[{CLOSERS}]|\[\d{{1,3}}\])*+)
         (?P<gap>\s*+)
         (?P<open>[{OPENERS}]*+)
         (?P<word>[^\W_][\w'’-]*+)?""",
    re.VERBOSE,
)
_PAUSES = ".,;:)]}%&/"  # after a full stop and white space these go on with the sentence
_AFTER_FULL_STOP = re.compile(rf"[{_FULL_STOPS}!?….]++[{CLOSERS}]*+\s*+")
_CONJUNCTION = re.compile(r"(?:and|but|so|or|yet)\s")
_ENTITY = re.compile(r"&#?\w+\Z")
_RUN = re.compile(r"`+|~+|\$+|#+")
_TICKS = re.compile(r"`+")
_REST_OF_LINE = re.compile(f"[^{LINE_ENDS}]*+")
_FIRST_OF_LINE = re.compile(r"\S{1,12}")
_NUMBER = re.compile(r"(?<=\s)\(?([0-9]{1,3}|[a-z])\Z")
_AFTER_NUMBER = re.compile(r"(\.\)|[.)])\s")
_BEFORE_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,3}[.)])\s+)?")
_LETTER = re.compile(r"[^\W\d_]")
_LAST_SPACE = re.compile(r".*\s", re.DOTALL)


class ClauseSegmenter:
    """Takes the tokens of one stream and gives back its clauses, each as soon as nothing to come can change it."""

    def __init__(self) -> None:
        self._text = ""  # what is not yet in a clause, and during a feed the clauses just cut, too
        self._base = 0  # offset of the buffer in the stream
        self._start = 0  # where the open clause starts; this and the next two are offsets in the buffer
        self._scan = 0  # where to look for the next candidate
        self._line = 0  # where the current line starts; negative when that has left the buffer
        self._fresh = True  # the open clause is the first of its line
        self._inside = False  # the open clause goes on with the sentence of the one before
        self._mode: _Mode = "prose"
        self._kind: ClauseKind = "prose"  # of the open clause, where its mode says so
        self._fence = ""
        self._final = False
        self._limit = 0  # rules read no further than this
        self._whole = False  # the limit is as far as this rule may ever see

    @property
    def held(self) -> str:
        """The text that has come and is in no clause yet."""
        return self._text

    def feed(self, token: str) -> list[Clause]:
        """Take the next piece of the stream; return the clauses that are now complete."""
        if self._final:
            raise ConfigError("feed() was called after finish(); a new stream needs a new ClauseSegmenter")
        if not isinstance(token, str):
            raise ConfigError(f"a token must be a str, got {type(token).__name__}")
        # Not `+`: join makes a plain str of a subclass without calling its methods.
        self._text = "".join((self._text, token))
        return self._drain()

    def finish(self) -> list[Clause]:
        """End the stream; return the clauses that were still open."""
        if self._final:
            return []
        self._final = True
        clauses = self._drain()
        if self._text:
            clauses.append(self._cut(len(self._text), ends_sentence=True))
            self._trim()
        return clauses

    def _drain(self) -> list[Clause]:
        clauses: list[Clause] = []
        text = self._text
        while True:
            candidate = _CANDIDATE[self._mode].search(text, self._scan, self._start + MAX_CLAUSE)
            if candidate is None:
                self._scan = min(len(text), self._start + MAX_CLAUSE)
                if len(text) - self._start <= MAX_CLAUSE:
                    break
                clauses.append(self._force())  # every rule up to the limit has spoken: text to come changes nothing
                continue
            self._scan = candidate.start()
            step = self._decide(self._scan)
            if step is None:
                break
            self._scan = step.resume
            border = step.border
            if not border or self._splits_grapheme(border):
                continue
            if border - self._start > MAX_CLAUSE:
                clauses.append(self._force())
            elif not text[self._start : border].isspace():  # white space alone is no clause
                clauses.append(self._cut(border, ends_sentence=step.ends_sentence))
        self._trim()
        return clauses

    def _decide(self, at: int) -> _Step | None:
        size = len(self._text)
        self._whole = self._final or size > at + LOOKAHEAD
        self._limit = min(size, at + LOOKAHEAD)
        if self._mode == "code":
            return self._at_closing_fence(at)
        if self._mode == "math":
            return self._in_math(at)
        return _RULES[self._text[at]](self, at)

    def _cut(self, end: int, *, ends_sentence: bool) -> Clause:
        text = self._text[self._start : end]
        kind = self._kind
        if kind == "prose" and not self._inside and is_item(text):
            kind = "item"
        clause = Clause(text=text, start=self._base + self._start, kind=kind, ends_sentence=ends_sentence)
        gap = text[len(text.rstrip()) :]
        self._fresh = gap != " " and _NEWLINE.search(gap) is not None
        if self._fresh:
            self._line = end
        self._inside = not ends_sentence
        self._start = self._scan = end
        if ends_sentence:
            self._mode, self._kind = "prose", "prose"
        return clause

    def _trim(self) -> None:
        """Drop what is in clauses: once per feed, so that one huge token stays linear."""
        start = self._start
        if start:
            self._text = self._text[start:]
            self._base += start
            self._line -= start
            self._scan -= start
            self._start = 0

    def _force(self) -> Clause:
        """Cut a clause that has grown too long, after white space if there is some near the limit."""
        start, latest = self._start, self._start + MAX_CLAUSE
        space = _LAST_SPACE.match(self._text, latest - LOOKAHEAD, latest)
        if space and not self._splits_grapheme(space.end()):
            return self._cut(space.end(), ends_sentence=False)
        letters = MAX_CLAUSE - len(self._text[start:latest].rstrip(_FLAG_LETTERS))
        if letters and self._text[latest] in _FLAG_LETTERS:
            latest -= letters % 2  # counted here, since the search below is slow on long rows of flags
        elif not self._text[latest - 1 : latest + 1].isascii() or self._splits_grapheme(latest):
            # The longest row of whole clusters that leaves one for what stands at the limit.
            clusters = _graphemes(r"(\X*)\X").match(self._text[start : latest + 1])
            latest = start + clusters.end(1) if clusters and clusters.end(1) else latest
        return self._cut(latest, ends_sentence=False)

    def _splits_grapheme(self, at: int) -> bool:
        pair = self._text[at - 1 : at + 1]
        if pair[1:].isascii():
            return pair == "\r\n"
        match = _graphemes(r"\X").match(pair)
        return match is not None and match.end() == 2

    # Rules: what the character at an offset means. None asks for more text; nothing after `_limit` is read.

    def _at_stop(self, at: int) -> _Step | None:
        if self._text[at + 1 : at + 2].isalnum() or is_enumerator(self._text, self._start, at):
            return _Step(at + 1)
        item = self._next_item(at)
        if item is None:
            return None
        if item:
            return _Step(at + 1, item)
        match = _AFTER_STOP.match(self._text, at, self._limit)
        if match is None or (match.end() == self._limit and not self._whole and not (match["gap"] and match["word"])):
            return None
        run, close, gap, _, word = match.groups()
        resume, end = match.end("close"), match.end("gap")
        before = self._text[max(self._start, at - 1) : at]
        if not gap or (before == "[" and close[:1] == "]"):  # "[...]" is an omission
            return _Step(resume)
        if end == self._limit:
            return _Step(resume, end)
        if not word:
            is_pause = self._text[match.end() : match.end() + 1] in _PAUSES or abbreviation(self._word_before(at))
            return _Step(resume, 0 if is_pause else end)
        if run == ". . . ." and gap == " " and before and not before.isspace():
            resume, end = end, at + 2  # the first dot is a stop, the rest an omission in the next sentence
        ends = self._stop_ends(at, match, complete=self._whole or match.end() < self._limit)
        return None if ends is None else _Step(resume, end if ends else 0)

    def _stop_ends(self, at: int, match: re.Match[str], *, complete: bool) -> bool | None:
        """Whether the stop before a word ends a sentence; None if a word that is not `complete` must be known."""
        word, run, before = match["word"], match["run"], self._word_before(at)
        if word[0].islower():
            if not complete:
                return None
            is_plain = run in {".", "!", "?"} and not match["close"]
            if not small_start(word) and not (is_plain and (self._began_small(at) or small_start(word, before))):
                return False
        if " " in run:
            return run.count(".") > 3
        kind = abbreviation(before) if run == "." else None
        if kind and not complete:
            return None
        return not kind or may_end(kind, word, initial=self._text[match.end() : match.end() + 1] == ".")

    def _began_small(self, at: int) -> bool:
        """Whether the sentence began in lower case: who writes so begins the next one so, too."""
        letter = _LETTER.search(self._text, self._start, at)
        return letter is not None and letter[0].islower() and not self._inside

    def _word_before(self, at: int) -> str:
        words = self._text[max(self._start, at - 24) : at + 1].split()
        return words[-1][:-1].lstrip("\"'“‘«([{*_~—–-")

    def _at_full_stop(self, at: int) -> _Step | None:
        end = _end(_AFTER_FULL_STOP, self._text, at, self._limit)
        if end == self._limit:
            return _Step(end, end) if self._whole else None
        # A Japanese or Chinese sentence goes on after what it quotes.
        goes_on = self._text[end - 1] in "」』”" and self._text[end] in "と、，"
        return _Step(end, 0 if goes_on else end)

    def _at_newline(self, at: int) -> _Step | None:
        text, limit = self._text, self._limit
        end = _end(_GAP, text, at, limit)
        if end == limit and not self._whole:
            return None
        first = _FIRST_OF_LINE.match(text, end, limit)
        if first is None or self._mode == "line" or _is_paragraph(text[at:end]):
            self._line = end
            return _Step(end, end)
        if first.end() == limit and len(first[0]) < 12 and not self._whole:
            return None
        line = self._line if self._line <= at else self._start
        self._line = end
        breaks = lines_differ(text[max(line, self._start) : at].rstrip(), at - line, first[0])
        return _Step(end, end if breaks else 0)

    def _at_line_opener(self, at: int) -> _Step | None:
        end = _end(_RUN, self._text, at, self._limit) if self._text[at] == "#" else at + 1
        if not self._opens_line(at):
            return _Step(end)
        if self._text[at] == "|":
            self._mode, self._kind = "line", "row"
        elif end == self._limit and not self._whole:
            return None
        elif end - at <= 6 and self._text[end : end + 1].isspace():
            self._mode, self._kind = "line", "heading"
        return _Step(end)

    def _opens_line(self, at: int) -> bool:
        """Whether only white space, quote marks or a list marker stand before this on its line."""
        if not self._fresh and self._line <= self._start:
            return False
        return _BEFORE_FENCE.fullmatch(self._text, max(self._line, self._start), at) is not None

    def _at_bullet(self, at: int) -> _Step:
        before = self._text[max(self._start, at - 2) : at]
        return _Step(at + 1, at if before[-1:].isspace() and before[0] not in BULLETS else 0)

    def _at_bracket(self, at: int) -> _Step | None:
        item = self._next_item(at)
        return None if item is None else _Step(at + 1, item)

    def _next_item(self, at: int) -> int | None:
        """Where an item starts whose number ends here and follows on the one that opened the clause; 0 for none."""
        if at - self._start < 4 or not self._text[at - 1].isalnum():
            return 0  # no room for another item before this one
        number = _NUMBER.search(self._text, max(self._start, at - 5), at)
        opener = number and OPENS_LIST.match(self._text, self._start, at)
        if not number or not opener or not is_successor(opener["value"], number[1]):
            return 0
        style = _AFTER_NUMBER.match(self._text, at, self._limit)
        if style is None:
            return None if self._limit - at < 3 and not self._whole else 0
        return number.start() if style[1] == opener["style"] else 0

    def _at_fence(self, at: int) -> _Step | None:
        text, limit = self._text, self._limit
        end = _end(_RUN, text, at, limit)
        line_end = _end(_REST_OF_LINE, text, end, limit)
        opens_code = end - at >= 3 and self._opens_line(at)
        if text[at] == "`":
            same = (ticks.end() for ticks in _TICKS.finditer(text, end, line_end) if len(ticks[0]) == end - at)
            closing = next(same, limit)
            if closing < limit:
                return _Step(closing)
            opens_code = opens_code and "`" not in text[end:line_end]
        elif not opens_code and end < limit:
            return _Step(end)
        if line_end == limit and not self._whole:
            return None
        if opens_code:
            self._mode, self._kind, self._fence = "code", "code", text[at:end]
        return _Step(end)

    def _at_closing_fence(self, at: int) -> _Step | None:
        text, limit = self._text, self._limit
        end = _end(_RUN, text, at, limit)
        before = text[max(self._start, at - 40) : at].rstrip(" \t>")
        opens_line = before[-1] in LINE_ENDS if before else self._fresh
        gap = _end(_GAP, text, end, limit)
        if gap == limit and not self._whole:
            return None
        if not opens_line or not text.startswith(self._fence, at):
            return _Step(end)
        alone = gap == limit or _NEWLINE.search(text, end, gap) is not None
        return _Step(end, gap if alone else 0)

    def _at_math(self, at: int) -> _Step | None:
        text, limit = self._text, self._limit
        end = at + 1 if text[at] == "\\" else _end(_RUN, text, at, limit)
        if end == limit:
            return _Step(end) if self._whole else None
        if text.startswith("\\[", at):
            self._mode, self._fence = "math", "\\]"
        elif text[at:end] == "$$" and (self._opens_line(at) or not text[end].isspace()):
            self._mode, self._fence = "math", "$$"
        return _Step(end)

    def _in_math(self, at: int) -> _Step | None:
        text, limit = self._text, self._limit
        if text[at] in LINE_ENDS:
            end = _end(_GAP, text, at, limit)
            if end == limit and not self._whole:
                return None
            return _Step(end, end if _is_paragraph(text[at:end]) else 0)
        if at + 2 > limit and not self._whole:
            return None
        if text.startswith(self._fence, at):
            self._mode = "prose"
            return _Step(at + 2)
        return _Step(at + 1)

    def _at_comma(self, at: int) -> _Step | None:
        if self._text[at + 1 : at + 2].isspace():
            match = _CONJUNCTION.match(self._text, at + 2, self._limit)
            if match:
                return self._between_statements(at, at + 2, match.end())
        return None if self._limit - at < 6 and not self._whole else _Step(at + 1)

    def _at_semicolon(self, at: int) -> _Step | None:
        end = _end(_GAP, self._text, at + 1, self._limit)
        if end == self._limit and not self._whole:
            return None
        if end == at + 1 or _ENTITY.search(self._text, max(self._start, at - 10), at):
            return _Step(at + 1)
        return self._between_statements(at, end, _end(_CONJUNCTION, self._text, end, self._limit))

    def _between_statements(self, at: int, border: int, right: int) -> _Step | None:
        """Cut the sentence where both sides of a comma or semicolon could stand alone."""
        follows = what_follows(self._text, right, self._limit, whole=self._whole)
        if follows is None:
            return None
        left = self._text[self._start : at]
        is_list = self._text[at] == "," and follows == "noun"
        if follows == "nothing" or len(left) > _LONGEST_HALF:
            return _Step(at + 1)
        return _Step(at + 1, border if is_statement(left, whole_phrase=is_list) else 0, ends_sentence=False)


_RULES: dict[str, Callable[[ClauseSegmenter, int], _Step | None]] = {
    **dict.fromkeys(".!?…‼⁇⁈⁉", ClauseSegmenter._at_stop),
    **dict.fromkeys(_FULL_STOPS, ClauseSegmenter._at_full_stop),
    **dict.fromkeys(LINE_ENDS, ClauseSegmenter._at_newline),
    **dict.fromkeys(BULLETS, ClauseSegmenter._at_bullet),
    **dict.fromkeys("`~", ClauseSegmenter._at_fence),
    **dict.fromkeys("#|", ClauseSegmenter._at_line_opener),
    **dict.fromkeys("$\\", ClauseSegmenter._at_math),
    ")": ClauseSegmenter._at_bracket,
    ",": ClauseSegmenter._at_comma,
    ";": ClauseSegmenter._at_semicolon,
}


@cache
def _graphemes(pattern: str) -> re.Pattern[str]:
    # Imported where it is needed: most streams are ASCII at their borders and never pay for it.
    compiled: re.Pattern[str] = importlib.import_module("regex").compile(pattern)
    return compiled


def _end(pattern: re.Pattern[str], text: str, at: int, limit: int) -> int:
    match = pattern.match(text, at, limit)
    return match.end() if match else at


def _is_paragraph(gap: str) -> bool:
    return gap not in {" ", "\n"} and (len(_NEWLINE.findall(gap)) > 1 or "\u2029" in gap or "\f" in gap)


def split_clauses(text: str) -> list[str]:
    """The clauses of a whole text; joined, they are the text."""
    return [clause.text for clause in _clauses(text)]


def split_sentences(text: str) -> list[str]:
    """The sentences of a whole text; joined, they are the text."""
    sentences: list[str] = []
    start = 0
    for clause in _clauses(text):
        if clause.ends_sentence:
            sentences.append(text[start : clause.end])
            start = clause.end
    return sentences  # the last clause of a stream always ends a sentence


def _clauses(text: str) -> list[Clause]:
    segmenter = ClauseSegmenter()
    return segmenter.feed(text) + segmenter.finish()
