"""The segmenter cuts where a careful reader would, loses nothing, and does not care where tokens end."""

from __future__ import annotations

import random
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.core.segment import (
    LOOKAHEAD,
    MAX_CLAUSE,
    Clause,
    ClauseSegmenter,
    split_clauses,
    split_sentences,
)
from director_ai.errors import ConfigError, DirectorError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CUT = "⟂"  # marks the expected borders in the tables below

# Sentence borders: the text with its marks taken out is cut into sentences exactly at the marks.
SENTENCES = {
    "two sentences": "The museum is open. ⟂Entry is free.",
    "question and exclamation": "Is it open? ⟂Yes! ⟂Come in.",
    "title before a name": "Dr. Baker met Mrs. Lee and Prof. Ito. ⟂They talked.",
    "title of several": "Sen. Cole and Gen. Diaz left. ⟂Gov. Hale stayed.",
    "saint and street": "St. Anne lived on Oak St. near the park. ⟂It was quiet.",
    "country in mid-sentence": "She moved to the U.S. in May. ⟂She liked it.",
    "country before a noun": "The U.S. Senate voted. ⟂It passed.",
    "country at the end": "She moved to the U.S. ⟂The year was 1990.",
    "country at the end, question": "Do you live in the U.K.? ⟂I do.",
    "company goes on": "Acme Inc. was sold to Bolt Ltd. in June.",
    "company at the end": "He sold Acme Inc. ⟂The price was low.",
    "for example": "Bring fruit, e.g. Apples from Kent, i.e. The red ones.",
    "versus and compare": "See Roe v. Wade, cf. Smith vs. Jones.",
    "et cetera": "We sell pens, ink, etc. ⟂Paper is extra.",
    "et al": "Lee et al. (2019) agree. ⟂Others do not.",
    "approximately before a sign": "It costs approx. $5 a day.",
    "page and figure": "See p. 12 and Fig. 3. ⟂Then read vol. IV of it.",
    "number or the word no": "Room No. 7 is free. ⟂He said no. ⟂Then he left. ⟂She said no. ⟂I agree.",
    "number after no in lower case": "See no. 5, or take bus no. 7 to Law no. 1329. ⟂The answer is no. ⟂5 people agreed.",
    "word that abbreviates only in a reference": "First close the app. ⟂2 minutes later it restarts. ⟂See app. 3 and App. B.",
    "art, tab and ref": "Art. 5 and Tab. 2 say so. ⟂He loves art. ⟂3 of us do. ⟂Open a tab. ⟂2 more follow. ⟂Ask the ref. ⟂1 will do.",
    "born and died": "Ada (b. 1815, d. 1852) wrote it. ⟂It ran.",
    "month before a day": "It closed on Jan. 5 and opened on Sept. 9. ⟂Good.",
    "milliseconds are no title": "It took 5 ms. ⟂Nobody noticed.",
    "state is not circa": "He lives in Fresno, CA. ⟂She does not.",
    "initials in lower case": "it is by j. k. rowling. ⟂so do i. ⟂i read it.",
    "initials": "J. R. R. Tolkien and C. S. Lewis met. ⟂They talked.",
    "initial in a name": "Was it Harry S. Truman? ⟂Yes.",
    "the pronoun I at the end": "It was you and I. ⟂Did Ann I. Hall know?",
    "letter before a starter": "Take vitamin C. ⟂It helps.",
    "time of day": "We open at 9 a.m. and close at 5 p.m. on weekdays. ⟂Come early.",
    "time of day at the end": "We close at 5 p.m. ⟂The café stays open.",
    "time of day before a name": "We meet at 5 p.m. ⟂Bring your laptop. ⟂At 9 a.m. ⟂Jordan left.",
    "time of day before its day or zone": "Come at 5 p.m. Monday, at 6 p.m. EST or at 7 a.m. Eastern. ⟂Or at 5 p.m. EST. ⟂Go.",
    "time of day before its date": "It began at 5 p.m. Jan. 3 and at 6 p.m. May’s first day.",
    "time of day in a schedule": "9 a.m. Breakfast",
    "time of day before an initial": "At 5 p.m. J. Smith came.",
    "dose": "Give it q.d. ⟂Monitor the pulse. ⟂Then b.i.d. ⟂Stop.",
    "company before a statement": "He works for Acme Corp. ⟂Sales fell 3%. ⟂She left Bolt Ltd. ⟂Smith was angry.",
    "company before a name": "He works for Acme Corp. Sales in Rome. ⟂Acme Corp. Sales fell.",
    "time with a colon": "It is 10:30. ⟂Go.",
    "decimals": "Pi is 3.14 and e is 2.718. ⟂Both are irrational.",
    "price at the end": "It costs $3.50. ⟂That is cheap.",
    "version": "Use v2.0.1 or 3.11.4. ⟂Not older ones.",
    "web address": "See https://example.org/a.b?c=d.e! ⟂It is good.",
    "web address opens a sentence": "Look here. ⟂https://example.org/ has it.",
    "mail address": "Write to a.b@example.co.uk. ⟂We answer.",
    "network address": "Ping 192.168.0.1 now. ⟂Wait.",
    "file name": "Open main.py and README.md. ⟂Edit them.",
    "dotted name in code style": "Call os.path.join. ⟂It returns a str.",
    "ellipsis goes on": "Well ... maybe not... or so.",
    "ellipsis at the end": "I thought so... ⟂She did not.",
    "ellipsis character": "I wonder… ⟂Who knows? ⟂It goes on… and on.",
    "four dots": "He stopped.... ⟂She went on.",
    "spaced ellipsis": "It was . . . late. ⟂Go.",
    "spaced ellipsis at the end": "It was late . . . . ⟂We left.",
    "stop and omission": "It ended. ⟂. . . Then it began.",
    "omission in brackets": "He said [...] It was late.",
    "mixed runs": "What?! ⟂No!! ⟂Really?? ⟂Yes.",
    "quote after the stop": 'He said "Go." ⟂She went.',
    "curly quote after the stop": "He said “Go.” ⟂She went.",
    "speech goes on": '"Is it late?" he asked. ⟂"Yes," she said.',
    "bracket after the stop": "(It was late.) ⟂We left.",
    "bracket goes on": "He (a Mr. Fox, it is said.) came.",
    "bold stop": "**It is late.** ⟂We left. ⟂*Really.* ⟂Yes.",
    "footnote after the stop": "It was late.[12] ⟂We left.",
    "french quotation": "Il dit : « Bonjour. » ⟂Puis il part. ⟂« Bon.\u00a0» ⟂Oui, « non. », dit-il.",
    "german quotation": "Er ging. ⟂»Halt«, rief sie.",
    "line break in html": "One.<br>⟂Two!<br/>⟂Three.<BR /> ⟂Four.</p>⟂<p>Five.</li></ul>\n⟂Six.",
    "inline tags in html": "<b>One.</b> ⟂Two.</i>Three <b>four.</b> five. ⟂<b>Six</b>",
    "less than after a stop": "It is 5.<6. ⟂Or 5.</ 6. ⟂Ok",
    "json": 'It is {"a": "One. Two! (Three.) 4", "b":"三。四。"} here. ⟂Then',
    "json with escapes": '{"a": "One. \\"Two.\\" Three."}\n⟂Four. ⟂Five',
    "json that ends in a stop": 'It gave {"a": "One."} ⟂Then it ended.',
    "exclamation in a name": "He works for Yahoo! in Berlin.",
    "lower-case chat": "it broke. ⟂then it worked. ⟂ok",
    "lower-case pronoun": "The bus is late. ⟂it never comes.",
    "lower-case product": "They sell phones. ⟂iPhones are popular.",
    "number opens a sentence": "It was 1969. ⟂12 men walked there.",
    "emoji after the stop": "Great work! ⟂🎉 See you.",
    "no space, no border": "One.Two. ⟂Three.",
    "japanese": "雨です。⟂傘を持って！⟂なぜ？⟂寒い。",
    "japanese quotation goes on": "彼は「雨です。」と言った。⟂帰った。",
    "chinese quotation": "他说：“走吧。”⟂她走了。",
    "halfwidth stop": "ﾊﾚ｡⟂ｱﾒ｡",
    "arabic and urdu": "هل هذا جيد؟ ⟂نعم. ⟂یہ کتاب ہے۔ ⟂اچھا",
    "hindi": "यह घर है। ⟂वह पेड़ है॥ ⟂ठीक",
    "armenian, amharic, burmese, khmer": "Այո։ ⟂ሰላም። ⟂မြန်မာ။ ⟂ខ្មែរ។ ⟂x",
    "cyrillic and greek": "Это дом. ⟂Да? ⟂Καλά. ⟂Ναι.",
    "thai has no stops": "สวัสดีครับ วันนี้อากาศดี ไปเที่ยวกันไหม",
    "hebrew has no case": "שלום. ⟂מה נשמע?",
}

# Lines, lists and blocks: the same marks, but for clauses.
BLOCKS = {
    "paragraphs": "One line\n\n⟂Two lines\n \n⟂Three",
    "bullets": "Bring:\n⟂- a hat\n⟂- a coat\n⟂* gloves\n⟂+ boots\n⟂• socks",
    "numbers": "1. Wash it.\n⟂2. Dry it. ⟂Well.\n⟂10) Wear it.\n⟂a) once\n⟂b) twice",
    "nested items": "- one\n  ⟂- two\n    ⟂1. three",
    "wrapped item": "- one that goes\n  on here\n⟂- two",
    "inline numbers": "1. Wash it ⟂2. Dry it ⟂3. Wear it",
    "inline numbers with brackets": "1) Wash it ⟂2) Dry it",
    "inline numbers with both": "1.) Wash it ⟂2.) Dry it. ⟂3.) Wear it",
    "inline letters": "a. Wash it ⟂b. Dry it ⟂c. Wear it",
    "inline numbers after a colon": "Steps: ⟂1. Open the app. ⟂2. Tap Settings. ⟂3. Choose Delete.",
    "inline numbers after a colon, without stops": "Steps: ⟂1. Open it ⟂2. Tap it",
    "inline letters after a colon": "Plan: ⟂a. Wash it. ⟂b. Dry it.",
    "inline numbers after a stop": "Do this. ⟂1. Open the app. ⟂2. Tap it.",
    "one number after a colon": "Children: 1. ⟂Genres: Folk.",
    "halves of a sentence after a colon": "You shall: a. hold it; b. mark it.",
    "items of a contract": "You agree to: ⟂1. Hold it; ⟂2. Mark it; or ⟂3. Burn it.",
    "a number that is no successor": "1. Wash it 7 times at 4) or so",
    "inline bullets": "We need: ⟂• salt ⟂• oil",
    "bullets with numbers": "• 9. Salt ⟂• 10. Oil",
    "heading": "# Dr. Who? What. Now\n⟂Text",
    "heading in mid-text": "Text\n⟂## 2. Results! And more\n\n⟂Text. ⟂Text",
    "hash and pipe in mid-line": "It is done. ⟂# no heading. ⟂| no row. ⟂Then",
    "table": "| a. B | c |\n⟂|---|---|\n⟂| One. Two! | 3 |\n\n⟂Text",
    "table without outer pipes": "a | b\n⟂c | d",
    "table of numbers without outer pipes": "1. x | 2. y\n⟂1. X | 2. Y | B. Z\n⟂1) x | 2) y",
    "block quote": "He said:\n⟂> Go. ⟂Now.\n⟂> Then\n⟂Text",
    "line with a colon": "Note:\n⟂text",
    "separate lines": "Red apples\n⟂Green pears\n⟂Done",
    "labels": "Title: a rather long title that fills most of the line it stands on\n⟂Year: 1990\n⟂**By:** A. Lee",
    "wrapped prose": "this line is wrapped because it is rather long, so the\nUnited States come second. ⟂Then",
    "wrapped at an article": "he went to the\nNile",
    "wrapped after a title": "He met Mr.\nFox. ⟂He left.",
    "line ends": "A b.\r\n⟂C d.\r⟂E f.\x85⟂G h.\u2028⟂I j.\u2029⟂K l.\v⟂M n.\f⟂O",
    "carriage returns in a paragraph break": "Red apples\r\n\r\n⟂green pears",
    "code": "Run:\n⟂```py\nx = 1. \ny! Z\n\nprint()\n```\n⟂Done. ⟂Ok",
    "code with tildes": "~~~\nA. B\n```\nC. D\n~~~\n\n⟂Text",
    "code in code": "````\n```\nA. B\n```\n````\n⟂Text",
    "indented code": "1. Run:\n   ⟂```\n   A. B\n   ```\n⟂2. Stop",
    "code that never closes": "```\nA. B\n\nC. D",
    "a fence inside a line": "Use ``` to open. ⟂Then",
    "inline code": "Use `a. B; C` and ``d` . E``. ⟂Then",
    "one tick": "It`s late. ⟂Go\n⟂On",
    "display mathematics": "So:\n⟂$$\nx = 1. \nY! Z\n$$\n⟂Then",
    "display mathematics in brackets": "So \\[ a. B\nC; D \\] holds. ⟂Then",
    "display mathematics in a line": "So $$a. B$$ and \\[c. D\\] hold. ⟂Then",
    "display mathematics with a command": "$$\\text{a. B}\nC. D",
    "mathematics that never closes": "$$\na. B\n\n⟂Text. ⟂Text",
    "mathematics that never closes in its paragraph": "So $$a. ⟂B\n\n⟂Text. ⟂Text$$",
    "mathematics that closes too far away": f"So $$a. ⟂B {'x' * 200}$$",
    "brackets that never close": "Use \\[ to open it. ⟂Then close it. ⟂\\[x] is to do. ⟂Then",
    "line breaks in mathematics": "Use \\\\[2pt] there. ⟂Then",
    "dollars": "It costs $$$. ⟂Or $$ less. ⟂Ok",
    "dollars as a price range": "**Joe's** ($$) – Great. ⟂**Ann's** ($$) – Open. ⟂Range: $$. ⟂Or $$/night. ⟂Or $$-$$$. ⟂Ok",
    "dollars at the start of a line": "$$ – Cheap. ⟂Open late.",
    "leading white space": "\n\n  Hello. ⟂You",
    "only white space": " \n\n ",
}

# Clauses inside a sentence.
STATEMENTS = {
    "two statements": "The store opens at nine, ⟂and it closes at five.",
    "but and a noun": "She is tall, ⟂but her brother is short.",
    "so": "It was late, ⟂so we left.",
    "yet": "He trained hard, ⟂yet he lost.",
    "or": "You can pay now, ⟂or you can pay later.",
    "a verb that could be a noun": "She works for Acme, ⟂and her brother plays the flute.",
    "a verb that could be a participle": "The law was debated, ⟂and the board approved the plan.",
    "a verb without a subject": "The firm was small, and steadily extended its reach.",
    "nouns that could be verbs": "He handles sales, and customer returns.",
    "contraction": "The room is small, ⟂but it’s bright.",
    "semicolon": "Refunds take 30 days; ⟂exchanges are free.",
    "semicolon and connective": "The fee is due; ⟂however, it can be waived.",
    "semicolon and conjunction": "The fee is due; ⟂and we will ask for it.",
    "semicolons in a list": "We visited Rome, Italy; Paris, France; and Bonn.",
    "html entity": "He likes R&amp;B &amp; she is fine.",
    "list": "Paris, London, and Rome are cities.",
    "list as an object": "He said the dog, the cat, and the bird were lost.",
    "list of verbs": "She is smart, kind, and is a doctor.",
    "condition": "If you return it within 30 days, and you have a receipt, we refund you.",
    "condition inside": "We refund you if you return it, and you have a receipt.",
    "so that": "He left early, so that he would not be late.",
    "open bracket": "The fee (it is low, and it is fair) is due.",
    "open quote": 'He said "it is low, and it is fair" twice.',
    "no verb on the left": "A hat, a coat, and it is done.",
    "relative clause on the right": "He likes the house, and the man who is in it.",
    "a title": "She was in Friends, and That's Life.",
}


def clauses(tokens: Iterable[str]) -> list[Clause]:
    segmenter = ClauseSegmenter()
    found = [clause for token in tokens for clause in segmenter.feed(token)]
    return found + segmenter.finish()


def check_marks(marked: str, cut: Iterable[str]) -> None:
    assert CUT.join(cut) == marked


@pytest.mark.parametrize("marked", SENTENCES.values(), ids=SENTENCES.keys())
def test_sentences_end_where_a_reader_ends_them(marked: str) -> None:
    check_marks(marked, split_sentences(marked.replace(CUT, "")))


@pytest.mark.parametrize("marked", BLOCKS.values(), ids=BLOCKS.keys())
def test_lines_and_blocks_are_cut_by_their_structure(marked: str) -> None:
    check_marks(marked, split_clauses(marked.replace(CUT, "")))


@pytest.mark.parametrize("marked", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_a_sentence_is_cut_only_between_full_statements(marked: str) -> None:
    text = marked.replace(CUT, "")
    found = clauses([text])
    check_marks(marked, (clause.text for clause in found))
    assert [clause.ends_sentence for clause in found] == [False] * (len(found) - 1) + [True]
    assert split_sentences(text) == [text]


def test_a_clause_knows_its_place_and_its_kind() -> None:
    text = "# Title\n\nText. More.\n- item. And more\n| a |\n```\ncode\n```\nEnd"
    found = clauses([text])
    assert [(clause.kind, clause.text) for clause in found] == [
        ("heading", "# Title\n\n"),
        ("prose", "Text. "),
        ("prose", "More.\n"),
        ("item", "- item. "),
        ("prose", "And more\n"),
        ("row", "| a |\n"),
        ("code", "```\ncode\n```\n"),
        ("prose", "End"),
    ]
    assert all(text[clause.start : clause.end] == clause.text for clause in found)


def test_a_clause_comes_as_soon_as_the_next_word_begins() -> None:
    segmenter = ClauseSegmenter()
    assert segmenter.feed("It is late. ") == []
    assert segmenter.held == "It is late. "
    assert [clause.text for clause in segmenter.feed("W")] == ["It is late. "]
    assert segmenter.held == "W"
    assert [clause.text for clause in segmenter.finish()] == ["W"]
    assert segmenter.held == ""


def test_empty_streams_and_tokens_give_no_clauses() -> None:
    assert clauses([]) == clauses(["", ""]) == []
    assert split_clauses("") == split_sentences("") == []


def test_feeding_a_finished_segmenter_is_refused() -> None:
    segmenter = ClauseSegmenter()
    segmenter.finish()
    assert segmenter.finish() == []
    with pytest.raises(ConfigError, match="after finish"):
        segmenter.feed("x")


@pytest.mark.parametrize("token", [None, b"x", 1, ["x"]], ids=["None", "bytes", "int", "list"])
def test_a_token_that_is_no_text_is_refused(token: object) -> None:
    with pytest.raises(DirectorError, match="must be a str"):
        ClauseSegmenter().feed(token)  # type: ignore[arg-type]


def test_a_hostile_subclass_of_str_is_copied_without_calling_it() -> None:
    class Hostile(str):
        __slots__ = ()

        def __radd__(self, other: str) -> str:
            raise RuntimeError

        __add__ = __getitem__ = __len__ = __iter__ = __format__ = __str__ = __radd__  # type: ignore[assignment]

    found = clauses([Hostile("It is "), Hostile("late. Go.")])
    assert [clause.text for clause in found] == ["It is late. ", "Go."]
    assert {type(clause.text) for clause in found} == {str}


# Forced cuts.


def test_text_without_a_border_is_cut_after_white_space_before_the_limit() -> None:
    found = clauses(["word " * 2000])
    assert all(clause.text.endswith("d ") and 1800 < len(clause.text) <= MAX_CLAUSE for clause in found[:-1])
    assert not any(clause.ends_sentence for clause in found[:-1])
    assert found[-1].ends_sentence


def test_a_border_beyond_the_limit_does_not_count() -> None:
    assert [len(clause) for clause in split_clauses("x" * 1999 + ". Then")] == [2000, 5]
    assert [len(clause) for clause in split_clauses("x" * 1998 + ". Then")] == [2000, 4]
    assert [len(clause) for clause in split_clauses("x" * 2000)] == [2000]
    assert [len(clause) for clause in split_clauses("x" * 2001)] == [2000, 1]


def test_code_is_cut_at_the_limit_and_stays_code() -> None:
    found = clauses(["```\n" + "x. Y\n" * 1000 + "```\nEnd"])
    assert [clause.kind for clause in found] == ["code"] * (len(found) - 1) + ["prose"]
    assert max(len(clause.text) for clause in found) <= MAX_CLAUSE


CLUSTERS = {
    "family": "👩\u200d👩\u200d👧\u200d👦",
    "flag": "🇩🇪",
    "skin tone": "👍🏽",
    "accent": "e\u0301",
    "hangul": "\u1112\u1161\u11ab",
    "keycap": "1\ufe0f\u20e3",
    "devanagari": "क्षि",
}


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS.keys())
@pytest.mark.parametrize("shift", range(4))
def test_a_forced_cut_keeps_grapheme_clusters_whole(cluster: str, shift: int) -> None:
    text = "x" * shift + cluster * 1500
    whole = regex.findall(r"\X", text)
    cut = [part for clause in split_clauses(text) for part in regex.findall(r"\X", clause)]
    assert cut == whole


def test_ten_thousand_combining_marks_are_cut_at_the_limit() -> None:
    assert [len(clause) for clause in split_clauses("a" + "\u0301" * 9999)] == [2000] * 5


@pytest.mark.parametrize("joiner", ["\u0301", "\u200d", "\ufe0f", "\U0001f3fd"], ids=["mark", "zwj", "vs16", "tone"])
@pytest.mark.parametrize("stop", [". ", "。", "! ", "; "], ids=["stop", "ideographic", "exclamation", "semicolon"])
def test_no_border_parts_a_mark_from_what_it_stands_on(stop: str, joiner: str) -> None:
    text = f"It is late{stop}{joiner}It is dark."
    for clause in split_clauses(text)[1:]:
        assert clause[0] != joiner


# Laws.

FRAGMENTS = [
    *("The U.S. ", "Dr. Smith ", "e.g. ", "it is ", ", and ", ", but it is ", "; ", ". ", ".", "! ", "? ", "?!"),
    *("...", " . . .", ". . . . ", "…", "\n", "\n\n", "\r\n", "\r", "\u2028", "- ", "1. ", "2. ", "3) ", "a) ", "b) "),
    *("# ", "## H\n", "| a | b |\n", "|", "```", "```py\n", "~~~\n", "`", "``", "`a. B`", "$$", "\\[", "\\]", "$"),
    *("• ", "⁃9. ", '"', "”", "“", "(", ")", "[1]", "[...]", "*", "**", "_", "。", "！", "」", "と", "「", "।", "؟ "),
    *("é", "e\u0301", "\u0301", "\ufe0f", "\u200d", "👩\u200d💻", "🇩🇪", "🇩", "\x00", "\ud800", "word ", "Word "),
    *("i ", "I ", "it ", "they ", "iPhone ", "x", "X. ", "p. 5 ", "No. ", "3.14 ", "v2.0.1 ", "http://a.b/c. "),
    *("a.m. ", "was ", "the ", "The ", ": ", ":\n", "> ", "  ", "\t", " " * 40, "x" * 40, " \u0301", "so ", "that "),
    *(
        "Steps: 1. ",
        ": 1. X",
        "<br>",
        ".<br/>",
        "</p>",
        ".</",
        "<",
        ". »",
        "\u00a0» ",
        '": "',
        '\\"',
        '{"a": "',
        " | ",
        "| 2. ",
    ),
    *(
        "5 p.m. ",
        "q.d. ",
        "EST. ",
        "Monday ",
        "It is Acme Corp. ",
        "Sales fell ",
        "no. ",
        "app. ",
        "see ",
        "$$a",
        "$$ ",
        "($$) ",
    ),
    *("however, ", "Jan. 5 ", "&amp; ", "---\n", "The fee is due", "you have a receipt", "It is late.", "If it rains"),
]
SPECIAL = st.text(alphabet=" .!?…,;:\n\r`~$\\[]()|#*-\"'”1a2bAI。」\u0301\u200d\u2028andit")
MARKDOWN = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join)
TEXTS = st.one_of(SPECIAL, MARKDOWN, st.text(), MARKDOWN.map(lambda text: text + "x" * 2100 + text))


def partition(text: str, rnd: random.Random) -> Iterator[str]:
    longest = rnd.choice([1, 3, 8, 50, 400])
    at = 0
    while at < len(text):
        size = rnd.randint(1, longest)
        yield text[at : at + size]
        at += size


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_nothing_is_lost_and_nothing_is_too_long(text: str) -> None:
    found = clauses([text])
    assert "".join(clause.text for clause in found) == text
    assert [clause.start for clause in found] == [0, *(clause.end for clause in found)][:-1] or not found
    assert all(0 < len(clause.text) <= MAX_CLAUSE for clause in found)
    assert "".join(split_sentences(text)) == text


@settings(deadline=None, max_examples=100)
@given(TEXTS, st.randoms(use_true_random=False))
def test_token_borders_do_not_move_clause_borders(text: str, rnd: random.Random) -> None:
    assert clauses(partition(text, rnd)) == clauses(text) == clauses([text])


@settings(deadline=None, max_examples=100)
@given(TEXTS, st.integers(min_value=0))
def test_a_clause_once_given_is_never_taken_back(text: str, at: int) -> None:
    segmenter = ClauseSegmenter()
    early = segmenter.feed(text[: at % (len(text) + 1)])
    assert clauses([text])[: len(early)] == early
    assert "".join(clause.text for clause in early) + segmenter.held == text[: at % (len(text) + 1)]


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_no_border_falls_inside_a_line_end(text: str) -> None:
    cut = split_clauses(text)
    assert not any(a.endswith("\r") and b.startswith("\n") for a, b in pairwise(cut))


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_no_border_falls_inside_a_grapheme_cluster(text: str) -> None:
    whole = regex.findall(r"\X", text)
    assert [part for clause in split_clauses(text) for part in regex.findall(r"\X", clause)] == whole


def generated(count: int, fragments: int) -> list[str]:
    rnd = random.Random(20)
    return ["".join(rnd.choices(FRAGMENTS, k=rnd.randint(1, fragments))) for _ in range(count)]


@pytest.mark.parametrize("table", [SENTENCES, BLOCKS, STATEMENTS], ids=["sentences", "blocks", "statements"])
def test_every_split_of_the_texts_above_gives_the_same_clauses(table: dict[str, str]) -> None:
    for marked in table.values():
        text = marked.replace(CUT, "")
        whole = clauses([text])
        assert clauses(text) == whole
        assert all(clauses([text[:at], text[at:]]) == whole for at in range(1, len(text)))


@pytest.mark.parametrize("texts", [40, pytest.param(100, marks=pytest.mark.soak)])
def test_every_split_in_two_of_many_texts_gives_the_same_clauses(texts: int) -> None:
    differences = 0
    for text in generated(texts, 60):
        whole = clauses([text])
        differences += sum(clauses([text[:at], text[at:]]) != whole for at in range(1, len(text)))
    assert differences == 0


def test_twenty_partitions_of_a_hundred_texts_give_the_same_clauses() -> None:
    rnd = random.Random(3)
    differences = 0
    for text in generated(100, 120):
        whole = clauses([text])
        differences += sum(clauses(partition(text, rnd)) != whole for _ in range(20))
    assert differences == 0


# Linear work.

ADVERSARIAL = {
    "dots": ".",
    "spaced dots": ". ",
    "stops and spaces": "." + " " * 300,
    "spaces": " ",
    "quotes": '."',
    "numbers": "1. ",
    "conjunctions": ", and ",
    "statements": "x, and it is",
    "statements in a bracket": "(a, and it is ",
    "semicolons": "; a b c d e f ",
    "backticks": "`",
    "odd backticks": "` `` ``` ",
    "ticks and lines": "`a\n",
    "brackets": "(",
    "numbered brackets": "1) ",
    "newlines": "\n",
    "short lines": "a\n",
    "pipes": "|",
    "letters as numbers": "a. b. c. d. ",
    "acronyms": "U.S. ",
    "marks": "\u0301",
    "stops and marks": ".\u0301 \u0301",
    "ideographic stops": "。",
    "dollars": "$$ ",
    "fences": "```\n",
    "backslashes": "\\",
    "bullets": "• ",
    "flags": "🇩🇪",
    "letters": "x",
    "lists after colons": "x: 1. X ",
    "strings of json": '": "' + "X. " * 20,
    "tags": ".</b>",
    "half tags": ".<",
    "open brackets of mathematics": "\\[ ",
    "cells": "x | 1. ",
    "companies": "it is co. Xx ",
}


def count_calls(tokens: Iterable[str]) -> tuple[int, int]:
    """How many functions run while tokens are fed, and the most text ever held: no call reads more than that."""
    segmenter = ClauseSegmenter()
    calls, most = 0, 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for token in tokens:
            segmenter.feed(token)
            most = max(most, len(segmenter.held))
        segmenter.finish()
    finally:
        sys.setprofile(before)
    return calls, most


@pytest.mark.parametrize("unit", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_twice_the_text_is_at_most_twice_the_work(unit: str) -> None:
    text = unit * (3000 // len(unit))
    for cut in (list, lambda text: [text]):
        once, most = count_calls(cut(text))
        twice, _ = count_calls(cut(text * 2))
        assert twice <= 2.2 * once
        assert once <= 100 * len(text)
        assert cut is not list or most <= MAX_CLAUSE + LOOKAHEAD


@pytest.mark.parametrize(
    "unit", ["x", "word ", ".", "🇩🇪", "\u0301"], ids=["letters", "words", "dots", "flags", "marks"]
)
def test_one_token_of_ten_megabytes_is_cut(unit: str) -> None:
    text = unit * (10_000_000 // len(unit.encode()))
    found = split_clauses(text)
    assert max(map(len, found)) <= MAX_CLAUSE
    assert "".join(found) == "".join(split_sentences(text)) == text


@pytest.mark.parametrize("tokens", [200_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_very_many_tokens_of_one_character_are_cut(tokens: int) -> None:
    segmenter, text = ClauseSegmenter(), "It is late, ok. Go. "
    times = tokens // len(text)
    count = sum(len(segmenter.feed(token)) for _ in range(times) for token in text)
    assert count + len(segmenter.finish()) == 2 * times


def test_a_hundred_thousand_spaces_stay_with_the_text() -> None:
    text = "Late." + " " * 100_000 + "Go."
    found = split_clauses(text)
    assert "".join(found) == text
    assert found[0].startswith("Late. ")
    assert found[-1].endswith("Go.")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_twenty_partitions_of_ten_thousand_texts_give_the_same_clauses(seed: int) -> None:
    rnd = random.Random(1000 + seed)
    differences = 0
    for _ in range(500):
        text = "".join(rnd.choices(FRAGMENTS, k=rnd.randint(1, 120)))
        whole = clauses([text])
        differences += sum(clauses(partition(text, rnd)) != whole for _ in range(20))
    assert differences == 0
