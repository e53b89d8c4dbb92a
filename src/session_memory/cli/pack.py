"""`session-memory project pack`: where a project or session stands, in a few lines for an agent."""

from __future__ import annotations

import click
import msgspec

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, fit, safe
from session_memory.cli.recall_options import (
    echo_left_out,
    open_recall,
    project_option,
    scope_request,
)
from session_memory.cli.session_argument import session_option
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import NotModified, context_pack
from session_memory.recall.left_out import left_out
from session_memory.recall.pack_sync import SyncPlan, note, sync_pack
from session_memory.recall.requests import Budget, PackRequest


@click.command(name="pack")
@project_option
@session_option()
@option(
    "--budget",
    type=click.Choice(["auto", "micro", "normal", "full"]),
    default="auto",
    show_default=True,
    help="How long the pack may be; auto takes the smallest that holds the open work.",
)
@option("--max-chars", type=int, metavar="N", help="At most N characters, 400 to 6000.")
@option("--known", metavar="HASH", help="Print the pack only if its hash is not HASH.")
@option(
    "--sync",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the pack into FILE; for AGENTS.md into AGENTS.override.md, if there is one.",
)
@option("--all", "everything", is_flag=True, help="Also what is left out, and why; so does -v.")
@option("--dry-run", is_flag=True, help="With --sync: say what would be written.")
@json_option
@pass_app
@long_output
def command(
    app: App,
    *,
    project: str | None,
    session: str | None,
    budget: Budget,
    max_chars: int | None,
    known: str | None,
    sync: str | None,
    everything: bool,
    dry_run: bool,
) -> None:
    """Print the pack of a project or session (mem_context_pack).

    \b
    Examples:
      session-memory project pack
      session-memory project pack --session 42 --budget full
      session-memory project pack --sync AGENTS.md --dry-run
    """
    if dry_run and sync is None:
        raise click.UsageError("--dry-run goes with --sync")
    with open_recall(app) as (context, store):
        scope = scope_request(store, project, session)
        request = PackRequest(scope.project_key, scope.session_id, budget, max_chars, known)
        if sync is not None:
            _sync(app, context, request, sync, dry_run=dry_run)
            return
        answer = context_pack(context, request)
        everything = everything or app.verbosity > 0
        left = left_out(context, scope) if everything else []
    if app.json:
        emit_json({**msgspec.to_builtins(answer), "left_out": left} if everything else answer)
        return
    click.echo(answer.message if isinstance(answer, NotModified) else fit(safe(answer.text)))
    if everything:
        echo_left_out(left)


def _sync(
    app: App, context: RecallContext, request: PackRequest, path: str, *, dry_run: bool
) -> None:
    left_alone: tuple[str, ...] = ()

    def before_write(plan: SyncPlan) -> None:
        nonlocal left_alone
        left_alone = plan.left_alone
        if plan.after is not None and not dry_run:
            note(app.paths.data, plan, "writes the pack of a project", app.clock())

    record = sync_pack(context, request, path, dry_run=dry_run, before_write=before_write)
    if app.json:
        emit_json({**msgspec.to_builtins(record), "left_alone": left_alone, "dry_run": dry_run})
        return
    for other in left_alone:
        click.echo(f"{safe(record.path)}: {other}")
    done = f"left as it is ({record.reason})" if record.reason else "written"
    click.echo(f"{safe(record.path)}: {'would be ' if dry_run else ''}{done}")
