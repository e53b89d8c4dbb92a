"""What any such tool pays: bare parsing, and the simplest loop of json and FTS5; stdlib only.

`python -m tests.bench.baseline parse FILE...`, or `index DATABASE FILE...`
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.usage import arguments


def records(roots: list[str]) -> Iterator[Any]:
    """Every line that is JSON."""
    for root in roots:
        for path in Path(root).rglob("*.jsonl"):
            with path.open("rb") as file:
                for line in file:
                    try:
                        yield json.loads(line)
                    except ValueError:
                        continue


def text_of(value: Any) -> str:
    """All texts of a message, one after the other."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(text_of, value))
    if isinstance(value, dict):
        texts = [text_of(value.get(name)) for name in ("text", "thinking", "content")]
        return "\n".join([*texts, json.dumps(value["input"])] if "input" in value else texts)
    return ""


def index(roots: list[str], database: str) -> None:
    """Put the text of each message into a full-text table, all in one transaction."""
    db = sqlite3.connect(database)
    db.execute("CREATE VIRTUAL TABLE message USING fts5(body)")
    for record in records(roots):
        if isinstance(record, dict) and isinstance(record.get("message"), dict):
            text = text_of(record["message"].get("content")).encode("utf-8", "replace").decode()
            db.execute("INSERT INTO message (body) VALUES (?)", (text,))
    db.commit()
    db.close()


if __name__ == "__main__":
    what, *given = arguments(__doc__, least=2)
    if what == "parse":
        for _ in records(given):
            pass
    else:
        index(given[1:], given[0])
