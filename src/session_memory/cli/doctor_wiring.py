"""The doctor's look at agents and what they run, and the cures that need no question."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from session_memory.adapters.registry import clients
from session_memory.cli import wiring
from session_memory.cli.app import App
from session_memory.errors import Refused
from session_memory.install import checks, hook_files, live
from session_memory.install.apply import apply_init
from session_memory.install.checks import Check
from session_memory.install.ledger import Ledger, installing, read_ledger
from session_memory.install.plan import InstallRequest, plan_init
from session_memory.install.survey import present
from session_memory.worker.spool_files import SpoolFiles


def wiring_checks(app: App, *, quick: bool) -> Iterator[Check]:
    """Every check that is about agents."""
    launchers, context = wiring.launchers(app), wiring.context(app)
    try:
        ledger = read_ledger(launchers.data)
    except Refused as error:
        yield Check("wiring", "fail", error.message, error.hint)
        ledger = Ledger()
    yield checks.check_program(launchers)
    yield checks.check_hook_files(launchers, ledger)
    yield from checks.check_agents(
        present(context), context, launchers, wiring.file_reader(context)
    )
    yield checks.check_spool(SpoolFiles(str(app.paths.state / "spool")).counts())
    yield checks.check_hook_log(app.paths.state)
    if not quick:
        yield from _live(app)


def _live(app: App) -> Iterator[Check]:
    launchers = wiring.launchers(app)
    yield live.round_trip(launchers, app.clock())
    yield live.handshake(launchers)


def fix_all(app: App) -> list[str]:
    """Renew what we wrote and is old, make our places private; returns what was done.

    Nothing new is wired: an agent that never was is the user's to decide on.
    """
    launchers, context = wiring.launchers(app), wiring.context(app)
    done = _privates(app)
    ledger = read_ledger(launchers.data)
    if not ledger.entries:
        return done
    names = {entry.agent for entry in ledger.entries if entry.project is None}
    known = tuple(client for name, client in clients().items() if name in names)
    plan = plan_init(InstallRequest(known, context, launchers), wiring.file_reader(context), ledger)
    with installing(launchers.data) as held:
        done += [f"renewed {path}" for path in hook_files.write(launchers)]
        outcome = apply_init(launchers.data, plan, held, app.clock)
    return done + [f"wired {change.path}" for change in outcome.changed]


def _privates(app: App) -> list[str]:
    """Take rights of others away from what is in our places."""
    if os.name != "posix":
        return []
    done: list[str] = []
    for base in (app.paths.data, app.paths.state):
        for folder, folders, names in os.walk(base):
            for path in (os.path.join(folder, name) for name in (*folders, *names)):
                mode = os.lstat(path).st_mode
                if not stat.S_ISLNK(mode) and stat.S_IMODE(mode) & 0o077:
                    os.chmod(path, stat.S_IMODE(mode) & 0o700)
                    done.append(f"made {path} private")
    return done
