"""What a new session is told: little, proven, in order of value, and nothing it reads anyway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from session_memory.core.schema import CommandRun, Cure, CureKind, GitState, Notice, RuleStatement
from session_memory.memory.briefing import (
    MAX_CHARS,
    BriefingLine,
    briefing,
)
from session_memory.memory.instructions import read_instructions
from session_memory.memory.known_session import KnownSession
from session_memory.testing.store_drafts import distilled

DAY = 86_400_000
ROOT = "/work/shop"


def ran(command: str, *, ok: bool = True, seq: int = 1, **fields: Any) -> CommandRun:
    return CommandRun(command, exit=0 if ok else 1, is_error=not ok, seq=seq, **fields)


def check(command: str, *, ok: bool = True) -> CommandRun:
    return ran(command, ok=ok, verifies=True)


def cure(failed: str, works: str, error: str, kind: CureKind = "command") -> Cure:
    return Cure(error, error, 2, failed, kind, (works,), (3,), works, 3)


def says(text: str, *, firm: bool = False, day: int = 1) -> RuleStatement:
    return RuleStatement(text, 1, day * DAY, "asks for it", firm, "against")


def sessions(*digests: dict[str, Any], branch: str | None = None) -> list[KnownSession]:
    """Sessions, the newest first."""
    count = len(digests)
    return [
        KnownSession(
            count - n, f"s{count - n}", (count - n) * DAY, distilled(**fields), (ROOT,), branch
        )
        for n, fields in enumerate(digests)
    ]


def texts(lines: list[BriefingLine], kind: str) -> list[str]:
    return [line.text for line in lines if line.kind == kind]


@pytest.mark.rows("BRF-01")
def test_nothing_is_told_where_nothing_is_known() -> None:
    assert briefing([]) == []
    assert briefing(sessions({}, {}, {})) == []


@pytest.mark.rows("BRF-02")
def test_checks_that_sessions_pass_are_told_one_of_each_kind() -> None:
    passed = {"commands": (check("npm test 2>&1 | tail -5"), check("cd src && npm run lint"))}
    (line,) = briefing(sessions(passed, passed, passed))
    assert (
        line.text
        == "Verify with `npm run lint` in `src`, `npm test` (the first passed in 3 sessions)"
    )
    assert line.evidence[0].session == 3


@pytest.mark.rows("BRF-02")
@pytest.mark.parametrize(
    "digests",
    [
        [{"commands": (check("npm test", ok=False),)}, *[{"commands": (check("npm test"),)}] * 3],
        [*[{}] * 5, {"commands": (check("npm test"),)}],
        [*[{}] * 10, *[{"commands": (check("npm test"),)}] * 5],
        [{"commands": (check("pytest tests/test_a.py"),)}] * 3,
        [{"commands": (check("npx biome check --fix ."),)}] * 3,
    ],
    ids=["fails now", "passed once", "not run lately", "a part of the tests", "changes files"],
)
def test_a_check_that_may_not_hold_is_not_told(digests: list[dict[str, Any]]) -> None:
    assert texts(briefing(sessions(*digests)), "verify") == []


@pytest.mark.rows("BRF-03")
def test_a_trap_is_told_with_what_works_and_in_how_many_sessions() -> None:
    trap = {"cures": (cure("tool status --json", "tool status", "unknown flag: --json"),)}
    (line,) = briefing(sessions(trap, trap, {}))
    assert (
        line.text == "`tool status --json` fails here (unknown flag: --json); use `tool status`;"
        " met in 2 sessions, last 1970-01-04"
    )
    assert [(ref.session, ref.seq) for ref in line.evidence] == [(3, 2), (3, 3)]
    module = cure("make docs", "pip install pyyaml", "No module named 'yaml'", "install")
    assert texts(briefing(sessions({"cures": (module,)})), "trap") == [
        (
            "In a fresh checkout run `pip install pyyaml` before `make docs`"
            " (else: No module named 'yaml'); met in 1 session 1970-01-02"
        )
    ]
    usual = cure("npm run build", "npm ci", "vite: command not found", "install")
    assert briefing(sessions({"cures": (usual,)})) == []


@pytest.mark.rows("BRF-03")
@pytest.mark.parametrize(
    "known",
    [
        cure("pytest", "Edit a.py", "1 failed", "edit"),
        cure("Edit a.py", "Read a.py", "File has not been read yet"),
        cure("git push", "git pull --rebase", "rejected: fetch first"),
        cure("tool go", "tool " + "x" * 200, "unknown flag"),
        cure("tool build && tool test", "tool test", "no such target"),
    ],
    ids=["an edit", "an editor's quirk", "a state that passes", "too long to read", "a chain"],
)
def test_what_will_not_fail_again_or_cannot_be_read_is_no_trap(known: Cure) -> None:
    assert texts(briefing(sessions({"cures": (known,)})), "trap") == []


@pytest.mark.rows("BRF-03")
def test_a_check_that_works_is_not_said_to_fail_because_a_fixer_mends_what_it_finds() -> None:
    fixed = {"cures": (cure("bun run lint", "bun run lint:fix", "Found 3 errors."),)}
    assert texts(briefing(sessions(fixed, fixed)), "trap") == [
        "What `bun run lint` finds, `bun run lint:fix` mends; met in 2 sessions, last 1970-01-03"
    ]


@pytest.mark.rows("BRF-02", "BRF-03")
def test_a_count_is_of_all_sessions_and_not_of_the_recent_ones() -> None:
    trap = (cure("tool status --json", "tool status", "unknown flag: --json"),)
    both = {"commands": (check("npm test"),), "cures": trap}
    told = [line.text for line in briefing(sessions(*[both] * 30))]
    assert "(it passed in 30 sessions)" in told[0] and "met in 30 sessions" in told[1]


@pytest.mark.rows("BRF-02")
def test_a_check_is_told_with_the_directory_that_sessions_changed_to() -> None:
    went = {"commands": (check("cd src && go test ./..."), check("go test ./..."))}
    (line,) = briefing(sessions(went, went))
    assert line.text == "Verify with `go test ./...` in `src` (it passed in 2 sessions)"
    both = {"commands": (check("cd src && go test ./..."), check("cd src && go build ./..."))}
    (line,) = briefing(sessions(both, both))
    assert line.text.startswith("Verify in `src` with `go build ./...`, `go test ./...` (the first")


@pytest.mark.rows("BRF-03")
def test_an_old_trap_that_one_session_met_is_not_told() -> None:
    trap = {"cures": (cure("tool status --json", "tool status", "unknown flag: --json"),)}
    assert texts(briefing(sessions(*[{}] * 10, trap)), "trap") == []


@pytest.mark.rows("BRF-04")
def test_what_the_user_asked_for_in_two_sessions_is_told_however_old() -> None:
    first, again = (says("don't run visual tests", day=day) for day in (1, 2))
    lines = briefing(sessions(*[{}] * 30, {"rules": (again,)}, {"rules": (first,)}))
    (told,) = texts(lines, "rule")
    assert '"don\'t run visual tests"; said in 2 sessions, last 1970-01-03' in told


@pytest.mark.rows("BRF-05")
def test_only_where_the_last_session_broke_off_is_told_as_open() -> None:
    commit = ran("git commit -m x", delivers=True)
    cut = {"ended": "cut off", "commands": (commit,), "open_items": ("a", "b")}
    (line,) = texts(briefing(sessions(cut, branch="tab-icon")), "open")
    assert line.endswith(
        "broke off on branch tab-icon, last with `git commit -m x`: check its state"
    )
    assert texts(briefing(sessions({}, cut)), "open") == []
    assert texts(briefing(sessions({**cut, "task": "question"})), "open") == []
    looked = {**cut, "commands": (commit, ran("git status --short"))}
    assert texts(briefing(sessions(looked)), "open") == []
    moved = {**cut, "git": GitState(branch="other")}
    assert "on branch other, last" in texts(briefing(sessions(moved, branch="main")), "open")[0]
    moving = {**cut, "commands": (ran("git switch -c y && git push", delivers=True),)}
    assert "broke off, last with" in texts(briefing(sessions(moving, branch="main")), "open")[0]


@pytest.mark.rows("BRF-06")
def test_nothing_is_told_that_the_agent_reads_anyway(tmp_path: Path) -> None:
    known = {
        "commands": (check("npm test"),),
        "cures": (cure("tool status --json", "tool status", "unknown flag: --json"),),
    }
    (tmp_path / "CLAUDE.md").write_text("Run `npm test`. Status: tool status\n", encoding="utf-8")
    text = read_instructions(str(tmp_path), ("CLAUDE.md", "AGENTS.md"))
    assert len(briefing(sessions(known, known))) == 2
    assert briefing(sessions(known, known), text) == []


@pytest.mark.rows("BRF-01")
def test_no_more_than_fits_is_told_and_checks_come_first() -> None:
    cures = tuple(cure(f"tool{n} --bad", f"tool{n} --good {'x' * 60}", f"e{n}") for n in range(40))
    rules = tuple(says(f"never touch thing{n} {'y' * 150}", firm=True) for n in range(30))
    full = {"commands": (check("npm test"),), "cures": cures, "rules": rules}
    lines = briefing(sessions(full, full))
    assert sum(len(line.text) + 3 for line in lines) <= MAX_CHARS
    assert lines[0].kind == "verify"


@pytest.mark.rows("BRF-09")
def test_a_line_whose_words_were_forgotten_is_not_told() -> None:
    gone = {
        "commands": (check("npm run [FORGOTTEN]"), check("make lint")),
        "cures": (cure("tool --[FORGOTTEN]", "tool", "unknown flag: --[FORGOTTEN]"),),
        "rules": (says("never mention [FORGOTTEN] in commits", firm=True),),
    }
    (line,) = briefing(sessions(gone, gone))
    assert line.text.startswith("Verify with `make lint` (")


@pytest.mark.rows("BRF-02")
def test_in_a_young_project_one_session_that_passed_a_check_is_enough() -> None:
    young = sessions({}, {}, {"commands": (check("npm test"),)})
    assert texts(briefing(young), "verify") == ["Verify with `npm test` (it passed in 1 session)"]


@pytest.mark.rows("BRF-11")
def test_what_git_and_servers_said_is_told_when_it_will_hold_again() -> None:
    protected = Notice("pull requests only", "main", 4)
    behind, port = Notice("behind remote", "main", 5), Notice("port in use", "5173", 6)
    twice = sessions({"notices": (protected, behind, port)}, {"notices": (behind, port)})
    assert texts(briefing(twice), "fact") == [
        "`main` is protected: the host wants changes to it as pull requests",
        "Local `main` is often behind its remote: `git fetch` first (2 sessions)",
        "An old server often still holds port 5173: see which URL yours prints (2 sessions)",
    ]
    once = sessions({"notices": (behind, port)})
    assert briefing(once) == []
    often = briefing(sessions(*[{"notices": (behind,)}] * 30))
    assert texts(often, "fact")[0].endswith("(30 sessions)")
    assert briefing(sessions(*[{}] * 20, *[{"notices": (behind,)}] * 5)) == []


@pytest.mark.rows("BRF-02")
def test_the_check_of_one_package_is_not_told_and_missing_tests_are() -> None:
    part = {"commands": (check("pnpm --filter api build"),)}
    assert briefing(sessions(part, part)) == []
    whole = {"commands": (check("pnpm build"), check("pnpm --filter api build"))}
    (line,) = briefing(sessions(whole, whole))
    shown = "Verify with `pnpm build` (it passed in 2 sessions; no run of all tests was seen)"
    assert line.text == shown
    tested = {"commands": (check("pnpm build"), check("pnpm test"))}
    (line,) = briefing(sessions(tested, tested))
    assert line.text.endswith("(the first passed in 2 sessions)")


@pytest.mark.rows("BRF-02")
def test_sessions_without_a_task_do_not_make_the_others_old() -> None:
    passed = {"commands": (check("npm test"),)}
    told = briefing(sessions(*[{"task": "none"}] * 12, passed, passed))
    assert [line.kind for line in told] == ["verify"]
