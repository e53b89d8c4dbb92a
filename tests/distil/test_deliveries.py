"""What shows that work arrived is listed with a session's checks, and is none of the project's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.distil.deliveries import delivers
from session_memory.testing.workspace import Workspace


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m done",
        "cd shop && git push origin main 2>&1 | tail -3",
        "git -c user.name=x commit -m done",
        "gh pr checks 12 --watch",
        "gh run watch 99 --exit-status",
        "gh api --method PUT repos/a/b/protection",
        "npm publish",
        "npx --yes vercel@latest --prod",
        "curl -sSI https://shop.example",
        "curl -s -o /dev/null -w '%{http_code}' https://shop.example",
    ],
)
def test_what_delivers_or_asks_whether_it_arrived(command: str) -> None:
    assert delivers(command)


@pytest.mark.parametrize(
    "command",
    [
        "git commit --help",
        "git push --dry-run",
        "git status",
        "gh pr view 12",
        "gh api repos/a/b",
        "npm install",
        "curl -s https://shop.example/guide",
        "echo 'git push'",
    ],
)
def test_what_does_not(command: str) -> None:
    assert not delivers(command)


@pytest.mark.rows("DIG-12")
def test_a_push_is_listed_with_the_checks_and_not_told_as_how_to_verify(tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space")
    log = ClaudeLog(1)
    log.prompt("add the cart and push it")
    log.edit("/work/shop/cart.py", "a", "b")
    log.run("pytest -q", "3 passed")
    log.run("git push 2>&1 | tail -2", "! [rejected] main -> main (fetch first)")
    log.run("git push", "main -> main")
    space.write(log)
    space.sweep()
    config = ("--config", str(space.write_config()))
    digest = json.loads(space.run(*config, "show", "--digest", log.session_id, "--json").stdout)[
        "digest"
    ]
    listed = [
        (run["command"].split()[0], run["is_error"], run["delivers"])
        for run in digest["commands"]
        if run["verifies"]
    ]
    assert listed == [("pytest", False, False), ("git", True, True), ("git", False, True)]
    told = space.run(*config, "project", "memory", "briefing", "--project", "/work/shop").stdout
    assert "pytest -q" in told and "git push" not in told
