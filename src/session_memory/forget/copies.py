"""Copies of what is forgotten that are not ours to change: they are reported, with the reason."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from session_memory import audit
from session_memory.core.forget import ForgottenSessions, Remains
from session_memory.file_names import text_to_name
from session_memory.forget.report import ForgetContext, ForgetReport
from session_memory.paths import Paths
from session_memory.store.damage import UNCLAIMED, damaged_copies
from session_memory.store.swap import ASIDE

_COPIED_BY = {
    "export": "it was exported before; delete it if it holds what must go",
    "backup": "it is a backup; `store restore` leaves out what is forgotten, but the words are in"
    " it: delete it if they must go",
}


def agents_logs(paths: Iterable[str]) -> tuple[Remains, ...]:
    """Logs of the agents that still exist."""
    why = "it is the agent's own log, which is never changed"
    return tuple(Remains(path, why) for path in paths if _exists(path))


def other_copies(paths: Paths) -> tuple[Remains, ...]:
    """Copies of the store, or of parts of it, that may hold anything that was ever in it."""
    written = audit.read(paths.data)
    outside = (
        Remains(path, why)
        for command, why in _COPIED_BY.items()
        for path in dict.fromkeys(write.path for write in written if write.by == command)
        if _exists(path)
    )
    return (*own_copies(paths.data), *outside)


def own_copies(data: Path) -> tuple[Remains, ...]:
    """Copies within our own directory: the user's way back, so only the user deletes them."""
    copies: list[Remains] = []
    for name in damaged_copies(str(data)):
        why = (
            "a damaged database, kept aside; `session-memory store repair --delete-kept` deletes it"
        )
        copies.append(Remains(str(data / name), why))
    for path in sorted(data.glob(f"{ASIDE}*")):
        why = "it is an earlier store, kept aside; delete it if it must go"
        copies.append(Remains(str(path), why))
    if (unclaimed := data / UNCLAIMED).is_dir():
        why = "texts that belong to no session; delete it if they must go"
        copies.append(Remains(str(unclaimed), why))
    return tuple(copies)


def wiring_record(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    """Our record of wired agents, where it names a forgotten project."""
    path = context.paths.data / "install.json"
    if forgotten.roots and path.exists():
        text = path.read_text(encoding="utf-8", errors="replace")
        if any(msgspec.json.encode(root).decode()[1:-1] in text for root in forgotten.roots):
            why = "agents are wired in that project; `session-memory uninstall` removes it"
            return ForgetReport(remains=(Remains(str(path), why),))
    return ForgetReport()


def _exists(path: str) -> bool:
    return os.path.exists(text_to_name(path))
