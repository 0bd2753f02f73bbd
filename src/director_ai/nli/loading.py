"""Models by folder: opened once per process and settings, and again when a file has changed."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from director_ai.errors import ConfigError
from director_ai.nli.encoder import Encoder
from director_ai.nli.engine import Engine
from director_ai.nli.entailer import Entailer
from director_ai.nli.forks import reset_after_fork
from director_ai.nli.manifest import FILES, read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.nli.manifest import Kind

__all__ = ["load_encoder", "load_entailer"]

BUNDLED = Path(__file__).parent / "models"
"""Holds a folder per bundled model; the default ones are named for their kind."""

MOST_THREADS = 1024
"""Far beyond what one batch can use; with a hundred times as many the system ends the process."""
LONGEST_DEADLINE = 60.0

Model = TypeVar("Model", Entailer, Encoder)


def load_entailer(
    folder: str | Path | None = None,
    *,
    threads: int | None = None,
    cache_size: int = 4096,
    batch_tokens: int = 2048,
    deadline: float = 0.002,
) -> Entailer:
    """Return the entailer in a folder, or the bundled one; equal arguments give the same object.

    Args:
        folder: Where `manifest.json`, `model.onnx` and `tokenizer.json` are.
        threads: That one batch is computed on; two if there are as many, which keeps the others for their own work.
        cache_size: Predictions that are remembered; 0 remembers none.
        batch_tokens: Tokens, padding included, that are run at once.
        deadline: Seconds that callers who arrive together wait for others; one alone never waits.
    """
    return _loaded.get(
        "entailer", Entailer, folder, threads, cache_size=cache_size, batch_tokens=batch_tokens, deadline=deadline
    )


def load_encoder(
    folder: str | Path | None = None,
    *,
    threads: int | None = None,
    cache_size: int = 1024,
    batch_tokens: int = 2048,
    deadline: float = 0.002,
) -> Encoder:
    """Return the sentence encoder in a folder, or the bundled one; the arguments are those of `load_entailer`."""
    return _loaded.get(
        "encoder", Encoder, folder, threads, cache_size=cache_size, batch_tokens=batch_tokens, deadline=deadline
    )


class _Loaded:
    """The models of this process."""

    def __init__(self) -> None:
        self._models: dict[tuple[Any, ...], tuple[object, Any]] = {}
        self.after_fork()
        reset_after_fork(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def get(self, kind: Kind, make: Callable[..., Model], folder: object, threads: object, **settings: Any) -> Model:
        where = _folder(kind, folder)
        number = min(2, _processors()) if threads is None else _whole("threads", threads, 1, MOST_THREADS)
        _whole("cache_size", settings["cache_size"], 0)
        _whole("batch_tokens", settings["batch_tokens"], 1)
        _seconds("deadline", settings["deadline"])
        key = (where, kind, number, *settings.values())
        with self._lock:
            state, model = self._models.get(key, (None, None))
            if model is None or state != _state(where):
                state = _state(where)
                model = make(Engine(where, read_manifest(where, kind), threads=number), **settings)
                self._models[key] = (state, model)
        loaded: Model = model
        return loaded


_loaded = _Loaded()


def _state(folder: Path) -> list[object]:
    """Return what differs when a file was changed since; the digests decide what it is."""
    found: list[object] = []
    for name in ("manifest.json", *FILES):
        try:
            about = (folder / name).stat()
        except OSError:
            found.append(None)
        else:
            found.append((about.st_size, about.st_mtime_ns))
    return found


def _folder(kind: Kind, folder: object) -> Path:
    if folder is None:
        return BUNDLED / kind
    if not isinstance(folder, str | Path) or not str(folder):
        raise ConfigError(f"folder must be a path, got {type(folder).__name__}")
    try:
        return Path(folder).resolve()
    except (ValueError, OSError, RuntimeError) as error:  # a NUL, half a character, links in a circle
        raise ConfigError(f"folder must be a path, got a text that names none ({type(error).__name__})") from error


def _processors() -> int:
    """Return how many this process may use, which in a container is fewer than there are."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _whole(name: str, value: object, least: int, most: int | None = None) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if most is not None and value > most:
        raise ConfigError(f"{name} must be at most {most}, got {value!r}")
    return value


def _seconds(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LONGEST_DEADLINE:
        raise ConfigError(f"{name} must be seconds, from 0 to {LONGEST_DEADLINE:g}, got {value!r}")
