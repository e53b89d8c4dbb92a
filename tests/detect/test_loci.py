"""The same thing in two sessions has the same name."""

from __future__ import annotations

import pytest

from session_memory.core.text.masks import mask
from session_memory.detect import loci
from session_memory.detect.loci import command_locus, error_locus, path_locus, wording_locus


@pytest.mark.parametrize(
    ("command", "locus"),
    [
        ("git push origin main", "git push <args>"),
        ("cd app && FOO=1 npm run build -- --watch", "npm run build"),
        ("uv run pytest -q tests/test_a.py 2>&1 | tail -5", "pytest <args>"),
        ("python scripts/build.py --fast", "python scripts/build.py"),
        ("python /opt/x/build.py", "python <args>"),
        ("docker compose up -d", "docker compose up"),
        ("bash -lc 'make test'", "make test"),
        ("ls -la && cat README.md", ""),
        ("session-memory rules detect", ""),
        ("git -C /a/shop add x.py", "git add <args>"),
        ("git -c core.pager=cat log -3 && npm --prefix web run build", "git log && npm run build"),
        ("bun apps/cli/src/cli.ts prepare", "bun apps/cli/src/cli.ts <args>"),
        ("git --exec-path ./x", ""),
        ("gh api repos/a/b/pulls --paginate", "gh api repos/.."),
        ("tool status --json", "tool status"),
        ("tool trail show 7", "tool trail <args>"),
        ("rm -rf build", "rm <args>"),
    ],
)
def test_commands_are_named_by_program_and_subcommand(command: str, locus: str) -> None:
    assert command_locus(command) == locus


@pytest.mark.parametrize(
    "command",
    ["git push origin x", "npm run build", "npm exec tsc -p .", "make -j4 all", "uv run ruff"],
)
def test_a_plain_command_has_the_name_it_has_among_others(command: str) -> None:
    assert command_locus(command) == command_locus(f"cd app && {command} 2>&1 | tail -3")


def test_paths_are_relative_to_the_repository_wherever_it_lies() -> None:
    assert path_locus("/a/shop/src/x.py", ("/a/shop",)) == "src/x.py"
    assert path_locus("D:\\b\\shop\\src\\x.py", ("D:\\b\\shop",)) == "src/x.py"
    assert path_locus("src/x.py", ()) == "src/x.py"
    assert path_locus("/elsewhere/secret/x.py", ("/a/shop",)) == "<path>/x.py"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bash: jq: command not found", ("missing_tool", "command jq")),
        ("zsh:1: no matches found: a?b", ("recurring_error", "unquoted ?, *, [ or ]")),
        ("(eval):2: no matches found: x/*.md", ("recurring_error", "unquoted ?, *, [ or ]")),
        ("zsh: command not found: rg", ("missing_tool", "command rg")),
        ("ModuleNotFoundError: No module named 'yaml'", ("missing_tool", "module yaml")),
        ("Error: Cannot find module 'left-pad'", ("missing_tool", "module left-pad")),
        ("fatal: not a git repository (or any parent)", ("wrong_directory", "git repository")),
        (
            "npm ERR! enoent ENOENT: no such file, open '/x/package.json'",
            ("wrong_directory", "package.json"),
        ),
        ("Found 3 errors.", ("recurring_error", "Found <n> errors.")),
        ("src/app/main.py:12", ("recurring_error", "")),
        ("The tool use was rejected", ("denied_permission", "")),
    ],
)
def test_errors_are_told_apart_by_what_they_say(text: str, expected: tuple[str, str]) -> None:
    assert error_locus(text, mask(text)) == expected


def test_corrections_of_the_same_words_have_the_same_name() -> None:
    assert wording_locus("No, use uv instead of pip!") == wording_locus(
        "please use uv, not pip instead"
    )
    assert wording_locus("no") == ""


def test_the_caches_of_commands_and_errors_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loci, "_CACHED_LOCI", 2)
    for cached in (command_locus, loci.cached_error_locus):
        cached.cache_clear()
    for name in ("a", "b", "c"):
        command_locus(f"make {name}")
    loci.cached_error_locus("no way", "no way")
    loci.trim_caches()
    assert command_locus.cache_info().currsize == 0
    assert loci.cached_error_locus.cache_info().currsize == 1
    assert command_locus("make a") == "make a"
