"""Which failures a new session is warned of."""

from __future__ import annotations

import pytest
from tests.memory.test_briefing import cure, sessions, texts

from session_memory.core.schema import Cure
from session_memory.memory.briefing import briefing


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


@pytest.mark.rows("BRF-03")
def test_an_old_trap_that_one_session_met_is_not_told() -> None:
    trap = {"cures": (cure("tool status --json", "tool status", "unknown flag: --json"),)}
    assert texts(briefing(sessions(*[{}] * 10, trap)), "trap") == []
