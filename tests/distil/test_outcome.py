"""How outcomes are judged: approval and verification count, claims do not, conflicts stay open."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.distil.checks import Check
from session_memory.distil.outcome import CheckRun, Evidence, Mark, check_passed, judge

EDITED = {"edits": 2, "last_edit": 10, "calls": 5}


def check(pos: int, passed: bool, kind: str = "test", exit_code: int | None = -1) -> CheckRun:
    code = (0 if passed else 1) if exit_code == -1 else exit_code
    return CheckRun(pos, kind, passed, f"run {kind}", code)  # type: ignore[arg-type]


def label(**fields: object) -> tuple[str, str]:
    verdict = judge(Evidence(**(EDITED | fields)))  # type: ignore[arg-type]
    return verdict.outcome, verdict.confidence


def test_verification_after_the_last_edit_is_success() -> None:
    verdict = judge(Evidence(**EDITED, checks=(check(11, True),)))
    assert (verdict.outcome, verdict.confidence) == ("success", "high")
    assert verdict.grounds == ("verification passed last: run test (exit 0)",)
    assert label(checks=(check(11, True, exit_code=None),)) == ("success", "medium")
    assert label(checks=(check(11, True, "lint"),)) == ("success", "low")


def test_verification_before_the_last_edit_only_is_partial() -> None:
    assert label(checks=(check(9, True),)) == ("partial", "medium")
    assert label(checks=(check(9, False),)) == ("partial", "low")


def test_failing_at_the_end_is_fail_or_partial_with_progress() -> None:
    assert label(checks=(check(11, False),)) == ("fail", "high")
    assert label(checks=(check(11, False), check(12, True, "lint"))) == ("partial", "medium")
    assert label(checks=(check(9, True, "build"), check(11, False))) == ("partial", "medium")
    assert label(checks=(check(11, False),), edits=0, last_edit=-1) == ("uncertain", "low")


def test_another_kind_passing_does_not_settle_a_failure() -> None:
    assert label(checks=(check(9, False), check(12, True, "lint"))) == ("partial", "medium")


def test_the_users_approval_is_success() -> None:
    assert label(approval=Mark(11, "works, thanks")) == ("success", "medium")
    assert label(approval=Mark(11, "ship it", "implied")) == ("success", "low")
    assert label(approval=Mark(12, "lgtm"), checks=(check(11, True),)) == ("success", "high")


def test_approval_before_the_last_edit_is_about_something_else() -> None:
    assert label(approval=Mark(9, "thanks")) == ("uncertain", "low")


def test_conflicting_evidence_is_uncertain() -> None:
    approved = label(approval=Mark(12, "thanks"), checks=(check(11, False),))
    assert approved == ("uncertain", "medium")
    rejected = label(rejection=Mark(11, "wrong"), checks=(check(12, True),))
    assert rejected == ("uncertain", "medium")


def test_rejection_at_the_end_is_fail() -> None:
    assert label(rejection=Mark(11, "doesn't work")) == ("fail", "high")
    assert label(rejection=Mark(12, "wrong"), checks=(check(11, True),)) == ("fail", "medium")
    assert label(rejection=Mark(13, "no"), approval=Mark(12, "thanks"))[0] == "fail"
    assert label(approval=Mark(13, "thanks"), rejection=Mark(12, "no"))[0] == "success"


def test_work_after_a_rejection_can_still_succeed() -> None:
    assert label(rejection=Mark(8, "wrong"), checks=(check(11, True),)) == ("success", "high")
    assert label(rejection=Mark(8, "wrong")) == ("uncertain", "low")


def test_a_session_broken_off_is_partial_at_best() -> None:
    assert label(interrupted=True) == ("uncertain", "low")
    assert label(interrupted=True, checks=(check(11, True),)) == ("partial", "low")
    assert label(api_error="529", checks=(check(11, False),)) == ("fail", "low")
    assert label(api_error="529") == ("uncertain", "low")
    assert label(api_error="529", calls=0, edits=0, last_edit=-1) == ("fail", "low")
    assert label(interrupted=True, approval=Mark(11, "thanks"))[0] != "success"


def test_only_the_agents_words_are_uncertain() -> None:
    verdict = judge(Evidence(last_words="Everything is implemented and done."))
    assert (verdict.outcome, verdict.confidence) == ("uncertain", "low")
    assert verdict.grounds == ("only the agent says that it is done",)
    assert judge(Evidence()).grounds == ()


def test_a_plan_half_done_is_partial() -> None:
    assert label(open_items=2, done_items=3) == ("partial", "low")
    assert label(open_items=2) == ("uncertain", "low")


@pytest.mark.parametrize(
    ("tells", "text", "exit_code", "is_error", "expected"),
    [
        (True, "", 0, False, True),
        (True, "3 passed", 1, True, False),
        (True, "", None, True, False),
        (True, "fine", None, False, True),
        (True, "2 failed, 3 passed", None, False, False),
        (False, "2 failed, 3 passed", 0, False, False),
        (False, "12 passed in 3s", 0, False, True),
        (False, "12 passed, 0 failed", 1, True, True),
        (False, "ok  \tgithub.com/a/b\t0.3s", 0, False, True),
        (False, "--- FAIL: TestX\nFAIL", 0, False, False),
        (False, "src/a.ts(1,2): error TS7006: no", 0, False, False),
        (False, "nothing to see", 0, False, None),
        (False, "", 0, False, None),
        (True, "Command running in background with ID: b1", 0, False, None),
        (True, "Process running with session ID 7", None, False, None),
        (False, " 0 fail\n 12 pass\n", 0, False, True),
        (False, "test result: ok. 5 passed; 0 failed", 0, False, True),
        (False, "[Routes] error: provoked\n 1329 pass\n 0 fail\n", 0, False, True),
        (False, "bash: pytest: command not found", 0, False, False),
        (False, "\x1b[31m2 failed\x1b[0m", 0, False, False),
    ],
)
def test_a_check_is_read_from_its_exit_or_where_that_is_lost_from_its_output(
    tells: bool, text: str, exit_code: int | None, is_error: bool, expected: bool | None
) -> None:
    assert check_passed(Check(("test",), tells), text, exit_code, is_error) is expected


marks = st.none() | st.builds(Mark, st.integers(0, 20), st.just("word"))
checks = st.lists(st.builds(check, st.integers(0, 20), st.booleans()), max_size=3).map(tuple)


@given(
    st.builds(
        Evidence,
        edits=st.integers(0, 3),
        last_edit=st.integers(-1, 20),
        approval=marks,
        rejection=marks,
        checks=checks,
        interrupted=st.booleans(),
        api_error=st.none() | st.just("overloaded"),
    )
)
def test_success_always_rests_on_approval_or_a_passing_check(evidence: Evidence) -> None:
    verdict = judge(evidence)
    assert verdict.outcome in ("success", "partial", "fail", "uncertain")
    assert not any(re.search(r"\bpos\b|\bseq\b", ground) for ground in verdict.grounds)
    if verdict.outcome == "success":
        assert not evidence.interrupted
        assert evidence.approval is not None or any(run.passed for run in evidence.checks)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("(Bash completed with no output)", True),
        ("$ tsc --noEmit\n", True),
        ("Checked 286 files in 88ms. No fixes applied.", True),
        ("5 issues:\n* goconst: 5", False),
        ("a/b.go:3:7: cannot use x as y", False),
        ("something was said", None),
    ],
)
def test_compilers_and_linters_are_content_when_silent(text: str, expected: bool | None) -> None:
    assert check_passed(Check(("build", "lint"), False), text, 0, False) is expected
