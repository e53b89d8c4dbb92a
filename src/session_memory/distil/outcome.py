"""How a session ended: the user's word first, then verification, then what was done.

Most sessions do what was asked, and few end with a check or a word of thanks. So a session in which
something was done and nothing speaks against it counts as a success, with low confidence and marked
as inferred; whoever needs proof looks at `basis`.
"""

from __future__ import annotations

import re

import msgspec

from session_memory.core.commands import normalized
from session_memory.core.digest import Verdict
from session_memory.core.schema import Confidence, Ended, Outcome, Task
from session_memory.core.text.masks import excerpt
from session_memory.distil.prompts import Approval
from session_memory.distil.work import CheckResult, Work
from session_memory.regex_cache import compiled

_QUOTE_CHARS = 80
_CLAIMS = compiled(
    # In lower case, as the text then is.
    r"\b(?:done|completed?|fixed|implemented|finished|all set|successfully|is ready"
    r"|are in place|now works?"
    r"|pushed|committed|merged|resolved)\b"
)
_CLAIM_CUES = (
    *("done", "complete", "fixed", "implemented", "finished", "all set", "successfully"),
    *("is ready", "are in place", "now work", "pushed", "committed", "merged", "resolved"),
)


_ADMITS = compiled(
    r"\bI (?:could(?:n't| not)|was(?:n't| not) able to|did(?:n't| not)) (?:yet )?(?:finish|complete"
    r"|verify|test|run|fix|reproduce|get)\b"
    r"|\b(?:is|are) (?:not (?:yet )?(?:done|finished|complete|implemented|fixed|verified|pushed)"
    r"|still (?:failing|broken|open|pending|red))\b",
    re.I,
)


class Mark(msgspec.Struct, frozen=True):
    """A verdict of the user: where in the session, and in which words."""

    pos: int
    quote: str
    strength: Approval = "explicit"


class Evidence(msgspec.Struct, frozen=True):
    """Everything a verdict rests on. Positions order things; they never appear in the grounds."""

    work: Work = Work()
    approval: Mark | None = None
    rejection: Mark | None = None
    last_prompt: int = -1
    last_answer: int = -1
    stopped: bool = False
    """The user's last words end what was under way."""
    complaint: Mark | None = None
    """The user's last words correct what was done."""
    unanswered: bool = False
    """The last thing in the log is a request."""
    interrupted: bool = False
    """The last thing that happened was the user stopping the agent."""
    api_error: str | None = None
    """The session ended in this error of the service."""
    open_items: int = 0
    done_items: int = 0
    last_words: str = ""


def claims_completion(text: str) -> bool:
    """Whether the agent's last words say that it is done."""
    end = text[-600:].lower()
    return any(map(end.__contains__, _CLAIM_CUES)) and _CLAIMS.search(end) is not None


def judge(evidence: Evidence) -> Verdict:
    """The verdict on a whole session."""
    task, ended = _task(evidence), _ended(evidence)
    verdict = _verdict(evidence, task)
    return msgspec.structs.replace(verdict, task=task, ended=ended)


def _task(evidence: Evidence) -> Task:
    if evidence.work.last >= 0:
        return "work"
    return "question" if evidence.last_answer >= 0 else "none"


def _ended(evidence: Evidence) -> Ended:
    if evidence.interrupted or evidence.stopped:
        return "interrupted"
    return "cut off" if evidence.work.cut_off or evidence.api_error is not None else "finished"


def _verdict(evidence: Evidence, task: Task) -> Verdict:
    spoken = _by_user(evidence)
    if spoken is not None:
        return spoken
    if evidence.interrupted or evidence.stopped or evidence.api_error is not None:
        return _broken_off(evidence)
    if evidence.unanswered and task == "work":
        return Verdict("partial", "low", ("the last request was not answered",))
    if evidence.work.cut_off and evidence.complaint is not None:
        quote = _quote(evidence.complaint.quote)
        return Verdict("partial", "low", (f'the log ends before an answer to: "{quote}"',))
    if task != "work" and not evidence.work.checks:
        return _answered(evidence)
    return _by_checks(evidence) or _by_deeds(evidence)


def _by_user(evidence: Evidence) -> Verdict | None:
    work, approval, rejection = evidence.work, evidence.approval, evidence.rejection
    failing, passing = _fresh(work, passed=False), _fresh(work, passed=True)
    if rejection is not None and rejection.pos > max(work.last_edit, _pos(approval)):
        grounds = (f'user rejected the result: "{_quote(rejection.quote)}"',)
        later = [check for check in passing if check.pos > rejection.pos]
        if later:
            return _said("uncertain", "medium", (*grounds, _passed_text(later[-1])))
        if work.last_shipped >= 0:
            return _said("partial", "low", (*grounds, "earlier work was shipped"))
        return _said("fail", "medium" if passing else "high", grounds)
    if approval is None or approval.pos <= max(work.last_edit, _pos(rejection)):
        return None
    if evidence.interrupted:
        return None  # stopped after the approval: that was about something else
    word = "approved" if approval.strength == "explicit" else "asked to ship"
    grounds = (f'user {word} the result: "{_quote(approval.quote)}"',)
    if failing:
        return _said("uncertain", "medium", (*grounds, _failed_text(failing[-1])))
    if passing:
        verdict = _said("success", "high", (*grounds, _passed_text(passing[-1])))
        return msgspec.structs.replace(verdict, basis="verified")
    return _said("success", "medium" if approval.strength == "explicit" else "low", grounds)


def _said(outcome: Outcome, confidence: Confidence, grounds: tuple[str, ...]) -> Verdict:
    return Verdict(outcome, confidence, grounds, "said by the user")


def _by_checks(evidence: Evidence) -> Verdict | None:
    work = evidence.work
    if not work.checks:
        return None
    failing, passing = _fresh(work, passed=False), _fresh(work, passed=True)
    if failing:
        return _by_failing(work, failing, passing)
    if passing:
        return Verdict("success", _trust(work, passing), (_passed_text(passing[-1]),), "verified")
    return None


def _by_failing(work: Work, failing: list[CheckResult], passing: list[CheckResult]) -> Verdict:
    grounds = tuple(_failed_text(check) for check in failing)
    if work.last_shipped > failing[-1].pos:
        return Verdict("success", "low", (*grounds, "shipped after that"))
    earlier = passing or [check for check in work.checks if check.passed]
    if earlier:
        return Verdict("partial", "medium", (*grounds, _passed_text(earlier[-1])), "verified")
    if work.last_edit < 0:
        return Verdict("uncertain", "low", (*grounds, "nothing was changed"))
    confidence: Confidence = "high" if failing[-1].exit is not None else "medium"
    return Verdict("fail", confidence, grounds, "verified")


def _fresh(work: Work, *, passed: bool) -> list[CheckResult]:
    """Results that still hold: no code was edited since."""
    return [c for c in work.checks if c.pos > work.last_code_edit and c.passed is passed]


def _trust(work: Work, passing: list[CheckResult]) -> Confidence:
    """Tests and builds say more than linters, an exit code more than words in the output."""
    strong = [check for check in passing if check.kind in ("test", "build")]
    if not strong:
        return "low"
    edited = work.last_edit >= 0
    return "high" if edited and any(check.exit == 0 for check in strong) else "medium"


def _broken_off(evidence: Evidence) -> Verdict:
    """Cut short: partial where something was done, and otherwise nobody can say."""
    ground = (
        "interrupted by the user at the end"
        if evidence.interrupted or evidence.stopped
        else f"ended in an API error: {_quote(evidence.api_error or '')}"
    )
    work = evidence.work
    failing = _fresh(work, passed=False)
    if failing and not _fresh(work, passed=True) and work.last_edit >= 0:
        return Verdict("fail", "low", (ground, _failed_text(failing[-1])))
    if work.last >= 0:
        return Verdict(
            "partial", "low", (ground, *map(_passed_text, _fresh(work, passed=True)[-1:]))
        )
    if _gave_its_answer(evidence):
        return Verdict("success", "low", (ground, "the question was answered"))
    if evidence.api_error is not None and not evidence.interrupted and evidence.last_answer < 0:
        return Verdict("fail", "low", (ground, "no work was done"))
    return Verdict("uncertain", "low", (ground,))


def _gave_its_answer(evidence: Evidence) -> bool:
    """Whether the last words are an answer, and not a remark on the way to the next call."""
    said = evidence.last_answer
    return (
        said > max(evidence.last_prompt, evidence.work.last_call) and len(evidence.last_words) > 200
    )


def _answered(evidence: Evidence) -> Verdict:
    """A question: answered, as far as anybody can see."""
    if evidence.last_answer < 0:
        return Verdict("uncertain", "low")
    return Verdict("success", "low", ("the question was answered",))


def _by_deeds(evidence: Evidence) -> Verdict:
    """Something was done, and nothing says whether it was right."""
    work = evidence.work
    grounds: list[str] = []
    if evidence.rejection is not None:
        grounds.append(f'user rejected an earlier state: "{_quote(evidence.rejection.quote)}"')
    if work.checks:
        grounds.append(
            _passed_text(work.checks[-1])
            if work.checks[-1].passed
            else _failed_text(work.checks[-1])
        )
        grounds.append("edited after the last verification")
    if evidence.done_items and evidence.open_items:
        total = evidence.open_items + evidence.done_items
        grounds.append(f"plan left open: {evidence.done_items} of {total} items done")
        return Verdict("partial", "low", tuple(grounds))
    admits = _ADMITS.search(evidence.last_words)
    if admits is not None:
        grounds.append(f'the agent says: "{_quote(admits[0])}"')
        return Verdict("partial", "low", tuple(grounds))
    if work.last_shipped >= 0:
        grounds.append("committed, pushed or published")
    elif work.last_edit >= 0:
        grounds.append("changes were neither verified nor approved")
    if claims_completion(evidence.last_words):
        grounds.append("the agent says that it is done")
    return Verdict("success", "low", tuple(grounds) or ("something was done, nobody objected",))


def _pos(mark: Mark | None) -> int:
    return -1 if mark is None else mark.pos


def _quote(text: str) -> str:
    return excerpt(text, _QUOTE_CHARS)


def _passed_text(check: CheckResult) -> str:
    return f"verification passed last: {_named(check)} ({_how(check)})"


def _failed_text(check: CheckResult) -> str:
    return f"verification failed last: {_named(check)} ({_how(check)})"


def _named(check: CheckResult) -> str:
    return _quote(normalized(check.command) or check.command)


def _how(check: CheckResult) -> str:
    return "by its output" if check.exit is None else f"exit {check.exit}"
