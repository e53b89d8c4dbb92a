"""`session-memory project memory` as a user runs it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.memory.workbench import Bench

from session_memory.memory.layout import MEMORY, memory_root


class Shell:
    """The program in a process of its own, on a swept workspace."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.config = str(bench.space.write_config())

    def run(self, *arguments: str, ok: int = 0) -> str:
        done = self.bench.space.run("--config", self.config, "project", "memory", *arguments)
        assert done.returncode == ok, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> dict[str, Any]:
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture
def shell(bench: Bench) -> Shell:
    for seed in range(1, 11):
        bench.work(seed)
    bench.swept()
    return Shell(bench)


def test_extract_shows_reads_and_is_done(shell: Shell) -> None:
    plan = shell.json("extract", "--dry-run")
    assert len(plan["candidates"]) == 8 and shell.bench.files() == []
    assert shell.json("extract")["candidates"] == 8
    assert len(shell.bench.files()) == 8
    report = shell.json("extract", "--now")
    assert (report["candidates"], report["touched"]) == (2, ["/work/shop"])
    status = shell.json("status")
    assert status["roots"] == {"/work/shop": 10} and status["due"] == []
    assert "0 sessions are due" in shell.run("status")


def test_one_session_or_one_project_can_be_asked_for(shell: Shell) -> None:
    shell.bench.work(11, cwd="/work/other")
    log = shell.bench.work(12)
    shell.bench.swept()
    assert shell.json("extract", "--project", "/work/other")["touched"] == ["/work/other"]
    assert len(shell.bench.files()) == 1
    shell.json("extract", "--session", log.session_id)
    shell.json("extract", "--session", log.session_id)  # also again, whatever is known of it
    assert len(shell.bench.files()) == 2


def test_forget_removes_one_trace(shell: Shell) -> None:
    shell.run("extract", "--now")
    name = shell.json("show", "--project", "/work/shop")["traces"][0]["thread_id"]
    shell.run("forget", name, "--dry-run")
    assert len(shell.bench.files()) == 10
    shell.run("forget", name)
    traces = [path for path in shell.bench.files() if path.parent.name == "trace_summaries"]
    assert len(traces) == 9 and name not in shell.bench.traces()
    page = shell.bench.page()  # made again without it, at once
    assert name not in page and any(thread in page for thread in shell.bench.traces())
    assert shell.json("extract", "--now")["candidates"] == 0
    assert "removed by the user" in shell.run("status")


def test_what_the_user_writes_is_kept_wherever_it_was_typed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = shell.bench.space.root / "editor.py"
    editor.write_text(
        "import sys, pathlib\n"
        "page = pathlib.Path(sys.argv[1])\n"
        "page.write_text('- typed at the top\\n' + page.read_text())\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    shell.run("edit", "--project", "/work/shop")
    page = memory_root(shell.bench.data, "/work/shop") / MEMORY
    text = page.read_text()
    assert text.index("<!-- yours") < text.index("- typed at the top") < text.index("<!-- end of")
    assert page.stat().st_mode & 0o077 == 0
    monkeypatch.delenv("EDITOR")
    monkeypatch.delenv("VISUAL", raising=False)
    assert (
        "no editor is set"
        in shell.bench.space.run(
            "--config", shell.config, "project", "memory", "edit", "--project", "/work/shop"
        ).stderr
    )
    assert page.read_text() == text


def test_without_a_store_extract_says_so_and_ends_well(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    done = bench.space.run(
        "--config", str(bench.space.write_config()), "project", "memory", "extract"
    )
    assert done.returncode == 0 and "nothing was captured yet" in done.stderr


def test_consolidate_makes_a_memory_that_can_be_shown_and_explained(shell: Shell) -> None:
    shell.run("extract", "--now")
    plan = shell.json("consolidate", "--all", "--dry-run")
    assert [one["root"] for one in plan["consolidated"]] == ["/work/shop"] and plan["dry_run"]
    assert not (shell.bench.folder() / MEMORY).exists()
    (done,) = shell.json("consolidate", "--project", "/work/shop")["consolidated"]
    assert (done["root"], done["status"]) == ("/work/shop", "done")
    assert "unchanged  /work/shop" in shell.run("consolidate", "--all")
    assert "done       /work/shop" in shell.run("consolidate", "--all", "--force")
    shown = shell.run("show", "--project", "/work/shop")
    assert "`pytest -q` verifies tests; passed in 10 sessions" in shown
    why = shell.json("why", "verifies tests; passed in 10 sessions")["evidence"]
    assert any(quote["text"] == "pytest -q" for one in why for quote in one["quotes"])
    assert all(one["session"] and one["trace"] for one in why)


def test_consolidate_of_a_place_without_traces_makes_nothing(shell: Shell) -> None:
    shell.run("consolidate", "--project", "/work/elsewhere")
    assert not shell.bench.folder("/work/elsewhere").exists()


def test_status_names_locks_pending_work_and_the_last_error(shell: Shell) -> None:
    now = shell.bench.space.now
    with shell.bench.space.store() as store:
        store.memories.acquire("/work/shop", "manual:abc", now, 1)
        store.jobs.enqueue("memory.consolidate", "/work/shop", now, now)
        job = store.jobs.claim(("memory.consolidate",), "t", now)
        assert job is not None
        store.jobs.fail(job, "t", "no answer within 900 seconds", now)
    output = shell.run("status")
    assert "locked by manual:abc since" in output
    assert "memory.consolidate /work/shop is " in output and "no answer within 900" in output
    status = shell.json("status")
    assert status["locks"][0]["owner"] == "manual:abc"
    assert status["jobs"][0]["last_error"] == "no answer within 900 seconds"
