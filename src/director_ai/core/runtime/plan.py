"""The plan of a stream: everything that happens to it, in order, and what each failure means.

A plan asks and never acts. It yields what it wants done; a driver (see `drive`) does it, sends the answer back, or
throws what the attempt raised.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, Literal

from director_ai.core.runtime.halt_report import Review, read_review
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.release import type_name

if TYPE_CHECKING:
    from director_ai.core.runtime.halting import HaltMechanism
    from director_ai.core.runtime.release import TokenGate

__all__ = ["Ask", "Late", "Plan", "stream_plan"]


Ask = tuple[Literal["open", "token", "score", "review", "release"], tuple[Any, ...]]
"""What is wanted, and what it takes. Plain tuples, since there are three per token.

    open    ()              the token source, ready to be read
    token   ()              the next token; StopIteration or StopAsyncIteration where there is none
    score   (text,)         the coherence of the text gathered since the last score
    review  (prompt, text)  what the scorer says of the text that was halted
    release (start, stop)   these of the session's tokens may be shown
"""

Plan = Generator[Ask, Any, None]


class Late(Exception):
    """An answer did not come within its time limit."""

    def __init__(self, waited_for: str, limit: float) -> None:
        super().__init__(f"no {waited_for} within {limit:g} s")
        self.waited_for = waited_for
        self.limit = limit


_ASK_TOKEN: Final[Ask] = ("token", ())


def stream_plan(gate: TokenGate, *, prompt: str, scorer_path: str | None, watched: bool) -> Plan:
    """Read, score and release until the source ends or the gate closes; explain a halt once.

    `scorer_path` names the scorer to ask for evidence; None where there is none. A stream that nobody watches is not
    told what is released: it is all in the session.
    """
    tokens = gate.session.tokens
    shown = 0
    ended = False
    yield from _open(gate)
    while not gate.closed:
        text = None
        try:
            token = yield _ASK_TOKEN
        except (StopIteration, StopAsyncIteration):
            ended, text = True, gate.end()
        except BaseException as error:  # noqa: BLE001 - as above
            gate.fail(*_fault("source_error", error))
        else:
            text = gate.accept(token)
        if text is not None:
            try:
                answer = yield "score", (text,)
            except BaseException as error:  # noqa: BLE001 - as above
                gate.fail(*_fault("callback_error", error), scoring=True)
            else:
                gate.judge(answer)
        if gate.halt is not None and gate.unexplained:
            gate.explain((yield from _review(gate, prompt, scorer_path)))
        if ended:
            gate.finish()
        if watched and len(tokens) > shown:
            yield "release", (shown, len(tokens))
            shown = len(tokens)
    if gate.unexplained:
        gate.explain((yield from _review(gate, prompt, scorer_path)))


def _open(gate: TokenGate) -> Plan:
    """Make the source ready; one that cannot be opened is one that fails."""
    try:
        yield "open", ()
    except BaseException as error:  # noqa: BLE001 - fail closed, whatever it is; _fault raises what must pass
        gate.fail(*_fault("source_error", error))


def _review(gate: TokenGate, prompt: str, scorer_path: str | None) -> Generator[Ask, Any, Review | None]:
    """Ask what a halt rests on; without an answer the halt stands, and says that its evidence is missing."""
    if scorer_path is None:
        return None
    if gate.out_of_time:
        return Review(path=scorer_path, failed=True)
    try:
        answer = yield "review", (prompt, gate.text_at_halt)
    except BaseException as error:  # noqa: BLE001 - as above
        _fault("callback_error", error)
        return Review(path=scorer_path, failed=True)
    # Read where it was asked for, under its time limit; here only if that was not possible.
    return answer if type(answer) is Review else read_review(answer, path=scorer_path)


def _fault(mechanism: HaltMechanism, error: BaseException) -> tuple[HaltMechanism, str]:
    """Turn what an attempt raised into the reason of a halt; interrupts and cancellation are raised again.

    The message of a foreign error stays behind: it may hold the text that was being scored.
    """
    if must_pass(error):
        raise error
    if isinstance(error, Late):
        return "timeout", f"waited_for={error.waited_for} limit_s={error.limit:g}"
    return mechanism, f"type={type_name(error)}"
