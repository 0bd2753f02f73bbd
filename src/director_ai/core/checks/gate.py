"""The gate of a checked stream: what each check is asked, when text may leave, and what each failure means.

Text leaves up to the smallest frontier of all checks, and never through an edit.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any, Final

from director_ai.core.checks.answers import Trouble, read_answer
from director_ai.core.checks.filtering import SentenceFilter
from director_ai.core.checks.following import FOLLOWER, Fixes
from director_ai.core.checks.json_lens import JsonLens, read_whole, unescaped
from director_ai.core.checks.rules import ENDING, CheckedText, Failure, Stop
from director_ai.core.checks.tracks import (
    MOST_ASKS,
    REDACTED,
    Call,
    Track,
    as_removal,
    behind,
    going_on,
    is_own,
    labelled,
    moved_conflict,
    read_examination,
    stop_order,
    words_of,
)
from director_ai.core.json_lexer import escaped
from director_ai.core.merge import Conflict, Edit, OffsetMap, merge_edits, moved
from director_ai.core.runtime.intake import TokenIntake
from director_ai.core.runtime.release import type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from director_ai.core.checks.answers import Outcome
    from director_ai.core.checks.following import Follow
    from director_ai.core.checks.rules import Rule
    from director_ai.core.checks.units import Unit
    from director_ai.core.merge import Merged, MergePolicy

__all__ = ["MOST_HELD", "CheckGate"]

MOST_HELD: Final = 1_000_000
"""Characters that may wait for a check; a match that never ends must not fill the memory."""


class CheckGate:
    """Everything that is known of one checked stream: what came, what each check said, what may leave."""

    def __init__(
        self,
        rules: Sequence[Rule],
        policy: MergePolicy,
        *,
        label: Callable[[str, str], str] | None = None,
        most_held: float = MOST_HELD,
        follow: Follow | None = None,
        is_json: bool = False,
        context: str = "",
        shown: int = 0,
    ) -> None:
        self._lens = JsonLens() if is_json and rules else None
        self._tracks = [
            Track(number, rule, None if getattr(rule.check, "reads_json", False) else self._lens)
            for number, rule in enumerate(rules)
        ]
        self._policy, self._most_held = policy, most_held
        self._label = label if label is None or self._lens is None else lambda kind, text: label(kind, unescaped(text))
        self._follower = follow(context, shown) if follow else None
        self._fixes = Fixes(self._follower) if self._follower is not None else None
        self._intake = TokenIntake()
        filters = any(rule.on_fail == "filter" for rule in rules)
        self._sentences = SentenceFilter(rules[0], self._lens) if filters else None
        self._windowed = [track for track in self._tracks if track.rule.check.frontier != "text"]
        self._followed = [*self._tracks, self._sentences.track] if self._sentences else self._tracks
        self._recent, self._recent_at = "", 0  # what their windows are cut from, and what comes behind it
        self._fresh: list[str] = []
        self._store: list[str] = []  # what was not released yet
        self._length = self._released = 0
        self._queue: list[str] = []  # tokens that came while no check could have said anything
        self._room: float = 0  # characters until one could
        self._edits: list[Edit] = []  # whose text was not released yet
        self._rewrites: list[Edit] = []  # under examination by the other checks
        self._calls: list[Call] = []
        self._follows = False  # the last of what was asked is the follower's
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
        self.failed = False
        self._context, self._base = context, len(context)  # what was shown before, and is seen by the checks again
        if context:
            self._take(context)
            self._store, self._released = [], self._base

    # --- what the plan puts in --------------------------------------------------------------------------------

    def accept(self, token: object) -> bool:
        """Take the next token; return whether there may be something to do about it now."""
        if type(token) is not str or not token.isascii() or self._intake.half:
            if not issubclass(type(token), str):  # by its real type: a mock may claim any other
                self.fail("source_error", f"expected=str got={type_name(token)}")
                return True
            token = self._intake.take(token)  # type: ignore[arg-type]  # a str, by the line above
        self._queue.append(token)
        self._room -= len(token)
        if self._room > 0:
            return False
        self._flush()
        return True

    def end(self) -> None:
        """The source is exhausted."""
        if rest := self._intake.finish():
            self._queue.append(rest)
        self._flush()
        self._ended = True
        if self._lens is not None:
            self._show("", self._lens.finish())
        for track in self._followed:
            track.units.extend(track.cutter.finish())
        if self._follower is not None:
            self._follower.finish()

    def _flush(self) -> None:
        """Take what was gathered while no check could have said anything."""
        text, self._queue = "".join(self._queue), []
        if text:
            self._take(text)
        earliest = max((track.cutter.earliest for track in self._tracks), default=0) if self._follower is None else 0
        self._room = min(earliest, self._released + self._most_held) - self._length

    def _take(self, token: str) -> None:
        self._store.append(token)
        self._length += len(token)
        if self._follower is not None and self._length > self._base:  # it was told of its context
            self._follower.feed(token)
        self._show(token, token if self._lens is None else self._lens.feed(token))

    def _show(self, token: str, seen: str) -> None:
        """Let the tracks read on: the stream as it is, or what is to be seen of it."""
        if self._windowed:
            self._fresh.append(seen)
        for track in self._followed:
            units = track.cutter.feed(token if track.lens is None else seen)
            if units and track.joins and track.units:
                track.units[-1] = track.units[-1]._replace(end=units[-1].end, high=units[-1].high)
            elif units:
                track.units.extend(units)

    @property
    def ready(self) -> bool:
        """Whether asking the checks could let anything out: every one of them has something to say, or has said it."""
        if self._ended or self.closed or self._rewrites or self._length - self._released > self._most_held:
            return True
        follower = self._follower
        if self._queue or (follower and not follower.pending and follower.decided <= self._released):
            return False
        for track in self._tracks:
            if track.units:
                if track.units[0].high > track.reach(self._length):
                    return False
            elif track.place(track.decided) <= self._released:
                return False
        return True

    def fail(self, reason: str, detail: str) -> None:
        """The stream cannot go on: release nothing that is held."""
        start, end = self._released, self._length
        self._failures.append(
            Failure(check="", action="halt", reason=f"{reason} {detail}", start=start, end=end, is_error=True)
        )
        self._ended_by, self.closed, self.failed = reason, True, True

    def abandon(self) -> None:
        """The stage before this one failed: what is held here is not the end of a text, and is not released either."""
        self.closed = self.failed = True

    # --- asking the checks ------------------------------------------------------------------------------------

    def asks(self) -> list[tuple[int, Any]]:
        """Return what the checks are to be asked now."""
        if self.closed:
            return []
        ask = None
        if self._follower is not None:
            ask = self._follower.ask()
            self._mend()
        calls = [
            Call(track, self._read(edit), None, place)
            for place, edit in enumerate(self._rewrites)
            for track in self._tracks
            if track.rule.check.name != edit.check and track.rule.check.frontier != "text"
        ]
        if not calls:
            self._edits += itertools.chain.from_iterable(map(self._parts, self._rewrites))
            self._rewrites = []
            self._recent = "".join([self._recent, *self._fresh])
            self._fresh = []
            for track in self._tracks:
                reach = track.reach(self._length)
                for unit in itertools.islice(track.units, track.at_once):
                    if len(calls) >= MOST_ASKS or (unit.high > reach and not self._ended):
                        break
                    high = min(unit.high, reach)
                    ready = unit._replace(high=high, final=unit.final or (self._ended and high == reach))
                    calls.append(Call(track, self._window(track, ready), ready))
        self._calls = calls
        wanted: list[tuple[int, Any]] = [(call.track.number, call.text) for call in calls]
        self._follows = ask is not None and not (calls and calls[0].unit is None)  # examinations come first
        return [*wanted, (FOLLOWER, ask)] if self._follows else wanted

    def ask_early(self) -> list[tuple[int, Any]]:
        """Return what can be asked about text that is not complete yet."""
        ask = None if self._follower is None or self.closed or self._ended else self._follower.ask_early()
        self._calls, self._follows = [], ask is not None
        return [(FOLLOWER, ask)] if self._follows else []

    def _window(self, track: Track, unit: Unit) -> str:
        if track.rule.check.frontier == "text":
            whole = "".join([self._context, *self._store])  # nothing was released yet
            return whole if track.lens is None else read_whole(whole)
        return self._recent[unit.low - self._recent_at : unit.high - self._recent_at]

    def answer(self, outcomes: Sequence[Outcome]) -> None:
        """Take what the checks answered to `asks`, in the same order."""
        calls, self._calls = self._calls, []
        if self._follows and self._follower is not None:
            *outcomes, own_outcome = outcomes
            self._follower.answer(own_outcome)
            self._mend()
        asked_again: set[Track] = set()
        if calls and calls[0].unit is None:
            self._examined(calls, outcomes)
            return
        for call, outcome in zip(calls, outcomes, strict=True):
            assert call.unit is not None  # noqa: S101 - examinations were taken above
            track = call.track
            if track in asked_again:
                continue  # an earlier unit of this check needs more text; this one waits behind it
            found = read_answer(track.rule, call.text, outcome)
            if isinstance(found, Trouble) and track.joins and len(words := words_of(call.unit, call.text)) > 1:
                track.units.popleft()
                track.units.extendleft(reversed(words))  # which of them it is must not depend on how many came at once
                asked_again.add(track)
                continue
            if isinstance(found, Trouble):
                track.units.popleft()
                own_text = call.text[call.unit.start - call.unit.low : call.unit.end - call.unit.low]
                self._not_checked(track, call.unit, own_text, found)
                continue
            own = [edit for edit in found if is_own(edit.start + call.unit.low, call.unit)]
            own += going_on(track, found, call.unit)
            longer = track.cutter.longer(call.unit) if any(edit.end == len(call.text) for edit in own) else None
            if longer is not None and not call.unit.final:
                track.units[0] = longer
                track.at_once = 1
                asked_again.add(track)
                continue
            track.units.popleft()
            track.decided = call.unit.end
            track.at_once = min(2 * track.at_once, MOST_ASKS)
            for edit in own:
                track.covered = max(track.covered, edit.end + call.unit.low)
                is_same = edit.replacement == call.text[edit.start : edit.end]
                placed = moved(edit, call.unit.low)
                if track.lens is not None:
                    placed = track.lens.put(placed, call.text[edit.start : edit.end])
                unshown = behind(placed, self._base)
                if unshown and not (is_same and edit.kind == "style"):  # a check may hold text by changing nothing
                    self._found(track.rule, unshown, is_same=is_same)
        self._trim()

    def _mend(self) -> None:
        """Take what the follower wants changed; what it would put there is examined like any other rewrite."""
        if self._follower is None or self._fixes is None:
            return
        for fix in self._follower.take_fixes():
            if fix.removal.start < self._base:  # a part of it was shown already
                self._edits += filter(None, [behind(fix.removal, self._base)])
                self._follower.overrule(fix.removal)
                continue
            self._fixes.add(fix)
            if fix.text:
                self._rewrites.append(fix.whole)
            else:
                self._edits += fix.edits
        stop = self._follower.stop
        if stop is not None and stop.failure not in self._failures:
            self._failures.append(stop.failure)
            self._stop_at(stop)

    def _parts(self, edit: Edit) -> tuple[Edit, ...]:
        return (edit,) if self._fixes is None else self._fixes.edits_of(edit)

    def _not_checked(self, track: Track, unit: Unit, text: str, trouble: Trouble) -> None:
        """A check did not answer: what it was asked about is treated as its rule says."""
        rule = track.rule
        track.decided = unit.end
        visible = track.place(unit.start + len(text.rstrip()))
        start, end = (max(track.place(at), self._base) for at in (unit.start, unit.end))
        name, reason = rule.check.name, trouble.reason
        failure = Failure(
            check=name, action=rule.on_error, reason=reason, start=start, end=end, is_error=True, detail=trouble.detail
        )
        self._failures.append(failure)
        if rule.on_error == "halt":
            self._stop_at(Stop(start, reason, failure))
        elif rule.on_error == "redact" and visible > start:
            self._edits += self._fit(Edit(start, visible, REDACTED, "remove", name, reason))

    def _found(self, rule: Rule, edit: Edit, *, is_same: bool) -> None:
        """Do with what a check found what its rule says; `is_same`: it knows nothing better to put there."""
        failure = Failure(check=rule.check.name, action=rule.action, reason=edit.reason, start=edit.start, end=edit.end)
        self._failures.append(failure)
        action = rule.action
        if action in ENDING:
            self._stop_at(Stop(edit.start, action, failure))
        elif action == "redact":
            self._edits += self._fit(as_removal(edit))
        elif action == "filter" and self._sentences is not None:
            self._sentences.add(edit)
        elif action in {"fix", "custom"} and not is_same:
            is_new = edit.kind == "rewrite" and edit.replacement
            (self._rewrites if is_new else self._edits).extend(self._fit(edit))

    def _examined(self, calls: Sequence[Call], outcomes: Sequence[Outcome]) -> None:
        """What a rewrite would put there is checked like any other text; what may not be shown is cut out of it."""
        cuts, spoiled = read_examination(calls, outcomes, len(self._rewrites))
        lost = [self._rewrites[place] for place in spoiled]
        for place, edit in enumerate(self._rewrites):
            if place in spoiled or (cuts[place] and self._lens is not None and not self._lens.is_inside(edit)):
                self._edits += self._fit(Edit(edit.start, edit.end, REDACTED, "remove", edit.check, "unsafe_rewrite"))
            elif cuts[place]:
                text = self._read(edit)
                cleaned = merge_edits(text, [labelled(cut, text, 0, self._label) for cut in cuts[place]]).text
                new = cleaned if self._lens is None else escaped(cleaned)
                self._edits += self._parts(dataclasses.replace(edit, replacement=new))
            else:
                self._edits += self._parts(edit)
        self._rewrites = []
        if self._fixes is not None:
            self._edits = self._fixes.overrule(self._edits, lost) or self._edits

    def _read(self, edit: Edit) -> str:
        """Return what checks read of what an edit puts there."""
        return edit.replacement if self._lens is None else self._lens.read(edit)

    def _fit(self, edit: Edit) -> list[Edit]:
        """Return an edit of the stream as what it is made of allows it."""
        if self._lens is None:
            return [edit]
        # Of a number that was shown in part, the rest goes.
        return [
            edit if edit.start >= self._released else dataclasses.replace(edit, start=self._released, replacement="")
            for edit in self._lens.fit(edit, self._source(edit))
        ]

    def _source(self, edit: Edit) -> str:
        """Return what an edit replaces."""
        self._store = ["".join(self._store)]
        return self._store[0][edit.start - self._released : edit.end - self._released]

    def _stop_at(self, stop: Stop) -> None:
        if self.stop is None or stop_order(stop) < stop_order(self.stop):
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
        frontier: float = min((track.place(track.decided) for track in self._tracks), default=self._length)
        if self._ended and not any(track.units for track in self._tracks):
            frontier = self._length
        if self._follower is not None:
            frontier = min(frontier, self._follower.decided)
        limit = int(min(frontier, self.stop.at if self.stop else self._length))
        if self._sentences is not None:
            self._edits += self._sentences.removals(limit, self._base, self._source)
            limit = max(self._sentences.border, self._released)
        until = self._outside_edits(limit)
        text = self._let_out(until) if until > self._released else ""
        if self.stop and self._is_last_word(frontier, self.stop):
            self._ended_by, self.closed = self.stop.action, True
        elif self._ended and frontier == self._length and not self._rewrites:
            text += self._let_out(self._length, last=True)
            self.closed = True
        elif self._length - self._released > self._most_held:
            self.fail("held_too_much", f"most={self._most_held:g}")
        return text

    def _is_last_word(self, frontier: float, stop: Stop) -> bool:
        """Whether nothing that any check may still say could come before a stop, or at the same place."""
        if self._ended and frontier == self._length:
            return True
        return frontier > stop.at and (self._sentences is None or bool(self._sentences.track.units))

    def _outside_edits(self, limit: int) -> int:
        """Return the last place up to a limit that lies inside no edit."""
        edits = [*self._edits, *self._rewrites, *(self._fixes.removals if self._fixes else ())]
        crossing = [edit for edit in edits if edit.start < limit < edit.end]
        while crossing:
            limit = min(edit.start for edit in crossing)
            crossing = [edit for edit in edits if edit.start < limit < edit.end]
        return limit

    def _let_out(self, until: int, *, last: bool = False) -> str:
        held = "".join(self._store)
        source, rest = held[: until - self._released], held[until - self._released :]
        self._store = [rest] if rest else []
        ready = [edit for edit in self._edits if edit.start < until or (last and edit.start == until)]
        self._edits = [edit for edit in self._edits if not (edit.start < until or (last and edit.start == until))]
        base, self._released = self._released, until
        if self._lens is not None:
            self._lens.forget(until)
        if not ready:
            self._out.append(source)
            self._written += len(source)
            return source
        if self._label is not None:
            in_order = sorted(ready, key=lambda each: (each.start, each.end, each.check, each.replacement))
            ready = [labelled(edit, source, base, self._label) for edit in in_order]
        merged = self._merged(source, ready, base)
        self._applied += merged.applied
        self._conflicts += merged.conflicts
        self.offsets.extend(merged.offsets, -self._base, self._written)
        self._out.append(merged.text)
        self._written += len(merged.text)
        return merged.text

    def _merged(self, source: str, edits: list[Edit], base: int) -> Merged:
        """Merge edits; a fix that lost to another check's removal becomes a removal, too."""
        merged = merge_edits(source, edits, policy=self._policy, base=base)
        if self._fixes is not None:
            mended = self._fixes.overrule(edits, [each.lost for each in merged.conflicts if each.lost.kind != "remove"])
            self._fixes.forget(self._released)
            if mended is not None:
                return merge_edits(source, mended, policy=self._policy, base=base)
        return merged

    # --- the end ----------------------------------------------------------------------------------------------

    @property
    def rest_before_stop(self) -> str:
        """The text before the stop that was not released: a continuation begins behind it."""
        return "".join(self._store)[: self.stop.at - self._released] if self.stop else ""

    def leave(self) -> None:
        """The stream goes on in another gate."""
        if self._follower is not None:
            self._follower.leave(self._released)

    @property
    def released(self) -> int:
        """How far into what it reads everything was released."""
        return self._released

    @property
    def shown(self) -> str:
        """Everything that was released."""
        return "".join(self._out)

    def result(self) -> CheckedText:
        """Return what came of it."""
        back = -self._base
        # In the order of the text; what lies behind the end was perhaps not even read.
        known = sorted(self._failures, key=lambda each: (each.start, each.end, each.check, each.reason))
        return CheckedText(
            text=self.shown,
            applied=tuple(moved(edit, back) for edit in self._applied),
            conflicts=tuple(moved_conflict(each, back) for each in self._conflicts),
            failures=tuple(
                dataclasses.replace(each, start=each.start + back, end=each.end + back)
                for each in known
                if self.stop is None or each.start <= self.stop.at
            ),
            ended_by=self._ended_by or ("" if self.closed else "left"),
            flags=("lone_surrogate",) if self._intake.lone_surrogates else (),
        )
