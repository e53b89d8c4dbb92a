"""When which session was last imported on a hook's word: what rate limits are counted from."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.spool import REPEAT_WINDOW_MS

NAME = "served.json"


def read_served(state: Path) -> dict[str, int]:
    """Key to time of the last import; a file that cannot be read only means an import too many."""
    try:
        return msgspec.json.decode((state / NAME).read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError):
        return {}


def write_served(state: Path, served: dict[str, int], now_ms: int) -> None:
    """Keep what still limits something."""
    kept = {key: at for key, at in served.items() if now_ms - REPEAT_WINDOW_MS < at <= now_ms}
    replace_file(state / NAME, msgspec.json.encode(kept))
