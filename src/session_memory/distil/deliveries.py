"""Commands that show that work arrived: committed, pushed, published, or answering where it runs.

They are not checks of a project, but where there is no test they are what verified the work.
"""

from __future__ import annotations

from functools import lru_cache

from session_memory.core.commands import Step, steps, words
from session_memory.distil.cued_patterns import lines_with
from session_memory.regex_cache import compiled

_PUBLISHERS = words("npm pnpm yarn bun cargo twine poetry uv hatch gem")
_DEPLOYERS = words("vercel fly flyctl netlify wrangler firebase railway")
_VERBS = {
    "git": words("commit push"),
    "docker": words("push"),
    "helm": words("upgrade install"),
    "kubectl": words("apply rollout"),
    "terraform": words("apply"),
    **dict.fromkeys(_PUBLISHERS, words("publish")),
    **dict.fromkeys(_DEPLOYERS, words("deploy publish --prod")),
}
_GH = frozenset(
    (
        *(("pr", "create"), ("pr", "merge"), ("pr", "checks"), ("run", "watch")),
        *(("workflow", "run"), ("release", "create")),
    )
)
_SENDS = words("PUT PATCH POST DELETE")
_ASKS_STATUS = compiled(r"-[a-zA-Z]*[If]$|--(?:head|fail)$|.*http_code")
_HINT_WORDS = (
    *("commit", "push", "publish", "deploy", "prod", "apply", "rollout", "upgrade", "gh", "curl"),
)
_HINTS = compiled(rf"\b(?:{'|'.join(_HINT_WORDS)})\b")
_ASKS_ONLY = words("--help -h --dry-run --abort")
# A pipe hides the exit code; these begin the line in which git and others refuse.
_REFUSES = compiled(r"\s*(?:! \[(?:remote )?rejected\]|error: |fatal: |npm (?:ERR!|error))")

_REFUSAL_CUES = ("rejected]", "error: ", "fatal: ", "npm ERR!", "npm error")


@lru_cache(maxsize=1024)
def delivers(command: str) -> bool:
    """Whether a command delivers work, or asks whether what was delivered is there."""
    if not any(map(command.__contains__, _HINT_WORDS)) or not _HINTS.search(command):
        return False
    return any(map(_delivers, steps(command)))


def was_refused(command: str, output: str) -> bool:
    """Whether the output says so where a pipe hides the exit code."""
    if not any(map(_REFUSES.match, lines_with(_REFUSAL_CUES, output))):
        return False
    return any(step.hides_exit for step in steps(command) if _delivers(step))


def _delivers(step: Step) -> bool:
    if not _ASKS_ONLY.isdisjoint(step.words):
        return False
    program = step.program.split("@")[0]
    plain = [word for word in step.words if not word.startswith("-")]
    if program == "gh":
        sends = plain[:1] == ["api"] and not _SENDS.isdisjoint(step.words)
        return sends or tuple(plain[:2]) in _GH
    if program == "curl":
        return any(map(_ASKS_STATUS.match, step.words))
    verbs = _VERBS.get(program, frozenset())
    return not verbs.isdisjoint((*plain[:2], *(word for word in step.words if word == "--prod")))
