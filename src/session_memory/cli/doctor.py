"""`session-memory doctor`: check the installation and suggest fixes."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Any

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.digest import old_digests_text
from session_memory.cli.doctor_fixes import Fixes, fix_all
from session_memory.cli.doctor_places import check_owner, check_space, open_to_others
from session_memory.cli.doctor_wiring import guarded, wiring_checks
from session_memory.cli.options import option
from session_memory.cli.output import (
    Meaning,
    columns,
    counted,
    emit_json,
    hanging,
    human_time,
    one_line,
    paint,
)
from session_memory.cli.store import reading
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, SessionMemoryError, StoreMissing
from session_memory.ingest.last_sweep import LastSweep, read_last_sweep
from session_memory.ingest.missing import missing_parts
from session_memory.ingest.no_record import unread_logs
from session_memory.install.checks import NOT_WIRED, Check
from session_memory.paths import no_directory
from session_memory.store.damage import damaged_copies, known_damage
from session_memory.store.directory import check_directory, file_system
from session_memory.store.marks import read_marks
from session_memory.store.port import (
    CaptureStore,
    DistilStore,
    MaintenanceStore,
    SessionReader,
)
from session_memory.store.swap import ASIDE
from session_memory.store.unfinished import is_marked

STALE_DAYS = 7
DAY_MS = 86_400_000
_MEANINGS: dict[str, Meaning] = {"pass": "ok", "warn": "warn", "fail": "error"}
FULL_WIDTH = 60
"""Columns from which fixes stand below what they fix."""


@click.command(name="doctor")
@option("--fix", is_flag=True, help="Fix what needs no question, then check again.")
@option("--dry-run", is_flag=True, help="With --fix: only say what would be fixed.")
@option("--quick", is_flag=True, help="Do not try out the hook, worker and server.")
@json_option
@pass_app
def command(app: App, *, fix: bool, dry_run: bool, quick: bool) -> int:
    """Check the store and how agents are wired, and suggest fixes.

    Looks at the disk, the owner and the modes of our files, the database, the last sweep, what
    agents run, managed settings that stop hooks or the MCP server, agents that are too old, and
    repositories wired with `init --project`. Sends a made-up session through hook, worker and
    search in a temporary directory, and starts the MCP server once.

    `--fix` renews what we wrote and is old, and makes our files private; it wires no agent that was
    not wired. `uninstall` undoes what it writes into files of agents.

    Exit code 0: no problems. 3: warnings. 1: failures.

    \b
    Examples:
      session-memory doctor
      session-memory doctor --fix --dry-run
      session-memory doctor --fix
      session-memory doctor --quick --json
    """
    if dry_run and not fix:
        raise click.UsageError("--dry-run goes with --fix", click.get_current_context())
    fixes = fix_all(app, dry_run=dry_run) if fix else Fixes()
    checks = all_checks(app, quick=quick)
    counts = Counter(check.result for check in checks)
    if app.json:
        emit_json(
            {
                "checks": checks,
                "counts": {result: counts[result] for result in _MEANINGS},
                "fixed": fixes.done,
                "not_fixed": fixes.failed,
                "would_fix": fixes.planned,
            }
        )
    else:
        _show(fixes, checks)
        click.echo(_count_line(_folded(checks), fixed=fix and not dry_run))
    if counts["fail"]:
        return 1
    return EXIT_WARNINGS if counts["warn"] else EXIT_OK


def all_checks(app: App, *, quick: bool) -> list[Check]:
    """Everything the doctor looks at; `quick` leaves out what is tried by running it."""
    return [*_checks(app), *wiring_checks(app, quick=quick)]


def _show(fixes: Fixes, checks: list[Check]) -> None:
    for lead, texts in (
        (paint("fixed ", "ok"), fixes.done),
        (paint("not fixed ", "error"), fixes.failed),
        ("would ", fixes.planned),
    ):
        for text in texts:
            click.echo("\n".join(hanging(lead, one_line(text), columns())))
    width = max(12, *(len(check.name) for check in checks))
    for check in _folded(checks):
        lead = f"{paint(check.result, _MEANINGS[check.result])}  {check.name:<{width}} "
        click.echo("\n".join(hanging(lead, one_line(check.detail), columns())))
        if check.fix and check.result != "pass":
            indent = width + 7 if (columns() or FULL_WIDTH) >= FULL_WIDTH else 6
            click.echo("\n".join(hanging(f"{'':{indent}}fix: ", one_line(check.fix), columns())))


def _folded(checks: list[Check]) -> list[Check]:
    """The checks with all agents that are not wired in one line, where there are several."""
    agents = [check for check in checks if check.detail == NOT_WIRED]
    if len(agents) < 2:
        return checks
    names = ", ".join(check.name for check in agents)
    joined = Check(
        NOT_WIRED, "warn", names, "session-memory init, or with --agent NAME or --skip NAME"
    )
    first = checks.index(agents[0])
    return [c for c in [*checks[:first], joined, *checks[first:]] if c not in agents]


def _count_line(checks: list[Check], *, fixed: bool) -> str:
    counts = Counter(check.result for check in checks)
    text = f"{counts['pass']} fine"
    for result, name in (("warn", "warning"), ("fail", "failure")):
        if counts[result]:
            text += f", {counts[result]} {name}{'s' * (counts[result] != 1)}"
    fixable = sum(check.fixable and check.result != "pass" for check in checks)
    if fixable and not fixed:
        text += f"; `session-memory doctor --fix` does {fixable} of the fixes"
    return text


def _checks(app: App) -> Iterator[Check]:
    directory = str(app.paths.data)
    places = (app.paths.data, app.paths.state)
    yield _directory(directory)
    yield from guarded("space", lambda: [check_space(places)])
    yield from guarded("owner", lambda: [check_owner(places, current_user(), user_name)])
    state = app.paths.state
    if state.exists() and not state.is_dir():
        problem = no_directory(state)
        yield Check("state", "fail", problem.message, problem.hint)
    try:
        with reading(app) as store:
            yield _integrity(store)
            yield _pending(store)
            yield from _old_digests(store)
            yield from _incomplete(store)
            yield from _unread(store)
            yield from _clones(store)
    except StoreMissing as error:
        yield Check("store", "warn", error.message, "session-memory sweep")
        return
    except SessionMemoryError as error:
        yield Check("store", "fail", error.message, error.hint)
        return
    except OSError as error:
        yield Check("store", "fail", f"it cannot be read: {error}", "see the owner and the modes")
        return
    yield _damage(directory)
    yield _marks(directory)
    yield from guarded("old stores", lambda: [_replaced_stores(directory)])
    yield from guarded("modes", lambda: [_modes(directory)])
    yield _unfinished(directory)
    yield from _last_sweep(app)


ADD_CHECKSUMS = "`session-memory store repair --layer checksums --apply` adds them"


def current_user() -> int | None:
    """The user that files of ours must belong to; None on a system without such numbers."""
    return os.geteuid() if os.name == "posix" else None


def user_name(user: int) -> str:
    """The name of a user, or the number where it has none."""
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _directory(directory: str) -> Check:
    try:
        check_directory(directory)
    except SessionMemoryError as error:
        return Check("place", "fail", error.message, error.hint)
    kind = file_system(directory)
    return Check("place", "pass", f"{directory}{f' ({kind})' if kind else ''}")


def _integrity(store: MaintenanceStore) -> Check:
    detail = store.quick_check()
    if detail == "ok":
        info = store.info()
        checked = "page checksums" if info.page_checksums else f"no page checksums: {ADD_CHECKSUMS}"
        return Check("database", "pass", f"sound, schema {info.schema_version}, {checked}")
    return Check("database", "fail", detail, "session-memory store repair")


def _damage(directory: str) -> Check:
    damage = known_damage(directory)
    if damage is not None:
        return Check("damage", "fail", damage.message, "session-memory store repair")
    if copies := damaged_copies(directory):
        detail = f"kept after a repair: {', '.join(copies)}"
        return Check("damage", "warn", detail, "session-memory store repair --delete-kept")
    return Check("damage", "pass", "no damaged database is kept here")


def _pending(store: DistilStore) -> Check:
    waiting = len(store.unanalyzed())
    if waiting:
        detail = f"{counted(waiting, 'session')} still without a digest"
        return Check("digests", "warn", detail, "session-memory sweep")
    lost = store.undistilled()
    if not lost:
        return Check("digests", "pass", "every session is distilled")
    without_logs = [session for session in lost if not any(map(os.path.exists, session.paths))]
    names = ", ".join(session.external_id for session in lost)
    detail = f"{len(lost)} sessions lost raw text before it was distilled: {names}"
    if len(without_logs) < len(lost):
        return Check("digests", "warn", detail, "session-memory sweep reads their logs again")
    fix = "put their logs back and sweep, or `session-memory forget --session ID`"
    return Check("digests", "warn", f"{detail}; their logs are gone", fix)


def _old_digests(store: SessionReader) -> Iterator[Check]:
    """Digests that an older version of the program made; nothing is wrong with them."""
    if detail := old_digests_text(store.old_digests()):
        yield Check("old digests", "pass", detail)


def _incomplete(store: CaptureStore) -> Iterator[Check]:
    """Logs that lacked a part when they were read."""
    for part in missing_parts(store):
        fix = "if you moved or deleted that file, put it back and run session-memory sweep"
        yield Check("log parts", "warn", part.description, fix)


def _unread(store: CaptureStore) -> Iterator[Check]:
    """Files that are named like logs and hold no record."""
    for path in unread_logs(store):
        fix = (
            "raise ingest.line_cap_bytes if it is larger than that;"
            " if it is no log of yours, move it away or add it to sources.exclude_paths"
        )
        yield Check("logs", "warn", f"nothing could be read from {path}", fix)


def _clones(store: SessionReader) -> Iterator[Check]:
    """Projects with one remote: they may be clones of one repository, which only the user knows."""
    by_remote: dict[str, list[str]] = {}
    for project in store.projects():
        if project.remote:
            by_remote.setdefault(project.remote, []).append(project.key)
    for remote, (first, *others) in by_remote.items():
        for other in others:
            detail = f"{other} and {first} have the same remote, {remote}: are they one project?"
            fix = f"session-memory project merge {shlex.quote(other)} {shlex.quote(first)}"
            yield Check("projects", "pass", f"{detail} {fix}", fix)


def _marks(directory: str) -> Check:
    """Forget marks are also kept outside the database."""
    try:
        marks = read_marks(directory)
    except SessionMemoryError as error:
        return Check("forget marks", "fail", error.message, error.hint)
    if marks is None:
        return Check("forget marks", "warn", "not written yet", "session-memory sweep")
    return Check("forget marks", "pass", "kept next to the database")


def _replaced_stores(directory: str) -> Check:
    """Stores that `store restore` replaced: they take space, and hold what is forgotten later."""
    old_stores = sorted(name for name in os.listdir(directory) if name.startswith(ASIDE))
    if not old_stores:
        return Check("old stores", "pass", "no restore left one behind")
    detail = (
        f"{len(old_stores)} replaced by a restore, such as {os.path.join(directory, old_stores[0])}"
    )
    return Check("old stores", "pass", f"{detail}: delete it when you do not need it any more")


def _modes(directory: str) -> Check:
    """Only the owner can read files and folders of the store."""
    if os.name != "posix":
        return Check("modes", "pass", "not checked on this system")
    if wide := open_to_others(directory):
        count = counted(len(wide), "file")
        detail = f"{count} others may read, such as {next(iter(wide))}"
        return Check(
            "modes", "fail", detail, f"chmod -R go= {shlex.quote(directory)}", fixable=True
        )
    return Check("modes", "pass", "only you can read the store")


def _unfinished(directory: str) -> Check:
    if is_marked(directory):
        detail = "the last sweep did not end, or one is running"
        return Check("last run", "warn", detail, "session-memory sweep")
    return Check("last run", "pass", "finished")


def _last_sweep(app: App) -> Iterator[Check]:
    last = read_last_sweep(app.paths.last_sweep)
    if last is None or not last.finished_at:
        yield Check("last sweep", "warn", "never", "session-memory sweep")
    else:
        old = app.clock() - last.finished_at > STALE_DAYS * DAY_MS
        detail = human_time(last.finished_at, app.clock())
        yield Check("last sweep", "warn" if old else "pass", detail, "session-memory sweep")
    if last is not None:
        yield from _failures(last)


def _failures(last: LastSweep) -> Iterator[Check]:
    """What went wrong in the last sweep, by kind; the next sweep retries it."""
    if last.error:
        detail = f"the last sweep stopped: {last.error}"
        yield Check("sweep", "fail", detail, "session-memory sweep")
    failed: list[dict[str, Any]] = last.report.get("failed", [])
    for deferred, name in ((False, "log files"), (True, "put off")):
        files = [file for file in failed if bool(file.get("deferred")) is deferred]
        if files:
            first = f"{files[0].get('path')}: {files[0].get('reason')}"
            fix = (
                "make the named file readable for you, or delete it; then session-memory sweep"
                if deferred
                else "see the reason, often the path's permissions; then session-memory sweep"
            )
            yield Check(name, "warn", f"{len(files)} not read, such as {first}", fix)
    steps: list[dict[str, Any]] = last.report.get("failed_steps", [])
    if steps:
        first = f"{steps[0].get('step')} of {steps[0].get('what')}: {steps[0].get('reason')}"
        fix = "session-memory sweep; if it fails again, session-memory store fsck and report it"
        yield Check("steps", "warn", f"{len(steps)} failed, such as {first}", fix)
    unknown: dict[str, int] = last.report.get("unknown", {})
    if unknown:
        name = max(unknown, key=lambda key: unknown[key])
        detail = f"{sum(unknown.values())} records of unknown type, such as {name}"
        yield Check("log formats", "warn", detail, "upgrade session-memory, or report the type")
