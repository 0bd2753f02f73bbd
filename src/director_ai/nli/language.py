"""Is a clause English? Rules and model speak no other language, so nothing else may be judged or patched."""

from __future__ import annotations

import functools
import re
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

__all__ = ["is_english"]

LANGUAGES: Final = tuple("en de fr es it pt nl sv da no fi pl cs hu ro tr ru uk ar he zh ja ko el hi vi id".split())
"""Languages that are told apart. Fewer candidates make the probabilities of short clauses usable."""
SURE: Final = 0.7
"""None of 21,700 English sentences of training/written and training/claims was taken for another language at this."""
SURE_WITHOUT_ENGLISH: Final = 0.57
"""The same for four words or more of which none is a common English one."""
SURE_OF_FEW: Final = 0.9
"""The same for fewer than four words."""
LIKELY: Final = 0.3
"""Enough if the clause before was not English either."""
_LETTER: Final = re.compile(r"[^\W\d_]")
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_ENGLISH: Final = frozenset(
    "the is are of and to with for from that this these those it you your we our they their not can will would may "
    "must have has been be at by which when if or but there how what".split()
)
"""Common English words. Two of them, or one in three, settle it unless a word of `_FOREIGN` occurs too."""
_ONLY_ENGLISH: Final = frozenset(
    "the and with from that this these those you your our they their would could should which when what how there who "
    "than its his her she after before until without within every each only more about into over does any both never "
    "cost costs day days year years month months week weeks hour hours two three four five seven eight nine pay get "
    "gets take takes took comes earn earns founded opened bought paid charged holds lasts needs works already allowed "
    "people children members nothing free while were had it's isn't can't don't doesn't "
    "aren't won't cannot you're you'll there's that's i'm i've we're i'll you've didn't wasn't let's".split()
)
"""Words of no other language told apart: one of them is enough, under the same condition."""
_FOREIGN: Final = frozenset(
    "der das und ist nicht ein eine einen dem den mit für von zu auf im um wird werden sind kostet auch oder zum zur "
    "le la les des est et une du pour avec dans sur qui que ne pas au aux el los las es por con del un se su il lo gli "
    "di che non della nel sono os uma em não com são ao het een en van voor niet op zijn wordt aan bij och det är som "
    "på att ett av og ikke er til med nie jest się na je este și nu în bir ve için az és nem ja ei yang dan untuk "
    "không của è y".split()
)
"""Common words of other languages. Some occur in English names; then the library decides (a second to load)."""
_LONGEST: Final = 400
_FEW: Final = 4

_lock = threading.Lock()


def is_english(text: str, preceding: Sequence[str] = ()) -> bool:
    """Return whether a clause is English, or too short to tell; `preceding` are the clauses before it."""
    language, probability = _guess(text[:_LONGEST])
    if language == "en" or probability < LIKELY:
        return True
    if probability >= SURE:
        return False
    return not preceding or _guess(preceding[-1][:_LONGEST])[0] == "en"


@functools.lru_cache(maxsize=4096)
def _guess(text: str) -> tuple[str, float]:
    letters = _LETTER.findall(text)
    if not letters:
        return "en", 1.0
    if sum(_LATIN.match(letter) is not None for letter in letters) < len(letters) / 2:
        return "other", 1.0
    words = [word.lower() for word in _WORD.findall(text.replace("’", "'"))]
    known = sum(word in _ENGLISH for word in words)
    enough = known >= 2 or 3 * known >= len(words) or not _ONLY_ENGLISH.isdisjoint(words)
    if enough and _FOREIGN.isdisjoint(words):
        return "en", 1.0
    written = _WORD.findall(text)
    if len(words) > 1 and all(word[:1].isupper() for word in written):
        return "other", LIKELY  # names alone, which may be of any language
    if not known and len(_FOREIGN.intersection([words[0], *(word for word in written[1:] if word.islower())])) >= 2:
        return "other", 1.0
    with _lock:  # the library scores into a buffer of its own
        language, probability = _identifier().classify(text)
    probability = float(probability)
    if len(words) < _FEW:  # "Café crème" is on English menus, too
        return str(language), probability if probability >= SURE_OF_FEW else min(probability, LIKELY)
    if not known and probability >= SURE_WITHOUT_ENGLISH:
        return str(language), max(SURE, probability)
    return str(language), probability


@functools.cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415 - loads numpy and 4 MB of figures

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(LANGUAGES)
    return identifier
