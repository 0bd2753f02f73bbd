"""Hard pairs: right sentences that say it in fewer or other words, and wrong twins with one content word exchanged."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from made_up import PLACES, read_made, write_training_files

VERBS = "opened closed painted visited restored designed".split()
TEXTS = [
    f"The {thing} of {place} was {verb} by the mayor in the old town. He {verb} the {thing} of the harbour."
    for place in PLACES
    for thing in ("museum", "library", "station", "theatre")
    for verb in VERBS
]


@pytest.fixture(scope="module")
def lexis() -> Any:
    from training.lexis import learn, with_frames

    return with_frames(learn(TEXTS), TEXTS)


def test_kinds_are_learned_from_endings_and_places(lexis: Any) -> None:
    assert {lexis.kind(verb) for verb in VERBS} == {"past"}
    assert lexis.kind("museum") == lexis.kind("harbour") == "noun"
    assert lexis.kind("mayor") == "role"
    assert lexis.kind("the") is None


def test_a_word_gives_way_only_to_one_of_its_kind_that_was_met_in_its_place(lexis: Any) -> None:
    from training.lexis import words_of

    word = next(each for each in words_of("The museum of Alba was opened by the mayor.") if each.text == "opened")
    found = {lexis.fitting(word, random.Random(seed)) for seed in range(40)} - {None}
    assert found
    assert found <= set(VERBS) - {"opened"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("opened", "opens", True), ("bought", "purchased", True), ("opened", "painted", False)],
    ids=["two forms of a verb", "two words of one sense", "two verbs"],
)
def test_words_of_one_sense_are_known(one: str, other: str, same: bool) -> None:
    from training.lexis import same_sense

    assert same_sense(one, other) is same


def test_an_exchange_changes_one_thing_and_the_same_seed_changes_it_alike(lexis: Any) -> None:
    from training.contentwords import Exchanger

    right = "The museum of Alba was opened by the mayor."
    premise = [right, "He painted the theatre of the harbour."]
    made = [Exchanger(lexis).exchange(right, premise, random.Random(seed)) for seed in range(20)]
    assert made == [Exchanger(lexis).exchange(right, premise, random.Random(seed)) for seed in range(20)]
    assert right not in made
    assert all(len(text.split()) == len(right.split()) for text in made if text)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("She sold her car.", "He sold his car."),
        ("The clerk thanked him.", "The clerk thanked her."),
        ("The clerk thanked her.", "The clerk thanked him."),
    ],
    ids=["subject and owner", "an object that was male", "an object that was female"],
)
def test_pronouns_change_their_gender_together(lexis: Any, right: str, wrong: str) -> None:
    from training.contentwords import Exchanger

    found = {Exchanger(lexis).exchange(right, ["Something else was said."], random.Random(seed)) for seed in range(9)}
    assert wrong in found


def test_a_detail_is_of_another_text_and_not_in_the_premise() -> None:
    from training.contentwords import add_detail

    right, premise = "The museum opened in Alba.", ["The museum opened in Alba.", "It has rooms for the winter."]
    told = {
        add_detail(right, premise, ["for the winter", "with two gardens"], random.Random(seed)) for seed in range(40)
    }
    assert told == {None, ("The museum opened with two gardens.", "neutral")}
    told = {add_detail(right, premise, ["near two gardens"], random.Random(seed)) for seed in range(40)}
    assert told == {None, ("The museum opened near two gardens.", "unsupported")}
    assert add_detail("The museum opened.", premise, ["with two gardens"], random.Random(1)) is None


SHORTER = [
    ("The museum (a ruin) was opened by the mayor.", "The museum was opened by the mayor."),
    ("The mayor, who came from the harbour, opened the museum.", "The mayor opened the museum."),
    ("In the old town, the mayor opened the museum of Alba.", "The mayor opened the museum of Alba."),
    ("The mayor opened the museum and painted the old theatre.", "The mayor painted the old theatre."),
    ("The museum was designed by Anna Berg in 1930.", "Anna Berg designed the museum in 1930."),
]


@pytest.mark.parametrize(
    ("sentence", "shorter"),
    SHORTER,
    ids=["parentheses", "a relative clause", "an adverbial at the start", "one of two verbs", "active for passive"],
)
def test_a_sentence_can_be_said_shorter(lexis: Any, sentence: str, shorter: str) -> None:
    from training.rewording import shorten

    assert shorter in {shorten(sentence, lexis, random.Random(seed)) for seed in range(80)}


def test_a_subject_is_named_in_other_ways() -> None:
    from training.rewording import name_subject

    premise = ["Anna Berg was a Danish painter and teacher.", "She opened the museum."]
    found = {name_subject(1, premise, random.Random(seed)) for seed in range(20)}
    assert found == {"Anna Berg opened the museum.", "Berg opened the museum.", "The painter opened the museum."}
    assert "She was a Danish painter and teacher." in {
        name_subject(0, premise, random.Random(seed)) for seed in range(20)
    }


def test_two_sentences_about_one_subject_become_one(lexis: Any) -> None:
    from training.rewording import fuse

    premise = ["Anna Berg was born in Alba.", "She opened the museum."]
    found = {fuse(0, premise, lexis, random.Random(seed)) for seed in range(20)}
    assert "Anna Berg, born in Alba, opened the museum." in found
    assert fuse(0, ["Anna Berg was born in Alba.", "The mayor opened the museum."], lexis, random.Random(1)) is None


def test_every_wrong_sentence_stands_beside_its_right_twin(step: Any, tmp_path: Path) -> None:
    data = write_training_files(tmp_path / "data")
    for name in "ab":
        step("twins", "--data", data, "--out", tmp_path / f"{name}.gz", "--count", 300)
    made = read_made(tmp_path / "a.gz")
    assert made == read_made(tmp_path / "b.gz")
    right = {premise for premise, _, label, _, _ in made if label == 0}
    assert made
    assert all(premise in right for premise, _, _, _, _ in made)
    assert {row[3] for row in made} == {"twins"}


def test_the_mixture_holds_as_many_as_the_settings_say(
    step: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.pairs import SETTINGS

    monkeypatch.setitem(SETTINGS["data"], "twins", 60)
    said = json.loads(step("pairs", "--data", write_training_files(tmp_path / "data"), "--out", tmp_path))
    assert 0 < said["by source"]["twins"] <= 60
