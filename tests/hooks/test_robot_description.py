"""A robot's description is read for its joints; what is broken, hostile or too large is refused by a clear error."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from director_ai.errors import ConfigError
from director_ai.hooks.cyber_physical import robot as robot_module
from director_ai.hooks.cyber_physical.robot import load_urdf, parse_urdf

CANARY = "zorblatt"
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="40"/>'


def joint(name: str = "elbow", kind: str = "revolute", inside: str = LIMIT, parent: str = "a", child: str = "b") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def robot(*parts: str, name: str = "arm") -> str:
    return f'<?xml version="1.0"?><robot name="{name}">{"".join(parts)}</robot>'


def test_joints_are_read_with_their_limits() -> None:
    read = parse_urdf(
        robot(
            joint("shoulder", "revolute", LIMIT + '<origin xyz="0 0 0.3" rpy="0 0 0"/>', "base", "upper"),
            joint(
                "slide",
                "prismatic",
                '<limit upper="0.2" velocity="1" effort="5"/><origin xyz="0.4 0 0"/>',
                "upper",
                "lower",
            ),
            joint("wheel", "continuous", "", "base", "rim"),
            joint("flange", "fixed", '<origin xyz="0 0.1 0"/>', "lower", "tool"),
        )
    )
    assert read.name == "arm"
    shoulder, slide, wheel, flange = read.joints.values()
    assert (shoulder.low, shoulder.high, shoulder.velocity, shoulder.effort) == (-1.0, 2.0, 3.0, 40.0)
    assert (slide.low, slide.high) == (0.0, 0.2)
    assert (wheel.low, wheel.high, wheel.velocity) == (None, None, None)
    assert [each.is_commanded for each in read.joints.values()] == [True, True, True, False]
    assert (flange.type, read.reach) == ("fixed", pytest.approx(0.3 + 0.4 + 0.2 + 0.1))


def test_the_safety_controller_narrows_and_never_widens() -> None:
    soft = '<safety_controller soft_lower_limit="-9" soft_upper_limit="1.5" k_velocity="1"/>'
    found = parse_urdf(robot(joint(inside=LIMIT + soft))).joints["elbow"]
    assert (found.low, found.high) == (-1.0, 1.5)


def test_a_joint_that_mimics_a_mimic_follows_the_first() -> None:
    read = parse_urdf(
        robot(
            joint("a", parent="l0", child="l1"),
            joint("b", inside=LIMIT + '<mimic joint="a" multiplier="2" offset="0.5"/>', parent="l1", child="l2"),
            joint("c", inside=LIMIT + '<mimic joint="b" multiplier="-1"/>', parent="l2", child="l3"),
        )
    )
    assert read.joints["b"].follows == ("a", 2.0, 0.5)
    assert read.joints["c"].follows == ("a", -2.0, -0.5)
    assert not read.joints["c"].is_commanded


def test_an_arm_on_wheels_has_no_known_reach() -> None:
    assert (
        parse_urdf(robot(joint("free", "floating", "", "world", "base"), joint(parent="base", child="b"))).reach is None
    )


BOMB = '<!DOCTYPE r [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>'

BROKEN = {
    "nothing": ("", "XML document"),
    "no text": (None, "XML document"),
    "no XML": (CANARY, "well-formed"),
    "cut short": (robot(joint())[:-9], "well-formed"),
    "an encoding nobody knows": (b'<?xml version="1.0" encoding="zorblatt"?><robot name="r"/>', "well-formed"),
    "bytes that are no UTF-8": (b'<robot name="\xff\xfe"/>', "well-formed"),
    "entities": (BOMB, "declares"),
    "entities of files": (OUTSIDE, "declares"),
    "a document type": ('<!DOCTYPE robot><robot name="r"/>', "declares"),
    "another document": (f"<{CANARY}/>", "outermost"),
    "no name": ("<robot/>", "needs a name"),
    "a name of many words": (robot(joint(f"the {CANARY}")), "needs a name"),
    "a type nobody knows": (robot(joint(kind=CANARY)), "type must be one of"),
    "no limit": (robot(joint(inside="")), "needs a <limit>"),
    "no velocity": (robot(joint(inside='<limit effort="1"/>')), "velocity"),
    "a limit that is no number": (robot(joint(inside=f'<limit lower="{CANARY}" velocity="1" effort="1"/>')), "finite"),
    "NaN": (robot(joint(inside='<limit lower="nan" velocity="1" effort="1"/>')), "finite"),
    "infinity": (robot(joint(inside='<limit lower="0" velocity="inf" effort="1"/>')), "finite"),
    "overflow": (robot(joint(inside='<limit lower="0" velocity="1e999" effort="1"/>')), "finite"),
    "a hexadecimal number": (robot(joint(inside='<limit lower="0x1" velocity="1" effort="1"/>')), "finite"),
    "low above high": (robot(joint(inside='<limit lower="2" upper="1" velocity="1" effort="1"/>')), "lower"),
    "two limits, the wider one first": (
        robot(joint(inside='<limit lower="-9" upper="9" velocity="9" effort="9"/>' + LIMIT)),
        "only one",
    ),
    "two that it mimics": (robot(joint(inside=LIMIT + '<mimic joint="x"/><mimic joint="y"/>')), "only one"),
    "two places": (robot(joint(inside=LIMIT + '<origin xyz="0 0 1"/><origin xyz="0 0 9"/>')), "only one"),
    "two parents": (robot(joint(inside=LIMIT + '<parent link="z"/>')), "only one"),
    "two safety controllers": (robot(joint(inside=LIMIT + "<safety_controller/>" * 2)), "only one"),
    "negative velocity": (robot(joint(inside='<limit velocity="-1" effort="1"/>')), "negative"),
    "two of one name": (robot(joint(), joint(child="c")), "earlier"),
    "a link on two joints": (robot(joint("x"), joint("y", parent="c")), "two joints"),
    "links in a circle": (robot(joint("x"), joint("y", parent="b", child="a")), "circle"),
    "no parent": (robot(f'<joint name="x" type="fixed"><child link="b"/>{LIMIT}</joint>'), "<parent>"),
    "a place that is none": (robot(joint(inside=LIMIT + '<origin xyz="0 0"/>')), "three numbers"),
    "mimics nobody": (robot(joint(inside=LIMIT + f'<mimic joint="{CANARY}"/>')), "mimics"),
    "mimics itself": (robot(joint(inside=LIMIT + '<mimic joint="elbow"/>')), "mimics"),
    "mimics in a circle": (
        robot(
            joint("x", inside=LIMIT + '<mimic joint="y"/>'),
            joint("y", inside=LIMIT + '<mimic joint="x"/>', parent="b", child="c"),
        ),
        "mimics",
    ),
    "macros": ('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>', "xacro"),
    "nested too deep": ("<robot name='r'>" + "<a>" * 50_000, "nested"),
    "too many joints": (robot(*[joint(f"j{i}", "fixed", "", f"l{i}", f"l{i + 1}") for i in range(600)]), "at most 512"),
}


@pytest.mark.parametrize(("data", "says"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_is_refused_without_being_repeated(data: str | bytes, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as refused:
        parse_urdf(data)
    assert CANARY not in str(refused.value)


def test_a_long_chain_is_read() -> None:
    chain = [joint(f"j{i}", "fixed", '<origin xyz="0 0 0.01"/>', f"l{i}", f"l{i + 1}") for i in range(500)]
    assert parse_urdf(robot(*reversed(chain))).reach == pytest.approx(5.0)


def test_a_file_is_read_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "arm.urdf"
    place.write_text(robot(joint()), "utf-8")
    assert math.isclose(load_urdf(place).joints["elbow"].high or 0.0, 2.0)
    for missing in (tmp_path / "none.urdf", tmp_path):
        with pytest.raises(ConfigError, match="cannot be read"):
            load_urdf(missing)
    monkeypatch.setattr(robot_module, "LARGEST_FILE", 100)
    with pytest.raises(ConfigError, match="at most 100 bytes"):
        load_urdf(place)
