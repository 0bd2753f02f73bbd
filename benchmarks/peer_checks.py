"""What the published director-ai makes of single clauses, through its public interface only."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from director_ai.core.segment import Clause, ClauseSegmenter

PROBE = """
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from director_ai.guard import ProductionGuard

profile, texts = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8"))
def guard_for(facts):
    guard = ProductionGuard.from_profile(profile)
    guard.load_facts(facts)
    return guard

first = texts[0]
try:
    guard_for(first["facts"]).repair_stream(first["prompt"], "".join(first["clauses"]))
    repairs = "no, finished texts only"
except Exception as error:
    repairs = f"no, repair_stream raises {type(error).__name__}"
guard_for(first["facts"]).check(first["prompt"], first["clauses"][0])
found, seconds = [], 0.0
for text in texts:
    guard = guard_for(text["facts"])
    started = time.process_time()
    results = [guard.check(text["prompt"], clause.strip()) for clause in text["clauses"]]
    seconds += time.process_time() - started
    found.append([[result.score, bool(result.approved)] for result in results])
print("figures", json.dumps({"repairs": repairs, "clauses": found, "seconds": seconds}))
"""


def clauses_of(text: str) -> list[Clause]:
    segmenter = ClauseSegmenter()
    return [*segmenter.feed(text), *segmenter.finish()]


def check_clauses(texts: list[dict[str, Any]], python: str, profile: str = "finance") -> dict[str, Any]:
    """Score and approval of each clause, by the peer that `python` has; a text has `prompt`, `facts` and `clauses`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.json"
        path.write_text(json.dumps(texts), "utf-8")
        ran = subprocess.run([python, "-c", PROBE, profile, str(path)], check=True, capture_output=True, text=True)
    printed = next(line for line in ran.stdout.splitlines() if line.startswith("figures "))
    found: dict[str, Any] = json.loads(printed.removeprefix("figures "))
    return found
