"""What goes into one file of an agent: adding it, finding it and removing it again. Pure.

An entry of ours is known by its exact command (see commands.py), so that it is found wherever the
user or the agent has moved it, and nothing else is touched.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from session_memory.adapters.shared_wiring import commands, containers, json_edit, toml_edit
from session_memory.adapters.shared_wiring.containers import OriginalLayout
from session_memory.adapters.shared_wiring.json_text import (
    Path,
    as_list,
    as_object,
    is_blank,
    value_at,
)
from session_memory.errors import Refused

SERVER = "session-memory"
"""Our name among an agent's MCP servers."""
PLACE_VARIABLES = (
    "SESSION_MEMORY_HOME",
    "SESSION_MEMORY_CONFIG",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "CODEX_HOME",
)
"""Variables of a server entry that are ours to set and to take away; others are the user's."""
State = Literal["wired", "outdated", "absent", "hand-made"]


class Handler(msgspec.Struct, frozen=True):
    """One hook of an event: the whole entry, and where in it the command stands."""

    event: str
    group: dict[str, Any]
    """What is appended to the event's list."""
    nested: bool = True
    """Whether the command stands in a list `hooks` of the group, as in Claude Code."""
    vital: tuple[str, ...] = ("command",)
    """Members that must be as they are here; the others are the user's once they are written."""


class JsonHooks(msgspec.Struct, frozen=True):
    """Commands under `hooks` of a JSON file."""

    handlers: tuple[Handler, ...]
    seed: str = "{}"
    """What the file holds where it is made for us."""


class JsonServer(msgspec.Struct, frozen=True):
    """An MCP server in a JSON file."""

    path: Path
    """Of the object that holds the servers."""
    entry: dict[str, Any]
    vital: tuple[str, ...]
    seed: str = "{}"


class TomlServer(msgspec.Struct, frozen=True):
    """An MCP server in a TOML file."""

    entry: dict[str, Any]
    vital: tuple[str, ...] = ("command", "args", "env")
    name: toml_edit.Name = ("mcp_servers", SERVER)


class TomlNotify(msgspec.Struct, frozen=True):
    """Codex's one slot for a program to run after each turn; taken only where it is free."""

    command: tuple[str, ...]
    key: str = "notify"


class TomlTables(msgspec.Struct, frozen=True):
    """Tables that a client writes itself when its user approves something of ours."""

    tables: tuple[tuple[toml_edit.Name, dict[str, Any]], ...]


class TomlRenames(msgspec.Struct, frozen=True):
    """Tables of the user's that get another name when ours go: their names count positions."""

    names: tuple[tuple[toml_edit.Name, toml_edit.Name], ...]


FILE_MARK = "// Written by `session-memory init`, removed by `session-memory uninstall`."
"""A line near the top of every whole file of ours, in every version."""


class WholeFile(msgspec.Struct, frozen=True):
    """A file that is ours alone, such as a plug-in."""

    text: str


Part = JsonHooks | JsonServer | TomlServer | TomlNotify | TomlTables | TomlRenames | WholeFile


def wire(part: Part, text: str | None, layout: OriginalLayout) -> tuple[str, OriginalLayout]:
    """The text with this part in it, as this version wants it; the same text where it is."""
    match part:
        case WholeFile():
            if text is not None and not is_blank(text) and not _is_our_file(text):
                raise Refused(
                    "there is a file of this name that is not ours",
                    hint="rename that file, then run this again",
                )
            return part.text, layout
        case JsonHooks():
            text, layout = _text_or_seed(part.seed, text, layout)
            return _wire_hooks(part, text, layout)
        case JsonServer():
            text, layout = _text_or_seed(part.seed, text, layout)
            return _wire_server(part, text, layout)
        case TomlServer():
            return _wire_table(part, text or "", layout)
        case TomlNotify():
            return _wire_notify(part, text or ""), layout
        case TomlTables():
            for name, content in part.tables:
                current = toml_edit.get(text or "", name)
                if current is None:
                    text = toml_edit.add_table(text or "", name, content)[0]
                elif current != {**current, **content}:
                    text = toml_edit.change_table(text or "", name, content)
            return text or "", layout
        case TomlRenames():
            return text or "", layout


def unwire(part: Part, text: str, layout: OriginalLayout) -> str | None:
    """The text as it would be without us; None where there would be no file."""
    match part:
        case WholeFile():
            return None if _is_our_file(text) else text
        case JsonHooks():
            if is_blank(text):
                return text
            for path, _ in reversed(our_handlers(text)):
                text = _delete_handler(text, path, layout)
            return _without_our_containers(text, ("hooks",), layout, part.seed)
        case JsonServer():
            if is_blank(text) or not _is_our_server(value_at(text, (*part.path, SERVER))):
                return text
            text = json_edit.delete(text, (*part.path, SERVER), containers.empty(layout, part.path))
            return _without_our_containers(text, part.path, layout, part.seed)
        case TomlServer():
            if not _is_our_server(toml_edit.get(text, part.name)):
                return text
            return toml_edit.remove_tables(text, part.name, layout.joint)
        case TomlRenames():
            for old, new in part.names:
                text = toml_edit.rename_table(text, old, new)
            return text
        case TomlTables():
            for name, _ in reversed(part.tables):
                text = toml_edit.remove_tables(text, name)
            return text
        case TomlNotify():
            ours = _is_our_notify(toml_edit.get(text, (part.key,)))
            return toml_edit.remove_line(text, part.key) if ours else text


def holds(part: Part, text: str | None) -> bool:
    """Whether a text holds this part, as any version of ours wrote it."""
    if text is None or is_blank(text):
        return False
    match part:
        case WholeFile():
            return _is_our_file(text)
        case JsonHooks():
            return bool(our_handlers(text))
        case JsonServer():
            return _is_our_server(value_at(text, (*part.path, SERVER)))
        case TomlServer():
            return _is_our_server(toml_edit.get(text, part.name))
        case TomlNotify():
            return _is_our_notify(toml_edit.get(text, (part.key,)))
        case TomlTables() | TomlRenames():
            return False


def is_taken(part: Part, text: str | None) -> bool:
    """Whether the user has something of their own where this part would go; it is left alone."""
    if text is None or is_blank(text):
        return False
    match part:
        case WholeFile():
            return not _is_our_file(text)
        case JsonServer():
            path = (*part.path, SERVER)
            return json_edit.has(text, path) and not _is_our_server(value_at(text, path))
        case TomlServer():
            current = toml_edit.get(text, part.name)
            return current is not None and not _is_our_server(current)
        case _:
            return False


def state(part: Part, text: str | None) -> State:
    """Whether this part is in a text, and as this version wants it."""
    if text is None:
        return "absent"
    if is_taken(part, text):
        return "hand-made"
    match part:
        case WholeFile():
            return "wired" if text == part.text else "absent" if is_blank(text) else "outdated"
        case JsonHooks():
            present = our_handlers(text) if not is_blank(text) else []
        case JsonServer():
            present = not is_blank(text) and value_at(text, (*part.path, SERVER))
        case TomlServer():
            present = toml_edit.get(text, part.name)
        case TomlRenames():
            present = None
        case TomlTables():
            present = any(toml_edit.get(text, name) for name, _ in part.tables)
        case TomlNotify():
            present = _is_our_notify(toml_edit.get(text, (part.key,)))
    if not present:
        return "absent"
    return "wired" if wire(part, text, OriginalLayout())[0] == text else "outdated"


def server_programs(text: str, *, is_toml: bool) -> list[str]:
    """The programs of all entries in a file with the name of our server, whoever wrote them."""
    try:
        if is_blank(text):
            return []
        whole: Any = toml_edit.values(text) if is_toml else value_at(text, ())
    except Refused:
        return []
    keys = ("mcp_servers",) if is_toml else ("mcpServers", "mcp")
    entries = (as_object(as_object(as_object(whole).get(key)).get(SERVER)) for key in keys)
    named = (entry.get("command") for entry in entries)
    first = (as_list(command)[:1] or [command] for command in named if command)
    return [str(words[0]) for words in first]


def our_handlers(text: str) -> list[tuple[Path, dict[str, Any]]]:
    """Every hook of ours in a JSON text, with where it stands."""
    handlers: list[tuple[Path, dict[str, Any]]] = []
    for event, groups in as_object(value_at(text, ("hooks",))).items():
        for index, group in enumerate(as_list(groups)):
            path: Path = ("hooks", event, index)
            for number, handler in enumerate(as_list(as_object(group).get("hooks"))):
                if _is_our_handler(handler):
                    handlers.append(((*path, "hooks", number), handler))
            if _is_our_handler(group):
                handlers.append((path, group))
    return handlers


def with_lists(layout: OriginalLayout, text: str, original: str | None) -> OriginalLayout:
    """The layout with lists of our hooks, of any version, that the original did not have."""
    lists = dict.fromkeys(path[:2] for path, _ in our_handlers(text))
    new = [path for path in lists if original is None or not json_edit.has(original, path)]
    return msgspec.structs.replace(layout, made=tuple(dict.fromkeys((*layout.made, *new))))


def _text_or_seed(
    seed: str, text: str | None, layout: OriginalLayout
) -> tuple[str, OriginalLayout]:
    """The text to begin with; a file of blanks gets what a new one would hold."""
    if text is not None and not is_blank(text):
        return text, layout
    mark = "\ufeff" if text and text.startswith("\ufeff") else ""
    return f"{mark}{seed}\n", msgspec.structs.replace(layout, blank=text)


def _wire_notify(part: TomlNotify, text: str) -> str:
    current, wanted = toml_edit.get(text, (part.key,)), list(part.command)
    if current == wanted or (current is not None and not _is_our_notify(current)):
        return text
    return toml_edit.add_line(toml_edit.remove_line(text, part.key), part.key, wanted)


def _wire_hooks(part: JsonHooks, text: str, layout: OriginalLayout) -> tuple[str, OriginalLayout]:
    wanted = {handler.event: handler for handler in part.handlers}
    for path, handler_now in reversed(our_handlers(text)):
        first = next(p for p, _ in our_handlers(text) if p[1] == path[1])
        if path[1] not in wanted or path != first:
            text = _delete_handler(text, path, layout)
            continue
        target = _command_of(wanted[str(path[1])])
        for key in wanted[str(path[1])].vital:
            if handler_now.get(key) != target[key]:
                text = containers.put(text, path, key, target[key])
    present = {path[1] for path, _ in our_handlers(text)}
    for handler in part.handlers:
        if handler.event not in present:
            text, layout = containers.container(text, ("hooks",), {}, layout)
            text, layout = containers.container(text, ("hooks", handler.event), [], layout)
            text, layout = containers.add(
                text, ("hooks", handler.event), None, handler.group, layout
            )
    return text, layout


def _wire_server(part: JsonServer, text: str, layout: OriginalLayout) -> tuple[str, OriginalLayout]:
    path = (*part.path, SERVER)
    if not json_edit.has(text, path):
        for depth in range(len(part.path)):
            text, layout = containers.container(text, part.path[: depth + 1], {}, layout)
        return containers.add(text, part.path, SERVER, part.entry, layout)
    current = value_at(text, path)
    _check_server(current)
    for key, value in _needed(current, part.entry, part.vital).items():
        if current.get(key) != value:
            text = containers.put(text, path, key, value)
    return text, layout


def _wire_table(part: TomlServer, text: str, layout: OriginalLayout) -> tuple[str, OriginalLayout]:
    current = toml_edit.get(text, part.name)
    if current is None:
        text, joint = toml_edit.add_table(text, part.name, part.entry)
        return text, msgspec.structs.replace(layout, joint=joint)
    _check_server(current)
    needed = _needed(current, part.entry, part.vital)
    if current.get("required") is True:
        # Early versions wrote it: the agent would not start without us.
        needed["required"] = None
    if current != {**current, **needed}:
        text = toml_edit.change_table(text, part.name, needed)
    return text, layout


def _needed(current: Any, entry: dict[str, Any], vital: tuple[str, ...]) -> dict[str, Any]:
    """The members an entry must have; variables that its user added to it stay."""
    needed: dict[str, Any] = {}
    for key in vital:
        if key in ("env", "environment"):
            old = as_object(current.get(key)).items()
            own_variables = {name: value for name, value in old if name not in PLACE_VARIABLES}
            merged = {**own_variables, **entry.get(key, {})}
            if merged or key in current:
                needed[key] = merged
        else:
            needed[key] = entry[key]
    return needed


def _delete_handler(text: str, path: Path, layout: OriginalLayout) -> str:
    """Take out a handler, the group that held nothing else, and a list that was made for it."""
    text = json_edit.delete(text, path, containers.empty(layout, path[:-1]))
    if len(path) > 3 and value_at(text, path[:-1]) == []:
        text = json_edit.delete(text, path[:-2], containers.empty(layout, path[:-3]))
    event = path[:2]
    if event in layout.made and value_at(text, event) == []:
        text = containers.unmade(text, event, layout)
    return text


def _without_our_containers(
    text: str, innermost: Path, layout: OriginalLayout, seed: str
) -> str | None:
    """The text without containers that were made for us and are empty now."""
    for depth in range(len(innermost), 0, -1):
        path = innermost[:depth]
        if path in layout.made and value_at(text, path) == {}:
            text = containers.unmade(text, path, layout)
    if layout.blank is not None and value_at(text, ()) == value_at(seed, ()):
        return layout.blank
    return text


def _command_of(handler: Handler) -> dict[str, Any]:
    return handler.group["hooks"][0] if handler.nested else handler.group


def _is_our_handler(value: Any) -> bool:
    lines = (as_object(value).get(key) for key in ("command", "bash", "powershell"))
    return any(map(commands.is_hook_line, lines))


def _is_our_server(value: Any) -> bool:
    command, args = as_object(value).get("command"), as_object(value).get("args")
    return commands.is_server([*(as_list(command) or [command]), *as_list(args)])


def _is_our_notify(value: Any) -> bool:
    return commands.is_hook(as_list(value))


def _is_our_file(text: str) -> bool:
    return FILE_MARK in text.splitlines()[:4]


def _check_server(entry: Any) -> None:
    if not _is_our_server(entry):
        raise Refused(
            f"it has an MCP server called {SERVER!r} that is not ours",
            hint="rename that server, then run this again",
        )
