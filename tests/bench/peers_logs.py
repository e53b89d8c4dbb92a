"""Homes that hold the same logs where every program looks for them: genuine, built, generated."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.bench.corpora import SHARED

from session_memory.adapters.claude.log_builder import ClaudeLog, text_block, thinking_block
from session_memory.adapters.claude.log_builder import tokens as claude_tokens
from session_memory.adapters.codex.log_builder import CodexLog, tokens
from session_memory.adapters.grok import reader as grok
from session_memory.adapters.grok.log_builder import GrokLog, turn_usage

FOLDERS = {
    "claude": ".claude",
    "codex": ".codex",
    "grok": ".grok",
    "gemini": ".gemini",
    "qwen": ".qwen",
    "pi": ".pi",
    "copilot": ".copilot",
    "opencode": ".local/share/opencode",
}
COLLECTIONS = {"": "logs", ", second collection": "quality/logs"}
CCUSAGE_FIXTURES = "logs/mixed/ryoppippi__ccusage/apps/ccusage/test/fixtures"


class Logs(NamedTuple):
    """Logs of one agent from one place."""

    flavor: str
    name: str
    source: Path

    @property
    def title(self) -> str:
        """How a table calls them."""
        return f"{self.flavor}/{self.name}"

    def put(self, home: Path) -> None:
        """Copy them to where the agent would have written them."""
        target = home / FOLDERS[self.flavor]
        if self.flavor == "grok":
            for file in grok.discover(str(self.source)):
                session = Path(file.path).parent
                place = target / "sessions" / session.parent.name / session.name
                shutil.copytree(session, place, dirs_exist_ok=True)
        elif self.flavor == "claude":
            projects = self.source / "projects"
            if projects.is_dir():
                shutil.copytree(projects, target / "projects", dirs_exist_ok=True)
                return
            place = target / "projects" / self.name
            place.mkdir(parents=True)
            for path in self.source.rglob("*.jsonl"):  # one level deep, as the client has them
                shutil.copyfile(path, place / path.name)
        elif self.flavor == "pi" and not (self.source / "agent").is_dir():
            place = target / "agent" / "sessions" / self.name
            place.mkdir(parents=True)
            for path in self.source.rglob("*.jsonl"):
                shutil.copyfile(path, place / path.name)
        else:
            shutil.copytree(self.source, target, dirs_exist_ok=True)


def putting(collections: list[Logs]) -> Callable[[Path], int]:
    """What copies all of them into a home, and says how many bytes that is."""

    def put(home: Path) -> int:
        for logs in collections:
            logs.put(home)
        os.sync()  # logs are on the disk before a sweep: its first flush must not write them
        return size_of(home)

    return put


def size_of(home: Path) -> int:
    """Bytes of the logs in a home."""
    return sum(path.stat().st_size for path in home.rglob("*") if path.is_file())


def genuine() -> list[Logs]:
    """Every collection of real logs that lies beside the repository."""
    found: list[Logs] = []
    for flavor, folder in FOLDERS.items():
        for suffix, where in COLLECTIONS.items():
            collected = SHARED / where / flavor
            paths = sorted(collected.iterdir()) if collected.is_dir() else []
            found += [Logs(flavor, path.name + suffix, path) for path in paths]
        for name, place in (
            ("real client, scripted", f"client-logs/{flavor}/home/{folder}"),
            ("ccusage's own fixtures", f"{CCUSAGE_FIXTURES}/{flavor}"),
        ):
            if (SHARED / place).is_dir():
                found.append(Logs(flavor, name, SHARED / place))
    return found


def built(root: Path) -> list[Logs]:
    """Our own logs: plain ones, and one home for each way to count a response twice."""
    for name, build in {**CLAUDE, **CODEX, **GROK}.items():
        build(root / name)
    groups = (("claude", CLAUDE), ("codex", CODEX), ("grok", GROK))
    return [Logs(flavor, name, root / name) for flavor, group in groups for name in group]


def _claude_talk(seed: int) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt("go")
    log.reply(thinking_block("hm"), text_block("a"), usage=claude_tokens(5, 40, read=900))
    log.say("b", claude_tokens(7, 60, write_5m=30, write_1h=20))
    return log


def _claude_plain(home: Path) -> None:
    _claude_talk(1).write(home)


def _claude_streamed(home: Path) -> None:
    log = ClaudeLog(2)
    log.prompt("go")
    usage = claude_tokens(5, 400, read=1000)
    log.reply(thinking_block("hm"), text_block("a"), usage=usage, streamed=True)
    log.write(home)


def _claude_fork(home: Path) -> None:
    log = _claude_talk(3)
    fork = log.fork(4)
    fork.say("own", claude_tokens(1, 2))
    for one in (log, fork):
        one.write(home)


def _claude_agent(home: Path) -> None:
    """The parent repeats what the sub-agent says in its own log, with a placeholder."""
    log = _claude_talk(5)
    child = log.subagent("look")
    said = child.say("seen", claude_tokens(11, 12))
    told = {**said, "message": {**said["message"], "usage": claude_tokens(11, 1)}}
    data = {"type": "agent_progress", "message": told, "agentId": child.agent_id}
    log.row("progress", data=data)
    for one in (log, child):
        one.write(home)


def _codex_talk(seed: int) -> CodexLog:
    log = CodexLog(seed).header().turn().prompt("go").answer("a")
    return log.spend(tokens(100, 40, 10, 4)).spend(tokens(200, 80, 20, 8))


def _write_compact(home: Path, *logs: CodexLog) -> None:
    """As Codex itself writes JSON: without a space behind a colon."""
    for log in logs:
        rows = (json.dumps(row, separators=(",", ":")) for row in log.rows)
        log.write(home).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")


def _codex_plain(home: Path) -> None:
    _write_compact(home, _codex_talk(1))


def _codex_spaced(home: Path) -> None:
    _codex_talk(6).write(home)


def _codex_repeated(home: Path) -> None:
    again = tokens(200, 80, 20, 8)
    _write_compact(home, _codex_talk(2).count(again).count(again))


def _codex_fork(home: Path) -> None:
    log = _codex_talk(3)
    fork = log.fork(4)
    fork.at += 5000
    fork.turn().prompt("other").answer("b").spend(tokens(50, 0, 5))
    _write_compact(home, log, fork)


def _codex_agent(home: Path) -> None:
    log = _codex_talk(7)
    child = CodexLog(8, at=log.at + 1000)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": log.thread, "depth": 1}}}
    child.header(source=spawned).turn().prompt("look").answer("seen")
    _write_compact(home, log, child.spend(tokens(70, 10, 7)))


def _codex_exact(home: Path) -> None:
    log = CodexLog(5, mode="paginated").header().turn().prompt("go").answer("a")
    log.spend(tokens(100, 40, 10, 4), record=True).spend(tokens(200, 80, 20, 8), record=True)
    _write_compact(home, log)


def _grok_talk(seed: int) -> GrokLog:
    log = GrokLog(seed)
    log.prompt("go")
    log.say("a")
    log.end_turn(turn_usage(100, 20, read=40, written=8))
    return log


def _grok_plain(home: Path) -> None:
    _grok_talk(1).write(home)


def _grok_fork(home: Path) -> None:
    log = _grok_talk(2)
    fork = log.fork(3)
    fork.prompt("other")
    fork.say("b")
    fork.end_turn(turn_usage(5, 6))
    for one in (log, fork):
        one.write(home)


def _grok_agent(home: Path) -> None:
    log = _grok_talk(4)
    child = log.spawn(5, "look")
    child.prompt("look")
    child.say("seen")
    child.end_turn(turn_usage(30, 9))
    log.end_turn(turn_usage(60, 20))
    for one in (log, child):
        one.write(home)


CLAUDE = {
    "built, plain": _claude_plain,
    "built, streamed": _claude_streamed,
    "built, fork": _claude_fork,
    "built, sub-agent": _claude_agent,
}
CODEX = {
    "built, one thread": _codex_plain,
    "built, space behind colons": _codex_spaced,
    "built, counts told again": _codex_repeated,
    "built, legacy fork": _codex_fork,
    "built, spawned thread": _codex_agent,
    "built, exact records": _codex_exact,
}
GROK = {
    "built, one turn": _grok_plain,
    "built, fork with copied turns": _grok_fork,
    "built, spawned session": _grok_agent,
}
