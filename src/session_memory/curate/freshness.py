"""Whether the proposals that are kept follow from all the evidence there is now."""

from __future__ import annotations

from contextlib import suppress

from session_memory.atomic_files import replace_file
from session_memory.curate.catalog import PROPOSALS
from session_memory.paths import Paths, private_dir
from session_memory.store.port import Store

_FILE = "rules-detected"


def note_detection(paths: Paths, stamp: str) -> None:
    """Keep what the evidence looked like; without it, the next reader detects again."""
    with suppress(OSError):
        replace_file(private_dir(paths.state) / _FILE, stamp.encode())


def is_current(paths: Paths, store: Store) -> bool:
    """Whether nothing was mined, changed or forgotten since the last detection."""
    try:
        last_stamp = (paths.state / _FILE).read_bytes().decode("ascii", "replace")
    except OSError:
        return False
    return (paths.data / PROPOSALS).exists() and last_stamp == store.patterns.evidence_stamp()


def was_detected(paths: Paths) -> bool:
    """Whether detection ever left proposals here."""
    return (paths.data / PROPOSALS).exists()
