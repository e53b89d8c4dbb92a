"""A pack between its lines in somebody's file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.recall.test_pack_sync import PACK

from session_memory.core.text.own_text import PACK_BEGIN, PACK_END
from session_memory.core.text.seal import Seal
from session_memory.errors import Refused
from session_memory.recall.pack_block import find_packs, put_pack, take_pack

SEAL, OTHER = Seal(b"ours"), Seal(b"theirs")


def with_pack(data: bytes, pack: str, seal: Seal = SEAL) -> bytes:
    """The file with our pack in it."""
    return put_pack(data, find_packs(data, seal).ours, pack, seal)


PLAIN = st.binary(max_size=200).filter(lambda data: b"session-memory" not in data)


@pytest.mark.rows("DIS-09")
@given(before=PLAIN, behind=PLAIN)
def test_bytes_outside_the_lines_never_change(before: bytes, behind: bytes) -> None:
    first = with_pack(before, PACK)
    assert first.startswith(before)
    known = find_packs(first, SEAL)
    assert known.ours is not None and not known.is_edited
    assert take_pack(first, known.ours) == before
    whole = first + behind
    changed = with_pack(whole, PACK.replace("A line", "Another line"))
    assert changed.startswith(before) and changed.endswith(behind)
    assert b"Another line" in changed
    assert b"A line" not in changed or b"A line" in before + behind


@pytest.mark.rows("DIS-09")
@given(before=PLAIN)
def test_a_pack_of_another_store_stays_to_the_byte(before: bytes) -> None:
    shared = with_pack(before, PACK, OTHER)
    both = with_pack(shared, PACK)
    assert both.startswith(shared) and len(find_packs(both, SEAL).others) == 1
    ours = find_packs(both, SEAL).ours
    assert ours is not None and take_pack(both, ours) == shared


@pytest.mark.parametrize("text", ["<session-memory-pack>\nopen", "</session-memory-pack>\n"])
def test_lines_that_do_not_pair_up_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="pair up"):
        with_pack(text.encode(), PACK)


@pytest.mark.rows("DIS-09")
def test_a_file_full_of_markers_is_read_in_one_pass() -> None:
    """Looking for the partner of each marker, this would take hours."""
    begin, end = f"{PACK_BEGIN} by=0a0b>\n".encode(), f"{PACK_END}\n".encode()
    with pytest.raises(Refused, match="do not pair up"):
        find_packs(begin * 50_000, SEAL)
    others = find_packs((begin + end) * 50_000, SEAL).others
    assert (others[0].lines, others[-1].lines) == ((1, 2), (99_999, 100_000))
