"""Everything to try, with no model and no account: a scripted bank, one key, nothing kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from director_ai.demo_bank import FACTS, PROFILE, QUESTION, answer_to
from director_ai.serve.authentication import DEMO_KEY, DEMO_TENANT
from director_ai.serve.scripted import ScriptedUpstream
from director_ai.serve.server import Server
from director_ai.serve.settings import ServerSettings
from director_ai.serve.tenancy import Source

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["demo_server", "tell_demo"]

KINDS: Final = frozenset({"openai", "anthropic"})


def demo_server(
    *, host: str = "127.0.0.1", port: int = 8080, model: bool = True, say: Callable[[str], str] = answer_to
) -> Server:
    """Return a server in memory in front of a script that gets some of the bank's facts wrong."""
    settings = ServerSettings.load(
        {
            "server": {"database": ":memory:", "review_redactions": True, "optimistic": True, "grace": 1.0},
            "guard": {"profile": PROFILE, "use_nli": model, "search": "meaning" if model else "words"},
        },
        env={},
        host=host,
        port=port,
    )
    server = Server(settings, sources={"demo": Source(KINDS, ScriptedUpstream(say))}, is_demo=True)
    server.store.add_many(FACTS, DEMO_TENANT)
    return server


def tell_demo(port: int) -> list[str]:
    """Return what to try: where it is, a guarded stream, and the page."""
    url = f"http://127.0.0.1:{port}"
    body = f'{{"model":"demo","stream":true,"messages":[{{"role":"user","content":"{QUESTION}"}}]}}'
    return [
        f"Guarded answers  {url}/v1  (key: {DEMO_KEY}, model: demo)",
        f"Try it           curl -N {url}/v1/chat/completions -H 'Authorization: Bearer {DEMO_KEY}' "
        f"-H 'Content-Type: application/json' -d '{body}'",
        f"Review page      {url}/review",
    ]
