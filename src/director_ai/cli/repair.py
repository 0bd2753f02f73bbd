"""`director-ai repair`: what comes in goes out again as it is released, repaired; a filter for pipes."""

from __future__ import annotations

import codecs
import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import typer

from director_ai.cli.facts_show import counted, say
from director_ai.cli.facts_store import Tenant  # noqa: TC001 - typer reads the annotations
from director_ai.cli.guard_options import Config, Facts, Model, ProfileName, Prompt, Store, Wanted, opened_guard
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.core.repair.record import RepairResult
    from director_ai.core.repair.streams import RepairPiece

__all__ = ["repair"]

HALTED: Final = 1
INTERRUPTED: Final = 130
_MOST_BYTES: Final = 65_536


def repair(  # noqa: PLR0913, PLR0917 - the options of a command
    prompt: Prompt = "",
    facts: Facts = None,
    store: Store = "",
    profile: ProfileName = "",
    tenant: Tenant = "",
    halt: Annotated[bool, typer.Option("--halt", help="End before the first clause that is not supported.")] = False,
    model: Model = True,
    config: Config = "",
    report: Annotated[str, typer.Option("--report", metavar="PATH", help="Write a report of it, as HTML.")] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: a line for each piece of text, and one with the result.")
    ] = False,
) -> None:
    """Repair a stream of text: standard input to standard output, each clause as soon as it was judged.

    What is supported leaves byte for byte. Exit status: 0 done, 1 halted, 2 bad input.

    For example: my-model "What is the refund window?" | director-ai repair --facts facts.json --profile finance
    """
    source, out = Arriving(_bytes_of(sys.stdin, "input")), _bytes_of(sys.stdout, "output")
    wanted = Wanted(facts=facts, store=store, profile=profile, model=model, config=config, tenant=tenant)
    with opened_guard(wanted) as guard:
        try:
            mode: Any = "halt" if halt else "repair"
            with guard.stream(prompt, source, tenant_id=tenant, mode=mode) as stream:
                for piece in stream:
                    out.write(_line(_told(piece)) if as_json else piece.text.encode("utf-8", "replace"))
                    out.flush()
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:  # the reader left: what is still held must not be tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        result, threshold = stream.result, guard.profile.repair.threshold
    if as_json:
        out.write(_line(_summed_up(result)))
        out.flush()
    if source.trouble:
        raise ConfigError(source.trouble)
    if report:
        _write_report(result, report, threshold, prompt)
    _say_what_was_done(result)
    if result.halted:
        raise typer.Exit(HALTED)


class Arriving:
    """Text as it arrives, undecoded bytes kept until the rest of them is there."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.trouble = ""
        """Why it ended before its end."""

    def __iter__(self) -> Iterator[str]:
        decode = codecs.getincrementaldecoder("utf-8")().decode
        try:
            while chunk := self._stream.read1(_MOST_BYTES):  # type: ignore[attr-defined]  # of every buffered stream
                if text := decode(chunk):
                    yield text
            decode(b"", final=True)
        except UnicodeDecodeError as error:
            self.trouble = "the standard input is not UTF-8; only what stands before that was judged"
            yield error.object[: error.start].decode()
        except OSError as error:
            self.trouble = f"the standard input cannot be read ({error.strerror or type(error).__name__})"


def _bytes_of(stream: Any, name: str) -> BinaryIO:
    if stream is None:
        raise ConfigError(f"the standard {name} is closed")
    buffer: BinaryIO = stream.buffer
    return buffer


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _told(piece: RepairPiece) -> dict[str, Any]:
    return {
        "text": piece.text,
        "actions": [
            {
                "action": each.action,
                "verdict": each.verdict,
                "reason": each.reason,
                "mode": each.mode,
                "support": each.support,
                "start": each.start,
                "end": each.end,
                "evidence_ids": list(each.evidence_ids),
            }
            for each in piece.actions
        ],
    }


def _summed_up(result: RepairResult) -> dict[str, Any]:
    from director_ai.cli.report.figures import Figures  # noqa: PLC0415 - keeps `--help` quick

    told = Figures.of(result)
    counts = {"clauses": told.clauses, "kept": told.kept, "rewritten": told.rewritten, "redacted": told.redacted}
    return {"result": {**counts, "halted": result.halted, "halt_reason": result.halt_reason}}


def _write_report(result: RepairResult, path: str, threshold: float, prompt: str) -> None:
    from director_ai.cli.report import write_report  # noqa: PLC0415 - as above

    write_report(result, path, title="A repaired stream", threshold=threshold, prompt=prompt)


def _say_what_was_done(result: RepairResult) -> None:
    """Say it to whoever sits at a terminal; a pipe gets the text alone, and why it ended early."""
    if result.halted:
        say(f"halted: {result.halt_reason}", error=True)
    elif sys.stderr is not None and sys.stderr.isatty():
        told = _summed_up(result)["result"]
        say(
            f"{counted(told['clauses'], 'clause')}: {told['kept']} kept, {told['rewritten']} rewritten, "
            f"{told['redacted']} redacted",
            error=True,
        )
