"""What the package shows to the outside, and what it costs to import."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import director_ai
from director_ai import errors

ROOT = Path(__file__).parent.parent


def test_the_public_names_are_these() -> None:
    assert director_ai.__all__ == [
        "AsyncStreamingKernel",
        "ClauseSegmenter",
        "CoherenceAgent",
        "CoherenceScore",
        "CoherenceScorer",
        "ConfigError",
        "DirectorError",
        "EvidenceChunk",
        "GroundTruthStore",
        "HaltEvidence",
        "HumanReviewQueue",
        "InjectionDetector",
        "ProductionGuard",
        "RepairResult",
        "ReviewResult",
        "SafetyEvent",
        "StreamSession",
        "StreamingKernel",
        "StreamingRepairer",
        "TokenEvent",
        "VectorGroundTruthStore",
        "split_clauses",
    ]
    for name in director_ai.__all__:
        assert getattr(director_ai, name).__name__ == name
        assert name in dir(director_ai)


def test_no_public_name_is_a_submodule() -> None:
    modules = {path.stem for path in (ROOT / "src" / "director_ai").iterdir()}
    assert not modules & set(director_ai.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'StreamingKernl'"):
        director_ai.StreamingKernl  # noqa: B018 - looking it up is the test


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, director_ai; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    ours = [name for name in loaded if name.startswith("director_ai")]
    assert ours == ["director_ai", "director_ai.lazy"]
    heavy = {"numpy", "onnxruntime", "anyio", "typer", "rich", "regex", "asyncio", "sqlalchemy", "cryptography"}
    assert not heavy & set(loaded)


def test_the_kernel_needs_neither_numpy_nor_a_model() -> None:
    code = "import sys; from director_ai import StreamingKernel; StreamingKernel().stream_tokens(['x'], lambda _: 0.9); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert not {"numpy", "onnxruntime", "typer", "rich"} & set(loaded)


def test_the_error_tree_in_the_docstring_is_the_tree() -> None:
    drawn = {line.split("── ")[-1].split()[0] for line in errors.__doc__.splitlines() if "── " in line}
    classes = {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception)}
    assert drawn | {"DirectorError"} == classes == set(errors.__all__)


def test_a_missing_extra_says_how_to_install_it() -> None:
    with pytest.raises(ImportError, match=r"pip install '\.\[postgres\]'"):
        raise errors.MissingExtra("the PostgreSQL store", extra="postgres")


def test_no_page_installs_the_package_by_its_name() -> None:
    """On the public index the name belongs to another product."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.*")]
    pages += (ROOT / "src").rglob("*.py")
    told = [path.name for path in pages if re.search(r"pip install[^\n]* '?director-ai", path.read_text("utf-8"))]
    assert told == []


def test_no_dependency_is_heavy_or_copyleft() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = sorted(requirement.split(">=")[0] for requirement in project["dependencies"])
    models = ["numpy", "onnxruntime", "tokenizers"]
    reviews = ["alembic", "cryptography", "sqlalchemy"]
    others = ["anyio", "markdown-it-py", "prometheus-client", "py3langid", "regex", "rich", "typer"]
    assert names == sorted([*models, *reviews, *others])
    assert project["license"] == "Apache-2.0"
