"""Which files of which repositories a lesson goes into. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from session_memory.adapters.registry import agents
from session_memory.distribute.render import Lesson
from session_memory.errors import ConfigError

OVERRIDE = "AGENTS.override.md"
"""Where it exists, Codex does not read AGENTS.md."""
CODEX_BYTES = 32 * 1024
"""Codex reads no more than this of the instruction files of a project."""


class Repo(msgspec.Struct, frozen=True):
    """A repository that sessions were seen in."""

    key: str
    root: str
    domain: str | None = None


def block_targets() -> tuple[str, ...]:
    """Files that some agent takes instructions from: CLAUDE.md, AGENTS.md, GEMINI.md and others."""
    return tuple(
        dict.fromkeys(file for agent in agents().values() for file in agent.instruction_files)
    )


def skill_targets() -> tuple[str, ...]:
    """Folders that some agent takes skills from."""
    return tuple(
        dict.fromkeys(folder for agent in agents().values() for folder in agent.skill_folders)
    )


def check_targets(names: Iterable[str]) -> tuple[str, ...]:
    """The targets that are on; raises ConfigError for an unknown one."""
    known_targets = (*block_targets(), *skill_targets())
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known_targets:
            raise ConfigError(
                f"distribute.targets: {name!r} is not one of {', '.join(known_targets)}",
            )
    return chosen


def reach(lesson: Lesson, repos: Iterable[Repo], default_domain: str) -> frozenset[str]:
    """Keys of the repositories a lesson is for.

    Those it was seen in; if it was seen in several of one domain, all of that domain. The default
    domain holds whatever has no assigned domain, so it does not count.
    """
    all_repos = list(repos)
    own_keys = {repo.key for repo in all_repos if repo.key in lesson.repos}
    domains = Counter(repo.domain for repo in all_repos if repo.key in own_keys)
    wide = {
        name for name, count in domains.items() if count > 1 and name not in (None, default_domain)
    }
    return frozenset(own_keys | {repo.key for repo in all_repos if repo.domain in wide})


def block_file(target: str, exists: Callable[[str], bool]) -> str:
    """The file that a target means in a repository."""
    return OVERRIDE if target == "AGENTS.md" and exists(OVERRIDE) else target


def byte_room(file: str, users_bytes: int, max_bytes: int) -> tuple[int, str]:
    """How large the block in a file may be, and which limit says so."""
    left = CODEX_BYTES - users_bytes
    if file.startswith("AGENTS") and left < max_bytes:
        return max(0, left), f"Codex reads {CODEX_BYTES} bytes of instructions"
    return max_bytes, f"distribute.max_bytes is {max_bytes}"


def imports_agents(text: bytes) -> bool:
    """Whether a CLAUDE.md imports AGENTS.md, so that a second block is not needed."""
    return any(line.strip() in (b"@AGENTS.md", b"@./AGENTS.md") for line in text.splitlines())
