"""What made a failed call work: the cures of one session, found without a model.

A cure counts only when the thing that failed is later seen to work. Better none than a wrong one:
commands that only look, help texts and calls that were already under way are never cures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice, takewhile

from session_memory.core.commands import Step, normalized, reads_only, steps, words
from session_memory.core.digest import MAX_CURES
from session_memory.core.schema import Cure, CureKind
from session_memory.core.text.masks import excerpt, mask
from session_memory.distil.attempts import Attempt
from session_memory.distil.checks import check_of

_REACH = 14
"""Commands that change something, after a failure, among which its cure is looked for."""
_COMMAND_CHARS = 300
_SAMPLE_CHARS = 200
_STEPS = 8  # of one cure

_STOPPED = frozenset((130, 137, 143))  # interrupted or killed: nothing failed
_NOT_RUN = re.compile(r"sibling tool call errored|user doesn't want to proceed|interrupted", re.I)
_CONFLICT = re.compile(
    r"^CONFLICT \(|Automatic merge failed", re.M
)  # git stops and waits: its work
_NO_PROGRAM = re.compile(
    r"command not found: \S|: (?:command )?not found\b|permission denied: \S|: Permission denied"
    r"|could not determine executable|No module named|is not recognized"
)
# The call itself was wrong: nothing was tried yet.
_WRONG_CALL = re.compile(
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
_INSTALLERS = words(
    "npm pnpm yarn bun pip pip3 uv brew apt apt-get cargo go gem bundle poetry mise asdf rustup"
)
_INSTALL_VERBS = words("install i ci add sync get")
_RUNNERS = words("make gmake just task mise npm pnpm yarn bun nx turbo tox nox gradle mvn rake")
_SYNCS = words("push pull fetch")
_GIT_REMEDIES = words("pull fetch rebase merge remote")
# The text of a script tells what it does; two scripts of one interpreter need not do the same.
_SCRIPT = re.compile(r"<<|(?:^|\s)-(?:e|c|p|lc|-eval|-print)\s")
_SILENCER = re.compile(r"--(?:force|no-verify|skip|no-frozen|no-check|legacy-peer|ignore-)")
_MISSING_MODULE = re.compile(
    r"(?:Cannot find (?:package|module)|No module named|no required module provides package) "
    r"['\"]?([@\w][\w./@-]+)"
)
_FEW_WORDS = 2
_LEAST_NAME = 4
_SCRIPT_WORD = re.compile(r"\w{2,}")
_LEAST_SCRIPT_WORDS = 8
_SAME_SCRIPT = 0.7
_SHORT_SCRIPT = 200
_TELLING_CHARS = 120
_SETS_TEXT = re.compile(r"\w+=(?:\$'|\$\(cat|['\"])")
_ADVICE = re.compile(r"(?:[Rr]un|[Tt]ry|[Uu]se|with)[: ]+[`'\"]([a-z][\w./@ -]{3,80})[`'\"]")
_FILTERS = words("grep egrep rg")
_PATTERN_TOOLS = words("grep egrep rg jq awk sed perl")
_SAME_PATTERN = 0.5
_FORMATS = words("format fmt")
_HELP = words("--help -h help")
_TAKES_DIRECTORY = words("git make npm pnpm yarn")
_DIRECTORY_FLAGS = words("-C --prefix --cwd --dir")
_GOES_SOMEWHERE = words("cd set export source")
_GIT_LOOKS = words("status diff log branch show stash")
_VERSIONED = re.compile(r"(python|pip|node|pytest)[\d.]*$")
_SCRATCH = re.compile(r"^/tmp/|^/private/tmp/|^/var/folders/|[\\/]Temp[\\/]|scratchpad")
_IN_QUOTES = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_PART = re.compile(r"\|\|?(?=\s)|&&|;(?=\s)|\n")
_PAGER = re.compile(r"2>&1|2>/dev/null|\|\s*(?:tail|head|cat|less|grep|sed)\b[^|;&]*")
_QUOTING = re.compile(r"[\s'\"\\]+")


def find_cures(attempts: Sequence[Attempt]) -> tuple[Cure, ...]:
    """The cure of each failure that has one, in order, the latest where there are too many."""
    cures = (_cure_of(attempts, at) for at in reversed(range(len(attempts))))
    latest = islice((cure for cure in cures if cure is not None), MAX_CURES)
    return tuple(latest)[::-1]


def _cure_of(attempts: Sequence[Attempt], at: int) -> Cure | None:
    failed = attempts[at]
    if not failed.failed or failed.result_pos is None or _is_no_failure(failed):
        return None
    # A call that was made before the failure was known cannot be an answer to it.
    later = [a for a in attempts[at + 1 : at + 121] if a.pos > failed.result_pos]
    found = _command_cure(failed, later) if failed.command else _edit_retry(failed, later)
    if found is None or _is_hidden(failed, found):
        return None
    kind, cure_steps, proof = found
    return Cure(
        error=mask(failed.error),
        sample=excerpt(failed.error, _SAMPLE_CHARS),
        error_seq=failed.result_seq,
        failed=_shown(failed),
        kind=kind,
        steps=_shown_steps(failed, _telling_edits(failed, cure_steps)),
        step_seqs=tuple(step.seq for step in cure_steps),
        proof=_shown(proof),
        proof_seq=proof.seq,
        lines=tuple(excerpt(line, _SAMPLE_CHARS) for line in failed.errors[1:]),
    )


def _shown_steps(failed: Attempt, done: list[Attempt]) -> tuple[str, ...]:
    """The steps as they were typed; of one long command that was put right, what is new in it."""
    text = _text(done[-1])
    if len(done) == 1 and len(text) > _COMMAND_CHARS and (new := _changed_part(failed, text)):
        return (new,)
    return tuple(dict.fromkeys(map(_shown, done)))[-_STEPS:]


def _is_pair(signs: tuple[str, str]) -> bool:
    return signs[0] == signs[1]


def _telling_edits(failed: Attempt, cure_steps: list[Attempt]) -> list[Attempt]:
    """Of many edits those of files that the failure names, where it names any of them."""
    said = "\n".join(failed.errors)
    named = [step for step in cure_steps if any(file_name(path) in said for path in step.files)]
    return named or cure_steps


def _is_hidden(failed: Attempt, found: Found) -> bool:
    """Whether the difference is behind what is kept of a long command: nobody could use that."""
    text = _text(found[1][-1])
    if found[0] != "command" or len(text) <= _COMMAND_CHARS:
        return False
    return (
        text.startswith("cat >")
        or _SETS_TEXT.match(text) is not None
        or (text.startswith(_text(failed)[:_TELLING_CHARS]) and not _changed_part(failed, text))
    )


def _changed_part(failed: Attempt, text: str) -> str:
    """The part of a long command in which it differs first, from its beginning; '' if too long."""
    same = sum(1 for _ in takewhile(_is_pair, zip(_text(failed), text, strict=False)))
    plain = _IN_QUOTES.sub(lambda quoted: "x" * len(quoted[0]), text)  # a | in quotes parts nothing
    begins = [match.start() for match in _PART.finditer(plain, 0, same)]
    part = text[begins[-1] :] if begins else text
    return f"… {part}" if len(part) < _COMMAND_CHARS else ""


Found = tuple[CureKind, list[Attempt], Attempt]
"""What kind of cure, its steps, and the call that shows that it worked."""


def _command_cure(failed: Attempt, later: Iterable[Attempt]) -> Found | None:
    """The way from a failed command to the same thing working."""
    wrong_call = is_wrong_call(failed)
    looks, verifies = reads_only(_text(failed)), check_of(_text(failed)) is not None
    edits: list[Attempt] = []
    commands: list[Attempt] = []
    missing = _MISSING_MODULE.search("\n".join(failed.errors))
    for attempt in later:
        if attempt.edits and attempt.worked and attempt.files and not _is_scratch(attempt):
            edits.append(attempt)
        if attempt.command is None:
            continue
        if attempt.denied or attempt.result_pos is None:
            continue
        if missing is not None and attempt.worked and commands and missing[1] in _text(attempt):
            brought = [each for each in commands if _installs(each) and missing[1] in _text(each)]
            if brought and not reads_only(_text(attempt)):
                return "install", brought, attempt
        if attempt.worked and _is_without_the_refused(failed, attempt):
            return "command", [attempt], attempt
        advised = attempt.worked and _was_advised(failed, attempt)
        may_differ = not (looks or verifies or edits or commands) and (
            attempt.worked or _is_script(failed)
        )
        retyped = wrong_call or (may_differ and not _silences(failed, attempt))
        if advised or (retyped and _is_put_right(failed, attempt)):
            return "command", [attempt], attempt
        if attempt.worked and edits and _is_broader_check(failed, attempt):
            return "edit", edits, attempt
        if attempt.worked and _is_same_command(failed, attempt):
            if not looks and _proves(failed, attempt):
                return _between(failed, attempt, edits, commands)
            if looks or not _filters_more(failed, attempt):
                return None
        if attempt.worked and not reads_only(attempt.command):
            commands.append(attempt)
            if len(commands) > _REACH:
                return None
    return None


def _between(
    failed: Attempt, again: Attempt, edits: list[Attempt], commands: list[Attempt]
) -> Found | None:
    """What was done before the same command worked; None where that cannot be told."""
    installs = [attempt for attempt in commands if _installs(attempt)]
    if installs:
        return "install", installs, again
    verified = check_of(_text(failed)) is not None
    fixes = [attempt for attempt in commands if _is_fix_of(failed, attempt)]
    if fixes:
        return "command", fixes, again
    if edits:
        return "edit", edits, again
    formats = [attempt for attempt in commands if verified and _formats(attempt)]
    if formats:
        return "command", formats, again
    remedies = [attempt for attempt in commands if check_of(_text(attempt)) is None]
    if not verified and len(remedies) == 1:
        return "command", remedies, again
    if not commands and _without_pagers(failed) != _without_pagers(again):
        return "command", [again], again  # another directory, environment or wrapper
    return None


def _is_broader_check(failed: Attempt, other: Attempt) -> bool:
    """Whether `other` verifies at least what the failed check did: `make test` after `pytest x`."""
    mine, theirs = check_of(_text(failed)), check_of(_text(other))
    if mine is None or theirs is None or not set(mine.kinds) <= set(theirs.kinds):
        return False
    if not _proves(failed, other) or _is_same_command(failed, other):
        return False
    wanted = {word for step in _telling_steps(_text(failed)) for word in step.words}
    given = {word for step in _telling_steps(_text(other)) for word in step.words}
    same_program = bool(_programs(failed) & _programs(other))
    return given <= wanted if same_program else _runs_all(other)


def _runs_all(attempt: Attempt) -> bool:
    """A task runner without a file or filter runs everything there is."""
    return all(
        step.program in _RUNNERS and not any("/" in word or "=" in word for word in step.words)
        for step in _telling_steps(_text(attempt))
    )


def _proves(failed: Attempt, again: Attempt) -> bool:
    """Whether the later run shows the cure: not the same error again, and nothing filtered out."""
    if failed.error and failed.error in again.output:
        return False
    return not _filters_more(failed, again)


def _filters_more(failed: Attempt, again: Attempt) -> bool:
    """Whether lines were filtered out that the failed run showed."""
    filters = {step.program for step in steps(_text(again))} & _FILTERS
    return bool(filters - {step.program for step in steps(_text(failed))})


def _is_fix_of(failed: Attempt, other: Attempt) -> bool:
    """A command that mends what the failed one found: a formatter, or git getting up to date."""
    for mine in steps(_text(failed)):
        for theirs in steps(_text(other)):
            if mine.program != theirs.program:
                continue
            verb, remedy = _plain(mine)[:1], _plain(theirs)[:1]
            if mine.program == "git":
                if _SYNCS & set(verb) and _GIT_REMEDIES & set(remedy):
                    return True
            elif _fixes(theirs) and not _fixes(mine):
                return True
    return False


def _formats(attempt: Attempt) -> bool:
    """A task that formats the code, `npm run format` or `cargo fmt`."""
    return any(
        _FORMATS & set(_plain(step)[:2]) and "--check" not in step.words
        for step in steps(_text(attempt))
    )


def _fixes(step: Step) -> bool:
    return any(
        word in ("--write", "--fix", "-w", "--apply") or re.search(r"[:_-]fix$", word)
        for word in step.words
    )


def _is_scratch(attempt: Attempt) -> bool:
    return bool(attempt.files) and all(map(_SCRATCH.search, attempt.files))


def _installs(attempt: Attempt) -> bool:
    return any(
        # The value of `--prefix` or `-C` may stand before the verb.
        step.program in _INSTALLERS and _INSTALL_VERBS & set(_plain(step)[:2])
        for step in steps(_text(attempt))
    )


def _edit_retry(failed: Attempt, later: Iterable[Attempt]) -> Found | None:
    """A file that had to be read before it could be edited."""
    reads: list[Attempt] = []
    names = [file_name(path) for path in failed.files]
    for attempt in later:
        if not attempt.worked:
            continue
        if attempt.command and reads_only(attempt.command):
            if any(name in attempt.command for name in names):
                reads.append(attempt)
            continue
        if not set(attempt.files) & set(failed.files):
            continue
        if attempt.tool == failed.tool:
            return ("command", [*reads, attempt], attempt) if reads else None
        if attempt.command is None and not attempt.edits:
            reads.append(attempt)
    return None


def _is_no_failure(attempt: Attempt) -> bool:
    """A look that found nothing, a help text, a call that was stopped."""
    if attempt.exit in _STOPPED or _NOT_RUN.search(attempt.output, 0, 500):
        return True
    if attempt.command is None:
        return False
    if any(_HELP & set(part.words) for part in steps(attempt.command)):
        return True
    if _CONFLICT.search(attempt.output):
        return True
    return reads_only(attempt.command) and not is_wrong_call(attempt)


def is_wrong_call(attempt: Attempt) -> bool:
    """Whether the call itself was wrong, so that what it was to do was not tried."""
    return _says_wrong_call(attempt.output)


@lru_cache(maxsize=256)  # the outcome and every search for a cure look at the same outputs
def _says_wrong_call(output: str) -> bool:
    return bool(_WRONG_CALL.search(output.lower()) or _NO_PROGRAM.search(output))


def _is_same_command(failed: Attempt, other: Attempt) -> bool:
    one, two = _text(failed), _text(other)
    return one == two if _is_script(failed) else normalized(one) == normalized(two)


def _is_put_right(failed: Attempt, other: Attempt) -> bool:
    """Whether `other` is the failed call put right: other quotes, flags, words or program.

    It need not succeed: a call that now fails in another way got past the error.
    """
    one, two = _text(failed), _text(other)
    if one == two or (other.failed and _same_complaint(failed, other)):
        return False
    if _QUOTING.sub("", one) == _QUOTING.sub("", two):
        return True
    if _is_script(failed) or _is_script(other):
        return _is_script_put_right(failed, other)
    if normalized(one) == normalized(two):  # another wrapper or directory, not another pager
        return _without_pagers(failed) != _without_pagers(other)
    missing = _NO_PROGRAM.search(failed.output) is not None
    return any(
        _is_same_step(mine, theirs, missing=missing)
        for mine in _telling_steps(one)
        for theirs in _telling_steps(two)
    )


def _is_without_the_refused(failed: Attempt, other: Attempt) -> bool:
    """The same call but for one word or option, and the error names what was dropped.

    `--claim` after "already claimed by x", or the value of `--output` that the error quotes.
    """
    if reads_only(_text(failed)) or _is_script(failed) or _is_script(other):
        return False
    error = failed.error
    for mine in _telling_steps(_text(failed)):
        for theirs in _telling_steps(_text(other)):
            if mine.program != theirs.program or _plain(mine)[:1] != _plain(theirs)[:1]:
                continue
            dropped = [word for word in mine.words if word not in theirs.words]
            added = [word for word in theirs.words if word not in mine.words]
            few = len(dropped) == 1 and len(added) <= _FEW_WORDS and len(mine.words) > _FEW_WORDS
            name = _unquoted(dropped[0]).lstrip("-") if few and _is_of_option(mine, dropped) else ""
            if len(name) >= _LEAST_NAME and name in error and not _silences(failed, other):
                return True
    return False


def _is_of_option(step: Step, dropped: list[str]) -> bool:
    """Whether a word is an option or the value of one; another target is another thing."""
    at = step.words.index(dropped[0])
    return any(word.startswith("-") for word in step.words[max(0, at - 1) : at + 1])


def _silences(failed: Attempt, other: Attempt) -> bool:
    """Whether a check was only switched off: that is not what one would advise."""
    added = set(_text(other).split()) - set(_text(failed).split())
    return any(map(_SILENCER.match, added))


def _is_script_put_right(failed: Attempt, other: Attempt) -> bool:
    """Two scripts that have most of their words in common, and that differ where it can be seen."""
    heads = {_SCRIPT.split(_text(attempt))[0] for attempt in (failed, other)}
    if len(heads) == 1 and max(len(_text(failed)), len(_text(other))) > _SHORT_SCRIPT:
        return False
    one, two = (set(_SCRIPT_WORD.findall(_text(attempt))) for attempt in (failed, other))
    shared = len(one & two) / max(1, len(one), len(two))
    same_program = {_family(name) for name in _programs(failed)} & {
        _family(name) for name in _programs(other)
    }
    return bool(same_program) and len(one) >= _LEAST_SCRIPT_WORDS and shared >= _SAME_SCRIPT


def _is_script(attempt: Attempt) -> bool:
    return _SCRIPT.search(_text(attempt)) is not None


def _same_complaint(failed: Attempt, other: Attempt) -> bool:
    return is_wrong_call(other) or mask(failed.error) == mask(other.error)


def _telling_steps(command: str) -> list[Step]:
    """What a command is about: where all of it only looks, that."""
    named = [step for step in steps(command) if step.program not in _GOES_SOMEWHERE]
    telling = [
        step
        for step in named
        if not reads_only(step.program)
        and not (step.program == "git" and _GIT_LOOKS & set(_plain(step)[:1]))
    ]
    return telling or named


def _is_same_step(failed: Step, other: Step, *, missing: bool) -> bool:
    if _HELP & set(other.words):
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
    one, two = (set(_SCRIPT_WORD.findall(" ".join(plain))) for plain in (mine, theirs))
    return len(one & two) >= _SAME_PATTERN * max(1, len(one), len(two))


def _does_the_same(failed: Step, other: Step) -> bool:
    """Another program in the place of one that is not there, with the same words behind it."""
    if _base(failed.program) in {_base(word) for word in _plain(other)[:3]}:
        return True
    wanted = {_unquoted(word) for word in failed.words}
    given = {_unquoted(word) for word in other.words} | {other.program}
    return bool(_plain(failed)) and len(wanted & given) >= max(1.0, len(wanted) * 0.6)


def _was_advised(failed: Attempt, other: Attempt) -> bool:
    """Whether the error itself named the command that was then run."""
    shown = " ".join(_text(other).split())
    if _HELP & set(shown.split()):
        return False
    return any(_follows(failed, shown, named) for named in _advice_in(failed.output))


@lru_cache(maxsize=16)  # every later command is held against the advice of one failure
def _advice_in(output: str) -> list[str]:
    named = (" ".join(words.split()) for words in _ADVICE.findall(output))
    return [words for words in named if " " in words and not words.startswith("git ")]


def _follows(failed: Attempt, shown: str, advice: str) -> bool:
    """Whether a command does what was advised, for the same thing: with no argument of its own."""
    if advice not in shown:
        return False
    if _INSTALL_VERBS & set(advice.split()):
        return True
    own = shown.partition(advice)[2].split()[:1]
    return not own or own[0].startswith("-") or own[0] in _text(failed).split()


def _listed(step: Step) -> list[str]:
    """The plain words, `--json a,b` as two: of a list, one part may have been wrong."""
    return [part for word in _plain(step) for part in word.split(",") if part]


def _plain(step: Step) -> list[str]:
    """The words that are no options, and not the directory that `git -C` and the like name."""
    kept = [word for word in step.words if not word.startswith("-")]
    if step.program in _TAKES_DIRECTORY and step.words[:1] and step.words[0] in _DIRECTORY_FLAGS:
        kept = kept[1:]
    return [_unquoted(word) for word in kept]


def _unquoted(word: str) -> str:
    return word.strip("'\"").replace("\\", "")


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1].split("@")[0]


def _family(program: str) -> str:
    match = _VERSIONED.match(program)
    return match[1] if match is not None else program.split("@")[0]


def _programs(attempt: Attempt) -> set[str]:
    return {step.program for step in _telling_steps(_text(attempt))}


def _without_pagers(attempt: Attempt) -> list[str]:
    return _PAGER.sub("", _text(attempt)).split()


def file_name(path: str) -> str:
    """The last part of a path, of any system."""
    return path.replace("\\", "/").rpartition("/")[2]


def _text(attempt: Attempt) -> str:
    return (attempt.command or "").strip()


def _shown(attempt: Attempt) -> str:
    if attempt.command is not None:
        return attempt.command.strip()[:_COMMAND_CHARS]
    return " ".join((attempt.tool, *attempt.files[:2]))[:_COMMAND_CHARS]
