"""What words can stand where: kinds of words and their frames, learned from running text alone.

A word that takes another's place must fit there, and must be as common there as the one it replaces: otherwise a model
could tell a changed sentence without its premise.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS

__all__ = ["ROLES", "UNITS", "VERBS", "Lexis", "Word", "learn", "same_sense", "synonyms", "with_frames", "words_of"]

_TOKEN = re.compile(r"[A-Za-z](?:[A-Za-z'’-]*[A-Za-z])?|\d[\d,.:]*\d|\d|[^\w\s]")
_PAST = frozenset(
    "became began bent bet bit blew bore born bought bound broke broken brought built burnt came caught chose chosen crept cut "
    "dealt did done drank drawn drew driven drove dug eaten ate fallen fed fell felt fled flew flown forbade forgot "
    "forgotten fought found froze frozen gave given gone got grew grown heard held hid hidden hit hung hurt kept knew known laid "
    "lain led left lent let lost made meant met paid put quit ran rang read risen rode rose said sang sank sat saw seen sent "
    "set shaken shook shot shown shut slept slid sold sought spent split spoke spoken sprang stole stolen stood "
    "struck stuck sung sunk swam swept swore sworn swung taken taught thought threw thrown told took tore torn understood went "
    "withdrew withdrawn woke won wore worn wound wove written wrote".split()
)
_NO_PAST = frozenset(
    "need seed speed breed weed feed hundred sacred naked indeed kindred embed exceed proceed succeed".split()
)
_NO_ING = frozenset(
    "being during thing things something nothing anything everything king ring spring string wing morning evening "
    "building ceiling including according following bring sing swing sibling wedding".split()
)
ROLES = frozenset(
    "father mother son daughter brother sister uncle aunt nephew niece husband wife cousin grandfather grandmother friend neighbour "
    "neighbor colleague teacher student pupil doctor patient nurse lawyer judge client employer employee boss captain "
    "coach player manager director producer actor actress singer writer author poet painter composer engineer architect "
    "scientist professor soldier general officer sailor pilot driver passenger victim suspect witness prosecutor police "
    "president minister mayor governor senator king queen prince princess bishop priest owner tenant landlord customer "
    "seller buyer founder chairman chairwoman spokesman spokeswoman leader member critic journalist reporter editor man "
    "woman boy girl child parent parents guest host winner loser champion rival opponent partner".split()
)
UNITS = frozenset(
    "second seconds minute minutes hour hours day days week weeks month months year years decade decades century centuries "
    "meters metres kilometers kilometres miles feet inches tons kilograms pounds percent".split()
)
_NO_KIND = frozenset(
    "himself herself itself themselves others one ones none someone anyone everyone lot lots kind sort bit rid able own".split()
)
_ADVERB = re.compile(
    r"(?!family|assembly|supply|reply|monopoly|butterfly|anomaly|early|daily|elderly|bully|belly|jelly)\w{3,}ly"
)
_ADJECTIVE = re.compile(r"\w{3,}(?:al|ive|ous|ful|ic|able|ible|less|ish|ary|ant|ent|ern)")
_BASE_AFTER = frozenset("to will would can could may might must should shall did not cannot".split())
_DETERMINERS = frozenset("a an the his her its their this that these those my our your".split())
_NOUN_BEFORE = frozenset(
    "of in on at for from with to and or was is were are who which that as by , . ; : has had when where".split()
)
_SAME = """
bought purchased acquired|began started commenced launched opened|ended finished concluded|said stated added noted reported claimed told announced revealed
explained declared argued insisted|made created produced built constructed developed formed designed|got received obtained gained earned won|became was|called named known dubbed
titled termed|founded established set|located situated based found|died killed|showed demonstrated displayed|helped aided
assisted supported|wrote authored penned|used utilized employed|included contained featured comprised|moved relocated went
travelled traveled|left departed|joined entered|led headed directed ran managed guided|held hosted conducted staged|played
performed appeared starred|published released issued printed|appointed named elected chosen selected picked|gave provided offered supplied granted|kept
retained held|lived resided|studied attended|taught trained|married wed|film movie picture|song track single|company firm corporation business|town
city municipality|house home residence|author writer novelist|singer vocalist musician|actor performer|children kids|woman
lady|man gentleman|lawyer attorney|doctor physician|police officers|big large huge great|small little tiny|famous known
notable prominent renowned|several many numerous various multiple|main primary principal chief major|important significant
major|first initial original|last final|hard difficult|quick fast rapid|old former|area region zone district|war conflict battle|book
novel work|show series program programme|team club side|game match contest|competition tournament event|job position post
role|school college university institution|street road|car vehicle automobile|boat ship vessel|money funds cash|goal aim purpose objective|begin start|help assist|buy purchase
|show demonstrate|get receive obtain|end finish|also additionally|mainly primarily mostly largely|usually normally generally typically
often frequently|roughly approximately nearly|quickly rapidly|later subsequently afterwards|currently presently now|people
persons residents inhabitants individuals|government administration|students pupils|movie film|movies films|songs tracks|books
novels works|kids children|disease illness|mistake error|award prize|part portion section|group band|wife spouse|husband spouse
"""
_GROUPS = [frozenset(line.split()) for line in _SAME.replace("\n", " ").split("|") if line.strip()]
_SAFE = """
bought purchased|began started|ended finished|film movie|company firm|children kids|died passed-away|purchased bought|wrote authored|located situated
|received got|obtained got|lawyer attorney|doctor physician|numerous many|several various|large big|famous well-known|renowned famous|difficult
hard|approximately about|roughly about|nearly almost|primarily mainly|mainly mostly|usually normally|often frequently|frequently often
|subsequently later|additionally also|rapidly quickly|resided lived|relocated moved|departed left|constructed built|established founded|founded
established|commenced began|concluded ended|assisted helped|demonstrated showed|utilized used|vehicle car|vessel ship|match
game|tournament competition|prize award|award prize|illness disease|error mistake|residence home|stated said|announced said|declared
said|explained said|noted said|revealed said|argued said|insisted said|dubbed called|termed called|released published|movie film|movies
films|songs tracks|inhabitants residents|automobile car|purpose aim|objective goal|crucial important|significant important|notable important|enormous huge
|immediately at-once|attempted tried|attempts tries|sought tried|required needed|requires needs|remained stayed|remains stays|permitted
allowed|permits allows|prohibited banned|collapsed fell|injured hurt|slain killed|murdered killed|assassinated killed|jailed
imprisoned|imprisoned jailed|selected chosen|appointed named|elected chosen|defeated beat|struck hit|returned came-back|visited went-to
|discovered found|located found|arrested detained|detained held|rescued saved|increased rose|decreased fell|declined fell|mother parent|father
parent|sons children|daughters children|woman person|man person|actress performer|actor performer|guitarist musician|pianist musician
|violinist musician|drummer musician|poet writer|novelist writer|journalist writer|physicist scientist|chemist scientist|biologist
scientist|footballer athlete|swimmer athlete|apple fruit|dogs animals|cats animals|horses animals|car vehicle|truck vehicle|novel
book|poem work|painting work-of-art|violin instrument|guitar instrument|piano instrument|village place|town place|city place
"""
_SYNONYMS: dict[str, list[str]] = defaultdict(list)
for _pair in _SAFE.replace("\n", " ").split("|"):
    if len(_words := _pair.split()) == 2:
        _SYNONYMS[_words[0]].append(_words[1].replace("-", " ") if _words[1] != "well-known" else _words[1])


VERBS = frozenset({"past", "third", "base", "ing"})
_DRAWN = 30
_SHARPNESS = 14.0
_SYNONYM = 0.8
_CONTEXTS, _WIDTH, _KEPT = 1500, 4, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a sentence with what stands around it."""

    text: str
    start: int
    before: str
    after: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexis:
    """The kinds of words and, for every kind and frame, the words that were met there and how often."""

    kinds: dict[str, str]
    frames: dict[tuple[str, str, str], Counter[str]]
    vectors: dict[str, np.ndarray]
    """What stands near a word, as a direction: words of one field point the same way."""

    def kind(self, word: str) -> str | None:
        """Verb forms, adverbs, adjectives, nouns, roles and units; None for names and what says little."""
        return self.kinds.get(word)

    def fitting(self, word: Word, rnd: random.Random) -> str | None:
        """Another word of its kind for its place, drawn as often as it is met there, rather one of its field."""
        seen = self.frames.get((self.kinds.get(word.text, ""), word.before, word.after))
        if not seen or len(seen) < 4:
            return None
        drawn = rnd.choices(list(seen), list(seen.values()), k=_DRAWN)
        return self.nearest([other for other in drawn if not same_sense(other, word.text)], word.text, rnd)

    def nearest(self, others: list[str], word: str, rnd: random.Random) -> str | None:
        """One of the words, the likelier the nearer its sense, but none that may be a synonym."""
        own = self.vectors.get(word)
        if own is None or not others:
            return rnd.choice(others) if others else None
        near = [float(own @ self.vectors[each]) if each in self.vectors else 0.0 for each in others]
        weights = [math.exp(_SHARPNESS * each) if each < _SYNONYM else 0.0 for each in near]
        return rnd.choices(others, weights)[0] if sum(weights) else None

    def fits(self, other: str, word: Word) -> bool:
        """Whether a word was met after what stands before another; a noun also before what stands after it."""
        kind = self.kinds.get(word.text, "")
        if self.kinds.get(other) != kind or other not in self.frames.get((kind, word.before, ""), ()):
            return False
        return kind in VERBS or other in self.frames.get((kind, "", word.after), ())


def words_of(text: str) -> list[Word]:
    """The words of a text that begin with a small letter and have a sense of their own."""
    tokens = list(_TOKEN.finditer(text))
    found = []
    for i, match in enumerate(tokens):
        word = match[0]
        if word[0].islower() and len(word) > 2 and word not in FUNCTION_WORDS:
            before = _side(tokens[i - 1][0]) if i else "^"
            after = _side(tokens[i + 1][0]) if i + 1 < len(tokens) else "$"
            found.append(Word(text=word, start=match.start(), before=before, after=after))
    return found


def _side(token: str) -> str:
    if token[0].isdigit():
        return "0"
    if token.lower() in FUNCTION_WORDS:
        return token.lower()
    return "A" if token[0].isupper() else "w" if token[0].isalpha() else token


def same_sense(one: str, other: str) -> bool:
    """Whether two words have one stem or may mean the same."""
    return stem(one) == stem(other) or any(one in group and other in group for group in _GROUPS)


def synonyms(word: str) -> list[str]:
    """What may be said in place of a word wherever it stands, wider words among them."""
    return _SYNONYMS.get(word, [])


def learn(texts: list[str]) -> Lexis:
    """Kinds and directions of words, with no frames yet."""
    places: dict[str, Counter[str]] = defaultdict(Counter)
    read = [words_of(text) for text in texts]
    for words in read:
        for word in words:
            places[word.text][_place(word)] += 1
    kinds = {word: kind for word, seen in places.items() if (kind := _kind(word, seen))}
    lines = [[word.text for word in words] for words in read]
    return Lexis(kinds=kinds, frames={}, vectors=_directions(lines, list(kinds)))


def with_frames(lexis: Lexis, right: Iterable[str]) -> Lexis:
    """The same with the frames of the sentences that will be changed."""
    frames: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for text in right:
        for word in words_of(text):
            if kind := lexis.kinds.get(word.text):
                frames[kind, word.before, word.after][word.text] += 1
                frames[kind, word.before, ""][word.text] += 1
                frames[kind, "", word.after][word.text] += 1
    return Lexis(kinds=lexis.kinds, frames=dict(frames), vectors=lexis.vectors)


def _directions(lines: list[list[str]], words: list[str]) -> dict[str, np.ndarray]:
    """The common words that stand near each word more often than chance would have it, as a vector of length one."""
    counts = Counter(word for line in lines for word in line)
    common = {word: i for i, (word, _) in enumerate(counts.most_common(_CONTEXTS))}
    rows = {word: i for i, word in enumerate(words)}
    met = np.zeros((len(rows), max(1, len(common))), np.float32)
    for line in lines:
        for i, word in enumerate(line):
            row = rows.get(word)
            if row is not None:
                near = line[max(0, i - _WIDTH) : i] + line[i + 1 : i + 1 + _WIDTH]
                np.add.at(met, (row, [common[each] for each in near if each in common]), 1)
    chance = np.outer(met.sum(1), met.sum(0)) / max(1.0, float(met.sum()))
    met = np.log(np.maximum(met, 1e-6) / np.maximum(chance, 1e-6)).clip(0) * (met > 0)
    if len(common) > _KEPT:
        _, turned = np.linalg.eigh(met.T @ met)
        met = met @ turned[:, -_KEPT:]
    met /= np.linalg.norm(met, axis=1, keepdims=True) + 1e-9
    return dict(zip(words, met, strict=True))


def _place(word: Word) -> str:
    if word.before in _BASE_AFTER:
        return "base"
    if word.before in {"he", "she", "it", "who", "which"}:
        return "third"
    if word.before in _DETERMINERS:
        return "head" if word.after in _NOUN_BEFORE else "inner"
    return "head" if word.before == "w" and word.after in _NOUN_BEFORE else "other"


def _kind(word: str, seen: Counter[str]) -> str | None:
    total = sum(seen.values())
    if word in ROLES or word in UNITS:
        return "role" if word in ROLES else "unit"
    if total < 4 or word in _NO_KIND or "'" in word or "’" in word:
        return None
    if word in _PAST or (word.endswith("ed") and len(word) > 4 and word not in _NO_PAST):
        return "past"
    if word.endswith("ing") and len(word) > 5 and word not in _NO_ING:
        return "ing"
    if _ADVERB.fullmatch(word):
        return "adverb"
    if _ADJECTIVE.fullmatch(word) and seen["head"] < 0.3 * total:
        return "adjective"
    if word.endswith("s") and seen["third"] > 0.15 * total:
        return "third"
    if seen["base"] > 0.5 * total:
        return "base"
    if seen["head"] > 0.3 * total:
        return "nouns" if word.endswith("s") and not word.endswith(("ss", "us", "is")) else "noun"
    return "adjective" if seen["inner"] > 0.4 * total and seen["head"] < 0.1 * total else None
