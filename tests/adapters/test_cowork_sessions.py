"""Sessions of Claude Cowork: Claude Code's format in another place, beside a second copy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.adapters.whole_reading import facts, only_part, parse_home, told

from session_memory.adapters.claude.log_builder import tokens
from session_memory.adapters.cowork.log_builder import CoworkLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.rows("CAP-24")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def built(seed: int = 1) -> CoworkLog:
    log = CoworkLog(seed)
    log.prompt("sort the invoices")
    log.say("sorted", tokens(100, 50))
    return log


def test_the_audit_file_is_not_counted_beside_the_transcript(space: Workspace) -> None:
    log = built()
    log.write(space.flavor_home("cowork"))
    report = space.sweep()
    assert report.discovered == 1
    assert [event.text for event in space.events(log.session_id)] == ["sort the invoices", "sorted"]
    cost = space.session(log.session_id).cost
    assert (cost.input, cost.output) == (100, 50)


def test_a_session_with_an_audit_file_alone_is_read_from_it(tmp_path: Path) -> None:
    log = built()
    log.write_audit(tmp_path)
    (bundle,) = parse_home("cowork", tmp_path)
    (part,) = bundle.sessions
    assert part.external_id == log.session_id
    assert told(part.events) == [
        ("user_prompt", None, "sort the invoices"),
        ("assistant_text", None, "sorted"),
    ]
    assert all(event.at for event in part.events)
    assert dict(bundle.ignored) == {"audit/system": 1, "audit/result": 1}


def test_a_transcript_that_turns_up_later_replaces_the_audit_file(space: Workspace) -> None:
    home, log = space.flavor_home("cowork"), built()
    path = log.write_audit(home)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:  # the app's clock is not that of the transcript
        row["_audit_timestamp"] = "2026-03-02T09:30:00Z"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    space.sweep()
    assert len(space.events(log.session_id)) == 2
    log.write(home)
    space.sweep()
    assert [event.text for event in space.events(log.session_id)] == ["sort the invoices", "sorted"]
    assert space.session(log.session_id).cost.output == 50


def test_title_and_folder_are_those_of_the_record(space: Workspace) -> None:
    home, log = space.flavor_home("cowork"), built()
    log.write(home)
    space.sweep()
    session = space.session(log.session_id)
    assert (session.cwd, session.title, session.source_kind) == ("/work/shop", None, "interactive")
    log.record["title"] = "Invoices"  # touches only the record
    log.write(home)
    space.sweep()
    assert space.session(log.session_id).title == "Invoices"


@pytest.mark.parametrize("cwd", ["/sessions/brave-cat", "/home/u/local-agent-mode-sessions/x"])
def test_a_folder_of_the_app_is_no_project(tmp_path: Path, cwd: str) -> None:
    log = CoworkLog(1, cwd=cwd)
    log.record["userSelectedFolders"] = []
    log.prompt("go")
    log.write(tmp_path)
    assert "cwd" not in facts(only_part("cowork", tmp_path))


def test_a_session_that_claude_code_has_too_is_left_to_its_reader(tmp_path: Path) -> None:
    app = tmp_path / ".config" / "Claude" / "local-agent-mode-sessions"
    twice, once = built(1), built(2)
    twice.subagent("look").write(twice.folder(app) / ".claude")
    twice.write(app)
    once.write(app)
    audited = built(3)
    audited.write(app).unlink()
    for log in (twice, audited):
        folder = tmp_path / ".claude" / "projects" / "-sessions-brave-cat"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{log.session_id}.jsonl").write_bytes(log.dump())
    bundles = parse_home("cowork", app)
    assert [part.external_id for b in bundles for part in b.sessions] == [once.session_id]


def test_sub_agents_belong_to_the_session_and_uploads_are_not_walked(tmp_path: Path) -> None:
    log = built()
    child = log.subagent("count the files")
    child.write(log.folder(tmp_path) / ".claude")
    log.write(tmp_path)
    for name in ("uploads", "outputs", "skills-plugin"):
        folder = log.folder(tmp_path) / name
        folder.mkdir()
        (folder / "odd.jsonl").write_text("{}\n")
    parts = [part for bundle in parse_home("cowork", tmp_path) for part in bundle.sessions]
    by_parent = {part.parent_external_id: part for part in parts}
    assert set(by_parent) == {None, log.session_id}
    assert {facts(part)["cwd"] for part in parts} == {"/work/shop"}


def test_uploads_page_images_and_skills_are_no_prompts(tmp_path: Path) -> None:
    log = CoworkLog(1)
    log.prompt("<uploaded_files>\n/mnt/a.pdf\n</uploaded_files>\n\nsum it up")
    log.prompt([{"type": "text", "text": "page 1"}], isMeta=True)
    log.prompt("Base directory for this skill: /skills/pdf\n\nRead a file")
    log.write(tmp_path)
    assert [label for _, label, _ in told(only_part("cowork", tmp_path).events)] == [
        "uploaded_files",
        None,
        "meta",
        "skill",
    ]
