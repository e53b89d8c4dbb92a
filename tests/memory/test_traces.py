"""One file and one row for each session."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.workbench import Bench, answer

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.memory.layout import TRACES, memory_root
from session_memory.memory.traces import file_name, remove_files, thread_named, thread_of
from session_memory.testing.scripted_model import ScriptedModel


@pytest.mark.rows("EXT-39")
def test_a_trace_file_is_named_by_thread_and_title(bench: Bench) -> None:
    assert file_name("T", "Fix: the Bug!!") == "T_fix_the_bug.md"
    log = bench.work(1)
    log.title("Fix: the Bug!!")
    bench.space.write(log)
    bench.swept().extract(ScriptedModel([answer()]))
    folder = memory_root(bench.data, "/work/shop") / TRACES
    assert bench.files() == [folder / f"{log.session_id}_fix_the_bug.md"]
    assert folder.name == "trace_summaries"


@pytest.mark.rows("EXT-42")
def test_a_new_title_leaves_one_file_and_touches_no_other_thread(bench: Bench) -> None:
    log, other = bench.work(1), bench.work(2)
    log.title("first title")
    bench.space.write(log)
    bench.swept().extract(ScriptedModel([answer()] * 2))
    kept = [path for path in bench.files() if other.session_id in path.name]
    before = kept[0].stat().st_mtime_ns
    log.title("second title")
    log.prompt("go on with the printer")
    bench.space.write(log)
    bench.swept().extract(ScriptedModel([answer()]))
    mine = [path.name for path in bench.files() if path not in kept]
    assert mine == [f"{log.session_id}_second_title.md"]
    assert kept[0].stat().st_mtime_ns == before


@pytest.mark.rows("EXT-42")
def test_an_older_file_that_cannot_be_removed_is_only_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "T_a.md").write_text("a")
    (tmp_path / "T_b.md").write_text("b")
    real, told = Path.unlink, list[str]()

    def unlink(self: Path, missing_ok: bool = False) -> None:
        if self.name == "T_a.md":
            raise PermissionError(13, "Permission denied")
        real(self, missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    assert remove_files(tmp_path, "T", lambda text, path: told.append(f"{text} {path}")) == 1
    assert len(told) == 1 and "T_a.md" in told[0]


@pytest.mark.rows("EXT-43")
def test_files_that_name_no_thread_are_nobodys_to_delete(tmp_path: Path) -> None:
    names = ("README.md", "notes.md", "_x.md", "T_x.txt", "TT_x.md", "T_a_b.md", "T_old.md")
    folder = tmp_path / "traces"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("x")
    remove_files(folder, "T", lambda text, path: None)
    assert {path.name for path in folder.iterdir()} == set(names) - {"T_a_b.md", "T_old.md"}
    assert [thread_of(name) for name in names] == [None, None, None, None, "TT", "T", "T"]


@given(st.text(min_size=1, max_size=120), st.text(max_size=80))
def test_every_session_has_a_name_that_its_file_gives_back(native: str, title: str) -> None:
    thread = thread_named("opencode", native)
    name = file_name(thread, title)
    assert thread_of(name) == thread
    assert len(name) < 160 and not set(name) & set('/\\\0:*?"<>| \n') and not name.startswith(".")


def test_ids_that_differ_keep_different_names() -> None:
    names = {thread_named("opencode", native) for native in ("ses_a", "ses-a", "ses a")}
    assert len(names) == 3
    assert thread_named("claude", "x y") != thread_named("codex", "x y")


@pytest.mark.rows("EXT-50")
def test_a_deleted_session_takes_its_row_along(bench: Bench) -> None:
    gone, stays = bench.work(1), bench.work(2)
    bench.swept().extract(ScriptedModel([answer()] * 2))
    assert set(bench.traces()) == {gone.session_id, stays.session_id}
    bench.space.forget(sessions=(gone.session_id,))
    assert set(bench.traces()) == {stays.session_id}


def test_a_session_worth_nothing_is_not_read_again_until_it_grows(bench: Bench) -> None:
    log = ClaudeLog(1)
    log.prompt("what is a monad, in short and simple words?")
    log.say("A monad is a way to chain computations.")
    bench.space.write(log)
    first = bench.swept().extract()
    assert first.written == [] and first.dropped[0].final
    assert bench.extract().candidates == 0
    with bench.space.store() as store:
        assert [one.reason for one in store.memories.passed_over()] == [first.dropped[0].reason]
        assert store.memories.roots() == {}
    log.prompt("now write it into docs/monad.md please")
    log.edit("/work/shop/docs/monad.md", "", "A monad")
    log.say("The explanation of monads now stands in docs/monad.md.")
    bench.space.write(log)
    assert len(bench.swept().extract().written) == 1
