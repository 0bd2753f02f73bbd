"""What one package's review queue does, told as JSON; `review_peer.py` runs it with ours and with the peer's Python.

Only what both publish is used: HumanReviewQueue, and CorrectionLoop for a proposal that the consensus halts.
"""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import sqlite3
import sys
import threading
import time
from pathlib import Path

logging.disable(logging.CRITICAL)

from director_ai import HumanReviewQueue  # noqa: E402 - after the peer's log is off
from director_ai.core import CorrectionLoop  # noqa: E402
from director_ai.core.guard_control import RiskEnvelope, VerifierSignal  # noqa: E402
from director_ai.core.scoring.consensus import CrossVerifierConsensus  # noqa: E402

TEXT = "The refund of order {} is paid within 30 days of its return, to the account that it was paid from."
MEET_SECONDS = 60


def enqueue(queue, mark):
    given = {"tenant_id": "bench", "request_id": mark, "reason": "hard_limit"}
    return queue.enqueue_case(candidate_text=TEXT.format(mark), evidence_refs=("kb://refunds-7",), **given).case_id


def approve(queue, case_id):
    queue.decide(case_id, reviewer_id="reviewer-a", action="approve", reason="as the policy says")


def release(queue, case_id, release_id):
    return queue.release(case_id, reviewer_id="reviewer-a", release_id=release_id)


def outcome(act):
    """What a call answers, and otherwise what it raises."""
    try:
        return {"answer": act(), "error": ""}
    except Exception as error:  # noqa: BLE001 - what it raises is what is asked
        return {"answer": None, "error": type(error).__name__}


# Speed.


def spent(operation, count, threads):
    """Wall and CPU seconds of one of many calls; an error in a thread is raised here."""
    failed = []

    def run(first):
        try:
            for at in range(first, count, threads):
                operation(at)
        except Exception as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    workers = [threading.Thread(target=run, args=(first,)) for first in range(threads)]
    wall, cpu = time.perf_counter(), time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    cost = [(time.perf_counter() - wall) / count, (time.process_time() - cpu) / count]
    if failed:
        raise failed[0]
    return cost


def speed(path, count, rounds, threads):
    """Costs of each operation, round by round; the first round does not count."""
    queue, found = HumanReviewQueue(path), {"enqueue": [], "decide": [], "release": []}
    for step in range(rounds + 1):
        ids = [""] * count

        def put(at, step=step, ids=ids):
            ids[at] = enqueue(queue, f"r-{step}-{at}")

        found["enqueue"].append(spent(put, count, threads))
        found["decide"].append(spent(lambda at, ids=ids: approve(queue, ids[at]), count, threads))
        found["release"].append(spent(lambda at, ids=ids: release(queue, ids[at], f"rel-{ids[at]}"), count, threads))
    queue.close()
    return {name: costs[1:] for name, costs in found.items()}


# Safety.


def prepare(path, count):
    """The ids of approved cases."""
    queue = HumanReviewQueue(path)
    ids = [enqueue(queue, f"race-{at}") for at in range(count)]
    for case_id in ids:
        approve(queue, case_id)
    queue.close()
    return ids


def race(path, ids, meeting, place):
    """What each release answered, and when; another process, met before each, asks for the same."""
    queue, got = HumanReviewQueue(path), []
    with (
        Path(meeting).open("r+b") as file,
        mmap.mmap(file.fileno(), 0) as shared,
        memoryview(shared).cast("i") as turns,
    ):
        for turn, case_id in enumerate(ids, 1):
            turns[place] = turn
            latest = time.monotonic() + MEET_SECONDS
            while turns[1 - place] < turn:
                if time.monotonic() > latest:
                    raise RuntimeError("the other process of the race is gone")
            began = time.monotonic()
            told = outcome(lambda case_id=case_id: release(queue, case_id, f"rel-{place}-{case_id}"))
            got.append(told | {"began": began, "ended": time.monotonic()})
    queue.close()
    return got


def forge(path, old, new):
    """Put other words into every row, as somebody can who may write to the database file."""
    with contextlib.closing(sqlite3.connect(path)) as file:
        for kind, name in file.execute("SELECT type, name FROM sqlite_master ORDER BY type DESC").fetchall():
            if kind == "trigger":
                file.execute(f'DROP TRIGGER "{name}"')
            if kind == "table" and not name.startswith("sqlite_"):
                for (column,) in file.execute(f"SELECT name FROM pragma_table_info('{name}')").fetchall():
                    changed = f'UPDATE "{name}" SET "{column}" = replace("{column}", ?, ?) WHERE instr("{column}", ?)'
                    file.execute(changed, (old, new, old))
        file.commit()


def edited_text(path):
    """What leaves when the text was changed in the database after it was approved."""
    queue = HumanReviewQueue(path)
    case_id = enqueue(queue, "edited")
    approve(queue, case_id)
    forge(path, "within 30 days", "within 90 days")
    told = outcome(lambda: release(queue, case_id, "rel-edited"))
    outcome(queue.close)
    return told | {"done": "90 days" in (told["answer"] or "")}


def edited_decision(path):
    """Who is said to have approved when that was changed in the database."""
    queue = HumanReviewQueue(path)
    case_id = enqueue(queue, "decided")
    approve(queue, case_id)
    forge(path, "reviewer-a", "reviewer-x")
    told = outcome(lambda: [each.reviewer_id for each in queue.decisions(case_id)])
    outcome(queue.close)
    return told | {"done": told["answer"] == ["reviewer-x"]}


def halted_proposal(path):
    """What leaves of a correction that the verifiers' consensus halted, once a reviewer says yes to it."""
    envelope = RiskEnvelope(
        action_category="text",
        reversibility="reversible",
        domain="regulated",
        calibrated_threshold=0.65,
        no_go_threshold=0.9,
    )
    loop = CorrectionLoop(consensus=CrossVerifierConsensus(), risk_envelope=envelope, policy_id="policy.bench")
    signal = VerifierSignal(
        verifier="nli",
        modality="text",
        score=0.85,
        verdict="contradiction",
        confidence_low=0.8,
        confidence_high=0.88,
        evidence_refs=("kb://refunds-7",),
    )
    proposal = loop.propose(candidate_text=TEXT.format(1), signals=[signal], evidence_refs=("trace://halt-7",))
    if proposal.guard_decision.decision == "allow":
        raise RuntimeError("the proposal was to be halted")
    queue = HumanReviewQueue(path)
    case_id = queue.enqueue_correction_proposal(proposal, tenant_id="bench", request_id="halted").case_id
    approved = outcome(lambda: approve(queue, case_id))
    told = outcome(lambda: release(queue, case_id, "rel-halted"))
    outcome(queue.close)
    return {"answer": told["answer"], "error": approved["error"] or told["error"], "done": told["answer"] is not None}


if __name__ == "__main__":
    what, arguments = sys.argv[1], json.loads(sys.argv[2])
    acts = [speed, prepare, race, edited_text, edited_decision, halted_proposal]
    print("figures", json.dumps({act.__name__: act for act in acts}[what](**arguments)))
