"""`session-memory rules guard`: which approved rules hooks check, and how loudly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from session_memory.cli.app import (
    App,
    VerbGroup,
    dry_run_option,
    json_option,
    long_output,
    pass_app,
)
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, fit, human_time, one_line, say
from session_memory.cli.rule_names import by_number
from session_memory.errors import NotFound, Refused, UsageError

if TYPE_CHECKING:
    from session_memory.core.loop.guards import Check, Choice, Guard, Wish
    from session_memory.guards.history import Worked
    from session_memory.guards.table import Rule
    from session_memory.store.port import Store

_SHOWN = 20


@click.group(cls=VerbGroup, name="guard", invoke_without_command=True)
@json_option
@click.pass_context
def command(ctx: click.Context) -> None:
    """Let hooks check approved rules while agents work.

    A rule that can be checked mechanically has a guard: before a command (`Use `bun`, not
    `npm``), before an edit (a generated file), or at the end of a turn (the check was not run).
    A guard shows its rule next to the call (hint); it refuses calls only after you said
    `rules guard set RULE deny`.

    \b
    Examples:
      session-memory rules guard
      session-memory rules guard test 1a2b3c
      session-memory rules guard set 1a2b3c ask
      session-memory rules guard off 1a2b3c
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@command.command(name="list")
@option("--all", "everything", is_flag=True, help="Include rules without a guard.")
@json_option
@pass_app
@long_output
def list_(app: App, everything: bool = False) -> None:
    """List guards, what each checks, how it speaks and what became of that.

    \b
    Examples:
      session-memory rules guard list
      session-memory rules guard list --all --json
    """
    rows = _rows(app)
    shown = [row for row in rows if everything or row["mode"] not in ("off", "none")]
    if app.json:
        emit_json({"enabled": app.config.guards.enabled, "guards": shown})
        return
    for row in shown:
        silent = row["silent_in"] and row["silent_in"] == row["projects"]
        say(f"{row['id']}  {'silent' if silent else row['mode']}  {row['checks']}")
        say(f"    {one_line(row['text'])}")
        for line in row["notes"]:
            say(f"    {line}")
    others = len(rows) - len(shown)
    if not app.config.guards.enabled:
        app.note("all guards are silent: guards.enabled is false")
    if not shown:
        app.note(
            'No approved rule is checked by hooks. A rule such as "Use `bun`, not `npm`." can be:'
            " `session-memory rules add TEXT`"
        )
    if others:
        app.note(f"{others} approved rules have no guard: `session-memory rules guard list --all`")


@command.command(name="set")
@click.argument("rule")
@click.argument("mode", type=click.Choice(("hint", "ask", "deny")))
@option(
    "--when",
    metavar="WORDS",
    help='What to check: "command npm", "push main", "edit dist/", "unread", "check make test".',
)
@dry_run_option
@json_option
@pass_app
def set_(app: App, rule: str, mode: Wish, when: str | None, dry_run: bool) -> None:
    """Say how the guard of a rule speaks: hint, ask or deny.

    hint shows the rule next to the call, ask lets you decide on the call where the agent can ask,
    deny refuses it. --when says what to check where the rule's own words do not. When the
    rule's words change, ask and deny fall back to hint until you set them again.

    \b
    Examples:
      session-memory rules guard set 1a2b3c deny
      session-memory rules guard set 1a2b3c hint --when "edit docs/cli.md"
    """
    check = _wanted_check(when) if when else None
    _choose(app, rule, mode, check, dry_run=dry_run)


@command.command(name="off")
@click.argument("rule")
@dry_run_option
@json_option
@pass_app
def off(app: App, rule: str, dry_run: bool) -> None:
    """Silence the guard of a rule; the rule itself stays as it is.

    \b
    Examples:
      session-memory rules guard off 1a2b3c
    """
    _choose(app, rule, "off", None, dry_run=dry_run)


@command.command(name="test")
@click.argument("rule")
@click.argument("words", nargs=-1)
@option("--limit", type=click.IntRange(1), default=200, help="Sessions to look through.")
@json_option
@pass_app
@long_output
def test_(app: App, rule: str, words: tuple[str, ...], limit: int) -> None:
    """Show what a guard would have said in past sessions, or to one command.

    Quote the command as one word. Sessions whose raw text is gone are not looked through.

    \b
    Examples:
      session-memory rules guard test 1a2b3c
      session-memory rules guard test 1a2b3c "cd web && npm install"
    """
    from session_memory.cli.store import reading
    from session_memory.worker.guard_table import contradicted

    with reading(app) as store:
        approved_rule, check, choice = _find(app, store, rule)
        guard = _guard(approved_rule, check)
        choices = {approved_rule.id: choice} if choice else {}
        silent = contradicted(store, [approved_rule], choices).get(approved_rule.id, {})
        if words:
            calls = [(None, call) for call in _spoken_to(guard, " ".join(words))]
            session_count = 0
        else:
            calls, session_count = _past(store, approved_rule, guard, limit)
    if app.json:
        rows = [{"session": name, "spoken": call} for name, call in calls]
        emit_json(
            {
                "id": approved_rule.id,
                "checks": describe(check),
                "silent_in": sorted(silent),
                "sessions": session_count,
                "calls": rows,
            }
        )
        return
    click.echo(fit(f"{approved_rule.id} speaks {describe(check)}"))
    for repo, worked in silent.items():
        app.note(silence_sentence(app, approved_rule.id, repo, worked))
    for name, call in calls[:_SHOWN]:
        ended = {True: "failed", False: "worked", None: ""}[call.failed]
        say(f"  {name or 'here'}  {one_line(call.call)[:100]}  {ended}".rstrip())
    if len(calls) > _SHOWN:
        click.echo(f"  and {len(calls) - _SHOWN} more")
    if words:
        click.echo("it would speak" if calls else "it would be silent")
        return
    click.echo(fit(f"{len(calls)} times in {session_count} sessions of the projects it is for"))


def describe(check: Check) -> str:
    """When a guard speaks, in words."""
    when = check.when
    if when.kind == "push":
        return f"before a push to {', '.join(when.branches)}"
    if when.kind == "edit":
        return f"before a change of {', '.join(when.paths)}"
    if when.kind == "unread":
        return "before a change of a file that was not read"
    if when.kind == "check":
        commands = " or ".join(f"`{' '.join(cure.words or cure.starts)}`" for cure in check.cures)
        return f"at the end of a turn, if {commands} did not run after the last edit"
    words = " ".join((*(when.words or when.starts), *when.with_))
    rest = f" without {' '.join(when.without)}" if when.without else ""
    rest += f" outside {when.outside}" if when.outside else ""
    rest += " and nothing more" if when.whole else ""
    return f"before `{words}`{rest}"


def _rows(app: App) -> list[dict[str, Any]]:
    """Every approved rule, with its guard."""
    from session_memory.cli.store import reading
    from session_memory.core.loop.guards import SPOKE, mode_for
    from session_memory.guards.table import check_of
    from session_memory.measure.guard_use import guard_uses, retirement_sentence, use_sentence
    from session_memory.store.guard_files import read_guards
    from session_memory.worker.guard_table import choices_by_rule, contradicted, guard_rules

    choices = choices_by_rule(read_guards(app.paths.data))
    with reading(app) as store:
        rules = guard_rules(store, app.paths.data, app.config)
        wrong = contradicted(store, rules, choices)
        uses = guard_uses(store.live.given_with(SPOKE))
    rows: list[dict[str, Any]] = []
    for rule in rules:
        choice, use = choices.get(rule.id), uses.get(rule.id)
        check, mode = check_of(rule, choice), mode_for(choice, rule.text)
        worked = wrong.get(rule.id, {}) if mode else {}
        notes = [silence_sentence(app, rule.id, repo, result) for repo, result in worked.items()]
        if choice and mode and choice.wish != mode:
            notes.append(f"`{choice.wish}` was meant for other words of this rule: set it again")
        if rule.on_trial:
            notes.append("under trial: half of the sessions have it")
        if use:
            notes.append(use_sentence(use))
        if use and use.annoys and mode:
            notes.append(retirement_sentence(use))
        rows.append(
            {
                "id": rule.id,
                "text": rule.text,
                "mode": "none" if check is None else mode or "off",
                "silent_in": sorted(worked),
                "checks": describe(check) if check else "its words leave nothing to check",
                "projects": sorted(rule.repos),
                "use": use,
                "notes": notes,
            }
        )
    return rows


def silence_sentence(app: App, rule: str, project: str, worked: Worked) -> str:
    """Why a guard is silent in a project, and what lets it speak."""
    when = human_time(worked.at, app.clock())
    return (
        f"silent in {one_line(project)}: the command worked there {when} (session"
        f" {worked.session}); `session-memory rules guard set {rule} hint` lets it speak"
    )


def _wanted_check(when: str) -> Check:
    """What the user wants to be checked."""
    from session_memory.guards.derive import stated_check

    check = stated_check(when)
    if check is None:
        raise UsageError(
            f"cannot check `{one_line(when)}`",
            hint="`command WORDS`, `push BRANCH`, `edit PATH`, `unread` or `check COMMAND`;"
            " a command is one plain call without operators",
        )
    return check


def _choose(app: App, rule: str, wish: Wish, check: Check | None, *, dry_run: bool) -> None:
    import msgspec

    from session_memory.cli.rules_next import renew_guards
    from session_memory.cli.store import reading
    from session_memory.core.loop.guards import Choice, GuardRecord, text_hash
    from session_memory.store.guard_files import change_guards

    with reading(app) as store:
        approved_rule, shown, before = _find(app, store, rule, check)
    check = check or (before.check if before else None)
    choice = Choice(approved_rule.id, wish, app.clock(), text_hash(approved_rule.text), check)

    def choose(record: GuardRecord) -> GuardRecord:
        others = (
            old_choice for old_choice in record.choices if old_choice.rule != approved_rule.id
        )
        return msgspec.structs.replace(record, choices=(*others, choice))

    if not dry_run:
        change_guards(app.paths.data, choose)
        renew_guards(app)
    if app.json:
        emit_json(
            {"dry_run": dry_run, "id": approved_rule.id, "mode": wish, "checks": describe(shown)}
        )
        return
    would = "would be " if dry_run else "is "
    does = "it would speak" if wish == "off" else "it speaks"
    click.echo(fit(f"the guard of {approved_rule.id} {would}{wish}: {does} {describe(shown)}"))
    if wish in ("ask", "deny") and not dry_run:
        app.note(f"back: `session-memory rules guard set {approved_rule.id} hint`")


def _find(
    app: App, store: Store, reference: str, check: Check | None = None
) -> tuple[Rule, Check, Choice | None]:
    """The approved rule that is meant, how it is checked, and the user's decision on it."""
    from session_memory.core.loop.catalog import match_id
    from session_memory.curate.catalog import read_catalog
    from session_memory.guards.table import check_of
    from session_memory.store.guard_files import read_guards
    from session_memory.worker.guard_table import choices_by_rule, guard_rules

    rules = {rule.id: rule for rule in guard_rules(store, app.paths.data, app.config)}
    catalog = read_catalog(app.paths.data)
    name = match_id(by_number(app, reference), {*catalog.patterns, *catalog.proposals})
    if name is None:
        hint = "`session-memory rules guard list --all` lists approved rules"
        raise NotFound(f"no such rule: {one_line(reference)}", hint=hint)
    if name not in rules:
        hint = f"`session-memory rules approve {name}` first"
        raise Refused(
            f"{name} is {catalog.status(name)}; only approved rules have guards", hint=hint
        )
    choice = choices_by_rule(read_guards(app.paths.data)).get(name)
    rule_check = check or check_of(rules[name], choice)
    if rule_check is None:
        raise Refused(
            f"the words of {name} leave nothing to check: {one_line(rules[name].text)[:80]}",
            hint=f'say what to check: `session-memory rules guard set {name} hint --when "..."`',
        )
    return rules[name], rule_check, choice


def _guard(rule: Rule, check: Check) -> Guard:
    from session_memory.core.loop.guards import Guard
    from session_memory.guards.table import said

    return Guard(rule.id, "hint", said(rule), check.when, check.cures)


def _spoken_to(guard: Guard, line: str) -> list[Any]:
    import os

    from session_memory.core.schema import SessionEvent
    from session_memory.guards.replay import replay
    from session_memory.hooks.entry import project_levels

    event = SessionEvent(0, 0, "tool_call", "agent", tool_class="shell", command=line)
    return replay(guard, [event], project_levels(os.getcwd())[-1], os.getcwd())


def _past(store: Store, rule: Rule, guard: Guard, limit: int) -> tuple[list[Any], int]:
    """Where it would have spoken, and in how many sessions that was looked for."""
    from session_memory.guards.replay import replay
    from session_memory.store.port import SessionQuery

    roots = {call.key: call.root for call in store.projects() if call.root}
    calls: list[Any] = []
    session_count = 0
    for session in store.sessions(SessionQuery()):
        if session.project_key not in rule.repos or session_count >= limit:
            continue
        session_count += 1
        root, cwd = roots.get(session.project_key or "", ""), session.cwd or ""
        events = store.events(session.id)
        calls += [(session.id, call) for call in replay(guard, events, root or cwd, cwd)]
    return calls, session_count
