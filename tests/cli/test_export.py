"""`export` writes what was asked for, privately."""

from __future__ import annotations

import os
import stat

import pytest
from tests.export.export_commands import export, told
from tests.invariants.sessions import write_flavors

from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


def test_only_what_was_asked_for_is_exported(here: Workspace) -> None:
    write_flavors(here, count=1)
    here.sweep()
    parent = next(s.external_id for s in here.sessions().values() if s.parent_external_id is None)
    whole = told(here, "store", "export", str(here.root / "all"))
    part = told(here, "store", "export", str(here.root / "one.jsonl"), "--session", parent)
    assert 0 < part["sessions"] < whole["sessions"]
    none = told(here, "store", "export", str(here.root / "dry"), "--dry-run")
    assert none["sessions"] == whole["sessions"]
    assert not (here.root / "dry").exists()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_every_file_of_an_export_is_private(here: Workspace) -> None:
    write_samples(here.claude)
    here.sweep()
    pages = export(here, "pages", "--format", "markdown")
    for root in (export(here), pages):
        assert stat.S_IMODE(root.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in root.iterdir()} == {0o600}
