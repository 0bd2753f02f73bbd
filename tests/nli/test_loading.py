"""Loading: nothing before it is needed, one clear error for every damaged file, and each model once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from director_ai.errors import ConfigError, DirectorError
from director_ai.nli import ModelError, load_encoder, load_entailer
from tiny_models import digest, graph, random_encoder, weights, write_encoder, write_model


def run(code: str, *args: object) -> str:
    command = [sys.executable, "-W", "error", "-c", code, *map(str, args)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = run("import sys, director_ai.nli; print(*sys.modules)").split()
    assert not {"numpy", "onnxruntime", "tokenizers", "anyio", "asyncio", "regex"} & set(loaded)


def test_nothing_is_reported_to_the_maker_of_onnxruntime(tmp_path: Path) -> None:
    """Its telemetry would leave an identifier and unsent events in the home folder."""
    code = "import sys; from director_ai.nli import load_entailer; load_entailer(sys.argv[1]).predict([('a', 'b')])"
    home = tmp_path / "home"
    home.mkdir()
    clean = {"HOME": str(home), "PATH": os.environ["PATH"]}  # where it finds CI it reports nothing anyway
    command = [sys.executable, "-c", code, str(write_model(tmp_path / "model"))]
    subprocess.run(command, check=True, env=clean, timeout=60)
    assert list(home.iterdir()) == []


def test_a_synchronous_caller_does_not_load_anyio(tmp_path: Path) -> None:
    code = "import sys; from director_ai.nli import load_entailer; load_entailer(sys.argv[1]).predict([('a', 'b')]); print(*sys.modules)"
    assert "anyio" not in run(code, write_model(tmp_path)).split()


@pytest.mark.parametrize("package", ["numpy", "onnxruntime", "tokenizers"])
def test_a_package_that_is_not_installed_is_named(package: str, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from director_ai.nli import ModelError, load_entailer\n"
        "try: load_entailer(sys.argv[1])\n"
        "except ModelError as error: print(error)"
    )
    assert run(code, write_model(tmp_path)) == (
        f"the bundled model needs {package}, which is not installed here: pip install {package}\n"
    )


def change(name: str, edit: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(edit((folder / name).read_bytes()))

    return damage


def manifest(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: write_model(folder, **changes) and None


def model(content: bytes) -> Callable[[Path], None]:
    return lambda folder: write_model(folder, content) and None


def replace_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    files = {name: digest(folder / name) for name in ("model.onnx", "tokenizer.json")}
    said = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**said, "files": files}))


CALM = {"temperature": 1.0, "bias": [0.0, 0.0, 0.0]}
DAMAGE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "manifest.json cannot be read"),
    "no model": (lambda folder: (folder / "model.onnx").unlink(), "model.onnx cannot be read"),
    "no tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json cannot be read"),
    "a truncated manifest": (change("manifest.json", lambda raw: raw[:-9]), "is not JSON"),
    "a manifest of bytes": (change("manifest.json", lambda raw: b"\xff\xfe\x00"), "is not JSON"),
    "a manifest that is a list": (change("manifest.json", lambda raw: b"[]"), "must hold an object, got list"),
    "a truncated model": (change("model.onnx", lambda raw: raw[:-1]), "model.onnx is truncated or altered"),
    "an empty model": (change("model.onnx", lambda raw: b""), "model.onnx is truncated or altered"),
    "one bit of the model": (change("model.onnx", lambda raw: raw[:-1] + bytes([raw[-1] ^ 1])), "model.onnx is truncated or altered"),
    "an altered tokenizer": (change("tokenizer.json", lambda raw: raw + b" "), "tokenizer.json is truncated or altered"),
    "a tokenizer that is none": (replace_tokenizer, "is no tokenizer that tokenizers can read"),
    "a model that is no ONNX": (model(b"\x00\x01 no model"), "cannot be opened by onnxruntime"),
    "another kind": (manifest(kind="encoder"), "kind must be 'entailer', got 'encoder'"),
    "no name": (manifest(name=None), "name must be a text, got NoneType"),
    "no labels": (manifest(labels=None), "labels must be supported, contradicted, neutral"),
    "a label twice": (manifest(labels=["supported", "supported", "neutral"]), "labels must be"),
    "a small window": (manifest(max_tokens=8), "max_tokens must be a whole number of at least 16, got 8"),
    "a window of true": (manifest(max_tokens=True), "max_tokens must be a whole number"),
    "no digests": (manifest(files={"model.onnx": "0"}), "files must be the SHA-256 of model.onnx and tokenizer.json"),
    "no calibration": (manifest(calibration=None), "calibration must be an object, got NoneType"),
    "an unknown calibration": (manifest(calibration={**CALM, "isotonic": []}), "got also isotonic; update director-ai"),
    "a temperature of 0": (manifest(calibration={**CALM, "temperature": 0}), r"calibration.temperature must be a number from 0.01 to 100"),
    "a temperature of NaN": (manifest(calibration={**CALM, "temperature": float("nan")}), "calibration.temperature must be"),
    "a temperature that makes any score infinite": (manifest(calibration={**CALM, "temperature": 1e-320}), "calibration.temperature must be"),
    "a temperature beyond any number": (manifest(calibration={**CALM, "temperature": 10**400}), "calibration.temperature must be"),
    "two biases": (manifest(calibration={**CALM, "bias": [0.0, 0.0]}), "calibration.bias must be 3 numbers"),
    "a bias that drowns every score": (manifest(calibration={**CALM, "bias": [1e308, 0, 0]}), "calibration.bias must be numbers from -100 to 100"),
    "a manifest nested too deep": (change("manifest.json", lambda raw: b"[" * 100_000), "is not JSON"),
    "a name that cannot be printed": (manifest(name="a\ud800\x1b[31m"), "name must be printable"),
    "a folder for a model": (lambda folder: (folder / "model.onnx").unlink() or (folder / "model.onnx").mkdir(), "model.onnx cannot be read"),
    "the output of an encoder": (model(random_encoder()), "and give logits; it takes"),
    "four logits": (
        model(graph("logits = Gather (head, token_type_ids)", "float[batch, seq, four] logits", {"head": weights(2, 4)["head"]})),
        "answered 1 texts with an output of shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("damage", "says"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_model_gives_one_clear_error_at_load(
    damage: Callable[[Path], Any], says: str, tmp_path: Path
) -> None:
    load_entailer(write_model(tmp_path))  # it was good, and is cached
    damage(tmp_path)
    with pytest.raises(ModelError, match=says) as caught:
        load_entailer(tmp_path)
    assert isinstance(caught.value, DirectorError)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="the model is not installed"):
        load_entailer(tmp_path / "nowhere")


def test_a_model_is_opened_once_per_settings(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    entailer = load_entailer(folder)
    assert load_entailer(str(folder)) is entailer
    assert load_entailer(folder / ".." / "model") is entailer
    assert load_entailer(folder, threads=1, cache_size=7) is not entailer


def test_a_model_that_was_replaced_is_opened_again(tmp_path: Path) -> None:
    before = load_entailer(write_model(tmp_path))
    after = load_entailer(write_model(tmp_path, version="2", calibration={}))
    assert after.digest != before.digest


BAD_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "no threads": ({"threads": 0}, "threads must be a whole number of at least 1, got 0"),
    "half a thread": ({"threads": 0.5}, "threads"),
    "more threads than a system has": ({"threads": 100_000}, "threads must be at most 1024, got 100000"),
    "threads of true": ({"threads": True}, "threads"),
    "a negative cache": ({"cache_size": -1}, "cache_size must be a whole number of at least 0"),
    "an empty batch": ({"batch_tokens": 0}, "batch_tokens"),
    "a deadline before now": ({"deadline": -1.0}, "deadline must be seconds"),
    "an endless deadline": ({"deadline": float("inf")}, "deadline"),
    "a deadline no clock can wait for": ({"deadline": 1e300}, "deadline must be seconds, from 0 to 60"),
    "a deadline beyond any number": ({"deadline": 10**400}, "deadline"),
    "a number for a folder": ({"folder": 3}, "folder must be a path, got int"),
    "an empty folder": ({"folder": ""}, "folder must be a path"),
    "a folder with a NUL": ({"folder": "a\0b"}, "folder must be a path, got a text that names none"),
    "a folder with half a character": ({"folder": "a\ud800b"}, "folder must be a path"),
}


@pytest.mark.parametrize(("settings", "says"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_settings_that_cannot_be_right_are_refused(settings: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=says):
        load_entailer(**{"folder": write_model(tmp_path), **settings})


def test_a_folder_that_is_a_circle_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises((ConfigError, ModelError)):
        load_entailer(tmp_path / "a")


def test_a_batch_is_computed_on_no_more_threads_than_the_process_may_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_model(tmp_path)
    for processors, threads in ((1, 1), (2, 2), (64, 2)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, count=processors: set(range(count)), raising=False)
        assert load_entailer(folder) is load_entailer(folder, threads=threads)


def test_an_encoder_needs_neither_labels_nor_calibration(tmp_path: Path) -> None:
    assert load_encoder(write_encoder(tmp_path)).dim == 16
    with pytest.raises(ModelError, match="kind must be 'entailer'"):
        load_entailer(tmp_path)
