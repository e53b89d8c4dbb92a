"""Guards in genuine clients: the rules of a user, which the scripted model breaks.

A part of `make e2e-clients`; alone: `make e2e-clients ARGS="--part guards" CLIENTS=claude`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e_clients import scripts
from tests.e2e_clients.clients import CLIENTS, Client
from tests.e2e_clients.sandbox import Sandbox

from session_memory.adapters.registry import agents

NPM, CHECK = "Use `bun`, not `npm`.", "Run `make check` before you finish."
NO_STOP = ("opencode",)
"""A plug-in hears of the end of a turn too late."""
STEPS = ("hint", "goes on", "end of turn", "deny", "reason of deny", "ask", "reason of ask")
NOT_POSSIBLE = "n.a."


def _npm(name: str) -> dict[str, Any]:
    command = f"cd {{cwd}} && npm root > {name}.txt"
    return {"say": "Install.", "calls": [["bash", {"command": command}]]}


def _scripts() -> dict[str, list[dict[str, Any]]]:
    write = {"say": "Write.", "calls": [["write", {"path": "{cwd}/a.txt", "content": "one\n"}]]}
    end = {"say": "Finished."}
    return {
        "hinted": [_npm("hinted"), write, end],
        "denied": [_npm("denied"), end],
        "asked": [_npm("asked"), end],
    }


def guarded(cache: Path, name: str, folder: Path) -> dict[str, str]:
    """What guards did in one client; nothing for a client without guards."""
    if not agents()[name].hook.guards:
        return dict.fromkeys(STEPS, NOT_POSSIBLE)
    scripts.SCENARIOS.update(_scripts())
    box = Sandbox(folder / f"{name}-guards", cache, name)
    try:
        return _watch(box, CLIENTS[name])
    finally:
        box.close()


def _watch(box: Sandbox, client: Client) -> dict[str, str]:
    """`ok`, `n.a.` or `FAIL` for each step: hint, refusal, question, end of a turn."""
    client.configure(box)
    box.run_client("hello", client.greet(box))
    box.ours("init", "--yes", "--agent", client.name, *client.init)
    for rule in (NPM, CHECK):
        box.ours("rules", "add", rule)
    listed = box.ours_json("rules", "guard", "list")["guards"]
    npm = next(row["id"] for row in listed if row["text"] == NPM)
    found: dict[str, bool] = {}
    _run(box, client, "hinted")
    found["hint"] = _is_told(box, "hinted", NPM)
    found["goes on"] = _ran(box, "hinted")
    found["end of turn"] = _is_told(box, "hinted", CHECK)
    box.ours("rules", "guard", "set", npm, "deny")
    _run(box, client, "denied")
    found["deny"] = not _ran(box, "denied")
    found["reason of deny"] = _is_told(box, "denied", NPM)
    box.ours("rules", "guard", "set", npm, "ask")
    _run(box, client, "asked")
    # Nobody is there to say yes: who can ask refuses, who cannot is hinted.
    can_ask = "ask" in agents()[client.name].hook.guards
    found["ask"] = _ran(box, "asked") is not can_ask
    found["reason of ask"] = _is_told(box, "asked", NPM)
    verdicts = {name: "ok" if held else "FAIL" for name, held in found.items()}
    return verdicts | ({"end of turn": NOT_POSSIBLE} if client.name in NO_STOP else {})


def _run(box: Sandbox, client: Client, scenario: str) -> None:
    box.run_client(scenario, client.call(box, box.prompt(scenario, "go"), []))


def _is_told(box: Sandbox, run: str, rule: str) -> bool:
    """Whether the words of a rule reached the model in a run by its guard."""
    bodies = (json.dumps(one.get("body")) for one in box.requests() if one["run"] == run)
    return any(f"{rule} [sm-" in body for body in bodies)


def _ran(box: Sandbox, name: str) -> bool:
    return (box.project / f"{name}.txt").exists()
