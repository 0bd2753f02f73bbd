"""Which words of a clause are its verbs, and where it begins to state a second thing."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from director_ai.core.grammar import ADVERBS, CONNECTIVES, LIKELY_VERBS, SUBORDINATORS, SURE_VERBS, words

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LONGEST_SUBJECT", "WORD", "Part", "coordinated", "has_verb", "is_verb", "spoken_words"]

WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
LONGEST_SUBJECT = 6
_COORDINATORS, _CONTRASTING = words("and but"), words("while whereas")
_SKIPPED = ADVERBS | CONNECTIVES | words("not also then still now therefore thus")


def spoken_words(said: str) -> list[str]:
    """Return the words of a text in lower case, with plain apostrophes."""
    return [word.lower().replace("’", "'") for word in WORD.findall(said)]


def has_verb(spoken: Sequence[str]) -> bool:
    """Whether one of some words is a verb, or looks like one."""
    return any(word in SURE_VERBS or word in LIKELY_VERBS or (word.endswith("ed") and len(word) > 4) for word in spoken)


def is_verb(word: str, follows: str) -> bool:
    """Whether a word is the verb of its statement; "charge" is none before "is"."""
    return word in SURE_VERBS or (word in LIKELY_VERBS and follows not in SURE_VERBS and follows not in LIKELY_VERBS)


class Part(NamedTuple):
    """A piece of a clause that states something."""

    start: int
    end: int
    has_subject: bool


def coordinated(said: str) -> list[Part]:
    """Return the parts of a clause that have a verb each, whether they share the first one's subject or not."""
    matches = list(WORD.finditer(said))
    spoken = [match[0].lower().replace("’", "'") for match in matches]
    borders, subjects = [0], [True]
    since = 0
    for at in range(2, len(matches) - 1) if spoken and spoken[0] not in SUBORDINATORS else ():
        joins = spoken[at] in _COORDINATORS or spoken[at] in _CONTRASTING
        if not joins or not has_verb(spoken[since:at]):
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
        Part(first, _without_coordinator(said, first, last), own)
        for first, last, own in zip(borders, ends, subjects, strict=True)
    ]


def _states(matches: Sequence[re.Match[str]], *, sure: bool) -> bool:
    """Whether words begin with a subject and its verb."""
    near: list[str] = []
    for before, match in zip([None, *matches], matches[: LONGEST_SUBJECT + 2], strict=False):
        if before is not None and match.start() != before.end() + 1:
            break  # a subject has no comma in it
        near.append(match[0].lower().replace("’", "'"))
    if not near or near[0] in SUBORDINATORS:
        return False
    if sure:
        return any(word in SURE_VERBS for word in near[1:])
    return any(is_verb(word, after) for word, after in itertools.pairwise([*near[1:], ""]))


def _without_coordinator(said: str, first: int, last: int) -> int:
    part = said[first:last]
    trimmed = re.sub(r",?\s+(?:and|but|while|whereas)\s*\Z", "", part) if last < len(said) else part
    return first + len(trimmed)
