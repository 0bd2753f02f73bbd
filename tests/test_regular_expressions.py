"""No pattern of ours uses what CPython 3.11.0 to 3.11.4 runs wrongly (gh-106052).

Those versions, Debian 12's among them, match other texts with possessive repeats and atomic groups than they should.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

DETECTOR = """
import importlib, json, pkgutil, re, sys, warnings
from re import _compiler, _constants

FAULTY = {_constants.POSSESSIVE_REPEAT, _constants.POSSESSIVE_REPEAT_ONE, _constants.ATOMIC_GROUP}
found = []
compiled = _compiler._code

def inspected(pattern, flags):
    code = compiled(pattern, flags)
    # The tree is asked, not the code: an operator's number may also be a character's.
    if holds(pattern) and (where := caller()):
        found.append([where, pattern.state.str])
    return code

def holds(tree):
    return any(operator in FAULTY or any(map(holds_part, parts if isinstance(parts, (tuple, list)) else [parts]))
               for operator, parts in tree)

def holds_part(part):
    if isinstance(part, (tuple, list)):
        return any(map(holds_part, part))
    return type(part).__name__ == "SubPattern" and holds(part)

def caller():
    frame = sys._getframe(2)
    while frame.f_globals.get("__name__", "").partition(".")[0] == "re":
        frame = frame.f_back
    name = frame.f_code.co_filename  # other packages' patterns are their own affair
    return name if name.startswith(sys.argv[1]) else ""

_compiler._code = inspected
re.purge()
"""
EVERY_MODULE = """
import director_ai
for module in pkgutil.walk_packages(director_ai.__path__, "director_ai."):
    if not module.name.endswith("migrations.env") and ".versions." not in module.name:
        importlib.import_module(module.name)
from director_ai.validators.banned import BannedWords
from director_ai.validators.disguise import Disguise
BannedWords(["two words"])  # two that compile patterns of their own when they are made or used
list(Disguise().find("a\\u0301\\u0301\\u0301\\u0301\\u0301\\u0301b"))
print(json.dumps(found))
"""


def detected(code: str, folder: Path) -> list[list[str]]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", DETECTOR + code, str(folder)],
        check=True, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_no_module_compiles_a_possessive_repeat_or_an_atomic_group() -> None:
    assert detected(EVERY_MODULE, ROOT / "src") == []


@pytest.mark.parametrize(
    "pattern", [r"a++b", r"x(?:[ab]|c)*+", r"(?:a{1,9}+)?", r"(?=(?>ab|a)c)", r"a|(?P<n>b?+)", r"()(?(1)a|b++)"]
)
def test_the_detector_finds_them_wherever_they_are(pattern: str, tmp_path: Path) -> None:
    module = tmp_path / "faulty.py"
    module.write_text(f"import re\nre.compile({pattern!r})\nre.search('plain+', 'text')\n")
    run = f"import runpy; runpy.run_path({str(module)!r}); print(json.dumps(found))"
    assert detected(run, tmp_path) == [[str(module), pattern]]


# Looked for as text, because most of these are scripts that do something when they are imported.
@pytest.mark.parametrize("folder", ["benchmarks", "training", "examples"])
def test_no_script_writes_one(folder: str) -> None:
    faulty = re.compile(r"""re\.\w+\(\s*r?f?["'].*(?:[^\\\[][*+?}]\+|\(\?>)""")
    assert [path.name for path in (ROOT / folder).rglob("*.py") if faulty.search(path.read_text("utf-8"))] == []
