"""`director-ai keys`: who may use a server; keys are made, listed, rotated and revoked in its database."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Annotated

import typer

from director_ai.cli.facts_show import print_table, say, shown, table, write_json
from director_ai.cli.facts_store import login_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from director_ai.serve.keys import ApiKey, IssuedKey, KeyStore

__all__ = ["keys_app"]

DAY = 86_400.0
NOTHING_FOUND = 1

keys_app = typer.Typer(
    help="Make, list, rotate and revoke the keys of a server. Exit status: 0 done, 1 nothing found, 2 bad input or a "
    "database that cannot be used.",
    epilog="For example: `director-ai keys create --tenant acme --scope proxy`, then `director-ai keys list` and "
    "`director-ai keys revoke dai_1a2b3c4d`.",
    no_args_is_help=True,
)

Config = Annotated[
    str, typer.Option("--config", envvar="DIRECTOR_AI_SERVER_CONFIG", help="The settings of the server.")
]
Db = Annotated[
    str,
    typer.Option(
        "--db",
        envvar="DIRECTOR_AI_SERVER_DATABASE",
        help="The server's database, instead of the one in its settings.",
        show_default="director.db",
    ),
]
By = Annotated[str, typer.Option("--by", envvar="DIRECTOR_AI_USER", help="Who does it.", show_default="the login name")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line, and nothing else.")]
Prefix = Annotated[str, typer.Argument(help="The visible part of a key, such as dai_1a2b3c4d.", show_default=False)]


@keys_app.command("create", epilog="For example: `director-ai keys create --tenant acme --scope proxy --days 90`")
def create(  # noqa: PLR0913, PLR0917 - the options of a command
    scope: Annotated[list[str], typer.Option("--scope", help="proxy, reviewer or admin; may be given more than once.")],
    tenant: Annotated[
        str, typer.Option("--tenant", help="Whose key; without it, an operator's, who acts on all.", metavar="ID")
    ] = "",
    label: Annotated[str, typer.Option("--label", help="What it is for, in your words.")] = "",
    days: Annotated[
        float | None, typer.Option("--days", min=0.001, max=3_650, help="When it ends; without it, it does not.")
    ] = None,
    shows_evidence: Annotated[
        bool, typer.Option("--shows-evidence", help="Clients with it see the text of evidence.")
    ] = False,
    shows_reasoning: Annotated[
        bool, typer.Option("--shows-reasoning", help="Clients with it see the model's reasoning.")
    ] = False,
    config: Config = "",
    db: Db = "",
    by: By = "",
    as_json: AsJson = False,
) -> None:
    """Make a key and print it, this once."""
    _check_rights(tenant, scope)  # before a database is made
    with opened_keys(config, db) as keys:
        issued = keys.create(
            tenant,
            scope,
            label=label,
            expires_after=None if days is None else days * DAY,
            shows_evidence=shows_evidence,
            shows_reasoning=shows_reasoning,
            by=_who(by),
        )
    _print_issued(issued, as_json=as_json)


@keys_app.command("list", epilog="For example: `director-ai keys list --tenant acme`")
def list_keys(
    tenant: Annotated[str | None, typer.Option("--tenant", help="Only this tenant's.", metavar="ID")] = None,
    config: Config = "",
    db: Db = "",
    as_json: AsJson = False,
) -> None:
    """List keys by their visible parts; the keys themselves are kept nowhere."""
    with opened_keys(config, db, makes=False) as keys:
        found = keys.keys_of(tenant)
    if as_json:
        write_json(key.to_dict() for key in found)
    elif found:
        _print_table(found)
    if not found:
        say("no keys", error=True)
        raise typer.Exit(NOTHING_FOUND)


@keys_app.command("revoke", epilog="For example: `director-ai keys revoke dai_1a2b3c4d`")
def revoke(prefix: Prefix, config: Config = "", db: Db = "", by: By = "", as_json: AsJson = False) -> None:
    """Revoke a key: within five seconds a running server refuses it, and its open streams end."""
    with opened_keys(config, db, makes=False) as keys:
        revoked = keys.revoke(prefix, by=_who(by))
    if as_json:
        write_json([revoked.to_dict()])
    else:
        say(f"{revoked.prefix} is revoked")


@keys_app.command("rotate", epilog="For example: `director-ai keys rotate dai_1a2b3c4d`")
def rotate(prefix: Prefix, config: Config = "", db: Db = "", by: By = "", as_json: AsJson = False) -> None:
    """Revoke a key, and print one with the same rights that takes its place."""
    with opened_keys(config, db, makes=False) as keys:
        issued = keys.rotate(prefix, by=_who(by))
    _print_issued(issued, as_json=as_json)


@contextlib.contextmanager
def opened_keys(config: str, db: str, *, makes: bool = True) -> Iterator[KeyStore]:
    """Lend the keys of a server's database; only a command that `makes` one creates it."""
    from pathlib import Path  # noqa: PLC0415 - keeps `--help` quick

    from director_ai.errors import ConfigError  # noqa: PLC0415 - as above
    from director_ai.record.trail import AuditTrail  # noqa: PLC0415 - as above
    from director_ai.serve.keys import KeyStore, UnknownKey  # noqa: PLC0415 - as above
    from director_ai.serve.settings import ServerSettings  # noqa: PLC0415 - as above

    settings = ServerSettings.load(config or None, database=db or None)
    if settings.database == ":memory:":
        raise ConfigError("keys in memory are gone with the command; give --db a file or a postgresql:// URL")
    if not makes and "://" not in settings.database and not Path(settings.database).is_file():
        raise ConfigError(f"there is no database at {settings.database!r}; `director-ai keys create` makes one")
    with AuditTrail(
        settings.database, checkpoints=settings.checkpoints or None, signing_key=settings.signing_key or None
    ) as trail:
        try:
            yield KeyStore(trail)
        except UnknownKey as error:
            say(f"director-ai: {error}", error=True)
            raise typer.Exit(NOTHING_FOUND) from None


def _who(by: str) -> str:
    """Return who acts, as a record may hold it."""
    from director_ai.core.identifiers import check_identifier  # noqa: PLC0415 - as above
    from director_ai.errors import ConfigError  # noqa: PLC0415 - as above

    if by:
        return check_identifier("--by", by)
    try:
        return check_identifier("the login name", login_name())
    except ConfigError:
        return ""


def _check_rights(tenant: str, scopes: list[str]) -> None:
    """Refuse what no key can be for."""
    from director_ai.core.identifiers import check_identifier  # noqa: PLC0415 - as above
    from director_ai.errors import UnknownOption  # noqa: PLC0415 - as above
    from director_ai.serve.callers import SCOPES  # noqa: PLC0415 - as above

    check_identifier("--tenant", tenant)
    for each in scopes:
        if each not in SCOPES:
            raise UnknownOption("scope", each, SCOPES)


def _print_issued(issued: IssuedKey, *, as_json: bool) -> None:
    if as_json:
        write_json([issued.key.to_dict() | {"secret": issued.secret}])
        return
    typer.echo(issued.secret)
    whose = issued.key.tenant_id or "no tenant: an operator's key"
    say(f"{' + '.join(issued.key.scopes)} for {whose}. Keep it: it is not shown again.", error=True)


def _print_table(found: list[ApiKey]) -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    rows = table("key", "tenant", "scopes", "created", "ends", "state", "label")
    rows.columns[0].no_wrap = True
    for key in found:
        told = key.to_dict()
        over = Text("revoked" if key.revoked_at else "ended", "red")
        state = Text("valid", "green") if key.is_valid(time.time()) else over
        rows.add_row(
            key.prefix,
            key.tenant_id or "-",
            " ".join(key.scopes),
            str(told["created_at"])[:10],
            str(told["expires_at"] or "never")[:10],
            state,
            shown(key.label),
        )
    print_table(rows)
