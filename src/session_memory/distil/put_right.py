"""Whether one command is another put right: other quotes, flags, words, directory or program."""

from __future__ import annotations

import re
from functools import lru_cache

from session_memory.core.commands import Step, normalized, reads_only, steps, words
from session_memory.core.text.masks import mask
from session_memory.distil.attempts import Attempt
from session_memory.distil.cued_patterns import lines_with
from session_memory.regex_cache import compiled

_NO_PROGRAM = compiled(
    r"command not found: \S|: (?:command )?not found\b|permission denied: \S|: Permission denied"
    r"|could not determine executable|No module named|is not recognized"
)
# Each of those has one of these.
_NO_PROGRAM_CUES = (
    *("not found", "ermission denied", "could not determine", "No module named"),
    "is not recognized",
)
# The call itself was wrong: nothing was tried yet.
_WRONG_CALL = compiled(
    # In lower case, as the text then is.
    r"no matches found|unmatched|unexpected (?:option|argument|end of file|eof)|bad flag"
    r"|(?:unknown|unrecognized|invalid|illegal|unsupported|missing|deprecated) (?:or unexpected )?"
    r"(?:flag|option|command|subcommand|argument|usage|json field|field|key|pid)"
    r"|^usage: |usage error|invalid (?:choice|arguments)|expects? (?:one|a single|exactly|at most)"
    r"|needed a single revision|none of the others can be|bad substitution|syntax error"
    r"|is not allowed in a regex|regex parse error|unterminated"
    r"|cd: .*no such file|does not contain main module|did not match any files"
    r"|not a (?:git repository|valid)|could not read package.json"
    r"|problem with the editor|terminal is dumb|(?:not|requires) an? (?:tty|terminal)",
    re.M,
)
# Each of those has one of these.
_WRONG_CALL_CUES = (
    *("no matches found", "unmatched", "unexpected", "bad flag", "unknown", "unrecognized"),
    *("invalid", "illegal", "unsupported", "missing", "deprecated", "usage", "expect", "revision"),
    *("none of the others", "bad substitution", "syntax error", "regex", "unterminated", "cd: "),
    *("main module", "did not match", "not a ", "read package", "the editor", "terminal", " tty"),
)
INSTALL_VERBS = words("install i ci add sync get")
# The text of a script says what it does; two scripts of one interpreter need not do the same.
_SCRIPT = compiled(r"<<|(?:^|\s)-(?:e|c|p|lc|-eval|-print)\s")
_SCRIPT_OPTION = compiled(r"-(?<!\S-)(?:e|c|p|lc|-eval|-print)\s")
_SILENCER = compiled(r"--(?:force|no-verify|skip|no-frozen|no-check|legacy-peer|ignore-)")
_FEW_WORDS = 2
_LEAST_NAME = 4
_SCRIPT_WORD = compiled(r"\w{2,}")
_LEAST_SCRIPT_WORDS = 8
_SAME_SCRIPT = 0.7
_SHORT_SCRIPT = 200
_BEFORE_ADVICE = (" `", " '", ' "', ":`", ":'", ':"')
# The first letter stands alone: so most places of a text are passed over at once.
_ADVICE = compiled(
    r"[RrTtUuw](?:(?<=[Rr])un|(?<=[Tt])ry|(?<=[Uu])se|(?<=w)ith)"
    r"[: ]+[`'\"]([a-z][\w./@ -]{3,80})[`'\"]"
)
_PATTERN_TOOLS = words("grep egrep rg jq awk sed perl")
_SAME_PATTERN = 0.5
HELP = words("--help -h help")
_TAKES_DIRECTORY = words("git make npm pnpm yarn")
_DIRECTORY_FLAGS = words("-C --prefix --cwd --dir")
_GOES_SOMEWHERE = words("cd set export source")
_GIT_LOOKS = words("status diff log branch show stash")
_VERSIONED = compiled(r"(python|pip|node|pytest)[\d.]*$")
_PAGER = compiled(r"2>&1|2>/dev/null|\|\s*(?:tail|head|cat|less|grep|sed)\b[^|;&]*")


def is_wrong_call(attempt: Attempt) -> bool:
    """Whether the call itself was wrong, so that what it was to do was not tried."""
    return _says_wrong_call(attempt.output)


@lru_cache(maxsize=256)  # the outcome and every search for a cure look at the same outputs
def _says_wrong_call(output: str) -> bool:
    if any(map(_WRONG_CALL.search, lines_with(_WRONG_CALL_CUES, output.lower()))):
        return True
    return _says_no_program(output)


def _says_no_program(output: str) -> bool:
    may_say = any(map(output.__contains__, _NO_PROGRAM_CUES))
    return may_say and _NO_PROGRAM.search(output) is not None


def is_same_command(failed: Attempt, other: Attempt) -> bool:
    """Whether it is the same command, however wrapped."""
    before, after = command_of(failed), command_of(other)
    return before == after if is_script(failed) else normalized(before) == normalized(after)


def is_put_right(failed: Attempt, other: Attempt) -> bool:
    """Whether `other` is the failed call put right: other quotes, flags, words or program.

    It need not succeed: a call that now fails in another way got past the error.
    """
    before, after = command_of(failed), command_of(other)
    if before == after or (other.failed and _same_complaint(failed, other)):
        return False
    if _without_quoting(before) == _without_quoting(after):
        return True
    if is_script(failed) or is_script(other):
        return _is_script_put_right(failed, other)
    if normalized(before) == normalized(after):  # another wrapper or directory, not another pager
        return without_pagers(failed) != without_pagers(other)
    missing = _says_no_program(failed.output)
    return any(
        _is_same_step(mine, theirs, missing=missing)
        for mine in telling_steps(before)
        for theirs in telling_steps(after)
    )


def is_without_the_refused(failed: Attempt, other: Attempt) -> bool:
    """The same call but for one word or option, and the error names what was dropped.

    `--claim` after "already claimed by x", or the value of `--output` that the error quotes. To be
    asked of a failure with an error that is no script and does more than look.
    """
    if is_script(other):
        return False
    for mine in telling_steps(command_of(failed)):
        if len(mine.words) <= _FEW_WORDS:
            continue
        for theirs in telling_steps(command_of(other)):
            if mine.program != theirs.program or plain_words(mine)[:1] != plain_words(theirs)[:1]:
                continue
            dropped = [word for word in mine.words if word not in theirs.words]
            added = [word for word in theirs.words if word not in mine.words]
            few = len(dropped) == 1 and len(added) <= _FEW_WORDS
            name = _unquoted(dropped[0]).lstrip("-") if few and _is_of_option(mine, dropped) else ""
            is_named = len(name) >= _LEAST_NAME and name in failed.error
            if is_named and not silences(failed, other):
                return True
    return False


def _is_of_option(step: Step, dropped: list[str]) -> bool:
    """Whether a word is an option or the value of one; another target is another thing."""
    at = step.words.index(dropped[0])
    return any(word.startswith("-") for word in step.words[max(0, at - 1) : at + 1])


def silences(failed: Attempt, other: Attempt) -> bool:
    """Whether a check was only switched off: that is not what one would advise."""
    added = set(command_of(other).split()) - set(command_of(failed).split())
    return any(map(_SILENCER.match, added))


def _is_script_put_right(failed: Attempt, other: Attempt) -> bool:
    """Two scripts that have most of their words in common, and that differ where it can be seen."""
    heads = {_SCRIPT.split(command_of(attempt), 1)[0] for attempt in (failed, other)}
    if len(heads) == 1 and max(len(command_of(failed)), len(command_of(other))) > _SHORT_SCRIPT:
        return False
    families = {_family(name) for name in programs(failed)}
    if families.isdisjoint([_family(name) for name in programs(other)]):
        return False
    before, after = (set(_SCRIPT_WORD.findall(command_of(attempt))) for attempt in (failed, other))
    shared = len(before & after) / max(1, len(before), len(after))
    return len(before) >= _LEAST_SCRIPT_WORDS and shared >= _SAME_SCRIPT


def is_script(attempt: Attempt) -> bool:
    """Whether the command carries a program of its own."""
    return _has_script(command_of(attempt))


@lru_cache(maxsize=1024)
def _has_script(command: str) -> bool:
    return "<<" in command or _SCRIPT_OPTION.search(command) is not None


def _without_quoting(command: str) -> str:
    """The command without blanks and quoting."""
    return "".join(command.replace("'", "").replace('"', "").replace("\\", "").split())


def _same_complaint(failed: Attempt, other: Attempt) -> bool:
    return is_wrong_call(other) or mask(failed.error) == mask(other.error)


@lru_cache(maxsize=1024)
def telling_steps(command: str) -> tuple[Step, ...]:
    """What a command is about: where all of it only looks, that."""
    named = tuple(step for step in steps(command) if step.program not in _GOES_SOMEWHERE)
    telling = tuple(
        step
        for step in named
        if not reads_only(step.program)
        and not (step.program == "git" and _GIT_LOOKS & set(plain_words(step)[:1]))
    )
    return telling or named


def _is_same_step(failed: Step, other: Step, *, missing: bool) -> bool:
    """The parts of a command that say what it is for."""
    if HELP & set(other.words):
        return False
    mine, theirs = _listed(failed), _listed(other)
    if _family(failed.program) != _family(other.program):
        return missing and _does_the_same(failed, other)
    if set(mine) == set(theirs):
        return True  # flags, quotes or their order differ
    if failed.program in _PATTERN_TOOLS and _is_pattern_put_right(mine, theirs):
        return True
    if not mine or not theirs:
        return False
    same_verb = mine[0] == theirs[0]
    if set(theirs) < set(mine):
        return same_verb and len(theirs) * 2 >= len(mine)
    if set(mine) < set(theirs):
        names_a_file = any("/" in word or "." in word for word in mine)
        return (same_verb or names_a_file) and len(theirs) <= len(mine) + 3
    return False  # another target is another thing


def _is_pattern_put_right(mine: list[str], theirs: list[str]) -> bool:
    """Whether a search or filter differs in its pattern only, and not much in that."""
    before, after = (set(_SCRIPT_WORD.findall(" ".join(plain))) for plain in (mine, theirs))
    return len(before & after) >= _SAME_PATTERN * max(1, len(before), len(after))


def _does_the_same(failed: Step, other: Step) -> bool:
    """Another program in the place of one that is not there, with the same words behind it."""
    if _base(failed.program) in {_base(word) for word in plain_words(other)[:3]}:
        return True
    wanted = {_unquoted(word) for word in failed.words}
    given = {_unquoted(word) for word in other.words} | {other.program}
    return bool(plain_words(failed)) and len(wanted & given) >= max(1.0, len(wanted) * 0.6)


def was_advised(failed: Attempt, other: Attempt) -> bool:
    """Whether the error itself named the command that was then run."""
    advice = _advice_in(failed.output)
    if not advice:
        return False
    said = command_of(other).split()
    shown = " ".join(said)
    return HELP.isdisjoint(said) and any(_follows(failed, shown, named) for named in advice)


@lru_cache(maxsize=16)  # every later command is compared with the advice of one failure
def _advice_in(output: str) -> list[str]:
    if not any(map(output.__contains__, _BEFORE_ADVICE)):
        return []
    named = (" ".join(words.split()) for words in _ADVICE.findall(output))
    return [words for words in named if " " in words and not words.startswith("git ")]


def _follows(failed: Attempt, shown: str, advice: str) -> bool:
    """Whether a command does what was advised, for the same thing: with no argument of its own."""
    if advice not in shown:
        return False
    if INSTALL_VERBS & set(advice.split()):
        return True
    own = shown.partition(advice)[2].split()[:1]
    return not own or own[0].startswith("-") or own[0] in command_of(failed).split()


def _listed(step: Step) -> list[str]:
    """The plain words, `--json a,b` as two: of a list, one part may have been wrong."""
    return [part for word in plain_words(step) for part in word.split(",") if part]


def plain_words(step: Step) -> list[str]:
    """The words that are not options, and not the directory that `git -C` and the like name."""
    plain = [word for word in step.words if not word.startswith("-")]
    if step.program in _TAKES_DIRECTORY and step.words[:1] and step.words[0] in _DIRECTORY_FLAGS:
        plain = plain[1:]
    return [_unquoted(word) for word in plain]


def _unquoted(word: str) -> str:
    return word.strip("'\"").replace("\\", "")


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1].split("@")[0]


def _family(program: str) -> str:
    match = _VERSIONED.match(program)
    return match[1] if match is not None else program.split("@")[0]


def programs(attempt: Attempt) -> set[str]:
    """The programs that a call runs."""
    return {step.program for step in telling_steps(command_of(attempt))}


def without_pagers(attempt: Attempt) -> list[str]:
    """The words of a command without what only shortens its output."""
    return _PAGER.sub("", command_of(attempt)).split()


def command_of(attempt: Attempt) -> str:
    """The command of a call; empty for a call of another tool."""
    return (attempt.command or "").strip()
