"""Secrets without a digit, from a log to the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.gemini_reading import workspace

from session_memory.adapters.claude.log_builder import ClaudeLog, call_block
from session_memory.adapters.qwen.log_builder import QwenLog
from session_memory.testing.workspace import Workspace

TOKEN = "hf_" + "qXvJzKwBhGpDfZrQkVxWjNqXvJzKwBhGpD"
COMMANDS = (
    ("deploy --password correcthorse --to prod", "correcthorse"),
    ("mysql -uroot -pswordfishes shop", "swordfishes"),
    ("PGPASSWORD=tigers psql -h db", "tigers"),
    (f"huggingface-cli login --token {TOKEN}", TOKEN),
)


@pytest.mark.rows("EXT-35")
def test_neither_tokens_nor_passwords_of_letters_alone_are_stored(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt(f"use {TOKEN} for the download")
    for command, _ in COMMANDS:
        log.run(command, "done")
    space.write(log)
    assert space.sweep().ingested == 1
    stored = b"".join(
        path.read_bytes() for path in space.store_directory.rglob("*") if path.is_file()
    )
    told = " ".join(f"{event.text} {event.command}" for event in space.events(log.session_id))
    for command, secret in COMMANDS:
        assert secret not in told and secret.encode() not in stored, command
    assert told.count("[REDACTED_SECRET:") >= len(COMMANDS) + 1


@pytest.mark.rows("EXT-35")
def test_a_token_that_a_cut_would_split_leaves_no_half(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    for before in range(1500, 2060, 8):
        log.row("hologram", said=" ".join(["x" * before, TOKEN, "y" * 3000]))
    space.write(log)
    space.sweep()
    told = [str(event.text) for event in space.events(log.session_id)]
    assert len(told) == 70
    assert not [text for text in told if TOKEN[:8] in text]


@pytest.mark.rows("EXT-35")
@pytest.mark.parametrize("before", ["", "a.long.name.of.a.record."])
@pytest.mark.parametrize("dry_run", [False, True])
def test_the_report_holds_no_half_of_a_token(tmp_path: Path, before: str, dry_run: bool) -> None:
    space = workspace(tmp_path, "qwen")
    log = QwenLog(1)
    log.row(before + TOKEN)
    log.system(before + TOKEN)
    log.write(space.root / "qwen")
    unknown = space.sweep(dry_run=dry_run).unknown
    assert len(unknown) == 2 and TOKEN[:8] not in str(unknown)


def test_a_secret_in_the_id_of_a_call_is_not_stored(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("run it")
    log.reply(call_block(f"call {TOKEN}", "Bash", {"command": "ls"}))
    log.result(f"call {TOKEN}", "done")
    space.write(log)
    space.sweep()
    ids = [event.call_id for event in space.events(log.session_id) if event.call_id]
    assert len(ids) == 2 and len(set(ids)) == 1, "call and result still belong together"
    assert TOKEN not in ids[0]
