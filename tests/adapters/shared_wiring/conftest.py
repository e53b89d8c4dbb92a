"""A machine that `init` can wire."""

from __future__ import annotations

from tests.install.conftest import machine, same_umask

__all__ = ["machine", "same_umask"]
