"""The catalog's files are the truth: the store follows them, also when it lost everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.loop_scene import LoopDesk

from session_memory.curate.catalog import from_text, read_catalog, to_text
from session_memory.store.sqlite.connection import connect, rows


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> LoopDesk:
    return LoopDesk(tmp_path, capsys, monkeypatch)


def stored(desk: LoopDesk, *statements: str) -> list[tuple[Any, ...]]:
    """Every pattern of the store without the times of its own writing; statements run first."""
    db = connect(str(desk.data / "store.db"))
    for statement in statements:
        db.execute(statement)
    found = rows(
        db,
        "SELECT id, kind, type, locus, about, status, frequency, sessions, cross_flavor, flavors,"
        " repos, usd, minutes, first_seen, last_seen FROM pattern ORDER BY id",
    )
    db.close()
    return found


def decided(desk: LoopDesk) -> dict[str, str]:
    """A store with one pattern approved and edited, and one rejected."""
    desk.sessions(desk.repository("shop"), 6, {"deploy": 6, "plan": 6}, after=False)
    names = desk.learn()
    desk.run("rules", "approve", names["deploy"])
    desk.run("rules", "edit", names["deploy"], "--text", "Log in first.")
    desk.run("rules", "reject", names["plan"], "--reason", "no use")
    return names


def catalog_files(desk: LoopDesk) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (desk.data / "catalog").iterdir()}


@pytest.mark.rows("CUR-11")
def test_a_store_that_lost_its_patterns_is_rebuilt_from_files(desk: LoopDesk) -> None:
    decided(desk)
    before, files = stored(desk), catalog_files(desk)
    assert {row[5] for row in before} == {"approved", "rejected", "candidate"}
    assert stored(desk, "DELETE FROM pattern") == []
    assert len(desk.json("rules", "sync", "--dry-run")["changed"]) == 2
    assert stored(desk) == []
    assert "2 taken over from them" in desk.run("rules", "sync")
    assert stored(desk) == before
    assert catalog_files(desk) == files
    assert desk.json("rules", "sync")["changed"] == []


@pytest.mark.rows("CUR-11")
def test_decisions_outlive_their_evidence_and_versions_their_text(desk: LoopDesk) -> None:
    names = decided(desk)
    stored(desk, "DELETE FROM mined", "DELETE FROM pattern", "DELETE FROM digest")
    desk.run("rules", "sync")
    assert {row[0]: row[5] for row in stored(desk)} == {
        names["deploy"]: "approved",
        names["plan"]: "rejected",
    }
    pattern = read_catalog(desk.data).patterns[names["deploy"]]
    assert [version.text for version in pattern.versions][-1] == "Log in first."
    assert len({version.text for version in pattern.versions}) == 2
    assert from_text(to_text(pattern)) == pattern


@pytest.mark.rows("CUR-11")
def test_a_file_changed_by_hand_or_by_git_is_taken_in(desk: LoopDesk) -> None:
    names = decided(desk)
    file = desk.data / "catalog" / f"{names['deploy']}.toml"
    older = file.read_text()
    file.write_text(older.replace('text = "Log in first."', 'text = "Log in, then deploy."', 1))
    assert desk.json("rules", "sync")["edited_by_hand"] == [names["deploy"]]
    desk.run("rules", "approve", names["deploy"])
    assert desk.json("rules", "show", names["deploy"])["versions"][-1]["text"] == (
        "Log in, then deploy."
    )
    desk.run("rules", "retire", names["deploy"])
    file.write_text(older)  # as `git checkout` of an older commit would
    assert desk.json("rules", "sync")["changed"] == [names["deploy"]]
    assert {row[0]: row[5] for row in stored(desk)}[names["deploy"]] == "approved"
    (desk.data / "catalog" / "index.toml").unlink()
    desk.run("rules", "sync")
    assert names["deploy"] in (desk.data / "catalog" / "index.toml").read_text()


@pytest.mark.rows("CUR-05", "CUR-11")
def test_a_file_cannot_approve_what_the_gate_holds_back(desk: LoopDesk) -> None:
    """A pattern with two sessions of evidence, set to approved by hand in its file."""
    root = desk.repository("shop")
    desk.sessions(root, 6, {"deploy": 2}, after=False)
    name = desk.learn()["deploy"]
    assert "provisional" in desk.run("rules", "approve", name)
    before = (root / "CLAUDE.md").read_bytes()
    file = desk.data / "catalog" / f"{name}.toml"
    ready = 'status = "approved"\ndistribution_ready = true'
    file.write_text(file.read_text().replace('status = "provisional"', ready))
    assert read_catalog(desk.data).patterns[name].current.status == "approved"

    why = "sessions 2 is below distribute_min_sessions = 3"
    for words in (["--dry-run"], []):
        assert why in desk.json("rules", "sync", *words)["held_back"][name]
    assert why in desk.run("rules", "sync")
    assert {row[0]: row[5] for row in stored(desk)}[name] == "provisional"
    assert 'status = "approved"' not in (desk.data / "catalog" / "index.toml").read_text()
    assert desk.json("rules", "list", "--status", "approved")["patterns"] == []
    shown = desk.json("rules", "show", name)["pattern"]
    assert (shown["status"], shown["distribution_ready"]) == ("provisional", False)
    assert desk.json("rules", "explain", name)["status"] == "provisional"
    (stage,) = [
        one
        for one in desk.json("rules", "stages", "--all")["patterns"]
        if one["pattern_id"] == name
    ]
    assert stage["stage"] == "provisional"
    desk.run("rules", "trial", "start", name, code=8)
    desk.run("rules", "distribute")
    assert why in desk.notes
    assert (root / "CLAUDE.md").read_bytes() == before
