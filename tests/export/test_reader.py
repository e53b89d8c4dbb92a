"""Lines of an export are read up to a cap."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.export.export_commands import run
from tests.export.test_importer_refusals import edit_lines, path

from session_memory.export.reader import MAX_LINE
from session_memory.testing.workspace import Workspace

__all__ = ["path"]


@pytest.mark.rows("STO-90")
def test_a_line_beyond_the_cap_is_refused_by_number(there: Workspace, path: Path) -> None:
    edit_lines(path, "\n", "\n" + "x" * (MAX_LINE + 1), 1)
    code, _, err = run(there, "store", "import", str(path))
    assert code == 8
    assert "line 2 of" in err and "longer than" in err
