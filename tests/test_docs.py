"""Code in the documents runs, links lead somewhere, and what the README prints is what happens."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import anyio
import pytest

from director_ai.profiles import PROFILES

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def blocks(page: Path, language: str) -> list[str]:
    return [code for found, code in BLOCK.findall(page.read_text("utf-8")) if found == language]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_the_python_blocks_of_a_page_run_as_one_script(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = compile("\n".join(blocks(page, "python")), page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = {"__name__": "__docs__"}

    async def main() -> None:
        outcome = eval(code, names)
        if inspect.isawaitable(outcome):
            await outcome

    anyio.run(main)
    printed = capsys.readouterr().out
    for expected in blocks(page, "text"):
        assert f"\n{expected}" in f"\n{printed}", "a text block shows whole lines of what the page's code prints"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    text = INLINE_CODE.sub("", page.read_text("utf-8"))
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert missing == []


def test_the_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"make ([a-z]+)", (ROOT / "README.md").read_text("utf-8")))
    assert {"demo", "test"} <= named <= targets


def test_the_page_on_repair_names_the_thresholds_of_the_profiles() -> None:
    page = (ROOT / "docs" / "repair.md").read_text("utf-8")
    closed = ", ".join(f"{PROFILES[name].repair.threshold:.2f}" for name in ("medical", "finance", "legal"))
    opened = ", ".join(f"{1 - PROFILES[name].repair.threshold:.2f}" for name in ("general", "creative"))
    assert f"support {closed} |" in page
    assert f"contradiction up to {opened} |" in page


def test_every_promise_names_a_test_that_exists() -> None:
    paths = re.findall(r"`(tests/[\w/]+\.py)`", (ROOT / "docs" / "promises.md").read_text("utf-8"))
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
