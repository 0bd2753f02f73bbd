"""What merging the edits of several checks gets right and costs, alone and in a stream: ours beside Guardrails AI.

    python benchmarks/merge.py             ours alone, some minutes
    python benchmarks/merge.py --quick     ours alone, smaller numbers, about a minute
    python benchmarks/merge.py --peer      beside Guardrails AI 0.11.0
    python benchmarks/merge.py --save      also writes results/merge.json and its plot (needs matplotlib)

The peer is installed into a throw-away environment and used through what it exports: its merge of fixed texts, and a
`Guard` with two validators of ours that stream over scripted tokens. It has a home of its own in which its telemetry is
off. One merge may take 10 seconds; what hangs or raises is not exact. Its checks return whole fixed texts, ours edits:
"from texts" is our merge of the same fixed texts, compared word by word first.

Exactness: disjoint, touching and identical edits have one right outcome. Of nested and overlapping ones any outcome
counts in which the text around them is untouched, no removed character is left in any case, and between there is
nothing but whole replacements and characters that nobody removed.

Times are CPU seconds, the best of several runs; ratios are of one run.
"""

from __future__ import annotations

import argparse
import asyncio
import concurrent.futures
import contextlib
import functools
import itertools
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from director_ai.core.checks.runner import Checks
from director_ai.core.merge import Edit, EditKind, Merged, edits_between, merge_edits
from director_ai.validators.casing import Casing
from director_ai.validators.pii import PII

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PEER = "guardrails-ai==0.11.0"
MERGE_LIMIT, STREAM_LIMIT, START_LIMIT = 10.0, 180.0, 180.0
FAMILIES = ("disjoint", "touching", "identical", "nested", "overlapping")
KINDS: tuple[EditKind, ...] = ("remove", "rewrite", "style")
LENGTHS = (1_000, 5_000, 10_000, 50_000, 100_000, 1_000_000)
IMPORTS = {
    "ours": "from director_ai.core.checks import runner; from director_ai.validators import casing, pii",
    "peer": "import guardrails; from guardrails.validators import Validator",
}
Row = dict[str, Any]


# The peer. It answers one request a line; whoever does not answer in time is killed, and another one started.

WORKER = """
import json, os, re, sys, time, warnings
answers, sys.stdout = sys.stdout, sys.stderr
warnings.simplefilter("ignore")
from guardrails import Guard, settings
from guardrails.validators import FailResult, PassResult, Validator, register_validator
from guardrails.validator_service import ValidatorServiceBase

settings.disable_tracing = True
EMAIL = re.compile(r"[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+")

def answer(value, fixed):
    return PassResult() if value == fixed else FailResult(error_message="found", fix_value=fixed)

@register_validator(name="bench/lower", data_type="string")
class Lower(Validator):
    def _validate(self, value, metadata):
        return answer(value, value.lower())

@register_validator(name="bench/email", data_type="string")
class Email(Validator):
    def _validate(self, value, metadata):
        return answer(value, EMAIL.sub("[EMAIL]", value))

def merge(source, texts):
    started = time.process_time()
    text = ValidatorServiceBase().multi_merge(source, texts)
    return {"text": text, "seconds": time.process_time() - started}

def stream(tokens, checks):
    def model(*args, messages=None, **options):
        yield from tokens
    guard = Guard().use(*(check(on_fail="fix") for check in (Lower, Email)[:checks]))
    started = time.process_time()
    asked = guard(model, messages=[{"role": "user", "content": "go"}], stream=True)
    parts = [part.validated_output or "" for part in asked]
    return {"text": "".join(parts), "seconds": time.process_time() - started}

print("ready", file=answers, flush=True)
for line in sys.stdin:
    request = json.loads(line)
    try:
        answered = {"merge": merge, "stream": stream}[request.pop("do")](**request)
    except Exception as error:
        answered = {"failed": type(error).__name__}
    print(json.dumps(answered), file=answers, flush=True)
"""
MEASURE_IMPORT = """
import json, re, sys, time
started = time.process_time()
exec(sys.argv[1])
seconds = time.process_time() - started
print(json.dumps([seconds, int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024]))
"""


def install(folder: Path, wanted: str) -> str:
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "-qq", "--disable-pip-version-check", wanted], check=True)
    return python


class Peer:
    """A process of the peer's environment."""

    def __init__(self, python: str, home: Path) -> None:
        home.mkdir(exist_ok=True)
        (home / ".guardrailsrc").write_text("enable_metrics=false\nuse_remote_inferencing=false\n", "utf-8")
        self.python = python
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("GUARDRAILS", "OTEL"))},
            "HOME": str(home),
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }
        self._reader = concurrent.futures.ThreadPoolExecutor(1)
        self._process: subprocess.Popen[str] | None = None

    def ask(self, do: str, limit: float, **request: Any) -> Row:
        """Return its answer, or `failed` with a word."""
        process = self._process or self._start()
        assert process.stdin is not None
        process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        process.stdin.flush()
        try:
            answered: Row = json.loads(self._line(process, limit) or '{"failed": "died"}')
        except TimeoutError:
            answered = {"failed": "hung"}
        if answered.get("failed") in {"hung", "died"}:
            self.close()
        return answered

    def merge(self, source: str, texts: Sequence[str]) -> Row:
        return self.ask("merge", MERGE_LIMIT, source=source, texts=list(texts))

    def stream(self, tokens: Sequence[str], checks: int) -> Row:
        return self.ask("stream", STREAM_LIMIT, tokens=list(tokens), checks=checks)

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [self.python, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=self.environment,
        )
        if self._line(self._process, START_LIMIT).strip() != "ready":
            raise RuntimeError("the peer does not start")
        return self._process

    def _line(self, process: subprocess.Popen[str], limit: float) -> str:
        assert process.stdout is not None
        waiting = self._reader.submit(process.stdout.readline)
        try:
            return waiting.result(limit)
        except TimeoutError:
            process.kill()  # the reader sees the end, and is free again
            raise

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


# Exactness.

WORDS = (
    "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which "
    "one were all their there we when your can said will each about how up out them then she many some so these would "
    "other into has more her two like him see time could no make than first been its who now people over down only way "
    "Company Report Market Station Berlin Paris River Council Minister Engineer Doctor Monday August"
).split()
LETTERS = "αβγδεζηθικλμνξοπρτυφχψω" + "абвгдежзийклмнопрстуфхцчшщъыьэюя"  # each at most once in a text


def sentences(rng: random.Random, words: int) -> str:
    """Words with capitals and full stops."""
    parts = []
    for at in range(words):
        word = rng.choice(WORDS)
        parts.append(word.title() if at % 12 == 0 else word)
        parts.append(rng.choice((". ", ".\n", "! ")) if at % 12 == 11 else rng.choice((" ", " ", " ", ", ")))
    return "".join(parts)


@dataclass
class Case:
    """Edits of one text, by number of the check; `spots` are the stretches in which edits overlap."""

    source: str
    by_check: list[list[Edit]]
    spots: list[tuple[int, int]] = field(default_factory=list)

    @property
    def edits(self) -> list[Edit]:
        return [edit for edits in self.by_check for edit in edits]

    @property
    def texts(self) -> list[str]:
        """What each check alone would make of it."""
        return [apply(self.source, edits) for edits in self.by_check]


def apply(source: str, edits: Sequence[Edit]) -> str:
    """Apply edits that do not overlap."""
    pieces, place = [], 0
    for edit in sorted(edits, key=lambda each: each.start):
        pieces += [source[place : edit.start], edit.replacement]
        place = edit.end
    return "".join((*pieces, source[place:]))


def an_edit(rng: random.Random, source: str, start: int, end: int, check: int, *kinds: EditKind) -> Edit:
    """An edit such as checks make: a removal, another word, or the same in capitals."""
    kind = rng.choice(kinds or KINDS)
    new = {
        "remove": rng.choice(("", "[EMAIL]", "[NAME]", "***")),
        "rewrite": rng.choice(("Zürich", "42 %", "Quebec", "quite another thing")),
        "style": source[start:end].swapcase(),
    }[kind]
    return Edit(start, end, new, kind, f"check {check}", "why")


def apart(rng: random.Random, family: str, checks: int) -> Case:
    """Disjoint, touching or identical edits of a word or two."""
    source = sentences(rng, rng.randint(20, 160))
    places = [found.span() for found in re.finditer(r"\w+", source)]
    count = rng.randint(checks, min(2 * checks, len(places) // 4))
    chosen = sorted(rng.sample(range(len(places) // 2 - 1), count))  # of pairs of words
    by_check: list[list[Edit]] = [[] for _ in range(checks)]
    for turn, at in enumerate(chosen):
        (start, end), (_, behind), first = places[2 * at], places[2 * at + 1], turn % checks
        second = (first + rng.randint(1, checks - 1)) % checks
        if family == "touching":
            by_check[first].append(an_edit(rng, source, start, end, first))
            by_check[second].append(an_edit(rng, source, end, behind, second, "remove", "rewrite"))
            continue
        end = rng.choice((end, end, behind))  # then nothing but a gap may lie between it and the next one
        edit = an_edit(rng, source, start, end, first)
        by_check[first].append(edit)
        if family == "identical":
            same = Edit(start, end, edit.replacement, edit.kind, f"check {second}", "why")
            by_check[second].append(same)
    return Case(source, by_check)


def together(rng: random.Random, family: str, checks: int) -> Case:
    """Nested edits, or a chain of overlapping ones, one of each check; at least one of them is a removal."""
    letters = iter(rng.sample(LETTERS, len(LETTERS)))
    text, spots = "", []
    for _ in range(rng.randint(1, 3)):
        text += sentences(rng, rng.randint(5, 40))
        start = len(text)
        text += "".join(next(letters) for _ in range(rng.randint(2 * checks + 2, 17)))
        spots.append((start, len(text)))
        text += " "
    text += sentences(rng, rng.randint(5, 40))
    by_check: list[list[Edit]] = [[] for _ in range(checks)]
    for start, end in spots:
        cuts = sorted(rng.sample(range(start, end + 1), 2 * checks))
        if family == "nested":
            pairs = [(cuts[at], cuts[-1 - at]) for at in range(checks)]
        else:  # each begins before the one before it ends
            starts, ends = [cuts[0], *cuts[1:-1:2]], [*cuts[2:-1:2], cuts[-1]]
            pairs = list(zip(starts, ends, strict=True))
        kinds: list[EditKind] = ["remove", *rng.choices(KINDS, k=checks - 1)]
        rng.shuffle(kinds)
        for check, (kind, (low, high)) in enumerate(zip(kinds, rng.sample(pairs, checks), strict=True)):
            by_check[check].append(an_edit(rng, text, low, high, check, kind))
    return Case(text, by_check, spots)


def cases(family: str, count: int, seed: int = 6) -> Iterator[Case]:
    """As many for each number of checks from 2 to 5."""
    rng = random.Random(f"{family} {seed}")
    make = together if family in {"nested", "overlapping"} else apart
    for number in range(count):
        yield make(rng, family, 2 + number % 4)


@dataclass
class Judgement:
    """What came of one merge."""

    exact: bool
    leaked: int
    """Characters that somebody removed."""


def judge(case: Case, text: str | None) -> Judgement:
    if text is None:
        return Judgement(exact=False, leaked=0)
    if not case.spots:
        unique = {(edit.start, edit.end): edit for edit in case.edits}
        return Judgement(exact=text == apply(case.source, list(unique.values())), leaked=0)
    removed = {letter for e in case.edits if e.kind == "remove" for letter in case.source[e.start : e.end]}
    leaked = sum(character.lower() in removed for character in text)
    pattern, place = "", 0
    for start, end in case.spots:
        edits = [edit for edit in case.edits if start <= edit.start < end and edit.kind != "style"]
        kept = set(case.source[start:end]) - removed
        options = {re.escape(edit.replacement) for edit in edits if edit.replacement} | kept | {k.upper() for k in kept}
        pattern += re.escape(case.source[place:start]) + f"(?:{'|'.join(sorted(options)) or 'x{0}'})*"
        place = end
    found = re.fullmatch(pattern + re.escape(case.source[place:]), text)
    return Judgement(exact=found is not None and not leaked, leaked=leaked)


def all_accounted_for(case: Case, merged: Merged) -> bool:
    """Whether every edit was applied as it stands, or is listed as a conflict."""
    known = [*merged.applied, *(conflict.lost for conflict in merged.conflicts)]
    seen = {(edit.start, edit.end, edit.replacement, edit.kind) for edit in known}
    return all((edit.start, edit.end, edit.replacement, edit.kind) in seen for edit in case.edits)


def measure_exactness(count: int, peer: Peer | None, peer_count: int) -> list[Row]:
    rows = []
    for family in FAMILIES:
        rng, ours, free, listed = random.Random(family), [], 0, 0
        for case in track(cases(family, count), description=f"{family}, ours", total=count, transient=True):
            merged = merge_edits(case.source, case.edits)
            ours.append(judge(case, merged.text))
            free += merge_edits(case.source, rng.sample(case.edits, len(case.edits))) == merged
            listed += all_accounted_for(case, merged)
        row: Row = {
            "edits": family,
            "cases": count,
            "exact": share(each.exact for each in ours),
            "leaked": sum(each.leaked for each in ours),
            "order-free": free / count,
            "conflicts listed": listed / count,
        }
        rows.append(row | (peer_exactness(family, peer, peer_count) if peer else {}))
    return rows


def peer_exactness(family: str, peer: Peer, count: int) -> Row:
    judged: list[tuple[int, Judgement]] = []
    failed = free = 0
    for case in track(cases(family, count), description=f"{family}, peer", total=count, transient=True):
        answer = peer.merge(case.source, case.texts)
        failed += "failed" in answer
        judged.append((len(case.by_check), judge(case, answer.get("text"))))
        free += "text" in answer and answer["text"] == peer.merge(case.source, case.texts[::-1]).get("text")
    by_number = [share(each.exact for number, each in judged if number == checks) for checks in (2, 3, 4, 5)]
    return {
        "peer cases": count,
        "peer exact": share(each.exact for _, each in judged),
        "by 2/3/4/5 checks": " ".join(f"{each:.0%}" for each in by_number),
        "peer leaked": sum(each.leaked for _, each in judged),
        "peer order-free": free / count,
        "peer hung or raised": failed,
    }


def share(found: Iterator[bool]) -> float:
    listed = list(found)
    return sum(listed) / max(1, len(listed))


# The example of the published description: lower-casing and personal data.


def private(rng: random.Random) -> tuple[str, str]:
    """Something personal, and its placeholder."""
    name = rng.choice(("Jane", "JOHN", "ada", "Björn", "X")) + rng.choice((".Doe", "_Roe", "-Poe", "", "99"))
    return rng.choice(
        (
            (f"{name}@{rng.choice(('Acme', 'mail.Example', 'a-b'))}.{rng.choice(('com', 'ORG', 'co.uk'))}", "[EMAIL]"),
            (f"{name}@{rng.choice(('Acme', 'mail.Example', 'a-b'))}.{rng.choice(('com', 'ORG', 'co.uk'))}", "[EMAIL]"),
            (rng.choice(("4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005")), "[CARD]"),
            (rng.choice(("DE89370400440532013000", "GB82 WEST 1234 5698 7654 32")), "[IBAN]"),
            (rng.choice(("192.168.10.17", "2001:db8::FF00:42:8329")), "[IP]"),
            (rng.choice(("+49 30 901820", "+1 415-555-2671")), "[PHONE]"),
        )
    )


def private_text(rng: random.Random) -> tuple[str, str, str]:
    """A text, the same with placeholders, and the same in small letters with placeholders."""
    source = redacted = both = ""
    for _ in range(rng.randint(1, 5)):
        words = sentences(rng, rng.randint(1, 12)).rstrip("., !\n") + rng.choice((" ", ": ", ", ", "\n", ' "', " ("))
        value, placeholder = private(rng)
        behind = rng.choice((" ", ", ", ". ", "! ", "\n", '" ', ") "))
        source += words + value + behind
        redacted += words + placeholder + behind
        both += words.lower() + placeholder + behind
    return source, redacted, both


def measure_example(count: int, peer: Peer | None, peer_count: int) -> tuple[list[Row], list[str]]:
    """Share of texts that come out right, finished and in a stream; the peer merges two right fixes."""
    rng, checks = random.Random(4), Checks([Casing(), PII()])
    right = {"finished": 0, "streamed": 0, "peer": 0}
    wrong: list[str] = []
    for number in track(range(count), description="lower-case and PII", transient=True):
        source, redacted, both = private_text(rng)
        finished = checks.run(source).text
        in_pieces = streamed(checks, chunked(rng, source, "random"))
        right["finished"] += finished == both
        right["streamed"] += in_pieces == both
        if not finished == in_pieces == both and len(wrong) < 5:
            wrong.append(f"{source!r} -> {finished!r}" + (f" but {in_pieces!r}" if in_pieces != finished else ""))
        if peer and number < peer_count:
            right["peer"] += peer.merge(source, [source.lower(), redacted]).get("text") == both
    row: Row = {
        "texts": count,
        "exact, finished": right["finished"] / count,
        "exact, streamed": right["streamed"] / count,
    }
    if peer:
        row |= {"peer texts": peer_count, "peer exact, merge of right fixes": right["peer"] / peer_count}
    return [row], wrong


# Time against length.


def long_case(rng: random.Random, length: int) -> Case:
    """Two checks that change a word in turn, one in about 50 characters."""
    source = sentences(rng, length // 4)[:length]
    by_check: list[list[Edit]] = [[], []]
    behind = 0
    for turn, found in enumerate(re.finditer(r"\w+", source)):
        if found.start() - behind >= 45:
            behind = found.end()
            by_check[turn % 2].append(an_edit(rng, source, *found.span(), turn % 2))
    return Case(source, by_check)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    outcome = work()
    return time.process_time() - started, outcome


def from_texts(source: str, texts: Sequence[str]) -> Merged:
    """Merge what functions from text to text made of a source."""
    return merge_edits(source, [e for n, text in enumerate(texts) for e in edits_between(source, text, check=f"{n}")])


def measure_lengths(lengths: Sequence[int], repeats: int, peer: Peer | None) -> list[Row]:
    rows = []
    for length in track(lengths, description="lengths", transient=True):
        rng, count = random.Random(length), 10 if length <= 10_000 else 3
        spent: dict[str, list[float]] = {"edits": [], "texts": [], "peer": []}
        right = {"edits": 0, "texts": 0, "peer": 0}
        failed = 0
        for _ in range(count):
            case = long_case(rng, length)
            expected, edits, texts = apply(case.source, case.edits), case.edits, case.texts
            works = {
                "edits": functools.partial(merge_edits, case.source, edits),
                "texts": functools.partial(from_texts, case.source, texts),
            }
            for name, work in works.items():
                runs = [timed(work) for _ in range(repeats)]
                spent[name].append(min(seconds for seconds, _ in runs))
                right[name] += runs[0][1].text == expected
            if peer:
                answer = peer.merge(case.source, texts)
                failed += "failed" in answer
                right["peer"] += answer.get("text") == expected
                spent["peer"].append(answer.get("seconds", MERGE_LIMIT))
        best = {name: statistics.median(times) * 1e3 for name, times in spent.items() if times}
        row: Row = {"characters": length, "edits": len(edits), "ms": best["edits"], "exact": right["edits"] / count}
        row |= {"ms, from texts": best["texts"], "exact, from texts": right["texts"] / count}
        if peer:
            row |= {"peer ms": best["peer"], "peer exact": f"{right['peer']}/{count}", "peer hung or raised": failed}
            row |= {"peer / ours": best["peer"] / best["edits"], "peer / from texts": best["peer"] / best["texts"]}
        rows.append(row)
    return rows


# Streams.


def chunked(rng: random.Random, text: str, way: str) -> list[str]:
    """Cut a text into tokens."""
    if way == "characters":
        return list(text)
    if way == "words":
        return re.findall(r"\s*\S+|\s+", text)
    if way == "whole":
        return [text]
    cuts = sorted({0, len(text), *(rng.randint(0, len(text)) for _ in range(len(text) // 5))})
    return [text[low:high] for low, high in itertools.pairwise(cuts)]


def mixed_tokens(count: int, address: str) -> tuple[list[str], list[str]]:
    """Words with capitals, an e-mail address among 40 of them; and what is right for one and for two checks."""
    tokens = re.findall(r"\s*\S+", sentences(random.Random(2), count))
    both = [token.lower() for token in tokens]
    for at in range(20, count, 40):
        tokens[at], both[at] = " " + address.format(at), " [EMAIL]"
    return tokens, ["".join(tokens).lower(), "".join(both)]


def streamed(checks: Checks, tokens: Sequence[str]) -> str:
    return "".join(piece.text for piece in checks.stream(tokens))


def measure_streams(sizes: Sequence[int], repeats: int, peer: Peer | None) -> list[Row]:
    """Tokens per CPU second; the peer's second check looks for e-mail alone, and so does ours beside it."""
    email, everything = [Casing(), PII(kinds=("email",))], [Casing(), PII()]
    plain, capitals = "jane.doe{}@acme.com", "Jane.Doe{}@Acme.com"
    settings: list[tuple[str, str, list[Any]]] = [
        ("1: lower-case", plain, [Casing()]),
        ("2: lower-case, e-mail", plain, email),
        ("2: lower-case, e-mail, both in one place", capitals, email),
        ("2: lower-case, all PII", plain, everything),
    ]
    rows: list[Row] = []
    for name, address, given in track(settings, description="streams", transient=True):
        checks, number = Checks(given), len(given)
        for size in sizes:
            tokens, right = mixed_tokens(size, address)
            runs = [timed(functools.partial(streamed, checks, tokens)) for _ in range(repeats)]
            pace = size / min(seconds for seconds, _ in runs)
            row: Row = {"checks": name, "tokens": size, "tokens per CPU s": pace, "µs per token": 1e6 / pace}
            row["exact"] = runs[0][1] == right[number - 1]
            if peer and given is everything:
                row |= beside(
                    next(each for each in rows if each["tokens"] == size and "e-mail" in each["checks"]), pace
                )
            elif peer:
                answers = [peer.stream(tokens, number) for _ in range(2 if size > 4_000 else 3)]
                row |= peer_pace(answers, pace, size, right[number - 1])
            rows.append(row)
    return rows


def peer_pace(answers: list[Row], ours: float, size: int, right: str) -> Row:
    times = [answer["seconds"] for answer in answers if "seconds" in answer]
    if not times:
        return {"peer tokens per CPU s": f"none: {answers[0]['failed']}", "ours / peer": "", "peer exact": False}
    theirs = size / min(times)
    exact = answers[0].get("text") == right
    return {"peer tokens per CPU s": theirs, "ours / peer": ours / theirs, "peer exact": exact}


def beside(row: Row, ours: float) -> Row:
    """Our search for everything, beside the peer's for e-mail."""
    theirs = row["peer tokens per CPU s"]
    ratio = ours / theirs if isinstance(theirs, float) else ""
    return {"peer tokens per CPU s": theirs, "ours / peer": ratio, "peer exact": row["peer exact"]}


WAYS = ("characters", "words", "random", "whole")


def quiet_text(rng: random.Random) -> str:
    """A text in which there is nothing to fix."""
    parts = []
    for _ in range(rng.randint(1, 8)):
        parts.append(" ".join(rng.choice(WORDS).lower() for _ in range(rng.randint(1, 12))))
        parts.append(rng.choice((". ", ".\n", ".\n\n", "! ", "? ", "; ", " (e.g. this) ", ":\n- ", "…  ", ". 2 of 3 ")))
    return "".join(parts) + rng.choice(("", "and no end", "the end.", "\n"))


async def acollected(checks: Checks, tokens: Sequence[str]) -> str:
    async with checks.astream(tokens) as stream:
        return "".join([piece.text async for piece in stream])


def measure_unchanged(count: int, peer: Peer | None, peer_count: int) -> list[Row]:
    """Share of streams that come out as they went in."""
    rows, checks = [], Checks([Casing(), PII()])
    for way in track(WAYS, description="nothing to fix", transient=True):
        rng = random.Random(way)
        right = {"sync": 0, "async": 0, "peer 1": 0, "peer 2": 0}
        for number in range(count):
            text = quiet_text(rng)
            tokens = chunked(rng, text, way)
            right["sync"] += streamed(checks, tokens) == text
            right["async"] += asyncio.run(acollected(checks, tokens)) == text
            if peer and number < peer_count:
                for checked in (1, 2):
                    right[f"peer {checked}"] += peer.stream(tokens, checked).get("text") == text
        row: Row = {"cut into": way, "streams": count, "unchanged": right["sync"] / count}
        row["unchanged, async"] = right["async"] / count
        if peer:
            row["peer streams"] = peer_count
            row |= {f"peer unchanged, {n} check{'s' * (n > 1)}": right[f"peer {n}"] / peer_count for n in (1, 2)}
        rows.append(row)
    return rows


# Import and install.


def measure_import(python: str, statement: str, environment: dict[str, str] | None = None) -> Row:
    """CPU seconds and memory of an import, the best of three."""
    arguments = [python, "-c", MEASURE_IMPORT, statement]
    runs = []
    for _ in range(3):
        ran = subprocess.run(arguments, check=True, capture_output=True, text=True, env=environment)
        runs.append(json.loads(ran.stdout.splitlines()[-1]))
    return {"import, CPU s": min(run[0] for run in runs), "memory, MB": min(run[1] for run in runs)}


def installed(python: str) -> Row:
    """What lies in an environment, without what every environment has."""
    folder = next(Path(python).parent.parent.glob("lib/python*/site-packages"))
    packages = [path for path in folder.iterdir() if not path.name.startswith(("pip", "setuptools", "_distutils"))]
    size = sum(file.stat().st_size for path in packages for file in (path, *path.rglob("*")) if file.is_file())
    count = sum(path.name.endswith(".dist-info") for path in packages)
    return {"install, MB": size / 1e6, "packages": count}


def measure_install(folder: Path, peer: Peer | None) -> list[Row]:
    if peer is None:
        return [{"who": "ours"} | measure_import(sys.executable, IMPORTS["ours"])]
    mine = install(folder / "ours", str(ROOT))
    return [
        {"who": "ours"} | measure_import(mine, IMPORTS["ours"]) | installed(mine),
        {"who": "peer"} | measure_import(peer.python, IMPORTS["peer"], peer.environment) | installed(peer.python),
    ]


# The run.


def goals(saved: Row) -> list[Row]:
    """What was promised beside what was found."""
    exactness = {row["edits"]: row for row in saved["exactness"]}
    apart_exact = min([exactness[name]["exact"] for name in FAMILIES[:2]] + [row["exact"] for row in saved["lengths"]])
    figures: list[tuple[str, float, float | None]] = [
        ("disjoint and touching edits exact, any length", apart_exact, 1.0),
        ("characters leaked on overlaps (0)", -sum(row["leaked"] for row in saved["exactness"]), 0.0),
        ("nested and overlapping edits exact", min(exactness[name]["exact"] for name in FAMILIES[3:]), 1.0),
        ("order-free", min(row["order-free"] for row in saved["exactness"]), 1.0),
        ("every conflict listed", min(row["conflicts listed"] for row in saved["exactness"]), 1.0),
        ("streams unchanged where nothing is to fix", min(row["unchanged"] for row in saved["unchanged"]), 1.0),
        ("the same, asynchronous", min(row["unchanged, async"] for row in saved["unchanged"]), 1.0),
        ("lower-case and PII exact, finished", saved["example"][0]["exact, finished"], 1.0),
        ("lower-case and PII exact, streamed", saved["example"][0]["exact, streamed"], 1.0),
    ]
    for row in saved["lengths"]:
        if row["characters"] == 10_000 and "peer / ours" in row:
            figures.append(("merge at 10,000 characters, times faster", row["peer / ours"], 100.0))
            figures.append(("the same from texts, times faster (no goal)", row["peer / from texts"], None))
    figures += [
        (f"{row['checks']}, {row['tokens']:,} tokens, times the pace", row["ours / peer"], 20.0)
        for row in saved["streams"]
        if row["checks"].startswith("2") and isinstance(row.get("ours / peer"), float)
    ]
    return [
        {"goal": goal, "least": "" if least is None else least, "found": abs(found)}
        | {"reached": "" if least is None else "yes" if found >= least else "NO"}
        for goal, found, least in figures
    ]


def show(console: Console, title: str, rows: list[Row]) -> None:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(shown(name, row.get(name, "")) for name in rows[0]))
    console.print(table)


def shown(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if not isinstance(value, float):
        return str(value)
    if any(word in name for word in ("exact", "order-free", "listed", "unchanged")):
        return f"{value:.2%}" if value < 1 else "100 %"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.2f}"


TITLES = {
    "exactness": "Merges of 2 to 5 checks' edits",
    "example": "Lower-casing and personal data",
    "lengths": "Time of a merge of two checks, an edit in 50 characters (CPU, median of texts)",
    "streams": "Streams (the peer's second check looks for e-mail alone)",
    "unchanged": "Streams in which nothing is to fix, two checks",
    "install": "Import and install",
    "goals": "Goals",
}


def plot(saved: Row) -> None:
    import matplotlib  # noqa: PLC0415 - only a saved run needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.4))
    rows = saved["lengths"]
    for name, label in (("ms", "ours"), ("ms, from texts", "ours, from texts"), ("peer ms", "Guardrails AI 0.11.0")):
        if name in rows[0]:
            left.loglog([row["characters"] for row in rows], [row[name] for row in rows], marker="o", label=label)
    left.set(xlabel="characters", ylabel="CPU ms", title="A merge of two checks' edits")
    left.legend()
    for checks in dict.fromkeys(row["checks"] for row in saved["streams"]):
        rows = [row for row in saved["streams"] if row["checks"] == checks]
        for name, label, line in (("tokens per CPU s", "ours", "-"), ("peer tokens per CPU s", "Guardrails AI", "--")):
            points = [(row["tokens"], row[name]) for row in rows if isinstance(row.get(name), float)]
            if points and not ("PII" in checks and line == "--"):
                right.loglog(*zip(*points, strict=True), line, marker="o", label=f"{label}, {checks}")
    right.set(xlabel="tokens", ylabel="tokens per CPU second", title="A stream")
    right.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(RESULTS / "merge.svg", metadata={"Date": None})


def measure(options: argparse.Namespace, folder: Path, peer: Peer | None) -> Row:
    quick = options.quick
    saved: Row = {"python": platform.python_version(), "machine": platform.machine()}
    saved |= {"peer": PEER} if peer else {}
    saved["exactness"] = measure_exactness(5_000 if quick else options.cases, peer, options.peer_cases)
    saved["example"], saved["wrong"] = measure_example(5_000 if quick else options.texts, peer, options.peer_cases)
    lengths, streams = LENGTHS[: 5 if quick else None], (1_000, 4_000) if quick else (1_000, 4_000, 16_000)
    if options.tiny:
        lengths, streams = LENGTHS[:1], (1_000,)
    saved["lengths"] = measure_lengths(lengths, 2 if quick else 3, peer)
    saved["streams"] = measure_streams(streams, 3, peer)
    saved["unchanged"] = measure_unchanged(
        250 if quick else 10 if options.tiny else 1_000, peer, options.peer_cases // 8
    )
    saved["install"] = measure_install(folder, peer)
    saved["goals"] = goals(saved)
    return saved


def main() -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="smaller numbers, about a minute, ours alone")
    how.add_argument("--tiny", action="store_true", help="seconds, ours alone: does it still run?")
    how.add_argument("--peer", action="store_true", help=f"also measure {PEER}")
    parser.add_argument("--peer-python", metavar="PATH", help="an environment that has the peer, not a throw-away one")
    parser.add_argument("--cases", type=int, default=10_000, help="merges per family of edits")
    parser.add_argument("--texts", type=int, default=10_000, help="texts with personal data")
    parser.add_argument("--peer-cases", type=int, default=400, help="as many of them for the peer")
    parser.add_argument("--save", action="store_true", help="write results/merge.json and .svg")
    options = parser.parse_args()
    if options.tiny:
        options.cases, options.texts = 20, 20
    console = Console(width=200)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder, peer = Path(name), None
        if options.peer:
            with console.status("installing the peer into a throw-away environment"):
                python = options.peer_python or install(folder / "peer", PEER)
            peer = Peer(python, folder / "home")
            stack.callback(peer.close)
        saved = measure(options, folder, peer)
    for key, title in TITLES.items():
        show(console, title, saved[key])
    for example in saved["wrong"]:
        console.print(f"not exact: {example}", markup=False)
    if options.save:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / "merge.json"
        path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", "utf-8")
        plot(saved)
        console.print(f"written to {path.name}")


if __name__ == "__main__":
    main()
