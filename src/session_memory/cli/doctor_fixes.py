"""What `doctor --fix` does: only what needs no question, and what `uninstall` can undo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

import msgspec

from session_memory.adapters.registry import clients
from session_memory.adapters.shared_wiring.client import InstallContext
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.cli import wiring
from session_memory.cli.app import App
from session_memory.cli.doctor_guards import table_state
from session_memory.cli.doctor_places import open_to_others
from session_memory.cli.store import reading
from session_memory.errors import SessionMemoryError
from session_memory.install import hook_files, live
from session_memory.install.apply import apply_init
from session_memory.install.ledger import Ledger, installing, read_ledger
from session_memory.install.plan import InstallRequest, Plan, plan_init, wiring_state
from session_memory.store import store_exists
from session_memory.worker.guard_table import refresh_guards


class Fixes(msgspec.Struct, frozen=True):
    """What was fixed, what could not be fixed, and what would be fixed."""

    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    planned: tuple[str, ...] = ()


class _Step(msgspec.Struct, frozen=True):
    planned: tuple[str, ...]
    run: Callable[[], Fixes]


def fix_all(app: App, *, dry_run: bool) -> Fixes:
    """Renew what we wrote and is old, make our places private.

    Nothing new is wired: an agent that never was, or whose entries were taken out, is the user's to
    decide on. What cannot be fixed stops nothing else.
    """
    done: list[str] = []
    failed: list[str] = []
    planned: list[str] = []
    for find in (_privates, _hook_files, _wirings, _guards):
        try:
            for step in find(app):
                if dry_run:
                    planned += step.planned
                    continue
                result = step.run()
                done += result.done
                failed += result.failed
        except SessionMemoryError as error:
            failed.append(error.message)
        except OSError as error:
            failed.append(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    return Fixes(tuple(done), tuple(dict.fromkeys(failed)), tuple(planned))


def _privates(app: App) -> Iterator[_Step]:
    """Remove the permissions of other users from our files."""
    if os.name != "posix":
        return
    for base in dict.fromkeys((app.paths.data, app.paths.state)):
        if wide := open_to_others(str(base)):
            which = next(iter(wide)) if len(wide) == 1 else f"{len(wide)} files below {base}"
            yield _Step((f"make {which} private",), partial(_make_private, wide, which))


def _make_private(wide: dict[str, int], which: str) -> Fixes:
    for path, mode in wide.items():
        os.chmod(path, mode & 0o700)
    return Fixes(done=(f"made {which} private",))


def _hook_files(app: App) -> Iterator[_Step]:
    launchers = wiring.launchers(app)
    if not read_ledger(launchers.data).entries:
        return
    stale = [path for path, state in hook_files.states(launchers).items() if state != "current"]
    compiled = launchers.compiled_hook
    is_broken = compiled not in stale and not live.starts_compiled(launchers)
    if stale or is_broken:
        planned = tuple(f"renew {path}" for path in [*stale, *([compiled] if is_broken else [])])
        yield _Step(planned, partial(_renew, launchers, is_broken=is_broken))


def _renew(launchers: Launchers, *, is_broken: bool) -> Fixes:
    with installing(launchers.data):
        if is_broken:
            launchers.compiled_hook.unlink(missing_ok=True)
        return Fixes(done=tuple(f"renewed {path}" for path in hook_files.write(launchers)))


def _guards(app: App) -> Iterator[_Step]:
    """The table of guards, where it is not what is approved."""
    if not store_exists(app.paths.data) or not app.paths.hooks.is_dir():
        return
    if table_state(app)[0] != "current":
        yield _Step(("renew the table of guards",), partial(_renew_guards, app))


def _renew_guards(app: App) -> Fixes:
    with reading(app) as store:
        refresh_guards(store, app.paths, app.config, app.clock())
    return Fixes(done=("renewed the table of guards",))


def _wirings(app: App) -> Iterator[_Step]:
    """Entries of ours that are old, of the account and of every project that was wired."""
    launchers = wiring.launchers(app)
    ledger = read_ledger(launchers.data)
    for project in dict.fromkeys(entry.project for entry in ledger.entries):
        if project is not None and not os.path.isdir(project):
            continue
        context = msgspec.structs.replace(wiring.context(app), project=project)
        plan = _plan(app, context, ledger)
        if plan.changes:
            planned = tuple(f"renew our entries in {change.path}" for change in plan.changes)
            yield _Step(planned, partial(_wire, app, context))


def _plan(app: App, context: InstallContext, ledger: Ledger) -> Plan:
    launchers, read_file = wiring.launchers(app), wiring.file_reader(context)
    wired = {entry.agent for entry in ledger.entries if entry.project == context.project}
    wired_clients = [client for name, client in clients().items() if name in wired]
    states = [wiring_state(client, context, launchers, read_file) for client in wired_clients]
    pairs = zip(wired_clients, states, strict=True)
    old = [client for client, state in pairs if "outdated" in (state.hooks, state.mcp)]
    return plan_init(InstallRequest(tuple(old), context, launchers), read_file, ledger)


def _wire(app: App, context: InstallContext) -> Fixes:
    data = wiring.launchers(app).data
    with installing(data) as ledger:
        result = apply_init(data, _plan(app, context, ledger), ledger, app.clock)
    return Fixes(
        done=tuple(f"renewed our entries in {change.path}" for change in result.changed),
        failed=tuple(f"{problem.path}: {problem.message}" for problem in result.problems),
    )
