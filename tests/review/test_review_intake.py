"""What comes into a queue is checked at the door: each refusal has its type, says what is missing, repeats no text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from review_cases import (
    LONG,
    ORIGINAL,
    TEXT,
    approved,
    put_in,
    refused,
)

from director_ai import HumanReviewQueue
from director_ai.errors import (
    ConfigError,
    DirectorError,
    PayloadError,
    UnknownCase,
    UnknownOption,
)

Ask = Callable[[HumanReviewQueue], Any]
SURROGATE = "\ud800"


@pytest.fixture(scope="module")
def kept_queue() -> Iterator[HumanReviewQueue]:
    """One queue for all that must leave no trace, with one approved case."""
    with HumanReviewQueue() as queue:
        approved(queue)
        yield queue


# --- what comes in ------------------------------------------------------------------------------------------------

IDS: dict[str, Any] = {
    "blank": " ",
    "a path": "../x",
    "two dots": "a..b",
    "a slash": "a/b",
    "a star": "*",
    "a percent sign": "%",
    "300 characters": "a" * 300,
    "10 KB": LONG,
    "NUL": "a\0b",
    "a lone surrogate": f"a{SURROGATE}",
    "a letter that looks like another": "аcme",
    "full width": "ａcme",
    "a line break": "acme\n",
    "a quotation mark": "a'--",
    "a number": 7,
    "bytes": b"acme",
    "a list": ["acme"],
}

MADE: dict[str, tuple[dict[str, Any], type[DirectorError], str]] = {
    "no text": ({"candidate_text": ""}, ConfigError, "candidate_text must not be blank"),
    "a blank text": ({"candidate_text": " \n\t"}, ConfigError, "must not be blank"),
    "None for a text": ({"candidate_text": None}, ConfigError, "candidate_text must be a string, got a NoneType"),
    "bytes for a text": ({"candidate_text": TEXT.encode()}, ConfigError, "must be a string, got a bytes"),
    "a text with NUL": ({"candidate_text": TEXT + "\0"}, ConfigError, "without NUL"),
    "a text with a lone surrogate": ({"candidate_text": TEXT + SURROGATE}, ConfigError, "lone surrogates"),
    "a text that is too long": ({"candidate_text": "x" * 1_000_001}, ConfigError, "at most 1000000 characters, got 1000001"),
    "a reason with NUL": ({"reason": "\0"}, ConfigError, "reason must be text without NUL"),
    "a reason that is too long": ({"reason": LONG}, ConfigError, "reason must have at most 4000"),
    "a reason that is no text": ({"reason": 7}, ConfigError, "reason must be a string"),
    "what it corrects with NUL": ({"original_text": ORIGINAL + "\0"}, ConfigError, "original_text must be text"),
    "refs that are one string": ({"evidence_refs": "kb://1"}, ConfigError, "list or tuple of identifiers, got a str"),
    "a ref that is text": ({"evidence_refs": ["kb://1", TEXT]}, ConfigError, r"evidence_refs\[1\] must be an identifier"),
    "10,000 refs": ({"evidence_refs": [f"kb://{n}" for n in range(10_000)]}, ConfigError, "at most 1000, got 10000"),
    "a million refs": ({"evidence_refs": ["kb://1"] * 1_000_000}, ConfigError, "at most 20000 identifiers"),
    "refs that are None": ({"evidence_refs": None}, ConfigError, "got a NoneType"),
    "no approvals required": ({"required_approvals": 0}, ConfigError, "required_approvals must be at least 1, got 0"),
    "fewer than none": ({"required_approvals": -1}, ConfigError, "must be at least 1"),
    "True approvals": ({"required_approvals": True}, ConfigError, "whole number of at least 1, got a bool"),
    "half an approval": ({"required_approvals": 1.5}, ConfigError, "whole number"),
    "a million approvals": ({"required_approvals": 10**6}, ConfigError, "must be at most 100"),
    "more approvals than reviewers": (
        {"required_approvals": 3, "reviewers": ["ann", "ANN", "bob"]}, ConfigError, "only 2 of the reviewers may approve",
    ),
    "reviewers that are one string": ({"reviewers": "ann"}, ConfigError, "list of ids, got a str"),
    "a blank reviewer": ({"reviewers": ["ann", ""]}, ConfigError, "a reviewer must not be empty"),
    "a reviewer that is no name": ({"reviewers": ["ann", object()]}, ConfigError, "a reviewer must be empty or 1 to 128"),
    "too many reviewers": ({"reviewers": [f"r{n}" for n in range(101)]}, ConfigError, "at most 100, got 101"),
    "a case without an end": ({"expires_after": None}, ConfigError, "expires_after must be a number"),
    "a case that ends at once": ({"expires_after": 0}, ConfigError, "more than 0 seconds"),
    "an end that is not a number": ({"expires_after": math.nan}, ConfigError, "expires_after must be a number"),
    "an end in a thousand years": ({"expires_after": 3e10}, ConfigError, "expires_after must be a number from 0 to"),
    "metadata that is a list": ({"metadata": [1]}, ConfigError, "must map names to JSON values, got a list"),
    "metadata with a key that is no name": ({"metadata": {1: 2}}, ConfigError, "must map names to JSON values"),
    "metadata that is no JSON": ({"metadata": {"a": object()}}, PayloadError, "plain JSON values only"),
    "metadata with NaN": ({"metadata": {"a": math.nan}}, PayloadError, "plain JSON values only"),
    "metadata with a lone surrogate": ({"metadata": {"a": SURROGATE}}, PayloadError, "plain JSON values only"),
    "metadata with NUL": ({"metadata": {"a": "\0"}}, ConfigError, "without NUL"),
    "metadata that is too long": ({"metadata": {"a": "x" * 100_000}}, ConfigError, "at most 100000"),
    "versions that are a list": ({"versions": ["x"]}, ConfigError, "versions must map at most 50 names"),
    "a version that is text": ({"versions": {"model": TEXT}}, ConfigError, "names to identifiers without blanks"),
    "an option that does not exist": ({"required_aprovals": 2}, UnknownOption, "did you mean 'required_approvals'"),
    "a try of no case": ({"retry_of": "case-0"}, UnknownCase, "retry_of names no case of this tenant"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "error", "says"), MADE.values(), ids=MADE.keys())
def test_a_case_that_cannot_be_right_does_not_come_in(
    kept_queue: HumanReviewQueue, options: dict[str, Any], error: type[DirectorError], says: str
) -> None:
    refused(kept_queue, lambda queue: put_in(queue, **options), error, says)
    assert len(kept_queue.list_cases()) == 1


def test_metadata_nested_beyond_reason_is_refused(memory_queue: HumanReviewQueue) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    refused(memory_queue, lambda queue: put_in(queue, metadata=deep), PayloadError, "RecursionError")
    assert memory_queue.list_cases() == []


@pytest.mark.parametrize("name", ["tenant_id", "request_id", "proposer_id", "policy_id", "retry_of"])
@pytest.mark.parametrize("value", IDS.values(), ids=IDS.keys())
def test_what_is_no_id_is_refused_where_a_case_comes_in(kept_queue: HumanReviewQueue, name: str, value: Any) -> None:
    refused(kept_queue, lambda queue: put_in(queue, **{name: value}), ConfigError, f"{name} must be empty or 1 to 128")
    assert len(kept_queue.list_cases()) == 1


ASKS: dict[str, Ask] = {
    "get_case": lambda queue: queue.get_case("case-0", tenant_id=VALUE),
    "list_cases": lambda queue: queue.list_cases(tenant_id=VALUE),
    "decisions": lambda queue: queue.decisions("case-0", tenant_id=VALUE),
    "retry_payload": lambda queue: queue.retry_payload("case-0", tenant_id=VALUE),
    "claim": lambda queue: queue.claim("case-0", reviewer_id="ann", tenant_id=VALUE),
    "claim_next": lambda queue: queue.claim_next(reviewer_id="ann", tenant_id=VALUE),
    "unclaim": lambda queue: queue.unclaim("case-0", reviewer_id="ann", tenant_id=VALUE),
    "decide": lambda queue: queue.decide("case-0", reviewer_id="ann", action="approve", tenant_id=VALUE),
    "release": lambda queue: queue.release("case-0", reviewer_id="ann", release_id="one", tenant_id=VALUE),
    "remember": lambda queue: queue.remember("case-0", reviewer_id="ann", tenant_id=VALUE),
    "known_correction": lambda queue: queue.known_correction(TEXT, tenant_id=VALUE),
}
VALUE: Any = None


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS.keys())
@pytest.mark.parametrize("value", IDS.values(), ids=IDS.keys())
def test_what_is_no_tenant_is_refused_everywhere(
    kept_queue: HumanReviewQueue, monkeypatch: pytest.MonkeyPatch, ask: Ask, value: Any
) -> None:
    monkeypatch.setitem(globals(), "VALUE", value)
    refused(kept_queue, ask, ConfigError, "tenant_id must be empty or 1 to 128")
    assert len(kept_queue.list_cases()) == 1


GIVEN: dict[str, Callable[[HumanReviewQueue, Any], Any]] = {
    "get_case case_id": lambda queue, value: queue.get_case(value),
    "decide case_id": lambda queue, value: queue.decide(value, reviewer_id="ann", action="approve"),
    "decide reviewer_id": lambda queue, value: queue.decide(only(queue), reviewer_id=value, action="approve"),
    "release case_id": lambda queue, value: queue.release(value, reviewer_id="ann", release_id="one"),
    "release reviewer_id": lambda queue, value: queue.release(only(queue), reviewer_id=value, release_id="one"),
    "release release_id": lambda queue, value: queue.release(only(queue), reviewer_id="ann", release_id=value),
    "claim reviewer_id": lambda queue, value: queue.claim(only(queue), reviewer_id=value),
    "claim_next reviewer_id": lambda queue, value: queue.claim_next(reviewer_id=value, tenant_id="acme"),
    "unclaim reviewer_id": lambda queue, value: queue.unclaim(only(queue), reviewer_id=value),
    "remember reviewer_id": lambda queue, value: queue.remember(only(queue), reviewer_id=value),
}


def only(queue: HumanReviewQueue) -> str:
    return queue.list_cases()[0].case_id


@pytest.mark.parametrize("ask", GIVEN.values(), ids=GIVEN.keys())
@pytest.mark.parametrize("value", (IDS | {"empty": ""}).values(), ids=(IDS | {"empty": ""}).keys())
def test_an_id_that_must_be_there_is_refused_where_it_is_none(
    kept_queue: HumanReviewQueue, ask: Callable[[HumanReviewQueue, Any], Any], value: Any
) -> None:
    refused(kept_queue, lambda queue: ask(queue, value), ConfigError, "must be empty or 1 to 128|must not be empty")
    assert kept_queue.get_case(only(kept_queue)).state == "approved"
