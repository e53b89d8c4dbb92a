"""What a request is refused with: status, code and the words for the user."""

from __future__ import annotations

from session_memory.core.sharing.wire import Failure, FailureDetail

STATUS = {
    "bad_request": 400,
    "token_missing": 401,
    "token_unknown": 401,
    "token_expired": 401,
    "token_revoked": 401,
    "invite_used": 401,
    "project_not_allowed": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "not_shared": 409,
    "too_large": 413,
    "bad_encoding": 415,
    "wire_version": 426,
    "slow_down": 429,
    "unavailable": 503,
}


class RequestError(Exception):
    """Ends a request; nothing was changed."""

    def __init__(self, code: str, message: str, hint: str = "", retry_after: int | None = None):
        super().__init__(message)
        self.code = code
        self.status = STATUS[code]
        self.failure = Failure(FailureDetail(code, message, hint))
        self.retry_after = retry_after


def no_such_project() -> RequestError:
    """The same error whether the project belongs to another team or does not exist."""
    return RequestError(
        "project_not_allowed",
        "this device may not use that project",
        "ask who runs the hub for an invite to it, or share it first",
    )
