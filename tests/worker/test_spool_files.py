"""Records of hooks: damaged ones are set aside."""

from __future__ import annotations

import pytest
from tests.worker.test_run import Bench, bench, spoken

__all__ = ["bench"]


def test_damaged_records_are_set_aside_and_newer_ones_left(bench: Bench) -> None:
    log = spoken(1)
    bench.space.write(log)
    bench.note(log)
    (bench.spool / "1-broken.json").write_text("{", encoding="utf-8")
    newer = bench.spool / "2-newer.json"
    newer.write_text('{"v": 99}', encoding="utf-8")
    report = bench.work()
    assert (report.damaged, report.imports) == (1, 1)
    assert [path.name for path in (bench.spool / "damaged").iterdir()] == ["1-broken.json"]
    assert newer.exists()


@pytest.mark.rows("ING-15")
def test_a_record_that_cannot_be_noted_is_set_aside_and_the_others_are_noted(
    bench: Bench,
) -> None:
    good, bad = spoken(1, "one"), spoken(2, "two")
    bench.space.write(good, bad)
    bench.note(good)
    bench.note(bad, at=-(10**30), given=["memory"])
    report = bench.work()
    assert (report.damaged, report.records) == (1, 2)
    assert bench.waiting() == 0
    assert len(list((bench.spool / "damaged").iterdir())) == 1
    assert set(bench.space.sessions()) == {good.session_id, bad.session_id}
