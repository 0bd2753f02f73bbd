"""One way to run checks on a stream, three drivers; and a small check to run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import anyio

from director_ai.core.checks.rules import CheckedText, Frontier
from director_ai.core.merge import Edit, EditKind
from director_ai.testing import ScriptedTokens
from director_ai.validators import Checks
from drivers import Driver


class Finder:
    """Finds a pattern; `handed` is what it was asked about, `asynchronous` makes its `find` a coroutine function."""

    def __init__(
        self,
        pattern: str,
        *,
        name: str = "finder",
        frontier: Frontier = "word",
        kind: EditKind = "remove",
        replacement: str = "[X]",
    ) -> None:
        self.name, self.frontier = name, frontier
        self._pattern, self._kind, self._replacement = re.compile(pattern), kind, replacement
        self.handed: list[str] = []

    def find(self, text: str) -> Any:
        self.handed.append(text)
        return [
            Edit(*found.span(), self._replacement, self._kind, self.name, "found")
            for found in self._pattern.finditer(text)
        ]


class AsyncFinder(Finder):
    async def find(self, text: str) -> Any:
        await anyio.sleep(0)
        return super().find(text)


def run_checks(driver: Driver, checks: Checks, tokens: Iterable[Any], **options: Any) -> tuple[list[str], CheckedText]:
    """Run a stream to its end; the tokens come from an asynchronous source where the driver is asynchronous."""
    if driver.name == "sync":
        stream = checks.stream(tokens, **options)
        return [piece.text for piece in stream], stream.result

    async def main() -> tuple[list[str], CheckedText]:
        source = ScriptedTokens(tokens) if isinstance(tokens, list) else tokens
        astream = checks.astream(source, **options)
        return [piece.text async for piece in astream], astream.result

    return anyio.run(main, backend=driver.name)


def finish(driver: Driver, checks: Checks, text: str, **options: Any) -> CheckedText:
    """Check a finished text."""
    if driver.name == "sync":
        return checks.run(text, **options)

    async def main() -> CheckedText:
        return await checks.arun(text, **options)

    return anyio.run(main, backend=driver.name)
