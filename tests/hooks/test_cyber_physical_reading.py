"""Tool calls are read as they were declared; what cannot be right is refused when it is declared."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from machines import GRIP, OVEN, PRESS, SPACE, make_hook

from director_ai.errors import ConfigError, PayloadError
from director_ai.hooks.cyber_physical import (
    ActionReader,
    Argument,
    Budget,
    CyberPhysicalHook,
    GroundingVerdict,
    Limit,
    PhysicalModel,
    Tool,
)
from director_ai.hooks.protocol import Hook, Occasion, ProposedAction, consult

READER = ActionReader(
    [
        Tool(
            name="move_to",
            arguments={
                "position": Argument(kind="place", target="tool"),
                "seconds": Argument(kind="duration", unit="s", required=False),
            },
            ignored=frozenset({"comment"}),
        ),
        Tool(name="heat", arguments={"to": Argument(kind="temperature", target_from="device")}),
        Tool(name="set_joints", arguments={"joints": Argument(kind="joints", unit="deg")}),
        Tool(name="follow", arguments={"path": Argument(kind="path", target="tool", unit="mm")}),
    ]
)


class TestExamining:
    def test_it_is_a_hook(self) -> None:
        assert isinstance(make_hook()[0], Hook)

    @pytest.mark.parametrize(
        ("name", "arguments", "violated"),
        [
            ("move_to", {"position": ["20 cm", "-30 cm", "60 cm"], "comment": "up"}, []),
            ("move_to", {"position": {"x": "20 cm", "y": "-30 cm", "z": "60 cm"}, "seconds": 1}, []),
            ("move_to", {"position": [0.2, -0.3, 0.6]}, ["unit_missing"]),
            ("move_to", {}, ["argument_missing"]),
            ("move_to", {"position": None}, ["argument_malformed"]),
            (
                "move_to",
                {"position": ["1 m", "-1 m", "1 m"], "seconds": None},
                ["argument_malformed", "unreachable", "speed_exceeded"],
            ),
            ("move_to", {"position": ["20 cm", "-30 cm", "60 cm"], "force": True}, ["argument_unknown"]),
            ("heat", {"to": "101 degC", "device": "oven"}, []),
            ("heat", {"to": "101 degC", "device": "stove"}, ["target_unknown"]),
            ("heat", {"to": "101 degC"}, ["target_unknown"]),
            ("heat", {"to": "101 degC", "device": ["oven"]}, ["target_unknown"]),
            ("set_joints", {"joints": {"elbow": 3}}, ["target_unknown"]),
            ("set_joints", {"joints": [1, 2]}, ["argument_malformed"]),
            ("set_joints", {"joints": {str(i): 1 for i in range(300)}}, ["argument_malformed"]),
            ("follow", {"path": [[200, -300, 550], [200, -300, 600]]}, []),
            ("follow", {"path": []}, ["figure_malformed"]),
            ("follow", {"path": "abc"}, ["figure_malformed"]),
            ("follow", {"path": [[200, -300, 550]] * 300}, ["action_too_large"]),
            ("Move_To", {"position": ["20 cm", "-30 cm", "60 cm"]}, ["tool_unknown"]),
            ("move-to", {}, ["tool_unknown"]),
            ("ｍove_to ", {}, ["tool_unknown"]),
            ("mov\u200be_to", {}, ["tool_unknown"]),
            ("m\u043eve_to", {}, ["tool_unknown"]),
            ("move_to\x00", {}, ["tool_unknown"]),
            ("functions.move_to", {}, ["tool_unknown"]),
            ("arm/Move_To", {}, ["tool_unknown"]),
            ("mcp__arm__move_to", {}, ["tool_unknown"]),
            ("\u200b" * 900 + "move_to", {}, ["tool_unknown"]),
            ("\u200b" * 90_000 + "move_to", {}, ["tool_unknown"]),
            ("move_to", {f"a{i}": 1 for i in range(300)}, ["action_too_large"]),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_calls_are_read_as_they_were_declared(self, name: str, arguments: Any, violated: list[str]) -> None:
        hook, _ = make_hook(reader=READER)
        verdict = hook.examine(Occasion(action=ProposedAction(name=name, arguments=arguments)))
        assert verdict is not None
        assert [each.code for each in verdict.violations] == violated
        assert verdict.decision == ("block" if violated else "allow")

    @pytest.mark.parametrize(
        "occasion",
        [Occasion(text="Move it!"), Occasion(), Occasion(action=ProposedAction(name="search", arguments={"q": "3 m"}))],
        ids=["text", "nothing", "another tool"],
    )
    def test_what_moves_nothing_is_none_of_its_business(self, occasion: Occasion) -> None:
        assert make_hook(reader=READER)[0].examine(occasion) is None
        assert make_hook()[0].examine(Occasion(action=ProposedAction(name="move_to"))) is None

    @pytest.mark.parametrize(
        "name", ["search", "remove_to", "move_to.search", "move_to_file", "preheat", "heat.off", "heater", "go_heat"]
    )
    def test_names_that_only_hold_a_declared_one_are_other_tools(self, name: str) -> None:
        assert make_hook(reader=READER)[0].examine(Occasion(action=ProposedAction(name=name))) is None

    def test_another_tool_of_a_similar_name_can_be_named(self) -> None:
        reader = ActionReader([Tool(name="move")], others=["files.move"])
        assert reader(ProposedAction(name="files.move")) is None
        assert reader(ProposedAction(name="Files.move")) is not None

    def test_consulting_hands_the_verdict_on(self) -> None:
        hook, _ = make_hook(reader=READER)
        action = ProposedAction(name="heat", arguments={"to": "400 degC", "device": "oven"})
        (verdict,) = consult([hook], Occasion(action=action), deadline=5.0)
        assert isinstance(verdict, GroundingVerdict)
        assert not verdict.allowed


@pytest.mark.parametrize(
    "make",
    [
        lambda: Limit(target="oven", kind="heat"),
        lambda: Limit(target="the oven", kind="temperature"),
        lambda: Limit(target="oven", kind="temperature", high=250),
        lambda: Limit(target="oven", kind="temperature", high="250 bar"),
        lambda: Limit(target="oven", kind="temperature", low="2 K", high="1 K"),
        lambda: Limit(target="oven", kind="temperature", step="5 degC"),
        lambda: Limit(target="oven", kind="temperature", rate="5 K"),
        lambda: Limit(target="oven", kind="temperature", rate="-5 K/s"),
        lambda: Limit(target="oven", kind="temperature", on_violation="ignore"),  # type: ignore[arg-type]
        lambda: Budget(name="b", kind="money", most=1),  # type: ignore[arg-type]
        lambda: Budget(name="b", kind="steps", most="3 J"),
        lambda: Budget(name="b", kind="steps", most=True),
        lambda: Budget(name="b", kind="steps", most=-1),
        lambda: Budget(name="b", kind="energy", most=3),
        lambda: Budget(name="b", kind="energy", most="3 J", per="0 s"),
        lambda: PhysicalModel(limits=["oven"]),  # type: ignore[list-item]
        lambda: PhysicalModel(keep_out=[OVEN]),  # type: ignore[list-item]
        lambda: PhysicalModel(robot="arm.urdf"),  # type: ignore[arg-type]
        lambda: PhysicalModel(keep_out=[PRESS, PRESS]),
        lambda: PhysicalModel(workspaces=[SPACE, SPACE]),
        lambda: PhysicalModel(limits=[GRIP] * 2001),
        lambda: CyberPhysicalHook({}),  # type: ignore[arg-type]
        lambda: CyberPhysicalHook(PhysicalModel(), reader="move"),  # type: ignore[arg-type]
        lambda: CyberPhysicalHook(PhysicalModel(), state_valid_for=float("nan")),
        lambda: CyberPhysicalHook(PhysicalModel(), clock=None),  # type: ignore[arg-type]
        lambda: Argument(kind="heat", target="oven"),
        lambda: Argument(kind="temperature"),
        lambda: Argument(kind="temperature", target="oven", target_from="device"),
        lambda: Argument(kind="temperature", target="oven", unit="bar"),
        lambda: Argument(kind="joints", target="elbow"),
        lambda: Argument(kind="duration", target="oven"),
        lambda: Tool(name=" "),
        lambda: Tool(name="t", arguments={"a": "angle"}),  # type: ignore[dict-item]
        lambda: Tool(name="t", energy="-1 J"),
        lambda: Tool(name="t", arguments={"a": Argument(kind="duration"), "b": Argument(kind="duration")}),
        lambda: ActionReader([Tool(name="move"), Tool(name="MOVE")]),
        lambda: ActionReader([Tool(name="move"), Tool(name="m\u043eve")]),
        lambda: ActionReader([Tool(name="move")], others=["move"]),
        lambda: ActionReader([Tool(name="move")], others="grip"),
        lambda: ActionReader([Tool(name="move")], others=[3]),  # type: ignore[list-item]
        lambda: ActionReader(["move"]),  # type: ignore[list-item]
    ],
)
def test_what_cannot_be_right_is_refused_when_it_is_declared(make: Any) -> None:
    with pytest.raises((ConfigError, PayloadError)):
        make()


def test_the_example_tells_what_speaks_against_a_call() -> None:
    example = Path(__file__).parents[2] / "examples" / "hooks" / "cyber_physical.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True)
    assert done.stdout.count("allow") == 2
    assert "keep_out:operator" in done.stdout
