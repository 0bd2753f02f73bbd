"""Promise 3: how the model cuts its tokens changes nothing of what a runner releases, records or ends by."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checked import Finder
from director_ai.core.checks.rules import Check, CheckedText, Frontier
from director_ai.core.merge import merge_edits
from director_ai.validators import (
    PII,
    BannedWords,
    Casing,
    Checks,
    Conversation,
    Disguise,
    Length,
    Links,
    Pattern,
    Predicate,
    Rule,
    Secrets,
    TextFunction,
)

PROSE = (
    "The refund takes 30 days. ",
    "Please call back, e.g. tomorrow at 9 a.m. ",
    "Nothing here is odd; it costs 3.14 euros. ",
    "Dr. Smith said so.\n\n",
    "One two three four five ",
    "Straße, İstanbul und ΟΔΟΣ ΣΑΣ. ",
    "これは文です。そうです。",
    "no stop and no capital ",
    "v2.0.1 is out!\r\n",
    "- an item\n- another one\n",
)
MARKED = (
    "jo.smith+x@mail.example.org ",
    "Write to JO@Example.COM. ",
    "jo [at] example [dot] org, ",
    "4111 1111 1111 1111 ",
    "5500-0000-0000-0004, ",
    "My SSN is 054286917. ",
    "from 41.173.96.26 ",
    "+46 (0)8 928 571 38. ",
    "[a link](https://evil.example/x?y=1) ",
    "![img](http://evil.example/p.png)",
    "see https://evil.example/path. ",
    "www.evil.example, ",
    "<img src=x onerror=alert(1)> ",
    "<script>alert(1)</script>",
    "AKIAIOSFODNN7EXAMPLQ ",
    "password = 'hunter2!x9' ",
    "z\u200be\u200br\u200bo ",
    "p\u0430yp\u0430l.com ",
    "ｆｕｌｌ ｗｉｄｔｈ ",
    "jo\u200b@exa\u00admple.org ",
    "\u202eoverride\u202c ",
    "👩‍👩‍👧 🇩🇪 ❤️ ",
    "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307 ",
    "a bad word ",
    "really ugly   words here ",
    "```py\nx = f('a@b.example')\n```\n",
    "`code` | table | row |\n",
    "\x1b[31mred\x1b[0m ",
    "dGhpcyBpcyBhIGxvbmcgZW5jb2RlZCBydW4gb2YgYnl0ZXMgdGhhdCBub2JvZHkgcmVhZHMgYW5kIHRoYXQgaGlkZXMgc29tZXRoaW5nIGluIGl0IGZvciBzdXJlMTIzNDU2Nzg5 ",
    "12345678901234567890123456789012345678901234567890 ",
    "\ud83d\ude00 \ud800 ",
)


def text_of(seed: int) -> str:
    chance = random.Random(seed)
    pieces = chance.choices(PROSE, k=chance.randint(1, 8)) + chance.choices(MARKED, k=chance.randint(0, 6))
    chance.shuffle(pieces)
    text = "".join(pieces)
    return text.rstrip() if chance.random() < 0.4 else text


def cut(text: str, chance: random.Random) -> list[str]:
    """A random partition, with empty tokens now and then."""
    most = chance.choice((1, 2, 5, 20, 200))
    tokens, at = [], 0
    while at < len(text):
        size = chance.randint(0 if chance.random() < 0.1 else 1, most)
        tokens.append(text[at : at + size])
        at += size
    return tokens


def as_units(text: str) -> str:
    """The same text in UTF-16 units, as a tokenizer that cuts through characters gives it."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(int.from_bytes(raw[at : at + 2], "little")) for at in range(0, len(raw), 2))


def shout(text: str) -> str:
    return text.replace("three", "THREE jo@example.org")


ALL = {
    "disguise first, then everything": Checks(
        (
            PII(),
            Links(),
            Secrets(),
            Casing(),
            BannedWords(("bad", "really ugly words")),
            Pattern(r"[0-9]{20,40}", name="digits"),
        ),
        first=(Disguise(),),
    ),
    "everything at once": Checks((PII(), Links(), Secrets(), Casing(to="upper"), Disguise(), BannedWords(("bad",)))),
    "sentences, rewrites and removals": Checks(
        (
            TextFunction(shout, name="shout"),
            Predicate(lambda sentence: "ugly" not in sentence, name="nice"),
            PII(),
            Casing(to="sentence"),
        ),
        priority=("shout",),
    ),
    "a finished text": Checks((Length(most_words=20), PII(), Casing())),
    "filter": Checks((Rule(check=BannedWords(("bad", "odd")), on_fail="filter"), PII(), Links())),
    "filter and halt": Checks(
        (Rule(check=BannedWords(("odd",)), on_fail="filter"), Rule(check=PII(), on_fail="halt"), Casing())
    ),
    "halt and noop": Checks(
        (
            Rule(check=BannedWords(("bad", "odd")), on_fail="halt"),
            Rule(check=Casing(), on_fail="noop"),
            Rule(check=Pattern(r"(?:bad|odd)", name="same"), on_fail="refrain"),
            PII(),
        )
    ),
    "redact": Checks((Rule(check=Casing(), on_fail="redact"), Rule(check=Links(), on_fail="redact"))),
    "a function of one's own": Checks((Rule(check=PII(), on_fail=lambda _, edits: edits[:]), Secrets())),
}


def streamed(checks: Checks, tokens: list[str]) -> CheckedText:
    stream = checks.stream(tokens)
    assert "".join(piece.text for piece in stream) == stream.result.text
    result = stream.result
    # What is odd behind a halt is seen only where it came along with the halt.
    return dataclasses.replace(result, flags=()) if result.halted else result


def one_piece(checks: Checks, text: str) -> CheckedText:
    return streamed(checks, [text])


@pytest.mark.parametrize("texts", [20, pytest.param(40, marks=pytest.mark.soak)])
@pytest.mark.parametrize("setting", ALL)
def test_every_cut_in_two_gives_the_same(setting: str, texts: int) -> None:
    checks = ALL[setting]
    for seed in range(texts if setting.startswith("disguise first") else texts // 10):
        text = text_of(seed)[:100]
        whole = one_piece(checks, text)
        for at in range(1, len(text)):
            assert streamed(checks, [text[:at], text[at:]]) == whole, (seed, at)


@pytest.mark.parametrize("texts", [50, pytest.param(150, marks=pytest.mark.soak)])
@pytest.mark.parametrize("setting", ALL)
def test_twenty_partitions_of_a_text_give_the_same(setting: str, texts: int) -> None:
    checks = ALL[setting]
    for seed in range(texts if setting.startswith("disguise first") else texts // 7):
        text = text_of(1_000 + seed)[:160]
        whole = one_piece(checks, text)
        chance = random.Random(seed)
        for _ in range(20):
            assert streamed(checks, cut(text, chance)) == whole, seed


LONG_WORDS = ("x" * 3_000, "a.b-" * 900, "9" * 2_500, "http://" + "y" * 2_600, "Zm9v" * 800, "é" * 2_100, "jo@x." * 500)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 8), marks=pytest.mark.soak)], ids=["2", "6 more"])
@pytest.mark.parametrize("setting", ALL)
def test_long_texts_and_words_without_end_give_the_same(setting: str, seeds: range) -> None:
    for seed in seeds:
        chance = random.Random(seed)
        text = "".join(text_of(5_000 + 10 * seed + part) for part in range(10))
        at = chance.randrange(len(text))
        text = text[:at] + chance.choice(LONG_WORDS) + chance.choice(MARKED) + text[at:]
        whole = one_piece(ALL[setting], text)
        for tokens in (cut(text, chance), cut(text, chance), [text[at : at + 7] for at in range(0, len(text), 7)]):
            assert streamed(ALL[setting], tokens) == whole, seed


@pytest.mark.parametrize("setting", [name for name in ALL if "halt" not in name])
def test_a_finished_text_comes_out_as_its_stream_does(setting: str) -> None:
    for seed in range(30):
        text = text_of(2_000 + seed)
        assert ALL[setting].run(text) == one_piece(ALL[setting], text)


def test_cuts_through_characters_give_the_same() -> None:
    checks = ALL["disguise first, then everything"]
    for seed in range(30):
        text = text_of(3_000 + seed) + "👩‍👩‍👧 😀"
        chance = random.Random(seed)
        units = as_units(text)
        whole = one_piece(checks, text)
        for tokens in (list(units), cut(units, chance), cut(units, chance)):
            assert streamed(checks, tokens) == whole, seed


def test_numbered_placeholders_do_not_depend_on_the_cuts() -> None:
    checks = ALL["everything at once"]
    for seed in range(40):
        text = text_of(4_000 + seed)
        whole = checks.run(text, conversation=Conversation())
        stream = checks.stream(cut(text, random.Random(seed)), conversation=Conversation())
        for _ in stream:
            pass
        assert stream.result == whole


@pytest.mark.parametrize(
    "check", [PII(), Links(), Secrets(), Disguise(), BannedWords(("bad",)), Casing()], ids=lambda check: check.name
)
def test_windows_find_what_a_check_finds_in_the_whole_text(check: Check) -> None:
    for seed in range(15):
        text = "".join(text_of(6_000 + 10 * seed + part) for part in range(10)).replace("\ud800", "")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16")
        assert Checks([check]).run(text).text == merge_edits(text, check.find(text)).text, seed


def test_a_window_is_as_wide_as_its_check_asks_for_where_there_is_no_white_space() -> None:
    text = "x" * 1_500 + "A" + "y" * 1_400 + "B" + "z" * 3_000
    checks = Checks([Finder("A[^ ]{1400}B", frontier=1_500)])
    for tokens in ([text], list(text)):
        assert streamed(checks, tokens).text == "x" * 1_500 + "[X]" + "z" * 3_000


@pytest.mark.parametrize("staged", [False, True], ids=["one stage", "two stages"])
@pytest.mark.parametrize("frontier", ["sentence", 20, "text"])
def test_of_two_stops_at_one_place_the_same_one_ends_every_stream(frontier: Frontier, staged: bool) -> None:
    text = "One is fine. Bad here. More of it follows, and then some more."
    checks = Checks(
        [
            Rule(check=Finder("Bad", name="word"), on_fail="halt"),
            Rule(check=Finder("Bad", name="other", frontier=frontier), on_fail="refrain"),
        ],
        first=[Finder("zzz", name="first")] if staged else [],
    )
    for tokens in ([text], list(text), ["One is fine. ", "Bad ", "here. More of it follows, ", "and then some more."]):
        result = streamed(checks, tokens)
        assert (result.text, result.ended_by) == ("One is fine. ", "refrain")
        assert [failure.check for failure in result.failures] == ["other", "word"]


PLAIN = tuple(
    piece for piece in PROSE if piece == piece.lower() or piece.isascii() if "\r" not in piece and "Smith" not in piece
)


@pytest.mark.parametrize("setting", ["disguise first, then everything", "everything at once", "filter"])
def test_where_nothing_is_to_fix_every_stream_comes_out_unchanged(setting: str) -> None:
    checks = Checks(
        [rule for rule in ALL[setting].rules if rule.check.name not in ("casing", "disguise", "banned-words")],
        first=(Disguise(),),
    )
    for seed in range(100):
        chance = random.Random(seed)
        text = "".join(chance.choices(PLAIN, k=chance.randint(1, 30)))
        result = streamed(checks, cut(text, chance))
        assert result.text == text
        assert result.unchanged
        assert result == CheckedText(text=text)


@settings(max_examples=30)
@given(
    st.lists(
        st.one_of(st.sampled_from(PROSE + MARKED), st.text(alphabet="aB.@-5 1\n\u200b[](:/<&", max_size=12)),
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_any_partition_of_any_mix_gives_the_same(pieces: list[str], chance: random.Random) -> None:
    text = "".join(pieces)
    for name in ("disguise first, then everything", "filter", "sentences, rewrites and removals"):
        assert streamed(ALL[name], cut(text, chance)) == one_piece(ALL[name], text)


@settings(max_examples=50)
@given(st.text(max_size=60), st.randoms(use_true_random=False))
def test_any_text_at_all_may_be_cut_anywhere(text: str, chance: random.Random) -> None:
    checks = ALL["everything at once"]
    assert streamed(checks, cut(as_units(text), chance)) == one_piece(checks, text)


@settings(max_examples=30)
@given(st.text(alphabet="Ab 1@.\n", max_size=40), st.integers(1, 80), st.randoms(use_true_random=False))
def test_edits_of_overlapping_checks_do_not_depend_on_the_cuts(text: str, reach: int, chance: random.Random) -> None:
    """Checks with all kinds of frontiers whose edits overlap, touch and insert."""
    checks = Checks(
        (
            Pattern(r"A[b1]?", name="short", longest=2, replacement="<A>", kind="rewrite"),
            Pattern(r"b[ @.]{0,3}", name="reaching", longest=reach if reach > 3 else 4),
            Pattern(r"1", name="style", longest=1, replacement="one", kind="style"),
            Casing(to="upper"),
        )
    )
    assert streamed(checks, cut(text, chance)) == one_piece(checks, text)
