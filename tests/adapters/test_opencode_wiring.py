"""OpenCode's plug-in, run by a real node with a hook in the launcher's place."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from session_memory.adapters.opencode import wiring as opencode
from session_memory.adapters.shared_wiring.launchers import Launchers

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


COMPACTING = """
import {{ SessionMemory }} from {plugin}
const asked = async (sessionID) => {{
  const output = {{ system: [] }}
  await plugin["experimental.chat.system.transform"]({{ sessionID }}, output)
  return output.system
}}
const plugin = await SessionMemory({{ directory: "/d" }})
const seen = {{ before: await asked("main") }}
await plugin["experimental.session.compacting"]({{ sessionID: "main" }}, {{ context: [] }})
const compacted = {{ type: "session.compacted", properties: {{ sessionID: "main" }} }}
await plugin.event({{ event: compacted }})
seen.early = await asked("main")
seen.told = await asked("main")
seen.again = await asked("main")
console.log(JSON.stringify(seen))
"""


def run_host(
    folder: Path, hook: str, program: str = HOST
) -> tuple[dict[str, list[str]], list[str]]:
    """What the model is told, and what the hook was called with."""
    ours = Launchers("/python", "-I", folder, folder, folder)
    ours.hook_launcher.write_text(f"#!/bin/sh\n{hook}\n")
    ours.hook_launcher.chmod(0o700)
    plugin = folder / "plugin.mjs"
    plugin.write_text(opencode.plugin(ours))
    host = folder / "host.mjs"
    host.write_text(program.format(plugin=json.dumps(plugin.as_uri())))
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
        f'session.created opencode {payload.format("older")[:-1]},"source":"resume"}}',
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


@pytest.mark.rows("RCV-01")
@pytest.mark.skipif(NODE is None, reason="needs node")
def test_after_a_compaction_the_model_is_told_as_soon_as_it_is_ready_and_from_then_on(
    tmp_path: Path,
) -> None:
    def said(text: str) -> str:
        inner = {"hookEventName": "SessionStart", "additionalContext": text}
        return json.dumps({"hookSpecificOutput": inner})

    hook = f"""echo "$1" >>{tmp_path}/calls; cat >/dev/null
case $(grep -c created {tmp_path}/calls) in
  3) echo '{said("<<<recovery 1: lost>>> known")}';;
  *) echo '{said("known")}';;
esac"""
    told, calls = run_host(tmp_path, hook, COMPACTING)
    assert told["before"] == told["early"] == ["known"]
    assert told["told"] == told["again"] == ["<<<recovery 1: lost>>> known"]
    assert calls.count("session.created") == 3
    assert {"pre.compact", "session.compacted"} <= set(calls)
