"""Words, numbers and signs of a text, with the sentence each is in."""

from __future__ import annotations

import re

from director_ai.core.borders import LINE_ENDS, abbreviation, may_end

__all__ = ["Tokens", "stem"]

# Every repetition is possessive or bounded, so that no text makes the search try the same characters again and again.
_TOKEN = re.compile(
    r"""
      (?P<iso>\d{4}-\d{2}-\d{2})(?!\d)
    | (?P<slashed>\d{1,2}(?P<sep>[/.])\d{1,2}(?P=sep)(?:\d{4}|\d{2}))(?![\d.]\d|\d)
    | (?P<clock>\d{1,2}:\d{2}(?::\d{2})?)(?!\d)
    | (?P<version>\d{1,9}(?:\.\d{1,9}){2,8})(?!\d)
    | (?P<number>\d{1,3}(?:,\d{3}){1,9}(?!\d)(?:\.\d++)?+ | \d++(?:\.\d++)?+ | \.\d++)
    | (?P<dotted>[^\W\d_](?:\.[^\W\d_]){1,5}(?:\.|(?![^\W_])))
    | (?P<word>[^\W\d_][^\W_]*+(?:['’][^\W_]++)*+)
    | (?P<sign>[^\w\s])
    """,
    re.VERBOSE,
)
_STOPS = frozenset(".!?")
_LINE_END = re.compile(f"[{LINE_ENDS}]")
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


class Tokens:
    """A text cut into tokens: parallel lists, because most rules look at the neighbors of a word."""

    __slots__ = ("ends", "kinds", "raw", "sentence_of", "sentences", "starts", "stems", "text", "words")

    def __init__(self, text: str) -> None:
        self.text = text
        matches = list(_TOKEN.finditer(text))
        self.raw = [match[0] for match in matches]
        folded = [raw.lower() for raw in self.raw]
        self.words = [word.replace("’", "'") for word in folded] if "’" in text else folded
        """In lower case, with straight apostrophes."""
        self.kinds = [match.lastgroup or "" for match in matches]
        self.starts = [match.start() for match in matches]
        self.ends = [match.end() for match in matches]
        self.stems = [stem(word) for word in self.words]
        self.sentences: list[tuple[int, int]] = []
        self.sentence_of: list[int] = []
        self._find_sentences()

    def __len__(self) -> int:
        return len(self.raw)

    def word(self, i: int) -> str:
        """The folded token at `i`, or nothing beyond the ends."""
        return self.words[i] if 0 <= i < len(self.words) else ""

    def touches(self, i: int) -> bool:
        """Whether token `i` follows its predecessor without a space."""
        return 0 < i < len(self.starts) and self.starts[i] == self.ends[i - 1]

    def span(self, first: int, last: int) -> tuple[int, int, str]:
        """Start, end and text from token `first` to token `last`, both included."""
        start, end = self.starts[first], self.ends[last]
        return start, end, self.text[start:end]

    def _find_sentences(self) -> None:
        first, count = 0, len(self.raw)
        breaks = {match.start() for match in _LINE_END.finditer(self.text)}
        raw = self.raw
        for i in range(count - 1):
            if (raw[i][-1] in _STOPS and self._ends_sentence(i)) or (
                breaks and any(at in breaks for at in range(self.ends[i], min(self.starts[i + 1], self.ends[i] + 9)))
            ):
                self.sentences.append((first, i + 1))
                first = i + 1
        self.sentences.append((first, count))
        for number, (begin, end) in enumerate(self.sentences):
            self.sentence_of.extend([number] * (end - begin))

    def _ends_sentence(self, i: int) -> bool:
        if self.kinds[i] == "number" or self.touches(i + 1):
            return False
        following = self.raw[i + 1]
        if following[0].islower() or following[0] in ",;:)":
            return False
        if self.raw[i][0] in "!?":
            return True
        before = self.raw[i][:-1] or (self.raw[i - 1] if i and self.touches(i) else "")
        kind = abbreviation(before) if before else None
        return kind is None or may_end(kind, following, initial=self.word(i + 2) == ".")
