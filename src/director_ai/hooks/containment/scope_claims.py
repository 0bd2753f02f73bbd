"""What texts and arguments say about where they run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from director_ai.hooks.containment.anchors import RUN_SCOPES
from director_ai.hooks.containment.arguments import key_words
from director_ai.hooks.containment.spelling import plain_spelling

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["argument_disagrees", "text_disagrees"]

_ALL: Final = frozenset(RUN_SCOPES)
_PRODUCTION: Final = frozenset({"production"})
_REHEARSAL: Final = _ALL - _PRODUCTION
_WORDS: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(("prod", "production", "prd", "live", "productive"), _PRODUCTION),
    **dict.fromkeys(("sandbox", "sandboxed"), frozenset({"sandbox"})),
    **dict.fromkeys(("simulator", "simulation", "simulated"), frozenset({"simulator"})),
    "shadow": frozenset({"shadow"}),
    **dict.fromkeys(("staging", "stage", "test", "testing", "dev", "development", "qa", "uat"), _REHEARSAL),
    **dict.fromkeys(("rehearsal", "dry-run", "dry run", "dryrun", "drill"), _REHEARSAL),
}
"""Which scopes a word fits."""
_HINTS: Final = tuple("prod prd live sandbox simulat shadow stag test rehears dry drill dev qa uat".split())
_NAMES: Final = "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
_PLACES: Final = (
    r"environment|env|system|systems|cluster|server|servers|database|db|network|mode|account|tenant|traffic"
)
_NOT: Final = r"(?P<no>not|never|no longer|n['’]t)"
_CONDITION: Final = r"(?:\b(?P<if>if|whether|unless|when|once|until|suppose|imagine)\s+)?"
_FILL: Final = (
    r"(?:(?:a|an|the|our|your|my|just|only|now|currently|actually|really|still|running|connected|working)\s+)*"
)
_END: Final = (
    rf"\s*(?:$|[^\w\s-])|\s+(?:{_PLACES}|data|run|machine|host|box|instance|deployment|release|site|stack|region|node"
    r"|now|here|today|already|again|so|and|but|or|not|then|because|since|as|with|where|which)\b"
)
"""What may stand behind a place: `live music` and `production ready` are none."""
_CLAIMS: Final = (
    # this is production; we are not in a sandbox; you're running on the live system
    re.compile(
        rf"{_CONDITION}\b(?:this|that|it|here|we|you|i)(?:\s+(?:is|are|am)|['’](?:s|re|m))(?:\s*{_NOT})?\s+{_FILL}"
        rf"(?:(?:in|on|against|inside|within|to)\s+{_FILL})?(?P<word>{_NAMES})\b(?={_END})"
    ),
    # in the production environment, against the live database
    re.compile(
        rf"{_CONDITION}(?:\b{_NOT}\s+)?\b(?:in|on|against|inside|to|into|from)\s+{_FILL}(?P<word>{_NAMES})\s+(?:{_PLACES})\b"
    ),
    # running in production, deploy this to prod
    re.compile(
        rf"{_CONDITION}(?:\b{_NOT}\s+)?\b(?:runn?(?:ing|s)?|deploy(?:ed|ing|s)?|execut(?:e|ed|ing)|connect(?:ed|ing)?"
        rf"|push(?:ed|ing)?|switch(?:ed|ing)?|writ(?:e|ten|ing)|releas(?:e|ed|ing))(?:\s+(?:it|this|that|them|now))?"
        rf"\s+(?:in|on|to|into|against)\s+{_FILL}(?P<word>{_NAMES})\b"
    ),
    # env=prod, --environment production, NODE_ENV: "production"
    re.compile(
        rf"(?P<if>(?!))?(?P<no>(?!))?(?:(?<![a-z0-9])(?:env|environment|stage)[\"'`]?\s{{0,3}}[:=]{{1,2}}\s{{0,3}}"
        rf"|--(?:env|environment|stage)\s{{1,3}})[\"'`]?(?P<word>{_NAMES})\b"
    ),
)
_ANY: Final = re.compile(rf"\b(?:{_NAMES})\b")
_BEFORE: Final = 160
_BEHIND: Final = 24
"""How far around such a word a claim may reach."""
_SCOPE_KEYS: Final = frozenset("env environment stage scope tier".split())
_LOOSE_KEYS: Final = frozenset("namespace deployment profile mode".split())
"""What has many other values; only production counts there."""
_FLAGS: Final = {
    **dict.fromkeys(("prod", "production", "productionmode", "livemode"), _PRODUCTION),
    **dict.fromkeys(("sandbox", "sandboxed", "sandboxmode"), _WORDS["sandbox"]),
    **dict.fromkeys(("simulate", "simulated", "simulation", "simulationmode"), _WORDS["simulator"]),
    "shadowmode": _WORDS["shadow"],
    "dryrun": _REHEARSAL,
}
_TRUE: Final = frozenset({"true", "yes", "on", "1", "y", "t", "enabled"})
_FALSE: Final = frozenset({"false", "no", "off", "0", "n", "f", "disabled"})


def text_disagrees(text: str, scope: str) -> bool:
    """Whether a text says that it runs somewhere else than in this scope; what it says under an if is no claim."""
    low = plain_spelling(text)
    if not any(hint in low for hint in _HINTS):
        return False
    return any(scope not in fits for part in _parts(low) for fits in _claimed(part))


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text that hold a word for a scope, with what stands around it, each part once."""
    start = end = 0
    for found in _ANY.finditer(text):
        first = max(0, found.start() - _BEFORE)
        if end and first > end:
            yield text[start:end]
        if not end or first > end:
            start = first
        end = found.end() + _BEHIND
    if end:
        yield text[start:end]


def _claimed(text: str) -> Iterator[frozenset[str]]:
    for pattern in _CLAIMS:
        for found in pattern.finditer(text):
            if found["if"] is None:
                fits = _WORDS[found["word"]]
                yield _ALL - fits if found["no"] else fits


def argument_disagrees(key: str, value: object, scope: str) -> bool:
    """Whether an argument names another scope: `env="prod"`, `is_production=True`, `sandbox=False`."""
    words = key_words(key)
    if not words:
        return False
    last = words[-2] if words[-1] == "name" and len(words) > 1 else words[-1]
    if last in _SCOPE_KEYS and isinstance(value, str):
        low = plain_spelling(value)
        # A name of an environment may hold more, such as a region; other names mean more than environments.
        named = key_words(low) if last.startswith("env") else (low.strip(),)
        return any(scope not in _WORDS[word] for word in named if word in _WORDS)
    flag = _FLAGS.get("".join(words[1:] if words[0] in ("is", "use") else words))
    if flag is None and last in _LOOSE_KEYS and isinstance(value, str):
        return scope != "production" and _WORDS.get(plain_spelling(value).strip()) is _PRODUCTION
    state = _state(value)
    if flag is None or state is None:
        return False
    if flag is _REHEARSAL:  # a dry run may be left out wherever it is
        return state and scope not in flag
    return scope not in (flag if state else _ALL - flag)


def _state(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return bool(value) if value in (0.0, 1.0) else None
    word = plain_spelling(str(value)).strip() if isinstance(value, str | int) else ""
    return True if word in _TRUE else False if word in _FALSE else None
