"""Access to the page: the first browser that opens the link that the command printed."""

from __future__ import annotations

import hmac
import secrets

COOKIE = "session_memory"


class Access:
    """The link's key, and the cookie and form token that the browser gets for it."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(24)
        self._unused = True
        self._cookie = secrets.token_urlsafe(32)
        self.form_token = secrets.token_urlsafe(32)
        """In every form: a page of another site cannot know it."""

    def exchange(self, key: str) -> str | None:
        """The cookie for the link's key; None for a wrong key, and for one used before."""
        if not self._unused or not _is_same(key, self.key):
            return None
        self._unused = False
        return self._cookie

    def has_cookie(self, value: str) -> bool:
        """Whether a browser sent the cookie that was handed out."""
        return not self._unused and _is_same(value, self._cookie)

    def may_post(self, form_token: str) -> bool:
        """Whether a form came from a page of ours."""
        return _is_same(form_token, self.form_token)


def _is_same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
