"""Parquet in object storage, as `s3://` addresses name it, on a real S3 server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fleet.commands import run

from session_memory.testing.s3_server import S3Server


@pytest.mark.rows("FLT-10")
def test_a_fleet_reads_and_writes_object_storage(home: Path, s3: S3Server) -> None:
    bucket, known = s3.make_bucket("team"), s3.environment()
    keys = {name: text for name, text in known.items() if name != "AWS_ENDPOINT_URL"}
    server = s3.endpoint.removeprefix("http://")
    named = f"?endpoint_override={server}&scheme=http&region=us-east-1"  # as docs/scale.md says
    parquet, again = f"{bucket}/parquet{named}", f"{bucket}/again{named}"
    done = json.loads(run(home, "fleet", "export", "--events", parquet, "--json", **keys))
    assert done["sessions"] == 6
    detect = ("fleet", "detect", "--all", "--json", "--workers", "1", "--from")
    expected = run(home, "rules", "detect", "--all", "--json")
    assert run(home, *detect, parquet, **keys) == expected
    redistil = ("fleet", "redistil", "--all", "--json", "--workers", "1")
    made = json.loads(run(home, *redistil, "--from", parquet, "--to", again, **keys))
    assert (made["distilled"], made["changed"], made["damaged"]) == (6, 0, [])
    assert run(home, *detect, f"{bucket}/again", **known) == expected  # by the environment


@pytest.mark.rows("FLT-10")
def test_object_storage_that_refuses_is_an_error_with_a_hint(home: Path, s3: S3Server) -> None:
    known = s3.environment()
    output = run(home, "fleet", "export", "s3://nobody/parquet", code=1, **known)
    assert "nobody" in output and "is the place there" in output
    wrong = {**known, "AWS_SECRET_ACCESS_KEY": "wrong"}
    address = f"{s3.make_bucket('team')}/parquet"
    output = run(home, "fleet", "detect", "--from", address, code=1, **wrong)
    assert "cannot list s3://team/parquet" in output and "is the address right" in output
    assert "wrong" not in output
