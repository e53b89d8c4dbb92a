"""Whatever comes through the pipe, and however it comes, the hook ends well and in time."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hooks.hook_process import command, environment, log, noted, run_hook, spooled, state

from session_memory.hooks import entry

PAYLOAD = {"session_id": "s1", "transcript_path": "/h/.claude/projects/p/s1.jsonl", "cwd": "/h/p"}


@pytest.mark.rows("HOK-05")
@pytest.mark.parametrize(
    ("cwd", "read"),
    [
        (r"C:\Users\x", r"C:\Users\x"),
        (r"C:\temp\new\r\b\f", r"C:\temp\new\r\b\f"),
        (r"C:\Users\temp", r"C:\Users\temp"),
        (r"C:\\Users\\x", r"C:\Users\x"),
    ],
)
def test_unescaped_backslashes_are_repaired(cwd: str, read: str) -> None:
    raw = f'{{"session_id": "s1", "cwd": "{cwd}", "reason": "other"}}'.encode()
    record = noted("SessionEnd", payload=raw)
    assert record is not None and record["cwd"] == read
    assert record["reason"] == "other" and "cut" not in record


@pytest.mark.rows("HOK-05")
@pytest.mark.parametrize(
    "payload", [b"\x00\xff\xfe random \x80 bytes", b"[1, 2]", b'"text"', b"[" * 100_000, b"null"]
)
def test_what_is_no_object_is_logged_and_ignored(payload: bytes) -> None:
    assert noted("SessionEnd", payload=payload) is None
    assert f"no JSON object in a payload of {len(payload)} bytes" in log()
    assert "random" not in log() and not (state() / "spool").exists()


def test_what_stands_before_the_damage_is_kept() -> None:
    record = noted("SessionEnd", payload=json.dumps(PAYLOAD).encode()[:-1] + b', "prompt": "half')
    assert record is not None and record["session"] == "s1" and record["cut"] == 1


def test_five_megabytes_are_cut_and_the_host_is_read_to_the_end() -> None:
    big = {**PAYLOAD, "tool_response": {"text": "x" * 5_000_000}, "agent_id": "after"}
    process = subprocess.Popen(
        command("PostToolUse"), stdin=subprocess.PIPE, env=environment(), stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(big).encode())  # EPIPE here would be the host's trouble
    assert process.communicate(timeout=60)[0] == b"" and process.returncode == 0
    (record,) = spooled()
    assert record["session"] == "s1" and record["cut"] == 1 and "agent" not in record


def test_a_payload_just_below_the_limit_is_read_whole() -> None:
    padding = "x" * (entry.PAYLOAD_LIMIT - 500)
    record = noted("Stop", payload={**PAYLOAD, "prompt": padding, "agent_id": "after"})
    assert record is not None and record["agent"] == "after" and "cut" not in record


@pytest.mark.parametrize("sent", [json.dumps(PAYLOAD).encode() + b"\n", b"", b'{"session_id": "s'])
def test_a_pipe_that_never_closes_does_not_hang_the_agent(sent: bytes) -> None:
    process = subprocess.Popen(command("Stop"), stdin=subprocess.PIPE, env=environment())
    assert process.stdin is not None
    process.stdin.write(sent)
    process.stdin.flush()
    assert process.wait(timeout=60) == 0  # our end of the pipe is still open
    process.stdin.close()
    assert [record["session"] for record in spooled()] == (["s1"] if sent.endswith(b"\n") else [])


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("stdin", ["<&-", "</dev/null", "</dev/zero"])
def test_stdin_may_be_closed_or_empty_or_endless(stdin: str) -> None:
    line = f"'{sys.executable}' -I -S '{entry.__file__}' Stop {stdin}"
    done = subprocess.run(["sh", "-c", line], env=environment(), capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert spooled() == []


def test_an_unusable_home_is_not_the_agents_trouble() -> None:
    state().parent.write_text("a file where the directory should be")
    assert run_hook("Stop", payload=PAYLOAD) == (0, b"", b"")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
names = st.sampled_from(["session_id", "sessionId", "cwd", "type", "properties", "timestamp"])


@settings(max_examples=60)
@given(st.dictionaries(names | st.text(), values), st.integers(0, 200))
def test_a_cut_payload_gives_a_part_of_the_whole(payload: dict[str, object], cut: int) -> None:
    text = json.dumps(payload, allow_nan=False) if _finite(payload) else "{}"
    whole, complete = entry.read_object(text)
    assert complete and whole == json.loads(text)
    part, _ = entry.read_object(text[:cut])
    *known, _ = [*part, ""]  # the last value may be a number that was cut
    assert set(part) <= set(whole) and all(part[key] == whole[key] for key in known[:-1])
    record = entry.make_record(["Stop"], whole, {})
    assert record is None or json.loads(entry._dump(record)) == record  # pyright: ignore


@settings(max_examples=150)
@given(st.binary(max_size=300))
def test_no_bytes_make_the_reader_fail(data: bytes) -> None:
    found, _ = entry.read_object(data)
    assert entry.make_record(["SessionEnd"], found, {}) is None or found


def _finite(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True
