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


@pytest.mark.rows("BRF-02", "BRF-03")
def test_a_count_is_of_all_sessions_and_not_of_the_recent_ones() -> None:
    trap = (cure("tool status --json", "tool status", "unknown flag: --json"),)
    both = {"commands": (check("npm test"),), "cures": trap}
    told = [line.text for line in briefing(sessions(*[both] * 30))]
    assert "(it passed in 30 sessions)" in told[0] and "met in 30 sessions" in told[1]


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
def test_sessions_without_a_task_do_not_make_the_others_old() -> None:
    passed = {"commands": (check("npm test"),)}
    told = briefing(sessions(*[{"task": "none"}] * 12, passed, passed))
    assert [line.kind for line in told] == ["verify"]
