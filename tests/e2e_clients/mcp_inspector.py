"""`make mcp-inspector`: the MCP Inspector, a client that is not ours, asks every tool over stdio.

npm puts it into .cache/inspector; the store is a sample of our own in a temporary home. Prints one
line for each question; exit 1 when one is not answered as it should be.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.mcp.crowd import log

from session_memory.mcp.tools import tools_of
from session_memory.testing.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".cache" / "inspector"
VERSION = "0.15.0"
COMMAND = PLACE / "node_modules" / ".bin" / "mcp-inspector"
SECONDS = 300


def install() -> None:
    """Put the client into its place, once a version."""
    mark = PLACE / VERSION
    if mark.exists():
        return
    home = PLACE / "home"
    home.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-fund", "--no-audit", "--ignore-scripts", "--cache", str(PLACE / "npm-cache")]
    package = f"@modelcontextprotocol/inspector@{VERSION}"
    subprocess.run(
        ["npm", "install", "--prefix", str(PLACE), *quiet, package],
        env={**os.environ, "HOME": str(home)},
        check=True,
        timeout=SECONDS,
    )
    mark.touch()


def ask(space: Workspace, config: str, *question: str) -> dict[str, Any]:
    """One question through the client; it starts a server for each."""
    # It takes options for its own, wherever they stand, so the server is told by a variable.
    server = [str(Path(sys.executable).parent / "session-memory"), "mcp"]
    done = subprocess.run(
        [str(COMMAND), "--cli", *server, *question],
        env={**space.environ(), "SESSION_MEMORY_CONFIG": config},
        cwd=space.root / "shop",
        capture_output=True,
        check=True,
        timeout=SECONDS,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> int:
    """Ask everything."""
    install()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="session-memory-inspector-") as folder:
        space = Workspace(Path(folder))
        log(space, 1)
        config = str(space.write_config())
        assert space.run("--config", config, "sweep").returncode in (0, 3)
        listed = [tool["name"] for tool in ask(space, config, "--method", "tools/list")["tools"]]
        wrong += listed != [tool.name for tool in tools_of("standard")]
        print(f"tools/list: {len(listed)} tools")
        known = session = event = ""
        for name in listed:
            given = {
                "mem_search": "query=totals",
                "mem_get": known,
                "mem_provenance": known,
                "mem_event": event,
                "mem_transcript": session,
                "mem_diff": session,
            }
            argument = ["--tool-arg", given[name]] if name in given else []
            answer = ask(space, config, "--method", "tools/call", "--tool-name", name, *argument)
            content = answer["structuredContent"]
            failed = answer["isError"] or not isinstance(content, dict)
            wrong += failed
            if name == "mem_search":
                first = content["items"][0]
                known = f"observation_id={first['id']}"
                session, event = f"session_id={first['session_id']}", f"event_id={first['turn_id']}"
            print(f"{name}: {'FAILED' if failed else 'answered'}, {len(json.dumps(content))} bytes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
