"""Names on the command line: text in storable form that a shell can complete.

The types are given by what a parameter is called, in one table: `--session` and SESSION complete
sessions in every command. Completion reads the store without changing it, prints nothing but
names, and offers none where something is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from session_memory.clock import now_ms
from session_memory.core.text.safe_text import one_line
from session_memory.file_names import name_to_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

OFFERED = 50
"""Sessions offered where nothing is typed yet: the newest."""
HELP_CHARS = 60

Named = Iterable[tuple[str, str]]
"""Names with what a shell may show next to them."""


class Text(click.types.StringParamType):
    """Text from the command line in the form in which names are stored, see `file_names`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Like any text, in storable form."""
        return name_to_text(str(super().convert(value, param, ctx)))

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names with this beginning; none if there is no store or it cannot be read."""
        from click.shell_completion import CompletionItem

        items: list[CompletionItem] = []
        with suppress(Exception):
            for name, about in self.names(ctx.find_root(), incomplete):
                if name.startswith(incomplete):
                    about = one_line(about)[:HELP_CHARS]
                    items.append(CompletionItem(one_line(name), help=about or None))
        return items

    def names(self, root: click.Context, begun: str) -> Named:
        """Possible completions; none for free text."""
        return ()


class SessionName(Text):
    """A session: its number, or once a letter is typed, the id its agent gave it."""

    def names(self, root: click.Context, begun: str) -> Named:
        """The newest sessions first."""
        from session_memory.core.digest import title_of
        from session_memory.core.text.safe_text import one_line
        from session_memory.store import open_store
        from session_memory.store.port import SessionQuery

        query = SessionQuery(limit=None if begun else OFFERED)
        with open_store(str(_data(root)), now_ms(), read_only=True) as store:
            for session in store.sessions(query):
                about = f"{session.flavor} {one_line(title_of(session))}"
                yield str(session.id), about
                if begun and ":" not in session.external_id:  # bash breaks words at a colon
                    yield session.external_id, about


class ProjectName(Text):
    """A project by its key."""

    def names(self, root: click.Context, begun: str) -> Named:
        """Every project."""
        from session_memory.store import open_store

        with open_store(str(_data(root)), now_ms(), read_only=True) as store:
            return [(project.key, project.root or "") for project in store.projects()]


class AgentName(Text):
    """An agent that this program knows."""

    def names(self, root: click.Context, begun: str) -> Named:
        """Those of this package."""
        from session_memory.settings import FLAVORS

        return [(name, "") for name in FLAVORS]


class RuleName(Text):
    """A rule by its id."""

    def names(self, root: click.Context, begun: str) -> Named:
        """Rules that were found, and those that were decided on."""
        from session_memory.curate.catalog import read_catalog

        catalog = read_catalog(_data(root))
        texts = {name: proposal.text for name, proposal in catalog.proposals.items()}
        texts |= {name: pattern.current.text for name, pattern in catalog.patterns.items()}
        return texts.items()


class ConfigKey(Text):
    """A key of the configuration."""

    def names(self, root: click.Context, begun: str) -> Named:
        """Every key."""
        from session_memory.settings import KINDS

        return [(key, "") for key in KINDS]


_TYPES: dict[str, type[Text]] = {
    "session": SessionName,
    "sessions": SessionName,
    "trace": SessionName,
    "what": SessionName,
    "project": ProjectName,
    "projects": ProjectName,
    "into": ProjectName,
    "repo": ProjectName,
    "flavor": AgentName,
    "agents": AgentName,
    "skip": AgentName,
    "rule": RuleName,
    "rules": RuleName,
    "superseded_by": RuleName,
    "any_id": RuleName,
    "key": ConfigKey,
}


def take_text(command: click.Command) -> None:
    """Make every text parameter of a command storable, except paths of this machine."""
    for param in command.params:
        is_path = param.metavar in ("PATH", "FILE") or (param.name, param.metavar) == ("file", None)
        if type(param.type) is click.types.StringParamType and not is_path:
            param.type = _TYPES.get(param.name or "", Text)()
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        take_text(inner)


def _data(root: click.Context) -> Path:
    """The store, without the side effects of a run: no warning, no directory, no repair."""
    from session_memory.paths import find_paths
    from session_memory.settings.load import load

    config = root.params.get("config_path")
    flags = root.params.get("settings")
    store = load(config, os.environ, flags, str(Path.home())).config.store.path
    return Path(store) if store else find_paths(os.environ).data
