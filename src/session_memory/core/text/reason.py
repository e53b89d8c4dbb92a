"""An error as one short line for a report."""

from __future__ import annotations

from session_memory.errors import SessionMemoryError
from session_memory.file_names import name_to_text

REASON_LENGTH = 300


def reason_of(error: Exception) -> str:
    """The error in one short line; of our own errors and the system's, only their message."""
    if isinstance(error, OSError):
        message = error.strerror or str(error)
    elif isinstance(error, SessionMemoryError):
        message = error.message
    else:
        message = f"{type(error).__name__}: {error}"
    message = name_to_text(" ".join(message.split()))
    return message if len(message) <= REASON_LENGTH else message[: REASON_LENGTH - 3] + "..."
