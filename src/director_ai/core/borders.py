"""Where English sentences and statements end: closed word lists, and rules that read them.

Every rule here is a function of the text it is given. A rule that looks ahead answers None when more text could still
change its answer, so that the segmenter can wait instead of guessing.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from itertools import pairwise
from typing import Literal

from director_ai.core.grammar import (
    ADVERBS,
    CONDITIONS,
    CONNECTIVES,
    ENDS_SUBJECT,
    LIKELY_VERBS,
    NOT_A_SUBJECT,
    NOT_AFTER_PRONOUN,
    OBJECTS,
    POINTERS,
    PRONOUNS,
    SUBORDINATORS,
    SURE_VERBS,
    words,
)

__all__ = [
    "AFTER_STOP",
    "BULLETS",
    "CLOSERS",
    "LINE_ENDS",
    "Abbreviation",
    "Follows",
    "abbreviation",
    "after_formula",
    "ends_block",
    "graphemes",
    "is_enumerator",
    "is_item",
    "is_json_string",
    "is_paragraph",
    "is_schedule",
    "is_statement",
    "item_before",
    "lines_differ",
    "may_be_tag",
    "may_end",
    "small_start",
    "splits_grapheme",
    "verb_follows",
    "what_follows",
]

LINE_ENDS = "\n\r\v\f\x85\u2028\u2029"
BULLETS = "•⁃◦‣▪●"
CLOSERS = "\"'”’»)\\]}*_~`\ufe0e\ufe0f」』）】》〉"
_OPENERS = "\"'“‘«(\\[{*_~¿¡「『（【《〈"  # this and CLOSERS are for use in a character class

# What may stand between a stop and the next word. French puts a space before the mark that closes a quotation; where a
# letter follows that mark, it is German and opens one.
AFTER_STOP = re.compile(
    rf"""(?P<run>[.!?…‼⁇⁈⁉]+(?:[ ]\.(?!\w))*)
         (?P<close>(?:[{CLOSERS}]|\[\d{{1,3}}\]|[ \u00a0\u202f]»(?!\w)|</\w{{1,10}}>|<[bBhH][rR]\s?/?>)*)
         (?P<gap>\s*)
         (?P<open>[{_OPENERS}]*)
         (?P<word>[^\W_][\w'’-]*)?""",
    re.VERBOSE,
)
_BLOCK_TAG = re.compile(r"(?i:<[bh]r\b|</(?:p|div|li|ul|ol|dd|dt|t[dhr]|h[1-6]|blockquote|section|article)>)")
_MAYBE_TAG = re.compile(r"</?\w{0,10}\s?/?")
_LONGEST_STRING = 1000  # how far back a string of JSON is looked for: reading it at every stop must stay cheap
_JSON_STRING = re.compile(r'":\s{0,4}"[^"\\]*(?:\\.[^"\\]*)*')


def ends_block(tags: str) -> bool:
    """Whether a tag of HTML among these ends a block or a line, as white space does not."""
    return "<" in tags and _BLOCK_TAG.search(tags) is not None


def may_be_tag(text: str, at: int, limit: int) -> bool:
    """Whether a closing tag of HTML may be about to come: all that is there is its beginning."""
    return text.startswith("<", at) and _MAYBE_TAG.fullmatch(text, at, limit) is not None


def is_json_string(text: str, start: int, end: int) -> bool:
    """Whether the text at `end` is inside the string that is the value of a key of JSON."""
    key = text.rfind('":', max(start, end - _LONGEST_STRING), end)
    return key >= 0 and _JSON_STRING.fullmatch(text, key, end) is not None


@cache
def graphemes(pattern: str) -> re.Pattern[str]:
    """A pattern that knows grapheme clusters."""
    # Imported where it is needed: most streams are ASCII at their borders and never pay for it.
    compiled: re.Pattern[str] = importlib.import_module("regex").compile(pattern)
    return compiled


def splits_grapheme(text: str, at: int) -> bool:
    """Whether the characters on both sides of `at` are one to a reader."""
    after = text[at : at + 1]
    if after.isascii():
        return after == "\n" and text[at - 1] == "\r"
    match = graphemes(r"\X").match(text[at - 1 : at + 1])
    return match is not None and match.end() == 2


# Lines and lists.
_OPENS_LIST = re.compile(rf"\s*(?:[{BULLETS}]\s*)?\(?([0-9]{{1,3}}|[a-z])(\.\)|[.)])\s")
_NUMBER = re.compile(r"(?<=\s)\(?([0-9]{1,3}|[a-z])\Z")
_NEXT = {"": "1", **{str(n): str(n + 1) for n in range(1, 999)}, **dict(pairwise("abcdefghijklmnopqrstuvwxyz"))}
_SECOND = {"1": re.compile(r"\s2\.\s"), "a": re.compile(r"\sb\.\s")}
_AFTER_NUMBER = re.compile(r"(\.\)|[.)])\s")
_ENUMERATOR = re.compile(rf"[\s>{BULLETS}*+-]*\(?(?:\d{{1,3}}|[A-Za-z]|[ivxIVX]{{1,5}})\.?")
_MARKER = rf"(?:[-*+–]|\(?(?:\d{{1,3}}|[A-Za-z]|[ivx]{{1,5}})(?:\.\)|[.)]))(?=\s|\Z)|[{BULLETS}]"
_CELL = re.compile(r"\|\s?\(?(?:\d{1,3}|[A-Za-z])\Z")
_ITEM = re.compile(rf"[\s>]*(?:{_MARKER})")
_LINE_OPENER = re.compile(rf"{_MARKER}|[#|>]|```|~~~|\$\$|\\\[|---|\*\*\*|===|!\[")
_ENDS_IN_STOP = re.compile(rf"[.!?…][{CLOSERS}]*\Z")
_GAPS = re.compile(r"\s{2,}|[\f\u2029]")
_NEWLINE = re.compile(f"\r\n|[{LINE_ENDS}]")
_GOES_ON = re.compile(r"(?:,|\b(?:the|an?|of|and|or|to|in|for|with|by|from|is|are|was|were))\Z")


def is_item(text: str) -> bool:
    """Whether the text opens with a bullet or a number, as an item of a list does."""
    return _ITEM.match(text) is not None


def is_enumerator(text: str, start: int, end: int) -> bool:
    """Whether this stretch of text is nothing but the number of an item, or ends in that of a cell of a table."""
    if end - start >= 20:
        start = end - 6
    elif _ENUMERATOR.fullmatch(text, start, end):
        return True
    return text.find("|", start, end) >= 0 and _CELL.search(text, start, end) is not None


def item_before(text: str, start: int, at: int, limit: int, *, whole: bool) -> int | None:
    """Where an item starts whose number ends at `at`: the first of a list, after a colon, or the next one.

    0 where there is none, None if that is not yet clear. The clause before it starts at `start`.
    """
    if at - start < 4 or not text[at - 1].isalnum() or text[at - 2].isalpha():
        return 0  # no room for another item before this one, or a word
    number = _NUMBER.search(text, at - 4, at)
    if not number:
        return 0
    if text[at] == "." and number[0] in _SECOND and text[at - 3] == ":":
        has_second = _has_second(number[0], text, at + 1, limit, whole=whole)
        return has_second and number.start()
    opener = _OPENS_LIST.match(text, start, at)
    if not opener or _NEXT.get(opener[1].lstrip("0")) != number[1].lstrip("0"):
        return 0
    style = _AFTER_NUMBER.match(text, at, limit)
    if style is None:
        return None if limit - at < 3 and not whole else 0
    return number.start() if style[1] == opener[2] else 0


def _has_second(first: str, text: str, at: int, limit: int, *, whole: bool) -> bool | None:
    """Whether a second item is in sight: there is none in "Children: 1. Genres: Folk." Half a sentence is no item."""
    if at + 2 > limit:
        return False if whole else None
    if not text[at].isspace() or text[at + 1].islower():
        return False
    return _SECOND[first].search(text, at, limit) is not None or (False if whole else None)


def lines_differ(line: str, length: int, first: str) -> bool:
    """Whether a line and the one that begins with `first` are separate, rather than one text wrapped in two.

    `line` is what of the line is in the open clause; `length` is that of the whole line.
    """
    if _LINE_OPENER.match(first) or line.endswith((":", "$$", "\\]")) or " | " in line:
        return True
    if first.rstrip("*_").endswith(":"):
        return True  # a label
    if first.lstrip("\"'“‘«([{*_~")[:1].islower():
        return False
    tail = line[-40:]
    if _ENDS_IN_STOP.search(tail) or _GOES_ON.search(tail):
        return False  # the rule for stops has spoken, or the sentence cannot end here
    return is_item(line) or not 55 <= length <= 100  # the widths at which people wrap


def is_paragraph(gap: str) -> bool:
    """Whether this white space holds a blank line or another end of a paragraph."""
    return gap not in {" ", "\n"} and (len(_NEWLINE.findall(gap)) > 1 or "\u2029" in gap or "\f" in gap)


def after_formula(text: str, at: int, limit: int, fence: str, *, whole: bool) -> int | None:
    """Where a formula inside a line that opens at `at` is over; `at` if no end is in sight: then it is plain text."""
    closing = text.find(fence, at, limit)
    if not whole and (closing < 0 or closing + 2 == limit):
        return None
    is_price = fence == "$$" and text.startswith("$$$", closing)
    is_far = closing < 0 or is_price or any(map(is_paragraph, _GAPS.findall(text, at, closing)))
    return at if is_far else closing + 2


# Abbreviations, in lower case and without their last full stop.
_TITLES = words(
    "mr mrs ms mx dr prof gen col lt sgt capt cmdr cpl maj adm sen rep gov pres rev hon messrs mme mlle supt det insp "
    "fr mt drs pvt ps p.s"
)
_NEVER_LAST = words("e.g eg i.e vs v cf viz ca approx esp incl resp aka a.k.a est")
_BEFORE_NUMBER = words("p pp nos nr n° № fig figs vol vols ch chap sect eq eqs pt para ver ext tel ed")
_WORDS_TOO = words("sec art ref refs app tab")  # "App. 5" or "see app. 5", but "close the app. 5 minutes later"
_BEFORE_REFERENCE = words("see in under per from by of cf.")
_BEFORE_ANSWER = words(  # "room no. 5", but "the answer is no. 5 people agreed"
    "is was be been isn't wasn't a or say says said saying answer answers answered reply replies replied vote votes "
    "voted mean means meant oh, well, simply still probably definitely"
)
_COMPANIES = words("inc ltd corp co llc plc gmbh")
_TIMES = words("a.m p.m q.d b.i.d t.i.d q.i.d q.o.d q.h q.h.s p.r.n m.p.h r.p.m a.s.a.p")  # of the day, and of doses
_MAY_BE_LAST = words(
    "bros jr sr esq dept univ assn assoc intl ave blvd rd st hwy al ft min max avg ph.d m.sc b.sc ed.d s.p.a mfg natl"
)
_CALENDAR = words(
    "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun"  # "Sat." not "sat."
)
_AFTER_TIME = _CALENDAR | words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december eastern central mountain pacific atlantic greenwich zulu"
)
_SCHEDULE = re.compile(r"(?:[\W\d_]|[ap]\.?m\b|to\b|noon\b)*")
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_LIKE_NUMBER = re.compile(r"\d.*|[IVXLC]{2,}|[B-HJ-Z]")  # "A" and "I" are words first

# Words that open a sentence far more often than they go on with a name: what may follow "U.S." or "Inc." in a new one.
_STARTERS = words(
    "The This That These Those There Then They He She It We You I A An His Her Its Their Our My Your In On At By For "
    "From With After Before During When While If Although Though Because Since As But And So Or Yet However Therefore "
    "What Who Why How Where Which Is Are Was Were Do Does Did Has Have Had Can Could Will Would Should Might Must Not "
    "Yes All Some Many Most Each Every Both Another One Also Here Now Today Once Until Let Let's Please Just Even Only "
    "Well Oh It's That's He's She's They're We're You're I'm I've There's Don't To Under Over Between Despite Unlike "
    "Additionally Furthermore Moreover Meanwhile Nevertheless Instead Overall Finally First Second Later"
)


Abbreviation = Literal["never last", "before number", "before digits", "time", "company", "may be last"]


def abbreviation(word: str, previous: str = "") -> Abbreviation | None:
    """How the word before a full stop abbreviates; None for an ordinary word. `previous` is the word before it."""
    if len(word) > 6 and "." not in word:
        return None  # longer than any in the lists
    key = word.lower()
    is_capital = word[:1].isupper()
    is_acronym = len(word) > 1 and word.isupper()  # "CA." is a state, "ca." is not
    if (key in _TITLES and is_capital) or (key in _NEVER_LAST and not is_acronym):
        return "never last"
    if key in _BEFORE_NUMBER or _refers(key, previous.lower(), is_capital=is_capital):
        return "before number"
    if len(word) == 1 and word.islower():  # "b. 1950"
        return "before digits"
    if word in _TIMES:
        return "time"
    if key in _COMPANIES:
        return "company"
    is_initial = len(word) == 1 and is_capital
    is_date = key in _CALENDAR and is_capital
    if is_initial or is_date or key in _MAY_BE_LAST or ("." in word and _DOTTED.fullmatch(word)):
        return "may be last"
    return None


def _refers(key: str, previous: str, *, is_capital: bool) -> bool:
    """Whether an ordinary word is an abbreviation before a number."""
    if key == "no":
        return is_capital or previous not in _BEFORE_ANSWER
    return key in _WORDS_TOO and (is_capital or previous in _BEFORE_REFERENCE)


def may_end(kind: Abbreviation, following: str, *, initial: bool) -> bool:
    """Whether the stop of an abbreviation also ends its sentence, before the word `following`.

    `initial` says that `following` has a full stop of its own, as in "J. R. R. Tolkien".
    """
    if kind == "before number":
        return not _LIKE_NUMBER.fullmatch(following)
    if kind == "before digits":
        return not following[0].isdigit()
    plain = following.replace("’", "'")
    if kind == "time" and len(following) > 1:
        is_zone = following.isupper()
        day = plain.replace("'", "-").partition("-")[0].lower()
        return following[0].isupper() and not is_zone and day not in _AFTER_TIME
    return kind != "never last" and not initial and plain in _STARTERS


def is_schedule(text: str, start: int, end: int) -> bool:
    """Whether there are only times of day here, as before "Breakfast" in "9 a.m. Breakfast"."""
    return end - start < 40 and _SCHEDULE.fullmatch(text, start, end) is not None


def verb_follows(text: str, at: int, limit: int, *, whole: bool) -> bool | None:
    """Whether the word after the one that ends at `at` is a finite verb; None while that word may go on."""
    match = _NEXT_SMALL.match(text, at, limit)
    if match and match.end() == limit and not whole:
        return None
    return match is not None and match[1] in SURE_VERBS


# Words that open a sentence even where its writer does not care for capitals.
_SMALL_STARTERS = words("i it he she we they you there this please if thanks i'm i've it's they're you're don't")
_LINKS = words("http https www")


def small_start(word: str, before: str = "") -> bool:
    """Whether a word in lower case opens a sentence: a link or a name like "iPhone" does.

    After a plain word in lower case, which is hardly an abbreviation or a name like "Yahoo!", so does a pronoun.
    """
    if word[1:2].isupper() or word in _LINKS:
        return True
    is_plain = len(before) > 2 and before.islower() and before.isalpha()
    return is_plain and word.replace("’", "'") in _SMALL_STARTERS


_WORD = re.compile(r"[\w'’%$€£-]+")
_NEXT_SMALL = re.compile(r"\s([a-z]*)")
_CONTRACTION = re.compile(r"(?:i|he|she|it|we|they|you|that|there|this)'(?:s|re|ll|d|ve|m)")

Follows = Literal["pronoun", "noun", "nothing"]


def what_follows(text: str, at: int, limit: int, *, whole: bool) -> Follows | None:
    """Which kind of subject opens a statement at `at`: a pronoun, a noun phrase, or no statement that we can see.

    Only text before `limit` is read; unless it is `whole`, a word that touches the limit may go on, so the answer is
    None until enough words have come.
    """
    first = previous = ""
    for _ in range(8):
        match = _WORD.match(text, at, limit)
        if (match is None and at < limit) or (match is None and whole):
            return "nothing"
        if match is None or (match.end() == limit and not whole):
            return None
        word = match[0].lower().replace("’", "'")
        comma = text[match.end() : match.end() + 1] == ","
        at = match.end() + (2 if comma else 1)
        if not first and (word in CONNECTIVES or (word.endswith("ly") and match[0].islower())):
            continue
        verdict = _judge_word(first, previous, word, spelled=match[0])
        if verdict:
            return verdict
        if text[match.end() : match.end() + 1] != " ":
            return "nothing"
        first, previous = first or word, word
    return "nothing"


def _judge_word(first: str, previous: str, word: str, *, spelled: str) -> Follows | None:
    """What `word` adds to a phrase from `first` to `previous`; None when the phrase is still open."""
    if not first:
        if (_CONTRACTION.fullmatch(word) or word in PRONOUNS) and spelled[0] not in "iI" and spelled[0].isupper():
            return "nothing"  # in mid-sentence, a title: "Friends, and That's So Raven"
        if _CONTRACTION.fullmatch(word):
            return "pronoun"
        is_participle = word.endswith(("ing", "ed")) and not spelled[0].isupper()
        hopeless = word in NOT_A_SUBJECT and word not in POINTERS
        return "nothing" if hopeless or is_participle or word in LIKELY_VERBS else None
    if first in PRONOUNS:
        if word in ADVERBS:
            return None
        return "nothing" if word in NOT_AFTER_PRONOUN or not word[0].isalpha() else "pronoun"
    if word in SURE_VERBS:
        return "pronoun" if first in POINTERS else "noun"
    if previous != first and word in OBJECTS and (previous in LIKELY_VERBS or previous.endswith("ed")):
        return "noun"  # "her firm works the land": what could be a noun or a participle has an object
    return "nothing" if word in ENDS_SUBJECT or first == "that" or word in PRONOUNS else None


def is_statement(text: str, *, whole_phrase: bool) -> bool:
    """Whether `text` can stand alone: it has a finite verb, hangs on no "if" or "when", closes its brackets.

    With `whole_phrase` the part after the last comma must have a verb, too: "the dog, the cat" may be a list.
    """
    if _is_open(text):
        return False
    said = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    while said and (said[0] in ADVERBS or said[0] in {"and", "but", "so", "or", "yet"}):
        del said[0]
    if not said or said[0] in SUBORDINATORS or not CONDITIONS.isdisjoint(said):
        return False
    if said[0] in {"by", "in", "on", "without", "with"} and said[1:2] and said[1].endswith("ing"):
        return False
    if whole_phrase and "," in text:
        tail = _WORD.findall(text[text.rindex(",") :].lower().replace("’", "'"))
        return _has_verb(said) and _has_verb(tail)
    return _has_verb(said)


def _is_open(text: str) -> bool:
    """Whether a bracket or a quotation is open at the end of the text."""
    is_bracket = any(text.count(left) > text.count(right) for left, right in ("()", "[]", "“”"))
    return is_bracket or text.count('"') % 2 == 1


def _has_verb(said: list[str]) -> bool:
    for before, word in pairwise(said):
        if before in PRONOUNS or word in SURE_VERBS or _CONTRACTION.fullmatch(word):
            return True
        if before != "to" and (word in LIKELY_VERBS or (word.endswith("ed") and len(word) > 4)):
            return True
    return bool(said) and _CONTRACTION.fullmatch(said[0]) is not None
