"""One session in several files, several sessions with one history: everything counts once."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog, Layout, tokens
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.testing.workspace import Workspace


def talk(seed: int = 1, turns: int = 3) -> ClaudeLog:
    log = ClaudeLog(seed)
    for turn in range(turns):
        log.prompt(f"question {turn}")
        log.run(f"make step-{turn}", f"step {turn} done")
        log.say(f"answer {turn}", usage=tokens(10, 5))
    return log


def put(space: Workspace, name: str, content: bytes) -> Path:
    path = space.claude / "projects" / "p" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def texts(space: Workspace, external_id: str) -> list[str | None]:
    return [event.text for event in space.events(external_id)]


@pytest.mark.rows("STO-05")
def test_a_second_file_with_a_superset_adds_only_what_is_new(space: Workspace) -> None:
    log = talk(turns=2)
    put(space, "a.jsonl", log.dump())
    space.sweep()
    held = texts(space, log.session_id)
    log.prompt("question behind the copy")
    put(space, "b.jsonl", log.dump())
    report = space.sweep()
    assert report.events == 1
    assert list(space.sessions()) == [log.session_id]
    assert texts(space, log.session_id) == [*held, "question behind the copy"]


@pytest.mark.rows("STO-05")
def test_files_that_overlap_in_part_give_their_union(space: Workspace) -> None:
    log = talk(turns=4)
    lines = log.dump().splitlines(keepends=True)
    put(space, "a.jsonl", b"".join(lines[:10]))
    put(space, "b.jsonl", b"".join(lines[6:]))
    space.sweep()
    whole = Workspace(space.root / "whole")
    put(whole, "a.jsonl", log.dump())
    whole.sweep()
    assert texts(space, log.session_id) == texts(whole, log.session_id)
    assert space.session(log.session_id).cost == whole.session(log.session_id).cost


@pytest.mark.rows("STO-07")
@pytest.mark.parametrize("order", list(itertools.permutations("aabb", 4))[::4])
def test_files_in_any_order_and_repetition_give_one_set_of_events(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    log = talk(turns=2)
    short = log.dump()
    log.prompt("only in b")
    content = {"a": short, "b": log.dump()}
    space = Workspace(tmp_path)
    for name in order:
        put(space, f"{name}.jsonl", b"")  # force a whole read, as a restored file would
        space.sweep()
        put(space, f"{name}.jsonl", content[name])
        space.sweep()
    reference = Workspace(tmp_path / "reference")
    for name, data in content.items():
        put(reference, f"{name}.jsonl", data)
    reference.sweep()
    assert texts(space, log.session_id) == texts(reference, log.session_id)
    assert len(space.events(log.session_id)) == len(log.rows)
    assert space.findings() == []


@pytest.mark.rows("STO-08")
def test_equal_messages_at_different_times_are_both_kept(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt("continue")
    log.wait(60)
    log.prompt("continue")
    space.write(log)
    space.sweep()
    first, second = space.events(log.session_id)
    assert first.text == second.text == "continue"
    assert first.at != second.at
    assert first.fingerprint != second.fingerprint


@pytest.mark.rows("STO-08")
def test_an_event_copied_into_a_resumed_file_of_its_session_is_stored_once(
    space: Workspace,
) -> None:
    log = talk(turns=1)
    put(space, f"{log.session_id}.jsonl", log.dump())
    for row in log.rows:  # the client gives copies new ids of their own
        row["uuid"] = "copy-" + row["uuid"]
    log.prompt("after the resume")
    put(space, "resumed.jsonl", log.dump())
    space.sweep()
    found = texts(space, log.session_id)
    assert len(found) == len(log.rows)
    assert len(set(found)) == len(found)
    assert space.session(log.session_id).cost.input == 110


def family() -> tuple[ClaudeLog, ClaudeLog]:
    parent = talk(seed=1, turns=2)
    fork = parent.fork(2)
    fork.prompt("another way")
    fork.say("as you wish", usage=tokens(1000, 500))
    return parent, fork


@pytest.mark.parametrize("parent_first", [True, False], ids=["parent first", "fork first"])
@pytest.mark.parametrize("together", [True, False], ids=["one sweep", "two sweeps"])
def test_a_fork_inherits_and_its_parent_pays(
    space: Workspace, parent_first: bool, together: bool
) -> None:
    parent, fork = family()
    for log in (parent, fork) if parent_first else (fork, parent):
        space.write(log)
        if not together:
            space.sweep()
    space.sweep()
    sessions = space.sessions()
    assert sessions[fork.session_id].forked_from == parent.session_id
    assert sessions[parent.session_id].forked_from is None
    copied = len(parent.rows)
    flags = [event.inherited for event in space.events(fork.session_id)]
    assert flags == [True] * copied + [False] * 2
    assert not any(event.inherited for event in space.events(parent.session_id))
    own = sessions[fork.session_id].cost
    assert (own.input, own.output) == (1000, 500)
    assert sessions[parent.session_id].cost.output == 2 * (50 + 5)
    assert space.findings() == []


@pytest.mark.parametrize("parent_first", [True, False], ids=["parent first", "copy first"])
def test_a_copy_that_does_not_name_its_parent_is_still_known(
    space: Workspace, parent_first: bool
) -> None:
    parent = talk(turns=2)
    copy = parent.resume_copy(9)
    copy.prompt("resumed")
    copy.say("go on", usage=tokens(7, 3))
    for log in (parent, copy) if parent_first else (copy, parent):
        space.write(log)
        space.sweep()
    spent = {name: found.cost.output for name, found in space.sessions().items()}
    assert sum(spent.values()) == 2 * (50 + 5) + 3
    inherited = {
        name: sum(event.inherited for event in space.events(name))
        for name in (parent.session_id, copy.session_id)
    }
    assert sorted(inherited.values()) == [0, len(parent.rows)]


def test_the_same_session_below_two_homes_is_one(space: Workspace) -> None:
    log = talk()
    other = space.root / "other"
    log.write(space.claude)
    log.write(other)
    space.paths["claude"] = (str(space.claude), str(other))
    report = space.sweep()
    assert report.discovered == 2
    assert list(space.sessions()) == [log.session_id]
    assert len(space.events(log.session_id)) == len(log.rows)


@pytest.mark.parametrize("layout", ["nested", "flat", "workflow"])
@pytest.mark.parametrize("child_first", [True, False], ids=["child first", "parent first"])
def test_a_sub_agent_belongs_to_its_parent_in_every_layout(
    space: Workspace, layout: Layout, child_first: bool
) -> None:
    parent = talk(turns=1)
    child = parent.subagent("look around", layout=layout)
    child.run("ls", "a b c")
    child.say("three files", usage=tokens(30, 20))
    for log in (child, parent) if child_first else (parent, child):
        space.write(log)
        space.sweep()
    sessions = space.sessions()
    assert len(sessions) == 2
    name = f"{parent.session_id}:{child.agent_id}"
    found = sessions[name]
    assert found.parent_external_id == parent.session_id
    assert found.parent_id == sessions[parent.session_id].id
    assert found.source_kind == "subagent"
    assert not any(event.kind == "user_prompt" for event in space.events(name))
    assert found.cost.output == 50 + 20


def test_a_sidechain_in_the_main_file_counts_once(space: Workspace) -> None:
    """1.x logged sub-agents in the parent's file: no session of their own, usage counted."""
    log = talk(turns=1)
    log.sidechain("look for it", "found it")
    space.write(log)
    space.sweep()
    assert list(space.sessions()) == [log.session_id]
    by_text = {event.text: event for event in space.events(log.session_id)}
    assert by_text["look for it"].kind == "injected"
    assert by_text["found it"].origin == "subagent"


def test_a_session_in_two_files_grows_in_both(space: Workspace) -> None:
    """Growth of a shared session re-reads its files, so that equal events keep their numbers."""
    log = talk(turns=2)
    lines = log.dump().splitlines(keepends=True)
    first = put(space, "a.jsonl", b"".join(lines[:4]))
    second = put(space, "b.jsonl", b"".join(lines[2:5]))
    space.sweep()
    first.write_bytes(b"".join(lines[:6]))
    space.sweep()
    second.write_bytes(b"".join(lines[2:]))
    space.sweep()
    assert len(space.events(log.session_id)) == len(lines)
    assert space.superseded(log.session_id) == []
    assert space.findings() == []


def test_a_fork_of_an_evicted_session_still_inherits(space: Workspace) -> None:
    parent, fork = family()
    space.write(parent)
    space.set_retention(raw_soft_cap_bytes=1)
    space.sweep()
    assert space.session(parent.session_id).state == "raw_evicted"
    space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    space.write(fork)
    space.sweep()
    assert space.session(fork.session_id).forked_from == parent.session_id
    flags = [event.inherited for event in space.events(fork.session_id)]
    assert flags == [True] * len(parent.rows) + [False] * 2
    assert space.session(fork.session_id).cost.output == 500
    assert space.session(parent.session_id).cost.output == 2 * (50 + 5)


def test_a_log_rewritten_after_eviction_brings_its_new_events(space: Workspace) -> None:
    log = talk(turns=3)
    (path,) = space.write(log)
    space.set_retention(raw_soft_cap_bytes=1)
    space.sweep()
    space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    other = ClaudeLog(log.seed, start=log.now + 60_000)
    other.prompt("quite another start")
    path.write_bytes(other.dump())
    report = space.sweep()
    assert report.events == 1
    assert texts(space, log.session_id) == ["quite another start"]


def test_equal_events_of_a_session_in_two_files_are_numbered_per_file(space: Workspace) -> None:
    """The second of two equal records comes late, in a file whose first one another file owns."""
    log = CodexLog(1).header().turn().answer("again")
    one = log.write(space.flavor_home("codex"))
    lines = one.read_bytes()
    two = one.with_name(one.name.replace(".jsonl", "-copy.jsonl"))
    two.write_bytes(lines)
    space.sweep()
    (session,) = space.sessions()
    assert texts(space, session) == ["again"]
    two.write_bytes(lines + lines.splitlines(keepends=True)[-1])
    space.sweep()
    assert texts(space, session) == ["again", "again"]
