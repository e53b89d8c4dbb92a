"""`session-memory config set`: change one key of the file, and nothing else in it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import tomlkit
from tomlkit.exceptions import TOMLKitError

from session_memory.cli.app import App, pass_app
from session_memory.cli.config import flat, shown
from session_memory.cli.config_file import check_content, file_to_change, write_content
from session_memory.cli.options import option
from session_memory.errors import ConfigError, UsageError
from session_memory.settings.kinds import from_text
from session_memory.settings.load import kind_of


@click.command(name="set")
@click.argument("key")
@click.argument("value", required=False)
@option("--unset", is_flag=True, help="Remove the key from the file: the default applies.")
@pass_app
def command(app: App, key: str, value: str | None, unset: bool) -> None:
    """Set one key in the configuration file; comments and all other keys stay.

    \b
    Examples:
      session-memory config set retention.raw_max_age_days 90
      session-memory config set curate.gate.distribute_min_frequency 3
      session-memory config set retention.raw_max_age_days --unset
    """
    if unset == (value is not None):
        raise UsageError("give a value, or --unset")
    kind = kind_of(key)
    if kind is None:
        near = difflib.get_close_matches(key, flat(app.config), 1, 0.4)
        meant = f"did you mean {near[0]}? " if near else ""
        hint = f"{meant}`session-memory config show --all` lists them"
        raise ConfigError(f"no configuration key {key}", hint=hint)
    wanted = None if value is None else from_text(kind, value)
    ((before, after, target),) = change_keys(app, {key: wanted})
    click.echo(f"{key}: {shown(before, key)} -> {shown(after, key)}")
    app.note(f"in {target}")


def change_keys(app: App, values: Mapping[str, object]) -> list[tuple[Any, Any, Path]]:
    """Write keys into the configuration file, None to take one out: before, after and where."""
    target = file_to_change(app)
    text = target.read_text(encoding="utf-8") if target.exists() else ""
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError(f"{target}: {error}") from None
    for key, value in values.items():
        _change(document, key.split("."), value)
    changed = tomlkit.dumps(document)
    before, after = (flat(check_content(target, content).config) for content in (text, changed))
    write_content(target, changed)
    return [(before[key], after[key], target) for key in values]


def _change(document: Any, path: list[str], value: object) -> None:
    table = document
    for name in path[:-1]:
        if name not in table:
            if value is None:
                return
            table[name] = tomlkit.table()
        table = table[name]
    if value is None:
        table.pop(path[-1], None)
    else:
        table[path[-1]] = value
