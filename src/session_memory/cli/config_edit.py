"""`session-memory config edit`: the configuration file in the user's editor, checked afterwards."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from session_memory.cli.app import App, pass_app
from session_memory.cli.config import commented, flat, packaged, shown
from session_memory.cli.config_file import check_content, file_to_change, write_content
from session_memory.cli.editor import edit_text
from session_memory.errors import ConfigError, Refused
from session_memory.settings.load import Loaded


@click.command(name="edit")
@pass_app
def command(app: App) -> None:
    """Open the configuration file in $VISUAL or $EDITOR, and check it when you close it.

    A new file begins with every key, commented out. A file with a mistake in it is not taken:
    the old one stays, and at a terminal you can go on editing.

    \b
    Examples:
      session-memory config edit
      EDITOR=nano session-memory config edit
    """
    target = file_to_change(app)
    before = target.read_text(encoding="utf-8") if target.exists() else None
    edited = _edited(target, commented(packaged()) if before is None else before)
    if edited is None or edited[0] == before:
        app.note("nothing was changed")
        return
    text, now = edited
    if (target.read_text(encoding="utf-8") if target.exists() else None) != before:
        raise Refused(f"{target} was changed by someone else meanwhile", hint="edit it again")
    old = _values_before(target, before)
    write_content(target, text)
    for warning in now.warnings:
        app.warn(warning)
    new = flat(now.config)
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    for key in changed:
        click.echo(f"{key}: {shown(old.get(key), key)} -> {shown(new.get(key), key)}")
    if not changed:
        click.echo("no value is different")
    app.note(f"in {target}")


def _edited(target: Path, text: str) -> tuple[str, Loaded] | None:
    """A valid text and its settings; None where the editor saved nothing."""
    saved = False
    while True:
        edited = edit_text(text, extension=".toml")
        if edited is None and not saved:
            return None
        text, saved = edited if edited is not None else text, True
        try:
            return text, check_content(target, text)
        except ConfigError as error:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise ConfigError(error.message, hint=f"{target} is as it was") from None
            click.echo(error.message, err=True)
            if not click.confirm("Edit again? (no: the file stays as it was)", True, err=True):
                raise ConfigError(
                    "the new text was not saved", hint=f"{target} is as it was"
                ) from None


def _values_before(target: Path, before: str | None) -> dict[str, object]:
    """The values of the old content; of the defaults, where it was no valid one."""
    try:
        return flat(check_content(target, before or "").config)
    except ConfigError:
        return flat(check_content(target, "").config)
