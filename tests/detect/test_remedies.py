"""What helped against a failure, as a rule that can be read aloud; otherwise no rule at all."""

from __future__ import annotations

import msgspec
import pytest
from tests.detect.digests import cured

from session_memory.core.schema import CureKind
from session_memory.detect.remedies import Remedy, remedy_of

ROOTS = ("/a/shop",)


def put_right(error: str, failed: str, works: str, kind: CureKind = "command") -> Remedy | None:
    """The remedy of a call that worked in another form."""
    cure = cured(error, failed, works, kind=kind)
    return remedy_of(msgspec.structs.replace(cure, proof=works), ROOTS)


def rule(error: str, failed: str, works: str, kind: CureKind = "command") -> str:
    found = put_right(error, failed, works, kind)
    return found.rule if found else ""


@pytest.mark.rows("DET-11")
@pytest.mark.parametrize(
    ("error", "failed", "works", "said"),
    [
        (
            "command not found: python",
            "python -m pytest",
            "python3 -m pytest",
            "Use `python3`, not",
        ),
        (
            "unrecognized subcommand 'bun'",
            "wrap bun run test 2>&1 | tail",
            "bun run test",
            "Run `bun` without `wrap`. `wrap bun run test` fails, `bun run test` works.",
        ),
        (
            "zsh: command not found: vercel",
            "vercel --version",
            "npx --yes vercel@latest --version",
            "Run `vercel` as `npx --yes vercel`.",
        ),
        (
            "unknown flag: --no-pager",
            "tool status --json --no-pager",
            "tool status",
            "Do not pass `--no-pager` to `tool status`.",
        ),
        (
            "unknown flag: --stat",
            "gh pr diff 88 --stat",
            "gh pr diff 88 --name-only",
            "Do not pass `--stat` to `gh pr diff`.",
        ),
        (
            "unexpected value",
            "tool list --filter=a",
            "tool list --only=a",
            "With `tool list` use `--only`, not `--filter`.",
        ),
        (
            "no tty",
            "docker compose run web",
            "docker compose run -T web",
            "Pass `-T` to `docker comp",
        ),
        (
            '"explain" is deprecated, use tool log explain',
            "tool explain",
            "tool log explain",
            "Use `tool log explain`, not `tool explain`.",
        ),
        (
            "zsh:1: no matches found: https://x.test/a?b=1",
            "curl -s https://x.test/a?b=1",
            "curl -s 'https://x.test/a?b=1'",
            "The shell is zsh: quote arguments that contain `?`, `*`, `[` or `]`.",
        ),
        (
            "Unexpected end of JSON input",
            "curl https://x.test/a?b=1 | jq .",
            "curl 'https://x.test/a?b=1' | jq .",
            "Quote arguments that contain `?`, `*`, `[` or `]`.",
        ),
    ],
)
def test_the_change_that_helped_is_named(error: str, failed: str, works: str, said: str) -> None:
    assert rule(error, failed, works).startswith(said)


@pytest.mark.rows("DET-11")
def test_what_has_to_be_done_before_is_named_with_the_call_it_helps() -> None:
    def before(failed: str, works: str, kind: CureKind = "command") -> str:
        found = remedy_of(cured("it failed", failed, works, kind=kind), ROOTS)
        return found.rule if found else ""

    installed = before("npm run build", "npm ci", "install")
    assert installed == "In a fresh checkout run `npm ci` before `npm run build`."
    mended = before("npm run lint", "npm run lint:fix")
    assert mended == "Fix what `npm run lint` finds with `npm run lint:fix`."
    assert before("npm test", "docker compose up -d").endswith("run `docker compose up -d` first.")
    assert before("git push origin main", "git pull --rebase origin main") == ""


@pytest.mark.rows("DET-11")
def test_the_directory_in_which_it_works_is_named() -> None:
    assert rule("no package.json", "npm test", "cd /a/shop/web && npm test") == (
        "Run `npm test` in `web`."
    )


@pytest.mark.rows("DET-11")
@pytest.mark.parametrize(
    ("failed", "works", "kind"),
    [
        ("npm test", "Edit /a/shop/x.ts", "edit"),
        ("Edit /a/shop/x.ts", "Edit /a/shop/x.ts", "command"),  # after reading it
        ("tool trail show", "tool trail create --title 'A new one'", "command"),
        ("gh pr view 7", "gh pr view 8", "command"),
        ("cat <<'EOF' | tool\nx\nEOF", "tool x", "command"),
    ],
)
def test_what_holds_for_one_occasion_is_no_rule(failed: str, works: str, kind: CureKind) -> None:
    assert rule("it failed", failed, works, kind) == ""


def test_the_same_change_has_the_same_name_whatever_else_the_call_said() -> None:
    calls = (("tool log 7 --no-pager", "tool log 7"), ("tool log --no-pager -n 3", "tool log -n 9"))
    found = [put_right("unknown flag: --no-pager", *call) for call in calls]
    assert {one.locus for one in found if one} == {"tool log without --no-pager"}
