"""Steps 2 and 3, train and distil: hard labels, or hard labels and the mean opinion of several teachers.

python -m training.train --base BASE --pairs build --out build/teacher-1 --seed 1
python -m training.train --base BASE --pairs build --out build/student --teachers build/teacher-1 build/teacher-2 --layers 6
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from training.network import (
    Encoded,
    Pair,
    batches,
    device,
    encode,
    load_network,
    load_tokenizer,
    logits_of,
    read_pairs,
    save_network,
)
from training.pairs import SETTINGS

SETTLED = 300
"""Steps after which the time of a step is steady: kernels are chosen and every shape was seen."""


def hard_loss(logits: torch.Tensor, labels: torch.Tensor, smoothing: torch.Tensor) -> torch.Tensor:
    """Cross entropy; a row that is only known not to be supported asks for that and no more."""
    log_odds = F.log_softmax(logits, -1)
    known = -(1 - smoothing) * log_odds.gather(1, labels.clamp(max=2)[:, None])[:, 0] - smoothing * log_odds.mean(-1)
    not_supported = torch.logsumexp(logits, -1) - torch.logsumexp(logits[:, 1:], -1)
    return torch.where(labels == 3, not_supported, known)


def soft_loss(logits: torch.Tensor, target: torch.Tensor, temperature: float) -> torch.Tensor:
    student = F.log_softmax(logits / temperature, -1)
    return -(target * student).sum(-1) * temperature**2


def teachers_opinion(teachers: list[Path], encoded: Encoded, mark: str, temperature: float) -> torch.Tensor:
    """The mean of the teachers' softened probabilities. What a teacher said is kept beside it for the next student."""
    opinion = torch.zeros((len(encoded), 3))
    for folder in teachers:
        kept = folder / f"said-{mark}.npy"
        if not kept.exists():
            np.save(kept, logits_of(load_network(folder), encoded))
        opinion += F.softmax(torch.from_numpy(np.load(kept)) / temperature, -1) / len(teachers)
    return opinion.to(device)


class Plan:
    """How many steps there are, and how the learning rate rises and falls over them."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def factor(self, step: int) -> float:
        warmup = max(1, int(self.steps * SETTINGS["train"]["warmup"]))
        return min((step + 1) / warmup, 0.02 + 0.49 * (1 + math.cos(math.pi * min(1.0, step / self.steps))))


def worst_step(gradient: torch.Tensor, size: float) -> torch.Tensor:
    """A step of that length for each pair, the way its word embeddings hurt most."""
    return size * gradient / (gradient.flatten(1).norm(dim=1)[:, None, None] + 1e-12)


def encode_once(arguments: argparse.Namespace, pairs: list[Pair], mark: str) -> Encoded:
    """The pairs' tokens, kept beside them: every run of a session reads the same."""
    kept = arguments.pairs / f"tokens-{mark}.npz"
    if not kept.exists():
        np.savez(kept, **encode(load_tokenizer(arguments.base, SETTINGS["data"]["max_tokens"]), pairs).arrays)
    return Encoded(**np.load(kept))


def mark_of(arguments: argparse.Namespace) -> str:
    """What the tokens of a run depend on, as a word: the pairs, how many of them, the window and the vocabulary."""
    parts = [(arguments.pairs / "train.jsonl.gz").read_bytes(), (arguments.base / "tokenizer.json").read_bytes()]
    parts.append(f"{arguments.limit} {SETTINGS['data']['max_tokens']}".encode())
    return hashlib.blake2b(b"".join(parts), digest_size=8).hexdigest()


def run(arguments: argparse.Namespace) -> None:
    part = SETTINGS["distil" if arguments.teachers else "train"]
    epochs, rate = arguments.epochs or part["epochs"], arguments.rate or part["learning_rate"]
    rnd = random.Random(arguments.seed)
    torch.manual_seed(arguments.seed)
    pairs, labels, weights, sources = read_pairs(arguments.pairs / "train.jsonl.gz")
    pairs = pairs[: arguments.limit]
    mark = mark_of(arguments)
    encoded = encode_once(arguments, pairs, mark)
    targets, worth = torch.from_numpy(labels).to(device), torch.from_numpy(weights).to(device)
    # What we wrote ourselves no teacher has learned: there the labels alone count.
    taught = np.array([source not in SETTINGS["distil"]["untaught"] for source in sources[: len(pairs)]])
    share = (
        torch.from_numpy(taught * (SETTINGS["distil"]["soft_share"] if arguments.teachers else 0.0)).float().to(device)
    )
    warmth = SETTINGS["distil"]["temperature"]
    usual, own = SETTINGS["train"]["label_smoothing"], SETTINGS["distil"]["untaught_smoothing"]
    smoothing = torch.from_numpy(np.where(taught, usual, own)).float().to(device)
    opinion = teachers_opinion(arguments.teachers, encoded, mark, warmth) if arguments.teachers else None
    network = load_network(arguments.base, layers=arguments.layers)
    forward = torch.compile(network, dynamic=True) if arguments.compile else network
    budget = arguments.budget or SETTINGS["train"]["batch_tokens"]
    plan = Plan(arguments.steps or epochs * sum(1 for _ in batches(encoded.lengths, budget, random.Random(0))))
    optimizer = torch.optim.AdamW(
        network.parameters(),
        rate,
        weight_decay=SETTINGS["train"]["weight_decay"],
        betas=(0.9, 0.98),
        fused=device.type == "cuda",
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, plan.factor)

    def loss_of(rows: np.ndarray, added: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        ids, types, mask = encoded.pad(rows)
        chosen = torch.from_numpy(rows).to(device)
        words = network.get_input_embeddings()(ids)
        if added is not None:
            words = words + added
        elif arguments.disturb:
            words.retain_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits = forward(inputs_embeds=words, token_type_ids=types, attention_mask=mask).logits.float()
        losses = (1 - share[chosen]) * hard_loss(logits, targets[chosen], smoothing[chosen])
        if opinion is not None:
            losses = losses + share[chosen] * soft_loss(logits, opinion[chosen], warmth)
        return (losses * worth[chosen]).mean(), words

    print(
        json.dumps(
            {"rows": len(pairs), "tokens": int(encoded.lengths.sum()), "steps": plan.steps, "device": str(device)}
        ),
        flush=True,
    )
    log, step, started, middle = [], 0, time.monotonic(), 0.0
    network.train()
    while step < plan.steps:
        for rows in batches(encoded.lengths, budget, rnd):
            optimizer.zero_grad(set_to_none=True)
            loss, words = loss_of(rows)
            loss.backward()
            if arguments.disturb:
                loss_of(rows, worst_step(words.grad, arguments.disturb))[0].backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            if step % 100 == 0:
                spent = time.monotonic() - started
                log.append({"step": step, "loss": round(loss.item(), 4), "seconds": round(spent, 1)})
                print(json.dumps(log[-1]), flush=True)
            if arguments.seconds and step == SETTLED:
                middle = time.monotonic()
            if arguments.seconds and step == 2 * SETTLED:
                # As many steps as fit into the time, so that the rate is down when it is over.
                each = (time.monotonic() - middle) / SETTLED
                plan.steps = step + int((arguments.seconds - (time.monotonic() - started)) / each)
                print(json.dumps({"steps": plan.steps, "each": round(each, 4)}), flush=True)
            if step >= plan.steps:
                break
    save_network(network, arguments.base, arguments.out)
    (arguments.out / "log.json").write_text(json.dumps(log), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teachers", type=Path, nargs="*", default=[])
    parser.add_argument("--layers", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--budget", type=int, help="tokens per batch")
    parser.add_argument("--limit", type=int, help="train on so many rows, for a trial")
    parser.add_argument("--compile", action="store_true", help="let torch fuse the network: pays on a GPU")
    parser.add_argument(
        "--disturb", type=float, help="also learn from embeddings moved by so much: steadier, twice the work"
    )
    parser.add_argument("--steps", type=int, help="train for so many steps instead of epochs")
    parser.add_argument("--seconds", type=float, help="train for so long instead of for a number of epochs")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
