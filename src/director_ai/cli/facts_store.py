"""What the commands of `director-ai facts` share: their options, the store they open, the text they read."""

from __future__ import annotations

import contextlib
import getpass
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.knowledge.store import GroundTruthStore

__all__ = [
    "DEFAULT_STORE",
    "AsJson",
    "By",
    "Conflicts",
    "DryRun",
    "Replace",
    "Store",
    "Tenant",
    "Words",
    "login_name",
    "opened_store",
    "opened_text",
]

DEFAULT_STORE = "facts.db"

Store = Annotated[
    str,
    typer.Option("--store", envvar="DIRECTOR_AI_STORE", help="The knowledge base: a file, or a postgresql:// URL."),
]
Tenant = Annotated[str, typer.Option("--tenant", help="Whose facts; without it, those that every tenant reads.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line, and nothing else.")]
Words = Annotated[bool, typer.Option("--words", help="Go by words alone, without loading the model.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Replace = Annotated[bool, typer.Option("--replace", help="Let a known key take another fact, as its next version.")]
Conflicts = Annotated[bool, typer.Option(help="Look for facts that contradict the new ones.")]
By = Annotated[
    str, typer.Option("--by", envvar="DIRECTOR_AI_USER", help="Who adds them.", show_default="the login name")
]

_URLS = ("postgresql://", "postgres://")


@contextlib.contextmanager
def opened_store(
    place: str, *, words: bool = True, makes: bool = False, dry_run: bool = False, key: str = ""
) -> Iterator[GroundTruthStore]:
    """Lend the knowledge base at a path or URL; only a command that `makes` one creates it, and no dry run does.

    `key` is what a message may name, where one fact alone is added.
    """
    from director_ai.knowledge.store import GroundTruthStore, VectorGroundTruthStore  # noqa: PLC0415 - loads numpy
    from director_ai.knowledge.tables import DuplicateFact  # noqa: PLC0415 - as above

    if not place.startswith(_URLS) and not _is_there(place):
        if not makes:
            raise ConfigError(f"there is no knowledge base at {place!r}; `facts add` and `facts ingest` make one")
        if dry_run:
            place = ":memory:"
    with (GroundTruthStore if words else VectorGroundTruthStore)(place) as base:
        try:
            yield base
        except DuplicateFact:
            which = f"the key {key!r}" if key else "a key"
            raise ConfigError(
                f"{which} already stands for another fact; choose another key or give --replace "
                "(--replace --dry-run shows what would change)"
            ) from None


def _is_there(place: str) -> bool:
    if not place.strip() or "\0" in place or "://" in place or place == ":memory:":
        raise ConfigError("--store must be the path of a file or a postgresql:// URL")
    try:
        path = Path(place)
        if path.is_dir():
            raise ConfigError(f"{place!r} is a folder; --store takes the path of a file in it")
        return path.exists() and path.stat().st_size > 0
    except OSError as error:
        raise ConfigError(f"{place!r} cannot be opened ({error.strerror})") from None


@contextlib.contextmanager
def opened_text(name: str) -> Iterator[TextIO]:
    """Lend a file as UTF-8 text; `-` is the standard input."""
    shown = "the standard input" if name == "-" else repr(name)
    if name == "-" and sys.stdin is None:
        raise ConfigError("the standard input is closed; give a file instead")
    if "\0" in name:
        raise ConfigError("a file's name holds no NUL character")
    try:
        source = sys.stdin.buffer if name == "-" else Path(name).open("rb")  # noqa: SIM115 - closed below
        text = io.TextIOWrapper(source, encoding="utf-8-sig")
        try:
            yield text
        finally:
            text.detach()
            if name != "-":  # the standard input is not ours to close
                source.close()
    except UnicodeDecodeError:
        raise ConfigError(f"{shown} is not UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{shown} cannot be read ({error.strerror or type(error).__name__})") from None


def login_name() -> str:
    """Return who runs the command; empty where the system does not know."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
