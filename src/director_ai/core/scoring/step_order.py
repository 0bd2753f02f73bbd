"""Does an answer tell the steps of a procedure in another order than a fact does?

Each sentence of such an answer may be true by itself, so no judge of single clauses sees the error. The parts of the
clauses so far are matched to the steps of a fact, and a part that follows a later step contradicts it. Whatever cannot
be matched for sure is passed over.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["is_out_of_order", "steps_of"]

Step = frozenset[str]

_LEAST_STEPS: Final = 2
_LEAST_NUMBERED: Final = 3
_MOST_TEXT: Final = 4_000
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+(?:[.:,]\d+)*")
_NEXT: Final = (
    r"(?:(?:and|but)\s+)?(?:(?:only|just)\s+)?"
    r"(?:then|(?:(?<![\w'’] )|(?<=and )|(?<=then ))next|finally|lastly|last of all|afterwards?|subsequently|thereafter|"
    r"followed by|"
    r"(?:after|once|when|from)\s+(?:that|this|which)(?:['’]s|\s+is|\s+has\s+been)?(?:\s+(?:done|finished|complete))?|"
    r"secondly|thirdly|the (?:second|third|last|final) step is|finish (?:off )?by|end by)\b"
)
_FORWARD: Final = re.compile(rf"(?:^|[\s,;:.–—-])({_NEXT})[\s,]*", re.IGNORECASE)
_BEGINS: Final = r"\b(?:start|begin|starts|begins) (?:off )?(?:by|with)\b"
_FIRST: Final = re.compile(rf"\bfirst(?:ly| of all)?\b|{_BEGINS}", re.IGNORECASE)
_IS_FIRST: Final = re.compile(rf"\bfirst[\s.!,;:]*$|{_BEGINS}", re.IGNORECASE)
"""Says of a whole part that it is the first; "the first leg" and "first, …" do not say so much."""
_TURNED: Final = re.compile(
    r"\b(?:after|before|once|when|unless|while|as soon as|if)\b|(?:\bnot\b|n['’]t\b|\bnever\b).*\b(?:until|till)\b",
    re.IGNORECASE | re.DOTALL,
)
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(*_])|\n+")
_NUMBERED: Final = re.compile(r"(?:(?<=^)|(?<=[\s:;]))(\d{1,2})[.)]\s+")
_BULLET: Final = re.compile(r"^\s*(\d{1,2})[.)]\s+")
_LEAST_SHARE: Final = 0.5
_CLEARLY: Final = 1.5
"""How many times better the best step must fit than the second best."""
_FORM: Final = 5
_LIGHT: Final = frozenset(map(stem, "step make get take go put come need want please also".split()))


class _Part(NamedTuple):
    """A part of a sentence, and how it follows what was said before."""

    stems: Step
    follows: bool
    """A word or a number says that it comes after the part before it."""
    is_first: bool
    """A word says that it is the first of all."""


def is_out_of_order(clause: str, preceding: Sequence[str], facts: Sequence[str], question: str = "") -> bool:
    """Whether a clause tells a step after a later one, or calls a later step the first, against a fact.

    Args:
        clause: What is judged, as it was said.
        preceding: The clauses before it, the nearest last.
        question: What was asked. Whoever asks about the steps after one gets another first step.
    """
    parts = list(_parts_of(clause))
    if not parts or not (len(parts) > 1 or parts[0].follows or parts[0].is_first):
        return False
    before = [part for text in preceding for part in _parts_of(text)]
    asked = _stems(question[:_MOST_TEXT])
    return any(
        _contradicts(parts, before, procedure, asked) for fact in facts for procedure in steps_of(fact[:_MOST_TEXT])
    )


def _contradicts(parts: list[_Part], before: list[_Part], procedure: Sequence[Step], asked: Step) -> bool:
    reached = _place(before[-1].stems, procedure) if before else None
    if reached is None and len(before) > 1:  # "That takes two days." may stand between two steps
        reached = _place(before[-2].stems, procedure)
    for part in parts:
        place = _place(part.stems, procedure)
        if place is None:
            continue
        if part.follows and reached is not None and place < reached:
            return True
        if part.is_first and place > 0 and reached is None:
            done = any(_fit(asked, step, procedure) > _LEAST_SHARE for step in procedure[:place])
            if not done:
                return True
        reached = place
    return False


def _parts_of(text: str) -> Iterator[_Part]:
    """Return the parts of a text between the words that put things in order; nothing of a sentence that turns it."""
    bullet = _BULLET.match(text)
    follows = bullet is not None and int(bullet[1]) > 1
    for sentence in _SENTENCE.split(text[bullet.end() :] if bullet else text):
        pieces = _FORWARD.split(sentence)
        if any(_TURNED.search(piece) for piece in pieces[::2]):
            follows = False
            continue
        for number, piece in enumerate(pieces[::2]):
            stems = _stems(_FIRST.sub(" ", piece))
            if stems:
                yield _Part(stems, follows or number > 0, number == 0 and _IS_FIRST.search(piece) is not None)
                follows = False
            elif number:
                follows = True


@functools.lru_cache(maxsize=512)
def steps_of(fact: str) -> tuple[tuple[Step, ...], ...]:
    """Return the procedures of a fact: numbered steps, or parts of a sentence that "first", "then", "finally" join."""
    numbered = _numbered(fact)
    found = [numbered] if numbered else [_joined(text) for text in _runs(fact)]
    return tuple(tuple(steps) for steps in found if len(steps) >= _LEAST_STEPS)


def _numbered(fact: str) -> list[Step]:
    run: list[re.Match[str]] = []
    for mark in _NUMBERED.finditer(fact):
        if int(mark[1]) == len(run) + 1:
            run.append(mark)
    if len(run) < _LEAST_NUMBERED:
        return []
    ends = [*(mark.start() for mark in run[1:]), len(fact)]
    return [_stems(fact[mark.end() : end].split("\n\n", maxsplit=1)[0]) for mark, end in zip(run, ends, strict=True)]


def _runs(fact: str) -> Iterator[str]:
    """Return each sentence that orders things, with those after it that go on: "First … . Then … . Finally … ."."""
    run: list[str] = []
    for sentence in _SENTENCE.split(fact):
        goes_on = re.match(rf"[\s\"'(*_]*{_NEXT}", sentence, re.IGNORECASE) is not None
        if run and not goes_on:
            yield "\n".join(run)
            run = []
        if goes_on or _FORWARD.search(sentence) or _FIRST.search(sentence):
            run.append(sentence)
    if run:
        yield "\n".join(run)


def _joined(text: str) -> list[Step]:
    if not _FORWARD.search(text):
        return []
    text = text.split(": ", 1)[-1] if ";" in text else text
    steps = []
    for sentence in re.split(r"[;\n]", text):
        for piece in _FORWARD.split(sentence)[::2]:
            stems = _stems(_FIRST.sub(" ", piece))
            if stems:
                steps.append(stems)
    return steps


def _stems(text: str) -> Step:
    return frozenset(stem(word) for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS) - _LIGHT


def _place(said: Step, procedure: Sequence[Step]) -> int | None:
    """Return which step is told; None unless one fits, and clearly better than any other."""
    fits = sorted(((_fit(said, step, procedure), at) for at, step in enumerate(procedure)), reverse=True)
    (best, at), (second, _) = fits[0], fits[1]
    return at if best >= _LEAST_SHARE and best >= _CLEARLY * second else None


def _fit(said: Step, step: Step, procedure: Sequence[Step]) -> float:
    """Return how much of a step, or of what is said, the other has; words that many steps have count less."""

    def weight(word: str) -> float:
        return 1.0 / sum(word in each for each in procedure)

    shared = sum(weight(word) for word in step if _has(word, said))
    whole = sum(weight(word) for word in step)
    if not shared:
        return 0.0
    return max(shared / whole, min(shared, 2.0) / 2.0 * len(_shared(said, step)) / len(said))


def _shared(said: Step, step: Step) -> set[str]:
    return {word for word in said if _has(word, step)}


def _has(word: str, known: Step) -> bool:
    if word in known:
        return True
    return len(word) >= _FORM and any(len(other) >= _FORM and word[:_FORM] == other[:_FORM] for other in known)
