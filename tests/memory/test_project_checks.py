"""Which checks of a project a new session is told."""

from __future__ import annotations

from typing import Any

import pytest
from tests.memory.test_briefing import check, sessions, texts

from session_memory.memory.briefing import briefing


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


@pytest.mark.rows("BRF-02")
def test_a_check_is_told_with_the_directory_that_sessions_changed_to() -> None:
    went = {"commands": (check("cd src && go test ./..."), check("go test ./..."))}
    (line,) = briefing(sessions(went, went))
    assert line.text == "Verify with `go test ./...` in `src` (it passed in 2 sessions)"
    both = {"commands": (check("cd src && go test ./..."), check("cd src && go build ./..."))}
    (line,) = briefing(sessions(both, both))
    assert line.text.startswith("Verify in `src` with `go build ./...`, `go test ./...` (the first")


@pytest.mark.rows("BRF-02")
def test_in_a_young_project_one_session_that_passed_a_check_is_enough() -> None:
    young = sessions({}, {}, {"commands": (check("npm test"),)})
    assert texts(briefing(young), "verify") == ["Verify with `npm test` (it passed in 1 session)"]


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
