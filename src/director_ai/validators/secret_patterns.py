"""Shapes of keys and passwords: those that providers issue, keys in blocks, and what is assigned to a telling name."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SECRETS", "Secret", "entropy"]

_START: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"


def entropy(text: str) -> float:
    """Return the bits per character that its own characters carry."""
    size = len(text)
    return -sum(count / size * math.log2(count / size) for count in Counter(text).values()) if size else 0.0


def _anything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Secret:
    """One way in which a secret is written; `hints` are plain texts of which one must be there, in lower case."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    """The group `it` is the secret itself; what stands around it stays."""
    placeholder: str = "[API_KEY]"
    holds: Callable[[str], bool] = _anything


def _issued(kind: str, hint: str, body: str, placeholder: str = "[API_KEY]") -> Secret:
    return Secret(kind, (hint,), re.compile(f"{_START}(?P<it>{body})"), placeholder)


def _mixed(text: str) -> bool:
    """Tell whether letters and digits stand mixed as no word has them."""
    return entropy(text) >= 2.5 and any(map(str.isdigit, text)) and any(map(str.isalpha, text))


_FILLED_IN: Final = r"password|passwd|secret|token|api_?key|example|placeholder|redacted|changeme|hidden"
"""Words for what belongs there, unless digits make them a password somebody has, and no name in a program."""
_BLANK: Final = re.compile(
    r"[\W_x0]*|[<{\[(].*|.*[>})\]]|\$(?:\w+|[{(].*)|%(?:[a-z]|\(.*|\w+%)|(?:process|os|env|self|config|settings)\..*"
    r"|(?:your|my|some|the|example|change|insert|enter|put)(?:[-_ ]\D*|_.*)"
    rf"|\D*(?:{_FILLED_IN})\D*|(?=\w*[._])[\w.]*(?:{_FILLED_IN})[\w.]*"
    r"|(?:[.~]?/[a-z][\w.-]{0,24}){2,}/?"
    r"|null|none|nil|true|false|undefined|string|str|int|text|user|pass|pwd|root|todo",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_BLANK: Final = 160
_IDENTIFIER: Final = re.compile(r"[A-Za-z]+-[a-z]+|[A-Za-z_][A-Za-z_]*(?:[.\[(].*)?", re.DOTALL)
_NOT_CALLED: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*[(\[].*", re.DOTALL)


def _is_blank(text: str) -> bool:
    """Tell whether something is still to be put there; nobody writes that at length, and it would cost too much."""
    return len(text) <= _LONGEST_BLANK and bool(_BLANK.fullmatch(text))


def _typed(text: str) -> bool:
    """Tell whether somebody may have chosen it as a password: no word, no name in a program, nothing to fill in."""
    text = text.rstrip(".,;:)]}")  # a short value is taken with what closes a call behind it
    return not (_is_blank(text) or _IDENTIFIER.fullmatch(text) or _NOT_CALLED.fullmatch(text))


def _quoted(text: str) -> bool:
    return not _is_blank(text)


def _key(text: str) -> bool:
    return _mixed(text) and _typed(text)


_PASSWORD: Final = r"(?i:pass(?:wor[dt]|wd|phrase|code)|kennwort|pwd)"  # noqa: S105 - a pattern
_KEY: Final = (
    r"(?i:api[ _-]?key|apikey|access[ _-]?key|secret[ _-]?key|auth[ _-]?key|signing[ _-]?key|encryption[ _-]?key"
    r"|account[ _-]?key|secret|token|credentials?)"
)
_NAME_REST: Final = (
    r"(?![\w-]{0,24}[_-](?:count|expires|expiry|file|header|hint|length|name|path|policy|ttl|type|uri|url)\b)"
    r"[\w-]{0,32}[\"'`*]{0,3}"
)
"""The end of a name, such as `_v2`; what a name says of a password, such as where it is kept, is none."""
_SET: Final = r"[ \t]{0,4}(?:=>|:=|==?|:)[ \t*]{0,4}"
_IS: Final = r"[ \t]{1,4}(?:is|was|ist|lautet|to)[ \t]{0,2}:?[ \t]{1,4}"
_IN_QUOTES: Final = (
    r"(?P<quote>[\"'`])(?P<it>(?!\s|[)\],;}][\s)\],;}.:])(?:[^\s\"'`]{4,128}|[^\"'`\n]{4,60})(?<![\s(]))(?P=quote)"
)
"""Not from the quote that closes a text, `input("Password: ")`, to that which opens the next one."""
_VALUE: Final = r"(?P<it>[^\s\"'`<>,;]{6,160}?)(?=[.,;:)\]}*]{0,3}(?:[\s\"'`<>,;]|\Z))"
_SAID: Final = r"(?P<it>[^\s\"'`<>,;]{6,160}?)(?=[.,;:!?)\]}*]{0,3}(?:[\s\"'`<>,;]|\Z))"
"""In a sentence, what ends the sentence is no part of it."""
_HINTS: Final = ("pass", "pwd", "kennwort")
_KEY_HINTS: Final = ("key", "secret", "token", "credential")
_BLOCK: Final = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"

_PROVIDERS: Final = (
    _issued("aws", "a", rf"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{{16}}{_END}"),
    _issued("github", "gh", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _issued("github", "github_pat_", r"github_pat_\w{22,}"),
    _issued("gitlab", "gl", r"gl(?:pat|dt|rt|ptt|ft|soat|agent|cbt|imt|oas|ffct)-[\w-]{16,}"),
    _issued("slack", "xox", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    _issued("slack", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    _issued("slack", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/[\w/+-]{20,}"),
    _issued("anthropic", "sk-ant-", r"sk-ant-[\w-]{16,}"),
    _issued("openai", "sk-", r"sk-(?!ant-)(?=[\w-]{0,64}\d)(?:[a-z]{2,8}-)?[A-Za-z0-9_-]{20,}"),
    _issued("google", "aiza", r"AIza[\w-]{35}"),
    _issued("google", "ya29.", r"ya29\.[\w-]{20,}"),
    _issued("google", "gocspx-", r"GOCSPX-[\w-]{20,}"),
    _issued("stripe", "k_", r"[srp]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    _issued("stripe", "whsec_", r"whsec_[A-Za-z0-9+/=]{16,}"),
    _issued("twilio", "k", rf"SK[0-9a-f]{{32}}{_END}"),
    _issued("sendgrid", "sg.", r"SG\.[\w-]{16,64}\.[\w-]{16,}"),
    _issued("npm", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    _issued("pypi", "pypi-", r"pypi-[\w-]{32,}"),
    _issued("huggingface", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _issued("digitalocean", "_v1_", r"do[opr]_v1_[0-9a-f]{40,}"),
    _issued("shopify", "shp", r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}"),
    _issued("databricks", "dapi", rf"dapi[0-9a-f]{{32}}(?:-\d)?{_END}"),
    _issued("telegram", ":aa", r"\d{8,10}:AA[\w-]{32,33}(?![\w-])"),
    _issued("groq", "gsk_", r"gsk_[A-Za-z0-9]{32,}"),
    _issued("xai", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    Secret("azure", ("accountkey=",), re.compile(r"AccountKey=(?P<it>[A-Za-z0-9+/]{40,}={0,2})")),
)

SECRETS: Final = (
    Secret(
        "private_key",
        ("private key", "age-secret-key-"),
        re.compile(rf"(?P<it>-----BEGIN {_BLOCK}(?s:.*?)(?:-----END {_BLOCK}|\Z)|AGE-SECRET-KEY-1[A-Z0-9]{{40,}})"),
        "[PRIVATE_KEY]",
    ),
    *_PROVIDERS,
    Secret(
        "jwt",
        ("eyj",),
        re.compile(rf"{_START}(?P<it>eyJ[\w-]{{8,}}(?:\.[\w-]{{8,}}\.[\w-]*|\.[\w-]*\Z|\Z))"),
        "[TOKEN]",
    ),
    Secret(
        "connection_string",
        ("://",),
        re.compile(
            r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,64}:(?P<it>[^\s/\"'<>]{1,128})@"
        ),
        "[PASSWORD]",
        _quoted,
    ),
    Secret(
        "bearer",
        ("bearer",),
        re.compile(rf"{_START}(?i:bearer)[ \t]{{1,4}}(?P<it>[A-Za-z0-9._~+/-]{{16,}}=*)"),
        "[TOKEN]",
        _mixed,
    ),
    Secret(
        "bearer",
        ("basic",),
        re.compile(r"(?i:authorization[\"']?[:=] ?[\"']?basic)[ \t]{1,4}(?P<it>[A-Za-z0-9+/]{8,}=*)"),
        "[TOKEN]",
    ),
    Secret("password", _HINTS, re.compile(f"{_PASSWORD}{_NAME_REST}{_SET}{_VALUE}"), "[PASSWORD]", _typed),
    Secret("password", _HINTS, re.compile(f"{_PASSWORD}{_NAME_REST}{_IS}{_SAID}"), "[PASSWORD]", _typed),
    Secret(
        "password",
        _HINTS,
        re.compile(rf"{_PASSWORD}{_NAME_REST}(?:{_SET}|{_IS}){_IN_QUOTES}"),
        "[PASSWORD]",
        _quoted,
    ),
    Secret(
        "api_key",
        _KEY_HINTS,
        re.compile(
            rf"{_KEY}{_NAME_REST}(?:{_SET}|{_IS})[\"'`]?(?P<it>[A-Za-z0-9_.~+/=-]{{12,}})(?![A-Za-z0-9_.~+/=(\[-])"
        ),
        "[API_KEY]",
        _key,
    ),
)
"""In this order: of two that overlap, the first one says what stands there."""
