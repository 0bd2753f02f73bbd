"""A robot arm and an oven: which of an agent's tool calls may be carried out, and what speaks against the others.

python examples/hooks/cyber_physical.py
"""

from __future__ import annotations

import sys

from director_ai.hooks.cyber_physical import (
    ActionReader,
    Argument,
    Box,
    Budget,
    CyberPhysicalHook,
    Limit,
    PhysicalModel,
    Tool,
    Workspace,
)
from director_ai.hooks.protocol import Occasion, ProposedAction

MODEL = PhysicalModel(
    limits=[Limit(target="oven", kind="temperature", low="0 degC", high="250 degC", rate="5 K/s")],
    workspaces=[Workspace(target="tool", outer="85 cm", speed="0.5 m/s", clearance="3 cm")],
    keep_out=[Box(name="operator", low=("40 cm", "-20 cm", "0 m"), high=("80 cm", "20 cm", "2 m"))],
    budgets=[Budget(name="calls", kind="steps", most=100, per="1 min")],
)
SECONDS = Argument(kind="duration", unit="s")
READER = ActionReader(
    [
        Tool(name="heat", arguments={"to": Argument(kind="temperature", target="oven"), "within": SECONDS}),
        Tool(name="move", arguments={"to": Argument(kind="place", target="tool", unit="m"), "within": SECONDS}),
    ]
)
CALLS = [
    ("heat", {"to": "180 degC", "within": 60}),
    ("heat", {"to": 180, "within": 60}),
    ("heat", {"to": "500 degF", "within": 10}),
    ("move", {"to": [0.3, 0.4, 0.3], "within": 3}),
    ("move", {"to": [0.7, 0.3, 0.3], "within": 4}),
    ("move", {"to": [0.9, 0.9, 0.3], "within": 0.5}),
]

hook = CyberPhysicalHook(MODEL, reader=READER)
hook.observe("oven", "temperature", "21 degC")
hook.observe_place(("30 cm", "-40 cm", "30 cm"))

for name, arguments in CALLS:
    verdict = hook.examine(Occasion(action=ProposedAction(name=name, arguments=arguments)))
    sys.stdout.write(f"{verdict.decision:6} {name} {arguments}\n")
    sys.stdout.writelines(f"         {reason}\n" for reason in verdict.reasons)
