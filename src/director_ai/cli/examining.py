"""What `director-ai doctor` looks at, one finding each."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import shutil
import sqlite3
import time
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from director_ai import __version__
from director_ai.cli.review_options import DEFAULT_DB
from director_ai.errors import DirectorError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EXTRAS", "Finding", "examine"]

State = Literal["ok", "note", "broken"]

NEEDED: Final = ("alembic", "anyio", "cryptography", "numpy", "onnxruntime", "prometheus_client", "regex", "sqlalchemy")
EXTRAS: Final = {
    "server": (("fastapi", "uvicorn", "aiohttp", "jinja2", "limits"), "the proxy and the review page"),
    "oidc": (("jwt",), "tokens of an identity provider"),
    "otel": (("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"), "spans and evaluation events"),
    "hooks": (("defusedxml", "owlrl", "pint", "jwt", "rdflib"), "physical actions, passports and ontologies"),
    "openai": (("httpx2",), "rewriters that ask an OpenAI-compatible endpoint"),
    "anthropic": (("httpx2",), "rewriters that ask Anthropic's"),
    "postgres": (("psycopg",), "the knowledge base, reviews and records in a server"),
    "pdf": (("pypdf",), "facts from PDF pages"),
    "pii": (("phonenumbers",), "phone numbers of all countries"),
    "jsonschema": (("jsonschema",), "the JSON schema check"),
    "yaml": (("yaml",), "settings in YAML"),
    "re2": (("re2",), "regular expressions in linear time"),
}
"""Modules of each extra, and what it is for."""
_NAMES: Final = {"yaml": "PyYAML", "jwt": "PyJWT", "re2": "google-re2"}
"""Of packages that are not called as their modules are."""
_MEGABYTE: Final = 1_000_000
_LITTLE, _TOO_LITTLE = 1_000 * _MEGABYTE, 50 * _MEGABYTE
_EARLIEST: Final = 1_767_225_600
"""The beginning of 2026: no clock that is right shows less."""


class Finding(NamedTuple):
    """What was found, and what to do where it is not well."""

    what: str
    state: State
    found: str
    advice: str = ""


def examine(config: str) -> Iterator[Finding]:
    """Yield what is found, the foundations first."""
    yield _python()
    yield _package()
    yield from _models()
    yield _settings(config)
    yield _facts(config)
    yield _records()
    yield from _extras()
    yield _disk()
    yield _clock()


def _python() -> Finding:
    found = f"{platform.python_implementation()} {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE found USING fts5(text)")
        except sqlite3.Error:
            return Finding("Python", "broken", found, "its SQLite has no full-text search; take another build of it")
    return Finding("Python", "ok", found)


def _package() -> Finding:
    at = str(Path(__file__).parent.parent)
    missing = [name for name in NEEDED if not _is_here(name)]
    if missing:
        advice = "pip install --force-reinstall . (in a checkout)"
        return Finding("director-ai", "broken", f"{__version__}, without {', '.join(missing)}", advice)
    return Finding("director-ai", "ok", f"{__version__} at {at}")


def _models() -> Iterator[Finding]:
    """Yield whether each bundled model is the one that was meant, and whether it says what it should."""
    try:
        from director_ai.nli import load_entailer  # noqa: PLC0415 - reported where it cannot be loaded
        from director_ai.nli.loading import BUNDLED  # noqa: PLC0415
        from director_ai.nli.manifest import FILES, read_file, read_manifest  # noqa: PLC0415
    except ImportError as error:
        yield Finding("model", "broken", f"cannot be loaded ({type(error).__name__})", "install director-ai again")
        return
    kinds: tuple[Literal["entailer", "encoder"], ...] = ("entailer", "encoder")
    for kind in kinds:
        try:
            manifest = read_manifest(BUNDLED / kind, kind)
            size = sum(len(read_file(BUNDLED / kind, name, manifest)) for name in FILES)
        except DirectorError as error:
            yield Finding(f"model {kind}", "broken", str(error), "install director-ai again")
            continue
        told = f"{manifest.name} {manifest.version}, {size / _MEGABYTE:.0f} MB, digest {manifest.digest[:12]}"
        yield Finding(f"model {kind}", "ok", told)
    started = time.perf_counter()
    try:
        (verdict,) = load_entailer().predict([("The shop opens at nine.", "The shop opens at nine.")])
    except (DirectorError, ImportError) as error:
        yield Finding("judging", "broken", f"failed ({type(error).__name__})", "install director-ai again")
        return
    told = f"a first judgement in {(time.perf_counter() - started) * 1e3:.0f} ms"
    is_well = verdict.supported > 0.5
    yield Finding("judging", "ok" if is_well else "broken", told, "" if is_well else "it says what cannot be right")


def _settings(config: str) -> Finding:
    from director_ai.cli.config import resolved  # noqa: PLC0415 - as above

    where = repr(Path(config).name) if config else "the environment"
    try:
        changed = [each for each in resolved(config) if each.origin != "default" and " " not in each.origin]
    except DirectorError as error:
        return Finding("settings", "broken", str(error), "director-ai config show says what holds")
    return Finding("settings", "ok", f"{len(changed)} set by {where}" if changed else "all by default")


def _facts(config: str) -> Finding:
    from director_ai.cli.facts_store import DEFAULT_STORE, opened_store  # noqa: PLC0415 - as above
    from director_ai.cli.guard_options import Wanted  # noqa: PLC0415

    try:
        store = Wanted(config=config).settings().store
    except DirectorError:  # told of above; a server's file is one of them
        store = os.environ.get("DIRECTOR_AI_STORE", "")
    place = store if store not in {"", ":memory:"} else DEFAULT_STORE
    if "://" not in place and not Path(place).exists():
        return Finding("knowledge base", "note", f"none at {place}", "director-ai facts add and facts ingest make one")
    try:
        with opened_store(place) as base:
            revision, some = base.revision, next(iter(base.facts()), None)
    except DirectorError as error:
        return Finding("knowledge base", "broken", str(error), "give --store another place, or restore the file")
    return Finding("knowledge base", "ok", f"revision {revision}" + ("" if some else ", no shared facts"))


def _records() -> Finding:
    """Open the database of reviews and records, where there is one."""
    named = os.environ.get("DIRECTOR_AI_REVIEW_DB") or os.environ.get("DIRECTOR_AI_SERVER_DATABASE")
    place = named or DEFAULT_DB
    if not named and not Path(place).exists():
        return Finding("reviews", "note", "no database here", "the first case, or director-ai serve, makes one")
    from director_ai.cli.audit_places import opened_database  # noqa: PLC0415 - as above

    try:
        with opened_database(place) as opened:
            opened.database.read(lambda _: None)
    except DirectorError as error:
        return Finding("reviews", "broken", str(error), "director-ai audit verify tells more")
    return Finding("reviews", "ok", f"{_masked(place)} opens")


def _masked(place: str) -> str:
    from director_ai.settings import GuardSettings  # noqa: PLC0415 - as above

    return str(GuardSettings(store=place).show()["store"])


def _extras() -> Iterator[Finding]:
    for extra, (modules, purpose) in EXTRAS.items():
        missing = [name for name in modules if not _is_here(name)]
        if not missing:
            yield Finding(f"extra {extra}", "ok", f"{purpose} ({_version(modules[0])})")
        else:
            advice = f"pip install '.[{extra}]'"
            yield Finding(f"extra {extra}", "note", f"{purpose}: not installed", advice)


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _version(module: str) -> str:
    name = _NAMES.get(module, module.replace(".", "-"))
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return "installed"


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    told = f"{free / 1e9:.1f} GB free here"
    if free < _TOO_LITTLE:
        return Finding("disk", "broken", told, "make room: records that cannot be written end every stream")
    return Finding("disk", "ok" if free >= _LITTLE else "note", told, "" if free >= _LITTLE else "make room soon")


def _clock() -> Finding:
    now = time.time()
    told = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    if now < _EARLIEST:
        return Finding("clock", "broken", told, "set it: approvals and keys expire by it")
    ahead = [name for name in (DEFAULT_DB, "facts.db") if _is_from_tomorrow(Path(name), now)]
    if ahead:
        return Finding("clock", "note", told, f"{ahead[0]} was written later than now; the clock went backwards")
    return Finding("clock", "ok", told)


def _is_from_tomorrow(path: Path, now: float) -> bool:
    try:
        return path.stat().st_mtime > now + 60
    except OSError:
        return False
