"""Where a session left its branch, read from what git and gh print."""

from __future__ import annotations

import msgspec
import pytest
from tests.distil.observing import result, shell

from session_memory.distil.attempts import Attempt, AttemptLog
from session_memory.distil.git_state import git_state, left_on_branch

COMMITTED = "[feat/reader 1a2b3c4] Read empty files\n 1 file changed, 2 insertions(+)"
PUSHED = "To github.com:o/r.git\n * [new branch]      feat/reader -> feat/reader\n"
CREATED = "https://github.com/o/r/pull/41\n"


def left(*ran: tuple[str, str]) -> str:
    """What is left to do after these commands, each with what it printed."""
    attempts = [
        Attempt(n, n, "Bash", command, (), False, result_pos=n, output=output)
        for n, (command, output) in enumerate(ran)
    ]
    return left_on_branch(git_state(attempts))


COMMIT = ("git commit -m 'Read empty files'", COMMITTED)
PUSH = ("git push -u origin feat/reader", PUSHED)
CREATE = ("gh pr create --fill", CREATED)


@pytest.mark.rows("OPN-01")
def test_a_branch_is_open_until_it_is_merged() -> None:
    assert left(COMMIT, PUSH) == "Branch `feat/reader`: pushed, no PR, not merged"
    assert left(COMMIT, PUSH, CREATE) == "Branch `feat/reader`: PR #41 not merged"
    assert left(COMMIT, PUSH, CREATE, ("gh pr merge 41 --squash", "")) == ""
    seen = ("gh pr view 41 --json state", '{"state":"MERGED"}')
    assert left(COMMIT, PUSH, CREATE, seen) == ""
    assert left(COMMIT, ("git push origin HEAD:main", "   aaaaaaa..bbbbbbb  HEAD -> main")) == ""


@pytest.mark.rows("OPN-01")
def test_the_main_branch_and_what_another_pr_says_leave_nothing_open() -> None:
    on_main = ("git commit -m x", "[main 1a2b3c4] x")
    assert left(on_main, ("git push", "   aaaaaaa..bbbbbbb  main -> main")) == ""
    assert left(COMMIT) == ""  # who commits and does not push may want it so
    other = ("gh pr view 7 --json state", '{"state":"MERGED"}')
    assert left(COMMIT, PUSH, CREATE, other) == "Branch `feat/reader`: PR #41 not merged"
    away = ("git checkout main", "Switched to branch 'main'")
    assert left(COMMIT, PUSH, CREATE, away) == ""


@pytest.mark.rows("OPN-01")
def test_a_rebase_that_stopped_is_open_until_it_goes_on() -> None:
    on_branch = ("git status", "On branch feat/reader\n")
    stops = ("git rebase main", "CONFLICT (content): Merge conflict in a.py\n")
    assert left(on_branch, stops) == "Branch `feat/reader`: conflicts not resolved"
    assert left(on_branch, stops, ("git rebase --abort", "")) == ""


@pytest.mark.rows("RSM-01")
def test_an_older_commit_is_not_taken_for_the_last_one() -> None:
    log = AttemptLog()
    hook = "[feat/reader 9f8e7d6] Mend the reader\n" + "hook output\n" * 400
    for number, text in enumerate((COMMITTED, hook, "ok")):
        call = shell("git commit -m x", f"c{number}")
        log.call(msgspec.structs.replace(call, seq=number), number * 2)
        log.result(result(f"c{number}", text), number * 2 + 1)
    states = [git_state(log.attempts[:count]) for count in (1, 2, 3)]
    assert [state.commit for state in states if state] == ["1a2b3c4", "9f8e7d6", None]
