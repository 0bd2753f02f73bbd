"""What the six hooks add to an answer in which nothing is violated: `python benchmarks/hooks.py`.

The same answer is guarded in turn with none, with each and with all of them, so that a busy machine slows all alike. Of
each: what one answer of five sentences takes more than without hooks, and what one tool call takes, in the median. The
trajectory hook simulates tool calls and remembers that for a request; what a simulation takes is the actor's own time.
"""

from __future__ import annotations

import argparse
import random
import secrets
import statistics
import time
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from reporting import show
from rich.console import Console

from director_ai import ProductionGuard
from director_ai.hooks.attestation import AttestationHook, Issuer, IssuerKey, IssuerRegistry, issue_passport
from director_ai.hooks.containment import AnchorKey, ContainmentHook, HostRules, issue_anchor
from director_ai.hooks.cyber_physical import ActionReader, Argument, CyberPhysicalHook, Limit, PhysicalModel, Tool
from director_ai.hooks.ontology import OntologyHook, parse_ontology
from director_ai.hooks.protocol import ProposedAction
from director_ai.hooks.swarm import SwarmHook
from director_ai.hooks.trajectory import TrajectoryHook

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.hooks.protocol import Hook

FACTS = {
    "refund": "Refunds are available within 30 days of the purchase.",
    "hours": "The shop opens at 9 am on Mondays.",
    "owner": "Acme Ltd. is owned by Jane Doe.",
}
ANSWER = (
    "Hello! Refunds are available within 30 days of the purchase. The shop opens at 9 am on Mondays. "
    "Acme Ltd. is owned by Jane Doe. Goodbye!"
)
ONTOLOGY = """
@prefix : <http://example.org/shop#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Person a owl:Class . :Company a owl:Class ; owl:disjointWith :Person .
:ownedBy a owl:ObjectProperty ; rdfs:domain :Company ; rdfs:range :Person .
"""
MOST_MS = 1.0


def six() -> tuple[dict[str, Hook], dict[str, str]]:
    """The hooks by their names, and what an answer says of who is speaking."""
    key, issuing = AnchorKey.from_secret(secrets.token_bytes(32)), Ed25519PrivateKey.generate()
    anchor = issue_anchor(key, subject="teller", scope="sandbox", lifetime=3_600)
    rules = {"sandbox": HostRules(allow=("*.sandbox.example.com",), deny=("*.prod.example.com",))}
    registry = IssuerRegistry([Issuer(name="agency", keys=(IssuerKey(kid="1", key=issuing.public_key()),))])
    passport = issue_passport(
        issuing, issuer="agency", kid="1", subject="teller", audience="guard", capabilities=["tool:*"], jti="p1"
    )
    heat = Tool(name="heat", arguments={"to": Argument(kind="temperature", target="oven", unit="degC")})
    model = PhysicalModel(limits=[Limit(target="oven", kind="temperature", low="0 degC", high="250 degC")])
    swarm = SwarmHook()
    swarm.register("teller")
    made: dict[str, Hook] = {
        "containment": ContainmentHook(anchor, keys=[key], rules=rules),
        "cyber-physical": CyberPhysicalHook(model, reader=ActionReader([heat])),
        "attestation": AttestationHook(registry, audience="guard"),
        "ontology": OntologyHook(parse_ontology(ONTOLOGY, syntax="turtle")),
        "trajectory": TrajectoryHook({"heat": lambda _seed, _occasion: [0.9, 0.95]}, simulations=20, seed=7),
        "swarm": swarm,
    }
    return made, {"passport": passport, "sender": "teller", "request_id": "r1"}


def guard_with(hooks: list[Hook]) -> ProductionGuard:
    guard = ProductionGuard.from_profile("general", use_nli=False, search="words", hooks=hooks)
    guard.load_facts(FACTS)
    return guard


def timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(rounds: int) -> list[dict[str, Any]]:
    """One row for each hook, and one for all; each round asks every guard once."""
    hooks, about = six()
    prompt = " ".join(FACTS.values())
    guards = {"none": guard_with([])} | {name: guard_with([hook]) for name, hook in hooks.items()}
    guards["all six"] = guard_with(list(hooks.values()))
    heat = ProposedAction(name="heat", arguments={"to": 180})
    answers: dict[str, list[float]] = {name: [] for name in guards}
    calls: dict[str, list[float]] = {name: [] for name in guards}
    names, chance = list(guards), random.Random(7)
    for number in range(rounds + 5):
        chance.shuffle(names)  # whoever comes behind a longer one finds colder caches
        for name in names:
            guard = guards[name]
            took = timed(lambda guard=guard: _answered(guard, prompt, about))  # type: ignore[misc]
            called = timed(lambda guard=guard: _called(guard, prompt, heat, about))  # type: ignore[misc]
            if number >= 5:
                answers[name].append(took)
                calls[name].append(called)
    rows = []
    for name in guards:
        added = [one - none for one, none in zip(answers[name], answers["none"], strict=True)]
        rows.append(
            {
                "hooks": name,
                "answer, ms": statistics.median(answers[name]) * 1e3,
                "added to an answer, ms": statistics.median(added) * 1e3,
                "a tool call, ms": statistics.median(calls[name]) * 1e3,
            }
        )
    return rows


def _answered(guard: ProductionGuard, prompt: str, about: dict[str, str]) -> None:
    result = guard.repair_stream(prompt, ANSWER, **about)  # type: ignore[call-overload]
    if result.repaired_text != ANSWER:
        raise SystemExit(f"something was refused: {result.halt_reason}")


def _called(guard: ProductionGuard, prompt: str, heat: ProposedAction, about: dict[str, str]) -> None:
    allowed, verdicts = guard.check_action(heat, prompt=prompt, **about)  # type: ignore[arg-type]
    if not allowed:
        raise SystemExit(f"something was refused: {[each.safety_event.halt_reason for each in verdicts]}")


def main() -> None:
    """Run as a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    rows, console = measure(parser.parse_args().rounds), Console(width=120)
    show(console, "Hooks", rows)
    found = rows[-1]["added to an answer, ms"]
    reached = "yes" if found <= MOST_MS else "NO"
    show(
        console,
        "Goal",
        [
            {
                "goal": "all six, added to an answer, ms",
                "found": found,
                "wanted": f"at most {MOST_MS:g}",
                "reached": reached,
            }
        ],
    )


if __name__ == "__main__":
    main()
