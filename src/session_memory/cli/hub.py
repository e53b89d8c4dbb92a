"""`session-memory hub`: run a team's hub, and decide who may use it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, safe, table
from session_memory.errors import ConfigError, SessionMemoryError, UsageError, extra_hint

if TYPE_CHECKING:
    from session_memory.hub.database import Pool
    from session_memory.hub.server import Places

Callback = TypeVar("Callback", bound=Callable[..., Any])
DEFAULT_PORT = 8787


def _needed(value: str | None, name: str) -> str:
    """A value that an option or its variable gives."""
    if not value:
        variable = f"HUB_{name.upper()}"
        raise UsageError(f"--{name} is needed", hint=f"give --{name}, or set {variable}")
    return value


def database_option(callback: Callback) -> Callback:
    """`--database`."""
    return option(
        "--database",
        envvar="HUB_DATABASE",
        metavar="URL",
        help="postgresql://USER@HOST/NAME, or HUB_DATABASE.",
    )(callback)


def storage_options(callback: Callback) -> Callback:
    """`--objects` and `--vault`."""
    objects = option(
        "--objects",
        envvar="HUB_OBJECTS",
        metavar="PLACE",
        help="Texts: s3://BUCKET/PREFIX or a directory, or HUB_OBJECTS.",
    )
    vault = option(
        "--vault",
        envvar="HUB_VAULT",
        metavar="PLACE",
        help="Their keys, in no backup: the same, or HUB_VAULT.",
    )
    return objects(vault(callback))


team_option = option("--team", required=True, metavar="NAME", help="The team's name.")


@contextmanager
def needing_packages() -> Generator[None]:
    """Explain how to install what a hub needs, and report errors of the database."""
    try:
        import obstore as _obstore
        import psycopg

        del _obstore
    except ImportError as error:
        raise ConfigError(
            f"a hub needs packages that are not installed ({error.name})", hint=extra_hint("hub")
        ) from None
    try:
        yield
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SessionMemoryError(
            f"database: {reason}", hint="check --database, or run `session-memory hub doctor`"
        ) from None


@contextmanager
def pool_of(option: str | None) -> Generator[Pool]:
    """A few connections for one command."""
    url = _needed(option, "database")
    with needing_packages():
        import psycopg

        from session_memory.hub.database import open_pool

        psycopg.connect(url, connect_timeout=5).close()  # a pool would try for a long time
        with open_pool(url, size=2) as pool:
            yield pool


def _places(database: str | None, objects: str | None, vault: str | None) -> Places:
    """Where the hub is, once every place is named."""
    with needing_packages():
        from session_memory.hub.server import Places

    return Places(
        _needed(database, "database"), _needed(objects, "objects"), _needed(vault, "vault")
    )


@click.command(name="init")
@database_option
@option("--role", default="session_memory_hub", show_default=True, metavar="NAME",
              help="The role that serves.")  # fmt: skip
@option("--password-file", type=click.Path(dir_okay=False, path_type=Path),
              help="Set the role's password to the first line of this file.")  # fmt: skip
@json_option
@pass_app
def init(app: App, database: str | None, role: str, password_file: Path | None) -> None:
    """Make or update schema, role and row-level security.

    Run it as the owner of the database, who may make roles; `hub serve` then uses the role. Run it
    again after an upgrade; at any other time that changes nothing.

    \b
    Examples:
      session-memory hub init --database postgresql://postgres@localhost/hub
    """
    password = None
    if password_file is not None:
        try:
            password = password_file.read_text(encoding="utf-8").splitlines()[0]
        except (OSError, IndexError, UnicodeDecodeError):
            raise ConfigError(f"{password_file} has no password in its first line") from None
    with needing_packages():
        from session_memory.hub import schema

        applied = schema.make(_needed(database, "database"), role, password)
        newest = schema.newest()
    if app.json:
        emit_json({"role": role, "schema": newest, "applied": applied})
    else:
        done = f"applied {len(applied)} migrations" if applied else "nothing to change"
        click.echo(f"schema {newest}, role {safe(role)}: {done}")


@click.command(name="serve")
@database_option
@storage_options
@option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True,
              help="0: any free one.")  # fmt: skip
@option("--tls-cert", metavar="FILE", help="A certificate, in PEM.")
@option("--tls-key", metavar="FILE", help="Its key.")
@option("--behind-proxy", is_flag=True, help="A proxy in front of it speaks TLS.")
def serve(
    *,
    database: str | None,
    objects: str | None,
    vault: str | None,
    host: str,
    port: int,
    tls_cert: str | None,
    tls_key: str | None,
    behind_proxy: bool,
) -> None:
    """Serve the hub until it is stopped.

    It is stateless: run as many at the same time as you like. It refuses (exit 8) as a
    superuser or a role that bypasses row-level security, and without TLS where other machines can
    reach it.

    \b
    Examples:
      session-memory hub serve --objects s3://team-texts --vault /srv/hub-vault
      session-memory hub serve --host 0.0.0.0 --tls-cert hub.pem --tls-key hub.key
    """
    with needing_packages():
        from session_memory.hub.server import Listening
        from session_memory.hub.server import serve as run

        listening = Listening(host, port, tls_cert, tls_key, behind_proxy)
        run(_places(database, objects, vault), listening, lambda link: click.echo(f"hub at {link}"))


@click.command(name="doctor")
@database_option
@storage_options
@json_option
@pass_app
def doctor(app: App, database: str | None, objects: str | None, vault: str | None) -> None:
    """Check rights, schema, row-level security and storage.

    Exit code 0 where all is well, 1 where the hub must not be served.

    \b
    Examples:
      session-memory hub doctor
    """
    with needing_packages():
        from session_memory.hub.check import check

        places = _places(database, objects, vault)
        findings = check(places.database, places.texts())
    ok = all(finding.ok for finding in findings)
    if app.json:
        emit_json({"ok": ok, "findings": findings})
    else:
        for finding in findings:
            click.echo(f"{'ok  ' if finding.ok else 'FAIL'}  {safe(finding.what)}")
            if not finding.ok:
                click.echo(f"      {safe(finding.hint)}")
    if not ok:
        raise click.exceptions.Exit(1)


@click.command(name="restore")
@database_option
@storage_options
@json_option
@pass_app
def restore(app: App, database: str | None, objects: str | None, vault: str | None) -> None:
    """Apply what was forgotten since a backup to the database restored from it.

    Run it after the database was restored and before anybody reads it; `hub serve` does the same
    when it starts. Laptops then send and fetch everything again.

    \b
    Examples:
      session-memory hub restore
    """
    places = _places(database, objects, vault)
    with pool_of(places.database) as pool:
        from session_memory.hub.erase import finish
        from session_memory.hub.forget import replay

        texts = places.texts()
        applied = replay(pool, texts)
        finish(pool, texts)
    if app.json:
        emit_json({"applied": applied})
    else:
        click.echo(f"applied {applied} decisions of the journal that were missing in the database")


@click.command(name="invite")
@database_option
@team_option
@option("--project", "projects", multiple=True, metavar="KEY",
              help="Only this project, such as github.com/acme/shop; may be repeated.")  # fmt: skip
@option("--member", metavar="ID", help="A further device of this member.")
@option("--days", type=click.IntRange(1, 365), default=7, show_default=True,
              help="How long the invite can be used.")  # fmt: skip
@option("--device-days", type=click.IntRange(1), metavar="DAYS",
              help="How long the device's token is valid.")  # fmt: skip
@option("--url", default="https://HUB", metavar="URL", help="The hub's address, to be shown.")
@json_option
@pass_app
def invite(
    app: App,
    *,
    database: str | None,
    team: str,
    projects: tuple[str, ...],
    member: str | None,
    days: int,
    device_days: int | None,
    url: str,
) -> None:
    """Make an invite for one device; the team is made with the first.

    \b
    Examples:
      session-memory hub invite --team acme
      session-memory hub invite --team acme --project github.com/acme/shop --days 2
      session-memory hub invite --team acme --member 3348a490a49f83f5    a second laptop of a member
    """
    with pool_of(database) as pool:
        from session_memory.hub import admin

        wanted = admin.Invitation(team, projects or ("*",), member, days, device_days)
        made = admin.invite(pool, wanted, datetime.now(UTC))
    if app.json:
        emit_json(made)
        return
    click.echo(f"session-memory team join {safe(url)} {made.token}")
    app.note(f"for one device, until {made.expires_at:%Y-%m-%d}; the token is not shown again")


@click.command(name="devices")
@database_option
@team_option
@json_option
@pass_app
def devices(app: App, database: str | None, team: str) -> None:
    """List devices and open invites of a team.

    \b
    Examples:
      session-memory hub devices --team acme
    """
    with pool_of(database) as pool:
        from session_memory.hub import admin

        known_devices = admin.devices(pool, team, datetime.now(UTC))
    if app.json:
        emit_json({"devices": known_devices})
        return
    lines = [
        (each.id, each.state, each.display_name or f"({each.kind})", each.name, each.member or "",
         ", ".join(each.projects), each.seen_on or "never")
        for each in known_devices
    ]  # fmt: skip
    click.echo(table(lines, ("id", "state", "who", "device", "member", "projects", "seen")))


@click.command(name="revoke")
@click.argument("id")
@database_option
@storage_options
@team_option
@json_option
@pass_app
def revoke(
    app: App, *, id: str, database: str | None, objects: str | None, vault: str | None, team: str
) -> None:
    """End the token of a device or invite ID at once.

    \b
    Examples:
      session-memory hub revoke d440fd7109ba43fe --team acme
    """
    places = _places(database, objects, vault)
    with pool_of(places.database) as pool:
        from session_memory.hub import admin

        kind = admin.revoke(pool, places.texts(), team, id)
    if app.json:
        emit_json({"revoked": id, "kind": kind})
    else:
        click.echo(f"revoked {kind} {safe(id)}")


@click.command(name="audit")
@database_option
@team_option
@option("--limit", type=click.IntRange(1, 100_000), default=50, show_default=True)
@json_option
@pass_app
def audit(app: App, database: str | None, team: str, limit: int) -> None:
    """List the newest requests of a team's devices.

    \b
    Examples:
      session-memory hub audit --team acme --limit 200
    """
    with pool_of(database) as pool:
        from session_memory.hub import admin

        requests = admin.audit(pool, team, limit)
    if app.json:
        emit_json({"requests": requests})
        return
    lines = [
        (f"{each.at:%Y-%m-%d %H:%M:%S}", each.device or "", each.action, each.project or "",
         str(each.status), str(each.items), str(each.bytes))
        for each in requests
    ]  # fmt: skip
    click.echo(table(lines, ("at", "device", "request", "project", "status", "items", "bytes")))


@click.command(name="audit-prune")
@database_option
@option("--keep-days", type=click.IntRange(1, 36_500), required=True, metavar="DAYS",
              help="Delete requests that are older.")  # fmt: skip
@option("--dry-run", is_flag=True, help="Only count them.")
@json_option
@pass_app
def audit_prune(app: App, database: str | None, keep_days: int, *, dry_run: bool) -> None:
    """Delete old requests of all teams from the audit, as the owner of the database.

    The role that serves cannot: it must not be able to hide what was done with it.

    \b
    Examples:
      session-memory hub audit-prune --database postgresql://owner@db/hub --keep-days 365
    """
    before = datetime.fromtimestamp(app.clock() / 1000, UTC) - timedelta(days=keep_days)
    with needing_packages():
        from session_memory.hub import admin

        count = admin.prune_audit(_needed(database, "database"), before, dry_run=dry_run)
    if app.json:
        emit_json({"requests": count, "before": before.isoformat(), "dry_run": dry_run})
    else:
        click.echo(f"{'would delete' if dry_run else 'deleted'} {count} requests"
                   f" before {before:%Y-%m-%d}")  # fmt: skip
