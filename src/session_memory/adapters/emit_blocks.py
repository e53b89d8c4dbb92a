"""Events of messages made of content blocks, in Anthropic's spelling or in the AI SDK's."""

from __future__ import annotations

from session_memory.adapters.claude.text import text_of
from session_memory.adapters.common import Json, as_list, as_object, as_text
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import compact_json


class BlockEmitter(EventEmitter):
    """Adds the blocks of messages to one session."""

    def emit_blocks(self, role: str, content: Json) -> None:
        """All blocks of one message; a text alone is one block."""
        for block in [content] if isinstance(content, str) else as_list(content):
            self._block(role, block)

    def user_text(self, text: str) -> None:
        """A text under the user's name, who need not have typed all of it."""
        self.prompt(text)

    def _block(self, role: str, block: Json) -> None:
        fields = as_object(block)
        kind = "text" if isinstance(block, str) else as_text(fields.get("type"))
        text = block if isinstance(block, str) else as_text(fields.get("text"))
        match kind.replace("_", "-"):
            case "text":
                self.user_text(text) if role == "user" else self.say(text)
            case "thinking" | "reasoning":
                self.think(as_text(fields.get("thinking")) or text)
            case "redacted-thinking" | "redacted-reasoning":
                self.ignore(kind)
            case "tool-use":
                name, given = as_text(fields.get("name")), fields.get("input")
                self.call(name, given, as_text(fields.get("id")))
            case "tool-call":
                name, given = as_text(fields.get("toolName")), fields.get("args")
                self.call(name, given, as_text(fields.get("toolCallId")))
            case "tool-result":
                self._result(fields, text)
            case "image" | "document" | "file":
                self.ignore("attachments")
            case _:
                self.unknown(f"block/{kind}", block)

    def _result(self, fields: dict[str, Json], text: str) -> None:
        stated = fields.get("result")
        if stated is None:
            text = text_of(fields.get("content")) or text
        else:
            text = stated if isinstance(stated, str) else compact_json(stated)
        call_id = as_text(fields.get("tool_use_id")) or as_text(fields.get("toolCallId"))
        failed = fields.get("is_error") is True or fields.get("isError") is True
        self.result(text, call_id, failed=failed)
