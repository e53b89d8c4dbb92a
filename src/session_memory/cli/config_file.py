"""The configuration file of the user: where it is, and what a new content of it would mean."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.cli.app import App
from session_memory.errors import ConfigError
from session_memory.paths import find_paths, private_dir
from session_memory.settings.load import Loaded, load


def named_file(app: App) -> Path:
    """The file that `--config`, SESSION_MEMORY_CONFIG or the default names; it may not exist."""
    named = app.config_path or app.environ.get("SESSION_MEMORY_CONFIG")
    return Path(named) if named else find_paths(app.environ).config_file


def file_to_change(app: App) -> Path:
    """The same, ready to be written: a link to a file among dotfiles stays a link."""
    target = named_file(app)
    if target == find_paths(app.environ).config_file:
        private_dir(target.parent)  # a directory the user named is the user's own affair
    return Path(os.path.realpath(target))


def check_content(target: Path, content: str) -> Loaded:
    """The settings that a content gives; raises ConfigError where it is not valid."""
    trial = target.with_name(f"{target.name}.{os.getpid()}.check")
    try:
        replace_file(trial, content.encode())
        loaded = load(str(trial), {}, None, str(Path.home()))
        warnings = tuple(text.replace(str(trial), str(target)) for text in loaded.warnings)
        return msgspec.structs.replace(loaded, warnings=warnings)
    except ConfigError as error:
        raise ConfigError(error.message.replace(str(trial), str(target)), hint=error.hint) from None
    finally:
        trial.unlink(missing_ok=True)


def write_content(target: Path, content: str) -> None:
    """Replace the file in one step; its permissions stay."""
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    replace_file(target, content.encode(), mode)
