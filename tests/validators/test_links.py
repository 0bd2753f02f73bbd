from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError
from director_ai.validators.links import Links

OWN = ("ok.example",)
PIECES = st.sampled_from(
    [
        *"[ ] ( ) ![ ]( ]: < > / // \\ http: https: http:// evil.com ok.example https://ok.example/ javascript: alert(1) "
        'data:text/html,x img <img src= a <a href=" " \' = onerror= &#58; &colon; &#47; @ www. x <!-- --> <script> </script> '
        "<svg ` ? # % <b> </b> style= \\] \\[ ^1 //evil.com &lt; & HTTP:// ! <base <iframe".split(" "),
        "\n",
        " ",
        "\t",
        "\n> ",
    ]
)
PAGES = [MarkdownIt("commonmark", {"html": True}), MarkdownIt("js-default", {"html": True})]
for page in PAGES:
    page.validateLink = lambda url: True  # type: ignore[method-assign]  # the check must hold without that help


class Carriers(HTMLParser):
    """What a browser would fetch or run from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "iframe", "svg", "style", "object", "embed", "base", "link", "meta", "form"}:
            self.found.append(tag)
        for name, value in attrs:
            address = re.sub(r"[\x00-\x20]", "", value or "").replace("\\", "/").lower()
            leaves = re.match(r"[a-z][a-z0-9+.-]*:|//", address)
            own = re.match(r"(https?:)?/*([^/?#@]*@)?ok\.example(:\d+)?([/?#]|$)|mailto:|tel:", address)
            if name.startswith("on") or name in {"style", "srcset"} or (name in {"href", "src"} and leaves and not own):
                self.found.append((tag, name, value))


def carriers(text: str) -> list[object]:
    found: list[object] = []
    for shown in (text, *(page.render(text) for page in PAGES)):
        browser = Carriers()
        try:
            browser.feed(shown)
            browser.close()
        except AssertionError:
            pass  # the parser of the standard library gives up at some declarations
        found += browser.found
    return found


def applied(text: str, **options: object) -> str:
    return merge_edits(text, Links(allowed_hosts=OWN, **options).find(text)).text  # type: ignore[arg-type]


@settings(max_examples=300, deadline=None)
@given(
    st.lists(PIECES, max_size=16).map("".join),
    st.sampled_from(["remove", "escape"]),
    st.sampled_from(["remove", "alt"]),
)
@example("[<](http://e.com)img src=http://e.com>", "remove", "remove")
@example("<<b x=1>img src=//e.com>", "remove", "remove")
@example('<!--x"<script>', "remove", "remove")
@example("<https://ok.example/onclick=alert(1)>", "remove", "remove")
def test_no_carrier_survives(text: str, html: str, images: str) -> None:
    left = applied(text, html=html, images=images)
    assert carriers(left) == []
    assert applied(left, html=html, images=images) == left


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("See [the docs](http://evil.com/a?b=c) now.", "See the docs now.", id="link"),
        pytest.param('[a](HTTP://EVIL.COM "t")', "a", id="link with a title, upper case"),
        pytest.param("x ![alt](https://evil.com/x.png) y", "x  y", id="image"),
        pytest.param("[![i](http://evil.com/i.png)](http://evil.com) x", " x", id="image in a link"),
        pytest.param("[r]: http://evil.com 'T'\n\n[x][r]", "\n\n[x][r]", id="definition"),
        pytest.param("[r]:\n  <javascript:x>\n\n[r]", "\n\n[r]", id="definition over lines"),
        pytest.param("[^1]: see http://evil.com.\n", "[^1]: see [LINK].\n", id="footnote"),
        pytest.param("<http://evil.com?a=b> end", "[LINK] end", id="automatic link"),
        pytest.param("go to http://evil.com/x, ok", "go to [LINK], ok", id="bare address"),
        pytest.param("www.evil.com is", "[LINK] is", id="bare host"),
        pytest.param("[j](javascript:alert(1)) x", "j x", id="javascript"),
        pytest.param("[j](<java&#115;cript&colon;alert(1)>) x", "j x", id="entities"),
        pytest.param("[d](data:text/html;base64,xx) x", "d x", id="data"),
        pytest.param("[p](//evil.com) [b](\\\\evil.com) [c](/\\evil.com) x", "p b c x", id="relative to the protocol"),
        pytest.param("[u](https://ok.example@evil.com/) x", "u x", id="user information"),
        pytest.param("[s](https://ok.example.evil.com) x", "s x", id="host as a prefix"),
        pytest.param("[i](https://оk.example/) x", "i x", id="a host in other letters"),
        pytest.param("[t](\thttp://evil.com\n) x", "t x", id="space around"),
        pytest.param("[n [m]](http://evil.com/(a)) x", "n [m] x", id="nested brackets"),
        pytest.param("a<img src=x onerror=alert(1)>b", "ab", id="event"),
        pytest.param('<IMG SRC="jav\nascript:x">b', "b", id="line break in an address"),
        pytest.param("a<script>alert(1)</script>b<style>@import 'x'</style>c", "abc", id="elements with content"),
        pytest.param("<svg/onload=alert(1)>a <iframe src=//e></iframe>", "a ", id="active tags"),
        pytest.param("<!-- hidden <img src=x> --> shown", " shown", id="comment"),
        pytest.param("use the <script> tag ", "use the  tag ", id="a tag without its end takes no text along"),
    ],
)
def test_a_carrier_is_taken_away(text: str, expected: str) -> None:
    assert applied(text) == expected
    assert all(edit.kind in {"remove", "style"} for edit in Links().find(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "[a](https://ok.example/x) ![i](https://OK.example:443/i.png) <https://ok.example/?q=1> .", id="own host"
        ),
        pytest.param(
            '<a href="https://ok.example/">y</a> <img src="https://ok.example/i.png" alt="x"> .', id="own host in HTML"
        ),
        pytest.param("[ok](docs/page.md#x) [top](#top) [m](mailto:a@b.c) .", id="relative and mail"),
        pytest.param("<b>bold</b> List<String> a < b, x <- y, <br/> H<sub>2</sub>O .", id="harmless tags"),
        pytest.param("data: the results; 10:30 default: // nothing, C:\\\\Users .", id="colons"),
        pytest.param("[10:15]: Bob: hi\nlist[0] f(x)[1] [x] done .", id="brackets"),
        pytest.param("Fish & chips, AT&T, R&D .", id="ampersands"),
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert list(Links(allowed_hosts=OWN).find(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "x [open",
        "x [text]",
        "x [text](",
        "x [text](http://evil.co",
        "x <img alt",
        'x <img src="http://e',
        "x <!-- y",
        "x <script> y",
        "x https://ok.example",
    ],
)
def test_what_is_open_is_held_back_up_to_the_end(text: str) -> None:
    edits = list(Links(allowed_hosts=OWN).find(text))
    assert (edits[-1].start, edits[-1].end) == (2, len(text))


def test_options() -> None:
    assert applied("![a cat](http://evil.com) x", images="alt") == "a cat x"
    assert applied("a <img src=//e> b", html="escape") == "a &lt;img src=//e> b"
    assert merge_edits("http://a.b ", Links(replacement="").find("http://a.b ")).text == " "
    assert list(Links(allowed_hosts=("*.b.example",)).find("http://a.b.example/ x")) == []
    assert list(Links(allowed_hosts=("bücher.example",)).find("[x](http://xn--bcher-kva.example/) x")) == []
    for options in (
        {"allowed_hosts": "a.b"},
        {"allowed_hosts": ("http://a",)},
        {"images": "keep"},
        {"html": 1},
        {"replacement": "<b>"},
    ):
        with pytest.raises(ConfigError):
            Links(**options)  # type: ignore[arg-type]


@pytest.mark.timeout(60)  # a second at most, where the work is proportional
@pytest.mark.parametrize(
    "unit",
    [
        "[",
        "](",
        "[](",
        "<a",
        "<a=",
        "<!--",
        "<script>",
        "[a]: x",
        "[](x:",
        "[a](\\",
        '[x](y "',
        "<https://",
        "a:",
        "&colon;//",
    ],
)
def test_a_hostile_text_of_100_000_characters_does_not_hang(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    assert all(0 <= edit.start <= edit.end <= len(text) for edit in Links().find(text))
