"""Which commands verify: tests, builds, linters and type checkers of the common ecosystems."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

from session_memory.core.commands import (
    SCAN_CHARS,
    SHELLS,
    Step,
    is_python,
    program_name,
    steps,
    words,
)
from session_memory.regex_cache import compiled

CheckKind = Literal["test", "build", "lint", "types"]

_WHERE_FLAGS = words("--filter -F -C --prefix --cwd --workspace --directory --project")
_ASKS_ONLY = words(
    "--version --help -h -V -version --collect-only --co --init --list-tests --showConfig"
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
    "ng": {"test": "test", "build": "build", "lint": "lint", "e2e": "test"},
    "npm": {"t": "test", "test": "test"},
    "node": {"--test": "test", "--check": "build"},
    "tsx": {"--test": "test"},
    "cmake": {"--build": "build"},
}
# Formatters write by default: only in these modes do they verify.
_FORMATTERS = words(
    "black isort prettier gofmt rustfmt clang-format shfmt dprint goimports yapf ruff cargo"
)
_FORMAT_VERBS = (("format",), ("fmt",))
_CHECK_FLAGS = words("--check -l -d --check-only --diff --list-different --dry-run check -c")
# Task runners: what they verify stands in the name of the target.
_TASK_RUNNERS = words(
    "npm pnpm yarn bun make gmake just task rake gradle mvn turbo nx composer deno poe invoke "
    "inv mage lerna moon grunt gulp ant mise pixi wireit vp"
)
_PACKAGE_MANAGERS = words("npm pnpm yarn bun composer deno")
_TASK_VERBS = frozenset(("run", "run-script", "-s", "task"))
_INTERPRETERS = SHELLS | words("node php ruby")
_TASK_NAME = compiled(
    r"(?P<types>type-?check|types?$|tsc|mypy|pyright)"
    r"|(?P<lint>lint|format[:_-]?check|fmt[:_-]?check|check[:_-]?(?:format|fmt)|checks?$|vet$|clippy|audit)"
    r"|(?P<test>(?:^|[^a-z])(?:tests?|specs?|e2e|unit|verify|validate|ci|integration"
    r"|coverage)(?:$|[^a-z]))"
    r"|(?P<build>(?:^|[^a-z])(?:build|compile|bundle|package|assemble|all|dist)(?:$|[^a-z]))",
    re.I,
)
_SCRIPT_NAME = compiled(
    r"(?:^|[_-])(?:(?P<test>tests?|checks?|ci|verify|validate)|(?P<lint>lint)|(?P<build>build))"
    r"(?:[_.-]|$)",
    re.I,
)
_LINTER = compiled(r"lint(?:er)?(?:@[\w.-]+)?$")  # most linters are called so
_BREAKS = bytes(byte if bytes((byte,)).isalnum() or byte == ord("+") else 32 for byte in range(256))


def bare_words(text: str) -> list[bytes]:
    """The runs of letters and digits of a text, quickly."""
    return text.encode("utf-8", "replace").translate(_BREAKS).split()


# Cheap test first: a command that verifies contains one of these words, and few commands do.
_HINTS = frozenset(
    bare_words(name)[0]
    for name in (
        *_BY_PROGRAM,
        *_BY_SUBCOMMAND,
        *_FORMATTERS,
        *_TASK_RUNNERS,
        *(
            "gradlew",
            "mvnw",
            "actionlint",
            "test",
            "tests",
            "check",
            "checks",
            "ci",
            "verify",
            "lint",
            "build",
        ),
    )
)


class Check(msgspec.Struct, frozen=True):
    """What a command verifies, and whether its exit code is the result."""

    kinds: tuple[CheckKind, ...]
    exit_tells: bool


_TAG = compiled(r"\[REDACTED_SECRET:[0-9a-f]+\]")


@lru_cache(maxsize=1024)
def check_of(command: str) -> Check | None:
    """The tests, builds, linters and type checkers a command runs; None if it runs none."""
    if "[REDACTED_SECRET:" in command:  # the tag is the store's, not the command's
        command = _TAG.sub("[REDACTED_SECRET]", command)
    if _HINTS.isdisjoint(bare_words(command[:SCAN_CHARS])):
        return None
    kinds: dict[CheckKind, None] = {}
    exit_tells = True
    for step in steps(command):
        kind = _kind_of(step)
        if kind is not None and _ASKS_ONLY.isdisjoint(step.words):
            kinds[kind] = None
            exit_tells = exit_tells and not step.hides_exit
    return Check(tuple(kinds), exit_tells) if kinds else None


def _kind_of(step: Step) -> CheckKind | None:
    program, words = step.program, step.words
    if program in _FORMATTERS and (program not in ("ruff", "cargo") or words[:1] in _FORMAT_VERBS):
        return "lint" if not _CHECK_FLAGS.isdisjoint(words) else None
    kind = _BY_PROGRAM.get(program)
    if kind is not None:
        return kind
    kinds = _BY_SUBCOMMAND.get(program, {})
    runs_script = program in _INTERPRETERS or is_python(program)
    if not (kinds or runs_script or program in _TASK_RUNNERS):
        return _kind_of_script(program)
    plain = _arguments(words)
    for word in plain[:2]:
        if word in kinds:
            return kinds[word]
    for flag in ("--test", "--check"):
        if flag in kinds and flag in words:
            return kinds[flag]
    if program in _TASK_RUNNERS:
        return _kind_of_task(program, plain)
    if runs_script and plain:
        script = program_name(plain[0])
        return _kind_of(Step(script, tuple(plain[1:]), step.hides_exit)) or _kind_of_script(script)
    return _kind_of_script(program)


def _arguments(words: tuple[str, ...]) -> list[str]:
    """Words that are neither flags nor the value of one that selects where to run."""
    arguments: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith(("-", "+")) and word != "--build":
            skip = word in _WHERE_FLAGS
        else:
            arguments.append(word)
    return arguments


def _kind_of_task(program: str, plain: list[str]) -> CheckKind | None:
    targets = [word for word in plain if word not in _TASK_VERBS]
    if program in _PACKAGE_MANAGERS and plain[:1] == ["ci"]:
        return None  # installs
    if plain[:1] == ["workspace"]:
        targets = targets[2:]
    if program in ("make", "gmake") and not targets:
        return "build"
    if program == "mvn" and "install" in targets:
        return "build"
    for target in targets[:4]:
        match = _TASK_NAME.search(target.rsplit(":", 1)[-1]) or _TASK_NAME.search(target)
        if match is not None:
            # GNU's `make check` runs the tests; a script of that name mostly lints.
            runs_tests = program in ("make", "gmake") and target in ("check", "checks")
            return "test" if runs_tests else _named(match)
        if program in ("npm", "pnpm", "yarn", "bun", "composer", "deno", "poe", "just"):
            return None  # later words are arguments of the script, not targets
    return None


@lru_cache(maxsize=1024)
def _kind_of_script(name: str) -> CheckKind | None:
    """`scripts/test.sh`, `run_tests.py`, `check`: a script says in its name what it does."""
    if _LINTER.search(name):
        return "lint"
    match = _SCRIPT_NAME.search(name)
    return _named(match) if match is not None and name != "test" else None


def _named(match: re.Match[str]) -> CheckKind | None:
    for kind in ("test", "build", "lint", "types"):
        if kind in match.re.groupindex and match[kind]:
            return kind
    return None
