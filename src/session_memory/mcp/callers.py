"""Who is asking: the client by name, its own session id, and the directory it works in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from session_memory.core.text.safe_text import one_line
from session_memory.mcp.tools import ResponseMode

Json = dict[str, Any]

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"

_SHOWS_STRUCTURED = ("claude", "codex", "grok", "copilot", "qwen")
"""Their models see structuredContent; to repeat it in the text would cost the window twice."""
_WANTS_JSON = "gemini"
"""Its model sees the text only, and reads it as JSON."""
_SESSION_VARIABLES = (
    "CLAUDE_CODE_SESSION_ID",
    "GROK_SESSION_ID",
    "QWEN_CODE_SESSION_ID",
    "COPILOT_AGENT_SESSION_ID",
)
_CODEX_TURN = "x-codex-turn-metadata"
_NAME_CHARS = 80


class Caller(msgspec.Struct, frozen=True):
    """What is known of who asks; all of it is the client's own word."""

    client: str | None
    external_session_id: str | None
    directory: str


def client_name(params: Json) -> str | None:
    """The client's name from `initialize`, or from the metadata of a later protocol."""
    told = params.get("clientInfo") or _meta(params).get(CLIENT_INFO)
    name = cast("Json", told).get("name") if isinstance(told, dict) else None
    return one_line(name)[:_NAME_CHARS] if isinstance(name, str) and name else None


def protocol_version(params: Json) -> str | None:
    """The version one request is made in; only the latest protocol says so each time."""
    version = _meta(params).get(PROTOCOL_VERSION)
    return version if isinstance(version, str) else None


def default_mode(client: str | None) -> ResponseMode:
    """What a client needs in its text for the model to see everything; when in doubt, all."""
    name = (client or "").casefold()
    if _WANTS_JSON in name:
        return "verbose"
    return "compact" if any(one in name for one in _SHOWS_STRUCTURED) else "complete"


def caller(client: str | None, params: Json, environ: Mapping[str, str], cwd: str) -> Caller:
    """Codex tells with every call and scrubs the environment; the others set variables."""
    meta = _meta(params)
    turn: object = meta.get(_CODEX_TURN)
    turned = cast("Json", turn) if isinstance(turn, dict) else {}
    told: object = meta.get("sessionId") or turned.get("session_id")
    named = [environ[name] for name in _SESSION_VARIABLES if environ.get(name)]
    session = told if isinstance(told, str) else (named[0] if named else None)
    place = _workspace(turned, cwd) or environ.get("CLAUDE_PROJECT_DIR") or cwd
    return Caller(client, one_line(session)[:_NAME_CHARS] if session else None, place)


def _workspace(turn: Json, cwd: str) -> str | None:
    """The workspace Codex names; with several, the directory the server was started in decides."""
    spaces: object = turn.get("workspaces")
    named = list(cast("Json", spaces)) if isinstance(spaces, dict) else []
    return named[0] if len(named) == 1 and named[0] != cwd else None


def _meta(params: Json) -> Json:
    meta: object = params.get("_meta")
    return cast("Json", meta) if isinstance(meta, dict) else {}
