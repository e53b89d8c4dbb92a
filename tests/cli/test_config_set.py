"""`config set` changes one key and leaves the rest of the file as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.testing.workspace import Workspace


@pytest.mark.rows("CLI-06")
def test_one_key_changes_and_comments_stay(tmp_path: Path) -> None:
    space, file = Workspace(tmp_path), tmp_path / "c.toml"
    text = "# mine\n[curate.gate]\ndistribute_min_sessions = 4 # why\n"
    file.write_text(text)
    key = "curate.gate.distribute_min_frequency"
    done = space.run("--config", str(file), "config", "set", key, "7")
    assert done.stdout == f"{key}: 5 -> 7\n"
    assert file.read_text() == text + "distribute_min_frequency = 7\n"
    back = space.run("--config", str(file), "config", "set", key, "--unset")
    assert (back.stdout, file.read_text()) == (f"{key}: 7 -> 5\n", text)


@pytest.mark.rows("CLI-06")
def test_a_wrong_key_or_value_changes_nothing(tmp_path: Path) -> None:
    space, file = Workspace(tmp_path), tmp_path / "c.toml"
    file.write_text("# mine\n")
    for words in (("no.such", "1"), ("curate.gate.distribute_min_frequency", "many")):
        assert space.run("--config", str(file), "config", "set", *words).returncode == 4
    assert space.run("--config", str(file), "config", "set", "store.path").returncode == 2
    assert (file.read_text(), [path.name for path in tmp_path.glob("c.toml*")]) == (
        "# mine\n",
        ["c.toml"],
    )


@pytest.mark.rows("CLI-06")
def test_a_shell_completes_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_SESSION_MEMORY_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "session-memory config set retention.raw_max")
    monkeypatch.setenv("COMP_CWORD", "3")
    done = Workspace(tmp_path).run_process()
    assert "plain,retention.raw_max_age_days" in done.stdout.splitlines()
