"""A machine on which packages are installed."""

from __future__ import annotations

from tests.install.conftest import machine, same_umask

__all__ = ["machine", "same_umask"]
