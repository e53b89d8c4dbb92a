"""What a setting may be: each kind of value, what it allows, and how it is read from text."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal, cast, get_args

import msgspec

from session_memory.settings.units import LARGEST, parse_interval, parse_size

MOST = 1_000_000
"""No count and no amount of money needs more."""
LARGEST_COUNT = 1_000_000_000_000


class UserRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of redaction that the user adds."""

    id: str
    pattern: str
    keywords: tuple[str, ...] = ()


Value = str | int | float | bool | tuple[str, ...] | tuple[UserRule, ...] | None
Kind = Literal[
    "flag",
    "path",
    "paths",
    "name",
    "list",
    "size",
    "cap",
    "days",
    "rules",
    "file",
    "count",
    "tokens",
    "money",
    "share",
    "text",
    "provider",
    "interval",
    "scope",
    "level",
]
RecallScope = Literal["project", "all"]
SCOPES: tuple[RecallScope, ...] = get_args(RecallScope)
TeamLevel = Literal["none", "numbers", "lessons", "sessions"]
LEVELS: tuple[TeamLevel, ...] = get_args(TeamLevel)
"""What of a project may leave for a team, the least first; each holds those before it."""
PROVIDERS = ("none", "claude_cli", "codex_cli", "anthropic", "openai", "agent_sdk")
"""Ways to a language model; the first means no model at all."""
ALLOWED: dict[Kind, str] = {
    "flag": "true or false",
    "path": 'an absolute directory, one below "~/", or ""',
    "paths": 'a list of directories, each absolute or below "~/"',
    "name": "a text of 1 to 100 printable characters",
    "list": "a list of texts",
    "size": 'a number of bytes above 0, or a size such as "16 MiB"',
    "cap": 'a number of bytes above 0, a size such as "4 GiB", or "unlimited"',
    "days": 'a whole number of days from 1 to 1000000, or "unlimited"',
    "rules": "tables with the texts `id` and `pattern` and a list of texts `keywords`",
    "file": 'an absolute path of a file, one below "~/", or ""',
    "count": "a whole number from 1 to 1000000",
    "tokens": "a whole number of tokens from 1 to 1000000000000",
    "money": "a number of US dollars from 0 to 1000000",
    "share": "a number from 0 to 1",
    "text": "a text of at most 500 printable characters",
    "provider": "one of " + ", ".join(PROVIDERS),
    "interval": "5m to 1d, a part of an hour or a day, such as 10m, 30m, 1h, 6h or 1d",
    "scope": "one of " + ", ".join(SCOPES),
    "level": "one of " + ", ".join(LEVELS),
}
TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


class InvalidValueError(Exception):
    """The value is not of the key's kind; the caller knows where it was set."""


def check(kind: Kind, value: object) -> Value:
    """The value in a file, checked and typed."""
    match kind, value:
        case "flag", bool():
            return value
        case (("list" | "paths"), list()):
            items = cast("list[object]", value)
            texts = tuple(item for item in items if isinstance(item, str) and item)
            whole = kind == "list" or all(_is_complete(text) for text in texts)
            if whole and len(texts) == len(items):
                return texts
        case (("path" | "file"), str()) if not value or _is_complete(value):
            return value
        case "rules", list():
            with suppress(msgspec.ValidationError):
                return msgspec.convert(value, tuple[UserRule, ...])
        case "name", str() if len(value) <= 100 and value.isprintable() and value.strip():
            return value
        case (("cap" | "days"), "unlimited"):
            return None
        case (("days" | "count"), int()) if not isinstance(value, bool) and 1 <= value <= MOST:
            return value
        case "tokens", int() if not isinstance(value, bool) and 1 <= value <= LARGEST_COUNT:
            return value
        case "text", str() if len(value) <= 500 and (not value or value.isprintable()):
            return value
        case "scope", str() if value in SCOPES:
            return value
        case "level", str() if value in LEVELS:
            return value
        case "provider", str() if value in PROVIDERS:
            return value
        case "interval", str() if parse_interval(value) is not None:
            return value
        case "money", (int() | float()) if not isinstance(value, bool) and 0 <= value <= MOST:
            return float(value)
        case "share", (int() | float()) if not isinstance(value, bool) and 0 <= value <= 1:
            return float(value)
        case (("size" | "cap"), int()) if not isinstance(value, bool) and 0 < value <= LARGEST:
            return value
        case (("size" | "cap"), str()):
            size = parse_size(value)
            if size is not None:
                return size
        case _:
            pass
    raise InvalidValueError


def from_text(kind: Kind, text: str) -> object:
    """The value of a variable or flag, as a file would state it."""
    if kind == "flag":
        word = text.strip().lower()
        return word in TRUE if word in TRUE + FALSE else text
    if kind in ("list", "paths"):
        return [part for part in text.split(os.pathsep) if part]
    if kind == "rules":
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(text)
    if kind in ("days", "count", "tokens") and text.strip().isdecimal() and len(text) < 20:
        return int(text)
    if kind in ("money", "share"):
        with suppress(ValueError):
            return number if math.isfinite(number := float(text)) else text
    return text


def _is_complete(path: str) -> bool:
    """Whether a path means the same from every working directory."""
    return path == "~" or path.startswith("~/") or Path(path).is_absolute()
