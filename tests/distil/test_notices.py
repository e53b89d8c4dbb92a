"""What git and servers say of the repository is noticed where they say it, and nowhere else."""

from __future__ import annotations

import pytest

from session_memory.distil.attempts import Attempt
from session_memory.distil.notices import find_notices

PROTECTED = """remote: error: GH013: Repository rule violations found for refs/heads/main.
remote: - Changes must be made through a pull request.
 ! [remote rejected] main -> main (push declined due to repository rule violations)"""
BYPASSED = """remote: Bypassed rule violations for refs/heads/main:
remote: - Changes must be made through a pull request.
   a1..b2  main -> main"""
BEHIND = "Switched to branch 'main'\nYour branch is behind 'origin/main' by 4 commits, and can be"
REJECTED = " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs"
PORT = "> shop dev\n> vite\n\nPort 5173 is in use, trying another one..."
NODE_PORT = "Error: listen EADDRINUSE: address already in use :::3000"


def ran(command: str, output: str) -> Attempt:
    return Attempt(1, 1, "Bash", command, (), edits=False, result_seq=2, output=output)


@pytest.mark.rows("BRF-11")
@pytest.mark.parametrize(
    ("command", "output", "notice"),
    [
        ("git push origin main", PROTECTED, ("pull requests only", "main")),
        ("git add . && git commit -m x && git push", PROTECTED, ("pull requests only", "main")),
        ("git checkout main", BEHIND, ("behind remote", "main")),
        ("git push", REJECTED, ("behind remote", "main")),
        ("npm run dev", PORT, ("port in use", "5173")),
        ("node server.js", NODE_PORT, ("port in use", "3000")),
    ],
)
def test_a_notice_is_taken_from_the_program_that_gives_it(
    command: str, output: str, notice: tuple[str, str]
) -> None:
    (seen,) = find_notices([ran(command, output)] * 2)
    assert (seen.kind, seen.subject, seen.seq) == (*notice, 2)


@pytest.mark.rows("BRF-11")
@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git push", BYPASSED),
        ("cat docs/git.md", PROTECTED),
        ("grep -rn port docs", PORT),
        ("npm test", BEHIND),
    ],
)
def test_text_about_it_is_no_notice(command: str, output: str) -> None:
    assert find_notices([ran(command, output)]) == ()
