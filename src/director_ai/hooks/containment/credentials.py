"""A small set of shapes of keys and passwords, enough to see that a text carries one."""

from __future__ import annotations

import re
from typing import Final

from director_ai.hooks.containment.arguments import key_words

__all__ = ["finds_credential", "names_credential"]

_SHAPES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("private key", re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY")),
    ("akia", re.compile(r"(?<![A-Za-z0-9])AKIA[A-Z2-7]{16}(?![A-Za-z0-9])")),
    ("asia", re.compile(r"(?<![A-Za-z0-9])ASIA[A-Z2-7]{16}(?![A-Za-z0-9])")),
    ("gh", re.compile(r"(?<![A-Za-z0-9])gh[opsru]_[A-Za-z0-9]{20}")),
    ("github_pat_", re.compile(r"(?<![A-Za-z0-9])github_pat_\w{22}")),
    ("glpat-", re.compile(r"(?<![A-Za-z0-9])glpat-[\w-]{16}")),
    ("xox", re.compile(r"(?<![A-Za-z0-9])xox[a-z]-[A-Za-z0-9-]{10}")),
    ("sk-", re.compile(r"(?<![A-Za-z0-9])sk-(?=[\w-]{0,64}\d)[\w-]{20}")),
    ("k_", re.compile(r"(?<![A-Za-z0-9])[rsp]k_(?:live|test)_[A-Za-z0-9]{10}")),
    ("aiza", re.compile(r"(?<![A-Za-z0-9])AIza[\w-]{35}")),
    ("eyj", re.compile(r"(?<![A-Za-z0-9])eyJ[\w-]{8,4096}\.[\w-]{8}")),
    ("bearer ", re.compile(r"(?i:\bbearer) {1,4}(?=[\w.~+/-]{0,64}\d)[\w.~+/-]{16}")),
    ("://", re.compile(r"[A-Za-z0-9+.-]{1,20}://[^\s:/@\"'<>]{0,64}:(?![<{$*\[])[^\s/@\"'<>]{3,128}@")),
    (
        "authorization",
        re.compile(
            r"(?i:authorization[\"']{0,2}\s{0,3}[:=]\s{0,3}[\"']?(?:basic|digest|token|apikey))\s{1,4}"
            r"(?=[\w.~+/-]{0,64}(?:\d|[a-z][A-Z]|=))[\w.~+/-]{6}"
        ),
    ),
    (
        "curl",
        re.compile(
            r"\bcurl\s[^\n|;&]{0,500}?(?<!\S)(?:-[A-Za-z]{0,8}u\s{0,4}|--(?:proxy-)?user[=\s]\s{0,4})[\"']?"
            r"[^\s:\"']{1,64}:(?!(?i:pass(?:word|wd)?|secret|token|key)\b)(?![<{$*\[])[^\s\"']{3}"
        ),
    ),
    ("accountkey=", re.compile(r"AccountKey=[A-Za-z0-9+/]{40}")),
)
"""A plain text in lower case that must be there, and the shape."""
_ASSIGNED: Final = re.compile(
    r"(?:pass(?:word|wd|phrase)|secret|api[ _-]?key|access[ _-]?key|token)[\"'`*]{0,2}"
    r"(?:\s{0,4}(?:=>|:=|==?|:)\s{0,4}|\s{1,4}(?:is|was)\s{1,4})[\"'`]?"
    r"(?P<it>(?![a-z][a-z0-9+.-]{1,20}://)(?=[^\s\"'`<>,;]{0,64}\d)(?=[^\s\"'`<>,;]{0,64}[a-z])[^\s\"'`<>,;(){}\[\]$*]{8,160})",
    re.IGNORECASE,
)
"""What is set to letters and digits mixed: a word is no password, and neither is something to be filled in."""
_ASSIGNED_HINTS: Final = ("pass", "secret", "key", "token")
_NAMES: Final = frozenset(
    """
    password passwd passphrase pwd secret token apikey credential credentials authorization cookie accesskey privatekey
    """.split()
)
_PAIRS: Final = frozenset({("api", "key"), ("access", "key"), ("private", "key"), ("secret", "key"), ("auth", "key")})
_PASSWORDS: Final = frozenset("password passwd passphrase pwd pw".split())
"""Where a number is a secret as well."""
_OWNERS: Final = frozenset("user db database admin root smtp ftp ssh login mysql pg".split())
"""Whose `pass` is a password, and not one of an airline."""
_PAGES: Final = frozenset(
    "page next previous prev continuation continue sync cursor delta skip start pagination".split()
)
"""Whose `token` says where a list goes on."""
_FILL: Final = r"[^\W\d]{0,64}|[\w .:/-]{0,64}?(?:pass|pwd|secret|token|key|cred|env|var)[\w .:/-]{0,64}"
_BLANK: Final = re.compile(
    rf"[\W_x0]*|<.*>|\{{+ ?(?:{_FILL}) ?\}}+|\$\{{.*\}}|\$\(.*\)|\$(?-i:[A-Z_][A-Z0-9_]*|[a-z_]+)|%\w+%"
    rf"|[\[(](?:{_FILL})[\])]|(?:your|example)[\W_a-z]*|(?:my|the)[\W_][\W_a-z]*"
    r"|none|null|(?:changeme|redacted|secret:).*",
    re.IGNORECASE | re.DOTALL,
)
"""What is still to be filled in, or stands for a secret that is kept elsewhere."""
_ABOUT: Final = frozenset(
    "count limit length name type policy hint path file url uri ttl expiry expires id ref".split()
)
"""`token_count` is a figure and `secret_name` a name."""


def finds_credential(text: str) -> bool:
    """Whether a text carries a key or a password."""
    low = text.lower()
    if any(hint in low and shape.search(text) for hint, shape in _SHAPES):
        return True
    return any(hint in low for hint in _ASSIGNED_HINTS) and _ASSIGNED.search(text) is not None


def names_credential(key: str, value: object) -> bool:
    """Whether a value stands under a name that only a secret has, and is not left blank."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = str(value) if is_number else value
    if not isinstance(text, str) or len(text) < 4 or _BLANK.fullmatch(text[:200]):
        return False
    words = key_words(key)
    if not words or words[-1] in _ABOUT or (words[0] in ("max", "min") and len(words) > 1):
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _PASSWORDS or (last == "pass" and (not before or before in _OWNERS)):
        return True
    if is_number or (last == "token" and before in _PAGES):
        return False
    return last in _NAMES or words[-2:] in _PAIRS
