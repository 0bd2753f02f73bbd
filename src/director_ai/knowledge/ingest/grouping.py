"""Which sentences of a text stand in one passage."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from director_ai.core.borders import BULLETS, is_paragraph
from director_ai.core.segment import MAX_CLAUSE, ClauseSegmenter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.core.segment import Clause

__all__ = ["MOST_WORDS", "stretches"]

MOST_WORDS = 60
"""In a passage of several sentences: one that says more than one thing is evidence for neither."""
_LETTERS_A_WORD = 8  # in scripts that put no space between words, this many count as one

_GAP = re.compile(r"\s{2,}|[\f\u2029]")
_RULE_LINE = re.compile(r"\s*([-=_*~#+])(?:\s*\1)*\s*")
_BULLET = re.compile(rf"\s*[-*+–{BULLETS}]\s*(?=\S)")
_LEANS = re.compile(
    r"\W*(?:it|its|this|that|these|those|they|them|their|theirs|he|him|his|she|her|hers|such|there|here|then|thus|"
    r"therefore|hence|however|but|and|or|so|also|otherwise|instead|moreover|furthermore|both|neither)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence, or a clause of one that is far too long."""

    start: int
    end: int
    words: int
    leans: bool
    """It begins with a word that means something said before."""
    opens: bool
    """An item, a heading or a row: nothing before it belongs to it."""
    closes: bool
    """A heading or a row: nothing after it belongs to it."""


def stretches(text: str, most: int, *, is_row: bool = False) -> Iterator[tuple[int, int]]:
    """From where to where each passage of the text goes: at most so many sentences, and never over a blank line."""
    if is_row and len(text) <= MAX_CLAUSE:
        if text.strip():
            yield len(text) - len(text.lstrip()), len(text.rstrip())
        return
    for start, end in _paragraphs(text):
        batch: list[_Sentence] = []
        for sentence in _sentences(text[start:end], start):
            if sentence is not None:
                batch.append(sentence)
            else:
                yield from _grouped(batch, most)
                batch = []
        yield from _grouped(batch, most)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _GAP.finditer(text):
        if is_paragraph(gap[0]):
            yield start, gap.start()
            start = gap.end()
    yield start, len(text)


def _sentences(paragraph: str, base: int) -> Iterator[_Sentence | None]:
    """The sentences of a paragraph, and None for a line that was only drawn."""
    segmenter = ClauseSegmenter()
    clauses: list[Clause] = []
    for clause in segmenter.feed(paragraph) + segmenter.finish():
        clauses.append(clause)
        if clause.ends_sentence:
            is_long = clauses[-1].end - clauses[0].start > MAX_CLAUSE
            for part in [[one] for one in clauses] if is_long else [clauses]:
                text = paragraph[part[0].start : part[-1].end]
                bullet = _BULLET.match(text)
                if _RULE_LINE.fullmatch(text):
                    yield None
                elif bullet and part[0].kind == "item":
                    yield _sentence(text[bullet.end() :], base + part[0].start + bullet.end(), part[0])
                elif text.strip():
                    yield _sentence(text, base + part[0].start, part[0])
            clauses = []


def _sentence(text: str, start: int, first: Clause) -> _Sentence:
    return _Sentence(
        start=start + len(text) - len(text.lstrip()),
        end=start + len(text.rstrip()),
        words=max(len(text.split()), len(text) // _LETTERS_A_WORD),
        leans=_LEANS.match(text) is not None,
        opens=first.kind != "prose",
        closes=first.kind in {"heading", "row", "code"},
    )


def _grouped(sentences: Sequence[_Sentence], most: int) -> Iterator[tuple[int, int]]:
    """Cut where the fewest groups begin with a word that leans on another; then few groups, of even size."""
    best: list[tuple[tuple[int, int, int], int]] = [((0, 0, 0), 0)]  # up to each sentence: the cost, the last cut
    for end in range(1, len(sentences) + 1):
        choices = []
        words = 0
        for start in range(end - 1, max(end - 1 - most, -1), -1):
            sentence = sentences[start]
            words += sentence.words
            if start < end - 1 and (sentence.closes or words > MOST_WORDS):
                break
            leaning, groups, unevenness = best[start][0]
            choices.append(((leaning + sentence.leans, groups + 1, unevenness + words**2), start))
            if sentence.opens:
                break
        best.append(min(choices))
    cuts = [len(sentences)]
    while cuts[-1]:
        cuts.append(best[cuts[-1]][1])
    cuts.reverse()
    for start, end in pairwise(cuts):
        yield sentences[start].start, sentences[end - 1].end
