"""`director-ai serve`: a guarded proxy in front of a model, with a page for reviewers; `--demo` needs no model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from director_ai.cli.facts_show import say, write_json
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from director_ai.serve.settings import ServerSettings

__all__ = ["serve"]


def serve(
    config: Annotated[
        str,
        typer.Option("--config", envvar="DIRECTOR_AI_SERVER_CONFIG", help="A TOML or YAML file of settings."),
    ] = "",
    host: Annotated[str, typer.Option("--host", help="The address to listen on.  [default: 127.0.0.1]")] = "",
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="The port; 0 takes a free one.  [default: 8080]")
    ] = None,
    database: Annotated[
        str, typer.Option("--database", help="Reviews, records and keys: a file, or a postgresql:// URL.")
    ] = "",
    demo: Annotated[bool, typer.Option("--demo", help="Try it: a scripted model, key `demo`, nothing kept.")] = False,
    model: Annotated[bool, typer.Option(help="With --demo: judge with the bundled model, or without one.")] = True,
    show: Annotated[bool, typer.Option("--show", help="Print the settings, without secrets, and exit.")] = False,
) -> None:
    """Guard the answers of a model behind OpenAI's and Anthropic's interfaces, and serve the review page.

    For example: `director-ai serve --demo --port 8080`, or `director-ai serve --config server.toml`.
    """
    if demo and (config or database or show):
        raise ConfigError("--demo keeps nothing and reads no settings; leave --config, --database and --show away")
    if demo:
        _until_told(lambda: _serve_demo(host or "127.0.0.1", 8080 if port is None else port, model=model))
        return
    from director_ai.serve.settings import ServerSettings  # noqa: PLC0415 - keeps `--help` quick

    settings = ServerSettings.load(config or None, host=host or None, port=port, database=database or None)
    if show:
        write_json([settings.show()])
        return
    _until_told(lambda: _serve(settings))


def _serve(settings: ServerSettings) -> None:
    from director_ai.record.logs import log_as_json  # noqa: PLC0415 - as above
    from director_ai.serve.running import listen, run  # noqa: PLC0415 - an extra
    from director_ai.serve.server import Server  # noqa: PLC0415 - as above

    with listen(settings.host, settings.port) as bound:
        server = Server(settings)
        log_as_json()
        if not settings.upstreams:
            say("No upstream is set up; `docs/serve.md` shows how.", error=True)
        say(f"Listening on http://{settings.host}:{bound.getsockname()[1]}", error=True)
        run(server, bound)


def _serve_demo(host: str, port: int, *, model: bool) -> None:
    from director_ai.serve.demo import demo_server, tell_demo  # noqa: PLC0415 - an extra
    from director_ai.serve.running import listen, run  # noqa: PLC0415 - as above

    with listen(host, port) as bound:
        taken = bound.getsockname()[1]
        server = demo_server(host=host, port=taken, model=model)
        for line in tell_demo(taken):
            say(line)
        sys.stdout.flush()
        run(server, bound)


def _until_told(serving: Callable[[], None]) -> None:
    """Serve; whoever presses Ctrl-C wants it to end, and no trace."""
    try:
        serving()
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
