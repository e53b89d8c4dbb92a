"""Worktrees, clones and sub-folders of a known project are told the same; namesakes are not.

Logs, sweep, worker and git are real; the hook runs as an agent runs it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.hooks.hook_process import run_hook, state

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.repository import normal_remote, remote_of, repository_at
from session_memory.errors import EXIT_OK
from session_memory.hooks import entry
from session_memory.worker.injection_pages import LINES

URL = "ssh://git@code.example:22/team/shop.git"
SAME_URL = "https://ada:secret@code.example/team/shop"
pytestmark = pytest.mark.rows("HOK-11")


def git(cwd: Path, *words: str) -> None:
    who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
    subprocess.run(
        ["git", *who, *words],
        cwd=cwd,
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )


@pytest.fixture
def shop(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with three sessions in which `make check` passed."""
    root = home / "code" / "shop"
    (root / "src").mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", URL)
    (root / "src" / "a.py").write_text("a = 1\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    logs = home / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(logs))
    for seed in range(1, 4):
        log = ClaudeLog(seed, cwd=str(root))
        log.prompt(f"fix the parser, part {seed}")
        log.run("make check", "12 passed", exit_code=0)
        log.say("Done.")
        log.write(logs)
    return root


def prepare(*options: str) -> None:
    """Capture and let the worker write pages, as after a session; the hook starts no other one."""
    assert main([*options, "sweep"]) == EXIT_OK
    assert main([*options, "worker", "run"]) == EXIT_OK
    (state() / "hook.json").write_text('{"inject": true}')


def told(cwd: Path) -> str:
    """What a session that starts there is given, without the date."""
    payload = {"session_id": "s", "hook_event_name": "SessionStart", "cwd": str(cwd)}
    ran = run_hook("SessionStart", "claude", payload=payload)
    assert ran.code == 0
    if not ran.out:
        return ""
    text: str = json.loads(ran.out)["hookSpecificOutput"]["additionalContext"]
    return text.partition("\n")[2]


def test_other_checkouts_and_sub_folders_are_told_the_same(shop: Path, home: Path) -> None:
    prepare()
    known = told(shop)
    assert "make check" in known
    git(shop, "worktree", "add", "-q", str(home / "trees" / "fresh"))
    git(home, "clone", "-q", str(shop), "elsewhere/copy")
    git(home, "clone", "-q", str(shop), "elsewhere/mine")
    git(home / "elsewhere" / "mine", "remote", "set-url", "origin", SAME_URL)
    git(home, "clone", "-q", "--bare", str(shop), "bare/shop.git")
    git(home / "bare" / "shop.git", "remote", "set-url", "origin", SAME_URL)
    git(home / "bare" / "shop.git", "worktree", "add", "-q", str(home / "bare" / "work"))
    assert told(shop / "src") == known
    for place in ("trees/fresh", "elsewhere/copy", "elsewhere/mine", "bare/work", "bare/shop.git"):
        assert told(home / place) == known, place
        if place != "bare/shop.git":
            assert told(home / place / "src") == known, place


def test_a_namesake_is_told_nothing(shop: Path, home: Path) -> None:
    prepare()
    other = home / "other" / "shop"
    other.mkdir(parents=True)
    assert told(other) == ""
    git(other, "init", "-q")
    assert told(other) == ""
    git(other, "remote", "add", "origin", "https://code.example/stranger/shop.git")
    assert told(other) == ""
    git(other, "remote", "set-url", "origin", SAME_URL)
    assert told(other) != ""
    (other / ".session-memory.toml").write_text("enabled = false\n")
    assert told(other) == ""


def test_a_folder_that_only_claims_to_be_a_worktree_is_told_nothing(shop: Path, home: Path) -> None:
    git(shop, "remote", "remove", "origin")
    prepare()
    git(shop, "worktree", "add", "-q", str(home / "trees" / "fresh"))
    assert told(home / "trees" / "fresh") == told(shop) != ""
    forged = home / "forged"
    forged.mkdir()
    (forged / ".git").write_text((home / "trees" / "fresh" / ".git").read_text())
    assert told(forged) == ""


def test_where_worktrees_do_not_share_nothing_is_shared(shop: Path, home: Path) -> None:
    prepare("--set", "identity.share_worktrees=false")
    assert told(shop) != ""
    git(shop, "worktree", "add", "-q", str(home / "trees" / "fresh"))
    git(home, "clone", "-q", str(shop), "copy")
    assert told(home / "trees" / "fresh") == told(home / "copy") == ""


def test_a_clone_with_sessions_that_say_nothing_is_still_told(shop: Path, home: Path) -> None:
    copy = home / "copy"
    git(home, "clone", "-q", str(shop), str(copy))
    git(copy, "remote", "set-url", "origin", SAME_URL)
    log = ClaudeLog(9, cwd=str(copy))
    log.prompt("what is this?")
    log.say("A shop.")
    log.write(home / ".claude")
    prepare()
    assert told(copy) == told(shop) != ""
    pages = [path for path in (state() / "inject").glob("*.json") if path.name != LINES]
    assert len(pages) == 3  # for the root, for worktrees, for the remote


WORDS = st.text("aB1.-_:/@#?[]\\ ~é", max_size=12)


@given(st.tuples(st.sampled_from(["", "https://", "ssh://", "file://", "x"]), WORDS).map("".join))
@example("git@code.example:team/shop.git")
@example("https://code.example:8443//team/shop.git")
@example("ssh://u@[::1]:22/a/b")
@example("https://1234/a")
@example("/home/u@host:path")
@example("C:\\work\\shop")
def test_the_hook_reads_a_remote_as_identity_does(url: str) -> None:
    assert entry.normal_remote(url) == (normal_remote(url) or "")


def test_the_hook_reads_a_git_configuration_as_identity_does(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for text in (
        f'[remote "origin"]\n\turl = {URL}\n',
        f'[core]\nurl = https://no.example/a/b\n[remote "up"]\nurl={SAME_URL} ; mine\n',
        f'[remote "up"]\nurl = https://a.example/b/c\n[Remote "origin"] URL = "{URL}" # x\n',
        '[remote "origin"]\n#url = https://a.example/b/c\n',
    ):
        (tmp_path / ".git" / "config").write_text(text)
        found = repository_at(str(tmp_path), DiskTree())
        assert found is not None
        read = entry.normal_remote(entry.remote_url(text))
        assert read == (remote_of(found, DiskTree()) or ""), text
