"""A session is read as far as model and budget allow, rather than never; what is put off waits."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from tests.memory.shell import BOTH, Shell, calls, stand_in
from tests.memory.workbench import Bench, answer, writes

from session_memory.errors import BudgetSpent
from session_memory.memory.extract import extract
from session_memory.memory.prompt import MAX_PROMPT_BYTES, PROMPT_CUT
from session_memory.memory.selection import ExtractRequest
from session_memory.model.failures import CallFailed, Kind
from session_memory.model.port import Request
from session_memory.testing.model_server import ModelServer, Play
from session_memory.testing.scripted_model import ScriptedModel

MARKER = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"


def long_work(bench: Bench, seed: int, size: int) -> None:
    """A session with so many bytes of output between its first and its last words."""
    log = bench.work(seed, "the very first words of the session")
    for number in range(4):
        log.run(f"cat part{number}", f"{number}" * (size // 4))
    log.say("the very last words of the session")
    bench.space.write(log)


def use_stand_in(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = bench.space.root / "bin"
    log = stand_in(folder)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


@pytest.mark.rows("EXT-18")
def test_a_prompt_holds_a_million_bytes_with_the_marker_between_head_and_tail(
    bench: Bench,
) -> None:
    assert (MAX_PROMPT_BYTES, PROMPT_CUT) == (1_000_000, MARKER)
    long_work(bench, 1, 1_400_000)
    model = ScriptedModel([answer()])
    report = bench.swept().extract(model)
    shown = model.requests[0].user.partition("rendered conversation:\n")[2].removesuffix("\n")
    assert len(shown.encode()) == 1_000_000 and shown.count(MARKER) == 1
    head, _, tail = shown.partition(MARKER)
    assert len(head) == (1_000_000 - len(MARKER)) // 3
    assert head.startswith('[{"type":"message"') and "the very first words" in head[:300]
    assert tail.endswith("}]") and "the very last words" in tail[-300:]
    (told,) = bench.said("prompt")
    (cut,) = report.shortened
    assert told["level"] == "warning" and cut.shown_bytes == 1_000_000 < 1_400_000 < cut.of_bytes
    left = cut.of_bytes - cut.shown_bytes
    assert told["reason"] == (
        f"the conversation was cut to 1000000 of {cut.of_bytes} bytes; {left} were left out"
    )


@pytest.mark.rows("EXT-18", "EXT-61")
def test_with_the_default_caps_a_long_session_is_extracted_and_the_cut_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_work(bench, 1, 1_400_000)
    log = use_stand_in(bench.swept(), monkeypatch)
    shell = Shell(bench, provider="claude_cli")
    report = shell.json("extract")
    assert (len(report["written"]), report["dropped"]) == (1, [])
    ((sent, _, _),) = calls(log)
    (cut,) = report["shortened"]
    # A window of 128,000 tokens, less two answers of 8,000 and what the agent adds by itself.
    assert 250_000 < cut["shown_bytes"] < sent < (128_000 - 16_000 - 12_000) * 3
    assert cut["of_bytes"] > 1_400_000
    assert shell.json("status")["due"] == []
    shell.run("extract", "--session", str(report["shortened"][0]["session"]).partition(":")[2])
    assert f"was shown {cut['shown_bytes']} of {cut['of_bytes']} bytes" in shell.stderr


@pytest.mark.rows("EXT-61")
def test_what_is_sent_fits_the_window_of_the_model(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    long_work(bench, 1, 100_000)
    with ModelServer([Play(text=BOTH)]) as server:
        shell = Shell(
            bench.swept(), provider="anthropic", base_url=server.url, name="m", context_tokens=8_192
        )
        shell.run("extract")
    (asked,) = server.requests
    said = asked.body["messages"][0]["content"]
    whole = len((said + asked.body["system"]).encode())
    assert asked.body["max_tokens"] == 2_048 and whole // 3 <= 8_192 - 2_048
    assert whole > 15_000 and MARKER in said and "the very last words" in said[-300:]


@pytest.mark.rows("EXT-08", "EXT-61")
def test_with_the_default_caps_every_project_is_consolidated(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(1, 12):
        bench.work(seed, cwd=f"/work/p{seed}")
    bench.swept().extract(ScriptedModel([answer()] * 11), limit=11)
    log = use_stand_in(bench, monkeypatch)
    done = Shell(bench, provider="claude_cli").json("consolidate", "--all")["consolidated"]
    assert [one["status"] for one in done] == ["done"] * 11
    assert len(calls(log)) == 11


@pytest.mark.rows("EXT-08")
def test_eight_calls_are_under_way_at_once_and_never_nine_in_both_stages(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for seed in range(1, 12):
        bench.work(seed, cwd=f"/work/p{seed}")
    bench.swept()
    for stage in (("extract", "--now"), ("consolidate", "--all")):
        with ModelServer([Play(text=BOTH)], together=8) as server:  # ends only if eight do meet
            shell = Shell(bench, provider="openai", base_url=f"{server.url}/v1", name="m")
            shell.run(*stage)
        assert (server.most_under_way, len(server.requests)) == (8, 11)
    assert "run pytest -q" in bench.page("/work/p11")


@pytest.mark.rows("EXT-62")
def test_what_the_budget_puts_off_is_no_failure_and_stays_due(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    for seed in range(1, 5):
        bench.work(seed, cwd=f"/work/p{seed}")
    with ModelServer([Play(text=BOTH)]) as server:
        where = {"base_url": f"{server.url}/v1", "name": "m"}
        shell = Shell(bench.swept(), provider="openai", run_max_calls=2, **where)
        said = shell.run("extract", ok=3)
        assert "2 traces in 2 projects, 0 worth none, 0 failed, 2 put off" in said
        assert "2 sessions stay due: memory.extract is put off: 2 of 2 calls" in shell.stderr
        assert len(shell.json("status")["due"]) == 2
        assert len(shell.json("extract")["written"]) == 2
        done = shell.json("consolidate", "--all", ok=3)["consolidated"]
    assert sorted(one["status"] for one in done) == ["deferred", "deferred", "done", "done"]
    (first, _) = [one for one in done if one["status"] == "deferred"]
    assert "memory_consolidation is put off" in first["reason"] and bench.locks() == []


@pytest.mark.rows("EXT-62")
def test_a_session_that_is_put_off_leaves_its_place_to_the_next(bench: Bench) -> None:
    for seed in range(1, 13):
        bench.work(seed)

    def ask(request: Request) -> str:
        if "module 12" in request.user or "module 11" in request.user:
            raise BudgetSpent("too large for what is left")
        return answer()

    report = bench.swept().extract(ScriptedModel([ask] * 12))
    assert len(report.written) == 8 and report.candidates == 10
    assert [one.deferred for one in report.dropped] == [True, True]
    (ended,) = bench.said("indexed")
    assert (ended["count"], ended["dropped"], ended["deferred"]) == (8, 0, 2)
    assert [line["level"] for line in bench.said("deferred")] == ["info", "info"]
    assert [line for line in bench.said() if line["level"] == "warning"] == []


@pytest.mark.rows("EXT-62")
def test_when_the_budget_is_spent_no_further_session_is_even_loaded(bench: Bench) -> None:
    for seed in range(1, 21):
        bench.work(seed)
    model = ScriptedModel([BudgetSpent("day cap")] * 20)
    report = bench.swept().extract(model)
    assert len(model.requests) == 8 and report.candidates == 8


def test_a_trace_that_is_larger_than_the_window_is_cut_and_it_is_told(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract(ScriptedModel([answer()]))
    said = '{"files": [{"path": "MEMORY.md", "content": "# Memory"}]}'
    model = ScriptedModel([said] * 3, works_in_folders=False, limit=500)
    assert bench.consolidate(model)[0].status == "done"
    shown = [request.user for request in model.requests]
    assert "[... TRACES TRUNCATED FOR CONSOLIDATION ...]" in shown[1]
    assert all(len(text) < 1_000 for text in shown)
    told = [str(line["reason"]) for line in bench.said("prompt")]
    assert told and all(text.startswith("the traces were cut to ") for text in told)


def test_traces_that_do_not_fit_into_one_call_are_read_in_parts_and_put_together(
    bench: Bench,
) -> None:
    for seed in range(1, 7):
        bench.work(seed)
    bench.swept().extract(ScriptedModel([answer()] * 6), limit=6)
    threads = list(bench.traces())

    def part(request: Request) -> str:
        shown = next(thread for thread in threads if f"{thread}_" in request.user)
        return page_of(f"# Memory\n\n- verify with pytest -q (trace `{shown}`)\n")

    def joined(request: Request) -> str:
        assert "parts/1/MEMORY.md" in request.user and "memory_summary.md" in request.user
        cited = re.findall(r"pytest -q \(trace `([^`]+)`\)", request.user)
        return page_of("# Memory\n\n" + "".join(f"- pytest -q (trace `{t}`)\n" for t in cited))

    answers = [lambda request: joined(request) if "parts/1" in request.user else part(request)] * 9
    model = ScriptedModel(answers, works_in_folders=False, limit=2_000)
    assert bench.consolidate(model)[0].status == "done"
    parts = [request for request in model.requests if "parts/1" not in request.user]
    assert len(parts) > 1 and len(model.requests) == len(parts) + 1
    assert all(len(request.user) < 3_000 for request in parts)
    seen = "".join(request.user for request in parts)
    assert all(f"{thread}_" in seen for thread in threads) and bench.said("prompt") == []
    assert "pytest -q" in bench.page()


def test_where_the_budget_has_no_room_the_oldest_traces_are_left_out_whole(bench: Bench) -> None:
    for seed in range(1, 5):
        bench.work(seed)
    bench.swept().extract(ScriptedModel([answer()] * 4), limit=4)
    said = page_of("# Memory")
    model = ScriptedModel([said], works_in_folders=False, total=2_600)
    assert bench.consolidate(model)[0].status == "done"
    (request,) = model.requests
    with bench.space.store() as store:
        newest = [trace.thread_id for trace in store.memories.of_root("/work/shop")]
    shown = [thread for thread in newest if f"{thread}_" in request.user]
    assert shown == newest[: len(shown)] and 0 < len(shown) < 4
    (told,) = bench.said("prompt")
    assert f"{4 - len(shown)} of 4 traces were left out" in str(told["reason"])


def test_the_next_consolidation_sees_the_memory_so_far_and_what_is_new(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract(ScriptedModel([answer()]))
    first = ScriptedModel([writes("# Memory\n\n- run pytest -q\n")])
    bench.consolidate(first)
    assert "as the last consolidation left it" not in first.requests[0].user
    (old,) = bench.traces()
    bench.work(2)
    bench.swept().extract(ScriptedModel([answer()]))
    second = ScriptedModel([writes("# Memory\n\n- run pytest -q\n")])
    bench.consolidate(second)
    asked = second.requests[0].user
    (new,) = set(bench.traces()) - {old}
    assert "- run pytest -q" in asked and f"new or changed since then: {new}." in asked
    assert "made of" not in asked and "yours" not in asked


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "server"])
def test_a_model_that_is_busy_is_asked_again_in_both_stages(bench: Bench, kind: Kind) -> None:
    bench.work(1)
    waited: list[float] = []
    busy = CallFailed("busy", kind, retry_after=7.0)
    with bench.swept().space.store() as store:
        context = bench.context(ScriptedModel([busy, answer()]), wait=waited.append)
        assert len(extract(store, context, ExtractRequest()).written) == 1
    (done,) = bench.consolidate(ScriptedModel([busy, busy, writes()]))
    assert done.status == "done" and waited == [7.0]


def page_of(text: str) -> str:
    return json.dumps({"files": [{"path": "MEMORY.md", "content": text}]})
