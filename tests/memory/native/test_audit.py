"""What an audit of agents' own files names."""

from __future__ import annotations

import json

import pytest
from tests.cli.test_memory_audit import SECRET, TEXT, Desk, desk, told

from session_memory.__main__ import main
from session_memory.errors import EXIT_OK

__all__ = ["desk"]


@pytest.mark.rows("NAT-06")
def test_the_audit_names_files_costs_and_findings(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = told(capsys)
    assert {"claude", "codex", "copilot"} <= set(answer["tokens_every_session"])
    assert answer["tokens_every_session"]["claude"] > 0
    kinds = {(one["kind"], one["quotes"][0]["line"]) for one in answer["findings"]}
    assert kinds == {("contradiction", 1), ("stale", 4), ("stale", 5), ("duplicate", 6)}
    whole = json.dumps(answer)
    assert SECRET not in whole
    stale = next(one for one in answer["findings"] if one["quotes"][0]["line"] == 5)
    assert "+- Show status with `shopctl status`" in stale["diff"]
    assert main(["project", "memory", "audit"]) == EXIT_OK
    shown = capsys.readouterr().out
    assert "one wants npm, the other pnpm" in shown and SECRET not in shown
    assert "<system-reminder>" not in shown
    assert desk.file.read_bytes() == TEXT


def test_a_project_without_such_files_says_so(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("CLAUDE.md", "AGENTS.md"):
        (desk.root / name).unlink()
    assert main(["project", "memory", "audit"]) == EXIT_OK
    assert "no agent keeps a memory of its own here" in capsys.readouterr().out
    assert main(["project", "memory", "audit", "--project", "nowhere"]) != EXIT_OK
