"""`session-memory init`: give every agent on this machine its memory, and show how first."""

from __future__ import annotations

import contextlib
import io
import secrets
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from session_memory.adapters.registry import agents as all_agents
from session_memory.adapters.registry import clients
from session_memory.adapters.shared_wiring.client import InstallContext
from session_memory.adapters.shared_wiring.launchers import Launchers, is_passing
from session_memory.cli import wiring
from session_memory.cli.app import App, dry_run_option, json_option, pass_app, yes_option
from session_memory.cli.init_model import ask_about_model
from session_memory.cli.init_summary import Seen, find_seen, not_wired_lines, show_summary
from session_memory.cli.options import option
from session_memory.cli.output import (
    columns,
    count_progress,
    counted,
    emit_json,
    fit,
    hanging,
    one_line,
)
from session_memory.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_WARNINGS,
    Refused,
    SessionMemoryError,
)
from session_memory.install import hook_files
from session_memory.install.apply import InstallResult, apply_init
from session_memory.install.ledger import installing, read_ledger
from session_memory.install.plan import FileChange, InstallRequest, Plan, plan_init
from session_memory.install.survey import chosen
from session_memory.store import store_exists

if TYPE_CHECKING:
    from session_memory.worker.prepare import Prepared


@click.command(name="init")
@option("--agent", "agents", metavar="NAMES", multiple=True, help="Only these agents; repeatable.")
@option("--skip", metavar="NAMES", multiple=True, help="Not these agents; repeatable.")
@option("--diff", is_flag=True, help="Show every change as a diff, not only a summary.")
@dry_run_option
@yes_option
@option("--project", is_flag=True, help="Wire this repository only, not your whole account.")
@option(
    "--trust-codex-hooks", "trust", is_flag=True, help="Also approve our hooks in Codex for you."
)
@option("--schedule", is_flag=True, help="Also run sweeps on a schedule; see `config schedule`.")
@option("--no-sweep", is_flag=True, help="Do not capture existing logs or prepare memory now.")
@json_option
@pass_app
def command(
    app: App,
    agents: tuple[str, ...],
    *,
    skip: tuple[str, ...],
    diff: bool,
    dry_run: bool,
    yes: bool,
    project: bool,
    trust: bool,
    schedule: bool,
    no_sweep: bool,
) -> int:
    """Connect the agents on this machine: add hooks and the MCP server, then run a first sweep.

    Shows which agents and files it would change and asks once; `d` at the question, or --diff,
    shows every change as a diff. After the sweep, memory is prepared for every project it found,
    without a model, and what the next session of the newest one will be told is shown.
    `--no-sweep` skips both. It ends with what was seen here and is not wired or not read.

    Where `claude` or `codex` is installed, one more question: may it consolidate memory, with which
    daily budget? The default, also of --yes and without a terminal, is no.

    An agent of which a file cannot be changed is left as it is, and the others are wired (exit code
    3). An MCP server of your own called `session-memory` stays.

    Run it again after an upgrade or a move: our entries are updated in place, nothing is added
    twice. `uninstall` removes everything again.

    \b
    Examples:
      session-memory init --dry-run --diff
      session-memory init
      session-memory init --agent claude,codex --yes
      session-memory init --skip gemini
      session-memory init --project
    """
    context, launchers = wiring.context(app, project=project), wiring.launchers(app)
    skipped = {client.name for client in chosen(skip)}
    present_clients = wiring.clients(context, agents)
    clients_here = tuple(client for client in present_clients if client.name not in skipped)
    request = InstallRequest(clients_here, context, launchers, trust)
    plan = plan_init(request, wiring.file_reader(context), read_ledger(launchers.data))
    left_out = [client.name for client in present_clients if client.name in skipped]
    seen = find_seen(app, request, plan, left_out, named=bool(agents))
    _show(app, plan, request, diff=diff)
    if plan.problems and {problem.agent for problem in plan.problems} == _names(request):
        wiring.warn_of_problems(app, plan.problems)
        raise Refused(
            f"nothing was written: files of {', '.join(sorted(_names(request)))} cannot be changed",
            hint="repair them, then run this again",
        )
    if dry_run:
        return _finish_dry_run(app, plan, request, seen)
    stale = [path for path, state in hook_files.states(launchers).items() if state != "current"]
    if (plan.changes or stale) and not yes and not _ask(app, plan):
        return EXIT_INTERRUPTED
    done = _carry_out(app, plan, request, left_out)
    code = _finish(app, done, (plan, request, seen), schedule=schedule, first_sweep=not no_sweep)
    ask_about_model(app, yes=yes)
    return code


def _names(request: InstallRequest) -> set[str]:
    return {client.name for client in request.clients}


def _ask(app: App, plan: Plan) -> bool:
    count = len({change.agent for change in plan.changes})
    named = counted(count, "agent")
    question = f"Wire {named} ({_files(plan.changes)})?" if plan.changes else "Write our own files?"
    what = f"{len(plan.changes)} files of agents" if plan.changes else "files of our own"
    hint = "; --dry-run --diff shows every change"
    return wiring.ask(app, question, f"{what} would change", plan.changes, hint=hint)


def _files(changes: Sequence[FileChange]) -> str:
    return counted(len(changes), "file")


def _carry_out(
    app: App, plan: Plan, request: InstallRequest, skipped: Sequence[str]
) -> InstallResult:
    """Our own files come first: no agent may be configured to run a missing file."""
    with installing(request.launchers.data) as ledger:
        # Another init may have been faster; only what was shown is done.
        now = plan_init(request, wiring.file_reader(request.context), ledger)
        fresh = [*now.problems, *now.changes]
        if any(change not in (*plan.problems, *plan.changes) for change in fresh):
            raise Refused("files changed before you answered", hint="run the command again")
        hook_files.write(request.launchers)
        if request.context.project is None:
            ledger = ledger.with_choice(skipped, _names(request))
        return apply_init(request.launchers.data, now, ledger, app.clock)


def _finish(
    app: App,
    done: InstallResult,
    what: tuple[Plan, InstallRequest, Seen],
    *,
    schedule: bool,
    first_sweep: bool,
) -> int:
    plan, request, seen = what
    if done.changed:
        titles = [all_agents()[name].title for name in {c.agent: 1 for c in done.changed}]
        app.note(fit(f"wired {', '.join(titles)} ({_files(done.changed)})"))
    wiring.warn_of_problems(app, done.problems)
    code = EXIT_WARNINGS if done.problems or plan.problems else EXIT_OK
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
                "problems": (*plan.problems, *done.problems),
                "left_alone": plan.left_alone,
                "not_wired": seen.not_wired,
                "not_read": seen.not_read,
                "blocked": seen.blocked,
                "notes": plan.notes,
                "memory": prepared,
            }
        )
    else:
        if prepared is not None:
            click.echo("\n".join(_memory_lines(prepared)))
        _print_rest(app, plan, request, seen)
    app.note("check with `session-memory doctor`; undo with `session-memory uninstall`")
    return code


def _print_rest(app: App, plan: Plan, request: InstallRequest, seen: Seen) -> None:
    """What was found but not wired, what is left alone, and what the user has to do."""
    for line in not_wired_lines(seen, request.context.home):
        click.echo("\n".join(hanging(line[:11], line[11:], columns())))
    for kept_file in plan.left_alone:
        app.note(fit(f"note: {one_line(kept_file.path)}: {kept_file.message} ({kept_file.hint})"))
    for note in (*plan.notes, *seen.blocked):
        app.note(fit(f"note: {note}"))


def _run_sweep(app: App) -> int:
    """The sweep as the verb runs it; its report is no part of our JSON."""
    from session_memory.cli.sweep import command as sweep

    output = io.StringIO() if app.json else sys.stdout
    try:
        with contextlib.redirect_stdout(output):
            result = click.get_current_context().invoke(sweep, dry_run=False)
    except SessionMemoryError as error:  # agents are wired; the next sweep captures
        app.warn(f"the first sweep failed: {error.message}; run `session-memory sweep` later")
        return EXIT_WARNINGS
    return result if isinstance(result, int) else EXIT_OK


def _prepare(app: App) -> Prepared | None:
    """Memory for every project that was found; None where it is off, or nothing was captured."""
    from session_memory.cli.store import reading
    from session_memory.worker.features import WorkerFeatures
    from session_memory.worker.prepare import prepare

    if not app.config.memory.enabled or not store_exists(app.paths.data):
        return None
    app.note("memory: reading the newest sessions of every project")
    features = WorkerFeatures(
        app.paths, app.config, app.environ, app.clock, f"init-{secrets.token_hex(4)}"
    )
    with count_progress("projects", shown=app.shows_progress) as bar:
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
    usage = f"new sessions in {counted(prepared.directories, 'directory', 'directories')} use it"
    yield f"memory     made from {counted(prepared.sessions, 'session')}; {usage}"
    if prepared.example is None:
        yield "a new session is told nothing yet: sessions so far leave nothing proven"
        return
    yield f"for example, a new session in {one_line(prepared.example.root)} will be told:"
    yield from (fit(f"- {one_line(line)}") for line in prepared.example.lines)


def _show(app: App, plan: Plan, request: InstallRequest, *, diff: bool) -> None:
    if app.json:
        return
    if not request.clients:
        app.note(f"no agent was found to wire; name one: --agent {','.join(clients())}")
    show_summary(plan, request)
    if diff:
        wiring.show_diffs(app, plan.changes)
    _print_own(app, request.launchers, request.context)
    if plan.unchanged:
        app.note(f"{len(plan.unchanged)} files of agents are as they should be")


def _finish_dry_run(app: App, plan: Plan, request: InstallRequest, seen: Seen) -> int:
    if app.json:
        emit_json(_json(plan, request, seen))
    else:
        _print_rest(app, plan, request, seen)
        app.note(f"dry run: {_files(plan.changes)} of agents would change, nothing was written")
    return EXIT_WARNINGS if plan.problems else EXIT_OK


def _print_own(app: App, launchers: Launchers, context: InstallContext) -> None:
    if is_passing(launchers.python):
        app.warn(
            f"{launchers.python} is in a cache that may be emptied at any time:"
            " install session-memory permanently (`uv tool install`, `pipx install`), then run init"
        )
    if context.project:
        app.note("these files name paths of this machine: do not commit them")


def _json(plan: Plan, request: InstallRequest, seen: Seen) -> dict[str, object]:
    states = hook_files.states(request.launchers)
    return {
        "dry_run": True,
        "changes": [
            {"path": c.path, "agent": c.agent, "why": c.why, "diff": wiring.diff(c)}
            for c in plan.changes
        ],
        "unchanged": [change.path for change in plan.unchanged],
        "problems": plan.problems,
        "left_alone": plan.left_alone,
        "not_wired": seen.not_wired,
        "not_read": seen.not_read,
        "blocked": seen.blocked,
        "notes": plan.notes,
        "own_files": {str(path): state for path, state in states.items()},
    }
