"""A compile costs money: it is started for logs that say something new, and not too often."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from tests.journal.flush_journal import MINUTE, NOON, Bench

from session_memory.clock import iso
from session_memory.journal import daily
from session_memory.journal import flush as flushing
from session_memory.journal.flush import flush
from session_memory.journal.state import DayLog, compile_interval, due_logs, log_hash

TODAY, YESTERDAY = "2026-03-02", "2026-03-01"
LOG = b"# Daily Log\n\nwe chose tabs\n"


def state(name: str = TODAY, data: bytes = b"older", minutes: int = 0) -> dict[str, Any]:
    """What a compile so long ago left."""
    at = iso(NOON - minutes * MINUTE)
    return {"ingested": {f"{name}.md": {"hash": log_hash(data), "compiled_at": at}}}


def due(logs: dict[str, bytes], known: dict[str, Any], interval: int = 60) -> tuple[str, ...]:
    given = [DayLog(f"{name}.md", data) for name, data in logs.items()]
    return due_logs(given, known, TODAY, NOON, interval).files


@pytest.mark.rows("FLU-26")
def test_changed_and_not_too_recent() -> None:
    assert due({}, {}) == ()
    assert due({TODAY: LOG}, {}) == ("2026-03-02.md",)
    assert due({TODAY: LOG}, state(data=LOG, minutes=600)) == ()
    assert due({TODAY: LOG}, state(minutes=60)) == ("2026-03-02.md",)
    assert due({TODAY: LOG}, {"ingested": {"2026-03-02.md": {"hash": "0"}}}) == ("2026-03-02.md",)
    verdict = due_logs([DayLog("2026-03-02.md", LOG)], state(minutes=59), TODAY, NOON, 60)
    assert verdict.files == ()
    assert verdict.infos == (
        "Compile skipped: 2026-03-02.md was compiled 59 min ago (threshold 60 min)",
    )


@pytest.mark.rows("FLU-27")
def test_the_interval_comes_from_the_variable_if_it_makes_sense() -> None:
    assert compile_interval({}, 60) == (60, None)
    assert compile_interval({"MEMORIA_COMPILE_INTERVAL_MIN": "15"}, 60) == (15, None)
    for wrong in ("soon", "-5", "", "1e3", "²"):
        minutes, warning = compile_interval({"MEMORIA_COMPILE_INTERVAL_MIN": wrong}, 45)
        assert minutes == 45 and warning is not None


@pytest.mark.rows("FLU-27")
def test_a_flush_honours_the_variable_and_survives_a_wrong_one(bench: Bench) -> None:
    for value, compiles in (("20", 1), ("nonsense", 0)):
        bench.says("text")
        bench.journal.root.mkdir(parents=True, exist_ok=True)
        bench.journal.state.write_text(json.dumps(state(minutes=30)))
        bench.compiled.clear()
        context = bench.flush_context(environ={"MEMORIA_COMPILE_INTERVAL_MIN": value})
        assert flush(bench.excerpt(f"context for {value}"), "s", context) == "saved"
        assert len(bench.compiled) == compiles
    assert any("WARNING MEMORIA_COMPILE_INTERVAL_MIN" in line for line in bench.log())


@pytest.mark.rows("FLU-28")
def test_a_log_is_known_by_sixteen_digits_of_its_hash() -> None:
    assert log_hash(b"abc") == "ba7816bf8f01cfea"
    known = {"ingested": {"2026-03-02.md": {"hash": "ba7816bf8f01cfea"}}}
    assert due({TODAY: b"abc"}, known) == ()
    assert due({TODAY: b"abd"}, known) == ("2026-03-02.md",)


@pytest.mark.rows("FLU-29")
def test_times_without_a_zone_are_local_and_garbage_compiles() -> None:
    # 12:00 UTC is 17:45 in Kathmandu, where these tests are.
    for compiled_at, compiles in (
        ("2026-03-02T17:15:00", False),
        ("2026-03-02T16:00:00", True),
        ("2026-03-02T11:30:00+00:00", False),
        ("2026-03-02T12:30:00+01:00", False),
        ("2026-01-01T10:00:00", True),
        ("garbage", True),
        (17, True),
        (None, True),
    ):
        known = {"ingested": {"2026-03-02.md": {"hash": "0", "compiled_at": compiled_at}}}
        verdict = due_logs([DayLog("2026-03-02.md", LOG)], known, TODAY, NOON, 60)
        assert bool(verdict.files) is compiles, compiled_at
        assert bool(verdict.warnings) is (compiled_at in ("garbage", 17, None))
    assert datetime.fromtimestamp(NOON / 1000, UTC).hour == 12


@pytest.mark.rows("FLU-30")
def test_without_log_program_or_change_nothing_is_started(bench: Bench) -> None:
    bench.says(*["text"] * 3)
    flush(bench.excerpt("1"), "s", replace(bench.flush_context(), compile=None))
    assert bench.compiled == [] and bench.today() != ""
    context = bench.flush_context()
    bench.journal.root.mkdir(exist_ok=True)
    bench.journal.state.write_text(json.dumps(state(data=bench.today().encode(), minutes=600)))
    flushing._compile_if_due(context)  # pyright: ignore[reportPrivateUsage]
    assert bench.compiled == []
    bench.journal.day(TODAY).unlink()
    bench.journal.state.unlink()
    flushing._compile_if_due(context)  # pyright: ignore[reportPrivateUsage]
    assert bench.compiled == []


@pytest.mark.rows("FLU-30")
@pytest.mark.parametrize("content", [None, "{broken", '["no object"]'])
def test_a_state_that_cannot_be_used_counts_as_never_compiled(
    bench: Bench, content: str | None
) -> None:
    bench.journal.root.mkdir(parents=True)
    if content is not None:
        bench.journal.state.write_text(content)
    bench.says("text")
    bench.flush(bench.excerpt())
    assert bench.compiled == [("2026-03-02.md",)]
    backups = list(bench.journal.root.glob("state.json.corrupt-*"))
    assert [path.read_text() for path in backups] == ([] if content is None else [content])


@pytest.mark.rows("FLU-36")
@pytest.mark.parametrize("known", [None, [], "x", 3, {"2026-03-02.md": None}])
def test_a_strange_record_counts_as_never_compiled(known: object) -> None:
    assert due({TODAY: LOG}, {"ingested": known}) == ("2026-03-02.md",)
    assert due({TODAY: LOG}, {"ingested": {"2026-03-02.md": ["hash"]}}) == ("2026-03-02.md",)


@pytest.mark.rows("FLU-32")
def test_late_entries_of_yesterday_are_compiled_with_the_next_flush(bench: Bench) -> None:
    late = NOON - 24 * 60 * MINUTE
    daily.append_entry(bench.journal, daily.Entry("s0", "a0", "before"), late)
    compiled = bench.journal.day(YESTERDAY).read_bytes()
    daily.append_entry(bench.journal, daily.Entry("s1", "a1", "after its compile"), late)
    bench.journal.state.write_text(json.dumps(state(YESTERDAY, compiled, minutes=5)))
    bench.says("text")
    bench.flush(bench.excerpt())
    assert bench.compiled == [("2026-03-01.md", "2026-03-02.md")]


@pytest.mark.rows("FLU-33")
def test_a_day_that_only_says_nothing_costs_nothing(bench: Bench) -> None:
    bench.says("FLUSH_OK", "FLUSH_OK")
    bench.flush(bench.excerpt("1"))
    bench.flush(bench.excerpt("2"))
    assert len(bench.entries()) == 2 and bench.compiled == []


@pytest.mark.rows("FLU-33")
def test_nothing_added_to_a_compiled_log_costs_nothing(bench: Bench) -> None:
    bench.says("worth it", "FLUSH_OK", "FLUSH_OK", "worth it again")
    bench.flush(bench.excerpt("1"))
    assert len(bench.compiled) == 1
    known = state(data=bench.today().encode(), minutes=600)
    bench.journal.state.write_text(json.dumps(known))
    bench.flush(bench.excerpt("2"))
    bench.flush(bench.excerpt("3"))
    assert len(bench.compiled) == 1
    bench.flush(bench.excerpt("4"))
    assert len(bench.compiled) == 2
