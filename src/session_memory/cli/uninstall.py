"""`session-memory uninstall`: remove our entries from every file, byte for byte."""

from __future__ import annotations

import click
import msgspec

from session_memory.adapters.registry import clients
from session_memory.cli import wiring
from session_memory.cli.app import App, dry_run_option, json_option, pass_app, yes_option
from session_memory.cli.options import option
from session_memory.cli.output import columns, emit_json, hanging, one_line
from session_memory.cli.store import reading
from session_memory.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_WARNINGS,
    Refused,
    SessionMemoryError,
)
from session_memory.install import hook_files, purge
from session_memory.install.apply import apply_uninstall
from session_memory.install.ledger import FILE, installing, read_ledger
from session_memory.install.plan import InstallRequest, Plan, orphans, plan_uninstall
from session_memory.install.survey import chosen


@click.command(name="uninstall")
@option("--agent", "agents", metavar="NAMES", multiple=True, help="Only these agents; repeatable.")
@option("--purge", "purging", is_flag=True, help="Also delete everything that was captured.")
@option("--diff", is_flag=True, help="Show every change as a diff, not only a summary.")
@dry_run_option
@yes_option
@json_option
@pass_app
def command(
    app: App, agents: tuple[str, ...], *, purging: bool, diff: bool, dry_run: bool, yes: bool
) -> int:
    """Remove everything `init` added, restoring files byte for byte.

    Shows which files it would change and asks once; `d` at the question, or --diff, shows every
    change. Captured sessions stay unless you add --purge.

    \b
    Examples:
      session-memory uninstall --dry-run --diff
      session-memory uninstall
      session-memory uninstall --purge --yes
    """
    context, launchers = wiring.context(app), wiring.launchers(app)
    if purging and agents:
        raise Refused("--purge is for all agents", hint="leave --agent out")
    request = InstallRequest(
        tuple(chosen(agents) if agents else clients().values()), context, launchers
    )
    ledger = read_ledger(launchers.data)
    plan = plan_uninstall(request, wiring.file_reader(context, ledger), ledger)
    lost = () if agents else orphans(ledger, clients())
    plan = msgspec.structs.replace(plan, problems=(*plan.problems, *lost))
    purge_plan = purge.plan_purge(app.paths, app.environ) if purging else purge.PurgePlan()
    _show(app, plan, list(map(str, purge_plan.whole)), dry_run=dry_run)
    if purging:
        _warn_of_loss(app)
    if diff and not app.json:
        wiring.show_diffs(app, plan.changes)
    _warn_of_rules(app, purging=purging)
    wiring.warn_of_problems(app, plan.problems)
    if dry_run:
        return EXIT_WARNINGS if plan.problems else EXIT_OK
    if purging and plan.problems:
        raise Refused("entries of ours would stay behind", hint="repair the files above first")
    if (plan.changes or ledger.entries or purge_plan.whole) and not yes:
        would = f"{len(plan.changes)} files of agents would change"
        if not wiring.ask(app, "Remove our entries?", would, plan.changes):
            return EXIT_INTERRUPTED
    with installing(launchers.data) as installed_ledger:
        installed_ledger = (
            installed_ledger if agents else msgspec.structs.replace(installed_ledger, skipped=())
        )
        done = apply_uninstall(launchers.data, plan, installed_ledger, app.clock)
        left = read_ledger(launchers.data).entries
        if not agents and not left:
            hook_files.remove(launchers)
    if installed_ledger.schedule and not agents:
        _remove_schedule(app)
    (launchers.data / "install.lock").unlink(missing_ok=True)
    purge.remove(purge_plan)
    if app.json:
        restored = [change.path for change in done.changed]
        purged = list(map(str, purge_plan.whole))
        emit_json({"restored": restored, "problems": done.problems, "purged": purged})
    removed = sum(change.after is None for change in done.changed)
    if done.changed:
        app.note(f"{len(done.changed) - removed} files restored, {removed} removed")
    app.note("nothing of session-memory is left" if purging else "what was captured is still there")
    return EXIT_WARNINGS if done.problems else EXIT_OK


def _remove_schedule(app: App) -> None:
    from session_memory.cli.schedule import remove_schedule

    remove_schedule(app)


def _warn_of_loss(app: App) -> None:
    """How many sessions a purge deletes; a store that cannot be read is deleted all the same."""
    try:
        with reading(app) as store:
            count = store.info().sessions
    except (SessionMemoryError, OSError):
        return
    if count:
        app.warn(
            f"{count:,} captured session{'s are' if count != 1 else ' is'} deleted for good;"
            " `session-memory store backup DIR` keeps a copy"
        )


def _warn_of_rules(app: App, *, purging: bool) -> None:
    """Blocks in repositories are taken out by the verb that put them there."""
    from session_memory.distribute.ledger import read_ledger as read_distributed

    if read_distributed(app.paths.data).entries:
        app.warn(
            "files of repositories still hold rules; to remove them:"
            " `session-memory rules withdraw --all`"
        )
        if purging:
            raise Refused(
                "without the store they could not be removed any more",
                hint="run `session-memory rules withdraw --all` first",
            )


def _show(app: App, plan: Plan, purge_plan: list[str], *, dry_run: bool) -> None:
    if app.json:
        if dry_run:
            changes = [{"path": c.path, "diff": wiring.diff(c)} for c in plan.changes]
            emit_json(
                {
                    "dry_run": True,
                    "changes": changes,
                    "problems": plan.problems,
                    "would_purge": purge_plan,
                }
            )
        return
    home = wiring.context(app).home
    for change in plan.changes:
        click.echo("\n".join(hanging("", wiring.change_line(change, home), columns())))
    for path in purge_plan:
        click.echo(f"purge {one_line(path)}")
    if not plan.changes:
        app.note(f"no file of an agent holds anything of ours ({FILE} names none)")
    if dry_run:
        app.note(f"dry run: {len(plan.changes)} files would change, nothing was written")
