"""`store secrets` finds secrets that are stored."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_forget_and_doctor import run, space, swept

from session_memory.testing.workspace import Workspace

__all__ = ["space"]


def test_secrets_scan_tells_by_exit_code(space: Workspace) -> None:
    assert run(swept(space), "store", "secrets", "scan").returncode == 0
    done = run(space, "store", "secrets", "rescan", "--json")
    assert json.loads(done.stdout)["events"] == 0


RULE = 'redact.rules=[{"id": "wood", "pattern": "zebrawood"}]'


def test_secrets_are_found_where_only_a_digest_is_left(space: Workspace) -> None:
    space.set_retention(raw_soft_cap_bytes=1)
    swept(space)
    assert {one.state for one in space.sessions().values()} == {"raw_evicted"}
    scanned = run(space, "--set", RULE, "store", "secrets", "scan")
    assert scanned.returncode == 3
    assert "0 events" not in scanned.stdout
    assert "digests, facts or observations of 1 sessions would be redacted" in scanned.stdout
    done = run(space, "--set", RULE, "store", "secrets", "rescan")
    assert done.returncode == 0
    assert done.stdout.startswith("digests, facts or observations of 1 sessions redacted")
    clean = run(space, "--set", RULE, "store", "secrets", "scan")
    assert clean.returncode == 0
    assert clean.stdout.endswith(
        "looked at: events, digests, facts and observations, patterns, agent notes, memories,"
        " journals, memory fixes, guards, injection, recovery, told lines, saved searches, team\n"
    )


def page_with(space: Workspace, text: str) -> Path:
    """A page for new sessions that still holds a text."""
    page = space.store_directory / "state" / "inject" / f"{'a' * 64}.json"
    page.parent.mkdir(parents=True)
    page.write_text(json.dumps({"v": 1, "sections": [{"id": "memory", "text": text}]}))
    return page


def test_what_only_a_page_for_new_sessions_holds_is_found(space: Workspace) -> None:
    page = page_with(swept(space), 'Ask "Ada Ébène" first')
    rule = RULE.replace("zebrawood", "Ada Ébène")
    scanned = run(space, "--set", rule, "store", "secrets", "scan", "--json")
    assert (scanned.returncode, json.loads(scanned.stdout)["features"]) == (3, ["injection"])
    assert run(space, "forget", "--text", '"Ada Ébène"', "--yes").returncode == 0
    assert not page.exists()
