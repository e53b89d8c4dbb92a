"""What git and servers say of the repository or the machine and that outlives the session."""

from __future__ import annotations

import re
from collections.abc import Iterable

from session_memory.core.commands import reads_only, steps
from session_memory.core.digest import MAX_NOTICES
from session_memory.core.schema import Notice, NoticeKind
from session_memory.distil.attempts import Attempt
from session_memory.regex_cache import compiled

_LIKELY_OF_SERVERS = ("in use", "EADDRINUSE")
_LIKELY = ("pull request", "protected branch", "is behind", "fetch first", *_LIKELY_OF_SERVERS)
# What hosts answer to a push to a branch that takes pull requests only. Where the push went
# through all the same, its owner is free to do so and the branch is no news.
_PROTECTED = compiled(
    r"Changes must be made through a pull request|protected branch (?:hook declined|update failed)"
)
_REFUSED = compiled(r"\[remote rejected\]|hook declined|update failed")
_REF = compiled(r"refs/heads/([\w./-]*\w)")
_BEHIND = compiled(
    r"^Your branch is behind '[^'/\s]+/([^'\s]+)'|\[rejected\]\s+\S+ -> (\S+) \(fetch first\)", re.M
)
_PORT_TAKEN = compiled(
    r"\bPort (\d{2,5}) is (?:already )?in use|EADDRINUSE\b[^\n]*:(\d{2,5})\b", re.I
)


def find_notices(attempts: Iterable[Attempt]) -> tuple[Notice, ...]:
    """Each notice once, with the event of its last output."""
    notices: dict[tuple[NoticeKind, str], Notice] = {}
    for attempt in attempts:
        if attempt.command is None:
            continue
        likely = _LIKELY if "git" in attempt.command else _LIKELY_OF_SERVERS
        if not any(map(attempt.output.__contains__, likely)):
            continue
        seq = attempt.result_seq or attempt.seq
        for kind, subject in _notices_in(attempt.command, attempt.output):
            notices[(kind, subject)] = Notice(kind, subject, seq)
    return tuple(notices.values())[:MAX_NOTICES]


def _notices_in(command: str, output: str) -> Iterable[tuple[NoticeKind, str]]:
    git = [step.words for step in steps(command) if step.program == "git"]
    if git:
        if any("push" in words for words in git) and _refused(output):
            for ref in _REF.findall(output):
                yield "pull requests only", ref
        for match in _BEHIND.finditer(output):
            yield "behind remote", match[1] or match[2]
    elif not reads_only(command):
        for match in _PORT_TAKEN.finditer(output):
            yield "port in use", match[1] or match[2]


def _refused(output: str) -> bool:
    return _PROTECTED.search(output) is not None and _REFUSED.search(output) is not None
