"""The doctor's checks of agents and of what they run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec

from session_memory.adapters.registry import clients
from session_memory.adapters.shared_wiring.client import Client
from session_memory.cli import wiring
from session_memory.cli.app import App
from session_memory.cli.doctor_guards import guard_checks
from session_memory.cli.store import reading
from session_memory.errors import Refused, SessionMemoryError
from session_memory.install import checks, live, schedule_run
from session_memory.install.checks import Check
from session_memory.install.ledger import Ledger, read_ledger
from session_memory.install.policy_checks import check_policies
from session_memory.install.project_checks import check_here, check_projects
from session_memory.install.schedule import Kind
from session_memory.install.survey import present, project_root
from session_memory.install.version_checks import check_versions
from session_memory.store.values import SessionQuery
from session_memory.worker.spool_files import SpoolFiles

ENOUGH = 3
"""This many sessions without a call of our hook are not a coincidence."""


def wiring_checks(app: App, *, quick: bool) -> Iterator[Check]:
    """Every check of agents; an error in one does not stop the others."""
    launchers, context = wiring.launchers(app), wiring.context(app)
    ledgers: list[Ledger] = []
    yield from guarded("wiring", lambda: ledgers.append(read_ledger(launchers.data)) or ())
    ledger = ledgers[0] if ledgers else Ledger()
    here = present(context)
    yield from guarded("program", lambda: [checks.check_program(launchers)])
    written = ledgers[0] if ledgers else None
    yield from guarded("hook files", lambda: [checks.check_hook_files(launchers, written)])
    read_file = wiring.file_reader(context, ledger)
    for client in here:
        wired = partial(
            checks.check_agents, [client], context, launchers, read_file, ledger.skipped
        )
        yield from guarded(client.name, wired)
        yield from guarded(client.name, partial(check_policies, [client], context, launchers))
    if _has_store(app):
        yield from guarded("versions", lambda: check_versions(here, _versions(app, here)))
        yield from guarded("calls", lambda: _calls(app, here, ledger))
        yield from guarded("guards", lambda: guard_checks(app, here, context, read_file))
    yield from guarded(
        "projects", lambda: check_projects(ledger, clients(), context, launchers, read_file)
    )
    yield from guarded("projects", lambda: _here(app, ledger))
    yield from guarded("schedule", lambda: _schedule(app, ledger))
    spool = SpoolFiles(str(app.paths.state / "spool"))
    yield from guarded("spool", lambda: [checks.check_spool(spool.counts())])
    yield from guarded("hook log", lambda: [checks.check_hook_log(app.paths.state, app.clock())])
    if not quick:
        yield from guarded("compiled hook", lambda: live.check_compiled(launchers))
        yield from guarded("round trip", lambda: [live.round_trip(launchers, app.clock())])
        yield from guarded("mcp", lambda: [live.handshake(launchers)])


def guarded(name: str, find: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    """Checks, or the reason why they could not be made."""
    try:
        yield from find()
    except SessionMemoryError as error:
        yield Check(name, "fail", error.message, error.hint)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        detail = f"not checked: {where}{error.strerror or error}"
        yield Check(name, "fail", detail, "see the owner and the mode of that file")


def _has_store(app: App) -> bool:
    """Whether the store can be read; its own checks report why not."""
    try:
        with reading(app):
            return True
    except (SessionMemoryError, OSError):
        return False


def _versions(app: App, here: Iterable[Client]) -> dict[str, str]:
    """The version of each agent's latest session that names one."""
    versions: dict[str, str] = {}
    with reading(app) as store:
        for client in here:
            query = SessionQuery(flavor=client.name, limit=20)
            named = (session.client_version for session in store.sessions(query))
            if version := next(filter(None, named), None):
                versions[client.name] = version
    return versions


def _calls(app: App, here: Iterable[Client], ledger: Ledger) -> Iterator[Check]:
    """Agents whose hooks are wired and were never called, though they have been used since.

    Not every reason can be seen from here: an agent says nothing of hooks that it does not run.
    """
    records = SpoolFiles(str(app.paths.state / "spool")).list(app.clock()).records
    waiting = {(record.flavor, record.session) for record in records}
    states = wiring.wirings(app)
    with reading(app) as store:
        for client in here:
            times = [e.at for e in ledger.entries if e.agent == client.name and not e.project]
            if not times or states[client.name].hooks != "wired":
                continue
            query = SessionQuery(flavor=client.name, since=max(times), include_subagents=False)
            began = [s for s in store.sessions(query) if (s.started_at or 0) > max(times)]
            names = [session.external_id for session in began]
            called = [
                name
                for name in names
                if (client.name, name) in waiting or store.live.notes(client.name, name)
            ]
            if len(names) >= ENOUGH and not called:
                yield _uncalled(client, len(names))


def _uncalled(client: Client, sessions: int) -> Check:
    detail = f"no hook was called in {sessions} sessions since it was wired"
    how = client.approvals.how if client.approvals else f"restart {client.programs[0]}"
    fix = f"{how}; until then `session-memory config schedule install` captures its sessions"
    return Check(f"{client.name} calls", "warn", detail, fix)


def _here(app: App, ledger: Ledger) -> Iterator[Check]:
    """This repository, where another person wired it."""
    context = wiring.context(app)
    try:
        project = project_root(os.getcwd(), context.home)
    except (Refused, OSError):
        return
    if os.path.lexists(os.path.join(project, ".git")) and all(
        entry.project != project for entry in ledger.entries
    ):
        inside = wiring.context(app, project=True)
        read_file = wiring.file_reader(inside)
        yield from check_here(project, clients(), context, wiring.launchers(app), read_file)


def _schedule(app: App, ledger: Ledger) -> Iterator[Check]:
    """Whether the schedule that was installed is there and runs this interpreter."""
    from session_memory.cli.schedule import system

    if ledger.schedule is None:
        return
    fix = "session-memory config schedule install"
    command = schedule_run.command(system(app), msgspec.convert(ledger.schedule, Kind))
    python = wiring.launchers(app).python
    if command is None:
        yield Check("schedule", "warn", "the schedule of sweeps is not there any more", fix)
    elif python not in command:
        yield Check("schedule", "warn", f"sweeps are run by another Python than {python}", fix)
    else:
        yield Check("schedule", "pass", f"sweeps run by {ledger.schedule}")
