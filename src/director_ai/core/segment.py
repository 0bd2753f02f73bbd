"""Cuts a stream of text into clauses: lossless, in linear time, and wherever the tokens happen to end.

The segmenter keeps a buffer and looks for the next character that may end a clause. One rule per kind of character
then answers with a border, or with where to go on looking, or with None, when text that has not come yet could
change the answer. No rule looks further than `LOOKAHEAD` code points ahead, so what a rule answers depends on the text
alone and never on how it was cut into tokens, and nobody waits for long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from director_ai.core.borders import (
    AFTER_STOP,
    BULLETS,
    CLOSERS,
    LINE_ENDS,
    abbreviation,
    after_formula,
    ends_block,
    graphemes,
    is_enumerator,
    is_item,
    is_json_string,
    is_paragraph,
    is_schedule,
    is_statement,
    item_before,
    lines_differ,
    may_be_tag,
    may_end,
    small_start,
    splits_grapheme,
    verb_follows,
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
    """What a rule decided about one character that may end a clause."""

    resume: int
    """Where to look for the next candidate."""
    border: int
    """Where the clause ends; 0 for no border."""
    ends_sentence: bool = True


_Answer: TypeAlias = _Step | int | None
"""A number says only where to look for the next candidate."""

_FULL_STOPS = "。！？｡︒﹒﹖﹗؟۔।॥։።፧။។៕᠃᠉"  # of scripts that need no space after a sentence
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two of them make a flag

_CANDIDATE: dict[_Mode, re.Pattern[str]] = {
    "prose": re.compile(f"[.!?…‼⁇⁈⁉;,)`~$|#\\\\{BULLETS}{_FULL_STOPS}{LINE_ENDS}]"),
    "line": re.compile(f"[{LINE_ENDS}]"),
    "math": re.compile(f"[$\\\\{LINE_ENDS}]"),
    "code": re.compile("[`~]"),
}
_NEWLINE = re.compile(f"\r\n|[{LINE_ENDS}]")
_GAP = re.compile(r"\s*")
_BLANKS = re.compile(f"[^\\S{LINE_ENDS}]*")
_MATH_MARK = re.compile(r"\$+|\\[\\\[]?")
_NOT_IN_FORMULA = ").,;:!?/–—|]*_"  # after "$$" in a line these say that it is a price
_PAUSES = ".,;:)]}%&/"  # after a full stop and white space these go on with the sentence
_AFTER_FULL_STOP = re.compile(rf"[{_FULL_STOPS}!?….]+[{CLOSERS}]*\s*")
_INITIALS = frozenset("abcdefghjklmnopqrstuvwxyz")  # where names are in lower case, too; "i" is a word
_CONJUNCTION = re.compile(r"(?:and|but|so|or|yet)\s")
_ENTITY = re.compile(r"&#?\w+\Z")
_RUN = re.compile(r"`+|~+|#+")
_TICKS = re.compile(r"`+")
_REST_OF_LINE = re.compile(f"[^{LINE_ENDS}]*")
_FIRST_OF_LINE = re.compile(r"\S{1,12}")
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
            raise ConfigError("feed() was called after finish(); a new stream needs an object of its own")
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
            if isinstance(step, int):
                self._scan = step
                continue
            self._scan, border, ends_sentence = step
            if not border or splits_grapheme(text, border):
                continue
            if border - self._start > MAX_CLAUSE:
                clauses.append(self._force())
            elif not text[self._start : border].isspace():  # white space alone is no clause
                clauses.append(self._cut(border, ends_sentence=ends_sentence))
                self._scan = max(border, step.resume)
        self._trim()
        return clauses

    def _decide(self, at: int) -> _Answer:
        self._whole, self._limit = self._final, len(self._text)
        if self._limit > at + LOOKAHEAD:
            self._whole, self._limit = True, at + LOOKAHEAD
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
        if space and not splits_grapheme(self._text, space.end()):
            return self._cut(space.end(), ends_sentence=False)
        letters = MAX_CLAUSE - len(self._text[start:latest].rstrip(_FLAG_LETTERS))
        if letters and self._text[latest] in _FLAG_LETTERS:
            latest -= letters % 2  # counted here, since the search below is slow on long rows of flags
        elif not self._text[latest - 1 : latest + 1].isascii() or splits_grapheme(self._text, latest):
            # The longest row of whole clusters that leaves one for what stands at the limit.
            clusters = graphemes(r"(\X*)\X").match(self._text[start : latest + 1])
            latest = start + clusters.end(1) if clusters and clusters.end(1) else latest
        return self._cut(latest, ends_sentence=False)

    # Rules: what the character at an offset means. None asks for more text; nothing after `_limit` is read.

    def _at_stop(self, at: int) -> _Answer:
        if self._text[at + 1 : at + 2].isalnum() or is_enumerator(self._text, self._start, at):
            return at + 1
        item = item_before(self._text, self._start, at, self._limit, whole=self._whole)
        if item is None:
            return None
        if item:
            return _Step(at + 1, item)
        match = AFTER_STOP.match(self._text, at, self._limit)
        if match is None or (match.end() == self._limit and not self._whole and not (match["gap"] and match["word"])):
            return None
        run, close, gap, _, _ = match.groups()
        resume, end = match.end("close"), match.end("gap")
        if not self._whole and may_be_tag(self._text, resume, self._limit):
            return None
        before = self._text[max(self._start, at - 1) : at]
        if not (gap or ends_block(close)) or (before == "[" and close[:1] == "]"):  # "[...]" is an omission
            return resume
        if end == self._limit:
            return _Step(resume, end)
        if run == ". . . ." and match["word"] and gap == " " and before and not before.isspace():
            resume, end = end, at + 2  # the first dot is a stop, the rest an omission in the next sentence
        ends = self._stop_ends(at, match, complete=self._whole or match.end() < self._limit)
        if ends and close[:1] != '"' and is_json_string(self._text, self._start, at):
            ends = False
        return None if ends is None else _Step(resume, end if ends else 0)

    def _stop_ends(self, at: int, match: re.Match[str], *, complete: bool) -> bool | None:
        """Whether a stop ends a sentence; None if a word that is not `complete` must be known."""
        word, run = match["word"], match["run"]
        before, previous = self._words_before(at)
        if not word:
            return self._text[match.end() : match.end() + 1] not in _PAUSES and not abbreviation(before, previous)
        if word[0].islower():
            if not complete:
                return None
            is_plain = run in {".", "!", "?"} and not match["close"] and before not in _INITIALS
            if not small_start(word) and not (is_plain and (self._began_small(at) or small_start(word, before))):
                return False
        if " " in run:
            return run.count(".") > 3
        kind = abbreviation(before, previous) if run == "." else None
        if kind is None or not complete:
            return None if kind else True
        ends = may_end(kind, word, initial=self._text[match.end() : match.end() + 1] == ".")
        if kind == "company" and not ends and word[0].isupper() and word[1:].islower():
            return self._stands_alone(at) and verb_follows(self._text, match.end(), self._limit, whole=self._whole)
        return ends and not (kind == "time" and is_schedule(self._text, self._start, at))

    def _stands_alone(self, at: int) -> bool:
        """Whether the clause up to here is a statement, and short enough to find out."""
        return at - self._start <= _LONGEST_HALF and is_statement(self._text[self._start : at], whole_phrase=False)

    def _began_small(self, at: int) -> bool:
        """Whether the sentence began in lower case: who writes so begins the next one so, too."""
        letter = _LETTER.search(self._text, self._start, at)
        return letter is not None and letter[0].islower() and not self._inside

    def _words_before(self, at: int) -> tuple[str, str]:
        """The word that a stop ends, and the one before it."""
        words = self._text[max(self._start, at - 24) : at + 1].split()
        return words[-1][:-1].lstrip("\"'“‘«([{*_~—–-"), words[-2] if len(words) > 1 else ""

    def _at_full_stop(self, at: int) -> _Answer:
        end = _end(_AFTER_FULL_STOP, self._text, at, self._limit)
        if end == self._limit:
            return _Step(end, end) if self._whole else None
        # A Japanese or Chinese sentence goes on after what it quotes.
        goes_on = self._text[end - 1] in "」』”" and self._text[end] in "と、，"
        return _Step(end, 0 if goes_on or is_json_string(self._text, self._start, at) else end)

    def _at_newline(self, at: int) -> _Answer:
        text, limit = self._text, self._limit
        end = _end(_GAP, text, at, limit)
        if end == limit and not self._whole:
            return None
        first = _FIRST_OF_LINE.match(text, end, limit)
        if first is None or self._mode == "line" or is_paragraph(text[at:end]):
            self._line = end
            return _Step(end, end)
        if first.end() == limit and len(first[0]) < 12 and not self._whole:
            return None
        line = self._line if self._line <= at else self._start
        self._line = end
        breaks = lines_differ(text[max(line, self._start) : at].rstrip(), at - line, first[0])
        return _Step(end, end if breaks else 0)

    def _at_line_opener(self, at: int) -> _Answer:
        end = _end(_RUN, self._text, at, self._limit) if self._text[at] == "#" else at + 1
        if not self._opens_line(at):
            return end
        if self._text[at] == "|":
            self._mode, self._kind = "line", "row"
        elif end == self._limit and not self._whole:
            return None
        elif end - at <= 6 and self._text[end : end + 1].isspace():
            self._mode, self._kind = "line", "heading"
        return end

    def _opens_line(self, at: int) -> bool:
        """Whether only white space, quote marks or a list marker stand before this on its line."""
        if not self._fresh and self._line <= self._start:
            return False
        return _BEFORE_FENCE.fullmatch(self._text, max(self._line, self._start), at) is not None

    def _at_bullet(self, at: int) -> _Step:
        before = self._text[max(self._start, at - 2) : at]
        return _Step(at + 1, at if before[-1:].isspace() and before[0] not in BULLETS else 0)

    def _at_bracket(self, at: int) -> _Answer:
        if is_enumerator(self._text, self._start, at):
            return at + 1
        item = item_before(self._text, self._start, at, self._limit, whole=self._whole)
        return None if item is None else _Step(at + 1, item)

    def _at_fence(self, at: int) -> _Answer:
        text, limit = self._text, self._limit
        end = _end(_RUN, text, at, limit)
        line_end = _end(_REST_OF_LINE, text, end, limit)
        opens_code = end - at >= 3 and self._opens_line(at)
        if text[at] == "`":
            is_last = text.find("`", end, line_end) < 0
            for ticks in () if is_last else _TICKS.finditer(text, end, line_end):
                if len(ticks[0]) == end - at and ticks.end() < limit:
                    return ticks.end()
            opens_code = opens_code and is_last
        elif not opens_code and end < limit:
            return end
        if line_end == limit and not self._whole:
            return None
        if opens_code:
            self._mode, self._kind, self._fence = "code", "code", text[at:end]
        return end

    def _at_closing_fence(self, at: int) -> _Answer:
        text, limit = self._text, self._limit
        end = _end(_RUN, text, at, limit)
        before = text[max(self._start, at - 40) : at].rstrip(" \t>")
        opens_line = before[-1] in LINE_ENDS if before else self._fresh
        gap = _end(_GAP, text, end, limit)
        if gap == limit and not self._whole:
            return None
        if not opens_line or not text.startswith(self._fence, at):
            return end
        alone = gap == limit or _NEWLINE.search(text, end, gap) is not None
        return _Step(end, gap if alone else 0)

    def _at_math(self, at: int) -> _Answer:
        text, limit = self._text, self._limit
        end = _end(_MATH_MARK, text, at, limit)
        blanks = _end(_BLANKS, text, end, limit)
        if blanks == limit and not self._whole:
            return None
        mark = text[at:end]
        if mark not in {"$$", "\\["}:
            return end
        fence = "$$" if mark == "$$" else "\\]"
        if not self._opens_line(at):
            if mark == "$$" and (blanks > end or text[end : end + 1] in _NOT_IN_FORMULA):
                return end
        elif blanks == limit or text[blanks] in "\\" + LINE_ENDS:
            self._mode, self._fence = "math", fence
            return end
        return after_formula(text, end, limit, fence, whole=self._whole)

    def _in_math(self, at: int) -> _Answer:
        text, limit = self._text, self._limit
        if text[at] in LINE_ENDS:
            end = _end(_GAP, text, at, limit)
            if end == limit and not self._whole:
                return None
            return _Step(end, end if is_paragraph(text[at:end]) else 0)
        if at + 2 > limit and not self._whole:
            return None
        if text.startswith(self._fence, at):
            self._mode = "prose"
            return at + 2
        return at + 1

    def _at_comma(self, at: int) -> _Answer:
        if self._text[at + 1 : at + 2].isspace():
            match = _CONJUNCTION.match(self._text, at + 2, self._limit)
            if match:
                return self._between_statements(at, at + 2, match.end())
        return None if self._limit - at < 6 and not self._whole else at + 1

    def _at_semicolon(self, at: int) -> _Answer:
        end = _end(_GAP, self._text, at + 1, self._limit)
        if end == self._limit and not self._whole:
            return None
        if end == at + 1 or _ENTITY.search(self._text, max(self._start, at - 10), at):
            return at + 1
        return self._between_statements(at, end, _end(_CONJUNCTION, self._text, end, self._limit))

    def _between_statements(self, at: int, border: int, right: int) -> _Answer:
        """Cut the sentence where both sides of a comma or semicolon could stand alone."""
        follows = what_follows(self._text, right, self._limit, whole=self._whole)
        if follows is None:
            return None
        left = self._text[self._start : at]
        is_list = self._text[at] == "," and follows == "noun"
        if follows == "nothing" or len(left) > _LONGEST_HALF:
            return at + 1
        return _Step(at + 1, border if is_statement(left, whole_phrase=is_list) else 0, ends_sentence=False)


_RULES: dict[str, Callable[[ClauseSegmenter, int], _Answer]] = {
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


def _end(pattern: re.Pattern[str], text: str, at: int, limit: int) -> int:
    match = pattern.match(text, at, limit)
    return match.end() if match else at


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
