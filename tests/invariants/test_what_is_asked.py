"""Which inputs are a human's words, and what a session is said to be about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog, call, output
from session_memory.adapters.copilot.log_builder import CopilotLog
from session_memory.adapters.pi.log_builder import PiLog
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def prompts(space: Workspace, session: str) -> list[str | None]:
    return [event.text for event in space.events(session) if event.kind == "user_prompt"]


def objective(space: Workspace, session: str) -> str | None:
    digest = space.digest(session)
    assert digest is not None
    return digest.objective


HARNESS = (
    "Operation stopped by hook: Warning: another session is active!",
    "<agent-notification>\n<agent-id>a1</agent-id>\n</agent-notification>",
)
ASKED = "rename the pump module to walrus and mend its tests"


@pytest.mark.rows("CAP-17")
@pytest.mark.parametrize("text", HARNESS)
def test_claude_texts_of_the_harness_are_no_request(space: Workspace, text: str) -> None:
    log = ClaudeLog(1)
    log.prompt(text)
    log.queue(text)
    log.prompt(ASKED)
    log.say("done")
    space.write(log)
    space.sweep()
    assert prompts(space, log.session_id) == [ASKED]
    assert objective(space, log.session_id) == ASKED


@pytest.mark.rows("CAP-17")
@pytest.mark.parametrize("command", ["/clear", "/compact", "/model"])
def test_claude_the_input_after_a_command_of_the_client_is_the_request(
    space: Workspace, command: str
) -> None:
    log = ClaudeLog(1)
    name = f"<command-name>{command}</command-name>\n<command-message>{command[1:]}"
    log.prompt(f"{name}</command-message>\n<command-args></command-args>")
    log.prompt("<local-command-stdout></local-command-stdout>")
    log.prompt(ASKED)
    log.say("done")
    space.write(log)
    space.sweep()
    assert prompts(space, log.session_id) == [ASKED]
    assert objective(space, log.session_id) == ASKED


@pytest.mark.rows("CAP-17")
def test_claude_what_a_lead_tells_a_member_of_its_team_is_no_human_prompt(
    space: Workspace,
) -> None:
    log = ClaudeLog(1)
    log.prompt(ASKED, teamName="walruses", agentName="mender")
    log.say("done")
    lead = ClaudeLog(2)
    lead.prompt(ASKED, teamName="walruses", agentName="team-lead")
    lead.say("done")
    space.write(log, lead)
    space.sweep()
    assert prompts(space, log.session_id) == []
    assert prompts(space, lead.session_id) == [ASKED]
    assert objective(space, log.session_id) == ASKED


def image(path: str) -> list[dict[str, Any]]:
    return [
        {"type": "input_text", "text": f'<image name=[Image #1] path="{path}">'},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "high"},
        {"type": "input_text", "text": "</image>"},
    ]


@pytest.mark.rows("CAP-17")
@pytest.mark.parametrize(
    ("heading", "label"),
    [
        ("# Files mentioned by the user:\n\n## a.png: /tmp/a.png", "mentioned_files"),
        ("# In app browser:\n- The user has the in-app browser open.", "browser_context"),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py", "ide_context"),
    ],
)
def test_codex_what_its_apps_add_to_a_prompt_is_no_request(
    space: Workspace, heading: str, label: str
) -> None:
    log = CodexLog(1).header().turn()
    text = f"\n{heading}\n\n## My request for Codex:\n{ASKED}\n"
    parts = [{"type": "input_text", "text": text}, *image("/tmp/a.png")]
    log.item({"type": "message", "role": "user", "content": parts})
    log.event("user_message", message=text, images=[])
    log.answer("done")
    log.write(space.flavor_home("codex"))
    space.sweep()
    assert prompts(space, log.thread) == [ASKED]
    assert objective(space, log.thread) == ASKED
    events = space.events(log.thread)
    assert label in {event.label for event in events}
    assert [e.text for e in events if e.kind == "other"] == ["[image: image/png, 3 bytes]"]


@pytest.mark.rows("CAP-18")
@pytest.mark.parametrize("ended", [False, True])
def test_copilot_output_tokens_count_without_a_shutdown(space: Workspace, ended: bool) -> None:
    log = CopilotLog(1)
    log.start()
    log.prompt(ASKED)
    for count in (30, 12):
        log.row("assistant.message", content=f"{count}", model="gpt-5.4", outputTokens=count)
    if ended:
        log.shutdown({"inputTokens": 900, "outputTokens": 42}, "gpt-5.4")
    log.write(space.flavor_home("copilot"))
    space.sweep()
    cost = space.session(log.session_id).cost
    assert (cost.input, cost.output) == (900 if ended else 0, 42)


@pytest.mark.rows("CAP-19")
def test_claude_a_log_under_another_name_makes_no_second_session(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt(ASKED)
    log.say("done")
    first = {"type": "summary", "summary": "Some other session", "leafUuid": "elsewhere"}
    log.rows.insert(0, first)
    log.title("Pump renamed", "summary")
    folder = space.claude / "projects" / "p"
    folder.mkdir(parents=True)
    (folder / f"2026-01-13-{log.session_id}.jsonl").write_bytes(log.dump())
    (folder / "copy of it.jsonl").write_bytes(log.dump())
    space.sweep()
    assert set(space.sessions()) == {log.session_id}
    assert space.session(log.session_id).title == "Pump renamed"


@pytest.mark.rows("CAP-19")
def test_claude_a_summary_at_the_top_of_a_log_is_of_another_session(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.rows.append({"type": "summary", "summary": "Some other one", "leafUuid": "elsewhere"})
    log.prompt(ASKED)
    log.say("done")
    space.write(log)
    report = space.sweep()
    assert space.session(log.session_id).title is None
    assert report.ignored["summary of another session"] == 1


def test_a_fork_with_nothing_of_its_own_began_when_it_was_opened(space: Workspace) -> None:
    log = PiLog(3)
    log.prompt("one")
    log.answer("two")
    fork = log.fork(4)
    home = space.flavor_home("pi")
    log.write(home)
    fork.write(home)
    space.sweep()
    session = space.session(fork.session_id)
    assert session.started_at == session.ended_at == fork.opened
    shown = space.run("--config", str(space.write_config()), "show", fork.session_id)
    assert "?" not in shown.stdout.partition("time")[2].partition("\n")[0]


@pytest.mark.rows("CAP-21")
@pytest.mark.parametrize("listed", [True, False])
def test_codex_a_tool_of_the_app_is_a_call_and_its_answer(space: Workspace, listed: bool) -> None:
    log = CodexLog(1).header().turn().prompt(ASKED)
    given = {"page": "/pump"}
    if listed:
        log.item(call("c1", "open_page", given))
    log.event(
        "dynamic_tool_call_request", callId="c1", turnId="t", tool="open_page", arguments=given
    )
    log.event(
        "dynamic_tool_call_response",
        call_id="c1",
        tool="open_page",
        arguments=given,
        content_items=[{"type": "inputText", "text": "no such page"}],
        success=False,
    )
    if listed:
        log.item(output("c1", "no such page"))
    log.write(space.flavor_home("codex"))
    report = space.sweep()
    assert report.unknown == {}
    found = [e for e in space.events(log.thread) if e.kind in ("tool_call", "tool_result")]
    assert [(e.tool, e.text) for e in found][1:] == [(None, "no such page")]
    assert [(e.kind, e.is_error) for e in found] == [("tool_call", False), ("tool_result", True)]
    assert found[0].tool == "open_page"
