"""One memory for every coding agent on the machine."""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
"""The one place that states it; the build reads it here, so that no command has to look it up."""
