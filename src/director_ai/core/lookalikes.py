"""Letters of other scripts that look like Latin ones, and text without them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["STRONG_TWINS", "twins", "without_lookalikes"]


def twins(pairs: str) -> dict[str, str]:
    """Return which letter looks like which."""
    return {pair[0]: pair[1] for pair in pairs.split()}


STRONG_TWINS: Final = twins(
    "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT ХX УY ѴV ԌG ԜW ԚQ ҺH ӀI ҮY "
    "аa еe ѕs іi јj оo рp сc хx уy һh ѵv ԁd ԛq ԝw ӏl ҫc үy "
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX οo ϲc ϳj "
    "օo սu ոn հh ցg զq յj ՕO ՍU ՏS Լl "
    "ᎪA ᏴB ᏟC ᎠD ᎬE ᏀG ᎻH ᎫJ ᏦK ᏞL ᎷM ᏢP ᏒR ᏚS ᎢT ᏙV ᎳW ᏃZ"
)
"""Letters that look like a Latin one."""
_TRANSLATED: Final = str.maketrans(STRONG_TWINS)
_MIXED = re.compile(r"\b(?=\w*[A-Za-z])(?=\w*[^\W\d_A-Za-z\u00c0-\u024f])\w{1,64}")
_TWIN = re.compile(f"[{''.join(STRONG_TWINS)}]")


def without_lookalikes(text: str) -> str:
    """Return a text with Latin letters where a word that has some pretends to have more; other words stay."""
    if not _TWIN.search(text):
        return text
    return _MIXED.sub(lambda word: word[0].translate(_TRANSLATED), text)
