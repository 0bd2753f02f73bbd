"""The command `director-ai`: one module per subcommand."""

from __future__ import annotations

import functools
import io
import os
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer
import typer.main

from director_ai import __version__
from director_ai.cli.audit import audit_app
from director_ai.cli.bench import bench
from director_ai.cli.calibrate import calibrate
from director_ai.cli.check import check
from director_ai.cli.config import config_app
from director_ai.cli.demo import demo
from director_ai.cli.doctor import doctor
from director_ai.cli.facts import facts_app
from director_ai.cli.keys import keys_app
from director_ai.cli.repair import repair
from director_ai.cli.review import review_app
from director_ai.cli.schema import schema
from director_ai.cli.serve import serve
from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["app", "main"]

NARROW: Final = 80
"""Columns below which a table of options would cut their names."""
app = typer.Typer(
    help="Guard a language model's stream: judge what it says, repair or halt what is wrong, say why.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(check)
app.command()(repair)
app.command()(schema)
app.command()(calibrate)
app.command()(serve)
app.command()(bench)
app.command()(doctor)
app.add_typer(config_app, name="config")
app.add_typer(facts_app, name="facts")
app.add_typer(audit_app, name="audit")
app.add_typer(review_app, name="review")
app.add_typer(keys_app, name="keys")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"director-ai {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


@functools.cache
def _command(narrow: bool) -> Callable[[], object]:
    app.rich_markup_mode = None if narrow else "rich"
    return typer.main.get_command(app)


def _drop_output() -> None:
    """Point stdout elsewhere, so that the interpreter does not try to write the rest of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    """Run the command; an error of ours is a sentence, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a bar or a dash that the terminal cannot show is no reason to fail
    try:
        _command(shutil.get_terminal_size().columns < NARROW)()
    except DirectorError as error:
        typer.echo(f"director-ai: {error}", err=True)
        raise SystemExit(2) from None
    except BrokenPipeError:
        _drop_output()  # the reader left (`director-ai demo | head`)
        raise SystemExit(0) from None
    except OSError as error:
        _drop_output()
        sys.stderr.write(f"director-ai: cannot write the output ({error.strerror})\n")
        raise SystemExit(1) from None
