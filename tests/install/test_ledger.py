"""What the ledger of wiring says when a file cannot be understood."""

from __future__ import annotations

import pytest
from tests.install.machine import Machine

from session_memory.install.ledger import read_ledger


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"hooks": '),
        (".claude/settings.json", '{"hooks": []}'),
        (".claude/settings.json", '{"hooks": {"Stop": {}}}'),
        (".claude/settings.json", '{"hooks": {}, "hooks": {}}'),
        (".claude/settings.json", b"\xff\xfe{\x00}\x00"),
        (".claude.json", "[]"),
        (".codex/config.toml", "model = \n"),
        (".codex/config.toml", "mcp_servers = { a = { command = 'x' } }\n"),
        (".codex/hooks.json", "{}}"),
    ],
)
@pytest.mark.rows("WIR-10")
def test_a_file_that_cannot_be_understood_stops_its_own_agent_alone(
    machine: Machine, name: str, text: str | bytes
) -> None:
    bad, good = ("claude", "codex") if "claude" in name else ("codex", "claude")
    machine.have("claude", "codex", "gemini")
    path = machine.write(name, text)
    title = {"claude": "Claude Code", "codex": "Codex"}[bad]
    before = machine.files()
    dry = machine.run("init", "--dry-run")
    assert (dry.code, name in dry.out) == (3, True)
    assert machine.files() == before
    done = machine.init()
    assert done.code == 3
    assert f"not wired  {title}: {path}: " in done.out
    assert f"then session-memory init --agent {bad}" in done.out
    wired = {entry.agent for entry in read_ledger(machine.memory / "data").entries}
    assert wired == {good, "gemini"}
    assert path.read_bytes() == before[name][0]
    alone = machine.init("--agent", bad)
    assert (alone.code, "nothing was written" in alone.err) == (8, True)
    machine.uninstall()
    assert machine.files() == before
