"""Every example of docs/api.md runs and prints what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
EXAMPLES = re.compile(r"```python\n(.*?)```", re.DOTALL)


def failures(text: str) -> list[str]:
    """What the examples of a page print that it does not say; they follow on each other."""
    names: dict[str, Any] = {}
    parser = doctest.DocTestParser()
    runner = doctest.DocTestRunner(verbose=False)
    told: list[str] = []
    for number, block in enumerate(EXAMPLES.findall(text), 1):
        test = parser.get_doctest(block, names, f"example {number}", str(PAGE), 0)
        assert test.examples, f"example {number} has nothing to run"
        test.globs = names
        runner.run(test, out=told.append, clear_globs=False)
    return told


@pytest.mark.usefixtures("space")
def test_every_example_of_the_page_is_true() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(EXAMPLES.findall(text)) >= 8
    assert failures(text) == []


@pytest.mark.usefixtures("space")
def test_a_wrong_example_is_noticed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert failures(text.replace("['shop', 'shop-site']", "['shop']")) != []
