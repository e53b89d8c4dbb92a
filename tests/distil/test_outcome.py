"""How outcomes are judged: the user's word, then verification, then what was done."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.schema import Basis
from session_memory.distil.outcome import Evidence, Mark, Verdict, judge
from session_memory.distil.prompts import read_prompt, stops_work
from session_memory.distil.work import CheckResult, Work

EDITED = Work(first_edit=2, last_edit=10, last_code_edit=10, last_call=14)
ANSWERED = Evidence(last_prompt=0, last_answer=3, last_words="The parser reads lines. " * 10)


def check(pos: int, passed: bool, kind: str = "test", exit_code: int | None = -1) -> CheckResult:
    code = (0 if passed else 1) if exit_code == -1 else exit_code
    return CheckResult(pos, kind, passed, f"run {kind}", code)  # type: ignore[arg-type]


def verdict(*checks: CheckResult, work: Work = EDITED, **fields: object) -> Verdict:
    work = msgspec.structs.replace(work, checks=checks)
    return judge(Evidence(work=work, **fields))  # type: ignore[arg-type]


def label(*checks: CheckResult, work: Work = EDITED, **fields: object) -> tuple[str, str, Basis]:
    found = verdict(*checks, work=work, **fields)
    return found.outcome, found.confidence, found.basis


@pytest.mark.rows("DIG-01")
def test_verification_after_the_last_edit_is_success() -> None:
    assert label(check(11, True)) == ("success", "high", "verified")
    assert verdict(check(11, True)).grounds == ("verification passed last: run test (exit 0)",)
    assert label(check(11, True, exit_code=None)) == ("success", "medium", "verified")
    assert label(check(11, True, "lint")) == ("success", "low", "verified")


def test_code_edited_after_the_last_check_is_success_by_inference_only() -> None:
    found = verdict(check(9, True))
    assert (found.outcome, found.confidence, found.basis) == ("success", "low", "inferred")
    assert "edited after the last verification" in found.grounds


def test_failing_at_the_end_is_fail_or_partial_with_progress() -> None:
    assert label(check(11, False)) == ("fail", "high", "verified")
    assert label(check(11, False), check(12, True, "lint"))[:2] == ("partial", "medium")
    assert label(check(9, True, "build"), check(11, False))[:2] == ("partial", "medium")
    assert label(check(11, False), work=Work(last_act=3))[:2] == ("uncertain", "low")


def test_the_users_approval_is_success() -> None:
    said = "said by the user"
    assert label(approval=Mark(11, "works, thanks")) == ("success", "medium", said)
    assert label(approval=Mark(11, "ship it", "implied")) == ("success", "low", said)
    assert label(check(11, True), approval=Mark(12, "lgtm")) == ("success", "high", "verified")


def test_approval_before_the_last_edit_is_about_something_else() -> None:
    assert label(approval=Mark(9, "thanks"))[2] == "inferred"


def test_conflicting_evidence_is_uncertain() -> None:
    assert label(check(11, False), approval=Mark(12, "thanks"))[:2] == ("uncertain", "medium")
    assert label(check(12, True), rejection=Mark(11, "wrong"))[:2] == ("uncertain", "medium")


def test_rejection_at_the_end_is_fail() -> None:
    assert label(rejection=Mark(11, "doesn't work"))[:2] == ("fail", "high")
    assert label(check(11, True), rejection=Mark(12, "wrong"))[:2] == ("fail", "medium")
    assert label(rejection=Mark(13, "no"), approval=Mark(12, "thanks"))[0] == "fail"
    assert label(approval=Mark(13, "thanks"), rejection=Mark(12, "no"))[0] == "success"
    shipped = msgspec.structs.replace(EDITED, last_shipped=5)
    assert label(rejection=Mark(11, "wrong"), work=shipped)[0] == "partial"


def test_work_after_a_rejection_can_still_succeed() -> None:
    assert label(check(11, True), rejection=Mark(8, "wrong"))[:2] == ("success", "high")
    assert label(rejection=Mark(8, "wrong")) == ("success", "low", "inferred")


def test_a_session_broken_off_is_partial_where_something_was_done() -> None:
    found = verdict(interrupted=True)
    assert (found.outcome, found.ended) == ("partial", "interrupted")
    assert label(api_error="529") == ("partial", "low", "inferred")
    assert label(check(11, False), api_error="529")[:2] == ("fail", "low")
    assert label(interrupted=True, approval=Mark(11, "thanks"))[0] == "partial"


def test_a_session_stopped_before_anything_was_done_is_uncertain() -> None:
    found = verdict(work=Work(last_call=4), interrupted=True, last_prompt=0, last_answer=3)
    assert (found.outcome, found.task, found.ended) == ("uncertain", "question", "interrupted")
    assert label(work=Work(), api_error="529")[:2] == ("fail", "low")


@pytest.mark.rows("DIG-07")
def test_a_question_that_was_answered() -> None:
    found = judge(ANSWERED)
    assert (found.outcome, found.task, found.basis) == ("success", "question", "inferred")
    stopped = judge(msgspec.structs.replace(ANSWERED, interrupted=True))
    assert (stopped.outcome, stopped.ended) == ("success", "interrupted")


def test_nothing_at_all_is_uncertain_without_grounds() -> None:
    assert judge(Evidence()) == Verdict("uncertain", "low", task="none")


def test_a_log_that_ends_inside_a_call_is_cut_off_and_judged_by_what_was_done() -> None:
    cut = msgspec.structs.replace(EDITED, last_shipped=14, cut_off=True)
    found = verdict(work=cut)
    assert (found.outcome, found.ended, found.basis) == ("success", "cut off", "inferred")


def test_a_plan_half_done_is_partial() -> None:
    assert label(open_items=2, done_items=3) == ("partial", "low", "inferred")
    assert label(open_items=2)[0] == "success"


marks = st.none() | st.builds(Mark, st.integers(0, 20), st.just("word"))
checks = st.lists(st.builds(check, st.integers(0, 20), st.booleans()), max_size=3).map(tuple)
works = st.builds(
    Work,
    last_edit=st.integers(-1, 20),
    last_code_edit=st.integers(-1, 20),
    last_act=st.integers(-1, 20),
    last_shipped=st.integers(-1, 20),
    checks=checks,
)


@pytest.mark.rows("DIG-07")
@given(
    st.builds(
        Evidence,
        work=works,
        approval=marks,
        rejection=marks,
        interrupted=st.booleans(),
        api_error=st.none() | st.just("overloaded"),
        last_answer=st.integers(-1, 20),
    )
)
def test_only_what_a_check_or_the_user_says_is_called_so(evidence: Evidence) -> None:
    found = judge(evidence)
    assert found.outcome in ("success", "partial", "fail", "uncertain")
    assert not any(re.search(r"\bpos\b|\bseq\b", ground) for ground in found.grounds)
    if found.outcome == "success" and found.basis == "verified":
        assert any(run.passed for run in evidence.work.checks)
    if found.basis == "said by the user":
        assert evidence.approval is not None or evidence.rejection is not None
    if found.outcome == "success" and found.basis == "inferred":
        assert found.confidence == "low"


@pytest.mark.rows("DIG-07")
@pytest.mark.parametrize(
    ("words", "stops"),
    [
        ("are you testing it in a browser? you can stop. unnecessary", True),
        ("never mind", True),
        ("ok stop it please", True),
        ("stop the server on port 80", False),
        ("is it done?", False),
        ("stop, and add a test for the reader instead", False),
    ],
)
def test_a_prompt_that_only_ends_the_work_interrupts_it(words: str, stops: bool) -> None:
    assert stops_work(words) is stops
    found = verdict(check(11, True), stopped=stops)
    assert (found.outcome, found.ended) == (
        ("partial", "interrupted") if stops else ("success", "finished")
    )


@pytest.mark.rows("DIG-07")
def test_a_complaint_in_whose_answer_the_log_ends_makes_it_partial() -> None:
    complaint = Mark(12, "you didnt put the files with it")
    assert read_prompt(complaint.quote).corrects
    cut = msgspec.structs.replace(EDITED, cut_off=True)
    assert label(check(11, True), work=cut, complaint=complaint)[0] == "partial"
    assert label(check(11, True), complaint=complaint)[0] == "success"
    assert label(check(11, True), work=cut)[0] == "success"


@pytest.mark.rows("DIG-07")
def test_what_was_not_answered_or_not_finished_is_partial() -> None:
    assert label(check(11, True), unanswered=True)[0] == "partial"
    found = verdict(last_words="I could not run the tests here.")
    assert found.outcome == "partial"
    assert 'the agent says: "I could not run"' in found.grounds
    assert verdict(check(11, True), last_words="I could not run it.").outcome == "success"
