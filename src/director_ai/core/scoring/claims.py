"""Is a clause a claim, what does it state, and of whom: pronouns are resolved where that is simple.

A clause is exempt from judging only if nothing in it states or presupposes a fact. The rules here settle the sure cases
alone (`role`): greetings, thanks, refusals in set phrases. What else looks like no claim (`likely`) is judged like
any claim, and exempted afterwards only if the model agrees (`scoring.judging`).
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from director_ai.core.grammar import ADVERBS, AUXILIARIES, CONNECTIVES, SUBORDINATORS, SURE_VERBS, words
from director_ai.core.lookalikes import without_lookalikes
from director_ai.core.scoring.coordination import (
    LONGEST_SUBJECT,
    WORD,
    has_verb,
    is_verb,
    spoken_words,
)
from director_ai.core.scoring.courtesies import announcement, citation, confirms, courtesy_of, introduction, is_courtesy
from director_ai.core.scoring.fences import closing_of, opening_of, prose_in_fence
from director_ai.core.scoring.questions import as_statement, asks_yes_or_no, statement_in, suggestion_in
from director_ai.core.scoring.slots.reading import Reading, read_once
from director_ai.core.segment import ClauseSegmenter, split_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ClauseRole", "body_of", "read_claim", "role_of", "visible"]

ClauseRole = Literal[
    "claim", "blank", "greeting", "question", "offer", "heading", "connective", "hedge", "instruction", "aside",
    "parameter",
]  # fmt: skip
"""Everything but a claim states no fact, and is kept without evidence."""

_FULL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SELECTORS: Final = frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
_VALUES: Final = frozenset({"number", "money", "percent", "duration", "date", "time"})
_FACTUAL: Final = _VALUES | {"name", "negation"}
_SPACES = re.compile(r"(?<!\d)\s+|\s+(?![\s\d])|\s{2,}|[^\S\u00a0\u2009\u202f]")  # a narrow space may group digits
_EMPHASIS = re.compile(r"(?P<mark>\*\*\*?|`|(?<![\w*])\*)(?=\S)(?P<text>[^*`]{1,200})(?P=mark)")
_MARKUP = re.compile(r"[\s>#*_`~|•·–—-]*(?:\d{1,3}[.)]\s+)?[*_`~\"'“”‘’(\[]*")
_TAG_QUESTION = re.compile(
    r",\s*(?:right|correct|yes|no|eh|okay|ok|\w{2,7}n['’]t \w{1,5}|is it|are they)\s*\?\W*\Z", re.IGNORECASE
)
_DID_YOU_KNOW = re.compile(r"(?:did|do) (?:you|we) (?:know|realize|realise|remember)\b", re.IGNORECASE)

_CELL_BORDER = re.compile(r"\s*\|\s*")
_ADVISES = re.compile(r"(?:you|i|we)(?:['’]ll| can| could| may| might| should| will)\b", re.IGNORECASE)
_LEAD_IN = re.compile(r"[^.!?]{0,120}:\s*\Z")
_MAY_ANNOUNCE: Final = frozenset({"offer", "hedge", "instruction"})
_MOST_INTRODUCTIONS = 4
_BESIDE: Final = _MAY_ANNOUNCE | {"greeting", "question"}
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
_HARMLESS = words("problem problems issue issues worries worry")
"""Behind a "no" they say yes: "No problem!"."""
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


class Claim(NamedTuple):
    """A clause made ready for judgement."""

    role: ClauseRole
    text: str
    """What is judged: the clause without its marks, its subject named."""
    reading: Reading | None
    """Of `text`; None where there is nothing to read."""
    announced: int = 0
    """Characters of the clause before what it states: "In short, …"."""
    likely: ClauseRole = "claim"
    """What word lists take it for; only a hint where `role` is "claim"."""


def read_claim(clause: str, *, kind: str = "prose", preceding: Sequence[str] = (), question: str = "") -> Claim:
    """Return whether a clause is a claim, and what to judge in its place; `question` is what the user asked."""
    if kind == "code":
        return _read_fence(clause, preceding)
    start, end = body_of(clause)
    said = _spaced(_without_emphasis(visible(clause[start:end])))
    if not WORD.search(said):
        return Claim("blank", "", None, likely="blank")
    if kind == "row":
        said = _CELL_BORDER.sub(": ", said, count=1)
    reading = read_once(said)
    likely = _role(said, reading, kind, is_title=_is_title(clause, said))
    likely, announced = _introduced(said, likely)
    spoken = spoken_words(said)
    if confirms(spoken) and (asked := _asked_before(preceding, question)):
        return _confirmation(spoken, asked)
    if suggested := suggestion_in(said):
        said = suggested
        return Claim("claim", said, read_once(said), likely="claim")
    if likely != "claim" and is_courtesy(said, spoken, likely):
        return Claim(likely, said, reading, likely=likely)
    if likely == "claim":
        cited = citation(said)
        if announced or cited < len(said):
            said = said[announced].upper() + said[announced + 1 : cited]
            reading = read_once(said)
    elif _ends_in_question(said):
        said = statement_in(said)
        reading = read_once(said)
    whole = _resolved(said, preceding)
    return Claim("claim", whole, reading if whole == said else read_once(whole), announced, likely)


def _asked_before(preceding: Sequence[str], question: str) -> str:
    """Return the yes-or-no question that a bare "Yes." answers: the answer's own, or the user's."""
    if preceding and _ends_in_question(preceding[-1]):
        return preceding[-1] if asks_yes_or_no(preceding[-1]) else ""
    last = split_sentences(question.strip())[-1:] if question.strip() else []
    return last[0].strip() if last and asks_yes_or_no(last[0].strip()) else ""


def _confirmation(spoken: Sequence[str], question: str) -> Claim:
    """Return a bare "Yes." as what it states."""
    denies = bool(spoken) and spoken[0] in {"no", "nope", "never"} and _HARMLESS.isdisjoint(spoken)
    text = as_statement(question, negated=denies)
    return Claim("claim", text, Reading(text), likely="greeting")


def _read_fence(clause: str, preceding: Sequence[str]) -> Claim:
    """Return the claims in a fence as one; program text claims nothing, prose and data do."""
    segmenter = ClauseSegmenter()
    before, found = list(preceding), []
    for part in [*segmenter.feed(prose_in_fence(clause)), *segmenter.finish()]:
        claim = read_claim(part.text, kind="prose" if part.kind == "code" else part.kind, preceding=before)
        if claim.role == "claim" and claim.likely in {"claim", "instruction"}:
            found.append(claim.text)
            before.append(claim.text)
    text = " ".join(map(_ended, found))
    return Claim("claim", text, Reading(text)) if found else Claim("blank", "", None, likely="blank")


def _introduced(said: str, role: ClauseRole) -> tuple[ClauseRole, int]:
    """Return what a clause is without what only introduces it, and where that begins; 0 where nothing does."""
    if role in _MAY_ANNOUNCE:
        start = _announced(said)
        return ("claim", start) if start else (role, 0)
    start = 0
    for _ in range(_MOST_INTRODUCTIONS if role == "claim" else 0):
        step = introduction(said[start:])
        if not step or not WORD.search(said, start + step):
            break
        rest = said[start + step :]
        inner = _role(rest, Reading(rest), "prose", is_title=False)
        if inner in _BESIDE:
            more = _announced(rest)
            return ("claim", start + step + more) if more else (inner, 0)
        if inner != "claim" or not has_verb(spoken_words(rest)):
            break
        start += step
    return role, start


def _announced(said: str) -> int:
    """Return where a statement begins that an offer, hedge or instruction only announces; 0 without one."""
    start = announcement(said)
    rest = said[start:]
    if not start or not has_verb(spoken_words(rest)) or _ADVISES.match(rest):
        return 0
    return start if _role(rest, Reading(rest), "prose", is_title=False) == "claim" else 0


_RAISED: Final = re.compile(
    r"(?<!\S)[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u2080-\u2089]+|[\u3251-\u325f\u32b1-\u32bf]"
)
"""Raised, lowered and circled figures that stand as a number of their own; those of "m²" and of footnotes do not."""


def visible(text: str) -> str:
    """Return a text as a reader sees it: without what only hides in it, letters that look alike as usual ones."""
    if text.isascii() and text.isprintable():
        return text
    shown = "".join(char for char in text if unicodedata.category(char) != "Cf" and char not in _SELECTORS)
    plain = _RAISED.sub(lambda match: unicodedata.normalize("NFKC", match[0]), shown.translate(_FULL_WIDTH))
    return without_lookalikes(plain)


def _without_emphasis(text: str) -> str:
    """Return a text without the marks of bold, italic and code: they may stand inside a number ("**9**0 days")."""
    return _EMPHASIS.sub(r"\g<text>", text) if "*" in text or "`" in text else text


def _spaced(text: str) -> str:
    """Return a text with one space for each stretch of white space: where a line is wrapped says nothing."""
    return text if text.isprintable() and "  " not in text else _SPACES.sub(" ", text)


def role_of(clause: str, *, kind: str = "prose") -> ClauseRole:
    """Return what word lists take a clause for: a claim, or one of the roles that state nothing."""
    return read_claim(clause, kind=kind).likely


def body_of(clause: str) -> tuple[int, int]:
    """Return where the words of a clause begin and end, list marks, emphasis and the marks of a fence left out."""
    opened = opening_of(clause)
    end = max(opened, closing_of(clause, len(clause.rstrip().rstrip("*_`~|").rstrip())))
    match = _MARKUP.match(clause, opened, end)
    start = match.end() if match else opened
    if start and clause[start - 1 : start] in "-–—" and clause[start : start + 1].isdigit():
        start -= 1  # the sign of a number
    quote = clause[start - 1 : start]
    return (start - 1, end) if quote and quote in "\"'“‘([" else (start, end)


def _role(said: str, reading: Reading, kind: str, *, is_title: bool) -> ClauseRole:
    if _asks(said):
        return "question"
    kinds = {placed.slot.kind for placed in reading.placed}
    if not kinds.isdisjoint(_VALUES):
        return "claim"
    spoken = spoken_words(said)
    courtesy = courtesy_of(said, spoken, named="name" in kinds)
    if courtesy:
        return courtesy
    if kinds.isdisjoint(_FACTUAL):
        return _without_slots(said, spoken, is_title=is_title or kind == "heading")
    titled = is_title or kind == "heading" or _LEAD_IN.fullmatch(said)
    return "heading" if titled and "negation" not in kinds and not has_verb(spoken) else "claim"


def _without_slots(said: str, spoken: list[str], *, is_title: bool) -> ClauseRole:
    """What a clause is that has no value, name or negation in it."""
    if _is_instruction(spoken):
        return "instruction"
    is_sentence = has_verb(spoken)
    if not is_sentence and (is_title or _LEAD_IN.fullmatch(said)):
        return "heading"
    if _LEAD_IN.fullmatch(said) or (not is_sentence and len(spoken) <= 4 and all(word in _JOINING for word in spoken)):
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
    return _ends_in_question(said) and not _TAG_QUESTION.search(said) and not _DID_YOU_KNOW.match(said)


def _ends_in_question(said: str) -> bool:
    return said.rstrip("\"'”’)]*_ ").endswith("?")


def _is_instruction(spoken: list[str]) -> bool:
    rest = list(spoken)
    while rest and rest[0] in _BEFORE_IMPERATIVE:
        del rest[0]
    return bool(rest) and rest[0] in _IMPERATIVES


def _resolved(said: str, preceding: Sequence[str]) -> str:
    """Return the clause with the pronoun it begins with replaced by what the clause before is about.

    Only where no other reading is near: a wrong name would be judged as if the stream had said it.
    """
    match = _FIRST_PRONOUN.match(said)
    subject = _subject(preceding[-1]) if match and preceding else ""
    if match is None or not _may_mean(match[2].lower(), subject, preceding[-1:]):
        return said
    pronoun, place = match[2].lower(), match.start(2)
    after = WORD.match(said, match.end())
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
    matches = list(WORD.finditer(said, begin, min(end, begin + 120)))
    for match, after in zip(matches, [*matches[1:], None], strict=True):
        word = match[0].lower().replace("’", "'")
        if found and is_verb(word, after[0].lower().replace("’", "'") if after else ""):
            break
        gap = said[found[-1].end() : match.start()] if found else " "
        if gap != " " or word in _NO_SUBJECT or len(found) == LONGEST_SUBJECT:
            return ""
        found.append(match)
    else:
        return ""
    return said[found[0].start() : found[-1].end()] if found else ""


def _ended(text: str) -> str:
    return text if text[-1:] in ".!?" else f"{text}."


def _lowered(subject: str) -> str:
    first = subject.split(" ", 1)[0]
    return subject[0].lower() + subject[1:] if first.lower() in _DETERMINERS else subject
