"""On generated pairs, changed values are found and equal ones in another form are left alone."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from director_ai.core.scoring.slots import compare_slots

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "slots.py"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_slots", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", [20, 104, 977])
def test_at_least_97_of_100_planted_changes_are_found(generator: ModuleType, seed: int) -> None:
    pairs = generator.planted_pairs(1000, seed)
    found = Counter(pair.kind for pair in pairs if compare_slots(pair.claim, pair.evidence))
    assert found.total() >= 970
    assert set(found) == {"number", "unit", "date", "time", "negation"}
    assert min(found.values()) >= 190, "no kind hides behind the others"


@pytest.mark.parametrize("seed", [21, 105, 978])
def test_at_least_97_of_100_equivalent_forms_raise_no_difference(generator: ModuleType, seed: int) -> None:
    pairs = generator.equivalent_pairs(1000, seed)
    clean = [pair for pair in pairs if not compare_slots(pair.claim, pair.evidence)]
    assert len(clean) >= 970


def test_the_generator_plants_what_it_says(generator: ModuleType) -> None:
    for pair in generator.planted_pairs(200):
        assert pair.claim not in pair.evidence
    assert generator.planted_pairs(50) == generator.planted_pairs(50), "the same pairs for the same seed"


def test_the_difference_is_the_planted_one(generator: ModuleType) -> None:
    pairs = [pair for pair in generator.planted_pairs(1000) if pair.kind != "negation"]
    kinds = {"date": {"date"}, "time": {"time"}}
    values = {"number", "money", "percent", "duration"}
    wrong = [
        pair
        for pair in pairs
        for difference in compare_slots(pair.claim, pair.evidence)
        if difference.kind not in kinds.get(pair.kind, values)
    ]
    assert len(wrong) <= 10
