"""Whatever is run, and wherever: what we write lies in our own private directory."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.cli.app import cli

posix = pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")

NO_HUB = ["--database", "postgresql://127.0.0.1:9/none"]
PLACES = ["--objects", "{outside}/objects", "--vault", "{outside}/vault"]
GIVEN: dict[str, list[str]] = {
    "init": ["--dry-run"],
    "uninstall": ["--dry-run"],
    "config schedule install": ["--dry-run"],
    "config set": ["memory.max_traces", "12"],
    "show": ["1"],
    "search": ["parser"],
    "rules add": ["Run make check before a commit.", "--json"],
    "rules approve": ["{pattern}"],
    "rules draft": ["{pattern}"],
    "rules edit": ["{pattern}", "--text", "run make check"],
    "rules propose": ["{outside}/proposal.json"],
    "rules reject": ["{pattern}", "--reason", "no"],
    "rules retire": ["{pattern}", "--reason", "no"],
    "rules show": ["{pattern}"],
    "rules snooze": ["{pattern}", "--dry-run"],
    "rules merge": ["{pattern}", "--into", "{own}", "--dry-run"],
    "rules trial start": ["{pattern}"],
    "rules trial stop": ["{pattern}"],
    "rules explain": ["{pattern}"],
    "fleet detect": ["--from", "{outside}/none"],
    "fleet measure": ["--from", "{outside}/none"],
    "fleet redistil": ["--from", "{outside}/none", "--to", "{outside}/new"],
    "fleet export": ["{outside}/proposal.json/below"],
    "hub init": NO_HUB,
    "hub audit-prune": [*NO_HUB, "--keep-days", "30"],
    **{f"hub {verb}": [*NO_HUB, *PLACES] for verb in ("serve", "doctor", "restore")},
    **{f"hub {verb}": [*NO_HUB, "--team", "shop"] for verb in ("devices", "audit", "invite")},
    "hub revoke": [*NO_HUB, *PLACES, "--team", "shop", "device"],
    "hub export": [*NO_HUB, "--team", "shop", "--parquet", "{outside}/parquet"],
    "team join": ["http://127.0.0.1:9", "an-invite"],
    "team share": ["--level", "numbers"],
    "rules guard off": ["{pattern}"],
    "rules guard set": ["{pattern}", "hint"],
    "rules guard test": ["{pattern}"],
    "fix": ["make: *** [all] Error 1"],
    "prompt": ["remember"],
    "package": ["--agent", "claude", "--dry-run", "plugin"],
    "project merge": ["walrus", "shop"],
    "project rename": ["shop", "store"],
    "project journal flush": ["--all"],
    "project journal query": ["what was built?"],
    "project journal show": ["2026-03-02"],
    "project memory extract": ["--now"],
    "project memory consolidate": ["--all"],
    "project memory forget": ["1", "--dry-run"],
    "project memory why": ["1"],
    "project memory confirm": ["n-1"],
    "project memory reject": ["n-1"],
    "store retention apply": ["--yes"],
    "forget": ["--session", "1", "--dry-run"],
    "store redact test": ["{outside}/proposal.json"],
    "rules detect": ["--json"],
    "doctor": ["--quick"],
    "rules distribute": ["--dry-run"],
    "rules withdraw": ["--all", "--dry-run"],
    "store repair": ["--apply"],
    "rules injected": ["1"],
    "tail": ["--once"],
    "jobs drop": ["1"],
    "jobs retry": ["1"],
    "store export": ["{outside}/export.jsonl"],
    "store import": ["{outside}/export.jsonl"],
    "store backup": ["{outside}/backup"],
    "store restore": ["{outside}/backup", "--yes"],
    "shell-completion": ["bash"],
}
"""What a verb needs; every other is run as it is. Those that change agents' settings only show."""


def verbs(group: click.Group, name: str = "") -> Iterator[str]:
    context = click.Context(group, info_name="session-memory")
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        assert command is not None
        full = f"{name} {word}".strip()
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield full
            yield from verbs(command, full)
        else:
            yield full


USAGE_ERROR = 2
ORDER = {
    "sweep": -3,
    "rules detect": -2,
    "rules add": -1.9,
    "rules merge": -1.8,
    "rules snooze": -1.7,
    "rules reject": -1.6,  # before it is approved
    "rules undo": -1.5,
    "store export": -1,
    "store backup": -1,
    "store restore": 1,
}
VERBS = sorted(verbs(cli), key=lambda verb: ORDER.get(verb, 0))


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and folder below, with its mode and content."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(root.rglob("*"))
    }


class Scene:
    """A user who works in a repository, with a log of that work."""

    def __init__(self, root: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.pattern = ""
        self._capsys = capsys
        self.repository = root / "work" / "shop"
        self.outside = root / "outside"
        (self.repository / "src").mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "proposal.json").write_text("[]\n")
        for name in ("README.md", "AGENTS.md", "CLAUDE.md"):
            (self.repository / name).write_text(f"# {name}\n")
        self.own = ""
        git = ["git", "-C", str(self.repository), "-c", "init.defaultBranch=main"]
        subprocess.run([*git, "init", "-q"], check=True)
        for seed in range(1, 6):
            log = ClaudeLog(seed, cwd=str(self.repository), start=START + seed * 3_600_000)
            log.prompt("fix the parser; always run make check")
            log.run("make", "make: *** [all] Error 1", exit_code=2)
            log.edit(str(self.repository / "src" / "a.py"), "a", "b")
            log.run("make", "ok")
            log.say("Decision: we parse by hand. TODO: write the docs.")
            log.write(home / ".claude")

    def run(self, verb: str) -> int:
        known = {"outside": self.outside, "pattern": self.pattern, "own": self.own}
        words = [word.format(**known) for word in GIVEN.get(verb, [])]
        if verb == "mcp":  # it reads its own input, which here has none
            command = [sys.executable, "-m", "session_memory", "mcp"]
            return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
        if verb == "web":  # it goes on until it is stopped
            return _serve_and_stop()
        code = main([*verb.split(), *words])
        out = self._capsys.readouterr().out
        if verb == "rules detect":
            self.pattern = json.loads(out)[0]["id"]
        if verb == "rules add":
            self.own = json.loads(out)["decisions"][0]["id"]
        return code


def _serve_and_stop() -> int:
    command = [sys.executable, "-m", "session_memory", "web", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None and serving.stdout.readline().startswith("http://")
        serving.send_signal(signal.SIGINT)
        return serving.wait(timeout=60)


@pytest.fixture
def scene(
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Scene:
    made = Scene(tmp_path, home, capsys)
    monkeypatch.chdir(made.repository / "src")
    monkeypatch.setenv("EDITOR", "true")
    return made


@pytest.mark.rows("STO-02")
def test_no_verb_writes_into_a_repository_or_beside_our_own_place(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    monkeypatch.setenv("SESSION_MEMORY_HOME", str(memory))
    repository, home = tree(scene.repository), tree(scene.home)
    assert len(VERBS) > 80
    assert not memory.exists()
    for verb in VERBS:
        assert scene.run(verb) != USAGE_ERROR, f"`{verb}` was not run: {GIVEN.get(verb)}"
        assert tree(scene.repository) == repository, verb
        assert tree(scene.home) == home, verb
        assert {path.name for path in tmp_path.iterdir()} == {"home", "memory", "outside", "work"}
    assert (memory / "data" / "store.db").exists()
    assert sorted(path.name for path in scene.outside.iterdir()) == [
        "backup",
        "export.jsonl",
        "export.manifest.json",
        "objects",
        "proposal.json",
        "vault",
    ]


@posix
@pytest.mark.rows("STO-02")
def test_whatever_verb_made_it_and_whatever_the_umask_it_is_private(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    monkeypatch.setenv("SESSION_MEMORY_HOME", str(memory))
    for verb in VERBS:
        os.umask(0)
        scene.run(verb)
        wide = [
            path
            for path in (memory, *memory.rglob("*"))
            if stat.S_IMODE(path.lstat().st_mode) & 0o077
        ]
        assert wide == [], verb


@posix
@pytest.mark.rows("STO-02")
def test_the_default_place_is_made_on_demand_and_private(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SESSION_MEMORY_HOME")
    before = tree(scene.home)
    assert main(["status"]) == 5  # nothing captured yet, so nothing is made either
    assert tree(scene.home) == before
    os.umask(0)
    assert main(["sweep"]) == 0
    made = {name: mode for name, (mode, _) in tree(scene.home).items() if name not in before}
    (store,) = (name for name in made if name.endswith("store.db"))
    assert Path(store).parts[-2] == "session-memory"
    ours = {name: mode for name, mode in made.items() if "session-memory" in name}
    for name, mode in ours.items():
        assert stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600), name


@pytest.mark.rows("STO-02")
def test_a_configured_place_takes_everything(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, chosen = tmp_path / "memory", tmp_path / "chosen"
    monkeypatch.setenv("SESSION_MEMORY_HOME", str(memory))
    assert main(["--set", f"store.path={chosen}", "sweep"]) == 0
    assert (chosen / "store.db").exists()
    assert not memory.exists()
