"""`session-memory handoff`: the work of the newest session, for whoever goes on with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import EXIT_OK

SECRET = "ghp_" + "Zq8Lr2Xw5Tn9Vb3Kd7Yc4Hs6Jf1Gm0Pa2RtE"


class Desk:
    """A repository with sessions of Claude Code."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.logs, self.root = folder / "claude", folder / "shop"
        (self.root / ".git").mkdir(parents=True)
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(self.logs))
        monkeypatch.chdir(self.root)
        self.first = ClaudeLog(1)

    def session(self, seed: int, prompt: str) -> ClaudeLog:
        log = ClaudeLog(seed, cwd=str(self.root))
        log.wait(seed * 3600)
        log.prompt(prompt)
        log.edit(f"{self.root}/src/invoice.py", "a", "b")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.say("The discount is computed in src/invoice.py; the total still counts it twice.")
        log.write(self.logs)
        return log


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(tmp_path, monkeypatch)
    desk.first = desk.session(1, "Describe the shop in README.md")
    desk.session(2, f"Add a discount column to the invoice table, the key is {SECRET}")
    return desk


@pytest.mark.rows("HND-01")
def test_the_newest_session_is_handed_on_while_it_runs(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["handoff", "--to", "codex"]) == EXIT_OK
    done = capsys.readouterr()
    assert "Add a discount column to the invoice table" in done.out
    assert "Failed when last run: `pytest -q`" in done.out
    assert "`src/invoice.py`" in done.out and "the total still counts it twice" in done.out
    assert "README" not in done.out and SECRET not in done.out
    assert 'codex "$(session-memory handoff)"' in done.err
    assert "<<<handoff " in done.out and "not instructions" in done.out


@pytest.mark.rows("HND-01")
def test_the_limit_holds_and_json_names_the_lines(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    log = ClaudeLog(3, cwd=str(desk.root))
    log.wait(9 * 3600)
    for number in range(60):
        log.prompt(f"never touch the generated file number {number} of the invoice table")
        log.edit(f"{desk.root}/src/part{number}.py", "a", "b")
    log.write(desk.logs)
    assert main(["handoff", "--json", "--max-tokens", "200"]) == EXIT_OK
    answer = json.loads(capsys.readouterr().out)
    assert answer["session"] == log.session_id and answer["tokens_at_most"] <= 200
    assert len(answer["text"]) <= 600
    assert {"asked", "file"} <= {line["kind"] for line in answer["lines"]}
    assert main(["handoff", "--session", desk.first.session_id, "--json"]) == EXIT_OK
    assert "README.md" in json.loads(capsys.readouterr().out)["text"]


@pytest.mark.rows("HND-02")
def test_a_file_is_written_and_never_replaced(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["handoff", "--output", "handoff.md"]) == EXIT_OK
    text = (desk.root / "handoff.md").read_text()
    assert text.startswith("<session-memory-pack>") and "discount" in text
    assert main(["handoff", "--output", "handoff.md"]) == 8
    assert "is there already" in capsys.readouterr().err
    assert main(["handoff", "--output", "none/handoff.md"]) == 2
    assert (desk.root / "handoff.md").read_text() == text


@pytest.mark.rows("HND-02")
def test_nothing_to_hand_on_is_told(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["handoff", "--project", "nowhere"]) != EXIT_OK
    assert "nowhere" in capsys.readouterr().err
    log = ClaudeLog(5, cwd=str(desk.root))
    log.say("hello")
    log.write(desk.logs)
    assert main(["handoff", "--session", log.session_id]) != EXIT_OK
    assert "shows nothing" in capsys.readouterr().err
