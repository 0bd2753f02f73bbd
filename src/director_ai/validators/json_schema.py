"""A check that a finished text is JSON and satisfies a JSON Schema (the extra `jsonschema`)."""

from __future__ import annotations

import copy
import importlib
import itertools
import json
import re
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final

from director_ai.core.merge import Edit
from director_ai.errors import ConfigError, MissingExtra
from director_ai.validators.json_places import MOST_KEY, JsonText, NotJson, read_json
from director_ai.validators.patterns import check_backtracking, linear_regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from director_ai.core.checks.rules import Frontier

__all__ = ["JsonSchema"]

_MOST_FAILURES: Final = 1_000
_MOST_SEARCHED: Final = 4_096
"""How long a string may be that a pattern without an anchor is looked for in by Python's engine."""
_OPENING_FENCE = re.compile(r"```[A-Za-z0-9]*[ \t]*\r?\n")
_ANCHORED = re.compile(r"\^|\\A")
_REFERENCES: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})
_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """Points out every value of a JSON text that its schema does not allow.

    An edit spans the value at fault, its reason is the keyword ("type", "maximum"), and it changes nothing: what
    happens then is for whoever runs the check. With `nulls`, a value is replaced by null where the schema allows that
    and everything else stays as right as it was. A text that is no JSON at all gets one edit over all of it ("json"),
    a key that comes twice one of its own ("duplicate key"). The schema may refer to itself only, never to the network.
    """

    schema: Mapping[str, Any] | bool
    _: KW_ONLY
    name: str = "json_schema"
    fence: bool = True
    """The value may stand in a Markdown code fence, alone."""
    nulls: bool = False
    _validator: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        Edit(0, 0, "", "rewrite", self.name)  # refuses what is no name
        for option in ("fence", "nulls"):
            if not isinstance(getattr(self, option), bool):
                raise ConfigError(f"{option} must be True or False")
        object.__setattr__(self, "schema", _plain(self.schema))
        object.__setattr__(self, "_validator", _validator(self.schema))

    reads_json: ClassVar = True
    """It must see what is written, not what the strings say."""

    @property
    def frontier(self) -> Frontier:
        """Only a finished text is JSON."""
        return "text"

    def find(self, text: str) -> list[Edit]:
        """Return an edit for every failure, at most a thousand."""
        try:
            found = read_json(text, *self._body(text))
        except NotJson:
            return [Edit(0, len(text), text, "rewrite", self.name, "json")]
        edits = [self._mark(text, place.start, place.end, "duplicate key") for place in found.twice]
        edits += [self._mark(text, place.start, place.end, "key") for place in found.long_keys]
        if not found.long_keys:  # keys are searched with the patterns of the schema
            edits += self._failures(text, found)
        return edits[:_MOST_FAILURES]

    def _failures(self, text: str, found: JsonText) -> Iterator[Edit]:
        errors = list(itertools.islice(self._validator.iter_errors(found.value), _MOST_FAILURES))
        nulled = self._nulled(found.value, errors) if self.nulls else frozenset()
        for path, keyword in dict.fromkeys(
            (tuple(error.absolute_path), str(error.validator or "false")) for error in errors
        ):
            place = found.place(path)
            if path in nulled:
                yield Edit(place.start, place.end, "null", "remove", self.name, keyword)
            else:
                yield self._mark(text, place.start, place.end, keyword)

    def _mark(self, text: str, start: int, end: int, reason: str) -> Edit:
        return Edit(start, end, text[start:end], "rewrite", self.name, reason)

    def _nulled(self, value: Any, errors: list[Any]) -> frozenset[_Path]:
        """Return the paths at which null is right, if nothing else goes wrong by putting it there."""
        failing = {tuple(error.absolute_path) for error in errors}
        fixed = {
            tuple(error.absolute_path) for error in errors if self._validator.evolve(schema=error.schema).is_valid(None)
        }
        after = copy.deepcopy(value)
        for path in sorted(fixed, key=len, reverse=True):
            after = _with_null(after, path)
        left = itertools.islice(self._validator.iter_errors(after), _MOST_FAILURES)
        return frozenset(fixed) if {tuple(error.absolute_path) for error in left} <= failing - fixed else frozenset()

    def _body(self, text: str) -> tuple[int, int]:
        """Return where the JSON of a text begins and ends."""
        start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        opening = _OPENING_FENCE.match(text, start, end) if self.fence else None
        if opening and text.endswith("```", opening.end(), end):
            return opening.end(), end - 3
        return min(start, end), end


def _with_null(value: Any, path: _Path) -> Any:
    if not path:
        return None
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = None
    return value


def _plain(schema: object) -> Any:
    """Return a copy of a schema that nobody else can change."""
    if not isinstance(schema, (dict, bool)):
        raise ConfigError(f"a JSON Schema is a dict or a bool, got a {type(schema).__name__}")
    try:
        return json.loads(json.dumps(schema, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise ConfigError("a JSON Schema must be JSON: texts, finite numbers, lists and dicts only") from None


def _validator(schema: Any) -> Any:
    """Return a validator that reads nothing but the schema and takes linear time where the library's does not."""
    try:
        jsonschema = importlib.import_module("jsonschema")
        registry = importlib.import_module("jsonschema_specifications").REGISTRY
    except ImportError:
        raise MissingExtra("the check of JSON schemas", extra="jsonschema") from None
    draft = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        draft.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ConfigError(f"no JSON Schema: the {error.json_path} of it breaks the rule {error.validator!r}") from None
    rules = _Rules(jsonschema.ValidationError)
    for keyword, value in _keywords(schema):
        if keyword == "pattern" and isinstance(value, str):
            rules.prepare(value)
        elif keyword == "patternProperties" and isinstance(value, dict):
            for pattern in value:
                check_backtracking(pattern, window=MOST_KEY)  # the library reads keys with Python's engine
        elif keyword in _REFERENCES and isinstance(value, str) and not value.startswith("#"):
            raise ConfigError(f"{keyword} must point into the schema itself: '#', '#/$defs/...' or '#anchor'")
    own = jsonschema.validators.extend(draft, {"pattern": rules.pattern, "uniqueItems": rules.unique_items})
    return own(schema, registry=registry)


def _keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key of a schema with its value, however deep."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from part.items()
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


class _Rules:
    """Keywords for which the library takes more than linear time."""

    def __init__(self, error: Any) -> None:
        self._error = error
        self._regexes: dict[str, Any] = {}

    def prepare(self, pattern: str) -> None:
        self._regexes[pattern] = linear_regex(pattern, window=_MOST_SEARCHED)

    def pattern(self, validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
        if not validator.is_type(instance, "string"):
            return
        regex = self._regexes[pattern]
        quadratic = isinstance(regex, re.Pattern) and not _ANCHORED.match(pattern)
        if (quadratic and len(instance) > _MOST_SEARCHED) or not regex.search(instance):
            yield self._error("does not match")

    def unique_items(self, validator: Any, unique: Any, instance: Any, _schema: Any) -> Iterator[Any]:
        if unique and validator.is_type(instance, "array"):
            written = {json.dumps(_normal(item), sort_keys=True) for item in instance}
            if len(written) < len(instance):
                yield self._error("has an element twice")


def _normal(value: Any) -> Any:
    """Return a value in which numbers that are equal look the same."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    return value
