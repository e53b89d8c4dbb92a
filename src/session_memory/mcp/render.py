"""A tool's answer as an MCP result: complete in structuredContent, and as text for the client.

Some clients show their model only the structured answer, some only the text (see callers.py). So
the text never holds a fact that the structure lacks, and where only text is shown it holds all.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from session_memory.core.text.safe_text import QUOTED, fence, one_line, safe
from session_memory.mcp.breadcrumbs import NOTICE, breadcrumbs
from session_memory.mcp.jsonrpc import to_text
from session_memory.mcp.left_out_fields import without_left_out
from session_memory.mcp.size_limit import fit
from session_memory.mcp.tools import ResponseMode

Json = dict[str, Any]
COMPLETE = "The complete answer is in structuredContent."
PRODUCT = "session-memory"


def structured(answer: object, tool: str | None = None) -> Json:
    """An answer as a JSON object, whatever it is (DIE-02); that of a `tool` without repeats."""
    plain = _safe(msgspec.json.decode(msgspec.json.encode(answer)))
    if isinstance(plain, dict):
        return fit(without_left_out(tool, cast("Json", plain)) if tool else cast("Json", plain))
    if isinstance(plain, list):
        items = list(cast("list[object]", plain))
        return fit({"items": items, "count": len(items)})
    return {"value": plain}


def result(tool: str, answer: Json, mode: ResponseMode, marker: str) -> Json:
    """The result of a successful call; `marker` is random for each call.

    Structure and text both say that they quote: many clients show their model only one of them.
    """
    quotes = not answer.get("not_modified")
    labelled = {NOTICE: f"{QUOTED}.", **answer} if quotes else answer
    return _envelope(_text(tool, labelled, mode, marker), labelled, failed=False)


def _safe(value: object) -> object:
    """A value with every text in it made safe, names of fields too: some are names of tools."""
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, dict):
        return {safe(name): _safe(field) for name, field in cast("Json", value).items()}
    if isinstance(value, list):
        return [_safe(item) for item in cast("list[object]", value)]
    return value


def _text(tool: str, answer: Json, mode: ResponseMode, marker: str) -> str:
    if mode == "verbose":
        return to_text(answer)
    lines = breadcrumbs(tool, answer)
    if mode == "balanced":
        lines.append(COMPLETE)
    elif mode == "complete" and not answer.get("not_modified"):
        # JSON has no raw line breaks, so stored text cannot end the fence.
        lines.append(fence(to_text(answer), marker))
    return "\n".join(lines)


def refusal(message: str, hint: str | None, mode: ResponseMode) -> Json:
    """The result of a failed call: the reason, in structure and text."""
    error = one_line(message)
    answer: Json = {"error": error}
    if hint:
        answer["hint"] = one_line(hint)
    text = f"{PRODUCT} error: {error}" + (f" ({one_line(hint)})" if hint else "")
    return _envelope(to_text(answer) if mode == "verbose" else text, answer, failed=True)


def _envelope(text: str, answer: Json, *, failed: bool) -> Json:
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": answer,
        "isError": failed,
    }
