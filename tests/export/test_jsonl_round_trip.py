"""What was exported and imported is the same store, whatever agents wrote the logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.export.export_commands import bring, export
from tests.invariants.broken import difference
from tests.invariants.sessions import write_flavors
from tests.invariants.test_any_way_in import BUILT

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.core.spool import SpoolRecord
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@pytest.mark.parametrize("flavor", sorted(BUILT))
def test_an_empty_store_that_imports_everything_has_the_same_canonical_content(
    here: Workspace, there: Workspace, flavor: str
) -> None:
    BUILT[flavor](here.flavor_home(flavor))
    here.sweep()
    taken = bring(there, export(here))
    assert taken["new"] == len(here.dump()) > 0
    assert difference(there.dump(), here.dump()) == []
    assert there.findings() == []


def test_importing_again_changes_nothing(here: Workspace, there: Workspace) -> None:
    write_flavors(here)
    here.sweep()
    path = export(here)
    first = bring(there, path)
    before = there.dump()
    again = bring(there, path)
    assert (again["new"], again["grown"], again["events"]) == (0, 0, 0)
    assert (again["known"], again["known_events"]) == (first["new"], first["events"])
    assert there.dump() == before


def test_importing_into_the_store_it_came_from_changes_nothing(here: Workspace) -> None:
    write_samples(here.claude)
    here.sweep()
    before = here.dump()
    taken = bring(here, export(here))
    assert (taken["new"], taken["grown"], taken["events"]) == (0, 0, 0)
    assert here.dump() == before


def test_a_store_that_read_the_same_logs_itself_gains_nothing(
    here: Workspace, there: Workspace
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = ClaudeLog(7)
    log.prompt(f"use {secret} to fetch it")
    log.run("curl", f"token {secret} refused", exit_code=1)
    log.say("refused")
    here.write(log)
    there.write(log)
    here.sweep()
    there.sweep()
    before = there.dump()
    taken = bring(there, export(here))
    assert (taken["known"], taken["new"], taken["grown"]) == (1, 0, 0)
    assert there.dump() == before


def test_equal_events_of_two_sessions_are_both_known(here: Workspace, there: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for seed in (7, 8):
        log = ClaudeLog(seed)
        log.prompt(f"use {secret} to fetch it")
        here.write(log)
        there.write(log)
    here.sweep()
    there.sweep()
    taken = bring(there, export(here))
    assert (taken["known"], taken["grown"], taken["events"]) == (2, 0, 0)


@pytest.mark.parametrize("own", [False, True])
def test_logs_read_after_an_import_double_neither_events_nor_cost(
    here: Workspace, there: Workspace, own: bool
) -> None:
    if own:  # a store that is in use keeps its own key
        mine = ClaudeLog(77, start=START + 10**9)
        mine.prompt("mine")
        there.write(mine)
        there.sweep()
    before = there.dump() if own else []
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = ClaudeLog(7)
    log.prompt(f"use {secret} to fetch it")
    log.prompt("use nothing")
    log.prompt(f"then use {secret}")
    write_samples(here.claude)
    here.write(log)
    here.sweep()
    bring(there, export(here))
    write_samples(there.claude)  # the same logs in another home
    there.write(log)
    there.sweep()
    came = [entry for entry in there.dump() if entry not in before]
    assert difference(came, here.dump()) == []
    costs = {name: session.cost for name, session in there.sessions().items()}
    assert {name: costs[name] for name in here.sessions()} == {
        name: session.cost for name, session in here.sessions().items()
    }
    assert there.findings() == []


def test_the_log_itself_has_the_last_word_even_on_what_was_redacted(here: Workspace) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = ClaudeLog(7)
    log.prompt(f"use {secret} to fetch it")
    log.say("fetched")
    here.write(log)
    here.sweep()
    other = here.with_store("restored")
    bring(other, export(here))
    other.sweep()  # reads the log at the path that the export names
    assert difference(other.dump(), here.dump()) == []
    assert other.session(log.session_id).cost == here.session(log.session_id).cost
    assert other.findings() == []


@pytest.mark.shared
@pytest.mark.parametrize("flavor", ["copilot", "grok", "pi"])
def test_genuine_logs_make_the_round_trip(
    here: Workspace, there: Workspace, shared: Path, flavor: str
) -> None:
    here.paths[flavor] = (str(shared / "logs" / flavor),)
    assert here.sweep().events > 40
    taken = bring(there, export(here))
    assert taken["redactions"] == {}  # what was redacted once is clean
    assert difference(there.dump(), here.dump()) == []
    assert there.findings() == []


def test_a_call_that_is_no_json_is_known_again(here: Workspace, there: Workspace) -> None:
    log = CodexLog(5).header().turn().prompt("patch it")
    patch = "*** Begin Patch\n+password and token, api_key\n*** End Patch\n"
    log.item({"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch})
    log.answer("patched")
    log.write(here.flavor_home("codex"))
    here.sweep()
    calls = [e.text or "" for e in here.events(log.thread) if e.kind == "tool_call"]
    assert [text[:1] for text in calls] == ['"']  # redaction made a string of it
    bring(there, export(here))
    log.write(there.flavor_home("codex"))
    there.sweep()
    assert difference(there.dump(), here.dump()) == []


def test_a_session_that_went_on_gets_only_what_is_new(here: Workspace, there: Workspace) -> None:
    log = ClaudeLog(3)
    log.prompt("first question")
    log.say("first answer")
    here.write(log)
    here.sweep()
    bring(there, export(here, "early"))
    log.prompt("second question")
    log.say("second answer")
    here.write(log)
    here.sweep()
    taken = bring(there, export(here, "late"))
    assert (taken["new"], taken["grown"], taken["events"]) == (0, 1, 2)
    assert difference(there.dump(), here.dump()) == []
    assert there.findings() == []


def test_an_older_export_takes_nothing_away_from_a_session_that_went_on(
    here: Workspace, there: Workspace
) -> None:
    log = ClaudeLog(3)
    log.prompt("first question")
    here.write(log)
    here.sweep()
    early = export(here)
    log.say("the answer")
    log.title("A better title")
    there.write(log)
    there.sweep()
    before = there.dump()
    assert bring(there, early)["known"] == 1
    assert there.dump() == before


def test_what_hooks_recorded_and_what_was_evicted_is_exported_too(
    here: Workspace, there: Workspace
) -> None:
    write_samples(here.claude)
    here.sweep()
    with here.store() as store:
        name = sorted(here.sessions())[0]
        told_by_hook = SpoolRecord("1", 5, "claude", "SessionStart", session=name, model="m")
        store.live.note([told_by_hook])
    assert here.session(name).metadata["hook_model"] == "m"
    here.set_retention(raw_soft_cap_bytes=1)
    here.sweep()
    states = {session.state for session in here.sessions().values()}
    assert states == {"raw_evicted"}
    bring(there, export(here))
    assert difference(there.dump(), here.dump()) == []
    assert there.findings() == []


def test_a_session_whose_beginning_was_evicted_moves_along(
    here: Workspace, there: Workspace
) -> None:
    log = ClaudeLog(9)
    log.prompt("Decision: we keep the façade. Pending: write the test")
    log.run("pytest -q", "1 failed", exit_code=1)
    here.write(log)
    here.set_retention(raw_soft_cap_bytes=1)
    here.sweep()
    assert here.session(log.session_id).state == "raw_evicted"
    log.prompt("and now?")
    log.say("Done: write the test")
    here.write(log)
    here.set_retention(raw_soft_cap_bytes=1 << 30)
    here.sweep()
    assert here.events(log.session_id) != []
    assert here.session(log.session_id).event_count > len(here.events(log.session_id))
    bring(there, export(here))
    assert difference(there.dump(), here.dump()) == []
    assert there.findings() == []


def test_imported_text_is_found_by_search(here: Workspace, there: Workspace) -> None:
    log = ClaudeLog(4)
    log.prompt("why does the zebrawood planer stall?")
    here.write(log)
    here.sweep()
    bring(there, export(here))
    with there.store() as store:
        assert len(store.search("zebrawood")) == 1


def test_markdown_is_one_readable_file_for_each_session(here: Workspace, tmp_path: Path) -> None:
    log = ClaudeLog(4)
    log.prompt("show me ```\n# not a heading\n``` and \x1b[31mred")
    log.title("A *bold* [title](x)")
    here.write(log)
    write_samples(here.claude)
    here.sweep()
    pages = export(here, "pages", "--format", "markdown")
    assert len(list(pages.iterdir())) == len(here.sessions())
    page = next(p for p in pages.iterdir() if log.session_id in p.name).read_text("utf-8")
    assert "\n````text\nshow me ```\n# not a heading\n```" in page
    assert page.startswith("# A \\*bold\\* \\[title\\](x)\n")
    assert "\x1b" not in page
