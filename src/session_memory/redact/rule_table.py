"""The whole table, the most specific rules first: they name a secret that several rules see."""

from __future__ import annotations

from session_memory.redact.cloud_rules import CLOUD
from session_memory.redact.context_rules import ADDRESSES, CALLS, COMMANDS, HEADERS
from session_memory.redact.key_rules import BLOCKS
from session_memory.redact.named_value_rules import NAMED
from session_memory.redact.original_rules import FOUNDING
from session_memory.redact.rule import Rule
from session_memory.redact.service_rules import MODELS, SERVICES

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
