"""Calls of an SDK that are guarded: which they are, and how their answers are judged."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError, UnknownOption
from director_ai.guard import MODES, Mode
from director_ai.record.tracing import answering
from director_ai.serve.exchange import Exchange, UpstreamBroke
from director_ai.serve.guarding import AGENTS, Guarding
from director_ai.serve.sse import SseReader

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

    from director_ai.guard import ProductionGuard
    from director_ai.serve.calls import GuardedStream
    from director_ai.serve.sse import ServerSentEvent
    from director_ai.serve.wire.items import Channel, Outcome, Say, Wire

__all__ = ["Call", "Calls", "Route", "WrapOptions", "checked_options"]


class WrapOptions(TypedDict, total=False):
    """What can be said of all answers of a wrapped client."""

    tenant_id: str
    """Its own facts are read beside the shared ones."""
    mode: Mode
    """"halt" ends an answer before the first clause that is not supported."""
    shows_evidence: bool
    """Whether the `guard` object of an answer holds the text of evidence."""
    shows_reasoning: bool
    """Whether the model's reasoning, which is not judged, is handed on."""
    passport: str
    """A signed statement of which agent is speaking, for hooks; so are the next two."""
    sender: str
    receiver: str


def checked_options(options: Mapping[str, Any]) -> WrapOptions:
    """Return options of `wrap`, or refuse them by name."""
    for name, value in options.items():
        if name not in WrapOptions.__annotations__:
            raise UnknownOption("option of wrap()", name, WrapOptions.__annotations__)
        if name.startswith("shows_") and not isinstance(value, bool):
            raise ConfigError(f"{name} must be True or False, got a {type(value).__name__}")
    for name in ("tenant_id", "sender", "receiver"):
        check_identifier(name, options.get(name, ""))
    if not isinstance(options.get("passport", ""), str):
        raise ConfigError(f"passport must be a string, got a {type(options['passport']).__name__}")
    if options.get("mode", "repair") not in MODES:
        raise UnknownOption("mode", options["mode"], MODES)
    checked: Any = dict(options)
    return checked  # type: ignore[no-any-return]  # a dictionary with these names alone


class Route(NamedTuple):
    """Calls, by method and path, and the protocol of their answers; None where they cannot be guarded."""

    calls: re.Pattern[str]
    wire: Callable[..., Wire] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What a wrapped client does with each of its calls."""

    guard: ProductionGuard
    options: WrapOptions
    routes: tuple[Route, ...]

    def route(self, method: str, path: str) -> Route | None:
        """Return how a call is guarded; None where its answer holds no text of a model."""
        return next((each for each in self.routes if each.calls.fullmatch(f"{method} {path}")), None)

    def begin(self, wire_of: Callable[..., Wire], body: bytes) -> Call:
        """Return a call of a guarded route."""
        try:
            asked = json.loads(body)
        except ValueError:
            asked = {}
        asked = asked if isinstance(asked, dict) else {}
        model = asked.get("model")
        options = dict(self.options)
        wire = wire_of(asked, shows_reasoning=options.pop("shows_reasoning", False))
        request_id = f"req-{os.urandom(12).hex()}"
        guarding = Guarding(
            guard=self.guard,
            prompt=wire.prompt,
            request_id=request_id,
            agents={name: str(options.pop(name)) for name in AGENTS if name in options},
            **{"tenant_id": "", **options},  # type: ignore[arg-type]  # checked by `checked_options`
        )
        return Call(wire, guarding, model if isinstance(model, str) else "")


class Call:
    """One call, whose answer is judged before the SDK sees it."""

    def __init__(self, wire: Wire, guarding: Guarding, model: str) -> None:
        self._wire, self._guarding, self._model = wire, guarding, model
        self._response_id = ""

    @property
    def request_id(self) -> str:
        """Stands in events and records."""
        return self._guarding.request_id

    def streamed(self, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """Return what the SDK may read of an answer that comes in chunks."""
        told = self._guarding
        exchange = Exchange(self._wire, self._stream, describe=told.describe, describe_halt=told.describe_halt)
        return exchange.run(self._events(chunks))

    async def _events(self, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[ServerSentEvent]:
        reader = SseReader()
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    self._response_id = self._response_id or _id_of(event)
                    yield event

    def _stream(self, first: Say, tokens: AsyncIterator[str]) -> GuardedStream:
        with answering(model=self._model, response_id=self._response_id):
            return self._guarding.stream(first, tokens)

    def whole(self, content: bytes) -> bytes:
        """Return what the SDK may read of an answer that came whole."""
        body = self._read(content)
        with answering(model=self._model, response_id=self._response_id):
            return self._shown(body, {say.channel: self._guarding.judged(say) for say in self._wire.texts(body)})

    async def awhole(self, content: bytes) -> bytes:
        """Return the same without blocking an event loop."""
        body = self._read(content)
        with answering(model=self._model, response_id=self._response_id):
            outcomes = {say.channel: await self._guarding.whole(say) for say in self._wire.texts(body)}
        return self._shown(body, outcomes)

    def _read(self, content: bytes) -> dict[str, Any]:
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise UpstreamBroke("the answer is no JSON object, so it cannot be judged")
        name = body.get("id")
        self._response_id = name if isinstance(name, str) else ""
        return body

    def _shown(self, body: dict[str, Any], outcomes: dict[Channel, Outcome]) -> bytes:
        shown, told = self._wire.with_texts(body, outcomes), self._guarding
        results = [outcome.result for outcome in outcomes.values()]
        changed = [told.told(action) for result in results for action in result.actions if action.changed]
        halted = next((result for result in results if result.halted), None)
        if changed or halted is not None:
            halt = {} if halted is None else told.describe_halt(halted, halted.halt_reason)
            shown["guard"] = {"actions": changed, **halt}
        return json.dumps(shown).encode()


def _id_of(event: ServerSentEvent) -> str:
    """Return the id of an answer, by an event of any of the protocols that has it."""
    try:
        data = json.loads(event.data)
    except ValueError:
        return ""
    for part in (data, data.get("response"), data.get("message")) if isinstance(data, dict) else ():
        if isinstance(part, dict) and isinstance(part.get("id"), str):
            return str(part["id"])
    return ""
