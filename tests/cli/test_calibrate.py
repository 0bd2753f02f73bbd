"""`director-ai calibrate`, through the command's own `main`, and in a process where signals and terminals matter."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import COMMAND, HEEDING_INTERRUPTS, run_command, show_on_terminal
from director_ai.knowledge import GroundTruthStore
from director_ai.nli import load_entailer
from director_ai.profiles import PROFILES
from director_ai.scorer import CoherenceScorer

TOWNS = "Basel Bern Geneva Zurich Lausanne Lucerne Lugano Chur Sion Thun Davos Arbon Brig Zug Olten Aarau Biel Wil Uster Vevey".split()
SECRET = "SECRET-TEXT"


class Calibrate:
    """The command in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.folder = folder
        self._patch = monkeypatch

    def run(self, *arguments: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> tuple[int, str, str]:
        variables = {"COLUMNS": "100", "DIRECTOR_AI_STORE": "", **(env or {})}
        return run_command(self._patch, ["calibrate", *arguments], stdin=stdin, env=variables)

    def report(self, *arguments: str, **more: Any) -> dict[str, Any]:
        code, out, err = self.run(*arguments, "--json", **more)
        assert code == 0, err
        (line,) = out.splitlines()
        report: dict[str, Any] = json.loads(line)
        return report

    def rows(self, rows: list[dict[str, Any]], name: str = "rows.jsonl") -> str:
        return self.file("\n".join(map(json.dumps, rows)), name)

    def file(self, text: str | bytes, name: str = "rows.jsonl") -> str:
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name


@pytest.fixture
def calibrate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Calibrate:
    monkeypatch.chdir(tmp_path)
    return Calibrate(monkeypatch, tmp_path)


@pytest.fixture
def shops(tmp_path: Path) -> str:
    with GroundTruthStore(str(tmp_path / "shops.db")) as store:
        store.add_many({town: f"The shop in {town} opens at {5 + at % 7}:15." for at, town in enumerate(TOWNS)})
    return "shops.db"


def scored(right: int = 99, wrong: int = 20) -> list[dict[str, Any]]:
    good = [{"score": (at + 1) / (right + 1), "label": "right"} for at in range(right)]
    return [*({"score": at / 100, "label": "wrong"} for at in range(wrong)), *reversed(good)]


def answers() -> list[dict[str, Any]]:
    rows = []
    for at, town in enumerate(TOWNS):
        asked = f"When does the shop in {town} open?"
        rows.append({"prompt": asked, "response": f"The shop in {town} opens at {5 + at % 7}:15.", "label": "right"})
        rows.append({"prompt": asked, "response": f"The shop in {town} opens at {8 + at % 7}:40.", "label": "wrong"})
    return rows


def test_scores_give_a_threshold_its_bounds_and_what_it_would_have_done(calibrate: Calibrate) -> None:
    report = calibrate.report(calibrate.rows(scored()))
    assert (report["right"], report["wrong"], report["rank"], report["threshold"]) == (99, 20, 5, 0.05)
    assert report["marginal_bound"] == 0.05
    assert report["false_halt_bound"] == pytest.approx(0.090074, abs=1e-6)  # Clopper-Pearson, 4 of 99, 95 %
    assert (report["confidence"], report["allowed_false_halts"], report["strict"]) == (0.95, 0.05, False)
    assert report["scored_by"] is None
    limits = {each["name"]: each for each in report["limits"]}
    assert list(limits) == ["calibrated", *PROFILES]
    assert (limits["calibrated"]["false_halts"], limits["calibrated"]["caught"]) == (4, 5)
    assert limits["calibrated"]["false_halt_bound"] == report["false_halt_bound"]
    for name, profile in PROFILES.items():
        assert limits[name]["limit"] == profile.rules.hard_limit
        assert limits[name]["false_halts"] == round(profile.rules.hard_limit * 100) - 1
        assert limits[name]["caught"] == 20
    assert [each["right"] for each in report["histogram"]] == [9, *[10] * 9]
    assert [each["wrong"] for each in report["histogram"]] == [10, 10, *[0] * 8]


def test_strict_and_the_two_rates_move_the_threshold(calibrate: Calibrate) -> None:
    file = calibrate.rows(scored())
    strict = calibrate.report(file, "--strict")
    assert strict["threshold"] < 0.05
    assert strict["false_halt_bound"] <= 0.05
    assert calibrate.report(file, "--false-halts", "0.2")["threshold"] == 0.2
    surer = calibrate.report(file, "--confidence", "0.99")
    assert surer["threshold"] == 0.05
    assert surer["false_halt_bound"] > calibrate.report(file)["false_halt_bound"]


@pytest.mark.parametrize("columns", ["60", "100"])
def test_people_read_sentences_a_table_and_a_histogram(calibrate: Calibrate, columns: str) -> None:
    code, out, err = calibrate.run(calibrate.rows(scored()), env={"COLUMNS": columns})
    assert (code, err) == (0, "")
    assert "99 right and 20 wrong answers" in out
    assert "threshold 0.0500\n" in out
    assert "with probability at most 5.00 %." in out
    assert "With 95 % confidence, it halts at most 9.01 % of right answers." in out
    assert all(name in out for name in ("calibrated", "general", "medical", "creative", "4 of 99", "5 of 20"))
    assert "█ 10" in out
    assert all(len(line) <= int(columns) for line in out.partition("limit")[2].splitlines())


def test_figures_for_people_are_rounded_to_the_safe_side(calibrate: Calibrate) -> None:
    _, out, _ = calibrate.run(calibrate.rows([{"score": 0.29998, "label": "right"}] * 29))
    assert "threshold 0.2999\n" in out
    assert "at most 3.34 %." in out  # 1 of 30


def test_too_few_right_answers_give_no_threshold_and_say_how_many_it_takes(calibrate: Calibrate) -> None:
    file = calibrate.rows(scored(18))
    code, out, err = calibrate.run(file, "--save", "kept.json")
    assert (code, err) == (
        1,
        "no threshold: with 18 right answers none can promise at most 5 % false halts; it takes 19\n",
    )
    assert "general" in out
    assert "nothing was saved" in out
    assert not (calibrate.folder / "kept.json").exists()
    code, out, _ = calibrate.run(file, "--json")
    report = json.loads(out)
    assert (code, report["threshold"], report["false_halt_bound"], report["needed"]) == (1, None, None, 19)
    assert "it takes 59" in calibrate.run(file, "--strict")[2]


def test_a_threshold_that_halts_nothing_says_so(calibrate: Calibrate) -> None:
    _, out, _ = calibrate.run(calibrate.rows([{"score": 0, "label": "right"}] * 20))
    assert "halts nothing" in out


def test_the_file_may_be_the_standard_input_with_a_mark_blank_lines_and_other_fields(calibrate: Calibrate) -> None:
    lines = [json.dumps({**row, "id": 7, "prompt": "kept beside it"}) for row in scored(19, 0)]
    report = calibrate.report("-", stdin=("\ufeff" + "\r\n\r\n".join(lines)).encode())
    assert (report["right"], report["wrong"], report["threshold"]) == (19, 0, 0.05)


def test_what_is_saved_is_the_threshold_and_what_it_holds_for(calibrate: Calibrate, shops: str) -> None:
    report = calibrate.report(calibrate.rows(scored()), "--save", "t.json")
    saved = json.loads((calibrate.folder / "t.json").read_text("ascii"))
    assert saved == {
        "threshold": 0.05, "false_halt_bound": report["false_halt_bound"], "confidence": 0.95, "marginal_bound": 0.05, "n": 99,
    }  # fmt: skip
    _, out, _ = calibrate.run(calibrate.rows(answers()), "--facts", shops, "--no-model", "--save", "t.json")
    assert "saved in t.json" in out
    saved = json.loads((calibrate.folder / "t.json").read_text("ascii"))
    assert (saved["n"], saved["model"], saved["policy"], saved["retrieval"]) == (20, None, "closed", "words")
    assert [each.name for each in calibrate.folder.iterdir() if each.suffix == ".part"] == []


@pytest.mark.parametrize("policy", ["closed", "open"])
def test_answers_are_judged_by_the_facts_and_the_threshold_does_what_it_says(
    calibrate: Calibrate, shops: str, policy: str
) -> None:
    rows = answers()
    report = calibrate.report(calibrate.rows(rows), "--facts", shops, "--no-model", "--policy", policy)
    assert (report["right"], report["wrong"], report["rank"], report["repeated"]) == (20, 20, 1, 0)
    assert report["scored_by"] == {
        "policy": policy, "model": None, "retrieval": "words", "tenant_id": "", "revision": 1,
    }  # fmt: skip
    with GroundTruthStore(shops) as store:
        for limit in report["limits"]:
            scorer = CoherenceScorer(
                limit["limit"], use_nli=False, ground_truth_store=store, policy=policy  # type: ignore[arg-type]
            )  # fmt: skip
            halted = [row["label"] for row in rows if not scorer.review(row["prompt"], row["response"])[0]]
            assert (halted.count("right"), halted.count("wrong")) == (limit["false_halts"], limit["caught"])
    assert report["limits"][0]["caught"] > 15


def test_with_the_model_its_digest_is_kept(calibrate: Calibrate, shops: str) -> None:
    report = calibrate.report(calibrate.rows(answers()), "--facts", shops, "--words")
    assert report["scored_by"]["model"] == load_entailer().digest
    assert report["limits"][0]["false_halts"] == 0
    assert report["limits"][0]["caught"] > 15


def test_a_tenants_answers_are_judged_by_its_facts(calibrate: Calibrate) -> None:
    with GroundTruthStore("facts.db") as store:
        store.add("hours", "The shop opens at nine.", tenant_id="acme")
    file = calibrate.rows([{"prompt": "", "response": "The shop opens at nine.", "label": "right"}] * 20)
    assert calibrate.report(file, "--no-model", "--tenant", "acme")["threshold"] > 0.5
    assert calibrate.report(file, "--no-model", env={"DIRECTOR_AI_STORE": "facts.db"})["threshold"] == 0
    code, _, err = calibrate.run(file, "--no-model", "--tenant", "acme")
    assert code == 0
    assert "19 rows repeat another" in err


GOOD = '{"score": 0.5, "label": "right"}\n'
BAD_FILES = {
    "empty": ("", "empty"),
    "blank": (" \n\n", "empty"),
    "not UTF-8": (GOOD.encode() + b"\xff\xfe", "not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), "not UTF-8"),
    "not JSON": (GOOD + SECRET, "line 2 is not JSON"),
    "cut off": (GOOD + "\n" + GOOD[:-4], "line 3 is not JSON"),
    "nested without end": (GOOD + "[" * 100_000, "line 2 is not JSON"),
    "an endless number": (GOOD + '{"score": ' + "1" * 5_000 + ', "label": "right"}', "line 2"),
    "a list": (GOOD + "[1]", "line 2 must be a JSON object"),
    "a field twice": (GOOD + '{"label": "right", "label": "wrong", "score": 1}', "line 2 has a field twice"),
    "no label": ('{"score": 0.5}', "line 1: 'label'"),
    "an unknown label": (f'{{"score": 0.5, "label": "{SECRET}"}}', "line 1: 'label' must be \"right\" or \"wrong\""),
    "a label of another kind": ('{"score": 0.5, "label": ["right"]}', "line 1: 'label'"),
    "NaN": (GOOD + '{"score": NaN, "label": "right"}', "line 2: 'score' must be a number from 0 to 1"),
    "infinity": (GOOD + '{"score": 1e999, "label": "right"}', "line 2: 'score'"),
    "too high": (GOOD + '{"score": 1.0001, "label": "right"}', "line 2: 'score'"),
    "negative": (GOOD + '{"score": -0.1, "label": "right"}', "line 2: 'score'"),
    "a score in words": (GOOD + f'{{"score": "{SECRET}", "label": "right"}}', "line 2: 'score'"),
    "true": (GOOD + '{"score": true, "label": "right"}', "line 2: 'score'"),
    "no answer": ('{"prompt": "x", "label": "right"}', "line 1: 'response' must be a text"),
    "a prompt that is no text": ('{"prompt": 1, "response": "x", "label": "right"}', "line 1: 'prompt'"),
    "an empty answer": ('{"prompt": "x", "response": " ", "label": "right"}', "line 1: 'response' is empty"),
    "wrong answers alone": (GOOD.replace("right", "wrong"), 'no row has the label "right"'),
    "with and without scores": (GOOD + '{"prompt": "x", "response": "x", "label": "right"}', "line 1 and line 2 differ"),
    "an endless line": (GOOD + "x" * (2**22 + 1), "line 2 has more than"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "says"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_gets_a_sentence(calibrate: Calibrate, text: str | bytes, says: str) -> None:
    code, out, err = calibrate.run(calibrate.file(text), "--save", "t.json", "--json")
    assert (code, out) == (2, "")
    assert says in err
    assert SECRET not in err
    assert len(err.splitlines()) == 1
    assert not (calibrate.folder / "t.json").exists()


BAD_CALLS = {
    "no such file": (["none.jsonl"], "cannot be read (No such file"),
    "a folder": (["."], "cannot be read (Is a directory"),
    "a name with NUL": (["a\0b"], "NUL"),
    "no false halts at all": (["s", "--false-halts", "0"], "--false-halts must be"),
    "every answer halted": (["s", "--false-halts", "1"], "--false-halts must be"),
    "a rate that is no number": (["s", "--false-halts", "nan"], "--false-halts must be"),
    "certainty": (["s", "--confidence", "1"], "--confidence must be"),
    "no confidence": (["s", "--confidence", "-1"], "--confidence must be"),
    "facts for scores": (["s", "--facts", "facts.db"], "the rows have scores"),
    "a policy for scores": (["s", "--policy", "open"], "the rows have scores"),
    "no facts": (["t", "--facts", "none.db"], "there is no knowledge base at 'none.db'"),
    "no facts by default": (["t"], "there is no knowledge base at 'facts.db'"),
    "an empty place": (["t", "--facts", ""], "--store must be"),
    "facts in a folder": (["t", "--facts", "."], "is a folder"),
    "another kind of URL": (["t", "--facts", "https://example.com"], "--store must be"),
    "an unknown policy": (["t", "--facts", "shops.db", "--policy", "opne"], "did you mean 'open'"),
    "a bad tenant": (["t", "--facts", "shops.db", "--tenant", "a b\n"], "tenant_id"),
    "a folder to save in": (["s", "--save", "."], "--save takes the name of a file"),
    "a folder that is not there": (["s", "--save", "no/t.json"], "--save takes the name of a file"),
    "an endless name": (["s", "--save", "x" * 300], "cannot be written (File name too long"),
    "saving over the answers": (["s", "--save", "./s"], "take the place"),
    "saving over the facts": (["t", "--facts", "shops.db", "--save", "shops.db"], "take the place"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_gets_a_sentence(calibrate: Calibrate, shops: str, arguments: list[str], says: str) -> None:
    calibrate.rows(scored(), "s")
    calibrate.rows(answers(), "t")
    code, out, err = calibrate.run(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert {each.name for each in calibrate.folder.iterdir()} == {"s", "t", shops}


def test_an_answer_that_cannot_be_judged_is_named_by_its_line(calibrate: Calibrate, shops: str) -> None:
    with contextlib.closing(sqlite3.connect(shops)) as tables, tables:
        tables.execute("DELETE FROM posting_data")  # what is searched; the facts themselves are there
    tables.close()
    file = calibrate.file("\n" + json.dumps(answers()[0]))
    code, out, err = calibrate.run(file, "--facts", shops, "--no-model")
    assert (code, out, err) == (2, "", "director-ai: line 2 could not be judged (retriever_error)\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_device_is_written_to_and_not_replaced_and_a_full_one_gets_a_sentence(calibrate: Calibrate) -> None:
    code, out, err = calibrate.run(calibrate.rows(scored()), "--save", "/dev/full")
    assert (code, out) == (2, "")
    assert "cannot be written (No space left" in err
    assert Path("/dev/full").is_char_device()


def process(folder: Path, *arguments: str, **more: Any) -> subprocess.Popen[bytes]:
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.Popen([*HEEDING_INTERRUPTS, COMMAND, "calibrate", *arguments], cwd=folder, **pipes)


def test_ctrl_c_while_reading_ends_cleanly(tmp_path: Path) -> None:
    running = process(tmp_path, "-", "--save", "t.json", stdin=subprocess.PIPE)
    assert running.stdin
    for _ in range(20_000):  # far more than a pipe holds: whoever has taken it is reading
        running.stdin.write(GOOD.encode())
    running.stdin.flush()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate()
    assert running.returncode not in {0, None}
    assert out == b""
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_a_long_file_shows_its_progress_on_a_terminal_and_ctrl_c_ends_it(tmp_path: Path, shops: str) -> None:
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in answers() * 500))
    interrupted: list[int] = []

    def interrupt(running: subprocess.Popen[bytes], shown: bytes) -> None:
        if b"judging" in shown and not interrupted:
            interrupted.append(running.pid)
            running.send_signal(signal.SIGINT)

    arguments = ("rows.jsonl", "--facts", shops, "--no-model", "--save", "t.json")
    code, out, shown = show_on_terminal(lambda side: process(tmp_path, *arguments, stderr=side), interrupt)
    assert b"judging" in shown
    assert b"Traceback" not in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")  # the cursor is back
    assert code != 0
    assert out == b""
    assert not (tmp_path / "t.json").exists()


def test_scores_alone_load_no_model(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, scored())))
    script = (
        f"import sys; from director_ai.cli import app; app(['calibrate', {str(tmp_path / 's.jsonl')!r}], "
        "standalone_mode=False); assert 'onnxruntime' not in sys.modules; assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
