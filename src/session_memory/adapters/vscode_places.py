"""Where editors built on VS Code keep what their extensions store, on every system."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from session_memory.adapters.common import Json, as_object, as_text

_BASES = ("$XDG_CONFIG_HOME", "~/.config", "~/Library/Application Support", "$APPDATA")
EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")


def user_folders(inside: str, editors: tuple[str, ...] = EDITORS) -> tuple[str, ...]:
    """A folder of the user's data in each of the editors, as an agent's `homes`."""
    return tuple(f"{base}/{editor}/User/{inside}" for editor in editors for base in _BASES)


def uri_path(uri: str) -> str:
    """The path in a `file:` URI, or a plain path; empty for a place on another machine."""
    if uri.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:[/\\]", uri):
        return uri
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    if parts.scheme != "file":
        return ""
    if re.match(r"/[A-Za-z]:", path):
        return path[1:]
    return f"//{parts.netloc}{path}" if parts.netloc else path


def workspace_path(record: dict[str, Json]) -> str:
    """The folder that a `workspace.json` names; that of the file for a workspace of several."""
    if folder := uri_path(as_text(record.get("folder"))):
        return folder
    file = uri_path(as_text(record.get("workspace")))
    return re.sub(r"[/\\][^/\\]*$", "", file)


def uri_of(value: Json) -> str:
    """The path in a URI as VS Code writes it: as text, or as an object of its parts."""
    if isinstance(value, str):
        return uri_path(value)
    fields = as_object(value)
    if as_text(fields.get("scheme")) not in ("", "file"):
        return ""
    return as_text(fields.get("fsPath")) or as_text(fields.get("path"))
