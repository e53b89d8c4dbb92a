"""Where rollouts are found, and files that are forked, moved, packed or written anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from backports import zstd
from tests.adapters.codex_reading import facts, fold, only, parse_file, parse_log, said, source

from session_memory.adapters import common
from session_memory.adapters.codex.files import thread_of
from session_memory.adapters.codex.log_builder import CodexLog, message, uuid7
from session_memory.adapters.codex.reader import ADAPTER, discover, read
from session_memory.adapters.common import read_lines
from session_memory.adapters.registry import homes
from session_memory.errors import AdapterError

CAP = 1 << 26


def test_every_rollout_of_a_home_is_found_and_nothing_else(tmp_path: Path) -> None:
    wanted = (
        "sessions/2026/06/21/rollout-a.jsonl",
        "sessions/2026/06/21/rollout-b.jsonl.zst",
        "sessions/rollout-2025-05-01-c.json",
        "archived_sessions/rollout-d.jsonl",
    )
    others = (
        "history.jsonl",
        "session_index.jsonl",
        "sessions/2026/06/21/rollout-a.jsonl.zst",
        "sessions/2026/06/21/.rollout-e.jsonl.tmp",
        "sessions/2026/06/21/.rollout-e.jsonl",
        "sessions/notes.json",
        "auth.json",
    )
    for name in (*wanted, *others):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}\n")
    found = {Path(file.path).relative_to(tmp_path).as_posix() for file in discover(str(tmp_path))}
    assert found == set(wanted)


def test_the_home_is_named_by_its_variable_else_it_is_the_usual_one(tmp_path: Path) -> None:
    (tmp_path / ".codex").mkdir()
    assert homes(ADAPTER, {}, str(tmp_path)) == [str(tmp_path / ".codex")]
    assert homes(ADAPTER, {"CODEX_HOME": "/else"}, str(tmp_path)) == ["/else"]


def test_the_name_of_a_file_names_its_thread() -> None:
    one, two = uuid7(1, 1), uuid7(2, 2)
    assert thread_of(f"/s/rollout-2026-06-21T00-00-00-{one}.jsonl") == one
    assert thread_of(f"/s/rollout-2026-06-21T00-00-00-{one}_{two}.jsonl.zst") == one
    assert thread_of("C:\\s\\session-alpha.jsonl") == "session-alpha"


def test_a_header_told_again_makes_no_new_session() -> None:
    log = CodexLog(1).header().turn().prompt("one").header(cwd="/elsewhere").turn().prompt("two")
    part = only(parse_log(log))
    assert part.external_id == log.thread
    assert [event.text for event in part.events] == ["one", "two"]
    assert facts(part)["cwd"] == "/work/shop"


def test_a_fork_that_points_at_its_parent_says_so_and_copies_nothing() -> None:
    parent = uuid7(1, "parent")
    log = CodexLog(1, mode="paginated")
    base = {"thread_id": parent, "end_ordinal_exclusive": 88, "end_byte_offset": 99_173}
    log.header(history_base=base).turn().prompt("forked")
    bundle = parse_log(log)
    assert facts(only(bundle))["forked_from"] == parent
    assert said(bundle) == [("user_prompt", None, "forked")]


def test_a_reverted_thread_is_one_thread_in_two_files(tmp_path: Path) -> None:
    log = CodexLog(1, mode="paginated")
    base = {"thread_id": uuid7(5, "rollout"), "end_ordinal_exclusive": 5, "end_byte_offset": 10}
    log.header(history_base=base).turn().prompt("another way")
    first = log.path(tmp_path)
    path = first.with_name(f"{first.stem}_{uuid7(6, 'rollout')}.jsonl")
    path.parent.mkdir(parents=True)
    path.write_bytes(log.dump())
    part = fold(parse_file(path))
    assert part.external_id == log.thread
    assert "forked_from" not in facts(part)


def test_a_copied_history_is_left_to_its_parent_unless_it_can_be_recognised() -> None:
    parent = CodexLog(1).header().turn().prompt("old").answer("old answer")
    fork = parent.fork(2).turn().prompt("new")
    bundle = parse_log(fork)
    assert said(bundle) == [("user_prompt", None, "new")]
    assert bundle.ignored["inherited"] == len(parent.rows)
    assert facts(only(bundle))["forked_from"] == parent.thread
    kept = parent.fork(2, restamped=False).turn().prompt("new")
    copies = only(parse_log(kept)).events[:2]
    originals = only(parse_log(parent)).events
    assert [(e.kind, e.text, e.at) for e in copies] == [(e.kind, e.text, e.at) for e in originals]
    assert facts(only(parse_log(kept)))["started_at"] > fork.made_at


def test_a_copy_without_turn_ids_ends_where_its_burst_ends() -> None:
    fork = CodexLog(2).header(forked_from_id=uuid7(1, "parent"))
    fork.item(message("user", "old"))
    fork.at += 5000
    fork.item(message("user", "new"))
    assert [text for _, _, text in said(parse_log(fork))] == ["new"]


def test_lines_before_a_sub_agents_own_are_inherited() -> None:
    log = CodexLog(1, mode="paginated")
    log.header(
        thread_source="subagent", parent_thread_id=uuid7(1, 1), subagent_history_start_ordinal=3
    )
    log.item(message("user", "parent's words"))
    log.item(message("assistant", "parent's answer"))
    log.prompt("do this")
    assert [text for _, _, text in said(parse_log(log))] == ["do this"]


def test_a_packed_file_reads_as_the_plain_one(tmp_path: Path) -> None:
    log = CodexLog(1).header().turn().prompt("x" * 5000).answer("done")
    plain = log.write(tmp_path)
    packed = plain.with_name(plain.name + ".zst")
    packed.write_bytes(zstd.compress(log.dump()) + zstd.compress(b'{"torn'))
    bundles = parse_file(packed)
    assert fold(bundles) == fold(parse_file(plain))
    assert bundles[-1].incomplete_tail == 1
    middle = log.dump().index(b"\n") + 1
    (block, _) = read(source(packed), middle, CAP)
    assert (block.start, block.end) == (middle, len(log.dump()))
    assert block.lines[0][0] == middle


def test_a_packed_file_is_read_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = b"a\n" + b"b" * 1000 + b"\nccc\n" + b"d" * 500
    packed = tmp_path / "rollout-x.jsonl.zst"
    packed.write_bytes(zstd.compress(content))
    blocks = list(read_lines(str(packed), block_bytes=64, line_cap=100))
    assert [line for block in blocks for line in block.lines] == [(0, b"a"), (1003, b"ccc")]
    assert [at for block in blocks for at in block.long_lines] == [2]
    assert blocks[-1].end == 1007
    monkeypatch.setattr(common, "UNPACKED_CAP", 1000)
    with pytest.raises(AdapterError, match="more than 1000 bytes"):
        list(read(source(packed), 0, 100))


def test_a_broken_pack_is_an_error_of_that_file(tmp_path: Path) -> None:
    packed = tmp_path / "rollout-x.jsonl.zst"
    packed.write_bytes(zstd.compress(b"a\n" * 9000)[:-5])
    (*_, last) = read(source(packed), 0, CAP)
    assert "cannot be unpacked to its end" in last.cut
    packed.write_bytes(b"no zstd at all")
    with pytest.raises(AdapterError, match="cannot be unpacked"):
        list(read(source(packed), 0, CAP))


def test_a_document_is_read_whole_or_waits(tmp_path: Path) -> None:
    path = tmp_path / "rollout-2025-05-01-x.json"
    document = {
        "session": {"id": "s", "timestamp": "2025-05-01T00:00:00Z"},
        "items": [message("user", "hi")],
    }
    path.write_text(json.dumps(document, indent=2))
    assert [event.text for event in fold(parse_file(path)).events] == ["hi"]
    (block,) = read(source(path), 0, CAP)
    assert (block.start, block.end) == (0, 0)  # no cursor: every change is read whole
    path.write_text(json.dumps(document)[:-3])
    (bundle,) = parse_file(path)
    assert (bundle.incomplete_tail, bundle.sessions) == (1, [])
    (block,) = read(source(path), 0, 10)
    assert (block.too_long, block.tail) == (1, None)
