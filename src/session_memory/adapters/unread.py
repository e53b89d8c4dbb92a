"""Agents that this version does not read, and where they keep their logs.

`init` names those it finds: a user who expects them to be captured should not have to wonder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import msgspec

from session_memory.adapters.registry import agents, usual_places


class Unread(msgspec.Struct, frozen=True):
    """One agent, and files or folders that are there once it was used."""

    name: str
    title: str
    places: tuple[str, ...]
    """Below `~` or below a variable (`$NAME/folder`)."""


UNREAD = (
    Unread("windsurf", "Windsurf", ("~/.codeium/windsurf/cascade", "~/.windsurf/transcripts")),
    Unread("kiro", "Kiro", ("~/.kiro/sessions", "~/.local/share/kiro-cli/data.sqlite3")),
    Unread("amp", "Amp", ("~/.local/share/amp/threads",)),
    Unread(
        "zed",
        "Zed",
        ("~/.local/share/zed/threads", "~/Library/Application Support/Zed/threads"),
    ),
    Unread("devin", "Devin", ("~/.local/share/devin/cli",)),
    Unread("goose", "Goose", ("~/.local/share/goose/sessions",)),
)


class SeenAgent(msgspec.Struct, frozen=True):
    """An agent whose logs are here and are not read."""

    agent: str
    title: str
    paths: tuple[str, ...]


def seen_unread(environ: Mapping[str, str], home: str) -> list[SeenAgent]:
    """Agents that were used here and that no reader is known for."""
    agents_read = agents()
    read = {
        os.path.normpath(place)
        for agent in agents_read.values()
        for place in usual_places(agent.homes, environ, home)
    }
    titles = {agent.title for agent in agents_read.values()}
    seen: list[SeenAgent] = []
    for unread in UNREAD:
        if unread.name in agents_read or unread.title in titles:
            continue
        here = [path for path in usual_places(unread.places, environ, home) if os.path.exists(path)]
        paths = [path for path in dict.fromkeys(here) if not _is_read(path, read)]
        if paths:
            seen.append(SeenAgent(unread.name, unread.title, tuple(paths)))
    return seen


def _is_read(path: str, read: Iterable[str]) -> bool:
    """Whether a plug-in, under a name of its own, reads this place or one inside it."""
    return any(place == path or place.startswith(path + os.sep) for place in read)
