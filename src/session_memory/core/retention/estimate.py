"""What a session costs on disk, as far as it cannot be measured."""

from __future__ import annotations

EVENT_ROW_BYTES = 165
"""Estimated size of one event: its row, its keys and its share of the row indexes."""
INDEX_SHARE = (3, 5)
"""Estimated size of the full-text indexes as a fraction of the text given to them. Both figures
were measured with SQLite's dbstat: 141 to 164 bytes a row, 0.58 to 0.61 of the indexed text."""


def index_estimate(text_length: int) -> int:
    """What indexing one text adds; rounded per text, so that shares and totals agree."""
    return text_length * INDEX_SHARE[0] // INDEX_SHARE[1]


def estimate_raw_bytes(segment_bytes: int, events: int, index_bytes: int) -> int:
    """What a session costs on disk: its segments exactly, its rows and index by estimate."""
    return segment_bytes + events * EVENT_ROW_BYTES + index_bytes
