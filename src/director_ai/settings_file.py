"""Files of settings: TOML, or YAML read from its parser's events, so that nothing that a tag names is ever made."""

from __future__ import annotations

import importlib
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from director_ai.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["read_figure", "read_settings_file"]

_MOST_BYTES: Final = 1_000_000
_DEEPEST: Final = 32
_PART: Final = r"""(?:(?<![\w-])[\w-]+|"(?:[^"\\\n]|\\.){0,400}"|'[^'\n]{0,400}')[ \t]*\.[ \t]*"""
_LONG_KEY: Final = re.compile(rf"(?:{_PART}){{{_DEEPEST}}}", re.ASCII)


def read_settings_file(path: Path, shown: str) -> object:
    """Return what a TOML or YAML file holds; `shown` is how messages name it."""
    readers = {".toml": _parse_toml, ".yaml": _parse_yaml, ".yml": _parse_yaml}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ConfigError(f"{shown} must end in .toml, .yaml or .yml")
    try:
        if not path.is_file():
            raise ConfigError(f"{shown} is no file" if path.exists() else f"there is no file {shown}")
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ConfigError(f"{shown} is longer than {_MOST_BYTES:,} bytes; settings are short")
        return reader(data.decode("utf-8-sig"), shown)
    except UnicodeDecodeError:
        raise ConfigError(f"{shown} is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{shown} cannot be read ({error.strerror or type(error).__name__})") from None


def _parse_toml(text: str, shown: str) -> object:
    if _LONG_KEY.search(text):
        raise ConfigError(f"{shown} has a key of more than {_DEEPEST} parts; write it plainly")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is a plain ValueError
        found = re.search(r"line ([0-9]+)", str(error))
        raise _not_valid(shown, "TOML", found[1] if found else None) from None


def _parse_yaml(text: str, shown: str) -> object:
    """Return the one document of a text, read from the parser's events: nothing that a tag names is ever made."""
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise MissingExtra("a YAML file of settings", extra="yaml") from None
    events = yaml.parse(text, Loader=yaml.SafeLoader)
    try:
        next(events)  # the stream begins
        if isinstance(next(events), yaml.StreamEndEvent):
            return {}
        value = _yaml_value(events, next(events), shown)
        next(events)  # the document ends
        if not isinstance(next(events), yaml.StreamEndEvent):
            raise ConfigError(f"{shown} has more than one document; keep the first alone")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _not_valid(shown, "YAML", mark.line + 1 if mark else None) from None
    return {} if value is None else value


def _yaml_value(events: Iterator[Any], event: Any, shown: str, depth: int = 0) -> object:
    """Return the value that begins with an event: plain words are read as YAML 1.2 does, so `off` is a word."""
    line, kind = event.start_mark.line + 1, type(event).__name__
    if depth > _DEEPEST or getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
        raise ConfigError(f"{shown} has an anchor, an alias, a tag or too deep a list at line {line}; write it plainly")
    if kind == "ScalarEvent":
        return _yaml_word(event.value) if event.implicit[0] else event.value
    if kind == "SequenceStartEvent":
        items: list[object] = []
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            items.append(_yaml_value(events, event, shown, depth + 1))
        return items
    table: dict[str, object] = {}
    while type(event := next(events)).__name__ != "MappingEndEvent":
        line, key = event.start_mark.line + 1, getattr(event, "value", None)
        _yaml_value(events, event, shown, depth + 1)
        if not isinstance(key, str) or key in table:
            raise ConfigError(f"{shown} has a key twice, or one that is no word, at line {line}")
        table[key] = _yaml_value(events, next(events), shown, depth + 1)
    return table


def _yaml_word(text: str) -> object:
    words: dict[str, object] = {
        "true": True,
        "True": True,
        "TRUE": True,
        "false": False,
        "False": False,
        "FALSE": False,
    }
    words |= dict.fromkeys(("", "~", "null", "Null", "NULL"))
    return words[text] if text in words else read_figure(text)


def _not_valid(shown: str, language: str, line: object) -> ConfigError:
    where = "" if line is None else f" (line {line})"
    return ConfigError(f"{shown} is not valid {language}{where}: something is misspelt there, or a key stands twice")


def read_figure(text: str) -> object:
    """Return the number that a text writes, or the text."""
    text = text.strip()
    if len(text) > 64:
        return text
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?", text) else text
