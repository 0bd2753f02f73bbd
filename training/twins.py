"""Hard pairs: premises of several sentences, and right and wrong sentences about them that differ in one content word.

python -m training.twins --data ../shared/data/train --out build/twins.jsonl.gz --count 90000
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from director_ai.core.scoring.slots.stems import stem
from training.contentwords import Exchanger, add_detail, phrases_of
from training.lexis import Lexis, learn, with_frames
from training.rewording import fuse, name_subject, reword, shorten

__all__ = ["make_twins"]

Row = dict[str, Any]
SOURCE = "twins"
_SENTENCE = re.compile(
    r"(?<=[.!?])(?<![A-Z]\.)(?<!Mr\.)(?<!Dr\.)(?<!St\.)(?<!Mrs\.)(?<!Jr\.)(?<!No\.)(?:\s+|(?<=[a-z]\.))(?=[A-Z\"'“])|\n+"
)
_CUT = re.compile(r"\b(?:the|an?|of|in|by|to|and|or|with|for|Mr|Mrs|Dr)\.?$")
_DOCUMENTS = ("synth_wiki", "cg2c_doc", "wice_oracle", "factscore", "fever_bin", "fm2", "checkcovid", "begin")
_SAID = {
    "tenp": 9000, "factscore": 6000, "mnli_ni": 6000, "scitail_ni": 3000, "snli_ni": 2500, "paws_ni": 1500, "fever_bin": 1700,
    "fm2": 1200, "cg2c_doc": 1000, "wice_oracle": 400, "checkcovid": 400, "begin": 60, "faithdial_audit": 100,
}  # fmt: skip
"""How many of the sentences that people wrote, and a premise supports, are taken of each file."""
_MOST, _LEAST = 8, 3
_SHARE_SAID = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """A sentence that its premise supports."""

    text: str
    sentences: tuple[str, ...]


def make_twins(files: dict[str, list[Row]], items: list[Row], rnd: random.Random, count: int) -> list[Row]:
    """So many pairs: right sentences, wrong twins of each, and here and there one with a detail added."""
    documents = _documents(files) if count else []
    if not documents:
        return []
    lexis = learn([text for sentences in documents for text in sentences])
    rights = _said(files, items, documents, rnd, int(count * _SHARE_SAID / 2.2))
    rights += _made(documents, lexis, rnd, int(count / 2.05) - len(rights))
    lexis = with_frames(lexis, (right.text for right in rights))
    exchanger = Exchanger(lexis)
    phrases = phrases_of([right.text for right in rights], lexis)
    made: list[Row] = []
    for right in rights:
        premise = _premise(right, rnd)
        wrong = exchanger.exchange(right.text, list(right.sentences), rnd)
        if not wrong:
            continue
        told = [(right.text, "supported"), (wrong, "unsupported")]
        if detailed := add_detail(right.text, list(right.sentences), phrases, rnd):
            told.append(detailed)
        made += [{"premise": premise, "hypothesis": text, "label": label, "source": SOURCE} for text, label in told]
    return made[:count]


def _documents(files: dict[str, list[Row]]) -> list[list[str]]:
    texts = {row["premise"]: name for name in _DOCUMENTS for row in files.get(name, [])}
    cut = (split(text) for text in texts)
    return [sentences for sentences in cut if len(sentences) >= 2]


def split(text: str) -> list[str]:
    """The sentences of a text that say something."""
    found = (part.strip() for part in _SENTENCE.split(text) if part)
    return [part for part in found if 3 <= len(part.split()) <= 70 and "###" not in part]


def _window(place: int, sentences: list[str], rnd: random.Random) -> tuple[list[str], int]:
    """Some of the sentences around one, and where it is among them."""
    size = rnd.randint(_LEAST, _MOST)
    start = max(0, min(place - rnd.randint(0, size - 2), len(sentences) - size))
    return sentences[start : start + size], place - start


def _made(documents: list[list[str]], lexis: Lexis, rnd: random.Random, count: int) -> list[Right]:
    """Sentences of documents in fewer or other words."""
    made: list[Right] = []
    seen: set[str] = set()
    for _ in range(count * 6):
        document = rnd.choice(documents)
        window, place = _window(rnd.randrange(len(document)), document, rnd)
        text = _retold(place, window, lexis, rnd)
        if text and text not in seen and 5 <= len(text.split()) <= 38 and _is_whole(text):
            seen.add(text)
            more = [rnd.choice(rnd.choice(documents)) for _ in range(max(0, _LEAST - len(window)))]
            made.append(Right(text=text, sentences=(*window, *more)))
        if len(made) >= count:
            break
    return made


def _is_whole(text: str) -> bool:
    """Whether a sentence was not cut off."""
    paired = text.count('"') % 2 == 0 and text.count("(") == text.count(")")
    return text[:1].isupper() and paired and not _CUT.search(text)


def _retold(place: int, window: list[str], lexis: Lexis, rnd: random.Random) -> str | None:
    way = rnd.random()
    text: str | None = window[place]
    if way < 0.3:
        text = fuse(place, window, lexis, rnd)
    elif way < 0.6:
        text = name_subject(place, window, rnd)
    if text is None:
        return None
    shorter = shorten(text, lexis, rnd)
    if shorter is None and way >= 0.6 and rnd.random() < 0.8:
        return None
    text = shorter or text
    return (reword(text, rnd) or text) if rnd.random() < 0.5 else text


def _said(
    files: dict[str, list[Row]], items: list[Row], documents: list[list[str]], rnd: random.Random, count: int
) -> list[Right]:
    """Sentences that people wrote about a premise, which is put among others where it is short."""
    rows = [
        (row["premise"], row["hypothesis"]) for name, most in _SAID.items() for row in _supported(files, name, most)
    ]
    for item in items:
        right = [*item.get("right", []), *(pair[0] for pair in item.get("pairs", []))]
        rows += [("\n".join(item["facts"]), text) for text in right if not item["held"]]
    found = []
    for premise, text in rnd.sample(rows, min(count, len(rows))):
        if _CUT.search(text):
            continue
        sentences = split(premise) or [premise]
        if len(sentences) > _MOST:
            sentences = sorted(_ranked(text, sentences)[:_MOST], key=sentences.index)
        fill = rnd.randint(_LEAST, 6) - len(sentences)
        if fill > 0 and documents:
            other = rnd.choice(documents)[:fill]
            sentences = [*other, *sentences] if rnd.random() < 0.5 else [*sentences, *other]
        found.append(Right(text=text.strip(), sentences=tuple(sentences)))
    return found


def _supported(files: dict[str, list[Row]], name: str, most: int) -> list[Row]:
    return [row for row in files.get(name, []) if row["label"] == "supported"][:most]


def _ranked(text: str, sentences: list[str]) -> list[str]:
    """The sentences that share most words with a text first, as a search would give them."""
    wanted = {stem(word.lower()) for word in re.findall(r"\w{3,}", text)}
    shared = {each: len(wanted & {stem(word.lower()) for word in re.findall(r"\w{3,}", each)}) for each in sentences}
    return sorted(sentences, key=lambda each: -shared[each])


def _premise(right: Right, rnd: random.Random) -> str:
    sentences = list(dict.fromkeys(right.sentences))
    ordered = _ranked(right.text, sentences) if rnd.random() < 0.5 else sentences
    return rnd.choice([" ", " ", "\n"]).join(ordered)


def main() -> None:
    from training.pairs import load, write, written_items  # noqa: PLC0415 - its mixture holds what is made here

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=90_000)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    rnd = random.Random(arguments.seed)
    files, _ = load(arguments.data, rnd)
    made = make_twins(files, written_items(), rnd, arguments.count)
    write(arguments.out, made)
    print(dict(Counter(row["label"] for row in made)))


if __name__ == "__main__":
    main()
