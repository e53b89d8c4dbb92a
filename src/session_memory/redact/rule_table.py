"""All rules in order, the most specific first: on overlap the first rule in the table wins."""

from __future__ import annotations

import msgspec

from session_memory.redact.assigned_rules import ASSIGNED
from session_memory.redact.call_rules import CALLS
from session_memory.redact.cloud_rules import CLOUD
from session_memory.redact.context_rules import ADDRESSES, COMMANDS, HEADERS
from session_memory.redact.encoding_rules import ENCODINGS
from session_memory.redact.frozen_rules import FROZEN
from session_memory.redact.key_rules import KEYS
from session_memory.redact.named_value_rules import NAMED
from session_memory.redact.rule import Rule
from session_memory.redact.service_rules import MODELS, SERVICES
from session_memory.redact.structure_rules import STRUCTURES
from session_memory.redact.value_checks import is_unmasked

__all__ = ["RULES", "Rule"]

_PREFIXED = tuple(
    msgspec.structs.replace(rule, check=rule.check or is_unmasked)
    for rule in (*MODELS, *SERVICES, *CLOUD)
)
"""Documentation shows such prefixes too, with the rest masked."""

RULES: tuple[Rule, ...] = (
    *KEYS,
    *_PREFIXED,
    *FROZEN,
    *HEADERS,
    *ADDRESSES,
    *NAMED,
    *CALLS,
    *COMMANDS,
    *STRUCTURES,
    *ASSIGNED,
    *ENCODINGS,
)
