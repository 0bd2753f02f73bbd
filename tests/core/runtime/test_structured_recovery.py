"""What structured recovery gives back of JSON, tool calls and reasoning that were cut."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.runtime.structured_recovery import (
    RecoveryKind,
    RecoveryPolicy,
    StructuredRecovery,
    StructuredRecoveryConfig,
    StructuredRecoveryResult,
    recovery_config,
)
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = st.sampled_from(get_args(RecoveryKind))
POLICIES = st.sampled_from(get_args(RecoveryPolicy))
PARSING = ["last_valid", "redacted", "closed"]

# Surrogates included: a stream may carry half a pair.
TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=12)
SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUE = st.recursive(SCALAR, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=12)
DOCUMENT = st.builds(
    lambda value, ascii_only, indent: json.dumps(value, ensure_ascii=ascii_only, indent=indent),
    VALUE,
    st.booleans(),
    st.sampled_from([None, 1]),
)
CALL = st.fixed_dictionaries(
    {"name": st.sampled_from(["find", "send \u00e9"]), "arguments": st.dictionaries(TEXT, SCALAR)}
)
GARBAGE = st.text(alphabet='{}[]",:\\ud83e0-1.tfnrulsa \n`N\x00\ufeff\ud83d')
STEPS = st.text(alphabet="Step 12:.)-*#\n\r\tx")
ANYTHING = DOCUMENT | GARBAGE | STEPS | st.text()


def recover(pieces: Iterable[str], *, halted: bool = True, **settings: Any) -> StructuredRecoveryResult:
    recovery = StructuredRecovery(StructuredRecoveryConfig(**settings))
    for piece in pieces:
        recovery.feed(piece)
    return recovery.result(halted=halted)


def prefix_of(text: str, share: float) -> str:
    return text[: round(share * len(text))]


class TestSettings:
    def test_defaults(self) -> None:
        config = StructuredRecoveryConfig()
        assert (config.kind, config.policy, config.placeholder) == ("json", "last_valid", "[redacted]")

    @pytest.mark.parametrize(
        ("settings", "error", "words"),
        [
            pytest.param({"kind": "jsn"}, UnknownOption, "did you mean 'json'", id="a kind misspelt"),
            pytest.param({"kind": None}, UnknownOption, "known: json, reasoning, tool_call", id="no kind"),
            pytest.param({"kind": ["json"]}, UnknownOption, "recovery kind", id="a list of kinds"),
            pytest.param({"policy": "last-valid"}, UnknownOption, "did you mean 'last_valid'", id="a policy misspelt"),
            pytest.param({"policy": 1}, UnknownOption, "known: closed, last_valid", id="a number as policy"),
            pytest.param({"placeholder": " \n"}, ConfigError, "placeholder", id="a blank placeholder"),
            pytest.param({"placeholder": ""}, ConfigError, "placeholder", id="an empty placeholder"),
            pytest.param({"placeholder": None}, ConfigError, "placeholder", id="no placeholder"),
            pytest.param({"placeholder": b"x"}, ConfigError, "placeholder", id="bytes as placeholder"),
        ],
    )
    def test_what_cannot_be_right_is_refused(self, settings: Any, error: type[Exception], words: str) -> None:
        with pytest.raises(error, match=words):
            StructuredRecoveryConfig(**settings)

    def test_a_caller_may_pass_nothing_a_kind_or_the_settings(self) -> None:
        config = StructuredRecoveryConfig(kind="reasoning", policy="redacted")
        assert recovery_config(None) is None
        assert recovery_config("tool_call") == StructuredRecoveryConfig(kind="tool_call")
        assert recovery_config(config) is config

    @pytest.mark.parametrize("value", [True, 1, b"json", {"kind": "json"}, StructuredRecoveryConfig, object()])
    def test_anything_else_is_refused_by_type(self, value: object) -> None:
        with pytest.raises(ConfigError, match=f"got {type(value).__name__}"):
            recovery_config(value)

    def test_an_unknown_kind_is_refused_with_the_nearest(self) -> None:
        with pytest.raises(UnknownOption, match="tool_call"):
            recovery_config("toolcall")

    @pytest.mark.parametrize("kind", get_args(RecoveryKind))
    @pytest.mark.parametrize("piece", [None, b"{}", 1], ids=["None", "bytes", "a number"])
    def test_only_text_is_fed(self, kind: RecoveryKind, piece: Any) -> None:
        with pytest.raises(ConfigError, match=type(piece).__name__):
            recover([piece], kind=kind)


class TestJson:
    @pytest.mark.parametrize(
        ("text", "last_valid", "redacted", "closed"),
        [
            pytest.param('{"a":1,"b":"he', '{"a":1}', '{"a":1,"b":"#"}', '{"a":1,"b":"he"}', id="a string value"),
            pytest.param('{"a":"', "{}", '{"a":"#"}', '{"a":""}', id="a string of which nothing came"),
            pytest.param('{"a":"x\\', "{}", '{"a":"#"}', '{"a":"x"}', id="after a backslash"),
            pytest.param('{"a":"x\\u00e', "{}", '{"a":"#"}', '{"a":"x"}', id="inside an escape"),
            pytest.param('{"a":"x\\ud83d', "{}", '{"a":"#"}', '{"a":"x"}', id="half a surrogate pair"),
            pytest.param('{"a":"x\\uD83D\\', "{}", '{"a":"#"}', '{"a":"x"}', id="half a pair and a backslash"),
            pytest.param('{"a":"x\\ud83d\\ude0', "{}", '{"a":"#"}', '{"a":"x"}', id="most of a surrogate pair"),
            pytest.param('["\\ud83d\\ude00', "[]", '["#"]', '["\\ud83d\\ude00"]', id="a whole surrogate pair"),
            pytest.param('["\\ud83dx', "[]", '["#"]', '["\\ud83dx"]', id="half a pair the model left alone"),
            pytest.param('["\\\\ud83d', "[]", '["#"]', '["\\\\ud83d"]', id="an escaped backslash before ud83d"),
            pytest.param('["\ud83d', "[]", '["#"]', '["\ud83d"]', id="a raw lone surrogate"),
            pytest.param("[1,12", "[1]", '[1,"#"]', "[1]", id="a number that may go on"),
            pytest.param("[1,12 ", "[1,12]", "[1,12]", "[1,12]", id="a number that ended"),
            pytest.param("[1,", "[1]", '[1,"#"]', "[1]", id="a comma in an array"),
            pytest.param("[tru", "[]", '["#"]', "[]", id="half a literal"),
            pytest.param('{"a": ', "{}", '{"a": "#"}', "{}", id="after a colon"),
            pytest.param('{"a":1,"b', '{"a":1}', '{"a":1}', '{"a":1}', id="half a key"),
            pytest.param('{"a":1,"b"', '{"a":1}', '{"a":1}', '{"a":1}', id="a key without a value"),
            pytest.param('{"a":1,', '{"a":1}', '{"a":1}', '{"a":1}', id="a comma in an object"),
            pytest.param('[{"a":[{', '[{"a":[{}]}]', '[{"a":[{}]}]', '[{"a":[{}]}]', id="opened containers"),
            pytest.param('"he', "null", '"#"', '"he"', id="a string at the top"),
            pytest.param("12", "null", '"#"', "null", id="a number at the top"),
            pytest.param("", "null", "null", "null", id="nothing"),
            pytest.param("I cannot", "null", "null", "null", id="prose alone"),
            pytest.param("7 dwarfs", "null", "null", "null", id="prose that begins with a number"),
            pytest.param("Here: [1,2", "[1]", '[1,"#"]', "[1]", id="prose before"),
            pytest.param("[1,NaN,2]", "[1]", "[1]", "[1]", id="a mistake"),
            pytest.param('["a", "b\\q', '["a"]', '["a"]', '["a"]', id="a mistake in a string"),
            pytest.param("\ufeff [1]\n```", "[1]", "[1]", "[1]", id="a whole document in a fence"),
        ],
    )
    def test_what_each_policy_makes_of_a_cut(self, text: str, last_valid: str, redacted: str, closed: str) -> None:
        for policy, expected in (("last_valid", last_valid), ("redacted", redacted), ("closed", closed)):
            result = recover([text], policy=policy, placeholder="#")
            assert (policy, result.text) == (policy, expected)
            assert result.value == json.loads(expected)
            assert result.valid

    @pytest.mark.parametrize(
        ("text", "valid"),
        [
            pytest.param('{"a": 1}\n', True, id="a document"),
            pytest.param('{"a": 1', False, id="half a document"),
            pytest.param("```json\n[]\n```", False, id="a document in a fence"),
            pytest.param("NaN", False, id="what only Python calls JSON"),
            pytest.param("[" * 100_000, False, id="deeper than the parser goes"),
            pytest.param("9" * 10_000, False, id="longer than an integer may be"),
        ],
    )
    def test_raw_text_is_left_alone_and_said_to_parse_or_not(self, text: str, valid: bool) -> None:
        result = recover([text], policy="raw_partial")
        assert (result.text, result.valid, result.value) == (text, valid, json.loads(text) if valid else None)

    def test_the_placeholder_is_escaped(self) -> None:
        assert recover(['["x'], policy="redacted", placeholder='"\n').value == ['"\n']

    def test_the_result_says_where_and_how_it_was_cut(self) -> None:
        result = recover(['{"a": [1, 2, {"b', '": "c'])
        assert (result.complete, result.halted, result.halt_offset, result.errors) == (False, True, 21, ())
        assert result.metadata == {
            "values_complete": 2,
            "values_dropped": 1,
            "depth": 3,
            "characters_dropped": 7,
        }

    def test_a_stream_that_ended_early_by_itself_says_so(self) -> None:
        result = recover(["[1, 25"], halted=False)
        assert (result.text, result.complete, result.errors) == ("[1, 25]", False, ("unexpected_end offset=6",))
        assert recover(["25"], halted=False).value == 25

    def test_the_deepest_document_allowed_is_parsed_and_a_deeper_one_is_cut(self) -> None:
        assert recover(["[" * 256 + "]" * 256]).complete
        deeper = recover(["[" * 257 + "]" * 257])
        assert (deeper.valid, deeper.complete, deeper.errors) == (True, False, ("too_deep offset=256",))

    def test_a_caller_at_the_end_of_its_stack_still_gets_a_result(self) -> None:
        recovery = StructuredRecovery(StructuredRecoveryConfig())
        recovery.feed("[" * 250)
        results = []

        def descend(levels: int) -> None:
            if levels:
                descend(levels - 1)
            else:
                results.append(recovery.result(halted=True))

        here, frame = 0, sys._getframe()
        while frame is not None:
            here, frame = here + 1, frame.f_back  # type: ignore[assignment] # None ends the loop
        descend(sys.getrecursionlimit() - here - 60)
        assert results[0].text == "[" * 250 + "]" * 250

    @given(document=DOCUMENT, share=st.floats(0, 1), policy=st.sampled_from(PARSING), halted=st.booleans())
    def test_every_prefix_of_every_document_parses(
        self, document: str, share: float, policy: RecoveryPolicy, halted: bool
    ) -> None:
        result = recover([prefix_of(document, share)], policy=policy, halted=halted)
        assert result.valid
        assert result.value == json.loads(result.text)

    @given(text=ANYTHING, policy=st.sampled_from(PARSING), halted=st.booleans())
    def test_anything_at_all_parses(self, text: str, policy: RecoveryPolicy, halted: bool) -> None:
        result = recover([text], policy=policy, halted=halted)
        assert result.valid
        json.loads(result.text)

    @given(document=DOCUMENT)
    def test_a_whole_document_comes_back_as_it_is(self, document: str) -> None:
        result = recover([document], halted=False)
        assert (result.text, result.complete, result.errors) == (document, True, ())


A = '{"name": "a", "arguments": {"x": 1}}'
B = '{"name":"b","arguments":"{\\"y\\": 2}"}'
C = '{"id":"1","type":"function","function":{"name":"c","arguments":"{}"}}'


class TestToolCalls:
    @pytest.mark.parametrize("policy", PARSING)
    @pytest.mark.parametrize(
        ("text", "expected", "dropped"),
        [
            pytest.param(A, [A], 0, id="one call"),
            pytest.param(A[:-1], [], 1, id="a call without its last bracket"),
            pytest.param(A + B[:-1], [A], 1, id="two calls in a row, the second cut"),
            pytest.param(f"{A}\n{B}\n", [A, B], 0, id="a call per line"),
            pytest.param(f"[{A}, {B}, {C[:20]}", [A, B], 1, id="an array, its third cut"),
            pytest.param(f"[{A}, ", [A], 0, id="an array after a comma"),
            pytest.param(f'{{"tool_calls": [{A}, {B}', [A, B], 0, id="a message with a list of calls"),
            pytest.param(f'{{"tool_calls":[{A}, {B[:9]}', [A], 1, id="such a message, its second call cut"),
            pytest.param(
                f'{{"content":null,"tool_calls":[{C}],"x":{{', [C], 0, id="such a message, cut after the list"
            ),
            pytest.param(f'{{"tool_calls":[{A}]}}\n{B}', [A, B], 0, id="a message and a call"),
            pytest.param('{"tool_calls": []}', [], 0, id="a message without calls"),
            pytest.param(f"<tool_call>{A}</tool_call> <tool_call>{B}", [A, B], 0, id="calls between tags"),
            pytest.param(f"{A}\n{{oops", [A], 1, id="a mistake after a call"),
            pytest.param("I need no tools.", [], 0, id="prose"),
            pytest.param("", [], 0, id="nothing"),
        ],
    )
    def test_only_whole_calls_survive(
        self, policy: RecoveryPolicy, text: str, expected: list[str], dropped: int
    ) -> None:
        result = recover([text], kind="tool_call", policy=policy)
        assert result.text == f"[{','.join(expected)}]"
        assert result.value == [json.loads(call) for call in expected]
        assert result.valid
        assert (result.metadata["calls_complete"], result.metadata["calls_dropped"]) == (len(expected), dropped)

    @pytest.mark.parametrize(
        ("call", "error"),
        [
            pytest.param('{"arguments": {}}', "call_without_name", id="no name"),
            pytest.param('{"name": " ", "arguments": {}}', "call_without_name", id="a blank name"),
            pytest.param('{"name": 1, "arguments": {}}', "call_without_name", id="a number as name"),
            pytest.param('{"function": "a", "arguments": {}}', "call_without_name", id="a function that is a word"),
            pytest.param('{"function": {"arguments": {}}}', "call_without_name", id="a function without a name"),
            pytest.param('{"name": "a"}', "call_without_arguments", id="no arguments"),
            pytest.param('{"name": "a", "arguments": [1]}', "call_without_arguments", id="a list of arguments"),
            pytest.param('{"name": "a", "arguments": "[1]"}', "call_without_arguments", id="text of a list"),
            pytest.param('{"name": "a", "arguments": "{"}', "call_with_bad_arguments", id="text cut short"),
            pytest.param('{"name": "a", "arguments": "{\\"x\\": NaN}"}', "call_with_bad_arguments", id="text with NaN"),
            pytest.param(
                json.dumps({"name": "a", "arguments": "[" * 100_000}), "call_with_bad_arguments", id="text too deep"
            ),
            pytest.param(
                '{"name": "a", "arguments": "{\\"x\\": 1, \\"x\\": 2}"}',
                "call_with_bad_arguments",
                id="text with a key twice",
            ),
            pytest.param('{"name": "a", "name": "b", "arguments": {}}', "call_with_duplicate_key", id="two names"),
            pytest.param(
                '{"name": "a", "arguments": {"x": 1, "x": 2}}', "call_with_duplicate_key", id="an argument twice"
            ),
            pytest.param("[]", "call_not_object", id="a list"),
            pytest.param("1", "call_not_object", id="a number"),
        ],
    )
    def test_an_unusable_call_is_dropped_with_its_place(self, call: str, error: str) -> None:
        result = recover([f"[{A}, {call}, {B}]"], kind="tool_call")
        assert result.text == f"[{A},{B}]"
        assert result.errors == (f"{error} index=1",)
        assert result.metadata["calls_dropped"] == 1

    def test_the_record_stays_small_when_many_calls_are_unusable(self) -> None:
        result = recover(["[" + "0," * 1_000], kind="tool_call")
        assert result.metadata["calls_dropped"] == 1_000
        assert len(result.errors) == 17
        assert result.errors[-1] == "more_calls_dropped count=984"

    def test_a_long_key_before_many_elements_is_not_compared_in_full(self) -> None:
        result = recover([f'{{"{"k" * 100_000}":[{"1," * 100_000}'], kind="tool_call")
        assert (result.text, result.metadata["calls_dropped"]) == ("[]", 1)

    @pytest.mark.parametrize(
        ("text", "valid", "complete"),
        [(A, True, True), (A[:-1], False, False), (A + B, False, True)],
        ids=["one call", "half a call", "two calls in a row are no document"],
    )
    def test_raw_text_is_left_alone_but_its_value_is_whole_calls(self, text: str, valid: bool, complete: bool) -> None:
        result = recover([text], kind="tool_call", policy="raw_partial")
        assert (result.text, result.valid, result.complete) == (text, valid, complete)
        assert result.value == recover([text], kind="tool_call").value

    @given(
        calls=st.lists(CALL, max_size=4),
        layout=st.sampled_from(["array", "lines", "wrapped"]),
        policy=st.sampled_from(PARSING),
        share=st.floats(0, 1),
    )
    def test_every_call_given_back_is_one_of_the_calls_made_in_order(
        self, calls: list[Any], layout: str, policy: RecoveryPolicy, share: float
    ) -> None:
        texts = [json.dumps(call) for call in calls]
        document = {
            "array": f"[{', '.join(texts)}]",
            "lines": "\n".join(texts),
            "wrapped": f'{{"tool_calls": [{", ".join(texts)}]}}',
        }[layout]
        result = recover([prefix_of(document, share)], kind="tool_call", policy=policy)
        assert result.value == json.loads(result.text) == calls[: len(result.value)]
        assert recover([document], kind="tool_call").value == calls

    @given(text=ANYTHING, policy=st.sampled_from(PARSING))
    def test_anything_at_all_gives_a_list(self, text: str, policy: RecoveryPolicy) -> None:
        assert isinstance(json.loads(recover([text], kind="tool_call", policy=policy).text), list)


class TestReasoning:
    @pytest.mark.parametrize(
        ("text", "steps", "kept"),
        [
            pytest.param("Step 1: a\nStep 2: b\nStep 3: c", ["Step 1: a", "Step 2: b"], 20, id="Step n:"),
            pytest.param("1. a\n2. b\n3. c", ["1. a", "2. b"], 10, id="n."),
            pytest.param("1) a\n2) b", ["1) a"], 5, id="n)"),
            pytest.param("- a\n- b", ["- a"], 4, id="dashes"),
            pytest.param("* a\n* b", ["* a"], 4, id="stars"),
            pytest.param("**Step 1**\na\n**Step 2**\nb", ["**Step 1**\na"], 13, id="bold steps"),
            pytest.param("### Step 1\na\n### Step 2\nb", ["### Step 1\na"], 13, id="headings"),
            pytest.param("**1.** a\n**2.** b", ["**1.** a"], 9, id="bold numbers"),
            pytest.param("step 1 - a\r\nSTEP 2 - b", ["step 1 - a"], 12, id="a dash, capitals and CRLF"),
            pytest.param("Well.\n1. a\n2. b", ["1. a"], 11, id="a preamble is kept"),
            pytest.param("Well.\n1. a", [], 6, id="a preamble and a cut step"),
            pytest.param("1. a\n   - x\n2. b", ["1. a\n   - x"], 12, id="indented bullets belong to their step"),
            pytest.param("1. a\n- x\n2. b", ["1. a\n- x"], 9, id="bullets belong to a number"),
            pytest.param("Step 1: a\n1. x\n2. y\nStep 2: b", ["Step 1: a\n1. x\n2. y"], 20, id="numbers in a step"),
            pytest.param("- a\nStep 1: b\n- c\nStep 2: d", ["- a", "Step 1: b\n- c"], 18, id="steps after bullets"),
            pytest.param("1. a\n3.14 is pi\n2. b", ["1. a\n3.14 is pi"], 16, id="a decimal is no step"),
            pytest.param("1. a\n2.", [], 0, id="a number that may become a decimal"),
            pytest.param("1. a\nStep 2 of the plan\n2. b", ["1. a\nStep 2 of the plan"], 24, id="a line about a step"),
            pytest.param("1. a\n**bold**\n2. b", ["1. a\n**bold**"], 14, id="bold text is no bullet"),
            pytest.param("1. see 2. there", [], 0, id="a number inside a line"),
            pytest.param("a\n\nb\n \nc", ["a", "b"], 7, id="paragraphs"),
            pytest.param("a\nb\n\n", [], 0, id="a paragraph break without what follows"),
            pytest.param("a b", [], 0, id="one paragraph"),
            pytest.param("", [], 0, id="nothing"),
        ],
    )
    def test_a_step_is_whole_when_the_next_has_begun(self, text: str, steps: list[str], kept: int) -> None:
        result = recover([text], kind="reasoning")
        assert result.value == tuple(steps)
        assert result.text == text[:kept]
        assert (result.valid, result.complete) == (bool(steps), False)
        assert recover([text], kind="reasoning", policy="closed").text == text[:kept]
        assert recover([text], kind="reasoning", policy="raw_partial").text == text
        assert recover([text], kind="reasoning", policy="redacted", placeholder="#").text == (
            text[:kept] + "#" if text else ""
        )

    @pytest.mark.parametrize("policy", get_args(RecoveryPolicy))
    @pytest.mark.parametrize(
        ("text", "steps"),
        [
            pytest.param("Well.\n1. a\n2. b\n", ("1. a", "2. b"), id="steps"),
            pytest.param("1. a\n2.", ("1. a", "2."), id="a bare number at the end"),
            pytest.param("a\n\nb", ("a", "b"), id="paragraphs"),
        ],
    )
    def test_when_the_model_stopped_by_itself_every_step_is_whole(
        self, policy: RecoveryPolicy, text: str, steps: tuple[str, ...]
    ) -> None:
        result = recover([text], kind="reasoning", policy=policy, halted=False)
        assert (result.text, result.value, result.valid, result.complete) == (text, steps, True, True)

    def test_the_result_counts_steps_and_characters(self) -> None:
        result = recover(["Step 1: a\nStep 2: b"], kind="reasoning")
        assert result.metadata == {"steps_complete": 1, "steps_dropped": 1, "depth": 0, "characters_dropped": 9}

    @pytest.mark.parametrize("text", ["", " \n\n "], ids=["empty", "blank"])
    def test_without_text_there_is_no_step(self, text: str) -> None:
        result = recover([text], kind="reasoning", halted=False)
        assert (result.value, result.valid, result.complete, result.errors) == ((), False, False, ("no_step",))

    @given(text=STEPS, share=st.floats(0, 1), placeholder=st.sampled_from(["#", "[redacted]"]))
    def test_what_is_kept_is_a_prefix_that_grows_with_the_stream(
        self, text: str, share: float, placeholder: str
    ) -> None:
        shorter = recover([prefix_of(text, share)], kind="reasoning").text
        longer = recover([text], kind="reasoning").text
        assert text.startswith(longer)
        assert longer.startswith(shorter)
        redacted = recover([text], kind="reasoning", policy="redacted", placeholder=placeholder).text
        assert redacted in {longer, longer + placeholder}

    @given(bodies=st.lists(st.text(alphabet="ab .\n"), min_size=1), share=st.floats(0, 1))
    def test_more_text_never_loses_a_step(self, bodies: list[str], share: float) -> None:
        text = "".join(f"Step {number}: {body}\n" for number, body in enumerate(bodies, 1))
        shorter = recover([prefix_of(text, share)], kind="reasoning").value
        longer = recover([text], kind="reasoning").value
        assert longer[: len(shorter)] == shorter

    @pytest.mark.parametrize(
        "unit",
        ["\n", " ", "- ", "- \n", "step ", "Step 1\n", "#", "**", "1", "1.\n", "\n \n", "a\n\n", "\r"],
        ids=repr,
    )
    def test_a_hundred_thousand_repetitions_are_read(self, unit: str) -> None:
        text = unit * 100_000
        assert text.startswith(recover([text], kind="reasoning").text)


class TestEveryKind:
    @given(
        text=ANYTHING,
        borders=st.lists(st.integers(0, 60)),
        kind=KINDS,
        policy=POLICIES,
        halted=st.booleans(),
    )
    def test_how_the_text_was_cut_into_tokens_changes_nothing(
        self, text: str, borders: list[int], kind: RecoveryKind, policy: RecoveryPolicy, halted: bool
    ) -> None:
        marks = [0, *sorted(min(border, len(text)) for border in borders), len(text)]
        pieces = [text[start:end] for start, end in pairwise(marks)]
        whole = recover([text], kind=kind, policy=policy, halted=halted)
        assert recover(pieces, kind=kind, policy=policy, halted=halted) == whole
        assert recover(text, kind=kind, policy=policy, halted=halted) == whole

    @given(text=ANYTHING, kind=KINDS, policy=POLICIES, halted=st.booleans())
    def test_asking_twice_gives_the_same(
        self, text: str, kind: RecoveryKind, policy: RecoveryPolicy, halted: bool
    ) -> None:
        recovery = StructuredRecovery(StructuredRecoveryConfig(kind=kind, policy=policy))
        recovery.feed(text)
        assert recovery.result(halted=halted) == recovery.result(halted=halted)
        assert recovery.result(halted=halted).halt_offset == len(text)

    @pytest.mark.parametrize("kind", get_args(RecoveryKind))
    @pytest.mark.parametrize("policy", get_args(RecoveryPolicy))
    @pytest.mark.parametrize("halted", [True, False], ids=["halted", "ended"])
    @pytest.mark.parametrize(
        "text",
        [
            pytest.param('{"KANARI": "KANARI", "x": ["KANARI", "KANA', id="in keys and values"),
            pytest.param('KANARI {"name": "KANARI", "arguments": {"KANARI": 1}} KANARI', id="in a call and around it"),
            pytest.param('[{"KANARI": KANARI', id="in a mistake"),
            pytest.param('["KANARI\\KANARI', id="in a bad escape"),
            pytest.param('[{"name": "", "KANARI": 1, "KANARI": 2}, {"arguments": "KANARI"}]', id="in bad calls"),
            pytest.param("KANARI\nStep 1: KANARI\nStep 2: KANARI", id="in steps"),
            pytest.param("KANARI\n\nKANARI", id="in paragraphs"),
        ],
    )
    def test_no_text_in_records_and_reprs(
        self, kind: RecoveryKind, policy: RecoveryPolicy, halted: bool, text: str
    ) -> None:
        result = recover([text], kind=kind, policy=policy, halted=halted)
        record = json.dumps(result.to_dict(), allow_nan=False)
        assert "KANA" not in record
        assert "KANA" not in repr(result)

    @given(text=ANYTHING, kind=KINDS, policy=POLICIES, halted=st.booleans())
    def test_a_record_holds_only_known_words_and_figures(
        self, text: str, kind: RecoveryKind, policy: RecoveryPolicy, halted: bool
    ) -> None:
        record = recover([text], kind=kind, policy=policy, halted=halted).to_dict()
        assert set(record) == {
            "kind", "policy", "valid", "complete", "halted", "halt_offset", "errors", "metadata",
        }  # fmt: skip
        assert all(type(figure) is int and figure >= 0 for figure in record["metadata"].values())
        for error in record["errors"]:
            word, *figures = error.split(" ")
            assert word.replace("_", "").isalpha()
            assert all(figure.split("=")[1].isdigit() for figure in figures)

    @pytest.mark.parametrize("kind", get_args(RecoveryKind))
    def test_streams_do_not_see_each_other(self, kind: RecoveryKind) -> None:
        config = StructuredRecoveryConfig(kind=kind)
        one, other = StructuredRecovery(config), StructuredRecovery(config)
        one.feed('[{"a": 1}, "b')
        assert other.result(halted=True) == recover([], kind=kind)
