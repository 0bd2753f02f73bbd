"""Go on training the shipped model on a CPU: what is left where no GPU is lent.

python -m training.finetune STAGE [--recipe training/recipes/v5.toml] [--data ../shared/data/train] [--build build]

A recipe names stages; each starts from its `parent`, draws its rows with its own seed, and stops after `tokens` of them,
so a run depends on the recipe and the files alone. The loss of public pairs holds the parent's opinion in place.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from tokenizers import Tokenizer

import training.distil.net as network
from training import grounded
from training.distil.pipeline import hard_loss, soft_loss
from training.distil.prepare import CLAIM_QUESTION, claim_rows, out_of_context, varied
from training.pairs import LABELS, WRITTEN, is_held_out, load, said_of
from training.restore import weights

ROOT = Path(__file__).parents[1]
ENTAILER = ROOT / "src/director_ai/nli/models/entailer"
RECIPE = Path(__file__).parent / "recipes/v5.toml"
LIMIT = 448
WORDS = 260
"""Words of a premise: what is sure to fit into the window with its hypothesis."""

Row = tuple[str, str, int, float]
"""Premise, hypothesis, label, and the share of the loss that holds the parent's opinion."""


def items_of(names: list[str]) -> list[dict[str, Any]]:
    """Items of the written files, held-out ones left out."""
    found = []
    for name in names:
        for line in (WRITTEN / f"{name}.jsonl").read_text("utf-8").splitlines():
            item = json.loads(line)
            if not is_held_out({"premise": item["facts"][0]}, 0.1):
                found.append(item)
    return found


def premise(needed: list[str], others: list[str], rnd: random.Random) -> str:
    """The needed facts among some others, in any order, as long as the window holds them."""
    facts, left = list(needed), WORDS - sum(len(fact.split()) for fact in needed)
    for fact in rnd.sample(others, rnd.randint(0, len(others))):
        left -= len(fact.split())
        if left >= 0:
            facts.append(fact)
    rnd.shuffle(facts)
    return rnd.choice([" ", " ", "\n"]).join(facts)


def from_item(item: dict[str, Any], items: list[dict[str, Any]], rnd: random.Random) -> list[Row]:
    """What is said of one knowledge base; where a pair names the facts it rests on, also without one of them."""
    facts: list[str] = item["facts"]
    strangers = rnd.choice(items)["facts"] if rnd.random() < 0.3 else []
    rows: list[Row] = []
    if not item.get("flips"):
        return [(premise(facts, strangers, rnd), text, LABELS[label], 0.0) for text, label in said_of(item)]
    for right, wrong, _, on in item["pairs"]:
        needed, others = [facts[i] for i in on], [f for i, f in enumerate(facts) if i not in on]
        for text, label in ((right, 0), (wrong, 1)):
            rows.append((premise(needed, others + strangers, rnd), text, label, 0.0))
        left_out = rnd.choice(on)
        without = [fact for i, fact in enumerate(facts) if i != left_out]
        rows.append(
            (premise([], without + strangers, rnd) or strangers[0:1] or without[0], right, LABELS["unsupported"], 0.0)
        )
    rows += [(premise(facts[:3], facts[3:] + strangers, rnd), each["text"], 2, 0.0) for each in item["beyond"]]
    for flip in item["flips"]:
        others = [fact for i, fact in enumerate(facts) if i != flip["fact"]]
        for at in flip["pairs"]:
            needed = [flip["text"] if i == flip["fact"] else facts[i] for i in {*item["pairs"][at][3], flip["fact"]}]
            kept = [fact for fact in others if fact not in needed]
            rows.append((premise(needed, kept, rnd), item["pairs"][at][0], 1, 0.0))
    return [(p if isinstance(p, str) else p[0], h, label, share) for p, h, label, share in rows]


def rows_of(stage: dict[str, Any], data: Path, rnd: random.Random) -> list[Row]:
    """Every row of a stage, in random order."""
    rows: list[Row] = []
    for source in stage["written"]:
        items = items_of(source["files"])
        for _ in range(source["copies"]):
            rows += [
                row for item in items for row in from_item(item, items, rnd) if rnd.random() < source.get("share", 1)
            ]
    files, _ = load(data, random.Random(7))
    for name, count in stage["public"].items():
        rows += [
            (row["premise"], row["hypothesis"], LABELS[row["label"]], stage["hold"])
            for row in rnd.sample(files[name], min(count, len(files[name])))
        ]
    rows = [(p, out_of_context(h, p, rnd), label, hold) for p, h, label, hold in rows]
    bases = [item for item in grounded.read() if not grounded.is_held_out(item)]
    for _ in range(stage["grounded"]):
        rows += [
            (*pair, stage.get("grounded_hold", 0.0))
            for item in bases
            for pair in grounded.pairs_of(item, bases, rnd)
            if rnd.random() < stage.get("grounded_share", 1)
        ]
    claims, _ = claim_rows()
    for _ in range(stage["claims"]):
        rows += [
            (CLAIM_QUESTION, varied(text, rnd), LABELS["supported" if claim else "neutral"], stage["hold"])
            for text, claim in claims
        ]
    rnd.shuffle(rows)
    return rows


def equal_batches(lengths: np.ndarray, budget: int, rnd: random.Random) -> Iterator[np.ndarray]:
    """Batches of rows of one length, in random order: nothing is padded, so attention needs no mask."""
    order = np.random.default_rng(rnd.getrandbits(32)).permutation(len(lengths))
    order = order[np.argsort(lengths[order], kind="stable")]
    borders = np.flatnonzero(np.diff(lengths[order])) + 1
    groups = []
    for part in np.split(order, borders):
        size = max(1, budget // int(lengths[part[0]]))
        groups += [part[at : at + size] for at in range(0, len(part), size)]
    rnd.shuffle(groups)
    yield from groups


def encode(rows: list[Row]) -> dict[str, np.ndarray]:
    tokenizer = Tokenizer.from_file(str(ENTAILER / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT, strategy="only_first")
    ids, types, lengths = [], [], []
    for at in range(0, len(rows), 5000):
        for one in tokenizer.encode_batch([(row[0], row[1][:1200]) for row in rows[at : at + 5000]]):
            ids.append(np.asarray(one.ids, np.int32))
            types.append(np.asarray(one.type_ids, np.int8))
            lengths.append(len(one.ids))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return {"ids": np.concatenate(ids), "types": np.concatenate(types), "starts": starts}


def parent_of(stage: dict[str, Any], build: Path) -> dict[str, torch.Tensor]:
    if stage["parent"] == "shipped":
        stored = weights(onnx.load(str(ENTAILER / "model.onnx")))
        return {name: torch.tensor(value) for name, value in stored.items()}
    state: dict[str, torch.Tensor] = torch.load(build / f"{stage['parent']}.pt")
    return state


def train(stage: dict[str, Any], name: str, data: Path, build: Path) -> None:
    rnd = random.Random(stage["seed"])
    torch.manual_seed(stage["seed"])
    network.HALF = torch.bfloat16
    rows = rows_of(stage, data, rnd)
    tokens = network.Tokens(**encode(rows), kind="bert")
    labels = torch.tensor([row[2] for row in rows])
    shares = torch.tensor([row[3] for row in rows])
    smoothing = torch.where(shares > 0, 0.02, 0.05)
    print(len(rows), "rows,", int(tokens.lengths.sum()), "tokens", flush=True)
    start = parent_of(stage, build)
    net, parent = network.bert(start), network.bert(start).freeze()
    frozen = ("embeddings.", *(f"encoder.layer.{i}." for i in range(stage["frozen"])))
    for key, value in net.p.items():
        value.requires_grad_(not any(part in key.replace("|", ".") for part in frozen))
    chosen = [value for value in net.p.values() if value.requires_grad]
    optimizer = torch.optim.AdamW(chosen, stage["rate"], weight_decay=0.01, betas=(0.9, 0.98), fused=True)
    net.train()
    seen, step, losses, begun, goal = 0, 0, [], time.monotonic(), stage["tokens"]
    while seen < goal:
        for part in equal_batches(tokens.lengths, stage["batch"], rnd):
            if seen >= goal:
                break
            done = seen / goal
            for group in optimizer.param_groups:
                group["lr"] = stage["rate"] * min((done + 1e-3) / 0.06, 0.02 + 0.49 * (1 + math.cos(math.pi * done)))
            batch, held = tokens.pad(part), torch.from_numpy(np.flatnonzero(shares[part].numpy() > 0))
            optimizer.zero_grad(set_to_none=True)
            logits = net(*batch)
            losses_of = hard_loss(logits, labels[part], smoothing[part])
            loss = ((1 - shares[part]) * losses_of).sum()
            if len(held):
                with torch.inference_mode():
                    said = parent(*(each[held] for each in batch))
                soft = soft_loss(logits[held], torch.softmax(said.clone() / 1.5, -1), 1.5)
                loss = loss + (shares[part][held] * soft).sum()
            (loss / len(part)).backward()
            torch.nn.utils.clip_grad_norm_(chosen, 1.0)
            optimizer.step()
            seen += int(tokens.lengths[part].sum())
            step += 1
            losses.append(float(loss.detach()) / len(part))
            if step % 20 == 0:
                spent = time.monotonic() - begun
                print(
                    f"{step} steps, {seen:,} tokens, loss {np.mean(losses[-60:]):.4f}, {seen / spent:.0f}/s", flush=True
                )
            if step % 200 == 0:
                torch.save(net.state(), build / f"{name}.part")
    torch.save(net.state(), build / f"{name}.pt")
    digest = hashlib.sha256()
    for row in rows:
        digest.update(json.dumps(row).encode())
    log = {"stage": name, "rows": len(rows), "rows_sha256": digest.hexdigest(), "steps": step, "tokens": seen}
    (build / f"{name}.json").write_text(json.dumps(log, indent=1) + "\n")
    print(json.dumps(log))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage")
    parser.add_argument("--recipe", type=Path, default=RECIPE)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data/train")
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--tokens", type=int, help="fewer, for a trial")
    arguments = parser.parse_args()
    stage = tomllib.loads(arguments.recipe.read_text("utf-8"))["stage"][arguments.stage]
    if arguments.tokens:
        stage["tokens"] = arguments.tokens
    arguments.build.mkdir(parents=True, exist_ok=True)
    train(stage, arguments.stage, arguments.data, arguments.build)


if __name__ == "__main__":
    main()
