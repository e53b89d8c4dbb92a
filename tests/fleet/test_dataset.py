"""Where a fleet's export is, and what is wrong with the place."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from session_memory.errors import NotFound, SessionMemoryError, UsageError
from session_memory.fleet.dataset import Dataset


def test_a_folder_without_an_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no digests"):
        Dataset(str(tmp_path)).check("digests")
    with pytest.raises(UsageError, match="no place for Parquet"):
        Dataset("nonsense://there")


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """Storage that lets nobody in; where nobody listened, Arrow would try for six seconds."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(403)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.rows("FLT-10")
@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIAKEY:sw0rdf1sh@bucket/x?endpoint_override={refusing}&scheme=http",
        "s3://AKIAKEY:sw0rdf1sh@/nowhere",
        "nothing://AKIAKEY:sw0rdf1sh@bucket/x",
    ],
)
def test_an_error_does_not_repeat_the_key_in_an_address(address: str, refusing: str) -> None:
    with pytest.raises(SessionMemoryError) as raised:
        Dataset(address.format(refusing=refusing)).check("digests")
    assert "sw0rdf1sh" not in f"{raised.value.message} {raised.value.hint}"
    assert "://***@" in raised.value.message
