"""The whole table, the most specific rules first: they name a secret that several rules see."""

from __future__ import annotations

from session_memory.redact.named import CONTEXT, FOUNDING
from session_memory.redact.providers import PRIVATE_KEYS, PROVIDERS
from session_memory.redact.rule import Rule

__all__ = ["RULES", "Rule"]

RULES: tuple[Rule, ...] = (*PRIVATE_KEYS, *PROVIDERS, *FOUNDING, *CONTEXT)
