"""A pass over new sessions: eight at a time, each alone, nothing half-written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.memory.workbench import GOOD, Bench, after, answer, unasked, writes

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import (
    BudgetSpent,
    ModelFailed,
    ModelUnavailable,
    StoreError,
    StoreMissing,
)
from session_memory.memory import extract as extracting
from session_memory.memory import rollout
from session_memory.memory.extract import CONCURRENCY, extract, extract_from
from session_memory.memory.layout import memory_root
from session_memory.memory.selection import ExtractRequest
from session_memory.memory.traces import thread_of
from session_memory.model.port import Request
from session_memory.settings import Config
from session_memory.store.port import Store
from session_memory.store.segments import session_of
from session_memory.store.sqlite.memories import SqliteMemories
from session_memory.testing.scripted_model import ScriptedModel


@pytest.mark.rows("EXT-07")
def test_of_twenty_sessions_eight_are_asked_about(bench: Bench) -> None:
    for seed in range(1, 21):
        bench.work(seed)
    model = ScriptedModel([answer()] * 20)
    report = bench.swept().extract(model)
    assert len(model.requests) == 8 and report.candidates == 8
    asked = "".join(request.user for request in model.requests)
    assert all(f"module {seed}" in asked for seed in range(13, 21))  # the newest


@pytest.mark.rows("EXT-08")
def test_at_most_eight_calls_are_under_way_at_once(bench: Bench) -> None:
    for seed in range(1, 21):
        bench.work(seed)
    lock, full = threading.Lock(), threading.Barrier(8)
    running: list[int] = [0, 0, 0]  # now, most, calls

    def ask(_request: Request) -> str:
        with lock:
            running[0] += 1
            running[1] = max(running[:2])
            running[2] += 1
            first = running[2] <= 8
        if first:  # eight do run beside each other: this would never end otherwise
            full.wait(timeout=60)
        with lock:
            running[0] -= 1
        return answer()

    report = bench.swept().extract(ScriptedModel([ask] * 20), limit=20)
    assert CONCURRENCY == Config().memory.max_sessions_per_start == 8
    assert running == [0, 8, 20] and len(report.written) == 20


@pytest.mark.rows("EXT-09")
def test_when_all_is_fresh_no_model_is_asked_and_nothing_is_made(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract(ScriptedModel([answer()]))
    before = {path: path.stat().st_mtime_ns for path in bench.space.root.rglob("*")}
    with bench.space.store() as store:
        report = extract(store, bench.context(open_model=unasked), ExtractRequest())
    assert (report.candidates, report.written) == (0, [])
    after = {path for path in bench.space.root.rglob("*") if "memories" in path.parts}
    assert after == {path for path in before if "memories" in path.parts}


@pytest.mark.rows("EXT-09", "EXT-57", "EXT-63")
def test_an_empty_store_resolves_no_model_and_makes_no_folder(bench: Bench) -> None:
    bench.swept()
    with bench.space.store() as store:
        assert extract(store, bench.context(open_model=unasked), ExtractRequest()).candidates == 0
    assert not (bench.data / "memories").exists()
    (told,) = bench.said()
    assert (told["event"], told["count"], told["level"]) == ("candidates", 0, "info")


@pytest.mark.rows("EXT-57")
def test_one_model_is_resolved_for_the_whole_pass(bench: Bench) -> None:
    for seed in range(1, 9):
        bench.work(seed)
    model = ScriptedModel([answer()] * 8, name="small-1")
    opened: list[int] = []

    def open_once(_store: Store) -> ScriptedModel:
        opened.append(1)
        return model

    bench.swept()
    with bench.space.store() as store:
        report = extract(store, bench.context(open_model=open_once), ExtractRequest())
    assert opened == [1] and report.model == "scripted small-1"
    same = {(r.system, r.purpose, r.max_output_tokens, r.timeout_s) for r in model.requests}
    assert len(model.requests) == 8 and len(same) == 1


@pytest.mark.rows("EXT-04")
def test_without_a_store_nothing_is_done_and_nothing_raised(bench: Bench) -> None:
    def missing() -> Store:
        raise StoreMissing("no store")

    report = extract_from(missing, bench.context(open_model=unasked), ExtractRequest())
    assert (report.candidates, report.touched) == (0, set())
    (told,) = bench.said()
    assert (told["level"], told["operation"], told["stage"]) == ("warning", "open", "extract")


@pytest.mark.rows("EXT-10")
def test_a_project_whose_folder_cannot_be_made_concerns_nobody_else(bench: Bench) -> None:
    bench.work(1, cwd="/work/shop")
    bench.work(2, cwd="/work/other")
    bench.swept()
    blocked = memory_root(bench.data, "/work/shop").parent
    blocked.parent.mkdir(mode=0o700)
    blocked.write_text("a file where the folder should be")
    report = bench.extract(ScriptedModel([answer()]))
    assert report.touched == {"/work/other"} and len(report.written) == 1
    (told,) = bench.said("layout_failed")
    assert (told["level"], told["cwd"]) == ("warning", "/work/shop")


@pytest.mark.rows("EXT-11")
def test_a_session_whose_text_is_missing_is_left_out_and_told(bench: Bench) -> None:
    lost, kept = bench.work(1), bench.work(2)
    bench.swept()
    number = bench.space.session(lost.session_id).id
    for segment in (bench.data / "segments").rglob("*"):
        if segment.is_file() and session_of(segment.name) == number:
            segment.unlink()
    report = bench.extract(ScriptedModel([answer()]))
    assert set(bench.traces()) == {kept.session_id}
    assert [thread_of(path.name) for path in bench.files()] == [kept.session_id]
    (told,) = bench.said("dropped")
    assert told["rollout_path"] == str(lost.path(bench.space.claude))
    assert report.dropped[0].session == f"claude:{lost.session_id}"


@pytest.mark.rows("EXT-11")
def test_damaged_lines_only_warn(bench: Bench) -> None:
    log = bench.work(1)
    path = log.path(bench.space.claude)
    lines = path.read_bytes().splitlines(keepends=True)
    broken = [lines[0], b"{broken\n", *lines[1:3], b"\x00\x01\n", *lines[3:], b"[not json\n"]
    path.write_bytes(b"".join(broken))
    bench.swept().extract(ScriptedModel([answer()]))
    assert set(bench.traces()) == {log.session_id}
    (told,) = bench.said("damaged_lines")
    assert (told["count"], told["level"]) == (3, "warning")


@pytest.mark.rows("EXT-44")
def test_without_its_row_a_file_does_not_stay(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.work(1)
    bench.swept()

    def full(*_: object) -> None:
        assert len(bench.files()) == 1  # the file comes first
        raise StoreError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(SqliteMemories, "save", full)
        report = bench.extract(ScriptedModel([answer()]))
    assert bench.files() == [] and bench.traces() == {} and report.touched == set()
    (told,) = bench.said("dropped")
    assert told["level"] == "warning" and "disk full" in str(told["reason"])
    assert len(bench.extract(ScriptedModel([answer()])).written) == 1


@pytest.mark.rows("EXT-44")
def test_a_file_that_is_gone_already_is_no_further_trouble(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.work(1)
    bench.swept()

    def full(*_: object) -> None:
        bench.files()[0].unlink()
        raise StoreError("disk full")

    monkeypatch.setattr(SqliteMemories, "save", full)
    report = bench.extract(ScriptedModel([answer()]))
    assert report.dropped[0].reason == "save: disk full"


@pytest.mark.rows("EXT-45")
def test_one_failing_call_of_eight_concerns_one_session(bench: Bench) -> None:
    logs = [bench.work(seed) for seed in range(1, 9)]

    def ask(request: Request) -> str:
        if "module 5" in request.user:
            raise ModelUnavailable("overloaded")
        return answer()

    report = bench.swept().extract(ScriptedModel([ask] * 8))
    lost = logs[4].session_id
    assert len(bench.files()) == 7 and len(bench.traces()) == 7 and lost not in bench.traces()
    assert [one.session for one in report.dropped] == [f"claude:{lost}"]
    again = ScriptedModel([answer()])
    bench.extract(again)
    assert len(again.requests) == 1 and "module 5" in again.requests[0].user
    assert lost in bench.traces()


@pytest.mark.rows("EXT-45")
def test_when_every_session_fails_no_place_is_touched(bench: Bench) -> None:
    for seed in range(1, 4):
        bench.work(seed)
    lines = [BudgetSpent("day cap"), ModelFailed("refusal"), "no json at all"]
    report = bench.swept().extract(ScriptedModel(lines))
    assert report.touched == set() and len(report.dropped) == 3
    assert bench.files() == [] and bench.traces() == {}


@pytest.mark.rows("EXT-64")
def test_a_session_that_cannot_be_serialised_is_left_out_and_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [bench.work(seed) for seed in (1, 2, 3)]
    real = rollout._encode  # pyright: ignore[reportPrivateUsage]

    def odd(item: object) -> bytes:
        if "module 2" in str(item):
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
        return real(item)

    monkeypatch.setattr(rollout, "_encode", odd)
    report = bench.swept().extract(ScriptedModel([answer()] * 2))
    assert set(bench.traces()) == {logs[0].session_id, logs[2].session_id}
    (left,) = report.dropped
    assert left.session == f"claude:{logs[1].session_id}"
    assert left.reason.startswith("serialise: UnicodeEncodeError in event")
    (ended,) = bench.said("indexed")
    assert (ended["count"], ended["dropped"], ended["deferred"]) == (2, 1, 0)


@pytest.mark.rows("EXT-46")
def test_two_sessions_of_one_place_touch_it_once(bench: Bench) -> None:
    bench.work(1)
    bench.work(2)
    report = bench.swept().extract(ScriptedModel([answer()] * 2))
    assert len(report.written) == 2 and report.touched == {"/work/shop"}


@pytest.mark.rows("EXT-51")
def test_progress_is_logged_with_its_fields(bench: Bench) -> None:
    log = bench.work(1)
    bench.work(2, cwd="/work/other")
    bench.swept().extract(ScriptedModel([answer()] * 2))
    (begun,) = bench.said("candidates")
    (ended,) = bench.said("indexed")
    assert begun["count"] == 2 and (ended["count"], ended["roots"]) == (2, 2)
    persisted = [line for line in bench.said("trace_persisted") if line["cwd"] == "/work/shop"]
    assert [line["rollout_path"] for line in persisted] == [str(log.path(bench.space.claude))]
    assert Path(str(persisted[0]["path"])).is_file()
    with bench.space.store() as store:
        store.memories.acquire("/work/other", "another", bench.space.now, 600_000)
    done = bench.consolidate(ScriptedModel([writes()]), "/work/shop", "/work/other")
    agents = {one.root: one.agent for one in done}
    (started,) = bench.said("consolidation_started")
    (finished,) = bench.said("consolidation_finished")
    assert (started["cwd"], started["agent"]) == ("/work/shop", agents["/work/shop"])
    assert (finished["cwd"], finished["agent"]) == ("/work/shop", agents["/work/shop"])
    assert finished["status"] == "done"
    (dispatched,) = bench.said("dispatched")
    assert dispatched["count"] == 2, "the one that another run has locked counts too"
    order = [line["event"] for line in bench.said() if line["level"] == "info"]
    assert order == [
        *("candidates", "trace_persisted", "trace_persisted", "indexed"),
        *("consolidation_started", "dispatched", "consolidation_finished"),
    ]
    assert {line["level"] for line in bench.said() if line["event"] in order} == {"info"}


def break_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise StoreError("cannot read")

    monkeypatch.setattr(extracting, "select_candidates", broken)


def break_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(extracting, "load_conversation", broken)


def break_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_item: object) -> bytes:
        raise TypeError("no JSON for this")

    monkeypatch.setattr(rollout, "_encode", broken)


def break_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(extracting, "ensure_layout", broken)


def break_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise StoreError("disk full")

    monkeypatch.setattr(SqliteMemories, "save", broken)


def break_save(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(extracting, "save_trace", broken)


@pytest.mark.rows("EXT-59")
@pytest.mark.parametrize(
    ("fault", "line", "fields"),
    [
        (break_choose, answer(), {"event": "store_failed", "operation": "choose"}),
        (break_folder, answer(), {"cwd": "/work/shop", "reason": "Read-only file system"}),
        (break_load, answer(), {"rollout_path": "", "reason": "load: Input/output error"}),
        (break_encoding, answer(), {"rollout_path": "", "reason": "serialise: TypeError in event"}),
        (break_save, answer(), {"rollout_path": "", "reason": "save: No space left on device"}),
        (break_row, answer(), {"rollout_path": "", "reason": "save: disk full"}),
        (None, ModelUnavailable("busy"), {"rollout_path": "", "reason": "model: busy"}),
        (None, "no JSON", {"rollout_path": "", "reason": "answer: unable to parse"}),
        (
            None,
            answer(trace=" "),
            {"rollout_path": "", "reason": "answer: the model gave an empty"},
        ),
        (None, answer(summary=""), {"rollout_path": "", "reason": "answer: the model gave an em"}),
    ],
)
def test_every_fault_leaves_one_warning_that_names_what_it_concerns(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[pytest.MonkeyPatch], None] | None,
    line: str | Exception,
    fields: dict[str, str],
) -> None:
    log = bench.work(1)
    bench.swept()
    if fault is not None:
        fault(monkeypatch)
    report = bench.extract(ScriptedModel([line]))
    assert report.written == []
    (told,) = [said for said in bench.said() if said["level"] == "warning"]
    operation = fields.get("operation") or fields["reason"].partition(":")[0]
    assert told["stage"] == "extract"
    assert told["operation"] == ("layout" if "cwd" in fields else operation)
    for name, value in fields.items():
        wanted = str(log.path(bench.space.claude)) if name == "rollout_path" else value
        assert str(told[name]).startswith(wanted)


def test_what_is_written_and_asked_holds_no_secret(bench: Bench) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    log = ClaudeLog(1)
    log.prompt(f"use token {secret} to push")
    log.run("git push", "ok")
    bench.space.write(log)
    leaking = answer(summary=f"push with {secret}").replace(
        "Fixed the parser", f"Used token {secret} to push"
    )
    model = ScriptedModel([leaking])
    bench.swept().extract(model)
    assert secret not in model.requests[0].user and "[REDACTED_SECRET]" in model.requests[0].user
    written = bench.files()[0].read_text()
    (trace,) = bench.traces().values()
    for text in (written, trace.trace_summary, trace.memory_summary):
        assert secret not in text
    assert "[REDACTED_SECRET]" in written and "[REDACTED_SECRET:" not in written


def test_a_session_that_grew_is_read_again_and_replaces_its_trace(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept().extract(ScriptedModel([answer(summary="first parser")]))
    log.prompt("and now the printer")
    log.edit("/work/shop/print.py", "a", "b")
    bench.space.write(log)
    bench.swept().extract(ScriptedModel([answer(summary="second parser")]))
    (trace,) = bench.traces().values()
    assert trace.memory_summary == "second parser" and len(bench.files()) == 1


def test_a_session_forgotten_while_the_model_thinks_leaves_nothing(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    forget = after(lambda: bench.space.forget(sessions=(log.session_id,)), answer())
    report = bench.extract(ScriptedModel([forget]))
    assert bench.files() == [] and report.written == []
    assert "forgotten meanwhile" in report.dropped[0].reason


def test_a_session_whose_raw_text_was_evicted_is_distilled(bench: Bench) -> None:
    bench.work(1)
    bench.swept()
    bench.space.set_retention(raw_soft_cap_bytes=0, raw_hard_cap_bytes=0)
    bench.swept()
    report = bench.extract(ScriptedModel([]))
    assert len(report.written) == 1
    assert "pytest -q" in next(iter(bench.traces().values())).trace_summary


def test_a_pass_killed_between_file_and_row_is_done_again_without_a_second_file(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.work(1)
    bench.swept()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(SqliteMemories, "save", killed)
        bench.extract(ScriptedModel([answer()]))
    assert bench.traces() == {} and len(bench.files()) == 1
    bench.extract(ScriptedModel([answer(trace=GOOD.replace("Fixed", "Mended"))]))
    assert len(bench.traces()) == 1
    (path,) = bench.files()
    assert "Mended the parser" in path.read_text()


def test_a_name_that_another_session_has_is_not_taken_from_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.work(1)
    bench.work(2)
    bench.swept()
    monkeypatch.setattr("session_memory.memory.traces.thread_named", lambda *_: "same")
    report = bench.extract(
        ScriptedModel([answer(summary="first parser"), answer(summary="second parser")])
    )
    assert len(report.written) == 1 and "another session" in report.dropped[0].reason
    assert bench.traces()["same"].memory_summary == "first parser" and len(bench.files()) == 1
