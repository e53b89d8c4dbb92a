"""A store for questions about scopes."""

from __future__ import annotations

from tests.recall.conftest import memory

__all__ = ["memory"]
