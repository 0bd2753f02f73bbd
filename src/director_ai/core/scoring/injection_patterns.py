"""Stage 1 of injection detection: which signs of an instruction that nobody entitled gave are in a text.

A text is freed from disguise, decoded, and read as one code per word. A rule is a phrase over these codes with bounded
gaps, so that the work grows with the text and not with what it holds.
"""

from __future__ import annotations

import base64
import codecs
import html
import math
import re
import unicodedata
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from director_ai.core.borders import graphemes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Signal", "clean", "find_signals", "score_signals"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One sign of an injection; it names a rule and never holds the text."""

    family: str
    rule: str
    weight: float
    """How much it says if it is alone, from 0 to 1."""


WORDS: Final = {
    "FORGET": "ignore ignoring disregard disregarding forget forgetting",
    "IGNORE": "ignore ignoring disregard disregarding forget forgetting bypass override overrule neglect discard",
    "EARLIER": "previous prior above earlier preceding foregoing former old original initial existing before "
    "previously aforementioned",
    "LATER": "below following after next subsequent later",
    "PROMPT": "instruction prompt directive ruleset",
    "LIMIT": "guideline restriction safeguard guardrail constraint programming",
    "MATTER": "text word sentence conversation context everything input",
    "WHOLE": "full entire complete exact system secret hidden initial original previous prior above internal own "
    "current additional last old first real starting",
    "HIDDEN": "system hidden secret internal initial developer",
    "COPY": "repeat print reveal output display recite leak disclose expose echo dump spell copy paste return quote",
    "SHOW": "repeat print reveal output display recite leak disclose expose echo dump spell copy paste return quote "
    "summarize summarise translate rephrase paraphrase restate rewrite format convert list explain describe show "
    "encode transcribe outline rap",
    "TELL": "write tell give provide state share say send type",
    "SAY": "say print output respond reply answer write return proclaim repeat echo display state type declare utter "
    "complete",
    "SECRET": "password passcode passphrase credential",
    "ANSWER": "response reply answer output completion solution summary",
    "ADD": "add include insert append embed integrate incorporate introduce weave blend put mention attach interweave "
    "infuse sprinkle feature inject merge prefix prepend adding including inserting embedding integrating "
    "incorporating supplementing merging",
    "TWIST": "scramble jumble shuffle encrypt encode cipher reverse rearrange invert randomize shift",
    "BEND": "scramble jumble shuffle encrypt encode cipher reverse rearrange invert randomize shift translate convert "
    "modify enhance adjust alter change enrich supplement augment",
    "FORM": "number name address id copy detail information date receipt photo reference invoice order phone contact "
    "signature document question comment feedback attachment resume account",
    "CODE": "code snippet block excerpt script fragment section",
    "BEGIN": "begin start prefix end preface open finish precede prepend",
    "MACHINE": "assistant bot ai llm chatbot agent gpt chatgpt robot",
    "ROLE": "assistant bot ai model interpreter dan character hacker terminal simulator persona chatbot gpt chatgpt "
    "robot",
    "TASK": "task mission objective",
    "MODAL": "must should will shall can may",
    "BE": "is are be was were",
    "READS": "reading summarizing summarising processing parsing reviewing answering responding replying translating "
    "analyzing evaluating",
    "PAPER": "document page text email resume file article",
    "SAFETY": "safety content security ethical moral ethic filter guardrail safeguard verification authentication "
    "censorship",
    "SENSITIVE": "conversation history password credential secret prompt transcript inbox",
    "SENDS": "send post forward upload transmit exfiltrate email submit leak",
    "INFORM": "tell telling inform informing notify notifying alert alerting asking",
    "VOID": "invalid ignored obsolete outdated void cancelled canceled suspended illegal superseded disregarded "
    "overridden irrelevant fake lifted",
    "POLITE": "please now then just only and must should simply always also instead finally first to will can kindly "
    "immediately so you do",
    "GIVEN": "entered provided input given accepted received confirmed verified typed supplied found",
}
"""Classes of words; a plural counts as its singular."""

RULES: Final = """
override .90 FORGET ~4 EARLIER ~3 PROMPT|LIMIT|direction
override .75 IGNORE ~4 EARLIER ~3 PROMPT
override .60 ^ FORGET ~4 EARLIER ~3 rule|command
override .60 ^ FORGET ~3 EARLIER ~2 MATTER
override .75 IGNORE ~5 PROMPT ~4 above|before|below|following|given|got|told|received
override .75 IGNORE ~2 LATER ~2 PROMPT
override .60 ^ FORGET ~3 everything|anything|what|all ~3 above|before|said|told|except
override .55 ^ IGNORE all|any|every|your|my|these|those ~1 PROMPT|LIMIT
override .40 ^ IGNORE all|any|every|your|my|these|those ~1 rule|command|policy
override .40 ^ IGNORE the|this|that ~1 user|question|query|task
override .45 IGNORE|skip|disable|remove|deactivate ~2 SAFETY ~1 policy|filter|guideline|check|protocol|restriction
override .50 PROMPT ~6 BE ~3 VOID
override .45 your|EARLIER restriction|limitation|guideline|rule ~2 BE ~1 VOID
override .50 EARLIER PROMPT ~1 BE ~2 test|joke|example|mistake|over|fake
override .45 not|dont|never|stop ~1 follow|following|obey|obeying ~4 PROMPT|rule
override .45 new|updated|revised|real|actual|true PROMPT|TASK ~1 :
override .30 new|updated PROMPT .
override .45 new|real|actual|true TASK is
override .45 your new|real|true|actual|only ~1 TASK|role|goal|purpose|job is|now
override .50 your new|updated PROMPT
override .55 from now on|onward|onwards ,? SAY|always|never|act|ignore|treat|speak|only
override .40 from now on|onward|onwards ,? you|your|i
override .50 from now on ,? you ~3 act|answer|respond|reply|behave|pretend|ROLE
override .40 from this moment|point on|onward|forward
override .30 your EARLIER PROMPT
override .75 supersede|override|replace ~3 EARLIER ~2 PROMPT
override .40 follow|obey ~1 hidden|secret|embedded|my PROMPT|command
override .30 you should|must also do ~1 following
override .40 out of date PROMPT
override .55 you have|are|were ~1 been? reprogrammed|hijacked|jailbroken
override .45 stop everything
override .45 EARLIER|last simulation|session|prompt|roleplay ~1 BE|over|ended
override .30 change|changed|update|updated|replace|replaced ~1 your|the PROMPT
override .50 not|dont summarize|summarise|translate ~1 this|the|that PAPER
override .35 not|dont answer|process ~1 this|the|that question|request|input
override .30 instead ,? SAY|SHOW|TELL
override .45 instead of answering|summarizing|summarising|responding|replying|outputting|output|translating
role .55 you are|become now|hereby dan|playing|going|participating
role .55 you are|become now|hereby a|an|in|the ~3 ROLE|mode
role .30 you are|become now|hereby a|an|in
role .40 you will|shall|are now|going ~1 act|behave|play|pretend|simulate|roleplay
role .30 act|behave|pose|respond|answer as|like ~1 if|though|a|an|the|my
role .20 pretend|roleplay|pretending
role .20 role play
role .30 pretend ~1 you are|were
role .75 dan|jailbreak|jailbroken|god|unrestricted|evil|unfiltered mode
role .60 unrestricted|unfiltered|uncensored|amoral ROLE
role .40 developer|sudo|admin|debug|test|diagnostic mode
role .30 switch|enter ~1 to|into? developer|sudo|admin mode
role .90 do anything now
role .50 stay|remain|staying in character
role .45 break|breaking|broken ~1 character
role .20 no|without|any ~1 restriction|limitation|filter|censorship|moral|ethic
role .30 not|no|never|longer bound|restricted|confined|constrained ~1 by|to
role .40 you ~3 not|no|never|longer ~2 refuse|refusing|abide|obey|adhere
role .30 as an ai
role .20 openai|chatgpt
role .45 i want|need|implore|command you ~1 to ~1 act|play|pretend|behave|respond|answer|repeat|say|ignore
role .45 you are a|an|my|the ~2 ROLE
role .55 you|youre are? no longer a|an|the|my ~3 ROLE
address .60 note|message|attention|dear|warning ~1 to|for? the|all? MACHINE
address .60 MACHINE ~1 READS this
address .50 if you are a|an ~2 MACHINE|model
address .55 when|before|while|after READS this|the ~1 PAPER ~2 , SAY|ADD|recommend|ignore|do|rate|conclude|dont
address .35 when|before|while|after READS ~6 this|the user|question|PAPER
address .45 the user|owner|customer has|have authorized|authorised|approved|asked|requested|allowed you
extract .80 SHOW ~3 your WHOLE? WHOLE? PROMPT
extract .55 SHOW ~3 your HIDDEN WHOLE? rule|guideline|configuration|programming
extract .35 SHOW ~3 your rule|guideline|configuration
extract .75 ^ SHOW ~3 EARLIER ~2 PROMPT
extract .30 ^ SHOW ~3 EARLIER ~2 rule|command
extract .50 ^ COPY ~3 EARLIER ~1 MATTER|line
extract .40 ^ COPY everything|text|word ~1 above|before
extract .55 ^ COPY ~2 MATTER above|before|preceding|prior
extract .50 ^ COPY|list|show|tell ~2 HIDDEN PROMPT|rule
extract .25 ^ SHOW ~3 EARLIER
extract .60 ^ COPY ~4 PROMPT ~2 above|below|verbatim
extract .45 ^ SHOW|TELL ~4 PROMPT ~2 above|below|verbatim
extract .60 SHOW|TELL ~4 PROMPT|rule|condition so far
extract .50 SHOW|TELL ~4 PROMPT|rule ~1 you were|got
extract .45 TELL ~3 your WHOLE? WHOLE? PROMPT
extract .30 ^ SHOW the ~1 PROMPT
extract .50 repeat|recite ~1 the ~1 rule ~1 back|above
extract .70 what|which is|are|was|were your WHOLE? WHOLE? PROMPT
extract .50 what|which ~4 your WHOLE? HIDDEN|first|original prompt
extract .35 what|which is|are|was|were your rule
extract .45 what|which is|are|was|were? the|your ~1 SECRET
extract .50 ^ tell|give|show|reveal me|us ~2 SECRET
extract .35 ^ COPY|show the|your|all ~1 SECRET
extract .50 reveal|leak|disclose|tell|repeat|spell ~3 access|secret|pass code|phrase|word|key
extract .30 COPY|show|give ~3 access|secret|api code|key|token
extract .40 HIDDEN prompt|instruction
extract .40 full|entire|original|preceding prompt
extract .25 your ~1 prompt|instruction|directive|ruleset
extract .40 PROMPT|rule|condition so far
extract .45 what|which ~1 condition|circumstance ~3 you ~2 SAY
extract .30 SHOW ~2 PROMPT ~1 above|below|to|in|into|as|back
extract .30 word for|by word
extract .30 ^ reveal|leak|expose|dump ~2 confidential|private|sensitive|internal|database|credential|secret
delimiter .45 end|begin|start|beginning of? the? user|system|old|new|real|untrusted|important? PROMPT|input
delimiter .20 end of document|file|message|text|data|context
delimiter .60 ignore|ignored PROMPT :
force .75 BEGIN ~1 your ANSWER ~2 with|by|as
force .70 prefix|preface your|the|each ANSWER|message
force .45 ^ SAY with|only|exactly|just|back|simply|following|phrase|word|the ~2 "
force .45 ^ SAY "
force .45 only|exactly|always|never ~1 SAY|reply|response ~2 "
force .45 just|simply print|output|respond|reply|return|write "
force .35 ^ SAY ~3 single|exact|only|one|following word|phrase|sentence|string
force .40 SAY ~1 only|exactly ~2 with? "|word|phrase
force .30 you|it MODAL only|always|now|also|not|never ~1 SAY
force .45 you MODAL ~1 SAY ~1 "|with
force .45 your ANSWER|message MODAL ~1 include|contain|start|begin|end|be|mention|recommend
force .35 SAY nothing|anything else
force .20 nothing else|afterward|afterwards
force .40 say|print|output|respond|reply|write|state|type|proclaim ~3 access granted
force .40 access granted|denied
force .40 ^ start|begin ~2 with ,? "|(
force .20 without|no|not|dont ~3 explanation|commentary|apologize|apologise|explain
force .45 if ~6 say|input|enter|type ~8 you MODAL ~1 SAY
answer .55 ^ ADD|BEND|use|employ !your|FORM ~20-FORM in|to|into|within|of|with your ~1 ANSWER
answer .45 ^ ADD|BEND in|within your ANSWER
answer .45 ^ BEND ~6 in|of your message
answer .15 ADD ~4 URL
answer .55 TWIST ~8 in|of? your ANSWER
answer .30 TWIST ~4 letter|word
answer .50 modify|enhance|enrich|adjust|alter your ANSWER to|by|with
answer .30 BEND your ANSWER
answer .35 in|of|within your ANSWER ,? ADD|BEND
answer .50 in|within your ANSWER ,? mention|claim|say|state that
answer .50 not|never|dont|avoid ~1 mention|include|reveal|discuss ~8-FORM in your ANSWER
code .30 ADD|use|utilize ~4 following|below|subsequent ~2 CODE
code .50 following|below|subsequent ~1 CODE ~8 your ~1 ANSWER|implementation|algorithm|codebase
code .35 following|below|subsequent ~1 CODE ~8 your|you ~1 code|framework|develop|work|explanation
code .35 your ~1 ANSWER|implementation|algorithm|codebase|code ~8 following|below|subsequent ~2 CODE
exfiltrate .60 SENDS ~8 SENSITIVE ~8 URL
exfiltrate .40 SENDS all|every|their|user ~8 URL
exfiltrate .30 base64|hex|rot13|morse encode|encoded|encoding|string
exfiltrate .30 encode|encrypt ~2 your ANSWER
tool .45 not|dont|never|without ~1 INFORM ~2 user
tool .30 not|dont|never INFORM ~1 user ~2 about|of|this|it|that
tool .25 execute|run ~2 following|this ~1 command
tool .40 ^ skip|bypass|disable ~1 verification|authentication|validation|approval
tool .25 call|invoke|execute|use ~3 tool|function|plugin
tool .40 delete|erase|wipe ~1 all|every|the ~3 file|email|data|record|database|table
authority .25 correct|valid SECRET|code|access ~3 GIVEN
authority .30 correct|valid|right SECRET|access
authority .50 ( correct|valid|right SECRET|access
authority .25 GIVEN ~2 correct|valid|right SECRET|access|code
authority .30 SECRET ~2 is|was|has ~2 correct|valid|accepted
authority .40 i|this am|is your creator|developer|administrator|admin|owner|programmer
authority .20 from|by your|the|my creator|developer|administrator|admin|programmer
authority .40 i authorize|authorise|command|order you
"""
"""Family, weight and phrase. "~3" is up to three words of any kind, "~3-FORM" none of them of the class FORM, "!" any
word but these, "^" the start of a command, "?" what may be left out, "|" a choice; capitals are classes of words."""

SHAPES: Final = {
    "delimiter .70 a model's own marks": r"<\|[a-z_]{2,24}\|>|\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>",
    "delimiter .45 a mark for a role": r"\[/?(?:system|prompt|instructions?|admin)\](?!\()"
    r"|</?(?:system|instructions?|prompt|user_input|admin)>",
    "delimiter .60 a message from a role": r"\[(?:system|admin|developer) ?-?:? ?"
    r"(?:note|message|override|update|instructions?|prompt|mode|command)\b[^\]\n]{0,30}\](?!\()",
    "delimiter .50 a heading of a prompt": r"#{2,6} ?(?:new |system |your )?(?:instructions?|system|prompt):",
    "delimiter .30 a turn of a conversation": r"\n[ \t\">*]{0,4}(?:system|assistant|user|human|ai|chatgpt|gpt) ?:",
    "delimiter .50 a hidden turn": r"<!--\s{0,9}(?:system|assistant|user|ai|llm|note to|instructions?)\b",
    "delimiter .60 a border of instructions": r"\n[^\w\n<]{2,40}(?:(?:begin|end|start|new|ignore)\b"
    r"[^\n]{0,30}?\b(?:instructions?|prompt|rules|input)\b|[^\n]{0,30}?\b(?:instructions?|prompt) (?:begin|end|start))",
    "delimiter .35 a border": r"\n[^\w\n<>/{}]{2,40}(?:begin|end|start)\b[^\n]{2,40}?[^\w\s<>/{}]{2}",
    "exfiltrate .70 an image that carries data": r"!\[[^\]\n]{0,99}\]\([^)\s]{4,200}?[?=][^)\s]{0,99}?"
    r"(?:\{|\[|<|%7b|secret|history|password|prompt)",
    "exfiltrate .50 a link that carries data": r"https?://[^\s)]{3,99}?[?=][\[<{]{1,2} ?"
    r"(?:conversation|chat|history|secret|password|prompt|system|user.?data)",
    "tool .30 a dangerous command": r"rm -rf [/~*]|os\.system|subprocess\.|shell=true|drop table|requests\.post|smtplib"
    r"|socket\.socket",
}
"""What no word tells: marks that imitate the frame of a conversation, and links that carry data away."""

ENCODED: Final = Signal(family="disguise", rule="an encoded sign", weight=0.5)
DISGUISED: Final = Signal(family="disguise", rule="words in disguise", weight=0.5)
HIDDEN: Final = Signal(family="disguise", rule="invisible text", weight=0.6)
REVERSED: Final = Signal(family="disguise", rule="a change of direction", weight=0.3)
WALL: Final = Signal(family="delimiter", rule="a wall of repetition", weight=0.45)

_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_DIRECTION: Final = re.compile("[\u202d\u202e]")
_TAGS: Final = re.compile("[\U000e0020-\U000e007e]{8,}")  # the flag of a country has six
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_NO_LETTER: Final = re.compile("[\ud800-\udfff\ufdf0-\ufdff]")  # half characters, and ligatures of whole sentences
_MARKS: Final = r"(\p{M}{3})\p{M}+"  # to bring thousands of them in order takes quadratic time
_ACCENTS: Final = re.compile("[\u0300-\u036f]+")
_LIKE: Final = "аеорсухіјѕһԁԛԝɡɑαοερτυνικβօսոհıøđłᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ℮ⱴ"
_LATIN: Final = "aeopcyxijshdqwgaaoeptuvikbounhiodlabcdefghijklmnoprstuvwyzev"
_LOOKALIKES: Final = str.maketrans(f"{_LIKE}{_LIKE.upper()}’‘“”«»„‟′＂", f'{_LATIN}{_LATIN.upper()}\'\'""""""\'"')
_SPACED: Final = re.compile(r"(?<!\w)\w(?:[ .*_-]\w(?!\w)){3,}")
_SPACER: Final = re.compile(r"[ .*_-]")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{24,}")
_HEX: Final = re.compile(r"(?:(?:\\x|0x)?[0-9a-fA-F]{2}[ ,:]?){12,}")
_NO_HEX: Final = re.compile(r"0x|[^0-9a-fA-F]")
_BITS: Final = re.compile(r"(?:[01]{8} ?){6,}")
_TOLD: Final = ("ignore", "instruction", "previous", "prompt", "system", "password", "disregard")
_BLANK_LINE: Final = re.compile(r"\n\s*\n")
_FILLER: Final = re.compile(r"[\s\d=_.*#|~+,\u2500-\u257f-]+")
_PIECE, _SHORTEST_WALL, _REPEATED = 240, 90, 0.18  # bytes, bytes, and compressed size by size


def clean(text: str) -> str:
    """Return the text as a reader sees it: nothing invisible, one form for each letter."""
    if text.isascii():
        return text
    text = _INVISIBLE.sub("", _NO_LETTER.sub("\ufffd", text))
    text = unicodedata.normalize("NFKD", graphemes(_MARKS).sub(r"\1", text))
    return _ACCENTS.sub("", text).translate(_LOOKALIKES)


def _unveil(text: str) -> str:
    """Return the text without the disguises that can be taken off for certain."""
    text = clean(text)
    if "&" in text:
        text = html.unescape(text)
    if "%" in text:
        text = unquote(text)
    return _SPACED.sub(lambda match: _SPACER.sub("", match[0]), text)


def _decoded(text: str) -> Iterator[str]:
    """What the encoded stretches of a text say; what is encoded inside them is not decoded again."""
    for match in _BASE64.finditer(text):
        yield _printable(base64.b64decode(match[0][: len(match[0]) // 4 * 4]))
    for match in _HEX.finditer(text):
        digits = _NO_HEX.sub("", match[0])
        yield _printable(bytes.fromhex(digits[: len(digits) // 2 * 2]))
    for match in _BITS.finditer(text):
        bits = match[0].replace(" ", "")
        yield _printable(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)))
    for turned in (codecs.encode(text, "rot13"), text[::-1]):
        folded = turned.casefold()
        if sum(word in folded for word in _TOLD) > 1:
            yield turned


def _printable(data: bytes) -> str:
    text = data.decode("utf-8", "ignore")
    return text if sum(map(str.isprintable, text)) >= 0.9 * len(data) else ""


def _invisible(text: str) -> str:
    """What is written in characters that nobody sees: tags stand for letters, selectors for bytes."""
    tags = "".join(chr(ord(mark) - 0xE0000) for run in _TAGS.findall(text) for mark in run)
    codes = [ord(mark) for run in _SELECTORS.findall(text) for mark in run]
    data = bytes(code - 0xFE00 if code < 0xFF00 else code - 0xE0100 + 16 for code in codes)
    return f"{tags}\n{data.decode('utf-8', 'ignore')}".strip()


_TOKEN: Final = re.compile(
    r"https?://|www\.|[^\W_]+(?:'[^\W_]+)*|\"|(?<![^\W_])'|'(?![^\W_])|[.!?;](?=[\s)]|$)|\n\s*\n|(?<=\w)@(?=\w)|[\n,:|({\[]"
)
_STOP, _LINE, _QUOTE, _LINK, _WORD = ".", "n", '"', "u", "w"
_SIGNS: Final = {
    '"': _QUOTE, "'": _QUOTE, ".": _STOP, "!": _STOP, "?": _STOP, ";": _STOP, "|": _STOP, "\n": _LINE, ":": ":",
    ",": ",", "(": "(", "{": "(", "[": "(", "http://": _LINK, "https://": _LINK, "www.": _LINK, "@": _LINK,
    "URL": _LINK,
}  # fmt: skip
_LEET: Final = (str.maketrans("013457", "oieast"), str.maketrans("013457", "oleast"))
_SHORTEST_STIRRED, _SHORTEST_GLUED, _LONGEST_WORD = 6, 20, 14


def _key(word: str) -> str:
    word = word.replace("'", "")
    return word[:-1] if len(word) > 3 and word[-1] == "s" != word[-2] else word


def _frame(key: str) -> str:
    """What is left of a word when its letters were stirred."""
    return f"{key[0]}{''.join(sorted(key[1:-1]))}{key[-1]}"


def _names(phrase: str) -> list[str]:
    """The classes and words that a phrase is made of."""
    parts = re.split(r"[ |?!]|~\d+-?", phrase)
    return [part for part in parts if part not in {"", "^"} and part not in _SIGNS]


_PHRASES: Final = tuple(line.split(maxsplit=2) for line in RULES.strip().splitlines())
_KEYS: Final = sorted(
    {
        _key(word)
        for *_, phrase in _PHRASES
        for name in (*_names(phrase), "POLITE")
        for word in WORDS.get(name, name).split()
    }
)
_CODES: Final = {key: chr(0x4E00 + place) for place, key in enumerate(_KEYS)}
"""One character for each word that any rule knows."""
_STIRRED: Final = {_frame(key): code for key, code in _CODES.items() if len(key) >= _SHORTEST_STIRRED}


def _members(choice: str) -> str:
    """The codes that one place of a phrase may hold."""
    return "".join(
        _SIGNS.get(name) or "".join(_CODES[_key(word)] for word in WORDS.get(name, name).split())
        for name in choice.split("|")
    )


def _element(part: str) -> str:
    """One place of a phrase as a regular expression over codes; a line may end behind it."""
    if part[0] == "~":
        most, _, barred = part[1:].partition("-")
        return f"[^{_STOP}{_members(barred)}]{{0,{most}}}?"
    if part == "^":
        return f"(?<=[{_STOP}{_LINE}{_QUOTE}:,({_members('POLITE')}])"
    if part[0] == "!":
        return f"[^{_STOP}{_members(part[1:])}]"
    if part[-1] == "?":
        return f"[{_members(part[:-1])}]?"
    return f"[{_members(part)}]{_LINE}?"


_RULES: Final = tuple(
    (Signal(family=family, rule=phrase, weight=float(weight)), re.compile("".join(map(_element, phrase.split()))))
    for family, weight, phrase in _PHRASES
)
_SHAPES: Final = tuple(
    (Signal(family=family, rule=name, weight=float(weight)), re.compile(shape))
    for (family, weight, name), shape in ((key.split(maxsplit=2), shape) for key, shape in SHAPES.items())
)


def _plain_code(word: str) -> str:
    return _SIGNS.get(word) or _CODES.get(_key(word)) or (_STOP if word[0] == "\n" else _WORD)


def _code(word: str) -> str:
    """The code of a word, or of the one it was made from: with digits for letters, stirred, or glued to others."""
    code = _plain_code(word)
    if code != _WORD or len(word) < 4:
        return code
    key = _key(word)
    if not key.isalpha():
        unmasked = (_key(key.translate(table)) for table in _LEET if not key.isdecimal())
        return next((_CODES[word] for word in unmasked if word in _CODES), _WORD)
    if len(key) >= _SHORTEST_GLUED:
        return _glued_codes(key) or _WORD
    return _STIRRED.get(_frame(key), _WORD) if len(key) >= _SHORTEST_STIRRED else _WORD


def _glued_codes(key: str) -> str:
    """The codes of words that were written without spaces; none where a quarter of the letters belongs to no word."""
    found, at, missed = "", 0, 0
    while at < len(key):
        sizes = range(min(_LONGEST_WORD, len(key) - at), 2, -1)
        size = next((size for size in sizes if key[at : at + size] in _CODES), 0)
        if size:
            found += _CODES[key[at : at + size]]
        elif (missed := missed + 1) * 4 > len(key):
            return ""
        at += size or 1
    return found


def find_signals(text: str) -> tuple[Signal, ...]:
    """Return every sign of an injection in a text, each once."""
    unveiled = _unveil(text)
    found = _read(text.casefold(), unveiled.casefold())
    inside = [layer.casefold() for layer in _decoded(unveiled) if layer]
    if hidden := _invisible(text):
        inside.append(hidden.casefold())
        found.append(HIDDEN)
    within = [signal for layer in inside for signal in _read(layer, layer)]
    if within:
        found += [*within, ENCODED]
    if _DIRECTION.search(text):
        found.append(REVERSED)
    if _has_wall(unveiled):
        found.append(WALL)
    return tuple(dict.fromkeys(found))


def score_signals(signals: Iterable[Signal]) -> float:
    """Return how likely it is that at least one of the signs is true: 1 − Π(1 − weight)."""
    return 1.0 - math.prod(1.0 - signal.weight for signal in signals)


def _read(text: str, unveiled: str) -> list[Signal]:
    """The signs in the words and marks of a text, and whether a disguise hid any of them."""
    plain = _STOP + "".join(map(_plain_code, _TOKEN.findall(text)))
    full = _STOP + "".join(map(_code, _TOKEN.findall(unveiled)))
    found = [signal for signal, shape in _SHAPES if shape.search(f"\n{unveiled}")]
    if plain == full:
        return found + [signal for signal, rule in _RULES if rule.search(full)]
    counts = [(signal, len(rule.findall(full)), len(rule.findall(plain))) for signal, rule in _RULES]
    found += [signal for signal, unmasked, shown in counts if unmasked or shown]
    return [*found, DISGUISED] if any(unmasked > shown for _, unmasked, shown in counts) else found


def _has_wall(text: str) -> bool:
    """Whether some stretch of the text is the same few characters again and again."""
    for part in _BLANK_LINE.split(text):
        bare = _FILLER.sub("", part).encode("utf-8", "replace")
        for at in range(0, len(bare), _PIECE):
            piece = bare[at : at + _PIECE]
            if len(piece) >= _SHORTEST_WALL and len(zlib.compress(piece, 1)) < _REPEATED * len(piece):
                return True
    return False
