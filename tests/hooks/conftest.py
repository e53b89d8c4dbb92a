"""A hook with a table of guards."""

from __future__ import annotations

from tests.guards.conftest import hook

__all__ = ["hook"]
