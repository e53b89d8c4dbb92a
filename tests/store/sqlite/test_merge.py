"""Every table is joined when two stores are, or left out on purpose."""

from __future__ import annotations

from tests.store.sqlite.test_rebuild import database, space

from session_memory.store.sqlite import merge, salvage
from session_memory.store.sqlite.connection import connect
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


def test_every_table_is_joined_or_left_out_on_purpose(space: Workspace) -> None:
    db = connect(str(database(space)))
    assert set(salvage.tables_of(db)) == merge.SPECS.keys() | merge.LEFT_OUT
    db.close()
