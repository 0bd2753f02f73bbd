"""What can still be used of a JSON document, of tool calls or of numbered reasoning when its stream was cut.

Only text that was released is fed, token by token; the token that halted the stream never is. Feeding costs no more
than the length of the token, and the result takes one pass over the text.

    policy        json                                    tool_call            reasoning
    last_valid    back to the last valid point, closed    whole calls only     whole steps only
    redacted      a cut value becomes the placeholder     as last_valid        a cut step becomes the placeholder
    closed        a cut string value is kept and closed   as last_valid        as last_valid
    raw_partial   the released text as it is              the same             the same

Under every policy but `raw_partial`, the text of `json` and `tool_call` parses, whatever was fed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from director_ai.core.runtime.json_prefix import JsonCut, JsonPrefix, ValueSpan
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "RecoveryKind",
    "RecoveryPolicy",
    "StructuredRecovery",
    "StructuredRecoveryConfig",
    "StructuredRecoveryResult",
    "recovery_config",
]

RecoveryKind = Literal["json", "tool_call", "reasoning"]
RecoveryPolicy = Literal["last_valid", "redacted", "raw_partial", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredRecoveryConfig:
    """What the stream carries, and what to make of it when it is cut."""

    kind: RecoveryKind = "json"
    policy: RecoveryPolicy = "last_valid"
    placeholder: str = "[redacted]"
    """Stands for the cut value or step under `redacted`."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(RecoveryKind):
            raise UnknownOption("recovery kind", self.kind, get_args(RecoveryKind))
        if self.policy not in get_args(RecoveryPolicy):
            raise UnknownOption("recovery policy", self.policy, get_args(RecoveryPolicy))
        if not isinstance(self.placeholder, str) or not self.placeholder.strip():
            raise ConfigError(f"placeholder must be text that is not blank, got {type(self.placeholder).__name__}")


def recovery_config(value: object) -> StructuredRecoveryConfig | None:
    """Settings from what a caller may pass: None (no recovery), the name of a kind, or the settings themselves."""
    if value is None or isinstance(value, StructuredRecoveryConfig):
        return value
    if isinstance(value, str):
        return StructuredRecoveryConfig(kind=value)  # type: ignore[arg-type] # checked at construction
    raise ConfigError(
        f"structured_recovery must be None, one of {', '.join(get_args(RecoveryKind))}, "
        f"or a StructuredRecoveryConfig, got {type(value).__name__}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredRecoveryResult:
    """What was recovered, and what is known about the rest. Neither `repr` nor `to_dict` shows any of the text."""

    kind: RecoveryKind
    policy: RecoveryPolicy
    text: str = field(repr=False)
    value: Any = field(repr=False)
    """Parsed JSON; the list of whole calls; the tuple of whole steps. None if there is nothing."""
    valid: bool
    """`text` parses, or is made of whole steps."""
    complete: bool
    """The stream had reached the end of what it carried: nothing was cut."""
    halted: bool
    halt_offset: int
    """Code points of released text: where the stream was cut."""
    errors: tuple[str, ...] = ()
    """Words and figures, never text: `unexpected_character offset=17`."""
    metadata: Mapping[str, str | int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the text and the value, ready for a record."""
        return {
            "kind": self.kind,
            "policy": self.policy,
            "valid": self.valid,
            "complete": self.complete,
            "halted": self.halted,
            "halt_offset": self.halt_offset,
            "errors": list(self.errors),
            "metadata": dict(self.metadata),
        }


class _Recovered(NamedTuple):
    """What the rules of one kind made of the text; `units` is the plural noun its counts are filed under."""

    text: str
    value: Any
    valid: bool
    complete: bool
    errors: tuple[str, ...]
    units: str
    whole: int
    dropped: int
    kept: int
    depth: int = 0


class StructuredRecovery:
    """The state of one stream: feed it what was released, then ask once what can be used."""

    __slots__ = ("_config", "_pieces", "_prefix")

    def __init__(self, config: StructuredRecoveryConfig) -> None:
        self._config = config
        self._pieces: list[str] = []
        self._prefix = None if config.kind == "reasoning" else JsonPrefix(sequence=config.kind == "tool_call")

    def feed(self, text: str) -> None:
        """Take the next piece of released text."""
        if not isinstance(text, str):
            raise ConfigError(f"structured recovery is fed str, got {type(text).__name__}")
        self._pieces.append(text)
        if self._prefix is not None:
            self._prefix.feed(text)

    def result(self, *, halted: bool) -> StructuredRecoveryResult:
        """Say what can be used of all that was fed; changes nothing."""
        text = "".join(self._pieces)
        config = self._config
        if self._prefix is None:
            recovered = _recover_reasoning(text, config, halted=halted)
        elif config.kind == "json":
            recovered = _recover_json(text, self._prefix.cut(ended=not halted), config)
        else:
            recovered = _recover_calls(text, self._prefix.cut(ended=not halted), self._prefix.spans, config)
        return StructuredRecoveryResult(
            kind=config.kind,
            policy=config.policy,
            text=recovered.text,
            value=recovered.value,
            valid=recovered.valid,
            complete=recovered.complete,
            halted=halted,
            halt_offset=len(text),
            errors=recovered.errors,
            metadata={
                f"{recovered.units}_complete": recovered.whole,
                f"{recovered.units}_dropped": recovered.dropped,
                "depth": recovered.depth,
                "characters_dropped": len(text) - recovered.kept,
            },
        )


# JSON

# A string up to where it can be closed: half an escape is left out, and so is the first half of a surrogate pair
# whose second half may still have been on its way.
_CLOSABLE = re.compile(
    r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u(?:[dD][89abAB][0-9a-fA-F]{2}(?!(?:\\(?:u[0-9a-fA-F]{0,3})?)?\Z)'
    r'|(?![dD][89abAB])[0-9a-fA-F]{4}))[^"\\\x00-\x1f]*)*'
)


def _recover_json(text: str, cut: JsonCut, config: StructuredRecoveryConfig) -> _Recovered:
    begin, end, tail = cut.begin or 0, cut.safe or 0, cut.closers
    if config.policy == "raw_partial":
        begin, end, tail = 0, len(text), ""
    elif config.policy == "redacted" and cut.open_value is not None:
        end, tail = cut.open_value, json.dumps(config.placeholder) + tail
    elif config.policy == "closed" and cut.open_string and cut.open_value is not None:
        # Only strings: half a word is visibly half, while 12 of 1250 is another number.
        body = _CLOSABLE.match(text, cut.open_value + 1)
        end, tail = body.end() if body else cut.open_value + 1, '"' + tail
    elif cut.safe is None:
        begin, end, tail = 0, 0, "null"
    usable = text[begin:end] + tail
    valid, value = _parse(usable)
    return _Recovered(
        text=usable,
        value=value,
        valid=valid,
        complete=cut.complete,
        errors=cut.errors,
        units="values",
        whole=cut.values,
        dropped=int(cut.dropped),
        kept=end - begin,
        depth=len(cut.opened),
    )


def _parse(text: str) -> tuple[bool, Any]:
    try:
        return True, json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):  # raw text that is not JSON; a caller deep in its own stack
        return False, None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


# Tool calls

_MOST_FAULTS = 16  # a record stays small however many of its calls are unusable


def _recover_calls(text: str, cut: JsonCut, spans: list[ValueSpan], config: StructuredRecoveryConfig) -> _Recovered:
    """Whole calls only, under every policy: half a call could be run with half its arguments."""
    slices: list[str] = []
    calls: list[Any] = []
    errors = list(cut.errors)
    faults = 0
    listed_at = -1  # where the latest element of a "tool_calls" list began
    for span in spans:
        if span.depth == 2:
            if not _is_call_list(text, span.list_key):
                continue  # some other list inside a call
            listed_at = span.start
        elif span.depth == 0 and (text[span.start] == "[" or listed_at > span.start):
            continue  # only the wrapping of calls that were already read
        candidate = text[span.start : span.end]
        call, fault = _read_call(candidate)
        if fault:
            faults += 1
            if faults <= _MOST_FAULTS:
                errors.append(f"{fault} index={len(calls) + faults - 1}")
        elif call is not None:
            calls.append(call)
            slices.append(candidate)
    if faults > _MOST_FAULTS:
        errors.append(f"more_calls_dropped count={faults - _MOST_FAULTS}")
    raw = config.policy == "raw_partial"
    return _Recovered(
        text=text if raw else f"[{','.join(slices)}]",
        value=calls,
        valid=_parse(text)[0] if raw else True,
        complete=cut.complete,
        errors=tuple(errors),
        units="calls",
        whole=len(calls),
        dropped=faults + _inside_call(text, cut, listed_at),
        kept=len(text) if raw else sum(map(len, slices)),
        depth=len(cut.opened),
    )


def _read_call(text: str) -> tuple[dict[str, Any] | None, str]:
    """The call, or the word for what is wrong with it; neither for a wrapper that holds no calls."""
    if not text.startswith("{"):
        return None, "call_not_object"
    try:
        call: dict[str, Any] = json.loads(text, object_pairs_hook=_unique)
    except ValueError:
        return None, "call_with_duplicate_key"
    except RecursionError:
        return None, "call_too_deep"
    if call == {"tool_calls": []}:
        return None, ""
    body = call if "name" in call else call.get("function")
    name = body.get("name") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(name, str) or not name.strip():
        return None, "call_without_name"
    arguments = body.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, object_pairs_hook=_unique, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return None, "call_with_bad_arguments"
    return (call, "") if isinstance(arguments, dict) else (None, "call_without_arguments")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Parsers disagree on which of two equal keys counts, so what was checked might not be what is run.
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("duplicate key")
    return members


def _is_call_list(text: str, key: tuple[int, int] | None) -> bool:
    return key is not None and text.startswith('"tool_calls"', key[0])


def _inside_call(text: str, cut: JsonCut, listed_at: int) -> bool:
    if not cut.opened or cut.begin is None:
        return False
    if cut.opened[0][0] == "[":
        return len(cut.opened) > 1
    if len(cut.opened) > 1 and cut.opened[1][0] == "[" and _is_call_list(text, cut.opened[1][1]):
        return len(cut.opened) > 2
    return listed_at < cut.begin


# Reasoning

# What follows a marker is looked at, not taken: "3." may turn out to be "3.14". Every repetition is bounded.
_MARKER = re.compile(
    r"""^(?:
        (?P<step>
            (?:\#{1,6}[ \t]{1,3}(?:\*\*)?|\*\*)step[ \t]{1,3}[0-9]{1,4}(?=[^\w])     # ### Step 3, **Step 3**
          | step[ \t]{1,3}[0-9]{1,4}(?:[ \t]{0,3}[:)]|\.(?=\s)|[ \t]{1,3}[-–—](?=\s))  # Step 3:
        )
      | (?P<number>(?:\*\*)?[0-9]{1,3}[.)](?=[\s*]))                                    # 3.  3)  **3.**
      | (?P<bullet>[-*](?=[ \t]))                                                        # -  *
    )""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_MARKER_RANK = {"bullet": 1, "number": 2, "step": 3}
_LINE_BREAKS = re.compile(r"\n\s*")


def _recover_reasoning(text: str, config: StructuredRecoveryConfig, *, halted: bool) -> _Recovered:
    starts = _step_starts(text, halted=halted) or _paragraph_starts(text)
    borders = starts if halted else [*starts, len(text)]
    steps = tuple(text[start:end].rstrip() for start, end in pairwise(borders))
    was_cut = halted and bool(starts)
    kept = len(text) if config.policy == "raw_partial" or not was_cut else starts[-1]
    tail = config.placeholder if config.policy == "redacted" and was_cut else ""
    return _Recovered(
        text=text[:kept] + tail,
        value=steps,
        valid=bool(steps) and not (was_cut and config.policy == "raw_partial"),
        complete=bool(steps) and not halted,
        errors=() if starts else ("no_step",),
        units="steps",
        whole=len(steps),
        dropped=int(was_cut),
        kept=kept,
    )


def _step_starts(text: str, *, halted: bool) -> list[int]:
    """Where steps begin. Bullets below a number, and numbers below "Step 3:", are part of that step."""
    starts: list[int] = []
    rank = 0
    for marker in _MARKER.finditer(text if halted else text + "\n"):  # at the end of the text a bare "3." is one
        found = _MARKER_RANK[marker.lastgroup or "bullet"]
        if found >= rank:
            rank = found
            starts.append(marker.start())
    return starts


def _paragraph_starts(text: str) -> list[int]:
    first = len(text) - len(text.lstrip())
    breaks = (run for run in _LINE_BREAKS.finditer(text, first) if run.group().count("\n") > 1)
    return [start for start in (first, *(run.end() for run in breaks)) if start < len(text)]
