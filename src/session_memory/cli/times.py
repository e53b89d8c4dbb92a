"""Moments on the command line: a date, a time, or a span back from now."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import click

_SPAN = re.compile(r"(\d{1,6})\s*([smhdw])")
_UNITS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


class Moment(click.ParamType[str]):
    """`2026-11-01`, `2026-11-01T12:00:00Z`, or `7d` (also s, m, h, w) before now; as given."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse what `to_ms` would not understand."""
        if to_ms(str(value), 0) is None:
            self.fail(f"{value!r} is not a date, time or span such as 7d", param, ctx)
        return str(value)


def to_ms(text: str | None, now_ms: int) -> int | None:
    """Milliseconds of a moment; a time without zone is UTC, as in every output."""
    if text is None:
        return None
    if span := _SPAN.fullmatch(text.strip()):
        return now_ms - int(span[1]) * _UNITS[span[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
