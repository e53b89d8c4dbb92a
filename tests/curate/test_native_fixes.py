"""Changes of agents' own files are made on a yes and undone to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.test_memory_audit import TEXT, Desk, desk, told

from session_memory import audit
from session_memory.__main__ import main
from session_memory.errors import EXIT_OK

__all__ = ["desk"]


@pytest.mark.rows("NAT-07")
def test_fixes_are_made_on_a_yes_and_undone_to_the_byte(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["project", "memory", "audit", "--apply"]) == 2  # nobody to ask
    assert desk.file.read_bytes() == TEXT
    made = told(capsys, "--apply", "--yes")["applied"]
    assert len(made) == 3
    changed = desk.file.read_bytes()
    assert b"`src/core/rates.py`\r\n" in changed and b"`shopctl status`\r\n" in changed
    assert changed.count(b"make check") == 1 and changed.endswith(b"- no end")
    left = told(capsys)
    assert {one["kind"] for one in left["findings"]} == {"contradiction"}
    assert {one["id"] for one in left["applied"]} == set(made)
    for name in reversed(made):
        assert main(["project", "memory", "audit", "--undo", name]) == EXIT_OK
    assert desk.file.read_bytes() == TEXT
    writes = [one for one in audit.read(desk.data) if one.by == "memory audit"]
    assert len(writes) == 6 and writes[-1].path == str(desk.file)
    assert main(["project", "memory", "audit", "--undo", made[0]]) != EXIT_OK


@pytest.mark.rows("NAT-07")
def test_what_was_edited_since_is_kept_and_an_uncertain_place_is_refused(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    made = told(capsys, "--apply", "--yes")["applied"]
    desk.file.write_bytes(b"- mine\r\n" + desk.file.read_bytes())
    for name in made:
        assert main(["project", "memory", "audit", "--undo", name]) == EXIT_OK
    assert desk.file.read_bytes() == b"- mine\r\n" + TEXT
    made = told(capsys, "--apply", "--yes")["applied"]
    desk.file.write_text("all new\n")
    assert main(["project", "memory", "audit", "--undo", made[0]]) == 8
    assert desk.file.read_text() == "all new\n"


@pytest.mark.rows("NAT-08")
def test_no_link_leads_a_fix_out_of_the_repository(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_bytes(TEXT)
    desk.file.unlink()
    desk.file.symlink_to(outside)
    assert told(capsys, "--apply", "--yes").get("applied", []) == []
    assert outside.read_bytes() == TEXT
