"""Is a clause a claim, what does it state, and of whom: pronouns are resolved where that is simple."""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from director_ai.core.grammar import ADVERBS, AUXILIARIES, CONNECTIVES, LIKELY_VERBS, SUBORDINATORS, SURE_VERBS, words
from director_ai.core.lookalikes import without_lookalikes
from director_ai.core.scoring.slots.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ClauseRole", "Statement", "body_of", "read_claim", "role_of", "statements_of", "visible"]

ClauseRole = Literal["claim", "blank", "greeting", "question", "offer", "heading", "connective", "hedge", "instruction"]
"""Everything but a claim states no fact, and is kept without evidence."""

_FULL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SELECTORS: Final = frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
_VALUES: Final = frozenset({"number", "money", "percent", "duration", "date", "time"})
_FACTUAL: Final = _VALUES | {"name", "negation"}
_MARKUP = re.compile(r"[\s>#*_`~|•·–—-]*+(?:\d{1,3}[.)]\s++)?[*_`~\"'“”‘’(\[]*+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*+")
_TAG_QUESTION = re.compile(
    r",\s*(?:right|correct|yes|no|eh|okay|ok|\w{2,7}n['’]t \w{1,5}|is it|are they)\s*\?\W*\Z", re.IGNORECASE
)
_DID_YOU_KNOW = re.compile(r"(?:did|do) (?:you|we) (?:know|realize|realise|remember)\b", re.IGNORECASE)

_GREETING = words(
    "hi hello hey greetings welcome good morning afternoon evening day dear thanks thank you so much very for asking "
    "reaching out your question message interest great glad happy to hear from see here help sure certainly absolutely "
    "of course gladly no problem okay ok alright sorry apologies bye goodbye cheers best regards kind sincerely enjoy "
    "have a nice lovely there again all everyone team yes no right exactly got it understood indeed well oh ah my the "
    "that's that is what an excellent this patience pleasure i we hope be with back luck congratulations wonderful "
    "perfect fine please always i'm we're let's go through them it take look at choice idea plan checking letting me "
    "know fascinating interesting isn't delighted explain assist one by and but about glad"
)
_OFFER = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely|gladly|yes|okay|ok|alright|great)[,!:] )?+"
    r"(?:(?:so |and |just |please |but |then )*+"
    r"(?:let me (?:know|explain|check|summari[sz]e|walk|see|help|give|show)|feel free|"
    r"do not hesitate|don['’]t hesitate|reach out|"
    r"happy to help|glad to help|hope (?:this|that|it) helps|i hope (?:this|that|it|you)|"
    r"(?:i|we)(?:['’](?:d|m|re|ll)| am| are| would| will| can| could)? (?:be )?(?:always |very |so |here |also )*"
    r"(?:happy|glad|pleased|delighted|here|able|help|assist|gladly|look (?:that|this|it) up|go into)|"
    r"(?:just )?(?:ask|tell me|say)(?: me| us)?\b|"
    r"if (?:you|there|anything|something|that)['’]?\w* (?:have|need|want|would|need|is|else|like|wish)[^,;]{0,60}, "
    r"(?:please |just |simply |do )?(?:let|ask|tell|say|feel|reach|get|write|i|we|just|contact)|"
    r"is there anything|anything else|here (?:is|are|['’]s)|here['’]s|below (?:is|are)|the following|as follows|"
    r"(?:in|to) (?:short|summary|brief|sum up|summari[sz]e)|good (?:question|luck)|great question))",
    re.IGNORECASE,
)
_SYMPATHY = re.compile(
    r"(?:i['’]m |i am |we['’]re |so |very )*+(?:sorry|glad|happy|pleased|thanks|thank you|congratulations)"
    r"(?: (?:to (?:hear|see|know|learn)|for|on|about|that)\b[^.!?;:,]{0,60})?[.!]",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"(?:well, |hmm, |honestly, |unfortunately, |sorry, (?:but )?|i['’]m sorry, (?:but )?|i am sorry, (?:but )?)*+"
    r"(?:i(?:['’]m| am) (?:not (?:sure|certain)|unsure|afraid)|"
    r"i (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t) "
    r"(?:know|say|tell|find|confirm|be sure|have)|it depends|that depends|this depends|i (?:think|believe|guess) so|"
    r"as far as i know\W*\Z|maybe\W*\Z|perhaps\W*\Z|possibly\W*\Z)",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(
    r"(?:(?:so|and|but|also|well|sorry|unfortunately|please|just|do),? )*+(?:"
    r"(?:in (?:short|summary|brief|conclusion)|to (?:sum up|summari[sz]e))[,:] |"
    r"(?:note|remember|keep in mind|bear in mind)(?: that|[:,]) |"
    r"(?:i['’]m|i am) afraid (?:that )?(?!(?:i|we|so|not|that|this|there|my|our)\b)|"
    r"(?:i['’]m|i am|i (?:do not|don['’]t|cannot|can['’]t)|it|that|this) "
    r"(?:not (?:sure|certain)|unsure|know|say|tell|be sure|depends)\b[^.!?;:,]{0,60}, "
    r"but (?:i (?:think|believe) (?:that )?)?|"
    r"(?:i|we)(?:['’]m|['’]re| am| are) (?:happy|glad|pleased|delighted) to "
    r"(?:say|tell you|confirm|report|inform you|let you know)(?: that)? |"
    r"let me (?:explain|tell you|confirm|stress) that |i hope you know that |"
    r"(?:here (?:is|are)|here['’]s|the following|we can|i can)\b[^.!?;:]{0,60}: "
    r")",
    re.IGNORECASE,
)
"""What comes before a statement and takes nothing from it: "In short, …", "I'm afraid …", "Please note that …"."""
_ADVISES = re.compile(r"(?:you|i|we)(?:['’]ll| can| could| may| might| should| will)\b", re.IGNORECASE)
_LONGEST_OFFER = 160
_LEAD_IN = re.compile(r"[^.!?]{0,120}:\s*\Z")
_MAY_ANNOUNCE: Final = frozenset({"offer", "hedge", "instruction"})
_IMPERATIVES = words(
    "contact check visit see ask call consult speak talk email write read note remember refer look click try feel let "
    "follow choose select open go keep make bring enjoy reach get find press restart log sign remind explore browse "
    "review compare consider think imagine start begin continue wait stay"
)
_BEFORE_IMPERATIVE = words("please simply just then first next finally also always kindly now so and or")
_POINTS: Final = {
    "it": "", "they": "", "he": "", "she": "", "this": "", "that": "", "these": "", "those": "",
    "its": "'s", "their": "'s", "his": "'s", "her": "'s",
}  # fmt: skip
_ALONE = words("this that these those")
_OF_PEOPLE, _OF_MANY = words("he she his her"), words("they their these those")
_FIRST_PRONOUN = re.compile(
    rf"((?:(?:and|but|also|then|however|in addition|furthermore),? )?)\b({'|'.join(_POINTS)})\b", re.IGNORECASE
)
_IT = re.compile(r"\bits?\b", re.IGNORECASE)
_NO_SUBJECT = SUBORDINATORS | words(
    "there you i we it they he she this that these those its their his her here to in on at by for with from during "
    "and but or so under within nobody nothing everyone anyone yes no please not also then however what which who each "
    "every would"
)
_DETERMINERS = words("the a an our your my this that these those each every all both")
_LONGEST_SUBJECT = 6
_COORDINATORS, _CONTRASTING = words("and but"), words("while whereas")
_SKIPPED = ADVERBS | CONNECTIVES | words("not also then still now therefore thus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that a clause says, in words that can be judged alone."""

    text: str
    """With its subject, though the clause may only point to it."""
    start: int
    """Where in the clause it stands."""
    end: int


class Claim(NamedTuple):
    """A clause made ready for judgement."""

    role: ClauseRole
    text: str
    """What is judged: the clause without its marks, its subject named."""
    reading: Reading | None
    """Of `text`; None where there is nothing to read."""
    announced: int = 0
    """Characters of the clause before what it states: "In short, …"."""


def read_claim(clause: str, *, kind: str = "prose", preceding: Sequence[str] = ()) -> Claim:
    """Return whether a clause is a claim, and what to judge in its place."""
    start, end = body_of(clause)
    said = visible(clause[start:end])
    if not _WORD.search(said) or kind == "code":
        return Claim("blank", "", None)
    reading = Reading(said)
    role = _role(said, reading, kind, is_title=_is_title(clause, said))
    announced = _announced(said) if role in _MAY_ANNOUNCE else 0
    if announced:
        role, said = "claim", said[announced].upper() + said[announced + 1 :]
        reading = Reading(said)
    if role != "claim":
        return Claim(role, said, reading)
    whole = _resolved(said, preceding)
    return Claim(role, whole, reading if whole == said else Reading(whole), announced)


def _announced(said: str) -> int:
    """Return where a statement begins that an offer, hedge or instruction only announces; 0 without one."""
    match = _ANNOUNCES.match(said)
    if match is None:
        return 0
    rest = said[match.end() :]
    spoken = [word.lower().replace("’", "'") for word in _WORD.findall(rest)]
    if not _has_verb(spoken) or _ADVISES.match(rest):
        return 0
    return match.end() if _role(rest, Reading(rest), "prose", is_title=False) == "claim" else 0


def visible(text: str) -> str:
    """Return a text as a reader sees it: without what only hides in it, letters that look alike as usual ones."""
    if text.isascii() and text.isprintable():
        return text
    shown = [char for char in text if unicodedata.category(char) != "Cf" and char not in _SELECTORS]
    return without_lookalikes("".join(shown).translate(_FULL_WIDTH))


def role_of(clause: str, *, kind: str = "prose") -> ClauseRole:
    """Return whether a clause states something, and if not, what it is."""
    return read_claim(clause, kind=kind).role


def statements_of(clause: str, *, preceding: Sequence[str] = ()) -> tuple[Statement, ...]:
    """Return what a clause states, one thing each: "Acme was founded in 1998 and has 40 staff." states two."""
    start, end = body_of(clause)
    claim = read_claim(clause, preceding=preceding)
    if claim.role != "claim":
        return ()
    start += claim.announced
    said = clause[start:end]
    parts = _coordinated(said)
    if len(parts) == 1:
        return (Statement(text=claim.text, start=start, end=end),)
    subject = _subject(claim.text)
    found = []
    for number, (first, last, has_subject) in enumerate(parts):
        part = said[first:last].strip(" ,;")
        if number == 0:
            part = claim.text[: len(claim.text) - (len(said) - last)].strip(" ,;")
        elif subject and not has_subject:
            part = f"{subject} {part}"
        found.append(Statement(text=_ended(part[:1].upper() + part[1:]), start=start + first, end=start + last))
    return tuple(found)


def body_of(clause: str) -> tuple[int, int]:
    """Return where the words of a clause begin and end, list marks and emphasis left out."""
    end = len(clause.rstrip().rstrip("*_`|").rstrip())
    match = _MARKUP.match(clause, 0, end)
    start = match.end() if match else 0
    if start and clause[start - 1 : start] in "-–—" and clause[start : start + 1].isdigit():
        start -= 1  # the sign of a number
    opened = clause[start - 1 : start]
    return (start - 1, end) if opened and opened in "\"'“‘([" else (start, end)


def _role(said: str, reading: Reading, kind: str, *, is_title: bool) -> ClauseRole:
    if _asks(said):
        return "question"
    kinds = {placed.slot.kind for placed in reading.placed}
    if not kinds.isdisjoint(_VALUES):
        return "claim"
    spoken = [word.lower().replace("’", "'") for word in _WORD.findall(said)]
    courtesy = _courtesy(said, spoken, named="name" in kinds)
    if courtesy:
        return courtesy
    if kinds.isdisjoint(_FACTUAL):
        return _without_slots(said, spoken, is_title=is_title or kind == "heading")
    titled = is_title or kind == "heading" or _LEAD_IN.fullmatch(said)
    return "heading" if titled and "negation" not in kinds and not _has_verb(spoken) else "claim"


def _courtesy(said: str, spoken: list[str], *, named: bool) -> ClauseRole | None:
    """What people say beside the matter: greetings, offers, and that they do not know."""
    if _HEDGE.match(said):
        return "hedge"
    if _GREETING.issuperset(spoken) or (not named and _SYMPATHY.fullmatch(said)):
        return "greeting"
    return "offer" if not named and len(said) < _LONGEST_OFFER and _OFFER.match(said) else None


def _without_slots(said: str, spoken: list[str], *, is_title: bool) -> ClauseRole:
    """What a clause is that has no value, name or negation in it."""
    if _is_instruction(spoken):
        return "instruction"
    has_verb = _has_verb(spoken)
    if not has_verb and (is_title or _LEAD_IN.fullmatch(said)):
        return "heading"
    if _LEAD_IN.fullmatch(said) or (not has_verb and len(spoken) <= 4 and all(word in _JOINING for word in spoken)):
        return "connective"
    return "claim"


_JOINING = (
    CONNECTIVES
    | ADVERBS
    | SUBORDINATORS
    | words(
        "in short for example instance that said other words addition general fact summary conclusion on the one hand "
        "of course as a result first second third firstly secondly lastly next to sum up overall note also and but so "
        "or besides additionally please by way contrast particular most importantly at same time"
    )
)


def _is_title(clause: str, said: str) -> bool:
    """Whether a clause is a line of its own without a full stop, or all in bold."""
    alone = clause.rstrip(" ").endswith("\n") or clause.lstrip().startswith("**")
    return (
        alone and said[-1:] not in ".!?;," and ":" not in said and clause.lstrip()[:1] not in "-+•" and len(said) < 80
    )


def _asks(said: str) -> bool:
    """Whether a clause asks something rather than state it in the form of a question."""
    ends = said.rstrip("\"'”’)]*_ ")
    return ends.endswith("?") and not _TAG_QUESTION.search(said) and not _DID_YOU_KNOW.match(said)


def _is_instruction(spoken: list[str]) -> bool:
    rest = list(spoken)
    while rest and rest[0] in _BEFORE_IMPERATIVE:
        del rest[0]
    return bool(rest) and rest[0] in _IMPERATIVES


def _has_verb(spoken: list[str]) -> bool:
    return any(word in SURE_VERBS or word in LIKELY_VERBS or (word.endswith("ed") and len(word) > 4) for word in spoken)


def _resolved(said: str, preceding: Sequence[str]) -> str:
    """Return the clause with the pronoun it begins with replaced by what the clause before is about.

    Only where no other reading is near: a wrong name would be judged as if the stream had said it.
    """
    match = _FIRST_PRONOUN.match(said)
    subject = _subject(preceding[-1]) if match and preceding else ""
    if match is None or not _may_mean(match[2].lower(), subject, preceding[-1:]):
        return said
    pronoun, place = match[2].lower(), match.start(2)
    after = _WORD.match(said, match.end())
    follows = after[0].lower().replace("’", "'") if after else ""
    if pronoun in _ALONE and not (follows in AUXILIARIES or follows in SURE_VERBS):
        return said  # "this plan" names what it means
    ending = _POINTS[pronoun] and ("'" if subject.endswith("s") else "'s")
    named = subject if place == 0 else _lowered(subject)
    return f"{said[:place]}{named}{ending}{said[match.end(2) :]}"


def _may_mean(pronoun: str, subject: str, preceding: Sequence[str]) -> bool:
    """Whether a subject is what a pronoun must mean: of the right kind and number, and with no rival beside it."""
    if not subject:
        return False
    first, *rest = subject.split()
    has_article = first.lower() in _DETERMINERS
    if pronoun in _OF_PEOPLE:
        return not has_article and 1 <= len(rest) <= 2 and all(word[:1].isupper() for word in (first, *rest))
    plural = " and " in subject or (subject.endswith("s") and not subject.endswith(("ss", "us", "is")))
    if pronoun in _OF_MANY:
        return plural
    if any(_IT.search(text) for text in preceding):
        return False  # it may still be what that clause already called "it"
    names = [placed for text in preceding for placed in Reading(text).names if placed.slot.text not in subject]
    return not plural and not names


def _subject(said: str) -> str:
    """Return what a statement is about: the words before its verb, where these are all it begins with."""
    begin, end = body_of(said)
    found: list[re.Match[str]] = []
    matches = list(_WORD.finditer(said, begin, min(end, begin + 120)))
    for match, after in zip(matches, [*matches[1:], None], strict=True):
        word = match[0].lower().replace("’", "'")
        if found and _is_verb(word, after[0].lower().replace("’", "'") if after else ""):
            break
        gap = said[found[-1].end() : match.start()] if found else " "
        if gap != " " or word in _NO_SUBJECT or len(found) == _LONGEST_SUBJECT:
            return ""
        found.append(match)
    else:
        return ""
    return said[found[0].start() : found[-1].end()] if found else ""


def _is_verb(word: str, follows: str) -> bool:
    """Whether a word is the verb of its statement; "charge" is none before "is"."""
    return word in SURE_VERBS or (word in LIKELY_VERBS and follows not in SURE_VERBS and follows not in LIKELY_VERBS)


class _Part(NamedTuple):
    """A piece of a clause that states something."""

    start: int
    end: int
    has_subject: bool


def _coordinated(said: str) -> list[_Part]:
    """Return the parts of a clause that have a verb each, whether they share the first one's subject or not."""
    matches = list(_WORD.finditer(said))
    spoken = [match[0].lower().replace("’", "'") for match in matches]
    borders, subjects = [0], [True]
    since = 0
    for at in range(2, len(matches) - 1) if spoken and spoken[0] not in SUBORDINATORS else ():
        joins = spoken[at] in _COORDINATORS or spoken[at] in _CONTRASTING
        if not joins or not _has_verb(spoken[since:at]):
            continue
        after = next((place for place in range(at + 1, len(matches)) if spoken[place] not in _SKIPPED), at)
        has_subject = spoken[after] not in SURE_VERBS
        sure = not said[: matches[at].start()].endswith(", ")  # "the costs and the fees charged" is one thing
        if has_subject and not _states(matches[after:], sure=sure):
            continue
        if has_subject or spoken[at] in _COORDINATORS:
            borders.append(matches[at].end() + 1)
            subjects.append(has_subject)
            since = at + 1
    ends = [*borders[1:], len(said)]
    return [
        _Part(first, _without_coordinator(said, first, last), own)
        for first, last, own in zip(borders, ends, subjects, strict=True)
    ]


def _states(matches: Sequence[re.Match[str]], *, sure: bool) -> bool:
    """Whether words begin with a subject and its verb."""
    near: list[str] = []
    for before, match in zip([None, *matches], matches[: _LONGEST_SUBJECT + 2], strict=False):
        if before is not None and match.start() != before.end() + 1:
            break  # a subject has no comma in it
        near.append(match[0].lower().replace("’", "'"))
    if not near or near[0] in SUBORDINATORS:
        return False
    if sure:
        return any(word in SURE_VERBS for word in near[1:])
    return any(_is_verb(word, after) for word, after in itertools.pairwise([*near[1:], ""]))


def _without_coordinator(said: str, first: int, last: int) -> int:
    part = said[first:last]
    trimmed = re.sub(r",?\s+(?:and|but|while|whereas)\s*\Z", "", part) if last < len(said) else part
    return first + len(trimmed)


def _gap(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?" else f"{text}."


def _lowered(subject: str) -> str:
    first = subject.split(" ", 1)[0]
    return subject[0].lower() + subject[1:] if first.lower() in _DETERMINERS else subject
