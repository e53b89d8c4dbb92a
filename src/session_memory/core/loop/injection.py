"""What a session can be given at its start, as values: sections, each whole or not at all.

Memory, journal and the learning loop make sections; the worker puts them into pages; the hook
prints a page.
"""

from __future__ import annotations

import msgspec

MAX_CHARS = 9_500
"""Hosts park longer outputs in a file, where the model does not see them."""


class Section(msgspec.Struct, frozen=True):
    """One part of a page; `trial` names the pattern under trial it stands for."""

    id: str
    text: str
    trial: str | None = None


def fit(sections: tuple[Section, ...], limit: int = MAX_CHARS) -> tuple[Section, ...]:
    """The first sections that fit together, each whole: half a memory would mislead."""
    fitting: list[Section] = []
    used = 0
    for section in sections:
        used += len(section.text) + 1
        if used > limit:
            break
        fitting.append(section)
    return tuple(fitting)
