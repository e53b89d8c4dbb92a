"""Writes Claude Cowork sessions: Claude Code's transcript, a record, and the app's second copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from session_memory.adapters.claude.log_builder import START, ClaudeLog


class CoworkLog(ClaudeLog):
    """One session in the making, as `ClaudeLog`; `record` is what the app keeps about it."""

    def __init__(self, seed: int = 1, *, cwd: str = "/sessions/brave-cat", start: int = START):
        super().__init__(seed, cwd=cwd, start=start)
        self.entrypoint = "local-agent"
        self.record: dict[str, Any] = {
            "sessionId": f"local_{self._uuid('app')}",
            "cliSessionId": self.session_id,
            "cwd": cwd,
            "userSelectedFolders": ["/work/shop"],
            "createdAt": start,
            "lastActivityAt": start,
            "isArchived": False,
        }

    def folder(self, home: Path) -> Path:
        """The session's own folder below the app's."""
        return home / "org-1" / "account-1" / self.record["sessionId"]

    def audit(self) -> list[dict[str, Any]]:
        """The same conversation as the app's audit file has it."""
        rows: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "model": self.model}]
        for row in self.rows:
            if row["type"] in ("user", "assistant"):
                copied = {name: row[name] for name in ("type", "message", "uuid")}
                rows.append({**copied, "_audit_timestamp": row["timestamp"]})
        rows.append({"type": "result", "total_cost_usd": 1.5, "modelUsage": {}})
        return [{**row, "session_id": self.session_id, "_audit_hmac": "0" * 64} for row in rows]

    def write(self, home: Path) -> Path:
        """Write the record and both copies; returns the transcript."""
        folder = self.folder(home)
        path = super().write(folder / ".claude")
        folder.with_suffix(".json").write_text(json.dumps(self.record), encoding="utf-8")
        self.write_audit(home)
        return path

    def write_audit(self, home: Path) -> Path:
        """Write the audit file alone."""
        path = self.folder(home) / "audit.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(row)}\n" for row in self.audit()), encoding="utf-8")
        return path
