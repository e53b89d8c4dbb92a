"""What `rules measure` says of a guard with enough sessions, from logs and hook records."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.guards.conftest import User

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.loop.trials import is_given
from session_memory.hooks import entry

NPM = "Use `bun`, not `npm`."
HOUR = 3_600_000


class Agent:
    """Works in a project under the hook, and writes its log as Claude Code does."""

    def __init__(self, user: User, *, listens: bool) -> None:
        self.user, self.listens = user, listens

    def session(self, seed: int, began: int, *, hooked: bool = True) -> str:
        """Install something with npm, which fails; again, unless a guard spoke and it listens."""
        log = ClaudeLog(seed, cwd=str(self.user.project), start=began)
        log.prompt("install the package")
        output = self._run(log, "npm install", hooked)
        if output and self.listens:
            self._run(log, "bun install", hooked)
        else:
            self._run(log, "npm ci", hooked)
        log.say("done")
        log.write(self.user.home / ".claude")
        return log.session_id

    def _run(self, log: ClaudeLog, command: str, hooked: bool) -> bool:
        output = hooked and self._hook(log.session_id, command)
        fails = command.startswith("npm")
        log.run(command, "npm ERR! this project is bun's" if fails else "ok", int(fails))
        return output

    def _hook(self, session: str, command: str) -> bool:
        """What the hook does before a tool, in this process: hundreds of others take a minute."""
        payload: dict[str, Any] = {
            "session_id": session,
            "cwd": str(self.user.project),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": command},
        }
        record = entry.make_record(["PreToolUse", "claude"], payload, {})
        assert record is not None
        said = entry.guards_say(str(self.user.state), record, payload)
        if "given" in record or "held" in record:
            entry.spool(str(self.user.state), record)
        return said is not None


@pytest.fixture
def rule(user: User, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of an approved rule with a guard, in a home without other sessions."""
    user.run("init", "--yes", "--agent", "claude")
    monkeypatch.setattr(entry, "__file__", str(user.data / "hooks" / "entry.py"))
    user.run("rules", "add", NPM)
    return user.json("rules", "guard", "list")["guards"][0]["id"]


def measured(user: User, rule: str, method: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The effect, the use of the guard, and what is printed of both."""
    user.run("sweep")
    user.run("worker", "run")
    found = user.json("rules", "measure")
    (effect,) = (row for row in found["effects"] if row["method"] == method)
    (use,) = found["guards"]
    assert effect["pattern_id"] == rule
    return effect, use, user.run("rules", "measure")


@pytest.mark.rows("GRD-12")
@pytest.mark.parametrize(("listens", "verdict"), [(True, "improved"), (False, "no_effect")])
def test_a_trial_of_a_guard_ends_in_a_verdict(
    user: User, rule: str, listens: bool, verdict: str
) -> None:
    user.run("rules", "trial", "start", rule)
    agent, now = Agent(user, listens=listens), time.time_ns() // 1_000_000
    sessions = [agent.session(100 + n, now + n * 1_000) for n in range(60)]
    given = sum(is_given(name, rule) for name in sessions)
    effect, use, printed = measured(user, rule, "trial")
    assert effect["verdict"] == verdict
    assert (use["sessions"], use["spoke"]) == (given, given)
    assert (use["followed"], use["overridden"]) == ((given, 0) if listens else (0, given))
    groups = {name: (one["sessions"], one["recurred"]) for name, one in effect["groups"].items()}
    assert groups["held"][0] == groups["held"][1] <= 60 - given
    assert groups["given"][1] == (0 if listens else groups["given"][0])
    assert f"followed in {use['followed']}, overridden in {use['overridden']}" in printed
    proposal = f"`session-memory rules guard off {rule}` silences it"
    assert (proposal in printed) is (proposal in user.run("status")) is (not listens)
    assert effect["retirement_proposed"] is (not listens)


@pytest.mark.rows("GRD-12")
def test_without_a_trial_sessions_before_and_after_are_compared(user: User, rule: str) -> None:
    agent, now = Agent(user, listens=True), time.time_ns() // 1_000_000
    for n in range(25):
        agent.session(200 + n, now - (n + 1) * 24 * HOUR, hooked=False)
        agent.session(300 + n, now + n * 1_000)
    effect, use, printed = measured(user, rule, "before_after")
    assert effect["groups"]["before"]["rate"]["estimate"] == 1.0
    assert effect["groups"]["after"]["rate"]["estimate"] == 0.0
    assert effect["verdict"] == "improved"
    assert (use["followed"], use["overridden"]) == (25, 0)
    assert "silences it" not in printed
