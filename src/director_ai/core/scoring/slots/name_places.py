"""Finds names that stand where the evidence has another, by what it says near each of them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.scoring.slots.kindred import KINDRED
from director_ai.core.scoring.slots.lexicon import CAPITAL
from director_ai.core.scoring.slots.memory import kept
from director_ai.core.scoring.slots.name_lists import GENERIC_NAMES, WIDE_PLACES
from director_ai.core.scoring.slots.names import TITLES, find_origins, is_origin, is_spelling
from director_ai.core.scoring.slots.values import Slot, SlotDifference
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

if TYPE_CHECKING:
    from director_ai.core.scoring.slots.polarity import Placed
    from director_ai.core.scoring.slots.reading import Reading

__all__ = ["find_misplaced", "tells_more"]

_LONGEST = 60  # no sentence of the claim is read further than this many tokens
_MOST_TOKENS, _MOST_MENTIONS = 600, 40  # evidence that is longer speaks of too much
_NEAR = (1.0, 0.6, 0.35, 0.25)
"""How much a word tells of a name, by the borders between them."""
_BY_PRONOUN = 0.6  # what a word tells of the name that the sentence before has
_UNMET = 0.7  # what a word of the claim weighs that the evidence does not have
_STRANGE = 0.3  # how much must be said of a rival to a name that the evidence lacks
_MOST_OWN = 0.1  # the share of the claim that the evidence may say of the claim's own name
_MARGIN, _COVERED = 1.3, 0.5  # how much more must be said of the rival, and the least share of the claim
_BEGINNING = 5
_FEW = 2
_BORDERS = {";": 2, "while": 2, "whereas": 2, "but": 2} | dict.fromkeys(", and or : – — ( ) who which whose".split(), 1)
_TURNS = frozenset("not no never only none neither nor unlike without other nobody instead cannot alone".split())
_PRONOUNS = frozenset("he she it they his her its their this these".split())
_PLACES = frozenset("in at near from into through outside towards around off".split())
_ROLES = frozenset("by in at from near on of for with to called named under after".split())
_ARTICLES = frozenset({"the", "a", "an"})
_NO_WORDS = FUNCTION_WORDS | TITLES | GENERIC_NAMES | {"none", "one", "ones"}


class _Mention(NamedTuple):
    """A place where a text has a name, and the words of it that tell which."""

    first: int
    last: int
    words: frozenset[str]


class _Scene(NamedTuple):
    """The names of the evidence, and what it says near each of them."""

    evidence: Reading
    mentions: list[_Mention]
    met: dict[str, set[int]]
    """In which sentences the evidence has each word."""
    near: dict[int, dict[str, float]]
    """How much each word tells of the name that begins at a token."""


def find_misplaced(claim: Reading, sentence: int, evidence: Reading) -> list[SlotDifference]:
    """The first name of the sentence that the evidence has not, or not there, where it has another."""
    span = claim.t.sentences[sentence]
    if not evidence.names or len(evidence.t.words) > _MOST_TOKENS or not _may_have_names(claim, span[0]):
        return []
    known = _name_words(evidence)
    mine = _mentions(claim, *span, known, strange=True)
    mine = [mention for mention in mine if not _is_at_home(claim, sentence, mention, evidence)]
    if not mine:
        return []
    scene = _scene(evidence)
    for mention in mine:
        rival = _rival(claim, span, mention, scene)
        if rival:
            return [SlotDifference(kind="name", claim=_slot(claim, mention), evidence=_slot(evidence, rival))]
    return []


def _is_at_home(claim: Reading, sentence: int, mine: _Mention, evidence: Reading) -> bool:
    """Whether the evidence has all of the name in the sentence that shares most with the claim, and no other there.

    That spares most claims that are right the closer look.
    """
    if not mine.words <= evidence.vocabulary:
        return False
    topic, stems = claim.topics[sentence], {claim.t.stems[i] for i in range(mine.first, mine.last + 1)}
    stems = stems & topic
    topic = topic - stems
    with_name = without = at = -1
    for number, other in enumerate(evidence.topics):
        common = len(topic & other)
        if not stems <= other:
            without = max(without, common)
        elif common > with_name:
            with_name, at = common, number
    if with_name < max(without, 1):
        return False
    if 1 in claim.taken[slice(*claim.t.sentences[sentence])]:
        return True  # no parallel is sought then
    return sum([placed.slot.kind == "name" for placed in evidence.by_sentence.get(at, ())]) < _FEW


def tells_more(claim: Reading, mine: Placed, evidence: Reading, theirs: Placed) -> float:
    """How much more of what the claim says the evidence says of another name of its sort than of the claim's."""
    span = claim.t.sentences[claim.t.sentence_of[mine.first]]
    scene = _scene(evidence)
    one, two = _mention(mine), _mention(theirs)
    own = _find_kin(one, scene.mentions)
    if not own or not two.words or _turns(claim, span):
        return -1.0
    if _clash(_kinds(claim, [one]) or _kinds(evidence, own), _kinds_of_name(two, scene)):
        return -1.0
    weights, _ = _weights(claim, span, one, scene)
    return _score(two, weights, scene) - _own_support(own, weights, scene)


def _may_have_names(claim: Reading, first: int) -> bool:
    """Whether any word of the sentence may be a name: many begin with "The", and have none."""
    return bool(claim.names) or claim.t.words[first] not in FUNCTION_WORDS


@kept
def _name_words(evidence: Reading) -> set[str]:
    return {word for name in evidence.names for word in str(name.slot.value).split()} - _NO_WORDS


def _mention(name: Placed) -> _Mention:
    return _Mention(name.first, name.last, frozenset(str(name.slot.value).split()) - _NO_WORDS)


def _mentions(reading: Reading, first: int, end: int, known: set[str], *, strange: bool) -> list[_Mention]:
    """The names between two tokens, and the words of known ones where a capital alone would not tell."""
    t, taken = reading.t, reading.taken
    found = [_mention(name) for name in reading.names if first <= name.first < end]
    found = [mention for mention in found if mention.words and (strange or not mention.words.isdisjoint(known))]
    for i in [i for i in t.marked if t.flags[i] & CAPITAL and not taken[i]]:
        word = t.words[i].removesuffix("'s")
        if word in known and first <= i < end:
            found.append(_Mention(i, i, frozenset({word})))
    return found[:_MOST_MENTIONS]


@kept
def _origins(evidence: Reading) -> set[str]:
    return find_origins(evidence.vocabulary)


@kept
def _scene(evidence: Reading) -> _Scene:
    t, taken = evidence.t, evidence.taken
    places: dict[int, list[tuple[int, str]]] = {}
    met: dict[str, set[int]] = {}
    for i, key in enumerate(map(KINDRED.__getitem__, t.topics)):
        if key and taken[i] != 1:
            sentence = t.sentence_of[i]
            places.setdefault(sentence, []).append((i, key))
            met.setdefault(key, set()).add(sentence)
    mentions = _mentions(evidence, 0, len(t.words), _name_words(evidence), strange=False)
    borders = list(accumulate([_BORDERS.get(word, 0) for word in t.words], initial=0))
    near = {
        mention.first: _nearness(mention, places.get(t.sentence_of[mention.first], []), borders) for mention in mentions
    }
    return _Scene(evidence, mentions, met, near)


def _nearness(mention: _Mention, places: list[tuple[int, str]], borders: list[int]) -> dict[str, float]:
    """How much each word of the mention's sentence tells of it; `borders` counts those before each token."""
    found: dict[str, float] = {}
    for i, key in places:
        if i < mention.first:
            steps = borders[mention.first] - borders[i + 1]
        elif i > mention.last:
            steps = borders[i] - borders[mention.last + 1]
        else:
            continue
        found[key] = max(found.get(key, 0.0), _NEAR[min(steps, 3)])
    return found


def _rival(claim: Reading, span: tuple[int, int], mine: _Mention, scene: _Scene) -> _Mention | None:
    """The name that the evidence has in the place of this one."""
    if len(mine.words) == 1 and next(iter(mine.words))[:3] in _origins(scene.evidence):
        return None
    renamed = _renamed(claim, mine, scene)
    if renamed:
        return renamed
    own = _find_kin(mine, scene.mentions)
    strange = {word for word in mine.words if _is_strange(word, scene.evidence)}
    if not strange:
        return _better_placed(claim, span, mine, own, scene) if own and not _turns(claim, span) else None
    if claim.t.raw[mine.first].isupper() or is_origin(claim.t, mine.first, mine.last):
        return None
    if own and (not len(mine.words) == 2 == mine.last - mine.first + 1 or _only_begins(claim, span, mine, strange)):
        return None
    return _namesake(mine, strange, own) or _in_place_of_stranger(claim, span, mine, scene)


def _renamed(claim: Reading, mine: _Mention, scene: _Scene) -> _Mention | None:
    """The one name that goes on otherwise after the same first name: "Hedda Lunde" for "Hedda Tarvik"."""
    given, family = claim.t.words[mine.last - 1], claim.t.words[mine.last].removesuffix("'s")
    if mine.words != {given, family} or given == family:
        return None
    words, found = scene.evidence.t.words, None
    for mention in scene.mentions:
        if given not in mention.words or len(mention.words) == 1:
            continue
        last = words[mention.last].removesuffix("'s")
        if words[mention.last - 1] != given or is_spelling(last, family):
            return None
        found = mention
    return found


def _find_kin(mine: _Mention, mentions: list[_Mention]) -> list[_Mention]:
    """The mentions of names that share a word with this one, be it with another ending: "Vantor" and "Vantorian"."""
    words = mine.words
    starts = {word[:_BEGINNING] for word in words if len(word) >= _BEGINNING}
    return [
        mention
        for mention in mentions
        if not words.isdisjoint(mention.words) or not starts.isdisjoint([word[:_BEGINNING] for word in mention.words])
    ]


def _only_begins(claim: Reading, span: tuple[int, int], mine: _Mention, strange: set[str]) -> bool:
    """Whether what is strange about the name is but the first word of the sentence: "Ask Bruno Maas"."""
    begins = mine.first == span[0] or not claim.t.words[mine.first - 1][0].isalnum()
    return begins and strange == {claim.t.words[mine.first]}


def _turns(reading: Reading, span: tuple[int, int]) -> bool:
    """Whether the sentence denies or excludes: what only one has, the other has not."""
    words = reading.t.words[slice(*span)]
    return not _TURNS.isdisjoint(words) or any(word.endswith("n't") for word in words)


def _is_strange(word: str, evidence: Reading) -> bool:
    """Whether the evidence has neither the word nor one that begins like it: "Zambian" is no stranger to "Zambia"."""
    known = evidence.vocabulary
    if word in known or len(word) < 3 or word.removesuffix("s") in known or word + "s" in known:
        return False
    if word[:4] not in evidence.beginnings:
        return True
    beginning = word[: max(4, len(word) - 3)]
    return not any(other.startswith(beginning) for other in known)


def _namesake(mine: _Mention, strange: set[str], own: list[_Mention]) -> _Mention | None:
    """The name that shares a word with the claim's, and has another where that has one the evidence lacks."""
    for mention in own:
        others = mention.words - mine.words
        if len(others) == 1 == len(strange) and not is_spelling(next(iter(others)), next(iter(strange))):
            return mention
    return None


def _in_place_of_stranger(claim: Reading, span: tuple[int, int], mine: _Mention, scene: _Scene) -> _Mention | None:
    """The name of which most is said that the claim says of one the evidence lacks."""
    weights, _ = _weights(claim, span, mine, scene)
    before = _before(claim, mine)
    best, best_score = None, 0.0
    for mention in scene.mentions:
        if not mention.words.isdisjoint(claim.vocabulary) or _is_wide(mention) != _is_wide(mine):
            continue
        if mine.first == span[0] and _has_subject(scene.evidence, mention):
            continue
        has_role = before in _ROLES and before == _before(scene.evidence, mention)
        score = _score(mention, weights, scene) + _STRANGE * has_role
        if score > best_score:
            best, best_score = mention, score
    return best if best_score >= _STRANGE else None


def _is_wide(mention: _Mention) -> bool:
    """Whether it is a country: a town is in one."""
    return not mention.words.isdisjoint(WIDE_PLACES)


def _has_subject(evidence: Reading, mention: _Mention) -> bool:
    """Whether a pronoun before the name is what the sentence speaks of: that may be anybody."""
    first, _ = evidence.t.sentences[evidence.t.sentence_of[mention.first]]
    return not _PRONOUNS.isdisjoint(evidence.t.words[first : mention.first])


def _before(reading: Reading, mention: _Mention) -> str:
    """The word before a name and its article."""
    i = mention.first - 1
    while reading.t.words[i] in _ARTICLES:
        i -= 1
    return reading.t.words[i]


def _weights(claim: Reading, span: tuple[int, int], mine: _Mention, scene: _Scene) -> tuple[dict[str, float], float]:
    """How much each word of the claim tells that the evidence has, and how much all of its words do."""
    topics, taken = claim.t.topics, claim.taken
    keys = {
        KINDRED[topics[i]]
        for i in range(span[0], min(span[1], span[0] + _LONGEST))
        if not mine.first <= i <= mine.last and taken[i] != 1
    } - {""}
    weights = {key: 1 / len(scene.met[key]) for key in keys if key in scene.met}
    return weights, sum(weights.values()) + _UNMET * (len(keys) - len(weights))


def _score(mention: _Mention, weights: dict[str, float], scene: _Scene) -> float:
    near = scene.near[mention.first]
    return sum([near[key] * weight for key, weight in weights.items() if key in near])


def _own_support(own: list[_Mention], weights: dict[str, float], scene: _Scene) -> float:
    """How much of the claim the evidence says of the claim's own name, in whatever places."""
    t = scene.evidence.t
    after = {t.sentence_of[mention.first] + 1 for mention in own}
    told = {n for n in after if n < len(t.sentences) and t.words[t.sentences[n][0]] in _PRONOUNS}
    support = 0.0
    for key, weight in weights.items():
        near = max([scene.near[mention.first].get(key, 0.0) for mention in own])
        if near == 0.0 and not told.isdisjoint(scene.met[key]):
            near = _BY_PRONOUN
        support += weight * near
    return support


def _better_placed(
    claim: Reading, span: tuple[int, int], mine: _Mention, own: list[_Mention], scene: _Scene
) -> _Mention | None:
    """The name of which the evidence says what the claim says of one that it has elsewhere."""
    weights, total = _weights(claim, span, mine, scene)
    if not weights:
        return None
    support = _own_support(own, weights, scene)
    if support > _MOST_OWN * total:
        return None if 1 in claim.taken[slice(*span)] else _parallel(claim, own, weights, scene)
    evidence, before = scene.evidence, _before(claim, mine)
    stated, theirs = _kinds(claim, [mine]), _kinds(evidence, own)
    sentences = {evidence.t.sentence_of[mention.first] for mention in own}
    called = claim.vocabulary.union(*[mention.words for mention in own])
    best, best_score = None, 0.0
    for mention in scene.mentions:
        has_role = before == _before(evidence, mention)
        score = _score(mention, weights, scene)
        if score < _STRANGE or score + 0.2 * has_role <= best_score or not mention.words.isdisjoint(called):
            continue
        kinds = _kinds_of_name(mention, scene)
        is_apart = evidence.t.sentence_of[mention.first] not in sentences
        is_one_sort = "place" in stated & kinds or (bool(stated) and is_apart and _clash(stated, theirs))
        if _clash(stated or theirs, kinds):
            continue
        if (
            (is_one_sort and score - support >= 0.3 and score >= 0.3 * total)
            or (is_apart and "person" in stated & kinds and support == 0 and score >= 0.4 * total)
            or (has_role and score - support >= 1.0 and score >= 0.3 * total)
            or (score - support >= _MARGIN and score >= _COVERED * total)
        ):
            best, best_score = mention, score + 0.2 * has_role
    return best


def _parallel(claim: Reading, own: list[_Mention], weights: dict[str, float], scene: _Scene) -> _Mention | None:
    """The name beside the claim's in one sentence, of which that says what the claim says: "X runs A and Y runs B"."""
    t = scene.evidence.t
    near_own = {key for key in weights if any(scene.near[mention.first].get(key) == 1.0 for mention in own)}
    for rival in scene.mentions:
        near = scene.near[rival.first]
        only = [key for key in weights if key not in near_own and near.get(key) == 1.0]
        if not only or not rival.words.isdisjoint(claim.vocabulary) or any(near.get(key) != 1.0 for key in near_own):
            continue
        sentence = t.sentence_of[rival.first]
        twins = [mention for mention in own if t.sentence_of[mention.first] == sentence]
        least = 1 if all(twin.first < rival.first for twin in twins) else 2  # the second is often said in fewer words
        is_alike = any(_are_alike(scene.evidence, twin, rival) for twin in twins)
        if is_alike and len(only) >= least and not _turns(scene.evidence, t.sentences[sentence]):
            return rival
    return None


def _are_alike(evidence: Reading, one: _Mention, two: _Mention) -> bool:
    """Whether two names are said in the same way: both with a title, or after the same preposition."""
    words, before = evidence.t.words, _before(evidence, one)
    has_titles = words[one.first] in TITLES and words[two.first] in TITLES
    return has_titles or (before in _ROLES and before == _before(evidence, two))


def _kinds_of_name(mention: _Mention, scene: _Scene) -> set[str]:
    same = [other for other in scene.mentions if not other.words.isdisjoint(mention.words)]
    return _kinds(scene.evidence, same)


def _kinds(reading: Reading, mentions: list[_Mention]) -> set[str]:
    """What the words around its mentions make of a name: a person, a place, a thing, or several of these."""
    words, found = reading.t.words, set()
    for first, last, names in mentions:
        before = words[first - 1]
        is_full = len(names) == 2 == last - first + 1 and before != "the"
        if is_full or words[first] in TITLES or before in TITLES or words[last + 1 : last + 3] == (",", "who"):
            found.add("person")
        if before in _PLACES:
            found.add("place")
        if before == "the":
            found.add("thing")
    return found


def _clash(one: set[str], two: set[str]) -> bool:
    """Whether the two cannot be of one sort."""
    if ("place" in one) != ("place" in two):
        return True
    return "place" not in one and ("person" in one) != ("person" in two) and "thing" in one | two


def _slot(reading: Reading, mention: _Mention) -> Slot:
    start, end, text = reading.t.span(mention.first, mention.last)
    if text.endswith(("'s", "’s")):
        end, text = end - 2, text[:-2]
    return Slot("name", start, end, text, text.lower())
