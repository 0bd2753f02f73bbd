"""Pairs and their tokens. prepare.py pairs|tokens|extra|eval --data DATA --work WORK [--limit N]"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import random
import re
import time
from collections import Counter, defaultdict
from multiprocessing import Pool, get_context
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
import numpy as np
from tokenizers import Tokenizer

from director_ai.core.scoring.judging import CLAIM_QUESTION, with_context
from training import grounded
from training.pairs import LABELS, SETTINGS, load, said_of, written_items

LIMIT = SETTINGS["data"]["max_tokens"]
XZ = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 28}]
_tok: Tokenizer | None = None
_plain: Tokenizer | None = None


def _open(path: str) -> None:
    global _tok, _plain
    _tok = Tokenizer.from_file(path)
    _tok.no_padding()
    _tok.enable_truncation(LIMIT, strategy="only_first")
    _plain = Tokenizer.from_file(path)
    _plain.no_padding()
    _plain.no_truncation()


def _encode(pairs: list[tuple[str, str]]):
    ids, types, lengths = [], [], []
    for one in _tok.encode_batch([(p, h[:1200]) for p, h in pairs]):
        ids.append(np.asarray(one.ids, np.int16))
        types.append(np.asarray(one.type_ids, np.int8))
        lengths.append(len(one.ids))
    return np.concatenate(ids), np.concatenate(types), lengths


def encode(pool, pairs: list[tuple[str, str]], step: int = 5000) -> dict[str, np.ndarray]:
    parts = pool.map(_encode, [pairs[i : i + step] for i in range(0, len(pairs), step)], chunksize=1)
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.asarray(p[2], np.int64) for p in parts]))])
    return {
        "ids": np.concatenate([p[0] for p in parts]),
        "types": np.concatenate([p[1] for p in parts]),
        "starts": starts,
    }


def save(path: Path, **arrays) -> None:
    part = path.with_suffix(".part.npz")
    np.savez(part, **arrays)
    part.rename(path)


def log(*what) -> None:
    print(time.strftime("%H:%M:%S"), *what, flush=True)


# ---- claims: does a sentence state anything? Asked of the same network, with a fixed premise.

PAIRED = ("b", "f")
"""Files of training/claims in which two lines are a minimal pair."""


def claim_rows() -> tuple[list, list]:
    """(sentence, is a claim) to train on, and those held out; the two of a minimal pair stay together."""
    from training.pairs import WRITTEN

    folder = WRITTEN.parent / "claims"
    rows = []
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        step = 2 if path.stem in PAIRED else 1
        for n, row in enumerate(lines):
            rows.append((row["text"], row["label"] == "claim", (n // step) % 12 == 5))
    return [r[:2] for r in rows if not r[2]], [r[:2] for r in rows if r[2]]


def varied(text: str, rnd: random.Random) -> str:
    """As it may stand in an answer: in bold, in a list, with another end."""
    way = rnd.random()
    if way < 0.08 and not text.startswith(("#", "|", "*", "-")):
        return f"**{text}**"
    if way < 0.16 and not text.startswith(("#", "|", "*", "-")):
        return f"- {text}"
    if way < 0.22 and text[-1:] == ".":
        return text[:-1] + "!"
    if way < 0.27 and "'" in text:
        return text.replace("'", "\u2019")
    if way < 0.31:
        return (
            text.replace("I'm", "I am").replace("don't", "do not").replace("can't", "cannot").replace("isn't", "is not")
        )
    return text


def claims(rnd: random.Random) -> list[tuple]:
    rows, _ = claim_rows()
    made = []
    for _ in range(14):
        made += [(CLAIM_QUESTION, varied(t, rnd), 0 if c else 2, "claims", 1.0) for t, c in rows]
    items = [i for i in written_items() if not i["held"]]
    for item in rnd.sample(items, min(2600, len(items))):
        said = [t for t, _ in said_of(item)]
        for t in rnd.sample(said, min(4, len(said))) + [rnd.choice(item["facts"])]:
            made.append((CLAIM_QUESTION, varied(t, rnd), 0, "claims", 1.0))
    return made


# ---- labelled

GROUNDED_COPIES = 8
# Of sources that say the same thing many times, this share.
SHARE = {
    "snli_ni": 0.4,
    "snli_cat18k": 0.5,
    "mnli_ni": 0.7,
    "misplaced": 0.6,
    "joined": 0.7,
    "counterfactual": 0.6,
    "tenp": 0.8,
}
QUESTIONS = (
    "And this?",
    "Can you tell me more?",
    "What do you know about it?",
    "Is that right?",
    "Tell me about this.",
)


def out_of_context(hypothesis: str, premise: str, rnd: random.Random) -> str:
    """Now and then behind something that was asked or said before, so that a context tells nothing by being there."""
    if premise == CLAIM_QUESTION or rnd.random() > 0.15:
        return hypothesis
    parts = [part for part in _CUT.split(premise) if 3 <= len(part.split()) <= 30]
    before = [rnd.choice(parts)] if parts and rnd.random() < 0.6 else []
    return with_context(hypothesis, rnd.choice(QUESTIONS) if rnd.random() < 0.5 or not before else "", before)


_files: dict = {}


def _make(job):
    """One part of training.pairs.mixture, with a generator of its own."""
    from training import pairs

    what, count, seed = job
    rnd = random.Random(f"{what} {seed}")
    if what == "written":
        return pairs.written(rnd, count)[0]
    return getattr(pairs, what)(_files, rnd, count)


def quick_mixture(a):
    """As training.pairs.mixture, its parts side by side; the held-out rows are the same."""
    global _files
    data = SETTINGS["data"]
    small = 1 if not a.limit else 100
    _files, held = load(a.data / "train", random.Random(data["seed"]))
    log("loaded")
    jobs = [("written", 1, i) for i in range(1 if a.limit else data["written"])]
    for what, parts in (("misplaced", 4), ("counterfactual", 3), ("joined", 2), ("unrelated", 1), ("several", 1)):
        jobs += [(what, data[what] // parts // small, i) for i in range(parts)]
    rows = [{**row, "source": name} for name, part in _files.items() for row in part * data["repeat"].get(name, 1)]
    with get_context("fork").Pool(min(a.workers, len(jobs))) as pool:
        for part in pool.imap_unordered(_make, jobs, chunksize=1):
            rows += part
    return rows, held


def pairs(a, pool) -> None:
    """Every labelled pair with its source and weight, sorted so that it packs well: the device makes tokens of it."""
    rows, held = quick_mixture(a)
    log("mixture", len(rows))
    rnd = random.Random(5)
    weight = SETTINGS["data"]["weight"]
    made = [
        (r["premise"], r["hypothesis"], LABELS[r["label"]], r["source"], weight.get(r["source"], 1.0))
        for r in rows
        if rnd.random() < SHARE.get(r["source"], 1.0)
    ]
    made += claims(random.Random(11))
    items = [item for item in grounded.read() if not grounded.is_held_out(item)]
    rnd = random.Random(13)
    for _ in range(GROUNDED_COPIES):
        made += [(*pair, "grounded", 1.0) for item in items for pair in grounded.pairs_of(item, items, rnd)]
    made = [(p, out_of_context(h, p, rnd), *rest) if rest[1] != "grounded" else (p, h, *rest) for p, h, *rest in made]
    random.Random(3).shuffle(made)
    made = sorted(made[: a.limit], key=lambda row: (row[3], row[0]))
    log("rows", len(made), dict(Counter(m[3] for m in made)))
    part = a.work / "pairs.part"
    with lzma.open(part, "wt", encoding="utf-8", filters=XZ) as lines:
        last = None
        for premise, *rest in made:
            lines.write(json.dumps(["" if premise == last else premise, *rest], ensure_ascii=False) + "\n")
            last = premise
    part.rename(a.work / "pairs.jsonl.xz")
    held = [h for h in held if h["source"] != "written"]
    (a.work / "held.json").write_text(
        json.dumps([(h["premise"], h["hypothesis"], LABELS[h["label"]], h["source"]) for h in held])
    )


def tokens(a, pool) -> None:
    made, last = [], ""
    with lzma.open(a.work / "pairs.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            premise, *rest = json.loads(line)
            last = premise or last
            made.append((last, *rest))
    random.Random(4).shuffle(made)
    made = made[: a.limit]
    log("read", len(made))
    names = sorted({m[3] for m in made})
    place = {n: i for i, n in enumerate(names)}
    found = encode(pool, [m[:2] for m in made])
    save(
        a.work / "train.npz",
        **found,
        labels=np.asarray([m[2] for m in made], np.int64),
        weights=np.asarray([m[4] for m in made], np.float32),
        sources=np.asarray([place[m[3]] for m in made], np.int16),
        names=np.asarray(names),
    )
    log("train tokens", len(found["ids"]))


# ---- unlabelled

_WORD = re.compile(r"[A-Za-z][a-z]{3,}|\d[\d.,:]*")
_CUT = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'0-9])|\n+")


def words(text: str) -> set[str]:
    return {w.lower()[:7] for w in _WORD.findall(text)}


def best_fact(text: str, facts: list[str]) -> int:
    wanted = words(text)
    return max(range(len(facts)), key=lambda i: len(wanted & words(facts[i])) / (4 + len(words(facts[i]))) ** 0.5)


def _written(job) -> list[tuple[str, str]]:
    items, near, numbers, seed = job
    rnd = random.Random(seed)
    out = []

    def premise(facts: list[str], more: bool) -> str:
        facts = list(facts)
        if more:
            other = rnd.choice(items)["facts"]
            facts += rnd.sample(other, rnd.randint(1, len(other)))
        rnd.shuffle(facts)
        return rnd.choice([" ", "\n"]).join(facts)

    for n in numbers:
        item, facts = items[n], items[n]["facts"]
        said = [t for t, _ in said_of(item)]
        for text in said:
            top = best_fact(text, facts)
            rest = facts[:top] + facts[top + 1 :]
            out.append((premise(rnd.sample(facts, rnd.randint(1, len(facts))), rnd.random() < 0.4), text))
            if rest:
                out.append((premise(rest, rnd.random() < 0.4), text))
            other = items[rnd.choice(near[n])]
            out.append((premise(other["facts"], False), text))
            out.append((premise(rest + rnd.sample(other["facts"], rnd.randint(1, len(other["facts"]))), False), text))
            if rnd.random() < 0.7:
                out.append((premise([facts[top], *rnd.sample(rest, min(len(rest), rnd.randint(0, 1)))], False), text))
            two = rnd.choice(said)
            if two != text and rnd.random() < 0.7:
                a, b = text.strip().rstrip(".,;"), two.strip().rstrip(".,;")
                low = (
                    b[:1].lower() + b[1:]
                    if b.split()[:1]
                    and b.split()[0] in {"The", "A", "An", "It", "You", "They", "If", "On", "In", "At", "Your"}
                    else b
                )
                joint = rnd.choice(
                    [f"{a}, and {low}.", f"{a}; {low}.", f"{a}. {b}.", f"{a}, but {low}.", f"{a}, while {low}."]
                )
                out.append((premise(facts, rnd.random() < 0.4), joint))
    return out


QUOTA = {
    "synth_wiki": 50, "factscore": 50, "tenp": 40, "fm2": 25, "fever_bin": 30, "cg2c_doc": 15, "wice_oracle": 12, "begin": 4, "checkcovid": 8,
    "infotabs": 20, "contractnli": 6, "tabfact_simple": 6, "mnli_ni": 30, "snli_ni": 12, "scitail_ni": 14, "faithdial_audit": 3,
}  # fmt: skip
DOCUMENTS = {"synth_wiki", "factscore", "fm2", "fever_bin", "cg2c_doc", "wice_oracle", "begin", "checkcovid"}


def _public(job) -> list[tuple[str, str]]:
    name, rows, count, seed = job
    rnd = random.Random(seed)
    pool = [(r["premise"], r["hypothesis"]) for r in rows]
    if name in DOCUMENTS:
        for text in rnd.sample(sorted({r["premise"] for r in rows}), min(3000, len({r["premise"] for r in rows}))):
            parts = [s for s in _CUT.split(text) if 6 <= len(s.split()) <= 35]
            pool += [(text, s) for s in rnd.sample(parts, min(2, len(parts)))]
    index = defaultdict(list)
    for i, (_, h) in enumerate(pool):
        for w in words(h):
            index[w].append(i)
    most = max(20, len(pool) // 40)
    out = []
    dropped = [r for r in rows if len(_CUT.split(r["premise"])) >= 3] if name in DOCUMENTS | {"tenp"} else []
    while len(out) < count:
        if dropped and rnd.random() < 0.25:  # the sentence that matters most left out
            row = rnd.choice(dropped)
            parts = [s for s in _CUT.split(row["premise"]) if s.strip()]
            if len(parts) > 1:
                parts.pop(best_fact(row["hypothesis"], parts))
                out.append((" ".join(parts), row["hypothesis"]))
            continue
        text = rnd.choice(rows)["premise"]
        known = sorted(w for w in words(text) if 1 < len(index.get(w, ())) <= most)
        votes: Counter[int] = Counter()
        for w in rnd.sample(known, min(14, len(known))):
            for i in rnd.sample(index[w], min(60, len(index[w]))):
                votes[i] += 1
        found = [i for i, _ in votes.most_common(12) if pool[i][0] != text][:6]
        if not found:
            out.append((text, rnd.choice(pool)[1]))
            continue
        for i in rnd.sample(found, min(2, len(found))):
            out.append((text, pool[i][1]))
    return out[:count]


def as_item(item: dict) -> dict:
    """A knowledge base with its answers, in the form of the written files."""
    right = [text for case in item["cases"] for text, on in case["right"] if on]
    wrong = [{"text": grounded.changed(case, edit)} for case in item["cases"] for edit in case["wrong"]]
    beyond = [{"text": text} for text, _ in item["invented"]]
    return {"facts": item["facts"], "right": right, "wrong": wrong, "beyond": beyond}


def extra(a, pool) -> None:
    items = [i for i in written_items() if not i["held"]]
    items += [as_item(item) for item in grounded.read() if not grounded.is_held_out(item)]
    index = defaultdict(list)
    bags = [words(" ".join(i["facts"])) for i in items]
    for n, bag in enumerate(bags):
        for w in bag:
            index[w].append(n)
    near = []
    for n, bag in enumerate(bags):
        votes: Counter[int] = Counter()
        for w in bag:
            if len(index[w]) < 150:
                votes.update({m: 1.0 / len(index[w]) ** 0.5 for m in index[w]})
        near.append([m for m, _ in votes.most_common(9) if m != n] or [(n + 1) % len(items)])
    files, _ = load(a.data / "train", random.Random(SETTINGS["data"]["seed"]))
    log("extra: items", len(items))
    numbers = list(range(len(items)))
    if a.limit:
        numbers = numbers[: max(4, a.limit // 60)]
    jobs = [(items, near, numbers[i::16], 100 + i) for i in range(16) if numbers[i::16]]
    made = [p for part in pool.map(_written, jobs, chunksize=1) for p in part]
    own = len(made)
    scale = 1000 if not a.limit else max(1, a.limit // 330)
    jobs = []
    for name, share in QUOTA.items():
        rows, parts = files[name], max(1, share // 10)
        jobs += [(name, rows, share * scale // parts, 1000 + 20 * len(jobs) + i) for i in range(parts)]
    made += [p for part in pool.map(_public, jobs, chunksize=1) for p in part]
    log("extra: written", own, "public", len(made) - own)
    made = [p for p in dict.fromkeys(made) if p[0].strip() and p[1].strip()]
    random.Random(9).shuffle(made)
    tokens = encode(pool, made)
    save(a.work / "extra.npz", **tokens)
    log("extra rows", len(made), "tokens", len(tokens["ids"]))
    for p, h in made[:12]:
        log("example:", p[:300].replace("\n", "|"), "=>", h)


# ---- evaluation

DEV_ROWS = 1200  # of each public file; enough to compare two networks


def _expand(rows):
    from training.score import expand

    pairs, index = expand(rows, _plain, LIMIT)
    return pairs, index


def _expand_whole(rows):
    """A hypothesis is one text, whatever full stops stand in its context."""
    from training.score import FOCUS, most_telling, windows

    pairs, index = [], []
    for n, row in enumerate(rows):
        for at, text in enumerate(windows(_plain, row["premise"], row["hypothesis"], LIMIT)):
            pairs.append((text, row["hypothesis"]))
            index.append((n, -1, at))
        if focused := most_telling(_plain, row["premise"], row["hypothesis"]):
            pairs.append((focused, row["hypothesis"]))
            index.append((n, -1, FOCUS))
    return pairs, np.asarray(index, np.int32)


def evaluation(a, pool) -> None:
    from director_ai.core.segment import split_sentences
    from training.score import read_dev

    pairs, saved = [], {}

    def add(name: str, rows: list[dict], labels: list[int], whole: bool = False) -> None:
        parts = pool.map(
            _expand_whole if whole else _expand, [rows[i : i + 100] for i in range(0, len(rows), 100)], chunksize=1
        )
        index = []
        for k, (_, one) in enumerate(parts):
            index.append(one + np.asarray([100 * k, 0, 0]))
        begin = len(pairs)
        for part, _ in parts:
            pairs.extend(part)
        saved[f"{name}.range"] = np.asarray([begin, len(pairs)])
        saved[f"{name}.index"] = np.concatenate(index).astype(np.int32)
        saved[f"{name}.labels"] = np.asarray(labels, np.int8)

    names = [p.name.removesuffix(".jsonl.gz") for p in sorted((a.data / "dev").glob("*.jsonl.gz"))]
    for name in names:
        if name.startswith(("aux_", "repair_", "answers")):
            continue
        rows = read_dev(a.data / "dev", name)
        random.Random(name).shuffle(rows)
        rows = rows[: max(6, a.limit // 100) if a.limit else DEV_ROWS]
        add(f"dev/{name}", rows, [LABELS[r["label"]] for r in rows])
    # answers: each sentence alone, and behind what was asked and said before it
    cases = []
    for path in (a.data / "dev" / "answers.jsonl.gz", a.data / "answers_dev.jsonl"):
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            cases += [c for c in map(json.loads, lines) if c["lang"] == "en" and c["shape"] == "text" and c["wrong"]]
    cases = cases[: a.limit and max(3, a.limit // 200)]
    info, labels, of = [], [], []
    sets: dict[str, list] = {
        name: [] for name in ("answers/joint", "answers/single", "context/joint", "context/single")
    }
    for case in cases:
        facts = list(case["facts"].values()) if isinstance(case["facts"], dict) else list(case["facts"])
        said = []
        for whole, span in ((case["right"], ""), (case["wrong"], case["error_span"])):
            begin, at, before = whole.find(span) if span else -1, 0, []
            for s in split_sentences(whole):
                where = whole.find(s, at)
                at = where + len(s)
                if span and begin >= 0 and where < begin + len(span) and at > begin:
                    said.append((s.strip(), 1, before[-2:]))
                elif not span and len(s.split()) > 1:
                    said.append((s.strip(), 0, before[-2:]))
                before.append(s.strip())
        for text, label, before in said:
            behind = with_context(text, case["question"], before) or text
            for fact in facts:
                sets["answers/single"].append({"premise": fact, "hypothesis": text})
                sets["context/single"].append({"premise": fact, "hypothesis": behind})
                of.append(len(labels))
            sets["answers/joint"].append({"premise": "\n".join(facts), "hypothesis": text})
            sets["context/joint"].append({"premise": "\n".join(facts), "hypothesis": behind})
            labels.append(label)
            info.append((case["id"], case["kind"], text))
    for name, rows in sets.items():
        add(name, rows, labels if name.endswith("joint") else [0] * len(rows), whole=True)
    saved["answers/single.of"] = np.asarray(of)
    # contrast_10 and the other held-out items of ours
    from training.pairs import WRITTEN, is_held_out

    own = {"contrast_10": [], "own_held": []}
    for path in sorted(WRITTEN.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            item = json.loads(line)
            key = (
                "contrast_10"
                if path.stem == "contrast_10"
                else "own_held"
                if is_held_out({"premise": item["facts"][0]}, SETTINGS["data"]["written_holdout"])
                else None
            )
            if key:
                own[key] += [
                    {"premise": " ".join(item["facts"]), "hypothesis": t, "label": LABELS[l]} for t, l in said_of(item)
                ]
    kept = [item for item in grounded.read() if grounded.is_held_out(item)]
    for name, context in (("grounded", 0.0), ("grounded_context", 1.0)):
        pairs_ = [pair for item in kept for pair in grounded.pairs_of(item, kept, random.Random(17), context)]
        own[name] = [{"premise": p, "hypothesis": h, "label": label} for p, h, label in pairs_]
    own["claims"] = [{"premise": CLAIM_QUESTION, "hypothesis": t, "label": 0 if c else 2} for t, c in claim_rows()[1]]
    for name, rows in own.items():
        rows = rows[: a.limit and a.limit // 20]
        add(f"own/{name}", rows, [r["label"] for r in rows], whole="grounded" in name)
    for _ in range(3000):  # the labelled pairs' process writes these
        if (a.work / "held.json").exists():
            break
        time.sleep(1)
    time.sleep(1)
    held = json.loads((a.work / "held.json").read_text())[: a.limit and a.limit // 20]
    add("held/public", [{"premise": p, "hypothesis": h} for p, h, _, _ in held], [l for _, _, l, _ in held])
    tokens = encode(pool, pairs)
    (a.work / "answers.json").write_text(json.dumps(info))
    save(a.work / "eval.npz", **tokens, **saved)
    log("eval pairs", len(pairs), "tokens", len(tokens["ids"]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("pairs", "tokens", "extra", "eval"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--workers", type=int, default=max(2, (os.cpu_count() or 4) - 2))
    a = parser.parse_args()
    a.work.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with Pool(a.workers, _open, (str(a.data / "entailer-tokenizer.json"),)) as pool:
        {"pairs": pairs, "tokens": tokens, "extra": extra, "eval": evaluation}[a.what](a, pool)
    log(a.what, "done in", round(time.monotonic() - begun, 1), "s")
