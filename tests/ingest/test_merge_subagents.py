"""Sub-agents that only their parent's log tells of, and what happens when their own log comes."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from tests.invariants.sessions import BUILDERS

from session_memory.adapters.claude.log_builder import ClaudeLog, tokens
from session_memory.testing.workspace import Workspace


def family(*, repeated: bool) -> tuple[ClaudeLog, ClaudeLog]:
    """A parent and a sub-agent that ran a command that failed and one that did not."""
    parent = ClaudeLog(1)
    parent.prompt("find out why the build fails")
    child = parent.subagent("look at the build")
    child.run("make build", "no rule to make target build", exit_code=2)
    child.run("make all", "done")
    child.say("the target is called all", tokens(3000, 90, read=500))
    if repeated:
        parent.repeat(child)
        for row in parent.rows:
            if row["type"] == "progress":  # the copy is not always exact
                said = row["data"]["message"]
                said["timestamp"] = said["timestamp"].replace("00Z", "07Z")
    parent.say("It is `make all`.")
    return parent, child


def name(child: ClaudeLog) -> str:
    return f"{child.session_id}:{child.agent_id}"


@pytest.mark.rows("CAP-16")
def test_a_sub_agent_without_a_log_of_its_own_is_kept_from_its_parents(space: Workspace) -> None:
    parent, child = family(repeated=True)
    space.write(parent)
    space.sweep()
    session = space.session(name(child))
    assert session.parent_external_id == parent.session_id
    assert (session.source_kind, session.metadata.get("from_parent")) == ("subagent", True)
    assert session.cwd == parent.cwd
    assert session.cost.input == 3000 + 2 * 100
    events = space.events(name(child))
    assert [e.command for e in events if e.kind == "tool_call"] == ["make build", "make all"]
    assert [e.is_error for e in events if e.kind == "tool_result"] == [True, False]
    assert not any(e.kind == "user_prompt" for e in events)
    shown = space.run("--config", str(space.write_config()), "show", name(child))
    assert "its parent's log" in shown.stdout


@pytest.mark.rows("CAP-16")
@pytest.mark.parametrize("together", [True, False])
def test_its_own_log_replaces_what_the_parents_repeats(tmp_path: Path, together: bool) -> None:
    plain = Workspace(tmp_path, store="plain")
    plain.write(*family(repeated=False))
    plain.sweep()
    expected = [one for one in plain.dump() if one["session"]["parent_external_id"]]
    assert len(expected) == 1
    for number, logs in enumerate(itertools.permutations(family(repeated=True))):
        space = Workspace(tmp_path / str(number))
        for log in logs:
            space.write(log)
            if not together:
                space.sweep()
        space.sweep()
        found = [one for one in space.dump() if one["session"]["parent_external_id"]]
        assert found == expected
        assert space.session(name(family(repeated=True)[1])).event_count == 6
        assert space.findings() == []
        with space.store() as store:
            (total,) = store.usage("flavor", None, None)
        with plain.store() as store:
            (once,) = store.usage("flavor", None, None)
        assert total == once


@pytest.mark.rows("CAP-16")
def test_a_parents_log_that_grows_brings_nothing_back(space: Workspace) -> None:
    parent, child = family(repeated=True)
    space.write(parent, child)
    space.sweep()
    before = space.events(name(child))
    parent.repeat(child)
    parent.prompt("thanks")
    space.write(parent)
    space.sweep()
    assert [(e.kind, e.text) for e in space.events(name(child))] == [
        (e.kind, e.text) for e in before
    ]
    assert space.findings() == []


def child_dump(space: Workspace) -> list[dict[str, Any]]:
    return [one for one in space.dump() if one["session"]["parent_external_id"]]


def cut(log: Path, lines: int, torn: int = 0) -> bytes:
    """Cut a log behind some lines and a piece of the next one; returns what stood in it."""
    whole = log.read_bytes()
    parts = whole.splitlines(keepends=True)
    log.write_bytes(b"".join(parts[:lines]) + (parts[lines][:torn] if torn else b""))
    return whole


@pytest.mark.rows("CAP-16")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("lines", "torn"), [(0, 0), (0, 40), (1, 0), (2, 30), (5, 200)])
def test_an_own_log_that_was_cut_takes_nothing_away(
    tmp_path: Path, lines: int, torn: int, exact: bool
) -> None:
    parent, child = family(repeated=not exact)
    if exact:
        parent.repeat(child)
    alone = Workspace(tmp_path / "alone")
    alone.write(parent)
    alone.sweep()
    told = [(e["kind"], e["text"]) for e in child_dump(alone)[0]["events"]]
    figures = usage_of(alone)
    dumps: list[Any] = []
    for order in ("own first", "parent first", "together", "parent again"):
        space = Workspace(tmp_path / order)
        own = space.write(child)[0]
        whole = cut(own, lines, torn)
        if order == "own first":
            space.sweep()
        path = space.write(parent)[0]
        if order in ("parent first", "parent again"):
            kept, _ = own.read_bytes(), own.unlink()
            space.sweep()
            own.write_bytes(kept)
        space.sweep()
        if order == "parent again":
            os.utime(path, (1, 1))
            space.sweep()
        assert [(e["kind"], e["text"]) for e in child_dump(space)[0]["events"]] == told, order
        assert usage_of(space) == figures
        assert space.findings() == []
        dumps.append(space.dump())
        own.write_bytes(whole)
        space.sweep()
        assert child_dump(space) == child_dump(read_at_once(tmp_path / f"{order} whole", exact))
        assert space.findings() == []
    assert all(dump == dumps[0] for dump in dumps)


def read_at_once(place: Path, exact: bool) -> Workspace:
    space = Workspace(place)
    parent, child = family(repeated=not exact)
    if exact:
        parent.repeat(child)
    space.write(parent, child)
    space.sweep()
    return space


def usage_of(space: Workspace) -> Any:
    with space.store() as store:
        return store.usage("flavor", None, None)


@pytest.mark.rows("CAP-16")
def test_what_only_a_cut_log_says_stays_beside_the_parents_copy(tmp_path: Path) -> None:
    parent, child = family(repeated=False)
    child.think("hm, a thought")
    thought = {**child.rows.pop(), "timestamp": child.rows[0]["timestamp"]}
    child.rows.insert(1, thought)
    parent.repeat(child)
    parent.rows = [row for row in parent.rows if "hm, a thought" not in str(row)]
    for number, order in enumerate(itertools.permutations(["own", "parent"])):
        space = Workspace(tmp_path / str(number))
        for name_ in order:
            if name_ == "own":
                cut(space.write(child)[0], 3)
            else:
                space.write(parent)
            space.sweep()
        texts = [e["text"] for e in child_dump(space)[0]["events"]]
        assert texts.count("hm, a thought") == 1
        assert len(texts) == 7
        assert space.session(name(child)).event_count == 7
        assert space.findings() == []


@pytest.mark.rows("CAP-16")
def test_a_transcript_of_cowork_that_was_cut_takes_nothing_of_the_audit_file_away(
    tmp_path: Path,
) -> None:
    space = Workspace(tmp_path)
    home = space.flavor_home("cowork")
    log = BUILDERS["cowork"](7, 3)
    path = log.write(home)
    whole = path.read_bytes()
    space.sweep()
    expected = space.dump()
    later = space.with_store("later")
    path.unlink()
    later.sweep()  # the audit file stands in for it
    said = [(e["kind"], e["text"]) for e in later.dump()[0]["events"]]
    for lines in (0, 1, 3):
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:lines]))
        later.sweep()
        (found,) = later.dump()
        assert [(e["kind"], e["text"]) for e in found["events"]] == said
    path.write_bytes(whole)
    later.sweep()
    assert later.dump() == expected
    assert later.findings() == []


@pytest.mark.rows("CAP-16")
def test_how_a_command_ended_is_known_whichever_log_comes_first(tmp_path: Path) -> None:
    dumps: list[Any] = []
    for number, order in enumerate(itertools.permutations((0, 1))):
        space = Workspace(tmp_path / str(number))
        parent, child = family(repeated=False)
        parent.repeat(child)
        for row in parent.rows:
            if row["type"] == "progress":  # most versions leave it out there
                row["data"]["message"].pop("toolUseResult", None)
        for each in order:
            space.write((parent, child)[each])
            space.sweep()
        codes = [e.exit_code for e in space.events(name(child)) if e.kind == "tool_result"]
        assert codes == [2, 0]
        dumps.append(space.dump())
    assert dumps[0] == dumps[1]
