"""`session-memory pack`: where a project or session stands, in a few lines for an agent."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, safe
from session_memory.cli.recall_options import project_option, recalling, scope_of
from session_memory.cli.session_argument import session_option
from session_memory.recall.context_pack import NotModified
from session_memory.recall.pack_sync import SyncPlan, note
from session_memory.recall.requests import PackRequest


@click.command(name="pack")
@project_option
@session_option()
@click.option(
    "--budget",
    type=click.Choice(["auto", "micro", "normal", "full"]),
    default="auto",
    show_default=True,
    help="How much to tell; auto takes the smallest that holds the open work.",
)
@click.option("--max-chars", type=int, metavar="N", help="At most N characters, 400 to 6000.")
@click.option("--known", metavar="HASH", help="Say so if this is still the current pack.")
@click.option(
    "--sync",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the pack into FILE between its markers; AGENTS.override.md goes first.",
)
@click.option("--dry-run", is_flag=True, help="With --sync: say what would be done.")
@json_option
@pass_app
def command(
    app: App, project: str | None, session: str | None, sync: str | None, **wanted: Any
) -> None:
    """Print the pack of a project or session (mem_context_pack).

    \b
    Examples:
      session-memory pack
      session-memory pack --session 42 --budget full
      session-memory pack --sync AGENTS.md --dry-run
    """
    dry_run = bool(wanted["dry_run"])
    if dry_run and sync is None:
        raise click.UsageError("--dry-run goes with --sync")
    with recalling(app) as (recall, store):
        scope = scope_of(store, project, session)
        request = PackRequest(
            project_key=scope.project_key,
            session_id=scope.session_id,
            budget=wanted["budget"],
            max_chars=wanted["max_chars"],
            known_pack_hash=wanted["known"],
        )
        if sync is not None:
            plans: list[SyncPlan] = []

            def tell(plan: SyncPlan) -> None:
                plans.append(plan)
                if plan.after is not None and not dry_run:
                    note(app.paths.data, plan, "writes the pack of a project", app.clock())

            record = recall.sync(request, sync, dry_run=dry_run, tell=tell)
            if app.json:
                others = {"left_alone": plans[0].left_alone}
                emit_json({**msgspec.to_builtins(record), **others, "dry_run": dry_run})
                return
            for other in plans[0].left_alone:
                click.echo(f"{safe(record.path)}: {other}")
            said = f"left as it is ({record.reason})" if record.reason else "written"
            click.echo(f"{safe(record.path)}: {'would be ' if dry_run else ''}{said}")
            return
        answer = recall.context_pack(request)
    if app.json:
        emit_json(answer)
    else:
        click.echo(answer.message if isinstance(answer, NotModified) else safe(answer.text))
