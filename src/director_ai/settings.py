"""What a guard is set up with: from a TOML or YAML file, the environment, a mapping, or code.

    code  >  environment (DIRECTOR_AI_…)  >  file or mapping  >  defaults

Messages name the setting and where it came from, never its value: that may be a URL with a password.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Self, get_args

from director_ai.core.ranges import check_count, check_number, check_seconds
from director_ai.core.repair.record import REDACTED_CLAUSE
from director_ai.core.scoring.escalation import Band, Doubt
from director_ai.errors import ConfigError, UnknownOption
from director_ai.judges.panel import DOUBTS, JudgeBudget
from director_ai.profiles import PROFILES, EvidencePolicy, get_profile
from director_ai.settings_file import read_figure, read_settings_file

__all__ = ["CHECKS", "OFF", "OTHER_VARIABLES", "PREFIX", "GuardSettings", "Off", "Rewriter", "Search", "Source"]

Search = Literal["words", "meaning"]
Rewriter = Literal["patch", "quote", "none"]
ModelFallback = Literal["raise", "heuristic"]
Off = Literal["off"]
Source = str | os.PathLike[str] | Mapping[str, Any] | None

OFF: Final = "off"
"""In place of a cap: there is none, whatever the profile says."""
CHECKS: Final = ("disguise", "links", "pii", "secrets", "casing-lower", "casing-upper", "casing-sentence")
"""Checks that need no arguments, in the order in which `checks` holds them: disguise comes off first."""
PREFIX: Final = "DIRECTOR_AI_"
OTHER_VARIABLES: Final = frozenset(
    {
        "DIRECTOR_AI_REVIEW_DB",
        "DIRECTOR_AI_SERVER_CHECKPOINTS",
        "DIRECTOR_AI_SERVER_CONFIG",
        "DIRECTOR_AI_SERVER_DATABASE",
        "DIRECTOR_AI_SERVER_GRACE",
        "DIRECTOR_AI_SERVER_HOST",
        "DIRECTOR_AI_SERVER_MOST_STREAMS",
        "DIRECTOR_AI_SERVER_PORT",
        "DIRECTOR_AI_SERVER_SIGNING_KEY",
        "DIRECTOR_AI_SIGNING_KEY",
        "DIRECTOR_AI_USER",
    }
)
"""Variables of the prefix that are no settings of a guard."""

_TABLE: Final = "director_ai"
# The library keeps every beginning of a dotted key: memory grows with the square of its parts.
_URLS: Final = ("postgresql://", "postgres://")
_HOST: Final = r"(?:[\w.%-]+|\[[0-9A-Fa-f:.]+\])?(?::[0-9]{0,5})?"
# The last @ ends the password, whatever it holds; what does not look like the rest of a URL is not shown at all.
_URL: Final = re.compile(rf"(\w+://)(?:([^:@/?#]*)(:.*)?@)?({_HOST}(?:,{_HOST})*(?:/[\w.%-]*)?)(\?[^@]*)?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSettings:
    """Every setting of a guard, checked; None in place of a limit or a policy is the profile's own."""

    profile: str = "general"
    use_nli: bool = True
    strict_mode: bool = False
    """Reject everything while the model cannot be used."""
    model_fallback: ModelFallback = "raise"
    """What happens if the bundled model cannot be loaded: an error, or heuristic mode."""
    policy: EvidencePolicy | None = None
    threshold: float | None = None
    """Of `check`."""
    repair_threshold: float | None = None
    top_k: int = 5
    store: str = field(default=":memory:", repr=False)
    """A path or a `postgresql://` URL; it may hold a password."""
    search: Search = "meaning"
    rewriter: Rewriter = "patch"
    most_redacted: int | Off | None = None
    most_redacted_share: float | Off | None = None
    cap_after: int | None = None
    most_continuations: int = 2
    read_ahead: int = 256
    early: bool = True
    placeholder: str = REDACTED_CLAUSE
    deadline: float | None = 10.0
    """In seconds; None: there is no limit. So for `token_timeout`."""
    token_timeout: float | None = None
    checks: tuple[str, ...] = ()
    metrics: bool = True
    judge: str | None = None
    """Who decides about clauses of which the model is not sure.

    `openai:MODEL`, `anthropic:MODEL`, `folder:PATH`, or in a server `upstream:NAME:MODEL`."""
    judge_url: str | None = None
    """Of an endpoint that is not the provider's own. Its key is in the environment, where the SDK looks for it."""
    judge_band: tuple[float, float] | None = None
    judge_budget: JudgeBudget = field(default_factory=JudgeBudget)
    judge_doubt: Doubt | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _checked(each.name, getattr(self, each.name)))

    @classmethod
    def load(cls, source: Source = None, *, env: Mapping[str, str] = os.environ, **overrides: Any) -> Self:
        """Return the settings of a file or a mapping, of the environment and of the call; the later one wins."""
        given = [*_from_source(source), *_from_environment(env), *_known(overrides, "")]
        return cls(**{each.name: _checked(each.name, each.value, each.place) for each in given})

    def show(self) -> dict[str, object]:
        """Return the settings as plain values that a log may hold: the password of a store is masked."""
        shown: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self)}
        limits = {name: OFF for name in ("deadline", "token_timeout") if shown[name] is None}
        judge = {"judge_band": self.judge_band and list(self.judge_band), "judge_budget": asdict(self.judge_budget)}
        return shown | limits | judge | {"store": _masked(self.store), "checks": list(self.checks)}


# --- what each setting must be ------------------------------------------------------------------------------------


class _Rule(NamedTuple):
    """What a setting must be, in words and as a check, and how it is read from the environment."""

    wants: str
    check: Callable[[Any], Any]
    read: Callable[[str], object]
    choices: tuple[str, ...] = ()


def _checked(name: str, value: object, place: str = "") -> Any:
    """Return a setting as it is kept, or refuse it by its name and place."""
    rule = _RULES[name]
    try:
        return rule.check(value)
    except ConfigError:
        raise ConfigError(f"{name}{place} must be {rule.wants}; {_hint(value, rule.choices)}") from None


def _hint(value: object, choices: tuple[str, ...]) -> str:
    """Return the choice that was probably meant, or else what kind of value came."""
    for word in value[:8] if isinstance(value, list | tuple) else [value]:
        if isinstance(word, str) and word not in choices and len(word) <= 64:
            for close in difflib.get_close_matches(word.strip().lower(), choices, n=1):
                return f"did you mean {close!r}?"
    kinds = {bool: "truth value", str: "text", list: "list", tuple: "list", dict: "table", type(None): "None"}
    kinds |= {int: "number", float: "number"}
    return f"the {kinds.get(type(value), 'value')} given is not"


def _or(spare: object, check: Callable[[Any], Any], kept: object = None) -> Callable[[Any], Any]:
    """Return a check that also takes one other value, and keeps it as `kept`."""
    return lambda value: kept if type(value) is type(spare) and value == spare else check(value)


def _flag() -> _Rule:
    words = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}

    def check(value: object) -> bool:
        if not isinstance(value, bool):
            raise ConfigError("no truth value")
        return value

    return _Rule("true or false", check, lambda text: words.get(text.strip().lower(), text))


def _choice(choices: tuple[str, ...]) -> _Rule:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ConfigError("no choice")
        return value

    return _Rule(f"one of {', '.join(choices)}", check, str.strip, choices)


def _number() -> _Rule:
    return _Rule("a number from 0 to 1", lambda value: check_number("", value), read_figure)


def _count(low: int, high: int) -> _Rule:
    return _Rule(f"a whole number from {low} to {high}", lambda value: check_count("", value, low, high), read_figure)


def _seconds() -> _Rule:
    check = _or(OFF, lambda value: check_seconds("", value))
    return _Rule("seconds, more than 0 and up to 1000000, or off", check, _figure_or_off)


def _of_profile(rule: _Rule) -> _Rule:
    return rule._replace(check=_or(None, rule.check))


def _cap(rule: _Rule) -> _Rule:
    check = _or(OFF, rule.check, kept=OFF)
    return _of_profile(rule._replace(wants=f"{rule.wants}, or off", check=check, read=_figure_or_off))


def _figure_or_off(text: str) -> object:
    return OFF if text.strip().lower() == OFF else read_figure(text)


def _check_text(value: object, most: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > most or "\0" in value:
        raise ConfigError("no text")
    if any("\ud800" <= character <= "\udfff" for character in value):  # bytes that were no UTF-8
        raise ConfigError("no text")
    return value


def _check_store(value: object) -> str:
    place = _check_text(os.fspath(value) if isinstance(value, os.PathLike) else value, 4_096)
    if "://" in place and not place.startswith(_URLS):
        raise ConfigError("no place")
    return place


def _check_checks(value: object) -> tuple[str, ...]:
    names = list(value) if isinstance(value, list | tuple) else [value]
    known = [name for name in CHECKS if name in names]
    if not isinstance(value, list | tuple) or len(known) != len(names):  # an unknown name, or one that comes twice
        raise ConfigError("no checks")
    if sum(name.startswith("casing-") for name in known) > 1:
        raise ConfigError("text has one case")
    return tuple(known)


def _read_checks(text: str) -> object:
    return () if text.strip().lower() == OFF else tuple(name.strip() for name in text.split(","))


_JUDGES: Final = "openai:MODEL, anthropic:MODEL, folder:PATH, or in a server upstream:NAME:MODEL"
_BUDGET: Final = {each.name: each.type for each in fields(JudgeBudget)}


def _check_judge(value: object) -> str:
    text = _check_text(value, 4_096)
    kind, _, rest = text.partition(":")
    if kind not in {"openai", "anthropic", "folder", "upstream"} or not rest.strip():
        raise ConfigError("no judge")
    return text


def _check_url(value: object) -> str:
    text = _check_text(value, 4_096)
    if not text.startswith(("http://", "https://")) or "@" in text:
        raise ConfigError("no URL")
    return text


def _check_band(value: object) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ConfigError("no band")
    band = Band(low=value[0], high=value[1])
    return band.low, band.high


def _check_budget(value: object) -> JudgeBudget:
    if isinstance(value, JudgeBudget):
        return value
    if not isinstance(value, Mapping) or not set(value) <= set(_BUDGET):
        raise ConfigError("no budget")
    return JudgeBudget(**value)


def _read_list(text: str) -> object:
    return [read_figure(part) for part in text.split(",")]


def _read_budget(text: str) -> object:
    """Read `calls=4,seconds=8`."""
    pairs = [part.partition("=") for part in text.split(",")]
    return {name.strip(): read_figure(figure) for name, _, figure in pairs}


_RULES: Final[dict[str, _Rule]] = {
    "profile": _choice(tuple(PROFILES))._replace(check=lambda value: get_profile(value).name),
    "use_nli": _flag(),
    "strict_mode": _flag(),
    "model_fallback": _choice(get_args(ModelFallback)),
    "policy": _of_profile(_choice(get_args(EvidencePolicy))),
    "threshold": _of_profile(_number()),
    "repair_threshold": _of_profile(_number()),
    "top_k": _count(1, 20),
    "store": _Rule("the path of a file, :memory: or a postgresql:// URL", _check_store, str),
    "search": _choice(get_args(Search)),
    "rewriter": _choice(get_args(Rewriter)),
    "most_redacted": _cap(_count(0, 1_000_000)),
    "most_redacted_share": _cap(_number()),
    "cap_after": _of_profile(_count(0, 1_000_000)),
    "most_continuations": _count(0, 100),
    "read_ahead": _count(0, 1_000_000),
    "early": _flag(),
    "placeholder": _Rule("a text of 1 to 200 characters", lambda value: _check_text(value, 200), str),
    "deadline": _seconds(),
    "token_timeout": _seconds(),
    "checks": _Rule(
        f"a list of different names out of {', '.join(CHECKS)}, with one casing at most",
        _check_checks,
        _read_checks,
        CHECKS,
    ),
    "metrics": _flag(),
    "judge": _of_profile(_Rule(_JUDGES, _check_judge, str.strip)),
    "judge_url": _of_profile(_Rule("a URL that begins with http:// or https://", _check_url, str.strip)),
    "judge_band": _of_profile(_Rule("two numbers from 0 to 1, the lower one first", _check_band, _read_list)),
    "judge_budget": _Rule(
        "a table of calls, seconds, tokens and clauses_per_call", _check_budget, _read_budget, tuple(_BUDGET)
    ),
    "judge_doubt": _of_profile(_choice(DOUBTS)),
}


def _masked(store: str) -> str:
    """Return a place without its password, and without the options of a URL, which may hold one too."""
    if not store.startswith(_URLS):
        return store
    found = _URL.fullmatch(store)
    if found is None:
        return f"{store[: store.index(':')]}://***"
    scheme, user, password, place, options = found.groups()
    person = "" if user is None else f"{user}{':***' if password else ''}@"
    return f"{scheme}{person}{place}{'?***' if options else ''}"


# --- where settings come from -------------------------------------------------------------------------------------


class _Given(NamedTuple):
    """A value, not checked yet, and the words for where it stood."""

    name: str
    value: object
    place: str


def _known(table: Mapping[Any, Any], place: str) -> Iterator[_Given]:
    for name, value in table.items():
        if name not in _RULES:
            raise UnknownOption(f"setting{place}:" if place else "setting", name, _RULES)
        yield _Given(name, value, place)


def _from_environment(env: Mapping[str, str]) -> Iterator[_Given]:
    """Yield what the variables say; an empty one says nothing."""
    names = {f"{PREFIX}{name.upper()}": name for name in _RULES}
    for variable in env:
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        if variable not in names:
            raise UnknownOption(f"{PREFIX} variable", variable.removeprefix(PREFIX), map(str.upper, _RULES))
        if text := env[variable]:
            name = names[variable]
            yield _Given(name, _RULES[name].read(text) if isinstance(text, str) else text, f" ({variable})")


def _from_source(source: object) -> Iterator[_Given]:
    if source is None:
        return
    if isinstance(source, Mapping):
        yield from _known(_table(source, "the mapping"), "")
        return
    if not isinstance(source, str | os.PathLike):
        raise ConfigError(f"source must be a path, a mapping or None, got a {type(source).__name__}")
    path = Path(source)
    shown = repr(path.name)
    for given in _known(_table(read_settings_file(path, shown), shown), f" in {shown}"):
        if given.value is None:  # of a limit, this would be no limit, by a slip of the pen
            raise ConfigError(f"{given.name}{given.place} has no value; give it one or leave it out")
        yield given


def _table(data: object, shown: str) -> Mapping[Any, Any]:
    """Return the table that holds the settings: the one named for us, or else everything."""
    if not isinstance(data, Mapping):
        raise ConfigError(f"{shown} must hold a table of settings")
    tool = data.get("tool")
    tables = [each[_TABLE] for each in (data, tool) if isinstance(each, Mapping) and _TABLE in each]
    if not tables:
        if "tool" in data:
            raise ConfigError(f"{shown} has no table [tool.{_TABLE}]; add one")
        return data
    if len(tables) > 1 or not _RULES.keys().isdisjoint(data):
        raise ConfigError(f"{shown} has settings in more than one place; keep them in one table")
    if not isinstance(tables[0], Mapping):
        raise ConfigError(f"{_TABLE} in {shown} must be a table of settings")
    return tables[0]
