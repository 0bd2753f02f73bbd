"""The check of JSON: every failure spans the value at fault, and reasons are keywords, never values."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.checks.rules import Check
from director_ai.core.merge import Edit, merge_edits
from director_ai.errors import ConfigError, MissingExtra
from director_ai.validators.json_places import MOST_DEPTH, MOST_KEY, NotJson, Place, read_json
from director_ai.validators.json_schema import JsonSchema

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "age": {"type": "integer", "maximum": 150},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "uniqueItems": True},
        "nick": {"type": ["string", "null"], "minLength": 2},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def failures(schema: Any, text: str, **options: Any) -> list[tuple[str, str]]:
    """What each edit spans, and why."""
    return [(text[edit.start : edit.end], edit.reason) for edit in JsonSchema(schema, **options).find(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"name": "Ann"}', [], id="as it should be"),
        pytest.param(' \n{"name": "Ann"}\n', [], id="with white space around"),
        pytest.param('```json\n{"name": "Ann"}\n```', [], id="in a code fence"),
        pytest.param('```\r\n{"name": "Ann"}```\n', [], id="in a code fence without a language"),
        pytest.param('{"name": 7}', [("7", "type")], id="a value of the wrong type"),
        pytest.param('{ "name" : "Ann" , "age" : 151 }', [("151", "maximum")], id="a number that is too large"),
        pytest.param('{"age": 5}', [('{"age": 5}', "required")], id="a member that is missing spans the object"),
        pytest.param('{"name": "Ann", "x": 1}', [('{"name": "Ann", "x": 1}', "additionalProperties")], id="a member too many"),
        pytest.param('{"name": "A", "tags": ["a", "B", 3]}', [('"B"', "pattern"), ("3", "type")], id="items of a list"),
        pytest.param('{"name": "A", "tags": ["a", "a"]}', [('["a", "a"]', "uniqueItems")], id="an item twice"),
        pytest.param('{"name": "Annabel"}', [('"Annabel"', "maxLength")], id="a string that is too long"),
        pytest.param('{"na\\u006de": 7}', [("7", "type")], id="a key with an escape"),
        pytest.param('{"name": "A", "name": "B"}', [('"name"', "duplicate key")], id="a key twice"),
        pytest.param('```json\n{"name": 7}\n```', [("7", "type")], id="a failure inside a fence"),
    ],
)  # fmt: skip
def test_failures_span_the_value_at_fault(text: str, expected: list[tuple[str, str]]) -> None:
    assert failures(PERSON, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("Sure! Here it is.", id="prose"),
        pytest.param('Here: {"name": "Ann"}', id="prose before it"),
        pytest.param('{"name": "Ann"} done', id="prose behind it"),
        pytest.param('{"name": "Ann"', id="an object that is not closed"),
        pytest.param('{"name": "Ann",}', id="a comma too many"),
        pytest.param("{'name': 'Ann'}", id="single quotes"),
        pytest.param("[NaN]", id="not a number"),
        pytest.param("[Infinity]", id="infinity"),
        pytest.param("[1e999]", id="a number beyond all bounds"),
        pytest.param("[01]", id="a number with a zero before it"),
        pytest.param("[1.]", id="a number with nothing behind the point"),
        pytest.param('["a\nb"]', id="a line end in a string"),
        pytest.param("[1 2]", id="no comma"),
        pytest.param("{1: 2}", id="a key that is a number"),
        pytest.param("[tru]", id="half a word"),
        pytest.param("\ufeff[]", id="a byte order mark"),
        pytest.param("[" * 5_000 + "]" * 5_000, id="brackets without end"),
        pytest.param("[" + "9" * 5_000 + "]", id="a number without end"),
        pytest.param("```json\n[1]", id="a fence that is not closed"),
        pytest.param("[１]", id="a full-width digit"),
    ],
)
def test_what_is_no_json_fails_as_a_whole(text: str) -> None:
    assert JsonSchema(True).find(text) == [Edit(0, len(text), text, "rewrite", "json_schema", "json")]


def test_a_fence_can_be_refused() -> None:
    assert failures(True, "```json\n[1]\n```", fence=False) == [("```json\n[1]\n```", "json")]


def test_nothing_is_changed_unless_asked_for() -> None:
    text = '{"name": 7, "nick": "x"}'
    assert merge_edits(text, JsonSchema(PERSON).find(text)).text == text


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        pytest.param(PERSON, '{"name": 7, "nick": "x"}', '{"name": 7, "nick": null}', id="only where null is allowed"),
        pytest.param({"items": {"type": ["integer", "null"]}}, '["a", 1, "b"]', "[null, 1, null]", id="in a list"),
        pytest.param({"type": ["integer", "null"]}, '"a"', "null", id="the whole value"),
        pytest.param(
            {"items": {"type": ["integer", "null"]}, "uniqueItems": True}, '["a", "b"]', '["a", "b"]',
            id="not where two nulls would be one too many",
        ),
    ],
)  # fmt: skip
def test_null_takes_the_place_of_a_value_where_that_is_right(schema: Any, text: str, expected: str) -> None:
    edits = JsonSchema(schema, nulls=True).find(text)
    assert merge_edits(text, edits).text == expected
    assert {edit.kind for edit in edits if edit.replacement == "null"} <= {"remove"}


def test_equal_numbers_are_the_same_item_and_true_is_no_number() -> None:
    schema = {"uniqueItems": True}
    assert failures(schema, "[1, 1.0]") == [("[1, 1.0]", "uniqueItems")]
    assert failures(schema, '[{"a": 1, "b": 2}, {"b": 2, "a": 1.0}]') != []
    assert failures(schema, '[1, true, "1", 0, false, null, [1], [true]]') == []


def test_a_schema_may_refer_to_itself() -> None:
    tree = {
        "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}},
        "$ref": "#/$defs/node",
    }
    assert failures(tree, '{"next": {"next": {"n": "x"}}}') == [('"x"', "type")]


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "text"}, id="an unknown type"),
        pytest.param({"type": 7}, id="a type that is a number"),
        pytest.param("{}", id="a text"),
        pytest.param(None, id="none"),
        pytest.param({"const": float("nan")}, id="a number that is none"),
        pytest.param({"const": {1, 2}}, id="a set"),
        pytest.param({"$ref": "https://example.org/schema.json"}, id="a reference to the network"),
        pytest.param({"items": {"$ref": "file:///etc/passwd"}}, id="a reference to a file"),
        pytest.param({"patternProperties": {"(a+)+b": {}}}, id="keys by a pattern that can backtrack"),
        pytest.param({"pattern": r"(a)\1"}, id="a pattern that refers back"),
    ],
)
def test_a_schema_that_cannot_be_right_is_refused(schema: Any) -> None:
    with pytest.raises(ConfigError):
        JsonSchema(schema)


@pytest.mark.parametrize("options", [{"fence": 1}, {"nulls": None}, {"name": 7}])
def test_options_that_cannot_be_right_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        JsonSchema(True, **options)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(MissingExtra, match=r"pip install '\.\[jsonschema\]"):
        JsonSchema(True)


def test_changing_the_schema_afterwards_changes_nothing() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    check = JsonSchema(schema)
    schema["type"] = "string"
    assert check.find("1") == []


def test_it_waits_for_the_whole_text() -> None:
    check = JsonSchema(PERSON)
    assert isinstance(check, Check)
    assert check.frontier == "text"


def test_a_key_that_is_too_long_fails() -> None:
    key = "k" * (MOST_KEY + 1)
    assert failures(True, json.dumps({key: 1})) == [(f'"{key}"', "key")]


def test_brackets_may_go_as_deep_as_it_says() -> None:
    deep = "[" * MOST_DEPTH + "]" * MOST_DEPTH
    assert failures(True, deep) == []
    assert failures(True, "[" * 2 + deep + "]" * 2) != []


# Laws.

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def check_places(text: str, value: Any, place: Place) -> None:
    """Every part, read on its own from its place, is that part."""
    assert json.loads(text[place.start : place.end]) == value
    if isinstance(value, dict):
        assert isinstance(place.inside, dict)
        for key, inner in value.items():
            check_places(text, inner, place.inside[key])
    elif isinstance(value, list):
        assert isinstance(place.inside, list)
        for inner, where in zip(value, place.inside, strict=True):
            check_places(text, inner, where)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_every_part_stands_where_it_says(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    found = read_json(text, 0, len(text))
    assert found.value == value
    assert (found.twice, found.long_keys) == ([], [])
    check_places(text, value, found.root)


def refuse(word: str) -> Any:
    raise ValueError(word)


@given(st.text(alphabet='{}[]",:\\u0e1-.+tfnrulsaeN \n', max_size=12))
def test_it_reads_what_the_library_reads_and_nothing_else(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=refuse)
        bad = "inf" in repr(expected)
    except ValueError:
        bad = True
    if bad:
        with pytest.raises(NotJson):
            read_json(text, 0, len(text))
    else:
        assert read_json(text, 0, len(text)).value == expected


@given(VALUES)
def test_a_schema_that_allows_all_finds_nothing_and_one_that_allows_nothing_finds_the_whole(value: Any) -> None:
    text = json.dumps(value)
    assert failures(True, text) == []
    assert failures(False, text) == [(text, "false")]


@given(VALUES)
def test_no_reason_holds_any_of_the_text(value: Any) -> None:
    keywords = {
        "type",
        "maximum",
        "required",
        "additionalProperties",
        "maxLength",
        "pattern",
        "uniqueItems",
        "minLength",
    }
    assert {reason for _, reason in failures(PERSON, json.dumps(value))} <= keywords


@pytest.mark.timeout(60)  # a second at most, where the work is proportional
@pytest.mark.parametrize(
    ("schema", "text"),
    [
        pytest.param(True, "[" + "1," * 200_000 + "1]", id="many numbers"),
        pytest.param({"uniqueItems": True}, "[" + ",".join(f'{n},"{n}"' for n in range(36_000)) + "]", id="items of two types"),
        pytest.param({"pattern": "^a*b"}, '"' + "a" * 1_000_000 + '"', id="a pattern that almost fits"),
        pytest.param({"pattern": "a*b"}, '"' + "a" * 1_000_000 + '"', id="a pattern that almost fits at every place"),
        pytest.param(True, '"' * 400_000, id="quotes"),
        pytest.param(True, '{"a":' * 80_000, id="objects in objects"),
        pytest.param(True, " " * 400_000, id="white space"),
        pytest.param({"items": {"type": "string"}}, "[" + "1," * 200_000 + "1]", id="many failures"),
    ],
)  # fmt: skip
def test_hostile_texts_are_read_without_hanging(schema: Any, text: str) -> None:
    assert all(0 <= edit.start <= edit.end <= len(text) for edit in JsonSchema(schema).find(text))
