"""What the worker asks for: patterns for the pages of session starts; and what a backup holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.distribute.scenes import NOON, Desk, repository

from session_memory.core.loop.trials import Trial
from session_memory.core.text.own_text import without_own_text
from session_memory.errors import Refused
from session_memory.settings import Config
from session_memory.store import open_store
from session_memory.store.trial_files import TRIALS, write_trials
from session_memory.worker.injection_pages import write_pages
from session_memory.worker.lessons import pattern_sections


def test_a_trial_moves_a_pattern_from_the_files_to_the_page(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    name = desk.corrected(shop)
    with open_store(str(desk.data), NOON) as store:
        (section,) = pattern_sections(store, desk.data, Config())(str(shop))
        assert (section.id, section.trial) == (f"pattern:{name}", None)
        assert without_own_text(section.text) == ""
        desk.run("rules", "distribute")
        assert pattern_sections(store, desk.data, Config())(str(shop)) == ()  # the file does
        write_trials(desk.data, [Trial(name, 2, NOON)])
        desk.run("rules", "distribute")
        assert (shop / "CLAUDE.md").read_text() == "mine\n" and not (shop / "AGENTS.md").exists()
        on_trial = pattern_sections(store, desk.data, Config())(str(shop))
        assert [one.trial for one in on_trial] == [name]
        assert write_pages(tmp_path / "state", {str(shop): on_trial}, NOON) == 1
        (desk.data / TRIALS).write_text("{")
        with pytest.raises(Refused, match="trials"):
            pattern_sections(store, desk.data, Config())


def test_a_backup_takes_ledger_and_audit_along(desk: Desk, tmp_path: Path) -> None:
    desk.corrected(repository(tmp_path, "shop"))
    desk.run("rules", "distribute")
    names = ("distribution.json", "audit.jsonl")
    before = [(desk.data / name).read_bytes() for name in names]  # the backup is audited too
    desk.run("store", "backup", str(tmp_path / "copy"))
    assert [(tmp_path / "copy" / name).read_bytes() for name in names] == before
