"""How a session ended, judged from evidence: approval or verification, never a mere claim."""

from __future__ import annotations

import re

import msgspec

from session_memory.core.commands import normalized
from session_memory.core.digest import Verdict
from session_memory.core.schema import Confidence
from session_memory.core.text.masks import excerpt, window, without_colour
from session_memory.distil.checks import Check, CheckKind
from session_memory.distil.prompts import Approval

_QUOTE_CHARS = 80

# A summary outranks what tests print on their way: they provoke errors on purpose.
# What begins with a word or a line stands together: one question at most places of a text, not ten.
_FAILED = re.compile(
    r"\b(?:[1-9]\d* (?:tests? |specs? |checks? )?(?:failed|failures?|failing|errors?|fail)\b"
    r"|(?:failed|failures|errors|fail)[:=] ?[1-9]|B(?:UILD|uild) (?:FAILED|failed)\b"
    r"|error(?:\[E\d+\]| TS\d+| CS\d+): |npm ERR!)"
    r"|^(?:[1-9]\d* issues?\b|(?:FAIL|FAILED|--- FAIL|✗|✖)(?:\b|$)|make(?:\[\d+\])?: \*\*\*"
    r"|panic: |\s*× Some errors)"
    r"|(?<![A-Za-z])(?:exit|EXIT|exit code|exited with code)[ :=]{1,2}[1-9]\d*\b|ELIFECYCLE",
    re.M,
)
# In lower case, as the text then is.
_PASSED = re.compile(
    r"\b(?:[1-9]\d* (?:tests? |specs? )?(?:passed|passing|pass)\b|all (?:checks|tests) passed"
    r"|0 (?:errors?|failures?|fail|failed|problems|issues)\b|no (?:issues|errors|problems) found"
    r"|built in\b)|^(?:ok\s+\S|pass\b|ok\b|\s*finished `?\w+)|(?<![a-z])exit[ :=]{1,2}0\b",
    re.M,
)
_CONTENT = (
    *("build success", "test result: ok", "success: no issues", "build_ok"),
    *("compiled successfully", "no fixes applied"),
)
_TROUBLE = re.compile(r"\berror: |^\S+\.\w+:\d+:\d+: ", re.M)
_TROUBLES = ("Traceback (most recent", "command not found", "No such file or directory")
_ECHO = re.compile(r"^(?:[$>] .*|\(?Bash completed with no output\)?|\s*)$", re.M)
_STILL_RUNNING = re.compile(
    r"Process running with session ID|[Rr]unning in (?:the )?background|moved to the background"
)
_CLAIMS = re.compile(
    r"\b(?:done|completed?|fixed|implemented|finished|all set|successfully|is ready"
    r"|are in place|now works?"
    r"|pushed|committed|merged|resolved)\b",
    re.I,
)


class Mark(msgspec.Struct, frozen=True):
    """A verdict of the user: where in the session, and in which words."""

    pos: int
    quote: str
    strength: Approval = "explicit"


class CheckRun(msgspec.Struct, frozen=True):
    """The last known result of one kind of verification."""

    pos: int
    kind: CheckKind
    passed: bool
    command: str
    exit: int | None = None


class Evidence(msgspec.Struct, frozen=True):
    """Everything a verdict is based on. Positions only order things; grounds never show them."""

    edits: int = 0
    last_edit: int = -1
    calls: int = 0
    approval: Mark | None = None
    rejection: Mark | None = None
    checks: tuple[CheckRun, ...] = ()
    """Last result per kind, in order of position."""
    interrupted: bool = False
    """The last thing that happened was the user stopping the agent."""
    api_error: str | None = None
    """The session ended in this error of the service."""
    open_items: int = 0
    done_items: int = 0
    last_words: str = ""


def check_passed(check: Check, text: str, exit_code: int | None, is_error: bool) -> bool | None:
    """Whether a verification passed; None if the log does not show it (background, cut output)."""
    if _STILL_RUNNING.search(text, 0, 400):
        return None
    if check.exit_tells and (exit_code is not None or is_error):
        return exit_code == 0 if exit_code is not None else False
    seen = without_colour(window(text))
    if _FAILED.search(seen):
        return False
    lowered = seen.lower()
    if any(words in lowered for words in _CONTENT) or _PASSED.search(lowered):
        return True
    if any(words in seen for words in _TROUBLES) or _TROUBLE.search(seen):
        return False
    # Compilers and linters print nothing when they pass; tests always print something.
    silent = "test" not in check.kinds and not is_error and not _ECHO.sub("", seen).strip()
    # Without an exit code a log that marks errors says "passed" by not marking one.
    return True if check.exit_tells or silent else None


def claims_completion(text: str) -> bool:
    """Whether the agent's last words say that it is done."""
    return _CLAIMS.search(text[-600:]) is not None


def judge(evidence: Evidence) -> Verdict:
    """The verdict: the user's word first, then verification, then how the session broke off."""
    spoken = _by_user(evidence)
    if spoken is not None:
        return spoken
    measured = _by_checks(evidence)
    if evidence.interrupted or evidence.api_error is not None:
        return _broken_off(evidence, measured)
    return measured or _unverified(evidence)


def _by_user(evidence: Evidence) -> Verdict | None:
    approval, rejection = evidence.approval, evidence.rejection
    fresh = [check for check in evidence.checks if check.pos > evidence.last_edit]
    failing = [check for check in fresh if not check.passed]
    passing = [check for check in fresh if check.passed]
    if rejection is not None and rejection.pos > max(evidence.last_edit, _pos(approval)):
        grounds = (f'user rejected the result: "{_quote(rejection.quote)}"',)
        later = [check for check in passing if check.pos > rejection.pos]
        if later:
            return Verdict("uncertain", "medium", (*grounds, _passed_text(later[-1])))
        return Verdict("fail", "medium" if passing else "high", grounds)
    if approval is None or approval.pos <= max(evidence.last_edit, _pos(rejection)):
        return None
    word = "approved" if approval.strength == "explicit" else "asked to ship"
    grounds = (f'user {word} the result: "{_quote(approval.quote)}"',)
    if evidence.interrupted:
        return None  # stopped after the approval: that was about something else
    if failing:
        return Verdict("uncertain", "medium", (*grounds, _failed_text(failing[-1])))
    if passing:
        return Verdict("success", "high", (*grounds, _passed_text(passing[-1])))
    return Verdict("success", "medium" if approval.strength == "explicit" else "low", grounds)


def _by_checks(evidence: Evidence) -> Verdict | None:
    if not evidence.checks:
        return None
    fresh = [check for check in evidence.checks if check.pos > evidence.last_edit]
    stale = [check for check in evidence.checks if check.pos <= evidence.last_edit]
    failing = [check for check in fresh if not check.passed]
    passing = [check for check in fresh if check.passed]
    if failing:
        grounds = tuple(_failed_text(check) for check in failing)
        if passing or any(check.passed for check in stale):
            best = (passing or [check for check in stale if check.passed])[-1]
            return Verdict("partial", "medium", (*grounds, _passed_text(best)))
        if not evidence.edits:
            return Verdict("uncertain", "low", (*grounds, "nothing was changed"))
        return Verdict("fail", "high" if failing[-1].exit is not None else "medium", grounds)
    unsettled = [check for check in stale if not check.passed]
    if passing:
        grounds = (_passed_text(passing[-1]),)
        if unsettled:
            return Verdict(
                "partial", "medium", (*grounds, f"not run again: {_named(unsettled[-1])}")
            )
        return Verdict("success", _trust(evidence, passing), grounds)
    last = stale[-1]
    grounds = (_passed_text(last) if last.passed else _failed_text(last),)
    confidence: Confidence = "medium" if last.passed else "low"
    return Verdict("partial", confidence, (*grounds, "edited after the last verification"))


def _trust(evidence: Evidence, passing: list[CheckRun]) -> Confidence:
    """Tests and builds say more than linters, an exit code more than words in the output."""
    strong = [check for check in passing if check.kind in ("test", "build")]
    if not strong:
        return "low"
    return "high" if evidence.edits and any(check.exit == 0 for check in strong) else "medium"


def _broken_off(evidence: Evidence, measured: Verdict | None) -> Verdict:
    """Cut short, so at best partial: whatever was verified, the user or the service ended it."""
    ground = (
        "interrupted by the user at the end"
        if evidence.interrupted
        else f"ended in an API error: {_quote(evidence.api_error or '')}"
    )
    if measured is not None and measured.outcome == "fail":
        return Verdict("fail", "low", (ground, *measured.grounds))
    if measured is not None and measured.outcome in ("success", "partial") and evidence.edits:
        return Verdict("partial", "low", (ground, *measured.grounds))
    if evidence.api_error is not None and not evidence.interrupted and not evidence.calls:
        return Verdict("fail", "low", (ground, "no work was done"))
    return Verdict("uncertain", "low", (ground,))


def _unverified(evidence: Evidence) -> Verdict:
    grounds: list[str] = []
    if evidence.rejection is not None:
        grounds.append(f'user rejected an earlier state: "{_quote(evidence.rejection.quote)}"')
    if evidence.edits:
        grounds.append("changes were neither verified nor approved")
    if evidence.done_items and evidence.open_items:
        total = evidence.open_items + evidence.done_items
        grounds.append(f"plan left open: {evidence.done_items} of {total} items done")
        return Verdict("partial", "low", tuple(grounds))
    if claims_completion(evidence.last_words):
        grounds.append("only the agent says that it is done")
    return Verdict("uncertain", "low", tuple(grounds))


def _pos(mark: Mark | None) -> int:
    return -1 if mark is None else mark.pos


def _quote(text: str) -> str:
    return excerpt(text, _QUOTE_CHARS)


def _passed_text(check: CheckRun) -> str:
    return f"verification passed last: {_named(check)} ({_how(check)})"


def _failed_text(check: CheckRun) -> str:
    return f"verification failed last: {_named(check)} ({_how(check)})"


def _named(check: CheckRun) -> str:
    return _quote(normalized(check.command) or check.command)


def _how(check: CheckRun) -> str:
    return "by its output" if check.exit is None else f"exit {check.exit}"
