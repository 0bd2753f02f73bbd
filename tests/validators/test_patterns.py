"""The check by a regular expression: what it finds, what it refuses, and that no text makes it slow."""

from __future__ import annotations

import pickle
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.checks.rules import Check
from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError, MissingExtra, UnknownOption
from director_ai.validators.patterns import Pattern


@pytest.fixture(params=["python", "re2"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both engines, where RE2 is installed."""
    if request.param == "re2":
        pytest.importorskip("re2")
    else:
        monkeypatch.setitem(sys.modules, "re2", None)
    return str(request.param)


@pytest.fixture
def no_re2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)


def fixed(check: Pattern, text: str) -> str:
    return merge_edits(text, check.find(text)).text


def spans(check: Pattern, text: str) -> list[tuple[int, int]]:
    return [(edit.start, edit.end) for edit in check.find(text)]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        pytest.param(r"secret", "a secret, a secret", "a X, a X", id="a word, twice"),
        pytest.param(r"\d+", "in 1984 and 2001", "in X and X", id="numbers"),
        pytest.param(r"(?i)secret", "SECRET Secret", "X X", id="whatever its case"),
        pytest.param(r"x*", "axxb", "aXb", id="matches of nothing are ignored"),
        pytest.param(r"\bcat\b", "cat concat cats", "X concat cats", id="a whole word"),
        pytest.param(r"^a", "aa\na", "Xa\na", id="the beginning"),
        pytest.param(r"(?m)^a", "aa\na", "Xa\nX", id="the beginning of lines"),
        pytest.param(r"a\Z", "aa", "aX", id="the end"),
        pytest.param(r"é+", "aééa é", "aXa X", id="beyond ASCII"),
        pytest.param(r"b", "😀b😀b", "😀X😀X", id="places are counted in characters"),
        pytest.param(r"b", "\ud800b\udfff", "\ud800X\udfff", id="beside halves of characters"),
        pytest.param(r"\w+", "né", "Xé", id="classes know ASCII only"),
        pytest.param(r"ab|a", "aba", "XX", id="touching matches are two"),
        pytest.param(r"a", "", "", id="an empty text"),
    ],
)
def test_matches_are_replaced(pattern: str, text: str, expected: str) -> None:
    assert fixed(Pattern(pattern, replacement="X"), text) == expected


@pytest.mark.usefixtures("engine")
def test_only_the_groups_asked_for_are_replaced() -> None:
    text = "key=abc; key=é; key="
    assert fixed(Pattern(r"key=(\S)([^;]*)", groups=(1,), replacement="X"), text) == "key=Xbc; key=X; key="
    assert fixed(Pattern(r"(?P<what>key)=", groups=("what",), replacement="X"), text) == "X=abc; X=é; X="
    assert fixed(Pattern(r"(a)|(b)", groups=(1, 2), replacement="X"), "abc") == "XXc"


@pytest.mark.usefixtures("engine")
def test_a_match_longer_than_longest_is_found_whole() -> None:
    text = "see https://example.org/" + "a" * 5_000 + " now"
    assert fixed(Pattern(r"https?://\S+", longest=32), text) == "see [REMOVED] now"


@pytest.mark.usefixtures("engine")
def test_padding_is_no_way_past_the_border_that_a_pattern_asks_for() -> None:
    check = Pattern(r"sk-[a-z]+\b", longest=32)
    assert spans(check, "sk-abc1") == []
    assert spans(check, "sk-" + "a" * 999) == [(0, 1002)]
    assert spans(check, "sk-" + "a" * 999 + "1")


@pytest.mark.usefixtures("engine")
def test_a_match_that_reaches_the_end_is_reported_up_to_the_end() -> None:
    assert spans(Pattern(r"https?://\S+"), "at http://a") == [(3, 11)]


def test_it_is_a_check_with_its_own_frontier() -> None:
    check = Pattern("a", name="letters", longest=99, kind="rewrite")
    assert isinstance(check, Check)
    assert check.frontier == 99
    (edit,) = check.find("a")
    assert (edit.kind, edit.check, edit.reason) == ("rewrite", "letters", "letters")


@pytest.mark.usefixtures("engine")
def test_it_can_be_sent_to_another_process() -> None:
    check = Pattern("a+b", replacement="X")
    assert pickle.loads(pickle.dumps(check)) == check
    assert fixed(pickle.loads(pickle.dumps(check)), "aab") == "X"


# Refusals.


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"longest": 0}, id="no length at all"),
        pytest.param({"longest": 5_000}, id="more than a window holds"),
        pytest.param({"longest": 1.5}, id="a length in halves"),
        pytest.param({"longest": True}, id="a length that is a truth value"),
        pytest.param({"replacement": None}, id="no replacement"),
        pytest.param({"name": 7}, id="a name that is a number"),
        pytest.param({"groups": ()}, id="no groups"),
        pytest.param({"groups": (9,)}, id="a group that is not there"),
        pytest.param({"groups": ("x",)}, id="a name that no group has"),
        pytest.param({"groups": [1]}, id="groups in a list"),
        pytest.param({"groups": (True,)}, id="a group that is a truth value"),
    ],
)
def test_options_that_cannot_be_right_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Pattern("(a)", **options)  # type: ignore[arg-type]


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UnknownOption):
        Pattern("a", kind="delete")  # type: ignore[arg-type]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("", id="an empty one"),
        pytest.param("(", id="an open bracket"),
        pytest.param("*", id="nothing to repeat"),
        pytest.param(None, id="none"),
        pytest.param(b"a", id="bytes"),
        pytest.param(r"(a)\1", id="a reference back"),
        pytest.param(r"(?x) a", id="verbose"),
        pytest.param(r"(?=a*)b", id="a look ahead without a bound"),
        pytest.param("a" * 300, id="longer than longest"),
        pytest.param("(" * 5_000 + ")" * 5_000, id="brackets without end"),
    ],
)
def test_patterns_that_no_engine_may_read_are_refused(pattern: str) -> None:
    with pytest.raises(ConfigError):
        Pattern(pattern)


BACKTRACKING = [
    pytest.param(r"(a+)+b", id="nested repeats"),
    pytest.param(r"(a|a)*b", id="a repeated choice of the same"),
    pytest.param(r"(a|ab)*c", id="a repeated choice with a common beginning"),
    pytest.param(r"a*a*b", id="adjacent repeats of the same"),
    pytest.param(r".*b+c", id="adjacent repeats that overlap"),
    pytest.param(r"\w*\d*x", id="classes that overlap"),
    pytest.param(r"(?i)k*K*x", id="the same letter in another case"),
    pytest.param(r"(a?){50}a{50}", id="optional parts many times"),
    pytest.param(r"a{0,300}a{0,300}b", id="bounds that are too wide"),
    pytest.param(r"(.*)(.*)(.*)z", id="three of everything"),
    pytest.param(r"(x+x+)+y", id="the textbook"),
    pytest.param(r"([a-z]+)*\Z", id="nested before an end"),
]


@pytest.mark.usefixtures("no_re2")
@pytest.mark.parametrize("pattern", BACKTRACKING)
def test_a_pattern_that_can_backtrack_asks_for_re2(pattern: str) -> None:
    with pytest.raises(MissingExtra, match=r"pip install '\.\[re2\]"):
        Pattern(pattern)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("pattern", BACKTRACKING)
def test_re2_reads_what_can_backtrack(pattern: str) -> None:
    pytest.importorskip("re2")
    text = "a" * 200_000
    assert all(0 <= edit.start < edit.end <= len(text) for edit in Pattern(pattern, longest=64).find(text))


@pytest.mark.usefixtures("no_re2")
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"(?>a*b|a)*c", id="a choice inside an atomic group"),
        pytest.param(r"(?:(?:a*b)?+a)*c", id="a possessive part that looks far and takes nothing"),
        pytest.param(r"(?u:\w*)é*x", id="classes beyond ASCII"),
    ],
)
def test_possessive_repeats_are_no_cover_for_backtracking(pattern: str) -> None:
    with pytest.raises(ConfigError):
        Pattern(pattern)


@pytest.mark.usefixtures("no_re2")
def test_letters_beyond_ascii_in_any_case_need_re2() -> None:
    with pytest.raises(MissingExtra):
        Pattern("(?i)ärger")


@pytest.mark.usefixtures("engine")
@pytest.mark.timeout(60)  # an engine that backtracks takes minutes
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(r"[\w.+-]+@[\w-]+\.[\w.]+", id="an address"),
        pytest.param(r"\bsk-[A-Za-z0-9]{20,}\b", id="a key"),
        pytest.param(r"https?://\S+", id="a link"),
        pytest.param(r"(?:\d[ -]?){13,16}", id="a card"),
        pytest.param(r"(?:foo|bar|baz)+x", id="a choice of words"),
        pytest.param(r"(?:a+,)*b", id="a list"),
        pytest.param(r"\S+\s+\S+", id="two words"),
        pytest.param(r"(?:\w++\s*+)++x", id="possessive repeats"),
        pytest.param(r"(?<!\d)\d{4}(?!\d)", id="a look around with a bound"),
    ],
)
def test_common_patterns_need_no_extra(pattern: str) -> None:
    for text in ("a" * 40_000, "1 " * 20_000, "a@" * 20_000, "a," * 20_000, "é" * 40_000):
        assert all(0 <= edit.start < edit.end <= len(text) for edit in Pattern(pattern).find(text))


# Laws.

ATOMS = st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\b", "ab", "(?=a)"])
REPEATS = st.sampled_from(["*", "+", "?", "*?", "{0,3}", "*+", "++", "{2,9}"])
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})")
        | st.tuples(inner, REPEATS).map(lambda two: f"(?:{two[0]}){two[1]}")
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text(alphabet="abc", max_size=30))
def test_short_texts_are_read_as_by_python(pattern: str, text: str) -> None:
    try:
        check = Pattern(pattern, longest=40)
    except (ConfigError, MissingExtra):
        return
    expected = [found.span() for found in re.finditer(pattern, text, re.ASCII) if found[0]]
    # finditer looks for something at the end of an empty match once more
    if all(found[0] for found in re.finditer(pattern, text, re.ASCII)):
        assert spans(check, text) == expected


@pytest.mark.timeout(60)
@given(PATTERNS, st.sampled_from(["c", "x", ""]))
def test_no_accepted_pattern_hangs(pattern: str, end: str) -> None:
    try:
        check = Pattern(pattern + end, longest=32)
    except (ConfigError, MissingExtra):
        return
    for text in ("a" * 4_000, "ab" * 2_000, "a" * 2_000 + "b" * 2_000):
        assert all(0 <= start < end <= len(text) for start, end in spans(check, text))


@given(st.text(alphabet="ab é😀", max_size=200), st.integers(1, 12))
def test_windows_miss_nothing_that_is_short_enough(text: str, longest: int) -> None:
    check = Pattern(r"a[b ]?é|😀", longest=max(3, longest))
    assert spans(check, text) == [found.span() for found in re.finditer(r"a[b ]?é|😀", text)]
