"""The tests that docs/adapters.md names for the traps of agents' logs are there."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "adapters.md"


def test_every_test_the_page_names_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    sources = (
        path.read_text(encoding="utf-8") for path in PAGE.parents[1].glob("tests/adapters/*.py")
    )
    there = {name for source in sources for name in re.findall(r"^def (test_\w+)", source, re.M)}
    assert named
    assert named - there == set()
