"""Cuts the endings off English words."""

from __future__ import annotations

__all__ = ["stem"]

_IRREGULAR = {
    "rose": "rise", "risen": "rise", "fell": "fall", "fallen": "fall", "sold": "sell", "bought": "buy", "won": "win",
    "lost": "lose", "began": "begin", "begun": "begin", "left": "leave", "came": "come", "went": "go", "gone": "go",
    "gave": "give", "given": "give", "took": "take", "taken": "take", "made": "make", "paid": "pay", "sent": "send",
    "kept": "keep", "built": "build", "grew": "grow", "grown": "grow", "wrote": "write", "written": "write",
    "held": "hold", "found": "find", "said": "say", "men": "man", "women": "woman", "children": "child",
    "people": "person", "has": "have", "had": "have", "does": "do", "did": "do", "done": "do", "met": "meet",
    "died": "die", "dying": "die", "led": "lead", "shown": "show", "spent": "spend", "spoke": "speak",
    "became": "become", "got": "get", "ran": "run", "sat": "sit", "stood": "stand", "saw": "see", "seen": "see",
    "knew": "know", "known": "know", "born": "bear", "wore": "wear", "worn": "wear", "feet": "foot", "lives": "life",
    "wives": "wife", "drawn": "draw", "drew": "draw", "taught": "teach", "told": "tell", "ate": "eat",
}  # fmt: skip


def stem(word: str) -> str:
    """The word without its endings, well enough to tell "closes" and "closed" from "opens"."""
    if len(word) < 4 or word.isdigit():
        return _IRREGULAR.get(word, word)
    if word in _IRREGULAR:
        word = _IRREGULAR[word]
    elif word.endswith(("'s", "s'")):
        word = word[:-2]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("ing") and len(word) > 5:
        word = word[:-3]
    elif word.endswith("ed") and len(word) > 4:
        word = word[:-2]
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
        return word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
