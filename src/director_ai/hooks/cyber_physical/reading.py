"""Reading tool calls as physical actions: which argument of which tool is which quantity, as the user declared it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.identifiers import ref_of
from director_ai.core.lookalikes import STRONG_TWINS
from director_ai.errors import ConfigError, UnknownOption
from director_ai.hooks.containment.spelling import plain_spelling
from director_ai.hooks.cyber_physical.action import Move, PhysicalAction, Setpoint, Violation
from director_ai.hooks.cyber_physical.model import JOINT_KINDS
from director_ai.hooks.cyber_physical.quantities import KINDS, Figure, read_figure
from director_ai.hooks.cyber_physical.volumes import check_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from director_ai.hooks.protocol import ProposedAction

__all__ = ["ActionReader", "Argument", "Tool"]

_SHAPES: Final = ("joints", "place", "path")
_MOST_ARGUMENTS: Final = 256
_LONGEST_NAME: Final = 1_000
_TWINS: Final = str.maketrans({old.lower(): new.lower() for old, new in STRONG_TWINS.items()})
_QUALIFIER: Final = re.compile(r"[./:]|__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What one argument of a tool stands for."""

    kind: str
    """A kind of quantity (`temperature`, `joint`, …), `joints` (names to figures), `place`, or `path` (places)."""
    target: str = ""
    """What it is a quantity of; or:"""
    target_from: str = ""
    """the argument that names it."""
    unit: str = ""
    """What a bare number is in; empty: it must state its unit."""
    required: bool = True

    def __post_init__(self) -> None:
        known = (*KINDS, *JOINT_KINDS, *_SHAPES)
        if self.kind not in known:
            raise UnknownOption("kind of argument", self.kind, known)
        if self.kind in {"joints", "duration"} or (self.kind == "energy" and not self.target and not self.target_from):
            if self.target or self.target_from:
                raise ConfigError(f"an argument of kind {self.kind} has no target")
        elif bool(self.target) == bool(self.target_from):
            raise ConfigError("an argument needs a target, or target_from, and not both")
        if self.target:
            check_name("the target of an argument", self.target)
        if self.unit:
            _check_unit(self.kind, self.unit)


def _check_unit(kind: str, unit: str) -> None:
    if kind in _SHAPES:
        kinds: tuple[str, ...] = ("length",) if kind != "joints" else JOINT_KINDS["joint"]
    else:
        kinds = JOINT_KINDS.get(kind, (kind,))
    errors = []
    for each in kinds:
        try:
            read_figure(each, 1.0, unit=unit)
        except ValueError as error:
            errors.append(error)
    if len(errors) == len(kinds):
        raise ConfigError("the unit of an argument must be one of its kind") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """What the arguments of one tool stand for; one that is not declared here is refused."""

    name: str
    arguments: Mapping[str, Argument] = field(default_factory=dict, hash=False)
    ignored: frozenset[str] = frozenset()
    """Arguments that move nothing, such as a comment."""
    energy: Figure | None = None
    """What one call draws at the least."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ConfigError("a tool needs a name")
        if not all(isinstance(each, Argument) for each in self.arguments.values()):
            raise ConfigError("arguments must map names to Argument")
        if self.energy is not None and read_figure("energy", self.energy) < 0.0:
            raise ConfigError("the energy of a tool must not be negative")
        kinds = [each.kind for each in self.arguments.values() if each.kind == "duration" or _is_total(each)]
        if len(kinds) != len(set(kinds)):
            raise ConfigError("a tool has one duration and one energy at most")
        object.__setattr__(self, "arguments", dict(self.arguments))
        object.__setattr__(self, "ignored", frozenset(self.ignored))


def _is_total(argument: Argument) -> bool:
    return argument.kind == "energy" and not argument.target and not argument.target_from


class ActionReader:
    """Turns a call of a declared tool into a physical action; None for tools that are not declared.

    A name that differs from a declared one only by case, width, spaces, look-alikes, or by what stands before it
    (`oven.heat`) is refused, unless it is one of `others`: whoever carries out the call may not see the difference.
    """

    def __init__(self, tools: Iterable[Tool], *, others: Iterable[str] = ()) -> None:
        found = list(tools)
        if not all(isinstance(tool, Tool) for tool in found):
            raise ConfigError("tools must hold Tool")
        self._tools = {tool.name: tool for tool in found}
        self._folded = {_fold(name) for name in self._tools}
        self._others = frozenset(() if isinstance(others, str) else others)
        if isinstance(others, str) or not all(isinstance(name, str) for name in self._others):
            raise ConfigError("others must hold the names of tools")
        if len(self._folded) != len(found) or self._others & set(self._tools):
            raise ConfigError("tools need names of their own")

    def __call__(self, action: ProposedAction) -> PhysicalAction | None:
        """Read one call."""
        tool = self._tools.get(action.name)
        if tool is not None:
            return _Reading(tool, action.arguments).result()
        if action.name not in self._others and self._is_like_one(action.name):
            return PhysicalAction(faults=(_fault("tool_unknown", action.name),))
        return None

    def _is_like_one(self, name: str) -> bool:
        """Whether a name can be taken for a declared one; one that nobody would give a tool can be for any."""
        if len(name) > _LONGEST_NAME:
            return bool(self._tools)
        folded = _fold(name)
        ends = [found.end() for found in _QUALIFIER.finditer(folded)]
        return any(folded[end:] in self._folded for end in (0, *ends))


def _fold(name: str) -> str:
    plain = plain_spelling(name).translate(_TWINS).casefold().replace("-", "_")
    return "".join(sign for sign in plain if sign.isprintable() and not sign.isspace())


def _fault(code: str, text: object) -> Violation:
    # Hashed whatever it looks like: a word from outside may be anybody's name.
    return Violation(code=code, constraint=ref_of("", text if isinstance(text, str) else type(text).__name__))


class _Reading:
    """One call of one tool, being read."""

    def __init__(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        self._tool, self._arguments = tool, arguments
        self._setpoints: list[Setpoint] = []
        self._moves: list[Move] = []
        self._faults: list[Violation] = []
        self._duration: Any = None
        self._energy: Any = None

    def result(self) -> PhysicalAction:
        """Return what the call asks for, with everything that is wrong with the call itself."""
        declared = self._tool.arguments
        if len(self._arguments) > _MOST_ARGUMENTS:
            return PhysicalAction(faults=(Violation(code="action_too_large", constraint="action"),))
        naming = {each.target_from for each in declared.values()} | self._tool.ignored
        for name in self._arguments:
            if name not in declared and name not in naming:
                self._faults.append(_fault("argument_unknown", name))
        for name, argument in declared.items():
            if name in self._arguments:
                self._take(argument, self._arguments[name])
            elif argument.required:
                self._faults.append(_fault("argument_missing", name))
        return PhysicalAction(
            setpoints=tuple(self._setpoints),
            moves=tuple(self._moves),
            duration=self._duration,
            energy=self._energy,
            least_energy=self._tool.energy,
            faults=tuple(self._faults),
        )

    def _take(self, argument: Argument, value: Any) -> None:
        if value is None:
            self._faults.append(_fault("argument_malformed", value))
            return
        if argument.kind == "duration":
            self._duration = value if not argument.unit else _with_unit(value, argument.unit)
            return
        if _is_total(argument):
            self._energy = value if not argument.unit else _with_unit(value, argument.unit)
            return
        if argument.kind == "joints":
            if not isinstance(value, Mapping) or len(value) > _MOST_ARGUMENTS:
                self._faults.append(_fault("argument_malformed", value))
                return
            self._setpoints += [
                Setpoint(target=name, kind="joint", value=each, unit=argument.unit) for name, each in value.items()
            ]
            return
        target = self._arguments.get(argument.target_from) if argument.target_from else argument.target
        if argument.kind in {"place", "path"}:
            path = value if argument.kind == "path" else [value]
            self._moves.append(Move(target=target, path=path, unit=argument.unit))
        else:
            self._setpoints.append(Setpoint(target=target, kind=argument.kind, value=value, unit=argument.unit))


def _with_unit(value: Any, unit: str) -> Any:
    """Give a bare number its declared unit; whatever else it is will be judged as it is."""
    is_bare = isinstance(value, int | float) and not isinstance(value, bool)
    return {"value": value, "unit": unit} if is_bare else value
