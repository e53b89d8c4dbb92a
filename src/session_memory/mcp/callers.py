"""Who is asking: the client by name, its own session id, and the directory it works in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from session_memory.adapters.agent import Agent
from session_memory.adapters.registry import agents, built_in
from session_memory.core.text.safe_text import one_line
from session_memory.mcp.tools import ResponseMode

Json = dict[str, Any]

CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"

_MODES: dict[str, ResponseMode] = {"structured": "compact", "json": "verbose", "text": "complete"}
"""By what the agent's model sees: repeating structured content as text would cost the window twice;
text that is read as JSON has to hold everything, and so has plain text."""
_CODEX_TURN = "x-codex-turn-metadata"
_NAME_CHARS = 80


class Caller(msgspec.Struct, frozen=True):
    """What is known about the caller; all of it is claimed by the client."""

    client: str | None
    external_session_id: str | None
    directory: str
    flavor: str | None = None
    """The agent, by the name of its client."""


def client_name(params: Json) -> str | None:
    """The client's name from `initialize`, or from the metadata of a later protocol."""
    info = params.get("clientInfo") or _meta(params).get(CLIENT_INFO)
    name = cast("Json", info).get("name") if isinstance(info, dict) else None
    return one_line(name)[:_NAME_CHARS] if isinstance(name, str) and name else None


def protocol_version(params: Json) -> str | None:
    """The protocol version of a request; only the latest protocol names it in each."""
    version = _meta(params).get(PROTOCOL_VERSION)
    return version if isinstance(version, str) else None


def default_mode(client: str | None) -> ResponseMode:
    """What a client needs as text for its model to see everything; when in doubt, all."""
    agent = agent_of(client)
    return "complete" if agent is None or agent.mcp is None else _MODES[agent.mcp.model_sees]


def agent_of(client: str | None) -> Agent | None:
    """The agent that a client's name stands for."""
    name = (client or "").casefold()
    for registry in (built_in, agents):  # built-in first: plug-ins take time to look up
        fitting = [
            (len(agent.mcp.client_name), flavor)  # "claude-ai" is Claude Desktop, not Claude Code
            for flavor, agent in registry().items()
            if agent.mcp is not None and agent.mcp.client_name in name
        ]
        if fitting:
            return registry()[max(fitting)[1]]
    return None


def _session_variables() -> tuple[str, ...]:
    """Variables in which agents give the server the id of their session."""
    variables = (agent.mcp.session_variable for agent in agents().values() if agent.mcp)
    return tuple(filter(None, variables))


def caller(client: str | None, params: Json, environ: Mapping[str, str], cwd: str) -> Caller:
    """The caller; Codex names session and workspace in each call, others set variables."""
    meta = _meta(params)
    metadata: object = meta.get(_CODEX_TURN)
    turn = cast("Json", metadata) if isinstance(metadata, dict) else {}
    session: object = meta.get("sessionId") or turn.get("session_id")
    if not isinstance(session, str):
        session = next(filter(None, map(environ.get, _session_variables())), None)
    directory = _workspace(turn, cwd) or environ.get("CLAUDE_PROJECT_DIR") or cwd
    native_id = one_line(session)[:_NAME_CHARS] if session else None
    agent = agent_of(client)
    return Caller(client, native_id, directory, agent.name if agent else None)


def _workspace(turn: Json, cwd: str) -> str | None:
    """The workspace Codex names; with several, the directory the server was started in decides."""
    workspaces: object = turn.get("workspaces")
    paths = list(cast("Json", workspaces)) if isinstance(workspaces, dict) else []
    return paths[0] if len(paths) == 1 and paths[0] != cwd else None


def _meta(params: Json) -> Json:
    meta: object = params.get("_meta")
    return cast("Json", meta) if isinstance(meta, dict) else {}
