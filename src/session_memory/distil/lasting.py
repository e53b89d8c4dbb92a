"""What of a session is worth knowing later: lasting wishes, cures that teach, useful titles."""

from __future__ import annotations

import re

from session_memory.core.commands import normalized, words
from session_memory.core.schema import Cure
from session_memory.core.typed_commands import typed_command
from session_memory.distil.project_checks import FIXES
from session_memory.distil.substance import is_operation, is_unspaced, own_words
from session_memory.regex_cache import compiled

COMMAND_CHARS = 100
"""A longer command is not typed again."""

_LASTS = compiled(
    r"\b(?:always|never|remember|from now on|going forward|in (?:the )?future|every ?time"
    r"|whenever|at all times|as (?:a )?learnings?|(?:agents|claude)[ .]?md)\b",
    re.I,
)
_AT_ITS_MOMENT = compiled(
    r"\b(?:this|these|those|we did|you did)\b|\b(?:like|do|with|of|about|at) that\b"
    r"|\b(?-i:[B-HJ-Z])\b(?!\.)|\b(?:option|variant|step|item|number) \w\b"
    r"|\b(?:get|go|switch|move) (?:back|on|over)\b"
    r"|\bthat(?:'?s)?\s*(?:$|[.,;!?\"])",
    re.I,
)
_ITS_MOMENT = compiled(
    r"\bagain\W*$|\b(?:we|you) did\b|\b[B-HJ-Z]\b(?!\.)|\b(?:option|variant|step|item|number) \w\b"
)
_REFUSES = compiled(r"\b(?:don'?t|not|never|no|without|stop)\b", re.I)
_FOR_NOW = compiled(
    r"(?:(?:ok|okay|but|and|so|well|no|yes|yeah|hm+|also|please|oh|here'?s what)[\s,.]+)*"
    r"(?:i (?:really )?(?:don'?t|didn'?t|do not|did not) (?:really )?(?:want|like|think)"
    r"(?! (?:you|any|to ever)\b)|i thoug\w*|i mean\b|i guess|let me know"
    r"|let'?s (?:get|go|discuss|see|think|do|try|talk)\b)"
    r"|.*\b(?:yet|for now|right now|first|again|this time|to do)\W*$",
    re.I,
)
_BEFORE_WISH = 40
_WISH = compiled(r"(?<=here's what )(?:i|we) |(?<=heres what )(?:i|we) ", re.I)
_USES_ALONE = compiled(
    r"(?:\w+ ){0,3}(?:use|run|with) (?:\S+ ){0,4}(?:skill|command|agent|subagent|tool|mcp)s?\W*$",
    re.I,
)
_WHEN = compiled(
    r"\b(?:before|after|when|if|once|until|unless|each|every|while|for|instead of|rather than)\b",
    re.I,
)
_EDITOR_CALL = compiled(r"^(?:\w*(?:Edit|Write)|edit|write|apply_patch|str_replace\w*|replace) ")
_PASSES = compiled(
    r"fetch first|non-fast-forward|rejected|conflict|timed? ?out|already (?:exists|in use|claimed)"
    r"|unmerged|interrupted|address already|rate limit|outdated_lockfile|frozen-lockfile"
    r"|index\.lock|lock ?file (?:is|needs)",
    re.I,
)
_OF_THE_PLACE = compiled(
    r"command not found|: not found\b|is not recognized|no module named"
    r"|could not read package\.json|does not contain main module|cannot find package"
    r"|could not determine executable|not a git repository|no such file or directory",
    re.I,
)
_FILE = compiled(r"^[^-@][^@]*/[^.]|\w\.\w{1,5}$")
_COMMON_TOOLS = words("gh git curl wget npx jq rg grep find sed awk ls docker kubectl aws gcloud")


def is_meant_to_last(text: str) -> bool:
    """Whether a wish says itself that it holds from now on."""
    return _LASTS.search(text) is not None


def refuses(wish: str) -> bool:
    """Whether a wish says what is not to be done."""
    return _REFUSES.search(wish) is not None


def points_at_its_moment(text: str) -> bool:
    """Whether a quote points at what was on the screen, so that it says little by itself."""
    return _AT_ITS_MOMENT.search(text) is not None


def wish_in(words: str) -> str:
    """A wish from where it begins: "i dont want tests" of "heres what i dont want tests"."""
    begins = _WISH.search(words, 0, _BEFORE_WISH)
    return words[begins.start() :] if begins is not None else words


def says_when(order: str) -> bool:
    """Whether an order can be followed later: "use the deploy skill" does not say for what."""
    of_its_moment = is_operation(order) or _USES_ALONE.match(order) is not None
    return not of_its_moment or _WHEN.search(order) is not None or is_meant_to_last(order)


def is_for_now(wish: str) -> bool:
    """Whether a wish, said once, is about the step at hand: "not yet", "i dont want that one"."""
    if is_meant_to_last(wish):
        return False
    if points_at_its_moment(wish) or _FOR_NOW.match(wish) is not None:
        return True
    return not refuses(wish) and not says_when(wish)


def names_its_moment(wish: str) -> bool:
    """Whether a wish names an option or an act of its session: nobody else knows which."""
    return _ITS_MOMENT.search(wish) is not None


def is_editor_call(call: str) -> bool:
    """Whether a failed call is one of an editing tool, which every agent repeats by itself."""
    return _EDITOR_CALL.match(call) is not None


def passes_by_itself(error: str) -> bool:
    """Whether an error is a state that passes, such as a rejected push."""
    return _PASSES.search(error) is not None


def is_about_usage(cure: Cure) -> bool:
    """Whether a failure shows only how a common tool is used, not what this place needs."""
    program = typed_command(cure.failed).partition(" ")[0]
    return program in _COMMON_TOOLS and not is_about_the_place(cure.sample)


def is_about_the_place(error: str) -> bool:
    """Whether an error says that something is missing on this machine or in this directory."""
    return _OF_THE_PLACE.search(error) is not None


def mends(cure: Cure) -> bool:
    """Whether the cure is a command that fixes what a check found, such as `lint --fix`."""
    return any(map(FIXES.search, cure.steps[-1].split()))


def names_a_file(command: str) -> bool:
    """Whether a command is about single files or directories."""
    return any(_FILE.search(word) for word in command.split()[1:])


def proves_install(cure: Cure) -> bool:
    """False for an install after which another command ran than the one that had failed."""
    commands = map(normalized, (cure.failed, cure.steps[-1]))
    return cure.kind != "install" or normalized(cure.proof) in commands


def teaches(cure: Cure) -> bool:
    """Whether a cure is worth knowing in another session."""
    if cure.kind == "edit" or not cure.sample or not cure.steps or is_editor_call(cure.failed):
        return False
    failed, works = typed_command(cure.failed), typed_command(cure.steps[-1])
    short = max(len(failed), len(works)) <= COMMAND_CHARS and "\n" not in cure.failed.strip()
    if mends(cure) and names_a_file(failed):
        return False
    if not proves_install(cure):
        return False
    return short and failed != works and not passes_by_itself(cure.sample)


_POINTS_AT = compiled(r"\b(?:this|that|these|those|current|our|any)(?:\s+\w+)?", re.I)
_OF_ANY_PROJECT = words(
    "address again anyway app branch branches cause closed comment comments delete directly docs"
    " draft edit enabled idea investigate left local locally match mode outstanding page place"
    " point project question questions reply repo repository request root separate skill spawn"
    " stale state stopped take tell text tree used worker worktree"
)
"""Words of requests in any project, besides those that `own_words` knows."""
_LEAST_NAMED = 3
_NO_SUBJECT = compiled(
    r"^(?:operation (?:stopped|blocked)|/\S|work without a stated"
    r"|(?:(?:please|first|ok|can you) )*(?:read|look (?:at|into|through)|learn|study|open)\b)",
    re.I,
)
"""Words of a client, a command, or a request to look at something before the work."""


def names_its_subject(title: str, least: int = _LEAST_NAMED) -> bool:
    """Whether a title says by itself what a session was about, for a reader who was not there."""
    if _NO_SUBJECT.match(title):
        return False
    if is_unspaced(title):
        return True
    own = own_words(_POINTS_AT.sub(" ", title.replace("..", " ")))
    telling = [word for word in own if word.lower() not in _OF_ANY_PROJECT]
    named = sum(2 if re.search(r"\w[._/#-]\w|[a-z][A-Z]|\d", word) else 1 for word in telling)
    return named >= least
