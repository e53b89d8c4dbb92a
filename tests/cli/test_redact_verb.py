"""`redact test` shows places and rules, and never a value."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from session_memory.__main__ import main
from session_memory.redact.rule import fake

TOKEN = fake("ghp_", 36)


@pytest.fixture
def file(tmp_path: Path) -> str:
    target = tmp_path / "notes.txt"
    target.write_text(f"plain\né {TOKEN}\n\npassword=hunter2hunter2\n", encoding="utf-8")
    return str(target)


def test_places_rules_and_lengths_are_shown(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "redact", "test", file]) == 0
    output = capsys.readouterr()
    rows = [line.split() for line in output.out.splitlines()]
    assert rows == [
        ["line", "column", "rule", "length"],
        ["2", "3", "github", "40"],
        ["4", "10", "assignment", "14"],
    ]
    assert "2 secrets" in output.err
    assert TOKEN not in output.out + output.err and "hunter2" not in output.out + output.err


def test_json_has_the_same_and_no_value(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["store", "redact", "test", file, "--json"]) == 0
    text = capsys.readouterr().out
    answer = json.loads(text)
    assert answer["rules"] == {"github": 1, "assignment": 1}
    assert answer["found"][1] == {"line": 4, "column": 10, "rule": "assignment", "length": 14}
    assert "hunter2" not in text


def test_stdin_is_read_for_a_dash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff token=abcdefgh12"), encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["store", "redact", "test", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"] == {"assignment": 1}


def test_rules_of_the_user_are_tried_and_bad_ones_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_text("badge 4711", encoding="utf-8")
    (tmp_path / "leaks.toml").write_text(
        "[[rules]]\nid = 'bad'\nregex = '(?<=a)b'\n", encoding="utf-8"
    )
    rules = '[{"id": "badge", "pattern": "badge ([0-9]+)"}]'
    monkeypatch.setenv("SESSION_MEMORY_REDACT_RULES", rules)
    monkeypatch.setenv("SESSION_MEMORY_REDACT_GITLEAKS", str(tmp_path / "leaks.toml"))
    assert main(["store", "redact", "test", str(tmp_path / "x"), "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["rules"] == {"badge": 1}
    assert "rule bad is not used" in output.err


def test_a_missing_file_and_a_bad_rule_table_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "redact", "test", str(tmp_path / "missing")]) == 1
    assert "cannot be read" in capsys.readouterr().err
    monkeypatch.setenv("SESSION_MEMORY_REDACT_RULES", '[{"id": "x"}]')
    assert main(["store", "redact", "test", "-"]) == 4
    assert "redact.rules" in capsys.readouterr().err
