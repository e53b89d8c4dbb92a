"""Busy sessions of every flavour with another secret in each of their texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.invariants import sessions

from session_memory.adapters.cline.log_builder import ClineLog
from session_memory.adapters.crush.log_builder import CrushLog
from session_memory.adapters.qwen.log_builder import usage
from session_memory.testing.workspace import Workspace

_STRUCTURE = """
$rewindTo agentId apiCallId ask callID callId call_id checkpoint_file child_session_id commandMode
compactionAttemptId created_at event.name eventId firstKeptEntryId fromId history_mode id kind
lastUpdated leafUuid messageID messageId messageUuid method operation outcome parentAgentId parentID
parentId parentSession parentSessionId parentUuid parent_session_id promptId prompt_id provenance
requestId response_id resumeTime role say sessionID sessionId sessionUpdate sourceSessionId
startTime status stop_reason subagent_id subtype thread_id timestamp toolCallId tool_call_id
session_id toolUseId tool_use_id ts
turn_id type usageId userType uuid
_audit_timestamp bubbleId createdAt k session_id toolId visibility source
conversationId dateCreated
"""
STRUCTURE = frozenset(_STRUCTURE.split())
"""Names whose values tell one record from another: with a secret in them it would be no record."""
TOOL_NAMES = ("name", "tool", "toolName", "tool_name")
"""A tool of that name is known; one that is not is planted by hand."""
TEXTS = (".md", ".txt")
DATABASES = (".db", ".sqlite3", ".vscdb")


def is_json_object(text: str) -> bool:
    """Whether a text holds a record of its own."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


class Planter:
    """Appends another secret to every text, and remembers them."""

    def __init__(self, flavor: str) -> None:
        self._flavor = flavor
        self.secrets: list[str] = []

    def secret(self) -> str:
        digest = hashlib.sha256(f"{self._flavor} {len(self.secrets)}".encode()).hexdigest()
        self.secrets.append("ghp_" + digest[:36])
        return self.secrets[-1]

    def plant(self, value: Any, name: str = "") -> Any:
        """The same value with secrets in it; JSON inside a text stays JSON."""
        if isinstance(value, dict):
            return {key: self.plant(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self.plant(item, name) for item in value]
        if not isinstance(value, str) or name in STRUCTURE or name in TOOL_NAMES:
            return value
        if name == "arguments" or is_json_object(value):
            return json.dumps(self.plant(json.loads(value)))
        return f"{value} {self.secret()}"

    def plant_file(self, path: Path) -> None:
        """Whatever a client keeps in a file, by the form it has."""
        content = path.read_text()
        if path.suffix == ".json":
            path.write_text(json.dumps(self.plant(json.loads(content))))
        elif path.suffix == ".jsonl":
            rows = [json.dumps(self.plant(json.loads(line))) for line in content.splitlines()]
            path.write_text("".join(f"{row}\n" for row in rows))
        elif path.suffix in TEXTS or path.name == ".project_root":
            path.write_text(f"{content} {self.secret()}")


def claude(home: Path, _planter: Planter) -> None:
    log = sessions.claude(20)
    log.read("/work/a.py", "content")
    log.edit("/work/b.py", "old", "new")
    log.deny("Bash", {"command": "rm -r x"})
    log.api_error("overloaded")
    log.attach("hologram", content="unheard of")
    log.queue("and this")
    log.compact("so far")
    log.row("hologram", shape="unheard of")
    log.title("a title")
    log.write(home)


def cowork(home: Path, _planter: Planter) -> None:
    log = sessions.cowork(20)
    log.record["title"] = "a title"
    log.edit("/work/b.py", "old", "new")
    log.row("hologram", shape="unheard of")
    log.write(home)
    audited = sessions.cowork(21)  # without a transcript
    audited.write_audit(home)


def copilot_chat(home: Path, planter: Planter) -> None:
    log = sessions.copilot_chat(20)
    log.think("let me see")
    log.tool("copilot_createFile", "create_file", {"filePath": "/work/b.py", "content": "x"}, "ok")
    log.tool(planter.secret(), "odd", {"depth": "any"}, "an unheard-of tool", same_id=False)
    log.item({"kind": "inlineReference", "inlineReference": {"path": "/work/a.py"}})
    log.item({"kind": "hologram", "shape": "unheard of"})
    log.item({"kind": f"shape {planter.secret()}", "shape": "unheard of"})
    log.prompt("and the rest")
    log.item({"kind": "textEditGroup", "uri": {"path": "/work/c.py"}, "edits": [{"text": "new"}]})
    log.set("result", {"errorDetails": {"message": "overloaded"}})
    log.change(1, ["customTitle"], "a title")
    log.write(home)
    old = sessions.copilot_chat(21)
    old.document["requests"].append({"prompt": "of another shape"})
    old.write_document(home)


def cursor(home: Path, planter: Planter) -> None:
    """One session in each store; rows of databases are planted before they are written."""
    for number in range(3):
        log = sessions.cursor(20 + number)
        log.think("let me see")
        log.tool("edit_file", {"target_file": "/work/b.py", "code_edit": "new"}, "edited")
        log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool", "error")
        log.line("assistant", {"type": "hologram", "shape": "unheard of"})
        log.line("user", {"type": "text", "text": "<attached_files>a.py</attached_files>"})
        log.rows.append({"type": "turn_ended", "status": "error", "error": "overloaded"})
        log.rows.append({"type": f"shape {planter.secret()}", "shape": "unheard of"})
        log.message("hologram", {"type": "text", "text": "unheard of"})
        log.message("user", {"type": "hologram", "shape": "unheard of"})
        log.bubble(7, text="unheard of")
        log.composer["name"] = f"a title {planter.secret()}"
        if number == 0:
            log.write(home)
        elif number == 1:
            log.messages = planter.plant(log.messages)
            log.write_chat(home, name=f"a chat {planter.secret()}")
        else:
            log.bubbles = planter.plant(log.bubbles)
            log.write_editor(home)


def droid(home: Path, planter: Planter) -> None:
    log = sessions.droid(20)
    log.think("let me see")
    log.tool("Edit", {"file_path": "/work/b.py", "old_str": "a", "new_str": "b"}, "edited")
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool", error=True)
    log.message("user", {"type": "text", "text": "no quota"}, visibility="user_only")
    log.message("hologram", {"type": "text", "text": "unheard of"})
    log.message("user", {"type": "hologram", "shape": "unheard of"})
    log.row("compaction_state", summaryText="so far")
    log.row(f"shape {planter.secret()}", shape="unheard of")
    log.rows[0]["sessionTitle"] = "a title"
    log.write(home)


def continue_dev(home: Path, planter: Planter) -> None:
    log = sessions.continue_dev(20)
    log.document["title"] = "a title"
    log.say("<think>let me see</think>I see", reasoning={"text": "hm", "startAt": log.created})
    log.tool("edit_file", {"filepath": "/work/b.py", "changes": "new"}, "edited")
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool", "errored")
    log.entry("tool", "a late result", toolCallId="call_x")
    log.entry("hologram", "unheard of")
    log.entry(f"shape {planter.secret()}", "unheard of", conversationSummary="so far")
    log.write(home)


def antigravity(home: Path, planter: Planter) -> None:
    log = sessions.antigravity(20)
    log.say("I see", thinking="let me see")
    log.tool("write_to_file", {"TargetFile": "/work/b.py", "CodeContent": "new"}, "written")
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool", status="ERROR", error="no")
    log.prompt("and the rest", model="Gemini 3 Pro")
    for kind in ("CHECKPOINT", "SYSTEM_MESSAGE", "ERROR_MESSAGE", "KNOWLEDGE_ARTIFACTS"):
        log.step("SYSTEM", kind, f"text of {kind}")
    log.step("SYSTEM", "NOTIFY_USER", "look here")
    log.step("SYSTEM", f"shape {planter.secret()}", "unheard of")
    log.write(home)


def codex(home: Path, _planter: Planter) -> None:
    log = sessions.codex(20)
    log.row("compacted", {"message": "so far"})
    log.event("error", message="overloaded")
    log.event("hologram", message="unheard of")
    log.write(home)


def grok(home: Path, _planter: Planter) -> None:
    log = sessions.grok(20)
    log.think("let me see")
    log.edit("/work/b.py", "old", "new")
    log.compact("so far")
    log.spawn(21, "look around").write(home)
    log.update("hologram", own=True, shape="unheard of")
    log.write(home)


def gemini(home: Path, planter: Planter) -> None:
    log = sessions.gemini(20)
    log.context()
    log.write_file("/work/b.py", "new")
    log.large("much output " * 60)
    log.call("hologram", {"depth": "any"}, "an unheard-of tool")
    for call in [call for row in log.rows for call in row.get("toolCalls", [])]:
        if call["name"] == "hologram":  # not so its id: the client makes it of the name
            call["name"] = planter.secret()
    log.call("read_file", {"file_path": "/work/a.py"}, "no such file", status="error")
    log.message("error", "overloaded")
    log.message("info", "Request cancelled.")
    log.message("hologram", "unheard of")
    log.message(f"shape {planter.secret()}", "unheard of")
    log.rows.append({"hologram": "unheard of"})
    log.patch(summary="a title", directories=["/work/other"], hologram="unheard of")
    log.rewind(log.prompt("another way"))
    log.spawn(21, "look around", "nothing there").write(home)
    log.compress("so far")
    log.write(home)
    old = sessions.gemini(22)
    old.write_document(home)


def qwen(home: Path, planter: Planter) -> None:
    log = sessions.qwen(20)
    log.write_file("/work/b.py", "new")
    log.call(planter.secret(), {"depth": "any"}, "an unheard-of tool")
    log.answer({"text": "let me see", "thought": True}, {"text": "I see"})
    log.system("custom_title", customTitle="a title")
    log.system("hologram", shape="unheard of")
    log.system(
        "slash_command", phase="result", rawCommand="/about", outputHistoryItems=[{"a": "b"}]
    )
    log.row("hologram", shape="unheard of")
    log.row(f"shape {planter.secret()}", shape="unheard of")
    log.spawn(21, "look around", "nothing there", usage()).write(home)
    log.compress("so far", usage())
    log.write(home)


def copilot(home: Path, planter: Planter) -> None:
    log = sessions.copilot(20)
    log.tool("edit", {"path": "/work/b.py", "old_str": "old", "new_str": "new"}, "edited")
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool")
    error = {"message": "overloaded", "code": "failure"}
    log.tool("view", {"path": "/work/a.py"}, "", success=False, error=error)
    log.answer("I see", reasoningText="let me see")
    log.row("session.error", errorType="quota", message="overloaded")
    log.row("session.info", infoType="mcp", message="connected")
    log.row("session.model_change", newModel="another")
    log.row("hologram", shape="unheard of")
    log.row(f"shape.{planter.secret()}", shape="unheard of")
    log.delegate("look around")
    log.run("ls", "nothing there")
    log.rejoin("nothing there")
    log.compact("so far")
    log.name(f"a title {planter.secret()}", by_user=True)
    log.side_files["checkpoints/001-first.md"] = b"# so far\n\nall well"
    log.write(home)


def pi(home: Path, planter: Planter) -> None:
    log = sessions.pi(20)
    log.tool("edit", {"path": "/work/b.py", "oldText": "old", "newText": "new"}, "edited")
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool")
    log.answer({"type": "thinking", "thinking": "let me see"}, "I see")
    log.answer("", stopReason="error", errorMessage="overloaded")
    log.shell("ls", "nothing there")
    log.entry("model_change", provider="anthropic", modelId="another")
    log.entry("session_info", name="a title")
    log.entry("custom", customType="hologram", data={"shape": "unheard of"})
    log.entry("hologram", shape="unheard of")
    log.entry(f"shape {planter.secret()}", shape="unheard of")
    log.message("hologram", content="unheard of")
    log.back_to(log.prompt("another way"), "the other way failed")
    log.compact("so far")
    log.write(home)


def opencode(home: Path, planter: Planter) -> None:
    """Rows are planted before they are written; the ids are columns."""
    log = sessions.opencode(20)
    log.prompt("and the rest")
    log.think("let me see")
    log.edit("/work/b.py", "old", "new")
    log.tool("read", {"filePath": "/work/a.py"}, error="no such file")
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool")
    log.plan(("fix it", "completed"), ("tell", "pending"))
    log.part({"type": "hologram", "shape": "unheard of"})
    log.part({"type": f"shape {planter.secret()}", "shape": "unheard of"})
    log.part({"type": "file", "mime": "text/plain", "filename": "a.txt", "url": "data:,hello"})
    log.part({"type": "retry", "attempt": 1, "error": {"data": {"message": "overloaded"}}})
    log.fail("APIError", "overloaded")
    log.compact("so far", {"input": 1, "output": 1})
    child = log.spawn(21, "look around")
    child.say("nothing there")
    for one, write in ((log, log.write), (child, child.write)):
        one.info = planter.plant(one.info)
        one.messages = [(planter.plant(info), planter.plant(parts)) for info, parts in one.messages]
        write(home)
    sessions.opencode(22).write_files(home)


def task(log: ClineLog, planter: Planter) -> None:
    log.tool("editedExistingFile", "/work/b.py", "new")
    log.tool("searchFiles", "/work", "found this")
    log.tool(planter.secret(), "/work", "an unheard-of tool")
    log.entry("use_mcp_server", json.dumps({"toolName": "look", "arguments": '{"a": "b"}'}))
    log.entry("mcp_server_response", "Error: nothing there")
    log.entry("followup", json.dumps({"question": "which?", "options": ["a"]}), ask=True)
    log.think("let me see")
    log.prompt("and the rest")
    log.entry("error", "overloaded")
    log.entry("condense_context", "so far")
    log.entry("hologram", "unheard of")
    log.entry(f"shape {planter.secret()}", "unheard of")


def cline(home: Path, planter: Planter) -> None:
    log = sessions.cline(20)
    task(log, planter)
    log.write(home)


def roo(home: Path, planter: Planter) -> None:
    log = sessions.roo(20)
    task(log, planter)
    log.write(home)


def kilo(home: Path, planter: Planter) -> None:
    log = sessions.kilo(20)
    task(log, planter)
    log.write(home)


def aider(home: Path, planter: Planter) -> None:
    """A secret at the end of every line that holds a text, before the blanks that close it."""
    log = sessions.aider(20)
    for line in ("litellm.APIError: overloaded", "^C KeyboardInterrupt", "2 passed"):
        log.output(line)
    for text in ("/run pytest", "/ask why?", "Add it? (Y)es/(N)o [Yes]: skip"):
        log.prompt(text)
    log.output("Cur working dir: /work/shop")
    planted_lines = [
        f"{line.rstrip()} {planter.secret()}{'  ' if line.endswith('  ') else ''}"
        if line.strip() and not line.startswith(("# aider", "```"))
        else line
        for line in log.text.split("\n")
    ]
    log.text = "\n".join(planted_lines)
    log.write(home)


def kimi(home: Path, planter: Planter) -> None:
    log = sessions.kimi(20)
    log.tool("WriteFile", {"path": "/work/b.py", "content": "new"}, "written")
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool", is_error=True)
    log.row("turn.steer", input=[{"type": "text", "text": "and this"}])
    log.event("step.end", finishReason="error", error="overloaded")
    log.prompt("another way")
    log.undo()
    log.row(f"shape {planter.secret()}", shape="unheard of")
    log.event(f"shape {planter.secret()}", shape="unheard of")
    log.event("content.part", part={"type": f"shape {planter.secret()}", "text": "unheard of"})
    log.write(home)
    child = sessions.kimi(20, 1)
    child.agent = "scout"
    child.write(home)
    old = sessions.kimi(21)
    old.write_old(
        home,
        ("TurnBegin", {"user_input": "look into it"}),
        ("ContentPart", {"type": "think", "think": "let me see"}),
        ("ToolCall", {"id": "c", "function": {"name": "Shell", "arguments": '{"command": "ls"}'}}),
        ("ToolResult", {"tool_call_id": "c", "return_value": {"output": "a.py", "message": "ok"}}),
        ("Hologram", {"shape": "unheard of"}),
    )


def kiro(home: Path, planter: Planter) -> None:
    """The log is planted as a file; the row before it is written."""
    log = sessions.kiro(20)
    log.tool("fs_write", {"path": "/work/b.py", "file_text": "new"}, "written", is_error=True)
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool")
    log.about["title"] = "a title"
    log.row("Prompt", {"kind": f"shape {planter.secret()}", "data": "unheard of"})
    log.write(home)
    stored = sessions.kiro(21)
    stored.entry({f"shape {planter.secret()}": {"content": "unheard of"}})
    stored.prompt("and the rest")
    stored.entry({"Response": {"content": "well"}})
    stored.history = planter.plant(stored.history)
    stored.write_row(home, f"/work/shop {planter.secret()}")


def zed(home: Path, planter: Planter) -> None:
    """The document is planted before it is written; the ids are columns and keys."""
    log = sessions.zed(20)
    log.tool("edit_file", {"path": "/work/b.py", "mode": "edit"}, "edited", is_error=True)
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool")
    log.agent({f"shape {planter.secret()}": "unheard of"})
    log.messages.append({f"shape {planter.secret()}": "unheard of"})
    log.document = planter.plant(log.document)
    log.thread["folder_paths"] = f"/work/shop {planter.secret()}"
    for packed in (True, False):
        log.packed = packed
        log.session_id = f"thread-{packed}"
        log.write(home)


def crush(home: Path, planter: Planter) -> None:
    """Rows are planted before they are written; the ids are columns."""
    log = sessions.crush(20)
    log.tool("edit", {"file_path": "/work/b.py", "old_string": "old"}, "edited", is_error=True)
    log.tool(planter.secret(), {"depth": "any"}, "an unheard-of tool")
    log.say("I see", thought="let me see")
    log.message("assistant", finish={"reason": "error", "message": "overloaded", "details": "no"})
    log.message("assistant", finish={"reason": "canceled", "message": "stopped"})
    log.message("assistant", finish={"reason": planter.secret()})
    log.message("user", {"type": f"shape {planter.secret()}", "data": {"shape": "unheard of"}})
    log.message(f"role {planter.secret()}", {"type": "text", "data": {"text": "unheard of"}})
    child = CrushLog(21, parent=log.session_id)
    child.prompt("look around")
    for one in (log, child):
        one.session["title"] = f"a title {planter.secret()}"
        for row in one.rows:
            row["parts"] = planter.plant(row["parts"])
            row["model"] = planter.plant(row["model"])
        one.write(home)


BUSY: dict[str, Callable[[Path, Planter], None]] = {
    "claude": claude,
    "codex": codex,
    "grok": grok,
    "gemini": gemini,
    "qwen": qwen,
    "copilot": copilot,
    "pi": pi,
    "opencode": opencode,
    "cline": cline,
    "roo": roo,
    "kilo": kilo,
    "crush": crush,
    "aider": aider,
    "kimi": kimi,
    "kiro": kiro,
    "zed": zed,
    "cowork": cowork,
    "copilot_chat": copilot_chat,
    "cursor": cursor,
    "droid": droid,
    "continue_dev": continue_dev,
    "antigravity": antigravity,
}


def planted(space: Workspace, flavor: str) -> tuple[str, ...]:
    """One busy session of a flavour with secrets in all of it."""
    home, planter = space.flavor_home(flavor), Planter(flavor)
    BUSY[flavor](home, planter)
    files = (path for path in home.rglob("*") if path.is_file())
    for path in sorted(path for path in files if path.suffix not in DATABASES):
        planter.plant_file(path)
    return tuple(planter.secrets)
