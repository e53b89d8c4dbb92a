"""What is forgotten is gone from every row, text, index and byte, and nothing brings it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import NotFound
from session_memory.forget.plan import ForgetRequest, apply_forget, plan_forget
from session_memory.forget.rescan import rescan, scan
from session_memory.redact.engine import Redactor
from session_memory.redact.rule import Rule
from session_memory.testing.workspace import Workspace

ADDRESS = "quillfeather lane zebrawood"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def spoken(seed: int, *prompts: str) -> ClaudeLog:
    log = ClaudeLog(seed)
    for prompt in prompts:
        log.prompt(prompt)
        log.say(f"understood: {prompt}")
    return log


def forget(space: Workspace, **wanted: object) -> None:
    with space.store() as store:
        asked = ForgetRequest(**wanted)  # type: ignore[arg-type]
        plan = plan_forget(store, asked)
        assert not plan.is_empty
        apply_forget(store, plan, asked)


def traces(space: Workspace, text: str) -> list[str]:
    with space.store() as store:
        return store.traces(text)


def test_a_forgotten_session_leaves_no_trace_and_stays_away(space: Workspace) -> None:
    secret, other = spoken(1, f"I moved to {ADDRESS}"), spoken(2, "fix the parser")
    space.write(secret, other)
    space.sweep()
    assert traces(space, ADDRESS)
    forget(space, sessions=(secret.session_id,))
    assert traces(space, ADDRESS) == []
    assert traces(space, secret.session_id) == []
    again = space.sweep()
    assert (again.ingested, again.skipped_unchanged) == (0, 2)
    assert list(space.sessions()) == [other.session_id]
    assert space.findings() == []


def test_growth_of_a_forgotten_session_stays_away_too(space: Workspace) -> None:
    log = spoken(1, f"I moved to {ADDRESS}")
    space.write(log)
    space.sweep()
    forget(space, sessions=(log.session_id,))
    log.prompt(f"once more: {ADDRESS}")
    space.write(log)
    report = space.sweep()
    assert report.forgotten > 0
    assert space.sessions() == {}
    assert traces(space, ADDRESS) == []
    assert space.sweep().skipped_unchanged == 1


def test_a_fork_does_not_bring_a_forgotten_session_back(space: Workspace) -> None:
    log = spoken(1, f"I moved to {ADDRESS}")
    fork = log.fork(2)
    fork.prompt("and now something else")
    space.write(log)
    space.sweep()
    forget(space, sessions=(log.session_id,))
    space.write(log, fork)
    space.sweep()
    assert list(space.sessions()) == [fork.session_id]
    assert traces(space, ADDRESS) == []


def test_a_fork_that_is_here_already_loses_the_copies(space: Workspace) -> None:
    log = spoken(1, f"I moved to {ADDRESS}")
    fork = log.fork(2)
    fork.prompt("and now something else")
    space.write(log, fork)
    space.sweep()
    forget(space, sessions=(log.session_id,))
    assert [event.text for event in space.events(fork.session_id)] == ["and now something else"]
    assert traces(space, ADDRESS) == []
    assert space.findings() == []


def test_forgetting_a_fork_leaves_its_parent_whole(space: Workspace) -> None:
    log = spoken(1, "first", "second")
    fork = log.fork(2)
    fork.prompt(f"I moved to {ADDRESS}")
    space.write(log, fork)
    space.sweep()
    before = [event.text for event in space.events(log.session_id)]
    forget(space, sessions=(fork.session_id,))
    assert [event.text for event in space.events(log.session_id)] == before
    assert traces(space, ADDRESS) == []


def test_a_forgotten_text_takes_only_its_events(space: Workspace) -> None:
    log = spoken(1, "fix the parser", f"I moved to {ADDRESS}", "thanks, it works")
    space.write(log)
    space.sweep()
    forget(space, text=ADDRESS)
    assert traces(space, ADDRESS) == []
    texts = [event.text for event in space.events(log.session_id)]
    assert "fix the parser" in texts and "thanks, it works" in texts
    digest = space.digest(log.session_id)
    assert digest is not None and digest.turns == 2
    space.write(log)
    space.sweep()
    assert traces(space, ADDRESS) == []
    assert space.findings() == []


def test_a_text_is_forgotten_after_eviction_too(space: Workspace) -> None:
    log = spoken(1, f"please move {ADDRESS} to the new format")
    space.write(log)
    space.sweep()
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=2)
    space.sweep()
    assert any("table digest" in trace for trace in traces(space, ADDRESS))
    forget(space, text=ADDRESS)
    assert traces(space, ADDRESS) == []


def evicted(space: Workspace, prompt: str) -> ClaudeLog:
    """A session that is kept as its digest alone."""
    log = spoken(1, "fix the parser", prompt)
    space.write(log)
    space.sweep()
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=2)
    space.sweep()
    digest = space.digest(log.session_id)
    assert digest is not None and digest.rules
    return log


@pytest.mark.rows("FGT-04")
def test_no_stem_of_a_forgotten_word_is_left_of_a_rule(space: Workspace) -> None:
    evicted(space, "Never mention the Zebrawoods in commits.")
    forget(space, text="Zebrawoods")
    assert traces(space, "zebrawood") == []


@pytest.mark.rows("FGT-04")
def test_a_secret_in_a_rule_leaves_no_lower_case_copy(space: Workspace) -> None:
    evicted(space, "Never commit without the token ACME_QWERTYUIOPASDFGHJKLZ in the message.")
    rule = Rule(id="acme", pattern=b"ACME_[A-Z]{20}", keywords=("ACME_",))
    with space.store() as store:
        rescan(store, Redactor(store.tag_key, [rule]))
    assert traces(space, "ACME_QWERTYUIOPASDFGHJKLZ") == []
    assert traces(space, "acme_qwertyuiopasdfghjklz") == []


@pytest.mark.rows("FGT-04")
def test_a_text_in_any_case_is_forgotten_after_eviction_too(space: Workspace) -> None:
    evicted(space, "Never mention Zebrawood, ZEBRAWOOD or zebrawood in commits.")
    forget(space, text="zebraWood", ignore_case=True)
    for form in ("Zebrawood", "ZEBRAWOOD", "zebrawood"):
        assert traces(space, form) == []


def test_a_project_is_forgotten_with_its_name(space: Workspace) -> None:
    log = ClaudeLog(1, cwd="/work/zebrawood-app")
    log.prompt("hello")
    space.write(log, spoken(2, "stay"))
    space.sweep()
    forget(space, project="zebrawood-app")
    assert traces(space, "zebrawood-app") == []
    with space.store() as store, pytest.raises(NotFound):
        store.find_session(log.session_id)


def test_costs_of_a_forgotten_session_are_not_counted(space: Workspace) -> None:
    log, other = spoken(1, "one"), spoken(2, "two")
    space.write(log, other)
    space.sweep()
    with space.store() as store:
        (before,) = store.usage("flavor")
    forget(space, sessions=(log.session_id,))
    with space.store() as store:
        (after,) = store.usage("flavor")
    assert after.responses == before.responses // 2


def test_better_rules_redact_what_is_stored(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    log = spoken(1, f"use the token {token} for the upload")
    space.write(log)
    monkeypatch.setattr("session_memory.ingest.capture.make_redactor", no_rules)
    space.sweep()
    monkeypatch.undo()
    assert traces(space, token)
    with space.store() as store:
        assert scan(store, Redactor(store.tag_key)).events == 2
        assert traces_of(store, token), "a scan changes nothing"
        report = rescan(store, Redactor(store.tag_key))
        assert report.events == 2 and sum(report.redactions.values()) >= 2
        assert traces_of(store, token) == []
        assert scan(store, Redactor(store.tag_key)).events == 0
    assert space.findings() == []
    digest = space.digest(log.session_id)
    assert digest is not None and "[REDACTED_SECRET" in (digest.objective or "")


def no_rules(key: bytes, *_: object) -> Redactor:
    return Redactor(key, ())


def traces_of(store: object, text: str) -> list[str]:
    return store.traces(text)  # type: ignore[attr-defined]
