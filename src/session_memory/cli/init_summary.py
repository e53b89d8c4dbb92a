"""What `init` says before it asks, and what it leaves out and says at the end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import click
import msgspec

from session_memory.adapters.registry import agents, clients
from session_memory.adapters.shared_wiring.client import Files
from session_memory.adapters.shared_wiring.parts import (
    JsonHooks,
    JsonServer,
    Part,
    TomlNotify,
    TomlServer,
    WholeFile,
)
from session_memory.adapters.unread import SeenAgent, seen_unread
from session_memory.cli import wiring
from session_memory.cli.agents import Agent, find_agents
from session_memory.cli.app import App
from session_memory.cli.output import Meaning, columns, hanging, one_line, paint
from session_memory.install import hook_files
from session_memory.install.ledger import read_ledger
from session_memory.install.plan import FileChange, InstallRequest, Plan, Problem, plan_init
from session_memory.install.policy_checks import check_policies

_GETS = {
    "hooks": "hooks",
    "mcp": "MCP server",
    "notify": "notify program",
}


class NotWired(msgspec.Struct, frozen=True):
    """An agent that is here and is not wired, and why."""

    agent: str
    title: str
    why: str
    fix: str | None = None
    """What to type to have it wired; None where it cannot be."""


class Seen(msgspec.Struct, frozen=True):
    """What is on this machine besides the agents that are wired."""

    not_wired: tuple[NotWired, ...] = ()
    not_read: tuple[SeenAgent, ...] = ()
    blocked: tuple[str, ...] = ()
    """What is wired but blocked by managed settings."""


def find_seen(
    app: App, request: InstallRequest, plan: Plan, skipped: Collection[str], *, named: bool
) -> Seen:
    """Agents that were found here but are not wired; `named`: the user chose with --agent."""
    titles = {name: agent.title for name, agent in agents().items()}
    first = {problem.agent: problem for problem in reversed(plan.problems)}
    not_wired = [_broken(problem, titles[name]) for name, problem in reversed(first.items())]
    not_wired += [
        NotWired(name, titles[name], "left out with --skip", _init(name)) for name in skipped
    ]
    handled = {client.name for client in request.clients} | set(skipped)
    not_wired += [
        _why_not(agent, can_be=agent.flavor in clients(), named=named)
        for agent in find_agents(app)
        if agent.is_here and agent.flavor not in handled and not _is_wired(agent)
    ]
    unread = seen_unread(request.context.environ, request.context.home)
    policies = check_policies(request.clients, request.context, request.launchers)
    blocked = tuple(f"{titles[check.name.split()[0]]}: {check.detail}" for check in policies)
    return Seen(tuple(not_wired), tuple(unread), blocked)


def _broken(problem: Problem, title: str) -> NotWired:
    hint = (problem.hint or "fix the file").removesuffix("; nothing was written")
    fix = f"{hint}; then {_init(problem.agent)}"
    return NotWired(problem.agent, title, f"{problem.path}: {problem.message}", fix)


def _is_wired(agent: Agent) -> bool:
    return bool({agent.hooks, agent.mcp} - {None, "absent", "refused"})


def _why_not(agent: Agent, *, can_be: bool, named: bool) -> NotWired:
    title = f"{agent.title} (experimental)" if agent.experimental else agent.title
    if not can_be:
        why = "its logs are read, but this version cannot give it memory"
        return NotWired(agent.flavor, title, why)
    missing = "it was not named" if named else "neither its program nor its settings are here"
    return NotWired(agent.flavor, title, f"its logs are read, but {missing}", _init(agent.flavor))


def _init(agent: str) -> str:
    return f"session-memory init --agent {agent}"


def show_summary(plan: Plan, request: InstallRequest) -> None:
    """Which agents, which files, and what each gets."""
    width = max((len(agents()[client.name].title) for client in request.clients), default=0) + 2
    for client in request.clients:
        lead = f"{agents()[client.name].title:<{width}}"
        files = client.files(request.context, request.launchers)
        for number, (text, meaning) in enumerate(_agent_lines(client.name, files, plan, request)):
            start = paint(lead, "strong") if not number else " " * width
            click.echo("\n".join(hanging(start, text, columns(), meaning)))
    if request.clients:
        click.echo("")
    for line in _about(plan, request):
        click.echo("\n".join(hanging("", line, columns(), "dim")))


def planned(app: App) -> list[tuple[str, tuple[str, ...]]]:
    """What `init` would do now: for each agent that is here, its name and a line for each thing."""
    context, launchers = wiring.context(app), wiring.launchers(app)
    request = InstallRequest(tuple(wiring.clients(context, ())), context, launchers)
    plan = plan_init(request, wiring.file_reader(context), read_ledger(launchers.data))
    return [
        (
            agents()[client.name].title,
            tuple(
                text
                for text, _ in _agent_lines(
                    client.name, client.files(context, launchers), plan, request
                )
            ),
        )
        for client in request.clients
    ]


def _agent_lines(
    name: str, files: Files, plan: Plan, request: InstallRequest
) -> Iterator[tuple[str, Meaning | None]]:
    home = request.context.home
    problems = [problem for problem in plan.problems if problem.agent == name]
    if problems:
        for problem in problems:
            path = wiring.short_path(problem.path, home)
            yield f"left as it is: {path}: {one_line(problem.message)}", "warn"
        return
    changes = [change for change in plan.changes if change.agent == name]
    left_alone = [problem for problem in plan.left_alone if problem.agent == name]
    if changes:
        gets = _gets(files, changes)
        yield ", ".join(text for kind, text in _GETS.items() if kind in gets), None
    elif not files:
        yield "has nothing that can be wired for one repository alone", "dim"
    elif not left_alone:
        yield "wired already", "ok"
    for change in changes:
        yield wiring.change_line(change, home), None
    for problem in left_alone:
        yield f"keep   {wiring.short_path(problem.path, home)}: {one_line(problem.message)}", "warn"


def _gets(files: Files, changes: Iterable[FileChange]) -> set[str]:
    """The kinds of parts that are in the files that change."""
    return {_kind(part) for change in changes for part in files.get(change.path, ())}


def _kind(part: Part) -> str:
    match part:
        case JsonHooks() | WholeFile():
            return "hooks"
        case JsonServer() | TomlServer():
            return "mcp"
        case TomlNotify():
            return "notify"
        case _:
            return ""


def _about(plan: Plan, request: InstallRequest) -> Iterator[str]:
    """What the words mean, what of our own is written, and what is not touched."""
    gets: set[str] = set()
    for client in request.clients:
        gets |= _gets(client.files(request.context, request.launchers), plan.changes)
    if "hooks" in gets:
        yield "hooks capture sessions as they end and tell a new one what earlier ones left"
    if "mcp" in gets:
        yield "the MCP server lets the agent search what was captured"
    if plan.changes:
        yield "CLAUDE.md, AGENTS.md and other instruction files are not changed"
    states = hook_files.states(request.launchers)
    if stale := [path for path, state in states.items() if state != "current"]:
        folder = wiring.short_path(str(request.launchers.folder), request.context.home)
        yield f"{len(stale)} files of our own are written below {folder}"


def not_wired_lines(seen: Seen, home: str) -> Iterator[str]:
    """What was found here but is not wired or read, one line each."""
    for agent in seen.not_wired:
        fix = f"; to wire it: {agent.fix}" if agent.fix else ""
        yield f"not wired  {one_line(agent.title)}: {one_line(agent.why)}{fix}"
    for agent in seen.not_read:
        paths = ", ".join(wiring.short_path(path, home) for path in agent.paths)
        yield f"not read   {one_line(agent.title)}: logs in {paths}; this version cannot read them"
