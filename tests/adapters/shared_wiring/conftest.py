"""A machine that `init` can wire."""

from __future__ import annotations

from tests.install.conftest import machine

__all__ = ["machine"]
