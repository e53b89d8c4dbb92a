"""What would change in which file, to wire agents or take everything out again; writes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Literal

import msgspec

from session_memory.adapters.shared_wiring import json_text, parts, toml_edit
from session_memory.adapters.shared_wiring.client import Approvals, Client, InstallContext, Switch
from session_memory.adapters.shared_wiring.containers import OriginalLayout
from session_memory.adapters.shared_wiring.json_text import as_object, value_at
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import (
    JsonHooks,
    JsonServer,
    Part,
    TomlNotify,
    TomlTables,
    WholeFile,
)
from session_memory.adapters.shared_wiring.toml_edit import Name
from session_memory.errors import Refused
from session_memory.install.ledger import Entry, Ledger

BACKUP = ".session-memory-backup"
"""Suffix of a backup: the file as it was before our last change."""


NOT_UTF8 = (
    "its path, or that of our own files, is not UTF-8, and settings can only hold UTF-8",
    "name a place for our files with SESSION_MEMORY_HOME, or rename the folder",
)


class CurrentFile(msgspec.Struct, frozen=True):
    """A file as it is now, or why it is not to be touched."""

    real: str
    """Where it is, behind any link."""
    data: bytes | None = None
    problem: str | None = None
    hint: str | None = None


ReadFile = Callable[[str], CurrentFile]
"""Takes a path."""


class FileChange(msgspec.Struct, frozen=True):
    """One file before and after."""

    path: str
    real: str
    agent: str
    before: bytes | None
    after: bytes | None
    why: str
    layout: OriginalLayout = OriginalLayout()
    project: str | None = None
    created: bool = False
    """Whether there was no such file before us."""


class Problem(msgspec.Struct, frozen=True):
    """A file that cannot be changed, and why."""

    path: str
    agent: str
    message: str
    hint: str | None = None


class Plan(msgspec.Struct, frozen=True):
    """Everything that would be done."""

    changes: tuple[FileChange, ...] = ()
    unchanged: tuple[FileChange, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Files that cannot be changed; nothing of their agents is."""
    notes: tuple[str, ...] = ()
    left_alone: tuple[Problem, ...] = ()
    """Entries of the user that take the place of ours; the rest of those agents is wired."""


class InstallRequest(msgspec.Struct, frozen=True):
    """Which agents are to be wired or unwired, and with what."""

    clients: tuple[Client, ...]
    context: InstallContext
    launchers: Launchers
    approve_hooks: bool = False
    """Approve our hooks for the user, where an agent asks for that."""


def plan_init(request: InstallRequest, read_file: ReadFile, ledger: Ledger) -> Plan:
    """Wire these agents; one of which a file cannot be changed is left as it is, as a whole."""
    changes: list[FileChange] = []
    problems: list[Problem] = []
    left_alone: list[Problem] = []
    notes: list[str] = []
    for client in request.clients:
        agent_plan = _plan_agent(client, request, read_file, ledger)
        if agent_plan.problems:
            problems += agent_plan.problems
            continue
        changes += agent_plan.changes
        left_alone += agent_plan.left_alone
        notes += agent_plan.notes
    changes = [msgspec.structs.replace(c, project=request.context.project) for c in changes]
    return Plan(*_split(changes), tuple(problems), tuple(notes), tuple(left_alone))


def _plan_agent(
    client: Client, request: InstallRequest, read_file: ReadFile, ledger: Ledger
) -> Plan:
    changes: list[FileChange] = []
    problems: list[Problem] = []
    left_alone: list[Problem] = []
    notes: list[str] = []
    for path, planned_parts in client.files(request.context, request.launchers).items():
        try:
            current = read_file(path)
            taken = [part for part in planned_parts if parts.is_taken(part, _text(current))]
            our_parts = tuple(part for part in planned_parts if part not in taken)
            left_alone += [_taken_place(path, client.name, part) for part in taken]
            if not our_parts:
                continue
            original = _original(ledger.of(path), path, our_parts, read_file)
            extra = _approval(request, client, path, changes, read_file)
            change = _wired(current, (path, client.name), (*our_parts, *extra), original)
            path.encode("utf-8")
        except Refused as error:
            problems.append(Problem(path, client.name, error.message, error.hint))
            continue
        except UnicodeEncodeError:
            problems.append(Problem(path, client.name, *NOT_UTF8))
            continue
        changes.append(change)
        notes += _taken_notify(our_parts, change)
    if client.approvals is None or not _approves_all(client.approvals, changes):
        notes += client.notes
    return Plan(tuple(changes), (), tuple(problems), tuple(notes), tuple(left_alone))


def _taken_place(path: str, agent: str, part: Part) -> Problem:
    if isinstance(part, WholeFile):
        message = "a file of this name that is not ours stays as it is"
        return Problem(path, agent, message, f"to have ours, rename it; then {_again(agent)}")
    message = f"an MCP server called {parts.SERVER!r} that is not ours stays as it is"
    return Problem(path, agent, message, f"to have ours, remove that entry; then {_again(agent)}")


def _again(agent: str) -> str:
    return f"`session-memory init --agent {agent}`"


def _approves_all(approvals: Approvals, changes: Iterable[FileChange]) -> bool:
    """Whether an agent will run every hook of ours, once these changes of its files are made."""
    texts = {change.path: _after(change) for change in changes}
    hooks = next((path for path in texts if path.endswith(approvals.hooks_file)), None)
    config = next((path for path in texts if path.endswith(approvals.config_file)), None)
    if hooks is None or config is None:
        return False
    return _approves(approvals, texts[config], hooks, texts[hooks])


def _approves(approvals: Approvals, config: str, hooks: str, text: str) -> bool:
    """Whether a configuration approves every hook of ours in a text."""
    tables = approvals.tables(hooks, text).tables
    return bool(tables) and all(_is_approved(config, name, table) for name, table in tables)


def _is_approved(config: str, name: Name, approval: dict[str, Any]) -> bool:
    present = as_object(toml_edit.get(config, name))
    return present == {**present, **approval}


def skipped_hooks(config: str, approvals: TomlTables) -> int:
    """How many hooks an agent does not run: not approved as they are, or turned off."""
    return sum(
        not _is_approved(config, name, approval)
        or as_object(toml_edit.get(config, name)).get("enabled") is False
        for name, approval in approvals.tables
    )


def plan_uninstall(request: InstallRequest, read_file: ReadFile, ledger: Ledger) -> Plan:
    """Take out everything of ours: from the usual files, and from all that the ledger names."""
    done: list[FileChange] = []
    problems: list[Problem] = []
    for client, path, our_parts in _places(request, ledger):
        try:
            original = _original(ledger.of(path), path, our_parts, read_file)
            extra = _removed_approval(client, path, read_file)
            change = _unwired(
                read_file(path), (path, client.name), (*our_parts, *extra), original.layout
            )
        except Refused as error:
            problems.append(Problem(path, client.name, error.message, error.hint))
            continue
        if change.after is not None and original.created and _is_seed(our_parts, change.after):
            change = msgspec.structs.replace(change, after=None)
        done.append(change)
    return Plan(*_split(done), tuple(problems))


def orphans(ledger: Ledger, installed_agents: Collection[str]) -> tuple[Problem, ...]:
    """Files that were changed for agents of which nothing is known any more."""
    return tuple(
        Problem(
            entry.path,
            entry.agent,
            f"it was changed for {entry.agent!r}, an agent of a package that is not installed",
            "install the package again, then run this again",
        )
        for entry in ledger.entries
        if entry.agent not in installed_agents
    )


State = Literal["wired", "off", "outdated", "absent", "hand-made", "refused"]
"""`off`: wired, and switched off by a setting of the user's; `hand-made`: the user has an entry of
their own under our name; `refused`: the file cannot be read."""


class WiringState(msgspec.Struct, frozen=True):
    """How one client is wired; None for what it cannot have."""

    agent: str
    hooks: State | None
    mcp: State | None
    files: tuple[str, ...]


def wiring_state(
    client: Client, context: InstallContext, launchers: Launchers, read_file: ReadFile
) -> WiringState:
    """Whether hooks and server of a client are in its files, as this version wants them."""
    states: dict[str, list[State]] = {"hooks": [], "mcp": []}
    files = client.files(context, launchers)
    for path, our_parts in files.items():
        for part in our_parts:
            if isinstance(part, TomlNotify):
                continue
            hooks = isinstance(part, JsonHooks | WholeFile)
            states["hooks" if hooks else "mcp"].append(_state(part, read_file(path)))
    for what in states:
        if states[what] and _is_off(client, what, files, read_file):
            states[what].append("off")
    return WiringState(client.name, _worst(states["hooks"]), _worst(states["mcp"]), tuple(files))


def refusal(
    client: Client, context: InstallContext, launchers: Launchers, read_file: ReadFile
) -> str:
    """Which file of a client cannot be read, and why."""
    for path, our_parts in client.files(context, launchers).items():
        try:
            text = _text(read_file(path))
            for part in our_parts:
                parts.state(part, text)
        except Refused as error:
            return f"{path}: {error.message}"
    return "its files cannot be read"


def switched_off(
    client: Client, files: Iterable[str], read_file: ReadFile
) -> Iterator[tuple[Switch, str]]:
    """Settings with which the user switched something off, and the file of each."""
    for path in files:
        for switch in client.switches:
            if os.path.basename(path) == switch.file and (
                _setting(read_file(path), switch.path) is switch.off
            ):
                yield switch, path


def _is_off(client: Client, what: str, files: Iterable[str], read_file: ReadFile) -> bool:
    """Whether the user switched it off in one of the client's files."""
    return any(switch.what == what for switch, _ in switched_off(client, files, read_file))


def _setting(current: CurrentFile, path: tuple[str, ...]) -> Any:
    try:
        text = _text(current) or ""
        if json_text.is_blank(text):
            return None
        is_toml = current.real.endswith(".toml")
        return toml_edit.get(text, path) if is_toml else value_at(text, path)
    except Refused:
        return None


def _state(part: Part, current: CurrentFile) -> State:
    try:
        return parts.state(part, _text(current))
    except Refused:
        return "refused"


def _worst(states: list[State]) -> State | None:
    order: tuple[State, ...] = ("refused", "absent", "outdated", "off", "hand-made", "wired")
    return next((state for state in order if state in states), None)


class _Original(msgspec.Struct, frozen=True):
    """What is known of a file before our first change."""

    layout: OriginalLayout = OriginalLayout()
    created: bool = False
    """Whether it was not there."""


def _original(
    entry: Entry | None, path: str, our_parts: tuple[Part, ...], read_file: ReadFile
) -> _Original:
    """What the ledger knows of a file.

    Where it was lost, the copy that the last `init` left there says the same; without it
    every container that holds nothing but us was made for us.
    """
    if entry is not None:
        return _Original(entry.layout, entry.created)
    text = _text(read_file(path))
    if text is None:
        return _Original(created=True)
    if not any(parts.holds(part, text) for part in our_parts):
        return _Original()
    copy = read_file(path + BACKUP)
    original = _text(copy)
    if any(parts.holds(part, original) for part in our_parts):
        original = None
    _, layout = _all_in(our_parts, original, OriginalLayout())
    if original is None:
        layout = msgspec.structs.replace(layout, joint=None)
    if any(isinstance(part, JsonHooks) for part in our_parts):
        layout = parts.with_lists(layout, text, original)
    return _Original(layout, created=copy.data is None)


def _all_in(
    our_parts: tuple[Part, ...], text: str | None, layout: OriginalLayout
) -> tuple[str | None, OriginalLayout]:
    for part in our_parts:
        text, layout = parts.wire(part, text, layout)
    return text, layout


def _wired(
    current: CurrentFile, named: tuple[str, str], our_parts: tuple[Part, ...], original: _Original
) -> FileChange:
    before = _text(current)
    text, layout = _all_in(our_parts, before, original.layout)
    if before is not None and _users(our_parts, before, original.layout) != _users(
        our_parts, text, layout
    ):
        raise Refused("the edit would change more than entries of ours", hint="report this file")
    path, agent = named
    why = "make it, for our entries" if before is None else "add or renew our entries"
    return FileChange(
        *(path, current.real, agent, current.data, _data(text), why),
        layout=layout,
        created=original.created or before is None,
    )


def _users(our_parts: tuple[Part, ...], text: str | None, layout: OriginalLayout) -> Any:
    """A text without our entries."""
    for part in reversed(our_parts):
        text = None if text is None else parts.unwire(part, text, layout)
    if text is None or json_text.is_blank(text):
        return None
    is_json = any(isinstance(part, JsonHooks | JsonServer) for part in our_parts)
    return value_at(text, ()) if is_json else toml_edit.values(text)


def _unwired(
    current: CurrentFile,
    named: tuple[str, str],
    our_parts: tuple[Part, ...],
    layout: OriginalLayout,
) -> FileChange:
    text = _text(current)
    for part in reversed(our_parts):
        text = None if text is None else parts.unwire(part, text, layout)
    return FileChange(
        named[0], current.real, named[1], current.data, _data(text), "take out our entries"
    )


def _text(current: CurrentFile) -> str | None:
    if current.problem:
        raise Refused(current.problem, hint=current.hint)
    try:
        return None if current.data is None else current.data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8", hint="fix the file first; nothing was written") from None


def _data(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8")


def _split(
    done: Iterable[FileChange],
) -> tuple[tuple[FileChange, ...], tuple[FileChange, ...]]:
    changes = list(done)
    return (
        tuple(change for change in changes if change.before != change.after),
        tuple(change for change in changes if change.before == change.after),
    )


def _approval(
    request: InstallRequest,
    client: Client,
    path: str,
    changes: list[FileChange],
    read_file: ReadFile,
) -> tuple[Part, ...]:
    """The approval of our hooks as they will be, for the configuration of an agent.

    It is written for one who asks for it, and renewed for one who approved the hooks as they were.
    """
    approvals, hooks = client.approvals, changes[-1] if changes else None
    if approvals is None or hooks is None or not path.endswith(approvals.config_file):
        return ()
    old = (hooks.before or b"").decode("utf-8")
    config = _text(read_file(path)) or ""
    if not request.approve_hooks and not _approves(approvals, config, hooks.path, old):
        return ()
    return (approvals.tables(hooks.path, _after(hooks)),)


def _removed_approval(client: Client, path: str, read_file: ReadFile) -> tuple[Part, ...]:
    approvals = client.approvals
    if approvals is None or not path.endswith(approvals.config_file):
        return ()
    hooks = path.removesuffix(approvals.config_file) + approvals.hooks_file
    text = _text(read_file(hooks))
    # Taken out from the last to the first: our approvals, then the positions of the others.
    return (approvals.renames(hooks, text), approvals.tables(hooks, text)) if text else ()


def _after(change: FileChange) -> str:
    return (change.after or b"").decode("utf-8")


def _taken_notify(our_parts: tuple[Part, ...], change: FileChange) -> list[str]:
    """A note where another program has the slot."""
    taken = any(
        toml_edit.get(_after(change), (part.key,)) != list(part.command)
        for part in our_parts
        if isinstance(part, TomlNotify)
    )
    return ["Codex's notify slot is taken and stays as it is"] if taken else []


def _places(request: InstallRequest, ledger: Ledger) -> list[tuple[Client, str, tuple[Part, ...]]]:
    """Every file that may hold something of ours, with what would be in it."""
    files: dict[str, tuple[Client, str, tuple[Part, ...]]] = {}
    names = {client.name for client in request.clients}
    wired_projects = {entry.project for entry in ledger.entries if entry.agent in names}
    projects = (request.context.project, None, *sorted(filter(None, wired_projects)))
    for client in request.clients:
        for project in dict.fromkeys(projects):
            context = msgspec.structs.replace(request.context, project=project)
            for path, our_parts in client.files(context, request.launchers).items():
                # Claude Code keeps the servers of the user and of every project in one file.
                before = files[path][2] if path in files else ()
                more = tuple(part for part in our_parts if part not in before)
                files[path] = (client, path, before + more)
        for entry in ledger.entries:  # an agent's home may have been another one then
            if entry.agent == client.name and entry.path not in files:
                files[entry.path] = (client, entry.path, _like(entry.path, client, request))
    return list(files.values())


def _like(path: str, client: Client, request: InstallRequest) -> tuple[Part, ...]:
    """What we put into files of that name."""
    name = path.replace("\\", "/").rpartition("/")[2]
    for known_path, our_parts in client.files(request.context, request.launchers).items():
        if known_path.replace("\\", "/").rpartition("/")[2] == name:
            return our_parts
    return ()


def _is_seed(our_parts: tuple[Part, ...], after: bytes) -> bool:
    """Whether a file that was made for us holds nothing else by now."""
    text = after.decode("utf-8")
    seeds = [part.seed for part in our_parts if isinstance(part, JsonHooks | JsonServer)]
    if not seeds:
        return not text.strip()
    return any(value_at(text, ()) == value_at(seed, ()) for seed in seeds)
