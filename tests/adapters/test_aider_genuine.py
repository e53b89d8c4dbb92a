"""The reader against histories that Aider wrote, next to counts that know no reader."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.adapters.whole_reading import parse_home

from session_memory.testing.workspace import Workspace


def counted(path: Path) -> Counter[str]:
    """What a history holds, by regular expressions over its text alone."""
    text = path.read_text(encoding="utf-8")
    _, *runs = re.split(r"(?m)^# aider chat started at ", text)
    prompts = re.findall(r"(?m)(?:^####.*\n)+", text)
    questions = [one for one in prompts if "(Y)es/(N)o" in one]
    commands = [one for one in prompts if re.match(r"#### /[a-z-]+\s", one)]
    spent = re.findall(r"(?m)^> Tokens: ([\d.]+)(k?) sent, ([\d.]+)(k?) received\.(.*)$", text)
    costs = re.findall(r"Cost: \$([\d.]+) message", text)
    return Counter(
        {
            "runs": len(runs),
            "empty": sum("\n####" not in run for run in runs),
            "lines": len(re.findall(r"(?m)^####", text)),
            "prompts": len(prompts) - len(questions) - len(commands),
            "commands": len(commands),
            "edits": len(re.findall(r"(?m)^> (?:Applied edit to|Creating empty file) ", text)),
            "ran": len(re.findall(r"(?m)^> Running ", text)),
            "responses": len(spent),
            "input": sum(round(float(n) * (1000 if k else 1)) for n, k, *_ in spent),
            "output": sum(round(float(n) * (1000 if k else 1)) for *_, n, k, _ in spent),
            "dollars": round(sum(map(float, costs)) * 10_000),
        }
    )


@pytest.mark.shared
def test_genuine_histories_come_out_as_they_are_counted(shared: Path, tmp_path: Path) -> None:
    home = shared / "more-agents" / "aider"
    wanted: Counter[str] = Counter()
    for path in home.rglob(".aider.chat.history.md"):
        wanted += counted(path)
    assert (wanted["runs"], wanted["lines"]) == (50, 410)
    space = Workspace(tmp_path)
    space.paths["aider"] = (str(home),)
    report = space.sweep()
    assert (report.failed, dict(report.unknown), report.parse_errors) == ([], {}, 0)
    assert (report.ingested, report.ignored["run/empty"]) == (wanted["runs"], wanted["empty"])
    sessions = space.sessions()
    assert len(sessions) == wanted["runs"] - wanted["empty"]
    events = [event for name in sessions for event in space.events(name)]
    kinds = Counter((event.kind, event.label or event.tool or "") for event in events)
    assert kinds["user_prompt", ""] == wanted["prompts"]
    assert kinds["injected", "command"] == wanted["commands"]
    assert kinds["tool_call", "edit"] == kinds["tool_result", ""] == wanted["edits"]
    assert kinds["tool_call", "run"] == wanted["ran"]
    costs = [session.cost for session in sessions.values()]
    assert sum(cost.input for cost in costs) == wanted["input"]
    assert sum(cost.output for cost in costs) == wanted["output"]
    parts = [part for bundle in parse_home("aider", home) for part in bundle.sessions]
    stated = sum(usage.usd or 0 for part in parts for usage in part.usages)
    assert round(stated * 10_000) == wanted["dollars"]
    assert space.sweep().ingested == 0
