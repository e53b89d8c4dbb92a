"""Rows of no shape anybody knows: read, counted, never a crash, never outside UTF-8."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.codex_reading import block_of, parse_rows, source

from session_memory.adapters.codex.log_builder import CodexLog, Mode, message, tokens
from session_memory.adapters.codex.reader import parse

ODD: list[Any] = [
    None,
    True,
    -1,
    1e300,
    "",
    "x",
    "\ud800",
    [],
    [1, None],
    {},
    {"type": "x"},
    {"a": [{}]},
]


def sample(mode: Mode) -> list[dict[str, Any]]:
    """One row of nearly every kind."""
    log = CodexLog(1, mode=mode).header(history_base={"thread_id": "x"}).turn().prompt("p")
    log.answer("a").run("make", "boom", 2).spend(tokens(9, 1, 2, 1), record=True)
    log.item({"type": "reasoning", "summary": [{"text": "t"}], "content": []})
    log.item({"type": "local_shell_call", "call_id": "l", "action": {"command": ["ls"]}})
    log.item({"type": "custom_tool_call", "name": "apply_patch", "input": "p", "call_id": "p"})
    log.item({"type": "tool_search_output", "call_id": "s", "tools": [{"name": "n"}]})
    log.item({"type": "web_search_call", "action": {"query": "q"}})
    log.item(message("developer", "d"), metadata={"compaction_output": True})
    log.event("patch_apply_end", call_id="p", changes={"a": {"move_path": "b"}}, success=True)
    log.event("mcp_tool_call_end", call_id="m", invocation={"server": "s"}, result={"Ok": {}})
    log.event("exec_command_end", call_id="e", command=["a"], exit_code=1, stdout="o")
    log.finished("FileChange", id="f", changes={}, status="failed")
    log.finished("McpToolCall", id="m2", server="s", tool="t", result={"content": [{"text": "x"}]})
    log.finished("HookPrompt", fragments=[{"text": "h"}])
    log.event("thread_settings_applied", thread_settings={"model": "m", "cwd": "/c"})
    log.row("compacted", {"message": "m", "replacement_history": []})
    log.row("inter_agent_communication", {"content": [{"text": "t"}]})
    return [{"id": "bare", "timestamp": "2025-01-01T00:00:00Z", "git": {}}, *log.rows]


ROWS = [*sample("legacy"), *sample("paginated")]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a record that holds a value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))][:200]


@settings(max_examples=150)
@given(st.data())
def test_an_odd_value_anywhere_in_a_row_does_no_harm(data: st.DataObject) -> None:
    rows = copy.deepcopy(ROWS)
    for _ in range(data.draw(st.integers(1, 4))):
        row = data.draw(st.sampled_from(rows))
        path = data.draw(st.sampled_from([place for place in places(row) if place]))
        holder: Any = row
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = copy.deepcopy(data.draw(st.sampled_from(ODD)))
    bundle = parse_rows(*rows)
    assert bundle.records + bundle.parse_errors == len(rows)
    for part in bundle.sessions:
        assert all(event.text.encode("utf-8") is not None for event in part.events)
        assert len({event.pos for event in part.events}) == len(part.events)
    json.dumps(bundle.state)


@settings(max_examples=60)
@given(st.binary(max_size=80), st.integers(0, 5000))
def test_bytes_of_any_kind_in_the_middle_cost_at_most_the_lines_they_touch(
    junk: bytes, at: int
) -> None:
    content = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    at %= len(content)
    bundle = parse(source("/x.jsonl"), block_of(content[:at] + junk + content[at:]), {})
    assert bundle.records >= len(ROWS) - 1


def test_deep_nesting_is_no_crash() -> None:
    deep = (
        b'{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":' + b'{"a":' * 9000
    )
    bundle = parse(source("/x.jsonl"), block_of(deep + b"1" + b"}" * 9001 + b"\n"), {})
    assert bundle.records + bundle.parse_errors == 1
