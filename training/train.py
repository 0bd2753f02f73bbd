"""Steps 2 and 3, train and distil: hard labels, or hard labels and the mean opinion of several teachers.

python -m training.train --base BASE --pairs build --out build/teacher-1 --seed 1
python -m training.train --base BASE --pairs build --out build/student --teachers build/teacher-1 build/teacher-2 --layers 6
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from training.network import batches, device, encode, load_network, load_tokenizer, logits_of, read_pairs, save_network
from training.pairs import SETTINGS


def hard_loss(logits: torch.Tensor, labels: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Cross entropy; a row that is only known not to be supported asks for that and no more."""
    known = F.cross_entropy(logits, labels.clamp(max=2), reduction="none", label_smoothing=smoothing)
    not_supported = torch.logsumexp(logits, -1) - torch.logsumexp(logits[:, 1:], -1)
    return torch.where(labels == 3, not_supported, known)


def soft_loss(logits: torch.Tensor, target: torch.Tensor, temperature: float) -> torch.Tensor:
    student = F.log_softmax(logits / temperature, -1)
    return -(target * student).sum(-1) * temperature**2


def teachers_opinion(teachers: list[Path], encoded: object, temperature: float) -> np.ndarray:
    """The mean of the teachers' softened probabilities."""
    opinion = 0.0
    for folder in teachers:
        logits = logits_of(load_network(folder), encoded) / temperature  # type: ignore[arg-type]
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        opinion = opinion + weights / weights.sum(-1, keepdims=True) / len(teachers)
    return np.asarray(opinion, np.float32)


class Plan:
    """How many steps there are, and how the learning rate rises and falls over them."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def factor(self, step: int) -> float:
        warmup = max(1, int(self.steps * SETTINGS["train"]["warmup"]))
        return min((step + 1) / warmup, 0.02 + 0.49 * (1 + math.cos(math.pi * min(1.0, step / self.steps))))


def run(arguments: argparse.Namespace) -> None:
    part = SETTINGS["distil" if arguments.teachers else "train"]
    epochs, rate = arguments.epochs or part["epochs"], arguments.rate or part["learning_rate"]
    rnd = random.Random(arguments.seed)
    torch.manual_seed(arguments.seed)
    pairs, labels, weights, _ = read_pairs(arguments.pairs / "train.jsonl.gz")
    if arguments.limit:
        pairs, labels, weights = pairs[: arguments.limit], labels[: arguments.limit], weights[: arguments.limit]
    encoded = encode(load_tokenizer(arguments.base, SETTINGS["data"]["max_tokens"]), pairs)
    share = SETTINGS["distil"]["soft_share"] if arguments.teachers else 0.0
    warmth = SETTINGS["distil"]["temperature"]
    opinion = teachers_opinion(arguments.teachers, encoded, warmth) if arguments.teachers else None
    network = load_network(arguments.base, layers=arguments.layers)
    forward = torch.compile(network, dynamic=True) if arguments.compile else network
    budget = arguments.budget or SETTINGS["train"]["batch_tokens"]
    plan = Plan(epochs * sum(1 for _ in batches(encoded.lengths, budget, random.Random(0))))
    optimizer = torch.optim.AdamW(
        network.parameters(),
        rate,
        weight_decay=SETTINGS["train"]["weight_decay"],
        betas=(0.9, 0.98),
        fused=device.type == "cuda",
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, plan.factor)
    print(
        json.dumps(
            {"rows": len(pairs), "tokens": int(encoded.lengths.sum()), "steps": plan.steps, "device": str(device)}
        ),
        flush=True,
    )
    log, marks, step, started, total = [], [], 0, time.monotonic(), 0.0
    network.train()
    for epoch in range(1000):
        for rows in batches(encoded.lengths, budget, rnd):
            ids, types, mask = encoded.pad(rows)
            target = torch.from_numpy(labels[rows]).to(device)
            weight = torch.from_numpy(weights[rows]).to(device)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = forward(input_ids=ids, token_type_ids=types, attention_mask=mask).logits
            logits = logits.float()
            losses = (1 - share) * hard_loss(logits, target, SETTINGS["train"]["label_smoothing"])
            if opinion is not None:
                losses = losses + share * soft_loss(logits, torch.from_numpy(opinion[rows]).to(device), warmth)
            loss = (losses * weight).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            if step % 100 == 0:
                total = loss.item()
                log.append(
                    {
                        "step": step,
                        "epoch": epoch,
                        "loss": round(total, 4),
                        "seconds": round(time.monotonic() - started, 1),
                    }
                )
                print(json.dumps(log[-1]), flush=True)
            if arguments.seconds and step in (50, 150):
                marks.append(time.monotonic())
            if arguments.seconds and step == 150:
                # As many steps as fit into the time, so that the rate is down when it is over.
                left = arguments.seconds - (marks[1] - started)
                plan.steps = 150 + int(100 * left / (marks[1] - marks[0]))
                print(json.dumps({"steps": plan.steps}), flush=True)
            if step >= plan.steps:
                break
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
    parser.add_argument("--seconds", type=float, help="train for so long instead of for a number of epochs")
    run(parser.parse_args())


if __name__ == "__main__":
    main()
