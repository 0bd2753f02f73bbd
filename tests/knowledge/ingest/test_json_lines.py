"""JSON lines: one fact per line; what is wrong is named by its line and never quoted."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingested import fold, ingest, texts

from director_ai.errors import ConfigError
from director_ai.knowledge.ingest import Passage, origin, read_passages

READ = {
    "a text": ('{"text": "The fee is ten."}\n', ["The fee is ten."]),
    "a fact": ('{"fact": "The fee is ten."}', ["The fee is ten."]),
    "a fact before a text": ('{"text": "no", "fact": "yes"}', ["yes"]),
    "fields that nobody asked for": ('{"text": "yes", "tags": [1, {"a": null}]}', ["yes"]),
    "blank lines": ('\n\n{"text": "one"}\n \t\r\n{"text": "two"}\n\n', ["one", "two"]),
    "line ends of Windows": ('{"text": "one"}\r\n{"text": "two"}\r\n', ["one", "two"]),
    "a separator of lines in a string": ('{"text": "one\u2028two"}', ["one two"]),
    "NUL and lone surrogates": ('{"text": "o\\u0000n\\ud800e"}', ["one"]),
    "characters beyond the first plane": ('{"text": "\\ud83d\\ude00"}', ["😀"]),
    "white space is folded": ('{"text": " one\\n\\ttwo "}', ["one two"]),
    "a mark at the beginning": ('\ufeff{"text": "one"}', ["one"]),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("document", "expected"), READ.values(), ids=READ)
def test_lines_are_read(document: str, expected: list[str]) -> None:
    assert texts(document, ".jsonl") == expected


def test_keys_sources_and_offsets_are_those_of_the_line_or_of_the_file() -> None:
    document = (
        '{"text": "One.", "key": "k"}\n\n{"fact": "Two.", "id": 7, "source": "s", "start": 3, "end": 9}\n{"text": "3"}'
    )
    assert ingest(document, ".ndjson") == [
        Passage(key="k", text="One.", source="document.ndjson", start=0, end=28, locator="line 1"),
        Passage(key="document.ndjson#7", text="Two.", source="s", start=3, end=9, locator="line 3"),
        Passage(key="document.ndjson#4", text="3", source="document.ndjson", start=93, end=106, locator="line 4"),
    ]


REFUSED = {
    "no JSON": ("secret", "line 2: is no valid JSON at column 1"),
    "a string that does not end": ('{"text": "secret', "line 2: is no valid JSON"),
    "two objects": ('{"text": "secret"} {}', "line 2: is no valid JSON at column 20"),
    "an array": ('["secret"]', "an object, and is a list"),
    "a string": ('"secret"', "an object, and is a str"),
    "null": ("null", "an object, and is a NoneType"),
    "no text": ('{"title": "secret"}', "must have one of: fact, text"),
    "a text that is no string": ('{"text": ["secret"]}', "a string as text, and has a list"),
    "a blank text": ('{"text": " \\u0000 ", "key": "secret"}', "blank text"),
    "a blank key": ('{"text": "secret", "key": " "}', "blank key"),
    "a key that is true": ('{"text": "secret", "key": true}', "a string as key, and has a bool"),
    "a source that is no string": ('{"text": "secret", "source": 1}', "a string as source"),
    "the same name twice": ('{"text": "secret", "text": "other"}', "the same name twice"),
    "the same name twice inside": ('{"text": "secret", "x": {"a": 1, "a": 2}}', "the same name twice"),
    "NaN": ('{"text": "secret", "x": NaN}', "NaN"),
    "infinity": ('{"text": "secret", "x": -Infinity}', "-Infinity"),
    "a start without an end": ('{"text": "secret", "start": 1}', "start and end"),
    "a start beyond the end": ('{"text": "secret", "start": 2, "end": 1}', "start and end"),
    "a negative start": ('{"text": "secret", "start": -1, "end": 1}', "start and end"),
    "a start that is no number": ('{"text": "secret", "start": "1", "end": 2}', "start and end"),
    "an end that is true": ('{"text": "secret", "start": 0, "end": true}', "start and end"),
    "nested a hundred thousand deep": ("[" * 100_000, "nested too deeply"),
    "objects nested as deep": ('{"a":' * 100_000, "nested too deeply"),
    "a number of ten thousand digits": ('{"text": "secret", "x": ' + "9" * 10_000 + "}", "number that is too long"),
}


@pytest.mark.parametrize(("line", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_named_by_its_line_and_never_quoted(line: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        ingest('{"text": "fine"}\n' + line, ".jsonl")
    assert "secret" not in str(caught.value)
    assert "line 2" in str(caught.value)
    assert caught.value.__context__ is None


def test_a_line_that_never_ends_is_refused_before_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origin, "LONGEST_LINE", 1000)
    with pytest.raises(ConfigError, match="more than 1000 characters in line 2"):
        ingest("\n" + "x" * 2000, ".jsonl")


def test_bytes_that_are_no_text_are_named_by_their_place_in_a_long_file() -> None:
    head = b'{"text": "one"}\n' * 5000
    with pytest.raises(ConfigError, match=f"byte 0xff at offset {len(head) + 2} ") as caught:
        ingest(head + b"xx\xff\n", ".jsonl")
    assert caught.value.__context__ is None


def test_passages_before_a_mistake_have_come_already(tmp_path: Path) -> None:
    path = tmp_path / "facts.jsonl"
    path.write_text('{"text": "one"}\nx\n')
    passages = read_passages(path)
    assert next(passages).text == "one"
    with pytest.raises(ConfigError, match="line 2"):
        next(passages)


def test_a_long_file_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("w") as file:
        file.writelines(f'{{"text": "The fee of the clinic number {number} is ten."}}\n' for number in range(20_000))
    ingest('{"text": "one"}', ".jsonl")  # what is loaded once does not count
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_passages(path)) == 20_000
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 4
    finally:
        tracemalloc.stop()


@given(st.lists(st.text(min_size=1).filter(lambda text: fold(text).isprintable() and fold(text)), max_size=8))
def test_what_was_written_is_what_is_read(facts: list[str]) -> None:
    lines = "".join(json.dumps({"text": fact}, ensure_ascii=False) + "\n" for fact in facts)
    assert texts(lines, ".jsonl") == [fold(fact) for fact in facts]
