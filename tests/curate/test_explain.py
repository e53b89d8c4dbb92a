"""`explain`: every id leads to the sessions, words and decisions behind it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.distribute.scenes import Desk, repository


def test_a_distributed_line_leads_to_decisions_sessions_and_files(
    desk: Desk, tmp_path: Path
) -> None:
    shop = repository(tmp_path, "shop")
    name = desk.corrected(shop)
    desk.run("rules", "distribute")
    answer = desk.json("rules", "explain", f"sm-{name}")
    assert (answer["what"], answer["status"], answer["id"]) == ("pattern", "approved", name)
    assert answer == desk.json("rules", "explain", name) == desk.json("rules", "explain", name[:6])
    assert [one["action"] for one in answer["decisions"]] == ["edit", "approve"]
    assert {str(shop / "CLAUDE.md"), str(shop / "AGENTS.md")} == set(answer["files"])
    assert len({one["session"] for one in answer["evidence"]}) == 3
    assert all("instead of pytest" in one["quote"] and one["raw"] for one in answer["evidence"])
    text = desk.run("rules", "explain", f"sm-{name}")
    assert f"given in {shop}/CLAUDE.md" in text and "instead of pytest" in text


def test_it_still_cites_when_the_raw_text_has_gone(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    name = desk.corrected(shop)
    small = ("--set", "retention.raw_soft_cap_bytes=1", "--set", "retention.raw_hard_cap_bytes=1")
    desk.run(*small, "sweep")
    answer = desk.json("rules", "explain", name)
    assert {one["raw"] for one in answer["evidence"]} == {False}
    assert all("instead of pytest" in one["quote"] for one in answer["evidence"])
    assert "(raw text evicted)" in desk.run("rules", "explain", name)


def test_observations_and_sessions_are_explained_too(desk: Desk, tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop")
    name = desk.corrected(shop)
    note = desk.json("project", "observations", "--all")["observations"][0]
    answer = desk.json("rules", "explain", note["hash"])
    assert (answer["what"], answer["evidence"][0]["session"]) == ("observation", note["session"])
    assert answer["evidence"][0]["event"] == note["event"] and answer["evidence"][0]["raw"]
    answer = desk.json("rules", "explain", note["session"])
    assert (answer["what"], answer["project"]) == ("session", "shop") and name in answer["patterns"]
    assert note["hash"] in {one["id"] for one in answer["observations"]}
    desk.run("rules", "explain", "sm-nobody", code=1)
    assert "nothing is known" in desk.err


def test_a_session_that_only_the_catalog_names_is_not_called_evicted(
    desk: Desk, tmp_path: Path
) -> None:
    desk.corrected(repository(tmp_path, "shop"))
    session = desk.json("sessions")["sessions"][0]["session"]["external_id"]
    file = tmp_path / "proposals.json"
    evidence = [{"session": session, "flavor": "claude", "quote": "so"}]
    proposal = {"kind": "problem", "type": "t", "locus": "l", "text": "x", "evidence": evidence}
    file.write_text(json.dumps([{"id": "by-hand", **proposal}]))
    desk.run("rules", "propose", str(file))
    (witness,) = desk.json("rules", "explain", "by-hand")["evidence"]
    assert witness["session"] == session and witness["raw"]
