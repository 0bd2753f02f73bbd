"""A model's folder: what its manifest says, and proof that the files beside it are the ones that were meant."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from director_ai.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["FILES", "LABELS", "Calibration", "Manifest", "ModelError", "read_file", "read_manifest"]

Kind = Literal["entailer", "encoder"]

FILES = ("model.onnx", "tokenizer.json")
LABELS = ("supported", "contradicted", "neutral")
LEAST_WINDOW = 16
STEEPEST = 100
"""Of a calibration: within it every finite logit gives a probability, and no calibration that helps comes near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Turns logits into probabilities: softmax(logits / temperature + bias)."""

    temperature: float = 1.0
    bias: tuple[float, ...] = (0.0, 0.0, 0.0)
    """In the order of the model's own labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a model's folder says about itself."""

    name: str
    kind: Kind
    version: str
    license: str
    labels: tuple[str, ...]
    """Of the model's outputs, in their order; empty for an encoder."""
    max_tokens: int
    focus_tokens: int
    """A pair longer than this is also judged on its premise's most telling sentences; 0 for never."""
    files: Mapping[str, str]
    """The SHA-256 of each file."""
    calibration: Calibration
    knows_claims: bool
    """An entailer that also tells a claim from small talk, asked with `judging.CLAIM_QUESTION` as the premise."""
    knows_context: bool
    """An entailer that reads a claim behind what was asked and said before it, with `judging.CONTEXT_END` between."""
    digest: str
    """Of the manifest, and through `files` of everything: two models with one digest give the same scores."""


def read_manifest(folder: Path, kind: Kind) -> Manifest:
    """Read and check the manifest of a folder that must hold a model of this kind."""
    raw = _bytes(folder, "manifest.json")
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelError(f"{folder / 'manifest.json'} is not JSON; the file is damaged") from None
    if not isinstance(said, dict):
        raise ModelError(f"{folder / 'manifest.json'} must hold an object, got {type(said).__name__}")
    found = _Fields(folder, said)
    if (really := found.text("kind")) != kind:
        raise found.wrong("kind", f"{kind!r}", repr(really))
    is_entailer = kind == "entailer"
    return Manifest(
        name=found.text("name"),
        kind=kind,
        version=found.text("version"),
        license=found.text("license"),
        labels=found.labels() if is_entailer else (),
        max_tokens=found.max_tokens(),
        focus_tokens=found.focus_tokens(),
        files=found.files(),
        calibration=found.calibration() if is_entailer else Calibration(),
        knows_claims=is_entailer and found.flag("knows_claims"),
        knows_context=is_entailer and found.flag("knows_context"),
        digest=hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest(),
    )


def read_file(folder: Path, name: str, manifest: Manifest) -> bytes:
    """Return the bytes of a model's file, after their digest was found to be the manifest's."""
    content = _bytes(folder, name)
    digest = hashlib.sha256(content).hexdigest()
    if digest != manifest.files[name]:
        raise ModelError(
            f"{folder / name} is truncated or altered: its SHA-256 begins {digest[:12]}, "
            f"the manifest of {manifest.name} {manifest.version} says {manifest.files[name][:12]}; install it again"
        )
    return content


def _bytes(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise ModelError(
            f"{folder / name} cannot be read ({type(error).__name__}); the model is not installed"
        ) from error


class _Fields:
    """The fields of one manifest, each checked as it is taken."""

    def __init__(self, folder: Path, said: dict[str, Any]) -> None:
        self._where = folder / "manifest.json"
        self._said = said

    def wrong(self, field: str, expected: str, got: str) -> ModelError:
        return ModelError(f"{self._where}: {field} must be {expected}, got {got}")

    def text(self, field: str) -> str:
        value = self._said.get(field)
        if not isinstance(value, str) or not value:
            raise self.wrong(field, "a text", type(value).__name__)
        if not value.isprintable():  # names stand in messages
            raise self.wrong(field, "printable", ascii(value[:40]))
        return value

    def flag(self, field: str) -> bool:
        value = self._said.get(field, False)
        if not isinstance(value, bool):
            raise self.wrong(field, "true or false", type(value).__name__)
        return value

    def labels(self) -> tuple[str, ...]:
        value = self._said.get("labels")
        if not isinstance(value, list) or sorted(map(str, value)) != sorted(LABELS):
            raise self.wrong("labels", f"{', '.join(LABELS)} in the order of the outputs", "something else")
        return tuple(value)

    def max_tokens(self) -> int:
        value = self._said.get("max_tokens")
        if not isinstance(value, int) or isinstance(value, bool) or value < LEAST_WINDOW:
            raise self.wrong("max_tokens", f"a whole number of at least {LEAST_WINDOW}", repr(value))
        return value

    def focus_tokens(self) -> int:
        value = self._said.get("focus_tokens", 0)
        if not isinstance(value, int) or isinstance(value, bool) or not (value == 0 or value >= LEAST_WINDOW):
            raise self.wrong("focus_tokens", f"0, or a whole number of at least {LEAST_WINDOW}", repr(value)[:40])
        return min(value, self.max_tokens())

    def files(self) -> dict[str, str]:
        value = self._said.get("files")
        if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in FILES):
            raise self.wrong("files", f"the SHA-256 of {' and '.join(FILES)}", "something else")
        return {name: value[name].lower() for name in FILES}

    def calibration(self) -> Calibration:
        value = self._said.get("calibration")
        if not isinstance(value, dict):
            raise self.wrong("calibration", "an object", type(value).__name__)
        if unknown := sorted(set(value) - {"temperature", "bias"}):
            raise self.wrong(
                "calibration", "made of temperature and bias", f"also {', '.join(unknown)}; update director-ai"
            )
        temperature, bias = value.get("temperature", 1.0), value.get("bias", [0.0, 0.0, 0.0])
        if not _is_within(temperature, 1 / STEEPEST, STEEPEST):
            raise self.wrong("calibration.temperature", f"a number from {1 / STEEPEST} to {STEEPEST}", "something else")
        if not isinstance(bias, list) or len(bias) != len(LABELS):
            raise self.wrong("calibration.bias", f"{len(LABELS)} numbers", "something else")
        if not all(_is_within(value, -STEEPEST, STEEPEST) for value in bias):
            raise self.wrong("calibration.bias", f"numbers from {-STEEPEST} to {STEEPEST}", "something else")
        return Calibration(temperature=float(temperature), bias=tuple(map(float, bias)))


def _is_within(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
