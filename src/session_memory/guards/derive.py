"""Derives a mechanical check from the words of an approved rule; None where unsure.

Only forms of words that leave no doubt are understood: the rules that detection words itself, and
plain orders such as "Use `bun`, not `npm`" or "Never push to main". A condition in the sentence
(unless, only, if) is more than a guard can know, so such a rule has none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import msgspec

from session_memory.core.loop.guards import Check, Condition
from session_memory.hooks.entry import PLACES

_QUOTED = re.compile(r"`([^`\n]+)`")
_PROGRAM = re.compile(
    r"(?<![\w`./-])(npm|pnpm|yarn|bun|npx|bunx|pip3?|uv|poetry|pipenv|conda|rg|grep|jest|vitest"
    r"|pytest|unittest|docker|podman|docker-compose)(?![\w`/-]|\.\w)"
)
"""Programs that people name without backquotes."""
_ASIDE = re.compile(r"\([^()]*\)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_DOUBT = re.compile(
    r"\b(?:unless|except|if|only|until|usually|sometimes|often|maybe|may|can|could|ci|but"
    r"|when(?! (?:you are |you're )?done)|while|where)\b"
)
_SHELL = re.compile(r"[|&;<>$(){}\[\]*?\n\\…]|(?:^|\s)\.\.\.")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_PATH = re.compile(r"[\w.@+*-]+(?:/[\w.@+*-]+)*/?")

_Q = "⟦(\\d+)⟧"
_LIST = "((?:⟦\\d+⟧(?:,? (?:and|or) |, )?)+)"
_NEVER = r"(?:do not|don't|never|please don't|must not)"
_INSTEAD = r"(?:,? (?:and )?not|,? instead of|,? rather than|,? over|,? never)"
_CHANGE = r"(?:edit|change|modify|touch|write to|hand-edit|overwrite)"
_END = r"(?:you )?(?:finish|stop|end|are done|declar|say|hand)\w*"
_NOUN = r"(?:the |any |files? |folder |directory |in |under |inside |below |code )*"

Build = Callable[["re.Match[str]", "list[str]"], Check | None]


def derive(text: str) -> Check | None:
    """How a rule in these words is checked; None where its words leave a doubt."""
    terms: list[str] = []

    def keep(match: re.Match[str]) -> str:
        terms.append(match[1].strip())
        return f"⟦{len(terms) - 1}⟧"

    named = "".join(
        piece if at % 2 else _PROGRAM.sub(r"`\1`", piece)
        for at, piece in enumerate(re.split(r"(`[^`\n]+`)", text))
    )
    masked = _ASIDE.sub("", _QUOTED.sub(keep, named))
    check: Check | None = None
    for sentence in _SENTENCE.split(masked.lower()):
        plain = " ".join(sentence.split())
        if _DOUBT.search(plain):
            if check is None and any(shape.search(plain) for shape, _ in _SHAPES):
                return None
            continue
        check = check or _check(plain, terms)
    return check


def _check(sentence: str, terms: list[str]) -> Check | None:
    for shape, build in _SHAPES:
        if match := shape.search(sentence):
            return build(match, terms)
    return None


def command_condition(command: str) -> Condition | None:
    """A command that is named, as a condition; None for what is no single plain call."""
    if _SHELL.search(command):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or words[0].startswith("-") or "=" in words[0]:
        return None
    options = tuple(word for word in words[1:] if word.startswith("-"))
    plain = tuple(word for word in words if not word.startswith("-"))
    special = words[1:2] == ["-m"] or any(option in PLACES for option in options)
    if special or any(not _OPTION.fullmatch(option) for option in options):
        return Condition("run", starts=tuple(words))
    return Condition("run", words=plain, with_=options)


def path_patterns(name: str) -> tuple[str, ...]:
    """A file or folder that is named, as patterns; none for what is no path in a project."""
    path = name.strip().removeprefix("./")
    if not _PATH.fullmatch(path) or ".." in path.split("/"):
        return ()
    if path.endswith(("/", "/**", "/*")):
        return (path.rstrip("*").rstrip("/") + "/",)
    last = path.rsplit("/", 1)[-1]
    if path.startswith("*."):
        return (f"**/{path}",)
    if "." in last or "*" in last:
        return (path,)
    return (path, f"{path}/")


def stated_check(words: str) -> Check | None:
    """A check as its user states it: `command npm`, `push main`, `edit dist/`; None: unclear."""
    kind, _, rest = words.strip().partition(" ")
    rest = rest.strip()
    if kind == "unread" and not rest:
        return Check(Condition("unread"))
    if kind == "push" and re.fullmatch(r"[\w./-]+", rest):
        return Check(Condition("push", branches=(rest,)))
    if kind == "edit" and (paths := path_patterns(rest)):
        return Check(Condition("edit", paths=paths))
    condition = command_condition(rest) if kind in ("command", "check") else None
    if condition is None:
        return None
    return Check(condition) if kind == "command" else Check(Condition("check"), (condition,))


def _indices(text: str) -> list[int]:
    return [int(number) for number in re.findall(_Q, text)]


def _instead(match: re.Match[str], terms: list[str]) -> Check | None:
    wanted, wrong = command_condition(terms[int(match[1])]), command_condition(terms[int(match[2])])
    if wanted is None or wrong is None or wanted == wrong:
        return None
    return Check(wrong, (wanted,))


def _other_option(match: re.Match[str], terms: list[str]) -> Check | None:
    name, good, bad = (terms[int(match[group])] for group in (1, 2, 3))
    base = command_condition(name)
    if base is None or not base.words or not all(map(_OPTION.fullmatch, (good, bad))):
        return None
    return Check(Condition("run", words=base.words, with_=(bad,)))


def _options(match: re.Match[str], terms: list[str]) -> tuple[Condition, tuple[str, ...]] | None:
    options, base = terms[int(match[1])].split(), command_condition(terms[int(match[2])])
    if base is None or not base.words or not all(map(_OPTION.fullmatch, options)):
        return None
    return base, tuple(options)


def _no_option(match: re.Match[str], terms: list[str]) -> Check | None:
    named = _options(match, terms)
    return named and Check(Condition("run", words=named[0].words, with_=named[1]))


def _needed_option(match: re.Match[str], terms: list[str]) -> Check | None:
    named = _options(match, terms)
    return named and Check(Condition("run", words=named[0].words, without=named[1]))


def _without_wrapper(match: re.Match[str], terms: list[str]) -> Check | None:
    program, wrapper = terms[int(match[1])], terms[int(match[2])]
    if _SHELL.search(program + wrapper) or wrapper.startswith("-"):
        return None
    wanted = Condition("run", starts=tuple(program.split()))
    return Check(Condition("run", starts=(*wrapper.split(), *wanted.starts)), (wanted,))


def _with_wrapper(match: re.Match[str], terms: list[str]) -> Check | None:
    program, whole = terms[int(match[1])], terms[int(match[2])]
    if _SHELL.search(program + whole) or whole.split()[-1:] != program.split()[-1:]:
        return None
    bare = Condition("run", words=tuple(program.split()), bare=True)
    return Check(bare, (Condition("run", starts=tuple(whole.split())),))


def _never_run(match: re.Match[str], terms: list[str]) -> Check | None:
    wrong = command_condition(terms[int(match[1])])
    return wrong and Check(wrong)


def _in_folder(match: re.Match[str], terms: list[str]) -> Check | None:
    base, folder = command_condition(terms[int(match[1])]), terms[int(match[2])].rstrip("/")
    if base is None or not _PATH.fullmatch(folder) or "*" in folder or ".." in folder:
        return None
    return Check(msgspec.structs.replace(base, outside=folder))


def _push(match: re.Match[str], terms: list[str]) -> Check | None:
    names = re.split(r",? (?:or|and) |, ", match[1])
    branches = tuple(terms[_indices(name)[0]] if _indices(name) else name.strip() for name in names)
    return Check(Condition("push", branches=branches)) if all(branches) else None


def _protected(match: re.Match[str], terms: list[str]) -> Check | None:
    paths = [path_patterns(terms[index]) for index in _indices(match[1])]
    if not paths or not all(paths):
        return None
    rest = match.string[match.end() :]
    cures = [command_condition(terms[index]) for index in _indices(rest)]
    when = Condition("edit", paths=tuple(path for group in paths for path in group))
    return Check(when, tuple(cure for cure in cures if cure is not None))


def _checks(match: re.Match[str], terms: list[str]) -> Check | None:
    commands = [command_condition(terms[index]) for index in _indices(match[1])]
    conditions = tuple(command for command in commands if command is not None)
    return (
        Check(Condition("check"), conditions)
        if conditions and len(conditions) == len(commands)
        else None
    )


def _fails(match: re.Match[str], terms: list[str]) -> Check | None:
    wrong, cure = terms[int(match[1])], command_condition(terms[int(match[2])])
    if cure is None or _SHELL.search(wrong):
        return None
    try:
        words = tuple(shlex.split(wrong))
    except ValueError:
        return None
    return Check(Condition("run", starts=words, whole=True), (cure,)) if words else None


def _unread(match: re.Match[str], terms: list[str]) -> Check | None:
    return Check(Condition("unread"))


_AND = "(?:,? (?:or|and) |, )"
_PUSH = r"(?:⟦\d+⟧|(?:git )?push\w*|commit and push)(?: directly| straight)?"
_AT_THE_END = (
    rf"(?:before {_END}|after (?:\w+ ){{0,3}}(?:edit|chang)\w*|when (?:you are |you're )?done)"
)
_READ_FIRST = (
    r"^(?:always )?read (?:a|an|each|every|the|any)? ?files?"
    r" (?:first|before (?:you )?(?:edit|chang|writ)\w*)"
)
_NOT_READ = r"(?:that )?(?:without reading|you (?:have not|haven't|did not|didn't) read)"
_BRANCH = r"(?:⟦\d+⟧|main|master|trunk|production)"
_SHAPES: tuple[tuple[re.Pattern[str], Build], ...] = tuple(
    (re.compile(pattern), build)
    for pattern, build in (
        (rf"^with {_Q},? use {_Q}{_INSTEAD} {_Q}", _other_option),
        (rf"{_NEVER} pass {_Q} to {_Q}", _no_option),
        (rf"^(?:always )?pass {_Q} to {_Q}", _needed_option),
        (rf"^(?:always )?run {_Q} without {_Q}", _without_wrapper),
        (rf"^(?:always )?run {_Q} as {_Q}", _with_wrapper),
        (
            rf"(?:{_NEVER}|no) {_PUSH} (?:to|on)(?: the)? ({_BRANCH}(?:{_AND}{_BRANCH})*)",
            _push,
        ),
        (rf"^(?:always |please )?(?:use|run|prefer) {_Q}{_INSTEAD} {_Q}", _instead),
        (rf"{_NEVER} (?:run|use|call|execute) {_Q}(?=[.!,;:]|$| here| in this)", _never_run),
        (rf"^(?:always )?run {_Q} (?:in|from|inside) (?:the )?{_Q}", _in_folder),
        (rf"{_NEVER} {_CHANGE} {_NOUN}{_LIST}", _protected),
        (
            rf"{_LIST}(?: files?)?\s?(?:is|are) (?:\w+[- ])?(?:generated|vendored|protected)",
            _protected,
        ),
        (
            rf"(?:run|verify with|check with) {_LIST}\s?{_AT_THE_END}",
            _checks,
        ),
        (rf"^verify (?:\w+ ){{0,2}}with {_LIST}", _checks),
        (rf"^{_LIST}is a check that works", _checks),
        (rf"^{_Q} fails(?: here)?\s?[,;:.]? (?:use |run )?{_Q}", _fails),
        (
            rf"{_READ_FIRST}|{_NEVER} (?:edit|change) (?:a |any )?files? {_NOT_READ}",
            _unread,
        ),
    )
)
