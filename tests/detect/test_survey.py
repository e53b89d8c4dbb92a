"""The table that says which keys came more than once."""

from __future__ import annotations

from session_memory.detect.survey import KeyCounts


def test_neighbours_in_a_byte_are_counted_apart() -> None:
    counts = KeyCounts()
    counts.add([4, 5, 5, 7, 7, 7, 7, 7])
    assert [key for key in range(10) if counts.recurs(key)] == [5, 7]
    counts.add([4])
    assert [key for key in range(10) if counts.recurs(key)] == [4, 5, 7]
    again = KeyCounts.from_bytes(counts.to_bytes())
    assert [key for key in range(10) if again.recurs(key)] == [4, 5, 7]
    assert [key for key in range(10) if KeyCounts.of_recurring([6, 8, 8]).recurs(key)] == [6, 8]


def test_a_table_is_small_enough_for_the_process_of_the_page() -> None:
    assert len(KeyCounts().to_bytes()) == 4 << 20


def test_a_table_is_crowded_when_a_tenth_of_it_is_taken() -> None:
    counts = KeyCounts()
    counts.add(range(0, 1_600_000, 4))
    assert not counts.is_crowded
    counts.add(range(1_600_000, 1_700_000, 4))
    assert counts.is_crowded
