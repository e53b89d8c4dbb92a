"""The traces of a place become its MEMORY.md, by one run at a time, and never at the cost of it."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest
from tests.memory.workbench import SHOP, Bench, answer, writes

from session_memory.errors import ModelUnavailable, StoreError
from session_memory.memory import consolidate as module
from session_memory.memory.consolidate import LOCK_LEASE_SECONDS, consolidate, dispatch
from session_memory.memory.model_consolidation import LABEL
from session_memory.memory.user_part import page_with_user_part, user_part_of
from session_memory.model.failures import CallFailed
from session_memory.model.port import Model, Request
from session_memory.store.memories import Claim, Held
from session_memory.store.port import Store
from session_memory.testing.scripted_model import ScriptedModel

LEASE_MS = LOCK_LEASE_SECONDS * 1000


def remembered(bench: Bench, count: int = 1) -> Bench:
    """A place with traces."""
    for number in range(1, count + 1):
        bench.work(number)
    bench.swept().extract(
        ScriptedModel([answer(summary=f"what session {n} left") for n in range(count)]), limit=count
    )
    return bench


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Broken:
    """A store one part of which fails."""

    def __init__(self, store: Store, **broken: Callable[..., Any]) -> None:
        self._store = store
        self._broken = broken

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        return Broken(real, **self._broken) if name == "memories" else self._broken.get(name, real)


def failing(*_: object, **__: object) -> Any:
    raise StoreError("the disk is gone")


def run_broken(bench: Bench, model: Model | None = None, **broken: Callable[..., Any]) -> str:
    with bench.space.store() as store:
        seen: Any = Broken(store, **broken)
        (done,) = consolidate(seen, bench.context(model), [Claim(SHOP, "session-1")])
    return done.status


@pytest.mark.rows("CON-01")
def test_a_lock_that_cannot_be_asked_for_is_told_and_the_place_left_alone(bench: Bench) -> None:
    before = everything(remembered(bench).folder())
    assert run_broken(bench, acquire=failing) == "failed"
    assert everything(bench.folder()) == before
    (told,) = bench.said("lock_failed")
    assert (told["level"], told["cwd"]) == ("warning", SHOP)


@pytest.mark.rows("CON-01")
def test_a_lock_that_somebody_else_holds_is_respected(bench: Bench) -> None:
    before = everything(remembered(bench).folder())
    with bench.space.store() as store:
        store.memories.acquire(SHOP, "another", bench.space.now - 10_000, LEASE_MS)
    (done,) = bench.consolidate()
    assert done.status == "locked" and everything(bench.folder()) == before
    (told,) = bench.said("lock_held")
    assert (told["level"], told["cwd"]) == ("debug", SHOP)
    assert bench.locks() == ["another"]


@pytest.mark.rows("CON-02")
def test_the_ten_newest_traces_are_read_newest_first(bench: Bench) -> None:
    remembered(bench, 12).consolidate()
    lines = (bench.folder() / "memory_summary.md").read_text().splitlines()
    with bench.space.store() as store:
        newest = store.memories.of_root(SHOP)[:10]
    assert [trace.updated_at for trace in newest] == sorted(
        (trace.updated_at for trace in newest), reverse=True
    )
    bullets = [line for line in lines if line.startswith("- ")]
    assert [trace.thread_id in line for trace, line in zip(newest, bullets, strict=True)] == (
        [True] * 10
    )


@pytest.mark.rows("CON-03")
def test_only_files_of_other_traces_are_pruned(bench: Bench) -> None:
    remembered(bench, 2)
    folder = bench.folder() / "trace_summaries"
    (folder / "README.md").write_text("mine")
    kept = {path.name for path in folder.iterdir()}
    (folder / "0000_an_old_one.md").write_text("old")
    bench.consolidate()
    assert {path.name for path in folder.iterdir()} == kept


@pytest.mark.rows("CON-03")
def test_a_file_that_cannot_be_removed_is_told_and_the_run_goes_on(bench: Bench) -> None:
    folder = remembered(bench).folder() / "trace_summaries"
    (folder / "0000_a_directory.md").mkdir()
    (done,) = bench.consolidate()
    assert done.status == "done" and bench.page()
    assert [str(line["path"]) for line in bench.said("kept_file")] == [
        str(folder / "0000_a_directory.md")
    ]


@pytest.mark.rows("CON-07", "CON-10")
def test_an_agent_works_in_the_folder_under_its_label_and_its_end_is_logged(bench: Bench) -> None:
    model = ScriptedModel([writes("# Memory\n\n- use pytest -q\n")])
    (done,) = remembered(bench).consolidate(model)
    (request,) = model.requests
    assert request.folder is not None and request.purpose == LABEL == "memory_consolidation"
    assert Path(request.folder).parent == bench.folder().parent
    assert "use pytest -q" in bench.page() and not Path(request.folder).exists()
    (told,) = bench.said("consolidation_finished")
    assert (told["cwd"], told["agent"], told["status"]) == (SHOP, done.agent, "done")
    assert done.agent


@pytest.mark.rows("CON-05")
def test_the_run_sees_traces_and_summary_but_none_of_the_old_outputs(bench: Bench) -> None:
    remembered(bench).consolidate(ScriptedModel([writes()]))
    (bench.folder() / "consolidated.md").write_text("legacy")
    skill = bench.folder() / "skills/old/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: old\ndescription: old\n---\n")
    before = everything(bench.folder())
    seen: list[set[str]] = []

    def look(request: Request) -> str:
        seen.append(set(everything(Path(request.folder or ""))))
        assert everything(bench.folder()) == before  # the live folder changes at the swap only
        return writes("# Memory\n\n- new parser\n")(request)

    bench.consolidate(ScriptedModel([look]), force=True)
    (inside,) = seen
    assert "memory_summary.md" in inside and any(n.startswith("trace_summ") for n in inside)
    assert not {"MEMORY.md", "consolidated.md", "skills/old/SKILL.md"} & inside
    assert "- new parser" in bench.page() and not skill.exists()
    assert not (bench.folder() / "consolidated.md").exists()


@pytest.mark.rows("CON-06")
@pytest.mark.parametrize(
    "wrong",
    [
        CallFailed("no answer", "timeout"),
        lambda _request: "I wrote nothing",
        writes("# Memory\n\n- see [it](skills/none/SKILL.md)\n"),
        writes("x" * 70_000),
        writes(**{"skills/x/notes.md": "no skill file"}),
        writes(**{"memory_summary.md": "# rewritten\n"}),
        lambda request: (Path(request.folder) / "MEMORY.md").symlink_to("/etc/hostname") or "done",
    ],
    ids=["failed", "nothing", "dead link", "too large", "no SKILL.md", "rewrote", "symlink"],
)
def test_a_run_that_fails_keeps_the_last_good_memory(bench: Bench, wrong: Any) -> None:
    good = writes(**{"skills/a/SKILL.md": "---\nname: a\ndescription: b\n---\nsteps\n"})
    remembered(bench).consolidate(ScriptedModel([good]))
    before = everything(bench.folder())
    (done,) = bench.consolidate(ScriptedModel([wrong]), force=True)
    assert done.status == "failed" and done.reason
    assert everything(bench.folder()) == before and "skills/a/SKILL.md" in before
    assert [path.name for path in bench.folder().parent.iterdir()] == ["memory"]
    assert bench.locks() == []


def cancelled(*_: object) -> Any:
    raise CancelledError


FAULTS: dict[str, Callable[[Bench, pytest.MonkeyPatch], str]] = {
    "memories cannot be read": lambda bench, _: run_broken(bench, of_root=failing),
    "pruning fails": lambda bench, patch: patched(bench, patch, "prune"),
    "wiping fails": lambda bench, patch: patched(bench, patch, "stage"),
    "no agent can be started": lambda bench, _: bench.consolidate(open_model=unavailable)[0].status,
    "its status cannot be followed": lambda bench, _: run_broken(bench, renew=failing),
    "the agent ends with an error": lambda bench, _: (
        bench.consolidate(ScriptedModel([CallFailed("refused", "refusal")]))[0].status
    ),
    "its status is lost": lambda bench, patch: lost(bench, patch),
}


def unavailable(_store: Store) -> Model | None:
    raise ModelUnavailable("no key")


def patched(bench: Bench, patch: pytest.MonkeyPatch, name: str) -> str:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    patch.setattr(module, name, full)
    return bench.consolidate()[0].status


def lost(bench: Bench, patch: pytest.MonkeyPatch) -> str:
    patch.setattr(module, "make_memory", cancelled)
    status = bench.consolidate()[0].status
    (told,) = bench.said("status_lost")
    assert told["status"] == "run"  # the last that was seen of it
    return status


@pytest.mark.rows("CON-09")
@pytest.mark.parametrize("fault", FAULTS)
def test_whatever_goes_wrong_the_lock_is_given_back(
    bench: Bench, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(bench)
    assert FAULTS[fault](bench, monkeypatch) in ("failed", "lost")
    assert bench.locks() == []
    (told,) = bench.said("consolidation_finished")
    assert told["cwd"] == SHOP and told["status"] in ("failed", "lost")
    monkeypatch.undo()
    assert bench.consolidate()[0].status == "done"  # and nothing is in the way of the next


@pytest.mark.rows("EXT-59")
@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ensure_layout", "layout"),
        ("prune", "prune"),
        ("write_summary", "summary"),
        ("stage", "stage"),
        ("make_memory", "run"),
        ("final_files", "check"),
        ("swap", "swap"),
    ],
)
def test_a_file_that_fails_is_told_with_the_place_and_the_operation(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, operation: str
) -> None:
    remembered(bench)
    assert patched(bench, monkeypatch, name) == "failed"
    (told,) = [line for line in bench.said() if line["level"] == "warning"]
    assert (told["event"], told["cwd"]) == ("consolidation_failed", SHOP)
    assert (told["operation"], told["stage"]) == (operation, "consolidate")
    assert told["reason"] == "no space left"


@pytest.mark.rows("EXT-59")
@pytest.mark.parametrize(
    ("name", "event", "operation"),
    [
        ("acquire", "lock_failed", "lock"),
        ("of_root", "consolidation_failed", "read"),
        ("renew", "consolidation_failed", "run"),
        ("swapping", "consolidation_failed", "swap"),
        ("release", "release_failed", "release"),
    ],
)
def test_a_store_that_fails_is_told_with_the_operation_and_the_stage(
    bench: Bench, name: str, event: str, operation: str
) -> None:
    remembered(bench)
    run_broken(bench, **{name: failing})
    (told,) = [line for line in bench.said() if line["level"] == "warning"]
    assert (told["event"], told["cwd"], told["reason"]) == (event, SHOP, "the disk is gone")
    assert (told["operation"], told["stage"]) == (operation, "consolidate")


@pytest.mark.rows("EXT-59")
def test_an_agent_that_cannot_be_started_is_told_with_the_place(bench: Bench) -> None:
    remembered(bench).consolidate(open_model=unavailable)
    (told,) = [line for line in bench.said() if line["level"] == "warning"]
    assert (told["cwd"], told["operation"], told["reason"]) == (SHOP, "spawn", "no key")


@pytest.mark.rows("CON-11")
def test_the_order_of_a_run_and_that_dispatch_returns_while_it_goes_on(bench: Bench) -> None:
    remembered(bench)
    begun, may_end = threading.Event(), threading.Event()

    def slowly(request: Request) -> str:
        begun.set()
        assert may_end.wait(20)
        return writes()(request)

    with bench.space.store() as store:
        running = dispatch(store, bench.context(ScriptedModel([slowly])), [Claim(SHOP, "s1")])
        assert begun.wait(20)  # it runs, and we are back already
        assert not (bench.folder() / "MEMORY.md").exists() and len(store.memories.held()) == 1
        assert bench.said("consolidation_finished") == []
        may_end.set()
        (done,) = running.watch()
        assert done.status == "done" and store.memories.held() == []
    told = [line.get("step") or line["event"] for line in bench.said()]
    steps = ["read", "layout", "prune", "summary", "stage", "run"]
    assert [step for step in told if step in steps] == steps
    assert told.index("consolidation_started") < told.index("dispatched")
    assert told[-1] == "consolidation_finished"


@pytest.mark.rows("EXT-08")
def test_at_most_eight_consolidations_run_beside_each_other(bench: Bench) -> None:
    roots = [f"/work/p{number}" for number in range(12)]
    for number, root in enumerate(roots):
        bench.work(number + 1, cwd=root)
    bench.swept().extract(ScriptedModel([answer()] * 12), limit=12)
    most = at_once = 0
    guard, all_there = threading.Lock(), threading.Barrier(4)

    def counted(request: Request) -> str:
        nonlocal most, at_once
        with guard:
            at_once += 1
            most = max(most, at_once)
        all_there.wait(20)  # so that they really are beside each other
        with guard:
            at_once -= 1
        return writes()(request)

    done = bench.consolidate(ScriptedModel([counted] * 12), *roots)
    assert [one.status for one in done] == ["done"] * 12
    assert 4 <= most <= 8


@pytest.mark.rows("LCK-07")
def test_a_run_longer_than_its_lease_keeps_it_by_renewal(bench: Bench) -> None:
    remembered(bench)
    began = bench.space.now

    def for_700_seconds(request: Request) -> str:
        with bench.space.store() as other:
            while bench.space.now < began + 700_000:
                bench.space.now += 100_000
                while other.memories.held()[0].updated_at < bench.space.now:
                    threading.Event().wait(0.002)  # for the next beat of the watcher
                assert not other.memories.acquire(SHOP, "thief", bench.space.now, LEASE_MS)
        return writes()(request)

    (done,) = bench.consolidate(ScriptedModel([for_700_seconds]), lock_renewal_s=0.005)
    assert done.status == "done" and "pytest" in bench.page()


@pytest.mark.rows("LCK-07", "LCK-01")
def test_a_run_whose_place_was_taken_over_writes_nothing(bench: Bench) -> None:
    remembered(bench).consolidate(ScriptedModel([writes()]))
    before = everything(bench.folder())

    def robbed(request: Request) -> str:
        bench.space.now += 700_000
        with bench.space.store() as other:
            assert other.memories.acquire(SHOP, "thief", bench.space.now, LEASE_MS)
        return writes("# Memory\n\n- the first parser\n")(request)

    with bench.space.store() as store:
        seen: Any = Broken(store, renew=lambda *_: True)  # it believes that all is well
        context = bench.context(ScriptedModel([robbed]))
        (done,) = consolidate(seen, context, [Claim(SHOP, "first")], force=True)
    assert done.status == "failed" and "took" in done.reason
    assert everything(bench.folder()) == before and bench.locks() == ["thief"]


@pytest.mark.rows("LCK-08")
def test_the_session_owns_the_lock_and_two_names_of_a_place_are_one(
    bench: Bench, tmp_path: Path
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    bench.work(1, cwd=str(real))
    bench.swept().extract(ScriptedModel([answer()]))
    owners: list[Held] = []

    def look(request: Request) -> str:
        with bench.space.store() as other:
            owners.extend(other.memories.held())
        return writes()(request)

    model = ScriptedModel([look])
    done = bench.consolidate(model, str(tmp_path / "link"), str(real), owner="session-9")
    assert [one.root for one in done] == [str(real)] and len(model.requests) == 1
    assert [(held.root, held.owner) for held in owners] == [(str(real), "session-9")]


@pytest.mark.rows("EXT-51")
def test_progress_is_logged(bench: Bench) -> None:
    remembered(bench).consolidate()
    for event, fields in {
        "candidates": {"count"},
        "indexed": {"count", "roots"},
        "trace_persisted": {"rollout_path", "cwd", "path"},
        "consolidation_started": {"cwd", "agent"},
        "consolidation_finished": {"cwd", "agent", "status"},
        "dispatched": {"count"},
    }.items():
        (told,) = bench.said(event)
        assert fields <= set(told)


def test_unchanged_traces_cost_no_call(bench: Bench) -> None:
    model = ScriptedModel([writes()])
    assert remembered(bench).consolidate(model)[0].status == "done"
    assert bench.consolidate(model)[0].status == "unchanged" and len(model.requests) == 1
    bench.work(2)
    bench.swept().extract(ScriptedModel([answer()]))
    assert bench.consolidate(ScriptedModel([writes()]))[0].status == "done"


def test_what_is_the_users_stays_byte_for_byte(bench: Bench) -> None:
    remembered(bench).consolidate()
    page = bench.folder() / "MEMORY.md"
    mine = b"\r\n- mine \xff\t  \n\n<b>ours</b>\n"
    page.write_bytes(page_with_user_part("HERE", "# Memory\n").encode().replace(b"HERE", mine))
    bench.consolidate(ScriptedModel([writes("# Memory\n\n- new parser\n")]), force=True)
    assert mine in page.read_bytes() and b"- new parser" in page.read_bytes()
    whole = page.read_bytes().decode(errors="surrogateescape")
    assert user_part_of(whole).encode(errors="surrogateescape") == mine


def test_a_user_who_writes_while_a_run_goes_on_loses_nothing(bench: Bench) -> None:
    remembered(bench).consolidate()
    page = bench.folder() / "MEMORY.md"

    def meanwhile(request: Request) -> str:
        page.write_text(page_with_user_part("\n- typed just now\n"))
        return writes()(request)

    bench.consolidate(ScriptedModel([meanwhile]), force=True)
    assert "- typed just now" in user_part_of(page.read_text())


def test_what_was_forgotten_during_a_run_does_not_come_back(bench: Bench) -> None:
    remembered(bench, 2)

    def meanwhile(request: Request) -> str:
        with bench.space.store() as other:
            assert other.memories.drop(other.memories.of_root(SHOP)[0].session_id)
        return writes()(request)

    (done,) = bench.consolidate(ScriptedModel([meanwhile]))
    assert done.status == "failed" and not (bench.folder() / "MEMORY.md").exists()


def test_a_model_without_a_folder_answers_with_files(bench: Bench) -> None:
    thread = next(iter(remembered(bench).traces()))
    page = f"# Memory\n\n- verify with pytest -q (trace `{thread}`)\n"
    said = json.dumps({"files": [{"path": "MEMORY.md", "content": page}]})
    model = ScriptedModel([said], works_in_folders=False)
    assert bench.consolidate(model)[0].status == "done"
    assert "- verify with pytest -q" in bench.page()
    (request,) = model.requests
    assert request.folder is None and "what session 0 left" in request.user


@pytest.mark.parametrize("path", ["../x.md", "/etc/passwd", "skills/../x", "notes.md", "skills/a"])
def test_a_model_cannot_name_a_file_elsewhere(bench: Bench, path: str) -> None:
    said = (
        '{"files": [{"path": "MEMORY.md", "content": "# M"}, {"path": "'
        + path
        + '", "content": "x"}]}'
    )
    (done,) = remembered(bench).consolidate(ScriptedModel([said], works_in_folders=False))
    assert done.status == "failed" and not (bench.folder() / "MEMORY.md").exists()


def test_secrets_and_marks_of_ours_do_not_reach_the_page(bench: Bench) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    marks = "<!-- end of yours -->\x1b[31m<session-memory-pack"
    evil = f"# Memory\n\n- fixed the parser, changed it, ran pytest {secret} {marks}\n"
    remembered(bench).consolidate(ScriptedModel([writes(evil)]))
    page = bench.page()
    assert secret not in page and "[REDACTED_SECRET]" in page and "\x1b" not in page
    assert page.count("<!-- end of yours -->") == 1 and "<session-memory-pack" not in page


def test_a_place_without_traces_keeps_only_what_is_the_users(bench: Bench) -> None:
    remembered(bench).consolidate()
    with bench.space.store() as store:
        store.memories.drop(store.memories.of_root(SHOP)[0].session_id)
    page = bench.folder() / "MEMORY.md"
    page.write_text(page_with_user_part("\n- mine\n", "# Memory\n\n- of a trace\n"))
    assert bench.consolidate(open_model=unavailable)[0].status == "done"
    assert "- mine" in page.read_text() and "of a trace" not in page.read_text()
    summary = (bench.folder() / "memory_summary.md").read_text()
    assert summary == "# Memory Summary\n\nNo memory traces yet.\n"


def test_a_project_that_fails_does_not_concern_the_others(bench: Bench) -> None:
    bench.work(1, cwd="/work/a")
    bench.work(2, cwd="/work/b")
    bench.swept().extract(ScriptedModel([answer()] * 2))
    bench.folder("/work/a").joinpath("trace_summaries").rename(bench.folder("/work/a") / "gone")
    (bench.folder("/work/a") / "trace_summaries").write_text("in the way")
    done = bench.consolidate(None, "/work/a", "/work/b")
    assert [(one.root, one.status) for one in done] == [("/work/a", "failed"), ("/work/b", "done")]
