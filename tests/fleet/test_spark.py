"""On Spark the same functions give the same answers."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.fleet.inline import by_fleet, exported

from session_memory.fleet.detect import FleetQuery, Places, detect_all, mine_all
from session_memory.fleet.spark import SparkEngine, run_batches
from session_memory.testing.workspace import NOW, Workspace


class Frame:
    """What a DataFrame does with `mapInArrow`: every partition gets its rows as batches."""

    def __init__(self, rows: list[tuple[int, bytes]]) -> None:
        self._rows = rows

    def repartition(self, _number: int, _column: str) -> Frame:
        return self

    def mapInArrow(self, function: Any, _schema: str) -> Frame:
        made: list[tuple[int, bytes]] = []
        for row in reversed(self._rows):  # in no order
            batch = pa.RecordBatch.from_pylist([dict(zip(("place", "call"), row, strict=True))])
            for result in function(iter([batch])):
                made += [(one["place"], one["result"]) for one in result.to_pylist()]
        return Frame(made)

    def collect(self) -> list[dict[str, Any]]:
        return [{"place": place, "result": result} for place, result in self._rows]


class Session:
    """As much of a SparkSession as the adapter uses."""

    class sparkContext:
        defaultParallelism = 2

    def createDataFrame(self, rows: list[tuple[int, bytes]], _schema: str) -> Frame:
        return Frame(rows)


def answers(spark: Any, folder: Path) -> bytes:
    places = Places(str(folder), str(folder))
    return pickle.dumps(detect_all(mine_all(SparkEngine(spark), places), FleetQuery(), NOW))


@pytest.mark.rows("FLT-08")
def test_the_adapter_gives_the_same_answers(space: Workspace, tmp_path: Path) -> None:
    exported(space, tmp_path / "parquet")
    found = answers(Session(), tmp_path / "parquet")
    assert pickle.loads(found) == by_fleet(tmp_path / "parquet") != []
    assert list(run_batches([])) == []


@pytest.mark.rows("FLT-08")
def test_spark_itself_gives_the_same_answers(space: Workspace, tmp_path: Path) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
    exported(space, tmp_path / "parquet")
    spark = sql.SparkSession.builder.master("local[2]").getOrCreate()
    try:
        found = answers(spark, tmp_path / "parquet")
    finally:
        spark.stop()
    assert pickle.loads(found) == by_fleet(tmp_path / "parquet")
