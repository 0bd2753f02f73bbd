"""`director-ai calibrate`: a threshold from a file of labelled answers, and the share of false halts it promises."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TextIO, cast

import typer

from director_ai.cli.facts_show import console, counted, say, shown, table, write_json
from director_ai.cli.facts_store import DEFAULT_STORE, AsJson, Tenant, opened_store, opened_text
from director_ai.cli.files import written
from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from director_ai.core.scoring.coherence import ClauseVerdict
    from director_ai.core.scoring.conformal import Calibration
    from director_ai.nli import Entailer
    from director_ai.profiles import EvidencePolicy

__all__ = ["calibrate"]

NO_THRESHOLD = 1
LONGEST_LINE = 2**22
BINS = 10
WIDEST_BAR = 24
BESIDE_BARS = 44
"""Columns for the figures."""
POLICIES = ("closed", "open")
LABELS = ("right", "wrong")


class Row(NamedTuple):
    """One labelled answer: with its score, or still to be judged."""

    line: int
    label: str
    score: float | None = None
    prompt: str = ""
    response: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """How answers without a score are judged; what is None was not asked for."""

    facts: str | None
    tenant: str
    policy: str | None
    no_model: bool
    words: bool | None

    @property
    def place(self) -> str:
        """Where the facts are."""
        return self.facts if self.facts is not None else os.environ.get("DIRECTOR_AI_STORE") or DEFAULT_STORE


def calibrate(  # noqa: PLR0913, PLR0917 - the options of a command
    file: Annotated[
        str, typer.Argument(help="Labelled answers, as JSON lines; - reads the standard input.", show_default=False)
    ],
    false_halts: Annotated[float, typer.Option(help="The share of right answers that may be halted.")] = 0.05,
    confidence: Annotated[float, typer.Option(help="Of the bound on that share.")] = 0.95,
    strict: Annotated[
        bool, typer.Option("--strict", help="Hold the bound to --false-halts, not the average alone.")
    ] = False,
    facts: Annotated[
        str | None,
        typer.Option(
            "--facts", "--store",
            help="What answers are judged by: a file, or a postgresql:// URL.",
            show_default=f"$DIRECTOR_AI_STORE, or {DEFAULT_STORE} here",
        ),
    ] = None,
    tenant: Tenant = "",
    policy: Annotated[
        str | None,
        typer.Option(help="A claim without evidence is unsupported (closed) or kept (open).", show_default="closed"),
    ] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Judge by words and typed values alone.")] = False,
    words: Annotated[
        bool | None,
        typer.Option("--words/--no-words", help="Find facts by words alone.", show_default="with --no-model"),
    ] = None,
    save: Annotated[str | None, typer.Option("--save", help="Write the threshold and its bound to this file.")] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Fit a threshold on labelled answers, and say how many right answers it may halt.

    A line of FILE is {"prompt": …, "response": …, "label": "right"} or {"score": 0.87, "label": "wrong"}.

    Exit status: 0 done, 1 too few right answers for a threshold, 2 bad input.

    For example: director-ai calibrate labelled.jsonl --false-halts 0.02 --save threshold.json
    """
    from director_ai.core.scoring.conformal import check_rate, fit_threshold  # noqa: PLC0415 - keeps `--help` quick

    check_rate("--false-halts", false_halts)
    check_rate("--confidence", confidence)
    judge = Judge(facts=facts, tenant=tenant, policy=policy, no_model=no_model, words=words)
    if save is not None:
        _check_target(save, file, judge.place)
    with opened_text(file) as stream:
        rows = list(_rows(stream))
    _check_rows(rows)
    scores, scored_by = _scores(rows, judge)
    labelled = list(zip(rows, scores, strict=True))
    right = [score for row, score in labelled if row.label == "right"]
    wrong = [score for row, score in labelled if row.label == "wrong"]
    fitted = fit_threshold(right, false_halts=false_halts, confidence=confidence, strict=strict)
    report = _report(fitted, right, wrong)
    report |= {"allowed_false_halts": false_halts, "strict": strict, "scored_by": scored_by}
    report["repeated"] = len(rows) - len({row[1:] for row in rows}) if scored_by else None
    if save is not None and fitted.threshold is not None:
        with written(save) as stream:
            stream.write(json.dumps(_record(report), indent=2) + "\n")
    if as_json:
        write_json([report])
    else:
        _show(report, save)
    if report["repeated"]:
        say(f"{counted(report['repeated'], 'row')} repeat another; the bounds hold for independent answers", error=True)
    if fitted.threshold is None:
        say(
            f"no threshold: with {counted(fitted.right, 'right answer')} none can promise at most "
            f"{_plain(false_halts)} false halts; it takes {fitted.needed:,}",
            error=True,
        )
        raise typer.Exit(NO_THRESHOLD)


# --- reading --------------------------------------------------------------------------------------------------


def _rows(stream: TextIO) -> Iterator[Row]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise ConfigError(f"line {number} has more than {LONGEST_LINE} characters; is this a file of JSON lines?")
        if line.strip():
            yield _row(number, line)


def _row(number: int, line: str) -> Row:
    from director_ai.core.ranges import as_score  # noqa: PLC0415 - as above

    try:
        record = json.loads(line, object_pairs_hook=_once)
    except ConfigError as error:
        raise ConfigError(f"line {number} {error}") from None
    except (ValueError, RecursionError):
        raise ConfigError(f"line {number} is not JSON that can be read; each line is one JSON object") from None
    if not isinstance(record, dict):
        raise ConfigError(f"line {number} must be a JSON object, got another value")
    label = record.get("label")
    if label not in LABELS:
        raise ConfigError(f'line {number}: \'label\' must be "right" or "wrong"')
    if "score" in record:
        score = as_score(record["score"])
        if score is None:
            raise ConfigError(f"line {number}: 'score' must be a number from 0 to 1")
        return Row(number, label, score)
    texts = [record.get(name) for name in ("prompt", "response")]
    for name, text in zip(("prompt", "response"), texts, strict=True):
        if not isinstance(text, str):
            raise ConfigError(f"line {number}: {name!r} must be a text; a row has a score, or a prompt and a response")
    prompt, response = cast("list[str]", texts)
    if not response.strip():
        raise ConfigError(f"line {number}: 'response' is empty; there is nothing to judge")
    return Row(number, label, None, prompt, response)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ConfigError("has a field twice")
    return record


def _check_rows(rows: Sequence[Row]) -> None:
    if not rows:
        raise ConfigError("the file is empty; it holds one labelled answer a line, as JSON")
    if all(row.label == "wrong" for row in rows):
        raise ConfigError('no row has the label "right"; a threshold is fitted on right answers')
    other = next((row for row in rows if (row.score is None) != (rows[0].score is None)), None)
    if other is not None:
        raise ConfigError(
            f"line {rows[0].line} and line {other.line} differ: one has a score and the other does not; scores from "
            "elsewhere and answers judged here cannot be calibrated together"
        )


# --- judging --------------------------------------------------------------------------------------------------


def _scores(rows: Sequence[Row], judge: Judge) -> tuple[list[float], dict[str, Any] | None]:
    """Return a score for each row, and what gave them where it was us."""
    given = [row.score for row in rows if row.score is not None]
    if not given:
        return _judged(rows, judge)
    if judge != Judge(facts=None, tenant="", policy=None, no_model=False, words=None):
        raise ConfigError(
            "the rows have scores, so nothing is judged: leave out --facts, --tenant, --policy, --no-model and --words"
        )
    return given, None


def _judged(rows: Sequence[Row], judge: Judge) -> tuple[list[float], dict[str, Any]]:
    from rich.progress import track  # noqa: PLC0415 - as above

    from director_ai.core.identifiers import check_identifier  # noqa: PLC0415 - as above
    from director_ai.scorer import CoherenceScorer  # noqa: PLC0415 - as above

    tenant, policy = check_identifier("tenant_id", judge.tenant), judge.policy or "closed"
    if policy not in POLICIES:
        raise UnknownOption("policy", policy, POLICIES)
    words = judge.no_model if judge.words is None else judge.words
    with opened_store(judge.place, words=words) as base:
        entailer = None if judge.no_model else _entailer()
        view = base.at()  # one revision for all
        scorer = CoherenceScorer(
            # Under the open policy a score is that of the support alone from the threshold on. With the highest one it
            # depends on no threshold, and tells for each whether it would be reached.
            threshold=1.0,
            use_nli=entailer is not None,
            ground_truth_store=view,
            policy=cast("EvidencePolicy", policy),
            entailer=entailer,
        )
        to = console(error=True)
        scores = [
            _score(row.line, scorer.judge(row.prompt, row.response, tenant))
            for row in track(rows, "judging", console=to, transient=True, disable=not to.is_terminal)
        ]
        revision = view.revision
    return scores, {
        "policy": policy,
        "model": entailer.digest if entailer else None,
        "retrieval": "words" if words else "meaning",
        "tenant_id": tenant,
        "revision": revision,
    }


def _entailer() -> Entailer:
    """Return the model; without it the scores would be others than those the threshold is for."""
    from director_ai.nli import load_entailer  # noqa: PLC0415 - loads numpy and onnxruntime

    try:
        return load_entailer()
    except (ImportError, OSError) as error:
        raise ConfigError(f"the model cannot be loaded ({type(error).__name__}); --no-model goes without it") from None


def _score(line: int, verdicts: Sequence[ClauseVerdict]) -> float:
    """Return the coherence of the worst clause."""
    for verdict in verdicts:
        if verdict.verdict == "not_evaluated":
            raise ConfigError(f"line {line} could not be judged ({verdict.reason})")
    return min((verdict.coherence for verdict in verdicts), default=1.0)


# --- reporting ------------------------------------------------------------------------------------------------


def _report(fitted: Calibration, right: Sequence[float], wrong: Sequence[float]) -> dict[str, Any]:
    from director_ai.core.scoring.conformal import halts_at  # noqa: PLC0415 - as above
    from director_ai.profiles import PROFILES  # noqa: PLC0415 - as above

    limits = [
        {"name": name, **asdict(halts_at(profile.rules.hard_limit, right, wrong, confidence=fitted.confidence))}
        for name, profile in PROFILES.items()
    ]
    if fitted.threshold is not None:
        outcome = asdict(halts_at(fitted.threshold, right, wrong, confidence=fitted.confidence))
        # These scores chose the threshold, so its bound goes by its rank and not by what was seen.
        limits.insert(0, {"name": "calibrated", **outcome, "false_halt_bound": fitted.false_halt_bound})
    bins = [{"from": at / BINS, "to": (at + 1) / BINS, "right": 0, "wrong": 0} for at in range(BINS)]
    for label, scores in zip(LABELS, (right, wrong), strict=True):
        for score in scores:
            bins[_bin(score)][label] += 1
    return {**asdict(fitted), "wrong": len(wrong), "limits": limits, "histogram": bins}


def _bin(score: float) -> int:
    return min(int(score * BINS), BINS - 1)


def _show(report: dict[str, Any], save: str | None) -> None:
    right, wrong, sure = report["right"], report["wrong"], report["confidence"]
    say(f"{right:,} right and {wrong:,} wrong answers")
    if (threshold := report["threshold"]) is not None:
        say(f"\nthreshold {_down(threshold)}")
        say(f"A new right answer scores below it with probability at most {_up(report['marginal_bound'])}.")
        say(f"With {_plain(sure)} confidence, it halts at most {_up(report['false_halt_bound'])} of right answers.")
        if threshold == 0.0:
            say("No score is below 0: this threshold halts nothing.")
    rows = table("", "limit", "right halted", f"at most ({_plain(sure)})", "wrong caught")
    for each in report["limits"]:
        rows.add_row(
            each["name"], _down(each["limit"]), f"{each['false_halts']:,} of {right:,}", _up(each["false_halt_bound"]),
            f"{each['caught']:,} of {wrong:,}",
        )  # fmt: skip
    say("")
    console().print(rows)
    _show_histogram(report)
    if save is not None:
        say(f"\nnothing was saved in {save}" if threshold is None else f"\nsaved in {save}")


def _show_histogram(report: dict[str, Any]) -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    bins, threshold = report["histogram"], report["threshold"]
    most = max(each[label] for each in bins for label in LABELS)
    widest = max(4, min(WIDEST_BAR, (console().width - BESIDE_BARS) // 2))
    rows = table("score", *LABELS, "")
    for at, each in reversed(list(enumerate(bins))):
        bars = [
            Text(f"{'█' * -(-each[label] * widest // most)} {each[label] or '·'}".strip(), color)
            for label, color in zip(LABELS, ("green", "red"), strict=True)
        ]
        here = "threshold" if threshold is not None and _bin(threshold) == at else ""
        rows.add_row(f"{each['from']:.1f} to {each['to']:.1f}", *bars, shown(here))
    say("")
    console().print(rows)


def _down(value: float) -> str:
    """Return a limit in four places; a lower one keeps what it promises, a higher one would not."""
    return str(Decimal(repr(value)).quantize(Decimal("0.0001"), ROUND_FLOOR))


def _up(rate: float) -> str:
    """Return a bound as a percentage, never below what it is."""
    return f"{Decimal(repr(rate)).scaleb(2).quantize(Decimal('0.01'), ROUND_CEILING)} %"


def _plain(rate: float) -> str:
    return f"{Decimal(repr(rate)).scaleb(2).normalize():f} %"


# --- saving ---------------------------------------------------------------------------------------------------


def _record(report: dict[str, Any]) -> dict[str, Any]:
    """Return what a threshold is and holds for, as a file keeps it."""
    record = {name: report[name] for name in ("threshold", "false_halt_bound", "confidence", "marginal_bound")}
    return {**record, "n": report["right"], **(report["scored_by"] or {})}


def _check_target(name: str, file: str, store: str) -> None:
    """Refuse what cannot be written before anything is judged."""
    if "\0" in name or not name.strip():
        raise ConfigError("--save takes the name of a file")
    try:
        path = Path(name).resolve()
        if path.is_dir() or not path.parent.is_dir():
            raise ConfigError(f"--save takes the name of a file in a folder that exists, got {name!r}")
        if path in {Path(other).resolve() for other in (file, store) if "\0" not in other}:
            raise ConfigError("--save would take the place of what is read; give another name")
    except OSError as error:
        raise ConfigError(f"{name!r} cannot be written ({error.strerror or type(error).__name__})") from None
