"""Of every flavour: a forgotten session stays forgotten, and better rules clean what is stored."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.forget.test_plan import no_rules
from tests.invariants.broken import broken, core_of, everything_stored, leaked
from tests.invariants.planting import planted
from tests.invariants.sessions import BUILDERS, FLAVORS

from session_memory.core.session_reference import MARK
from session_memory.forget.rescan import rescan, scan
from session_memory.redact.engine import Redactor
from session_memory.store.port import SessionQuery
from session_memory.testing.workspace import Workspace


def stored(space: Workspace) -> bytes:
    return b"\n".join(everything_stored(space.store_directory)).lower()


def sessions(space: Workspace) -> list[str]:
    with space.store() as store:
        return sorted(session.external_id for session in store.sessions(SessionQuery()))


def places(space: Workspace) -> bytes:
    """Directories and repositories as projects know them: their names are not redacted later."""
    with closing(apsw.Connection(str(space.store_directory / "store.db"))) as db:
        found = "".join(
            str(db.execute(f"SELECT * FROM {table}").fetchall())
            for table in ("project", "project_alias")
        )
    return found.lower().encode()


@pytest.mark.rows("FGT-01")
@pytest.mark.parametrize("flavor", FLAVORS)
def test_a_forgotten_session_does_not_come_back(tmp_path: Path, flavor: str) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home(flavor)
    for seed in (7301, 7402):
        BUILDERS[flavor](seed, 2).write(home)
    space.sweep()
    with space.store() as store:
        both = list(store.sessions(SessionQuery()))
        gone = next(
            session.external_id
            for session in both
            if any("7301" in (event.text or "") for event in store.all_events(session.id))
        )
    assert len(both) == 2
    space.forget(sessions=(f"{MARK}{gone}",))
    assert gone not in sessions(space) and len(sessions(space)) == 1
    assert b"7301 step" not in stored(space)
    if flavor != "aider":  # there it would be a session of its own, in the same file
        BUILDERS[flavor](7301, 3).write(home)  # its log is still there, and grows
    space.sweep()
    assert gone not in sessions(space) and len(sessions(space)) == 1
    assert b"7301 step" not in stored(space)
    assert b"7402 step" in stored(space)
    assert [text for text in broken(space) if not text.startswith(("I4", "I9"))] == []


@pytest.mark.rows("FGT-04")
@pytest.mark.parametrize("flavor", FLAVORS)
def test_better_rules_clean_what_is_stored(
    tmp_path: Path, flavor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Workspace(tmp_path)
    secrets = planted(space, flavor)
    with monkeypatch.context() as patched:
        patched.setattr("session_memory.ingest.capture.make_redactor", no_rules)
        space.sweep()
    with space.store() as store:
        before = scan(store, Redactor(store.tag_key)).events
        assert before
        rescan(store, Redactor(store.tag_key))
        assert scan(store, Redactor(store.tag_key)).events == 0
    in_paths = places(space)
    others = tuple(secret for secret in secrets if core_of(secret) not in in_paths)
    assert list(leaked(space.store_directory, others)) == []
