"""Damaged lines are known by file and byte, so that nobody has to look for them."""

from __future__ import annotations

import json
from pathlib import Path

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


def test_a_damaged_line_is_known_by_its_place(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("one")
    path = space.write(log)[0]
    offset = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"torn": \n')
    space.sweep()
    with space.store() as store:
        ((where, at, _),) = store.quarantined()
    assert (where, at) == (str(path), offset)
    told = space.run("--config", str(space.write_config()), "store", "quarantine", "--json")
    assert json.loads(told.stdout)["damaged"][0]["offset"] == offset


def test_a_mended_log_leaves_quarantine(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("one")
    path = space.write(log)[0]
    whole = path.read_bytes()
    path.write_bytes(b"garbage\n" + whole)
    space.sweep()
    path.write_bytes(whole)
    space.sweep()
    with space.store() as store:
        assert store.quarantined() == []
