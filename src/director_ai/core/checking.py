"""The plan of a checked stream: what each check is asked, when text may leave, and what each failure means.

Text leaves up to the smallest frontier of all checks, and never through an edit. A plan asks and never acts: the
drivers of `core.runtime.drive` carry it out.
"""

from __future__ import annotations

import dataclasses
import re
from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from director_ai.core.check_units import Unit, cutter_for
from director_ai.core.checks import ENDING, CheckedText, Failure
from director_ai.core.merge import Conflict, Edit, OffsetMap, merge_edits, moved
from director_ai.core.runtime.intake import TokenIntake
from director_ai.core.runtime.interrupts import must_pass
from director_ai.core.runtime.plan import Late
from director_ai.core.runtime.release import type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from director_ai.core.checks import Rule
    from director_ai.core.merge import MergePolicy

__all__ = ["Ask", "CheckGate", "CheckSession", "Outcome", "Stop", "check_plan"]

REDACTED: Final = "[REDACTED]"
MOST_HELD: Final = 1_000_000
"""Characters that may wait for a check; a match that never ends must not fill the memory."""
_MOST_ASKS: Final = 512
_LABEL = re.compile(r"\[([A-Z][A-Z0-9_]*)\]")

Ask = tuple[Literal["open", "token", "check", "reask", "release"], tuple[Any, ...]]
"""What is wanted, and what it takes.

    open    ()                  the token source, ready to be read
    token   ()                  the next token; StopIteration or StopAsyncIteration where there is none
    check   (stage, calls)      an `Outcome` for each (number of the rule, text)
    reask   (prefix, failure)   another token source, that goes on from the prefix
    release (text,)             this may be shown
"""
Plan = Generator[Ask, Any, None]
Outcome = tuple[bool, Any]
"""Whether a check answered, and what it answered or raised."""


_ASK_TOKEN: Final[Ask] = ("token", ())


class Stop(NamedTuple):
    """Where a stream ends, and why."""

    at: int
    action: str
    failure: Failure


class _Track:
    """One rule on its way through one stream."""

    __slots__ = ("covered", "cutter", "decided", "joins", "number", "rule", "units")

    def __init__(self, number: int, rule: Rule) -> None:
        self.number, self.rule = number, rule
        self.joins = rule.check.frontier == "word"  # it may be asked about any number of words at once
        self.cutter = cutter_for(rule.check.frontier)
        self.units: deque[Unit] = deque()
        self.decided = 0
        self.covered = 0  # how far its edits reach


class _Call(NamedTuple):
    """A question that waits for its answer: about a unit of a track, or about what an edit would put in its place."""

    track: _Track
    text: str
    unit: Unit | None
    rewrite: int = -1
    """Which of the rewrites under examination."""


class CheckGate:
    """Everything that is known of one checked stream: what came, what each check said, what may leave."""

    def __init__(
        self, rules: Sequence[Rule], policy: MergePolicy, *, label: Callable[[str, str], str] | None = None
    ) -> None:
        self._tracks = [_Track(number, rule) for number, rule in enumerate(rules)]
        self._policy, self._label = policy, label
        self._intake = TokenIntake()
        self._sentences = _Track(-1, rules[0]) if any(rule.on_fail == "filter" for rule in rules) else None
        if self._sentences:
            self._sentences.cutter, self._sentences.joins = cutter_for("sentence"), False
        self._windowed = [track for track in self._tracks if track.rule.check.frontier != "text"]
        self._followed = [*self._tracks, self._sentences] if self._sentences else self._tracks
        self._recent, self._recent_at = "", 0  # what their windows are cut from, and what comes behind it
        self._fresh: list[str] = []
        self._store: list[str] = []  # what was not released yet
        self._length = self._released = 0
        self._queue: list[str] = []  # tokens that came while no check could have said anything
        self._queued = 0
        self._wake: float = 0
        self._edits: list[Edit] = []  # whose text was not released yet
        self._filtered: list[Edit] = []
        self._rewrites: list[Edit] = []  # under examination by the other checks
        self._calls: list[_Call] = []
        self._ended = False
        self.stop: Stop | None = None
        self.closed = False
        self._out: list[str] = []
        self.offsets = OffsetMap()
        self._written = 0
        self._applied: list[Edit] = []
        self._conflicts: list[Conflict] = []
        self._failures: list[Failure] = []
        self._ended_by = ""

    # --- what the plan puts in --------------------------------------------------------------------------------

    def accept(self, token: object) -> None:
        """Take the next token."""
        if not issubclass(type(token), str):
            self.fail("source_error", f"expected=str got={type_name(token)}")
            return
        if type(token) is not str or not token.isascii() or self._intake.half:
            token = self._intake.take(token)  # type: ignore[arg-type]  # a str, by the line above
        if token:
            self._queue.append(token)
            self._queued += len(token)
            if self._length + self._queued >= self._wake:
                self._flush()

    def end(self) -> None:
        """The source is exhausted."""
        if rest := self._intake.finish():
            self._queue.append(rest)
        self._flush()
        self._ended = True
        for track in self._followed:
            track.units.extend(track.cutter.finish())

    def _flush(self) -> None:
        """Take what was gathered while no check could have said anything."""
        text, self._queue, self._queued = "".join(self._queue), [], 0
        if text:
            self._take(text)
        earliest = max((track.cutter.earliest for track in self._tracks), default=0)
        self._wake = min(earliest, self._released + MOST_HELD)

    def _take(self, token: str) -> None:
        self._store.append(token)
        self._length += len(token)
        if self._windowed:
            self._fresh.append(token)
        for track in self._followed:
            units = track.cutter.feed(token)
            if units and track.joins and track.units:
                track.units[-1] = track.units[-1]._replace(end=units[-1].end, high=units[-1].high)
            elif units:
                track.units.extend(units)

    @property
    def ready(self) -> bool:
        """Whether asking the checks could let anything out: every one of them has something to say, or has said it."""
        if self._ended or self.closed or self._rewrites or self._length - self._released > MOST_HELD:
            return True
        if self._queue:
            return False
        for track in self._tracks:
            if track.units:
                if track.units[0].high > self._length:
                    return False
            elif track.decided <= self._released:
                return False
        return True

    def fail(self, reason: str, detail: str) -> None:
        """The stream cannot go on: release nothing that is held."""
        self._failures.append(
            Failure(
                check="",
                action="halt",
                reason=f"{reason} {detail}",
                start=self._released,
                end=self._length,
                is_error=True,
            )
        )
        self._ended_by, self.closed = reason, True

    # --- asking the checks ------------------------------------------------------------------------------------

    def asks(self) -> list[tuple[int, str]]:
        """Return what the checks are to be asked now."""
        if self.closed:
            return []
        calls = [
            _Call(track, edit.replacement, None, place)
            for place, edit in enumerate(self._rewrites)
            for track in self._tracks
            if track.rule.check.name != edit.check and track.rule.check.frontier != "text"
        ]
        if not calls:
            self._edits += self._rewrites
            self._rewrites = []
            self._recent = "".join([self._recent, *self._fresh])
            self._fresh = []
            for track in self._tracks:
                for unit in track.units:
                    if len(calls) >= _MOST_ASKS or (unit.high > self._length and not self._ended):
                        break
                    high = min(unit.high, self._length)
                    ready = unit._replace(high=high, final=unit.final or (self._ended and high == self._length))
                    calls.append(_Call(track, self._window(track, ready), ready))
        self._calls = calls
        return [(call.track.number, call.text) for call in calls]

    def _window(self, track: _Track, unit: Unit) -> str:
        if track.rule.check.frontier == "text":
            return "".join(self._store)  # nothing was released yet
        return self._recent[unit.low - self._recent_at : unit.high - self._recent_at]

    def answer(self, outcomes: Sequence[Outcome]) -> None:
        """Take what the checks answered to `asks`, in the same order."""
        calls, self._calls = self._calls, []
        asked_again: set[_Track] = set()
        if calls and calls[0].unit is None:
            self._examined(calls, outcomes)
            return
        for call, outcome in zip(calls, outcomes, strict=True):
            assert call.unit is not None  # noqa: S101 - examinations were taken above
            track = call.track
            if track in asked_again:
                continue  # an earlier unit of this check needs more text; this one waits behind it
            found = self._read(track.rule, call.text, outcome)
            if isinstance(found, str):
                track.units.popleft()
                self._not_checked(track, call.unit, found)
                continue
            own = [edit for edit in found if _is_own(edit.start + call.unit.low, call.unit)]
            own += self._going_on(track, found, call.unit)
            longer = track.cutter.longer(call.unit) if any(edit.end == len(call.text) for edit in own) else None
            if longer is not None and not call.unit.final:
                track.units[0] = longer
                asked_again.add(track)
                continue
            track.units.popleft()
            track.decided = call.unit.end
            for edit in own:
                track.covered = max(track.covered, edit.end + call.unit.low)
                is_same = edit.replacement == call.text[edit.start : edit.end]
                if not (is_same and edit.kind == "style"):  # a check may hold text back by changing nothing
                    self._found(track.rule, moved(edit, call.unit.low), is_same=is_same)
        self._trim()

    @staticmethod
    def _going_on(track: _Track, found: Sequence[Edit], unit: Unit) -> list[Edit]:
        """What began in a unit before and goes on further than was seen from there must not be seen either."""
        return [
            dataclasses.replace(edit, start=max(unit.start, track.covered) - unit.low)
            for edit in found
            if edit.kind == "remove"
            and edit.start + unit.low < unit.start < edit.end + unit.low
            and edit.end + unit.low > track.covered
        ]

    @staticmethod
    def _read(rule: Rule, text: str, outcome: Outcome) -> list[Edit] | str:
        """Return what a check found, or the name of what is wrong with its answer."""
        answered, value = outcome
        if not answered:
            if must_pass(value):
                raise value
            return "check_timeout" if isinstance(value, Late) else "check_error"
        if isinstance(value, str | bytes | dict):
            return "check_invalid"
        try:
            found = list(value)
        except Exception:  # noqa: BLE001 - a foreign check may answer with anything
            return "check_invalid"
        if not all(type(edit) is Edit and edit.end <= len(text) for edit in found):
            return "check_invalid"
        return [
            edit if edit.check == rule.check.name else dataclasses.replace(edit, check=rule.check.name)
            for edit in found
        ]

    def _not_checked(self, track: _Track, unit: Unit, reason: str) -> None:
        """A check did not answer: what it was asked about is treated as its rule says."""
        rule = track.rule
        track.decided = unit.end
        failure = Failure(
            check=rule.check.name, action=rule.on_error, reason=reason, start=unit.start, end=unit.end, is_error=True
        )
        self._failures.append(failure)
        if rule.on_error == "halt":
            self._stop_at(Stop(unit.start, reason, failure))
        elif rule.on_error == "redact" and unit.end > unit.start:
            self._edits.append(Edit(unit.start, unit.end, REDACTED, "remove", rule.check.name, reason))

    def _found(self, rule: Rule, edit: Edit, *, is_same: bool) -> None:
        """Do with what a check found what its rule says; `is_same`: it knows nothing better to put there."""
        failure = Failure(check=rule.check.name, action=rule.action, reason=edit.reason, start=edit.start, end=edit.end)
        self._failures.append(failure)
        action = rule.action
        if action in ENDING:
            self._stop_at(Stop(edit.start, action, failure))
        elif action == "redact":
            put = edit.replacement if edit.kind == "remove" else REDACTED
            self._edits.append(Edit(edit.start, edit.end, put, "remove", edit.check, edit.reason))
        elif action == "filter":
            self._filtered.append(edit)
        elif action in {"fix", "custom"} and not is_same:
            is_new = edit.kind == "rewrite" and edit.replacement
            (self._rewrites if is_new else self._edits).append(edit)

    def _examined(self, calls: Sequence[_Call], outcomes: Sequence[Outcome]) -> None:
        """What a rewrite would put there is checked like any other text; what may not be shown is cut out of it."""
        cuts: dict[int, list[Edit]] = {}
        spoiled: set[int] = set()
        for call, outcome in zip(calls, outcomes, strict=True):
            found = self._read(call.track.rule, call.text, outcome)
            if isinstance(found, str) or (found and call.track.rule.action in ENDING | {"filter"}):
                spoiled.add(call.rewrite)
            elif call.track.rule.action != "noop":
                cuts.setdefault(call.rewrite, []).extend(edit for edit in found if edit.kind == "remove")
        for place, edit in enumerate(self._rewrites):
            if place in spoiled:
                self._edits.append(Edit(edit.start, edit.end, REDACTED, "remove", edit.check, "unsafe_rewrite"))
            else:
                cleaned = merge_edits(edit.replacement, cuts.get(place, ())).text
                self._edits.append(dataclasses.replace(edit, replacement=cleaned))
        self._rewrites = []

    def _stop_at(self, stop: Stop) -> None:
        if self.stop is None or stop.at < self.stop.at:
            self.stop = stop

    def _trim(self) -> None:
        """Let go of text that no window needs any more."""
        needed = min((track.decided - track.cutter.behind for track in self._windowed), default=0)
        if needed > self._recent_at:
            self._recent = self._recent[needed - self._recent_at :]
            self._recent_at = needed

    # --- letting text out -------------------------------------------------------------------------------------

    def release(self) -> str:
        """Return the text that may be shown now; close the gate where nothing further may."""
        if self.closed:
            return ""
        frontier = min((track.decided for track in self._tracks), default=self._length)
        if self._ended and not any(track.units for track in self._tracks):
            frontier = self._length
        limit = min(frontier, self.stop.at) if self.stop else frontier
        border = self._whole_sentences(limit) if self._sentences else limit
        until = self._outside_edits(border)
        text = self._let_out(until) if until > self._released else ""
        if self.stop and frontier >= self.stop.at:
            self._ended_by, self.closed = self.stop.action, True
        elif self._ended and frontier == self._length and not self._rewrites:
            text += self._let_out(self._length, last=True)
            self.closed = True
        elif self._length - self._released > MOST_HELD:
            self.fail("held_too_much", f"most={MOST_HELD}")
        return text

    def _whole_sentences(self, limit: int) -> int:
        """Return the last end of a sentence up to a place; what was found in a sentence removes all of it."""
        assert self._sentences is not None  # noqa: S101 - only asked where sentences are followed
        units, border = self._sentences.units, self._released
        while units and units[0].end <= limit:
            unit = units.popleft()
            hits = [
                edit for edit in self._filtered if edit.start < unit.end and max(edit.end, edit.start + 1) > unit.start
            ]
            if hits and unit.end > unit.start:
                first = min(hits, key=lambda edit: (edit.start, edit.end, edit.check, edit.reason))
                self._edits.append(Edit(unit.start, unit.end, "", "remove", first.check, first.reason))
            border = unit.end
        self._filtered = [edit for edit in self._filtered if edit.end > border]
        return border

    def _outside_edits(self, limit: int) -> int:
        """Return the last place up to a limit that lies inside no edit."""
        crossing = [edit for edit in self._edits + self._rewrites if edit.start < limit < edit.end]
        while crossing:
            limit = min(edit.start for edit in crossing)
            crossing = [edit for edit in self._edits + self._rewrites if edit.start < limit < edit.end]
        return limit

    def _let_out(self, until: int, *, last: bool = False) -> str:
        held = "".join(self._store)
        source, rest = held[: until - self._released], held[until - self._released :]
        self._store = [rest] if rest else []
        ready = [edit for edit in self._edits if edit.start < until or (last and edit.start == until)]
        self._edits = [edit for edit in self._edits if not (edit.start < until or (last and edit.start == until))]
        base, self._released = self._released, until
        if not ready:
            self._out.append(source)
            self._written += len(source)
            return source
        ready = [
            moved(self._labelled(edit, source, base), -base) for edit in sorted(ready, key=lambda e: (e.start, e.end))
        ]
        merged = merge_edits(source, ready, policy=self._policy)
        self._applied += [moved(edit, base) for edit in merged.applied]
        self._conflicts += [
            Conflict(lost=moved(each.lost, base), won=moved(each.won, base), outcome=each.outcome)
            for each in merged.conflicts
        ]
        self.offsets.extend(merged.offsets, base, self._written)
        self._out.append(merged.text)
        self._written += len(merged.text)
        return merged.text

    def _labelled(self, edit: Edit, source: str, base: int) -> Edit:
        """Give a typed placeholder its number, where the conversation counts them."""
        match = _LABEL.fullmatch(edit.replacement) if self._label and edit.kind == "remove" else None
        if match is None or self._label is None:
            return edit
        return dataclasses.replace(edit, replacement=self._label(match[1], source[edit.start - base : edit.end - base]))

    # --- the end ----------------------------------------------------------------------------------------------

    @property
    def rest_before_stop(self) -> str:
        """The text before the stop that was not released: a continuation begins behind it."""
        return "".join(self._store)[: self.stop.at - self._released] if self.stop else ""

    @property
    def shown(self) -> str:
        """Everything that was released."""
        return "".join(self._out)

    def _known_failures(self) -> tuple[Failure, ...]:
        """In the order of the text; what lies behind the end was perhaps not even read."""
        found = sorted(self._failures, key=lambda each: (each.start, each.end, each.check, each.reason))
        return tuple(each for each in found if self.stop is None or each.start <= self.stop.at)

    def result(self) -> CheckedText:
        """Return what came of it."""
        return CheckedText(
            text=self.shown,
            applied=tuple(self._applied),
            conflicts=tuple(self._conflicts),
            failures=self._known_failures(),
            ended_by=self._ended_by or ("" if self.closed else "left"),
            flags=("lone_surrogate",) if self._intake.lone_surrogates else (),
        )


def _is_own(start: int, unit: Unit) -> bool:
    return unit.start <= start < unit.end or (unit.final and start == unit.end)


class CheckSession:
    """One stream through one or more stages: what a stage releases is what the next one reads."""

    def __init__(self, stages: Sequence[Callable[[], CheckGate]], most_reasks: int) -> None:
        self._stages, self._most_reasks = stages, most_reasks
        self.gates = [make() for make in stages]
        self.reasks = 0
        self._earlier: list[CheckedText] = []

    @property
    def stop(self) -> Stop | None:
        """Where the stream ended before its end, and why."""
        return next((gate.stop for gate in self.gates if gate.closed and gate.stop), None)

    @property
    def may_reask(self) -> bool:
        return self.stop is not None and self.stop.action == "reask" and self.reasks < self._most_reasks

    @property
    def prefix(self) -> str:
        """All that was released, and what was still held before the stop."""
        return "".join(part.text for part in self._earlier) + self.gates[-1].shown + self._held

    @property
    def _held(self) -> str:
        return next((gate.rest_before_stop for gate in self.gates if gate.closed and gate.stop), "")

    def go_on(self) -> None:
        """Begin anew behind what was released; what was held before the stop is checked with what follows it."""
        held, stopped = self._held, next(at for at, gate in enumerate(self.gates) if gate.closed and gate.stop)
        self._earlier.append(self._present())
        self.reasks += 1
        self.gates = [make() for make in self._stages]
        self.gates[stopped].accept(held)

    def _present(self) -> CheckedText:
        """What came of the stages, with places in the text that came in."""
        results = [gate.result() for gate in self.gates]
        maps = [gate.offsets for gate in self.gates]
        base = sum(len(part.text) for part in self._earlier)
        applied: list[Edit] = []
        conflicts: list[Conflict] = []
        failures: list[Failure] = []
        for stage, result in enumerate(results):

            def place(at: int, before: Sequence[OffsetMap] = maps[:stage]) -> int:
                for offsets in reversed(before):
                    at = offsets.to_source(at)
                return at + base

            def put(edit: Edit, place: Callable[[int], int] = place) -> Edit:
                start = place(edit.start)
                return dataclasses.replace(edit, start=start, end=max(start, place(edit.end)))

            applied += map(put, result.applied)
            conflicts += [
                Conflict(lost=put(each.lost), won=put(each.won), outcome=each.outcome) for each in result.conflicts
            ]
            failures += [dataclasses.replace(f, start=place(f.start), end=place(f.end)) for f in result.failures]
        return CheckedText(
            text=results[-1].text,
            applied=tuple(applied),
            conflicts=tuple(conflicts),
            failures=tuple(failures),
            ended_by=next((result.ended_by for result in results if result.ended_by), ""),
            flags=results[0].flags,
        )

    def result(self) -> CheckedText:
        """Return what came of the whole stream."""
        parts = [*self._earlier, self._present()]
        return CheckedText(
            text="".join(part.text for part in parts),
            applied=tuple(edit for part in parts for edit in part.applied),
            conflicts=tuple(each for part in parts for each in part.conflicts),
            failures=tuple(each for part in parts for each in part.failures),
            ended_by=parts[-1].ended_by,
            reasks=self.reasks,
            flags=tuple(dict.fromkeys(flag for part in parts for flag in part.flags)),
        )


def check_plan(session: CheckSession) -> Plan:
    """Read, ask the checks and release until the source ends or a gate closes; begin anew where a check asks for it."""
    try:
        yield "open", ()
    except BaseException as error:  # noqa: BLE001 - fail closed, whatever it is
        _source_failed(session.gates[0], error)
    while True:
        yield from _until_closed(session)
        if not session.may_reask:
            return
        assert session.stop is not None  # noqa: S101 - it asked again
        prefix, failure = session.prefix, session.stop.failure
        try:
            yield "reask", (prefix, failure)
        except BaseException as error:
            if must_pass(error):
                raise
            return
        session.go_on()


def _until_closed(session: CheckSession) -> Plan:
    first = session.gates[0]
    while not first.closed:
        try:
            token = yield _ASK_TOKEN
        except (StopIteration, StopAsyncIteration):
            first.end()
        except BaseException as error:  # noqa: BLE001 - as above
            _source_failed(first, error)
        else:
            first.accept(token)
        if first.ready:
            yield from _through(session.gates)
            if any(gate.closed and gate.stop for gate in session.gates[1:]):
                return


def _through(gates: Sequence[CheckGate]) -> Plan:
    """Carry what came in through all stages, as far as it may go."""
    for stage, gate in enumerate(gates):
        while calls := gate.asks():
            gate.answer((yield "check", (stage, calls)))
        text = gate.release()
        last = stage + 1 == len(gates)
        if text and last:
            yield "release", (text,)
        elif not last and not gates[stage + 1].closed:
            if text:
                gates[stage + 1].accept(text)
            if gate.closed:
                gates[stage + 1].end()


def _source_failed(gate: CheckGate, error: BaseException) -> None:
    if must_pass(error):
        raise error
    if isinstance(error, Late):
        gate.fail("timeout", f"waited_for={error.waited_for} limit_s={error.limit:g}")
    else:
        gate.fail("source_error", f"type={type_name(error)}")
