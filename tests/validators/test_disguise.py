from __future__ import annotations

import base64
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError
from director_ai.validators.disguise import Disguise
from director_ai.validators.disguise_tables import HIDDEN

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
SECRET = b"a secret that is long enough to be worth hiding, and so goes on for more than a hundred characters"
ODD = st.sampled_from(
    "a b é а е о р Ж α ο ｈ ： 𝐚 ℝ ⓐ ʜ ᴇ ʰ \u200b \u200c \u200d \u00ad \ufe0f \ufe00 \U000e0041 \U000e0100 \u202e \u0301 "
    "\u0e47 \x1b \x1b[ m \r \n \x0b \x85 \x00 👩 💻 ❤ 🏴 ک م \u0915 \u094d 1 \u20e3 % 41 %41 aB3 - / = ᠠ \u180b".split(
        " "
    )
)


def applied(text: str, **options: object) -> str:
    return merge_edits(text, Disguise(**options).find(text)).text  # type: ignore[arg-type]


@given(
    st.one_of(
        st.lists(ODD, max_size=40).map("".join), st.text(), st.lists(ODD, max_size=3).map(lambda x: "".join(x) * 60)
    )
)
def test_what_it_leaves_has_no_disguise(text: str) -> None:
    once = applied(text)
    assert list(Disguise().find(once)) == []


@given(st.lists(ODD, max_size=40).map("".join))
def test_edits_are_in_order_and_do_not_overlap(text: str) -> None:
    edits = list(Disguise().find(text))
    assert all(one.end <= other.start for one, other in itertools.pairwise(edits))


@given(st.lists(st.one_of(st.text(max_size=3), st.characters(categories=["Cf", "Cc"])), max_size=30).map("".join))
def test_no_hidden_tag_or_bidi_character_survives(text: str) -> None:
    left = applied(text)
    assert not any(
        "\u202a" <= each <= "\u202e"
        or "\u2066" <= each <= "\u206f"
        or each in "\u200b\u200e\u200f\u061c\u2060\ufeff\u00ad"
        for each in left
    )
    assert not any("\U000e0000" <= each <= "\U000e0fff" for each in left.replace(ENGLAND, ""))
    assert not any(ord(each) < 32 and each not in "\t\n\r" for each in left)


@pytest.mark.parametrize(
    "code",
    [
        code
        for code in range(0x2000, 0x2070)
        if chr(code) in "\u200b\u200e\u200f\u2060\u2061\u2062\u2063\u2064"
        or 0x202A <= code <= 0x202E
        or 0x2066 <= code <= 0x206F
    ],
    ids=hex,
)
def test_a_hidden_character_inside_a_word_goes(code: int) -> None:
    assert len(HIDDEN) > 1
    assert applied(f"pass{chr(code)}word") == "password"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x\U000e0068\U000e0069y", "xy", id="tag characters"),
        pytest.param("😀\ufe0f\ufe01\U000e0110\U000e0120", "😀\ufe0f", id="selectors as data"),
        pytest.param("a\ufe0fb", "ab", id="a selector behind a letter"),
        pytest.param("a\u200db\u200cc", "abc", id="joiners between Latin letters"),
        pytest.param("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link", "red link", id="orders to a terminal"),
        pytest.param("a\rb\r\nc\x0bd", "a\nb\r\nc\nd", id="odd line breaks"),
        pytest.param("Z" + "\u0301" * 30 + "o", "Z" + "\u0301" * 4 + "o", id="a flood of marks"),
        pytest.param("e\u0301\u200b\u0301\u200b\u0301\u0301\u0301\u0301", "e" + "\u0301" * 4, id="a flood with gaps"),
        pytest.param("ｈｔｔｐ：／／ｅｖｉｌ．ｃｏｍ", "http://evil.com", id="full width"),
        pytest.param("ada＠example．com", "ada@example.com", id="full-width signs in an address"),
        pytest.param("𝐇𝐞𝓵𝔩𝕠 𝟙", "Hello 1", id="mathematical letters"),
        pytest.param("ⓘⓖⓝⓞⓡⓔ 🅷🅴🅻🅿", "ignore HELP", id="enclosed letters"),
        pytest.param("ʰᵉˡˡᵒ ʜᴇʟʟᴏ", "hello hello", id="raised letters and small capitals"),
        pytest.param("раypal pаsswоrd αdmin pαssword", "paypal password admin password", id="homoglyphs"),
        pytest.param("превeт Eсть", "превет Есть", id="Latin letters inside Cyrillic words"),
        pytest.param(f"x {base64.b64encode(SECRET).decode()} y", "x [ENCODED] y", id="base64"),
        pytest.param(f"x\n{base64.encodebytes(SECRET).decode()}y", "x\n[ENCODED]\ny", id="base64 over lines"),
        pytest.param(f"x {SECRET.hex()} y", "x [ENCODED] y", id="hexadecimal"),
        pytest.param("x " + "%61%62" * 30, "x [ENCODED]", id="percent signs"),
        pytest.param("x " + r"\x61\x62" * 30, "x [ENCODED]", id="escapes"),
        pytest.param(
            f"x {base64.b64encode(SECRET[:60]).decode()}", f"x {base64.b64encode(SECRET[:60]).decode()}", id="too short"
        ),
    ],
)
def test_a_disguise_comes_off(text: str, expected: str) -> None:
    assert applied(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("👩🏽‍💻 ❤️‍🔥 🏳️‍🌈 👨‍👩‍👧 1️⃣ ©️ ☎︎ 🇩🇪🇫🇷", id="emoji"),
        pytest.param(ENGLAND, id="flag of England"),
        pytest.param("می‌خواهم این را بدانم", id="Persian"),
        pytest.param("क्‍ष न्‍यू ശ്രീ ക്‍ র‍্যাব", id="Indic"),
        pytest.param("Это обычный текст, iPhone'а, IT-отдел, COVIDом, SMSка.", id="Russian"),
        pytest.param("Η γρήγορη αλεπού. sinα, αx, 5 μm, 3 kΩ, β-carotene", id="Greek and formulas"),
        pytest.param("用Python，Java。＠他 1．第一", id="full-width signs beside Chinese"),
        pytest.param("他说：“你好（Ａ级？）”！".replace("Ａ", "A"), id="Chinese with full-width punctuation"),
        pytest.param("日本語のテキスト、カタカナ。ｶﾀｶﾅ", id="Japanese"),
        pytest.param("안녕하세요 세계", id="Korean"),
        pytest.param("שָׁלוֹם עֲלֵיכֶם", id="Hebrew with points"),
        pytest.param("བསྒྲུབས་ ཧཱུྃ", id="Tibetan"),
        pytest.param("ภาษาไทย ที่นี่", id="Thai"),
        pytest.param("Tiếng Việt, Čeština, naïve, Straße, œuvre", id="accents"),
        pytest.param("-" * 200 + "\n" + "=" * 200 + "\n" + "a" * 200, id="rules"),
        pytest.param(
            "/usr/lib/python3/dist-packages/some-package/with_long_names/and/ManyParts/" * 3, id="a long path"
        ),
        pytest.param("https://example.org/2024/05/" + "a-rather-long-title-of-an-article-" * 6, id="a slug"),
        pytest.param("x ∈ ℝ, ℕ ⊂ ℤ, 20 ℃, № 5, ① ② Ⓐ, x², ™", id="signs"),
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert list(Disguise().find(text)) == []


def test_removal_and_rewriting_are_told_apart() -> None:
    assert [(edit.kind, edit.reason) for edit in Disguise().find("a\u200bb ｃ pаssword")] == [
        ("remove", "unseen characters"),
        ("rewrite", "letter forms"),
        ("rewrite", "homoglyph"),
    ]


def test_options_switch_parts_off() -> None:
    assert applied("ｃ", forms=False) == "ｃ"
    assert applied("pаss", homoglyphs=False) == "pаss"
    assert applied(SECRET.hex(), encoded="") == SECRET.hex()
    for options in ({"forms": 1}, {"most_marks": 0}, {"encoded": None}, {"name": ""}):
        with pytest.raises(ConfigError):
            Disguise(**options)  # type: ignore[arg-type]


@pytest.mark.timeout(60)  # a second at most, where the work is proportional
@pytest.mark.parametrize(
    "unit", ["\u200d", "\u0301", "аa", "aB1", "%41", "\x1b]", "\r", "x" * 119 + " ", "x" * 33 + "\n"], ids=ascii
)
def test_a_hostile_text_of_250_000_characters_does_not_hang(unit: str) -> None:
    text = (unit * 250_000)[:250_000]
    assert all(0 <= edit.start <= edit.end <= len(text) for edit in Disguise().find(text))
