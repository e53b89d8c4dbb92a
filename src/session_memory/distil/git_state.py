"""Where a session left its branch: the last commit, whether it was pushed, its PR, a merge.

Read from what git and gh print, not from what an agent says about it. A wrapper such as `rtk`, or
`--quiet`, keeps git's own lines back: then a command that worked did what it says, and the subject
of a commit is the one it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.commands import steps
from session_memory.core.schema import GitState
from session_memory.core.text.masks import excerpt
from session_memory.distil.attempts import Attempt
from session_memory.distil.cued_patterns import lines_with
from session_memory.regex_cache import compiled

_SUBJECT_CHARS = 100
_NAME = r"[\w./#@+-]{1,120}"
_COMMITTED = compiled(rf"^\[({_NAME})(?: \([\w-]+\))? ([0-9a-f]{{7,40}})\] (.+)$", re.M)
_SWITCHED = compiled(
    rf"(?:Switched to (?:a new )?branch|Already on|\(new branch) '({_NAME})'"
    rf"|^On branch ({_NAME})$"
)
_SWITCHED_CUES = ("branch '", "On branch ", "Already on '")
"""Each line that the pattern finds has one of them."""
_SHORT_STATUS = compiled(
    rf"^(?:## ({_NAME}?)(?:\.\.\.\S+)?|\W{{1,3}} ({_NAME}?)\.\.\.[\w.-]+/\S+)(?: \[[^\]]*\])?$",
    re.M,
)
_MESSAGE = compiled(
    r"\bcommit\b[^\n]*?\s(?:-[A-Za-z]*m|--message)[ =]?"
    r"(?:[\"']?\$\(cat <<-?\s*['\"]?\w+['\"]?\n\s*([^\n]+)|\"([^\"\n$`]+)|'([^'\n]+))"
)
# In lower case, as the text then is.
_NOTHING_DONE = (
    *("nothing to commit", "nothing added to commit", "no changes added"),
    *("up-to-date", "up to date", "up-to date", "up to-date", "process running with session"),
)
_REFUSED = compiled(r"\brejected\b|^(?:error|fatal):", re.M)
_REFUSED_CUES = ("rejected", "error:", "fatal:")
_PUSHED = compiled(
    r"^[ *+=!]{1,3}\s*(?:(\[new branch\])|[0-9a-f]{6,}\.{2,3}[0-9a-f]{6,})\s+\S+ -> "
    rf"({_NAME})",
    re.M,
)
_PULL_REQUEST = compiled(r"https://[\w.-]+/[\w.-]+/[\w.-]+/(?:pull|merge_requests)/(\d+)")
_MERGED = compiled(r"\"state\": ?\"MERGED\"|^state:\s*MERGED", re.M)
_STOPPED = compiled(r"^CONFLICT \(|^error: could not apply ", re.M)
_STOPPED_CUES = ("CONFLICT (", "error: could not apply ")
_STOPPABLE = compiled(r"git\b(?<=\bgit).*\b(?:rebase|merge|cherry-pick|pull|commit)\b")
_STOPPABLE_VERBS = ("rebase", "merge", "cherry-pick", "pull", "commit")
MAIN_BRANCHES = frozenset(("main", "master", "trunk", "develop", "HEAD"))


def git_state(attempts: Sequence[Attempt]) -> GitState | None:
    """The state after the last command of a session; None where it did nothing with git."""
    state = GitState()
    for attempt in attempts:
        command = attempt.command
        if (
            command is not None
            and attempt.result_pos is not None
            and ("git" in command or "gh " in command)
        ):
            state = _after(state, command, attempt)
    return None if state == GitState() else state


def commit_subjects(attempt: Attempt) -> list[str]:
    """The first lines of the commits that a command made, as git prints them."""
    if attempt.command is None or "commit" not in attempt.command or not attempt.worked:
        return []
    output = _printed(attempt)
    made = [excerpt(commit[3], _SUBJECT_CHARS) for commit in _commits_in(output)]
    given = _unseen_commit(attempt.command, output) if not made else ""
    return [given] if given else made


def _commits_in(output: str) -> Iterable[re.Match[str]]:
    """Git's own lines about commits; each begins with a bracket."""
    return _COMMITTED.finditer(output) if output.startswith("[") or "\n[" in output else ()


def _runs_git(command: str, verb: str) -> bool:
    """Whether a command runs git with this verb, behind whatever wrapper, and for good."""
    return verb in command and any(
        step.program == "git" and _verb(step.words) == verb and "--dry-run" not in step.words
        for step in steps(command)
    )


def _verb(words: Sequence[str]) -> str:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("-C", "-c", "--git-dir", "--work-tree") else 1
    return words[at] if at < len(words) else ""


def _unseen_commit(command: str, output: str) -> str:
    """The subject of a commit that worked without git's own line about it; "" where none is."""
    if not _runs_git(command, "commit") or _did_nothing(output):
        return ""
    given = list(_MESSAGE.finditer(command))
    subject = next(filter(None, given[-1].groups()), "") if given else ""
    return excerpt(subject.strip(), _SUBJECT_CHARS)


def _did_nothing(output: str) -> bool:
    lowered = output.lower()
    if any(map(lowered.__contains__, _NOTHING_DONE)):
        return True
    may_refuse = any(map(lowered.__contains__, _REFUSED_CUES))
    return may_refuse and _REFUSED.search(lowered) is not None


def _printed(attempt: Attempt) -> str:
    return f"{attempt.head}\n{attempt.output}" if attempt.head else attempt.output


def _after(state: GitState, command: str, attempt: Attempt) -> GitState:
    output = _printed(attempt)
    for line in lines_with(_SWITCHED_CUES, output):
        for match in _SWITCHED.finditer(line):
            state = _on_branch(state, match[1] or match[2])
    if "git status" in command and (short := _SHORT_STATUS.search(output)):
        state = _on_branch(state, short[1] or short[2])
    if not attempt.failed and ("git commit" in command or _runs_git(command, "commit")):
        # What was known of an older commit does not hold for this one.
        state = msgspec.structs.replace(state, commit=None, subject="", pushed=False)
        if attempt.worked and (subject := _unseen_commit(command, output)):
            state = msgspec.structs.replace(
                state, subject=subject, committed_seq=attempt.seq, merged=False
            )
    if "commit" in command or "rebase" in command or "cherry-pick" in command:
        for match in _commits_in(output):
            state = msgspec.structs.replace(
                _on_branch(state, match[1]),
                commit=match[2],
                subject=excerpt(match[3], _SUBJECT_CHARS),
                committed_seq=attempt.seq,
                pushed=False,
                merged=False,
            )
    if "git push" in command or " push " in command:
        lines = list(_PUSHED.finditer(output)) if " -> " in output else []
        if not lines and _is_unseen_push(attempt, output):
            is_main = state.branch in MAIN_BRANCHES
            state = msgspec.structs.replace(state, pushed=True, merged=is_main or state.merged)
        for pushed in lines:
            if pushed[2] in MAIN_BRANCHES:
                state = msgspec.structs.replace(state, pushed=True, merged=True)
            elif pushed[2] == state.branch:
                state = msgspec.structs.replace(
                    state, pushed=True, new=bool(pushed[1]) or state.new
                )
    if "gh pr create" in command and (made := _PULL_REQUEST.search(output)):
        state = msgspec.structs.replace(state, pull_request=int(made[1]), pushed=True)
    if not attempt.failed and ("gh pr merge" in command or _says_merged(state, command, output)):
        state = msgspec.structs.replace(state, merged=True)
    if any(map(command.__contains__, _STOPPABLE_VERBS)) and _STOPPABLE.search(command):
        state = msgspec.structs.replace(state, stopped=_has_stopped(output))
    return state


def _has_stopped(output: str) -> bool:
    """Whether git waits for conflicts to be resolved."""
    if "Automatic merge failed" in output:
        return True
    may_stop = any(map(output.__contains__, _STOPPED_CUES))
    return may_stop and _STOPPED.search(output) is not None


def _is_unseen_push(attempt: Attempt, output: str) -> bool:
    """Whether a push worked of which git's own lines are not shown."""
    if not attempt.worked or attempt.command is None:
        return False
    return _runs_git(attempt.command, "push") and not _did_nothing(output)


def _says_merged(state: GitState, command: str, output: str) -> bool:
    """Whether a look at the session's own PR finds it merged."""
    named = state.pull_request is not None and str(state.pull_request) in command
    return named and _MERGED.search(output) is not None


def _on_branch(state: GitState, branch: str) -> GitState:
    """What was known of another branch says nothing about this one."""
    if not branch or branch == state.branch:
        return state
    return GitState(branch=branch)


def left_on_branch(state: GitState | None) -> str:
    """What is still to be done for the branch, in words; "" where nothing is known to be."""
    if state is None or not state.branch:
        return ""
    if state.stopped:
        return f"Branch `{state.branch}`: conflicts not resolved"
    if state.branch in MAIN_BRANCHES or state.merged:
        return ""
    if state.pull_request:
        return f"Branch `{state.branch}`: PR #{state.pull_request} not merged"
    if state.pushed and state.new:  # a branch that was there before may be meant to stay
        return f"Branch `{state.branch}`: pushed, no PR, not merged"
    return ""
