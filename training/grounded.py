"""Knowledge bases with questions, right answers and planted errors (`training/grounded/*.jsonl`): reading and checking.

python -m training.grounded training/grounded/*.jsonl     # names each line that is not in the form
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from director_ai.core.scoring.judging import with_context

FOLDER = Path(__file__).parent / "grounded"
KINDS = frozenset(
    "attribution cause comparison condition datetime invented_detail list modality money name negation number overgeneral "
    "quantifier roles sequence unit".split()
)


def read(paths: list[Path] | None = None) -> list[dict[str, Any]]:
    """Every knowledge base."""
    chosen = sorted(FOLDER.glob("*.jsonl")) if paths is None else paths
    return [json.loads(line) for path in chosen for line in path.read_text("utf-8").splitlines() if line.strip()]


def problems(item: dict[str, Any]) -> list[str]:
    """What is not as it should be in one knowledge base."""
    found: list[str] = []
    facts = item["facts"]

    def check(ok: bool, what: str) -> None:
        if not ok:
            found.append(what)

    check(4 <= len(facts) <= 10 and all(isinstance(fact, str) for fact in facts), "facts: 4 to 10 texts")
    for n, case in enumerate(item["cases"]):
        right = case["right"]
        for text, on in right:
            check(all(0 <= i < len(facts) for i in on), f"case {n}: {text[:40]!r} rests on facts that are not there")
        for where, old, new, kind, label in case["wrong"]:
            if not 0 <= where < len(right):
                found.append(f"case {n}: there is no right sentence {where}")
                continue
            check(right[where][0].count(old) == 1, f"case {n}: {old!r} must occur once in {right[where][0]!r}")
            check(old != new, f"case {n}: {old!r} is not changed")
            check(kind in KINDS, f"case {n}: {kind!r} is no kind")
            check(label in ("c", "n"), f"case {n}: label {label!r}")
            check(bool(right[where][1]), f"case {n}: sentence {where} states nothing, so it cannot be wrong")
    for text, label in item["invented"]:
        check(isinstance(text, str) and label in ("c", "n"), f"invented: {text!r}")
    for at, old, new, cases in item["flips"]:
        if not 0 <= at < len(facts):
            found.append(f"flip: there is no fact {at}")
            continue
        check(facts[at].count(old) == 1, f"flip: {old!r} must occur once in fact {at}")
        check(old != new, f"flip: {old!r} is not changed")
        for case, where in cases:
            known = case < len(item["cases"]) and where < len(item["cases"][case]["right"])
            check(
                known and at in item["cases"][case]["right"][where][1],
                f"flip: case {case}, {where} does not rest on fact {at}",
            )
    return found


WORDS = 250
"""Words of a premise: what is sure to fit into the window with a hypothesis and its context."""
LABELS = {"c": 1, "n": 2}
SUPPORTED, CONTRADICTED, NEUTRAL, UNSUPPORTED = range(4)

Pair = tuple[str, str, int]
"""Premise, hypothesis, label."""


def premise(needed: list[str], others: list[str], rnd: random.Random, words: int = WORDS) -> str:
    """The needed facts among some others, in any order, as long as the window holds them."""
    facts, left = list(dict.fromkeys(needed)), words - sum(len(fact.split()) for fact in needed)
    for fact in rnd.sample(
        others, rnd.choice([0, 1, 2, 3, len(others)]) if len(others) > 3 else rnd.randint(0, len(others))
    ):
        left -= len(fact.split())
        if left >= 0:
            facts.append(fact)
    rnd.shuffle(facts)
    return rnd.choice([" ", " ", "\n"]).join(facts)


def is_held_out(item: dict[str, Any]) -> bool:
    """One knowledge base in twelve, by its topic."""
    return sum(item["topic"].encode()) % 12 == 5


def changed(case: dict[str, Any], wrong: list[Any]) -> str:
    text: str = case["right"][wrong[0]][0]
    return text.replace(wrong[1], wrong[2], 1)


def pairs_of(
    item: dict[str, Any], others: list[dict[str, Any]], rnd: random.Random, context: float = 0.6
) -> list[Pair]:
    """What one knowledge base teaches: each sentence beside facts that bear it out, deny it, or say nothing about it."""
    facts: list[str] = item["facts"]
    strangers = rnd.choice(others)["facts"] if rnd.random() < 0.25 else []
    made: list[Pair] = []

    def beside(on: list[int], instead: dict[int, str] | None = None) -> str:
        texts = dict(enumerate(facts)) | (instead or {})
        rest = [text for i, text in texts.items() if i not in on]
        return premise([texts[i] for i in on], rest + rnd.sample(strangers, min(len(strangers), 2)), rnd)

    def add(on_premise: str, text: str, label: int, question: str = "", before: list[str] = []) -> None:  # noqa: B006
        if rnd.random() < context:
            kept = before[-rnd.randint(1, 2) :] if before else []
            text = with_context(text, question if rnd.random() < 0.85 else "", kept) or text
        if on_premise.strip():
            made.append((on_premise, text, label))

    for case in item["cases"]:
        said = [text for text, _ in case["right"]]
        edits = [(wrong, changed(case, wrong)) for wrong in case["wrong"]]
        claimed = [text for _, text in edits]
        for at, (text, on) in enumerate(case["right"]):
            if not on:
                continue
            # A user may ask for confirmation of what is false: that a question says so makes nothing right.
            led = f"{case['question']} {rnd.choice(claimed)}" if claimed and rnd.random() < 0.1 else case["question"]
            for _ in range(2):
                add(beside(on), text, SUPPORTED, led, said[:at])
            own = [(wrong, other) for wrong, other in edits if wrong[0] == at]
            for wrong, other in own:
                asked = case["question"]
                if rnd.random() < 0.15:
                    asked = rnd.choice([f"Is it true that: {other}", f"{asked} I was told: {other}", other])
                add(beside(on), other, LABELS[wrong[4]], asked, said[:at])
            if rnd.random() < 0.5:  # without one of its facts
                gone = rnd.choice(on)
                rest = [fact for i, fact in enumerate(facts) if i != gone]
                some = premise([], rest + strangers, rnd) or rnd.choice(rest)
                add(some, text, UNSUPPORTED, case["question"], said[:at])
                if own and rnd.random() < 0.3:
                    add(some, rnd.choice(own)[1], UNSUPPORTED, case["question"], said[:at])
            if at and case["right"][at - 1][1] and rnd.random() < 0.3:  # two sentences as one hypothesis
                both = sorted({*on, *case["right"][at - 1][1]})
                add(beside(both), f"{said[at - 1]} {text}", SUPPORTED, case["question"], said[: at - 1])
                if own:
                    wrong, other = rnd.choice(own)
                    add(beside(both), f"{said[at - 1]} {other}", LABELS[wrong[4]], case["question"], said[: at - 1])
    questions = [case["question"] for case in item["cases"]]
    for text, label in item["invented"]:
        add(premise(facts, [], rnd), text, LABELS[label], rnd.choice(questions))
    for at, old, new, targets in item["flips"]:
        flipped = facts[at].replace(old, new, 1)
        for number, where in targets:
            case = item["cases"][number]
            text, on = case["right"][where]
            add(beside(on, {at: flipped}), text, CONTRADICTED, case["question"], [t for t, _ in case["right"][:where]])
    case = rnd.choice(rnd.choice(others)["cases"])
    for text, on in case["right"][:1]:
        if on:
            add(premise(facts, [], rnd), text, NEUTRAL, case["question"])
    return made


def main() -> int:
    bad, kinds, cases = 0, Counter[str](), 0
    for name in sys.argv[1:]:
        for n, line in enumerate(Path(name).read_text("utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                item = json.loads(line)
                found = problems(item)
            except (ValueError, KeyError, TypeError, IndexError) as error:
                item, found = {"cases": []}, [f"not in the form: {error!r}"]
            kinds.update(wrong[3] for case in item["cases"] for wrong in case["wrong"])
            cases += len(item["cases"])
            for each in found:
                bad += 1
                print(f"{name}:{n}: {each}")
    print(f"{cases} cases, {sum(kinds.values())} errors:", dict(kinds.most_common()))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
