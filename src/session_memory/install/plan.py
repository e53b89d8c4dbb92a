"""What would change in which file, to wire agents or to take everything out again. Pure.

Files come in through `look`; nothing is written here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from typing import Any, Literal

import msgspec

from session_memory.adapters.codex import wiring as codex
from session_memory.adapters.wiring import json_edit, json_text, parts, toml_edit
from session_memory.adapters.wiring.client import Client, Place
from session_memory.adapters.wiring.containers import Traces
from session_memory.adapters.wiring.json_text import as_object
from session_memory.adapters.wiring.launchers import Ours
from session_memory.adapters.wiring.parts import JsonHooks, JsonServer, Part, TomlNotify, WholeFile
from session_memory.errors import Refused
from session_memory.install.ledger import Entry, Ledger

BACKUP = ".session-memory-backup"
"""Behind the name of a file: the copy of it as it was before our last change."""


class Seen(msgspec.Struct, frozen=True):
    """A file as it is now, or why it is not to be touched."""

    real: str
    """Where it is, behind any link."""
    data: bytes | None = None
    problem: str | None = None
    hint: str | None = None


Look = Callable[[str], Seen]


class FileChange(msgspec.Struct, frozen=True):
    """One file before and after."""

    path: str
    real: str
    agent: str
    before: bytes | None
    after: bytes | None
    why: str
    traces: Traces = Traces()
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
    notes: tuple[str, ...] = ()


class Wish(msgspec.Struct, frozen=True):
    """What is to be planned for."""

    clients: tuple[Client, ...]
    place: Place
    ours: Ours
    trust_codex: bool = False


def plan_init(wish: Wish, look: Look, ledger: Ledger) -> Plan:
    """Wire these clients."""
    done: list[FileChange] = []
    problems: list[Problem] = []
    notes: list[str] = []
    for client in wish.clients:
        for path, wanted in client.files(wish.place, wish.ours).items():
            try:
                before = _before_us(ledger.of(path), path, wanted, look)
                extra = _trust(wish, path, done, look) if client.name == "codex" else ()
                done.append(_wired(look(path), (path, client.name), (*wanted, *extra), before))
            except Refused as error:
                problems.append(Problem(path, client.name, error.message, error.hint))
                continue
            notes += _taken_notify(wanted, done[-1])
        if client.name != "codex" or not is_trusted(done):
            notes += client.notes
    done = [msgspec.structs.replace(change, project=wish.place.project) for change in done]
    return Plan(*_split(done), tuple(problems), tuple(notes))


def is_trusted(done: Iterable[FileChange]) -> bool:
    """Whether Codex will run every hook of ours, once these changes are made."""
    texts = {c.path: (c.after or b"").decode("utf-8") for c in done if c.agent == "codex"}
    hooks = next((path for path in texts if path.endswith("hooks.json")), None)
    config = next((path for path in texts if path.endswith("config.toml")), None)
    if hooks is None or config is None:
        return False
    return _trusts(texts[config], hooks, texts[hooks])


def _trusts(config: str, hooks: str, text: str) -> bool:
    """Whether a configuration of Codex approves every hook of ours in a text."""
    wanted = codex.trust(hooks, text).tables
    return bool(wanted) and all(
        as_object(toml_edit.get(config, name)).get("trusted_hash") == value["trusted_hash"]
        for name, value in wanted
    )


def plan_uninstall(wish: Wish, look: Look, ledger: Ledger) -> Plan:
    """Take out everything of ours: from the usual files, and from all that the ledger names."""
    done: list[FileChange] = []
    problems: list[Problem] = []
    for client, path, wanted in _places(wish, ledger):
        try:
            before = _before_us(ledger.of(path), path, wanted, look)
            extra = _untrust(client, path, look)
            change = _unwired(look(path), (path, client.name), (*wanted, *extra), before.traces)
        except Refused as error:
            problems.append(Problem(path, client.name, error.message, error.hint))
            continue
        if change.after is not None and before.created and _is_seed(wanted, change.after):
            change = msgspec.structs.replace(change, after=None)
        done.append(change)
    return Plan(*_split(done), tuple(problems))


def orphans(ledger: Ledger, known: Collection[str]) -> tuple[Problem, ...]:
    """Files that were changed for agents of which nothing is known any more."""
    return tuple(
        Problem(
            entry.path,
            entry.agent,
            f"it was changed for {entry.agent!r}, an agent of a package that is not installed",
            "install the package again, then run this again",
        )
        for entry in ledger.entries
        if entry.agent not in known
    )


State = Literal["wired", "off", "outdated", "absent", "refused"]
"""`off`: wired, and switched off by a setting of the user's; `refused`: the file cannot be read."""


class Wiring(msgspec.Struct, frozen=True):
    """How one client is wired; None for what it cannot have."""

    agent: str
    hooks: State | None
    mcp: State | None
    files: tuple[str, ...]


def wiring(client: Client, place: Place, ours: Ours, look: Look) -> Wiring:
    """Whether hooks and server of a client are in its files, as this version wants them."""
    states: dict[str, list[State]] = {"hooks": [], "mcp": []}
    files = client.files(place, ours)
    for path, wanted in files.items():
        for part in wanted:
            if isinstance(part, TomlNotify):
                continue
            hooks = isinstance(part, JsonHooks | WholeFile)
            states["hooks" if hooks else "mcp"].append(_state(part, look(path)))
    for what in states:
        if states[what] and _is_off(client, what, files, look):
            states[what].append("off")
    return Wiring(client.name, _worst(states["hooks"]), _worst(states["mcp"]), tuple(files))


def _is_off(client: Client, what: str, files: Iterable[str], look: Look) -> bool:
    """Whether the user switched it off in one of the client's files."""
    return any(
        _setting(look(path), switch.path) is switch.off
        for switch in client.switches
        for path in files
        if switch.what == what and os.path.basename(path) == switch.file
    )


def _setting(seen: Seen, path: tuple[str, ...]) -> Any:
    try:
        text = _text(seen) or ""
        if json_text.is_blank(text):
            return None
        is_toml = seen.real.endswith(".toml")
        return toml_edit.get(text, path) if is_toml else json_edit.value_at(text, path)
    except Refused:
        return None


def _state(part: Part, seen: Seen) -> State:
    try:
        return parts.state(part, _text(seen))
    except Refused:
        return "refused"


def _worst(states: list[State]) -> State | None:
    order: tuple[State, ...] = ("refused", "absent", "outdated", "off", "wired")
    return next((state for state in order if state in states), None)


class _Before(msgspec.Struct, frozen=True):
    """What a file was before us."""

    traces: Traces = Traces()
    created: bool = False
    """Whether it was not there."""


def _before_us(entry: Entry | None, path: str, wanted: tuple[Part, ...], look: Look) -> _Before:
    """What the ledger knows of a file.

    Where it was lost, the copy that the last `init` left beside the file says the same; without one
    every container that holds nothing but us was made for us.
    """
    if entry is not None:
        return _Before(entry.traces, entry.created)
    text = _text(look(path))
    if text is None:
        return _Before(created=True)
    if not any(parts.holds(part, text) for part in wanted):
        return _Before()
    copy = look(path + BACKUP)
    original = _text(copy)
    if any(parts.holds(part, original) for part in wanted):
        original = None
    _, traces = _all_in(wanted, original, Traces())
    if original is None:
        traces = msgspec.structs.replace(traces, joint=None)
    if any(isinstance(part, JsonHooks) for part in wanted):
        traces = parts.with_lists(traces, text, original)
    return _Before(traces, created=copy.data is None)


def _all_in(
    wanted: tuple[Part, ...], text: str | None, traces: Traces
) -> tuple[str | None, Traces]:
    for part in wanted:
        text, traces = parts.wire(part, text, traces)
    return text, traces


def _wired(
    seen: Seen, named: tuple[str, str], wanted: tuple[Part, ...], known: _Before
) -> FileChange:
    before = _text(seen)
    text, traces = _all_in(wanted, before, known.traces)
    if before is not None and _users(wanted, before, known.traces) != _users(wanted, text, traces):
        raise Refused("the edit would change more than entries of ours", hint="report this file")
    path, agent = named
    why = "make it, for our entries" if before is None else "add or renew our entries"
    return FileChange(
        *(path, seen.real, agent, seen.data, _data(text), why),
        traces=traces,
        created=known.created or before is None,
    )


def _users(wanted: tuple[Part, ...], text: str | None, traces: Traces) -> Any:
    """What a text says without us."""
    for part in reversed(wanted):
        text = None if text is None else parts.unwire(part, text, traces)
    if text is None or json_text.is_blank(text):
        return None
    is_json = any(isinstance(part, JsonHooks | JsonServer) for part in wanted)
    return json_edit.value_at(text, ()) if is_json else toml_edit.values(text)


def _unwired(
    seen: Seen, named: tuple[str, str], wanted: tuple[Part, ...], traces: Traces
) -> FileChange:
    text = _text(seen)
    for part in reversed(wanted):
        text = None if text is None else parts.unwire(part, text, traces)
    return FileChange(named[0], seen.real, named[1], seen.data, _data(text), "take out our entries")


def _text(seen: Seen) -> str | None:
    if seen.problem:
        raise Refused(seen.problem, hint=seen.hint)
    try:
        return None if seen.data is None else seen.data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8", hint="mend the file first; nothing was written") from None


def _data(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8")


def _split(
    done: Iterable[FileChange],
) -> tuple[tuple[FileChange, ...], tuple[FileChange, ...]]:
    known = list(done)
    return (
        tuple(change for change in known if change.before != change.after),
        tuple(change for change in known if change.before == change.after),
    )


def _trust(wish: Wish, path: str, done: list[FileChange], look: Look) -> tuple[Part, ...]:
    """The approval of our hooks as they will be, for the configuration of Codex's user.

    It is written for one who asks for it, and renewed for one who approved the hooks as they were.
    """
    hooks = done[-1] if done else None
    if hooks is None or hooks.agent != "codex" or not path.endswith("config.toml"):
        return ()
    old = (hooks.before or b"").decode("utf-8")
    if not wish.trust_codex and not _trusts(_text(look(path)) or "", hooks.path, old):
        return ()
    return (codex.trust(hooks.path, (hooks.after or b"").decode("utf-8")),)


def _untrust(client: Client, path: str, look: Look) -> tuple[Part, ...]:
    if client.name != "codex" or not path.endswith("config.toml"):
        return ()
    hooks = path.removesuffix("config.toml") + "hooks.json"
    text = _text(look(hooks))
    # Taken out from the last to the first: our approvals, then the positions of the others.
    return (codex.moved(hooks, text), codex.trust(hooks, text)) if text else ()


def _taken_notify(wanted: tuple[Part, ...], change: FileChange) -> list[str]:
    """Tell when somebody else has the slot."""
    for part in wanted:
        if isinstance(part, TomlNotify):
            text = (change.after or b"").decode("utf-8")
            if toml_edit.get(text, (part.key,)) != list(part.command):
                return ["Codex's notify slot is taken and stays as it is"]
    return []


def _places(wish: Wish, ledger: Ledger) -> list[tuple[Client, str, tuple[Part, ...]]]:
    """Every file that may hold something of ours, with what would be in it."""
    found: dict[str, tuple[Client, str, tuple[Part, ...]]] = {}
    names = {client.name for client in wish.clients}
    known = {entry.project for entry in ledger.entries if entry.agent in names}
    projects = (wish.place.project, None, *sorted(filter(None, known)))
    for client in wish.clients:
        for project in dict.fromkeys(projects):
            place = msgspec.structs.replace(wish.place, project=project)
            for path, wanted in client.files(place, wish.ours).items():
                # Claude Code keeps the servers of the user and of every project in one file.
                before = found[path][2] if path in found else ()
                more = tuple(part for part in wanted if part not in before)
                found[path] = (client, path, before + more)
        for entry in ledger.entries:  # an agent's home may have been another one then
            if entry.agent == client.name and entry.path not in found:
                found[entry.path] = (client, entry.path, _like(entry.path, client, wish))
    return list(found.values())


def _like(path: str, client: Client, wish: Wish) -> tuple[Part, ...]:
    """What we put into files of that name."""
    name = path.replace("\\", "/").rpartition("/")[2]
    for known, wanted in client.files(wish.place, wish.ours).items():
        if known.replace("\\", "/").rpartition("/")[2] == name:
            return wanted
    return ()


def _is_seed(wanted: tuple[Part, ...], after: bytes) -> bool:
    """Whether a file that was made for us holds nothing else by now."""
    text = after.decode("utf-8")
    seeds = [part.seed for part in wanted if isinstance(part, JsonHooks | JsonServer)]
    if not seeds:
        return not text.strip()
    return any(json_edit.value_at(text, ()) == json_edit.value_at(seed, ()) for seed in seeds)
