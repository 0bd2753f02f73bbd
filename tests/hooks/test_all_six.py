"""All six hooks together: attached at once they change nothing that is fine, and who uses none loads none of them."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from director_ai import ProductionGuard
from director_ai.core.safety_event import HOOK_SCOPES, validate_safety_event
from director_ai.hooks import Hook, ProposedAction, may_go_on

ROOT = Path(__file__).parents[2]
NAMES = ("attestation", "containment", "cyber_physical", "ontology", "swarm", "trajectory")
VERDICTS = {
    "attestation": "PassportVerdict",
    "containment": "ContainmentVerdict",
    "cyber_physical": "GroundingVerdict",
    "ontology": "OntologyViolation",
    "swarm": "HandoffResult",
    "trajectory": "PreflightVerdict",
}
EXAMPLES = sorted((ROOT / "examples" / "hooks").glob("*.py"))


@pytest.fixture(scope="module")
def six() -> tuple[dict[str, Hook], dict[str, str], str, dict[str, str]]:
    """The hooks of the benchmark: they were made so that its answer violates nothing."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        benchmark = importlib.import_module("hooks")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    made, about = benchmark.six()
    return made, about, benchmark.ANSWER, benchmark.FACTS


def test_what_violates_nothing_is_shown_as_it_came(six: Any) -> None:
    hooks, about, answer, facts = six
    guard = ProductionGuard.from_profile("general", use_nli=False, search="words", hooks=list(hooks.values()))
    guard.load_facts(facts)
    prompt = " ".join(facts.values())
    result = guard.repair_stream(prompt, answer, **about)
    assert result.repaired_text == answer
    assert {event.policy_decision for event in result.events} == {"allow"}
    allowed, verdicts = guard.check_action(ProposedAction(name="heat", arguments={"to": 180}), prompt=prompt, **about)
    assert allowed
    assert may_go_on(verdicts)
    told = {event.hook_id: event for event in result.events} | {
        verdict.safety_event.hook_id: verdict.safety_event for verdict in verdicts
    }
    assert {event.hook_scope for event in told.values()} == set(HOOK_SCOPES) - {"streaming", "agent"}
    for event in told.values():
        assert validate_safety_event(event.to_dict()) == event
        assert event.request_id == "r1"


@pytest.mark.parametrize("name", NAMES)
def test_each_hook_has_a_module_a_page_an_example_and_the_verdict_of_the_specification(name: str) -> None:
    module = importlib.import_module(f"director_ai.hooks.{name}")
    assert "safety_event" in getattr(module, VERDICTS[name]).__dataclass_fields__
    assert (ROOT / "docs" / "hooks" / f"{name}.md").is_file()
    assert ROOT / "examples" / "hooks" / f"{name}.py" in EXAMPLES


def test_who_uses_no_hook_loads_none() -> None:
    code = """
import json, sys
from director_ai import CoherenceAgent, CoherenceScorer, ProductionGuard
guard = ProductionGuard.from_profile("general", use_nli=False, search="words")
guard.load_facts({"a": "Refunds are available within 30 days."})
guard.repair_stream("", "Refunds are available within 30 days.")
import director_ai.hooks
print(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    loaded = set(json.loads(done.stdout))
    assert not {f"director_ai.hooks.{name}" for name in NAMES} & loaded
    assert not {"pint", "rdflib", "owlrl", "jwt", "defusedxml"} & loaded


def test_the_base_install_does_not_grow() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = " ".join(project["dependencies"]).lower()
    for library in ("pint", "rdflib", "owlrl", "pyjwt", "defusedxml"):
        assert library not in needed
        assert any(each.startswith(library) for each in project["optional-dependencies"]["hooks"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(example: Path) -> None:
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 4
    assert done.stderr == ""
    assert len(example.read_text("utf-8").splitlines()) < 60
