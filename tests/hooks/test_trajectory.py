"""An actor is simulated before it acts: the same seeds, the same verdict, whatever runs beside it."""

from __future__ import annotations

import contextvars
import dataclasses
import random
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.core.safety_event import POLICY_DECISIONS, validate_safety_event
from director_ai.core.types import CoherenceScore, ReviewResult
from director_ai.errors import ConfigError
from director_ai.hooks.protocol import Hook, Occasion, ProposedAction, consult
from director_ai.hooks.trajectory import PreflightVerdict, Rollout, TrajectoryHook
from director_ai.testing import ManualClock

CANARY = "zorblatt"
ASKED = Occasion(prompt="Close the valve.", tenant_id="acme", request_id="r1")


class Scripted:
    """An actor that answers by the place of its seed."""

    def __init__(self, answers: list[Any], seeds: tuple[int, ...]) -> None:
        self._answers = dict(zip(seeds, answers, strict=True))

    def __call__(self, seed: int, occasion: Occasion) -> Any:
        return self._answers[seed]


def preflight(answers: list[Any], **settings: Any) -> PreflightVerdict:
    hook = TrajectoryHook(**{"simulations": len(answers), "workers": 2} | settings)
    return hook.preflight(Scripted(answers, hook.seeds), ASKED)


def wandering(seed: int, occasion: Occasion) -> list[float]:
    steps = random.Random(seed)
    return [0.6 + 0.4 * steps.random() for _ in range(5)]


FINE, POOR = Rollout(halted=False, coherence=0.9), Rollout(halted=True, coherence=0.2)

OUTCOMES: dict[str, tuple[list[Any], dict[str, Any], str, list[str]]] = {
    "all well": ([0.9] * 20, {}, "proceed", []),
    "too few to be sure of the rate": ([0.9] * 10, {}, "warn", ["halt_rate_unsure"]),
    "one halts": ([0.9] * 39 + [POOR], {}, "proceed", []),
    "a few halt": ([0.9] * 18 + [POOR] * 2, {}, "warn", ["halt_rate_unsure"]),
    "too many halt": ([POOR] * 5 + [0.9] * 15, {}, "halt", ["halt_rate", "mean_coherence"]),
    "dull but never halted": ([0.55] * 20, {}, "halt", ["mean_coherence"]),
    "scattered around the limit": (
        [0.51, 0.99] * 10,
        {"min_coherence": 0.7},
        "warn",
        ["mean_coherence_unsure"],
    ),
    "any halt is too many": ([POOR] + [0.9] * 19, {"max_halt_rate": 0.0}, "halt", ["halt_rate", "mean_coherence"]),
    "every halt is accepted": ([POOR] * 20, {"max_halt_rate": 1.0, "min_coherence": 0.0}, "proceed", []),
}


@pytest.mark.parametrize(("answers", "options", "outcome", "reasons"), OUTCOMES.values(), ids=OUTCOMES)
def test_what_comes_of_the_simulations(answers: list[Any], options: Any, outcome: str, reasons: list[str]) -> None:
    verdict = preflight(answers, **options)
    assert verdict.outcome == outcome
    found = [reason.split(" ")[0] for reason in verdict.reasons]
    assert [each for each in found if outcome != "halt" or not each.endswith("_unsure")] == reasons
    assert verdict.allowed == (outcome != "halt")
    event = validate_safety_event(verdict.safety_event.to_dict())
    assert (event.hook_id, event.hook_scope) == ("trajectory.preflight", "trajectory")
    assert event.policy_decision == verdict.decision == {"proceed": "allow"}.get(outcome, outcome)
    assert (event.tenant_id, event.request_id) == ("acme", "r1")
    assert event.halt_reason.split(" ")[0] == (found[0] if found else "preflight_passed")


def test_the_figures_are_those_of_the_simulations() -> None:
    verdict = preflight([0.9, [0.95, 0.7, 0.8], Rollout(halted=True, coherence=0.6), 0.8], max_halt_rate=0.5)
    assert [each.coherence for each in verdict.rollouts] == [0.9, 0.7, 0.6, 0.8]
    assert (verdict.halts, verdict.halt_rate, verdict.planned) == (1, 0.25, 4)
    assert verdict.mean_coherence == pytest.approx(0.75)
    assert verdict.deviation == pytest.approx(0.1290994)
    assert verdict.halt_interval == pytest.approx((0.0456, 0.6994), abs=1e-4)
    assert verdict.coherence_interval[0] < 0.75 < verdict.coherence_interval[1]


@dataclass
class Session:
    halted: Any
    coherence: Any


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (0.8, (False, 0.8, "")),
        (1, (False, 1.0, "")),
        (0.4, (True, 0.4, "")),
        ([0.9, 0.4, 0.9], (True, 0.4, "")),
        ((0.9, 0.8), (False, 0.8, "")),
        (Session(False, 0.8), (False, 0.8, "")),
        (Session(True, 0.8), (True, 0.8, "")),
        (Session(True, None), (True, 0.0, "")),
        (ReviewResult("text", CoherenceScore(0.7, True, 0.1, 0.3), False, 1), (False, 0.7, "")),
        (ReviewResult("text", None, True, 1), (True, 0.0, "")),
        ("a text", (False, 0.75, "")),
        ("", (False, 0.75, "")),
        ("x" * 1_000_001, (True, 0.0, "actor_invalid")),
        (Session(False, None), (True, 0.0, "actor_invalid")),
        (Session("no", 0.8), (True, 0.0, "actor_invalid")),
        (Session(0, 0.8), (True, 0.0, "actor_invalid")),
        (Session(False, "0.8"), (True, 0.0, "actor_invalid")),
        (Session(False, float("nan")), (True, 0.0, "actor_invalid")),
        (Rollout(halted=False, coherence=0.9, fault="actor_error"), (True, 0.0, "actor_invalid")),
        ([], (True, 0.0, "actor_invalid")),
        ([0.9, None], (True, 0.0, "actor_invalid")),
        ([0.9, True], (True, 0.0, "actor_invalid")),
        ([0.9, [0.9]], (True, 0.0, "actor_invalid")),
        ({"halted": False, "coherence": 0.9}, (True, 0.0, "actor_invalid")),
        (b"text", (True, 0.0, "actor_invalid")),
        (Rollout, (True, 0.0, "actor_invalid")),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_how_an_answer_is_read(answer: Any, expected: tuple[bool, float, str]) -> None:
    (found,) = preflight([answer], scorer=lambda prompt, text: 0.75).rollouts
    assert (found.halted, found.coherence, found.fault) == expected


def test_texts_are_scored_with_the_prompt_they_answer() -> None:
    asked: list[tuple[str, str]] = []
    preflight(["an answer"], scorer=lambda *parts: asked.append(parts) or 0.9)
    assert asked == [("Close the valve.", "an answer")]
    assert preflight(["an answer"] * 3).faults == {"scorer_missing": 1}  # and so the outcome was certain


@pytest.mark.parametrize("workers", [1, 2, 7, 32])
def test_how_many_run_at_a_time_changes_nothing(workers: int) -> None:
    def figures(hook: TrajectoryHook) -> Any:
        verdict = hook.preflight(wandering, ASKED)
        return {
            name: value for name in verdict.__slots__ if name != "safety_event" for value in [getattr(verdict, name)]
        }

    options: dict[str, Any] = {"min_coherence": 0.65, "halt_below": 0.61, "simulations": 40}
    assert figures(TrajectoryHook(workers=workers, **options)) == figures(TrajectoryHook(workers=3, **options))
    assert figures(TrajectoryHook(workers=workers, max_threads=1, **options)) == figures(TrajectoryHook(**options))
    assert figures(TrajectoryHook(seed=1, **options)) != figures(TrajectoryHook(seed=2, **options))


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_it_stops_where_the_outcome_is_certain_and_always_at_the_same_place(workers: int) -> None:
    answers = [0.9, POOR, 0.9, POOR, POOR, 0.9, POOR, POOR] + [0.9] * 12
    hook = TrajectoryHook(simulations=20, workers=workers)
    scripted, let_go = Scripted(answers, hook.seeds), threading.Event()

    def actor(seed: int, occasion: Occasion) -> Any:
        if seed in hook.seeds[8:]:
            let_go.wait(60)
        return scripted(seed, occasion)

    try:
        verdict = hook.preflight(actor, ASKED)
    finally:
        let_go.set()
    assert (verdict.outcome, len(verdict.rollouts), verdict.halts) == ("halt", 8, 5)


def test_a_mean_that_cannot_recover_stops_too() -> None:
    verdict = preflight([0.5] * 40, min_coherence=0.9, halt_below=0.0)
    assert (verdict.outcome, len(verdict.rollouts)) == ("halt", 9)


SCORES = st.floats(0, 1).map(lambda score: round(score, 3))
ROLLOUTS = st.builds(Rollout, halted=st.booleans(), coherence=SCORES)


@settings(max_examples=80, derandomize=True)
@given(
    st.lists(ROLLOUTS, min_size=1, max_size=12),
    st.data(),
    st.sampled_from([0.0, 0.2, 0.5, 0.9]),
    st.sampled_from([0.0, 0.3, 0.6, 0.9]),
)
def test_a_worse_simulation_never_makes_the_verdict_milder(
    rollouts: list[Rollout], data: st.DataObject, rate: float, coherence: float
) -> None:
    where = data.draw(st.integers(0, len(rollouts) - 1))
    worse = [*rollouts]
    worse[where] = data.draw(
        st.sampled_from(
            [
                dataclasses.replace(rollouts[where], halted=True),
                dataclasses.replace(rollouts[where], coherence=rollouts[where].coherence / 2),
                Rollout(halted=True, coherence=0.0),
                None,
            ]
        )
    )
    options = {"max_halt_rate": rate, "min_coherence": coherence, "halt_below": 0.3, "workers": 1}
    before, after = preflight(rollouts, **options), preflight(worse, **options)
    assert POLICY_DECISIONS.index(after.decision) >= POLICY_DECISIONS.index(before.decision)
    validate_safety_event(after.safety_event.to_dict())


class TestExamining:
    def test_it_is_a_hook(self) -> None:
        assert isinstance(TrajectoryHook(wandering), Hook)

    @pytest.mark.parametrize(
        "occasion", [Occasion(), Occasion(text="Said."), Occasion(prompt=" \n"), Occasion(sender="a", text="b")]
    )
    def test_where_nothing_is_asked_for_nothing_is_simulated(self, occasion: Occasion) -> None:
        assert TrajectoryHook(wandering).examine(occasion) is None

    def test_without_an_actor_it_says_nothing(self) -> None:
        move = Occasion(action=ProposedAction(name="move"))
        assert TrajectoryHook().examine(ASKED) is None
        assert TrajectoryHook({"move": wandering}).examine(ASKED) is None
        assert TrajectoryHook({"": wandering}).examine(move) is None
        assert TrajectoryHook({"move": wandering}).examine(move) is not None
        assert TrajectoryHook({"": wandering}).examine(ASKED) is not None

    @pytest.mark.parametrize(
        "name",
        [
            "Drain",
            "drain ",
            "\uff44rain",
            "dra\u200bin",
            "dr\u0430in",
            "functions.drain",
            "tanks/drain",
            "mcp__tanks__drain",
            " " * 2_000 + "drain",
        ],
        ids=["case", "space", "width", "invisible", "look-alike", "dot", "slash", "mcp", "long"],
    )
    def test_a_name_that_can_be_taken_for_a_tool_is_simulated_as_that(self, name: str) -> None:
        hook = TrajectoryHook({"drain": lambda seed, occasion: 0.0, "": wandering}, simulations=2)
        verdict = hook.examine(Occasion(action=ProposedAction(name=name)))
        assert verdict is not None
        assert verdict.outcome == "halt"

    @pytest.mark.parametrize("name", ["search", "drainage", "drain.log", "undrain", "rain", "\u200b"])
    def test_other_tools_are_none_of_its_business(self, name: str) -> None:
        hook = TrajectoryHook({"drain": wandering, "": wandering})
        assert hook.examine(Occasion(action=ProposedAction(name=name))) is None

    def test_a_tool_with_an_actor_of_its_own_keeps_it(self) -> None:
        hook = TrajectoryHook({"drain": lambda seed, occasion: 0.0, "log.drain": lambda seed, occasion: 0.9})
        found = hook.examine(Occasion(action=ProposedAction(name="log.drain")))
        assert found is not None
        assert found.outcome == "proceed"
        with pytest.raises(ConfigError):
            TrajectoryHook({"drain": wandering, "Drain": wandering})

    def test_an_actor_sees_what_is_asked_for_and_not_what_was_said(self) -> None:
        seen: list[Occasion] = []
        action = ProposedAction(name="move", arguments={"to": 3})
        asked = dataclasses.replace(ASKED, action=action, text=CANARY, passport=CANARY)
        TrajectoryHook(lambda seed, occasion: seen.append(occasion) or 0.9, simulations=1).examine(asked)
        assert seen == [dataclasses.replace(ASKED, action=action)]

    def test_one_occasion_is_not_simulated_twice(self) -> None:
        hook = TrajectoryHook(wandering)
        first = hook.examine(ASKED)
        seen = [first]
        assert hook.examine(dataclasses.replace(ASKED, text="Said.")) is first
        for other in (
            dataclasses.replace(ASKED, tenant_id="other"),
            dataclasses.replace(ASKED, request_id="r2"),
            dataclasses.replace(ASKED, prompt="Open the valve."),
            dataclasses.replace(ASKED, action=ProposedAction(name="move")),
            dataclasses.replace(ASKED, action=ProposedAction(name="move", arguments={"a": 1})),
            dataclasses.replace(ASKED, action=ProposedAction(name="move", arguments={"a": "1"})),
            dataclasses.replace(ASKED, action=ProposedAction(name="move", arguments={"a": True})),
            dataclasses.replace(ASKED, action=ProposedAction(name="move", arguments={"a": [1]})),
            dataclasses.replace(ASKED, action=ProposedAction(name="move", arguments={"a": {"b": 1}})),
            dataclasses.replace(ASKED, sender="planner"),
        ):
            found = hook.examine(other)
            assert not any(found is each for each in seen)
            assert hook.examine(other) is found
            seen.append(found)

    @pytest.mark.parametrize(
        "odd", [object(), {1: 2}, {"x"}, [[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]], list(range(5000))]
    )
    def test_what_cannot_be_told_apart_is_simulated_again(self, odd: Any) -> None:
        hook = TrajectoryHook(wandering, simulations=2)
        occasion = Occasion(action=ProposedAction(name="move", arguments={"a": odd}))
        assert hook.examine(occasion) is not hook.examine(occasion)

    def test_memory_is_bounded_in_number_and_time(self) -> None:
        clock = ManualClock()
        hook = TrajectoryHook(wandering, simulations=2, remember=2, remember_for=10.0, clock=clock)
        a, b, c = (dataclasses.replace(ASKED, request_id=name) for name in "abc")
        first, second = hook.examine(a), hook.examine(b)
        assert hook.examine(a) is first
        hook.examine(c)
        assert hook.examine(a) is first
        assert hook.examine(b) is not second
        clock.advance(10.0)
        assert hook.examine(a) is not first
        forgetful = TrajectoryHook(wandering, simulations=2, remember=0)
        assert forgetful.examine(a) is not forgetful.examine(a)

    def test_memory_holds_no_prompts(self) -> None:
        hook = TrajectoryHook(lambda seed, occasion: 0.9, simulations=2)
        verdict = hook.examine(Occasion(prompt=CANARY, action=ProposedAction(name="move", arguments={"a": CANARY})))
        assert CANARY not in repr(hook._memory._kept) + repr(verdict)

    def test_consulting_hands_the_verdict_on(self) -> None:
        (verdict,) = consult([TrajectoryHook(lambda seed, occasion: 0.1)], ASKED, deadline=30.0)
        assert isinstance(verdict, PreflightVerdict)
        assert verdict.outcome == "halt"

    def test_many_threads_get_the_same_figures(self) -> None:
        hook = TrajectoryHook(wandering, remember=0, workers=2)
        found: list[PreflightVerdict | None] = []
        threads = [threading.Thread(target=lambda: found.append(hook.examine(ASKED))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({each and each.rollouts for each in found}) == 1

    def test_simulations_run_in_the_context_of_who_asked(self) -> None:
        marked = contextvars.ContextVar("marked", default=0)
        marked.set(7)
        seen: list[int] = []
        TrajectoryHook(lambda seed, occasion: seen.append(marked.get()) or 0.9, simulations=3).examine(ASKED)
        assert seen == [7, 7, 7]


@pytest.mark.parametrize(
    "wrong",
    [
        {"actors": 3},
        {"actors": {"move": None}},
        {"actors": {3: wandering}},
        {"scorer": "nli"},
        {"simulations": 0},
        {"simulations": 1001},
        {"simulations": 2.5},
        {"simulations": True},
        {"seed": -1},
        {"seed": "x"},
        {"max_halt_rate": 1.5},
        {"max_halt_rate": float("nan")},
        {"min_coherence": -0.1},
        {"min_coherence": "0.5"},
        {"halt_below": True},
        {"confidence": 1.0},
        {"confidence": 0.1},
        {"workers": 0},
        {"workers": 1000},
        {"max_threads": 0},
        {"simulation_timeout": None},
        {"simulation_timeout": 0},
        {"deadline": None},
        {"deadline": float("inf")},
        {"remember": -1},
        {"remember_for": float("nan")},
        {"clock": None},
    ],
)
def test_settings_that_cannot_be_right_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        TrajectoryHook(**{"actors": wandering} | wrong)


def test_an_asynchronous_actor_is_refused_at_once() -> None:
    async def actor(seed: int, occasion: Occasion) -> float:
        return 0.9

    with pytest.raises(ConfigError, match="synchronous"):
        TrajectoryHook(actor)


def test_the_example_tells_the_steady_from_the_erratic() -> None:
    example = Path(__file__).parents[2] / "examples" / "hooks" / "trajectory.py"
    done = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True)
    assert "steady: proceed" in done.stdout
    assert "erratic: halt" in done.stdout


def test_nothing_of_the_other_hooks_is_loaded_for_it() -> None:
    code = (
        "import sys, director_ai.hooks.trajectory as t; assert t.TrajectoryHook().hook_id;"
        "print([name for name in ('pint', 'defusedxml', 'rdflib', 'jwt', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
