"""The few plain keys of Copilot's workspace.yaml; anything more in it is left alone."""

from __future__ import annotations

import json
import re

_PAIR = re.compile(r"([A-Za-z_][\w-]*):(?:[ \t]+(.*))?$")
_BLOCK = re.compile(r"([|>])[+-]?\d?$")


def read_pairs(text: str) -> dict[str, str]:
    """Top-level keys with their texts: plain, quoted, or as an indented block."""
    pairs: dict[str, str] = {}
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _PAIR.match(line.rstrip())
        if match is None:
            continue
        value = (match[2] or "").strip()
        block = _BLOCK.match(value)
        pairs[match[1]] = _indented(lines, number + 1, block[1]) if block else _scalar(value)
    return pairs


def _scalar(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            decoded = json.loads(value)
        except ValueError:
            return value[1:-1]
        return decoded if isinstance(decoded, str) else value[1:-1]
    return "" if value in ("null", "~") else value


def _indented(lines: list[str], start: int, style: str) -> str:
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith((" ", "\t"))):
        end += 1
    taken = [line.strip() for line in lines[start:end]]
    return ("\n" if style == "|" else " ").join(taken).strip()
