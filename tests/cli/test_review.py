"""`director-ai review`, through typer's runner and the command's own `main`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commands import run_command
from director_ai import HumanReviewQueue
from director_ai.cli.review_show import _changes, _marked
from director_ai.core import CorrectionLoop
from director_ai.core.guard_control import RiskEnvelope, VerifierSignal
from director_ai.core.scoring.consensus import CrossVerifierConsensus
from director_ai.knowledge import GroundTruthStore
from director_ai.review import ReviewCase

WRONG = "Refunds are available within 90 days."
RIGHT = "Refunds are available within 30 days."
HOSTILE = "a\x1b[31mred\x1b]0;title\x07\x9b2J\rover\x08\u202eback [bold]not markup[/] :smile:"
COMMAND = str(Path(sys.executable).parent / "director-ai")
READING = [["list"], ["show"]]
WRITING = [["approve"], ["reject"], ["retry"], ["release"], ["claim"], ["unclaim"], ["remember"]]


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[Any]:
        """What `--json` printed: every line of the output has to be JSON."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def record(self) -> Any:
        (only,) = self.records
        return only


class Reviews:
    """The command, with a queue of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder, self._patch = folder, monkeypatch
        self.db = folder / "director.db"

    def queue(self, **options: Any) -> HumanReviewQueue:
        return HumanReviewQueue(self.db, **options)

    def case(self, text: str = RIGHT, **options: Any) -> ReviewCase:
        """Put a case in, as another program does."""
        with self.queue() as queue:
            return queue.enqueue_case(candidate_text=text, **{"tenant_id": "acme", **options})

    def proposal(self, *, risk: float = 0.08, verdict: Any = "supported", **options: Any) -> ReviewCase:
        envelope = RiskEnvelope("text", "reversible", "regulated", 0.65, 0.9)
        loop = CorrectionLoop(consensus=CrossVerifierConsensus(), risk_envelope=envelope, policy_id="policy.refunds")
        signal = VerifierSignal("nli", "text", risk, verdict, 0.0, 0.9, ("kb://refunds",))
        proposal = loop.propose(candidate_text=RIGHT, signals=[signal], evidence_refs=("trace://halt-7",))
        with self.queue() as queue:
            return queue.enqueue_correction_proposal(proposal, tenant_id="acme", request_id="r-1", **options)

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> Ran:
        variables = {
            "COLUMNS": "140",
            "DIRECTOR_AI_REVIEW_DB": str(self.db),
            "DIRECTOR_AI_USER": "ann",
            "DIRECTOR_AI_SIGNING_KEY": "",
            **(env or {}),
        }
        return Ran(*run_command(self._patch, ["review", *arguments], env=variables))

    def done(self, *arguments: str, **more: Any) -> Ran:
        ran = self.run(*arguments, **more)
        assert ran.code == 0, ran.err
        return ran

    def refused(self, code: int, *arguments: str, **more: Any) -> str:
        """Return the sentence that a command ends with, which prints nothing else."""
        ran = self.run(*arguments, **more)
        assert (ran.code, ran.out) == (code, ""), ran.err
        return " ".join(ran.err.replace("│", " ").split())

    def tamper(self, statement: str, *values: object) -> None:
        with contextlib.closing(sqlite3.connect(self.db)) as connection, connection:
            connection.execute(statement, values)
        connection.close()


@pytest.fixture
def reviews(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Reviews:
    monkeypatch.chdir(tmp_path)
    return Reviews(monkeypatch, tmp_path)


# --- the list -----------------------------------------------------------------------------------------------------


def test_the_list_has_a_line_for_each_case_the_oldest_first(reviews: Reviews) -> None:
    first = reviews.case(reason="hard_limit score=0.1", request_id="r-1", required_approvals=2)
    second = reviews.case(tenant_id="bolt")
    reviews.done("claim", second.case_id)
    head, one, two = reviews.done("list").out.splitlines()
    assert head.split() == ["age", "state", "case", "tenant", "reason", "approvals", "held", "by"]
    assert one.split()[2:] == ["open", first.case_id[:13], "acme", "hard_limit", "score=0.1", "0/2"]
    assert two.split()[2:] == ["open", second.case_id[:13], "bolt", "0/1", "ann"]


def test_the_list_as_json_has_whole_ids_and_texts_only_where_asked_for(reviews: Reviews) -> None:
    case = reviews.case(original_text=WRONG, metadata={"page": 3})
    plain = reviews.done("list", "--json")
    assert plain.record["case_id"] == case.case_id
    assert RIGHT not in plain.out
    assert WRONG not in plain.out
    assert "metadata" not in plain.record
    full = reviews.done("list", "--json", "--text").record
    assert (full["candidate_text"], full["original_text"], full["metadata"]) == (RIGHT, WRONG, {"page": 3})


def test_the_list_is_narrowed_by_tenant_state_limit_and_place(reviews: Reviews) -> None:
    cases = [reviews.case(f"Text {n}.", tenant_id=tenant) for n, tenant in enumerate(["acme", "bolt", "", "acme"])]
    reviews.done("reject", cases[0].case_id)
    ids = [case.case_id for case in cases]

    def listed(*options: str) -> list[str]:
        return [each["case_id"] for each in reviews.done("list", "--json", *options).records]

    assert listed() == ids
    assert listed("--tenant", "acme") == [ids[0], ids[3]]
    assert listed("--tenant", "") == [ids[2]]
    assert listed("--state", "rejected") == [ids[0]]
    assert listed("--state", "open", "--limit", "2") == ids[1:3]
    assert listed("--after", ids[1]) == ids[2:]
    assert listed("--after", ids[1][:13]) == ids[2:]
    some = reviews.done("list", "--limit", "2")
    assert len(some.out.splitlines()) == 3
    assert f"--after {ids[1]}" in some.err


def test_more_cases_than_a_page_holds_are_all_listed(reviews: Reviews, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("director_ai.cli.review.PAGE", 2)
    ids = [reviews.case(f"Text {n}.").case_id for n in range(5)]
    assert [each["case_id"] for each in reviews.done("list", "--json").records] == ids


def test_ids_that_begin_alike_are_shown_as_far_as_they_differ(reviews: Reviews) -> None:
    ids = [reviews.case(f"Text {n}.").case_id for n in range(2)]
    alike = ["case-12345678" + "0" * 24, "case-12345678" + "a" * 24]
    for old, new in zip(ids, alike, strict=True):
        reviews.tamper("UPDATE director_review_case SET case_id = ? WHERE case_id = ?", new, old)
    shown = reviews.done("list").out
    assert "case-123456780 " in shown
    assert "case-12345678a " in shown
    assert "several cases begin like this" in reviews.refused(2, "show", "case-12345678")


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["for people", "as json"])
def test_an_empty_list_has_exit_status_1(reviews: Reviews, options: list[str]) -> None:
    reviews.case()
    ran = reviews.run("list", "--state", "released", *options)
    assert (ran.code, ran.out, ran.err) == (1, "", "no cases\n")


# --- one case -----------------------------------------------------------------------------------------------------


def test_show_has_all_that_a_reviewer_needs(reviews: Reviews) -> None:
    case = reviews.proposal(
        original_text=WRONG, proposer_id="bot", required_approvals=2, reviewers=["ann", "bob"], metadata={"page": 3}
    )
    reviews.done("approve", case.case_id, "--reason", "as in the contract")
    shown = reviews.done("show", case.case_id).out
    for part in (
        case.case_id, "open", "acme", "r-1", "policy.refunds", "bot", "trace://halt-7", "1 of 2, by ann, bob alone",
        '{"page": 3}', f"│ {RIGHT} ", "within [-90-]{+30+} days.", "guard allow", "nli", "supported", "0.08",
        "0.00-0.90", "kb://refunds", "as in the contract", "case.opened", "case.decided",
    ):  # fmt: skip
        assert part in shown, part


def test_show_as_json_has_decisions_and_rows_and_the_text_only_where_asked_for(reviews: Reviews) -> None:
    case = reviews.proposal(original_text=WRONG)
    reviews.done("approve", case.case_id)
    ran = reviews.done("show", case.case_id, "--json")
    assert RIGHT not in ran.out
    assert WRONG not in ran.out
    found = ran.record
    assert (found["state"], found["borne_out"], found["differences"]) == ("approved", True, [])
    assert [(each["reviewer_id"], each["action"]) for each in found["decisions"]] == [("ann", "approve")]
    assert [(row["sequence"], row["kind"]) for row in found["trail"]] == [(1, "case.opened"), (2, "case.decided")]
    assert found["guard_decision"]["signals"][0]["verifier"] == "nli"
    assert reviews.done("show", case.case_id, "--json", "--text").record["candidate_text"] == RIGHT


def test_a_case_is_named_by_a_beginning_of_its_id_within_its_tenant(reviews: Reviews) -> None:
    case = reviews.case()
    for given in (case.case_id, case.case_id[:13], case.case_id[:20]):
        assert reviews.done("show", given, "--tenant", "acme", "--json").record["case_id"] == case.case_id
        assert "no such case in this tenant" in reviews.refused(1, "show", given, "--tenant", "bolt")


@pytest.mark.parametrize(
    "given", ["", " ", "case-", "case-1234567", "12345678", "case-1234567%", "case-GHIJKLMN", "case-" + "a" * 33, "*"]
)
def test_what_names_no_case_is_bad_input(reviews: Reviews, given: str) -> None:
    reviews.case()
    for command in ("show", "approve", "release"):
        assert "at least the next 8 characters" in reviews.refused(2, command, "--", given)


def test_a_case_that_is_not_what_the_trail_says_is_shown_with_a_warning(reviews: Reviews) -> None:
    case = reviews.case()
    reviews.tamper("UPDATE director_review_case SET candidate_text = ?", "Refunds are available within 400 days.")
    ran = reviews.run("show", case.case_id)
    assert ran.code == 2
    assert "400 days" in ran.out
    assert "do not decide it" in ran.err
    assert "was changed after it came in" in ran.err
    record = reviews.run("show", case.case_id, "--json")
    assert (record.code, record.record["borne_out"], record.record["trail"]) == (2, False, [])
    assert "was changed" in reviews.refused(1, "approve", case.case_id)


def test_a_text_that_was_let_go_is_said_to_be(reviews: Reviews) -> None:
    case = reviews.case(original_text=WRONG)
    reviews.done("reject", case.case_id, "--reason", "not so")
    with reviews.queue() as queue:
        queue.forget_texts(before=datetime.now(UTC), by="ann", tenant_id="acme")
    shown = reviews.done("show", case.case_id).out
    assert "The text was let go at the end of its time." in shown
    assert "(let go)" in shown
    assert "expires" not in shown
    assert reviews.done("show", case.case_id, "--json", "--text").record["candidate_text"] is None


@pytest.mark.parametrize(
    ("before", "after", "marked"),
    [
        (WRONG, RIGHT, "Refunds are available within [-90-]{+30+} days."),
        ("The end.", "The end. Or not.", "The end.{+ Or not.+}"),
        ("All gone.", "x", "[-All gone.-]{+x+}"),
        ("same", "same", "same"),
        ("a a", "a", "a[- a-]"),
    ],
    ids=["one word", "more at the end", "all of it", "nothing", "one of two alike"],
)
def test_a_difference_is_marked_word_by_word(before: str, after: str, marked: str) -> None:
    assert _marked(before, after, colours=False).plain == marked


def test_very_long_texts_are_compared_without_waiting() -> None:
    before, after = [str(n) for n in range(200_000)], [str(-n) for n in range(1, 200_000)]
    assert [kind for kind, _ in _changes(["a", *before, "b"], ["a", *after, "b"])] == ["same", "out", "in", "same"]


def test_hostile_text_in_every_field_reaches_no_terminal(reviews: Reviews) -> None:
    case = reviews.case(HOSTILE, original_text=HOSTILE * 2, reason=HOSTILE, metadata={"x": HOSTILE})
    reviews.done("approve", case.case_id, "--reason", HOSTILE)
    shown = reviews.done("list").out + reviews.done("show", case.case_id).out
    assert not set(shown) & set("\x1b\x9b\x07\r\x08\u202e")
    assert shown.count("[bold]not markup[/] :smile:") >= 4
    assert "cannot be seen here" in shown
    reviews.tamper(
        "UPDATE director_review_case SET tenant = ?, request_id = ?, policy_id = ?, proposer_id = ?, state = ?,"
        " claimed_by = ?, claimed_until = 9e15, retry_of = ?, proposal_id = ?, release_id = ?, released_by = ?,"
        " evidence_refs = ?",
        *[HOSTILE] * 10,
        json.dumps([HOSTILE]),
    )
    ran = reviews.run("show", case.case_id)
    shown = reviews.done("list").out + ran.out
    assert ran.code == 2
    assert not set(shown + ran.err) & set("\x1b\x9b\x07\r\x08\u202e")
    assert shown.count("not markup") >= 8


def test_what_cannot_be_seen_is_counted(reviews: Reviews) -> None:
    case = reviews.case("Pay\u200b now.\U000e0041")
    assert "2 characters of it cannot be seen here" in reviews.done("show", case.case_id).out
    seen = reviews.case("Le café ouvre à neuf heures.\nÇa va.")
    assert "cannot be seen" not in reviews.done("show", seen.case_id).out


def test_text_in_its_frame_cannot_pass_for_a_decision(reviews: Reviews) -> None:
    case = reviews.case("Fine.\n\ndecided  reviewer  action\n2026-01-01  bob  approve")
    lines = reviews.done("show", case.case_id).out.splitlines()
    assert all(line.startswith("│") for line in lines if "reviewer" in line or "bob" in line)


# --- deciding -----------------------------------------------------------------------------------------------------


def test_enough_approvals_make_a_release_and_the_text_alone_is_printed(reviews: Reviews) -> None:
    case = reviews.case("Le café ouvre.\n", required_approvals=2)
    first = reviews.done("approve", case.case_id, "--reason", "checked")
    assert first.out == "approved by ann · 1 of 2 · row 2\n"
    assert "1 of 2 approvals" in reviews.refused(1, "release", case.case_id)
    second = reviews.done("approve", case.case_id, "--reviewer", "bob")
    assert second.out == "approved by bob · 2 of 2 · row 3\n"
    assert "review release" in second.err
    assert reviews.done("release", case.case_id) == Ran(0, "Le café ouvre.\n", "")


def test_a_decision_as_json_is_the_one_that_was_recorded(reviews: Reviews) -> None:
    approved, rejected = reviews.case("One."), reviews.case("Two.")
    found = reviews.done("approve", approved.case_id, "--reason", "checked", "--json").record
    assert (found["case_id"], found["reviewer_id"], found["reason"]) == (approved.case_id, "ann", "checked")
    assert (found["state"], found["audit_sequence"]) == ("approved", 3)
    assert reviews.done("approve", approved.case_id, "--json").record["decision_id"] == found["decision_id"]
    assert reviews.done("reject", rejected.case_id, "--json").record["state"] == "rejected"


def test_a_repeated_release_prints_the_same_and_another_one_is_refused(reviews: Reviews) -> None:
    case = reviews.case()
    reviews.done("approve", case.case_id)
    assert reviews.done("release", case.case_id).out == RIGHT
    assert reviews.done("release", case.case_id).out == RIGHT
    again = reviews.done("release", case.case_id, "--json").record
    assert again == {
        "case_id": case.case_id,
        "release_id": case.case_id.replace("case-", "release-"),
        "reviewer_id": "ann",
        "text": RIGHT,
    }
    assert "released already" in reviews.refused(1, "release", case.case_id, "--release-id", "other")
    assert "released already" in reviews.refused(1, "release", case.case_id, "--reviewer", "bob")


def test_nothing_is_printed_before_the_checkpoints_are_written(reviews: Reviews) -> None:
    case = reviews.case()
    reviews.done("approve", case.case_id)
    notes = Path(f"{reviews.db}.checkpoints")
    kept = notes.rename(reviews.folder / "kept")
    notes.mkdir()
    assert "checkpoints" in reviews.refused(2, "release", case.case_id)
    notes.rmdir()
    kept.rename(notes)
    assert reviews.done("release", case.case_id).out == RIGHT


def test_a_release_has_the_id_that_was_given(reviews: Reviews) -> None:
    case = reviews.case()
    reviews.done("approve", case.case_id)
    reviews.done("release", case.case_id, "--release-id", "mail-7")
    shown = reviews.done("show", case.case_id)
    assert "by ann under mail-7" in shown.out
    assert "expires" not in shown.out


def test_a_retry_gives_a_generator_what_it_needs_without_the_text(reviews: Reviews) -> None:
    case = reviews.case(request_id="r-1", evidence_refs=["kb:refunds"])
    assert reviews.done("retry", case.case_id, "--reason", "cite the source").out == "sent back by ann · row 2\n"
    ran = reviews.done("retry", case.case_id, "--reason", "cite the source", "--json")
    assert RIGHT not in ran.out
    assert ran.record["retry_of"] == case.case_id
    assert (ran.record["review_reason"], ran.record["evidence_refs"]) == ("cite the source", ["kb:refunds"])


def test_what_the_gate_refuses_has_exit_status_1_and_says_why(reviews: Reviews) -> None:
    halted = reviews.proposal(risk=0.8, verdict="contradiction", proposer_id="bot")
    assert "not 'allow'" in reviews.refused(1, "approve", halted.case_id)
    assert "not 'allow'" in reviews.refused(1, "release", halted.case_id)
    own = reviews.case("Mine.", proposer_id="ann", reviewers=["ann", "bob"])
    assert "cannot approve it" in reviews.refused(1, "approve", own.case_id)
    assert "not among those" in reviews.refused(1, "approve", own.case_id, "--reviewer", "carl")
    reviews.done("reject", own.case_id, "--reviewer", "bob")
    assert "rejected already" in reviews.refused(1, "approve", own.case_id, "--reviewer", "bob")
    assert "only a released text" in reviews.refused(1, "remember", own.case_id)
    assert "no such case" in reviews.refused(1, "approve", "case-00000000")


def test_a_case_that_another_reviewer_holds_is_not_decided(reviews: Reviews) -> None:
    case = reviews.case()
    assert reviews.done("claim", case.case_id, "--reviewer", "bob").out.startswith("held by bob until 2")
    assert "another reviewer holds" in reviews.refused(1, "approve", case.case_id)
    assert "another reviewer holds" in reviews.refused(1, "claim", case.case_id)
    held = reviews.done("claim", case.case_id, "--reviewer", "bob", "--lease", "60", "--json").record
    assert held["claimed_by"] == "bob"
    assert RIGHT not in json.dumps(held)
    reviews.done("approve", case.case_id, "--reviewer", "bob")


def test_a_case_that_was_let_go_may_be_decided_by_anybody(reviews: Reviews) -> None:
    case = reviews.case()
    reviews.done("claim", case.case_id, "--reviewer", "bob")
    assert "another reviewer holds the case" in reviews.refused(1, "unclaim", case.case_id)
    assert "another reviewer holds" in reviews.refused(1, "approve", case.case_id)
    assert reviews.done("unclaim", case.case_id[:13], "--reviewer", "bob").out == "held by nobody\n"
    again = reviews.done("unclaim", case.case_id, "--reviewer", "bob", "--json")
    assert (again.record["claimed_by"], RIGHT in again.out) == ("", False)
    reviews.done("approve", case.case_id)


def test_a_released_text_is_remembered_as_a_correction_or_as_a_fact(reviews: Reviews) -> None:
    case = reviews.case(original_text=WRONG)
    reviews.done("approve", case.case_id)
    reviews.done("release", case.case_id)
    assert reviews.done("remember", case.case_id).out == "remembered as a correction\n"
    with reviews.queue() as queue:
        known = queue.known_correction(WRONG, tenant_id="acme")
    assert known is not None
    assert known.text == RIGHT
    missing = ["remember", case.case_id, "--as-fact", "facts.db", "refunds"]
    assert "no knowledge base" in reviews.refused(2, *missing)
    with GroundTruthStore("facts.db") as store:
        store.add("ceo", "The CEO is Jane Doe.", "acme")
    found = reviews.done(*missing, "--json").record
    assert found == {"case_id": case.case_id, "as": "fact", "key": "refunds", "reviewer_id": "ann"}
    with GroundTruthStore("facts.db") as store:
        kept = store.get("refunds", "acme")
    assert kept is not None
    assert kept.text == RIGHT
    taken = reviews.refused(2, "remember", case.case_id, "--as-fact", "facts.db", "ceo")
    assert "the key 'ceo' already stands for another fact" in taken


# --- what cannot be used ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [*READING, *WRITING], ids=lambda command: command[0])
def test_a_database_that_does_not_exist_is_not_made(reviews: Reviews, command: list[str]) -> None:
    arguments = [*command, *([] if command == ["list"] else ["case-12345678"])]
    assert "there is no review queue at" in reviews.refused(2, *arguments)
    assert "there is no review queue at 'director.db'" in reviews.refused(
        2, *arguments, env={"DIRECTOR_AI_REVIEW_DB": ""}
    )
    assert "there is no review queue at 'served.db'" in reviews.refused(
        2, *arguments, env={"DIRECTOR_AI_REVIEW_DB": "", "DIRECTOR_AI_SERVER_DATABASE": "served.db"}
    )
    reviews.db.touch()
    assert "there is no review queue at" in reviews.refused(2, *arguments)
    assert [path.name for path in reviews.folder.iterdir()] == ["director.db"]
    assert reviews.db.stat().st_size == 0


def test_a_key_that_does_not_exist_is_not_made(reviews: Reviews) -> None:
    reviews.case()
    key = Path(f"{reviews.db}.key")
    kept = key.rename(reviews.folder / "kept.pem")
    assert "there is no key at" in reviews.refused(2, "list")
    assert "there is no key at" in reviews.refused(2, "list", "--key", "none.pem")
    assert not key.exists()
    assert not Path("none.pem").exists()
    assert reviews.done("list", "--key", str(kept)).code == 0
    assert reviews.done("list", env={"DIRECTOR_AI_SIGNING_KEY": str(kept)}).code == 0


def test_checkpoints_elsewhere_are_named_and_the_key_lies_beside_them(reviews: Reviews) -> None:
    safe = reviews.folder / "safe"
    safe.mkdir()
    with reviews.queue(checkpoints=safe / "trail.checkpoints") as queue:
        case = queue.enqueue_case(candidate_text=RIGHT)
    assert "there is no key at" in reviews.refused(2, "list")
    assert "there are no checkpoints at" in reviews.refused(2, "list", "--checkpoints", "safe/other")
    reviews.done("approve", case.case_id, "--checkpoints", "safe/trail.checkpoints")
    assert sorted(path.name for path in safe.iterdir()) == ["trail.checkpoints", "trail.key"]
    assert len((safe / "trail.checkpoints").read_text().splitlines()) == 2
    assert not Path(f"{reviews.db}.checkpoints").exists()


def test_another_key_is_refused_before_anything_is_written(reviews: Reviews) -> None:
    case = reviews.case()
    HumanReviewQueue(reviews.folder / "other.db").close()
    assert "another key" in reviews.refused(2, "approve", case.case_id, "--key", "other.db.key")
    assert reviews.done("list", "--json").record["approvals"] == 0


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("facts.db", "holds no review queue"),
        ("letter.txt", "not a database"),
        (".", "is a folder"),
        ("missing/director.db", "there is no review queue"),
        (" ", "--db must be"),
        (":memory:", "--db must be"),
        ("mysql://user:secret@host/db", "--db must be"),
        ("postgresql://user:secret@host:port/db", "cannot be read"),
        ("postgresql://user:secret@127.0.0.1:1/db", "cannot be reached"),
        ("x" * 5000, "cannot be opened" if sys.version_info < (3, 14) else "there is no review queue"),
    ],
    ids=lambda value: value[:12],
)
def test_what_is_no_review_queue_is_left_as_it_is(reviews: Reviews, place: str, says: str) -> None:
    Path("letter.txt").write_text("Dear Sir or Madam, " * 100)
    GroundTruthStore("facts.db").close()
    before = {path.name: path.read_bytes() for path in reviews.folder.iterdir()}
    said = reviews.refused(2, "list", "--db", place)
    assert says in said
    assert "secret" not in said
    assert {path.name: path.read_bytes() for path in reviews.folder.iterdir()} == before


def test_a_postgresql_database_is_used_as_it_is_and_never_made(
    reviews: Reviews, fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(reviews.folder))
    assert "holds no review queue" in reviews.refused(2, "list", "--db", fresh_database)
    assert list(reviews.folder.iterdir()) == []
    with HumanReviewQueue(fresh_database) as queue:
        case = queue.enqueue_case(candidate_text=RIGHT, tenant_id="acme")
    options = ["--db", fresh_database]
    assert reviews.done("approve", case.case_id[:13], *options).out.startswith("approved by ann")
    assert reviews.done("release", case.case_id[:13], *options).out == RIGHT
    for key in (reviews.folder / "director-ai").glob("*.key"):
        key.unlink()
    assert "there is no key at" in reviews.refused(2, "list", *options)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["list", "--state", "opne"], "did you mean 'open'?"),
        (["list", "--limit", "0"], "--limit"),
        (["list", "--tenant", "../x"], "tenant_id must be"),
        (["list", "--after", "nonsense"], "at least the next 8 characters"),
        (["approve", "CASE", "--reviewer", "ann smith"], "reviewer_id must be"),
        (["approve", "CASE", "--reviewer", "x" * 10_000], "reviewer_id must be"),
        (["approve", "CASE", "--reason", "x" * 10_000], "reason must have at most"),
        (["approve", "CASE", "--reason", "a\0b"], "reason must be text without NUL"),
        (["release", "CASE", "--release-id", "a b"], "release_id must be"),
        (["release", "CASE", "--release-id", "x" * 10_000], "release_id must be"),
        (["claim", "CASE", "--lease", "-1"], "lease"),
        (["claim", "CASE", "--lease", "nan"], "lease"),
        (["approve", "CASE", "--tenant", "*"], "tenant_id must be"),
        (["list", "--db", "a\0b"], "--db must be"),
        (["list", "--key", "a\0b"], "--key must be"),
        (["list", "--checkpoints", " "], "--checkpoints must be"),
        (["frobnicate"], "No such command"),
        (["approve"], "Missing argument"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_bad_input_has_exit_status_2_and_says_what_is_wrong(reviews: Reviews, arguments: list[str], says: str) -> None:
    case = reviews.case()
    said = reviews.refused(2, *(case.case_id if each == "CASE" else each for each in arguments))
    assert says in said
    assert len(said) < 1_000
    assert reviews.done("list", "--json").record["approvals"] == 0


def test_a_login_name_that_nobody_knows_is_asked_for(reviews: Reviews, monkeypatch: pytest.MonkeyPatch) -> None:
    case = reviews.case()
    monkeypatch.setattr("director_ai.cli.review.login_name", lambda: "")
    said = reviews.refused(2, "approve", case.case_id, env={"DIRECTOR_AI_USER": ""})
    assert "reviewer_id must not be empty" in said


def test_help_has_examples(reviews: Reviews) -> None:
    assert "director-ai review approve case-1a2b3c4d" in " ".join(reviews.done("--help").out.split())
    for command, *_ in [*READING, *WRITING]:
        text = " ".join(reviews.done(command, "--help").out.replace("│", " ").split())
        assert "For example: `director-ai review" in text
        assert "director.db" in text


# --- in a process of its own --------------------------------------------------------------------------------------


def process(folder: Path, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "DIRECTOR_AI_USER": "ann", **more.pop("env", {})}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([COMMAND, "review", *arguments], env=environment, cwd=folder, **pipes)


def test_a_released_text_is_piped_byte_for_byte_whatever_the_locale(reviews: Reviews) -> None:
    text = "Le café ouvre à neuf heures. \U0001f600\r\n" + HOSTILE
    case = reviews.case(text)
    reviews.done("approve", case.case_id)
    running = process(reviews.folder, "release", case.case_id, env={"PYTHONIOENCODING": "ascii"})
    assert running.communicate() == (text.encode(), b"")


def test_a_released_text_does_nothing_to_a_terminal(reviews: Reviews) -> None:
    case = reviews.case(HOSTILE)
    reviews.done("approve", case.case_id)
    main_end, side = pty.openpty()
    running = process(reviews.folder, "release", case.case_id, stdout=side, env={"TERM": "dumb"})
    os.close(side)
    shown = b""
    try:
        while piece := os.read(main_end, 65536):
            shown += piece
    except OSError:  # how a pseudo-terminal says that the other side is gone
        pass
    running.communicate()
    assert running.returncode == 0
    assert shown == b"aredoverback [bold]not markup[/] :smile:\r\n"


def test_nothing_is_released_where_there_is_no_output(reviews: Reviews) -> None:
    case = reviews.case()
    reviews.done("approve", case.case_id)
    running = process(reviews.folder, "release", case.case_id, stdout=None, preexec_fn=lambda: os.close(1))
    _, err = running.communicate()
    assert running.returncode == 2
    assert b"standard output is closed" in err
    assert reviews.done("list", "--json").record["state"] == "approved"


def test_a_reader_who_leaves_is_no_error(reviews: Reviews) -> None:
    with reviews.queue() as queue:
        for n in range(300):
            queue.enqueue_case(candidate_text=f"Text {n}. {'x' * 2000}")
    running = process(reviews.folder, "list", "--json", "--text")
    assert isinstance(running.stdout, io.BufferedReader)
    running.stdout.read(10)
    running.stdout.close()
    assert running.stderr
    assert running.stderr.read() == b""
    running.stderr.close()
    running.wait()
