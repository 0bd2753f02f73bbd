"""One model in memory: its files checked, its session opened, and a batch of pieces run through it."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import TYPE_CHECKING, Any

from director_ai.nli.forks import reset_after_fork
from director_ai.nli.manifest import FILES, Manifest, ModelError, read_file
from director_ai.nli.tokens import Tokenizer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from director_ai.nli.batching import Piece

__all__ = ["Engine"]

INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
OUTPUTS = {"entailer": "logits", "encoder": "embedding"}
NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
PACKAGES = ("numpy", "onnxruntime", "tokenizers")


class Engine:
    """Runs batches of one model; not for several threads at once, except `tokens`."""

    def __init__(self, folder: Path, manifest: Manifest, *, threads: int) -> None:
        self.manifest = manifest
        self._folder = folder
        self._threads = threads
        self._output = OUTPUTS[manifest.kind]
        self._session: Any = None
        self._tokenizer: Tokenizer | None = None
        self.width = self._probe()
        reset_after_fork(self)

    def after_fork(self) -> None:
        """Open the files again when next needed: the session's threads stayed with the parent."""
        if self._session is not None:
            _never_end(self._session)
        self._session = self._tokenizer = None

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer, opened on first use."""
        if self._tokenizer is None:
            _require_packages()
            name = "tokenizer.json"
            self._tokenizer = Tokenizer(read_file(self._folder, name, self.manifest), str(self._folder / name))
        return self._tokenizer

    def tokens(self, text: str) -> Tokens:
        """Return the tokens of a text, without the special ones."""
        return self.tokenizer.tokens(text)

    def run(self, pieces: Sequence[Piece]) -> NDArray[np.float32]:
        """Return one row of outputs per piece: shorter ones are padded, and the padding is masked."""
        import numpy as np  # noqa: PLC0415 - not before a model is loaded

        tokenizer = self.tokenizer
        shape = (len(pieces), max(piece.length for piece in pieces))
        ids = np.full(shape, tokenizer.padding, np.int64)
        mask = np.zeros(shape, np.int64)
        types = np.zeros(shape, np.int64)
        for row, piece in enumerate(pieces):
            border = len(piece.first) + 2
            ids[row, 0] = tokenizer.first
            ids[row, 1 : border - 1] = piece.first
            ids[row, border - 1] = tokenizer.middle
            if piece.second is not None:
                ids[row, border : piece.length - 1] = piece.second
                ids[row, piece.length - 1] = tokenizer.last
            types[row, border : piece.length] = 1
            mask[row, : piece.length] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        (rows,) = self._opened().run([self._output], inputs)
        if rows.ndim != 2 or len(rows) != len(pieces):
            raise ModelError(f"{self._name} answered {len(pieces)} texts with an output of shape {rows.shape}")
        return np.asarray(rows, np.float32)

    @property
    def _name(self) -> str:
        return f"the model {self.manifest.name} {self.manifest.version}"

    def _opened(self) -> Any:
        if self._session is None:
            _require_packages()
            content = {name: read_file(self._folder, name, self.manifest) for name in FILES}  # all, before one is used
            self._session = self._open(content["model.onnx"])
        return self._session

    def _open(self, content: bytes) -> Any:
        import onnxruntime  # type: ignore[import-untyped]  # noqa: PLC0415 - it has no type hints, and is heavy

        if os.environ[NO_TELEMETRY] == "1":
            onnxruntime.disable_telemetry_events()  # in case that others imported it before
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle spinning steals the other cores
        options.log_severity_level = 4  # what fails is raised; nothing is printed
        try:
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ModelError(f"{self._name} cannot be opened by onnxruntime ({type(error).__name__})") from error
        inputs = {given.name for given in session.get_inputs()}
        outputs = [made.name for made in session.get_outputs()]
        if inputs != INPUTS or self._output not in outputs:
            raise ModelError(
                f"{self._name} must take {', '.join(sorted(INPUTS))} and give {self._output}; "
                f"it takes {', '.join(sorted(inputs))} and gives {', '.join(outputs)}"
            )
        return session

    def _probe(self) -> int:
        """Run an empty text, so that a model that cannot work fails when it is loaded; return its number of outputs."""
        from director_ai.nli.batching import Piece  # noqa: PLC0415 - it needs numpy's arrays only here

        self._opened()
        nothing = self.tokens("").ids
        second = nothing if self.manifest.kind == "entailer" else None
        try:
            rows = self.run([Piece(nothing, second)])
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(f"{self._name} cannot be run ({type(error).__name__})") from error
        width = int(rows.shape[1])
        if self.manifest.labels and width != len(self.manifest.labels):
            raise ModelError(f"{self._name} must give {len(self.manifest.labels)} logits, it gives {width}")
        return width


def _never_end(session: Any) -> None:
    """Keep a session even when the interpreter ends: its end would wait for threads that this process does not have."""
    import ctypes  # noqa: PLC0415 - only after a fork

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))


def _require_packages() -> None:
    # Read when onnxruntime is first imported: without it every process reports to its maker, from a thread that also
    # keeps a forked child from ending. Who sets it to something else has decided otherwise.
    os.environ.setdefault(NO_TELEMETRY, "1")
    for name in PACKAGES:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of others' imports; they say nothing about this package's use
                importlib.import_module(name)
        except ImportError as error:
            raise ModelError(
                f"the bundled model needs {name}, which is not installed here: pip install {name}"
            ) from error
