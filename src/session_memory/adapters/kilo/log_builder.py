"""Writes Kilo Code tasks: Cline's format, named by a UUID."""

from __future__ import annotations

from session_memory.adapters.cline.log_builder import ClineLog


class KiloLog(ClineLog):
    """One task in the making."""

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop") -> None:
        super().__init__(seed, cwd=cwd)
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.directory_words = "Current Workspace Directory"
