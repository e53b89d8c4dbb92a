"""The audit: appended, private, and whole again after a cut."""

from __future__ import annotations

from pathlib import Path

from session_memory import audit


def line(number: int) -> audit.Written:
    return audit.Written(number, "distribute", f"/repo/{number}", "why", None, audit.sha256(b"x"))


def test_lines_come_back_in_order_and_half_a_line_costs_only_itself(tmp_path: Path) -> None:
    assert audit.read(tmp_path) == ()
    audit.append(tmp_path, line(1))
    file = tmp_path / audit.FILE
    before = file.read_bytes()
    with file.open("ab") as stream:
        stream.write(b'{"at": 2, "by": "dis')  # killed here
    audit.append(tmp_path, line(3))
    assert audit.read(tmp_path) == (line(1), line(3))
    assert file.read_bytes().startswith(before)
    assert file.stat().st_mode & 0o777 == 0o600


def test_no_file_and_an_empty_file_differ() -> None:
    assert audit.sha256(None) is None
    assert audit.sha256(b"") is not None
