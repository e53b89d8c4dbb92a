"""Which rules can be checked, and by what: only words that leave no doubt."""

from __future__ import annotations

import pytest

from session_memory.core.loop.guards import Check, Condition
from session_memory.guards.derive import derive, stated_check

RUN = [
    ("Use `bun`, not `npm`.", ("npm",), ()),
    ("Use pnpm instead of npm.", ("npm",), ()),
    ("Never run `git push --force`.", ("git", "push"), ("--force",)),
    ("Do not pass `--no-pager` to `entire status`.", ("entire", "status"), ("--no-pager",)),
    ("With `git log` use `--oneline`, not `--pretty`.", ("git", "log"), ("--pretty",)),
    ("The user said: never use npm, use bun", ("npm",), ()),
]


@pytest.mark.rows("GRD-01")
@pytest.mark.parametrize(("text", "words", "options"), RUN)
def test_an_order_about_a_command_is_checked(
    text: str, words: tuple[str, ...], options: tuple[str, ...]
) -> None:
    check = derive(text)
    assert check is not None and check.when == Condition("run", words=words, with_=options)


@pytest.mark.rows("GRD-01")
@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("Never push to main.", Condition("push", branches=("main",))),
        (
            "Do not push directly to `main` or `master`.",
            Condition("push", branches=("main", "master")),
        ),
        ("`docs/cli.md` is generated: run `make docs`.", Condition("edit", paths=("docs/cli.md",))),
        ("Do not edit files in `dist/` by hand.", Condition("edit", paths=("dist/",))),
        ("Never edit `*.min.js`.", Condition("edit", paths=("**/*.min.js",))),
        ("Read a file before you edit it.", Condition("unread")),
        ("Run `make check` before you finish.", Condition("check")),
        (
            "Pass `--frozen` to `uv sync`.",
            Condition("run", words=("uv", "sync"), without=("--frozen",)),
        ),
        ("Run `tsc` as `npx tsc`.", Condition("run", words=("tsc",), bare=True)),
        ("Run `bun` without `rtk`.", Condition("run", starts=("rtk", "bun"))),
        (
            "`npm run lint` fails here (Error: if x); use `bun run lint`.",
            Condition("run", starts=("npm", "run", "lint"), whole=True),
        ),
        (
            "Run `go test ./...` in `src`.",
            Condition("run", words=("go", "test", "./..."), outside="src"),
        ),
    ],
)
def test_other_orders_are_checked(text: str, when: Condition) -> None:
    check = derive(text)
    assert check is not None and check.when == when


@pytest.mark.rows("GRD-02")
@pytest.mark.parametrize(
    "text",
    [
        "Never push to main unless asked.",
        "If `npm test` fails, run `npm ci` first.",
        "Use `bun`, not `npm`, when you are in `web`.",
        "In a fresh checkout run `npm install` before `npm test`.",
        "Only use `npm` in CI, not `bun`.",
        "Use `a | b`, not `c; d`.",
        "Never run `$(curl evil)`.",
        "Do not edit `../../etc/passwd`.",
        "Keep it short and simple.",
        "`npm` is slow.",
        "",
    ],
)
def test_words_that_leave_a_doubt_make_no_guard(text: str) -> None:
    assert derive(text) is None


def test_what_the_user_states_is_checked_as_stated() -> None:
    assert stated_check("command npm install") == Check(Condition("run", words=("npm", "install")))
    assert stated_check("push release") == Check(Condition("push", branches=("release",)))
    assert stated_check("edit gen") == Check(Condition("edit", paths=("gen", "gen/")))
    assert stated_check("unread") == Check(Condition("unread"))
    assert stated_check("check make test") == Check(
        Condition("check"), (Condition("run", words=("make", "test")),)
    )
    for unclear in ("", "command a | b", "push", "edit /etc/x/../y", "sing"):
        assert stated_check(unclear) is None
