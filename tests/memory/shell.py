"""`session-memory project memory` in a process, with a model that is a server or a stand-in."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.memory.workbench import Bench, answer

PAGE = "# Memory\n\n- run pytest -q (trace `${trace}`)\n"
WORDS = {"files": [{"path": "MEMORY.md", "content": PAGE}]}
BOTH = json.dumps({**json.loads(answer()), **WORDS})
"""An answer to either question: a trace, or the files of a memory."""
STAND_IN = """#!{python}
import json, os, sys
asked = sys.stdin.buffer.read()
with open({log!r}, "ab") as file:
    file.write(json.dumps([len(asked), os.getcwd(), sys.argv[1:]]).encode() + b"\\n")
if "--restricted" in sys.argv:
    newest = open("memory_summary.md").read().partition("(trace: `")[2].partition("`")[0]
    with open("MEMORY.md", "w") as page:
        page.write({page!r}.replace("${{trace}}", newest))
used = {{"claude-haiku-4-5": {{"inputTokens": 1000, "outputTokens": 500}}}}
print(json.dumps({{"type": "result", "result": {said!r}, "modelUsage": used}}))
"""


class Shell:
    """The program on a swept workspace, with one configuration."""

    def __init__(self, bench: Bench, **model: str | int | float) -> None:
        self.bench = bench
        path = bench.space.write_config()
        lines = [f"{name} = {json.dumps(value)}" for name, value in model.items()]
        path.write_text(path.read_text() + "\n".join(["[model]", *lines]) + "\n")
        self.config = str(path)
        self.stderr = ""

    def run(self, *arguments: str, ok: int = 0, verb: str = "project memory") -> str:
        """What it prints; its other words are in `stderr`."""
        done = self.bench.space.run("--config", self.config, *verb.split(), *arguments)
        assert done.returncode == ok, done.stdout + done.stderr
        self.stderr = done.stderr
        return done.stdout

    def json(self, *arguments: str, ok: int = 0) -> dict[str, Any]:
        return json.loads(self.run(*arguments, "--json", ok=ok))


def stand_in(folder: Path) -> Path:
    """A `claude` in a folder for the PATH, which notes each call in `calls` beside it."""
    folder.mkdir()
    log = folder.parent / "calls"
    path = folder / "claude"
    path.write_text(STAND_IN.format(python=sys.executable, log=str(log), said=BOTH, page=PAGE))
    path.chmod(0o755)
    return log


def calls(log: Path) -> list[tuple[int, str, list[str]]]:
    """Bytes, directory and arguments of each call."""
    return [tuple(json.loads(line)) for line in log.read_text().splitlines()]
