"""A judge that runs a sequence classifier from a local folder in the layout of Hugging Face.

Three kinds of heads are read: three labels of natural language inference, two labels (supported or not, as in MiniCheck
and FactCG), and one figure (consistency, as in HHEM). Code that comes with a model is never run, and nothing is
downloaded.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from director_ai.core.identifiers import ref_of
from director_ai.core.ranges import check_count
from director_ai.core.scoring.escalation import JudgeVerdict
from director_ai.errors import ConfigError, ModelError, UnknownOption
from director_ai.judges.panel import Judgements

if TYPE_CHECKING:
    from director_ai.core.types import EvidenceChunk

__all__ = ["TransformersJudge"]

Runtime = Literal["auto", "onnx", "torch"]
Meaning = Literal["supported", "contradicted", "neutral"]
_ONNX: Final = ("model.onnx", "onnx/model.onnx")
_STEMS: Final[Mapping[str, Meaning]] = {
    "entail": "supported",
    "support": "supported",
    "consistent": "supported",
    "attributable": "supported",
    "contradict": "contradicted",
    "refute": "contradicted",
    "neutral": "neutral",
}
"""How the names of labels begin; one that begins otherwise ("not_entailment") is not support."""
_LONGEST: Final = 100_000
Rows = list[list[float]]


class TransformersJudge:
    """Judges with a model of your own from a folder; threads and tasks may share a judge, and take turns.

    Args:
        folder: Holds `config.json`, `tokenizer.json`, and `model.onnx` or weights that transformers can load.
        runtime: `onnx` or `torch` (which needs torch and transformers); `auto` takes ONNX where there is a file of it.
        labels: What each output of the model means, in order, if `config.json` does not name the labels.
        template: For models that read one text: it holds `{evidence}` and `{claim}`.
        max_tokens: The model's window; longer evidence is read in several pieces, and the best one counts.
        threads: That one batch is computed on.
        batch_size: Pairs that are computed at once.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        runtime: Runtime = "auto",
        labels: Sequence[Meaning] | None = None,
        template: str | None = None,
        max_tokens: int = 512,
        threads: int = 2,
        batch_size: int = 8,
    ) -> None:
        self._folder = Path(folder)
        if runtime not in get_args(Runtime):
            raise UnknownOption("runtime of a judge", runtime, get_args(Runtime))
        if template is not None and not ("{evidence}" in template and "{claim}" in template):
            raise ConfigError("template must hold {evidence} and {claim}, the places of both texts")
        self._template = template
        self._max_tokens = check_count("max_tokens", max_tokens, 16, 1_000_000)
        self._batch_size = check_count("batch_size", batch_size, 1, 10_000)
        threads = check_count("threads", threads, 1, 1_024)
        config = _read_json(self._folder / "config.json")
        self._labels = _checked_labels(labels) if labels is not None else _labels_of(config)
        self._tokenizer = _tokenizer(self._folder / "tokenizer.json")
        self._lock = threading.Lock()
        file = next((self._folder / name for name in _ONNX if (self._folder / name).is_file()), None)
        if runtime == "onnx" and file is None:
            raise ModelError(f"{self._folder} holds no {' or '.join(_ONNX)}; export the model, or use runtime='torch'")
        is_onnx = file is not None and runtime != "torch"
        self._run: Any = _onnx(file, threads) if is_onnx and file is not None else _torch(self._folder, threads)

    def judge(self, items: Sequence[tuple[str, Sequence[EvidenceChunk]]]) -> Judgements:
        """Return a verdict for each claim, by the piece of its evidence that supports it best."""
        pieces = [(place, piece) for place, item in enumerate(items) for piece in self._pieces(*item)]
        with self._lock:
            encoded = [
                self._encode(" ".join(chunk.text for chunk in piece), items[place][0]) for place, piece in pieces
            ]
            by_length = sorted(range(len(pieces)), key=lambda at: len(encoded[at].ids))
            rows: dict[int, list[float]] = {}
            for start in range(0, len(by_length), self._batch_size):
                batch = by_length[start : start + self._batch_size]
                rows |= zip(batch, self._scored([encoded[at] for at in batch]), strict=True)
        found: list[JudgeVerdict | None] = [None] * len(items)
        for at, (place, piece) in enumerate(pieces):
            verdict = self._verdict(rows[at], piece)
            best = found[place]
            if best is None or verdict.supported > best.supported:
                found[place] = verdict
        return Judgements(found, input_tokens=sum(len(each.ids) for each in encoded))

    def _pieces(self, claim: str, chunks: Sequence[EvidenceChunk]) -> list[list[EvidenceChunk]]:
        """Return the evidence in pieces that fit into the window beside the claim, the most relevant first."""
        left = room = self._max_tokens - self._length(claim) - self._length(self._template or "") - 8
        pieces: list[list[EvidenceChunk]] = [[]]
        for chunk in chunks:
            length = self._length(chunk.text)
            if pieces[-1] and length > left:
                pieces.append([])
                left = room
            pieces[-1].append(chunk)
            left -= length
        return [piece for piece in pieces if piece]

    def _length(self, text: str) -> int:
        return len(self._tokenizer.encode(text[:_LONGEST], add_special_tokens=False).ids) if text else 0

    def _encode(self, evidence: str, claim: str) -> Any:
        evidence = evidence[:_LONGEST]
        if self._template is not None:
            self._tokenizer.enable_truncation(self._max_tokens)
            text = self._template.replace("{claim}", claim).replace("{evidence}", evidence)
            return self._tokenizer.encode(text)
        self._tokenizer.enable_truncation(self._max_tokens, strategy="longest_first")
        return self._tokenizer.encode(evidence, claim)

    def _scored(self, encoded: Sequence[Any]) -> Rows:
        """Return a row of the model's outputs for each encoded pair."""
        import numpy as np  # noqa: PLC0415 - not before a model is used

        shape = (len(encoded), max(len(each.ids) for each in encoded))
        ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))
        padding = self._tokenizer.token_to_id("<pad>")
        if padding is None:
            padding = self._tokenizer.token_to_id("[PAD]")
        ids.fill(padding or 0)
        for place, each in enumerate(encoded):
            length = len(each.ids)
            ids[place, :length], mask[place, :length], types[place, :length] = each.ids, 1, each.type_ids
        outputs = self._run({"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
        if np.ndim(outputs) != 2 or np.shape(outputs) != (len(encoded), max(len(self._labels), 1)):
            raise ModelError(
                f"the judge's model must give {max(len(self._labels), 1)} figures for each pair; "
                f"it gave an array of shape {np.shape(outputs)}"
            )
        return [[float(value) for value in row] for row in outputs]

    def _verdict(self, row: Sequence[float], piece: Sequence[EvidenceChunk]) -> JudgeVerdict:
        if not all(math.isfinite(value) for value in row):
            raise ModelError("the judge's model gave a figure that is not a number")
        scores: dict[Meaning, float] = {"supported": 0.0, "contradicted": 0.0, "neutral": 0.0}
        if not self._labels:  # one figure
            scores["supported"] = 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, row[0]))))
        else:
            top = max(row)
            powers = [math.exp(value - top) for value in row]
            for label, power in zip(self._labels, powers, strict=True):
                scores[label] += power / math.fsum(powers)
        supported, contradicted = round(scores["supported"], 6), round(scores["contradicted"], 6)
        return JudgeVerdict(
            supported=supported,
            contradicted=contradicted,
            neutral=round(max(0.0, 1.0 - supported - contradicted), 6),
            evidence_ids=tuple(dict.fromkeys(ref_of(chunk.source, chunk.text) for chunk in piece)),
        )


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ModelError(f"{path} cannot be read ({type(error).__name__}); a judge's folder must hold it") from error
    except ValueError as error:
        raise ModelError(f"{path} is not JSON") from error
    if not isinstance(found, Mapping):
        raise ModelError(f"{path} must hold a JSON object")
    return found


def _labels_of(config: Mapping[str, Any]) -> tuple[Meaning, ...]:
    """Return what each output means by the names that the model's configuration gives; none for a single figure."""
    names = config.get("id2label") or {}
    if not isinstance(names, Mapping) or len(names) not in {0, 1, 2, 3}:
        raise ModelError("config.json must name one, two or three labels in id2label; pass labels= for another head")
    if len(names) == 1:
        return ()
    said = [str(names.get(str(at), names.get(at, ""))).lower().replace("-", "_") for at in range(len(names))]
    meanings = [next((means for stem, means in _STEMS.items() if name.startswith(stem)), None) for name in said]
    if len(names) == 2 and meanings.count("supported") == 1:
        return tuple(each or "neutral" for each in meanings)
    if len(names) == 2 and said == ["label_0", "label_1"]:  # MiniCheck and FactCG: 1 is supported
        return ("neutral", "supported")
    if sorted(filter(None, meanings)) != ["contradicted", "neutral", "supported"]:
        raise ModelError(
            "config.json does not say which output means supported; pass labels=, for example "
            "('contradicted', 'neutral', 'supported')"
        )
    return tuple(each for each in meanings if each is not None)


def _checked_labels(labels: Sequence[Meaning]) -> tuple[Meaning, ...]:
    for label in labels:
        if label not in get_args(Meaning):
            raise UnknownOption("meaning of a label", label, get_args(Meaning))
    if len(labels) not in {0, 2, 3} or (labels and list(labels).count("supported") != 1):
        raise ConfigError("labels must be empty for a single figure, or two or three meanings with 'supported' once")
    return tuple(labels)


def _tokenizer(path: Path) -> Any:
    import tokenizers  # noqa: PLC0415 - not before a model is loaded

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:
        raise ModelError(f"{path} is not a tokenizer that the tokenizers library can read") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _onnx(file: Path, threads: int) -> Any:
    import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no type hints, and is heavy

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"{file} is not a model that onnxruntime can run ({type(error).__name__})") from error
    wanted = {each.name for each in session.get_inputs()}
    return lambda arrays: session.run(None, {name: array for name, array in arrays.items() if name in wanted})[0]


def _torch(folder: Path, threads: int) -> Any:
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415 - only for this runtime
        import transformers  # type: ignore[import-not-found, unused-ignore]  # noqa: PLC0415
    except ImportError as error:
        raise ModelError(
            f"{folder} holds no model.onnx, and its weights need torch and transformers; install both, or export it"
        ) from error
    try:
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=False
        ).eval()
    except Exception as error:
        raise ModelError(
            f"{folder} is not a sequence classifier that transformers can load ({type(error).__name__})"
        ) from error
    torch.set_num_threads(threads)
    takes = set(model.forward.__code__.co_varnames)

    def run(arrays: Mapping[str, Any]) -> Any:
        with torch.inference_mode():
            tensors = {name: torch.from_numpy(array) for name, array in arrays.items() if name in takes}
            return model(**tensors).logits.float().numpy()

    return run
