"""Several checks' edits of one text become one text: exact, whatever their order, and nothing removed comes back.

removals    win over everything; those that overlap unite
rewrites    of overlapping text: the declared priority decides, the loser is listed as a conflict
style       applies outside everything else, and is cut to fit
touching    edits both apply; equal ones count once
"""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

from director_ai.errors import ConfigError, UnknownOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "Conflict",
    "Edit",
    "EditKind",
    "MergePolicy",
    "Merged",
    "OffsetMap",
    "edits_between",
    "in_common",
    "merge_edits",
    "moved",
]

EditKind = Literal["remove", "rewrite", "style"]
_RANK: Final = {kind: rank for rank, kind in enumerate(get_args(EditKind))}
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_AGREEMENT: Final = 4
"""Words and gaps in a row that are the same again: the difference is over."""
_FAR: Final = 40


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `replacement` in the place of the characters from `start` up to `end`."""

    start: int
    end: int
    replacement: str
    kind: EditKind
    """`remove`: what was there must never be seen. `rewrite`: it says something else. `style`: it looks different."""
    check: str
    """Who wants it."""
    reason: str = ""
    """A word or two without any of the text."""

    def __post_init__(self) -> None:
        if type(self.start) is not int or type(self.end) is not int or not 0 <= self.start <= self.end:
            raise ConfigError("an edit goes from a start to an end, whole numbers with 0 <= start <= end")
        if not type(self.replacement) is type(self.kind) is type(self.check) is type(self.reason) is str:
            for name in ("replacement", "kind", "check", "reason"):
                if type(getattr(self, name)) is not str:  # a subclass could lie about its length
                    what = type(getattr(self, name)).__name__
                    raise ConfigError(f"the {name} of an edit must be a text, got a {what}")
        if self.kind not in _RANK:
            raise UnknownOption("kind of edit", self.kind, _RANK)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergePolicy:
    """What decides between edits of one kind that overlap."""

    priority: tuple[str, ...] = ()
    """Names of checks, the most important first; whoever is not named comes after them."""

    def __post_init__(self) -> None:
        if not isinstance(self.priority, tuple) or not all(isinstance(name, str) for name in self.priority):
            raise ConfigError("priority must be a tuple of names of checks")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """An edit that did not come about as it was asked for."""

    lost: Edit
    won: Edit
    """What stands in its place, as it was applied."""
    outcome: Literal["dropped", "united", "cut"]
    """Not applied at all; removed together with the other; applied only outside the other."""


class Span(NamedTuple):
    """A piece of the source and where it stands in the merged text."""

    source_start: int
    source_end: int
    start: int
    end: int


class OffsetMap:
    """Where places of one text stand in the other; it may grow behind its end."""

    __slots__ = ("_spans",)

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._spans = list(spans)

    def extend(self, later: OffsetMap, source: int, place: int) -> None:
        """Take the edits of a text that goes on at these places."""
        self._spans += [Span(a + source, b + source, c + place, d + place) for a, b, c, d in later._spans]

    def to_source(self, place: int) -> int:
        """Return where in the source a place comes from; inside a replacement, where that begins."""
        at = bisect.bisect_right(self._spans, place, key=lambda span: span.start) - 1
        if at < 0:
            return place
        span = self._spans[at]
        return span.source_start if place < span.end else place - span.end + span.source_end

    def to_merged(self, place: int) -> int:
        """Return where a place of the source stands; inside an edit, where its replacement begins."""
        at = bisect.bisect_right(self._spans, place, key=lambda span: span.source_start) - 1
        if at < 0:
            return place
        span = self._spans[at]
        return span.start if place < span.source_end else place - span.source_end + span.end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetMap) and self._spans == other._spans

    def __hash__(self) -> int:
        return hash(tuple(self._spans))


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One text out of a source and all edits of it."""

    text: str
    applied: tuple[Edit, ...]
    """In the order of the text, as they were applied: united, cut, and without those that lost."""
    conflicts: tuple[Conflict, ...]
    offsets: OffsetMap = field(repr=False)

    def to_source(self, place: int) -> int:
        """Return where in the source a place of the merged text comes from; inside a replacement, where that begins."""
        return self.offsets.to_source(place)

    def to_merged(self, place: int) -> int:
        """Return where a place of the source stands now; inside an edit, where its replacement begins."""
        return self.offsets.to_merged(place)


def merge_edits(source: str, edits: Iterable[Edit], *, policy: MergePolicy | None = None, base: int = 0) -> Merged:
    """Return the source with all edits applied; the order in which they come changes nothing.

    `base` is where the source begins, where the edits count from the beginning of a longer text.
    """
    if not isinstance(source, str):
        raise ConfigError(f"the source of a merge must be a text, got a {type(source).__name__}")
    source = "".join((source,))  # a plain text, made without calling the methods of a subclass
    wanted = list(edits)
    for edit in wanted:
        if not isinstance(edit, Edit):
            raise ConfigError(f"merge_edits takes edits, got a {type(edit).__name__}")
        if edit.end > base + len(source) or edit.start < base:
            raise ConfigError(f"an edit goes from {edit.start} to {edit.end}, outside the source")
    ordered = sorted(wanted, key=_place)
    if all(one.end <= two.start != one.start for one, two in itertools.pairwise(ordered)):
        return _written(source, base, ordered, ())  # nothing overlaps
    return _Merge(source, base, policy or MergePolicy()).run(_once(set(wanted)))


def in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many letters, or words, two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _place(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _written(source: str, base: int, applied: Sequence[Edit], conflicts: Iterable[Conflict]) -> Merged:
    """Return the source with edits that do not overlap, in the order of the text."""
    pieces, spans, place, written = [], [], base, 0
    for edit in applied:
        pieces += [source[place - base : edit.start - base], edit.replacement]
        start = written + edit.start - place
        written = start + len(edit.replacement)
        spans.append(Span(edit.start, edit.end, start, written))
        place = edit.end
    pieces.append(source[place - base :])
    return Merged(
        text="".join(pieces),
        applied=tuple(applied),
        conflicts=tuple(sorted(conflicts, key=_conflict_order)),
        offsets=OffsetMap(spans),
    )


def _once(edits: Iterable[Edit]) -> list[Edit]:
    """Return edits without those that another check wants just the same."""
    found: dict[tuple[object, ...], Edit] = {}
    for edit in sorted(edits, key=lambda each: (each.check, each.reason)):
        found.setdefault((edit.start, edit.end, edit.replacement, edit.kind), edit)
    return list(found.values())


class _Accepted:
    """Edits that do not overlap, in the order of the text; adding one behind the others is cheap."""

    def __init__(self, edits: Iterable[Edit] = ()) -> None:
        ordered = sorted(edits, key=lambda edit: edit.start)
        self.held = [edit for edit in ordered if edit.start < edit.end]
        self.starts = [edit.start for edit in self.held]
        self.inserted = [edit for edit in ordered if edit.start == edit.end]
        self.points = [edit.start for edit in self.inserted]

    def add(self, edit: Edit) -> None:
        edits, places = (self.held, self.starts) if edit.start < edit.end else (self.inserted, self.points)
        at = bisect.bisect_right(places, edit.start)
        places.insert(at, edit.start)
        edits.insert(at, edit)

    def rival(self, edit: Edit) -> Edit | None:
        """Return something that an edit overlaps; what only touches it is none."""
        at = bisect.bisect_left(self.starts, edit.end) - 1
        if at >= 0 and self.held[at].end > edit.start:
            return self.held[at]
        at = bisect.bisect_right(self.points, edit.start)
        return self.inserted[at] if at < len(self.points) and self.points[at] < edit.end else None

    def within(self, edit: Edit) -> list[tuple[int, int]]:
        """Return where something stands inside an edit or across its ends."""
        first = max(0, bisect.bisect_left(self.starts, edit.start) - 1)
        last = bisect.bisect_left(self.starts, edit.end)
        low, high = bisect.bisect_right(self.points, edit.start), bisect.bisect_left(self.points, edit.end)
        return [(each.start, each.end) for each in (*self.held[first:last], *self.inserted[low:high])]

    def __iter__(self) -> Iterator[Edit]:
        yield from self.held
        yield from self.inserted


class _Merge:
    """One merge on its way. Edits come in groups of one kind and one priority, each in the order of the text, so that
    hardly anything is ever inserted in the middle.
    """

    def __init__(self, source: str, base: int, policy: MergePolicy) -> None:
        self._source, self._base = source, base
        self._priority = {name: place for place, name in enumerate(policy.priority)}
        self._settled = _Accepted()
        self._fresh = _Accepted()  # of the present group
        self._conflicts: list[Conflict] = []

    def run(self, edits: list[Edit]) -> Merged:
        self._unite([edit for edit in edits if edit.kind == "remove"])
        others = sorted((edit for edit in edits if edit.kind != "remove"), key=self._order)
        for _, group in itertools.groupby(others, key=lambda edit: self._order(edit)[:2]):
            for edit in group:
                if edit.kind == "style":
                    self._fit(edit)
                elif (rival := self._rival(edit)) is None:
                    self._fresh.add(edit)
                else:
                    self._conflicts.append(Conflict(lost=edit, won=rival, outcome="dropped"))
            self._settle()
        applied = sorted(self._settled, key=lambda edit: (edit.start, edit.end, self._order(edit)))
        return _written(self._source, self._base, applied, self._conflicts)

    def _order(self, edit: Edit) -> tuple[int, int, int, int, str, str, str]:
        """What comes first wins: the kind, the declared priority, then the place, then the longer one."""
        place = self._priority.get(edit.check, len(self._priority))
        return _RANK[edit.kind], place, edit.start, -edit.end, edit.check, edit.replacement, edit.reason

    def _unite(self, removals: list[Edit]) -> None:
        """Accept removals; of those that overlap, the whole stretch goes, and the longest says what stands there."""
        ordered = sorted(removals, key=lambda edit: (edit.start, edit.end, self._order(edit)))
        at = 0
        while at < len(ordered):
            first, last = at, ordered[at].end
            while at + 1 < len(ordered) and ordered[at + 1].start < last:
                at += 1
                last = max(last, ordered[at].end)
            at += 1
            together = ordered[first:at]
            best = min(together, key=lambda edit: (self._order(edit)[1], edit.start - edit.end, self._order(edit)))
            if len(together) == 1:
                self._fresh.add(best)
                continue
            united = Edit(together[0].start, last, best.replacement, "remove", best.check, best.reason)
            self._fresh.add(united)
            self._conflicts += [
                Conflict(lost=edit, won=united, outcome="united") for edit in together if edit != united
            ]
        self._settle()

    def _settle(self) -> None:
        """Put the present group among what is settled."""
        self._settled = _Accepted(itertools.chain(self._settled, self._fresh))
        self._fresh = _Accepted()

    def _rival(self, edit: Edit) -> Edit | None:
        return self._settled.rival(edit) or self._fresh.rival(edit)

    def _fit(self, edit: Edit) -> None:
        """Accept of a style edit what lies outside everything accepted before."""
        rival = self._rival(edit)
        if rival is None:
            self._fresh.add(edit)
            return
        if len(edit.replacement) == edit.end - edit.start:
            parts = list(self._around(edit))
        else:
            said = self._said(edit.start, edit.end)
            parts = [
                moved(part, edit.start)
                for part in edits_between(said, edit.replacement, kind="style", check=edit.check, reason=edit.reason)
            ]
        fitting = []
        for part in parts:
            if self._rival(part) is None:
                self._fresh.add(part)
                fitting.append(part)
        self._conflicts.append(Conflict(lost=edit, won=rival, outcome="cut" if fitting else "dropped"))

    def _around(self, edit: Edit) -> Iterator[Edit]:
        """Yield the pieces of an edit that changes character by character, between what is accepted already."""
        holes = self._settled.within(edit) + self._fresh.within(edit)
        start = edit.start
        for hole_start, hole_end in [*sorted(holes), (edit.end, edit.end)]:
            if hole_start > start:
                new = edit.replacement[start - edit.start : hole_start - edit.start]
                if new != self._said(start, hole_start):
                    yield Edit(start, hole_start, new, "style", edit.check, edit.reason)
            start = max(start, hole_end)

    def _said(self, start: int, end: int) -> str:
        return self._source[start - self._base : end - self._base]


def _conflict_order(conflict: Conflict) -> tuple[object, ...]:
    lost = conflict.lost
    return lost.start, lost.end, _RANK[lost.kind], lost.check, lost.replacement, lost.reason


def moved(edit: Edit, by: int) -> Edit:
    """Return an edit of the same text that stands further on."""
    return (
        edit if not by else Edit(edit.start + by, edit.end + by, edit.replacement, edit.kind, edit.check, edit.reason)
    )


def edits_between(
    source: str, fixed: str, *, check: str, kind: EditKind = "rewrite", reason: str = ""
) -> tuple[Edit, ...]:
    """Return the edits that make one text into another, word by word: what a function from text to text did to it."""
    old, new = _WORD.findall(source), _WORD.findall(fixed)
    old_places = [0, *itertools.accumulate(map(len, old))]
    new_places = [0, *itertools.accumulate(map(len, new))]
    return tuple(
        Edit(old_places[low], old_places[high], fixed[new_places[new_low] : new_places[new_high]], kind, check, reason)
        for low, high, new_low, new_high in _differing(old, new)
    )


def _differing(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where two sequences of words differ, in linear time: from each difference to where they agree again.

    A general diff finds fewer changes, and takes minutes where a page of text was lower-cased.
    """
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
            continue
        first, new_first = i, j
        while (i < len(old) or j < len(new)) and not (i < len(old) and j < len(new) and old[i] == new[j]):
            skipped, added = _until_agreement(old, new, i, j)
            i, j = i + skipped, j + added
        yield first, i, new_first, j


def _until_agreement(old: Sequence[str], new: Sequence[str], i: int, j: int) -> tuple[int, int]:
    """Return how many words to skip on either side until several agree; failing that, one on both."""
    left, right = len(old) - i, len(new) - j
    if left and right and old[i].casefold() == new[j].casefold():
        return 1, 1  # a whole page in small letters is common
    near = {tuple(new[at : at + _AGREEMENT]): at - j for at in range(min(j + _FAR, len(new) - _AGREEMENT), j - 1, -1)}
    found = [
        (skipped + near[ahead], skipped)
        for skipped in range(min(_FAR, left - _AGREEMENT) + 1)
        if (ahead := tuple(old[i + skipped : i + skipped + _AGREEMENT])) in near
    ]
    shared = _tail(old[i:], new[j:]) if left <= _FAR and right <= _FAR else 0
    if shared and (not found or left + right - 2 * shared < min(found)[0]):
        return left - shared, right - shared
    if found:
        distance, skipped = min(found)
        return skipped, distance - skipped
    return min(1, left), min(1, right)


def _tail(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many words two sequences end with in common."""
    pairs = zip(reversed(old), reversed(new), strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
