"""Right sentences made from the sentences of a premise: shorter, fused, about the same subject by another name.

Each rule gives a sentence that its premise supports, or None where it does not apply.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS
from training.counterfactual import restate
from training.lexis import Lexis, synonyms, words_of

__all__ = ["fuse", "name_subject", "reword", "shorten"]

_NAME = r"[A-Z][\w'’-]+(?:(?: (?:of|de|van|von|al|the))? [A-Z][\w'’-]*\.?){0,3}"
_PARENTHESES = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\])")
_RELATIVE = re.compile(r", (?:who|which|whose|where|whom) [^,.;]{4,120},(?= (?!and\b|or\b)[a-z])")
_APPOSITION = re.compile(
    r"(?<=[a-z]), (?:an?|the|his|her|its|their) [a-z][^,.;]{4,70},(?= (?:is|was|were|are|has|had|[a-z]+ed|won|became|said)\b)"
)
_TAIL = re.compile(
    r",? (?:which|who|where|while|whereas|although|though|including|such as|after which|along with|as well as|making|leaving|giving|bringing|becoming|using"
    r"|following|despite|because|due to) [^;]{6,160}(?=[.!]$)"
)
_LEADING = re.compile(
    r"^(?:In|On|At|After|During|Since|From|While|When|Following|Despite|Although|However|Moreover|Additionally|Meanwhile|Later|By|As|With|Throughout|"
    r"Initially|Eventually|Originally|Subsequently|Today|Upon|Prior to|According to|Because of|Due to)\b[^,;.]{0,80}, (?=(?:he|she|it|they|the|a|an|his|her|their|[A-Z][\w-]+)\s)"
)
_PHRASE = re.compile(
    r" (?:in|on|at|during|since|after|before|following|throughout|near|alongside) (?:the |an? |his |her |its |their )?[\w' -]{2,40}(?=[.!]$)"
)
_LINK = re.compile(r",? and (?:then |later |also )?(?=([a-z]+) )")
_OPENING = re.compile(r"(?:[\w'’.-]+ ){1,6}")
_ARTICLES = {"The", "A", "An", "His", "Her", "Their", "Its"}
_PERSON = re.compile(rf"^({_NAME}) (?:is|was|became|has|had|[a-z]+ed|won|wrote|began|made|took|led)\b")
_PRONOUN = re.compile(r"^(He|She) (?=[a-z])")
_ROLE = re.compile(
    rf"^({_NAME})[^.]{{0,60}}? (?:is|was) an? (?:[A-Za-z-]+ ){{0,3}}?(actor|actress|singer|writer|author|poet|painter|politician|footballer|composer|musician|scientist|physicist|director|band|company|film|novel|album|city|town|village|river|player|lawyer|journalist|engineer|professor|club|team|organization|university|school|species|song|game|series|book)\b"
)
_LONG_NAME = re.compile(r"\b(?:[A-Z][a-z]+ (?:(?:of|for|and|the) )*){2,4}[A-Z][a-z]+\b")
_PASSIVE = re.compile(
    rf"^((?:The |An? )?(?:{_NAME}|[a-z-]+(?: [a-z-]+)?)) (?:was|were) ([a-z]+ed|made|built|led|won|held|found|founded) by ((?:the |an? )?{_NAME})(?= (?:in|on|at|during|for)\b|[.,])"
)
_VERBS = {"is", "was", "were", "are", "has", "had", "have", "can", "will", "would", "could"}


def _ended(text: str) -> str:
    text = re.sub(r"\s+([,.;:!?])", r"\1", re.sub(r"\s{2,}", " ", text)).strip(" ,;")
    return (text[:1].upper() + text[1:]).rstrip(".") + "." if text else text


def shorten(sentence: str, lexis: Lexis, rnd: random.Random) -> str | None:
    """The sentence without some of what could be left out."""
    made = _PARENTHESES.sub("", sentence)
    rules: list[tuple[float, Callable[[str], str]]] = [
        (0.8, lambda text: _RELATIVE.sub("", text, count=1)),
        (0.8, lambda text: _APPOSITION.sub("", text, count=1)),
        (0.6, lambda text: _LEADING.sub("", text, count=1)),
        (0.6, lambda text: _TAIL.sub("", text, count=1)),
        (0.5, lambda text: _one_of_two(text, lexis, rnd)),
        (0.35, lambda text: _without_phrase(text, lexis)),
        (0.25, _active),
    ]
    for chance, rule in rules:
        if rnd.random() < chance:
            made = _kept_if_whole(made, rule(made))
    made = _ended(made)
    return made if made != _ended(sentence) and len(made.split()) >= 4 else None


def _kept_if_whole(before: str, after: str) -> str:
    return after if len(after.split()) >= 5 and after.count('"') % 2 == 0 else before


def _one_of_two(text: str, lexis: Lexis, rnd: random.Random) -> str:
    """Of "X did this and did that", one half."""
    subject = _subject(text, lexis)
    if not subject:
        return text
    for link in _LINK.finditer(text):
        if lexis.kind(link[1]) in {"past", "third"} or link[1] in _VERBS:
            first, second = text[: link.start()], f"{subject} {text[link.end() :]}"
            return second if rnd.random() < 0.5 else first + "."
    return text


def _subject(text: str, lexis: Lexis) -> str | None:
    """What stands before the first verb: a pronoun, a name, or a noun with its article."""
    opening = _OPENING.match(text)
    words = opening[0].split() if opening else []
    for place, word in enumerate(words[1:], start=1):
        if word in _VERBS or lexis.kind(word) in {"past", "third"}:
            subject = words[:place]
            plain = subject[0] in _ARTICLES and not FUNCTION_WORDS & set(subject[1:]) and place > 1
            named = all(each[0].isupper() for each in subject) and subject[0] not in _ARTICLES
            return " ".join(subject) if plain or named else None
    return None


def _without_phrase(text: str, lexis: Lexis) -> str:
    match = _PHRASE.search(text)
    if not match or re.search(r"\b(?:not|never|no|only|born|most|first|all|every)\b", text):
        return text
    before = text[: match.start()].rsplit(maxsplit=1)[-1]
    said = lexis.kind(before) in {"noun", "nouns", "role"} or before[0].isupper()
    return text[: match.start()] + "." if said else text


def _active(text: str) -> str:
    match = _PASSIVE.match(text)
    if not match:
        return text
    patient = (
        match[1]
        if re.match(_NAME, match[1]) and not match[1].startswith(("The ", "A "))
        else match[1][:1].lower() + match[1][1:]
    )
    return f"{match[3]} {match[2]} {patient}{text[match.end() :]}"


def reword(sentence: str, rnd: random.Random) -> str | None:
    """The sentence with one or two words, a date or an amount said in another way."""
    made = sentence
    known = [word for word in words_of(sentence) if synonyms(word.text)]
    for word in sorted(rnd.sample(known, min(len(known), 2)), key=lambda each: -each.start):
        if word.before not in {"a", "an"} and (word.text, word.after) not in {("found", "guilty"), ("man", "a")}:
            made = made[: word.start] + rnd.choice(synonyms(word.text)) + made[word.end :]
    if made == sentence or rnd.random() < 0.2:
        made = restate(made, rnd) or made
    return made if made != sentence else None


def name_subject(place: int, sentences: list[str], rnd: random.Random) -> str | None:
    """A sentence about the same subject by another name: a pronoun, a last name, a role, initials, or the full name."""
    sentence = sentences[place]
    people = [match[1] for each in sentences[: place + 1] if (match := _PERSON.match(each)) and " " in match[1]]
    pronoun = _PRONOUN.match(sentence)
    if pronoun and people and len({name.split()[-1] for name in people}) == 1:
        name = people[-1]
        by = rnd.choice([name, name.split()[-1], _role_of(name, sentences) or name])
        return f"{by} {sentence[pronoun.end() :]}"
    person = _PERSON.match(sentence)
    if person:
        name = person[1]
        used = [match[1] for each in sentences if (match := _PRONOUN.match(each))]
        ways = [name.split()[-1]] if " " in name and name.split()[0] not in {"The", "New", "In"} else []
        ways += [used[0]] if used and len(set(used)) == 1 and len(set(people)) == 1 else []
        ways += [full for full in people if full.endswith(" " + name)][:1]
        ways += [role] if (role := _role_of(name, [each for each in sentences if each != sentence])) else []
        if ways:
            return rnd.choice(ways) + sentence[len(name) :]
    return _initials(sentence) if rnd.random() < 0.4 else None


def _role_of(name: str, sentences: list[str]) -> str | None:
    for each in sentences:
        match = _ROLE.match(each)
        if match and name.rsplit(maxsplit=1)[-1] in match[1]:
            return f"The {match[2]}"
    return None


def _initials(sentence: str) -> str | None:
    match = _LONG_NAME.search(sentence, 1)
    if not match:
        return None
    letters = "".join(word[0] for word in match[0].split() if word[0].isupper())
    return sentence[: match.start()] + letters + sentence[match.end() :] if len(letters) > 2 else None


def fuse(place: int, sentences: list[str], lexis: Lexis, rnd: random.Random) -> str | None:
    """A sentence and the next one about its subject as one."""
    if place + 1 >= len(sentences):
        return None
    one, two = (_PARENTHESES.sub("", sentences[at]).rstrip(".") for at in (place, place + 1))
    first, second = _subject(one, lexis), _subject(two, lexis)
    if not first or not second:
        return None
    same = second in {"He", "She", "It", first} or first.endswith(" " + second)
    other = first in {"He", "She", "It", "They"} and second != first
    thing = second in {"He", "She"} and first.split()[0] in _ARTICLES
    if not same or other or thing:
        return None
    said, more = one[len(first) + 1 :], two[len(second) + 1 :]
    if len((said + more).split()) > 34:
        return None
    told = re.match(r"(?:is|was) ((?:an? |the |born )[^,;]{3,70})$", said)
    if told and rnd.random() < 0.8:
        return f"{first}, {told[1]}, {more}."
    return f"{first} {said} and {more}." if rnd.random() < 0.7 else f"{first} {more}."
