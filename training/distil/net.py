"""One encoder for both networks: BERT (the shipped MiniLM) and MPNet. fp32 weights, activations in bf16 on a GPU."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
HALF = torch.bfloat16 if device.type == "cuda" else torch.float32


class Tokens:
    """Token ids of many pairs, flat, on the device. `kind` bert, or mpnet (made from BERT's)."""

    def __init__(self, ids: np.ndarray, types: np.ndarray | None, starts: np.ndarray, kind: str) -> None:
        self.kind = kind
        self.lengths = np.diff(starts)
        self._ids = torch.from_numpy(np.ascontiguousarray(ids)).to(device)
        self._types = None if types is None else torch.from_numpy(np.ascontiguousarray(types)).to(device)
        self._starts, self._lengths = torch.from_numpy(starts).to(device), torch.from_numpy(self.lengths).to(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def pad(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
        width = int(self.lengths[rows].max())
        if device.type == "cuda":  # few widths, so that few kernels are planned
            width = -(-width // 16) * 16
        chosen = torch.from_numpy(rows).to(device)
        columns = torch.arange(width, device=device)[None]
        mask = columns < self._lengths[chosen][:, None]
        places = (self._starts[chosen][:, None] + columns).clamp_(max=len(self._ids) - 1)
        ids = self._ids[places].long()
        ids = torch.where(mask, ids, torch.full_like(ids, 1 if self.kind == "mpnet" else 0))
        types = None if self._types is None else self._types[places].long() * mask
        return ids, types, mask


def to_mpnet(ids: np.ndarray, types: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """BERT's ids shifted by four, <s> </s> for [CLS] [SEP], and a second </s> before the hypothesis."""
    lengths = np.diff(starts)
    change = np.flatnonzero((types[1:] == 1) & (types[:-1] == 0)) + 1  # the first token of a hypothesis
    assert len(change) == len(lengths), (len(change), len(lengths))
    out = ids.astype(np.int16) + 4
    out[starts[:-1]] = 0
    out[change - 1] = 2
    out[starts[1:] - 1] = 2
    out = np.insert(out, change, 2)
    return out, np.concatenate([[0], np.cumsum(lengths + 1)])


def batches(lengths: np.ndarray, budget: int, rnd: random.Random | None):
    """As training.network.batches."""
    noise = np.random.default_rng(rnd.getrandbits(32)).random(len(lengths)) * 8 if rnd else 0
    order = np.argsort(lengths + noise, kind="stable")
    groups, start = [], 0
    while start < len(order):
        width = 16 * -(-int(lengths[order[start : start + 8]].max()) // 16)
        size = max(8, budget // width // 8 * 8)
        part = order[start : start + size]
        wide = 16 * -(-int(lengths[part].max()) // 16)
        if wide > width:  # one size of batch for each width
            part = part[: max(8, budget // wide // 8 * 8)]
        groups.append(part)
        start += len(part)
    if rnd:
        rnd.shuffle(groups)
    yield from groups


class Net(torch.nn.Module):
    """Names of the parameters are those of the Hugging Face networks, dots as bars."""

    def __init__(self, state: dict[str, torch.Tensor], kind: str, heads: int, eps: float, dropout: float = 0.0) -> None:
        super().__init__()
        self.kind, self.heads, self.eps, self.dropout = kind, heads, eps, dropout
        self.p = torch.nn.ParameterDict(
            {k.replace(".", "|"): torch.nn.Parameter(v.float().clone()) for k, v in state.items()}
        )
        self.depth = 1 + max(int(k.split("layer.")[1].split(".")[0]) for k in state if "encoder.layer." in k)
        if kind == "mpnet":
            self.p["encoder|relative_attention_bias|weight"].requires_grad_(False)
        self._cast: dict[str, torch.Tensor] | None = None

    def w(self, name: str) -> torch.Tensor:
        if self._cast is not None:
            return self._cast[name]
        return self.p[name.replace(".", "|")].to(HALF)

    def freeze(self) -> Net:
        """For judging only: the weights cast once."""
        self.eval()
        self._cast = {k.replace("|", "."): v.detach().to(HALF) for k, v in self.p.items()}
        return self

    def thaw(self) -> Net:
        self._cast = None
        return self

    def state(self) -> dict[str, torch.Tensor]:
        return {k.replace("|", "."): v.detach().float().cpu() for k, v in self.p.items()}

    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self.w(name + ".weight"), self.w(name + ".bias"))

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, x.shape[-1:], self.w(name + ".weight"), self.w(name + ".bias"), self.eps)

    def drop(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x, self.dropout, True) if self.training and self.dropout else x

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        if q.device.type == "cuda":
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-1, -2))  # faster on a CPU, backwards above all
        return torch.matmul(torch.softmax(scores if bias is None else scores + bias, -1), v)

    def bias(self, width: int, mask: torch.Tensor) -> torch.Tensor | None:
        if self.kind != "mpnet" and mask.device.type == "cpu" and bool(mask.all()):
            return None
        hidden = torch.zeros(mask.shape, dtype=HALF, device=mask.device).masked_fill_(~mask, -30000.0)[:, None, None, :]
        if self.kind != "mpnet":
            return hidden.expand(-1, self.heads, width, -1)
        place = torch.arange(width, device=mask.device)
        n = -(place[None, :] - place[:, None])
        buckets, most = 16, 128
        found = (n < 0).long() * buckets
        n = n.abs()
        exact = buckets // 2
        far = exact + (torch.log(n.clamp(min=1).float() / exact) / math.log(most / exact) * (buckets - exact)).long()
        found = found + torch.where(n < exact, n, far.clamp(max=buckets - 1))
        values = F.embedding(found, self.p["encoder|relative_attention_bias|weight"].detach()).to(HALF)
        return (values.permute(2, 0, 1)[None] + hidden).contiguous()

    def forward(self, ids: torch.Tensor, types: torch.Tensor | None, mask: torch.Tensor) -> torch.Tensor:
        rows, width = ids.shape
        mp = self.kind == "mpnet"
        root = "" if mp else "bert."
        place = torch.arange(width, device=ids.device) + (2 if mp else 0)
        x = F.embedding(ids, self.p[f"{root}embeddings.word_embeddings.weight".replace(".", "|")])
        x = x + self.p[f"{root}embeddings.position_embeddings.weight".replace(".", "|")][place][None]
        if not mp:
            x = x + F.embedding(types, self.p[f"{root}embeddings.token_type_embeddings.weight".replace(".", "|")])
        x = self.drop(self.norm(x.to(HALF), f"{root}embeddings.LayerNorm"))
        bias = self.bias(width, mask)
        for i in range(self.depth):
            name = f"{root}encoder.layer.{i}."
            q, k, v, o, n = (
                [f"{name}attention.attn.{c}" for c in "qkvo"] + [f"{name}attention.LayerNorm"]
                if mp
                else [f"{name}attention.self.{c}" for c in ("query", "key", "value")]
                + [f"{name}attention.output.dense", f"{name}attention.output.LayerNorm"]
            )
            weight = torch.cat([self.w(each + ".weight") for each in (q, k, v)])
            shift = torch.cat([self.w(each + ".bias") for each in (q, k, v)])
            qkv = F.linear(x, weight, shift).view(rows, width, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            if i == self.depth - 1:  # the answer is read from the first token alone
                x, qkv = x[:, :1], [qkv[0][:, :, :1], qkv[1], qkv[2]]
                bias = None if bias is None else bias[:, :, :1]
            a = self.attend(qkv[0], qkv[1], qkv[2], bias)
            a = self.linear(a.transpose(1, 2).reshape(rows, x.shape[1], -1), o)
            x = self.norm(x + self.drop(a), n)
            h = self.linear(F.gelu(self.linear(x, f"{name}intermediate.dense")), f"{name}output.dense")
            x = self.norm(x + self.drop(h), f"{name}output.LayerNorm")
        x = x[:, 0]
        if mp:
            x = torch.tanh(self.linear(self.drop(x), "classifier.dense"))
            return self.linear(self.drop(x), "classifier.out_proj").float()
        x = torch.tanh(self.linear(x, "bert.pooler.dense"))
        return self.linear(self.drop(x), "classifier").float()


GROUP = 64


def unpack(path: Path) -> dict[str, torch.Tensor]:
    stored = dict(np.load(path))
    out = {}
    for name, value in stored.items():
        if name.endswith(".q"):
            scale = stored[name[:-2] + ".s"].astype(np.float32)[:, :, None]
            out[name[:-2]] = torch.from_numpy(
                (value.reshape(len(value), -1, GROUP) * scale).reshape(value.shape).astype(np.float32)
            )
        elif not name.endswith(".s"):
            out[name] = torch.from_numpy(value.astype(np.float32))
    return out


def pack(state: dict[str, torch.Tensor], path: Path) -> None:
    """int8 with a scale for every 64 numbers of a row for matrices, the rest as it is."""
    out = {}
    for name, tensor in state.items():
        value = tensor.numpy()
        if value.ndim == 2 and value.size > 100_000 and value.shape[1] % GROUP == 0:
            parts = value.reshape(len(value), -1, GROUP)
            scale = np.maximum(np.abs(parts).max(2) / 127, 1e-7).astype(np.float16)
            out[name + ".q"] = (
                np.clip(np.rint(parts / scale.astype(np.float32)[:, :, None]), -127, 127)
                .astype(np.int8)
                .reshape(value.shape)
            )
            out[name + ".s"] = scale
        else:
            out[name] = value.astype(np.float32)
    np.savez(path, **out)


def mpnet(path: Path, dropout: float = 0.0, seed: int = 1) -> Net:
    state = unpack(path)
    if "classifier.dense.weight" not in state:
        make = torch.Generator().manual_seed(seed)
        wide = state["embeddings.LayerNorm.weight"].shape[0]
        state["classifier.dense.weight"] = torch.randn((wide, wide), generator=make) * 0.02
        state["classifier.dense.bias"] = torch.zeros(wide)
        state["classifier.out_proj.weight"] = torch.randn((3, wide), generator=make) * 0.02
        state["classifier.out_proj.bias"] = torch.zeros(3)
    return Net(state, "mpnet", 12, 1e-5, dropout).to(device)


def bert(state: dict[str, torch.Tensor], dropout: float = 0.0) -> Net:
    return Net(state, "bert", 12, 1e-12, dropout).to(device)


def judge(
    net: Net, tokens: Tokens, *, seconds: float | None = None, order: np.ndarray | None = None, budget: int = 262_144
):
    """Logits of every row (NaN where the time was over), rows of `order` alone if given."""
    import time

    begun = time.monotonic()
    net.freeze()
    rows_of = np.arange(len(tokens)) if order is None else order
    out = torch.full((len(tokens), 3), float("nan"), device=device)
    rnd = random.Random(5) if seconds else None
    with torch.inference_mode():
        for part in batches(tokens.lengths[rows_of], budget if device.type == "cuda" else 8192, rnd):
            rows = rows_of[part]
            out[torch.from_numpy(rows).to(device)] = net(*tokens.pad(rows))
            if seconds and time.monotonic() - begun > seconds:
                break
            if seconds and device.type == "cuda":
                torch.cuda.synchronize()
    net.thaw()
    return out.cpu().numpy()
