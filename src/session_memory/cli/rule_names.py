"""Rules by their number in the list that was printed last; an id always works too."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.cli.app import App
from session_memory.errors import NotFound
from session_memory.paths import private_dir

_FILE = "rules-listed.json"
_DIGITS = 4
"""A longer row of digits is the beginning of an id."""


def remember_order(app: App, names: Sequence[str]) -> None:
    """Keep the order in which rules are about to be shown; a list is shown even if that fails."""
    with suppress(OSError):
        replace_file(private_dir(app.paths.state) / _FILE, msgspec.json.encode(names))


def by_number(app: App, reference: str) -> str:
    """The id behind a number of the last list; anything else is returned as it is."""
    if not (reference.isascii() and reference.isdigit() and len(reference) <= _DIGITS):
        return reference
    try:
        listed = msgspec.json.decode((app.paths.state / _FILE).read_bytes(), type=list[str])
    except (OSError, msgspec.MsgspecError):
        return reference
    if reference in listed:
        return reference
    number = int(reference)
    if 1 <= number <= len(listed):
        return listed[number - 1]
    if any(name.startswith(reference) for name in listed):
        return reference
    hint = "`session-memory rules` lists them"
    raise NotFound(f"the last list had {len(listed)} rules, no number {number}", hint=hint)
