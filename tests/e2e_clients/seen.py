"""What was seen of one client: its files, its requests to the model, and what we stored of it."""

from __future__ import annotations

import contextlib
import hashlib
import html
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e_clients import scripts
from tests.e2e_clients.sandbox import Sandbox

Files = dict[str, tuple[bytes, int]]
"""Path below the home to content and mode."""
OURS = (".local/share/session-memory", ".local/state/session-memory")


class Tokens(NamedTuple):
    """Tokens of a response or of many."""

    fresh: int = 0
    read: int = 0
    written: int = 0
    output: int = 0

    def plus(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(*(a + b for a, b in zip(self, other, strict=True)))


def files_of(home: Path) -> Files:
    """Every file of a home but our own data."""
    found: Files = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if path.is_symlink() or not path.is_file() or name.startswith(OURS):
            continue
        if name.endswith("-shm"):  # of SQLite, for readers too: not a file of its user
            continue
        found[name] = (path.read_bytes(), path.stat().st_mode & 0o7777)
    return found


def strings(value: Any) -> Iterator[str]:
    """Every text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def shown(request: dict[str, Any]) -> str:
    """All that the model was shown in one request; Gemini and Qwen escape what hooks print."""
    return html.unescape("\n".join(strings(request.get("body"))))


def asked(requests: list[dict[str, Any]], *scenarios: str) -> list[dict[str, Any]]:
    """Requests of these scripts."""
    return [request for request in requests if request.get("scenario") in scenarios]


def tokens_of(request: dict[str, Any]) -> Tokens:
    """What the scripted model said that its answer to this request cost."""
    said, calls = request.get("say") or "", request.get("calls") or []
    whole = len(json.dumps(request["body"])) // 4
    output = (len(said) + sum(len(json.dumps(arguments)) for _, arguments in calls)) // 4 + 1
    half = whole // 2
    written = whole // 10 if request["path"].split("?")[0].endswith("/messages") else 0
    return Tokens(whole - half, half, written, output)


def counted(requests: list[dict[str, Any]]) -> Tokens:
    """The tokens of many requests."""
    total = Tokens()
    for request in requests:
        total = total.plus(tokens_of(request))
    return total


def results(request: dict[str, Any]) -> list[str]:
    """Tool results in a request, oldest first, as the model was shown them."""
    body = request.get("body") or {}
    found: list[str] = []
    for message in body.get("messages") or ():  # Anthropic and Chat Completions
        if message.get("role") == "tool":
            found.append("\n".join(strings(message.get("content"))))
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                found.append("\n".join(strings(block.get("content"))))
    items = body.get("input")
    for item in items if isinstance(items, list) else ():  # Responses
        if str(item.get("type")).endswith("_output"):
            found.append("\n".join(strings(item.get("output"))))
    for content in body.get("contents") or ():  # Gemini
        for part in content.get("parts") or ():
            if "functionResponse" in part:
                found.append("\n".join(strings(part["functionResponse"].get("response"))))
    return found


def answers(texts: list[str]) -> list[str]:
    """Those results that are answers of our tools: some clients look a tool up before a call."""
    marks = ('"items":[', '"scope_resolution":{', '"known":', scripts.NOT_FOUND)
    return [text for text in texts if any(mark in text for mark in marks)]


def channel(text: str) -> str:
    """Which part of an answer of ours a client has shown: our text says the tool's name first."""
    said, structured = "session-memory mem_" in text, "<<<memory " not in text
    return ("both" if structured else "text") if said else "structured"


class Page(NamedTuple):
    """What a session that starts now would be given."""

    sections: tuple[str, ...]


def page_of(box: Sandbox) -> Page:
    """The page the worker prepared for the repository."""
    name = hashlib.sha256(os.path.realpath(box.project).encode()).hexdigest() + ".json"
    path = box.state / "inject" / name
    if not path.exists():
        return Page(())
    page = json.loads(path.read_bytes())
    return Page(tuple(str(section["text"]) for section in page["sections"]))


class Stored(NamedTuple):
    """What our commands say of the sessions."""

    sessions: list[dict[str, Any]]
    events: dict[int, list[dict[str, Any]]]
    outcomes: dict[int, str]

    def with_prompt(self, scenario: str) -> dict[str, Any] | None:
        """The main session that was begun with this script."""
        for session in self.sessions:
            prompts = [e for e in self.events[session["id"]] if e["kind"] == "user_prompt"]
            if (
                session["source_kind"] != "subagent"
                and prompts
                and f"[[fake:{scenario} " in str(prompts[0].get("text"))
            ):
                return session
        return None


def stored(box: Sandbox) -> Stored:
    """Ask our own program."""
    answer = box.ours_json("sessions", "--limit", "100") or {"sessions": []}
    rows = answer["sessions"]
    sessions = [row["session"] for row in rows]
    events: dict[int, list[dict[str, Any]]] = {}
    for session in sessions:
        told = box.ours_json("show", session["external_id"]) or {"events": []}
        events[session["id"]] = told["events"]
    outcomes = {row["session"]["id"]: str(row.get("outcome")) for row in rows}
    return Stored(sessions, events, outcomes)


def secret_places(folder: Path) -> list[str]:
    """Files that hold the planted secret, also inside compressed blocks."""
    zstd = import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    found: list[str] = []
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        texts = [data]
        at = data.find(b"\x28\xb5\x2f\xfd")
        while at >= 0:
            with contextlib.suppress(zstd.ZstdError):  # these four bytes began no block
                texts.append(zstd.ZstdDecompressor().decompress(data[at:]))
            at = data.find(b"\x28\xb5\x2f\xfd", at + 1)
        if any(secret.encode() in text for text in texts for secret in scripts.SECRETS):
            found.append(str(path.relative_to(folder)))
    return found
