"""Reading a robot's description in URDF: its joints, how far and how fast they go, and how far the arm can reach."""

from __future__ import annotations

import io
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from director_ai.core.identifiers import is_ref
from director_ai.errors import ConfigError, MissingExtra

try:
    from defusedxml import DefusedXmlException, ElementTree  # type: ignore[import-untyped]
except ImportError:
    raise MissingExtra("reading a robot's description", extra="hooks") from None

if TYPE_CHECKING:
    import os
    from xml.etree.ElementTree import Element

__all__ = ["Joint", "Robot", "load_urdf", "parse_urdf"]

JointType = Literal["revolute", "continuous", "prismatic", "fixed", "floating", "planar"]
_TYPES: Final = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_ONCE: Final = ("parent", "child", "origin", "limit", "mimic", "safety_controller")
"""What a joint may have one of: of two, one would count and the other be passed over."""
LARGEST_FILE: Final = 8_000_000
MOST_JOINTS: Final = 512
_DEEPEST: Final = 32
_MOST_ELEMENTS: Final = 200_000
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Joint:
    """One joint: radians or meters, per second, and newton-meters or newtons."""

    name: str
    type: JointType
    low: float | None = None
    """None: without end, as that of a wheel."""
    high: float | None = None
    velocity: float | None = None
    effort: float | None = None
    follows: tuple[str, float, float] | None = None
    """Of a joint that mimics another: its name, the multiplier and the offset."""

    @property
    def is_commanded(self) -> bool:
        """Whether it can be told where to go."""
        return self.type in {"revolute", "continuous", "prismatic"} and self.follows is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Robot:
    """What a description says of a robot."""

    name: str
    joints: dict[str, Joint] = field(hash=False)
    reach: float | None = None
    """No joint gets farther from the base than this, in meters; None: it moves about, and nothing is known."""


def load_urdf(path: str | os.PathLike[str]) -> Robot:
    """Read a description from a file."""
    place = Path(path)
    try:
        with place.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"the robot's description cannot be read ({type(error).__name__})") from None
    return parse_urdf(data)


def parse_urdf(data: str | bytes) -> Robot:
    """Read a description; documents that declare entities or types are refused, as are broken ones."""
    root = _tree(data)
    if root.tag != "robot":
        raise ConfigError("a robot's description has <robot> as its outermost element")
    elements = root.findall("joint")
    if len(elements) > MOST_JOINTS:
        raise ConfigError(f"a robot's description may have at most {MOST_JOINTS} joints, got {len(elements)}")
    joints: dict[str, Joint] = {}
    ways: list[tuple[str, str, float]] = []
    for position, element in enumerate(elements):
        joint = _joint(element, position)
        if joint.name in joints:
            raise ConfigError(f"joint {position} of the robot's description has the name of an earlier one")
        joints[joint.name] = joint
        ways.append(_way(element, joint, position))
    return Robot(name=_name(root, "the robot"), joints=_resolved(joints), reach=_reach(ways))


def _tree(data: object) -> Element:
    if not isinstance(data, str | bytes) or not data.strip():
        raise ConfigError("a robot's description is the text of an XML document")
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"a robot's description may have at most {LARGEST_FILE} bytes")
    depth = count = 0
    try:
        raw = data.encode("utf-8") if isinstance(data, str) else data
        steps: Any = ElementTree.iterparse(io.BytesIO(raw), events=("start", "end"), forbid_dtd=True)
        root: Any = None
        for event, element in steps:
            root = element if root is None else root
            depth += 1 if event == "start" else -1
            count += event == "start"
            if depth > _DEEPEST or count > _MOST_ELEMENTS:
                raise ConfigError(
                    f"a robot's description may have {_MOST_ELEMENTS} elements, nested {_DEEPEST} deep, at most"
                )
            if str(element.tag).startswith("{") and "xacro" in str(element.tag):
                raise ConfigError("the robot's description has xacro macros; expand them first: xacro robot.xacro")
    except DefusedXmlException as error:
        raise ConfigError(f"the robot's description declares what it must not ({type(error).__name__})") from None
    except (ElementTree.ParseError, UnicodeError, LookupError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"the robot's description is not well-formed XML ({type(error).__name__})") from None
    return cast("Element", root)


def _name(element: Element, what: str) -> str:
    name = element.get("name", "")
    if not is_ref(name) or len(name) > 100:
        raise ConfigError(f"{what} needs a name of one word of at most 100 characters")
    return name


def _number(element: Element, attribute: str, what: str, *, default: float | None = None) -> float:
    text = element.get(attribute)
    if text is None and default is not None:
        return default
    number = float(text) if text is not None and _NUMBER.fullmatch(text.strip()) else math.nan
    if not math.isfinite(number):
        raise ConfigError(f"{what}: {attribute} must be a finite number")
    return number


def _joint(element: Element, position: int) -> Joint:
    what = f"joint {position} of the robot's description"
    name = _name(element, what)
    kind = element.get("type", "")
    if kind not in _TYPES:
        raise ConfigError(f"{what}: type must be one of {', '.join(_TYPES)}")
    if any(len(element.findall(tag)) > 1 for tag in _ONCE):
        raise ConfigError(f"{what}: only one each of {', '.join(f'<{tag}>' for tag in _ONCE)} may be there")
    limit, mimic = element.find("limit"), element.find("mimic")
    low = high = velocity = effort = None
    if kind in {"revolute", "prismatic"} and limit is None:
        raise ConfigError(f"{what}: a {kind} joint needs a <limit> with effort and velocity")
    if limit is not None:
        velocity, effort = _number(limit, "velocity", what), _number(limit, "effort", what)
        if velocity < 0.0 or effort < 0.0:
            raise ConfigError(f"{what}: velocity and effort must not be negative")
    if limit is not None and kind in {"revolute", "prismatic"}:
        low, high = _range(element, limit, what)
    follows = None
    if mimic is not None:
        multiplier, offset = (
            _number(mimic, each, what, default=d) for each, d in (("multiplier", 1.0), ("offset", 0.0))
        )
        follows = (mimic.get("joint", ""), multiplier, offset)
    bounds = {"low": low, "high": high, "velocity": velocity, "effort": effort}
    return Joint(name=name, type=cast("JointType", kind), follows=follows, **bounds)


def _range(element: Element, limit: Element, what: str) -> tuple[float, float]:
    """Return the range of a joint, narrowed by that of its safety controller."""
    low, high = _number(limit, "lower", what, default=0.0), _number(limit, "upper", what, default=0.0)
    soft = element.find("safety_controller")
    if soft is not None:
        low = max(low, _number(soft, "soft_lower_limit", what, default=low))
        high = min(high, _number(soft, "soft_upper_limit", what, default=high))
    if low > high:
        raise ConfigError(f"{what}: lower must not be more than upper")
    return low, high


def _resolved(joints: dict[str, Joint]) -> dict[str, Joint]:
    """Let every joint that follows another follow the one at the head of the line."""
    found: dict[str, Joint] = {}
    for name, joint in joints.items():
        if joint.follows is None:
            found[name] = joint
            continue
        leader, multiplier, offset = joint.follows
        seen = {name}
        while leader in joints and leader not in seen and (ahead := joints[leader].follows) is not None:
            seen.add(leader)
            leader, multiplier, offset = ahead[0], multiplier * ahead[1], multiplier * ahead[2] + offset
        if leader not in joints or leader in seen or not math.isfinite(multiplier + offset):
            raise ConfigError("a joint of the robot's description mimics itself, or one that is not there")
        found[name] = replace(joint, follows=(leader, multiplier, offset))
    return found


def _way(element: Element, joint: Joint, position: int) -> tuple[str, str, float]:
    """Return parent, child, and the longest that the way between them can be."""
    what = f"joint {position} of the robot's description"
    links = []
    for tag in ("parent", "child"):
        end = element.find(tag)
        link = "" if end is None else end.get("link", "")
        if not link:
            raise ConfigError(f"{what}: <{tag}> must name a link")
        links.append(link)
    origin = element.find("origin")
    parts = ["0", "0", "0"] if origin is None else origin.get("xyz", "0 0 0").split()
    if len(parts) != 3 or not all(_NUMBER.fullmatch(part) for part in parts):
        raise ConfigError(f"{what}: xyz of <origin> must be three numbers")
    length = math.hypot(*(float(part) for part in parts))
    if joint.type == "prismatic":
        length += max(abs(joint.low or 0.0), abs(joint.high or 0.0))
    if joint.type in {"floating", "planar"}:
        length = math.inf
    return links[0], links[1], length


def _reach(ways: list[tuple[str, str, float]]) -> float | None:
    """Return the length of the longest chain from the one root, which nothing of the arm can exceed."""
    parents = {child: (parent, length) for parent, child, length in ways}
    if len(parents) != len(ways):
        raise ConfigError("a link of the robot's description hangs on two joints")
    farthest = 0.0
    known: dict[str, float] = {}
    for link in parents:
        chain = [link]
        while chain[-1] in parents and chain[-1] not in known:
            parent = parents[chain[-1]][0]
            if parent in chain:
                raise ConfigError("the links of the robot's description go round in a circle")
            chain.append(parent)
        for each in reversed(chain):
            if each not in known:
                known[each] = known[parents[each][0]] + parents[each][1] if each in parents else 0.0
        farthest = max(farthest, known[link])
    return farthest if ways and math.isfinite(farthest) and farthest > 0.0 else None
