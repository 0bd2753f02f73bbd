"""Small numbers as words and back: "nine" and 9, "third" and 3."""

from __future__ import annotations

from typing import Final

__all__ = ["ordinal_ending", "read_number", "read_ordinal", "spell_number", "spell_ordinal"]

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS: Final = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()


def spell_number(number: int) -> str:
    """Return the word for a number from 0 to 99, or nothing."""
    if not 0 <= number < 100:
        return ""
    if number < 20:
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_ONES[ones]}" if ones else "")


def spell_ordinal(rank: int) -> str:
    """Return the word for a rank up to the twentieth, or nothing."""
    return _ORDINALS[rank] if 1 <= rank < len(_ORDINALS) else ""


def ordinal_ending(rank: int) -> str:
    """Return "st", "nd", "rd" or "th"."""
    return "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")


_WORDS: Final = {spell_number(number): number for number in range(100)}
_WORDS.update({word.replace("-", " "): number for word, number in list(_WORDS.items())})
_RANKS: Final = {word: rank for rank, word in enumerate(_ORDINALS) if rank}


def read_number(text: str) -> int | None:
    """Return the number that a word such as "twenty-five" means, or nothing."""
    return _WORDS.get(text.lower())


def read_ordinal(text: str) -> int | None:
    """Return the rank that a word such as "third" means, or nothing."""
    return _RANKS.get(text.lower())
