"""Promise 1 in numbers: of generated streams, no character is sent that the guard did not let go."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from typing import Any

import pytest
from taps import Tap, ledger, read_events, texts_sent
from upstreams import PROTOCOLS, Case

from director_ai.core.streaming_repair import StreamingRepairer
from director_ai.serve.exchange import Exchange
from director_ai.serve.guarding import Guarding
from director_ai.serve.proxy import WIRES

PATHS = sorted(PROTOCOLS)
WORDS = [
    "Hello! ",
    "All is well. ",
    "It is zorblatt. ",
    "Dr. Who said 3.5; ",
    "Grüezi 🙂! ",
    "\n\n- ",
    "[DONE] ",
    '"quoted" ',
]
TOLD = Guarding(guard=None, prompt="", tenant_id="", request_id="r")  # type: ignore[arg-type]  # only describes


def score(clause: str) -> float:
    return 0.0 if "zorblatt" in clause else 1.0


def drawn(draw: random.Random) -> Case:
    texts = tuple("".join(draw.choices(WORDS, k=draw.randint(1, 6))) for _ in range(draw.randint(1, 3)))
    arguments = json.dumps({"text": "".join(draw.choices(WORDS, k=3))}) if draw.random() < 0.4 else ""
    return Case(texts=texts, arguments=arguments, reasoning="zorblatt" * draw.randint(0, 1), size=draw.randint(1, 30))


async def tap_of(path: str, case: Case, draw: random.Random) -> Tap:
    """Run an exchange over bytes that are cut anywhere."""
    data, tap = b"".join(PROTOCOLS[path][1](case)), Tap()
    places = [0, *sorted(draw.sample(range(len(data)), 5)), len(data)]
    chunks = [data[start:end] for start, end in itertools.pairwise(places)]
    repairer = StreamingRepairer(score, most_redacted=draw.choice([None, 0]), cap_after=0)

    def guard(first: Any, tokens: Any) -> Any:
        stream = repairer.astream(tokens, shape=first.shape)
        tap.ledger.append((first, stream))
        return stream

    wire = WIRES[path]({"model": "m", "n": len(case.texts)})
    exchange = Exchange(wire, guard, describe=TOLD.describe, describe_halt=TOLD.describe_halt)
    tap.sent = b"".join([piece async for piece in exchange.run(read_events(chunks))])
    return tap


async def check(path: str, seeds: range) -> None:
    for seed in seeds:
        draw = random.Random(seed)
        tap = await tap_of(path, drawn(draw), draw)
        assert texts_sent(path, tap) == ledger(path, tap), seed
        assert b"zorblatt" not in tap.sent, seed


@pytest.mark.parametrize("path", PATHS)
def test_nothing_unjudged_is_sent(path: str) -> None:
    asyncio.run(check(path, range(150)))


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("path", PATHS)
def test_nothing_unjudged_is_sent_in_the_long_run(path: str) -> None:
    asyncio.run(check(path, range(150, 40_000)))
