"""Where journals are."""

from __future__ import annotations

from pathlib import Path

from session_memory.journal.paths import journal_paths


def test_journals_of_two_projects_are_apart_and_a_vault_is_one(tmp_path: Path) -> None:
    assert journal_paths(tmp_path, "/a").root != journal_paths(tmp_path, "/b").root
    vault = str(tmp_path / "vault")
    assert journal_paths(tmp_path, "/a", vault) == journal_paths(tmp_path, "/b", vault)
    assert journal_paths(tmp_path, "/a", vault).root == Path(vault)
