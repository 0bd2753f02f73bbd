"""The incremental JSON reader: where it could stop, what it refuses, and that it keeps no text."""

from __future__ import annotations

import json
import pickle
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.runtime.json_prefix import MAX_DEPTH, MAX_NUMBER, MAX_SPANS, JsonCut, JsonPrefix

if TYPE_CHECKING:
    from collections.abc import Iterable

GARBAGE = st.text(alphabet='{}[]",:\\ud83e0-1.eE+tfnrulsa \n\t`N\x00\ufeff\ud83d')
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
DOCUMENT = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    VALUE,
    st.booleans(),
    st.sampled_from([None, 1]),
)
NASTY = '\ufeff {"a\\"":[1,-2.5e+3 ,true,null,"\\ud83d\\ude00\\\\"],"b":{"c":false,"d":"\\u00e9"}} ```'


def read(pieces: Iterable[str], *, ended: bool = False, sequence: bool = False) -> JsonCut:
    prefix = JsonPrefix(sequence=sequence)
    for piece in pieces:
        prefix.feed(piece)
    return prefix.cut(ended=ended)


def safe_text(text: str) -> str:
    cut = read([text])
    return "" if cut.begin is None or cut.safe is None else text[cut.begin : cut.safe] + cut.closers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{", "{}", id="an opened object"),
        pytest.param('{"a', "{}", id="half a key"),
        pytest.param('{"a"', "{}", id="a key without its colon"),
        pytest.param('{"a":', "{}", id="a key without its value"),
        pytest.param('{"a":[', '{"a":[]}', id="an opened array under a key"),
        pytest.param('{"a":1', "{}", id="a number that may go on"),
        pytest.param('{"a":1 ', '{"a":1}', id="a number ended by a space"),
        pytest.param('{"a":1,', '{"a":1}', id="a comma without what follows"),
        pytest.param('{"a":tru', "{}", id="half a literal"),
        pytest.param('{"a":true', '{"a":true}', id="a literal ends with its last letter"),
        pytest.param('["x', "[]", id="half a string"),
        pytest.param('["x"', '["x"]', id="a string ends with its quote"),
        pytest.param('["x\\"', "[]", id="an escaped quote does not end a string"),
        pytest.param('["x\\\\"', '["x\\\\"]', id="a quote after an escaped backslash does"),
        pytest.param("[[],[", "[[],[]]", id="siblings"),
        pytest.param("[]", "[]", id="nothing missing"),
        pytest.param('"x"', '"x"', id="a string at the top"),
        pytest.param("null", "null", id="a literal at the top"),
        pytest.param("42", "", id="a number at the top that may go on"),
        pytest.param("42\n", "42", id="a number at the top that ended"),
        pytest.param("", "", id="nothing"),
        pytest.param(" \ufeff", "", id="a byte order mark that is not first"),
    ],
)
def test_the_last_valid_point_closes_to_a_document(text: str, expected: str) -> None:
    assert safe_text(text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("[NaN", "unexpected_character offset=1", id="NaN"),
        pytest.param("[-Infinity", "bad_number offset=1", id="minus Infinity"),
        pytest.param("['a'", "unexpected_character offset=1", id="single quotes"),
        pytest.param('["a\nb"', "control_character offset=3", id="a raw line feed in a string"),
        pytest.param('["\x00"', "control_character offset=2", id="NUL in a string"),
        pytest.param("[\x00", "unexpected_character offset=1", id="NUL outside a string"),
        pytest.param('["\\x"', "bad_escape offset=2", id="an unknown escape"),
        pytest.param('["\\u12g4"', "bad_escape offset=2", id="an escape that is not hexadecimal"),
        pytest.param("[1,]", "unexpected_character offset=3", id="a trailing comma in an array"),
        pytest.param('{"a":1,}', "unexpected_character offset=7", id="a trailing comma in an object"),
        pytest.param("[}", "unexpected_character offset=1", id="brackets that do not pair"),
        pytest.param("[1}", "unexpected_character offset=2", id="brackets that do not pair after a value"),
        pytest.param("{a", "unexpected_character offset=1", id="a bare key"),
        pytest.param('{"a"1', "unexpected_character offset=4", id="a missing colon"),
        pytest.param("[1 2", "unexpected_character offset=3", id="a missing comma"),
        pytest.param("[truth", "unexpected_character offset=1", id="a word that begins like a literal"),
        pytest.param("[01,", "bad_number offset=1", id="a leading zero"),
        pytest.param("[1.,", "bad_number offset=1", id="a point without digits"),
        pytest.param("[+1,", "unexpected_character offset=1", id="a plus sign"),
        pytest.param("[1a", "bad_number offset=1", id="a number that runs into a letter"),
        pytest.param("[\u0663", "unexpected_character offset=1", id="digits of another script"),
        pytest.param("[" + "1" * (MAX_NUMBER + 1), "number_too_long offset=1", id="a number without end"),
        pytest.param("[" * (MAX_DEPTH + 1), f"too_deep offset={MAX_DEPTH}", id="too many levels"),
        pytest.param("[\u00a0", "unexpected_character offset=1", id="a space that JSON does not know"),
    ],
)
def test_a_mistake_is_named_once_and_the_rest_is_not_read(text: str, error: str) -> None:
    before, after = read([text]), read([text, ' "x", ', "]", "{'}"])
    assert before.errors == after.errors == (error,)
    assert (before.safe, before.opened, before.values) == (after.safe, after.opened, after.values)
    assert not after.complete
    assert read([text], ended=True).errors == (error,)
    json.loads(safe_text(text))


@pytest.mark.parametrize(
    ("text", "begin", "errors"),
    [
        pytest.param('Sure: {"a":1}', 6, ("text_before characters=6",), id="prose"),
        pytest.param('```json\n{"a":1}\n```\n', 8, ("text_before characters=8",), id="a fence"),
        pytest.param("3 items: [1]", 9, ("text_before characters=9",), id="prose that begins with a number"),
        pytest.param("- items: [1]", 9, ("text_before characters=9",), id="prose that begins with a dash"),
        pytest.param("true story: [1]", 12, ("text_before characters=12",), id="prose that begins with a literal"),
        pytest.param('"Well", he said: [1]', 17, ("text_before characters=17",), id="prose that begins with a quote"),
        pytest.param("[1] done", 0, ("text_after offset=4",), id="text after"),
        pytest.param("[] {}", 0, ("text_after offset=3",), id="a second value"),
        pytest.param("\ufeff[1]", 1, (), id="a byte order mark"),
        pytest.param("no JSON at all", None, ("no_value",), id="prose alone"),
        pytest.param('"a\\q"', None, ("bad_escape offset=2", "no_value"), id="a bad escape at the top"),
        pytest.param("9" * 401, None, ("number_too_long offset=0", "no_value"), id="a long number at the top"),
    ],
)
def test_text_around_the_value_is_skipped_and_noted(text: str, begin: int | None, errors: tuple[str, ...]) -> None:
    cut = read([text])
    assert (cut.begin, cut.errors, cut.complete) == (begin, errors, begin is not None)


@pytest.mark.parametrize(
    ("text", "open_value", "open_string"),
    [
        pytest.param('{"a":"x', 5, True, id="in a string"),
        pytest.param('{"a":12', 5, False, id="in a number"),
        pytest.param('{"a":fal', 5, False, id="in a literal"),
        pytest.param("[t", 1, False, id="in the first literal of an array"),
        pytest.param('{"a": ', 6, False, id="after a colon"),
        pytest.param("[1,", 3, False, id="after a comma in an array"),
        pytest.param("[", None, False, id="after an opened array"),
        pytest.param('{"a', None, False, id="in a key"),
        pytest.param('{"a"', None, False, id="after a key"),
        pytest.param('{"a":1,', None, False, id="after a comma in an object"),
        pytest.param('["a\\q', None, False, id="after a mistake"),
    ],
)
def test_it_knows_where_a_value_was_cut(text: str, open_value: int | None, open_string: bool) -> None:
    cut = read([text])
    assert (cut.open_value, cut.open_string) == (open_value, open_string)


def test_a_scalar_that_turned_out_to_be_prose_leaves_nothing_behind() -> None:
    alone, before_a_value = read(['"Well", he said']), read(['"Well", he said: [1]'])
    assert (alone.begin, alone.safe, alone.values) == (None, None, 0)
    assert before_a_value.values == 2


def test_text_between_the_values_of_a_sequence_is_noted_once() -> None:
    assert read(["Run: {} then [] then {}"], sequence=True).errors == (
        "text_before characters=5",
        "text_after offset=8",
    )
    assert read(["{}\n{}[]"], sequence=True).errors == ()


def test_an_open_number_is_whole_only_when_the_model_stopped_by_itself() -> None:
    halted, ended = read(["[1, 25"]), read(["[1, 25"], ended=True)
    assert (halted.safe, halted.values) == (2, 1)
    assert (ended.safe, ended.values, ended.errors) == (6, 2, ("unexpected_end offset=6",))
    assert read(["25"], ended=True).complete
    assert not read(["25"]).complete
    assert not read(["2."], ended=True).complete


def test_asking_changes_nothing() -> None:
    prefix = JsonPrefix()
    prefix.feed("[1, 2")
    assert prefix.cut(ended=True) == prefix.cut(ended=True)
    prefix.feed("5]")
    assert prefix.cut(ended=False) == read(["[1, 25]"])


def test_a_sequence_keeps_the_spans_where_calls_may_stand() -> None:
    text = '{"x":[1]} [{"y":[{}]}, 2] {"tool_calls":[{"z":{}}'
    prefix = JsonPrefix(sequence=True)
    prefix.feed(text)
    found = [(text[span.start : span.end], span.depth) for span in prefix.spans]
    assert found == [
        ("1", 2),
        ('{"x":[1]}', 0),
        ('{"y":[{}]}', 1),
        ("2", 1),
        ('[{"y":[{}]}, 2]', 0),
        ('{"z":{}}', 2),
    ]
    assert prefix.spans[-1].list_key == (27, 39)


@pytest.mark.parametrize("sequence", [False, True], ids=["one value", "a sequence"])
@pytest.mark.parametrize("length", range(len(NASTY) + 1))
def test_every_split_in_two_reads_the_same(length: int, sequence: bool) -> None:
    whole = read([NASTY], sequence=sequence)
    assert read([NASTY[:length], "", NASTY[length:]], sequence=sequence) == whole
    assert read(NASTY[:length], sequence=sequence) == read([NASTY[:length]], sequence=sequence)


@given(text=GARBAGE, borders=st.lists(st.integers(0, 40)), ended=st.booleans(), sequence=st.booleans())
def test_any_partition_of_anything_reads_the_same(text: str, borders: list[int], ended: bool, sequence: bool) -> None:
    marks = [0, *sorted(min(border, len(text)) for border in borders), len(text)]
    pieces = [text[start:end] for start, end in pairwise(marks)]
    assert read(pieces, ended=ended, sequence=sequence) == read([text], ended=ended, sequence=sequence)


@given(text=GARBAGE)
def test_whatever_was_read_the_last_valid_point_parses(text: str) -> None:
    recovered = safe_text(text)
    assert not recovered or json.dumps(json.loads(recovered))


@given(text=GARBAGE)
def test_a_document_is_complete_exactly_when_the_standard_parser_takes_it(text: str) -> None:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    cut = read([text], ended=True)
    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        assert not cut.complete or cut.errors or text.startswith("\ufeff") or "`" in text
    else:
        assert cut.complete
        assert cut.errors == ()


@given(document=DOCUMENT, share=st.floats(0, 1))
def test_only_closing_brackets_are_added(document: str, share: float) -> None:
    prefix = prefix_of(document, share)
    assert prefix.startswith(safe_text(prefix).rstrip("]}"))


@given(document=DOCUMENT, share=st.floats(0, 1))
def test_the_last_valid_point_is_the_one_found_by_trying_them_all(document: str, share: float) -> None:
    prefix = prefix_of(document, share)
    assert json.loads(safe_text(prefix) or "null") == best_by_trial(prefix)


@given(document=DOCUMENT, shares=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_more_text_never_loses_a_value(document: str, shares: tuple[float, float]) -> None:
    shorter, longer = (safe_text(prefix_of(document, share)) for share in sorted(shares))
    assert not shorter or leaves(json.loads(shorter)) <= leaves(json.loads(longer))


def prefix_of(text: str, share: float) -> str:
    return text[: round(share * len(text))]


def best_by_trial(prefix: str) -> Any:
    """The value of the longest start of `prefix` that parses once its brackets are closed: slow and plain."""
    for length in range(len(prefix), 0, -1):
        start, follower = prefix[:length], prefix[length : length + 1]
        try:
            value = json.loads(start + closers(start))
        except ValueError:
            continue
        in_number = start[-1] in "0123456789" and (not follower or follower in "0123456789.eE")
        if not in_number:
            return value
    return None


def closers(text: str) -> str:
    stack: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            in_string = escaped or char != '"'
            escaped = not escaped and char == "\\"
        elif char == '"':
            in_string = True
        elif char in "[{":
            stack.append("]" if char == "[" else "}")
        elif char in "]}":
            stack.pop()
    return "".join(reversed(stack))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> set[tuple[Any, ...]]:
    if isinstance(value, dict):
        return {leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))}
    if isinstance(value, list):
        return {leaf for index, inner in enumerate(value) for leaf in leaves(inner, (*path, index))}
    return {(*path, repr(value))}


def calls_while_reading(pieces: list[str]) -> int:
    """How many functions, of Python and of C, ran: the same number on every machine."""
    count = 0

    def count_call(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        read(pieces)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param('{"id": 12, "name": "a \\u00e9 b", "tags": [true, null]}, ', id="records"),
        pytest.param("[[[]]],", id="brackets"),
        pytest.param('"' + "x" * 60 + '",', id="strings"),
        pytest.param("-12.5e3,", id="numbers"),
    ],
)
def test_twice_the_tokens_cost_at_most_twice_the_work(unit: str) -> None:
    text = "[" + unit * 200
    tokens = [text[at : at + 4] for at in range(0, len(text), 4)]
    once, twice = calls_while_reading(tokens), calls_while_reading(tokens + tokens[1:])
    assert twice <= 2.2 * once


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('["' + "x" * 50_000, id="a long string"),
        pytest.param("[" + "1, " * 20_000, id="many numbers"),
        pytest.param("[" * 50_000, id="many brackets"),
        pytest.param("prose " * 10_000, id="prose"),
        pytest.param("[" + "1" * 50_000, id="a long number"),
    ],
)
def test_the_reader_holds_no_text_so_a_feed_cannot_depend_on_what_came_before(text: str) -> None:
    prefix = JsonPrefix()
    for at in range(0, len(text), 4):
        prefix.feed(text[at : at + 4])
    assert len(pickle.dumps(prefix)) < 8_000


def test_a_million_opened_brackets_stop_at_the_depth_limit() -> None:
    cut = read(["[" * 1_000_000])
    assert (len(cut.opened), cut.safe) == (MAX_DEPTH, MAX_DEPTH)
    json.loads("[" * MAX_DEPTH + cut.closers)


@pytest.mark.parametrize(
    "elements", ["1,", "-12,", "0,", " true,\n", "null,", "12345678901234567890,", "01,", "1 ,", "tru"]
)
def test_a_run_of_simple_elements_is_read_as_one_by_one(elements: str) -> None:
    text = "[" + elements * 5 + "7"
    whole, by_character = JsonPrefix(), JsonPrefix()
    whole.feed(text)
    for character in text:
        by_character.feed(character)
    assert whole.cut(ended=False) == by_character.cut(ended=False)


def test_more_calls_than_any_answer_has_end_the_reading() -> None:
    prefix = JsonPrefix(sequence=True)
    prefix.feed("[" + "1," * (MAX_SPANS + 5))
    assert len(prefix.spans) == MAX_SPANS
    assert prefix.cut(ended=False).errors == (f"too_many_calls offset={2 * MAX_SPANS}",)
