"""OpenCode's plug-in, run by a real node with a hook in the launcher's place."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from session_memory.adapters.opencode import wiring as opencode
from session_memory.adapters.wiring.launchers import Launchers

NODE = shutil.which("node")
# What OpenCode 1.18.33 does with a plug-in, as far as ours looks at it.
HOST = """
import {{ SessionMemory }} from {plugin}
const made = (id, parentID) => ({{
  event: {{ type: "session.created", properties: {{ info: {{ id, parentID, directory: "/d" }} }} }},
}})
const asked = async (sessionID) => {{
  const output = {{ system: ["first"] }}
  await plugin["experimental.chat.system.transform"]({{ sessionID }}, output)
  return output.system
}}
const plugin = await SessionMemory({{ directory: "/d" }})
await plugin.event(made("main"))
await plugin.event(made("child", "main"))
await plugin.event({{ event: {{ type: "message.updated", properties: {{ sessionID: "main" }} }} }})
const seen = {{ main: await asked("main"), again: await asked("main") }}
seen.child = await asked("child")
seen.resumed = await asked("older")
await plugin.dispose()
console.log(JSON.stringify(seen))
"""


def run_host(folder: Path, hook: str) -> tuple[dict[str, list[str]], list[str]]:
    """What the model is told, and what the hook was called with."""
    ours = Launchers("/python", "-I", folder, folder, folder)
    ours.hook_launcher.write_text(f"#!/bin/sh\n{hook}\n")
    ours.hook_launcher.chmod(0o700)
    plugin = folder / "plugin.mjs"
    plugin.write_text(opencode.plugin(ours))
    host = folder / "host.mjs"
    host.write_text(HOST.format(plugin=json.dumps(plugin.as_uri())))
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(host)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    calls = folder / "calls"
    return json.loads(done.stdout), calls.read_text().splitlines() if calls.exists() else []


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_model_is_told_at_every_request_and_subagents_are_not(tmp_path: Path) -> None:
    output = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "known"}}
    hook = f"""echo "$* $(cat)" >>{tmp_path}/calls\necho '{json.dumps(output)}'"""
    told, calls = run_host(tmp_path, hook)
    assert told == {
        "main": ["first", "known"],
        "again": ["first", "known"],
        "child": ["first"],
        "resumed": ["first", "known"],
    }
    payload = '{{"sessionID":"{}","directory":"/d"}}'
    assert sorted(calls) == [
        f"session.created opencode {payload.format('child')}",
        f"session.created opencode {payload.format('main')}",
        f"session.created opencode {payload.format('older')}",
        f"session.end opencode {payload.format('main')}",
        f"session.end opencode {payload.format('older')}",
    ]


@pytest.mark.skipif(NODE is None, reason="needs node")
@pytest.mark.parametrize("hook", ["exit 0", "exit 3", "echo no JSON", "echo '{}'"])
def test_a_hook_that_tells_nothing_changes_nothing(tmp_path: Path, hook: str) -> None:
    told, _ = run_host(tmp_path, hook)
    assert set(map(tuple, told.values())) == {("first",)}


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_a_launcher_that_is_gone_is_not_noticed(tmp_path: Path) -> None:
    told, _ = run_host(tmp_path, 'rm -f "$0"')
    assert set(map(tuple, told.values())) == {("first",)}
