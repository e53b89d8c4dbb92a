"""Which files a model is shown at once: the newest that fit, in parts that fit into its window."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from session_memory.core.text.safe_text import fence
from session_memory.memory.layout import SUMMARY
from session_memory.memory.traces import thread_of

Files = dict[str, str]
"""Texts by their path inside a memory."""
_FENCE_BYTES = 200
"""Approximate size of the marks around one file."""


def fenced(inputs: Mapping[str, str]) -> str:
    """All files as one text, in order; nothing in a file can end its fence."""
    mark = secrets.token_hex(8)
    return "\n\n".join(fence(inputs[name], mark, name) for name in in_order(inputs))


def in_order(inputs: Mapping[str, str]) -> list[str]:
    """The names of the files: the summary first, then the traces as it lists them, newest first."""
    summary = inputs.get(SUMMARY, "")

    def place(name: str) -> tuple[bool, int, str]:
        listed = summary.find(f"`{thread_of(name.rpartition('/')[2])}`")
        return name != SUMMARY, listed if listed >= 0 else len(summary), name

    return sorted(inputs, key=place)


def choose(inputs: Mapping[str, str], total: int) -> tuple[Files, int]:
    """The newest files that fit into so many bytes, at least one trace; and how many are left out.

    Half a trace can mislead, so that the last one that does not fit is left out whole.
    """
    chosen: Files = {}
    used = 0
    for name in in_order(inputs):
        used += _size(inputs[name])
        if used > total and any(other != SUMMARY for other in chosen):
            break
        chosen[name] = inputs[name]
    return chosen, len(inputs) - len(chosen)


def split(inputs: Mapping[str, str], limit: int) -> list[Files]:
    """The files in as few parts as their order allows, each within `limit` bytes.

    A single file that is larger is a part of its own, and is cut when it is shown.
    """
    parts: list[Files] = [{}]
    used = 0
    for name in in_order(inputs):
        size = _size(inputs[name])
        if parts[-1] and used + size > limit:
            parts.append({})
            used = 0
        parts[-1][name] = inputs[name]
        used += size
    return parts


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass")) + _FENCE_BYTES
