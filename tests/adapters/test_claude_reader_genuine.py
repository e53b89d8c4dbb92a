"""The adapter against every genuine Claude Code log, beside counts that know no adapter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.claude_reading import fold, parse_file

from session_memory.adapters.claude.logs import discover
from session_memory.adapters.common import Normalized

EDGE_CASES = "edge_cases.jsonl"
"""Written by hand to be broken: `"massive error"`, `{"silly": ..}`, `42`, `[1]`."""


def logs_of(shared: Path) -> list[Path]:
    roots = (shared / "logs" / "claude", shared / "client-logs" / "claude" / "home" / ".claude")
    return sorted(Path(file.path) for root in roots for file in discover(str(root)))


def read_all(shared: Path, block_bytes: int = 1 << 22) -> dict[Path, list[Normalized]]:
    return {path: parse_file(path, block_bytes) for path in logs_of(shared)}


def plain_records(path: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines():
        value = json.loads(line)
        if isinstance(value, dict) and "type" in value:
            records.append(value)
    return records


def messages(path: Path) -> list[dict[str, Any]]:
    """The records, with those of sub-agents taken out of their parent's progress."""
    inner = ((r, r.get("data") or {}) for r in plain_records(path))
    return [
        data["message"] if data.get("type") == "agent_progress" else record
        for record, data in inner
    ]


@pytest.mark.shared
def test_every_genuine_record_is_understood(shared: Path) -> None:
    found = read_all(shared)
    assert len(found) == 57
    unknown: Counter[tuple[str, str]] = Counter()
    for path, bundles in found.items():
        errors = sum(bundle.parse_errors for bundle in bundles)
        assert errors == (4 if path.name == EDGE_CASES else 0), path
        assert not any(bundle.incomplete_tail or bundle.too_long for bundle in bundles), path
        assert sum(bundle.records for bundle in bundles) == len(plain_records(path)), path
        for bundle in bundles:
            unknown += bundle.unknown
    assert unknown == {("1.0.0", "user/no_content"): 1}  # `contenst` in the edge cases


@pytest.mark.shared
def test_tokens_equal_a_count_by_message_id(shared: Path) -> None:
    for path, bundles in read_all(shared).items():
        last: dict[tuple[Any, Any], dict[str, Any]] = {}
        for record in messages(path):
            if record["type"] != "assistant" or "usage" not in record["message"]:
                continue
            usage = record["message"]["usage"]
            key = (record["message"]["id"], record.get("requestId"))
            if usage["output_tokens"] >= last.get(key, usage)["output_tokens"]:
                last[key] = usage
        expected = Counter(
            {
                "input": sum(u["input_tokens"] for u in last.values()),
                "output": sum(u["output_tokens"] for u in last.values()),
                "read": sum(u.get("cache_read_input_tokens", 0) for u in last.values()),
                "write": sum(u.get("cache_creation_input_tokens", 0) for u in last.values()),
            }
        )
        usages = [u for part in fold(bundles).values() for u in part.usages]
        counted = Counter(
            {
                "input": sum(u.input for u in usages),
                "output": sum(u.output for u in usages),
                "read": sum(u.cache_read for u in usages),
                "write": sum(u.cache_write_5m + u.cache_write_1h for u in usages),
            }
        )
        assert counted == expected, path


@pytest.mark.shared
def test_genuine_logs_read_the_same_in_small_blocks(shared: Path) -> None:
    whole, pieces = read_all(shared), read_all(shared, 20_000)
    for path, bundles in whole.items():
        assert fold(pieces[path]) == fold(bundles), path


@pytest.mark.shared
def test_every_call_result_and_answer_of_a_genuine_log_becomes_one_event(shared: Path) -> None:
    for path, bundles in read_all(shared).items():
        blocks: Counter[str] = Counter()
        for record in messages(path):
            message = record.get("message")
            if record["type"] not in ("user", "assistant") or not isinstance(message, dict):
                continue
            content = message.get("content")
            for block in content if isinstance(content, list) else []:
                if isinstance(block, dict):
                    blocks[f"{record['type']}/{block['type']}"] += 1
        events = [e for part in fold(bundles).values() for e in part.events]
        kinds = Counter(e.kind for e in events)
        assert kinds["tool_call"] == blocks["assistant/tool_use"], path
        assert kinds["tool_result"] == blocks["user/tool_result"], path
        assert kinds["assistant_text"] == blocks["assistant/text"], path
        assert len({e.pos for e in events}) == len(events), path
        assert not any("base64" in e.text and len(e.text) > 100_000 for e in events), path
