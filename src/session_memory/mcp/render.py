"""A tool's answer as a result: complete in structuredContent, and in the text what a client needs.

Some clients show their model the structured answer only, some the text only (see callers.py), so
no fact may stand in the text alone, and where only text is shown all of them stand there.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from session_memory.core.text.safe_text import fence, one_line
from session_memory.mcp.breadcrumbs import breadcrumbs
from session_memory.mcp.jsonrpc import to_text
from session_memory.mcp.size_limit import fit
from session_memory.mcp.tools import ResponseMode

Json = dict[str, Any]
COMPLETE = "The complete answer is in structuredContent."
PRODUCT = "session-memory"


def structured(answer: object) -> Json:
    """An object at the root, whatever the answer is (DIE-02)."""
    plain: object = msgspec.json.decode(msgspec.json.encode(answer))
    if isinstance(plain, dict):
        return fit(cast("Json", plain))
    if isinstance(plain, list):
        items = list(cast("list[object]", plain))
        return fit({"items": items, "count": len(items)})
    return {"value": plain}


def result(tool: str, answer: Json, mode: ResponseMode, marker: str) -> Json:
    """The result of a call that worked; `marker` is random for each."""
    return _envelope(_text(tool, answer, mode, marker), answer, failed=False)


def _text(tool: str, answer: Json, mode: ResponseMode, marker: str) -> str:
    if mode == "verbose":
        return to_text(answer)
    lines = breadcrumbs(tool, answer)
    if mode == "balanced":
        lines.append(COMPLETE)
    elif mode == "complete" and not answer.get("not_modified"):
        # JSON holds no raw line break, so stored text can neither end the fence nor look like one.
        lines.append(fence(to_text(answer), marker))
    return "\n".join(lines)


def refusal(message: str, hint: str | None, mode: ResponseMode) -> Json:
    """The result of a call that failed: the reason stands in both places, alone in both."""
    told = one_line(message)
    answer: Json = {"error": told}
    if hint:
        answer["hint"] = one_line(hint)
    text = f"{PRODUCT} error: {told}" + (f" ({one_line(hint)})" if hint else "")
    return _envelope(to_text(answer) if mode == "verbose" else text, answer, failed=True)


def _envelope(text: str, answer: Json, *, failed: bool) -> Json:
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": answer,
        "isError": failed,
    }
