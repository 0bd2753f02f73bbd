"""The guard never makes an answer worse: 540 sentences by a writer who saw neither rules nor data are never rewritten.

`test_never_worse.jsonl` holds 36 knowledge bases with statements that the facts do not cover, right statements in free
wording, answers without information, small talk, and sentences in other languages.

`test_never_worse_near.jsonl` holds 252 answers that two other writers aimed at earlier versions of these rules: each is close
to a fact and about something else, which often only the question, a heading or the sentence before it tells. The rules were
changed until these held: they guard against a relapse and estimate nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from director_ai import ProductionGuard

NEAR = [
    json.loads(line) for line in Path(__file__).with_name("test_never_worse_near.jsonl").read_text("utf-8").splitlines()
]
CASES = [json.loads(line) for line in Path(__file__).with_suffix(".jsonl").read_text("utf-8").splitlines()]
PLACES = range(len(CASES))


def actions_of(case: dict[str, Any], profile: str, *, use_nli: bool) -> list[tuple[str, str, list[Any]]]:
    """Kind, text and actions of each sentence of one knowledge base."""
    with ProductionGuard.from_profile(profile, use_nli=use_nli, search="words", metrics=False) as guard:
        guard.load_facts(case["facts"])
        return [
            (each["kind"], each["text"], list(guard.repair_stream(case["question"], each["text"]).actions))
            for each in case["sentences"]
        ]


@pytest.mark.parametrize("place", PLACES[::2])
def test_a_closed_profile_rewrites_nothing_right_or_unknowable(place: int) -> None:
    found = actions_of(CASES[place], "finance", use_nli=True)
    rewritten = [(text, each.text) for _, text, actions in found for each in actions if each.action == "rewrite"]
    assert rewritten == []
    reasons = {each.reason for kind, _, actions in found if kind == "foreign" for each in actions}
    assert reasons == {"language_not_supported"}


@pytest.mark.parametrize("place", PLACES)
def test_an_open_profile_keeps_what_the_facts_do_not_cover(place: int) -> None:
    found = actions_of(CASES[place], "general", use_nli=False)
    assert [text for _, text, actions in found if any(each.action == "rewrite" for each in actions)] == []
    changed = [
        text for kind, text, actions in found if kind != "right" and any(each.action == "redact" for each in actions)
    ]
    assert changed == []


@pytest.mark.parametrize("profile", ["finance", "general"])
@pytest.mark.parametrize("case", NEAR, ids=range(len(NEAR)))
def test_what_is_about_something_else_is_never_corrected(case: dict[str, Any], profile: str) -> None:
    with ProductionGuard.from_profile(profile, use_nli=profile == "finance", search="words", metrics=False) as guard:
        guard.load_facts(case["facts"])
        for question, text in case["sentences"]:
            actions = guard.repair_stream(question, text).actions
            assert [each.text for each in actions if each.action == "rewrite"] == []
