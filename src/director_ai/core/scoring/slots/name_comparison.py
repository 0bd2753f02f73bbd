"""Compares the names of a claim with those that the evidence has in their place."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.alignment import context_score
from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.name_lists import GENERIC_NAMES, WIDE_PLACES
from director_ai.core.scoring.slots.name_places import tells_more
from director_ai.core.scoring.slots.names import TITLES, is_origin, is_spelling, name_keys
from director_ai.core.scoring.slots.sense import PLAIN, clause_around, negatives
from director_ai.core.scoring.slots.values import Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS, LIGHT_STEMS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["compare_names"]

_MOST_NAMES, _MOST_SENTENCES = 24, 3
_MOST_KNOWN = 200  # names of the evidence that are looked through for a namesake
_LONGEST = 300  # no sentence is read further than this many tokens
_LONGEST_NAME = 3  # words that two namesakes may have
_NEARER = ((2, 0.5), (1, 1.7))
"""How many more topic words the rival's clause must share than any with the claim's name, at which context score."""
_COVERED, _COVERING = 0.5, 0.35  # the least share of the claim's topic, and of the clause's, where names are swapped
_OFF_TOPIC = 0.3
_LITTLE = 0.6  # a share of the topic below which the words around a name tell nothing
_TELLING = 0.5  # how much more must be said of the rival where names are swapped
_ON_TOPIC = 0.4  # the least share of the claim's topic for a name in another's place
_SAME_PLACE = 2.5  # a context score at which the topic does not matter
_AS_SUBJECT, _IN_ROLE, _ANYWHERE = 3.2, 0.7, 1.7  # context scores that a rival needs; a subject is often left out
_SPLITS = frozenset({";", "while", "whereas"})
_PLACES = frozenset("in at from near into via through on aboard between inside outside towards around off".split())
_AGENTS = frozenset("by with under".split())
_SKIPPED = frozenset("the a an its his her their our old new nearby".split())
_UNLIKE = ({"place", "agent"}, {"place", "subject"})
_NO_WORDS = FUNCTION_WORDS | TITLES
_LONGEST_KEPT = 60


class _Clause(NamedTuple):
    """A part of the evidence that speaks of one subject."""

    topic: frozenset[str]
    names: list[Placed]
    rivals: list[Placed]
    """Its names that the claim does not have."""
    words: frozenset[str]


class _Sought(NamedTuple):
    """A name of the claim, and what its clause is about besides."""

    placed: Placed
    words: frozenset[str]
    topic: frozenset[str] = frozenset()
    role: str = ""


def compare_names(
    claim: Reading, slots: list[Placed], evidence: Reading, sentences: list[int], share: float
) -> list[SlotDifference]:
    """Names of the claim in whose place the evidence has another."""
    if not slots or not evidence.names:
        return []
    mixed = [(slot, _partner(slot, evidence)) for slot in slots[:_MOST_NAMES]]
    found = [SlotDifference(kind="name", claim=slot.slot, evidence=other.slot) for slot, other in mixed if other]
    if found or share < _OFF_TOPIC:
        return found
    first, end = evidence.t.sentences[sentences[0]]
    nearest = evidence.t.words[first : min(end, first + _LONGEST)]
    sought = [_Sought(slot, _words(slot.slot)) for slot in slots[:_MOST_NAMES]]
    is_split = not _SPLITS.isdisjoint(nearest)
    if share < _LITTLE and not is_split:  # a name that the nearest sentence has is in its place
        sought = [name for name in sought if not name.words.issubset(nearest)]
    sought = [name for name in sought if _tells(claim, name)]
    if not sought:
        return []
    sentences = sentences[:_MOST_SENTENCES]
    names = [name for number in sentences for name in _names(evidence, number)]
    rivals = [name for name in names if not _is_known(name.slot, claim)]
    if not names:
        return []
    clauses: list[_Clause] = []
    for name in sought:
        unknown = name.words - evidence.vocabulary
        rival = _in_place(claim, name, evidence, names, rivals) if rivals and share >= _LITTLE else None
        if rival is None and (rivals or unknown) and (is_split or not name.words.issubset(nearest)):
            clauses = clauses or [
                clause for number in sentences for clause in _clauses(evidence, number, names, rivals)
            ]
            rival = _rival(claim, name, evidence, clauses)
        if rival and _is_negative(claim, name.placed) == _is_negative(evidence, rival):
            found.append(SlotDifference(kind="name", claim=name.placed.slot, evidence=rival.slot))
    return found


def _tells(claim: Reading, name: _Sought) -> bool:
    """Whether the name says who or where, and not only of what sort."""
    if name.words <= GENERIC_NAMES or any(word[-1].isdecimal() for word in name.words):
        return False
    if claim.t.words[name.placed.last + 1] == ":":
        return False  # the label of a list item
    return not is_origin(claim.t, name.placed.first, name.placed.last)


def _partner(mine: Placed, evidence: Reading) -> Placed | None:
    """The one name with a word of the claim's, where the evidence never has all of its words together."""
    words = str(mine.slot.value).split()
    if (
        len(words) != 2
        or not all(word.isalpha() and len(word) > 2 for word in words)
        or not set(words).isdisjoint(_NO_WORDS)
    ):
        return None
    if any(_bare_words(evidence, sentence).issuperset(words) for sentence in range(len(evidence.t.sentences))):
        return None
    known = _full_names(evidence)
    for shared, own in ((0, 1), (1, 0)):
        others = [name for value, name in known.items() if value.split()[shared] == words[shared]]
        if len(others) != 1 or (shared == 1 and words[own] in evidence.vocabulary):
            continue
        theirs = str(others[0].slot.value).split()[own]
        if not {words[own], theirs} & GENERIC_NAMES and not _is_spelling({words[own]}, frozenset({theirs})):
            return others[0]
    return None


@kept
def _bare_words(evidence: Reading, sentence: int) -> set[str]:
    """The words of a sentence without their "'s"."""
    words = evidence.t.words[slice(*evidence.t.sentences[sentence])]
    return evidence.vocabulary.intersection([word.removesuffix("'s") for word in words])


@kept
def _full_names(evidence: Reading) -> dict[str, Placed]:
    """The names of two words."""
    names = [(str(name.slot.value), name) for name in evidence.names[:_MOST_KNOWN]]
    return {value: name for value, name in names if value.count(" ") == 1}


def _is_negative(reading: Reading, name: Placed) -> bool:
    """Whether the clause denies something of the name: what only one has, the other has not."""
    return not PLAIN.isdisjoint(negatives(reading, *clause_around(reading.t, name.first)))


def _names(reading: Reading, sentence: int) -> list[Placed]:
    return [placed for placed in reading.by_sentence.get(sentence, ()) if placed.slot.kind == "name"][:_MOST_NAMES]


def _clauses(evidence: Reading, sentence: int, names: list[Placed], rivals: list[Placed]) -> list[_Clause]:
    t = evidence.t
    first, end = t.sentences[sentence]
    end = min(end, first + _LONGEST)
    cuts = [first, *(i for i in range(first, end) if t.words[i] in _SPLITS), end]
    return [
        _Clause(
            _topic(evidence, start, stop),
            [name for name in names if start <= name.first < stop],
            [name for name in rivals if start <= name.first < stop],
            frozenset(t.words[start:stop]),
        )
        for start, stop in pairwise(cuts)
        if start < stop
    ]


def _topic(reading: Reading, first: int, end: int) -> frozenset[str]:
    """The topic words between two tokens; a name counts by its first word only."""
    topics, taken = reading.t.topics, reading.taken
    stems = {topics[i] for i in range(first, end) if taken[i] == 0 or (taken[i] == 2 and taken[i - 1] != 2)}
    return frozenset(stems - LIGHT_STEMS - {""})


def _in_place(
    claim: Reading, sought: _Sought, evidence: Reading, names: list[Placed], rivals: list[Placed]
) -> Placed | None:
    """The name among the very words that are around the claim's."""
    slot = sought.placed
    scored = [(context_score(claim, slot, evidence, name), -name.first, name) for name in rivals[:_MOST_NAMES]]
    score, _, rival = max(scored)
    keys = name_keys(str(slot.slot.value))
    if score < _AS_SUBJECT or keys & name_keys(str(rival.slot.value)) or _is_wider(slot, rival):
        return None
    if _is_known(slot.slot, evidence):
        same = [name for name in names[:_MOST_NAMES] if keys & name_keys(str(name.slot.value))]
        own = max((context_score(claim, slot, evidence, name) for name in same), default=-1.0)
        if score < max(own + 2.5, _AS_SUBJECT + 1):
            return None
    return rival


def _rival(claim: Reading, sought: _Sought, evidence: Reading, clauses: list[_Clause]) -> Placed | None:
    slot, t = sought.placed, claim.t
    topic = _topic(claim, *clause_around(t, slot.first)) - set(t.stems[slot.first : slot.last + 1])
    sought = sought._replace(topic=topic, role=_role(claim, slot))
    known = evidence.vocabulary
    unknown = {word for word in sought.words - known - GENERIC_NAMES if not _is_variant(word, known)}
    if not unknown:
        return _swapped(claim, sought, evidence, clauses) if sought.words <= known else None
    if len(unknown) < len(sought.words):
        return _namesake(claim, sought, unknown, clauses)
    if sought.placed.slot.text.isupper() or _is_known(sought.placed.slot, evidence):
        return None
    rival = _replacing(claim, sought, evidence, clauses)
    return rival if rival or sought.role == "subject" else _only(claim, sought, evidence, clauses)


def _words(name: Slot) -> frozenset[str]:
    value = str(name.value)
    return _kept_words(value) if len(value) <= _LONGEST_KEPT else _split_words(value)


def _split_words(value: str) -> frozenset[str]:
    """The words of a folded name that tell which it is."""
    return frozenset([word.replace(".", "") for word in value.split() if word not in _NO_WORDS])


_kept_words = lru_cache(maxsize=4096)(_split_words)


def _namesake(claim: Reading, sought: _Sought, unknown: set[str], clauses: list[_Clause]) -> Placed | None:
    """The name that shares a word with the claim's, and has others: "Morag Tulloch" beside "Fiona Tulloch"."""
    words = sought.words
    if len(words) > _LONGEST_NAME or min(map(len, unknown)) < 3:
        return None
    for clause in clauses:
        if len(clause.topic & sought.topic) < _ON_TOPIC * len(sought.topic):
            continue
        for name in clause.names:
            theirs = _words(name.slot)
            own = theirs - words - claim.vocabulary - GENERIC_NAMES
            if own and (words - unknown) & theirs and len(theirs) <= _LONGEST_NAME and not _is_spelling(unknown, own):
                return name
    return None


def _is_spelling(ours: set[str], theirs: frozenset[str]) -> bool:
    return any(is_spelling(one, two) for one in ours for two in theirs)


def _replacing(claim: Reading, sought: _Sought, evidence: Reading, clauses: list[_Clause]) -> Placed | None:
    """The name in the place of one that the evidence does not know at all."""
    best, best_score = None, 0.0
    for clause in clauses:
        common = len(clause.topic & sought.topic)
        for name in clause.rivals:
            score = context_score(claim, sought.placed, evidence, name)
            if common < _ON_TOPIC * len(sought.topic) and score < _SAME_PLACE:
                continue
            in_role = sought.role != "" and sought.role == _role(evidence, name)
            least = _AS_SUBJECT if sought.role == "subject" else _IN_ROLE if in_role else _ANYWHERE
            if score >= least and common + score > best_score and _may_replace(sought, evidence, name):
                best, best_score = name, common + score
    return best


def _only(claim: Reading, sought: _Sought, evidence: Reading, clauses: list[_Clause]) -> Placed | None:
    """The one name of the nearest clause that the claim leaves out, where it has one that the evidence lacks."""
    sentence = claim.t.sentence_of[sought.placed.first]
    topic = claim.topics[sentence] - LIGHT_STEMS - set(claim.t.stems[sought.placed.first : sought.placed.last + 1])
    common = sorted((len(clause.topic & topic) for clause in clauses), reverse=True)
    if common[0] < max(2, 0.3 * len(topic)) or common[0] in common[1:2]:
        return None
    nearest = next(clause for clause in clauses if len(clause.topic & topic) == common[0])
    others = [slot for slot in _names(claim, sentence) if slot is not sought.placed]
    if len(nearest.rivals) != 1 or any(not _is_known(other.slot, evidence) for other in others):
        return None
    rival = nearest.rivals[0]
    is_alike = {sought.role, _role(evidence, rival)} not in _UNLIKE and _as_wide(sought.placed, rival)
    is_near = context_score(claim, sought.placed, evidence, rival) >= 0.5
    return rival if is_alike and is_near and not is_origin(evidence.t, rival.first, rival.last) else None


def _swapped(claim: Reading, sought: _Sought, evidence: Reading, clauses: list[_Clause]) -> Placed | None:
    """The name in the clause that says what the claim says, where the claim's name is in another."""
    words, topic = sought.words - GENERIC_NAMES, sought.topic
    most = max((len(clause.topic & topic) for clause in clauses if not words.isdisjoint(clause.words)), default=0)
    best, best_score = None, 0.0
    for clause in clauses:
        common = len(clause.topic & topic)
        if common <= most or common < _COVERED * len(topic) or common < _COVERING * (len(clause.topic) - 1):
            continue
        for name in clause.rivals:
            score = context_score(claim, sought.placed, evidence, name)
            is_nearer = any(common >= most + margin and score >= least for margin, least in _NEARER)
            if is_nearer and common + score > best_score and _may_replace(sought, evidence, name):
                best, best_score = name, common + score
    return best if best and tells_more(claim, sought.placed, evidence, best) >= _TELLING else None


def _may_replace(sought: _Sought, evidence: Reading, theirs: Placed) -> bool:
    """Whether two names may be of one sort: not a place here and a person there."""
    if theirs.slot.text[-1].isdecimal() or is_origin(evidence.t, theirs.first, theirs.last):
        return False
    return _as_wide(sought.placed, theirs) and (sought.role == "place") == (_role(evidence, theirs) == "place")


def _is_wider(one: Placed, two: Placed) -> bool:
    return one.slot.value in WIDE_PLACES and two.slot.value not in WIDE_PLACES


def _as_wide(one: Placed, two: Placed) -> bool:
    """Whether both or neither are countries: a town is in a country."""
    return (one.slot.value in WIDE_PLACES) == (two.slot.value in WIDE_PLACES)


def _role(reading: Reading, name: Placed) -> str:
    """What the words before a name make of it: a place, one who acts, the subject, or nothing known."""
    t = reading.t
    first, _ = t.sentences[t.sentence_of[name.first]]
    i = name.first - 1
    while i >= first and t.words[i] in _SKIPPED:
        i -= 1
    if i < first:
        return "subject"
    if t.words[name.first] in TITLES or t.words[i] in _AGENTS:
        return "agent"
    return "place" if t.words[i] in _PLACES else ""


def _is_variant(word: str, vocabulary: set[str]) -> bool:
    """Whether the text has the word with another ending: "PINs", "Zealander"."""
    return len(word) > 2 and not vocabulary.isdisjoint({word + "s", word[:-1], word[:-2]})


def _is_known(name: Slot, reading: Reading) -> bool:
    """Whether a word of the name, or its initials, are in the text; one word may have another ending there."""
    met = _words(name)
    known = reading.vocabulary
    if not met.isdisjoint(known) and (met <= GENERIC_NAMES or (met & known) - GENERIC_NAMES):
        return True
    words = str(name.value).split()
    if len(words) > 1:
        return "".join([word[0] for word in words]) in known
    beginning = words[0].replace(".", "")
    return (beginning[:4] if len(beginning) > 3 else beginning) in reading.beginnings
