"""From an agent's record to the texts of its package; nothing is written here."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from session_memory import __version__
from session_memory.adapters.agent import Agent
from session_memory.adapters.registry import agents, built_in
from session_memory.adapters.shared_wiring.client import InstallContext
from session_memory.adapters.shared_wiring.package import (
    NAME,
    Package,
    PackageCommand,
    PackageContents,
    PackageLaunchers,
    with_head,
)
from session_memory.adapters.shared_wiring.parts import (
    FILE_MARK,
    JsonHooks,
    JsonServer,
    Part,
    TomlServer,
    WholeFile,
)
from session_memory.errors import UsageError
from session_memory.mcp.prompts import PROMPTS, Prompt

DESCRIPTION = "What earlier coding-agent sessions on this machine did, decided and learned."
SKILL_HEAD = (
    "Memory of earlier coding-agent sessions in this project. Use it at the start of a task, when a"
    " command or test fails, when something may have been done or decided before, and when the user"
    " says what should hold from now on."
)
FOLDER = "packages"
"""Where the repository keeps them."""
_MARK = "// Made by `session-memory package`; do not edit."


def with_package() -> dict[str, Agent]:
    """The agents that have one, by name."""
    return {name: agent for name, agent in agents().items() if agent.package is not None}


def package_of(name: str) -> tuple[Agent, Package]:
    """An agent and the form of its package."""
    agent = with_package().get(name)
    package = agent.load_package() if agent else None
    if agent is None or package is None:
        names = ", ".join(with_package())
        raise UsageError(f"there is no package for {name!r}", hint=f"there is one for: {names}")
    return agent, package


def package_files(name: str) -> dict[str, str]:
    """Path to text of everything in one package."""
    agent, package = package_of(name)
    return package.files(contents_of(agent))


def standalone_files(name: str) -> dict[str, str]:
    """The same for a folder of its own, with the manifest of a marketplace where one is needed."""
    agent, package = package_of(name)
    if not any("{market}" in line for line in package.install):
        return package_files(name)
    inside = f"plugins/{NAME}"
    files = {f"{inside}/{path}": text for path, text in package_files(name).items()}
    return {**files, package.market: package.listing(contents_of(agent), f"./{inside}")}


def repository_files() -> dict[str, str]:
    """Every package of ours and every manifest, as they stand in the repository."""
    files: dict[str, str] = {}
    for name, agent in built_in().items():
        package = agent.load_package()
        if package is None:
            continue
        place = f"{FOLDER}/{name}"
        files |= {f"{place}/{path}": text for path, text in package_files(name).items()}
        if package.market:
            files[package.market] = package.listing(contents_of(agent), f"./{place}")
    return files


def contents_of(agent: Agent) -> PackageContents:
    """What goes into an agent's package: what `init` would write, the skill and the prompts."""
    contents = PackageContents(
        version=__version__,
        description=DESCRIPTION,
        skill=with_head(_text(_skill_file(agent)), name=NAME, description=SKILL_HEAD),
        commands=tuple(_command(prompt, agent) for prompt in PROMPTS if _fits(prompt, agent)),
    )
    for part in _parts(agent):
        match part:
            case JsonHooks():
                contents = msgspec.structs.replace(contents, hooks=_groups(part))
            case JsonServer() | TomlServer():
                contents = msgspec.structs.replace(contents, server=part.entry)
            case WholeFile():
                plugin = part.text.replace(FILE_MARK, _MARK)
                contents = msgspec.structs.replace(contents, plugin=plugin)
            case _:
                pass
    return contents


def _parts(agent: Agent) -> list[Part]:
    """What `init` would write for a user of no particular machine."""
    client = agent.load_wiring()
    if client is None:
        return []
    nowhere = Path("/nowhere")
    launchers = PackageLaunchers("", "-I", nowhere, nowhere, nowhere)
    wired = client.files(InstallContext(str(nowhere)), launchers)
    return [part for parts in wired.values() for part in parts]


def _groups(part: JsonHooks) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for handler in part.handlers:
        groups.setdefault(handler.event, []).append(handler.group)
    return groups


def _fits(prompt: Prompt, agent: Agent) -> bool:
    """Whether the agent can call what the prompt names."""
    return agent.mcp is not None or prompt.name in ("catch-up", "fix", "handoff")


def _command(prompt: Prompt, agent: Agent) -> PackageCommand:
    text = None if prompt.quotes else _prompt_text(prompt)
    if prompt.argument:
        how = "`mem_fix`" if agent.mcp else "`session-memory fix`"
        text = (
            f"Ask {how} about this error, and if a cure fits, try it and say where it comes from:"
        )
    return PackageCommand(prompt.name, prompt.description, text, prompt.argument)


def _prompt_text(prompt: Prompt) -> str:
    name = f"{prompt.name.replace('-', '_')}.md"
    return (files("session_memory.mcp") / "prompts" / name).read_text(encoding="utf-8")


def _skill_file(agent: Agent) -> str:
    return "skill.md" if agent.mcp else "skill_without_mcp.md"


def _text(name: str) -> str:
    return (files("session_memory.packages") / "texts" / name).read_text(encoding="utf-8")
