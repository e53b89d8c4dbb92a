"""Who wrote what stands under the role `user`: the human, the client, or another agent."""

from __future__ import annotations

import pytest
from tests.adapters.codex_reading import facts, only, parse_log, said

from session_memory.adapters.codex.log_builder import CodexLog, message, uuid7

PARENT = uuid7(1_781_000_000_000, "parent")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("# AGENTS.md instructions for /work\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>", "agents_md"),
        (
            "<environment_context>\n  <cwd>/work</cwd>\n</environment_context>",
            "environment_context",
        ),
        ("<user_instructions>\nbe brief\n</user_instructions>", "user_instructions"),
        ("<permissions instructions>\nnone\n</permissions instructions>", "permissions"),
        ("<turn_aborted>\nThe user interrupted\n</turn_aborted>", "turn_aborted"),
        ("<skill>\n<name>deploy</name>\n</skill>", "skill"),
        ("<subagent_notification>\n{}\n</subagent_notification>", "subagent_notification"),
        ("<goal_context>ship</goal_context>", "goal_context"),
        ("<external_thing>x</external_thing>", "external"),
        ("Another language model started to solve this problem and", "compact_summary"),
    ],
)
def test_text_that_the_client_writes_is_injected_under_its_name(text: str, label: str) -> None:
    log = CodexLog(1).header()
    log.item(message("user", text))
    assert said(parse_log(log)) == [("injected", label, text)]


def test_the_request_is_found_behind_what_stands_before_it() -> None:
    log = CodexLog(1).header()
    ide = (
        "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix it\n"
    )
    log.prompt(ide)
    log.item(message("user", "<environment_context>x</environment_context>\n\nand now this"))
    assert said(parse_log(log)) == [
        ("injected", "ide_context", "# Context from my IDE setup:\n\n## Active file: a.py"),
        ("user_prompt", None, "fix it"),
        ("injected", "environment_context", "<environment_context>x</environment_context>"),
        ("user_prompt", None, "and now this"),
    ]


def test_provenance_knows_better_than_words() -> None:
    log = CodexLog(1, mode="paginated").header()
    pasted = "<environment_context>what does this do?</environment_context>"
    row = message("user", pasted, "remember the milk")
    row["internal_chat_message_metadata_passthrough"] = {
        "content_item_kinds": ["user.text", "memories.instructions"],
        "content_item_metadata": [
            {"provenance": {"type": "user"}},
            {"provenance": {"type": "harness", "hook": False}},
        ],
    }
    log.item(row)
    assert said(parse_log(log)) == [
        ("user_prompt", None, pasted),
        ("injected", "memories_instructions", "remember the milk"),
    ]


def test_developer_messages_are_injected_and_manuals_cut() -> None:
    log = CodexLog(1).header()
    manual = "<skills_instructions>" + "x" * 9000 + "</skills_instructions>"
    log.item(message("developer", manual, "house rule"))
    first, second = said(parse_log(log))
    assert first[:2] == ("injected", "skills") and len(first[2]) == 2048
    assert second == ("injected", "developer", "house rule")


def test_a_prompt_with_a_picture_is_one_prompt_and_no_base64() -> None:
    log = CodexLog(1).header()
    row = message("user", "what is this?")
    row["content"].append({"type": "input_image", "image_url": "data:image/png;base64,QUJD"})
    log.item(row)
    log.event("user_message", message="what is this?", images=["data:image/png;base64,QUJD"])
    texts = [text for _, _, text in said(parse_log(log))]
    assert texts == ["what is this?", "[image: image/png, 3 bytes]"]


def test_a_sub_agent_hangs_on_its_parent_and_has_no_human() -> None:
    log = CodexLog(1, mode="paginated")
    spawn = {"parent_thread_id": PARENT, "depth": 1, "agent_nickname": "Dalton"}
    log.header(
        session_id=PARENT,
        source={"subagent": {"thread_spawn": spawn}},
        thread_source="subagent",
        agent_nickname="Dalton",
    )
    log.turn().prompt("list the files").answer("two files")
    part = only(parse_log(log))
    assert (part.external_id, part.parent_external_id) == (log.thread, PARENT)
    assert facts(part)["source_kind"] == "subagent"
    assert facts(part)["label"] == "Dalton"
    assert [(e.kind, e.origin, e.label) for e in part.events] == [
        ("injected", "agent", "subagent_prompt"),
        ("assistant_text", "subagent", None),
    ]


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ({"source": "exec"}, "exec"),
        ({"source": "vscode"}, "interactive"),
        ({"source": {"custom": "x"}}, "interactive"),
        ({"source": {"internal": "guardian"}}, "internal"),
        ({"source": {"subagent": "memory_consolidation"}}, "internal"),
        ({"source": "cli", "thread_source": "memory_consolidation"}, "internal"),
        ({"source": "cli", "cwd": "/h/.codex/memories/x"}, "internal"),
        ({"source": {"subagent": "review"}}, "subagent"),
        ({"source": "exec", "parent_thread_id": PARENT}, "subagent"),
    ],
)
def test_who_started_a_thread(header: dict[str, object], kind: str) -> None:
    part = only(parse_log(CodexLog(1).header(**header).prompt("x")))
    assert facts(part)["source_kind"] == kind


def test_models_and_directories_may_change_from_turn_to_turn() -> None:
    log = CodexLog(1).header().turn("gpt-a").prompt("x").turn("gpt-b").prompt("y")
    part = only(parse_log(log))
    assert {fact.value for fact in part.facts if fact.name == "model"} == {"gpt-a", "gpt-b"}
    assert facts(part)["cwd"] == "/work/shop"
