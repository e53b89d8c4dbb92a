"""Every promise of docs/behaviour.md has a test, and every claim of a test is such a promise."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from tests.syntax import syntax_of

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "behaviour.md"


def promised() -> list[str]:
    """The ids of the page, in order."""
    return re.findall(r"^\| ([A-Z]{2,3}-\d{2}) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def claims() -> dict[str, list[str]]:
    """Id to the places that claim it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for claim in syntax_of(path).claims:
            for row in claim.rows:
                assert row is not None, f"{path}: write the ids out"
                found[str(row)].append(f"{path.relative_to(TESTS)}:{claim.line}")
    return found


def test_every_promise_has_a_test() -> None:
    claimed = claims()
    assert [row for row in promised() if row not in claimed] == []


def test_every_claim_is_a_promise_of_the_page() -> None:
    known = set(promised())
    assert {row: places for row, places in claims().items() if row not in known} == {}


def test_no_promise_is_listed_twice() -> None:
    rows = promised()
    assert len(rows) == len(set(rows)) > 0


def test_no_test_claims_more_than_three_promises() -> None:
    greedy = [
        f"{path.relative_to(TESTS)}:{claim.line}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for claim in syntax_of(path).claims
        if len(claim.rows) > 3
    ]
    assert greedy == []
