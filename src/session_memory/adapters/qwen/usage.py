"""What Qwen Code's responses cost, each once: telemetry and answers both state most of them."""

from __future__ import annotations

from session_memory.adapters.common import Json, as_list, as_object, as_text
from session_memory.adapters.gemini.usage import Tokens, tokens_of, usage_of
from session_memory.core.schema import Usage

Record = dict[str, Json]

_ANSWER = (
    "promptTokenCount",
    "candidatesTokenCount",
    "cachedContentTokenCount",
    "thoughtsTokenCount",
    "toolUsePromptTokenCount",
    "totalTokenCount",
)
_TELEMETRY = (
    "input_token_count",
    "output_token_count",
    "cached_content_token_count",
    "thoughts_token_count",
    "tool_token_count",
    "total_token_count",
)
WAITING = 8
"""How many responses wait for their answer: it follows at once, or never comes."""


class PendingResponses:
    """Responses known from telemetry whose answers were not read yet; kept from block to block.

    Only telemetry knows what a compression or a title cost, only older builds have no telemetry.
    An answer with the figures of a waiting response is that response.
    """

    def __init__(self, waiting: Json) -> None:
        rows = [as_list(row) for row in as_list(waiting)]
        self._waiting = [(as_text(row[0]), tuple(row[1:])) for row in rows if len(row) == 5]

    def state(self) -> list[list[Json]]:
        """What the next block has to know."""
        return [[key, *figures] for key, figures in self._waiting]

    def reported(self, record: Record, at: int | None) -> Usage | None:
        """The usage behind a telemetry record, unless a sub-agent's own log states it."""
        event = as_object(as_object(record.get("systemPayload")).get("uiEvent"))
        name = as_text(event.get("event.name"))
        key = as_text(event.get("response_id")) or as_text(record.get("uuid"))
        tokens = tokens_of(event, _TELEMETRY)
        if not name.endswith(".api_response") or event.get("subagent_id"):
            return None
        if not (tokens.spent() and key):
            return None
        self._waiting = [*self._waiting, (key, _figures(tokens))][-WAITING:]
        return usage_of(key, as_text(event.get("model")), at, tokens, sidechain=False)

    def answered(self, record: Record, at: int | None, model: str) -> tuple[str, Usage | None]:
        """(usage key, usage if it was not counted yet) of an answer; no key where it has none."""
        tokens = tokens_of(as_object(record.get("usageMetadata")), _ANSWER)
        uuid = as_text(record.get("uuid"))
        if not (tokens.spent() and uuid):
            return "", None
        for place, (key, figures) in enumerate(self._waiting):
            if figures == _figures(tokens):
                del self._waiting[place]
                return key, None
        sidechain = record.get("isSidechain") is True
        return uuid, usage_of(uuid, model, at, tokens, sidechain=sidechain)


def _figures(tokens: Tokens) -> tuple[int, ...]:
    return (tokens.input, tokens.output, tokens.cached, tokens.total)
