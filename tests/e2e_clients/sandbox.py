"""A home, a repository, a scripted model and a watched spool for one client."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.e2e_clients import packages, scripts

SHARED = packages.ROOT.parent / "shared" / "clients"
PROGRAM = (sys.executable, "-I", "-m", "session_memory")
POLL_S, CLIENT_S, OURS_S = 0.02, 180.0, 120.0
OURS = re.compile(r"<hook_context>.*?</hook_context>", re.DOTALL)
"""Gemini puts what we tell before the user's own words, old prompts with their marks and all."""


class Spool(threading.Thread):
    """Reads every record that hooks put down, before the worker takes it away."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder, self._known, self._ended = folder, set[str](), threading.Event()
        self.records: list[dict[str, Any]] = []

    def run(self) -> None:
        """Look until told to end."""
        while not self._ended.wait(POLL_S):
            for path in sorted(self._folder.glob("*.json")):
                if path.name in self._known:
                    continue
                try:
                    record = json.loads(path.read_bytes())
                except (OSError, ValueError):
                    continue  # taken away, or not whole yet
                self._known.add(path.name)
                self.records.append(record)

    def end(self) -> None:
        """Look no more."""
        self._ended.set()
        self.join()


class Sandbox:
    """Everything one client is given, and everything that is seen of it."""

    def __init__(self, folder: Path, cache: Path, client: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.client, self.cache, self.folder = client, cache, folder
        self.home, self.project = folder / "home", folder / "shop"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        self.state = self.home / ".local" / "state" / "session-memory"
        self.data = self.home / ".local" / "share" / "session-memory"
        self.model_log = folder / "model.jsonl"
        self._server, port = _serve(self.model_log)
        self.base = f"http://127.0.0.1:{port}"
        self.environ: dict[str, str] = {
            "PATH": packages.search_path(cache),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "CI": "1",
            "NO_COLOR": "1",
            "DO_NOT_TRACK": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        self.program = PROGRAM
        self.killed: list[int] = []
        self.steps: list[dict[str, Any]] = []
        self.secret_logged = False
        self.spool = Spool(self.state / "spool")
        self.spool.start()
        self._make_repository()

    def _make_repository(self) -> None:
        (self.project / "README.md").write_text("# shop\n")
        (self.project / scripts.SECRET_FILE).write_text(
            "".join(f"DEPLOY_TOKEN_{n}={secret}\n" for n, secret in enumerate(scripts.SECRETS))
        )
        commands = (
            ("init", "-q", "-b", "main"),
            ("config", "user.email", "dev@example.invalid"),
            ("config", "user.name", "Dev"),
            ("add", "-A"),
            ("commit", "-qm", "first"),
        )
        for words in commands:
            subprocess.run(["git", *words], cwd=self.project, env=self.environ, check=True)

    def write(self, path: str, content: str | Mapping[str, Any]) -> None:
        """Put a configuration file of the user's into the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        file.write_text(text, encoding="utf-8")

    def prompt(self, scenario: str, words: str) -> str:
        """A prompt that names the script the model follows."""
        return f"[[fake:{scenario} cwd={self.project}]] {words}"

    def run_client(self, name: str, arguments: list[str], **environ: str) -> str:
        """Run the client once; what it printed and how it ended is kept."""
        binary = str(packages.programs(self.cache, self.client) / self.client)
        return self._run(name, [binary, *arguments], CLIENT_S, environ)

    def ours(self, *words: str) -> str:
        """Run our own program as a user would."""
        return self._run("session-memory " + " ".join(words), [*self.program, *words], OURS_S, {})

    def ours_json(self, *words: str) -> Any:
        """What a reading command of ours says, for programs; None where it says nothing."""
        printed = self.ours(*words, "--json")
        try:
            return json.loads(printed)
        except ValueError:
            return None

    def _run(
        self, name: str, command: list[str], timeout: float, environ: Mapping[str, str]
    ) -> str:
        began, at = time.monotonic(), time.time()
        process = subprocess.Popen(
            command,
            cwd=self.project,
            env={**self.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=timeout)
            code: int | str = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)  # a group of its own, begun above
            out, err = process.communicate()
            code = "timeout"
        step = {
            "name": name,
            "rc": code,
            "at": at,
            "seconds": round(time.monotonic() - began, 1),
            "stdout": out.decode("utf-8", "replace")[-20_000:],
            "stderr": err.decode("utf-8", "replace")[-4_000:],
        }
        self.steps.append(step)
        seen = step["stdout"].strip()[-100:] if code == 0 else step["stderr"].strip()[-300:]
        print(f"  {self.client}: {name}: {code} after {step['seconds']} s {seen!r}", flush=True)
        return out.decode("utf-8", "replace")

    def requests(self) -> list[dict[str, Any]]:
        """Every request the model was sent so far, each with the run it belongs to."""
        if not self.model_log.exists():
            return []
        found = [json.loads(line) for line in self.model_log.read_text().splitlines()]
        for request in found:
            begun = [step["name"] for step in self.steps if step["at"] <= request["t"]]
            request["run"] = begun[-1] if begun else ""
        return found

    def settle(self, seconds: float = 60) -> list[str]:
        """Wait until the worker is done; returns what still runs beside this process."""
        until = time.monotonic() + seconds
        while (left := processes()) and time.monotonic() < until:
            time.sleep(0.2)
        return left

    def close(self) -> None:
        """End the model and keep the steps."""
        self.spool.end()
        self._server.shutdown()
        (self.folder / "steps.json").write_text(json.dumps(self.steps, indent=1))


def processes() -> list[str]:
    """Command lines of everything but this process: the process namespace is ours alone."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        # What has ended and was not waited for has no command line.
        if int(path.name) not in (1, os.getpid()) and words != [b""]:
            found.append(f"{path.name} " + b" ".join(words).decode("utf-8", "replace")[:200])
    return found


def _serve(log: Path) -> tuple[Any, int]:
    sys.dont_write_bytecode = True
    if str(SHARED) not in sys.path:
        sys.path.insert(0, str(SHARED))
    fake: Any = import_module("fake_model")
    if not hasattr(fake, "plain_brain"):
        fake.plain_brain, fake.Brain = fake.Brain, _brain(fake)
    return fake.serve(0, str(log), scripts.SCENARIOS)


def _marked(text: str) -> str:
    """What the user said, with the mark of the script for a prompt of ours in it."""
    for name, anchor in scripts.ANCHORS.items():
        if anchor in text:
            return f"[[fake:{name}]] {text}"
        if f"`session-memory prompt {name}`" in text:
            return f"[[fake:run-{name}]] {text}"
    return text


def _for_server(scenarios: Any) -> Any:
    """The scripts with the name that a client gives our server: plug-ins have another one."""
    named = scripts.KNOWN.get("server") or scripts.SERVER
    text = re.sub(r'"server": "[^"]*"', f'"server": "{named}"', json.dumps(scenarios))
    return json.loads(text)


def _filled(arguments: Any) -> Any:
    """Arguments with what became known during the run."""
    text = json.dumps(arguments)
    for name, value in scripts.KNOWN.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    return json.loads(text)


def _brain(fake: Any) -> type:
    """The scripted model, which takes no order from what we tell it of earlier sessions."""

    class Brain(fake.Brain):
        def decide(self, kind: str, body: Any, conv: list[Any]) -> dict[str, Any]:
            self.scenarios = _for_server(self.scenarios)
            asked = [(said[0], _marked(OURS.sub("", said[1])), *said[2:]) for said in conv]
            if scripts.RECOVERY in html.unescape(json.dumps(body, ensure_ascii=False)):
                swap = ("[[fake:after ", "[[fake:told ")
                asked = [(said[0], said[1].replace(*swap), *said[2:]) for said in asked]
            decided: dict[str, Any] = super().decide(kind, body, asked)
            decided["calls"] = [
                (tool, _filled(arguments)) for tool, arguments in decided.get("calls", ())
            ]
            end = fake.tools_of(kind, body).get("complete_task")
            if end and decided["scenario"] == "sub" and not decided["calls"]:  # Gemini wants that
                decided["calls"] = [(end, {"result": {"response": decided["say"]}})]
            for tool, arguments in decided["calls"]:
                if tool["name"] == "task" and "subagent_type" in arguments:
                    arguments["subagent_type"] = "general"  # as OpenCode calls it
            return decided

    return Brain
