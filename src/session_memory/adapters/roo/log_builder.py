"""Writes Roo Code tasks: Cline's format, with what Roo adds."""

from __future__ import annotations

from session_memory.adapters.cline.log_builder import ClineLog


class RooLog(ClineLog):
    """One task in the making; `history` is what Roo keeps next to it."""

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", parent: str = "") -> None:
        super().__init__(seed, cwd=cwd)
        self.history = {"id": self.session_id, "workspace": cwd, "tokensIn": 9, "totalCost": 9.0}
        if parent:
            self.history["parentTaskId"] = parent
