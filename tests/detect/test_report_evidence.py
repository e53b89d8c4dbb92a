"""What counts as evidence, once, and what does not: forks, sub-agents, sessions of our own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.detect.digests import digest, ran

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.loop.patterns import Candidate, Cure, Quote
from session_memory.detect.mine import mine
from session_memory.detect.report import cure_sentence, report
from session_memory.detect.run import DetectQuery, detect
from session_memory.store import open_store
from session_memory.testing.store_drafts import START, Said, capture, event
from session_memory.testing.workspace import Workspace

PUSH = "git push <args>"


def pushing(seed: int) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt("push it")
    log.run("git push origin main", "fatal: refused by the remote", exit_code=1)
    return log


def pushes(directory: Path) -> list[tuple[int, int]]:
    """(frequency, sessions) of the failing push."""
    with open_store(str(directory), START) as opened:
        patterns = opened.patterns
        found = detect(patterns, DetectQuery(min_frequency=1), START)
    return [(one.frequency, one.sessions) for one in found if one.locus == PUSH]


@pytest.mark.rows("DET-08")
def test_what_a_fork_inherited_counts_once(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    parent = pushing(1)
    fork = parent.fork(2)
    fork.prompt("and now another way")
    fork.run("make all", "done")
    space.write(parent, fork)
    space.sweep()
    assert len(space.sessions()) == 2
    assert pushes(space.store_directory) == [(1, 1)]


@pytest.mark.rows("DET-08")
def test_a_sub_agent_is_no_second_session(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    parent = pushing(1)
    child = parent.subagent("push the other branch")
    child.run("git push origin other", "fatal: refused by the remote", exit_code=1)
    space.write(parent, child)
    space.sweep()
    assert len(space.sessions()) == 2
    assert pushes(space.store_directory) == [(2, 1)]


@pytest.mark.parametrize("low_value", [None, "nothing was asked for"])
def test_sessions_not_worth_mining_are_no_evidence(tmp_path: Path, low_value: str | None) -> None:
    failing = digest(commands=(ran("git push origin x", 1, ok=False),))
    with open_store(str(tmp_path / "store"), START, create_missing=True) as store:
        (session,) = capture(store, Said("one", "/logs/one", (event(0, "text"),)))
        with store.writing() as writer:
            writer.save_digest(session, failing, low_value)
    assert bool(pushes(tmp_path / "store")) == (low_value is None)


def test_replaced_words_of_a_digest_are_mined_anew(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    space.write(pushing(1))
    space.sweep()
    assert pushes(space.store_directory) == [(1, 1)]
    with space.store() as store:
        store.replace_words(lambda data: data.replace(b"git push", b"git pull"))
    with open_store(str(space.store_directory), START) as opened:
        patterns = opened.patterns
        assert mine(patterns) == 1
    assert pushes(space.store_directory) == []


def candidate(**fields: object) -> Candidate:
    values: dict[str, object] = {
        "id": "ab12",
        "kind": "problem",
        "type": "missing_tool",
        "locus": "command jq",
        "about": "",
        "frequency": 3,
        "sessions": 2,
        "spread": {1: 1, 2: 1},
        "cross_flavor": True,
        "flavors": {"claude": 1, "codex": 1},
        "repos": {"shop": 2},
        "usd": 1.5,
        "minutes": 4.0,
        "first_seen": START,
        "last_seen": START,
        "tried": 0,
        "value": 1.0,
        "quotes": (Quote("12345678-9", "claude", 7, "jq: \x1b[31mnot found"),),
        "cures": (Cure("cd34", "brew install jq", 7, 8, ("claude", "codex")),),
        **fields,
    }
    return Candidate(**values)  # pyright: ignore


def test_the_report_reads_well_and_drives_no_terminal() -> None:
    text = report([candidate(left_out="no cure is known")])
    assert text.splitlines()[0] == "  1. tool is missing: command jq [CROSS-FLAVOR]"
    assert "3 times in 2 sessions · $1.50, 4 min · claude, codex · shop · 2026-03-02" in text
    assert "cured by: `brew install jq` worked in 7 of 8 sessions, in Claude Code and Codex" in text
    assert '"jq: \\x1b[31mnot found" claude 12345678#7' in text and "\x1b" not in text
    assert "     left out: no cure is known" in text
    assert report([]) == "Nothing to write down."


def test_a_rule_comes_first_with_what_it_rests_on() -> None:
    (head, sure, *_) = report(
        [candidate(rule="Use `gojq`, not `jq`.", sure="met in 2 sessions")]
    ).splitlines()
    assert head == "  1. Use `gojq`, not `jq`. [CROSS-FLAVOR]"
    assert sure == "     sure: met in 2 sessions"


def test_a_price_that_nobody_knows_is_not_shown_as_free() -> None:
    assert "$" not in report([candidate(usd=None)])
    sentence = cure_sentence(Cure("a", "x", 1, 1, ("grok",)))
    assert sentence == "`x` worked in 1 of 1 session, in Grok Build"
