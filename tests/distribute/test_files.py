"""A file that changed after it was read is not written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.distribute.scenes import repository

from session_memory.distribute import files


def test_a_file_that_changed_since_the_plan_is_left_alone(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine\n")
    file = shop / "CLAUDE.md"
    with pytest.raises(files.Refused, match="changed meanwhile"):
        files.put(str(shop), str(file), b"other\n", b"new\n")
    assert file.read_text() == "mine\n" and len(list(shop.iterdir())) == 2
