"""What can be tried with no model and no account answers the official SDKs as a model would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from servers import served

from director_ai.serve.demo import demo_server

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

ASKED: Any = [{"role": "user", "content": "Who founded the bank?"}]
SAID = "Harbour Bank was founded by Clara Voss in 1987. Can I help you with anything else?"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(demo_server(model=False)) as running:
        yield running.url


@pytest.mark.parametrize("n", [None, 1, 3])
def test_each_of_several_choices_is_answered_and_repaired(url: str, n: int | None) -> None:
    options: dict[str, Any] = {"model": "demo", "messages": ASKED} | ({} if n is None else {"n": n})
    with openai.OpenAI(api_key="demo", base_url=f"{url}/v1", max_retries=0) as client:
        whole = client.chat.completions.create(**options)
        chunks = list(client.chat.completions.create(stream=True, **options))
    assert [choice.message.content for choice in whole.choices] == [SAID] * (n or 1)
    told: dict[int, str] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            told[choice.index] = told.get(choice.index, "") + (choice.delta.content or "")
    assert told == dict.fromkeys(range(n or 1), SAID)


def test_the_other_protocols_are_answered_too(url: str) -> None:
    with openai.OpenAI(api_key="demo", base_url=f"{url}/v1", max_retries=0) as client:
        assert client.responses.create(model="demo", input=ASKED).output_text == SAID
        assert [model.id for model in client.models.list()] == ["demo"]
    with anthropic.Anthropic(api_key="demo", base_url=url, max_retries=0) as client:
        message = client.messages.create(model="demo", messages=ASKED, max_tokens=100)
        with client.messages.stream(model="demo", messages=ASKED, max_tokens=100) as stream:
            assert stream.get_final_text() == message.content[0].text == SAID
