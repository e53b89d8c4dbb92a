"""Where editors built on VS Code keep what their extensions store, on every system."""

from __future__ import annotations

_BASES = ("$XDG_CONFIG_HOME", "~/.config", "~/Library/Application Support", "$APPDATA")
EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


def user_folders(inside: str, editors: tuple[str, ...] = EDITORS) -> tuple[str, ...]:
    """A folder of the user's data in each of the editors, as an agent's `homes`."""
    return tuple(f"{base}/{editor}/User/{inside}" for editor in editors for base in _BASES)
