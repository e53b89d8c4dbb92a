"""Several servers and sweeps share a store; counted by answers, not by seconds."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.mcp.crowd import Seen, crowd


@pytest.mark.rows("RUN-08")
def test_six_servers_and_two_sweeps_share_a_store(tmp_path: Path) -> None:
    def goes_on(seen: Seen) -> bool:
        return seen.answers < 60 or seen.sweeps < 3

    seen = crowd(tmp_path, goes_on)
    assert seen.errors == []
    assert seen.answers >= 60
    assert seen.sweeps >= 3
    assert seen.most_servers >= 5
    assert seen.warned is True
