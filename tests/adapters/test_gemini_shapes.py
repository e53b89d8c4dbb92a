"""Records of no known shape do no harm to the readers of Gemini CLI and Qwen Code."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.adapters.common import Adapter, Block, SourceFile
from session_memory.adapters.gemini import reader as gemini
from session_memory.adapters.gemini.log_builder import GeminiLog
from session_memory.adapters.qwen import reader as qwen
from session_memory.adapters.qwen.log_builder import QwenLog, usage
from session_memory.core.fingerprint import event_fingerprint

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def gemini_rows() -> list[dict[str, Any]]:
    log = GeminiLog()
    log.context()
    asked = log.prompt("go", displayContent="go")
    log.say("I run it.", thought="hm")
    log.run("make", "bad", exit_code=1)
    log.spawn(2, "count", "three")
    log.rewind(asked)
    log.compress("done")
    log.message("error", "boom")
    return log.rows


def qwen_rows() -> list[dict[str, Any]]:
    log = QwenLog()
    log.prompt("go", systemPayload={"displayText": "go"})
    log.run("make", "bad", exit_code=1)
    log.compress("done", usage())
    log.system("slash_command", phase="result", outputHistoryItems=[{"text": "x"}])
    log.system("at_command", filesRead=["a"], status="error")
    log.system("custom_title", customTitle="x")
    return log.rows


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found: list[tuple[Any, ...]] = []
    for key, inner in items:
        found.append((*path, key))
        if isinstance(inner, dict | list):
            found += places(inner, (*path, key))
    return found


def put(rows: list[dict[str, Any]], path: tuple[Any, ...], value: Any) -> None:
    inner: Any = rows
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value


CASES = {
    "lines": (gemini.ADAPTER, "/h/tmp/shop/chats/session-x-12345678.jsonl", gemini_rows()),
    "document": (gemini.ADAPTER, "/h/tmp/shop/chats/session-x-12345678.json", gemini_rows()),
    "qwen": (qwen.ADAPTER, "/h/projects/-work/chats/abc.jsonl", qwen_rows()),
}


def read(adapter: Adapter, path: str, rows: list[Any]) -> None:
    if path.endswith(".json"):
        whole = {"sessionId": "x", "messages": rows[1:]}
        lines = [(0, json.dumps(whole).encode())]
    else:
        lines = [(n * 100_000, json.dumps(row).encode()) for n, row in enumerate(rows)]
    bundle = adapter.parse(SourceFile(path, 1, 0, 0, 0, 0), Block(lines, 0, 1), {})
    for part in bundle.sessions:
        positions = [event.pos for event in part.events]
        assert len(set(positions)) == len(positions)
        for event in part.events:
            body = event.text.encode("utf-8", "replace")
            event_fingerprint(
                b"k", kind=event.kind, at=event.at, body=body, call_id=event.call_id, place="x"
            )
        for spent in part.usages:
            assert min(spent.input, spent.output, spent.cache_read, spent.reasoning) >= 0


@pytest.mark.parametrize("case", list(CASES))
@given(data=st.data())
@settings(max_examples=80)
def test_any_value_in_any_place_is_survived(case: str, data: st.DataObject) -> None:
    adapter, path, rows = CASES[case]
    rows = copy.deepcopy(rows)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(rows)))
        put(rows, place, data.draw(JUNK))
    read(adapter, path, rows)
