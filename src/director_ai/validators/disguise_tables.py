"""What characters hide behind: tables for the disguise check, as insides of character classes and as mappings."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from typing import Final

from director_ai.core.lookalikes import STRONG_TWINS, twins

__all__ = [
    "CONDITIONAL",
    "CYRILLIC_TWINS",
    "EMOJI",
    "FLAG_TAGS",
    "FOREIGN",
    "GENERIC_MARKS",
    "HIDDEN",
    "JOINED_SCRIPTS",
    "LATIN",
    "MONGOLIAN",
    "SMALL_CAPITALS",
    "STRONG_TWINS",
    "VIRAMAS",
    "WEAK_TWINS",
    "marks",
]

HIDDEN: Final = (
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # controls
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"  # soft hyphen, joiner of graphemes, fillers
    "\u200b\u2060-\u2065\ufeff\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # no width at all
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # the order of writing
    "\ud800-\udfff"  # halves of characters, which no encoding takes
)
"""Never seen and never needed."""
CONDITIONAL: Final = "\u200c\u200d\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0000-\U000e0fff"
"""Never seen, and needed in some places: joiners, variation selectors, tags."""

EMOJI: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3\u23f8-\u23fa"
    "\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618\u261d\u2620\u2622\u2623"
    "\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660\u2663\u2665\u2666\u2668\u267b\u267e"
    "\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8"
    "\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712"
    "\u2714\u2716\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797"
    "\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f0cf"
    "\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1e6-\U0001f1ff\U0001f201\U0001f202"
    "\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f7e0-\U0001f7f0\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
MONGOLIAN: Final = "\u1820-\u1878\u1880-\u18aa"
JOINED_SCRIPTS: Final = (
    "\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06ff\u0710-\u074c\u074d-\u077f\u07c0-\u07fa\u0840-\u085b\u0860-\u08ff"
    "\ufb50-\ufdff\ufe70-\ufefc"  # Arabic, Syriac, N'Ko, Mandaic
    "\u0900-\u0dff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u1820-\u18aa\u1900-\u19df\u1a20-\u1aad\u1b00-\u1b4b\u1b80-\u1baf"
    "\ua800-\ua82c\ua840-\ua877\ua880-\ua8d9\ua8e0-\ua8ff\ua980-\ua9df\uaa00-\uaa7f\uabc0-\uabed"
    "\U00010a00-\U00010a48\U00011000-\U00011fff\U0001e900-\U0001e94b"  # Indic and its kin
)
"""Scripts whose letters change with a joiner between them."""
VIRAMAS: Final = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0f84\u1039\u103a\u17d2"
FLAG_TAGS: Final = tuple(
    "".join(chr(0xE0000 + ord(letter)) for letter in code) + "\U000e007f" for code in ("gbeng", "gbsct", "gbwls")
)
"""What makes a black flag that of England, Scotland or Wales: others are shown nowhere, and can say anything."""

GENERIC_MARKS: Final = "\u0300-\u034e\u0350-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"


@functools.cache
def marks() -> str:
    """Return the marks of the scripts in use, variation selectors excepted: those of old ones slow a pattern down."""
    codes = [
        code
        for code in range(0x300, 0xFE00)
        if unicodedata.category(chr(code)) in {"Mn", "Mc", "Me"} and not 0x180B <= code <= 0x180F
    ]
    rows = [list(row) for _, row in itertools.groupby(enumerate(codes), key=lambda pair: pair[1] - pair[0])]
    return "".join(f"{chr(row[0][1])}-{chr(row[-1][1])}" for row in rows)


WEAK_TWINS: Final = twins("αa βb γy εe ηn ιi κk νv ρp τt υu χx ωw σo гr кk тt пn мm вb нh ьb иu яr")
"""Letters that nearly do; the Greek ones stand beside Latin ones in formulas, the others in endings."""
CYRILLIC_TWINS: Final = twins("AА BВ EЕ KК MМ HН OО PР CС TТ XХ aа eе oо pр cс xх yу")
LATIN: Final = "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
FOREIGN: Final = "\u0370-\u0373\u0376-\u037d\u037f\u0386-\u03ff\u0400-\u0482\u048a-\u052f\u0531-\u0587\u13a0-\u13f5"
"""Greek, Cyrillic, Armenian, Cherokee."""
SMALL_CAPITALS: Final = twins("ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ǫq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz")
