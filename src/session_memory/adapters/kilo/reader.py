"""Reads tasks in Cline's format, from this agent's folder."""

from __future__ import annotations

from session_memory.adapters.cline.reader import task_adapter
from session_memory.adapters.kilo import AGENT

ADAPTER = task_adapter(AGENT)
