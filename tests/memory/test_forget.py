"""What was forgotten stands in no file, row, job or log of memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.memory.test_jobs import record
from tests.memory.workbench import Bench, answer, skill, writes

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.memory.forget import forget_jobs, forget_sessions, is_said, reword
from session_memory.memory.jobs import enqueue, enqueue_consolidation
from session_memory.memory.layout import MEMORY, REBUILD, SUMMARY, memory_root
from session_memory.memory.user_part import page_with_user_part, user_part_of
from session_memory.redact import Redactor
from session_memory.settings import Config
from session_memory.testing.scripted_model import ScriptedModel


@pytest.fixture
def remembered(bench: Bench) -> tuple[Bench, ClaudeLog, ClaudeLog]:
    """Two sessions of one project, and a memory made of both."""
    gone, stays = bench.work(1), bench.work(2)
    bench.swept().extract(ScriptedModel([answer(summary="one"), answer(summary="two")]))
    folder = memory_root(bench.data, "/work/shop")
    made = f"# Memory\n\n- from both (trace: `{gone.session_id}`)\n"
    (folder / MEMORY).write_text(page_with_user_part("\n- my own note\n", made))
    (folder / SUMMARY).write_text(made)
    return bench, gone, stays


def everything(root: Path) -> str:
    return "".join(
        f"{path}\n{path.read_text(errors='replace')}" for path in root.rglob("*") if path.is_file()
    )


def test_a_session_leaves_no_file_and_no_line_and_the_rest_is_marked_to_be_made_anew(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, gone, stays = remembered
    bench.space.forget(sessions=(gone.session_id,))
    assert forget_sessions(bench.data, bench.logs, {("claude", gone.session_id)}) == 1
    left = everything(bench.data / "memories")
    assert gone.session_id not in left and stays.session_id in left
    assert not bench.logs.exists() or gone.session_id not in everything(bench.logs)
    folder = memory_root(bench.data, "/work/shop")
    assert (folder / REBUILD).exists()
    assert user_part_of((folder / MEMORY).read_text()) == "\n- my own note\n"
    with bench.space.store() as store:
        assert store.traces(gone.session_id) == []


def test_a_memory_that_only_names_the_session_is_made_anew_too(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, gone, _ = remembered
    for path in bench.files():
        if path.name.startswith(gone.session_id):
            path.unlink()  # pruned long ago
    assert forget_sessions(bench.data, bench.logs, {("claude", gone.session_id)}) == 0
    assert gone.session_id not in everything(bench.data / "memories")


def test_forgetting_nothing_changes_nothing(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, _, _ = remembered
    before = everything(bench.data / "memories")
    assert forget_sessions(bench.data, bench.logs, []) == 0
    assert everything(bench.data / "memories") == before


def test_a_text_is_replaced_in_rows_and_files(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, _, _ = remembered

    def words(text: str) -> str:
        return text.replace("changed the parser", "[FORGOTTEN]")

    with bench.space.store() as store:
        assert is_said(bench.data, words)
        assert reword(store, bench.data, bench.logs, words) == 2
        assert not is_said(bench.data, words)
        store.erase_traces()
        assert store.traces("- changed the parser") == []
    assert "[FORGOTTEN]" in next(iter(bench.traces().values())).trace_summary
    assert (memory_root(bench.data, "/work/shop") / REBUILD).exists()
    traces = [path for path in bench.files() if path.parent.name == "trace_summaries"]
    assert len(traces) == 2 and all(path.stat().st_mode & 0o077 == 0 for path in traces)


def test_a_rescan_finds_secrets_that_older_rules_let_through(bench: Bench) -> None:
    bench.work(1)
    secret = "ghp_" + "a1B2c3D4e5" * 4
    bench.swept().extract(ScriptedModel([answer()]))
    (path,) = bench.files()
    path.write_text(path.read_text() + f"- push with {secret}\n")
    with bench.space.store() as store:
        redactor = Redactor(store.tag_key)
        assert reword(store, bench.data, bench.logs, redactor.redact_text) == 1
        assert reword(store, bench.data, bench.logs, redactor.redact_text) == 0
    assert secret not in path.read_text() and "[REDACTED_SECRET" in path.read_text()


def test_background_work_that_names_a_forgotten_session_goes(bench: Bench) -> None:
    bench.swept()
    with bench.space.store() as store:
        enqueue(store, [record("one"), record("two")], Config(), 1)
        forget_jobs(store, {("claude", "one")})
        assert [job.key for job in store.jobs.all()] == ["start:claude:two"]


def test_a_trace_the_user_removed_comes_back_only_when_the_session_goes_on(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept().extract(ScriptedModel([answer()]))
    number = bench.space.session(log.session_id).id
    with bench.space.store() as store:
        assert store.memories.drop(number) and not store.memories.drop(number)
    assert bench.traces() == {} and bench.extract().candidates == 0
    log.prompt("and now the printer of the shop")
    log.edit("/work/shop/print.py", "a", "b")
    bench.space.write(log)
    assert len(bench.swept().extract(ScriptedModel([answer()])).written) == 1


def test_copies_of_runs_and_their_jobs_and_locks_go_with_a_session(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, gone, stays = remembered
    folder = memory_root(bench.data, "/work/shop")
    staging = folder.parent / "staging-1" / "trace_summaries"
    staging.mkdir(parents=True)
    (staging / f"{gone.session_id}_x.md").write_text("words of the one")
    (folder / "MEMORY.md.9.new").write_text(gone.session_id)
    with bench.space.store() as store:
        store.memories.acquire("/work/shop", gone.session_id, 1, 1)
        enqueue_consolidation(store, ["/work/shop"], 1)
    bench.space.forget(sessions=(gone.session_id,))
    forget_sessions(bench.data, bench.logs, {("claude", gone.session_id)})
    assert gone.session_id not in everything(bench.data / "memories")
    with bench.space.store() as store:
        forget_jobs(store, {("claude", gone.session_id)})
        assert [job.key for job in store.jobs.all()] == ["/work/shop"]  # the other one is there
        assert store.memories.held() == []  # its owner was the forgotten session
        store.memories.acquire("/work/shop", "manual:1", 1, 1)
    bench.space.forget(sessions=(stays.session_id,))
    with bench.space.store() as store:
        forget_jobs(store, {("claude", stays.session_id)})
        assert store.jobs.all() == [] and store.memories.held() == []


def test_words_in_a_copy_of_a_run_are_found_and_go(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, _, _ = remembered
    staging = memory_root(bench.data, "/work/shop").parent / "staging-1"
    staging.mkdir()
    (staging / "MEMORY.md").write_text("zebra crossing")

    def words(text: str) -> str:
        return text.replace("zebra", "[FORGOTTEN]")

    assert is_said(bench.data, words)
    with bench.space.store() as store:
        reword(store, bench.data, bench.logs, words)
    assert not is_said(bench.data, words) and not staging.exists()


def test_what_is_made_after_forgetting_says_nothing_of_it(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, gone, stays = remembered
    bench.consolidate()
    assert gone.session_id in bench.page()
    bench.space.forget(sessions=(gone.session_id,))
    forget_sessions(bench.data, bench.logs, {("claude", gone.session_id)})
    assert bench.consolidate()[0].status == "done"
    assert gone.session_id not in everything(bench.data / "memories")
    assert stays.session_id in bench.page() and "- my own note" in bench.page()


def test_a_memory_in_a_models_own_words_goes_too_with_its_skills(
    remembered: tuple[Bench, ClaudeLog, ClaudeLog],
) -> None:
    bench, gone, _ = remembered
    words = {"skills/a/SKILL.md": skill("words of one")}
    bench.consolidate(ScriptedModel([writes("# Memory\n\n- words of one\n", **words)]))
    for path in bench.files():
        if path.name.startswith(gone.session_id):
            path.unlink()  # pruned, and then the run failed
    bench.space.forget(sessions=(gone.session_id,))
    forget_sessions(bench.data, bench.logs, {("claude", gone.session_id)})
    left = everything(bench.data / "memories")
    assert "words of one" not in left and gone.session_id not in left
