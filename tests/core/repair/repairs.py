"""Streams to repair: texts that any seed makes, three drivers, and a ledger of what was judged before it was shown."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import anyio

from director_ai.core.streaming_repair import REDACTED_CLAUSE, RepairResult, StreamingRepairer
from director_ai.testing import ScriptedTokens
from drivers import Driver

THRESHOLD = 0.6
WORD = re.compile(r"(?:ok|no|re)\d+z", re.IGNORECASE)
BAD = re.compile(r"no\d+z", re.IGNORECASE)
"""Each word of a generated stream is there once, so that it says which clause it came from: `ok7z`, `no8z`."""
EMAIL = re.compile(r"jo\d+@example\.org", re.IGNORECASE)
_MARKS = frozenset("#*>_`~|•·–—-\"'“”‘’([")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s")

SHAPES = (
    "{} is {} and {}. ",
    "{} costs 3.14 euros, e.g. {} at 9 a.m. for {}! ",
    "Does {} know {} of {}?\n",
    "{} e.g. {}. and {} ",
    "- {} {}\n- {}\n",
    "1. {} is {}.\n2. {}\n",
    "# {} {}\n\n{}. ",
    "| {} | {} | {} |\n",
    "> {} said: “{} is {}.” ",
    "{}は{}です。{}。",
    "Dr. {} and J. R. {} of v2.0.1 {}... ",
    "{}; {} is so, but {} is not. ",
    "**{}** {} {}.** \n\n",
    "`{}` {} ({}). ",
    "{} {} {} ",
    "write to jo1@example.org of {}, {} or {}. ",
    "\t{}\r\n{}\u2028{}.  ",
    "Straße 👩‍👩‍👧 {} e\u0301 {} 🇩🇪 {}. ",
)


class Words:
    """Hands out words, each of them once."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._count = chance, 0

    def __call__(self, kind: str = "") -> str:
        self._count += 1
        word = f"{kind or ('no' if self._chance.random() < 0.12 else 'ok')}{self._count}z"
        return word.capitalize() if self._chance.random() < 0.4 else word

    def text(self, most: int = 7) -> str:
        """A text of some sentences, items, headings, rows and whatever else there is."""
        shapes = self._chance.choices(SHAPES, k=self._chance.randint(1, most))
        text = "".join(shape.format(self(), self(), self()) for shape in shapes)
        return text.rstrip() if self._chance.random() < 0.4 else text

    def json(self) -> str:
        """The same in the values of a JSON object."""
        rows = []
        for place in range(self._chance.randint(1, 4)):
            value = self._chance.choice((f"{self()}", f"{self()} {self()}", self.text(3), self.text(2)))
            written = "".join(_escaped(sign, self._chance) for sign in value)
            rows.append(f'"key{place}": {self._chance.choice(("", "  "))}"{written}"')
            rows.append(self._chance.choice(('"n": 5', '"f": [true, null, -1.5e3]', '"empty": "", "d": {}')))
        return "{" + ", ".join(rows) + "}"


def _escaped(sign: str, chance: random.Random) -> str:
    simple = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    if sign in simple:
        return simple[sign]
    return f"\\u{ord(sign):04x}" if 127 < ord(sign) < 0x10000 and chance.random() < 0.5 else sign


def cut(text: str, chance: random.Random) -> list[str]:
    """A random partition, with empty tokens now and then."""
    most = chance.choice((1, 3, 8, 30, 400))
    tokens, at = [], 0
    while at < len(text):
        size = chance.randint(0 if chance.random() < 0.1 else 1, most)
        tokens.append(text[at : at + size])
        at += size
    return tokens


class Ledger:
    """A scorer that keeps what it passed, and a reader that accepts nothing else.

    `changed` is what checks beside the repair do to a text, `folded` tells that they change its letters.
    """

    def __init__(self, changed: Callable[[str], str] = str, *, folded: bool = False) -> None:
        self.asked: list[str] = []
        self._bodies: dict[str, list[tuple[str, int]]] = {}
        self._wordless: list[str] = []
        self._changed, self._fold = changed, str.lower if folded else str
        self.shown, self._folded, self._read = "", "", 0

    def score(self, clause: str) -> float:
        self.asked.append(clause)
        if BAD.search(clause):
            return 0.59
        body = self._fold(self._changed(clause))
        for found in WORD.finditer(body):
            self._bodies.setdefault(found[0].lower(), []).append((body, found.start()))
        if not WORD.search(body):
            self._wordless.append(body.removeprefix(self._fold(REDACTED_CLAUSE)))
        return THRESHOLD

    def scores(self, clauses: Sequence[str]) -> list[float]:
        return [self.score(clause) for clause in clauses]

    def was_passed(self, word: str) -> bool:
        return word.lower() in self._bodies

    def see(self, piece: str) -> None:
        """Read on: all but white space, marks and placeholders must be of a text that was passed by now."""
        self.shown += piece
        self._folded += self._fold(piece)
        while self._read < len(self._folded):
            step = self._step(self._folded, self._read)
            if step is None:
                return
            self._read += step

    def see_json(self, piece: str) -> None:
        """Read on where the text is written in JSON: its words must be of texts that were passed by now."""
        self.shown += piece
        for word in WORD.findall(self.shown[max(0, len(self.shown) - len(piece) - 12) :]):
            assert self.was_passed(word), word

    def _step(self, shown: str, at: int) -> int | None:
        """Return how far the reading goes on from a place; None where a text that was passed is not all there yet."""
        if shown.startswith(self._fold(REDACTED_CLAUSE), at):
            return len(REDACTED_CLAUSE)
        for body, place in self._at(shown, at):
            rest = shown[at : at + len(body) - place]
            if body.startswith(rest, place):
                return len(rest) if place + len(rest) == len(body) else None
        if shown[at].isspace() or shown[at] in _MARKS:
            return 1
        numbered = _NUMBERED.match(shown, at)
        if numbered:
            return numbered.end() - at
        waiting = shown[at:]
        if len(waiting) < 40 and not WORD.search(waiting):
            return None  # which text it is of, its first word will tell
        raise AssertionError(f"not judged: {waiting[:60]!r}")

    def _at(self, shown: str, at: int) -> Iterator[tuple[str, int]]:
        """Texts that may stand at a place, each with where in it the place is: by the next word, or by the one before."""
        before = [*WORD.finditer(shown, max(0, at - 60), at)][-1:]
        for word in filter(None, [WORD.search(shown, at, at + 60), *before]):
            for body, place in self._bodies.get(word[0].lower(), ()):
                here = place + at - word.start()
                if 0 <= here < len(body) and body[place:here] == shown[word.start() : at]:
                    yield body, here
        yield from ((body, 0) for body in self._wordless if body)

    def close(self) -> None:
        """The stream is over: what was shown was read to its end."""
        rest = self._folded[self._read :]
        is_part = not rest or any(body.startswith(rest, place) for body, place in self._at(self._folded, self._read))
        assert is_part, f"not judged: {rest[:60]!r}"


def repair_stream(
    driver: Driver, repairer: StreamingRepairer, tokens: Iterable[Any], **options: Any
) -> tuple[list[str], RepairResult]:
    """Run a stream to its end; the tokens come from an asynchronous source where the driver is asynchronous."""
    if driver.name == "sync":
        with repairer.stream(tokens, **options) as stream:
            return [piece.text for piece in stream], stream.result

    async def main() -> tuple[list[str], RepairResult]:
        source = ScriptedTokens(tokens) if isinstance(tokens, list) else tokens
        async with repairer.astream(source, **options) as stream:
            return [piece.text async for piece in stream], stream.result

    return anyio.run(main, backend=driver.name)
