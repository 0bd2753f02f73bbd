"""Finds the words that turn a statement around: negations, quantifiers, comparatives and antonyms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from director_ai.core.scoring.slots.lexicon import TURN
from director_ai.core.scoring.slots.values import Slot, SlotKind
from director_ai.core.scoring.slots.word_lists import (
    AUXILIARIES,
    CONTRASTS,
    DIRECTIONS,
    DO_FORMS,
    NEGATION_CUES,
    NEGATIVE_VERBS,
    QUANTIFIERS,
    SKIPPED_AFTER_CUE,
)

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["Placed", "affirmation", "find_polarity", "is_cue"]

_REACH = 5  # how many words after "not" its predicate may stand
_FALSE_NEGATIONS = frozenset({"only", "just", "least", "merely", "simply", "until"})


class Placed(NamedTuple):
    """A slot and the tokens it covers."""

    slot: Slot
    first: int
    last: int
    predicate: int = -1
    """The token a negation negates."""


def is_cue(t: Tokens, i: int) -> bool:
    """Whether token `i` negates what follows."""
    word = t.words[i]
    if word in NEGATION_CUES or word.endswith("n't"):
        return not (word == "no" and t.words[i + 1] == "." and t.kinds[i + 2] == "number")
    return t.stems[i] in NEGATIVE_VERBS and (t.words[i + 1] == "to" or word.startswith("lack"))


def find_polarity(t: Tokens, taken: bytearray) -> list[Placed]:
    """Every slot of these kinds outside the tokens that are already `taken` by a value."""
    found: list[Placed] = []
    negations: list[Placed] = []
    for i in t.marked:
        if not t.flags[i] & TURN or taken[i]:
            continue
        word = t.words[i]
        if is_cue(t, i):
            placed = _negation(t, i, taken)
            if negations and i <= negations[-1].last:
                negations.pop()  # two negations of one word cancel out
            elif placed:
                negations.append(placed)
        if word in QUANTIFIERS:
            placed = _quantifier(t, i)
            if placed:
                found.append(placed)
        elif word in DIRECTIONS:
            if t.stems[i - 1] == "go":
                start, end, text = t.span(i - 1, i)
                slot = Slot(kind="comparative", start=start, end=end, text=text, value=DIRECTIONS[word])
                found.append(Placed(slot, i - 1, i))
        elif (
            t.stems[i] in CONTRASTS
            and word != "days"
            and not (t.words[i - 1] in {"no", "-"} and (t.touches(i) or t.words[i - 1] == "no"))
        ):
            kind = cast("SlotKind", CONTRASTS[t.stems[i]][0][2])
            start, end, text = t.span(i, i)
            found.append(Placed(Slot(kind, start, end, text, t.stems[i]), i, i))
    return found + negations


def _negation(t: Tokens, i: int, taken: bytearray) -> Placed | None:
    after = t.words[i + 1]
    word = t.words[i]
    if (
        after in _FALSE_NEGATIONS
        or t.words[i - 1] in {"or", "if"}
        or t.words[i - 2] == "or"
        or (word == "not" and after in {"all", "every"})
    ):
        return None
    predicate = -1
    reach = 1 + (after == "-") if word == "non" else _REACH
    for j in range(i + 1, i + 1 + reach):
        if t.kinds[j] not in {"word", "dotted"}:
            if t.words[j] in {"-", '"', "“", "'", "‘"} or t.kinds[j] == "number":
                continue
            break
        if t.words[j] in {"and", "but", "or", "because", "if", "when"} or (taken[j] and t.kinds[j] == "dotted"):
            break
        if t.words[j] not in SKIPPED_AFTER_CUE and not (t.words[j].endswith("ly") and len(t.words[j]) > 4):
            predicate = j
            break
    first = i
    if word in {"not", "n't", "never"} and t.words[i - 1] in DO_FORMS:
        first = i - 1
    last = max(i, predicate)
    start, end, text = t.span(first, last)
    value = t.stems[predicate] if predicate >= 0 else ""
    slot = Slot(kind="negation", start=start, end=end, text=text, value=value, unit="negated")
    return Placed(slot, first, last, predicate)


def affirmation(t: Tokens, i: int, *, with_auxiliary: bool) -> Placed:
    """The slot for a predicate that is not negated, as the counterpart of one that is."""
    first = i
    if with_auxiliary:
        for j in range(i - 1, max(i - 4, -1), -1):
            if t.words[j] in AUXILIARIES:
                first = j
                break
            if t.words[j] not in SKIPPED_AFTER_CUE:
                break
    start, end, text = t.span(first, i)
    slot = Slot(kind="negation", start=start, end=end, text=text, value=t.stems[i], unit="affirmed")
    return Placed(slot, first, i, i)


def _quantifier(t: Tokens, i: int) -> Placed | None:
    word, first = t.words[i], i
    scale, place = QUANTIFIERS[word]
    if word == "most" and t.words[i - 1] in {"the", "at", "a"}:
        return None  # the superlative
    if word == "few" and t.words[i - 1] in {"a", "the", "quite", "last", "first", "next"}:
        return None  # "a few" is some, and says little
    if word in {"all", "every"} and t.words[i - 1] == "not":
        first, place = i - 1, 2
    if (
        word in {"all", "most", "some"}
        and t.words[i - 1] in {"at", "after", "of", "for", "in"}
        and t.words[i + 1] == "."
    ):
        return None
    if word == "all" and t.words[i + 1] == "-":
        return None
    last = i + 1 if word in {"every", "each"} and t.words[i + 1] == "single" else i
    start, end, text = t.span(first, last)
    return Placed(Slot(kind="quantifier", start=start, end=end, text=text, value=(place,), unit=scale), first, last)
