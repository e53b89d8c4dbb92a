"""The queries of docs/scale.md run on an export as it is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.fleet.inline import exported

from session_memory.testing.workspace import Workspace

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
QUERIES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def folder(space: Workspace, tmp_path: Path) -> Path:
    exported(space, tmp_path / "parquet", signals=True)
    return tmp_path / "parquet"


def run(folder: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    monkeypatch.chdir(folder)
    with duckdb.connect() as database:
        return database.execute(query).fetchall()


@pytest.mark.rows("FLT-05")
def test_dollars_by_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(folder, QUERIES[0], monkeypatch)
    assert sum(row[2] for row in found) > 0 and len(found[0]) == 4


@pytest.mark.rows("FLT-05")
def test_commands_that_fail(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(folder, QUERIES[1], monkeypatch)
    assert {"npm test", "tool20"} <= {row[0] for row in found}


@pytest.mark.rows("FLT-05")
def test_outcomes_by_month(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(folder, QUERIES[2], monkeypatch)
    assert "claude" in {row[1] for row in found} and all(0 <= row[3] <= 1 for row in found)
    assert len(QUERIES) == 3
