"""What one simulation came to, read from whatever an actor answers; what cannot be read counts as halted."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.ranges import as_score

if TYPE_CHECKING:
    from director_ai.hooks.protocol import Occasion

__all__ = ["Actor", "Rollout", "Scorer", "roll_out"]

Actor = Callable[[int, "Occasion"], Any]
"""Acts as it would, without doing it: from a seed and an occasion to a text, coherence scores, or a result."""
Scorer = Callable[[str, str], Any]
"""From a prompt and a text to a score from 0 to 1."""
_LONGEST_TEXT: Final = 1_000_000
_MOST_SCORES: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """What one simulation came to."""

    halted: bool
    coherence: float
    """The worst of it, from 0 to 1."""
    fault: str = ""
    """Why there is nothing better to say of it: `actor_error`, `actor_timeout`, …"""

    @classmethod
    def failed(cls, fault: str) -> Rollout:
        """Return what counts for a simulation that gave no answer."""
        return cls(halted=True, coherence=0.0, fault=fault)


def roll_out(actor: Actor, scorer: Scorer | None, seed: int, occasion: Occasion, halt_below: float) -> Rollout:
    """Let an actor act once; an interrupt passes, every other failure counts as halted."""
    try:
        answer = actor(seed, occasion)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - one that leaves by sys.exit has given no answer either
        return Rollout.failed("actor_error")
    if issubclass(type(answer), str):
        return _scored(scorer, occasion.prompt, str.__str__(answer), halt_below)
    try:
        found = _read(answer)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - an answer of a type of its own may raise anything when it is looked at
        found = None
    if found is None:
        return Rollout.failed("actor_invalid")
    halted, coherence = found
    return Rollout(halted=halted or coherence < halt_below, coherence=coherence)


def _scored(scorer: Scorer | None, prompt: str, text: str, halt_below: float) -> Rollout:
    if scorer is None:
        return Rollout.failed("scorer_missing")
    if len(text) > _LONGEST_TEXT:
        return Rollout.failed("actor_invalid")
    try:
        score = as_score(_settled(scorer(prompt, text)))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return Rollout.failed("scorer_error")
    if score is None:
        return Rollout.failed("scorer_invalid")
    return Rollout(halted=score < halt_below, coherence=score)


def _settled(answer: Any) -> Any:
    """Return an answer; a coroutine is none, and is closed, as nobody will await it."""
    if inspect.iscoroutine(answer):
        answer.close()
        return None
    return answer


def _read(answer: Any) -> tuple[bool, float] | None:
    """Return whether it halted and its worst coherence; None where an answer says neither."""
    answer = _settled(answer)
    single = as_score(answer)
    if single is not None:
        return False, single
    if isinstance(answer, list | tuple):
        scores = [as_score(each) for each in answer] if len(answer) <= _MOST_SCORES else []
        known = [score for score in scores if score is not None]
        return (False, min(known)) if known and len(known) == len(scores) else None
    halted, coherence = getattr(answer, "halted", None), getattr(answer, "coherence", None)
    if not isinstance(halted, bool) or getattr(answer, "fault", None):
        return None
    if coherence is None:
        return (True, 0.0) if halted else None
    score = as_score(getattr(coherence, "score", coherence))
    return None if score is None else (halted, score)
