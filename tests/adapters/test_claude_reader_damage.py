"""Damaged, half-written and hostile Claude logs: nothing crashes and no whole record is lost."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.claude_reading import block_of, events, fold, parse_file, parse_rows, source

from session_memory.adapters.claude.log_builder import ClaudeLog, text_block, thinking_block, tokens
from session_memory.adapters.claude.reader import parse
from session_memory.adapters.common import Block, Normalized, read_lines
from session_memory.testing.samples import bug_fix, migration, refactor


def small_log() -> ClaudeLog:
    log = ClaudeLog(5)
    log.prompt("first")
    log.say("second")
    log.prompt("third")
    return log


@pytest.mark.rows("CAP-13")
def test_a_garbage_line_and_a_torn_last_line_cost_nothing_else(tmp_path: Path) -> None:
    lines = small_log().dump().splitlines(keepends=True)
    path = tmp_path / "torn.jsonl"
    path.write_bytes(lines[0] + b"\x00\xffgarbage{{{\n" + lines[1] + lines[2][:40])
    bundles = parse_file(path)
    (part,) = fold(bundles).values()
    assert [e.text for e in part.events] == ["first", "second"]
    assert sum(b.parse_errors for b in bundles) == 1
    assert sum(b.incomplete_tail for b in bundles) == 1


@pytest.mark.rows("CAP-14")
def test_a_half_written_line_is_read_once_when_it_is_whole(tmp_path: Path) -> None:
    content = small_log().dump()
    cut = content.rindex(b'"third"')
    path = tmp_path / "growing.jsonl"
    path.write_bytes(content[:cut])
    first = parse_file(path)
    (resume_at,) = {block.end for block in read_lines(str(path))}
    assert content[:resume_at].count(b"\n") == 2

    path.write_bytes(content)
    (rest,) = read_lines(str(path), resume_at)
    second = parse(source(path), rest, first[-1].state)
    (part,) = fold([*first, second]).values()
    assert [e.text for e in part.events] == ["first", "second", "third"]
    assert (first[-1].incomplete_tail, second.incomplete_tail) == (1, 0)


def test_a_whole_last_record_without_newline_is_stored_but_not_passed(tmp_path: Path) -> None:
    path = tmp_path / "open.jsonl"
    path.write_bytes(small_log().dump().rstrip(b"\n"))
    bundles = parse_file(path)
    (part,) = fold(bundles).values()
    assert [e.text for e in part.events] == ["first", "second", "third"]
    assert sum(b.incomplete_tail for b in bundles) == 0
    assert {block.end for block in read_lines(str(path))} == {path.read_bytes().rindex(b"\n") + 1}


@pytest.mark.parametrize(
    ("tail", "incomplete"), [(b"", 1), (b"42", 1), (b'{"silly":1}', 1), (b" \r", 0)]
)
def test_a_tail_that_is_no_record_waits(tail: bytes, incomplete: int) -> None:
    found = parse(source("/x.jsonl"), Block([], 0, 0, tail=(0, tail)), {})
    assert (found.incomplete_tail, found.parse_errors, found.sessions) == (incomplete, 0, [])


def test_the_record_behind_a_splice_is_recovered() -> None:
    lines = small_log().dump().splitlines()
    block = Block([(100, lines[0][:50] + lines[1]), (5000, lines[2])], 100, 6000)
    found = parse(source("/x.jsonl"), block, {})
    assert [(e.text, e.pos) for e in events(found)] == [("second", 150), ("third", 5000)]
    assert (found.parse_errors, found.recovered) == (1, 1)


def test_two_records_glued_on_one_line_are_both_kept() -> None:
    lines = small_log().dump().splitlines()
    found = parse(source("/x.jsonl"), Block([(0, lines[0] + lines[1])], 0, 1), {})
    assert [e.text for e in events(found)] == ["first", "second"]
    assert (found.parse_errors, found.recovered) == (1, 2)


def test_a_message_inside_a_torn_progress_record_is_not_taken_for_a_record() -> None:
    log = ClaudeLog()
    inner = {k: v for k, v in log.say("sub").items() if k in ("type", "message", "uuid")}
    row = log.row("progress", data={"type": "agent_progress", "message": inner})
    torn = json.dumps(row).encode()[:-1]
    found = parse(source("/x.jsonl"), Block([(0, torn)], 0, 1), {})
    assert (found.parse_errors, found.recovered, found.sessions) == (1, 0, [])


@pytest.mark.parametrize("line", [b'"text"', b"42", b"[1]", b"null", b'{"silly":"this"}'])
def test_json_that_is_no_record_is_a_parse_error(line: bytes) -> None:
    found = parse(source("/x.jsonl"), Block([(0, line)], 0, 1), {})
    assert (found.parse_errors, found.sessions) == (1, [])


def test_byte_order_mark_nul_bytes_and_bad_utf8_do_not_cost_a_record() -> None:
    lines = small_log().dump().splitlines()
    bad = lines[2].replace(b"third", b"thi\xffrd")
    content = b"\xef\xbb\xbf" + lines[0] + b"\r\n" + b"\x00" * 9 + lines[1] + b"\n" + bad + b"\n"
    found = parse(source("/x.jsonl"), block_of(content), {})
    assert [e.text for e in events(found)] == ["first", "second", "thi\ufffdrd"]
    assert found.parse_errors == 0


def test_lone_surrogates_are_replaced_so_that_the_text_can_be_stored() -> None:
    row = small_log().rows[0]
    line = json.dumps(row).encode().replace(b"first", b"fi\\ud800rst")
    (found,) = events(parse(source("/x.jsonl"), Block([(0, line)], 0, 1), {}))
    assert found.text == "fi\ufffdrst"
    found.text.encode()


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"type": "user", "sessionId": "s", "message": "bare"}, "bare"),
        ({"type": "user", "sessionId": "s", "message": {"content": ["in a list"]}}, "in a list"),
        ({"type": "assistant", "sessionId": "s", "message": {"content": "plain"}}, "plain"),
    ],
)
def test_odd_shapes_keep_what_can_be_kept(row: Any, text: str) -> None:
    (found,) = events(parse_rows(row))
    assert (found.text, found.at) == (text, None)


def test_nesting_at_the_edge_of_what_can_be_decoded_does_not_crash() -> None:
    log = ClaudeLog()
    log.call("Deep", {"x": "HERE"})
    line = log.dump().rstrip(b"\n")
    seen: set[bool] = set()
    for depth in range(700, 1010, 3):
        deep = line.replace(b'"HERE"', b"[" * depth + b"]" * depth)
        found = parse(source("/x.jsonl"), Block([(0, deep)], 0, 1), {})
        seen.add(found.parse_errors > 0)
    assert seen == {True, False}


def test_too_long_lines_are_passed_on_as_counted() -> None:
    assert parse(source("/x"), Block([], 0, 0, long_lines=[0, 9]), {}).too_long == 2


# --- properties ---


def whole_log() -> bytes:
    """A log with some of everything whose reading could depend on what came before."""
    log = migration()
    log.rows += refactor().rows[:6]
    log.version = "2.1.99"
    log.reply(thinking_block("a"), text_block("b"), usage=tokens(1, 99), streamed=True)
    log.raw({"type": "hologram"})
    log.title("last", "summary")
    log.prompt("<ide_selection>x</ide_selection>y")
    lines = log.dump().splitlines(keepends=True)
    lines.insert(5, lines[3][:60] + lines[4])
    return b"".join(lines)


WHOLE = whole_log()


def totals(bundles: list[Normalized]) -> tuple[Any, ...]:
    numbers = [(b.records, b.parse_errors, b.recovered) for b in bundles]
    ignored, unknown = bundles[0].ignored.copy(), bundles[0].unknown.copy()
    for bundle in bundles[1:]:
        ignored += bundle.ignored
        unknown += bundle.unknown
    return tuple(map(sum, zip(*numbers, strict=True))), ignored, unknown


@settings(max_examples=60)
@given(st.sets(st.integers(1, 45), max_size=6))
def test_any_split_at_line_ends_gives_the_same_sessions(cuts: set[int]) -> None:
    lines = block_of(WHOLE).lines
    whole = parse(source("/p/one.jsonl"), Block(lines, 0, len(WHOLE)), {})
    edges = [0, *sorted(cut for cut in cuts if cut < len(lines)), len(lines)]
    parts: list[Normalized] = []
    state: dict[str, Any] = {}
    for start, end in itertools.pairwise(edges):
        parts.append(parse(source("/p/one.jsonl"), Block(lines[start:end], 0, 0), state))
        state = parts[-1].state
    assert fold(parts) == fold([whole])
    assert totals(parts) == totals([whole])
    assert state == whole.state


def test_parsing_leaves_the_state_it_was_given_alone() -> None:
    state = {"version": "1.0.0"}
    parse(source("/p/one.jsonl"), block_of(WHOLE), state)
    assert state == {"version": "1.0.0"}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@settings(max_examples=150)
@given(st.data())
def test_no_value_in_any_field_crashes_the_reader(data: st.DataObject) -> None:
    row: dict[str, Any] = dict(data.draw(st.sampled_from(bug_fix().rows + migration().rows)))
    target = row
    while nested := [k for k, v in target.items() if isinstance(v, dict)]:
        if not data.draw(st.booleans()):
            break
        key = data.draw(st.sampled_from(nested))
        target[key] = dict(target[key])
        target = target[key]
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JUNK)
    found = parse_rows(row)
    assert found.records + found.parse_errors >= 1
    for part in found.sessions:
        for event in part.events:
            assert isinstance(event.text, str)
            assert event.files == tuple(name for name in event.files if isinstance(name, str))


@settings(max_examples=100)
@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=12))
def test_bytes_changed_anywhere_cost_at_most_the_lines_they_touch(at: int, junk: bytes) -> None:
    torn = WHOLE[:at] + junk + WHOLE[at + len(junk) :]
    before = block_of(WHOLE).lines
    kept = set(before) & {(o, line) for o, line in block_of(torn).lines}
    found = parse(source("/p/one.jsonl"), block_of(torn), {})
    alone = parse(source("/p/one.jsonl"), Block(sorted(kept), 0, 0), {})
    positions = {e.pos for part in found.sessions for e in part.events}
    assert positions >= {e.pos for part in alone.sessions for e in part.events}
