"""How much smaller a pack is than what it was made of, on invented sessions of our own.

`python -m tests.bench.pack_tokens` prints the table of docs/mcp.md; a test compares both. The
sessions repeat themselves as plans and summaries do, but nobody lived them: the table says what
the budgets do, not what anybody will save.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.bench.usage import arguments
from tests.recall.store_builder import HOUR, Memory, Word

from session_memory.recall.context_pack import context_pack
from session_memory.recall.requests import PackRequest

HEAD = (
    "| fixture | sessions | observations | tokens before | pack | tokens of the pack |",
    "|---|---|---|---|---|---|",
)


class Fixture(NamedTuple):
    """Sessions that each say the same number of things."""

    name: str
    sessions: int
    each: int


FIXTURES = (
    Fixture("one short session", 1, 12),
    Fixture("one long session", 1, 160),
    Fixture("five sessions", 5, 60),
    Fixture("forty sessions", 40, 60),
)


def words(session: int, count: int) -> list[Word]:
    """What an invented session says: a request, then plans, decisions, results and summaries."""
    said: list[Word] = [("user_request", f"Make report {session} add up, and say why it did not")]
    for number in range(count - 1):
        what = f"{number} of report {session}: the totals of table {number % 7} are rounded late"
        said.append(
            (
                ("pending_item", f"Check step {what}"),
                ("decision", f"Decided for step {what}, so money is whole cents everywhere"),
                ("completed_item", f"Done with step {what}; the test for it passes"),
                ("session_summary", f"So far: step {what}, after two failed runs of the tests"),
            )[number % 4]
        )
    return said


def rows(folder: Path) -> list[str]:
    """One line of the table for each fixture."""
    found: list[str] = []
    for fixture in FIXTURES:
        memory = Memory(folder / fixture.name)
        for number in range(fixture.sessions):
            memory.session(f"s{number}", *words(number, fixture.each), at=number * HOUR)
        pack = context_pack(memory.context, PackRequest("shop", budget="normal"))
        memory.close()
        stats = getattr(pack, "stats")  # noqa: B009 - no hash was given, so it is a pack
        total = fixture.sessions * fixture.each
        found.append(
            f"| {fixture.name} | {fixture.sessions} | {total} | {stats.approx_source_tokens:,}"
            f" | {stats.budget} | {stats.approx_pack_tokens:,} |"
        )
    return found


def table() -> str:
    """The whole table."""
    with tempfile.TemporaryDirectory(prefix="session-memory-tokens-") as folder:
        return "\n".join((*HEAD, *rows(Path(folder))))


if __name__ == "__main__":
    arguments(__doc__)
    print(table())
    sys.exit(0)
