"""Judges: models that decide about the clauses of which the bundled model is not sure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from director_ai.lazy import names_of

if TYPE_CHECKING:
    from director_ai.core.scoring.escalation import JudgeVerdict
    from director_ai.judges.language_model import LLMJudge
    from director_ai.judges.local_model import TransformersJudge
    from director_ai.judges.panel import Judge, JudgeBudget, Judgements, JudgePanel, JudgeUsage

__all__ = [
    "Judge",
    "JudgeBudget",
    "JudgePanel",
    "JudgeUsage",
    "JudgeVerdict",
    "Judgements",
    "LLMJudge",
    "TransformersJudge",
]

_HOMES = {
    "Judge": "judges.panel",
    "JudgeBudget": "judges.panel",
    "JudgePanel": "judges.panel",
    "JudgeUsage": "judges.panel",
    "JudgeVerdict": "core.scoring.escalation",
    "Judgements": "judges.panel",
    "LLMJudge": "judges.language_model",
    "TransformersJudge": "judges.local_model",
}

__getattr__, __dir__ = names_of(__name__, _HOMES)
