"""What a session shows to be open when it ends: a failing check, a branch, a call without a result.

Only what the log proves. What agents say they might do next is not in here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.core.commands import normalized
from session_memory.core.schema import ObservationType
from session_memory.core.text.masks import error_line, excerpt
from session_memory.distil.attempts import Attempt
from session_memory.distil.git_state import left_on_branch
from session_memory.distil.session_logs import SessionEnd
from session_memory.distil.work import CheckResult, Work, ships

_COMMAND_CHARS = 120
_LINE_CHARS = 240
_CUT_CHARS = 60


class OpenEnd(msgspec.Struct, frozen=True):
    """One thing left open, and the call that shows it."""

    type: ObservationType
    text: str
    seq: int


def left_open(attempts: Sequence[Attempt], end: SessionEnd) -> list[OpenEnd]:
    """Everything the calls of a session leave open, in the order of importance."""
    failing = _failing_check(end.work)
    ends = [_blocker(attempts, failing)] if failing is not None else []
    state = end.git
    branch = left_on_branch(state)
    if branch and state is not None:
        ends.append(OpenEnd("pending_item", branch, state.committed_seq))
    last = attempts[-1] if attempts else None
    if last is not None and last.command and last.result_pos is None and ships(last):
        where = f"Branch `{state.branch}`: result" if state and state.branch else "Result"
        text = f"{where} not known of `{excerpt(last.command, _CUT_CHARS)}`"
        ends.append(OpenEnd("pending_item", text, last.seq))
    return ends


def _failing_check(work: Work) -> CheckResult | None:
    """A check that failed, and was neither passed, nor worked on, nor overridden by shipping."""
    since = max(work.last_shipped, work.last_code_edit)
    failed = [check for check in work.checks if not check.passed and check.pos > since]
    return failed[-1] if failed else None


def _blocker(attempts: Sequence[Attempt], check: CheckResult) -> OpenEnd:
    attempt = next(attempt for attempt in reversed(attempts) if attempt.pos == check.pos)
    whole = attempt.output.partition("\n")[2] if attempt.is_cut else attempt.output
    line = excerpt(error_line(whole), _LINE_CHARS)
    text = f"`{_shown(check.command)}` fails"
    return OpenEnd("blocker", f"{text}: {line}" if line else text, attempt.seq)


def _shown(command: str) -> str:
    return excerpt(normalized(command) or command, _COMMAND_CHARS)
