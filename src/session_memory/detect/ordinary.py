"""Failures that are part of ordinary work: a search that finds nothing, a merge conflict."""

from __future__ import annotations

import re
from functools import lru_cache

from session_memory.regex_cache import compiled

# Commands that ask a question: exit code 1 is an answer.
_QUERIES = (
    *("git status", "git diff", "git log", "git show", "git branch", "git rev-parse", "git grep"),
    *("git ls-files", "git ls-tree", "git ls-remote", "git check-ignore", "git merge-base"),
    *("git cat-file", "git config", "git show-ref", "git describe", "git blame", "git rev-list"),
    *("gh pr view", "gh pr checks", "gh pr status", "gh pr list", "gh pr diff", "gh issue view"),
    *("gh issue list", "gh run view", "gh run list", "gh run watch", "npm ls", "npm view"),
    *("npm outdated", "pip show", "pip list", "docker ps", "docker inspect", "docker logs"),
    *("kubectl get", "kubectl describe", "kubectl logs", "tmux has-session", "pgrep", "lsof"),
)
# Commands that stop at a conflict by design.
_STOP_AT_CONFLICT = (
    "git rebase",
    "git merge",
    "git cherry-pick",
    "git revert",
    "git am",
    "git stash pop",
)
_FOUND_NOTHING = compiled(
    r"(?:\S*/)?(?:ls|cat|head|tail|less|[ef]?grep|rg|find|fd|sed|awk|wc|stat|file|tree|diff|du|nl"
    r"|bat|sort|jq|realpath|readlink): "
    r".*(?:no such file|cannot access|can't read|(?:is|not) a directory)"
    r"|(?:Get-\w+|Select-String|Resolve-Path)\b.*cannot find path"
    r"|(?:error: )?(?:file|path|directory) does not exist"
    r"|fatal: (?:ambiguous argument|bad revision|invalid object name|needed a single revision"
    r"|path .* does not exist)",
    re.I,
)
# Most errors have none of these words; the regular expression can then be skipped.
_HINTS = ("no such file", "cannot", "can't read", "a directory", "does not exist", "fatal: ")
_SHORT = 20
_SAYS_NOTHING = compiled(r"\W*(?:unknown |an )?(?:errors?|failed|failure)\W*$", re.I)


@lru_cache(maxsize=4096)
def is_ordinary_command(locus: str) -> bool:
    """Whether a failure of this command is part of ordinary work."""
    steps = locus.split(" && ")
    return _is_any_of(steps[-1], _STOP_AT_CONFLICT) or all(
        _is_any_of(step, _QUERIES) for step in steps
    )


def _is_any_of(step: str, names: tuple[str, ...]) -> bool:
    return step.startswith(names) and step.removesuffix(" <args>") in names


def is_ordinary_error(text: str) -> bool:
    """Whether an error only says that something was not found, or nothing at all."""
    if len(text) < _SHORT and _SAYS_NOTHING.match(text):
        return True
    hinted = any(map(text.lower().__contains__, _HINTS))
    return hinted and _FOUND_NOTHING.match(text) is not None
