"""`make bench-quality` from logs and labels to the table, on made-up ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.bench.quality import stand_in_match
from tests.bench.quality.run import main

from session_memory.adapters.claude.log_builder import ClaudeLog

PROJECT = "made-up/agentv"
RULE = "Always run the linter before you commit."


def test_without_labels_it_says_so_and_is_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--labels", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out.startswith("skipped: no labels at ")


def test_a_captured_session_is_scored_by_its_labels(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels"
    make_labels(labels, make_log(labels / "logs" / "claude" / "made-up__agentv"))
    kept = tmp_path / "kept"
    assert main(["--labels", str(labels), "--keep", str(kept), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)

    def figure(output: str, name: str) -> tuple[int, int]:
        share = scores[output]["development"]["figures"][name]
        return share["hits"], share["of"]

    assert figure("outcomes", "strict") == (1, 1)
    assert figure("outcomes", "request right") == (1, 1)
    assert figure("outcomes", "checks found with their verdict") == (2, 2)
    assert figure("rules in observations", "recall") == (1, 1)
    assert figure("rules in observations", "recall, quotes count") == (1, 1)
    assert figure("cures of fix", "error is known") == (1, 1)
    assert figure("session start", "recall") == (1, 1)
    assert figure("open-work", "recall") == (0, 1)
    missed = scores["open-work"]["development"]["missed"]
    assert [finding["label"] for finding in missed] == ["open-1"]

    assert main(["--labels", str(labels), "--store", str(kept), "--misses", "--unjudged"]) == 0
    shown = capsys.readouterr().out
    assert "100 % (2/2)" in shown
    assert "- open-1: Merge the branch" in shown


def test_a_store_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(stand_in_match.__file__, tmp_path / "match.py")
    assert main(["--labels", str(tmp_path), "--store", str(tmp_path / "nothing")]) == 1
    assert "use --keep first" in capsys.readouterr().err
    assert not (tmp_path / "nothing").exists()


def make_log(home: Path) -> Path:
    """A session that fails a check, installs what is missing, and passes it."""
    log = ClaudeLog(seed=3, cwd="/work/agentv")
    log.prompt(f"Make the parser accept empty files. {RULE}")
    log.run("npm test", "sh: vitest: command not found", exit_code=127)
    log.run("npm ci", "added 214 packages")
    log.edit("/work/agentv/src/parser.ts", "old", "new")
    log.run("npm test", "12 passed")
    log.say("The parser accepts empty files now, and all tests pass.")
    return log.write(home)


def make_labels(folder: Path, log: Path) -> None:
    """What a reader of that session would note."""
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    lines = {
        words: next(
            at for at, record in enumerate(records, 1) if words in json.dumps(record["message"])
        )
        for words in (RULE, "command not found", "npm ci", "12 passed")
    }
    where = {
        "project": PROJECT,
        "session": records[0]["sessionId"],
        "file": str(log.relative_to(folder / "logs")),
        "why": "",
    }
    check = {"command": "npm test", "lines": [lines["command not found"], lines["12 passed"]]}
    statement = {**where, "line": [lines[RULE]], "quote": RULE}
    error = {"error": "sh: vitest: command not found", "line": [lines["command not found"]]}
    files: dict[str, Mapping[str, Any]] = {
        "outcomes": {
            **where,
            "id": "outcome-1",
            "outcome": "success",
            "request": "Accept empty files in the parser",
            "checks": [{**check, "verdict": "fail"}, {**check, "verdict": "pass"}],
        },
        "rules": {
            **where,
            "id": "rule-1",
            "kind": "rule",
            "rule": RULE,
            "match": [["linter", "commit"]],
            "sessions": [where["session"]],
            "evidence": [statement],
        },
        "cures": {
            **where,
            **error,
            "id": "cure-1",
            "cure_kind": "install",
            "cure": "npm ci",
            "cure_call_lines": [lines["npm ci"]],
        },
        "open_work": {
            **where,
            "id": "open-1",
            "open": True,
            "item": "Merge the branch",
            "match": [["merge"]],
        },
        "tell": {
            **where,
            "id": "tell-1",
            "tell": True,
            "rank": 1,
            "text": "Verify with npm test",
            "match": [["npm test"]],
        },
    }
    for name, label in files.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(label) + "\n", encoding="utf-8")
    shutil.copy(stand_in_match.__file__, folder / "match.py")


def test_no_lie_of_a_model_becomes_memory_and_what_is_true_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = make_log(tmp_path / "logs" / "claude" / "agentv" / "projects")
    make_labels(tmp_path, log)
    assert main(["--labels", str(tmp_path), "--model", "scripted", "--json"]) == 0
    tally = json.loads(capsys.readouterr().out)
    kept, written = tally.pop("honest")
    assert kept == written > 0
    assert all(kept == 0 for kept, _ in tally.values())
    assert tally["invented"][1] > 0 and tally["cited wrongly"][1] > 0
