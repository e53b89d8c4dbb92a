"""No secret that stands in a log stands anywhere below the store directory."""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest
from tests.invariants.broken import core_of, everything_stored

from session_memory.adapters.claude.log_builder import (
    ClaudeLog,
    call_block,
    text_block,
    thinking_block,
)
from session_memory.redact.engine import Redactor
from session_memory.redact.rule import fake
from session_memory.testing.faults import Stopped, StoppingStore
from session_memory.testing.workspace import Workspace

FIELDS = (
    "prompt",
    "answer",
    "thought",
    "command",
    "argument",
    "nested",
    "output",
    "output_block",
    "read_path",
    "edit_path",
    "api_error",
    "title_custom",
    "title_ai",
    "title_summary",
    "branch",
    "cwd",
    "label",
    "version",
    "model",
    "entrypoint",
    "attachment",
    "queued",
    "compaction",
    "unknown",
    "sidechain",
    "tool_name",
    "overflow",
    "subagent_prompt",
    "pr_link",
    "bash_input",
    "reminder",
    "denial",
    "edited_text",
    "tool_detail",
)


def secret_of(field: str) -> str:
    """A token of a known service, another one for every field."""
    body = fake("", 36, "abcdefghijklmnopqrstuvwxyz0123456789").encode()
    shift = FIELDS.index(field) + 1
    return "ghp_" + "".join(
        chr(97 + (byte * shift + index) % 26) for index, byte in enumerate(body)
    )


def planted() -> list[ClaudeLog]:
    """A session with a secret in every field that can hold text, and its sub-agent."""

    def hide(field: str) -> str:
        return f"see {secret_of(field)} here"

    log = ClaudeLog(3, cwd=f"/work/{secret_of('cwd')}")
    log.branch = secret_of("branch")
    log.prompt(hide("prompt"))
    log.prompt(f"<bash-input>curl -H {secret_of('bash_input')}</bash-input>")
    log.prompt(f"<system-reminder>{hide('reminder')}</system-reminder>and now?")
    log.reply(thinking_block(hide("thought")), text_block(hide("answer")))
    given = {"command": hide("command"), "note": hide("argument"), "deep": [{"a": hide("nested")}]}
    call = log.call("Bash", given)
    log.result(call, hide("output"), {"stdout": hide("tool_detail"), "stderr": ""})
    log.result(log.call("Bash", {"command": "ls"}), [text_block(hide("output_block"))])
    log.read(f"/work/{secret_of('read_path')}/a.py", "content")
    log.edit(f"/work/{secret_of('edit_path')}/a.py", "old", hide("edited_text"))
    log.deny("Bash", {"command": hide("denial")})
    log.reply(call_block(log.new_id("toolu_"), secret_of("tool_name"), {"x": 1}))
    log.api_error(hide("api_error"))
    log.attach("hologram", content=hide("attachment"))
    log.queue(hide("queued"))
    log.compact(hide("compaction"))
    log.row("hologram", shape=hide("unknown"))
    log.sidechain(hide("sidechain"), "done")
    big = log.call("Bash", {"command": "make"})
    saved = "/x/tool-results/big.txt"
    log.result(big, f"Full output saved to: {saved}", {"persistedOutputPath": saved})
    for kind in ("custom", "ai", "summary"):
        log.title(hide(f"title_{kind}"), kind)
    log.raw({"type": "pr-link", "sessionId": log.session_id, "prUrl": hide("pr_link")})
    log.raw({"type": "agent-name", "sessionId": log.session_id, "agentName": hide("label")})
    log.version, log.entrypoint = secret_of("version"), secret_of("entrypoint")
    log.model = secret_of("model")
    log.say("the end")
    child = log.subagent(hide("subagent_prompt"))
    child.say("done")
    return [log, child]


def plant(space: Workspace) -> None:
    log, child = planted()
    path, _ = space.write(log, child)
    # the folder's own name is the agent's, and paths of logs are kept as they are
    folder = path.parent.with_name("project")
    path.parent.rename(folder)
    side = folder / log.session_id / "tool-results"
    side.mkdir(parents=True)
    (side / "big.txt").write_text(f"see {secret_of('overflow')} here\n")


def leaks(space: Workspace) -> set[str]:
    """Fields whose secret occurs, in whatever case and also when its end was cut off."""
    stored = b"\n".join(everything_stored(space.store_directory)).lower()
    return {field for field in FIELDS if core_of(secret_of(field)) in stored}


def test_no_planted_secret_is_stored_anywhere(space: Workspace) -> None:
    plant(space)
    report = space.sweep()
    assert leaks(space) == set()
    assert sum(report.redactions.values()) >= len(FIELDS) - 1  # tool_detail is not kept at all


def test_the_same_search_finds_every_secret_where_redaction_is_off(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the test above would prove nothing."""
    monkeypatch.setattr(Redactor, "redact", lambda _self, data: data)
    monkeypatch.setattr(Redactor, "redact_json", lambda _self, data: data)
    monkeypatch.setattr(Redactor, "redact_text", lambda _self, text: text)
    plant(space)
    space.sweep()
    assert set(FIELDS) - leaks(space) <= {"tool_detail", "sidechain"}


@pytest.mark.parametrize("step", ["save_cursor", "commit", "save_digest"])
def test_no_secret_is_left_behind_by_a_sweep_that_died(space: Workspace, step: str) -> None:
    plant(space)
    with pytest.raises(Stopped):
        space.sweep(open_as=lambda store: StoppingStore(store, step))
    assert leaks(space) == set()
    space.sweep()
    assert leaks(space) == set()


def test_evicted_text_is_really_gone(space: Workspace) -> None:
    log = ClaudeLog(4)
    log.prompt("the quick zzyzxword jumps")
    log.say("over the lazy qqplughword")
    log.run("echo xxquuxword", "xxoutputword")
    space.write(log)
    space.sweep()
    before = b"\n".join(everything_stored(space.store_directory))
    assert b"qqplughword" in before
    space.set_retention(raw_soft_cap_bytes=1)
    space.sweep()
    after = b"\n".join(everything_stored(space.store_directory))
    assert b"qqplughword" not in after  # what the digest keeps (objective, commands) may stay
    assert b"xxoutputword" not in after


@pytest.mark.skipif(os.name != "posix", reason="modes are a matter of POSIX")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_nobody_else_can_read_the_store_whatever_the_umask(space: Workspace, mask: int) -> None:
    log = ClaudeLog(5)
    log.prompt("hello")
    space.write(log)
    modes: dict[str, int] = {}

    def look(store: Any) -> Any:
        note_modes(space, modes)
        return _Looking(store, lambda: note_modes(space, modes))

    before = os.umask(mask)
    try:
        space.sweep(open_as=look)
    finally:
        os.umask(before)
    note_modes(space, modes)
    assert any(name.endswith(".seg") for name in modes)
    assert any(name.endswith("store.db-wal") for name in modes)
    too_open = {name: oct(mode) for name, mode in modes.items() if mode & 0o077}
    assert too_open == {}


def note_modes(space: Workspace, modes: dict[str, int]) -> None:
    """Remember every file and directory there is right now, and its mode."""
    for path in (space.store_directory, *space.store_directory.rglob("*")):
        modes[str(path)] = stat.S_IMODE(path.stat().st_mode) | modes.get(str(path), 0)


class _Looking:
    """A store that is looked at before every call."""

    def __init__(self, store: Any, look: Any) -> None:
        self._store = store
        self._look = look

    def __getattr__(self, name: str) -> Any:
        self._look()
        return getattr(self._store, name)
