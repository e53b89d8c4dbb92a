"""Turns pages into HTML. Stored text is always text: escaped, and nothing in it reorders a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from session_memory.atomic_files import replace_file
from session_memory.core.digest import title_of
from session_memory.core.schema import Session
from session_memory.core.text.human_bytes import human_bytes
from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import safe
from session_memory.errors import SessionMemoryError
from session_memory.paths import private_dir
from session_memory.web.markdown import rendered, with_evidence
from session_memory.web.page import Page

_LONG_SECONDS = 100
_SHORT_CHARS = 140


def environment(compiled: Path | None = None) -> Environment:
    """Templates with escaping that cannot be forgotten.

    Compiling those of one page takes as long as making it, so `compiled` keeps them between runs.
    """
    templates = Environment(
        bytecode_cache=None if compiled is None else _Compiled(compiled),
        loader=PackageLoader("session_memory.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Callable[..., str]] = {
        "day": day,
        "moment": moment,
        "number": number,
        "dollars": dollars,
        "size": human_bytes,
        "name": name,
        "marked": marked,
        "markdown": rendered,
        "with_evidence": with_evidence,
        "clock": clock,
        "duration": duration,
        "short": short,
    }
    templates.filters.update(filters)
    return templates


class _Compiled(BytecodeCache):
    """Compiled templates in a private folder; one that cannot be read or written is no loss."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        damaged = (OSError, ValueError, EOFError, TypeError)
        with suppress(*damaged), (self._folder / bucket.key).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, SessionMemoryError):
            replace_file(private_dir(self._folder) / bucket.key, bucket.bytecode_to_string())


def render(templates: Environment, page: Page, shared: dict[str, Any]) -> str:
    """The page as HTML; `shared` is what every page shows."""
    return templates.get_template(page.template).render(shared | page.values)


def _plain(value: object) -> object:
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def name(session: Session) -> str:
    """What a session is called: its title, what was asked for, or else its id."""
    return title_of(session) or session.label or session.external_id


def marked(text: str, words: Iterable[str], ending: str = "") -> Markup:
    """Text with these words marked, in whatever case; `ending` is what may follow each."""
    longest_first = sorted(filter(None, words), key=len, reverse=True)
    if not longest_first:
        return escape(safe(text))
    any_word = re.compile(f"((?:{'|'.join(map(re.escape, longest_first))}){ending})", re.IGNORECASE)
    return Markup("").join(
        Markup("<mark>{}</mark>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(any_word.split(safe(text)))
    )


def day(at: int | None) -> str:
    """2026-03-01, or a dash if the log has no date."""
    return "-" if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d")


def moment(at: int | None) -> str:
    """2026-03-01 10:20, or a dash."""
    return "-" if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def clock(at: int | None) -> str:
    """10:20:05, or a dash."""
    return "-" if at is None else datetime.fromtimestamp(at / 1000, UTC).strftime("%H:%M:%S")


def duration(seconds: float) -> str:
    """12.5 s, or 3 min 20 s."""
    if seconds < _LONG_SECONDS:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < _LONG_SECONDS else f"{minutes // 60} h"


def short(text: str) -> str:
    """One short line."""
    return excerpt(text, _SHORT_CHARS)


def number(value: float | None) -> str:
    """With thousands separators."""
    return "-" if value is None else f"{value:,}"


def dollars(value: float | None) -> str:
    """With two places, or a dash where no price is known."""
    return "-" if value is None else f"${value:,.2f}"
