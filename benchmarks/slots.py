"""Measures slot comparison: planted changes found, equivalent forms left alone, real data, and speed.

    python benchmarks/slots.py [DATA_FOLDER] [--save]

The pairs are generated here from a seed. DATA_FOLDER holds `synth_wiki.jsonl.gz` and other files of the development
data; by default `../shared/data/dev` beside the repository. `--save` writes `benchmarks/results/slots.json`. Times are
CPU seconds of one core, the best of several runs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from director_ai.core.scoring.slots import compare_slots
from director_ai.core.scoring.slots.lexicon import LEXICON

ROOT = Path(__file__).resolve().parent.parent

# Each fact in several shapes; what is in braces is a value. Any shape may be the claim and any the evidence.
FACTS: dict[str, list[list[str]]] = {
    "shop": [
        [
            "Refunds are accepted within {days} of purchase.",
            "Within {days} of purchase, refunds are accepted.",
            "Customers can ask for a refund within {days} of the purchase.",
        ],
        [
            "The warranty on every bicycle lasts {years}.",
            "Every bicycle comes with a warranty of {years}.",
            "For {years}, every bicycle is covered by the warranty.",
        ],
        [
            "Standard delivery costs {money} per order.",
            "We charge {money} per order for standard delivery.",
            "An order with standard delivery costs {money} for the delivery.",
        ],
        [
            "Members get a discount of {percent} on all shoes.",
            "A discount of {percent} applies to shoes for members.",
            "All shoes are {percent} cheaper for members, as a discount.",
        ],
        [
            "The shop opens at {time} on weekdays.",
            "On weekdays, the shop opens at {time}.",
            "Opening time of the shop on weekdays is {time}.",
        ],
    ],
    "clinic": [
        [
            "Adults must not exceed {mass} of the drug per day.",
            "The daily limit of the drug for adults is {mass}.",
            "For adults, the limit is {mass} of the drug a day.",
        ],
        [
            "Take one tablet every {hours} with water.",
            "With water, take one tablet every {hours}.",
            "One tablet with water should be taken every {hours}.",
        ],
        [
            "The clinic treated {count} patients last year.",
            "Last year, {count} patients were treated at the clinic.",
            "At the clinic, doctors treated {count} patients last year.",
        ],
        [
            "Store the vaccine at {temperature} or it will spoil.",
            "The vaccine will spoil unless you store it at {temperature}.",
        ],
        [
            "The ward allows visitors until {time} every evening.",
            "Every evening the ward allows visitors until {time}.",
        ],
        [
            "Dilute the powder in {volume} of water.",
            "The powder is to be diluted in {volume} of water.",
        ],
    ],
    "bank": [
        [
            "The savings account pays interest of {percent} a year.",
            "Interest of {percent} a year is paid on the savings account.",
        ],
        [
            "The bank raised {bigmoney} from investors.",
            "Investors gave the bank {bigmoney}.",
            "In total, the bank raised {bigmoney} from its investors.",
        ],
        [
            "A transfer abroad takes {days} to arrive.",
            "It takes {days} for a transfer abroad to arrive.",
        ],
        [
            "The loan must be repaid by {date} in full.",
            "By {date}, the loan must be repaid in full.",
            "Full repayment of the loan is due on {date}.",
        ],
        [
            "The minimum balance of the account is {money} at all times.",
            "At all times, the account needs a minimum balance of {money}.",
        ],
    ],
    "travel": [
        [
            "The ferry leaves the harbor at {time} each day.",
            "Each day at {time}, the ferry leaves the harbor.",
            "The ferry departs from the harbor at {time}.",
        ],
        [
            "The trail to the summit is {length} long.",
            "It is {length} along the trail to the summit.",
            "Hikers walk {length} on the trail to the summit.",
        ],
        [
            "The train reaches a speed of {speed} on the new line.",
            "On the new line, the train reaches a speed of {speed}.",
        ],
        [
            "The museum reopened on {date} after repairs.",
            "After repairs, the museum reopened on {date}.",
            "Since its repairs, the museum has been open again; it reopened on {date}.",
        ],
        [
            "The flight from Oslo to Rome lasts {hours} on average.",
            "On average, the flight from Oslo to Rome lasts {hours}.",
        ],
        [
            "Each passenger may bring {mass} of luggage on board.",
            "On board, each passenger may bring {mass} of luggage.",
        ],
    ],
    "history": [
        [
            "The bridge was completed in {year} by local builders.",
            "In {year}, local builders completed the bridge.",
            "Local builders had the bridge completed in {year}.",
        ],
        [
            "The treaty was signed on {date} in Vienna.",
            "On {date}, the treaty was signed in Vienna.",
            "In Vienna the treaty was signed on {date}.",
        ],
        [
            "The siege of the town lasted {months} and ended in defeat.",
            "Ending in defeat, the siege of the town lasted {months}.",
        ],
        [
            "The census counted {count} inhabitants in the valley.",
            "In the valley, the census counted {count} inhabitants.",
        ],
        [
            "The queen died in {year} at her castle.",
            "At her castle, the queen died in {year}.",
        ],
        [
            "The cathedral tower is {height} high.",
            "At {height} high, the tower belongs to the cathedral.",
        ],
    ],
    "software": [
        [
            "Backups are kept for {days} before they are deleted.",
            "Before they are deleted, backups are kept for {days}.",
        ],
        [
            "Uploads are limited to {data} per file.",
            "The limit for uploads is {data} per file.",
            "Per file, uploads may have {data}.",
        ],
        [
            "The nightly job starts at {time} and sends a report.",
            "The nightly job sends a report after it starts at {time}.",
        ],
        [
            "Version 2 was released on {date} with a new editor.",
            "With a new editor, version 2 was released on {date}.",
        ],
        [
            "The free plan supports {count} users and one project.",
            "One project and {count} users are supported on the free plan.",
        ],
        [
            "Requests time out after {seconds} without an answer.",
            "Without an answer, requests time out after {seconds}.",
        ],
    ],
}
STATEMENTS: list[tuple[str, str, str]] = [  # stated, negated, negated in another form
    ("The pool is open to guests.", "The pool is not open to guests.", "The pool isn't open to guests."),
    (
        "The shop accepts credit cards.",
        "The shop does not accept credit cards.",
        "The shop doesn't accept credit cards.",
    ),
    ("Members can cancel online.", "Members cannot cancel online.", "Members can't cancel online."),
    ("The drug is safe for children.", "The drug is not safe for children.", "The drug isn't safe for children."),
    (
        "Patients should eat before the test.",
        "Patients should not eat before the test.",
        "Patients shouldn't eat before the test.",
    ),
    ("The clinic treats burns.", "The clinic does not treat burns.", "The clinic doesn't treat burns."),
    (
        "The bank charges a fee for transfers.",
        "The bank does not charge a fee for transfers.",
        "The bank doesn't charge a fee for transfers.",
    ),
    (
        "The account was closed by the owner.",
        "The account was not closed by the owner.",
        "The account wasn't closed by the owner.",
    ),
    ("The loan covers repairs.", "The loan does not cover repairs.", "The loan doesn't cover repairs."),
    ("Dogs are allowed on the ferry.", "Dogs are not allowed on the ferry.", "Dogs aren't allowed on the ferry."),
    ("The train stops in Lyon.", "The train does not stop in Lyon.", "The train doesn't stop in Lyon."),
    (
        "Breakfast is included in the price.",
        "Breakfast is not included in the price.",
        "Breakfast isn't included in the price.",
    ),
    ("The king signed the treaty.", "The king did not sign the treaty.", "The king didn't sign the treaty."),
    ("The army crossed the river.", "The army never crossed the river.", "The army did not cross the river."),
    (
        "The city was destroyed by the fire.",
        "The city was not destroyed by the fire.",
        "The city wasn't destroyed by the fire.",
    ),
    ("The library supports Windows.", "The library does not support Windows.", "The library doesn't support Windows."),
    (
        "Passwords are stored in plain text.",
        "Passwords are never stored in plain text.",
        "Passwords are not stored in plain text.",
    ),
    (
        "The plan has a limit on projects.",
        "The plan has no limit on projects.",
        "The plan does not have a limit on projects.",
    ),
    (
        "The editor saves changes by itself.",
        "The editor will not save changes by itself.",
        "The editor won't save changes by itself.",
    ),
    (
        "Logs have been deleted from the server.",
        "Logs have not been deleted from the server.",
        "Logs haven't been deleted from the server.",
    ),
    ("The update fixes the error.", "The update fails to fix the error.", "The update does not fix the error."),
    ("Guests must pay a deposit.", "Guests must not pay a deposit.", "Guests mustn't pay a deposit."),
    ("The meal comes with salt.", "The meal comes without salt.", "The meal does not come with salt."),
    (
        "The vaccine has been approved in Canada.",
        "The vaccine has not been approved in Canada.",
        "The vaccine hasn't been approved in Canada.",
    ),
]
LEADS = ["", "", "", "Please note: ", "According to the notes, ", "As far as we know, ", "In general, "]
WORDS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
TENS = {20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety"}
MONTHS = "January February March April May June July August September October November December".split()


HOSTILE = (
    "1 ", "1-", "-1 ", "1\n", "1. ", "1,1,", "1%", "$1", "9:", "9", "1,000", "1 to ", "twenty-", "May 1, 2020 ",
    "1 hour 1 minute ", "not ", "not open ", "a.b.", "Mr. X ", "A-", "Jane Doe met Bob Ray. ", "at least ", "($", "’",
    "x\n", "x" + " " * 50, "more than 3 days. ", "The pool is open. The pool is closed. ",
)  # fmt: skip
Row = tuple[str, str]


class Pair(NamedTuple):
    """A claim, its evidence, and what was done to the claim."""

    kind: str
    claim: str
    evidence: str


def words(n: int) -> str:
    """A whole number below 100 in words, others in digits."""
    if n < len(WORDS):
        return WORDS[n]
    if n < 20 or n >= 100:
        return f"{n:,}"
    tens, unit = TENS[n // 10 * 10], n % 10
    return f"{tens}-{WORDS[unit]}" if unit else tens


def plural(n: float, unit: str) -> str:
    return unit if n == 1 else unit + "s"


class Value(NamedTuple):
    """A value in several equal forms, with forms of other values of its kind."""

    forms: list[str]
    other_number: list[str]
    other_unit: list[str]


def measured(n: int, changed: int, unit: str, forms: list[str], others: list[str]) -> Value:
    own = [f"{n} {plural(n, unit)}", f"{words(n)} {plural(n, unit)}", *forms]
    return Value(own, [f"{changed} {plural(changed, unit)}", f"{words(changed)} {plural(changed, unit)}"], others)


def make_value(name: str, rng: random.Random) -> Value:
    """A random value of the named kind."""
    if name in MAKERS:
        n = rng.randrange(2, 60)
        changed = n + rng.choice([-1, 1, 2, 5, 10, 30])
        return MAKERS[name](max(n, 2), changed if changed != n and changed > 1 else n + 1)
    return {"date": make_date, "year": make_year, "time": make_time, "money": make_money, "count": make_count}[name](
        rng
    )


def decimal(n: float) -> str:
    return f"{n:,.4f}".rstrip("0").rstrip(".")


MAKERS = {
    "days": lambda n, m: measured(n, m, "day", [f"{24 * n} hours"], [f"{n} weeks", f"{n} months", f"{n} hours"]),
    "years": lambda n, m: measured(n, m, "year", [f"{12 * n} months"], [f"{n} months", f"{n} days", f"{n} weeks"]),
    "months": lambda n, m: measured(n, m, "month", [f"{decimal(n / 12)} years"] if n % 3 == 0 else [], [f"{n} years"]),
    "hours": lambda n, m: measured(n, m, "hour", [f"{60 * n} minutes", f"{n} h"], [f"{n} minutes", f"{n} days"]),
    "seconds": lambda n, m: measured(n, m, "second", [f"{n} s", f"{1000 * n} ms"], [f"{n} minutes", f"{n} ms"]),
    "mass": lambda n, m: measured(
        n, m, "gram", [f"{n} g", f"{1000 * n} mg", f"{1000 * n:,} mg"], [f"{n} mg", f"{n} kg"]
    ),
    "volume": lambda n, m: measured(n, m, "litre", [f"{n} l", f"{1000 * n} ml", f"{n} liters"], [f"{n} ml", f"{n} cl"]),
    "length": lambda n, m: measured(n, m, "kilometer", [f"{n} km", f"{1000 * n:,} m"], [f"{n} miles", f"{n} m"]),
    "height": lambda n, m: measured(
        n, m, "meter", [f"{n} m", f"{100 * n} cm", f"{n} metres"], [f"{n} feet", f"{n} cm"]
    ),
    "speed": lambda n, m: Value(
        [f"{n} km/h", f"{n} kilometers per hour", f"{n} kph"], [f"{m} km/h", f"{m} kilometers per hour"], [f"{n} mph"]
    ),
    "data": lambda n, m: Value([f"{n} MB", f"{n} megabytes", f"{1000 * n} KB"], [f"{m} MB"], [f"{n} GB", f"{n} KB"]),
    "temperature": lambda n, m: Value(
        [f"{n} °C", f"{n}°C", f"{n} degrees Celsius", f"{decimal(n * 9 / 5 + 32)} °F"], [f"{m} °C"], [f"{n} °F"]
    ),
    "percent": lambda n, m: Value(
        [f"{n} %", f"{n}%", f"{n} percent", f"{words(n)} percent", f"{n} per cent"], [f"{m} %", f"{m} percent"], []
    ),
    "bigmoney": lambda n, m: Value(
        [f"${n / 10} million", f"{n * 100_000:,} dollars", f"USD {n / 10} million", f"${n / 10}m"],
        [f"${m / 10} million", f"{m * 100_000:,} dollars"],
        [f"€{n / 10} million", f"${n / 10} billion", f"{n * 100_000:,} euros"],
    ),
}


def make_money(rng: random.Random) -> Value:
    n = rng.randrange(3, 90)
    m = n + rng.choice([-1, 1, 2, 10])
    return Value(
        [f"${n}", f"${n}.00", f"{n} dollars", f"{words(n)} dollars", f"{n} USD"],
        [f"${m}", f"{m} dollars", f"{words(m)} dollars"],
        [f"€{n}", f"{n} euros", f"{n} cents"],
    )


def make_count(rng: random.Random) -> Value:
    n = rng.choice([rng.randrange(3, 60), rng.randrange(200, 9000), 100 * rng.randrange(11, 90)])
    m = n + rng.choice([-1, 1, 7, 20, 100])
    return Value([str(n), f"{n:,}", words(n)], [str(m), f"{m:,}", words(m)], [])


def make_year(rng: random.Random) -> Value:
    year = rng.randrange(1402, 2024)
    return Value([str(year)], [str(year + rng.choice([-10, -2, 1, 4, 100]))], [])


def date_forms(year: int, month: int, day: int) -> list[str]:
    name = MONTHS[month - 1]
    return [f"{name} {day}, {year}", f"{day} {name} {year}", f"{year}-{month:02}-{day:02}", f"{day} {name[:3]} {year}"]


def make_date(rng: random.Random) -> Value:
    year, month, day = rng.randrange(1850, 2024), rng.randrange(1, 13), rng.randrange(1, 28)
    others = [(year + 1, month, day), (year, month % 12 + 1, day), (year, month, day + 1), (year - 10, month, day)]
    return Value(
        [*date_forms(year, month, day), f"the {day}th of {MONTHS[month - 1]} {year}"],
        date_forms(*rng.choice(others)),
        [],
    )


def time_forms(hour: int, minute: int) -> list[str]:
    half, short = ("am" if hour < 12 else "pm"), hour % 12 or 12
    tail = f":{minute:02}" if minute else ""
    forms = [f"{short}{tail} {half}", f"{hour:02}:{minute:02}", f"{short}{tail} {half[0]}.m.", f"{short}{tail}{half}"]
    return [*forms, "noon"] if (hour, minute) == (12, 0) else forms


def make_time(rng: random.Random) -> Value:
    hour, minute = rng.randrange(1, 24), rng.choice([0, 0, 15, 30, 45])
    other = rng.choice([((hour + 12) % 24, minute), ((hour + 1) % 24, minute), (hour, (minute + 15) % 60)])
    return Value(time_forms(hour, minute), time_forms(*other), [])


def render(template: str, form: str) -> str:
    start, end = template.index("{"), template.index("}") + 1
    text = template[:start] + form + template[end:]
    return text[0].upper() + text[1:]


def kind_of(template: str) -> str:
    return template[template.index("{") + 1 : template.index("}")]


def surround(sentence: str, domain: str, rng: random.Random) -> str:
    """The sentence as evidence is found: alone, or among facts about other things."""
    others = []
    for _ in range(rng.choice([0, 0, 1, 2])):
        other = rng.choice([name for name in FACTS if name != domain])
        template = rng.choice(rng.choice(FACTS[other]))
        others.append(render(template, rng.choice(make_value(kind_of(template), rng).forms)))
    sentences = [*others, sentence]
    rng.shuffle(sentences)
    return " ".join(sentences)


def lead(sentence: str, rng: random.Random) -> str:
    start = rng.choice(LEADS)
    first = sentence.split(maxsplit=1)[0]
    lower = first.lower() in {"the", "a", "an", "each", "every", "we", "all", "in", "on", "at", "for", "it", "within"}
    return start + (sentence[0].lower() + sentence[1:] if start and lower else sentence)


def planted_value(kind: str, rng: random.Random) -> Pair:
    """A fact whose value was changed in the claim; `kind` is number, unit, date or time."""
    while True:
        domain = rng.choice(list(FACTS))
        shapes = rng.choice(FACTS[domain])
        name = kind_of(shapes[0])
        if (name if name in {"date", "time"} else "date" if name == "year" else "number") != (
            "number" if kind == "unit" else kind
        ):
            continue
        value = make_value(name, rng)
        others = value.other_unit if kind == "unit" else value.other_number
        if others:
            claim = render(rng.choice(shapes), rng.choice(others))
            evidence = render(rng.choice(shapes), rng.choice(value.forms))
            return Pair(kind, lead(claim, rng), surround(evidence, domain, rng))


def planted_negation(rng: random.Random) -> Pair:
    stated, negated, again = rng.choice(STATEMENTS)
    claim, evidence = stated, rng.choice([negated, again])
    if rng.random() < 0.5:
        claim, evidence = evidence, claim
    return Pair("negation", lead(claim, rng), surround(evidence, "", rng))


def planted_pairs(count: int, seed: int = 20) -> list[Pair]:
    """Pairs whose claim says something else than its evidence, a fifth of each kind."""
    rng = random.Random(seed)
    kinds = ["number", "unit", "date", "time", "negation"]
    return [
        planted_negation(rng) if kind == "negation" else planted_value(kind, rng)
        for kind in (kinds[i % len(kinds)] for i in range(count))
    ]


def equivalent_pairs(count: int, seed: int = 21) -> list[Pair]:
    """Pairs whose claim says the same as its evidence in another form."""
    rng = random.Random(seed)
    pairs = []
    for i in range(count):
        if i % 6 == 0:
            stated, negated, again = rng.choice(STATEMENTS)
            claim, evidence = rng.choice([(negated, again), (again, negated), (stated, stated)])
            pairs.append(Pair("negation", lead(claim, rng), surround(evidence, "", rng)))
            continue
        domain = rng.choice(list(FACTS))
        shapes = rng.choice(FACTS[domain])
        value = make_value(kind_of(shapes[0]), rng)
        claim, evidence = (render(rng.choice(shapes), rng.choice(value.forms)) for _ in range(2))
        pairs.append(Pair(kind_of(shapes[0]), lead(claim, rng), surround(evidence, domain, rng)))
    return pairs


def load(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / f"{name}.jsonl.gz"
    if not path.is_file():
        print(f"{name} is not in the data folder; its rows are left out", file=sys.stderr)
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def measure_generated(count: int) -> list[Row]:
    planted, equivalent = planted_pairs(count), equivalent_pairs(count)
    found = Counter(pair.kind for pair in planted if compare_slots(pair.claim, pair.evidence))
    clean = Counter(pair.kind for pair in equivalent if not compare_slots(pair.claim, pair.evidence))
    rows = []
    for title, counts, pairs in (("planted changes found", found, planted), ("equivalents clean", clean, equivalent)):
        totals = Counter(pair.kind for pair in pairs)
        parts = ", ".join(f"{kind} {counts[kind]}/{totals[kind]}" for kind in sorted(totals))
        rows.append((title, f"{counts.total()} of {len(pairs)} ({parts})"))
    return rows


def measure_edits(folder: Path) -> list[Row]:
    """Recall on planted edits of real sentences: a difference must touch the edited words."""
    found: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for row in load(folder, "synth_wiki"):
        if not row["spans"] or not row["meta"].startswith("edit:"):
            continue
        totals[row["meta"]] += 1
        differences = compare_slots(row["hypothesis"], row["premise"])
        touches = any(
            difference.claim.start <= end + 12 * (difference.kind == "negation") and start <= difference.claim.end
            for difference in differences
            for start, end in row["spans"]
        )
        found[row["meta"]] += touches
    return [
        (f"synth_wiki {kind}", f"{found[kind]} of {total} found ({found[kind] / total:.1%})")
        for kind, total in totals.items()
    ]


def measure_false_alarms(folder: Path) -> list[Row]:
    found = []
    for name in ("synth_wiki", "fever_symmetric", "snli_dev", "begin_wow", "mnli_dev", "fm2", "factscore"):
        rows = [row for row in load(folder, name) if row["label"] == "supported"]
        kinds: Counter[str] = Counter()
        alarms = 0
        for row in rows:
            differences = compare_slots(row["hypothesis"], row["premise"])
            alarms += bool(differences)
            kinds.update({difference.kind for difference in differences})
        if rows:
            parts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
            share = f"{alarms} of {len(rows)} with a difference ({alarms / len(rows):.1%}) {parts}"
            found.append((f"{name} supported", share.rstrip()))
    return found


def clauses_with_evidence(folder: Path) -> list[tuple[str, str]]:
    """Real clauses of about 20 words, each with evidence of 40 to 80 words."""
    return [
        (row["hypothesis"], row["premise"])
        for name in ("begin_wow", "contractnli", "factcheckgpt", "fm2", "mnli_dev", "synth_wiki", "tenp")
        for row in load(folder, name)
        if 15 <= len(row["hypothesis"].split()) <= 25 and 40 <= len(row["premise"].split()) <= 80
    ]


def best_time(pairs: list[tuple[str, str]], *, runs: int, forget: bool = False) -> float:
    """CPU seconds to compare all pairs; with `forget`, no word has been met before its pair."""
    best = 1e9
    for _ in range(runs):
        begun = time.process_time()
        for claim, evidence in pairs:
            if forget:
                LEXICON.clear()
            compare_slots(claim, evidence)
        best = min(best, time.process_time() - begun)
    return best


def measure_speed(folder: Path) -> list[Row]:
    named = [("generated pairs", [(pair.claim, pair.evidence) for pair in planted_pairs(500)])]
    named += [
        (name, [(row["hypothesis"], row["premise"]) for row in load(folder, name)[:1000]])
        for name in ("snli_dev", "fever_symmetric", "synth_wiki")
    ]
    clauses = clauses_with_evidence(folder)
    random.Random(7).shuffle(clauses)
    half = len(clauses) // 2
    named.append(("clauses of 20 words, evidence of 40 to 80", clauses))
    rows = []
    for name, pairs in named:
        if pairs:
            size = sum(len(claim) + len(evidence) for claim, evidence in pairs) / len(pairs)
            rows.append(
                (name, f"{best_time(pairs, runs=5) / len(pairs) * 1e6:.0f} µs per pair of {size:.0f} characters")
            )
    if clauses:
        LEXICON.clear()
        best_time(clauses[:half], runs=1)
        unseen = best_time(clauses[half:], runs=1) / (len(clauses) - half)
        rows.append(("the same, texts never met before", f"{unseen * 1e6:.0f} µs per pair"))
        cold = best_time(clauses[:300], runs=3, forget=True) / len(clauses[:300])
        rows.append(("the same, no word met before", f"{cold * 1e6:.0f} µs per pair"))
    return rows


def measure_hostile(share: int) -> list[Row]:
    rows = []
    for unit in HOSTILE:
        times = []
        for size in (50_000 // share, 100_000 // share):
            text = unit * (size // len(unit))
            times.append(best_time([(text + "x 8", text + "z 7")], runs=2))
        rows.append((f"100 KB of {unit!r}, twice", f"{times[1]:.2f} s (x2: {times[1] / times[0]:.2f})"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure slot comparison.")
    parser.add_argument("data", nargs="?", type=Path, default=ROOT.parent / "shared" / "data" / "dev")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/slots.json")
    parser.add_argument("--tiny", action="store_true", help="seconds, and no peer: does it still run?")
    options = parser.parse_args()
    if options.tiny:
        rows = measure_generated(20) + measure_hostile(100)
    else:
        rows = measure_generated(1000) + measure_edits(options.data) + measure_false_alarms(options.data)
        rows += measure_speed(options.data) + measure_hostile(1)
    for name, figures in rows:
        print(f"{name}: {figures}")
    if options.save:
        record = {"python": platform.python_version(), "machine": platform.machine(), "rows": dict(rows)}
        path = ROOT / "benchmarks" / "results" / "slots.json"
        path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
