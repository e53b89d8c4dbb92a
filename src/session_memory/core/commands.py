"""What a shell command does: the program behind its wrappers, what it verifies, whether it edits."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

CheckKind = Literal["test", "build", "lint", "types"]

_SCAN_CHARS = 4096  # what stands later in a command is a here-document or a pasted script
_NESTING = 3

_HEREDOC = re.compile(
    r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1(.*?)\n.*?(?:^[ \t]*\2[ \t]*$|\Z)", re.S | re.M
)
_TOKEN = re.compile(
    r"""(?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\$\([^()]*\)|\\.|\d?>{1,2}&?\d?|<|[^\s'"|;&<>\\])+)"""
    r"|(?P<joint>&&|\|\|&?|\|&?|;|&|\n)|.",
    re.S,
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_REDIRECT = re.compile(r"\d?>{1,2}(?:&\d)?|<")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?$")
_PROGRAM_SUFFIX = re.compile(r"(?:\.(?:exe|cmd|bat|ps1))$")
_PYTHON = re.compile(r"(?:python|pypy)\d*(?:\.\d+)?$|py$")

# Wrappers that run the rest of their words as a command; the second word is needed where given.
_WRAPPERS: dict[str, frozenset[str]] = {
    name: frozenset(second.split())
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
    }.items()
}
_FLAGS_WITH_VALUE = frozenset(
    "-u -g -n -k -s -p -C -w --with --package --python --extra --group --project --directory "
    "--signal --kill-after --filter --prefix --cwd --name --workspace -e --env-file".split()
)
_WHERE_FLAGS = frozenset("--filter -F -C --prefix --cwd --workspace --directory --project".split())
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "fish", "pwsh", "powershell", "cmd"))
_SHELL_RUN_FLAGS = frozenset(("-c", "-lc", "-ic", "-lic", "-command", "/c", "-ec", "-exc"))
_PREPARATION = frozenset(("cd", "pushd", "set", "export", "source", ".", "unset", "mkdir"))
_VIEWERS = frozenset("tail head cat less more tee grep rg sed awk sort uniq wc cut tr jq".split())

_ASKS_ONLY = frozenset(
    "--version --help -h -V -version --collect-only --co --init --list-tests --showConfig".split()
)

_BY_PROGRAM: dict[str, CheckKind] = {}
_KINDS: dict[CheckKind, str] = {
    "test": "pytest py.test tox nox nosetests jest vitest mocha ava jasmine karma cypress phpunit "
    "pest rspec ctest bats gotestsum behave robot busted shellspec prove elm-test wtr cucumber "
    "parallel_rspec minitest testem nextest unittest",
    "types": "mypy dmypy pyright basedpyright tsc vue-tsc tsgo pyre pytype flow phpstan psalm "
    "svelte-check steep pyrefly",
    "lint": "flake8 pylint eslint oxlint stylelint golangci-lint staticcheck rubocop shellcheck "
    "hadolint yamllint markdownlint markdownlint-cli2 ktlint detekt checkstyle clang-tidy cppcheck "
    "swiftlint tflint ansible-lint actionlint semgrep bandit lint-imports vale knip xo "
    "pycodestyle pydocstyle vulture deptry",
    "build": "ninja webpack rollup esbuild tsup javac rustc gcc g++ clang clang++ msbuild "
    "xcodebuild py_compile compileall",
}
for _kind, _names in _KINDS.items():
    _BY_PROGRAM.update(dict.fromkeys(_names.split(), _kind))

_BY_SUBCOMMAND: dict[str, dict[str, CheckKind]] = {
    "go": {"test": "test", "build": "build", "vet": "lint"},
    "cargo": {
        "test": "test",
        "nextest": "test",
        "build": "build",
        "check": "build",
        "clippy": "lint",
        "t": "test",
        "b": "build",
    },
    "ruff": {"check": "lint"},
    "ty": {"check": "types"},
    "srb": {"tc": "types"},
    "biome": {"check": "lint", "lint": "lint", "ci": "lint"},
    "deno": {"test": "test", "check": "types", "lint": "lint"},
    "bun": {"test": "test", "build": "build"},
    "dotnet": {"test": "test", "build": "build"},
    "swift": {"test": "test", "build": "build"},
    "zig": {"test": "test", "build": "build"},
    "mix": {"test": "test", "compile": "build", "credo": "lint", "dialyzer": "types"},
    "flutter": {"test": "test", "build": "build", "analyze": "lint"},
    "dart": {"test": "test", "analyze": "lint", "compile": "build"},
    "sbt": {"test": "test", "compile": "build"},
    "lein": {"test": "test"},
    "cabal": {"test": "test", "build": "build"},
    "stack": {"test": "test", "build": "build"},
    "dune": {"test": "test", "runtest": "test", "build": "build"},
    "bazel": {"test": "test", "build": "build"},
    "meson": {"test": "test", "compile": "build"},
    "forge": {"test": "test", "build": "build"},
    "hardhat": {"test": "test", "compile": "build"},
    "playwright": {"test": "test"},
    "rails": {"test": "test"},
    "artisan": {"test": "test"},
    "manage.py": {"test": "test", "check": "lint"},
    "docker": {"build": "build"},
    "podman": {"build": "build"},
    "vite": {"build": "build"},
    "next": {"build": "build", "lint": "lint"},
    "react-router": {"build": "build", "typegen": "build"},
    "astro": {"build": "build", "check": "types"},
    "wasm-pack": {"build": "build", "test": "test"},
    "pre-commit": {"run": "lint"},
    "prek": {"run": "lint"},
    "lefthook": {"run": "lint"},
    "terraform": {"validate": "lint", "plan": "build"},
    "tofu": {"validate": "lint", "plan": "build"},
    "helm": {"lint": "lint"},
    "uv": {"build": "build"},
    "poetry": {"build": "build"},
    "hatch": {"build": "build", "test": "test"},
    "cmake": {"--build": "build"},
}
# Formatters write by default: only in these modes do they verify.
_FORMATTERS = frozenset(
    "black isort prettier gofmt rustfmt clang-format shfmt dprint goimports yapf ruff cargo".split()
)
_FORMAT_VERBS = (("format",), ("fmt",))
_CHECK_FLAGS = frozenset(
    "--check -l -d --check-only --diff --list-different --dry-run check -c".split()
)
# Task runners: what they verify stands in the name of the target.
_TASK_RUNNERS = frozenset(
    "npm pnpm yarn bun make gmake just task rake gradle mvn turbo nx composer deno poe invoke "
    "inv mage lerna moon grunt gulp ant".split()
)
_TASK_VERBS = frozenset(("run", "run-script", "-s", "task"))
_TASK_NAME = re.compile(
    r"(?P<types>type-?check|types?$|tsc|mypy|pyright)"
    r"|(?P<lint>lint|format[:_-]?check|fmt[:_-]?check|check[:_-]?(?:format|fmt)|vet$|clippy|audit)"
    r"|(?P<test>(?:^|[^a-z])(?:tests?|specs?|e2e|unit|verify|validate|check|checks|ci|integration"
    r"|coverage)(?:$|[^a-z]))"
    r"|(?P<build>(?:^|[^a-z])(?:build|compile|bundle|package|assemble|all|dist)(?:$|[^a-z]))",
    re.I,
)
_SCRIPT_NAME = re.compile(
    r"(?:run[_-]?|do[_-]?)?(?:(?P<test>tests?|checks?|ci|verify)|(?P<lint>lint)|(?P<build>build))"
    r"(?:[_.-]|$)",
    re.I,
)

# One cheap look that spares most commands the tokens.
_MAY_CHECK = re.compile(
    r"test|check|lint|build|spec|tox|nox|mypy|pyr|tsc|tsgo|types?|ruff|biome|vet|make|cargo|gradle|mvn"
    r"|jest|mocha|karma|cypress|bats|cop|clang|gcc|g\+\+|javac|rustc|ninja|pack|rollup|esbuild"
    r"|tsup|fmt|format|black|isort|prettier|compile|verify|valid|\bci\b|knip|vale|semgrep|bandit"
    r"|pre-?k|pre-commit|lefthook|clippy|analy|credo|dialyzer|phpstan|psalm|flow|steep|flake8"
    r"|just|task|rake|turbo|nx|poe|plan|e2e|unit|assemble|bundle|dist|detekt|robot|prove|behave"
    r"|cucumber|minitest|vulture|deptry|pycodestyle|pydocstyle|dprint|yapf|goimports|\bava\b|\bxo\b"
    r"|busted|jasmine|nextest|\bwtr\b|\bpest\b|srb|\bty\b|audit|coverage|integration|msbuild",
    re.I,
)
_CHANGES = re.compile(
    r"\bsed\s+(?:-\w+\s+)*-\w*i|\bperl\s+-\w*i|\bapply_patch\b|\bgit\s+(?:apply|am|revert|reset\s+--hard"
    r"|restore|cherry-pick)\b|\bgit\s+(?:checkout|stash)\s+(?:--|pop|apply)|\bpatch\s+-p\d"
    r"|\bopen\([^)\n]*,\s*['\"](?:w|a)|\.write_text\("
    r"|(?:^|[;&|\n]\s*)(?:cat|echo|printf|tee)\b[^|;&\n]*?>{1,2}\s*(?!/dev/|/tmp/|&)[\w./~$\"'-]"
)


class Step(msgspec.Struct, frozen=True):
    """One program run inside a command."""

    program: str
    words: tuple[str, ...]
    """Its arguments, quotes kept off, redirections left out."""
    hides_exit: bool
    """True where the exit code of the whole command is not this program's."""


class Check(msgspec.Struct, frozen=True):
    """What a command verifies, and whether its exit code tells the result."""

    kinds: tuple[CheckKind, ...]
    exit_tells: bool


def steps(command: str) -> tuple[Step, ...]:
    """The programs a command runs, in order, without wrappers, assignments and preparation."""
    found: list[Step] = []
    _collect(command[:_SCAN_CHARS], found, hidden=False, depth=0)
    return tuple(found)


def check_of(command: str) -> Check | None:
    """The tests, builds, linters and type checkers a command runs; None if it runs none."""
    if not _MAY_CHECK.search(command, 0, _SCAN_CHARS):
        return None
    kinds: dict[CheckKind, None] = {}
    exit_tells = True
    for step in steps(command):
        kind = _kind_of(step)
        if kind is not None:
            kinds[kind] = None
            exit_tells = exit_tells and not step.hides_exit
    return Check(tuple(kinds), exit_tells) if kinds else None


def changes_files(command: str) -> bool:
    """True for shell commands that edit in place, patch, or write a file from a here-document."""
    return _CHANGES.search(command, 0, _SCAN_CHARS) is not None


def normalized(command: str, limit: int = 200) -> str:
    """The command as one would name it: no wrappers, directories, redirections or pagers."""
    kept = [step for step in steps(command) if step.program not in _PREPARATION]
    main = [step for step in kept if step.program not in _VIEWERS] or kept
    return " && ".join(" ".join((step.program, *step.words)) for step in main)[:limit]


def _collect(command: str, found: list[Step], *, hidden: bool, depth: int) -> None:
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
            _collect(script, found, hidden=hides, depth=depth + 1)
        else:
            found.append(Step(_program(inner[0]), tuple(inner[1:]), hides))


def _split(command: str) -> list[tuple[list[str], str]]:
    """Simple commands, each with the joint that follows it ('' for the last)."""
    pieces: list[tuple[list[str], str]] = []
    words: list[str] = []
    for match in _TOKEN.finditer(command):
        joint = match["joint"]
        if joint is not None:
            if words:
                pieces.append((words, joint))
                words = []
        elif match["word"] is not None:
            word = match["word"].strip("(){}") if len(match["word"]) > 1 else match["word"]
            if word not in ("", "(", ")", "{", "}", "!"):
                words.append(word)
    if words:
        pieces.append((words, ""))
    return [(_without_redirects(found), joint) for found, joint in pieces]


def _without_redirects(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif (match := _REDIRECT.match(word)) is not None:
            # `> file` has its target in the next word, `>file` and `2>&1` do not.
            skip = match.end() == len(word) and "&" not in word
        else:
            kept.append(word)
    return kept


def _unwrap(words: list[str]) -> list[str]:
    """Drop assignments and wrappers in front of the program."""
    at = 0
    while at < len(words):
        word = words[at]
        if _ASSIGNMENT.match(word):
            at += 1
            continue
        name = _program(word)
        if _PYTHON.match(name) and at + 2 < len(words) and words[at + 1] == "-m":
            at += 2
            continue
        seconds = _WRAPPERS.get(name)
        if seconds is None:
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


def _skip_flags(words: list[str], at: int) -> int:
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _FLAGS_WITH_VALUE else 1
    return at


def _inline_script(words: list[str]) -> str | None:
    """The script of `bash -lc '...'`, without its quotes."""
    if _program(words[0]) not in _SHELLS:
        return None
    for index, word in enumerate(words[1:-1], start=1):
        if word.lower() in _SHELL_RUN_FLAGS:
            script = words[index + 1]
            return script[1:-1] if script[:1] in "'\"" and len(script) > 1 else script
    return None


def _program(word: str) -> str:
    """`./node_modules/.bin/jest.cmd` is jest, `./gradlew` is gradle, `python3.12` is itself."""
    name = word.strip("'\"").replace("\\", "/").rsplit("/", 1)[-1]
    name = _PROGRAM_SUFFIX.sub("", name)
    return {"gradlew": "gradle", "mvnw": "mvn", "docker-compose": "docker"}.get(name, name)


def _kind_of(step: Step) -> CheckKind | None:
    program, words = step.program, step.words
    if not _ASKS_ONLY.isdisjoint(words):
        return None
    if program in _FORMATTERS and (program not in ("ruff", "cargo") or words[:1] in _FORMAT_VERBS):
        return "lint" if not _CHECK_FLAGS.isdisjoint(words) else None
    kind = _BY_PROGRAM.get(program)
    if kind is not None:
        return kind
    plain = _arguments(words)
    known = _BY_SUBCOMMAND.get(program, {})
    for word in plain[:2]:
        if word in known:
            return known[word]
    if program in _TASK_RUNNERS:
        return _kind_of_task(program, plain)
    if (
        _PYTHON.match(program) or program in _SHELLS or program in ("node", "php", "ruby")
    ) and plain:
        script = _program(plain[0])
        return _kind_of(Step(script, tuple(plain[1:]), step.hides_exit)) or _kind_of_script(script)
    return _kind_of_script(program)


def _arguments(words: tuple[str, ...]) -> list[str]:
    """Words that are neither flags nor the value of one that selects where to run."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith(("-", "+")) and word != "--build":
            skip = word in _WHERE_FLAGS
        else:
            kept.append(word)
    return kept


def _kind_of_task(program: str, plain: list[str]) -> CheckKind | None:
    targets = [word for word in plain if word not in _TASK_VERBS]
    if program in ("make", "gmake") and not targets:
        return "build"
    if program == "mvn" and "install" in targets:
        return "build"
    for target in targets[:4]:
        match = _TASK_NAME.search(target.rsplit(":", 1)[-1]) or _TASK_NAME.search(target)
        if match is not None:
            return _named(match)
        if program in ("npm", "pnpm", "yarn", "bun", "composer", "deno", "poe", "just"):
            return None  # later words are arguments of the script, not targets
    return None


def _kind_of_script(name: str) -> CheckKind | None:
    """`scripts/test.sh`, `run_tests.py`, `check`: a script says in its name what it does."""
    match = _SCRIPT_NAME.match(name)
    return _named(match) if match is not None and name != "test" else None


def _named(match: re.Match[str]) -> CheckKind | None:
    for kind in ("test", "build", "lint", "types"):
        if kind in match.re.groupindex and match[kind]:
            return kind
    return None
