"""Everything the program knows about one agent, as one record: `Agent`.

Each folder next to this file has such a record in its `__init__.py`; a plug-in brings its own.
Every table about agents elsewhere (installer, hook file, MCP server, distribution, configuration)
is made from these records. They are read by commands that need no parser, so this module imports
next to nothing, and a record names its heavy parts as text: "package.module:NAME".
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from session_memory.adapters.common import Adapter, Discover, Parse, Read
    from session_memory.adapters.shared_wiring.client import Client
    from session_memory.adapters.shared_wiring.package import Package

AGENT_NAME = r"[a-z][a-z0-9_-]*"
"""What an agent may be called: the name is a word in command lines and in the configuration."""


GuardAbility = Literal["hint", "hint after", "ask", "deny", "flat", "stop"]
"""What a hook can do there: add words to a call, or only to its result; let the user
decide on the call; refuse it; say so at the top of its answer; let the agent go on at its end."""


class HookFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent's hook calls are recognised, and how its model is given memory."""

    session_variable: str = ""
    """Environment variable that holds the session's id while a hook runs."""
    transcript_part: str = ""
    """Part of the path of every transcript of this agent, with forward slashes."""
    names_transcript: bool = False
    """Whether every event names the transcript; then a session without one is not kept on disk."""
    memory_with_tool: bool = False
    """Memory goes with the result of the first tool: what a hook prints at the start is dropped."""
    gives_memory: bool = True
    """Whether the model is given what a hook prints; else the hook prints nothing."""
    in_system_prompt: bool = False
    """Whether memory becomes part of the system prompt, and so is lost when the process ends."""
    flat_answer: bool = False
    """Whether the agent reads `additionalContext` at the top of the answer."""
    events: tuple[str, ...] = ()
    """The only events of interest, in snake case; empty for all that are wired."""
    guards: tuple[GuardAbility, ...] = ()
    """What guards can do through its hooks; empty where that was not tried with the client."""


class McpFacts(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent behaves as a client of the MCP server."""

    client_name: str
    """Part of the name by which it introduces itself, in lower case."""
    model_sees: Literal["structured", "json", "text"] = "text"
    """What reaches its model: structuredContent; the text, taken for JSON; or the text."""
    session_variable: str = ""
    """Environment variable of the server that holds the id of the calling session."""
    renames_plugin_servers: bool = False
    """Whether a plug-in's server runs in addition to one of the same name; else one is dropped."""


class NativeMemory(msgspec.Struct, frozen=True, kw_only=True):
    """Files of an agent's own memory, such as CLAUDE.md; patterns as of `glob`, in order."""

    project: tuple[str, ...] = ()
    """Below the repository."""
    home: tuple[str, ...] = ()
    """Below the agent's home: for every project. `{slug}` is the project's path with dashes."""
    on_demand: tuple[str, ...] = ()
    """Those of the above that the model opens by itself, so that they cost nothing before."""
    imports: bool = False
    """Whether a line `@path` brings another file in."""
    overrides: bool = False
    """Whether `NAME.override.md` stands for `NAME.md`."""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent. Only what it is called, where its logs are and how they are read is required."""

    name: str
    """The flavour, in lower case: as in reports, `--agent` and `[sources.NAME]`."""
    title: str
    """The product's name."""
    home_variable: str | None = None
    """The agent's own variable that moves its home; several paths are separated by commas."""
    homes: tuple[str, ...]
    """Where its home usually is, below `~` or below a variable (`$NAME/folder`)."""
    reader: str | Adapter
    """Finds and reads its logs."""
    wiring: str | Client | None = None
    """What `init` writes into its files; None if it cannot be wired."""
    package: str | Package | None = None
    """What `package` builds for its users to install; None if it has no such form."""
    hook: HookFacts = HookFacts()
    mcp: McpFacts | None = None
    """None if it has no MCP."""
    instruction_files: tuple[str, ...] = ()
    """Files of a repository it takes instructions from."""
    native: NativeMemory = NativeMemory()
    """Files of its own memory."""
    skill_folders: tuple[str, ...] = ()
    """Folders of a repository it takes skills from."""
    config_note: str = ""
    """What the configuration file says of it beyond its title."""
    experimental: bool = False
    """Whether its reader was built from descriptions of the format, and never met a genuine log."""
    log_builder: str | None = None
    """The class that writes logs like this agent's, for tests."""

    def adapter(
        self, *, discover: Discover, parse: Parse, read: Read | None = None, version: int = 1
    ) -> Adapter:
        """The reader of this agent, under the names and homes of this record."""
        from session_memory.adapters.common import Adapter

        made = Adapter(
            name=self.name,
            title=self.title,
            env=self.home_variable,
            default_dirs=self.homes,
            discover=discover,
            parser_version=version,
            parse=parse,
        )
        return made if read is None else msgspec.structs.replace(made, read=read)

    def load_reader(self) -> Adapter:
        """The reader; imports it."""
        return _load(self.reader)

    def load_wiring(self) -> Client | None:
        """The wiring, if there is any; imports it."""
        return _load(self.wiring)

    def load_package(self) -> Package | None:
        """The form of its package, if it has one; imports it."""
        return _load(self.package)

    def load_log_builder(self) -> Any:
        """The builder of logs, if there is one; imports it."""
        return _load(self.log_builder)


def from_adapter(adapter: Adapter) -> Agent:
    """The record of an agent that is only read: older plug-ins bring no more than an `Adapter`."""
    return Agent(
        name=adapter.name,
        title=adapter.title,
        home_variable=adapter.env,
        homes=adapter.default_dirs,
        reader=adapter,
    )


def later(function: str) -> Any:
    """A function "package.module:NAME" that is imported when it is called first."""

    load = functools.cache(functools.partial(_load, function))

    def call(*given: Any) -> Any:
        return load()(*given)

    return call


def _load(part: Any) -> Any:
    if not isinstance(part, str):
        return part
    module, _, name = part.partition(":")
    return getattr(importlib.import_module(module), name)
