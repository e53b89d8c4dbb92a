"""Rows that are lost or wrong are made again."""

from __future__ import annotations

import pytest
from tests.store.sqlite.test_repair import repair, space, spoil

from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.parametrize(
    ("layer", "damage"),
    [
        ("counts", ["UPDATE session SET raw_events = 99"]),
        ("usage", ["UPDATE usage SET counted = 0"]),
        ("index", ["DELETE FROM event_text WHERE rowid = (SELECT min(id) FROM event)"]),
        ("index", ["INSERT INTO turn_text (rowid, body) VALUES (5, 'stray')"]),
    ],
)
def test_rows_are_repaired_and_a_dry_run_lists_them(
    space: Workspace, layer: str, damage: list[str]
) -> None:
    before = space.dump()
    spoil(space, *damage)
    broken = space.findings()
    assert broken
    assert repair(space, layer, dry_run=True)
    assert space.findings() == broken, "a dry run changes nothing"
    assert repair(space, layer)
    assert space.findings() == []
    assert space.dump() == before
