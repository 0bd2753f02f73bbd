"""A language model's recorded answers to the prompts of `LLMJudge`, looked up by the hash of the prompt.

A cassette is a file of JSON lines: `prompt` (SHA-256 of instruction and user message) and `answer` (what the model
said, as the schema of `LLMJudge` has it). Each prompt holds one clause, so that it does not depend on which other
clauses the bundled model is unsure of. A prompt that is not recorded is written down, and the clause has no answer.
"""

from __future__ import annotations

import hashlib
import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from director_ai.judges import JudgeBudget, LLMJudge

if TYPE_CHECKING:
    from pathlib import Path

BUDGET = JudgeBudget(calls=1_000, seconds=600.0, tokens=100_000_000, clauses_per_call=1)


class Cassette:
    """Stands in for an SDK's client: `chat.completions.create` answers from the record."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        self.answers: dict[str, str] = {row["prompt"]: json.dumps(row["answer"]) for row in map(json.loads, lines)}
        self.missing: dict[str, str] = {}
        """User messages without an answer, by the hash of their prompt."""
        self.asked = 0
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def _create(self, *, messages: list[dict[str, str]], **_options: Any) -> Any:
        self.asked += 1
        text = "\n".join(message["content"] for message in messages)
        prompt = hashlib.sha256(text.encode()).hexdigest()
        if prompt not in self.answers:
            self.missing[prompt] = messages[-1]["content"]
            raise LookupError("this prompt was not recorded")
        content = SimpleNamespace(message=SimpleNamespace(content=self.answers[prompt]))
        return SimpleNamespace(choices=[content], usage=None)

    def judge(self) -> LLMJudge:
        return LLMJudge("recorded", client=self)

    def write_missing(self, path: Path) -> None:
        rows = [{"prompt": prompt, "message": json.loads(text)} for prompt, text in sorted(self.missing.items())]
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
