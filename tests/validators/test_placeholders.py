"""Placeholders of a conversation: the same value, the same number, and nobody without the key learns more."""

from __future__ import annotations

import copy
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from director_ai.errors import ConfigError, DirectorError
from director_ai.validators import PII, BannedWords, Checks, Conversation

KEY = b"a tenant's own key of 32 bytes.."
CHECKS = Checks([PII()])


def test_a_value_keeps_its_number_through_all_turns() -> None:
    talk = Conversation()
    turns = [
        ("Write to jo@example.org or al@example.org.", "Write to [EMAIL_1] or [EMAIL_2]."),
        ("al@example.org is right, +46 (0)8 928 571 38 too.", "[EMAIL_2] is right, [PHONE_1] too."),
        ("JO@Example.org and new@example.org.", "[EMAIL_1] and [EMAIL_3]."),
    ]
    for said, shown in turns:
        assert CHECKS.run(said, conversation=talk).text == shown
    stream = CHECKS.stream(list("al@example.org!"), conversation=talk)
    assert "".join(piece.text for piece in stream) == "[EMAIL_2]!"


def test_another_conversation_counts_for_itself() -> None:
    one, other = Conversation(), Conversation()
    assert one.label("EMAIL", "a@example.org") == one.label("EMAIL", "A@EXAMPLE.org ") == "[EMAIL_1]"
    assert one.label("EMAIL", "b@example.org") == "[EMAIL_2]"
    assert one.label("PHONE", "a@example.org") == "[PHONE_1]"
    assert other.label("EMAIL", "b@example.org") == "[EMAIL_1]"
    assert CHECKS.run("a@example.org").text == "[EMAIL]"


def test_spacing_makes_no_other_value_but_of_secrets_everything_counts() -> None:
    talk = Conversation()
    assert talk.label("CARD", "4111 1111 1111 1111") == talk.label("CARD", "4111111111111111") == "[CARD_1]"
    assert talk.label("PASSWORD", "hunter22") == "[PASSWORD_1]"
    assert talk.label("PASSWORD", "Hunter22") == "[PASSWORD_2]"


@pytest.mark.parametrize("state", ["text", 5, ["labels"]])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(ConfigError, match="state must be"):
        Conversation(key=KEY, state=state)


def test_what_is_no_conversation_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be a Conversation, got a str"):
        CHECKS.run("Hello.", conversation="talk")  # type: ignore[arg-type]


def test_placeholders_that_name_no_kind_are_not_numbered() -> None:
    checks = Checks([BannedWords(("bad",)), BannedWords(("ugly",), replacement="***", name="stars")])
    assert checks.run("bad and ugly", conversation=Conversation()).text == "[REMOVED] and ***"


def test_what_was_sealed_is_revealed_with_the_key() -> None:
    talk = Conversation(key=KEY, tenant_id="acme")
    said = "Write to Jo@example.org or 4111 1111 1111 1111."
    shown = CHECKS.run(said, conversation=talk).text
    assert shown == "Write to [EMAIL_1] or [CARD_1]."
    assert talk.reveal(shown) == said
    assert talk.reveal("[EMAIL_9] [NAME_1] [EMAIL_01] [email_1] []") == "[EMAIL_9] [NAME_1] [EMAIL_01] [email_1] []"


def test_without_a_key_nothing_is_kept() -> None:
    talk = Conversation()
    talk.label("EMAIL", "jo@example.org")
    for ask in (lambda: talk.reveal("[EMAIL_1]"), talk.state):
        with pytest.raises(ConfigError, match="key"):
            ask()


def kept() -> dict[str, Any]:
    talk = Conversation(key=KEY, tenant_id="acme")
    for value in ("jo@example.org", "al@example.org"):
        talk.label("EMAIL", value)
    talk.label("US_SSN", "054-28-6917")
    return talk.state()


def test_a_conversation_goes_on_where_it_was_left() -> None:
    state = json.loads(json.dumps(kept()))
    talk = Conversation(key=KEY, tenant_id="acme", state=state)
    assert talk.label("EMAIL", "al@example.org") == "[EMAIL_2]"
    assert talk.label("EMAIL", "new@example.org") == "[EMAIL_3]"
    assert talk.label("US_SSN", "123-45-6789") == "[US_SSN_2]"
    assert talk.reveal("[EMAIL_1] [EMAIL_3]") == "jo@example.org new@example.org"
    again = Conversation(key=KEY, tenant_id="acme", state=talk.state())
    assert again.label("EMAIL", "new@example.org") == "[EMAIL_3]"


def test_what_is_kept_holds_no_value() -> None:
    written = json.dumps(kept())
    for part in ("jo@", "al@", "example", "054-28", "acme", KEY.decode()):
        assert part not in written
    digests = kept()["labels"]
    other = Conversation(key=KEY, tenant_id="beta")
    other.label("EMAIL", "jo@example.org")
    assert not set(digests) & set(other.state()["labels"]), "another tenant's digests say nothing"


def relabel(state: dict[str, Any]) -> None:
    first, second = list(state["labels"])[:2]
    state["labels"][first], state["labels"][second] = state["labels"][second], state["labels"][first]


def swap(state: dict[str, Any]) -> None:
    state["sealed"]["[EMAIL_1]"], state["sealed"]["[EMAIL_2]"] = (
        state["sealed"]["[EMAIL_2]"],
        state["sealed"]["[EMAIL_1]"],
    )


TAMPERED: dict[str, Any] = {
    "numbers swapped": relabel,
    "values swapped": swap,
    "a label dropped": lambda state: state["labels"].popitem(),
    "a value dropped": lambda state: state["sealed"].popitem(),
    "a value altered": lambda state: state["sealed"].update({"[EMAIL_1]": "AAAA" + state["sealed"]["[EMAIL_1]"][4:]}),
    "a label added": lambda state: state["labels"].update({"0" * 64: "[EMAIL_7]"}),
    "no base64": lambda state: state["sealed"].update({"[EMAIL_1]": "*"}),
    "no placeholder": lambda state: state["labels"].update({"0" * 64: "x"}),
    "no text": lambda state: state["labels"].update({"0" * 64: 5}),
    "no labels": lambda state: state.pop("labels"),
    "no seal": lambda state: state.pop("seal"),
    "a seal that is no text": lambda state: state.update(seal=5),
    "another seal": lambda state: state.update(seal="0" * 64),
    "a seal in another script": lambda state: state.update(seal="é"),
    "nothing": lambda state: state.clear(),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_state_that_was_tampered_with_is_refused(case: str) -> None:
    state = copy.deepcopy(kept())
    TAMPERED[case](state)
    with pytest.raises(ConfigError, match="state"):
        Conversation(key=KEY, tenant_id="acme", state=state)


@pytest.mark.parametrize(
    ("key", "tenant"),
    [(b"another key of sixteen bytes", "acme"), (KEY, "beta"), (KEY, ""), (None, "acme")],
    ids=["another key", "another tenant", "no tenant", "no key"],
)
def test_nobody_else_resumes_a_conversation(key: bytes | None, tenant: str) -> None:
    with pytest.raises(ConfigError, match="state"):
        Conversation(key=key, tenant_id=tenant, state=kept())


def test_a_sealed_value_in_another_place_is_not_revealed() -> None:
    talk = Conversation(key=KEY, tenant_id="acme", state=kept())
    talk._sealed["[EMAIL_1]"] = talk._sealed["[EMAIL_2]"]
    with pytest.raises(DirectorError, match="altered") as raised:
        talk.reveal("[EMAIL_1]")
    assert "example" not in str(raised.value)


@pytest.mark.parametrize(
    "key", [b"", b"short", "a text of sixteen letters", 5], ids=["empty", "short", "text", "number"]
)
def test_a_bad_key_is_refused_and_not_shown(key: Any) -> None:
    with pytest.raises(ConfigError, match="16 bytes") as raised:
        Conversation(key=key)
    assert "text of" not in str(raised.value)


def test_a_bad_tenant_is_refused() -> None:
    with pytest.raises(ConfigError):
        Conversation(key=KEY, tenant_id="../x")


def test_threads_share_a_conversation() -> None:
    talk, barrier = Conversation(key=KEY), threading.Barrier(8)

    def turn(number: int) -> list[str]:
        barrier.wait(10)
        values = [f"user{(number + at) % 50}@example.org" for at in range(50)]
        return [f"{value}={CHECKS.run(value, conversation=talk).text}" for value in values]

    with ThreadPoolExecutor(8) as pool:
        pairs = {pair for row in pool.map(turn, range(8)) for pair in row}
    assert len(pairs) == 50
    assert {pair.split("=")[1] for pair in pairs} == {f"[EMAIL_{number}]" for number in range(1, 51)}
    for pair in pairs:
        value, label = pair.split("=")
        assert talk.reveal(label) == value
