"""`config edit` opens the file in the user's editor and takes over only what is valid."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import pytest

from session_memory.testing.workspace import Workspace

KEY = "curate.gate.distribute_min_frequency"


def edit(
    space: Workspace, file: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> CompletedProcess[str]:
    """Run `config edit` with a shell script as editor; its first argument is the file."""
    editor = space.root / "editor.sh"
    editor.write_text(f"#!/bin/sh\n{script}\n")
    monkeypatch.setenv("VISUAL", f"sh '{editor}'")
    return space.run_process("--config", str(file), "config", "edit")


@pytest.mark.rows("CLI-07")
def test_a_valid_text_is_taken_and_every_change_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, file = Workspace(tmp_path), tmp_path / "c.toml"
    file.write_text("# mine\n[curate.gate]\ndistribute_min_frequency = 6\n")
    file.chmod(0o640)
    done = edit(space, file, 'sed -i "s/= 6/= 7 # why/" "$1"', monkeypatch)
    assert (done.returncode, done.stdout) == (0, f"{KEY}: 6 -> 7\n"), done.stderr
    assert file.read_text() == "# mine\n[curate.gate]\ndistribute_min_frequency = 7 # why\n"
    assert file.stat().st_mode & 0o777 == 0o640
    same = edit(space, file, 'echo "# a remark" >> "$1"', monkeypatch)
    assert same.stdout == "no value is different\n"
    assert "nothing was changed" in edit(space, file, "true", monkeypatch).stderr


@pytest.mark.rows("CLI-07")
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('echo "[curate.gate]\ndistribute_min_frequency = \\"many\\"" > "$1"', KEY),
        ('echo "[curate" > "$1"', "is not TOML"),
        ("exit 7", "hint: nothing was changed"),
        (r"printf '\377' > $1", "is not UTF-8"),
    ],
)
def test_a_wrong_text_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    space, file = Workspace(tmp_path), tmp_path / "c.toml"
    file.write_text("# mine\n")
    done = edit(space, file, script, monkeypatch)
    assert done.returncode != 0 and says in done.stderr and ".check" not in done.stderr
    assert (file.read_text(), [path.name for path in tmp_path.glob("c.toml*")]) == (
        "# mine\n",
        ["c.toml"],
    )


@pytest.mark.rows("CLI-07")
def test_a_new_file_begins_with_every_key_and_a_broken_one_can_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space, file = Workspace(tmp_path), tmp_path / "c.toml"
    script = 'sed -i "s/^#distribute_min_frequency = 5/distribute_min_frequency = 9/" "$1"'
    done = edit(space, file, script, monkeypatch)
    assert (done.returncode, done.stdout) == (0, f"{KEY}: 5 -> 9\n"), done.stderr
    assert "#raw_max_age_days" in file.read_text()
    file.write_text("[broken")
    mended = edit(space, file, 'echo "# mended" > "$1"', monkeypatch)
    assert (mended.returncode, file.read_text()) == (0, "# mended\n"), mended.stderr
