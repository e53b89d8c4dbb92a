"""The whole table, the most specific rules first: they name a secret that several rules see."""

from __future__ import annotations

from session_memory.redact.blocks import BLOCKS
from session_memory.redact.cloud import CLOUD
from session_memory.redact.context import ADDRESSES, CALLS, COMMANDS, HEADERS
from session_memory.redact.first_rules import FOUNDING
from session_memory.redact.named_values import NAMED
from session_memory.redact.rule import Rule
from session_memory.redact.services import MODELS, SERVICES

__all__ = ["RULES", "Rule"]

RULES: tuple[Rule, ...] = (
    *BLOCKS,
    *MODELS,
    *SERVICES,
    *CLOUD,
    *FOUNDING,
    *HEADERS,
    *ADDRESSES,
    *NAMED,
    *CALLS,
    *COMMANDS,
)
