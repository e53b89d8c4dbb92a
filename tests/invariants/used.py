"""A home in which everything this program does was done once, with a word in all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.hooks.hook_process import run_hook, state

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.store.segments import DirectorySegments, unpack

HOUR = 3_600_000
WORD = "zebrawood"
"""In every text of the sessions to be forgotten."""
PLACE = "quokka"
"""In the path of their project."""
ELSEWHERE = "plainoak"
"""In every text of a session of another project."""


class Used:
    """Runs the program in this process; logs, repositories and memory lie below `folder`."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder, self._capsys = folder, capsys
        self.claude = folder / "claude"
        self.memory = folder / "memory"
        self.shop = self._repository(f"{PLACE}shop")
        self.other = self._repository("other")
        self.sessions: list[ClaudeLog] = []
        self.titles: list[ClaudeLog] = []
        self.err = ""
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(self.claude))

    def _repository(self, name: str) -> Path:
        root = self.folder / "work" / name
        (root / ".git").mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        (root / "CLAUDE.md").write_text("mine\n", encoding="utf-8")
        return root

    def run(self, *words: str, code: int | None = 0) -> str:
        """One command; its output."""
        self._capsys.readouterr()
        got = main([*words])
        out, self.err = self._capsys.readouterr()
        assert code is None or got == code, (words, got, out, self.err)
        return out

    def json(self, *words: str, code: int | None = 0) -> Any:
        """One command; its output as JSON."""
        return json.loads(self.run(*words, "--json", code=code))

    def session(self, root: Path, seed: int, word: str, also: str = "") -> ClaudeLog:
        """A session that leaves something everywhere, with a word in each of its texts.

        `also` is a second word, that only this session says.
        """
        log = ClaudeLog(seed, cwd=str(root), start=START + seed * HOUR)
        rule = f"no, wrong: always run make {word} instead of pytest here"
        error = f"ModuleNotFoundError: No module named '{word}'\n{also}"
        fail = (f"pytest -q tests/{word}.py {also}".strip(), error, 1)
        log.prompt(f"Fix the {word} test. Always run the tests with make {word}, never pytest.")
        log.run(*fail)
        log.run(*fail)
        log.prompt(f"{rule}\n\nand then ask {also}" if also else rule)
        log.edit(str(root / f"{word}.py"), f"old {word}", f"new {word}")
        log.prompt(f"Never push the {word} branch without asking me.")
        log.run(f"make {word}", f"12 {word} passed in 0.8s", 0)
        log.prompt(f"{rule}\n\nand then ask {also}" if also else rule)
        if also:
            log.prompt(f"Always ask {also} before you deploy. Also fix {also}.py.")
            log.run(f"make {also}", f"fatal: {also} refused", 1)
            log.run(f"make {also}", f"fatal: {also} refused", 1)
            log.prompt(f"no, wrong: never run make {also} on a Friday")
            log.say(f"Decision: {also} decides. Still to do: write to {also}.")
        log.say(
            f"Decision: {word} is rounded half even, as the auditors asked."
            f" Still to do: document the {word} table."
        )
        log.prompt(f"Great, {word} works. Thanks!")
        log.say(f"All {word} tests pass now.")
        log.title(f"the {word} fix {also}")
        log.write(self.claude)
        for event in ("SessionStart", "Stop", "SessionEnd"):
            self.hook(log, event)
        return log

    def hook(self, log: ClaudeLog, event: str, agent: str = "claude") -> None:
        """An event of a session, as its agent reports it."""
        payload = {
            "session_id": log.session_id,
            "transcript_path": str(log.write(self.claude)),
            "cwd": log.cwd,
            "hook_event_name": event,
            "source": "startup",
            "reason": "exit",
        }
        assert run_hook(event, agent, payload=payload).code == 0

    def use(self, also: str = "") -> None:
        """Capture, remember, learn, approve, give, try, measure: all of it."""
        state().mkdir(parents=True, exist_ok=True)
        (state() / "hook.json").write_text('{"inject": true}', encoding="utf-8")
        self.sessions = [self.session(self.shop, seed, WORD) for seed in (1, 2)]
        self.sessions.append(self.session(self.shop, 3, WORD, also))
        self.session(self.other, 50, ELSEWHERE)
        titled = ClaudeLog(60, cwd=str(self.shop))  # a title and nothing else
        titled.title(f"about {WORD}")
        titled.write(self.claude)
        self.titles = [titled]
        self.run("worker", "run")
        self.run("sweep")
        self.run("rules", "detect")
        self.run("rules", "propose", "--all")
        for row in self.json("rules", "list", "--all")["patterns"]:
            self.run("rules", "approve", row["id"], code=None)  # some have too little evidence
        self.run("rules", "distribute", code=None)
        self.run(
            "project", "pack", "--project", self.shop.name, "--sync", str(self.shop / "AGENTS.md")
        )
        self.run("project", "completion-check", "--project", self.shop.name, code=None)
        self.run("project", "memory", "consolidate")
        self.run("project", "journal", "compile", "--project", self.shop.name, code=None)
        self.run("rules", "measure")
        self.run("worker", "run")
        self.run("store", "export", "--project", self.shop.name, str(self.folder / "exported"))
        self.run("pause")
        self.run("resume")
        self.hook(self.sessions[0], "Stop")  # waits in the spool
        damaged = state() / "spool" / "damaged"
        damaged.mkdir(exist_ok=True)
        (damaged / "cut.json").write_text(f'{{"cwd": "{self.shop}", "x": "{WORD}', "utf-8")

    def holding(self, *words: str) -> dict[str, str]:
        """Every place of ours in which one of the words stands, in whatever case, and which.

        The names of repositories are not ours; what lies in them may be.
        """
        found: dict[str, str] = {}
        for root in (self.memory, self.shop, self.other):
            for path in sorted(root.rglob("*")):
                content = path.read_bytes() if path.is_file() else b""
                text = f"{path.relative_to(root)} {content.decode('utf-8', 'replace')}".lower()
                found.update({str(path): word for word in words if word.lower() in text})
        return found | self._in_store(words)

    def _in_store(self, words: tuple[str, ...]) -> dict[str, str]:
        """The same in every row and segment; bytes of the file itself are looked at above."""
        texts: list[tuple[str, str]] = []
        db = apsw.Connection(str(self.memory / "data" / "store.db"))
        for (table,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall():
            for row in db.execute(f'SELECT * FROM "{table}"'):
                cells = (c.decode("utf-8", "replace") if isinstance(c, bytes) else c for c in row)
                texts.append((f"table {table}", " ".join(map(str, cells))))
        segments = DirectorySegments(str(self.memory / "data" / "segments"))
        for (name,) in db.execute("SELECT name FROM segment").fetchall():
            texts.append((f"segment {name}", unpack(segments, name).decode("utf-8", "replace")))
        db.close()
        return {
            where: word for where, text in texts for word in words if word.lower() in text.lower()
        }
