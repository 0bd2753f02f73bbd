"""A small machine for the tests: an arm, an oven, a gripper and a fan, last seen a second ago."""

from __future__ import annotations

from typing import Any

from director_ai.hooks.cyber_physical import (
    Box,
    CyberPhysicalHook,
    HalfSpace,
    Limit,
    PhysicalModel,
    Sphere,
    Workspace,
)
from director_ai.testing import ManualClock

URDF = """
<robot name="arm">
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.4"/>
    <limit lower="-1.5" upper="1.5" velocity="1" effort="50"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.3"/>
    <limit lower="0" upper="0.3" velocity="0.5" effort="20"/></joint>
  <joint name="wheel" type="continuous"><parent link="base"/><child link="rim"/></joint>
  <joint name="finger" type="prismatic"><parent link="lower"/><child link="left"/>
    <limit lower="0" upper="0.1" velocity="0.2" effort="5"/><mimic joint="slide" multiplier="-1" offset="0.2"/></joint>
  <joint name="weld" type="fixed"><parent link="lower"/><child link="tool"/></joint>
  <joint name="free" type="planar"><parent link="tool"/><child link="puck"/></joint>
</robot>
"""
OVEN = Limit(target="oven", kind="temperature", low="0 degC", high="250 degC", rate="2 K/s", step="30 delta_degC")
GRIP = Limit(target="gripper", kind="force", low="0 N", high="40 N", on_violation="halt")
FAN = Limit(target="fan", kind="ratio", high=0.8, on_violation="warn")
HEATER = Limit(target="heater", kind="power", high="2 kW")
SPACE = Workspace(target="tool", outer="0.9 m", inner="0.1 m", speed="0.5 m/s")
PRESS = Box(name="press", low=("40 cm", "-10 cm", "0 m"), high=("60 cm", "10 cm", "1 m"))
HEAD = Sphere(name="head", center=(-0.5, 0, 0.5), radius="20 cm", unit="m")
FLOOR = HalfSpace(name="floor", normal=(0, 0, -1), through=(0, 0, 0), unit="m", on_violation="halt")


def make_hook(**changes: Any) -> tuple[CyberPhysicalHook, ManualClock]:
    """A hook whose state was observed a second ago."""
    clock = ManualClock(100.0)
    settings = {"limits": [OVEN, GRIP, FAN, HEATER], "workspaces": [SPACE], "keep_out": [PRESS, HEAD, FLOOR]} | changes
    reader = settings.pop("reader", None)
    hook = CyberPhysicalHook(PhysicalModel(**settings), reader=reader, clock=clock)
    if OVEN in settings["limits"]:
        hook.observe("oven", "temperature", "100 degC")
    if SPACE in settings["workspaces"]:
        hook.observe_place((0.2, -0.3, 0.5), unit="m")
    clock.advance(1.0)
    return hook, clock
