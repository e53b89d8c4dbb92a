"""Where a session left its branch, read from what git and gh print."""

from __future__ import annotations

import msgspec
import pytest
from tests.distil.observing import result, shell

from session_memory.distil.attempts import Attempt, AttemptLog
from session_memory.distil.git_state import commit_subjects, git_state, left_on_branch

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


HEREDOC = """git add a.py && {} -m "$(cat <<'EOF'
Read empty files

More about it.
EOF
)\""""


@pytest.mark.rows("RSM-01")
@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("rtk git commit -m 'Read empty files'", "ok"),
        ("git -C /work/shop commit -q -m 'Read empty files'", ""),
        (HEREDOC.format("rtk git commit"), "ok 1 file changed"),
        ('sudo git commit --quiet --message="Read empty files"', ""),
    ],
)
def test_a_commit_behind_a_wrapper_or_without_output_is_known_by_what_it_was_told(
    command: str, printed: str
) -> None:
    attempt = Attempt(0, 0, "Bash", command, (), False, result_pos=1, output=printed)
    state = git_state([attempt])
    assert state is not None
    assert (state.commit, state.subject, state.pushed) == (None, "Read empty files", False)
    assert commit_subjects(attempt) == ["Read empty files"]
    push = Attempt(2, 2, "Bash", "rtk git push", (), False, result_pos=3, output="ok main")
    pushed = git_state([attempt, push])
    assert pushed is not None and pushed.pushed


@pytest.mark.rows("RSM-01")
@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("rtk git commit -m 'Read empty files'", "nothing to commit, working tree clean"),
        ("git commit --dry-run -m 'Read empty files'", "Changes to be committed:"),
        ("git commit -m 'Read empty files'", "Process running with session ID 7"),
        ("echo \"git commit -m 'Read empty files'\"", "git commit -m 'Read empty files'"),
        ("rg 'git commit' docs", "docs/a.md: git commit -m 'Read empty files'"),
    ],
)
def test_what_only_looks_like_a_commit_is_none(command: str, printed: str) -> None:
    attempt = Attempt(0, 0, "Bash", command, (), False, result_pos=1, output=printed)
    state = git_state([attempt])
    assert state is None or not state.subject
    assert commit_subjects(attempt) == []


@pytest.mark.rows("RSM-01")
def test_the_branch_is_read_from_a_status_line_that_a_wrapper_prints() -> None:
    status = Attempt(0, 0, "Bash", "rtk git status", (), False, result_pos=1)
    status.output = "\U0001f4cc feat/reader...origin/feat/reader [ahead 2]\nModified: 1 files\n"
    state = git_state([status])
    assert state is not None and state.branch == "feat/reader"
