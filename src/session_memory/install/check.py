"""One thing the doctor looks at, and what it says of it."""

from __future__ import annotations

from typing import Literal

import msgspec

Result = Literal["pass", "warn", "fail"]


class Check(msgspec.Struct, frozen=True):
    """One thing looked at."""

    name: str
    result: Result
    detail: str
    cure: str | None = None
