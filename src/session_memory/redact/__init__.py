"""Secrets become placeholders before anything is stored, indexed, prompted or printed."""

from session_memory.redact.engine import Hit, Redactor
from session_memory.redact.placeholder import render
from session_memory.redact.rules import RULES, Rule

__all__ = ["RULES", "Hit", "Redactor", "Rule", "render"]
