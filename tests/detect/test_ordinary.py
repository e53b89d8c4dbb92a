"""What fails in the course of ordinary work is no problem that recurs."""

from __future__ import annotations

import pytest
from tests.detect.digests import cured, digest, failed_with, mined, ran, signal

from session_memory.core.loop.patterns import PatternStatus, Signal, pattern_id
from session_memory.core.schema import CommandRun, Cure, ErrorSeen
from session_memory.core.text.masks import mask
from session_memory.detect.cluster import cluster
from session_memory.detect.digest_view import SessionProject
from session_memory.detect.loci import error_locus
from session_memory.detect.signals import signals

TYPE_ERROR = "src/app.ts(4,2): error TS2322: Type 'a' is not assignable to type 'b'."


def shown(
    *runs: CommandRun, errors: tuple[ErrorSeen, ...] = (), cures: tuple[Cure, ...] = ()
) -> dict[str, list[str]]:
    """Loci by type."""
    found: dict[str, list[str]] = {}
    for one in signals(digest(commands=runs, errors=errors, cures=cures), SessionProject("shop")):
        found.setdefault(one.type, []).append(one.locus)
    return found


def told(text: str, seq: int, tool: str = "Bash") -> ErrorSeen:
    return ErrorSeen(mask(text), 1, text, seq, tool)


@pytest.mark.parametrize(
    "text",
    [
        "grep: src/x.go: No such file or directory",
        "ls: cannot access 'types/': No such file or directory",
        "/usr/bin/sed: can't read a.ts: No such file or directory",
        "rg: README.md: No such file or directory (os error 2)",
        "cat: src: Is a directory",
        "Get-Content: Cannot find path 'C:\\x' because it does not exist.",
        "File does not exist.",
        "fatal: ambiguous argument 'origin/HEAD': unknown revision or path not in the tree.",
        "fatal: path 'x.py' does not exist in 'HEAD'",
        "Error",
        "unknown error!",
    ],
)
def test_a_look_that_finds_nothing_is_no_error_that_recurs(text: str) -> None:
    assert error_locus(text, mask(text)) == ("recurring_error", "")


@pytest.mark.parametrize(
    "text",
    [
        "rg: regex parse error: unclosed group",
        "sed: -e expression #1, char 3: unterminated `s' command",
        "fatal: refusing to merge unrelated histories",
        "Error: the port is in use",
        "String to replace not found in file.",
        "mv: cannot stat 'a': No such file or directory",
    ],
)
def test_other_errors_of_the_same_programs_stay(text: str) -> None:
    assert error_locus(text, mask(text)) == ("recurring_error", mask(text))


@pytest.mark.parametrize(
    "command",
    [
        "git rebase origin/main",
        "git add . && git rebase --continue",
        "git merge feature",
        "gh pr view 3",
        "git diff --exit-code && git status",
    ],
)
def test_a_question_and_a_stop_at_a_conflict_are_no_failing_commands(command: str) -> None:
    assert shown(ran(command, 1, ok=False)) == {}


@pytest.mark.parametrize(
    "command", ["git push origin x", "npm run build && git diff", "gh pr create", "git rebased x"]
)
def test_a_failure_beside_a_question_stays(command: str) -> None:
    assert list(shown(ran(command, 1, ok=False))) == ["failing_command"]


def test_a_finding_of_a_check_that_edits_settled_is_work() -> None:
    fails = ran("npm run check", 1, ok=False, verifies=True)
    finding = told(TYPE_ERROR, 2)
    edited = cured(finding.template, "npm run check", "Edit a.ts", kind="edit")
    assert "recurring_error" not in shown(fails, errors=(finding,), cures=(edited,))
    assert shown(fails, errors=(finding,))["recurring_error"] == [finding.template]


def test_a_finding_that_a_command_settled_is_kept_with_its_cure() -> None:
    fails = ran("npm run check", 1, ok=False, verifies=True)
    finding = told(TYPE_ERROR, 2)
    installed = cured(finding.template, "npm run check", "npm install", kind="install")
    found = shown(fails, errors=(finding,), cures=(installed,))
    assert found["recurring_error"] == [mask(TYPE_ERROR)]
    assert found["cure"] == ["npm install before npm run check"]


def test_what_a_check_says_of_itself_or_another_tool_says_is_no_finding() -> None:
    runs = (
        ran("npm run check", 1, ok=False, verifies=True),
        ran("npm run check", 9, verifies=True),
    )
    of_check = failed_with("unrecognized option x", "unrecognized option x", 2)
    of_editor = told("/a/shop/x.py has been modified since it was read", 4, "Edit")
    found = shown(*runs, errors=(of_check, of_editor))
    assert found == {"recurring_error": [of_check.template, of_editor.template]}


def checks(fails: int, passes: int, status: PatternStatus | None = None) -> list[str]:
    """Types that are found for one check."""
    locus = "npm run lint"
    shows: list[Signal] = [signal("failing_command", locus)] * fails
    shows += [signal("verified_recipe", locus)] * passes
    sessions = [mined(at, one) for at, one in enumerate(shows)]
    known: dict[str, PatternStatus] = (
        {pattern_id("failing_command", locus): status} if status else {}
    )
    return [one.type for one in cluster(lambda: sessions, known)]


def test_a_check_that_passes_as_often_as_it_fails_is_no_problem() -> None:
    assert checks(2, 2) == ["verified_recipe"]
    assert sorted(checks(3, 2)) == ["failing_command", "verified_recipe"]
    assert sorted(checks(2, 2, "approved")) == ["failing_command", "verified_recipe"]
