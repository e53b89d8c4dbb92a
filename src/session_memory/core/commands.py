"""A shell command taken apart: its programs behind wrappers, its short name, whether it edits."""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from session_memory.regex_cache import compiled

SCAN_CHARS = 4096  # what stands later in a command is a here-document or a pasted script
_NESTING = 3

_HEREDOC = compiled(
    r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1([^\n]*)\n(?:[^\n]*\n)*?(?:[ \t]*\2[ \t]*$|[^\n]*\Z)", re.M
)
# A word, or what joins two commands. A word without quotes and redirections comes first, and what
# is plain in any other in runs: sign by sign, each would be tried against all the rest.
_TOKEN = compiled(
    r"""[ \t]*(?:([^\s'"|;&<>\\$]+(?=[\s|;&]|\Z))"""
    r"""|((?:[^\s'"|;&<>\\$\d]+|\d+(?![\d>])|'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*\""""
    r"""|\$\([^()]*\)|\\.|\d?>{1,2}&?\d?|<|[^\s'"|;&<>\\])+)"""
    r"|(&&|\|\|&?|\|&?|;|&|\n)|.)",
    re.S,
)
_SYNTAX = compiled(r"""['"|;&<>\\$\n(){}!]""")
"""Signs without one of which a command is nothing but words and blanks."""
_ASSIGNMENT = compiled(r"[A-Za-z_]\w*=")
_REDIRECT = compiled(r"\d?>{1,2}(?:&\d)?|<")
_DURATION = compiled(r"\d+(?:\.\d+)?[smhd]?$")
_PROGRAM_SUFFIX = compiled(r"(?:\.(?:exe|cmd|bat|ps1))$")
_PYTHON = compiled(r"(?:python|pypy)\d*(?:\.\d+)?$|py$")


def words(text: str) -> frozenset[str]:
    """A table of names, written as one line of them."""
    return frozenset(text.split())


# Wrappers that run the rest of their words as a command; the second word is needed where given.
_WRAPPERS: dict[str, frozenset[str]] = {
    name: words(second)
    for name, second in {
        "env": "",
        "sudo": "",
        "doas": "",
        "time": "",
        "timeout": "",
        "gtimeout": "",
        "nice": "",
        "nohup": "",
        "command": "",
        "exec": "",
        "stdbuf": "",
        "caffeinate": "",
        "xvfb-run": "",
        "cross-env": "",
        "dotenv": "",
        "rtk": "",
        "npx": "",
        "bunx": "",
        "pnpx": "",
        "uvx": "",
        "pipx": "run",
        "uv": "run",
        "poetry": "run",
        "pipenv": "run",
        "pdm": "run",
        "rye": "run",
        "hatch": "run",
        "conda": "run",
        "npm": "exec",
        "pnpm": "exec dlx",
        "yarn": "exec dlx",
        "bundle": "exec",
        "mise": "exec x",
        "direnv": "exec",
        "doppler": "run",
        "op": "run",
        "devbox": "run",
    }.items()
}
_FLAGS_WITH_VALUE = words(
    "-u -g -n -k -s -p -C -w --with --package --python --extra --group --project --directory "
    "--signal --kill-after --filter --prefix --cwd --name --workspace -e --env-file"
)
SHELLS = words("bash sh zsh dash fish pwsh powershell cmd nix-shell")
_SHELL_RUN_FLAGS = frozenset(("-c", "-lc", "-ic", "-lic", "-command", "/c", "-ec", "-exc"))
_PREPARATION = frozenset(("cd", "pushd", "set", "export", "source", ".", "unset", "mkdir"))
_VIEWERS = words("tail head cat less more tee grep rg sed awk sort uniq wc cut tr jq")

_GIT_REWRITES = (
    r"git (?<=\bgit )(?:apply|am|revert|restore|cherry-pick|(?:checkout|stash) (?:--|pop|apply))"
)
# Each pattern is tried only where its word occurs: most commands have none of them. The word comes
# first, and that it begins there is asked behind it: so the matcher goes from one word to the next.
_CHANGES = tuple(
    (word, compiled(pattern))
    for word, pattern in (
        ("sed", r"sed(?<=\bsed)\s+(?:-\w+\s+)*-\w*i"),
        ("perl", r"perl(?<=\bperl)\s+-\w*i"),
        ("apply_patch", r"apply_patch(?<=\bapply_patch)\b"),
        ("git", _GIT_REWRITES),
        ("patch", r"patch(?<=\bpatch)\s+-p\d"),
        ("open(", r"open\((?<=\bopen\()[^)\n]*,\s*['\"](?:w|a)"),
        ("write_text", r"\.write_text\("),
        (">", r"\b(?:cat|echo|printf)\b[^|;&\n]*?>{1,2}\s*(?!/dev/|/tmp/|&)[\w./~$\"'-]"),
        ("tee", r"tee(?<=\btee)\s+(?:-a\s+)?(?!/dev/|/tmp/)[\w./~$\"'-]"),
    )
)


class Step(msgspec.Struct, frozen=True):
    """One program run inside a command."""

    program: str
    words: tuple[str, ...]
    """Its arguments as written, redirections left out."""
    hides_exit: bool
    """True where the exit code of the whole command is not this program's."""


@lru_cache(maxsize=2048)  # outcome, cures and checks each look at the same commands
def steps(command: str) -> tuple[Step, ...]:
    """The programs a command runs, in order, without wrappers, assignments and preparation."""
    collected: list[Step] = []
    _collect(command[:SCAN_CHARS], collected, hidden=False, depth=0)
    return tuple(collected)


@lru_cache(maxsize=2048)
def changes_files(command: str) -> bool:
    """True for shell commands that edit in place, patch, or write a file from a here-document."""
    head = command[:SCAN_CHARS].replace("2>&1", "").replace("2>/dev/null", "")
    likely = [pattern for word, pattern in _CHANGES if word in head]
    return any(pattern.search(head) for pattern in likely)


_LOOKS = words(
    "grep egrep rg ag find fd ls cat bat head tail sed awk test [ [[ which command type diff stat"
    " wc tree file pwd sleep true false jq sort uniq pgrep lsof ps nl cmp echo printf ss netstat"
    " less readlink realpath du df tee cut tr basename dirname date"
)
_LOOKING_VERBS = {
    "git": words(
        "status log show diff branch rev-parse ls-files ls-remote ls-tree remote describe blame"
        " grep reflog shortlog cat-file merge-base rev-list config for-each-ref check-ignore"
        " show-ref"
    ),
    "gh": words("view list status checks diff"),
    "npm": words("view search ls info outdated"),
    "pnpm": words("view search ls info outdated why"),
    "pip": words("show list freeze"),
    "docker": words("ps inspect logs images"),
    "kubectl": words("get describe logs"),
}
_GIT_CHANGES = words("set-url add remove rm rename prune -d -D -m -M --delete --move --unset")
_SENDS = words("--method -X -f -F --field --raw-field --input")


@lru_cache(maxsize=2048)
def reads_only(command: str) -> bool:
    """True for a command whose every part only looks: it changes nothing and verifies nothing."""
    return not changes_files(command) and all(map(_only_looks, steps(command)))


def _only_looks(step: Step) -> bool:
    if step.program in _LOOKS or step.program in _PREPARATION:
        return True
    if step.program == "gh" and step.words[:1] == ("api",):
        return _SENDS.isdisjoint(step.words)
    verbs = _LOOKING_VERBS.get(step.program, frozenset())
    plain = [word for word in step.words if not word.startswith("-")]
    if step.program == "git" and not _GIT_CHANGES.isdisjoint((*plain[1:2], *step.words[1:2])):
        return False
    return not verbs.isdisjoint(plain[:2])


@lru_cache(maxsize=2048)
def normalized(command: str, limit: int = 200) -> str:
    """The command as one would name it: no wrappers, directories, redirections or pagers."""
    relevant = [step for step in steps(command) if step.program not in _PREPARATION]
    main = [step for step in relevant if step.program not in _VIEWERS] or relevant
    return " && ".join(" ".join((step.program, *step.words)) for step in main)[:limit]


def pieces(command: str) -> list[list[str]]:
    """The simple commands of a line as typed, wrappers and assignments included."""
    return [words for words, _ in _split(command[:SCAN_CHARS])]


def _collect(command: str, collected: list[Step], *, hidden: bool, depth: int) -> None:
    """Append the steps of `command`; `hidden` says that its own exit code is already lost."""
    pipefail = "pipefail" in command
    plain = _HEREDOC.sub(r"\3", command) if "<<" in command else command
    pieces = _split(plain.replace("&>", ">"))
    lost = hidden  # going backwards: does a later part replace this part's exit code?
    parts: list[tuple[list[str], bool]] = []
    for words, joint in reversed(pieces):
        if joint in ("|", "|&"):
            parts.append((words, lost or not pipefail))
            continue
        if joint and joint != "&&" and (parts or joint == "&"):
            lost = True  # `;`, newline, `||` and `&` go on whatever happened
        parts.append((words, lost))
    for words, hides in reversed(parts):
        inner = _unwrap(words)
        if not inner:
            continue
        script = _inline_script(inner)
        if script is not None and depth < _NESTING:
            _collect(script, collected, hidden=hides, depth=depth + 1)
        else:
            collected.append(Step(program_name(inner[0]), tuple(inner[1:]), hides))


def _split(command: str) -> list[tuple[list[str], str]]:
    """Simple commands, each with the joint that follows it ('' for the last)."""
    if _SYNTAX.search(command) is None:  # one simple command
        return [(words, "")] if (words := command.split()) else []
    pieces: list[tuple[list[str], str]] = []
    words: list[str] = []
    for plain, quoted, joint in _TOKEN.findall(command):
        if plain or quoted:
            word = (plain or quoted).strip("(){}")
            if word and word != "!":
                words.append(word)
        elif joint and words:
            pieces.append((words, joint))
            words = []
    if words:
        pieces.append((words, ""))
    if ">" not in command and "<" not in command:
        return pieces
    return [(_without_redirects(words), joint) for words, joint in pieces]


def _without_redirects(words: list[str]) -> list[str]:
    result: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif (">" in word or "<" in word) and (match := _REDIRECT.match(word)):
            # `> file` has its target in the next word, `>file` and `2>&1` do not.
            skip = match.end() == len(word) and "&" not in word
        else:
            result.append(word)
    return result


def _unwrap(words: list[str]) -> list[str]:
    """Drop assignments and wrappers in front of the program."""
    at = 0
    while at < len(words):
        word = words[at]
        if "=" in word and _ASSIGNMENT.match(word):
            at += 1
            continue
        name = program_name(word)
        if name in _CONTAINERS and (inner := _inside_container(words[at:])):
            return _unwrap(inner)
        if is_python(name) and at + 2 < len(words) and words[at + 1] == "-m":
            at += 2
            continue
        seconds = _WRAPPERS.get(name)
        if seconds is None or (name == "command" and words[at + 1 : at + 2] in (["-v"], ["-V"])):
            break
        after = _skip_flags(words, at + 1)
        if seconds:
            if after >= len(words) or words[after] not in seconds:
                break
            after = _skip_flags(words, after + 1)
        if name in ("timeout", "gtimeout") and after < len(words) and _DURATION.match(words[after]):
            after += 1
        if after >= len(words):
            break
        at = after
    return words[at:]


_CONTAINERS = words("docker podman nix")
_CONTAINER_FLAGS_WITH_VALUE = words(
    "-e -u -w -v -p --env --user --workdir --volume --name --entrypoint"
)


def _inside_container(words: list[str]) -> list[str]:
    """What `docker exec NAME`, `docker compose run SERVICE` or `nix develop -c` runs inside."""
    if words[0] == "nix":
        at = next((i + 1 for i, word in enumerate(words) if word in ("-c", "--command")), 0)
        return words[at:] if at else []
    rest = words[2:] if words[1:2] == ["compose"] else words[1:]
    if rest[:1] not in (["exec"], ["run"]):
        return []
    at = 1
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in _CONTAINER_FLAGS_WITH_VALUE else 1
    return rest[at + 1 :]


def _skip_flags(words: list[str], at: int) -> int:
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _FLAGS_WITH_VALUE else 1
    return at


def _inline_script(words: list[str]) -> str | None:
    """The script of `bash -lc '...'`, without its quotes."""
    if program_name(words[0]) not in SHELLS:
        return None
    for index, word in enumerate(words[1:-1], start=1):
        if word.lower() in _SHELL_RUN_FLAGS or word == "--run":
            script = words[index + 1]
            return script[1:-1] if script[:1] in "'\"" and len(script) > 1 else script
    return None


def is_python(program: str) -> bool:
    """Whether a program is an interpreter of Python, of whatever version."""
    return program.startswith("py") and _PYTHON.match(program) is not None


@lru_cache(maxsize=1024)
def program_name(word: str) -> str:
    """`./node_modules/.bin/jest.cmd` is jest, `./gradlew` is gradle, `python3.12` is itself."""
    name = word.strip("'\"").replace("\\", "/").rsplit("/", 1)[-1]
    name = _PROGRAM_SUFFIX.sub("", name)
    return {"gradlew": "gradle", "mvnw": "mvn", "docker-compose": "docker"}.get(name, name)
