"""What commands that judge share: how a guard is named on the command line, and what it judges by."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from director_ai.cli.facts_show import progress_bar
from director_ai.cli.facts_store import DEFAULT_STORE, opened_store, opened_text
from director_ai.core.identifiers import check_identifier
from director_ai.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.guard import ProductionGuard
    from director_ai.settings import GuardSettings

__all__ = ["Config", "Facts", "Model", "ProfileName", "Prompt", "Store", "Wanted", "opened_guard"]

Facts = Annotated[
    list[str] | None,
    typer.Option(
        "--facts",
        metavar="FILE",
        help="What is so: a JSON object with a text for each key, or a document; may be given more than once.",
    ),
]
Store = Annotated[
    str,
    typer.Option(
        "--store",
        help="The knowledge base: a file, or a postgresql:// URL.",
        show_default=f"{DEFAULT_STORE}, if it is there",
    ),
]
ProfileName = Annotated[
    str, typer.Option("--profile", help="general, medical, finance, legal or creative.", show_default="general")
]
Prompt = Annotated[str, typer.Option("--prompt", help="What was asked: context in which the answer is judged.")]
Model = Annotated[bool, typer.Option(help="Judge with the bundled model, or by words and values alone.")]
Config = Annotated[str, typer.Option("--config", metavar="FILE", help="A TOML or YAML file of settings.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A guard as the options of a command describe it; what is left empty comes from settings."""

    facts: list[str] | None = None
    store: str = ""
    profile: str = ""
    model: bool = True
    config: str = ""
    tenant: str = ""

    def settings(self) -> GuardSettings:
        """Return the settings of the file, the environment and the options; the later one wins."""
        from director_ai.settings import GuardSettings  # noqa: PLC0415 - keeps `--help` quick

        check_identifier("tenant_id", self.tenant)
        given: dict[str, Any] = {"metrics": False}
        given |= {"profile": self.profile} if self.profile else {}
        given |= {"store": self.store} if self.store else {}
        given |= {} if self.model else {"use_nli": False, "search": "words"}
        return GuardSettings.load(self.config or None, **given)


@contextlib.contextmanager
def opened_guard(wanted: Wanted) -> Iterator[ProductionGuard]:
    """Lend a guard that judges by the facts that were named; those of files are kept nowhere."""
    if wanted.facts and wanted.store:
        raise ConfigError("give --facts or --store, not both; `facts ingest` puts documents into a store")
    settings = wanted.settings()
    from director_ai.guard import ProductionGuard  # noqa: PLC0415 - as above
    from director_ai.knowledge.store import GroundTruthStore, VectorGroundTruthStore  # noqa: PLC0415 - as above

    if wanted.facts:
        kind = GroundTruthStore if settings.search == "words" else VectorGroundTruthStore
        with kind() as base, ProductionGuard(settings, store=base) as guard:
            for name in wanted.facts:
                _load(guard, name)
            yield guard
        return
    place = _place(settings.store)
    with opened_store(place, words=settings.search == "words") as base, ProductionGuard(settings, store=base) as guard:
        yield guard


def _place(store: str) -> str:
    if store != ":memory:":
        return store
    if not Path(DEFAULT_STORE).exists():
        raise ConfigError("there is nothing to judge by; give --facts FILE, or --store with a knowledge base")
    return DEFAULT_STORE


def _load(guard: ProductionGuard, name: str) -> None:
    """Load the facts of a file: a JSON object, or what `facts ingest` reads."""
    if Path(name).is_dir():
        raise ConfigError(f"{name!r} is a folder; name its files, or put them into a store with `facts ingest`")
    if Path(name).suffix.lower() != ".json":
        with progress_bar("reading facts", None) as told:
            guard.ingest(name, replace=True, progress=lambda facts: told(0, facts))
        return
    with opened_text(name) as stream:
        try:
            facts = json.load(stream)
        except (ValueError, RecursionError):
            raise ConfigError(f"{name!r} is not JSON; it must hold an object with a text for each key") from None
    if not isinstance(facts, dict) or not all(isinstance(text, str) for text in facts.values()):
        raise ConfigError(f"{name!r} must hold an object with a text for each key")
    guard.load_facts(facts, replace=True)
