"""A user curates memory inside an agent that was wired by `init` or by its package.

The package is installed from this repository, into a home in which nothing of ours is. The user
works once, runs catch-up, remember, review-rules and consolidate, says yes to what the agent wrote,
and looks whether the next session knows it, whether it is explained, undone and forgotten.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e_clients import packages, scripts
from tests.e2e_clients.clients import CLIENTS, WORK, Client
from tests.e2e_clients.sandbox import Sandbox
from tests.e2e_clients.seen import page_of, results, shown

from session_memory.packages.build import package_of, with_package

PROMPTS = ("catch-up", "remember", "review-rules", "consolidate")
FENCE = "stored text, reference only"
PROPOSAL = {
    "id": "calc-test",
    "kind": "problem",
    "type": "error",
    "locus": "test_calc",
    "text": "Run the test of calc.",
    "evidence": [],
}
Ask = Callable[[Sandbox, Client, str], list[str]]


def _typed(words: str) -> Ask:
    """The user types a slash command or names a skill."""
    return lambda box, client, name: client.call(box, words.format(name), [])


def _command(words: str) -> Ask:
    """OpenCode runs a command by its name."""
    return lambda box, client, name: ["run", "--format", "json", "--command", words.format(name)]


WAYS: dict[str, dict[str, Ask]] = {
    "claude": {
        "init": _typed("/mcp__session-memory__{}"),
        "package": _typed("/session-memory:{}"),
    },
    "codex": {"package": _typed("$session-memory:session-memory-{}")},
    "gemini": {"init": _typed("/{}"), "package": _typed("/session-memory:{}")},
    "opencode": {
        "init": _command("session-memory:{}"),
        "package": _command("session-memory-{}"),
    },
}
"""How each client's user asks for a prompt; Codex shows those of its package alone."""


def ways(cache: Path, name: str, folder: Path) -> dict[str, dict[str, str]]:
    """Every way to wire a client, with what was seen."""
    found: dict[str, dict[str, str]] = {}
    for way in ("init", "package"):
        ask = WAYS.get(name, {}).get(way)
        if (ask is None and way == "init") or (way == "package" and name not in with_package()):
            continue  # looked at by checks.py; Grok and Qwen have no package
        box = Sandbox(folder / f"{name}-{way}", cache, name)
        _install_program(box)
        try:
            seen = _one_way(box, CLIENTS[name], way, ask)
            found[way] = {step: f"FAIL: {why}" if why else "ok" for step, why in seen.items()}
        finally:
            box.close()
    return found


def _install_program(box: Sandbox) -> None:
    """Our program where `uv tool install` and pipx put it, on the PATH of login shells."""
    folder = box.home / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / scripts.SERVER).symlink_to(Path(sys.executable).parent / scripts.SERVER)
    box.write(".profile", 'PATH="$HOME/.local/bin:$PATH"\n')
    box.environ["PATH"] = f"{folder}:{box.environ['PATH']}"


def _one_way(box: Sandbox, client: Client, way: str, ask: Ask | None) -> dict[str, str]:
    client.configure(box)
    in_plugin = (client.name, way) == ("claude", "package")
    scripts.KNOWN["server"] = f"plugin_{scripts.SERVER}_{scripts.SERVER}" if in_plugin else ""
    verdicts = {"installed": (_init if way == "init" else _install)(box, client)}
    box.run_client("work", _work(box, client, way))
    box.settle()
    box.ours("worker", "run")
    box.ours("sweep")
    verdicts["hooks"] = _hooks(box, client)
    if "mcp called" not in client.lacks:
        verdicts["tools"] = _tools(box, "work")
    if ask is not None:
        verdicts |= Curation(box, client, way, ask).verdicts()
    if way == "package":
        verdicts["both ways"] = _both(box, client)
    return verdicts


def _work(box: Sandbox, client: Client, way: str) -> list[str]:
    return [*client.call(box, box.prompt("work", WORK), []), *_trust(client, way)]


def _trust(client: Client, way: str) -> list[str]:
    """Codex runs hooks of a plug-in that its user approved; this stands for that."""
    return ["--dangerously-bypass-hook-trust"] if (client.name, way) == ("codex", "package") else []


def _init(box: Sandbox, client: Client) -> str:
    box.ours("init", "--yes", "--agent", client.name, *client.init)
    return "" if box.steps[-1]["rc"] == 0 else str(box.steps[-1]["stderr"])[-200:]


def _install(box: Sandbox, client: Client) -> str:
    """From this repository, by the client's own means."""
    root = packages.ROOT
    for line in package_of(client.name)[1].install:
        words = shlex.split(line.format(path=root / "packages" / client.name, market=root))[1:]
        if client.name == "gemini":
            words.append("--consent")
        box.run_client(f"install: {' '.join(words[:3])}", words)
        if box.steps[-1]["rc"] != 0:
            return str(box.steps[-1]["stderr"])[-200:]
    return ""


def _hooks(box: Sandbox, client: Client) -> str:
    events = {record["event"] for record in box.spool.records if record["flavor"] == client.name}
    missing = client.hooks - events - {"subagent_stop", "pre_compact"}
    return f"not noted: {', '.join(sorted(missing))}" if missing else ""


def _tools(box: Sandbox, run: str) -> str:
    """Each tool is known to the model, once."""
    texts = [json.dumps((r.get("body") or {}).get("tools")) for r in _of(box, run)]
    offered = [text for text in texts if "mem_search" in text]
    if not offered:  # behind a search, by name
        named = [text for r in _of(box, run) if "mem_search" in (text := shown(r))]
        return "" if named else "no tool of ours was named"
    names = [word for word in _words(offered[-1]) if word.endswith("mem_search")]
    return "" if len(set(names)) == 1 else f"offered as {sorted(set(names))}"


def _words(text: str) -> list[str]:
    return text.replace('"', " ").replace(",", " ").split()


def _of(box: Sandbox, run: str) -> list[dict[str, Any]]:
    return [request for request in box.requests() if request["run"] == run]


def _both(box: Sandbox, client: Client) -> str:
    """With init beside the package every event is noted once, and every tool offered once."""
    if reason := _init(box, client):
        return reason
    known = len(box.spool.records)
    words = client.call(box, box.prompt("hello", "are you there?"), [])
    box.run_client("both", [*words, *_trust(client, "package")])
    box.settle()
    events = [str(record["event"]) for record in box.spool.records[known:]]
    double = sorted({event for event in events if events.count(event) > 1})
    if double or not events:
        return f"noted twice: {double}" if double else "nothing noted"
    told = [
        text for r in _of(box, "both") for text in [shown(r)] if "What earlier sessions" in text
    ]
    if any(text.count("What earlier sessions in this project left") > 1 for text in told):
        return "memory was given twice"
    return "" if "mcp called" in client.lacks else _tools(box, "both")


class Curation:
    """What becomes of what an agent writes."""

    def __init__(self, box: Sandbox, client: Client, way: str, ask: Ask) -> None:
        self.box, self.client, self.way, self._ask = box, client, way, ask

    def verdicts(self) -> dict[str, str]:
        """Every step with its reason to fail, or nothing."""
        self._prepare()
        for name in PROMPTS:
            self._run(name, name)
        found = {
            "catch-up": self._caught_up(),
            "remember": self._noted("observation", scripts.NOTED),
            "review-rules": self._noted("wording", scripts.WORDED),
            "consolidate": self._noted("memory", scripts.MEMORY_LINE) or self._refused(),
            "waits": self._waits(),
        }
        notes = self._notes()
        self.box.ours("project", "memory", "confirm", *(note["id"] for note in notes))
        self.box.ours("worker", "run")
        self._run("catch-up again", "catch-up")
        self._hello()
        found["next session"] = self._known_next()
        found["explained"] = self._explained(notes)
        found["undone"] = self._undone(notes)
        found["forgotten"] = self._forgotten(notes)
        return found

    def _prepare(self) -> None:
        """What the scripted model has to name, and a candidate to go through."""
        answer = self.box.ours_json("sessions", "--limit", "5") or {"sessions": []}
        for row in answer["sessions"]:
            told = self.box.ours_json("show", row["session"]["external_id"]) or {"events": []}
            for event in told["events"]:
                command = str(event.get("command"))
                if event["kind"] == "tool_call" and scripts.FAILING in command:
                    scripts.KNOWN["event"] = str(event["id"])
                    self.work = row["session"]["external_id"]
        file = self.box.folder / "proposals.json"
        file.write_text(json.dumps([PROPOSAL]))
        self.box.ours("rules", "propose", str(file))

    def _run(self, run: str, prompt: str) -> None:
        words = self._ask(self.box, self.client, prompt)
        # Gemini puts what a hook prints before the words of `-p` and then sees no command in them.
        environ = {"SESSION_MEMORY_INJECT": "0"} if self.client.name == "gemini" else {}
        self.box.run_client(run, [*words, *_trust(self.client, self.way)], **environ)
        self.box.settle(20)

    def _hello(self) -> None:
        words = self.client.call(self.box, self.box.prompt("hello", "are you there?"), [])
        self.box.run_client("next", [*words, *_trust(self.client, self.way)])

    def _notes(self, *options: str) -> list[dict[str, Any]]:
        answer = self.box.ours_json("project", "memory", "notes", *options)
        return (answer or {"notes": []})["notes"]

    def _shown(self, run: str) -> str:
        """All that the model saw in a run: prompts, and results of tools and commands."""
        requests = _of(self.box, run)
        return "\n".join([*map(shown, requests), *(t for r in requests for t in results(r))])

    def _caught_up(self) -> str:
        text = self._shown("catch-up")
        if scripts.ANCHORS["catch-up"] not in text:
            return "the prompt did not reach the model"
        return "" if FENCE in text else "it quotes no memory"

    def _noted(self, kind: str, text: str) -> str:
        mine = [note for note in self._notes() if (note["kind"], note["text"]) == (kind, text)]
        if not mine:
            return f"no note of kind {kind} waits"
        flavors = {note["flavor"] for note in mine}
        return "" if flavors == {self.client.name} else f"noted as {flavors}"

    def _refused(self) -> str:
        said = self._shown("consolidate")
        return "" if "does not contain" in said else "what nothing supports was not refused"

    def _waits(self) -> str:
        told = self.box.ours("project", "memory", "show") + str(page_of(self.box))
        return "told before a yes" if scripts.NOTED in told else ""

    def _known_next(self) -> str:
        for run in ("catch-up again", "next"):
            if scripts.NOTED not in self._shown(run):
                return f"{run}: the model was not told"
        rule = self.box.ours("rules", "show", PROPOSAL["id"])
        return "" if scripts.WORDED in rule else "the rule has its old words"

    def _explained(self, notes: list[dict[str, Any]]) -> str:
        for note in notes:
            told = self.box.ours("rules", "explain", note["id"])
            if f"written by {self.client.name} in session" not in told:
                return f"{note['id']}: {told[-100:]!r}"
        return ""

    def _undone(self, notes: list[dict[str, Any]]) -> str:
        for note in notes:
            self.box.ours("project", "memory", "undo", note["id"])
            if self.box.steps[-1]["rc"] != 0:
                return str(self.box.steps[-1]["stderr"])[-150:]
        told = self.box.ours("project", "memory", "show")
        return "still in MEMORY.md" if scripts.NOTED in told else ""

    def _forgotten(self, notes: list[dict[str, Any]]) -> str:
        """By the session that a line cites, and by the one that wrote it."""
        self.box.ours("project", "memory", "confirm", *(note["id"] for note in notes))
        self.box.ours("sweep")
        self.box.ours("forget", "--session", self.work, "--yes")
        if scripts.MEMORY_LINE in self.box.ours("project", "memory", "show"):
            return "the line outlived the session it cites"
        left = self._notes("--all")
        writers = {str(note["session"]) for note in left if note["text"] == scripts.NOTED}
        if len(writers) != 1 or "unknown" in writers:
            return f"the session that wrote it is not known: {sorted(writers)}"
        self.box.ours("forget", "--session", *writers, "--yes")
        told = self.box.ours("project", "memory", "show")
        kept = json.dumps(self._notes("--all"))
        return "still there" if scripts.NOTED in told + kept else ""
