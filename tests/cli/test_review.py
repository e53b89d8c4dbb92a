"""`review`: a person decides, at a terminal or in a script, and can take it back."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.curate.proposals import proposal, seen

from session_memory.__main__ import main
from session_memory.core.loop.catalog import Evidence, Proposal
from session_memory.redact.rule import fake

STRONG = seen(4)
TOKEN = fake("ghp_", 36)
COSTS_LESS_THAN_NOTHING = (
    '[{"id": "p", "kind": "problem", "type": "t", "locus": "l", "text": "x",'
    ' "evidence": [{"session": "s", "flavor": "f", "cost": -1}]}]'
)


class Desk:
    """Runs the verb in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.data = folder / "memory" / "data"
        self.err = ""

    def run(self, *words: str, code: int = 0, before: Sequence[str] = ()) -> str:
        self.capsys.readouterr()
        assert main([*before, "rules", *words]) == code, self.capsys.readouterr().err
        out, self.err = self.capsys.readouterr()
        return out

    def json(self, *words: str, **more: Any) -> dict[str, Any]:
        return json.loads(self.run(*words, "--json", **more))

    def propose(self, *proposals: Proposal, **more: Any) -> None:
        file = self.folder / "proposals.json"
        file.write_bytes(msgspec.json.encode(proposals))
        self.run("propose", str(file), **more)

    def files(self) -> dict[str, bytes]:
        found = sorted(self.data.rglob("*")) if self.data.exists() else []
        return {str(path): path.read_bytes() for path in found if path.is_file()}

    def status(self, name: str) -> str:
        return self.json("show", name)["pattern"]["status"]


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    monkeypatch.setenv("USER", "ada")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    return Desk(tmp_path, capsys)


@pytest.mark.rows("CUR-01", "CUR-04")
def test_approve_reject_edit_and_older_versions(desk: Desk) -> None:
    desk.propose(proposal("p1"), proposal("p2", evidence=seen(2)), proposal("p3"))
    assert "p1: candidate -> approved, version 1" in desk.run("approve", "p1", "--reason", "true")
    told = desk.run("approve", "p2")
    assert "p2: candidate -> provisional, version 1\n" in told
    assert "not given to agents yet: 4 of 5 occurrences" in told
    desk.run("reject", "p3", "--reason", "no use")
    desk.run("edit", "p1", "--text", "Other words.")
    told = desk.json("show", "p1")
    assert [(item["number"], item["action"], item["who"]) for item in told["versions"]] == [
        (1, "approve", "ada"),
        (2, "edit", "ada"),
    ]
    (first,) = desk.json("show", "p1", "--version", "1")["versions"]
    assert (first["text"], first["why"]) == (proposal("p1").text, "true")
    desk.run("show", "p1", "--version", "9", code=1)
    states = [(row["id"], row["status"]) for row in desk.json("list", "--all")["patterns"]]
    assert states == [("p1", "approved"), ("p2", "provisional"), ("p3", "rejected")]
    assert "Other words." in desk.run("show", "p1")


@pytest.mark.rows("CUR-02")
def test_too_thin_is_refused_with_the_numbers_and_nothing_is_written(desk: Desk) -> None:
    desk.propose(proposal("p1"), proposal("p2", evidence=seen(1)))
    before = desk.files()
    desk.run("approve", "p1", "p2", code=8)
    assert "frequency 2 is below promote_min_frequency = 3" in desk.err
    assert "sessions 1 is below promote_min_sessions = 2" in desk.err
    assert {**desk.files(), **before} == desk.files()
    assert desk.status("p1") == "candidate"


def test_what_awaits_a_decision_is_listed_with_evidence_gate_and_warnings(desk: Desk) -> None:
    desk.propose(proposal("p1"), proposal("p2", locus="npm test p1", evidence=seen(2)))
    text = desk.run("list")
    assert "npm ERR! 0.0" in desk.run("show", "1")
    assert "a yes keeps it; agents are not given it yet: 4 of 5 occurrences" in text
    assert "p2 has the type and locus of p1 (candidate)" in text
    row = desk.json("list")["patterns"][0]
    assert row["gate"]["distributes"] and row["snapshot"]["sessions"] == 4
    assert len(row["evidence"]) == 4 and row["warnings"][0]["other"] == "p2"
    desk.run("approve", "p1", code=3)
    assert "p1 has the type and locus of p2" in desk.err
    assert [row["id"] for row in desk.json("list")["patterns"]] == ["p2"]
    assert [row["id"] for row in desk.json("list", "--status", "approved")["patterns"]] == ["p1"]


@pytest.mark.rows("CUR-07")
def test_floors_come_from_the_configuration(desk: Desk) -> None:
    file = desk.folder / "c.toml"
    file.write_text("[curate.gate]\ndistribute_min_frequency = 9\n")
    desk.propose(proposal("p1"))
    strict = desk.json("approve", "p1", "--dry-run", before=["--config", str(file)])
    assert strict["decisions"][0]["status"] == "provisional"
    usual = desk.json("approve", "p1", "--dry-run")
    assert usual["decisions"][0]["status"] == "approved"


@pytest.mark.rows("CUR-09")
def test_new_evidence_is_looked_at_when_it_arrives(desk: Desk) -> None:
    desk.propose(proposal("p1", evidence=seen(2)))
    desk.run("approve", "p1")
    desk.propose(proposal("p1"))
    (row,) = desk.json("list")["patterns"]
    assert (row["status"], row["version"], row["awaits_decision"]) == ("provisional", 2, True)
    desk.propose(proposal("p1"), before=["--set", "curate.auto_promote=true"])
    assert desk.json("list")["patterns"] == []
    assert desk.status("p1") == "approved"


def test_a_dry_run_tells_and_writes_nothing(desk: Desk) -> None:
    file = desk.folder / "p.json"
    file.write_bytes(msgspec.json.encode([proposal("p1")]))
    desk.run("propose", str(file), "--dry-run")
    assert desk.files() == {}
    desk.propose(proposal("p1"))
    before = desk.files()
    answer = desk.json("approve", "p1", "--dry-run")
    assert answer["dry_run"] and answer["decisions"][0]["status"] == "approved"
    assert "would be candidate -> approved" in desk.run("approve", "p1", "--dry-run")
    assert desk.files() == before
    desk.run("approve", "p1")
    before = desk.files()
    desk.run("undo", "--dry-run")
    desk.run("retire", "p1", "--dry-run")
    desk.run("edit", "p1", "--text", "x", "--dry-run")
    assert desk.files() == before


def test_undo_takes_back_the_last_decision(desk: Desk) -> None:
    desk.propose(proposal("p1"), proposal("p2"))
    desk.run("approve", "p1", "p2")
    desk.run("retire", "p1", "--superseded-by", "p2")
    assert desk.status("p1") == "superseded"
    assert "p1: superseded -> approved" in desk.run("undo", "--by", "bob")
    assert desk.json("show", "p1")["versions"][-1]["who"] == "bob"
    desk.run("undo")
    assert (desk.status("p1"), desk.status("p2")) == ("approved", "candidate")
    desk.run("undo")
    desk.run("undo", code=1)
    assert "no decision to undo" in desk.err


def test_without_a_terminal_nothing_is_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.propose(proposal("p1"))
    desk.run("edit", "p1", code=2)
    assert "--file -" in desk.err
    desk.run("reject", "p1", code=2)
    assert "--reason" in desk.err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"From stdin.\n")))
    desk.run("edit", "p1", "--file", "-")
    assert desk.json("show", "p1")["pattern"]["text"] == "From stdin."


def test_no_secret_and_nothing_a_terminal_obeys_is_kept_or_shown(desk: Desk) -> None:
    hostile = f"use {TOKEN}\x1b[31m \u202eand [REDACTED_SECRET:0123abcd]"
    evidence = (*STRONG, Evidence("s9", "claude", "r\x1b[2J", 5, quote=hostile, cost=9.0))
    desk.propose(proposal("p1", text=hostile, locus=hostile, evidence=evidence))
    shown = desk.run("list")
    desk.run("approve", "p1", "--reason", hostile, "--by", "ada\x1b]0;x\x07")
    shown += desk.run("edit", "p1", "--text", f"{hostile}\nagain") + desk.run("show", "p1")
    shown += desk.run("show", "p1", "--json")
    kept = b"".join(desk.files().values()).decode()
    for bad in (TOKEN, "\x1b", "\u202e", "0123abcd"):
        assert bad not in shown and bad not in kept
    assert "use [REDACTED_SECRET]" in shown and "use [REDACTED_SECRET]" in kept


def test_a_secret_typed_into_a_file_by_hand_is_not_taken_in(desk: Desk) -> None:
    desk.propose(proposal("p1"))
    desk.run("approve", "p1")
    file = desk.data / "catalog" / "p1.toml"
    file.write_text(file.read_text().replace(proposal("p1").text, f"use {TOKEN}", 1))
    assert "edited by hand" in desk.run("list")
    desk.run("approve", "p1")
    assert TOKEN not in file.read_text()
    assert desk.json("show", "p1")["versions"][-1]["text"] == "use [REDACTED_SECRET]"


def test_ids_may_be_cut_short_where_that_is_clear(desk: Desk) -> None:
    desk.propose(proposal("abc1"), proposal("abc2"), proposal("def1"))
    desk.run("approve", "def")
    assert desk.status("def1") == "approved"
    desk.run("approve", "abc", code=2)
    assert "abc1, abc2" in desk.err
    desk.run("approve", "zzz", code=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[{}]",
        '[{"id": "../x", "kind": "problem", "type": "t", "locus": "l", "text": "x"}]',
        '[{"id": "index", "kind": "problem", "type": "t", "locus": "l", "text": "x"}]',
        COSTS_LESS_THAN_NOTHING,
        "[" * 5000,
    ],
)
def test_what_is_no_list_of_proposals_is_refused(text: str, desk: Desk) -> None:
    file = desk.folder / "p.json"
    file.write_text(text)
    desk.run("propose", str(file), code=2)
    assert "cannot read proposals" in desk.err
    assert desk.files() == {}


def test_without_a_store_the_list_says_so_as_other_verbs_do(desk: Desk) -> None:
    for words in (("list",), ("review",), ("list", "--json")):
        desk.run(*words, code=5)
        assert "no store at" in desk.err and "sweep" in desk.err


def test_a_rule_without_a_text_is_a_wrong_call(desk: Desk) -> None:
    desk.propose(proposal("p1"))
    for text in ("", "  "):
        desk.run("edit", "p1", "--text", text, code=2)
        assert "must have 1 to 4000 characters" in desk.err
    assert desk.status("p1") == "candidate"


def test_a_lost_file_is_warned_about(desk: Desk) -> None:
    desk.propose(proposal("p1"))
    desk.run("approve", "p1")
    (desk.data / "catalog" / "p1.toml").unlink()
    desk.run("list")
    assert "the index names p1, which has no file" in desk.err


def test_the_module_is_the_verb_by_another_name() -> None:
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "session_memory.curate", "list", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (5, "") and "no store at" in done.stderr


@pytest.mark.rows("CUR-01")
def test_a_rule_is_put_off_and_comes_back_with_undo(desk: Desk) -> None:
    def listed() -> list[str]:
        return [row["id"] for row in desk.json("list")["patterns"]]

    desk.propose(proposal("p1"), proposal("p2"))
    before = desk.files()
    assert "p1: would be candidate, put off until 20" in desk.run("snooze", "p1", "--dry-run")
    assert desk.files() == before
    (done,) = desk.json("snooze", "p1", "--days", "7")["decisions"]
    assert done["snoozed_until"] - done["at"] == 7 * 86_400_000
    assert listed() == ["p2"]
    assert "undone: snooze" in desk.run("undo")
    assert listed() == ["p1", "p2"]
    desk.run("approve", "p1")
    desk.run("snooze", "p1", code=2)
    assert "does not await a decision" in desk.err
    desk.run("snooze", "p2", "--days", "0", code=2)


@pytest.mark.rows("CUR-01")
def test_rules_are_merged_into_one_in_use(desk: Desk) -> None:
    desk.propose(proposal("p1"), proposal("p2"), proposal("p3"))
    desk.run("merge", "p2", "--into", "p1", code=2)
    assert "another rule in use" in desk.err
    desk.run("approve", "p1")
    before = desk.files()
    would = desk.run("merge", "p2", "p3", "--into", "p1", "--dry-run")
    assert "p2: would be candidate -> superseded by p1" in would
    assert desk.files() == before
    done = desk.json("merge", "p2", "p3", "--into", "p1")["decisions"]
    assert [row["superseded_by"] for row in done] == ["p1", "p1"]
    assert desk.json("list")["patterns"] == []
    desk.run("undo")
    assert (desk.status("p2"), desk.status("p3")) == ("superseded", "candidate")
