"""Forgetting that was cut off is finished by what comes next, and nothing brings a name back."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.invariants.broken import broken

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.forget.plan import ForgetRequest, apply_forget, plan_forget
from session_memory.forget.rescan import rescan
from session_memory.ingest import capture
from session_memory.redact.engine import Redactor
from session_memory.store.port import Store
from session_memory.store.unfinished import mark, marked
from session_memory.testing.faults import Stopped, StoppingStore
from session_memory.testing.workspace import Workspace

ADDRESS = "zebrawood"
"""One word that stems to itself: an index that still holds it holds it as it is."""
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def spoken(seed: int, text: str) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt(text)
    log.say(f"understood: {text}")
    return log


def traces(space: Workspace, text: str) -> list[str]:
    with space.store() as store:
        return store.traces(text)


def test_a_fork_does_not_bring_the_name_of_its_forgotten_parent_back(space: Workspace) -> None:
    log = spoken(1, f"I moved to {ADDRESS}")
    fork = log.fork(2)
    fork.prompt("and now something else")
    space.write(log, fork)
    space.sweep()
    space.forget(sessions=(log.session_id,))
    assert traces(space, log.session_id) == []
    fork.prompt("and more")
    space.write(fork)
    space.sweep()
    assert space.session(fork.session_id).forked_from is None
    assert traces(space, log.session_id) == []


def test_work_that_ends_well_leaves_the_mark_of_work_that_did_not(space: Workspace) -> None:
    space.write(spoken(1, "hello"), spoken(2, "goodbye"))
    space.sweep()
    stray = next(space.store_directory.rglob("*.seg"))
    stray.with_name(f"{stray.name[0]}_" + "0" * 48 + ".seg").write_bytes(b"left behind")
    directory = str(space.store_directory)
    mark(directory)
    with marked(directory):
        pass
    assert space.sweep().orphans_removed == 1
    assert space.findings() == []


def forget_text(store: Store) -> None:
    asked = ForgetRequest(text=ADDRESS)
    apply_forget(store, plan_forget(store, asked), asked)


def forget_session(store: Store) -> None:
    asked = ForgetRequest(sessions=(ClaudeLog(1).session_id,))
    apply_forget(store, plan_forget(store, asked), asked)


def redact_again(store: Store) -> None:
    rescan(store, Redactor(store.tag_key))


@pytest.mark.parametrize(
    ("work", "text"),
    [(forget_text, ADDRESS), (forget_session, ADDRESS), (redact_again, TOKEN)],
    ids=["text", "session", "rescan"],
)
@pytest.mark.parametrize("step", ["unanalyzed", "erase_traces"])
def test_what_was_dropped_but_not_erased_is_erased_by_the_next_sweep(
    space: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[Store], None],
    text: str,
    step: str,
) -> None:
    space.write(spoken(1, f"I moved to {ADDRESS}"), spoken(2, f"use {TOKEN}"))
    space.write(spoken(3, "stay here"))
    monkeypatch.setattr(capture, "make_redactor", lambda key, *_: Redactor(key, ()))
    space.sweep()
    monkeypatch.undo()
    with space.store() as store, pytest.raises(Stopped), marked(str(space.store_directory)):
        work(StoppingStore(store, step))  # type: ignore[arg-type]
    space.sweep()
    assert traces(space, text) == []
    assert space.findings() == []


def test_a_whole_store_has_nothing_left_to_erase(space: Workspace) -> None:
    space.write(spoken(1, f"I moved to {ADDRESS}"), spoken(2, "stay"))
    space.sweep()
    space.forget(text=ADDRESS)
    assert traces(space, ADDRESS) == []
    assert [text for text in broken(space) if not text.startswith("I4")] == []
