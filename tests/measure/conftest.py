"""A user whose agents have guards."""

from __future__ import annotations

from tests.guards.conftest import user

__all__ = ["user"]
