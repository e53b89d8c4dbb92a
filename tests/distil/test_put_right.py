"""A failing call and the one that put it right."""

from __future__ import annotations

import pytest
from tests.distil.test_cures import Log


@pytest.mark.parametrize(
    ("failed", "error", "cure"),
    [
        ("python -m pytest", "(eval):1: command not found: python", "python3 -m pytest"),
        (
            "curl -s http://x/?a=1",
            "zsh:1: no matches found: http://x/?a=1",
            "curl -s 'http://x/?a=1'",
        ),
        ("tool status --json", "Error: unknown flag: --json", "tool status"),
        ("rtk bun run test", "error: unrecognized subcommand 'bun'", "bun run test"),
        (
            "vercel --version",
            "zsh:1: command not found: vercel",
            "npx --yes vercel@latest --version",
        ),
        (
            "go test ./...",
            "pattern ./...: directory prefix . does not contain main module",
            "cd src && go test ./...",
        ),
        ("git -C shop add a b", "error: unexpected argument '-C' found", "rtk git add a b"),
        ("git rebase --continue", "error: cannot run vi", "GIT_EDITOR=true git rebase --continue"),
        (
            "gh issue view 12 --json number,title,owner",
            'Unknown JSON field: "owner"',
            "gh issue view 12 --json number,title",
        ),
        ("rg -n '--trace|x' src", "rg: unrecognized flag --trace", "rg -n -- '--trace|x' src"),
        (
            "git add . && git rebase --continue",
            "error: There was a problem with the editor 'editor'.",
            "GIT_EDITOR=true git rebase --continue",
        ),
        (
            "vercel domains add a.app shop",
            '"reason": "missing_arguments"',
            "vercel domains add a.app",
        ),
        (
            'rg -n "target:\\n|type: grader|path: node" docs examples',
            'rg: the literal "\\n" is not allowed in a regex',
            'rg -n "type: grader|path: node" docs examples',
        ),
        (
            "shop run all --dry --output /tmp/x",
            "Error: the output must be in .results: /tmp/x",
            "shop run all --dry --output .results/x",
        ),
        (
            "bd update a5 --claim --json",
            "Error claiming a5: already claimed by codex",
            "bd update a5 --status open --json",
        ),
        (
            'node -e "const page = await get(config.url, config.key); show(page, config)"',
            "ReferenceError: Cannot determine intended module format",
            'node --input-type=module -e "const page = await get(config.url, config.key)"',
        ),
    ],
)
def test_a_call_that_was_put_right_is_the_cure(failed: str, error: str, cure: str) -> None:
    log = Log().run(failed, error, 1).run("git status --short", " M a").run(cure, "ok 5 passed")
    [found] = log.cures
    assert (found.failed, found.kind, found.steps) == (failed, "command", (cure,))
    assert found.error_seq == 2 and found.step_seqs == (5,)


def test_of_a_long_command_the_part_that_was_put_right_is_shown() -> None:
    begin = f"curl -s 'http://x/{'a' * 300}'"
    log = Log().run(f"{begin} | jq '.[] | .a + '", "jq: error: syntax error, unexpected end", 3)
    log.run(f"{begin} | jq '.[] | .a'", "1")
    assert [cure.steps for cure in log.cures] == [("… | jq '.[] | .a'",)]
