"""Where Claude Code keeps its logs, whose they are, and when it deletes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.adapters.claude_reading import facts, parse_file, parse_log, parse_rows

from session_memory.adapters.claude.log_builder import ClaudeLog, Layout
from session_memory.adapters.claude.logs import ADAPTER, discover, log_deletion
from session_memory.adapters.common import LogDeletion
from session_memory.testing.samples import write_samples


def names(root: Path) -> set[str]:
    return {os.path.relpath(file.path, root) for file in discover(str(root))}


def test_only_session_logs_of_a_home_are_found(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.prompt("hi")
    wanted = {log.write(tmp_path)}
    layouts: tuple[Layout, ...] = ("flat", "nested", "workflow")
    wanted |= {log.subagent("look", layout).write(tmp_path) for layout in layouts}
    project = log.path(tmp_path).parent
    below = project / log.session_id
    for other in (
        tmp_path / "history.jsonl",
        tmp_path / "todos" / "x.jsonl",
        project / "sessions-index.json",
        project / "memory" / "notes.jsonl",
        below / "tool-results" / "out.jsonl",
        below / "subagents" / "workflows" / "wf_1" / "journal.jsonl",
    ):
        other.parent.mkdir(parents=True, exist_ok=True)
        other.write_text("{}\n")
    assert names(tmp_path) == {str(path.relative_to(tmp_path)) for path in wanted}


def test_any_folder_of_logs_will_do(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.jsonl").write_text("{}\n")
    assert names(tmp_path) == {os.path.join("deep", "a.jsonl")}
    assert names(tmp_path / "missing") == set()


def test_a_found_file_carries_what_a_cursor_compares(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"12345")
    (found,) = discover(str(tmp_path))
    info = path.stat()
    assert (found.path, found.size) == (str(path), 5)
    assert (found.mtime_ns, found.device, found.inode) == (
        info.st_mtime_ns,
        info.st_dev,
        info.st_ino,
    )


@pytest.mark.parametrize("layout", ["flat", "nested", "workflow"])
def test_a_subagent_is_a_session_below_its_parent_in_every_layout(
    layout: Layout, tmp_path: Path
) -> None:
    parent = ClaudeLog()
    child = parent.subagent("count the files", layout)
    child.run("ls | wc -l", "7")
    child.say("seven")
    (part,) = parse_log(child, tmp_path).sessions
    assert part.external_id == f"{parent.session_id}:{child.agent_id}"
    assert part.parent_external_id == parent.session_id
    assert facts(part)["source_kind"] == "subagent"
    asked, *rest = part.events
    assert (asked.kind, asked.origin, asked.label) == ("injected", "agent", "subagent_prompt")
    assert [(e.kind, e.origin) for e in rest] == [
        ("tool_call", "subagent"),
        ("tool_result", "tool"),
        ("assistant_text", "subagent"),
    ]
    assert all(usage.sidechain for usage in part.usages)


def test_a_subagent_file_of_an_old_client_names_its_agent_by_its_name_alone() -> None:
    row = {**ClaudeLog().prompt("look"), "isSidechain": True}
    (part,) = parse_rows(row, path="/p/agent-abc.jsonl").sessions
    assert part.external_id == f"{row['sessionId']}:abc"


def test_subagent_records_in_a_main_file_go_to_their_own_session() -> None:
    log = ClaudeLog()
    row = log.prompt("look", isSidechain=True, agentId="a9")
    main, sub = parse_rows(log.prompt("hi"), row).sessions
    assert (main.external_id, main.parent_external_id) == (log.session_id, None)
    assert (sub.external_id, sub.parent_external_id) == (f"{log.session_id}:a9", log.session_id)


@pytest.mark.parametrize(
    ("path", "session"),
    [
        ("/c/projects/p/5f0e.jsonl", "5f0e"),
        ("C:\\c\\projects\\p\\5f0e.jsonl", "5f0e"),
        ("/c/projects/p/5f0e/subagents/agent-a1.jsonl", "5f0e:a1"),
        ("/c/projects/p/5f0e/subagents/workflows/w/agent-a1.jsonl", "5f0e:a1"),
        ("/c/projects/p/agent-a1.jsonl", "agent-a1"),
    ],
)
def test_a_record_without_session_id_belongs_to_the_session_the_path_names(
    path: str, session: str
) -> None:
    (part,) = parse_rows({"type": "custom-title", "customTitle": "t"}, path=path).sessions
    assert (part.external_id, facts(part)) == (session, {"title.custom": "t"})


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, LogDeletion(30, "default")),
        (
            {"settings.json": '{"cleanupPeriodDays": 90}'},
            LogDeletion(90, "settings.json: cleanupPeriodDays"),
        ),
        (
            {
                "settings.json": '{"cleanupPeriodDays": 90}',
                "settings.local.json": '{"cleanupPeriodDays": 7}',
            },
            LogDeletion(7, "settings.local.json: cleanupPeriodDays"),
        ),
        ({"settings.json": '{"cleanupPeriodDays": "soon"}'}, LogDeletion(30, "default")),
        ({"settings.json": "{broken"}, LogDeletion(30, "default")),
    ],
)
def test_claude_says_itself_when_it_deletes_logs(
    files: dict[str, str], expected: LogDeletion, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert log_deletion(str(tmp_path)) == expected
    assert ADAPTER.log_deletion(str(tmp_path)) == expected


def test_the_sample_sessions_are_whole_and_the_same_every_time(tmp_path: Path) -> None:
    paths = write_samples(tmp_path / "a")
    again = write_samples(tmp_path / "b")
    assert [p.read_bytes() for p in paths] == [p.read_bytes() for p in again]
    assert {file.path for file in discover(str(tmp_path / "a"))} == {str(p) for p in paths}
    bundles = [bundle for path in paths for bundle in parse_file(path)]
    parts = [part for bundle in bundles for part in bundle.sessions]
    assert len(parts) == 6
    assert all(not b.unknown and not b.parse_errors and not b.incomplete_tail for b in bundles)
    kinds = {event.kind for part in parts for event in part.events}
    assert kinds >= {"user_prompt", "tool_result", "reasoning", "compaction", "error"}
    assert sum(part.parent_external_id is not None for part in parts) == 1
    assert sum("forked_from" in facts(part) for part in parts) == 1
