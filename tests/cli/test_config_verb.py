"""`session-memory config`: show, path, init."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_memory.__main__ import main
from session_memory.cli.config import commented, packaged
from session_memory.settings import KINDS


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that is a repository."""
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def show(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, object]:
    """What `config show --json` answers."""
    assert main([*args, "config", "show", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.rows("ING-05")
def test_show_tells_every_key_and_where_it_came_from(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[identity]\nshare_worktrees = false\n[domains]\nrepo = 'work'")
    monkeypatch.setenv("SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS", "9")
    answer = show(capsys, "--config", str(file), "--set", "ingest.commit_bytes=1 MiB")
    values, provenance = answer["values"], answer["provenance"]
    assert isinstance(values, dict)
    assert isinstance(provenance, dict)
    assert answer["schema_version"] == 1
    assert set(values) == set(provenance) == {*KINDS, "domains.repo"}
    assert (values["identity.share_worktrees"], values["domains.repo"]) == (False, "work")
    assert values["ingest.commit_bytes"] == 1024**2
    assert provenance["identity.share_worktrees"] == str(file)
    assert (
        provenance["retention.raw_max_age_days"] == "env:SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS"
    )
    assert provenance["ingest.commit_bytes"] == "flag"
    assert provenance["store.path"] == "default"


def test_show_as_text_names_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "retention.raw_hard_cap_bytes=unlimited", "config", "show"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["key", *KINDS]
    assert next(line for line in lines if "hard_cap" in line).split()[1:] == ["unlimited", "flag"]


def test_show_includes_what_the_repository_asks_for(
    capsys: pytest.CaptureFixture[str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / ".session-memory.toml").write_text("enabled = false\nmodel = 'x'")
    (here / "deep").mkdir()
    monkeypatch.chdir(here / "deep")
    answer = show(capsys)
    project = answer["project"]
    assert isinstance(project, dict)
    assert project["enabled"] is False
    assert "model" in str(answer["warnings"])
    values = answer["values"]
    assert isinstance(values, dict) and values["model.provider"] == "none"
    assert values["model.name"] == ""


def test_path_tells_the_file_in_force(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'memory' / 'config.toml'}\n"
    monkeypatch.setenv("SESSION_MEMORY_CONFIG", "/by/variable.toml")
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out == "/by/variable.toml\n"
    assert main(["--config", "/by/flag.toml", "config", "path"]) == 0
    assert capsys.readouterr().out == "/by/flag.toml\n"


def test_init_writes_the_packaged_file_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "memory" / "config.toml"
    assert main(["config", "init"]) == 0
    assert file.read_text(encoding="utf-8") == commented(packaged())
    file.write_text("# mine")
    assert main(["config", "init"]) == 8
    assert file.read_text() == "# mine"
    assert "left as it is" in capsys.readouterr().err


def test_a_first_file_changes_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    before = show(capsys)
    assert main(["config", "init"]) == 0
    capsys.readouterr()
    after = show(capsys)
    assert (after["values"], after["provenance"]) == (before["values"], before["provenance"])
    assert after["file"] != before["file"]
