"""A desk for tests that run the program."""

from __future__ import annotations

from tests.distribute.conftest import desk

__all__ = ["desk"]
