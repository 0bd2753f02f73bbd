"""Checks beside JSON: escapes hide nothing from them, their edits leave it JSON, and what is fine keeps its bytes."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.core.checks.json_lens import JsonLens, read_whole
from director_ai.core.merge import Edit
from director_ai.core.streaming_repair import StreamingRepairer
from director_ai.errors import ConfigError
from director_ai.validators import PII, BannedWords, Casing, Disguise, JsonSchema, Links, Predicate, Rule, TextFunction


class Finds:
    """A check that knows nothing of JSON: it puts something in the place of whatever a pattern finds."""

    def __init__(self, pattern: str, new: str = "[GONE]", kind: Any = "remove", frontier: Any = 64) -> None:
        self.name, self.frontier = f"finds {pattern} {kind} {frontier}", frontier
        self._pattern, self._new, self._kind = re.compile(pattern), new, kind

    def find(self, text: str) -> list[Edit]:
        return [
            Edit(found.start(), found.end(), self._new, self._kind, self.name, "found")
            for found in self._pattern.finditer(text)
        ]


def repaired(text: str | list[str], *checks: Any, **options: Any) -> str:
    repairer = StreamingRepairer(lambda clause: 0.9, checks=list(checks), **options)
    if isinstance(text, str):
        return repairer.repair(text, shape="json").repaired_text
    with repairer.stream(text, shape="json") as stream:
        return "".join(piece.text for piece in stream)


EXAMPLES: dict[str, tuple[str, str, list[Any]]] = {
    "an escaped sign": (r'{"to": "ada\u0040b.com"}', '{"to": "[EMAIL]"}', [PII()]),
    "escapes all over": (
        '{"to": "' + "".join(f"\\u{ord(sign):04x}" for sign in "ada@b.com") + '"}',
        '{"to": "[EMAIL]"}',
        [PII()],
    ),
    "a line that begins with an address": (r'{"to": "x\nada@b.com"}', r'{"to": "x\n[EMAIL]"}', [PII()]),
    "an address in quotes": (r'{"to": "\"ada@b.com\""}', r'{"to": "\"[EMAIL]\""}', [PII()]),
    "a number": ('{"card": 4111111111111111, "x": 1}', '{"card": "[CARD]", "x": 1}', [PII()]),
    "a number below zero": ('{"n": [-4111111111111111]}', '{"n": ["[CARD]"]}', [PII()]),
    "a number that nothing ends": ('{"n": 4111111111111111', '{"n": "[CARD]"', [PII()]),
    "a number alone": ("4111111111111111", '"[CARD]"', [PII()]),
    "a number in a sentence": ("4111111111111111 it is", "[CARD] it is", [PII()]),
    "text behind JSON": ('{"a": 1} and ada@b.com "too"', '{"a": 1} and [EMAIL] "too"', [PII()]),
    "a key": ('{"ada@b.com": 1}', '{"[EMAIL]": 1}', [PII()]),
    "through quotes": (
        '{"a": "one two", "b": "three four"}',
        '{"a": "one [GONE]", "": " four"}',
        [Finds("two.*three")],
    ),
    "a whole string": ('{"a": "one"}', '{"a": "[GONE]"}', [Finds('"one"')]),
    "a number and a string": ('[12, "a", true]', '["[GONE]", "", null]', [Finds("2.*tru")]),
    "brackets alone": ('[[1], {"a": 2}]', '[[1], {"a": 2}]', [Finds(r"\], \{")]),
    "a rewrite in a string": (
        r'{"a": "is it \"so\"?"}',
        r'{"a": "it is \"so\"?"}',
        [Finds("is it", "it is", "rewrite")],
    ),
    "a rewrite with quotes": ('{"a": "so"}', r'{"a": "\"so\"\n"}', [Finds("so", '"so"\n', "rewrite")]),
    "a number for a number": ('{"days": 90}', '{"days": 30}', [Finds("90", "30", "rewrite")]),
    "a word for a number": ('{"days": 90}', '{"days": "thirty"}', [Finds("90", "thirty", "rewrite")]),
    "a rewrite that is wider than needed": ('{"a": "so"}', '{"a": "no"}', [Finds('"so"}', '"no"}', "rewrite")]),
    "nothing for a number": ('{"days": 90}', '{"days": null}', [Finds("90", "")]),
    "style": ('{"Key": "Value Ä", "on": true}', '{"Key": "VALUE Ä", "on": true}', [Casing(to="upper")]),
    "a sentence": (
        '{"a": "First. Second gold. Third.", "b": 1}',
        '{"a": "", "b": 1}',  # behind an opening quote nothing is a sentence of its own
        [Rule(check=BannedWords(("gold",)), on_fail="filter")],
    ),
    "a value that is no sentence": (
        '{"a": "gold", "b": "gold ring", "c": "silver"}',
        '{"a": "", "b": "", "c": "silver"}',
        [Rule(check=BannedWords(("gold",)), on_fail="filter")],
    ),
    "all of it": (
        '{"a": "one", "b": [2, "three"]}',
        '{"[REMOVED]": "", "": [null, ""]}',
        [Predicate(lambda text: False, name="no", frontier="text")],
    ),
    "a text that is read whole": (
        r'{"a": "\u006fne"}',
        '{"a": "two"}',
        [TextFunction(lambda text: text.replace("one", "two"), name="two", frontier="text")],
    ),
    "a check that failed": (
        '{"a": "one", "b": [2]}',
        '{"[REDACTED]": "", "": [null]}',
        [Rule(check=Predicate(lambda text: None, name="no"), on_error="redact")],  # type: ignore[arg-type,return-value]
    ),
    "a schema": (
        r'{"a": "\"x\"", "b": "no"}',
        r'{"a": "\"x\"", "b": null}',
        [JsonSchema({"properties": {"a": {"type": "string"}, "b": {"type": ["number", "null"]}}}, nulls=True)],
    ),
    "links": (r'{"a": "see https:\/\/evil.org\/x\u0022"}', r'{"a": "see [LINK]\u0022"}', [Links()]),
    "two that remove one number": ('{"n": 4111111111111111}', '{"n": null}', [PII(), Finds("1111", "")]),
}


@pytest.mark.parametrize(("text", "expected", "checks"), EXAMPLES.values(), ids=EXAMPLES.keys())
def test_edits_leave_json_behind(text: str, expected: str, checks: list[Any]) -> None:
    assert repaired(text, *checks) == expected
    assert repaired(list(text), *checks) == expected


class ReadsJson(Finds):
    reads_json = True


FOUND: dict[str, tuple[str, str, list[Any]]] = {
    "a number that stops behind its point": ('{"card": 4111111111111111.', '{"card": "[CARD]"', [PII()]),
    "a number that ends a sentence": ("4111111111111111.", "[CARD].", [PII()]),
    "from JSON into prose": ("[1](http://evil.org/?q=secret)", '["[LINK]"]', [Finds(r"1\].*", "[LINK]")]),
    "a sentence of both": (
        '{"a": 1} this has gold in it.',
        '{"a": 1} ',
        [Rule(check=BannedWords(("gold",)), on_fail="filter")],
    ),
    "all of both": ('{"a": "one"} forbidden prose', '{"[REMOVED]": ""} ', [Predicate(lambda text: False, name="no")]),
    "a schema of what is none": (
        '{"a": "x"} secret',
        '{"[REDACTED]": ""} ',
        [Rule(check=JsonSchema({}), on_fail="redact")],
    ),
    "behind a long number": (
        '{"x": ' + "1" * 401 + r', "to": "ada\u0040b.com", "n": 4111111111111111}',
        '{"x": ' + "1" * 401 + ', "to": "[EMAIL]", "n": "[CARD]"}',
        [PII()],
    ),
    "behind no number": (r'{"x": NaN, "to": "ada\u0040b.com"}', '{"x": NaN, "to": "[EMAIL]"}', [PII()]),
    "behind a mark": ('\ufeff{"to": "ada\\u0040b.com"}', '\ufeff{"to": "[EMAIL]"}', [PII()]),
    "behind another value": (r'1{"to":"ada\u0040b.com"}', '1{"to":"[EMAIL]"}', [PII()]),
    "a sentence beside a schema": (
        '{"a": "gold", "b": 1}',
        '{"a": "", "b": 1}',
        [JsonSchema({}), Rule(check=BannedWords(("gold",)), on_fail="filter")],
    ),
    "more than a sentence": (
        '{"a": "Hello there.",\n\n "b": "x"}',
        '{"": "",\n\n "": ""}',
        [Rule(check=Predicate(lambda text: False, name="no", frontier="text"), on_fail="filter")],
    ),
    "digits of a number": ('{"n": 123}', '{"n": "0"}', [Finds(r"\d", "0", "rewrite")]),
    "a part of a number": ('{"n": 123}', '{"n": "\\"x\\""}', [Finds("2", '"x"', "rewrite")]),
    "a key": ('{"a": 1}', '{"5": 1}', [Finds('"a"', "5", "rewrite")]),
    "between strings": ('["a", "b"]', '["a", "b"]', [Finds('", "', "null", "rewrite")]),
    "a number beside other checks": ('{"d": 90}', '{"d": 30}', [Finds("90", "30", "rewrite"), PII()]),
    "a text for a number, examined": (
        '{"d": 90}',
        '{"d": "[REDACTED]"}',
        [Finds("90", "thirty\tgold", "rewrite"), BannedWords(("gold",))],
    ),
    "style around a removal": ('{"a": "abcd"}', '{"a": "ab[GONE]d"}', [Finds("abcd", "x\ny", "style"), Finds("c")]),
}
"""What somebody found who tried to break it."""


@pytest.mark.parametrize(("text", "expected", "checks"), FOUND.values(), ids=FOUND.keys())
def test_what_was_found_once_is_not_found_again(text: str, expected: str, checks: list[Any]) -> None:
    assert repaired(text, *checks) == expected
    assert repaired(list(text), *checks) == expected


@pytest.mark.parametrize("size", [1, 50, 10**6])
def test_a_claim_before_thousands_of_numbers_is_corrected(size: int) -> None:
    text = '{"reply": "It is wrong.", "ids": [' + ", ".join(map(str, range(3_000))) + "]}"
    repairer = StreamingRepairer(
        lambda clause: 0.1 if "wrong" in clause else 0.9,
        retrieve_fn=lambda clause: [("kb:1", "It is right.")],
        rewrite_fn=lambda clause, evidence: evidence[0],
        checks=[PII()],
    )
    with repairer.stream([text[at : at + size] for at in range(0, len(text), size)], shape="json") as stream:
        shown = "".join(piece.text for piece in stream)
    assert shown == text.replace("wrong", "right")


def test_a_schema_is_held_to_however_much_there_is() -> None:
    text = '{"bad": "SECRET", "list": [' + ", ".join(map(str, range(5_000))) + "]}"
    schema = Rule(check=JsonSchema({"properties": {"bad": {"type": "number"}}}), on_fail="redact")
    assert repaired(text, PII(), schema) == text.replace("SECRET", "[REDACTED]")


def test_a_disguise_in_the_brackets_hides_no_other() -> None:
    for text in ('\ufeff{"to": "ada\\u200b@b.com"}', '{"to":\u200b"ada\\u200b@b.com"}'):
        assert json.loads(repaired(text, PII(), first=[Disguise()]).lstrip("\ufeff")) == {"to": "[EMAIL]"}


def test_what_resumes_inside_a_number_loses_the_rest_of_it() -> None:
    checks = [Rule(check=Finds("99"), on_fail="reask"), PII()]
    said = repaired('{"n": 4111111199}', *checks, continuation=lambda prefix, failure: ["11111111}"])
    assert json.loads(said)["n"] != 4111111111111111


def test_who_reads_what_is_written_reads_all_of_it() -> None:
    with pytest.raises(ConfigError, match="its frontier is text"):
        Rule(check=ReadsJson("gold"))
    assert repaired(r'{"\u0061": "gold"}', ReadsJson("gold", frontier="text")) == r'{"\u0061": "[GONE]"}'


def test_sentences_that_are_filtered_cost_no_more_than_others() -> None:
    rule = Rule(check=BannedWords(("gold",)), on_fail="filter")
    text = "gold. " * 20_000
    assert StreamingRepairer(lambda clause: 0.9, checks=[rule]).repair(text).repaired_text == ""


def test_what_is_fine_keeps_its_bytes() -> None:
    text = r'{"caf\u00e9": "a\/b \ud83d\ude00 \"q\" \\u0040 caf\u00E9\n", "n": [1.50, -0e+1, true]}'
    assert repaired(text, PII(), Links(), first=[Disguise()]) == text
    found = r"\u0063af\u00e9 jo@b.com \ud83d\ude00\/"
    assert repaired(f'"{found}"', PII()) == f'"{found}"'.replace("jo@b.com", "[EMAIL]")


def test_what_a_rewriter_says_is_examined_without_its_escapes() -> None:
    def rewrite(clause: str, evidence: list[str]) -> str:
        return 'Say "hi" to ada@b.com.'

    repairer = StreamingRepairer(
        lambda clause: 0.1 if "wrong" in clause else 0.9,
        retrieve_fn=lambda clause: [("kb:1", "a fact")],
        rewrite_fn=rewrite,
        checks=[PII()],
    )
    said = repairer.repair('{"a": "This is wrong, all of it."}', shape="json").repaired_text
    assert json.loads(said) == {"a": 'Say "hi" to [EMAIL].'}


def test_a_conversation_numbers_what_numbers_and_escapes_stood_for() -> None:
    class Numbers:
        def __init__(self) -> None:
            self.heard: list[tuple[str, str]] = []

        def label(self, kind: str, text: str) -> str:
            self.heard.append((kind, text))
            return f"[{kind}_{len(self.heard)}]"

    numbers = Numbers()
    repairer = StreamingRepairer(lambda clause: 0.9, checks=[PII()])
    result = repairer.repair(r'{"a": "ada\u0040b.com", "n": 4111111111111111}', shape="json", conversation=numbers)
    assert json.loads(result.repaired_text) == {"a": "[EMAIL_1]", "n": "[CARD_2]"}
    assert numbers.heard == [("EMAIL", "ada@b.com"), ("CARD", "4111111111111111")]


WORDS = (
    "one",
    "ada@b.com",
    "gold",
    "two.",
    '"',
    "\\",
    "\n",
    "é",
    "😀",
    "4111111111111111",
    "{",
    "},",
    ":",
    "Gold,",
    "",
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join)
VALUES = st.recursive(
    TEXTS | st.sampled_from([1, -4111111111111111, 2.5, True, None, 0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
CHECKS: dict[str, list[Any]] = {
    "personal data": [PII()],
    "sentences": [Rule(check=BannedWords(("gold",)), on_fail="filter")],
    "letters": [Casing(to="upper"), PII()],
    "greedy": [Finds("ada.*b"), Finds(r"\S*gold\S*", "silver", "rewrite")],
    "blind": [Finds('[",:]+'), Finds("[0-9]+", "9 9", "rewrite"), Finds(r"[\[\]{}]", "")],
    "all of it": [Finds("(?s).+gold.+", frontier="text")],
    "in order": [Rule(check=PII(), on_fail="redact"), BannedWords(("one",))],
}


def written(value: Any, chance: random.Random | None) -> str:
    """JSON of a value; by chance with escapes where none is needed."""
    text = json.dumps(value, ensure_ascii=False)
    if chance is None:
        return text
    out, is_string, at = [], False, 0
    while at < len(text):
        if is_string and text[at] == "\\":
            out.append(text[at : at + 2])
            at += 2
            continue
        is_string ^= text[at] == '"'
        is_plain = is_string and text[at] != '"' and chance.random() < 0.4
        units = text[at].encode("utf-16-be")
        codes = (f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
        out.append("".join(codes) if is_plain else text[at])
        at += 1
    return "".join(out)


def skeleton(value: Any) -> Any:
    """What of a value no edit may change: how it is nested."""
    if isinstance(value, list):
        return [skeleton(each) for each in value]
    return sorted(map(str, map(skeleton, value.values()))) if isinstance(value, dict) else "scalar"


def members(pairs: list[tuple[str, Any]]) -> Any:
    return {f"{at} {key}": value for at, (key, value) in enumerate(pairs)}  # keys that were emptied are the same


@pytest.mark.parametrize("name", CHECKS)
@settings(max_examples=50)
@given(value=VALUES, seed=st.integers(0, 2**32))
def test_json_stays_json_and_escapes_change_nothing(name: str, value: Any, seed: int) -> None:
    chance = random.Random(seed)
    first = [Disguise()] if seed % 2 else []
    plain, other = written(value, None), written(value, chance)
    expected = repaired(plain, *CHECKS[name], first=first)
    found = json.loads(expected, object_pairs_hook=members)
    assert skeleton(found) == skeleton(json.loads(plain, object_pairs_hook=members))
    cut = sorted(chance.choices(range(len(other) + 1), k=chance.randint(0, 9)))
    tokens = [other[a:b] for a, b in zip([0, *cut], [*cut, len(other)], strict=True)]
    assert json.loads(repaired(tokens, *CHECKS[name], first=first), object_pairs_hook=members) == found


@given(value=VALUES, seed=st.integers(0, 2**32))
def test_every_place_that_is_seen_is_found_in_the_stream(value: Any, seed: int) -> None:
    text = written(value, random.Random(seed))
    lens = JsonLens()
    seen = "".join(map(lens.feed, text)) + lens.finish()
    assert seen == read_whole(text)
    assert lens.length == len(seen)
    places = [lens.place(at) for at in range(len(seen) + 1)]
    assert places == sorted(places)
    assert places[-1] == len(text)
    for at, sign in enumerate(seen):
        raw = text[places[at] :]
        assert raw.startswith((sign, "\\")) or re.match(r"-?\d|true|null", raw), (at, sign, raw[:9])


def test_what_is_kept_of_a_long_stream_stays_small() -> None:
    lens = JsonLens()
    for _ in range(20):
        lens.feed(r'{"a\u0040": "\u0041\u0042", "n": 5}' * 200)
        lens.forget(lens.place(lens.length))
    assert len(lens._parts) <= 1_024
    assert len(lens._seen) <= 1_024
