"""Every snippet of the streaming page and of the types page, as written there."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from director_ai import HaltEvidence
from director_ai.core.safety_event import validate_safety_event
from director_ai.core.streaming_repair import REDACTED_CLAUSE
from director_ai.core.types import HaltTraceAttribution
from director_ai.testing import ScriptedReviewer, ScriptedScorer, ScriptedTokens

TOKENS = ["Refunds ", "close ", "after ", "3 ", "days."]
FACTS = {"kb:refund": ("Refunds are available within 30 days.", 0.9)}


async def run_snippet(code: str, names: dict[str, Any]) -> dict[str, Any]:
    compiled = compile(inspect.cleandoc(code), "snippet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    outcome = eval(compiled, names)
    if inspect.isawaitable(outcome):
        await outcome
    return names


def run(code: str, names: dict[str, Any], backend: str = "asyncio") -> dict[str, Any]:
    return anyio.run(run_snippet, code, names, backend=backend)


def names(scores: list[float]) -> dict[str, Any]:
    return {
        "token_generator": iter(TOKENS),
        "token_gen": iter(TOKENS),
        "async_token_gen": ScriptedTokens(TOKENS),
        "coherence_callback": ScriptedScorer(scores),
        "coherence_cb": ScriptedScorer(scores),
        "coherence_fn": ScriptedScorer(scores),
        "scorer": ScriptedReviewer(FACTS),
    }


@pytest.mark.parametrize(
    ("scores", "printed"),
    [
        ([0.9, 0.9, 0.9, 0.1], "Halted: hard_limit score=0.1000 limit=0.4000\nSafe output: Refunds close after \n"),
        ([0.9], "Approved: Refunds close after 3 days.\n"),
    ],
    ids=["halted", "approved"],
)
def test_streaming_basic_usage(capsys: pytest.CaptureFixture[str], scores: list[float], printed: str) -> None:
    run(
        """
        from director_ai import StreamingKernel
        kernel = StreamingKernel(
            hard_limit=0.4,
            window_size=10,
            window_threshold=0.55,
            trend_window=5,
            trend_threshold=0.15,
            soft_limit=0.6,
        )
        session = kernel.stream_tokens(token_generator, coherence_callback)
        if session.halted:
            print(f"Halted: {session.halt_reason}")
            print(f"Safe output: {session.output}")
        else:
            print(f"Approved: {session.output}")
        """,
        names(scores),
    )
    assert capsys.readouterr().out == printed


ON_HALT = """
from director_ai import StreamingKernel
def handle_halt(session):
    print(f"Halted at token {session.halt_index}")
    # Log, alert, switch to fallback
kernel = StreamingKernel(on_halt=handle_halt)
"""


def test_streaming_on_halt_callback(capsys: pytest.CaptureFixture[str]) -> None:
    space = run(ON_HALT, names([0.9, 0.1]))
    space["kernel"].stream_tokens(TOKENS, space["coherence_callback"])
    assert capsys.readouterr().out == "Halted at token 1\n"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_streaming_async(capsys: pytest.CaptureFixture[str], backend: str) -> None:
    space = run(
        ON_HALT
        + inspect.cleandoc("""
        from director_ai import AsyncStreamingKernel
        kernel = AsyncStreamingKernel(
            hard_limit=0.4,
            on_halt=handle_halt,
            soft_limit=0.6,
        )
        session = await kernel.stream_to_session(async_token_gen, coherence_fn)
        """),
        names([0.9, 0.9, 0.1]),
        backend,
    )
    assert space["session"].output == "Refunds close "
    assert capsys.readouterr().out == "Halted at token 2\n"


def test_streaming_debug_mode(capsys: pytest.CaptureFixture[str]) -> None:
    run(
        """
        from director_ai import StreamingKernel
        kernel = StreamingKernel(
            hard_limit=0.4,
            window_size=10,
            streaming_debug=True,
        )
        session = kernel.stream_tokens(token_gen, coherence_cb)
        for snap in session.debug_log:
            print(
                f"token {snap['index']}: "
                f"coherence={snap['coherence']:.3f} "
                f"window_avg={snap['window_avg']:.3f} "
                f"trend_drop={snap['trend_drop']:.3f} "
                f"accumulated={snap['accumulated_tokens']}"
            )
        """,
        names([0.9, 0.8]),
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "token 1: coherence=0.800 window_avg=0.850 trend_drop=0.100 accumulated=2"
    assert len(lines) == len(TOKENS)


def test_streaming_structured_halt_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    run(
        """
        from director_ai import StreamingKernel
        kernel = StreamingKernel()
        session = kernel.stream_tokens(
            token_generator,
            coherence_callback,
            scorer=scorer,
            top_k=3,
        )
        if session.halt_evidence_structured:
            ev = session.halt_evidence_structured
            print(f"Reason: {ev.reason}")
            print(f"Score: {ev.last_score:.3f}")
            print(f"Action: {ev.suggested_action}")
            for chunk in ev.evidence_chunks:
                print(f" - {chunk.text[:80]} (distance={chunk.distance:.3f})")
        """,
        names([0.9, 0.1]),
    )
    assert capsys.readouterr().out.splitlines() == [
        "Reason: hard_limit score=0.1000 limit=0.5000",
        "Score: 0.100",
        "Action: retry with KB context",
        " - Refunds are available within 30 days. (distance=0.000)",
    ]


def test_types_coherence_score(capsys: pytest.CaptureFixture[str]) -> None:
    run(
        """
        approved, score = scorer.review(query, response)
        print(f"Score: {score.score:.3f}")
        print(f"H_logical: {score.h_logical:.3f}")
        print(f"H_factual: {score.h_factual:.3f}")
        print(f"Warning: {score.warning}")
        if score.evidence:
            for chunk in score.evidence.chunks:
                print(f" Source: {chunk.text[:80]}")
        """,
        {**names([0.9]), "query": "When?", "response": "".join(TOKENS)},
    )
    assert capsys.readouterr().out.splitlines()[-1] == " Source: Refunds are available within 30 days."


def test_types_halt_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    space = names([0.9, 0.1])
    run(
        "from director_ai import StreamingKernel\nsession = StreamingKernel().stream_tokens(token_gen, coherence_cb, scorer=scorer)",
        space,
    )
    run(
        """
        if session.halt_evidence_structured:
            ev = session.halt_evidence_structured
            print(f"Reason: {ev.reason}")
            print(f"Score: {ev.last_score:.3f}")
            if ev.trace_attribution:
                print(f"Token: {ev.trace_attribution.token_offset}")
            if ev.counterfactual_diagnostic and ev.counterfactual_diagnostic.best_change:
                print(ev.counterfactual_diagnostic.best_change.fact_source)
            for chunk in ev.evidence_chunks:
                print(f" {chunk.text[:80]} (distance={chunk.distance:.3f})")
        """,
        space,
    )  # fmt: skip
    assert capsys.readouterr().out.splitlines()[2:4] == ["Token: 1", "kb:refund"]


def test_types_safety_event() -> None:
    evidence = HaltEvidence(
        "hard_limit", 0.2, [], trace_attribution=HaltTraceAttribution(token_offset=3, threshold=0.5)
    )
    space = run(
        """
        from director_ai.core.safety_event import SafetyEvent
        event = SafetyEvent.from_halt_evidence(
            evidence,
            hook_id="streaming.kernel",
            request_id="req-123",
            tenant_id="tenant-1",
        )
        payload = event.to_dict()
        """,
        {"evidence": evidence},
    )
    assert validate_safety_event(space["payload"]) == space["event"]


def test_session_properties_of_the_page() -> None:
    """The table of StreamSession: name and type, after a halt and without one."""
    from director_ai import StreamingKernel

    table = {
        "output": str,
        "halted": bool,
        "halt_index": int,
        "halt_reason": str,
        "avg_coherence": float,
        "min_coherence": float,
        "warning_count": int,
        "duration_ms": float,
        "debug_log": list,
    }

    def sessions() -> Iterator[Any]:
        for scores in ([0.9], [0.1]):
            yield StreamingKernel(streaming_debug=True).stream_tokens(TOKENS, ScriptedScorer(scores))
        yield StreamingKernel().stream_tokens([], ScriptedScorer([0.9]))

    for session in sessions():
        assert {name: type(getattr(session, name)) for name in table} == table


REPAIR = """
from director_ai.core.streaming_repair import StreamingRepairer
def score(clause: str) -> float:
    {body} # support in [0, 1] for one clause
def retrieve(clause: str):
    return [{{"id": "vector:ceo", "text": "The CEO is Jane Doe."}}]
def rewrite(clause: str, evidence: list[str]) -> str:
    return "The CEO is Jane Doe."
repairer = StreamingRepairer(
    score, threshold=0.6, retrieve_fn=retrieve, rewrite_fn=rewrite
)
result = repairer.repair("The CEO is a robot. Contact support.", tenant_id="acme")
print(result.repaired) # True
print(result.repaired_text) # "The CEO is Jane Doe. Contact support."
for event in result.events: # one tenant-safe warn event per fix
    ...
"""


def test_streaming_repair(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(REPAIR.format(body='return 0.1 if "robot" in clause else 0.9'), {})["result"]

    assert capsys.readouterr().out == "True\nThe CEO is Jane Doe. Contact support.\n"
    (event,) = result.events
    assert (event.policy_decision, event.tenant_id) == ("warn", "acme")
    assert validate_safety_event(event.to_dict()) == event


def test_streaming_repair_with_a_score_that_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(REPAIR.format(body="..."), {})["result"]

    assert capsys.readouterr().out == f"True\n{REDACTED_CLAUSE} {REDACTED_CLAUSE}\n"
    assert {action.reason for action in result.actions} == {"scorer_invalid"}


@pytest.mark.parametrize("tenant", ['tenant_id="acme",', ""], ids=["a tenant", "no tenant"])
@pytest.mark.parametrize("rewriter", ["rewrite_fn=my_llm_rewrite,", ""], ids=["a rewriter", "the default"])
def test_streaming_repair_through_the_guard(tenant: str, rewriter: str) -> None:
    result = run(
        f"""
        from director_ai.guard import ProductionGuard
        guard = ProductionGuard.from_profile("finance")
        guard.load_facts({{"refund": "Refunds are available within 30 days."}})
        result = guard.repair_stream(
            "What is the refund window?",
            "Refunds close after 30 days. Late refunds get a bonus.",
            {tenant}
            {rewriter} # optional; redacts when omitted
        )
        """,
        {"my_llm_rewrite": lambda clause, evidence: evidence[0]},
    )["result"]

    first, second = result.actions
    # That "close after" says what "available within" says is beyond the small model: it is not shown as a falsehood.
    assert first.clause == "Refunds close after 30 days. "
    assert first.text.strip() in {REDACTED_CLAUSE, "Refunds are available within 30 days."}
    assert second.action == ("rewrite" if rewriter else "redact")
    assert "bonus" not in result.repaired_text
    assert first.evidence_ids == ("refund",)
