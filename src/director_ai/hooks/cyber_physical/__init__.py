"""The cyber-physical hook: a proposed action, checked against what a machine can do and may do.

declared:   quantities ─► volumes, budgets, robot (URDF) ─► model
proposed:   tool call ─► reading ─► action ─► grounding (against model and last state) ─► hook (verdict and event)
"""

from __future__ import annotations

from director_ai.hooks.cyber_physical.action import Move, PhysicalAction, Setpoint, Violation
from director_ai.hooks.cyber_physical.budgets import Budget
from director_ai.hooks.cyber_physical.hook import CyberPhysicalHook, GroundingVerdict
from director_ai.hooks.cyber_physical.model import Limit, PhysicalModel
from director_ai.hooks.cyber_physical.reading import ActionReader, Argument, Tool
from director_ai.hooks.cyber_physical.robot import Joint, Robot, load_urdf, parse_urdf
from director_ai.hooks.cyber_physical.volumes import Box, HalfSpace, Sphere, Workspace

__all__ = [
    "ActionReader",
    "Argument",
    "Box",
    "Budget",
    "CyberPhysicalHook",
    "GroundingVerdict",
    "HalfSpace",
    "Joint",
    "Limit",
    "Move",
    "PhysicalAction",
    "PhysicalModel",
    "Robot",
    "Setpoint",
    "Sphere",
    "Tool",
    "Violation",
    "Workspace",
    "load_urdf",
    "parse_urdf",
]
