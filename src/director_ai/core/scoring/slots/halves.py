"""Cuts a sentence into the halves that "but", "whereas" or a semicolon join, and compares half with half.

A half that negates is the contrary only of one that speaks of the same: of "Dogs are allowed, but cats are not", a
claim about cats meets the second half, with what that leaves unsaid.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.lexicon import LEXICON, NEGATIVE
from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.polarity import affirmation, is_cue
from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.values import Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import AUXILIARIES, CONTRASTS, LIGHT_STEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading
    from director_ai.core.scoring.slots.tokens import Tokens

__all__ = ["compare_halves", "compare_turned_halves", "is_same_half"]


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


_STRONG = frozenset("; : – — but although though while whereas because unlike so whom which whose".split())
_WEAK = frozenset({",", "and", "who", "(", ")"})
_BORDERS = _STRONG | _WEAK
_VERBAL = AUXILIARIES | frozenset("not cannot never n't costs cost pay pays".split())
_BANS = _stems("forbid forbidden prohibit ban bar disallow impossible exclude illegal unlawful optional voluntary")
_RULING = _BANS | _stems(
    "allow permit permission possible able entitle authorize authorise welcome accept available eligible include legal "
    "compulsory mandatory required obligatory must wear offer cover suitable intend mean fine run place happen"
)
_DUTIES = _stems("must need require compulsory mandatory obligatory obliged optional voluntary needn't should")
_PAYING = _stems("cost pay charge fee price free chargeable bill")
_ACTORS = _stems("visitor customer guest people person user you one anyone everyone thing something")
_BLANK = (LIGHT_STEMS | _RULING | _ACTORS | {""}) - _PAYING
_VAGUE = frozenset(
    "unless except apart besides than if only until till otherwise rather instead hardly rarely barely seldom unlike "
    "just alone merely whether".split()
)
"""Words with which the contrary may hold of what they leave out."""
_LIMITS = frozenset(
    (
        "after before within above below over under beyond past more less least most since further longer again first "
        "last second already all every always often sometimes usually other another once additional extra own "
        "immediately automatically when during each full fully half part new out off down away yet still"
    ).split()
)
_NOBODY = frozenset({"none", "nobody", "nothing", "nowhere"})
_CARRIERS = AUXILIARIES | {"need", "dare"}
_WHOLE = frozenset("all every always each necessarily everyone everything".split())
_LIKE = frozenset({"like", "unlike"})
_BARE = frozenset({"not", "never", "none", "nothing"})
_PRONOUNS = frozenset("they it he she these this that".split())
_NOUN_CUES = frozenset({"no", "without", "neither", "nor", "non"})
_SEEN_FROM_EITHER_SIDE = _stems(
    "buy purchase sell borrow lend win lose employer employee landlord tenant buyer seller before after prior ahead "
    "behind above below father dad mother mom mum brother sister uncle aunt son daughter nephew niece husband wife "
    "earn spend save victory defeat join leave arrive depart day night morning evening afternoon"
)
_NO_KEY = frozenset({""})
_LEAST, _SOME = 0.8, 0.6
_MOST = 120
_REACH = 6


class Half(NamedTuple):
    """A part of a sentence with a verb of its own, or that leaves it unsaid."""

    first: int
    end: int
    own: frozenset[str]
    keys: frozenset[str]
    """Its words, and those it takes from the half before."""
    negated: bool = False
    """It is a bare "not" that turns the half before: "but not on Mondays"."""


def _key(t: Tokens, i: int) -> str:
    """What a word is known by again; "free" in "salt-free" is not about money."""
    key = _known_by(t.words[i])
    return key if key != "pay" or t.words[i - 1] != "-" else ""


@lru_cache(maxsize=20_000)
def _known_by(word: str) -> str:
    """The beginning of a word's stem, whatever its prefix."""
    if not word:
        return ""
    entry = LEXICON[word]
    root = entry.stem
    if root in _PAYING:
        return "pay"
    if root in _BLANK or not entry.topic:
        return ""
    if entry.flags & NEGATIVE and len(root) > 5 and root.startswith(("un", "non")):
        root = root[2:] if root[0] == "u" else root[3:]
    return root[:5] if root.isalnum() and root not in _RULING else ""


def _keys(reading: Reading, first: int, end: int) -> frozenset[str]:
    words = reading.t.words[first:end]
    if 1 in reading.taken[first:end] or "-" in words:
        t, taken = reading.t, reading.taken
        return frozenset([_key(t, i) for i in range(first, end) if taken[i] != 1]) - _NO_KEY
    return frozenset(map(_known_by, words)) - _NO_KEY


@kept
def _halves(reading: Reading, sentence: int) -> list[Half]:
    """The halves of a sentence, in order."""
    t = reading.t
    words = t.words
    start, end = t.sentences[sentence]
    end = min(end, start + _MOST)
    if words[start] in {"no", "yes"} and words[start + 1] == ",":
        start += 2
    found: list[Half] = []
    for i in [*[i for i in range(start, end) if words[i] in _BORDERS], end]:
        if i < start or (i < end and not _is_border(t, start, i, end)):
            continue
        if i > start:
            found.append(_complete(reading, start, i, found[-1] if found else None))
        start = i + 1
    return [half for half in found if half.own]


def _complete(reading: Reading, first: int, end: int, before: Half | None) -> Half:
    """A half with the words that it leaves to the one before."""
    t, own = reading.t, _keys(reading, first, end)
    if before is None:
        return Half(first, end, own, own)
    if t.words[first] in _BARE and not before.negated:
        return Half(first, end, own, own | before.keys, negated=True)
    if _is_elliptic(t, first, end):
        return Half(first, end, own, own | before.keys)
    if t.words[first] in _PRONOUNS or _is_verbal(t, first):
        verb = next((i for i in range(before.first, before.end) if _is_verbal(t, i)), before.end)
        return Half(first, end, own, own | _keys(reading, before.first, verb))
    return Half(first, end, own, own)


def _is_border(t: Tokens, first: int, i: int, end: int) -> bool:
    """Whether a word joins two statements: both have a verb, or the second leaves it to the first."""
    if t.words[i] in _STRONG:
        return t.words[i + 1] != "of"
    if _is_verbal(t, i + 1) or t.words[i + 1] in _BARE or t.words[first] in _LIKE or t.words[first + 1] == "like":
        return True
    right = next((j for j in range(i + 1, end) if t.words[j] in _BORDERS), end)
    if _is_elliptic(t, i + 1, right):
        return True
    return any(_is_verbal(t, j) for j in range(i + 1, right)) and any(_is_verbal(t, j) for j in range(first, i))


def _is_verbal(t: Tokens, i: int) -> bool:
    """Whether a word makes a statement of the words around it."""
    return t.words[i] in _VERBAL or t.words[i].endswith("n't") or t.stems[i] in _RULING


def _is_elliptic(t: Tokens, first: int, end: int) -> bool:
    """Whether the words leave their verb to others: "but cats are not"."""
    last = end - 1
    if last > first and t.words[last] in {".", ","}:
        last -= 1
    word = t.words[last]
    return word in AUXILIARIES or word.endswith("n't") or word in {"not", "cannot"}


class _Sense(NamedTuple):
    """What turns a half around."""

    turns: int
    """How many words do, or -1 where that cannot be told."""
    place: int
    """The last of them, or -1."""


_UNKNOWN = _Sense(-1, -1)


def _sense(reading: Reading, half: Half, shared: frozenset[str], others: Sequence[str]) -> _Sense:
    """How a half is meant, as far as the words that the other half shares are concerned."""
    t = reading.t
    count, place = 0, -1
    for i in range(half.first, half.end):
        if not t.flags[i] & NEGATIVE or reading.taken[i] == 1:
            continue
        word = t.words[i]
        if is_cue(t, i) or word in _NOBODY:
            if not _reaches(t, i, half, shared):
                return _UNKNOWN
        elif t.stems[i] in others:
            continue
        elif word == "free":
            after = t.words[i + 1 : i + 3]
            if t.words[i - 1] == "-" or after[0] in {"to", "from"} or "pay" not in shared:
                return _UNKNOWN
            if after[0] == "of" and _key(t, i + 2) != "pay":
                return _UNKNOWN
        elif t.stems[i] not in _BANS and not _is_opposed(t, i, shared):
            return _UNKNOWN
        count, place = count + 1, i
    return _Sense(count, place)


def _is_opposed(t: Tokens, i: int, shared: frozenset[str]) -> bool:
    """Whether a prefix turns a word that the other half has too, or one that rules."""
    word = t.words[i]
    if not word.startswith(("un", "non")):
        return False
    return _key(t, i) in shared or t.stems[i][2 if word[0] == "u" else 3 :] in _RULING


def _reaches(t: Tokens, i: int, half: Half, shared: frozenset[str]) -> bool:
    """Whether a cue negates what both halves speak of."""
    word = t.words[i]
    if half.negated and i == half.first:
        return True
    if word == "not" and _CARRIERS.isdisjoint(t.words[max(0, i - 3) : i]):
        return False  # of a noun, as in "Agra, not Delhi"
    if word in _NOBODY and not _is_shared_object(t, i, shared):
        return False
    if t.words[i + 1] in _WHOLE or (word == "neither" and t.words[i + 1] in AUXILIARIES):
        return False
    for j in range(i + 1, min(i + _REACH, half.end)):
        if t.stems[j] in _RULING:
            return True
        key = _key(t, j)
        if key:
            return key in shared
    return word not in _NOUN_CUES


def _is_shared_object(t: Tokens, i: int, shared: frozenset[str]) -> bool:
    """Whether the verb that "nothing" goes with is one that both halves have."""
    verbs = [key for key in (_key(t, i - 1), _key(t, i - 2)) if key]
    return not verbs or verbs[0] in shared


def compare_turned_halves(
    claim: Reading, word: Placed, evidence: Reading, sentences: list[int]
) -> SlotDifference | None:
    """The opposite of a word, in the half of the evidence that has all the other words of the claim's half."""
    t, other = claim.t, evidence.t
    root = t.stems[word.first]
    if root not in CONTRASTS or root in _SEEN_FROM_EITHER_SIDE:
        return None
    mine = _half_of(claim, word.first)
    if mine is None or "than" in t.words[mine.first : mine.end]:
        return None
    rest = mine._replace(own=mine.own - {_key(t, word.first)})
    theirs = _counterpart(rest, _candidates(rest, evidence, sentences))
    if theirs is None or root in other.stems[theirs.first : theirs.end]:
        return None
    sides = {group: side for group, side, _ in CONTRASTS[root]}
    places = [i for i in range(theirs.first, theirs.end) if other.stems[i] in CONTRASTS and not evidence.taken[i]]
    found = [(i, group, side) for i in places for group, side, _ in CONTRASTS[other.stems[i]] if group in sides]
    if not found or any(sides[group] == side for _, group, side in found):
        return None
    i = found[0][0]
    if _vagueness(t, mine) != _vagueness(other, theirs) or not _covers(claim, rest, evidence, theirs, (word.first, i)):
        return None
    if _count_negatives(claim, mine) != _count_negatives(evidence, theirs):
        return None
    return SlotDifference(
        kind=word.slot.kind, claim=word.slot, evidence=affirmation(other, i, with_auxiliary=False).slot
    )


def _count_negatives(reading: Reading, half: Half) -> int:
    t = reading.t
    return sum(
        t.flags[i] & NEGATIVE != 0 and reading.taken[i] != 1 and t.stems[i] not in CONTRASTS
        for i in range(half.first, half.end)
    )


def compare_halves(claim: Reading, sentence: int, evidence: Reading, sentences: list[int]) -> list[SlotDifference]:
    """The half of the claim whose contrary the evidence says in the same words."""
    if sentence not in _negative_sentences(claim) and _negative_sentences(evidence).isdisjoint(sentences):
        return []
    for mine in _halves(claim, sentence):
        if len(mine.own) < 2 or mine.negated or mine.keys != mine.own or _vagueness(claim.t, mine):
            continue
        theirs = _counterpart(mine, _candidates(mine, evidence, sentences))
        if theirs is None or _vagueness(evidence.t, theirs) or not _covers(claim, mine, evidence, theirs):
            continue
        a = _sense(claim, mine, theirs.keys, evidence.t.stems[theirs.first : theirs.end])
        b = _sense(evidence, theirs, mine.keys, claim.t.stems[mine.first : mine.end])
        if a.turns < 0 or b.turns < 0 or a.turns % 2 == b.turns % 2:
            continue
        if not _is_same_mode(claim.t, mine, evidence.t, theirs, is_claim_negated=a.turns % 2 == 1):
            continue
        return [SlotDifference(kind="negation", claim=_slot(claim, mine, a.place), evidence=None)]
    return []


def is_same_half(
    claim: Reading, i: int, evidence: Reading, j: int, sentences: list[int], *, is_claim_negated: bool | None
) -> bool:
    """Whether the half of the claim's token `i` speaks of what the half of the evidence's token `j` does.

    Of opposite words neither is negated: then `is_claim_negated` is None.
    """
    mine, theirs = _half_of(claim, i), _half_of(evidence, j)
    if mine is None or theirs is None:
        return False
    word = _key(claim.t, i)
    places = [k for k in range(_body(claim.t, mine), mine.end) if claim.taken[k] != 1]
    keys = [key for key in (_key(claim.t, k) for k in places) if key and key != word]
    common = theirs.keys.intersection(keys)
    if len(common) < (_SOME if is_claim_negated is not None else 0.5) * len(set(keys)):
        return False
    if any(
        len(half.keys.intersection(keys)) > len(common) for number in sentences for half in _halves(evidence, number)
    ):
        return False
    vague = _vagueness(claim.t, mine) ^ _vagueness(evidence.t, theirs)
    if is_claim_negated is None:
        return vague <= {"than"}
    first, end = evidence.t.sentences[evidence.t.sentence_of[j]]
    others = evidence.t.words[theirs.first : theirs.end]
    return (
        not vague
        and all(claim.t.words[k] in others for k in range(mine.first, mine.end) if claim.taken[k] == 1)
        and _has_names(claim, mine, theirs)
        and (not keys or keys[0] in _keys(evidence, first, end))
        and _is_same_mode(claim.t, mine, evidence.t, theirs, is_claim_negated=is_claim_negated)
    )


def _body(t: Tokens, half: Half) -> int:
    """Where a half begins after words such as "in general,"."""
    words = t.words[half.first : half.first + _REACH]
    return (
        half.first + words.index(",") + 1
        if "," in words and half.first + words.index(",") < half.end - 1
        else half.first
    )


def _half_of(reading: Reading, i: int) -> Half | None:
    return next((half for half in _halves(reading, reading.t.sentence_of[i]) if half.first <= i < half.end), None)


def _has_names(claim: Reading, mine: Half, theirs: Half) -> bool:
    keys = [_key(claim.t, i) for i in range(mine.first, mine.end) if claim.taken[i] == 2]
    return all(not key or key in theirs.keys for key in keys)


def _is_same_mode(t: Tokens, mine: Half, other: Tokens, theirs: Half, *, is_claim_negated: bool) -> bool:
    """Whether both speak of a duty where the negation is of one: what need not be done may yet be."""
    ours, others = _is_duty(t, mine), _is_duty(other, theirs)
    return (others or not ours) if is_claim_negated else (ours or not others)


def _is_duty(t: Tokens, half: Half) -> bool:
    if not _DUTIES.isdisjoint(t.stems[half.first : half.end]):
        return True
    return any(t.stems[i] == "have" and t.words[i + 1] == "to" for i in range(half.first, half.end))


def _slot(claim: Reading, mine: Half, place: int) -> Slot:
    """The claim's negation, or the word that lacks one."""
    if place < 0:
        place = next((i for i in range(mine.first, mine.end) if _is_verbal(claim.t, i)), mine.first)
    for placed in claim.by_sentence.get(claim.t.sentence_of[place], ()):
        if placed.slot.kind == "negation" and placed.first <= place <= placed.last:
            return placed.slot
    return affirmation(claim.t, place, with_auxiliary=False).slot


@kept
def _negative_sentences(reading: Reading) -> frozenset[int]:
    t = reading.t
    return frozenset([t.sentence_of[i] for i in t.marked if t.flags[i] & NEGATIVE])


def _vagueness(t: Tokens, half: Half) -> frozenset[str]:
    return _VAGUE.intersection(t.words[max(0, half.first - 1) : half.end])


def _candidates(mine: Half, evidence: Reading, sentences: list[int]) -> list[Half]:
    """The halves of those sentences that have enough of the claim's words; to cut up the others would cost time."""
    found: list[Half] = []
    for number in sentences:
        if len(mine.own & _sentence_keys(evidence, number)) >= _LEAST * len(mine.own):
            found += _halves(evidence, number)
    return found


@kept
def _sentence_keys(evidence: Reading, sentence: int) -> frozenset[str]:
    first, end = evidence.t.sentences[sentence]
    return frozenset(map(_known_by, evidence.t.words[first:end]))


def _counterpart(mine: Half, others: list[Half]) -> Half | None:
    """The one half of the evidence that shares most with the claim's."""
    best, best_score, tied = None, (0, 0), False
    for half in others:
        if mine.own.isdisjoint(half.own):
            continue
        score = len(mine.own & half.keys), len(mine.own & half.own)
        if score > best_score:
            best, best_score, tied = half, score, False
        elif score == best_score:
            tied = True
    return None if tied or best_score[0] < _LEAST * len(mine.own) else best


def _covers(claim: Reading, mine: Half, evidence: Reading, theirs: Half, turned: tuple[int, int] | None = None) -> bool:
    """Whether the evidence's half has the claim's values, limits and names, and what its subject is.

    The words at the places `turned`, in the claim and in the evidence, may differ.
    """
    t, other = claim.t, evidence.t
    others = set(other.words[theirs.first : theirs.end])
    limits = _LIMITS.intersection(others.symmetric_difference(t.words[mine.first : mine.end]))
    if limits - ({t.words[turned[0]], other.words[turned[1]]} if turned else set()):
        return False
    raws = other.raw[theirs.first : theirs.end]
    is_subject = True
    for i in range(mine.first, mine.end):
        if claim.taken[i] == 1:
            if t.words[i] not in others:
                return False
            continue
        key = _key(t, i)
        if turned and i == turned[0]:
            is_subject = False
        elif key:
            if key not in theirs.keys and (is_subject or claim.taken[i] == 2):
                return False
            is_subject = False
        elif len(t.raw[i]) == 1 and t.raw[i].isupper() and i > mine.first and t.raw[i] not in raws:
            return False
    return True
