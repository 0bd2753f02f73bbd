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
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENGLISH: Final = frozenset(
    "the is are of and to with for from that this these those it you your we our they their not can will would may "
    "must have has been be at by which when if or but there how what".split()
)
"""Words that hardly occur in other languages; two of them settle it without a closer look."""
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
    words = [word.lower() for word in _WORD.findall(text)]
    known = sum(word in _ENGLISH for word in words)
    if known >= 2 or 3 * known >= len(words):
        return "en", 1.0
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
