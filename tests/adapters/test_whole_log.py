"""Logs that are read whole: no more of one is held in memory than the cap says."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters import whole_log
from session_memory.adapters.common import SourceFile
from session_memory.adapters.registry import adapters


@pytest.mark.rows("ING-21")
@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("gemini", "tmp/p/chats/session-2026-05-01T00-00-abcdef12.jsonl"),
        ("grok", "sessions/p/s/updates.jsonl"),
        ("pi", "sessions/p/s.jsonl"),
        ("kimi", "sessions/p/s/agents/main/wire.jsonl"),
    ],
)
def test_lines_behind_the_cap_are_counted_and_not_kept(
    agent: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_log, "WHOLE_CAP", 1000)
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    line = b'{"type": "x"}\n'
    path.write_bytes(line * 1_000_000)
    (block,) = adapters()[agent].read(SourceFile(str(path), 0, 0, 0, 0, 0), 0, 1 << 26)
    assert len(block.lines) + block.too_long == 1_000_000
    assert sum(len(line) for _, line in block.lines) <= 1000
