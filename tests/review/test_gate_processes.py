"""Promises 5 and 15 with real processes: they race, their clocks disagree, and they are killed at any moment."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from review_cases import check_trail
from review_workers import Workers, text_of

from director_ai import HumanReviewQueue
from director_ai.errors import AlreadyReleased, NotApproved
from director_ai.review import ReviewCase

HOURS = (-7, -3, -1, 0, 0, 1, 5, 9)
"""What the clocks of the processes are off by; an approval lasts for a day."""


@pytest.mark.parametrize("cases", [50, pytest.param(1_250, marks=pytest.mark.soak)], ids=["400 attempts", "10,000"])
@pytest.mark.timeout(1_800)
def test_of_racing_processes_one_releases_each_case(shared_place: str, tmp_path: Path, cases: int) -> None:
    with HumanReviewQueue(shared_place) as queue:
        made: dict[str, list[str]] = {"release": [], "approve": [], "either": []}
        for number in range(cases):
            made["release"].append(approved_case(queue, f"a{number}"))
        for number in range(cases // 3):
            made["either"].append(approved_case(queue, f"b{number}"))
            case = queue.enqueue_case(candidate_text="n of m", request_id=f"c{number}", required_approvals=3)
            made["approve"].append(case.case_id)
        waiting = [queue.enqueue_case(candidate_text="wait", tenant_id="claims").case_id for _ in range(cases // 3)]
    workers = Workers(tmp_path)
    for number, hours in enumerate(HOURS):
        workers.start(f"w{number}", "race", place=shared_place, cases=made, skew=hours * 3_600)
    workers.go()
    workers.wait()

    done: dict[str, list[tuple[str, str]]] = defaultdict(list)
    attempts: Counter[str] = Counter()
    for name, (outcome, *words) in workers.all_said():
        if outcome == "done":
            done[words[1]].append((name, words[0]))
        elif outcome == "asks":
            attempts[words[0]] += 1
    assert attempts["release"] >= 8 * cases
    assert [len(done[case]) for case in made["release"]] == [1] * cases
    with HumanReviewQueue(shared_place) as queue:
        for case_id in made["either"]:  # whoever came first, the other was refused
            what = {each for _, each in done[case_id]}
            assert queue.get_case(case_id).state == {"release": "released", "reject": "rejected"}[what.pop()]
            assert not what
            assert len(done[case_id]) == 1
        for case_id in made["approve"]:
            assert len(done[case_id]) == 3
            assert queue.get_case(case_id).state == "approved"
            assert len(queue.decisions(case_id)) == 3
        assert [len(done[case_id]) for case_id in waiting] == [1] * len(waiting), "a case was handed out twice"
        check_trail(queue)


def approved_case(queue: HumanReviewQueue, request: str) -> str:
    case = queue.enqueue_case(candidate_text=text_of(request), request_id=request, tenant_id="acme")
    queue.decide(case.case_id, reviewer_id="boss", action="approve")
    return case.case_id


@pytest.mark.parametrize("kills", [25, pytest.param(500, marks=pytest.mark.soak)])
@pytest.mark.timeout(1_800)
def test_what_killed_processes_acknowledged_is_kept_and_nothing_is_released_twice(
    shared_place: str, tmp_path: Path, kills: int
) -> None:
    HumanReviewQueue(shared_place).close()
    workers, chance = Workers(tmp_path), random.Random(kills)
    workers.go()
    running: list[tuple[str, int]] = []
    for number in range(kills):
        while len(running) < 3:
            name = f"w{number:03}-{len(running)}"
            first = max(0, number * 5 - 5)  # about where the others are
            running.append((name, workers.start(name, "work", place=shared_place, first=first, count=10_000)))
        name, process = running.pop(chance.randrange(3))
        wait_for(workers, name, chance.randrange(2, 40))
        time.sleep(chance.random() * 0.01)
        os.kill(process, signal.SIGKILL)
    for _, process in running:
        os.kill(process, signal.SIGKILL)
    workers.wait()
    cut = [name for name in dict(workers.all_said()) if workers.said(name)[-1][0] == "asks"]
    assert len(cut) > kills // 5, "hardly any process was killed in the middle of something"
    with HumanReviewQueue(shared_place) as queue:
        assert compared(queue, workers) >= kills
        check_trail(queue)


def wait_for(workers: Workers, name: str, lines: int) -> None:
    """Until a process has said so much; a kill then hits it in the middle of the next."""
    limit = time.monotonic() + 60
    while len(workers.said(name)) < lines:
        assert time.monotonic() < limit, "a worker hangs"
        time.sleep(0.001)


def compared(queue: HumanReviewQueue, workers: Workers) -> int:
    """Hold what the processes knew against what the database says; return how much was compared."""
    released: dict[str, set[str]] = defaultdict(set)
    requests: dict[str, str] = {}
    compared = 0
    for name, (outcome, what, *words) in ((name, said) for name, said in workers.all_said() if len(said) > 1):
        if outcome != "done":
            continue
        compared += 1
        if what == "enqueue":
            request, case_id = words
            assert queue.get_case(case_id).candidate_text == text_of(request)
            requests[case_id] = request
        elif what == "approve":
            assert words[1] in {each.decision_id for each in queue.decisions(words[0])}
        else:
            released[words[0]].add(f"{name}.{words[0]}")
            assert words[1] == text_of(requests[words[0]])
    for case_id, ids in released.items():
        assert ids == {queue.get_case(case_id).release_id}
    for case in queue.list_cases(limit=10_000):
        ask_again(queue, case)
    return compared


def ask_again(queue: HumanReviewQueue, case: ReviewCase) -> None:
    """Whoever lost the answer to a release can ask for it again, and nobody else gets the text."""
    late = {"reviewer_id": "late", "release_id": f"late.{case.case_id}"}
    if case.state == "approved":
        assert queue.release(case.case_id, **late) == case.candidate_text
        return
    if case.state == "released":
        who = case.release_id.split(".", maxsplit=1)[0]
        assert queue.release(case.case_id, reviewer_id=who, release_id=case.release_id) == case.candidate_text
    with pytest.raises(AlreadyReleased if case.state == "released" else NotApproved):
        queue.release(case.case_id, **late)
