"""`session-memory team`: what you share with a team, what others shared, and taking it back."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.app import (
    App,
    confirm_or_leave,
    dry_run_option,
    json_option,
    long_output,
    pass_app,
    yes_option,
)
from session_memory.cli.options import option
from session_memory.cli.output import (
    count_progress,
    counted,
    emit_json,
    fit,
    human_bytes,
    human_time,
    one_line,
    safe,
    table,
    to_json,
)
from session_memory.cli.recall_options import project_key
from session_memory.cli.store import reading
from session_memory.core.project.former_keys import key_hint
from session_memory.core.sharing.wire import LEVELS, Level
from session_memory.errors import EXIT_WARNINGS, NotFound, Refused, UsageError

if TYPE_CHECKING:
    from session_memory.core.sharing.wire import Item
    from session_memory.store.port import Store
    from session_memory.store.remote_call import HubClient
    from session_memory.team.gather import Machine
    from session_memory.team.membership import Membership
    from session_memory.team.push import Preview, PushReport
    from session_memory.team.take_back import TakenBack


@contextmanager
def hub(app: App) -> Generator[tuple[Membership, HubClient]]:
    """The membership of this machine and the way to its hub; one such command at a time."""
    from session_memory.store.remote_call import HubClient
    from session_memory.team.membership import alone, membership

    joined = membership(app.paths.data)
    with alone(app.paths.data):
        joined = membership(app.paths.data)  # it may have changed before the lock was ours
        client = HubClient(joined.url, joined.token)
        try:
            yield joined, client
        finally:
            client.close()
            app.log(f"hub: {client.sent_bytes} bytes sent, {client.received_bytes} received")


@click.command()
@click.argument("url")
@click.argument("token", required=False)
@option("--name", metavar="NAME", help="How others see you; without it, a made-up name.")
@json_option
@pass_app
def join(app: App, url: str, token: str | None, name: str | None) -> None:
    """Join a team with an invite of its hub. Nothing leaves until you share a project.

    TOKEN is the invite; without it, it is asked for, or read from a pipe. The token of this
    device and the team's key are kept in a file that only you can read.

    \b
    Examples:
      session-memory team join https://memory.example.org --name Ada
    """
    from session_memory.team import decisions
    from session_memory.team.membership import alone

    if token is None:
        asks = sys.stdin.isatty()
        token = click.prompt("Invite", hide_input=True, err=True) if asks else sys.stdin.readline()
    chosen = name or decisions.pseudonym()
    with alone(app.paths.data):
        joined = decisions.join(app.paths.data, url, str(token).strip(), chosen)
    if app.json:
        emit_json({"hub": joined.url, "team": joined.team, "name": joined.name})
        return
    click.echo(fit(f"joined {one_line(joined.team)} at {joined.url} as {one_line(joined.name)}"))
    app.note("nothing is shared yet: `session-memory team share --level lessons` shares a project")


@click.command()
@click.argument("project", required=False)
@option(
    "--level", type=click.Choice(LEVELS), required=True, help="How much may leave this machine."
)
@option("--as", "name", metavar="NAME", help="What the team calls it, if it has no remote.")
@json_option
@pass_app
def share(app: App, project: str | None, level: Level, name: str | None) -> None:
    """Share a project, the one of this directory unless another is named.

    Levels: `numbers` (what sessions cost, what rules changed), `lessons` (also rules, cures,
    digests, memory) and `sessions` (also their redacted events). Each holds those before it. A
    lower level than before takes back what is above it. The repository's .session-memory.toml can
    allow less (`team = "none"`), never more.

    Nothing leaves before `team push`; its --dry-run prints every word.

    \b
    Examples:
      session-memory team share --level lessons
      session-memory team share shop --level numbers --as shop
    """
    from session_memory.narrowing import read_project_rules
    from session_memory.team import decisions

    with hub(app) as (joined, client):
        with reading(app) as store:
            key = project_key(store, project)
            projects = store.projects()
        local_project = next((each for each in projects if each.key == key), None)
        if local_project is None:
            hint = key_hint(projects, key, "`session-memory project list` lists them")
            raise NotFound(f"no such project: {one_line(key)}", hint=hint)
        rules = read_project_rules(local_project.root) if local_project.root else None
        if rules is not None and (rules.team == "none" or not rules.enabled):
            raise Refused(f"{rules.file} does not allow {key} to be shared")
        decisions.flush(app.paths.data, joined, client, app.clock())
        before = joined.of(key)
        chosen = name or (before.project if before else None)
        team_name = decisions.team_name(local_project, chosen)
        after = decisions.share(app.paths.data, client, key, team_name, level)
    if app.json:
        emit_json({"project": key, "shared_as": team_name, "level": level})
        return
    click.echo(fit(f"{one_line(key)} is shared as {one_line(team_name)} at level {level}"))
    if rules is not None and LEVELS.index(rules.team) < LEVELS.index(level):  # type: ignore[arg-type]
        app.warn(f"{rules.file} allows no more than {rules.team}; only that will leave")
    app.note(f"`session-memory team push --dry-run` shows what would leave as {after.name}")


@click.command()
@click.argument("projects", nargs=-1)
@option("--all", "everything", is_flag=True, help="Every project you share.")
@yes_option
@json_option
@pass_app
def unshare(app: App, projects: tuple[str, ...], everything: bool, yes: bool) -> int:
    """Take everything of a project back from the hub, and from those who pulled it.

    The hub deletes it at once; other machines do at their next pull. Without a connection it waits
    here and is done by the next `team push` (exit 10). Copies that others made by other means, and
    the hub's database backups until they expire, are out of reach: see docs/team.md.

    \b
    Examples:
      session-memory team unshare shop
      session-memory team unshare --all --yes
    """
    from session_memory.team import decisions

    with hub(app) as (joined, client):
        keys = tuple(each.key for each in joined.shared) if everything else projects
        if not keys:
            raise UsageError("name the projects to take back, or --all")
        if not yes:
            if not sys.stdin.isatty():
                raise Refused("this takes back what others may use", hint="--yes does it")
            confirm_or_leave(f"Take {', '.join(keys)} back?", "nothing was taken back")
        decisions.unshare(app.paths.data, keys)
        done = decisions.flush(app.paths.data, joined, client, app.clock())
    if app.json:
        emit_json({"unshared": done.projects, "complete": not done.unfinished})
    else:
        for line in taken_back_lines(done):
            click.echo(fit(line))
    return EXIT_WARNINGS if done.unfinished else 0


@click.command()
@dry_run_option
@json_option
@pass_app
@long_output
def push(app: App, dry_run: bool) -> int:
    """Send what is new in shared projects, and tell the hub what was forgotten.

    --dry-run prints every word that would leave, and sends nothing. A push that is cut off goes on
    where it stood; one without changes asks the hub one question for each project.

    \b
    Examples:
      session-memory team push --dry-run
      session-memory team push
      session-memory team push --dry-run --json
    """
    from session_memory.team.membership import membership
    from session_memory.team.push import Push, preview

    if dry_run:
        joined = membership(app.paths.data)
        with reading(app) as store:
            _show_preview(app, joined, preview(_machine(app, store), joined))
        return 0
    with hub(app) as (joined, client), reading(app) as store:
        work = Push(_machine(app, store), joined, client, app.clock)
        with count_progress("item", shown=app.shows_progress) as advance:
            report = work.run(lambda project, count: advance(count, 0, project))
    _show_push(app, report)
    return 10 if report.failed else EXIT_WARNINGS if _has_warnings(report) else 0


def _machine(app: App, store: Store) -> Machine:
    from session_memory.team.gather import Machine

    return Machine(store, app.paths.data, app.config, str(Path.home()))


def _has_warnings(report: PushReport) -> bool:
    projects = report.projects
    return report.taken_back.unfinished or any(p.refused or p.warnings or p.lost for p in projects)


def _show_preview(app: App, joined: Membership, previews: Iterator[Preview]) -> None:
    count = size = 0
    for each in previews:
        for warning in each.warnings:
            app.warn(warning)
        for item in each.items:
            count += 1
            size += len(bytes(item.body)) + len(item.text)
            click.echo(_item_json(each.project, item) if app.json else _item_text(item, each))
        for key in each.withdrawn:
            line = {"project": each.project, "taken_back": key}
            click.echo(to_json(line) if app.json else f"taken back from {each.project}: {key}")
    if not joined.shared:
        app.note("no project is shared: nothing would leave")
    app.note(f"dry run: {counted(count, 'item')}, {human_bytes(size)}; nothing was sent")


def _item_json(project: str, item: Item) -> str:
    """An item exactly as it is sent."""
    import msgspec

    sent = msgspec.json.decode(msgspec.json.encode(item))
    return to_json({"project": project, "item": sent})


def _item_text(item: Item, each: Preview) -> str:
    head = f"--- {item.kind} {item.key} to {one_line(each.project)}"
    text_lines = [safe(item.text)] if item.text else []
    return "\n".join((head, *text_lines, safe(bytes(item.body).decode())))


def _show_push(app: App, report: PushReport) -> None:
    if app.json:
        emit_json(report)
        return
    for each in report.projects:
        name = one_line(each.project)
        for warning in each.warnings:
            app.warn(warning)
        if each.failed:
            app.warn(f"{name}: {each.failed}" + (f"\n  hint: {each.hint}" if each.hint else ""))
        elif each.unchanged:
            click.echo(fit(f"{name}: nothing new"))
        else:
            back = f", {each.taken_back} taken back" if each.taken_back else ""
            click.echo(
                fit(f"{name}: {counted(each.sent, 'item')} sent at level {each.level}{back}")
            )
        for reason, count in sorted(each.refused.items()):
            app.warn(f"{name}: the hub did not take {counted(count, 'item')}: {one_line(reason)}")
        if each.lost:
            app.warn(f"{name}: the hub lost {counted(each.lost, 'item')} that cannot be made again")
    for line in taken_back_lines(report.taken_back):
        click.echo(fit(line))
    if not report.projects and not report.taken_back.sessions:
        app.note("no project is shared: `session-memory team share --level lessons` shares one")
    app.note(f"{report.bytes_sent:,} bytes sent, {report.bytes_received:,} received")


def taken_back_lines(done: TakenBack) -> Iterator[str]:
    """What the hub deleted, and its proof."""
    from session_memory.team.take_back import proof_words

    for project in done.projects:
        yield f"taken back from the hub: everything of {one_line(project)}"
    if done.sessions:
        yield f"forgotten on the hub: {counted(done.sessions, 'session')}"
    for proof in done.proofs:
        yield f"  the hub counts {proof_words(proof)}"
    if done.unfinished:
        yield "the hub still deletes stored texts; nobody can read them meanwhile"


@click.command()
@json_option
@pass_app
def pull(app: App) -> int:
    """Bring the lessons of others in the projects you share, and drop what they took back.

    They are kept apart from your own, are never written into a file agents read, and are used only
    where you ask the team (`fix --team`, `search --team`, `rules detect --team`).
    `team.lessons = false` in the configuration switches them off and deletes them.

    \b
    Examples:
      session-memory team pull
    """
    from session_memory.team.pull import pull as bring
    from session_memory.team.pulled import drop_pulled

    if not app.config.team.lessons:
        drop_pulled(app.paths.data, lambda _pulled: True)
        app.note("team.lessons is false: nothing is pulled, and nothing that was pulled is kept")
        return 0
    shown = app.shows_progress
    with hub(app) as (joined, client), count_progress("item", shown=shown) as advance:
        done = bring(app.paths.data, joined, client, lambda name, count: advance(count, 0, name))
    if app.json:
        emit_json({"projects": done})
    for each in () if app.json else done:
        name = one_line(each.project)
        if each.failed:
            app.warn(f"{name}: {each.failed}" + (f"\n  hint: {each.hint}" if each.hint else ""))
            continue
        amount = f"{counted(each.items, 'item')} of {counted(each.people, 'person', 'people')}"
        click.echo(fit(f"{name}: {amount}; {each.new} new or changed, {each.gone} gone"))
    if not done:
        app.note("no project is shared, so nothing is pulled")
    return 10 if any(each.failed for each in done) else 0


@click.command()
@json_option
@pass_app
@long_output
def receipts(app: App) -> None:
    """List what left this machine and what was taken back: counts and hashes, no text.

    \b
    Examples:
      session-memory team receipts
      session-memory team receipts --json
    """
    from session_memory.team.receipts import read_receipts

    stored_receipts = read_receipts(app.paths.data)
    if app.json:
        emit_json({"receipts": stored_receipts})
        return
    rows = [
        (
            human_time(each.at, app.clock()),
            each.what,
            each.project,
            ", ".join(f"{count} {kind}" for kind, count in each.kinds.items())
            or each.proof
            or counted(len(each.keys), "item"),
            human_bytes(each.bytes) if each.bytes else "-",
        )
        for each in stored_receipts
    ]
    headers = ("when", "what", "project", "items", "size")
    click.echo(table(rows, headers) if rows else "nothing has left this machine")


@click.command()
@json_option
@pass_app
def status(app: App) -> None:
    """Show the hub, what is shared at which level, and what waits for the next push.

    \b
    Examples:
      session-memory team
      session-memory team status --json
    """
    from session_memory.team.decisions import pending
    from session_memory.team.membership import read_membership
    from session_memory.team.pulled import all_pulled
    from session_memory.team.receipts import read_receipts

    data = app.paths.data
    joined = read_membership(data)
    if joined is None:
        if app.json:
            emit_json({"joined": False})
        else:
            click.echo("this machine belongs to no team; nothing ever left it for one")
            app.note("`session-memory team join URL` joins one, with an invite of its hub")
        return
    waits, last = pending(data), max((each.at for each in read_receipts(data)), default=None)
    pulled = {each.project: len(list(each.all)) for each in all_pulled(data)}
    if app.json:
        shared = [
            {"project": s.key, "shared_as": s.project, "level": s.level} for s in joined.shared
        ]
        membership_fields = {
            "hub": joined.url,
            "team": joined.team,
            "name": joined.name,
            "shared": shared,
        }
        emit_json(
            {"joined": True, **membership_fields, "waits": waits, "pulled": pulled, "last": last}
        )
        return
    click.echo(fit(f"{one_line(joined.team)} at {joined.url}, as {one_line(joined.name)}"))
    rows = [(s.key, s.project, s.level, pulled.get(s.project, 0)) for s in joined.shared]
    headers = ("project", "shared as", "level", "items of others")
    click.echo(table(rows, headers) if rows else "no project is shared: nothing leaves")
    for project in waits.unshared:
        click.echo(f"to be taken back by the next push: everything of {one_line(project)}")
    if waits.forgotten:
        click.echo(f"to be forgotten by the next push: {counted(waits.forgotten, 'session')}")
    if waits.unconfirmed:
        click.echo(f"not confirmed by the hub: {counted(waits.unconfirmed, 'item')}")
    click.echo(f"last exchange with the hub: {human_time(last, app.clock())}")


@click.command()
@option("--unshare", "back", is_flag=True, help="First take everything back.")
@option("--force", is_flag=True, help="Also where the hub cannot be reached.")
@yes_option
@json_option
@pass_app
def leave(app: App, back: bool, force: bool, yes: bool) -> None:
    """Leave the team: end this device's token and delete what came from the team.

    What you shared stays on the hub unless you take it back with --unshare.

    \b
    Examples:
      session-memory team leave --unshare
    """
    from session_memory.team import decisions

    with hub(app) as (joined, client):
        if not yes:
            if not sys.stdin.isatty():
                raise Refused("this ends the token of this device", hint="--yes does it")
            confirm_or_leave(f"Leave {one_line(joined.team)}?", "nothing was changed")
        if back:
            decisions.unshare(app.paths.data, tuple(each.key for each in joined.shared))
            decisions.flush(app.paths.data, joined, client, app.clock())
        decisions.leave(app.paths.data, client, force=force)
    if app.json:
        emit_json({"left": joined.team})
    else:
        click.echo(f"left {one_line(joined.team)}")
