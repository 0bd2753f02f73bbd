"""Fences: prose in one is judged, program text is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.scoring.claims import body_of, read_claim
from director_ai.core.segment import MAX_CLAUSE, ClauseSegmenter

PROSE = {
    "no language": "```\nRefunds are available within 90 days.\n```",
    "tildes": "~~~\nRefunds are available within 90 days.\n~~~\n",
    "text": "```text\nRefunds are available within 90 days.\n```",
    "markdown": "``` markdown\n# Refunds\n\nRefunds are available within 90 days.\n```",
    "an unknown language": "```policy\nRefunds are available within 90 days.\n```",
    "quoted": "> ```\n> Refunds are available within 90 days.\n> ```\n",
    "an item": "- ```\n  Refunds are available within 90 days.\n  ```\n",
    "in the opening line": "``` Refunds are available within 90 days.\n```",
    "behind a language": "```python Refunds are available within 90 days.\nx = 1\n```",
    "with a greeting": "```\nHello!\nRefunds are available within 90 days.\n```",
    "with a hedge": "```\nI'm not sure.\nRefunds are available within 90 days.\n```",
    "as a comment alone": "```\n# Refunds are available within 90 days.\n```",
    "in a fence in it": "````\n```\nRefunds are available within 90 days.\n```\n````",
    "a later piece": "Refunds are available within 90 days.\n```\n",
}
PROGRAMS = {
    "python": "```py\nx = 1. \ny! Z\n```",
    "a language and settings": '```python title="The refunds page"\nx = 1\n```',
    "a class of a language": "```{.sql}\nselect name from users\n```",
    "no language": "```\ndef total(items):\n    return sum(items)\n\nprint(total([1, 2]))\n```",
    "with comments": "```\n# add the numbers of the list\nx = total(items)\nprint(x)\n```",
    "a command": "```\nnpm run build\n```",
    "commands": "```\n$ cd project\n$ make all tests now\n```",
    "a query": "```\nSELECT name FROM users\nWHERE age > 30\n```",
    "markup": "```\n<div>\n  <p>Hello there all</p>\n</div>\n```",
    "settings": "```\nservices:\n  web:\n    image: nginx\n```",
    "a tree": "```\nsrc/\n├── core\n└── cli\n```",
    "a later piece": "    total += price\n    return total\n}\n```\n",
    "one word": "```\nhello\n```",
    "nothing": "```\n```",
    "not yet anything": "```",
}


@pytest.mark.parametrize("fence", PROSE.values(), ids=PROSE.keys())
def test_prose_in_a_fence_is_judged(fence: str) -> None:
    claim = read_claim(fence, kind="code")
    assert (claim.role, claim.text) == ("claim", "Refunds are available within 90 days.")


DATA = {
    "json": ('```json\n{"visits": {"sunday": "closed"}, "seats": 80}\n```', "visits sunday: closed. seats: 80."),
    "json without a name": ('```\n{"ward_head": "Dr Ito"}\n```', "ward head: Dr Ito."),
    "yaml": ("```yaml\nparking: 3 EUR an hour\n- dogs: allowed\n```", "parking: 3 EUR an hour. dogs: allowed."),
    "a table": ("```csv\nroom,price\nsuite,210 CHF\n```", "room: suite, price: 210 CHF."),
    "prose behind the name of a language": ("```rust\nThe pool closes at six.\n```", "The pool closes at six."),
    "a comment": ("```js\n// Tickets cost 14 EUR for adults.\nconst x = 1;\n```", "Tickets cost 14 EUR for adults."),
    "a string": ('```py\nprint("Ms Adeyemi and Omar Haddad run it.")\n```', "Ms Adeyemi and Omar Haddad run it."),
    "markup": ("```html\n<li>Breakfast costs 19 EUR.</li>\n```", "Breakfast costs 19 EUR."),
}


@pytest.mark.parametrize(("fence", "expected"), DATA.values(), ids=DATA.keys())
def test_data_and_sentences_inside_a_program_are_judged(fence: str, expected: str) -> None:
    claim = read_claim(fence, kind="code")
    assert (claim.role, claim.text) == ("claim", expected)


@pytest.mark.parametrize("fence", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_program_text_is_not_judged(fence: str) -> None:
    assert read_claim(fence, kind="code").role == "blank"


def test_the_claims_of_a_fence_are_one_and_their_subjects_named() -> None:
    claim = read_claim("```\nThe card costs 95 euros. It is free for members.\nCan I help?\n```", kind="code")
    assert claim.text == "The card costs 95 euros. The card is free for members."


def test_what_is_replaced_leaves_the_fence_whole() -> None:
    for fence in ("```text\nThe fee is 5 EUR.\n```\n", "> ~~~\n> The fee is 5 EUR.\n> ~~~\n"):
        start, end = body_of(fence)
        assert fence[start:end] == "The fee is 5 EUR."
    start, end = body_of("``` The fee is 5 EUR.\n```")
    assert (start, end) == (4, 21)


def test_every_piece_of_a_long_fence_is_judged() -> None:
    segmenter = ClauseSegmenter()
    text = "```\n" + "Refunds are available within 90 days. " * 150 + "\n```\n"
    clauses = [*segmenter.feed(text), *segmenter.finish()]
    assert len(clauses) > 2
    assert {read_claim(clause.text, kind=clause.kind).role for clause in clauses} == {"claim"}


@given(st.text(alphabet="`~\n> -ab.=(x 5", max_size=80))
def test_any_fence_is_read_and_its_words_lie_within_it(text: str) -> None:
    claim = read_claim(text, kind="code")
    assert (claim.role == "claim") == (claim.reading is not None)
    start, end = body_of(text)
    assert 0 <= start <= end <= len(text) or not text[start:end]


@pytest.mark.parametrize("piece", ["```a\n", "> ", "a_", "(", "\n", "-", "<a ", "[", "a.", "'a"])
def test_a_fence_full_of_signs_is_read(piece: str) -> None:
    assert read_claim("```\n" + (piece * MAX_CLAUSE)[:MAX_CLAUSE], kind="code")
