"""The string values of JSON are texts of their own, placed exactly; what is no JSON is prose, and nothing is lost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counting import count_calls
from director_ai.core.clause_source import ClauseSource, PlacedClause
from director_ai.core.json_clauses import JsonClauses, key_in_words, reads_as_prose
from director_ai.core.json_lexer import MOST_DOUBT, MOST_KEY
from director_ai.core.segment import MAX_CLAUSE, split_clauses
from director_ai.errors import ConfigError

LONG = "The warranty lasts two years. It covers parts, but it does not cover labor. Ask us for more!"


@dataclass
class Reading:
    """What one stream gave."""

    clauses: list[PlacedClause]
    settled: int
    held: str

    @property
    def texts(self) -> list[str]:
        return [clause.text for clause in self.clauses]

    @property
    def labelled(self) -> list[tuple[str, str]]:
        return [(clause.label, clause.text) for clause in self.clauses]


def read(pieces: str | Iterable[str], *, finish: bool = True) -> Reading:
    source: ClauseSource = JsonClauses()
    pieces = [pieces] if isinstance(pieces, str) else pieces
    clauses = [clause for piece in pieces for clause in source.feed(piece)]
    if finish:
        clauses += source.finish()
    return Reading(clauses, source.settled, source.held)


def partition(text: str, chance: random.Random) -> list[str]:
    cuts = sorted(chance.choices(range(len(text) + 1), k=chance.randint(0, 1 + len(text) // 2)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def strings_in(value: Any) -> list[str]:
    """The string values of a JSON value, in the order in which they are written."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [string for each in inner for string in strings_in(each)]


def replace_string(value: Any, number: int, new: str) -> Any:
    """A JSON value with its n-th string value replaced."""
    count = -1

    def copy(value: Any) -> Any:
        nonlocal count
        if isinstance(value, str):
            count += 1
            return new if count == number else value
        if isinstance(value, dict):
            return {key: copy(each) for key, each in value.items()}
        return [copy(each) for each in value] if isinstance(value, list) else value

    return copy(value)


CASES = {
    "nothing": "",
    "white space": " \r\n\t ",
    "an empty object": "{}",
    "empty brackets in brackets": '[[], {}, [{}], ""]',
    "a bare string": '"Entry is free for all of us. Come in."',
    "a bare number": "-12.5e+3",
    "a bare word": "null",
    "a short value": '{"refund_window": "30 days"}',
    "a long value": json.dumps({"answer": LONG}),
    "two values": json.dumps({"a": LONG, "b": ["x", LONG]}, indent=2),
    "values of every kind": '{"a": [1, -2.5, 3e8, true, false, null, "yes"], "b": {"c": "It is so. It was."}}',
    "simple escapes": r'{"a": "Say \"yes\"\nor \\ no \/ at all.\tIt \b\f\r ends."}',
    "code escapes": r'{"a": "Le caf\u00e9 est l\u00e0. Il co\u00FBte 3 \u20ac."}',
    "a pair of escapes": r'"All good here now. \ud83d\ude00\uD83D\uDE00 See you."',
    "a lone high escape": r'"All good here now. \ud83d See you. \ud83d"',
    "a lone low escape": r'"All good \ude00 here now. See you."',
    "a high escape before another": r'"a \ud83d\n \ud83d\u0041 \ud83d\ud83d\ude00 \ud83d\x \ud83d\\"',
    "escapes that json does not know": r'"a \x \u12G4 \u12 \u \' b. c \ d"',
    "a pair that is not escaped": '"All good here now. 😀 See you."',
    "control characters": '"One two three four.\n\nFive\tsix\x00seven."',
    "an escaped key": r'{"refund\u0057indow\n": "30", "\ud83d\ude00": "x"}',
    "lines of json": '{"a": "One two three four."}\n{"a": "yes"}\n\n12\n"z"\n',
    "json side by side": '{"a": "x"}{"b": "y"}["z"]',
    "cut in a string": '{"a": "The museum is open. Entry is',
    "cut in an escape": '{"a": "The museum is open. Entry \\u00',
    "cut in a pair": '{"a": "The museum is open. Entry \\ud83d\\ud',
    "cut after a backslash": '{"a": "yes\\',
    "cut in a blank string": '{"a": "  ',
    "cut in an empty string": '{"a": "',
    "cut in a key": '{"a',
    "cut in a number": '{"a": -12.',
    "cut in a literal": "[tru",
    "prose alone": "The museum is open. Entry is free.",
    "prose that begins with a figure": "30 days is the limit. Not more.",
    "prose that begins with figures": "12 000 euros is the price.",
    "prose that begins like a literal": "not one of them. true to form.",
    "prose after a value": '{"a": "x"} That is it. Good bye.',
    "prose in brackets": '{"a": 30 days, "b": "It is so. It was."}',
    "a key without quotes": '{answer: "It is so. It was."}',
    "a comma too many": '["One two three four.", ] And more.',
    "a wrong bracket": '{"a": "x"] The end.',
    "a number that is none": "[01, 2]",
    "a key without a value": '{"a" "b"}',
    "single quotes": "{'a': 'It is so.'}",
    "a fence": '```json\n{"a": "It is so. It was."}\n```',
    "a fence of tildes": ' \n~~~ JSON \r\n["It is so. It was."]\r\n~~~ \r\n',
    "a fence and prose after it": '```\n{"a": "x"}\n```\nThat is it. Good bye.',
    "a fence around a figure": "````json\n30\n````",
    "a fence that is not closed": '```json\n{"a": "It is so.',
    "a fence that closes with prose": '```json\n{"a": "x"}\n``` That is it.',
    "a fence closed by too few marks": "````json\n30 \n```\n````",
    "a fence of another language": '```python\n{"a": "It is so."}\n```',
    "a fence cut in its first line": "```jso",
    "two marks": '``\n{"a": "It is so."}',
    "marks without end": "`" * (MOST_DOUBT + 9),
    "a line of a fence without end": "```" + " " * (MOST_DOUBT + 9) + "json\n{}",
    "two fences": '```json\n["x"]\n```\n\n```json\n["y"]\n```',
    "chinese": '{"答": "雨です。傘を持って！", "短": "晴れ"}',
    "a long run of hex": json.dumps({"data": "0123456789abcdef" * 300}),
    "prose after a long run": json.dumps({"data": "x" * (MAX_CLAUSE - 4) + " a b c d. 雨です。 It ends."}),
    "prose just before a run is too long": json.dumps({"data": "x" * (MAX_CLAUSE - 6) + " a b c d. It ends."}),
    "a stop after a long run": json.dumps({"data": "x" * MAX_CLAUSE + "。 x"}),
    "only spaces, many": json.dumps([" " * 3 * MAX_CLAUSE, "x"]),
    "a number longer than any": "[" + "1" * (MOST_DOUBT + 1) + "]",
    "a figure before much space": "3" + " " * (MOST_DOUBT + 1) + "items.",
}
cases = pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())


class TestValues:
    def test_each_string_value_is_a_text_of_its_own(self) -> None:
        assert read('{"a": "It is open. Come", "b": ["in. We wait here."]}').texts == [
            "It is open. ",
            "Come",
            "in. ",
            "We wait here.",
        ]

    def test_keys_numbers_and_literals_give_no_clause(self) -> None:
        text = '{"The moon is made of cheese.": [1, -2.5e3, true, false, null, {}, []]}'
        assert read(text) == Reading([], len(text), "")

    def test_long_values_are_cut_as_prose_is(self) -> None:
        assert read(json.dumps([LONG])).texts == split_clauses(LONG)
        assert len(split_clauses(LONG)) == 4

    def test_a_clause_of_an_open_string_is_given_at_once(self) -> None:
        reading = read('{"answer": "The museum is open. Entry', finish=False)
        assert reading.texts == ["The museum is open. "]
        assert (reading.settled, reading.held) == (32, "Entry")

    @pytest.mark.parametrize("value", ["", " ", "\n\t ", "\u3000", " " * 9_000])
    def test_blank_strings_give_no_clause(self, value: str) -> None:
        text = json.dumps({"a": value})
        assert read(text) == Reading([], len(text), "")

    def test_a_cut_stream_gives_what_the_open_string_holds(self) -> None:
        assert read('{"a": "The museum is op').texts == ["The museum is op"]
        assert read('{"a": "x\\').texts == ["x\\"]
        assert read(r'{"a": "x\ud83d\u12').texts == ["x\ufffd\\u12"]

    def test_headings_and_items_inside_a_string_keep_their_kind(self) -> None:
        reading = read(json.dumps(["# Terms of use\n\n- It is free for you.\n- It is late."]))
        assert [clause.kind for clause in reading.clauses] == ["heading", "item", "item"]


class TestLabels:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            pytest.param('{"refundWindow": "30 days"}', [("refund window", "30 days")], id="a member"),
            pytest.param('{"opening_days": ["Mon", "Tue"]}', [("opening days", "Mon"), ("opening days", "Tue")], id="array"),
            pytest.param('{"a": [["x"], {"b": "y"}, "z"]}', [("a", "x"), ("b", "y"), ("a", "z")], id="arrays in arrays"),
            pytest.param('{"a": {"b": {"c": "x"}, "d": "y"}, "e": "z"}', [("c", "x"), ("d", "y"), ("e", "z")], id="nested"),
            pytest.param('[{"a": "x"}, "y"]', [("a", "x"), ("", "y")], id="an array without a key"),
            pytest.param('"x"', [("", "x")], id="a bare string"),
            pytest.param('{"a": "x"} "y"', [("a", "x"), ("", "y")], id="the next text knows nothing of the last"),
            pytest.param('{"a": "one two three"}', [("a", "one two three")], id="three words"),
            pytest.param('{"a": "one two three four"}', [("", "one two three four")], id="four words"),
            pytest.param('{"a": "It ends."}', [("", "It ends.")], id="a sentence of two words"),
            pytest.param('{"a": "(It ends!)"}', [("", "(It ends!)")], id="a sentence in brackets"),
            pytest.param('{"a": "晴れです。"}', [("", "晴れです。")], id="a sentence without spaces"),
            pytest.param('{"a": "Acme Inc."}', [("a", "Acme Inc.")], id="an abbreviation ends no sentence"),
            pytest.param('{"a": "Mr. Fox"}', [("a", "Mr. Fox")], id="a title ends no sentence"),
            pytest.param('{"a": "# x\\n\\ny;"}', [("a", "# x\n\ny;")], id="a short value is one clause whatever it holds"),
            pytest.param('{"a": " x "}', [("a", " x ")], id="its spaces are kept"),
        ],
    )  # fmt: skip
    def test_a_value_that_is_no_prose_is_one_clause_under_its_nearest_key(
        self, text: str, expected: list[tuple[str, str]]
    ) -> None:
        reading = read(text)
        assert reading.labelled == expected
        assert {clause.kind for clause in reading.clauses} == {"prose"}

    @pytest.mark.parametrize(
        "value",
        [
            "https://example.org/a.b?c=d",
            "a.b@example.co.uk",
            "123e4567-e89b-12d3-a456-426614174000",
            "12.50",
            "0xdeadbeef",
            "aGVsbG8gd29ybGQ=",
            "2024-05-01T10:30:00Z",
            "IN_PROGRESS",
            "not_found",
        ],
    )
    def test_what_only_machines_read_still_comes_as_a_clause(self, value: str) -> None:
        assert read(json.dumps({"the_key": value})).labelled == [("the key", value)]

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            ("refundWindow", "refund window"),
            ("refund_window", "refund window"),
            ("refund-window", "refund window"),
            ("RefundWindow", "refund window"),
            ("REFUND_WINDOW", "refund window"),
            ("Refund  Window (days)", "Refund Window (days)"),
            ("customerID", "customer ID"),
            ("HTTPStatus", "HTTP status"),
            ("address2Line", "address2 line"),
            ("user.name", "user name"),
            ("prixUnité", "prix unité"),
            ("__type", "type"),
            ("答え", "答え"),
            ("-", ""),
            ("", ""),
        ],
    )
    def test_keys_are_read_as_words(self, key: str, words: str) -> None:
        assert key_in_words(key) == words

    def test_of_an_endless_key_only_the_beginning_is_kept(self) -> None:
        text = '{"' + "k" * 10_000 + '": "x"}'
        assert read(text).labelled == read(list(text)).labelled == [("k" * MOST_KEY, "x")]

    def test_a_run_too_long_for_one_clause_is_cut_and_keeps_its_label(self) -> None:
        value = "0123456789abcdef" * 300
        reading = read(json.dumps({"raw_data": value}))
        assert "".join(reading.texts) == value
        assert [len(text) for text in reading.texts] == [MAX_CLAUSE, MAX_CLAUSE, len(value) - 2 * MAX_CLAUSE]
        assert {clause.label for clause in reading.clauses} == {"raw data"}

    def test_prose_after_such_a_run_has_no_label(self) -> None:
        reading = read(json.dumps({"a": "x" * 2 * MAX_CLAUSE + " ends. The museum is open now."}))
        assert reading.labelled[-1] == ("", "The museum is open now.")

    @given(st.text(alphabet="ab .。!\n\u3000"), st.text(alphabet="ab .。!\n\u3000"))
    def test_text_once_prose_stays_prose(self, text: str, more: str) -> None:
        if reads_as_prose(text, ended=False):
            assert reads_as_prose(text + more, ended=False)


class TestPlaces:
    def test_every_character_is_placed_where_its_escape_begins(self) -> None:
        text = r'{"k": "a\n\u00e9\ud83d\ude00b\"c"}'
        (clause,) = read(text).clauses
        places = (7, 8, 10, 16, 28, 29, 31, 32)
        assert clause == PlacedClause(text='a\né😀b"c', start=7, end=32, label="k", places=places, escaped=True)
        assert text[clause.end] == '"'

    def test_places_that_follow_one_by_one_are_not_listed(self) -> None:
        reading = read(r'{"k": "It is so here. It was \"so\" there. It is so here."}')
        assert [clause.places is None for clause in reading.clauses] == [True, False, True]

    def test_a_clause_ends_where_the_next_begins(self) -> None:
        first, second = read(r'["It was \u0022so\u0022\u002E\u0020It is over now."]').clauses
        assert first.end == second.start == first.place(len(first.text))
        assert second.text == "It is over now."

    @pytest.mark.parametrize(
        ("raw", "value"),
        [
            (r"\x", "\\x"),
            (r"\u12G4", "\\u12G4"),
            (r"\u12", "\\u12"),
            (r"\u\n", "\\u\n"),
            (r"\ud83d", "\ufffd"),
            (r"\ude00", "\ufffd"),
            (r"\ud83dx", "\ufffdx"),
            (r"\ud83d\u0041", "\ufffdA"),
            (r"\ud83d\ud83d\ude00", "\ufffd😀"),
            (r"\ude00\ud83d", "\ufffd\ufffd"),
            (r"\ud83d\x", "\ufffd\\x"),
            (r"\ud83d\\", "\ufffd\\"),
            (r"\uD83D\uDE00", "😀"),
            ("a\nb\x00\x1f", "a\nb\x00\x1f"),
            ("\ud83d", "\ud83d"),
        ],
        ids=ascii,
    )
    def test_what_json_does_not_know_stands_for_itself_and_half_a_pair_for_a_mark(self, raw: str, value: str) -> None:
        text = f'["{raw}|"]'
        whole, single = read(text), read(list(text))
        assert whole == single
        assert whole.texts == [value + "|"]
        assert whole.clauses[0].place(len(value)) == 2 + len(raw)


class TestSettled:
    @pytest.mark.parametrize(
        ("text", "settled", "held"),
        [
            pytest.param("", 0, "", id="nothing"),
            pytest.param(' {"a', 4, "", id="in a key"),
            pytest.param('{"a\\u00', 7, "", id="in an escape of a key"),
            pytest.param('{"a": [null, ', 13, "", id="before a value"),
            pytest.param('{"a": "', 7, "", id="at an opening quote"),
            pytest.param('{"a": "one two', 7, "one two", id="in a short string"),
            pytest.param('{"a": "one \\ud83d', 7, "one ", id="in half a pair"),
            pytest.param('{"a": "one two"', 15, "", id="at a closing quote"),
            pytest.param('{"a": "one two", "b"', 20, "", id="after a key"),
            pytest.param('{"a": "It is so here. And', 22, "And", id="in the second clause"),
            pytest.param('{"a": "It\\u0020is so here.\\u0020And', 32, "And", id="in the second clause, with escapes"),
            pytest.param('{"a": 30', 6, "", id="a figure waits for the sign after it"),
            pytest.param('{"a": 30 ', 6, "", id="and white space with it"),
            pytest.param('{"a": 30 ,', 10, "", id="that settles it"),
            pytest.param('{"a": 30 d', 6, "30 d", id="or makes it prose"),
            pytest.param("No, it is", 0, "No, it is", id="prose"),
        ],
    )
    def test_all_is_settled_but_the_open_clause(self, text: str, settled: int, held: str) -> None:
        for reading in read(text, finish=False), read(list(text), finish=False):
            assert (reading.settled, reading.held) == (settled, held)

    @cases
    def test_at_the_end_all_is_settled(self, text: str) -> None:
        reading = read(text)
        assert (reading.settled, reading.held) == (len(text), "")

    @cases
    def test_it_never_goes_back_and_never_passes_an_open_clause(self, text: str) -> None:
        source = JsonClauses()
        settled, given_up_to = 0, 0
        for char in text:
            clauses = source.feed(char)
            assert all(clause.start >= settled for clause in clauses)
            given_up_to = clauses[-1].end if clauses else given_up_to
            assert source.settled >= max(settled, given_up_to)
            settled = source.settled
        assert all(clause.start >= settled for clause in source.finish())


class TestFence:
    @pytest.mark.parametrize("marks", ["```", "~~~", "`````"])
    @pytest.mark.parametrize("language", ["", "json", "JSON", " json "])
    def test_a_fence_around_json_is_structure(self, marks: str, language: str) -> None:
        text = f'{marks}{language}\n{{"answer": "It is open. Come in."}}\n{marks}\n'
        reading = read(text)
        assert reading.texts == ["It is open. ", "Come in."]
        assert all(clause.escaped for clause in reading.clauses)
        assert reading.settled == len(text)

    @pytest.mark.parametrize(
        ("text", "texts"),
        [
            pytest.param('```json\n["x"]\n```\nBye now.', ["x", "Bye now."], id="prose after it"),
            pytest.param('```json\n["x"]\n``` Bye now.', ["x", "``` Bye now."], id="prose right behind it"),
            pytest.param("```json\nBye now.", ["Bye now."], id="prose in it"),
            pytest.param("```json\n30\n``x", ["30\n", "``x"], id="no closing, with the figure before it"),
            pytest.param("````\n{}\n```", ["```"], id="closed by too few"),
            pytest.param("```\n{}\n~~~", ["~~~"], id="closed by other marks"),
            pytest.param("{}\n```", ["```"], id="closed without an opening"),
            pytest.param('```python\n["x"]\n```', ['```python\n["x"]\n```'], id="another language"),
            pytest.param("```jso", ["```jso"], id="cut"),
            pytest.param("[```]", ["```]"], id="in brackets"),
        ],
    )
    def test_what_is_no_fence_around_json_is_prose(self, text: str, texts: list[str]) -> None:
        assert read(text).texts == texts
        assert read(list(text)) == read(text)

    def test_a_closing_fence_waits_for_the_end_of_its_line(self) -> None:
        text = '```json\n["x"]\n```'
        assert read(text, finish=False).settled == len(text) - 3
        assert read(text + "\n", finish=False).settled == len(text) + 1

    @given(st.text(alphabet="`~json\r\n 3[]x", max_size=40), st.randoms(use_true_random=False))
    def test_chunks_do_not_matter(self, text: str, chance: random.Random) -> None:
        assert read(partition(text, chance)) == read(list(text)) == read(text)
        assert read(text).settled == len(text)


class TestProse:
    @pytest.mark.parametrize(
        ("text", "texts"),
        [
            pytest.param("It is open. Come in.", ["It is open. ", "Come in."], id="from the start"),
            pytest.param('{"a": "x"} It is open. Go.', ["x", "It is open. ", "Go."], id="after a value"),
            pytest.param("[1, 2 It is.", ["2 It is."], id="with the figure before it"),
            pytest.param("90 days is fine.", ["90 days is fine."], id="a figure that opens a sentence"),
            pytest.param("12 000 is fine.", ["12 000 is fine."], id="figures that open a sentence"),
            pytest.param("true love is.", ["true love is."], id="a literal that opens a sentence"),
            pytest.param("not so.", ["not so."], id="a word that begins like a literal"),
            pytest.param('12"', ['12"'], id="a quote right after a figure"),
            pytest.param("- x", ["- x"], id="a minus alone"),
            pytest.param("[1,]", ["]"], id="a comma before a closing bracket"),
            pytest.param('{"a": 1,}', ["1", "}"], id="a comma before a closing brace"),
            pytest.param('{"a" = 1}', ["= 1}"], id="no colon"),
            pytest.param("{a: 1}", ["a: 1}"], id="no quotes"),
            pytest.param("[1}", ["1}"], id="a wrong bracket"),
            pytest.param("}", ["}"], id="a bracket that was never opened"),
            pytest.param("[+1]", ["+1]"], id="a plus"),
            pytest.param("[01]", ["01]"], id="a zero first"),
            pytest.param("[1.]", ["1.]"], id="a point last"),
            pytest.param("[Nan]", ["Nan]"], id="not even not a number"),
            pytest.param(
                '\ufeff{"a": NaN, "b": [-Infinity]} So it is.', ["So it is."], id="behind what some readers read"
            ),
            pytest.param('{"a":\u200b"It is."} So.', ["It is.", "So."], id="behind what nobody sees"),
            pytest.param('true{"a": "It is."} So.', ["It is.", "So."], id="behind a value that follows at once"),
            pytest.param("[" + "1" * 500 + ' "It is."', ['"It is."'], id="behind a long number"),
            pytest.param("1" * 500 + "e5x It is.", ["x It is."], id="in a long number"),
            pytest.param("30.", ["30."], id="a figure and a stop"),
            pytest.param("\u00a0{}", ["\u00a0{}"], id="a space that json does not know"),
        ],
    )
    def test_from_the_first_mistake_on_all_is_prose(self, text: str, texts: list[str]) -> None:
        reading = read(text)
        assert reading.texts == texts
        prose = reading.clauses[-1]
        assert (prose.escaped, prose.places, prose.end) == (False, None, len(text))
        assert text[prose.start : prose.end] == prose.text

    def test_a_figure_far_from_the_mistake_is_not_prose(self) -> None:
        assert read("3" + " " * (MOST_DOUBT + 1) + "items.").texts == ["items."]

    def test_what_looks_like_json_after_a_mistake_is_prose_too(self) -> None:
        text = 'oops {"a": "It is so."}'
        assert "".join(read(text).texts) == text

    @given(st.text(alphabet='{}[]",:\\ud83e0-1.tfnrulsa \nN'))
    def test_nothing_is_lost_whatever_comes(self, text: str) -> None:
        """What is in no clause can be read as JSON that has no string value."""
        reading = read(text)
        assert reading.settled == len(text)
        prose = [clause for clause in reading.clauses if not clause.escaped]
        if prose:
            assert text[prose[0].start :] == "".join(clause.text for clause in prose)
        for clause in reading.clauses:
            if not clause.escaped:
                continue
            for at, char in enumerate(clause.text):
                raw = text[clause.place(at) : clause.place(at + 1)]
                assert raw == char or raw.startswith("\\")


class TestChunks:
    @cases
    def test_every_cut_in_two_gives_the_same(self, text: str) -> None:
        whole = read(text)
        step = max(1, len(text) // 400)
        for at in range(0, len(text) + 1, step):
            assert read([text[:at], text[at:]]) == whole

    @cases
    def test_every_beginning_is_in_the_same_state_however_it_came(self, text: str) -> None:
        source = JsonClauses()
        clauses: list[PlacedClause] = []
        step = max(1, len(text) // 200)
        for at, char in enumerate(text, start=1):
            clauses += source.feed(char)
            if at % step == 0:
                assert read(text[:at], finish=False) == Reading(clauses, source.settled, source.held)

    def test_any_partition_gives_the_same(self) -> None:
        chance = random.Random(7)
        words = [
            "It is so. ",
            "not ",
            "café ",
            "😀",
            "\n\n",
            "30 days",
            '"quoted" ',
            "\\",
            "x",
            ". ",
            "it ended; we left. ",
        ]
        for _ in range(100):
            make: Callable[[], str] = lambda: "".join(chance.choices(words, k=chance.randint(0, 9)))  # noqa: E731
            value = {make(): [make(), 12.5, {make(): make(), "b": None}], make(): make()}
            text = json.dumps(value, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 2]))
            if chance.random() < 0.3:
                text = text.replace(chance.choice('",:'), chance.choice(["\\", "\\u", " x ", "\ud83d"]), 1)
            whole = read(text)
            for _ in range(20):
                assert read(partition(text, chance)) == whole


TEXT = st.text(max_size=12) | st.text(alphabet='ab.\n" \\/é😀\u3000。#-;', max_size=40)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=12,
)
DUMPS = st.builds(
    lambda value, ascii_only, indent: (value, json.dumps(value, ensure_ascii=ascii_only, indent=indent)),
    VALUE,
    st.booleans(),
    st.sampled_from([None, 1]),
)


class TestLaws:
    @settings(max_examples=100)
    @given(DUMPS, st.randoms(use_true_random=False))
    def test_chunks_do_not_matter(self, dump: tuple[Any, str], chance: random.Random) -> None:
        _, text = dump
        whole = read(text)
        assert whole.settled == len(text)
        assert read(partition(text, chance)) == read(list(text)) == whole

    @settings(max_examples=100)
    @given(DUMPS)
    def test_the_clauses_of_a_value_joined_are_the_value(self, dump: tuple[Any, str]) -> None:
        value, text = dump
        clauses = iter(prose_clauses(text))
        for string in strings_in(value):
            joined = ""
            while string.strip() and joined != string:
                joined += next(clauses).text
                assert string.startswith(joined)
        assert next(clauses, None) is None

    @settings(max_examples=100)
    @given(DUMPS, st.data())
    def test_a_part_replaced_in_the_stream_is_replaced_in_the_value(
        self, dump: tuple[Any, str], data: st.DataObject
    ) -> None:
        value, text = dump
        clauses = prose_clauses(text)
        if not clauses:
            return
        clause = data.draw(st.sampled_from(clauses))
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(clause.text))] * 2)))
        new = data.draw(TEXT)
        changed = text[: clause.place(start)] + clause.written(new) + text[clause.place(end) :]

        number, before = place_in_values(strings_in(value), clauses, clause)
        old = strings_in(value)[number]
        expected = old[: before + start] + new + old[before + end :]
        assert json.loads(changed) == replace_string(value, number, expected)


def prose_clauses(text: str) -> list[PlacedClause]:
    """The clauses of string values; numbers are clauses of their own."""
    return [clause for clause in read(text).clauses if not clause.is_scalar]


def place_in_values(strings: list[str], clauses: list[PlacedClause], wanted: PlacedClause) -> tuple[int, int]:
    """Which string value a clause is part of, and how many of its characters come before."""
    queue = iter(clauses)
    for number, string in enumerate(strings):
        length = 0
        while string.strip() and length < len(string):
            clause = next(queue)
            if clause is wanted:
                return number, length
            length += len(clause.text)
    raise AssertionError("the clause is in no value")


WORK: dict[str, Callable[[int], str]] = {
    "one long text": lambda count: json.dumps([LONG * (count // len(LONG))]),
    "one long text of escapes": lambda count: json.dumps(["é。😀" * (count // 24)]),
    "one word": lambda count: json.dumps(["x" * count]),
    "dots": lambda count: json.dumps(["." * count]),
    "blanks": lambda count: json.dumps([" " * count]),
    "backslashes": lambda count: '["' + "\\x" * (count // 2) + '"]',
    "halves of pairs": lambda count: '["' + "\\ud83d" * (count // 6) + '"]',
    "short values": lambda count: json.dumps([{"aKey": "30 days"}] * (count // 21)),
    "runs of dots": lambda count: json.dumps(["." * 999 + "x " + "." * 900 + "x"] * (count // 1_907)),
    "figures": lambda count: json.dumps([3.14] * (count // 6)),
    "figures in lines": lambda count: "31\n" * (count // 3),
    "brackets": lambda count: "[" * count,
    "a key": lambda count: '{"' + "k" * count,
    "fences": lambda count: "```\n{}\n```\n" * (count // 11),
    "marks": lambda count: "`" * count,
    "prose": lambda count: LONG * (count // len(LONG)),
}


class TestSize:
    @pytest.mark.parametrize("make", WORK.values(), ids=WORK.keys())
    def test_twice_the_stream_costs_at_most_2_2_times_the_calls(self, make: Callable[[int], str]) -> None:
        few, many = (count_calls(partial(read, list(make(size)))) for size in (4_000, 8_000))
        assert many / few <= 2.2

    def test_200_kilobytes_in_single_characters_is_read(self) -> None:
        value = {"answers": [{"shortNote": "30 days", "text": LONG, "more": "Ça va très bien.\n" * 3}] * 900}
        text = json.dumps(value, indent=1)
        assert len(text) > 200_000
        single = read(text[at : at + 1] for at in range(len(text)))
        assert "".join(single.texts) == "".join(strings_in(value))
        assert single.settled == len(text)

    @pytest.mark.parametrize(
        "value",
        [("It is so here " * 30 + "now. ") * 24_000, "x" * 10_000_000, ["x" * 100_000, 1.5] * 100],
        ids=["a long text", "a long word", "long values"],
    )
    def test_a_token_of_ten_megabytes_is_read(self, value: Any) -> None:
        text = json.dumps({"a": value})
        reading = read(text)
        assert sum(map(len, reading.texts)) == sum(map(len, strings_in(value)))
        assert reading.settled == len(text)

    def test_depth_does_not_matter(self) -> None:
        deep = 100_000
        text = '{"outerKey": ' + "[" * deep + '"x", {"a": "y"}, "z"' + "]" * deep + ', "b": "w"}'
        assert read(text).labelled == [("outer key", "x"), ("a", "y"), ("outer key", "z"), ("b", "w")]
        objects = '{"k": ' * deep + '"x"' + "}" * deep
        assert read(objects).labelled == [("k", "x")]
        assert read(objects).settled == len(objects)


class TestUse:
    def test_only_text_is_fed(self) -> None:
        with pytest.raises(ConfigError, match="must be a str, got bytes"):
            JsonClauses().feed(b"{}")  # type: ignore[arg-type]

    def test_nothing_is_fed_after_the_end(self) -> None:
        source = JsonClauses()
        assert [clause.text for clause in source.feed('["x')] == []
        assert [clause.text for clause in source.finish()] == ["x"]
        assert source.finish() == []
        with pytest.raises(ConfigError, match="after finish"):
            source.feed('"]')

    def test_two_streams_do_not_meet(self) -> None:
        left, right = JsonClauses(), JsonClauses()
        left.feed('{"a": "one')
        right.feed('["two')
        assert ([each.text for each in left.finish()], [each.text for each in right.finish()]) == (["one"], ["two"])
