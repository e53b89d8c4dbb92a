"""Guards in genuine clients: `python -m tests.e2e_clients.guards [CLIENT ...]`, once installed.

Wires each client by `init`, adds two rules, lets the scripted model break both, and looks whether
their words reached the model. Exit 1 where they did not. Isolated as `run.py` is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.e2e_clients import packages, scripts
from tests.e2e_clients.clients import CLIENTS, Client
from tests.e2e_clients.run import FOLDER
from tests.e2e_clients.sandbox import Sandbox

NPM, CHECK = "Use `bun`, not `npm`.", "Run `make check` before you finish."
NO_STOP = ("opencode",)
"""A plug-in hears of the end of a turn too late."""
SCRIPT = [
    {"say": "Install.", "calls": [["bash", {"command": "cd {cwd} && npm --version > ran.txt"}]]},
    {"say": "Write.", "calls": [["write", {"path": "{cwd}/a.txt", "content": "one\n"}]]},
    {"say": "Finished."},
]


def watch(box: Sandbox, client: Client) -> dict[str, str]:
    """`ok`, `n.a.` or `FAIL` for the hint, the end of the turn, and that the call went on."""
    client.configure(box)
    box.run_client("hello", client.greet(box))
    box.ours("init", "--yes", "--agent", client.name, *client.init)
    for rule in (NPM, CHECK):
        box.ours("rules", "add", rule)
    box.run_client("guarded", client.call(box, box.prompt("guarded", "go"), []))
    bodies = [json.dumps(request.get("body")) for request in box.requests()]
    hint, stop = (any(f"{rule} [sm-" in body for body in bodies) for rule in (NPM, CHECK))
    ran = (box.project / "ran.txt").exists()
    found = {"hint": hint, "goes on": ran, "end of turn": stop}
    verdicts = {name: "ok" if held else "FAIL" for name, held in found.items()}
    return verdicts | ({"end of turn": "n.a."} if client.name in NO_STOP else {})


def main(names: list[str]) -> int:
    """Run in namespaces of its own, without a network."""
    if names[:1] != ["--inside"]:
        words = [sys.executable, "-m", "tests.e2e_clients.guards", "--inside", *names]
        flags = ["-n", "-m", "-p", "-f", "--mount-proc", *([] if os.geteuid() == 0 else ["-r"])]
        return subprocess.run(["unshare", *flags, *words], check=False).returncode
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    scripts.SCENARIOS["guarded"] = SCRIPT
    failed = False
    for name in names[1:] or ("claude", "codex", "gemini", "opencode"):
        box = Sandbox(FOLDER / f"{name}-guards", packages.CACHE, name)
        try:
            verdicts = watch(box, CLIENTS[name])
        finally:
            box.close()
        print(name, packages.version(packages.CACHE, name), verdicts, flush=True)
        failed |= "FAIL" in verdicts.values()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
