"""Lines for new sessions are made again when something changed, and only then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import EXIT_OK
from session_memory.worker import briefings
from session_memory.worker.injection_pages import drop_pages

pytestmark = pytest.mark.rows("HOK-12")
DAY_MS = 86_400_000


class Desk:
    """Two projects, the worker, and which projects' digests it read."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.logs, self.folder, self.state = folder / "claude", folder, folder / "memory" / "state"
        self.read: list[str] = []
        self._seed = 0
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(self.logs))
        made = briefings.briefing_of

        def spied(store: Any, project: Any, known: str = "") -> Any:
            self.read.append(project.key)
            return made(store, project, known)

        monkeypatch.setattr(briefings, "briefing_of", spied)

    def session(self, name: str, check: str, said: str = "fix it") -> ClaudeLog:
        root = self.folder / name
        (root / ".git").mkdir(parents=True, exist_ok=True)
        self._seed += 1
        log = ClaudeLog(self._seed, cwd=str(root))
        log.prompt(said)
        log.run(check, "12 passed", exit_code=0)
        log.say("Done.")
        log.write(self.logs)
        return log

    def run(self, *words: str) -> None:
        assert main([*words]) == EXIT_OK

    def wake(self) -> list[str]:
        """One run of the worker; the projects whose digests it read."""
        self.read.clear()
        self.run("worker", "run")
        return sorted(self.read)

    def told(self) -> str:
        files = sorted((self.state / "inject").glob("*.json"))
        return "".join(file.read_text() for file in files)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path, monkeypatch)
    for _ in range(3):
        desk.session("shop", "make check")
        desk.session("site", "npm test")
    desk.run("sweep")
    return desk


def test_a_project_is_read_again_only_when_its_sessions_changed(desk: Desk) -> None:
    assert desk.wake() == ["shop", "site"]
    before = desk.told()
    assert "make check" in before and "npm test" in before
    assert desk.wake() == [] and desk.told() == before
    grown = desk.session("shop", "make check")
    desk.run("sweep")
    assert desk.wake() == ["shop"]
    assert "passed in 4 sessions" in desk.told()
    grown.run("make check", "13 passed", exit_code=0)
    grown.write(desk.logs)
    desk.run("sweep")
    assert desk.wake() == ["shop"]
    assert desk.wake() == []


def test_instruction_files_and_settings_count(desk: Desk) -> None:
    desk.wake()
    (desk.folder / "shop" / "CLAUDE.md").write_text("Verify with `make check`.\n")
    assert desk.wake() == ["shop"]
    assert "make check" not in desk.told()
    config = desk.folder / "config.toml"
    config.write_text("[distribute]\ntargets = ['AGENTS.md']\n")
    desk.read.clear()
    desk.run("--config", str(config), "worker", "run")
    assert desk.read == ["shop"]
    assert "make check" in desk.told()


def test_a_day_later_all_are_read_once_more(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.wake()
    monkeypatch.setattr(briefings, "DAY_MS", DAY_MS * 7 + 1)  # as good as another day
    assert desk.wake() == ["shop", "site"]


@pytest.mark.parametrize(
    "words",
    [
        ("forget", "--text", "make check", "--yes"),
        ("forget", "--project", "shop", "--yes"),
    ],
)
def test_what_was_forgotten_is_not_kept(desk: Desk, words: tuple[str, ...]) -> None:
    desk.wake()
    assert "make check" in (desk.state / "inject" / "lines.json").read_text()
    desk.run(*words)
    assert "make check" not in desk.told()
    desk.wake()
    assert "make check" not in desk.told() and "npm test" in desk.told()


def test_what_a_new_redaction_rule_hides_is_not_kept(desk: Desk) -> None:
    desk.wake()
    config = desk.folder / "config.toml"
    config.write_text(
        "[[redact.rules]]\nid = 'word'\npattern = 'make (check)'\nkeywords = ['make']\n"
    )
    desk.run("--config", str(config), "store", "secrets", "rescan")
    desk.run("--config", str(config), "worker", "run")
    assert "make check" not in desk.told() and "npm test" in desk.told()


def test_lines_read_while_text_is_forgotten_are_not_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forgetting drops the pages while the worker is still making them of the old text."""
    made, runs = briefings.briefing_of, list[str]()

    def interrupted(store: Any, project: Any, known: str = "") -> Any:
        lines = made(store, project, known)
        runs.append(project.key)
        if len(runs) == 1:
            drop_pages(desk.state)
        return lines

    monkeypatch.setattr(briefings, "briefing_of", interrupted)
    desk.run("worker", "run")
    assert sorted(runs) == ["shop", "shop", "site", "site"]
    assert json.loads((desk.state / "inject" / "lines.json").read_text()).keys() == {"shop", "site"}


def test_a_damaged_file_costs_only_the_reading(desk: Desk) -> None:
    desk.wake()
    (desk.state / "inject" / "lines.json").write_text("{")
    assert desk.wake() == ["shop", "site"]
    assert desk.wake() == []


def test_one_project_that_fails_leaves_the_others_their_pages(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = briefings.briefing_of

    def faulty(store: Any, project: Any, known: str = "") -> Any:
        if project.key == "shop":
            raise ValueError("a digest that nobody thought of")
        return made(store, project, known)

    monkeypatch.setattr(briefings, "briefing_of", faulty)
    desk.run("worker", "run")
    assert "npm test" in desk.told() and "make check" not in desk.told()
    assert "page_failed" in (desk.state / "logs" / "worker.log").read_text()
