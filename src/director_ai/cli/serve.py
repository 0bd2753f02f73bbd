"""`director-ai serve`: a guarded proxy in front of a model, with a page for reviewers; `--demo` needs no model."""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from director_ai.cli.facts_show import say, write_json
from director_ai.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from director_ai.serve.server import Server
    from director_ai.serve.settings import ServerSettings
    from director_ai.serve.turns import Turns

__all__ = ["serve"]


def serve(
    config: Annotated[
        str,
        typer.Option("--config", envvar="DIRECTOR_AI_SERVER_CONFIG", help="A TOML or YAML file of settings."),
    ] = "",
    host: Annotated[str, typer.Option("--host", help="The address to listen on.", show_default="127.0.0.1")] = "",
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="The port; 0 takes a free one.", show_default="8080")
    ] = None,
    database: Annotated[
        str,
        typer.Option(
            "--database", help="Reviews, records and keys: a file, or a postgresql:// URL.", show_default="director.db"
        ),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, max=64, help="Processes that serve on the port.", show_default="1"),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Try it: a scripted model, key `demo`, nothing kept.")] = False,
    model: Annotated[bool, typer.Option(help="With --demo: judge with the bundled model, or without one.")] = True,
    show: Annotated[bool, typer.Option("--show", help="Print the settings, without secrets, and exit.")] = False,
) -> None:
    """Guard the answers of a model behind OpenAI's and Anthropic's interfaces, and serve the review page.

    For example: `director-ai serve --demo --port 8080`, or `director-ai serve --config server.toml`.
    """
    if demo and (config or database or show):
        raise ConfigError("--demo keeps nothing and reads no settings; leave --config, --database and --show away")
    if demo and workers not in {None, 1}:
        raise ConfigError("--demo is one process and keeps nothing; leave --workers away")
    if demo:
        _until_told(lambda: _serve_demo(host or "127.0.0.1", 8080 if port is None else port, model=model))
        return
    from director_ai.serve.settings import ServerSettings  # noqa: PLC0415 - keeps `--help` quick

    settings = ServerSettings.load(
        config or None, host=host or None, port=port, database=database or None, workers=workers
    )
    if show:
        write_json([settings.show()])
        return
    _until_told(lambda: _serve(settings))


def _serve(settings: ServerSettings) -> None:
    from director_ai.serve.listening import listen  # noqa: PLC0415 - as above

    with listen(settings.host, settings.port) as bound:

        def ready() -> None:
            if not settings.upstreams:
                say("No upstream is set up; `docs/serve.md` shows how.", error=True)
            say(f"Listening on http://{settings.host}:{bound.getsockname()[1]}", error=True)

        if settings.workers == 1:
            _serve_here(settings, bound, ready)
            return
        from director_ai.record.logs import log_as_json  # noqa: PLC0415 - as above
        from director_ai.serve.workers import run_workers  # noqa: PLC0415 - as above

        log_as_json(names_process=True)
        _check_telemetry()
        serving = functools.partial(_serve_here, settings.share())
        run_workers(serving, bound, settings.workers, grace=settings.grace, ready=ready)


def _serve_here(
    settings: ServerSettings, bound: socket.socket, ready: Callable[[], None], turns: Turns | None = None
) -> None:
    """Serve in this process until a signal says to end."""
    from director_ai.record.logs import log_as_json  # noqa: PLC0415 - as above
    from director_ai.serve.running import run  # noqa: PLC0415 - an extra
    from director_ai.serve.server import Server  # noqa: PLC0415 - as above

    server = Server(settings)
    log_as_json(names_process=settings.workers > 1)
    with _told(server):
        ready()
        run(server, bound, turns)


def _serve_demo(host: str, port: int, *, model: bool) -> None:
    from director_ai.serve.demo import demo_server, tell_demo  # noqa: PLC0415 - an extra
    from director_ai.serve.running import listen, run  # noqa: PLC0415 - as above

    with listen(host, port) as bound:
        taken = bound.getsockname()[1]
        server = demo_server(host=host, port=taken, model=model)
        with _told(server):
            for line in tell_demo(taken):
                say(line)
            sys.stdout.flush()
            run(server, bound)


@contextlib.contextmanager
def _told(server: Server) -> Iterator[None]:
    """Tell OpenTelemetry of every answer while the server runs, where the environment asks for it."""
    from director_ai.integrations.otel_environment import (  # noqa: PLC0415 - as above
        is_asked_for,
        tell_as_environment_says,
    )

    if not is_asked_for():
        yield
        return
    tenants = (server.settings.usual, *server.settings.tenants.values())
    guards = {id(guard): guard for guard in (server.guards.get(each.guard) for each in tenants)}
    try:
        end = tell_as_environment_says(guards.values())
    except MissingExtra as error:  # the variables are often set for all programs of a machine
        say(f"director-ai: {error}", error=True)
        yield
        return
    try:
        yield
    finally:
        end()


def _check_telemetry() -> None:
    """Refuse variables of OpenTelemetry that cannot be meant, once and before any worker starts."""
    from director_ai.integrations.otel_environment import (  # noqa: PLC0415 - as above
        is_asked_for,
        tell_as_environment_says,
    )

    if is_asked_for():
        with contextlib.suppress(MissingExtra):  # the workers say it
            tell_as_environment_says(())()


def _until_told(serving: Callable[[], None]) -> None:
    """Serve; whoever presses Ctrl-C wants it to end, and no trace."""
    try:
        serving()
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
