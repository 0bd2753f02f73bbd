"""Commands that judge, in a folder with a file of facts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commands import run_command

FACTS = {"refund": "Refunds are available within 30 days.", "ceo": "The CEO is Jane Doe."}
RIGHT, WRONG = "Refunds are available within 30 days.", "Refunds are available within 90 days."
BY_FACTS = ("--facts", "facts.json", "--profile", "finance", "--no-model")


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[Any]:
        """What `--json` printed: every line of the output has to be JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


class Commands:
    """Runs commands in a folder of their own."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder, self._patch = folder, patch
        patch.chdir(folder)
        (folder / "facts.json").write_text(json.dumps(FACTS))

    def run(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        return Ran(*run_command(self._patch, list(arguments), stdin=stdin, env={"COLUMNS": "120", **(env or {})}))
