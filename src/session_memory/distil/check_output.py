"""Whether a verification passed, by its exit code or else by what it printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from session_memory.core.text.masks import window, without_colour
from session_memory.distil.checks import Check
from session_memory.regex_cache import compiled

# A summary outranks what tests print on their way: they provoke errors on purpose.
# Alternatives with the same beginning are grouped: most places are then tried once, not ten times.
_FAILED = compiled(
    r"\b(?:[1-9]\d* (?:tests? |specs? |checks? )?(?:failed|failures?|failing|errors?|fail)\b"
    r"|(?:failed|failures|errors|fail)[:=] ?[1-9]|B(?:UILD|uild) (?:FAILED|failed)\b"
    r"|error(?:\[E\d+\]| TS\d+| CS\d+): |npm ERR!)"
    r"|^(?:[1-9]\d* issues?\b|(?:FAIL|FAILED|--- FAIL|✗|✖)(?:\b|$)|make(?:\[\d+\])?: \*\*\*"
    r"|panic: |\s*× Some errors)"
    r"|(?<![A-Za-z])(?:exit|EXIT|exit code|exited with code)[ :=]{1,2}[1-9]\d*\b|ELIFECYCLE",
    re.M,
)
# Each failure has one of these, in lower case.
_FAILED_CUES = ("fail", "error", "err!", "issue", "✗", "✖", "***", "panic: ", "exit", "elifecycle")
# Searched for in lower-case text.
_PASSED = compiled(
    r"\b(?:[1-9]\d* (?:tests? |specs? )?(?:passed|passing|pass)\b|all (?:checks|tests) passed"
    r"|0 (?:errors?|failures?|fail|failed|problems|issues)\b|no (?:issues|errors|problems) found"
    r"|built in\b)|^(?:ok\s+\S|pass\b|ok\b|\s*finished `?\w+)|(?<![a-z])exit[ :=]{1,2}0\b",
    re.M,
)
_PASSED_CUES = ("pass", "0 ", "no ", "built in", "ok", "finished", "exit")
_SUCCESS = (
    *("build success", "test result: ok", "success: no issues", "build_ok"),
    *("compiled successfully", "no fixes applied"),
)
_TROUBLE = compiled(r"\berror: |^\S+\.\w+:\d+:\d+: ", re.M)
_TROUBLES = ("Traceback (most recent", "command not found", "No such file or directory")
_ECHO = compiled(r"^(?:[$>] .*|\(?Bash completed with no output\)?|\s*)$", re.M)
_STILL_RUNNING = compiled(
    r"Process running with session ID|[Rr]unning in (?:the )?background|moved to the background"
)


def _having(cues: tuple[str, ...], lowered: list[str], lines: list[str]) -> Iterator[str]:
    """The lines that have a cue: no summary goes on after the end of its line."""
    for low, line in zip(lowered, lines, strict=True):
        if any(map(low.__contains__, cues)):
            yield line


@lru_cache(maxsize=2)  # attempts and runs both ask about the same output
def check_passed(check: Check, text: str, exit_code: int | None, is_error: bool) -> bool | None:
    """Whether a verification passed; None where the log does not show it (background, cut)."""
    head = text[:400]
    if ("unning " in head or "moved to" in head) and _STILL_RUNNING.search(head):
        return None
    if check.exit_tells and (exit_code is not None or is_error):
        return exit_code == 0 if exit_code is not None else False
    seen = without_colour(window(text))
    lowered = seen.lower()
    lines = lowered.split("\n")
    if any(map(_FAILED.search, _having(_FAILED_CUES, lines, seen.split("\n")))):
        return False
    if any(map(lowered.__contains__, _SUCCESS)):
        return True
    if any(map(_PASSED.search, _having(_PASSED_CUES, lines, lines))):
        return True
    if any(map(seen.__contains__, _TROUBLES)) or _TROUBLE.search(seen):
        return False
    # Compilers and linters print nothing when all is well; tests always do.
    silent = "test" not in check.kinds and not is_error and not _ECHO.sub("", seen).strip()
    # Without an exit code a log that marks errors says "passed" by not marking one.
    return True if check.exit_tells or silent else None
