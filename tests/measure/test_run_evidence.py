"""What the page claims is what the script measures, and what it measures is good enough."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.rows("MEA-04")
def test_the_page_shows_what_the_script_measures_and_names_its_fixture() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "measure_evidence.py")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    page = (ROOT / "docs" / "loop.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- measured:begin -->\n")[2].partition("<!-- measured:end -->")[0]
    assert shown == made and "trial fixture" in shown
    assert "scripts/measure_evidence.py" in page and "no promise of\nsavings" in page
    rows = [line.split(" | ") for line in made.splitlines() if line.startswith(("| f", "| t"))]
    without_effect = [row for row in rows if row[2] == row[3]]
    assert len(without_effect) == 6 and all(int(row[4]) <= 5 for row in without_effect)
    strong = [row for row in rows if row[1:4] == ["160", "50%", "10%"]]
    assert len(strong) == 3 and all(int(row[4]) >= 95 for row in strong)
