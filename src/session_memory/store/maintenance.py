"""Checking, restoring and rebuilding a store by its directory, also where it cannot be opened.

What an open store does for maintenance is in `store.port`.
"""

from session_memory.store.sqlite.backup import BackupContent, check_backup
from session_memory.store.sqlite.check import is_file_damage
from session_memory.store.sqlite.rebuild import (
    Rebuilt,
    find_damage,
    knows_forgotten,
    preview_rebuild,
    rebuild,
    remove_stand_ins,
)
from session_memory.store.sqlite.restore import (
    PresentStore,
    inspect_present,
    refuse_damage,
    stage_backup,
)

__all__ = [
    "BackupContent",
    "PresentStore",
    "Rebuilt",
    "check_backup",
    "find_damage",
    "inspect_present",
    "is_file_damage",
    "knows_forgotten",
    "preview_rebuild",
    "rebuild",
    "refuse_damage",
    "remove_stand_ins",
    "stage_backup",
]
