"""A workspace for tests that sweep logs."""

from __future__ import annotations

from tests.ingest.conftest import space

__all__ = ["space"]
