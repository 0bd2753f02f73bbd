"""The door of ingestion: which files are read, as what, and under which name."""

from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from director_ai.errors import ConfigError, UnknownOption
from director_ai.knowledge import ingest
from director_ai.knowledge.ingest import FORMATS, Passage, read_passages

FEE = "The fee is ten."

SUFFIXES = {
    ".txt": FEE, ".text": FEE, ".md": f"**{FEE}**", ".markdown": f"**{FEE}**", ".html": f"<p>{FEE}", ".htm": f"<p>{FEE}",
    ".csv": f"fact\n{FEE}\n", ".tsv": f"fact\tx\n{FEE}\t\n", ".jsonl": f'{{"text": "{FEE}"}}', ".ndjson": f'{{"text": "{FEE}"}}',
}  # fmt: skip


@pytest.mark.parametrize("suffix", [*SUFFIXES, *map(str.upper, SUFFIXES)])
def test_the_suffix_says_the_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"fees{suffix}"
    path.write_text(SUFFIXES[suffix.lower()])
    assert [passage.text for passage in read_passages(str(path))] == [FEE]


def test_the_format_may_be_said_instead(tmp_path: Path) -> None:
    path = tmp_path / "fees.dat"
    path.write_text(f"<p>{FEE}")
    assert [passage.text for passage in read_passages(path, format="html")] == [FEE]
    assert FORMATS == ("text", "markdown", "html", "pdf", "csv", "jsonl")


def test_an_unknown_suffix_names_the_known_ones_and_the_option(tmp_path: Path) -> None:
    path = tmp_path / "fees.docx"
    path.write_text(FEE)
    with pytest.raises(ConfigError, match=r"fees\.docx' has an unknown suffix; known: \.txt .*format= .*markdown"):
        read_passages(path)


def test_an_unknown_format_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownOption, match="did you mean 'markdown'"):
        read_passages(tmp_path / "x", format="markdwn")


WRONG: dict[str, dict[str, Any]] = {
    "no sentences": {"sentences": 0},
    "sentences that are true": {"sentences": True},
    "sentences that are no number": {"sentences": "3"},
    "sentences that are not whole": {"sentences": 1.5},
    "a source that is no string": {"source": 7},
    "a blank source": {"source": " \0"},
    "a source that is too long": {"source": "x" * 401},
    "a format that is no name": {"format": 7},
    "no path": {"path": None},
    "a blank path": {"path": ""},
    "a path with a NUL character": {"path": "a\0.txt"},
    "bytes for a path": {"path": b"a.txt"},
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG)
def test_wrong_arguments_are_refused_at_once(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "fees.txt"
    path.write_text(FEE)
    with pytest.raises(ConfigError):
        read_passages(**{"path": path, **options})


def test_a_source_is_never_where_the_file_lies_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fees.txt").write_text(FEE)
    monkeypatch.chdir(tmp_path)
    named = {
        "docs/fees.txt": read_passages("docs/fees.txt"),
        "fees.txt": read_passages(tmp_path / "docs" / "fees.txt"),
        "The fees": read_passages("docs/fees.txt", source=" The fees\x1b "),
    }
    for source, passages in named.items():
        assert [(p.source, p.key) for p in passages] == [(source, f"{source}#0-15")]


def test_a_name_that_is_no_text_is_cleaned(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/fees\xff.txt"
    Path(os.fsdecode(path)).write_text(FEE)
    assert [passage.source for passage in read_passages(os.fsdecode(path))] == ["fees.txt"]


def test_passages_are_frozen() -> None:
    passage = Passage(key="k", text=FEE, source="s", start=0, end=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        passage.text = ""  # type: ignore[misc]


def test_a_missing_file_is_named_as_the_caller_named_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"^'no/fees\.txt' does not exist"):
        read_passages("no/fees.txt")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a file"):
        read_passages(tmp_path, format="text")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fees.txt")
    with pytest.raises(ConfigError, match="is not a file"):
        read_passages(tmp_path / "fees.txt")


def test_a_name_that_is_too_long_for_the_system_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: File name too long"):
        read_passages(tmp_path / f"{'x' * 300}.txt")


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="a file that opens and cannot be read is known on Linux"
)
@pytest.mark.parametrize("name", ["text", "csv", "jsonl"])
def test_a_file_that_cannot_be_read_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="'/proc/self/mem' cannot be read"):
        list(read_passages("/proc/self/mem", format=name))


def test_a_file_that_goes_away_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fees.txt"
    path.write_text(FEE)
    passages = read_passages(path)
    path.unlink()
    with pytest.raises(ConfigError, match="does not exist"):
        next(passages)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "fees.csv"
    path.write_text("fact\n" + "The fee is ten.\n" * 3)
    passages = read_passages(path)
    next(passages)
    with path.open("a") as file:
        file.write("The fee is eleven.\n")
    with pytest.raises(ConfigError, match="has changed while it was read"):
        list(passages)


UNREADABLE = {
    "Latin-1": (b"secret \xe9 secret", "is not UTF-8: byte 0xe9 at offset 7 cannot be read; convert the file to UTF-8"),
    "after a mark": (b"\xef\xbb\xbfsecret \xe9", "byte 0xe9 at offset 10"),
    "half a character": (b"secret \xe2\x82", "byte 0xe2 at offset 7"),
    "half a character of UTF-16": (b"\xff\xfes\0e\0c", r"is not UTF-16.*byte 0x63 at offset 6"),
    "a picture": (b"\x89PNG\r\n\x1a\nsecret", "byte 0x89 at offset 0"),
}


@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".csv", ".jsonl"])
@pytest.mark.parametrize(("data", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_another_encoding_is_refused_with_the_byte(tmp_path: Path, suffix: str, data: bytes, words: str) -> None:
    path = tmp_path / f"fees{suffix}"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=words) as caught:
        list(read_passages(path))
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("suffix", [".txt", ".md", ".html", ".csv", ".jsonl", ".pdf"])
def test_an_empty_file_has_no_passages(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"fees{suffix}"
    path.touch()
    assert list(read_passages(path)) == []


def test_a_reader_that_stops_early_leaves_no_file_open(tmp_path: Path) -> None:
    path = tmp_path / "fees.csv"
    path.write_text("fact\n" + "The fee is ten.\n" * 3)
    passages = read_passages(path)
    next(passages)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        passages.close()  # type: ignore[attr-defined]  # a generator
        del passages
        gc.collect()  # a file that nobody closed warns when it is collected
    assert caught == []


def test_libraries_are_loaded_only_when_their_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "fees.txt"
    path.write_text(FEE)
    script = (
        "import sys; from director_ai.knowledge.ingest import read_passages; list(read_passages(sys.argv[1])); "
        "assert not {'pypdf', 'markdown_it'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True)


def test_the_public_names() -> None:
    assert sorted(ingest.__all__) == ["FORMATS", "Passage", "read_passages"]
