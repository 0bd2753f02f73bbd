"""Words that tell of the same deed or office, under one key: a table, and nothing else."""

from __future__ import annotations

from director_ai.core.scoring.slots.stems import stem
from director_ai.core.scoring.slots.word_lists import FUNCTION_WORDS, LIGHT_STEMS

__all__ = ["KINDRED"]

_KEPT = 5  # letters of a stem that count: "manages" and "manager" are one
_MOST = 40_000
_GROUPS = """
head lead run manage management direct charge boss chief responsible
make produce manufacture build builder construct create
own belong property
supply deliver provide source
found establish launch
base headquarter seat
teach train instruct learn pupil student apprentice coach lesson tutor educate
buy purchase acquire
write author pen
design architect draw
call name
marry wife husband wedding spouse
live reside home
check inspect examine control test
repair fix maintain
answer reply respond
decide decision approve permission consent
store keep
happen place hold host
sign signature
succeed follow replace
discover spot
win victory champion
sell sale
work job employ hire
die death kill
bury grave tomb
print publish
book reserve
pay payment
lie locate situate stand
issue hand
"""


class _Kindred(dict[str, str]):
    """The key of each topic word met so far."""

    __slots__ = ()

    def __missing__(self, topic: str) -> str:
        key = "" if topic in LIGHT_STEMS or not topic.isalpha() else _KEYS.get(topic[:_KEPT], topic[:_KEPT])
        if len(self) < _MOST:
            self[topic] = key
        return key


_KEYS = {
    stem(word)[:_KEPT]: group.split()[0][:_KEPT]
    for group in reversed(_GROUPS.strip().splitlines())
    for word in group.split()
    if word not in FUNCTION_WORDS
}
KINDRED = _Kindred()
"""The key under which a topic word is known again; empty where it tells nothing."""
