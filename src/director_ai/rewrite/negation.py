"""Puts a "not" into a clause, or takes it out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS
from director_ai.rewrite.inflection import article_for, is_uncounted, singular
from director_ai.rewrite.patches import Patch

if TYPE_CHECKING:
    from director_ai.core.scoring.slots import Slot
    from director_ai.rewrite.patches import Group

__all__ = ["affirm", "answer_anew", "deny", "deny_verb"]

_AUXILIARY: Final = (
    r"is|are|was|were|am|be|been|being|has|have|had|do|does|did|will|would|can|could|should|may|might|must|shall"
)
_GROUP: Final = re.compile(
    rf"\b(?P<first>{_AUXILIARY})\b(?P<more>(?:\s+(?:{_AUXILIARY}|also|still|always|only|now|currently|\w+ly))*)\s+$",
    re.IGNORECASE,
)
_FIRST_AUXILIARY: Final = re.compile(
    r"(?<=\w )(?:is|are|was|were|will|would|can|could|should|may|might|must)\b(?P<also> also| still)?(?= \w)"
)
_THERE: Final = re.compile(r"(there (?:is|are|was|were))\s+(?:an?\s+|some\s+)?(?=\w)", re.IGNORECASE)
_CONTRACTED: Final = {"can't": "can", "won't": "will", "shan't": "shall", "cannot": "can"}
_DO_NOT: Final = re.compile(r"(?P<do>do|does|did)(?:\s+not|n['’]t)\s+(?P<verb>\w+)", re.IGNORECASE)
_CUE: Final = re.compile(
    r"\b(?:not|never)\s+|\b(?P<joined>cannot|\w+n['’]t)\b|\b(?P<no>no)\s+(?:longer\s+)?", re.IGNORECASE
)
_ARTICLE: Final = re.compile(r"\b(an?|the|some)\s+$", re.IGNORECASE)
_ANY: Final = re.compile(r"\bany\s+([a-z]+)")
_LAST: Final = re.compile(r"\s+(?:either|yet)(?=\W*$)")
_TO: Final = re.compile(r"\bto\s+$", re.IGNORECASE)
_ANSWER: Final = re.compile(r"\W*(?P<word>yes|no)(?=[,;:!]| [-–—])", re.IGNORECASE)
_WORDS: Final = re.compile(r"[^\W\d_]+(?:[ -][^\W\d_]+){0,3}")
_REACH: Final = 60
_BEFORE_CUE: Final = 9


def affirm(clause: str, slot: Slot, evidence: Slot | None, evidence_text: str) -> tuple[Patch, ...]:
    """Return the patch that takes the negation out of a slot such as "does not accept" or "no refunds"."""
    low = max(0, slot.start - _BEFORE_CUE)
    found = _DO_NOT.search(clause, low)
    if found and found.start() < slot.end:
        verb = _finite(found["do"], found["verb"], evidence)
        return (Patch(found.start(), found.end(), _as_begun(verb, found.group())), *_without_any(clause, found.end()))
    cue = _CUE.search(clause, low, slot.end)
    if cue is None or cue.end() <= slot.start:
        return (Patch(slot.start, slot.end, evidence.text),) if evidence else ()
    rest = _without_any(clause, cue.end())
    if cue["joined"]:
        word = cue["joined"].replace("’", "'")
        stem = _CONTRACTED.get(word.lower(), word[:-3])
        return (Patch(cue.start(), cue.end(), _as_begun(stem, word)), *rest)
    if cue["no"]:
        return _affirm_noun(clause, cue, evidence, evidence_text)
    return (Patch(cue.start(), cue.end(), ""), *rest)


def _as_begun(text: str, model: str) -> str:
    return text[:1].upper() + text[1:] if model[:1].isupper() else text


def _without_any(clause: str, start: int) -> tuple[Patch, ...]:
    """What becomes of the words that went with a negation: "any guarantee" is "a guarantee", a last "yet" goes."""
    patches = []
    if found := _ANY.search(clause, start):
        noun = found[1]
        word = "" if noun != singular(noun) else article_for(noun) + " "
        patches.append(Patch(found.start(), found.start(1), word))
    if found := _LAST.search(clause, start):
        patches.append(Patch(found.start(), found.end(), ""))
    return tuple(patches)


def _affirm_noun(clause: str, cue: re.Match[str], evidence: Slot | None, evidence_text: str) -> tuple[Patch, ...]:
    """The noun without its "no", with the article that the evidence gives it."""
    if cue.group().lower().endswith("longer "):
        return (Patch(cue.start(), cue.end(), ""),)
    article = _ARTICLE.search(evidence_text[max(0, evidence.start - _REACH) : evidence.start]) if evidence else None
    word = article[1].lower() if article else _article_of_one(clause[cue.end() :], evidence_text)
    if word:
        return (Patch(cue.start(), cue.end(), (word.capitalize() if cue.group()[0].isupper() else word) + " "),)
    after = clause[cue.end() : cue.end() + 1]
    if cue.group()[0].isupper():
        return (Patch(cue.start(), cue.end() + 1, after.upper()),)
    return (Patch(cue.start(), cue.end(), ""),)


def _article_of_one(phrase: str, evidence_text: str) -> str:
    """ "a" or "an" for one thing that has an article in the evidence; nothing for many, or for what is not counted."""
    found = _WORDS.match(phrase)
    words = re.split(r"[ -]", found.group()) if found else []
    end = next((at for at, word in enumerate(words) if word.lower() in FUNCTION_WORDS), len(words))
    if not end or any(word != singular(word) for word in words[:end]) or is_uncounted(words[end - 1]):
        return ""
    known = re.search(rf"\b(?:an?|the|this) (?:[\w-]+ ){{0,3}}{re.escape(words[0])}\b", evidence_text, re.IGNORECASE)
    return article_for(phrase) if known else ""


def _finite(do: str, verb: str, evidence: Slot | None) -> str:
    """The verb without "do": "accepts" for "does not accept"."""
    kind = do.lower()
    if kind == "does":
        if verb.lower() == "have":
            return "has"
        if re.search(r"[^aeiou]y$", verb):
            return verb[:-1] + "ies"
        return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
    if kind == "did":
        past = evidence.text.split()[-1] if evidence else ""
        return past if past[: max(2, len(verb) - 2)].lower() == verb[: max(2, len(verb) - 2)].lower() else f"did {verb}"
    return verb


def answer_anew(clause: str, group: Group, answer: str) -> Group:
    """Return the patches of a clause that is turned around with its "Yes," or "No," turned as well."""
    found = _ANSWER.match(clause)
    if not group or found is None or found["word"].lower() == answer or group[0].start < found.end():
        return group
    return (Patch(found.start("word"), found.end("word"), _as_begun(answer, found["word"])), *group)


def deny(clause: str, slot: Slot, evidence: Slot | None) -> tuple[Patch, ...]:
    """Return the patch that negates the predicate that ends a slot."""
    if _CUE.fullmatch(slot.text + " "):
        return ()
    start = slot.end - len(slot.text.split()[-1]) if slot.text.split() else slot.start
    before = clause[max(0, start - _REACH) : start]
    if group := _GROUP.search(before):
        at = max(0, start - _REACH) + group.start("first")
        end = at + len(group["first"])
        if group["first"].lower() == "can":
            return (Patch(at, end, group["first"] + "not"),)
        return (Patch(end, end, " not"),)
    if infinitive := _TO.search(before):
        at = max(0, start - _REACH) + infinitive.start()
        return (Patch(at, at, "not "),)
    if evidence is None:
        return ()
    if found := _DO_NOT.search(evidence.text):
        verb, word = found["verb"], clause[start : slot.end]
        is_past = found["do"].lower() == "did"
        do = "did" if is_past else "do" if word.lower() == verb.lower() else "does"
        return (Patch(start, slot.end, f"{do} not {verb}"),)
    return _deny_noun(clause, slot, evidence)


def deny_verb(clause: str) -> tuple[Patch, ...]:
    """Return the patch that negates the first auxiliary of a clause, if it has one."""
    found = _FIRST_AUXILIARY.search(clause)
    if found is None:
        return ()
    if there := _THERE.match(clause):
        return (Patch(there.end(1), there.end(), " no "),)
    verb = found.group().removesuffix(found["also"] or "")
    return (Patch(found.start() + len(verb), found.end(), "not" if verb == "can" else " not"),)


def _deny_noun(clause: str, slot: Slot, evidence: Slot) -> tuple[Patch, ...]:
    """ "No" before a noun, in the place of its article."""
    if not re.match(r"no\s", evidence.text, re.IGNORECASE):
        return (Patch(slot.start, slot.end, evidence.text),)
    low = max(0, slot.start - _REACH)
    article = _ARTICLE.search(clause[low : slot.start])
    at = low + article.start() if article else slot.start
    word = "No" if clause[at : at + 1].isupper() else "no"
    first = clause[slot.start : slot.start + 1]
    if at == slot.start and first.isupper():
        return (Patch(at, at + 1, f"{word} {first.lower()}"),)
    return (Patch(at, slot.start, f"{word} "),)
