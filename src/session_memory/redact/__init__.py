"""Secrets become placeholders before anything is stored, indexed, prompted or printed."""

from session_memory.redact.engine import Hit, Redactor
from session_memory.redact.placeholder import render
from session_memory.redact.private import drop_private
from session_memory.redact.rule_table import RULES, Rule
from session_memory.redact.user_rules import load_user_rules, make_redactor

__all__ = [
    "RULES",
    "Hit",
    "Redactor",
    "Rule",
    "drop_private",
    "load_user_rules",
    "make_redactor",
    "render",
]
