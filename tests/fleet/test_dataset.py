"""Where a fleet's export is, and what is wrong with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.errors import NotFound, SessionMemoryError, UsageError
from session_memory.fleet.dataset import Dataset


def test_a_folder_without_an_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no digests"):
        Dataset(str(tmp_path)).check("digests")
    with pytest.raises(UsageError, match="no place for Parquet"):
        Dataset("nonsense://there")


@pytest.mark.rows("FLT-10")
@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIAKEY:sw0rdf1sh@bucket/x?endpoint_override=127.0.0.1:9&scheme=http",
        "s3://AKIAKEY:sw0rdf1sh@/nowhere",
        "nothing://AKIAKEY:sw0rdf1sh@bucket/x",
    ],
)
def test_an_error_does_not_repeat_the_key_in_an_address(address: str) -> None:
    with pytest.raises(SessionMemoryError) as raised:
        Dataset(address).check("digests")
    assert "sw0rdf1sh" not in f"{raised.value.message} {raised.value.hint}"
    assert "://***@" in raised.value.message
