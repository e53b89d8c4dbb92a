"""`session-memory fleet`: detection, measuring and distilling over many machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.hub import database_option, pool_of, team_option
from session_memory.cli.options import option
from session_memory.cli.output import count_progress, emit_json, fit, human_bytes, one_line
from session_memory.cli.times import Moment, to_ms
from session_memory.errors import EXIT_WARNINGS, ConfigError, UsageError, extra_hint

if TYPE_CHECKING:
    from session_memory.fleet.detect import Mined
    from session_memory.fleet.export import Written
    from session_memory.fleet.location import Location
    from session_memory.fleet.port import Engine

_F = TypeVar("_F", bound=Callable[..., Any])
_SHOWN = 20
_HUB = ("postgresql://", "postgres://")


class _Options(NamedTuple):
    """What the verbs of a fleet have in common."""

    source: str | None
    team: str | None
    work: str | None
    scheduler: str | None
    workers: int | None
    tls_ca: str | None
    tls_cert: str | None
    tls_key: str | None
    plain: bool


_COMMON = (
    option(
        "--from",
        "source",
        metavar="DIR|URL",
        help="An export in Parquet, or postgresql://... of a hub. Without it, the local store.",
    ),
    option("--team", metavar="NAME", help="The team, where --from is a hub."),
    option("--work", metavar="DIR|URL", help="Where signals are kept.  [default: with the export]"),
    option("--scheduler", metavar="ADDRESS", help="A Dask scheduler, such as tls://head:8786."),
    option(
        "--workers", type=click.IntRange(1), help="Processes on this machine.  [default: its cores]"
    ),
    option("--tls-ca", metavar="FILE", help="The certificate that signed all others."),
    option("--tls-cert", metavar="FILE", help="Our certificate."),
    option("--tls-key", metavar="FILE", help="Its key."),
    option("--plain", is_flag=True, help="Talk to another machine without TLS."),
)


def _on_a_fleet(callback: _F) -> _F:
    """The options that say what to read and where to run, given to the verb as one value."""

    @wraps(callback)
    def run(*args: Any, **options: Any) -> object:
        common = _Options(**{name: options.pop(name) for name in _Options._fields})
        return callback(*args, common=common, **options)

    wrapped: Callable[..., Any] = run
    for common in reversed(_COMMON):
        wrapped = common(wrapped)
    return cast("_F", wrapped)


@click.command()
@option(
    "--min-frequency",
    type=click.IntRange(1),
    metavar="N",
    help="Everything that occurred at least N times, even in a single session; 1 shows all.",
)
@option("--limit", type=click.IntRange(1), default=_SHOWN, show_default=True)
@option("--all", "everything", is_flag=True, help="All, and what was left out and why.")
@option("--since", type=Moment(), help="Sessions since a date, time or span (7d).")
@option("--repo", metavar="KEY", help="Only sessions of this project.")
@_on_a_fleet
@json_option
@pass_app
@long_output
def detect(
    app: App,
    *,
    min_frequency: int | None,
    limit: int,
    everything: bool,
    since: str | None,
    repo: str | None,
    common: _Options,
) -> None:
    """Show what recurs, as `rules detect` does, over all sessions of an export.

    The answer is that of `rules detect` on one store with the same sessions. Signals are kept as
    Parquet: a second run mines only digests that are new. Nothing is saved for review.

    Without --scheduler it runs on the cores of this machine. Needs the extra `fleet`. Exit code 3:
    some files were damaged; they are named, and everything else was counted.

    \b
    Examples:
      session-memory fleet detect --from ~/parquet
      session-memory fleet detect --from s3://team/parquet --scheduler tls://head:8786
    """
    from session_memory.cli.detect import Shown, show

    now = app.clock()
    with _running(app, common) as fleet:
        from session_memory.fleet.detect import FleetQuery, detect_all

        query = FleetQuery(min_frequency, to_ms(since, now), repo)
        candidates = detect_all(fleet, query, now)
    show(app, candidates, Shown(limit, everything, min_frequency))
    _end(app, fleet.mining.damaged)


@click.command()
@_on_a_fleet
@json_option
@pass_app
@long_output
def measure(app: App, *, common: _Options) -> None:
    """Compare sessions before and after a rule was given, as `rules measure` does.

    Sessions come from the export; which rules there are, when they were given and what is under
    trial, from the catalog of this machine. Nothing is saved. Rules that agents know by their
    guards alone are left to `rules measure`.

    \b
    Examples:
      session-memory fleet measure --from ~/parquet --json
    """
    from session_memory.cli.measure import effect_row
    from session_memory.curate.catalog import read_catalog
    from session_memory.measure.report import report

    catalog = read_catalog(app.paths.data)
    with _running(app, common) as fleet:
        from session_memory.fleet.measure import measure_all
        from session_memory.measure.run import MeasureInput
        from session_memory.store.given_files import read_given
        from session_memory.store.guard_files import read_guards
        from session_memory.store.trial_files import read_trials

        data = app.paths.data
        material = MeasureInput(catalog.patterns, read_given(data), read_trials(data))
        measured = measure_all(fleet, material, app.config.measure, app.clock())
    if app.json:
        emit_json({"effects": [effect_row(effect) for effect in measured.effects]})
    else:
        texts = {name: pattern.current.text for name, pattern in catalog.patterns.items()}
        click.echo(fit(report(measured.effects, texts)))
    in_files = {giving.pattern_id for giving in (*material.given, *material.trials)}
    guarded = {giving.pattern_id for giving in read_guards(data).given} & catalog.patterns.keys()
    if left := guarded - in_files:
        app.note(f"not measured here: {len(left)} rules given by guards alone (`rules measure`)")
    _end(app, (*fleet.mining.damaged, *measured.damaged))


@click.command()
@option("--to", "target", metavar="DIR|URL", required=True, help="A new export.")
@option("--all", "everything", is_flag=True, help="Also what this version distilled.")
@_on_a_fleet
@json_option
@pass_app
def redistil(app: App, target: str, *, everything: bool, common: _Options) -> None:
    """Distil sessions again from their events, into a new export.

    For digests that an older version made. Needs an export with events (`fleet export --events`);
    sessions whose raw text was evicted keep their digests. The new export is complete: `fleet
    detect` reads it like the old one.

    \b
    Examples:
      session-memory fleet export --events ~/parquet
      session-memory fleet redistil --from ~/parquet --to ~/parquet-new
    """
    import msgspec

    _need_packages()
    from session_memory.fleet.dataset import Dataset
    from session_memory.fleet.redistil import redistil_all

    if common.source is not None and _address(common.source) == _address(target):
        raise UsageError("--to must differ from --from", hint="give a new folder")
    Dataset(_address(target)).check_writable()
    where = _checked(common, events=True)
    with _source(app, common, events=True) as source, _connected(app, where) as engine:
        done = redistil_all(engine, source, _address(target), everything=everything)
    if app.json:
        emit_json(msgspec.to_builtins(done))
    else:
        click.echo(
            fit(
                f"{done.distilled:,} of {done.sessions:,} sessions distilled again,"
                f" {done.changed:,} digests changed; {done.without_events:,} have no events here"
            )
        )
    _end(app, done.damaged)


@click.command()
@click.argument("target", metavar="DIR|URL")
@option("--events", is_flag=True, help="With the text of all events, for `fleet redistil`.")
@option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@json_option
@pass_app
def export(app: App, target: str, *, events: bool, dry_run: bool) -> None:
    """Write the store as Parquet: sessions, digests, signals, usage, effects and patterns.

    DuckDB, Polars, pandas and Spark read it; docs/scale.md lists the columns and shows queries.
    Exporting again renews the folder, and removes from it what was forgotten.

    \b
    Examples:
      session-memory fleet export ~/parquet
      session-memory fleet export --events s3://team/parquet
    """
    from session_memory.cli.store import reading
    from session_memory.store.values import SessionQuery

    _need_packages()
    from session_memory.fleet.dataset import Dataset
    from session_memory.fleet.export import Written, export_store

    with reading(app) as store, _disk_errors():
        if dry_run:
            done = Written(sessions=len(store.sessions(SessionQuery())))
        else:
            done = export_store(store, Dataset(_address(target)), events=events)
    _echo_written(app, target, done, dry_run=dry_run)


def _echo_written(app: App, target: str, done: Written, *, dry_run: bool) -> None:
    if app.json:
        emit_json(
            {
                "dry_run": dry_run,
                "target": target,
                "sessions": done.sessions,
                "digests": done.digests,
                "parts": done.parts,
                "bytes": done.bytes,
            }
        )
        return
    what = "would be written" if dry_run else f"{human_bytes(done.bytes)} written"
    click.echo(fit(f"{done.sessions:,} sessions, {what}: {one_line(target)}"))


@click.command(name="export")
@option("--parquet", "target", metavar="DIR|URL", required=True, help="Where to write it.")
@database_option
@team_option
@json_option
@pass_app
def hub_export(app: App, target: str, *, database: str | None, team: str) -> None:
    """Write what the members of a team share as Parquet, for `fleet detect` and other programs.

    Sessions, digests, signals, usage and effects, as docs/scale.md lists them. Sessions have the
    hub's numbers and hashed names; texts of events stay in the hub. Exporting again removes what
    was forgotten or is no longer shared.

    \b
    Examples:
      session-memory hub export --team acme --parquet s3://team/parquet
    """
    _need_packages()
    with pool_of(database) as pool, _disk_errors():
        from session_memory.fleet.dataset import Dataset
        from session_memory.fleet.hub import export_hub

        done = export_hub(pool, team, Dataset(_address(target)))
    _echo_written(app, target, done, dry_run=False)


@contextmanager
def _running(app: App, options: _Options) -> Generator[Mined]:
    """Connect, mine what is new, and hand over; a cluster of our own ends with this."""
    _need_packages()
    from session_memory.fleet.detect import Places, mine_all

    where = _checked(options, events=False)
    with _source(app, options, events=False) as source, _connected(app, where) as engine:
        places = Places(source, source if options.work is None else _address(options.work))
        fleet = mine_all(engine, places)
        mining = fleet.mining
        app.log(
            f"{mining.sessions:,} sessions, {mining.mined:,} digests mined now,"
            f" {human_bytes(mining.written)} of signals written"
        )
        yield fleet
        app.log(f"{human_bytes(engine.shuffled)} of results came from workers")


@contextmanager
def _connected(app: App, where: Location) -> Generator[Engine]:
    from session_memory.fleet.engine import connected

    with (
        count_progress("parts", shown=app.shows_progress) as advance,
        _disk_errors(),
        connected(where, advance) as engine,
    ):
        yield engine


def _checked(options: _Options, *, events: bool) -> Location:
    """Where to run; raises for what cannot work before anything is exported or started."""
    from session_memory.fleet.dataset import Dataset

    where = _where(options)
    if not _is_hub(options) and options.team is not None:
        raise UsageError("--team is for a hub", hint="give --from postgresql://... too")
    if _is_hub(options) and (options.team is None or events):
        raise UsageError(
            "a hub keeps the events of its sessions to itself" if events else "which --team?",
            hint="give --from the export of a store" if events else "give its name: --team NAME",
        )
    if options.source is not None and not _is_hub(options):
        Dataset(_address(options.source)).check("events" if events else "digests")
    elif options.scheduler is not None:
        raise UsageError(
            "--scheduler needs an export: other machines cannot read what this one would make",
            hint="`fleet export` and `hub export` write one to a place that all can read",
        )
    if options.work is not None:
        Dataset(_address(options.work)).check_writable()
    return where


def _where(options: _Options) -> Location:
    from session_memory.fleet.location import Location, Tls, check_location

    files = (options.tls_ca, options.tls_cert, options.tls_key)
    tls = None
    if any(name is not None for name in files):
        if not all(files):
            raise UsageError(
                "--tls-ca, --tls-cert and --tls-key belong together", hint="give all three"
            )
        tls = Tls(*(os.path.abspath(str(name)) for name in files))
    where = Location(options.scheduler, options.workers, tls, options.plain)
    check_location(where)
    return where


def _is_hub(options: _Options) -> bool:
    return options.source is not None and options.source.startswith(_HUB)


@contextmanager
def _source(app: App, options: _Options, *, events: bool) -> Generator[str]:
    """The export to read: the one that was named, or one of hub or store, just for this run."""
    if options.source is not None and not _is_hub(options):
        yield _address(options.source)
        return
    from session_memory.cli.store import reading
    from session_memory.fleet.dataset import Dataset
    from session_memory.fleet.export import export_store

    with TemporaryDirectory(prefix="session-memory-fleet-") as folder:
        if _is_hub(options):
            with pool_of(options.source) as pool:
                from session_memory.fleet.hub import export_hub

                export_hub(pool, str(options.team), Dataset(folder))
        else:
            with reading(app) as store, _disk_errors():
                export_store(store, Dataset(folder), events=events, signals=False)
        yield folder


@contextmanager
def _disk_errors() -> Generator[None]:
    """Turns errors of a full or read-only disk into plain messages."""
    from session_memory.errors import SessionMemoryError

    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise SessionMemoryError(
            f"cannot read or write{where}: {error.strerror or error}",
            hint="is the place there, and is there space? --work names another one for signals",
        ) from None


def _address(location: str) -> str:
    """A folder as every process of this machine can name it; an address as it is."""
    return (
        location
        if "://" in location or not location
        else os.path.abspath(os.path.expanduser(location))
    )


def _need_packages() -> None:
    missing = [name for name in ("distributed", "duckdb", "pyarrow") if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"a fleet needs packages that are not installed ({', '.join(missing)})",
            hint=extra_hint("fleet"),
        )


def _end(app: App, damaged: tuple[str, ...]) -> None:
    """Name what could not be read; the exit code says that something was left out."""
    for text in damaged:
        app.warn(f"left out: {one_line(text)}")
    if damaged:
        sys.stdout.flush()
        raise click.exceptions.Exit(EXIT_WARNINGS)
