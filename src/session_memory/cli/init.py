"""`session-memory init`: give every agent on this machine its memory, and show how first."""

from __future__ import annotations

import contextlib
import io
import secrets
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from session_memory.adapters.registry import clients
from session_memory.adapters.wiring.client import InstallContext
from session_memory.adapters.wiring.launchers import Launchers, is_passing
from session_memory.cli import wiring
from session_memory.cli.agents import agents_table, find_agents
from session_memory.cli.app import App, dry_run_option, json_option, pass_app, yes_option
from session_memory.cli.output import byte_progress, emit_json, one_line
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, Refused, SessionMemoryError
from session_memory.install import hook_files
from session_memory.install.apply import InstallResult, apply_init
from session_memory.install.ledger import installing, read_ledger
from session_memory.install.plan import InstallRequest, Plan, plan_init
from session_memory.store import store_exists

if TYPE_CHECKING:
    from session_memory.worker.prepare import Prepared


@click.command(name="init")
@click.option(
    "--agent", "agents", metavar="NAMES", multiple=True, help="Only these agents; repeatable."
)
@dry_run_option
@yes_option
@click.option("--project", is_flag=True, help="Wire this repository only, not your whole account.")
@click.option(
    "--trust-codex-hooks", "trust", is_flag=True, help="Also approve our hooks in Codex for you."
)
@click.option(
    "--schedule", is_flag=True, help="Also run sweeps on a schedule; see `config schedule`."
)
@click.option(
    "--no-sweep", is_flag=True, help="Do not capture existing logs or prepare memory now."
)
@json_option
@pass_app
def command(
    app: App,
    agents: tuple[str, ...],
    *,
    dry_run: bool,
    yes: bool,
    project: bool,
    trust: bool,
    schedule: bool,
    no_sweep: bool,
) -> int:
    """Connect the agents on this machine: add hooks and the MCP server, then run a first sweep.

    After the sweep, memory is prepared for every project it found, without a model, and what the
    next session of the newest one will be told is shown. `--no-sweep` skips both.

    Shows a diff of every file it would change and asks once. Run it again after an upgrade or a
    move: our entries are updated in place, nothing is added twice. `uninstall` removes everything
    again.

    \b
    Examples:
      session-memory init --dry-run
      session-memory init
      session-memory init --agent claude,codex --yes
      session-memory init --project
    """
    context, launchers = wiring.context(app, project=project), wiring.launchers(app)
    request = InstallRequest(tuple(wiring.clients(context, agents)), context, launchers, trust)
    plan = plan_init(request, wiring.file_reader(context), read_ledger(launchers.data))
    _show(app, plan, request, dry_run=dry_run)
    if plan.problems:
        wiring.tell_problems(app, plan.problems)
        names = ", ".join(sorted({problem.agent for problem in plan.problems}))
        raise Refused(
            f"nothing was written: files of {names} cannot be changed",
            hint="repair them, or leave the agent out with --agent",
        )
    if dry_run:
        return EXIT_OK
    stale = [path for path, state in hook_files.states(launchers).items() if state != "current"]
    if (plan.changes or stale) and not yes:
        changed = f"{len(plan.changes)} files of agents" if plan.changes else "files of our own"
        wiring.ask("Wire them?", f"{changed} would change")
    done = _carry_out(app, plan, request)
    return _finish(app, done, plan, schedule=schedule, first_sweep=not no_sweep)


def _carry_out(app: App, plan: Plan, request: InstallRequest) -> InstallResult:
    """Our own files come first: no agent may be told to run what is not there."""
    with installing(request.launchers.data) as ledger:
        # Another init may have been faster; only what was shown is done.
        now = plan_init(request, wiring.file_reader(request.context), ledger)
        if now.problems or any(change not in plan.changes for change in now.changes):
            raise Refused("files changed while you were asked", hint="run the command again")
        hook_files.write(request.launchers)
        return apply_init(request.launchers.data, now, ledger, app.clock)


def _finish(app: App, done: InstallResult, plan: Plan, *, schedule: bool, first_sweep: bool) -> int:
    for change in done.changed:
        app.note(f"wired {one_line(change.path)}")
    wiring.tell_problems(app, done.problems)
    code = EXIT_WARNINGS if done.problems else EXIT_OK
    if schedule:
        from session_memory.cli.schedule import install_schedule

        install_schedule(app, None)
    prepared: Prepared | None = None
    if first_sweep:
        app.note("first sweep: what the agents have logged so far")
        code = max(code, _run_sweep(app))
        prepared = _prepare(app)
        code = max(code, EXIT_WARNINGS if prepared is not None and prepared.failed else EXIT_OK)
    if app.json:
        emit_json(
            {
                "wired": [change.path for change in done.changed],
                "unchanged": [change.path for change in plan.unchanged],
                "problems": done.problems,
                "notes": plan.notes,
                "memory": prepared,
            }
        )
    elif prepared is not None:
        click.echo("\n".join(_memory_lines(prepared)))
    for note in plan.notes:
        app.note(f"note: {note}")
    app.note("check with `session-memory doctor`; undo with `session-memory uninstall`")
    return code


def _run_sweep(app: App) -> int:
    """The sweep as the verb runs it; its report is no part of our JSON."""
    from session_memory.cli.sweep import command as sweep

    output = io.StringIO() if app.json else sys.stdout
    with contextlib.redirect_stdout(output):
        result = click.get_current_context().invoke(sweep, dry_run=False)
    return result if isinstance(result, int) else EXIT_OK


def _prepare(app: App) -> Prepared | None:
    """Memory for every project that was found; None where it is off, or nothing was captured."""
    from session_memory.cli.store import reading
    from session_memory.worker.features import WorkerFeatures
    from session_memory.worker.prepare import prepare

    if not app.config.memory.enabled or not store_exists(app.paths.data):
        return None
    app.note("memory: what the newest sessions of every project left behind")
    features = WorkerFeatures(
        app.paths, app.config, app.environ, app.clock, f"init-{secrets.token_hex(4)}"
    )
    with byte_progress(shown=app.shows_progress) as bar:
        try:
            with reading(app) as store:
                prepared = prepare(store, features, bar)
        except SessionMemoryError as error:  # agents are wired; the worker makes it later
            app.warn(f"memory was not prepared: {error.message}")
            return None
    for what, why in prepared.failed.items():
        app.warn(f"memory of {one_line(what)} was not prepared: {one_line(why)}")
    return prepared


def _memory_lines(prepared: Prepared) -> Iterator[str]:
    yield f"memory     sessions read {prepared.sessions}, directories ready {prepared.directories}"
    if prepared.example is None:
        yield "a new session is told nothing yet: sessions so far leave nothing proven"
        return
    yield f"for example, a new session in {one_line(prepared.example.root)} will be told:"
    yield from (f"- {one_line(line)}" for line in prepared.example.lines)


def _show(app: App, plan: Plan, request: InstallRequest, *, dry_run: bool) -> None:
    if app.json:
        if dry_run:
            emit_json(_json(plan, request))
        return
    click.echo(agents_table(find_agents(app), app.clock()))
    click.echo("")
    if not request.clients:
        app.note(f"no agent was found to wire; name one: --agent {','.join(clients())}")
    for change in plan.changes:
        click.echo(wiring.diff(change))
    _tell_own(app, request.launchers, request.context)
    if plan.unchanged:
        app.note(f"{len(plan.unchanged)} files of agents are as they should be")
    if dry_run:
        for note in plan.notes:
            app.note(f"note: {note}")
        app.note(f"dry run: {len(plan.changes)} files of agents would change, nothing was written")


def _tell_own(app: App, launchers: Launchers, context: InstallContext) -> None:
    for path, state in hook_files.states(launchers).items():
        if state != "current":
            click.echo(f"{'write' if state == 'missing' else 'renew'} {one_line(str(path))}")
    if is_passing(launchers.python):
        app.warn(
            f"{launchers.python} is in a cache that may be emptied at any time:"
            " install session-memory for keeps (`uv tool install`, `pipx install`), then run init"
        )
    if context.project:
        app.note("these files name paths of this machine: do not commit them")


def _json(plan: Plan, request: InstallRequest) -> dict[str, object]:
    states = hook_files.states(request.launchers)
    return {
        "dry_run": True,
        "changes": [
            {"path": c.path, "agent": c.agent, "why": c.why, "diff": wiring.diff(c)}
            for c in plan.changes
        ],
        "unchanged": [change.path for change in plan.unchanged],
        "problems": plan.problems,
        "notes": plan.notes,
        "own_files": {str(path): state for path, state in states.items()},
    }
