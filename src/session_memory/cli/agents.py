"""`session-memory config agents`: the agents on this machine, and what is captured."""

from __future__ import annotations

import click
import msgspec

from session_memory.adapters.common import LogDeletion
from session_memory.adapters.registry import find_agent, plugin_warnings
from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import (
    Column,
    Meaning,
    emit_json,
    fit,
    human_bytes,
    human_time,
    one_line,
    table,
)
from session_memory.cli.store import sweep_context
from session_memory.cli.wiring import wirings
from session_memory.core.schema import Session
from session_memory.ingest.discover import LogFolders, discover, log_folders
from session_memory.ingest.last_sweep import read_last_sweep
from session_memory.ingest.missing import MissingPart, missing_parts
from session_memory.store.port import SessionQuery


def _wiring_meaning(state: str) -> Meaning | None:
    meanings: dict[str, Meaning] = {"wired": "ok", "-": "dim", "refused": "error"}
    return meanings.get(state, "warn")


_COLUMNS = (
    Column("agent"),
    Column("hooks", meaning=_wiring_meaning),
    Column("mcp", meaning=_wiring_meaning),
    Column("sessions"),
    Column("last activity", drop=6, meaning="dim"),
    Column("files", drop=3),
    Column("size", drop=4),
    Column("version", drop=2, meaning="dim"),
    Column("deletes after", drop=1),
    Column("unread", drop=5, meaning="warn"),
    Column("path", folds=True),
)


class Agent(msgspec.Struct):
    """One flavour as it is found here."""

    flavor: str
    title: str
    paths: list[str]
    looked_in: list[str]
    files: int = 0
    bytes: int = 0
    sessions: int = 0
    """Captured, sub-agents among them."""
    client_versions: list[str] = []
    """Of the captured sessions, the latest used first."""
    last_activity: int | None = None
    deletion: LogDeletion | None = None
    unread: dict[str, int] = {}
    """Records of unknown type seen in the last sweep, as "version: type"."""
    missing_parts: list[MissingPart] = []
    """Parts of its logs that were missing when they were read."""
    experimental: bool = False
    """Whether its reader was never tested with a genuine log, so that it may misread one."""
    hooks: str | None = None
    """wired, off, outdated, absent, hand-made (an entry of the user's), refused (its file cannot be
    read); None where it has none."""
    mcp: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether it has files on this machine, or sessions in the store."""
        return bool(self.paths or self.sessions)


@click.command(name="agents")
@json_option
@pass_app
def command(app: App) -> None:
    """List the agents on this machine, where their logs are, and what is captured of each.

    `unread` counts records of unknown type seen in the last sweep: a sign that the agent has a
    newer log format. `experimental` marks an agent whose reader was built from descriptions of the
    format alone.

    \b
    Examples:
      session-memory config agents
      session-memory config agents --json
    """
    for warning in plugin_warnings():
        app.warn(warning)
    agents = find_agents(app)
    here = [agent for agent in agents if agent.is_here]
    missing = [agent for agent in agents if not agent.is_here]
    if app.json:
        emit_json({"agents": here, "not_found": {a.flavor: a.looked_in for a in missing}})
        return
    if here:
        click.echo(agents_table(agents, app.clock()))
    for agent in here:
        for what, count in agent.unread.items():
            click.echo(f"{agent.flavor} {one_line(what)}: {count} records of unknown type")
        for part in agent.missing_parts:
            click.echo(fit(one_line(part.description)))
    if missing:
        app.note(f"not found: {', '.join(agent.flavor for agent in missing)}")


def agents_table(agents: list[Agent], now: int) -> str:
    """The agents that are here, as a table."""
    here = [agent for agent in agents if agent.is_here]
    return table([_row(agent, now) for agent in here], _COLUMNS) if here else "no agents found"


def find_agents(app: App) -> list[Agent]:
    """Every flavour that is not switched off, in the order of the registry."""
    context = sweep_context(app)
    sources = app.config.sources
    on_disk = [
        _on_disk(folders, sources.exclude_paths)
        for folders in log_folders(context.adapters, sources, context.environ, context.home)
    ]
    unread, wired = _unread(app), wirings(app)
    store = context.open_existing_store()
    try:
        missing = missing_parts(store) if store is not None else []
        for agent in on_disk:
            agent.missing_parts = [part for part in missing if part.flavor == agent.flavor]
            prefix = f"{agent.flavor} "
            record = find_agent(agent.flavor)
            agent.experimental = record is not None and record.experimental
            if agent.flavor in wired:
                agent.hooks, agent.mcp = wired[agent.flavor].hooks, wired[agent.flavor].mcp
            agent.unread = {
                key.removeprefix(prefix): count
                for key, count in unread.items()
                if key.startswith(prefix)
            }
            if store is not None:
                _add_captured(agent, store.sessions(SessionQuery(flavor=agent.flavor)))
    finally:
        if store is not None:
            store.close()
    return on_disk


def _on_disk(folders: LogFolders, exclude: tuple[str, ...]) -> Agent:
    """The agent with the count and size of its logs, without reading them."""
    agent = Agent(folders.adapter.name, folders.adapter.title, folders.roots, folders.looked_in)
    for file in discover(folders, exclude):
        agent.files += 1
        agent.bytes += max(file.size, 0)
        if file.mtime_ns:
            agent.last_activity = max(agent.last_activity or 0, file.mtime_ns // 1_000_000)
    habits = (folders.adapter.log_deletion(root) for root in folders.roots)
    agent.deletion = min(filter(None, habits), key=lambda habit: habit.days, default=None)
    return agent


def _add_captured(agent: Agent, sessions: list[Session]) -> None:
    agent.sessions = len(sessions)
    versions = (session.client_version for session in sessions)
    agent.client_versions = list(dict.fromkeys(filter(None, versions)))
    ends = [session.ended_at for session in sessions if session.ended_at is not None]
    agent.last_activity = max([*ends, agent.last_activity or 0]) or None


def _unread(app: App) -> dict[str, int]:
    """ "flavour version: type" to records, of the last sweep; only for display."""
    last = read_last_sweep(app.paths.last_sweep)
    try:
        return msgspec.convert(last.report.get("unknown", {}) if last else {}, dict[str, int])
    except msgspec.ValidationError:
        return {}


def _row(agent: Agent, now: int) -> tuple[object, ...]:
    more = len(agent.client_versions) - 1
    version = agent.client_versions[0] if agent.client_versions else None
    return (
        f"{agent.flavor} (experimental)" if agent.experimental else agent.flavor,
        agent.hooks,
        agent.mcp,
        agent.sessions,
        human_time(agent.last_activity, now),
        agent.files,
        human_bytes(agent.bytes),
        f"{version} (+{more})" if version and more else version,
        f"{agent.deletion.days} days ({agent.deletion.where})" if agent.deletion else None,
        sum(agent.unread.values()) or None,
        ", ".join(agent.paths) or None,
    )
