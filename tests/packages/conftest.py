"""A machine on which packages are installed."""

from __future__ import annotations

from tests.install.conftest import machine

__all__ = ["machine"]
