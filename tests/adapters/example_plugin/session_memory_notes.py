"""Notes: an agent that writes one JSON line per thing that happens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from session_memory.adapters.agent import Agent, HookFacts, McpFacts
from session_memory.adapters.common import (
    Adapter,
    Block,
    Normalized,
    RawEvent,
    SourceFile,
    as_object,
    as_text,
    classify_tool,
    decode_record,
    parse_time,
    walk_files,
)
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    claude_groups,
    json_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks
from session_memory.core.schema import Usage

AGENT = Agent(
    name="notes",
    title="Notes",
    home_variable="NOTES_HOME",
    homes=("~/.notes",),
    reader="session_memory_notes:ADAPTER",
    wiring="session_memory_notes:CLIENT",
    hook=HookFacts(transcript_part="/.notes/", names_transcript=True),
    mcp=McpFacts(client_name="notes", model_sees="structured"),
    instruction_files=("NOTES.md",),
)


def discover(root: str) -> Iterator[SourceFile]:
    """Every session: one file each, named by its id."""
    return walk_files(os.path.join(root, "sessions"), ".jsonl")


def parse(source: SourceFile, block: Block, state: dict[str, Any]) -> Normalized:
    """Read some whole lines of a session; `state` is what the lines before them left."""
    bundle = Normalized(too_long=block.too_long, state={"version": "", **state})
    part = PartBuilder(os.path.basename(source.path).removesuffix(".jsonl"))
    lines = [*block.lines, *([block.tail] if block.tail else [])]
    for pos, line in lines:
        record = decode_record(line)
        if record is not None:
            bundle.records += 1
            _emit(bundle, part, pos, record)
        elif block.tail and pos == block.tail[0]:
            bundle.incomplete_tail += 1  # its writer is not done with it
        else:
            bundle.parse_errors += 1
    bundle.sessions = [part.build()]
    return bundle


def _emit(bundle: Normalized, part: PartBuilder, pos: int, record: dict[str, Any]) -> None:
    kind, at = as_text(record.get("type")), parse_time(record.get("at"))
    text, tool = as_text(record.get("text")), as_text(record.get("tool"))
    match kind:
        case "start":
            bundle.state["version"] = as_text(record.get("version"))
            part.note("client_version", bundle.state["version"], pos)
            part.note("cwd", as_text(record.get("cwd")), pos)
        case "user":
            part.events.append(RawEvent(pos, "user_prompt", "user", text, at))
        case "agent":
            key = f"{part.external_id}:{record.get('response')}"
            tokens = as_object(record.get("tokens"))
            part.spend(Usage(key, as_text(record.get("model")), at, **tokens))
            said = RawEvent(pos, "assistant_text", "agent", text, at, usage_key=key)
            part.events.append(said)
        case "call":
            call = RawEvent(pos, "tool_call", "agent", compact_json(record.get("input")), at)
            call.tool, call.tool_class = tool, classify_tool(tool)
            call.call_id = as_text(record.get("id"))
            if call.tool_class == "shell":
                call.command = as_text(as_object(record.get("input")).get("command"))
            part.events.append(call)
        case "result":
            result = RawEvent(pos, "tool_result", "tool", text, at)
            result.call_id = as_text(record.get("id"))
            result.exit_code = record.get("exit")
            result.is_error = result.exit_code not in (None, 0)
            part.events.append(result)
        case _:  # kept, and named in the report: a new format is seen on its first day
            bundle.unknown[bundle.state["version"], kind] += 1
            raw = compact_json(record, EXCERPT)
            part.events.append(RawEvent(pos, "other", "harness", raw, at, label=kind))


ADAPTER = Adapter(
    name=AGENT.name,
    title=AGENT.title,
    env=AGENT.home_variable,
    default_dirs=AGENT.homes,
    discover=discover,
    parser_version=1,
    parse=parse,
)


root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """What goes into which file: hooks and the MCP server, both into the settings."""
    folder = os.path.join(context.project, ".notes") if context.project else root(context)
    hooks = JsonHooks(claude_groups(launchers, AGENT.name, {"SessionStart": 10, "SessionEnd": 10}))
    return {os.path.join(folder, "settings.json"): (hooks, json_server(launchers, "mcpServers"))}


CLIENT = Client(name=AGENT.name, programs=("notes",), root=root, files=files)
