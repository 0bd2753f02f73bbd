"""Teacher, opinions, student, evaluation; each phase leaves its result and is skipped when it is there.

python -m training.distil.pipeline --data DATA --work WORK --out OUT --teacher 700 --opinions 130 --student 420
python -m training.distil.pipeline --data DATA --work WORK --out OUT --teacher 0 --opinions 30 --student 280     # go on from the shipped model
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

from training.distil.net import Net, Tokens, batches, bert, device, judge, mpnet, pack, to_mpnet

START = time.monotonic()
torch.backends.cuda.enable_cudnn_sdp(False)  # plans a kernel for every new shape


def log(*what) -> None:
    print(time.strftime("%H:%M:%S"), f"+{time.monotonic() - START:.0f}s", *what, flush=True)


def wait_for(path: Path, most: float) -> bool:
    return wait_for_any([path], most)


def wait_for_any(paths: list[Path], most: float) -> bool:
    begun = time.monotonic()
    while not any(path.exists() for path in paths):
        if time.monotonic() - begun > most:
            return False
        time.sleep(0.5)
    return True


def sync() -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def hard_loss(logits, labels, smoothing):
    log_odds = F.log_softmax(logits, -1)
    known = -(1 - smoothing) * log_odds.gather(1, labels.clamp(0, 2)[:, None])[:, 0] - smoothing * log_odds.mean(-1)
    not_supported = torch.logsumexp(logits, -1) - torch.logsumexp(logits[:, 1:], -1)
    return torch.where(labels == 3, not_supported, known)


def soft_loss(logits, target, warmth):
    return -(target * F.log_softmax(logits / warmth, -1)).sum(-1) * warmth**2


def fit(
    net: Net,
    tokens: Tokens,
    loss_of,
    usable: np.ndarray,
    *,
    seconds: float,
    rate: float,
    budget: int,
    seed: int,
    most: int | None,
    name: str,
    checkpoint: Callable[[], None] | None = None,
) -> list:
    """Train for so many seconds; the rate follows the clock, so that it is down when the time is over.

    `checkpoint` is called once, when four fifths of it are over.
    """
    rnd = random.Random(seed)
    torch.manual_seed(seed)
    chosen = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(chosen, rate, weight_decay=0.01, betas=(0.9, 0.98), fused=device.type == "cuda")
    net.train()
    step, skipped, seen, losses, history = 0, 0, 0, [], []
    sync()
    begun = time.monotonic()
    while True:
        for part in batches(tokens.lengths[usable], budget, rnd):
            done = max((time.monotonic() - begun) / seconds, step / most if most else 0.0)
            if done >= 1:
                log(name, "finished", step, "steps", seen, "rows", "skipped", skipped)
                return history
            if checkpoint and done > 0.8:
                checkpoint()
                checkpoint = None
            factor = min((done + 1e-3) / 0.06, 0.02 + 0.49 * (1 + math.cos(math.pi * done)))
            for group in optimizer.param_groups:
                group["lr"] = rate * factor
            rows = usable[part]
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(net(*tokens.pad(rows)), torch.from_numpy(rows).to(device))
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(chosen, 1.0)
            if math.isfinite(norm.item()):
                optimizer.step()
            else:
                skipped += 1
                if skipped > 50 and skipped > step / 2:
                    raise RuntimeError("gradients are not finite")
            losses.append(loss.detach())
            step += 1
            seen += len(rows)
            if step % 100 == 0 or step in (1, 10, 30):
                mean = torch.stack(losses[-100:]).mean().item()
                spent = time.monotonic() - begun
                history.append(
                    {
                        "step": step,
                        "loss": round(mean, 4),
                        "seconds": round(spent, 1),
                        "epochs": round(seen / len(usable), 3),
                    }
                )
                log(name, json.dumps(history[-1]))
                losses = losses[-100:]


class Work:
    def __init__(self, a) -> None:
        self.a = a
        stored = np.load(a.work / "train.npz")
        self.train = {k: stored[k] for k in stored.files}
        self.rows = len(self.train["labels"])
        self.names = self.train["names"].tolist()
        self.written = self.train["sources"] == (self.names.index("written") if "written" in self.names else -1)
        self.claims = self.train["sources"] == (self.names.index("claims") if "claims" in self.names else -1)
        self.grounded = self.train["sources"] == (self.names.index("grounded") if "grounded" in self.names else -1)
        self.own = self.written | self.grounded
        self.smoothing = np.where(self.written, 0.1, np.where(self.grounded, 0.05, 0.02)).astype(np.float32)
        log("train rows", self.rows, "tokens", len(self.train["ids"]), "device", device)

    def all_tokens(self) -> dict[str, np.ndarray]:
        """Labelled pairs, then the others."""
        parts = [self.train]
        if self.a.teacher and wait_for(self.a.work / "extra.npz", 60):
            stored = np.load(self.a.work / "extra.npz")
            parts.append({k: stored[k] for k in stored.files})
        starts = [p["starts"][:-1] + sum(len(q["ids"]) for q in parts[:i]) for i, p in enumerate(parts)]
        return {
            "ids": np.concatenate([p["ids"] for p in parts]),
            "types": np.concatenate([p["types"] for p in parts]),
            "starts": np.concatenate([*starts, [sum(len(p["ids"]) for p in parts)]]),
        }


def as_mpnet(t) -> Tokens:
    ids, starts = to_mpnet(t["ids"], t["types"], t["starts"])
    return Tokens(ids, None, starts, "mpnet")


def as_bert(t) -> Tokens:
    return Tokens(t["ids"], t["types"], t["starts"], "bert")


def shipped_state(a) -> dict[str, torch.Tensor]:
    import onnx

    from training.restore import weights

    if not wait_for(a.data / "entailer.onnx", 300):
        raise RuntimeError("there is no entailer.onnx")
    return {n: torch.tensor(v) for n, v in weights(onnx.load(a.data / "entailer.onnx")).items()}


def teacher(a, w: Work) -> None:
    net = mpnet(a.data / "mpnet.npz", a.teacher_dropout)
    tokens = as_mpnet(w.train)
    labels = torch.from_numpy(w.train["labels"]).to(device)
    worth = torch.from_numpy(w.train["weights"]).to(device)
    smoothing = torch.from_numpy(w.smoothing).to(device)

    def loss_of(logits, rows):
        return (hard_loss(logits, labels[rows], smoothing[rows]) * worth[rows]).mean()

    history = fit(
        net,
        tokens,
        loss_of,
        np.arange(len(tokens)),
        seconds=a.teacher,
        rate=a.teacher_rate,
        budget=a.budget,
        seed=1,
        most=a.most_steps,
        name="teacher",
    )
    pack(net.state(), a.work / "teacher.part.npz")
    (a.work / "teacher.part.npz").rename(a.work / "teacher.npz")
    (a.work / "teacher-log.json").write_text(json.dumps(history))
    log("teacher packed")
    command = f"cd {a.work} && rm -rf tparts && mkdir tparts && gzip -6 -c teacher.npz | split -b 15M -d - tparts/teacher.npz.gz. && touch tparts.done"
    subprocess.Popen(["bash", "-c", command])


def opinions(a, w: Work) -> None:
    both = w.all_tokens()
    log("opinions on", len(both["starts"]) - 1, "pairs,", len(both["ids"]), "tokens")
    begun = time.monotonic()
    found = {}
    if a.teacher:
        tokens = as_mpnet(both)
        out = judge(mpnet(a.work / "teacher.npz"), tokens, seconds=a.opinions * 0.72)
        del tokens
        known = ~np.isnan(out[:, 0])
        log("teacher's opinions", int(known.sum()), "of", len(known), f"{time.monotonic() - begun:.1f}s")
        found["teacher"] = out.astype(np.float16)
        order = np.flatnonzero(known)
    else:  # the shipped model's alone, where it is asked to stay as it is
        order = np.flatnonzero(~(w.own | w.claims))
    left = max(5.0, a.opinions - (time.monotonic() - begun), 0.28 * a.opinions if a.teacher else 0)
    ours = judge(bert(shipped_state(a)), as_bert(both), seconds=left, order=order)
    known = ~np.isnan(ours[:, 0])
    log("shipped opinions", int(known.sum()), "of", len(order), f"{time.monotonic() - begun:.1f}s")
    np.savez(a.work / "opinions.part.npz", **found, shipped=ours.astype(np.float16))
    (a.work / "opinions.part.npz").rename(a.work / "opinions.npz")


def save_parts(state: dict[str, torch.Tensor], work: Path, to: Path) -> None:
    """The word embeddings in int8, the rest in half precision, in files that the device tool brings back."""
    large = {k: v for k, v in state.items() if k.endswith("word_embeddings.weight")}
    pack(large, work / "large.npz")
    rest = {k: v.numpy().astype(np.float16) for k, v in state.items() if k not in large}
    np.savez(work / "student-fp16.npz", **dict(np.load(work / "large.npz")), **rest)
    to.mkdir(parents=True, exist_ok=True)
    subprocess.run(["split", "-b", "15M", "-d", str(work / "student-fp16.npz"), str(to / "student.npz.")], check=True)


def student(a, w: Work) -> None:
    both = w.all_tokens()
    tokens = as_bert(both)
    said = np.load(a.work / "opinions.npz")
    s = torch.from_numpy(said["shipped"].astype(np.float32))
    t = torch.from_numpy(said["teacher"].astype(np.float32)) if a.teacher else s
    count = len(tokens)
    grow = lambda values, fill: np.concatenate([values, np.full(count - w.rows, fill, values.dtype)])  # noqa: E731
    soft = torch.softmax((t + s) / 2 / a.warmth, -1)  # the mean of the logits ranks better than either
    known = ~torch.isnan(soft).any(-1)
    soft = torch.nan_to_num(soft).to(device)
    labelled = np.arange(count) < w.rows
    own = grow(w.own, False)
    share = np.where(labelled, np.where(own, a.written_share, a.soft_share), 1.0)
    share = np.where(grow(w.claims, False), 0.0, share)  # the shipped model knows nothing of these
    share = torch.from_numpy((share * known.numpy()).astype(np.float32)).to(device)
    labels = torch.from_numpy(grow(w.train["labels"], 2)).to(device)
    worth = torch.from_numpy(grow(w.train["weights"], np.float32(a.extra_weight))).to(device)
    smoothing = torch.from_numpy(grow(w.smoothing, np.float32(0))).to(device)
    usable = np.flatnonzero(labelled | known.numpy())
    log("student on", len(usable), "pairs, of them unlabelled", int((~labelled[usable]).sum()))

    def loss_of(logits, rows):
        losses = (1 - share[rows]) * hard_loss(logits, labels[rows], smoothing[rows]) + share[rows] * soft_loss(
            logits, soft[rows], a.warmth
        )
        return (losses * worth[rows]).mean()

    net = bert(shipped_state(a), a.student_dropout)
    history = fit(
        net,
        tokens,
        loss_of,
        usable,
        seconds=a.student,
        rate=a.student_rate,
        budget=a.budget,
        seed=2,
        most=a.most_steps,
        name="student",
        checkpoint=lambda: save_parts(net.state(), a.work, a.out),
    )
    state = net.state()
    (a.work / "student-log.json").write_text(json.dumps(history))
    torch.save(state, a.work / "student.part")
    (a.work / "student.part").rename(a.work / "student.pt")
    save_parts(state, a.work, a.out)
    log("student saved")


def figures(stored, logits: np.ndarray, *, say=print) -> dict:
    """What the brief asks for, of one model's logits on the evaluation pairs."""
    from training.evaluate import auc, balanced_accuracy, probabilities, support

    probs = probabilities(logits)
    keys = [k.removesuffix(".range") for k in stored.files if k.endswith(".range")]
    score = {}
    for key in keys:
        begin, end = stored[f"{key}.range"]
        score[key] = support(probs[begin:end], stored[f"{key}.index"], len(stored[f"{key}.labels"]))
    out = {}
    for key in keys:
        if key.startswith(("answers", "context")):
            continue
        good = stored[f"{key}.labels"] == 0
        if good.any() and not good.all():
            out[key] = {"ba": round(balanced_accuracy(score[key], good), 4), "auc": round(auc(score[key], good), 4)}
    dev = [v for k, v in out.items() if k.startswith("dev/")]
    out["dev mean"] = {k: round(float(np.mean([d[k] for d in dev])), 4) for k in ("ba", "auc")}
    wrong = stored["answers/joint.labels"] == 1
    of = stored["answers/single.of"]
    for kind in ("answers", "context"):
        single = np.zeros(len(wrong))
        np.maximum.at(single, of, score[f"{kind}/single"])
        joint = score[f"{kind}/joint"]
        for name, value in {"joint": joint, "single max": single, "mean of both": (joint + single) / 2}.items():
            row = {"auc": round(auc(value, ~wrong), 4), "right": int((~wrong).sum()), "wrong": int(wrong.sum())}
            for share in (0.97, 0.95, 0.92):
                threshold = np.quantile(value[~wrong], 1 - share, method="lower")
                row[f"caught at {share}"] = round(float((value[wrong] < threshold).mean()), 4)
            out[f"{kind} {name}"] = row
    files = [k for k in out if k.startswith("dev/")]
    best = max(
        np.arange(0.02, 0.99, 0.01),
        key=lambda t: np.mean([balanced_accuracy(score[k], stored[f"{k}.labels"] == 0, t) for k in files]),
    )
    found = np.mean([balanced_accuracy(score[k], stored[f"{k}.labels"] == 0, best) for k in files])
    out["dev one threshold"] = {"at": round(float(best), 2), "ba": round(float(found), 4)}
    return out


def evaluate(a, w: Work | None, names: tuple[str, ...] = ()) -> None:
    """Figures of every network that is there; logits that were found before are kept."""
    if not wait_for(a.work / "eval.npz", 60):
        raise RuntimeError("no evaluation pairs")
    stored = np.load(a.work / "eval.npz")
    t = {k: stored[k] for k in ("ids", "types", "starts")}
    tokens, found, logits = as_bert(t), {}, {}
    kept = {k: stored[k] for k in stored.files if k not in t}
    path, before = a.work / "figures.json", {}
    if (a.work / "eval-logits.npz").exists():
        before = {k: v for k, v in np.load(a.work / "eval-logits.npz").items() if k not in kept}

    def note(name: str, value: np.ndarray) -> None:
        logits[name] = value
        found[name] = figures(stored, value)
        path.write_text(json.dumps(found, indent=1))
        log("figures", name, json.dumps({k: v for k, v in found[name].items() if not k.startswith("dev/")}))
        np.savez_compressed(a.work / "eval-logits.npz", **{k: v.astype(np.float16) for k, v in logits.items()}, **kept)

    def of(name: str, network) -> np.ndarray:
        if name not in before:
            return judge(network(), tokens if name != "teacher" else as_mpnet(t))
        return before[name].astype(np.float32)

    ours = shipped_state(a)
    note("shipped", of("shipped", lambda: bert(ours)))
    if (a.work / "teacher.npz").exists():
        note("teacher", of("teacher", lambda: mpnet(a.work / "teacher.npz")))
        note("teacher+shipped logits", (logits["teacher"] + logits["shipped"]) / 2)
    if (a.work / "student.pt").exists():
        new = torch.load(a.work / "student.pt")
        note("student", judge(bert(new), tokens))
        if "teacher" in logits:
            note("teacher+student logits", (logits["teacher"] + logits["student"]) / 2)
        note("student+shipped logits", (logits["student"] + logits["shipped"]) / 2)
        for part in (1 / 3, 1 / 2, 2 / 3):
            mean = {k: part * new[k] + (1 - part) * ours[k] for k in new}
            note(f"weights {part:.2f} student", judge(bert(mean), tokens))
            if "teacher" in logits and part == 1 / 2:
                both = (logits["teacher"] + logits[f"weights {part:.2f} student"]) / 2
                note("teacher+weights 0.50", both)
    if names == ("early",):
        return
    names = list(found)
    rows = [k for k in found[names[0]]]
    lines = ["".ljust(26) + "  ".join(n[:20].ljust(20) for n in names)]
    for row in rows:
        cells = (found[n].get(row, {}) for n in names)
        lines.append(
            row.ljust(26)
            + "  ".join(
                " ".join(f"{v:.3f}" for k, v in c.items() if k not in ("right", "wrong")).ljust(20) for c in cells
            )
        )
    (a.work / "figures.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines), flush=True)


def early(a, w: Work | None) -> None:
    evaluate(a, w, ("early",))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the student's weights, in parts")
    parser.add_argument("--teacher", type=float, default=700, help="0: go on from the shipped model alone")
    parser.add_argument("--opinions", type=float, default=130)
    parser.add_argument("--student", type=float, default=420)
    parser.add_argument("--teacher-rate", type=float, default=5e-5)
    parser.add_argument("--student-rate", type=float, default=8e-5)
    parser.add_argument("--teacher-dropout", type=float, default=0.1)
    parser.add_argument("--student-dropout", type=float, default=0.0)
    parser.add_argument("--budget", type=int, default=65536)
    parser.add_argument("--most-steps", type=int)
    parser.add_argument("--warmth", type=float, default=1.5)
    parser.add_argument("--soft-share", type=float, default=0.8)
    parser.add_argument("--written-share", type=float, default=0.5)
    parser.add_argument("--extra-weight", type=float, default=1.0)
    a = parser.parse_args()
    log("waiting for pairs")
    if not wait_for(a.work / "train.npz", 900):
        raise SystemExit("there are no tokens: go.sh prepare tokens")
    w = Work(a)
    phases = [(opinions, "opinions.npz"), (student, "student.pt"), (evaluate, "figures.txt")]
    if a.teacher:
        if not wait_for_any([a.work / "teacher.npz", a.data / "mpnet.npz"], 900):
            raise SystemExit("there is neither a teacher nor its base")
        phases = [(teacher, "teacher.npz"), (early, "early.phase"), *phases]
    for phase, product in phases:
        if (a.work / product).exists():
            continue
        begun = time.monotonic()
        if (a.work / "seconds.json").exists():  # changed while it runs: {"student": 380}
            vars(a).update(json.loads((a.work / "seconds.json").read_text()))
        try:
            phase(a, w)
        except Exception:
            traceback.print_exc()
            log("FAILED", phase.__name__)
        if device.type == "cuda":
            log(
                "phase",
                phase.__name__,
                f"{time.monotonic() - begun:.1f}s",
                "GPU GiB",
                round(torch.cuda.max_memory_allocated() / 2**30, 1),
            )
            torch.cuda.empty_cache()
        else:
            log("phase", phase.__name__, f"{time.monotonic() - begun:.1f}s")
        (a.work / f"{phase.__name__}.phase").touch()
    log("ALL DONE")
    (a.work / "all.done").touch()


if __name__ == "__main__":
    main()
