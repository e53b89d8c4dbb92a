"""The work of a fleet on Spark, for those who have it: the same functions, run by `mapInArrow`.

    engine = SparkEngine(spark)
    fleet = mine_all(engine, Places("s3://team/parquet", "s3://team/parquet"))
    detect_all(fleet, FleetQuery(), now_ms)

PySpark is not among our packages: whoever has a session has it too.
"""

# Neither pyarrow nor PySpark has types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import pyarrow as pa

from session_memory.fleet.port import deal_out

T = TypeVar("T")
_CALLS = "place long, call binary"
_RESULTS = "place long, result binary"


class SparkEngine:
    """See port.Engine; takes a SparkSession."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self.shuffled = 0

    def map(
        self, _what: str, task: Callable[..., T], calls: Sequence[tuple[Any, ...]]
    ) -> Iterator[T]:
        """One partition for each call; Spark repeats what is lost."""
        if not calls:
            return
        rows = [(at, pickle.dumps((task, arguments))) for at, arguments in enumerate(calls)]
        frame = self._spark.createDataFrame(rows, _CALLS).repartition(len(rows), "place")
        for row in frame.mapInArrow(run_batches, _RESULTS).collect():
            packed = bytes(row["result"])
            self.shuffled += len(packed)
            yield cast("T", pickle.loads(packed))

    def shares(self, parts: Sequence[str]) -> list[list[str]]:
        """As many workers as Spark says it has."""
        return deal_out(parts, int(self._spark.sparkContext.defaultParallelism))


def run_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the calls of these rows; what `mapInArrow` gives to each partition."""
    for batch in batches:
        results: list[bytes] = []
        for packed in batch["call"].to_pylist():
            task, arguments = pickle.loads(packed)
            results.append(pickle.dumps(task(*arguments), protocol=5))
        columns = [batch["place"], pa.array(results, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=["place", "result"])
