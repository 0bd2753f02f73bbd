"""Questions as statements: what a question presupposes, and what a "yes" to it says."""

from __future__ import annotations

import re
from typing import Final

from director_ai.core.grammar import AUXILIARIES, BASES, words

__all__ = ["OFFER", "REFERRAL", "as_statement", "asks_yes_or_no", "statement_in", "suggestion_in"]

_AUXILIARY: Final = "|".join(sorted(AUXILIARIES, key=len, reverse=True))
_YES_OR_NO: Final = re.compile(
    rf"(?:(?:and|so|but|or|then|also|ok|okay|hi|hello|please)\W+)*(?P<aux>{_AUXILIARY})\s+(?P<rest>\S[^?]*)\?\W*\Z",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    r"(?:you|we) (?:please |kindly |also |maybe )*(?:tell|explain|help|show|give|list|describe|summari[sz]e|check|say|"
    r"find|look|send|provide|clarify|write|compare|confirm|let|walk|repeat|remind)\b",
    re.IGNORECASE,
)
"""Asks for an answer, not for a "yes": "Can you tell me …?"."""
OFFER: Final = re.compile(r"(?:would|do|did|have|are|could|can|may|shall|should) (?:you|i|we)\b", re.IGNORECASE)
"""Asks what the user wants or has, and presupposes nothing: "Would you like …?"."""
REFERRAL: Final = re.compile(
    r"(?:(?:so|and|but|then|instead)\b,?\s+)?(?:please\s+|do\s+|(?:it(?:'|’)?s\s+)?best\s+(?:to\s+)?)?"
    r"(?:ask|consult|contact|check with|speak (?:to|with)|talk (?:to|with)|get in touch with)\s",
    re.IGNORECASE,
)
"""Sends the user to somebody who knows: "Please ask the office before you …"."""
_OPENING: Final = re.compile(
    r"(?:and |so |but |well, )*(?:(?:did|do|don't|didn't) (?:you|we) (?:know|realize|realise|remember|notice|see|hear)|"
    r"(?:were|are|weren't|aren't) you aware|have you (?:heard|seen|noticed|read)|isn't it (?:\w+ )?(?:that|how)|"
    r"is it not \w+ that|who would have thought|you know|why (?:wait|hurry|worry|bother)[^,]{0,20},? when|"
    r"(?:since|as|because|given|considering|seeing|now that|if) )(?: ?that)?[ ,]*",
    re.IGNORECASE,
)
_SUGGESTS: Final = re.compile(
    r"(?:and |so |but |well, |then )*(?:why not|why (?:don't|do not) (?:you|we)|"
    r"(?:could|can|should|would|might)(?:n't| not) (?:you|we)(?: just| simply)?|"
    r"there(?:'s| is) (?:really |absolutely )?no (?:good |real )?reason (?:why you should not|not to))"
    r"\s+(?P<what>\S.{3,})",
    re.IGNORECASE | re.DOTALL,
)
"""Suggests what it seems to deny: "Why not take two?"."""
_TAIL: Final = re.compile(
    rf"(?:[,;–—-]|\s-)\s*(?:so |and |but |or )?(?:(?:{_AUXILIARY})\s+(?:you|i|we|that|it|this|they|there|a|an|the|"
    r"anything|any)\b|(?:right|correct|okay|ok|what do you think|how does that sound|would|shall|do you|want|why not|"
    r"which|what|when|where|who|how)\b)[^,;?]*\?\W*\Z",
    re.IGNORECASE,
)
_PAREN: Final = re.compile(r"\s*\([^()]*\?\)\W*\Z")
_PRONOUNS: Final = words("i you we they he she it there this that these those")
_PERSONS: Final = {"i": "you", "my": "your", "me": "you", "you": "we", "your": "our", "am": "are"}
"""Who is meant when the other side speaks: "Do you have …?" is answered by "We have …"."""
_VERBS: Final = BASES | words("be have do combine exceed double cancel return refund book order visit mix drive")


def asks_yes_or_no(question: str) -> bool:
    """Whether a text ends in a question that a "yes" or a "no" answers, and is not a request to the assistant."""
    found = _YES_OR_NO.match(question.strip())
    return found is not None and not _REQUEST.match(found["rest"])


def suggestion_in(text: str) -> str:
    """Return what a text suggests in the words of a denial, as a statement: "Why not take two?" says that you can."""
    found = _SUGGESTS.match(text.strip().replace("’", "'"))
    return _sentence(f"you can {found['what'].rstrip(' .')}") if found else ""


def statement_in(question: str) -> str:
    """Return what a question states besides asking, or the question itself.

    "The fee is 5 EUR, shall I explain it?" states the first half; "Did you know that it is free?" the second.
    """
    for pattern in (_PAREN, _TAIL):
        found = pattern.search(question)
        if found and found.start() > 8:
            rest = question[: found.start()]
            opening = _OPENING.match(rest)
            return _sentence(rest[opening.end() :] if opening else rest)
    opening = _OPENING.match(question)
    if opening and len(question) - opening.end() > 8:
        return _sentence(question[opening.end() :].rstrip(" ?!*_\"')"))
    return as_statement(question) if asks_yes_or_no(question) and not OFFER.match(question) else question


def as_statement(question: str, *, negated: bool = False) -> str:
    """Return what a "yes" to a question says, in the user's words: "Can I combine them?" gives "You can combine them."

    Where the subject ends is guessed. A clumsy sentence is judged more strictly, never more leniently.
    """
    found = _YES_OR_NO.match(question.strip())
    if found is None:
        return _sentence(question)
    auxiliary, rest = found["aux"].lower(), found["rest"].split()
    at = _end_of_subject(auxiliary, rest)
    subject = [_PERSONS.get(word.lower(), word) for word in rest[:at]]
    if auxiliary == "am":
        auxiliary = "are"
    parts = [*subject, auxiliary, *(["not"] if negated else []), *(_PERSONS.get(w.lower(), w) for w in rest[at:])]
    if auxiliary in {"do", "does", "did"} and not negated:
        parts.remove(auxiliary)
    return _sentence(" ".join(parts))


def _end_of_subject(auxiliary: str, rest: list[str]) -> int:
    """Return how many words the subject has."""
    if rest[0].lower() in _PRONOUNS:
        return 1
    if auxiliary not in {"is", "are", "was", "were", "isn't", "aren't"}:
        verb = next((at for at, word in enumerate(rest) if at and word.lower() in _VERBS), None)
        return verb if verb is not None else min(2, len(rest))
    for at in range(1, len(rest)):
        word, before = rest[at], rest[at - 1]
        if word.lower() in {"a", "an", "the", "not", "allowed", "available", "possible", "free", "open", "closed"}:
            return at if before.lower() not in {"of", "in", "for", "at", "on", "to", "with"} else at + 2
        if any(char.isdigit() for char in word) or word.endswith("ed"):
            return at
    names = [at for at, word in enumerate(rest) if word[:1].isupper()]
    if names and names[-1] == len(rest) - 1 and len(rest) > 2:
        first = len(rest) - 1
        while first - 1 in names and len(rest) - first < 2:
            first -= 1
        return max(1, first)
    return max(1, len(rest) - 1)


def _sentence(text: str) -> str:
    plain = text.strip(" \t\n,;:-–—?!")
    return f"{plain[:1].upper()}{plain[1:]}." if plain else text
