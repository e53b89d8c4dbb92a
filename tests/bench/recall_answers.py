"""What answers of the MCP server cost who reads them, on logs of real sessions.

A server process is asked for the smallest pack of each project and for our own questions
(recall_own): as a client whose model sees the structured answer, such as Claude Code and Codex, and
as one that shows the text. Bytes are of JSON as it is sent; a token counts as four bytes.

`python -m tests.bench.recall_answers`
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.recall_own import questions, swept
from tests.bench.usage import arguments
from tests.mcp.clients import Talk

from session_memory.testing.workspace import Workspace

CLIENTS = {"codex-mcp-client": "structured", "another": "text"}


def size(value: Any) -> int:
    """Bytes as JSON without blanks."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def seen(result: dict[str, Any], client: str) -> Any:
    """What a client shows its model."""
    is_structured = CLIENTS[client] == "structured"
    return result["structuredContent"] if is_structured else result["content"][0]["text"]


def packs(talk: Talk, client: str, projects: list[str]) -> dict[str, float]:
    """The smallest pack of each project: its text, and all that is read with it."""
    texts, answers = list[int](), list[int]()
    for key in projects:
        result = talk.call("mem_context_pack", project_key=key, budget="micro")
        texts.append(size(result["structuredContent"]["text"]))
        answers.append(size(seen(result, client)))
    return {
        "packs": len(texts),
        "tokens of text": round(statistics.median(texts) / 4),
        "tokens read": round(statistics.median(answers) / 4),
    }


def found(talk: Talk, client: str, asked: list[str]) -> dict[str, float]:
    """Items of searches: their words, and all that is read with them."""
    texts, items = list[int](), list[int]()
    for query in asked:
        result = talk.call("mem_search", query=query, limit=10)
        listed = result["structuredContent"]["items"]
        texts += [len(item["summary"].encode()) for item in listed]
        items += [size(seen(result, client)) // len(listed)] * len(listed) if listed else []
    return {
        "items": len(items),
        "bytes of text": round(statistics.mean(texts)),
        "bytes read": round(statistics.mean(items)),
    }


def main() -> int:
    """Sweep, ask and print one line of JSON for each client and tool."""
    with tempfile.TemporaryDirectory() as folder:
        space = Workspace(Path(folder))
        if not swept(space):
            print("skipped: the logs these answers are about are not here", file=sys.stderr)
            return 0
        with space.store() as store:
            projects = [project.key for project in store.projects()]
            asked = [one.text for one in questions(store)]
        environ = {**space.environ(), "SESSION_MEMORY_CONFIG": str(space.write_config())}
        for client, shown in CLIENTS.items():
            with Talk("--all-projects", environ=environ) as talk:
                talk.greet(client)
                for tool, figures in (
                    ("mem_context_pack micro", packs(talk, client, projects)),
                    ("mem_search", found(talk, client, asked)),
                ):
                    print(json.dumps({"tool": tool, "shown": shown, **figures}))
    return 0


if __name__ == "__main__":
    arguments(__doc__)
    sys.exit(main())
