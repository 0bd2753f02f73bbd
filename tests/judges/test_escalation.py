"""Which clauses a guard escalates to its judge, and what the judge's answer decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from director_ai import CoherenceScorer, GroundTruthStore, ProductionGuard
from director_ai.core.scoring.escalation import JudgeVerdict, correction_in
from director_ai.errors import ConfigError, UnknownOption
from director_ai.judges import JudgeBudget, JudgePanel
from director_ai.settings import GuardSettings

FACTS = {
    "refund": "Refunds are available within 30 days of delivery.",
    "ceo": "The CEO is Jane Doe.",
    "hours": "The branch in Basel opens at nine.",
}
YES = JudgeVerdict(supported=0.98, contradicted=0.01, neutral=0.01)
NO = JudgeVerdict(supported=0.01, contradicted=0.98, neutral=0.01)
UNKNOWN = JudgeVerdict(supported=0.01, contradicted=0.01, neutral=0.98)
CHAT = JudgeVerdict(supported=0.01, contradicted=0.01, neutral=0.98, is_claim=False)
BONUS = "Customers who return goods early receive a bonus."


class Scripted:
    """A judge that answers by words in the claim; everything else is not stated."""

    def __init__(self, answers: dict[str, Any] | None = None) -> None:
        self.answers = answers or {}
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    def judge(self, items: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        self.asked += [(claim, tuple(chunk.source for chunk in chunks)) for claim, chunks in items]
        return [next((said for word, said in self.answers.items() if word in claim), UNKNOWN) for claim, _ in items]


def guard_with(judge: Any, profile: str = "finance", **options: Any) -> ProductionGuard:
    guard = ProductionGuard.from_profile(profile, judge=judge, metrics=False, **{"judge_band": (0.0, 1.0), **options})
    guard.load_facts(FACTS)
    return guard


def repaired(judge: Any, text: str, profile: str = "finance", **options: Any) -> Any:
    with guard_with(judge, profile, **options) as guard:
        return guard.repair_stream("", text)


@pytest.mark.parametrize(
    ("answer", "action", "verdict"),
    [(YES, "keep", "supported"), (NO, "redact", "unsupported"), (UNKNOWN, "redact", "unsupported")],
    ids=["supported", "contradicted", "not stated"],
)
def test_a_judge_decides_about_a_clause_inside_the_band(answer: Any, action: str, verdict: str) -> None:
    (found,) = repaired(Scripted({"bonus": answer}), BONUS).actions
    assert (found.action, found.verdict, found.escalated) == (action, verdict, True)


def test_a_judge_sees_the_claim_and_the_facts_that_were_found_for_it() -> None:
    judge = Scripted()
    repaired(judge, "Refunds can be had for a month after the goods arrive.")
    ((claim, sources),) = judge.asked
    assert claim == "Refunds can be had for a month after the goods arrive."
    assert "refund" in sources


def test_what_a_judge_takes_for_small_talk_is_kept() -> None:
    result = repaired(Scripted({"Basel": CHAT}), "I wonder how the people in Basel are doing in their branch.")
    assert [(each.action, each.verdict) for each in result.actions] == [("keep", "not_a_claim")]


def test_clauses_outside_the_band_are_not_escalated() -> None:
    judge = Scripted({"Refunds": NO})
    (found,) = repaired(judge, FACTS["refund"], judge_band=(0.1, 0.5)).actions
    assert (found.action, found.escalated, judge.asked) == ("keep", None, [])


def test_no_judge_outvotes_a_value_that_differs_from_the_fact_about_the_same_thing() -> None:
    judge = Scripted({"Refunds": YES, "CEO": YES})
    result = repaired(judge, "Refunds are available within 90 days of delivery. The CEO is John Smith.")
    assert "90" not in result.repaired_text
    assert "Smith" not in result.repaired_text
    assert not any("90" in claim or "Smith" in claim for claim, _ in judge.asked)


def test_an_open_profile_redacts_what_a_judge_calls_contradicted_and_keeps_what_is_not_stated() -> None:
    judge = Scripted({"bonus": NO, "holiday": UNKNOWN})
    kept = "Returns made on a public holiday are handled on the next day. "
    result = repaired(judge, kept + BONUS, "general")
    assert [(each.action, each.verdict) for each in result.actions] == [
        ("keep", "unverified"),
        ("redact", "unsupported"),
    ]


@pytest.mark.parametrize(
    "answer", [None, [], "supported", [object()], 7], ids=["None", "none", "a word", "an object", "a number"]
)
def test_a_judge_without_a_usable_answer_rejects_under_a_closed_profile(answer: Any) -> None:
    (found,) = repaired(lambda items: answer, FACTS["refund"]).actions
    assert (found.action, found.verdict, found.reason) == ("redact", "not_evaluated", "judge_unavailable")
    assert found.escalated is False


def test_figures_that_are_no_probabilities_are_no_answer() -> None:
    wrong = JudgeVerdict(supported=0.9, contradicted=0.9, neutral=0.9)
    (found,) = repaired(Scripted({"Refunds": wrong}), FACTS["refund"]).actions
    assert found.reason == "judge_unavailable"


def test_the_model_decides_alone_where_the_settings_allow_it() -> None:
    def fails(items: object) -> object:
        raise RuntimeError("out of order")

    (found,) = repaired(fails, FACTS["refund"], judge_doubt="model").actions
    assert (found.action, found.verdict, found.escalated) == ("keep", "supported", False)


def test_an_open_profile_goes_on_without_its_judge() -> None:
    (found,) = repaired(lambda items: None, BONUS, "general").actions
    assert (found.action, found.verdict, found.escalated) == ("keep", "unverified", False)


def test_an_interrupt_of_the_judge_is_not_swallowed() -> None:
    def interrupted(items: object) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repaired(interrupted, FACTS["refund"])


def test_a_correction_of_the_judge_is_shown_if_a_fact_entails_it() -> None:
    said = "The CEO of the company is a man called John Smith."
    offered = JudgeVerdict(supported=0.01, contradicted=0.98, neutral=0.01, correction="The CEO is Jane Doe.")
    (found,) = repaired(Scripted({"man called": offered, "Jane": YES}), said).actions
    assert (found.action, found.text) == ("rewrite", "The CEO is Jane Doe.")


def test_a_correction_that_no_fact_entails_is_not_shown() -> None:
    said = "The CEO of the company is a man called John Smith."
    offered = JudgeVerdict(supported=0.01, contradicted=0.98, neutral=0.01, correction="The CEO is Max Frisch.")
    (found,) = repaired(Scripted({"man called": offered, "Frisch": YES}), said).actions
    assert found.action == "redact"


@pytest.mark.parametrize(
    ("clause", "claim", "correction", "expected"),
    [
        ("It costs 5 euros.", "Shipping costs 5 euros.", "Shipping costs 6 euros.", "It costs 6 euros."),
        ("It opens at 5.", "It opens at 5.", "It opens at 6.", "It opens at 6."),
        ("It is 5 or 5.", "The fee is 5 or 5.", "The fee is 6 or 5.", ""),  # which 5 is meant is not certain
        ("It costs 5 euros.", "Shipping costs 5 euros.", "", ""),
        ("It is far.", "The shop is far.", "The shop is far.", ""),
    ],
    ids=["the subject is named elsewhere", "the clause itself", "two places", "no correction", "no change"],
)
def test_a_correction_changes_the_clause_only_where_its_place_is_certain(
    clause: str, claim: str, correction: str, expected: str
) -> None:
    assert correction_in(clause, claim, correction) == expected


def test_a_score_says_whether_its_worst_claim_was_escalated() -> None:
    store = GroundTruthStore(facts=FACTS)

    def escalated(**options: Any) -> Any:
        scorer = CoherenceScorer(use_nli=False, ground_truth_store=store, **options)
        return scorer.score("", FACTS["refund"]).escalated_to_judge

    assert escalated() is None
    assert escalated(judge=JudgePanel(Scripted({"Refunds": YES}), band=(0.0, 1.0))) is True
    assert escalated(judge=JudgePanel(Scripted({"Refunds": YES}), band=(0.0, 0.1))) is False
    assert escalated(judge=JudgePanel(lambda items: None, band=(0.0, 1.0))) is False


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_asynchronous_judge_is_awaited_by_asynchronous_streams(backend: str) -> None:
    class Patient(Scripted):
        async def ajudge(self, items: Sequence[Any]) -> list[Any]:
            await anyio.sleep(0)
            return self.judge(items)

    async def run() -> list[str]:
        with guard_with(Patient({"bonus": NO, "Refunds": YES})) as guard:
            stream = guard.astream("", [FACTS["refund"], " ", BONUS])
            async for _ in stream:
                pass
            return [each.action for each in stream.result.actions]

    assert anyio.run(run, backend=backend) == ["keep", "redact"]


def test_clauses_of_one_answer_are_asked_about_together_within_the_budget() -> None:
    calls: list[int] = []

    def judge(items: Sequence[Any]) -> list[JudgeVerdict]:
        calls.append(len(items))
        return [YES] * len(items)

    text = " ".join(f"The branch in Basel has a room called {name}." for name in ("Alpha", "Beta", "Gamma", "Delta"))
    budget = JudgeBudget(calls=1, clauses_per_call=3)
    result = repaired(judge, text, judge_budget=budget, most_redacted="off", most_redacted_share="off")
    assert calls == [3]
    assert [each.escalated for each in result.actions] == [True, True, True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": "gpt"}, "judge must be openai:MODEL"),
        ({"judge_band": [0.9, 0.1]}, "judge_band must be two numbers"),
        ({"judge_band": 0.5}, "judge_band must be two numbers"),
        ({"judge_budget": {"cals": 3}}, "judge_budget must be a table of calls"),
        ({"judge_budget": {"calls": -1}}, "judge_budget must be a table of calls"),
        ({"judge_doubt": "keep"}, "judge_doubt must be one of reject, model"),
        ({"judge_url": "file:///etc/passwd"}, "judge_url must be a URL"),
    ],
    ids=["no kind", "band turned around", "one number", "a slip of the pen", "negative", "doubt", "URL"],
)
def test_settings_of_the_judge_that_cannot_be_right_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        GuardSettings(**options)


def test_the_settings_of_the_judge_are_read_from_the_environment_and_shown() -> None:
    env = {
        "DIRECTOR_AI_JUDGE": "openai:some-model",
        "DIRECTOR_AI_JUDGE_BAND": "0.1, 0.9",
        "DIRECTOR_AI_JUDGE_BUDGET": "calls=2, seconds=1.5",
        "DIRECTOR_AI_JUDGE_DOUBT": "model",
    }
    settings = GuardSettings.load(None, env=env)
    assert settings.judge_budget == JudgeBudget(calls=2, seconds=1.5)
    shown = settings.show()
    assert (shown["judge"], shown["judge_band"], shown["judge_doubt"]) == ("openai:some-model", [0.1, 0.9], "model")


def test_a_judge_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="judge must have a method judge or be a function"):
        ProductionGuard(judge=7)  # type: ignore[arg-type]
    with pytest.raises(UnknownOption):
        JudgePanel(lambda items: [], band=(0.0, 1.0), doubt="keep")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="judge must be a JudgePanel"):
        CoherenceScorer(use_nli=False, judge=lambda items: [])  # type: ignore[arg-type]
