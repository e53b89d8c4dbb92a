"""The ledger of model calls: a call is reserved before it is made, in one step with its caps."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from session_memory.core.spend import Call, Settled, SpendGroup, SpendRow, Spent
from session_memory.store.sqlite.connection import Database, connect, rows, transaction

_SUMS = (
    "SELECT count(*) FILTER (WHERE run = :run),"
    " coalesce(sum(input_tokens + output_tokens) FILTER (WHERE run = :run), 0),"
    " coalesce(sum(usd) FILTER (WHERE run = :run), 0.0),"
    " coalesce(sum(input_tokens + output_tokens) FILTER (WHERE day = :day), 0),"
    " coalesce(sum(usd) FILTER (WHERE day = :day), 0.0)"
    " FROM spend WHERE run = :run OR day = :day"
)
_GROUPS: dict[SpendGroup, str] = {"day": "day", "purpose": "purpose", "model": "model"}


class SqliteSpend:
    """See store.background.Spend.

    Features ask models from several threads while the store's own connection may be anywhere, so
    that each write has a connection of its own; that costs a millisecond, a call seconds.
    """

    def __init__(self, connection: Database, path: str) -> None:
        self._db = connection
        self._path = path

    def reserve(self, call: Call, permit: Callable[[Spent], None]) -> int:
        """See store.background.Spend."""
        with self._writing() as db:
            permit(_spent(db, call.run, call.day))
            db.execute(
                "INSERT INTO spend (at, day, run, purpose, provider, model, input_tokens,"
                " output_tokens, usd, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'reserved')",
                (
                    call.at,
                    call.day,
                    call.run,
                    call.purpose,
                    call.provider,
                    call.model,
                    call.input_tokens,
                    call.output_tokens,
                    call.usd,
                ),
            )
            return db.last_insert_rowid()

    def settle(self, reservation: int, settled: Settled) -> None:
        """See store.background.Spend."""
        state = "ok" if settled.error is None else "failed"
        with self._writing() as db:
            db.execute(
                "UPDATE spend SET model = ?, input_tokens = ?, output_tokens = ?, usd = ?,"
                " state = ?, error = ? WHERE id = ?",
                (
                    settled.model,
                    settled.input_tokens,
                    settled.output_tokens,
                    settled.usd,
                    state,
                    settled.error,
                    reservation,
                ),
            )

    def spent(self, run: str, day: str) -> Spent:
        """See store.background.Spend."""
        return _spent(self._db, run, day)

    def totals(self, group: SpendGroup, since_day: str) -> list[SpendRow]:
        """See store.background.Spend."""
        column = _GROUPS[group]
        selected = rows(
            self._db,
            f"SELECT {column}, count(*), sum(state = 'failed'), sum(state = 'reserved'),"
            " sum(input_tokens), sum(output_tokens), coalesce(sum(usd), 0.0), sum(usd IS NULL)"
            f" FROM spend WHERE day >= ? GROUP BY {column} ORDER BY {column}",
            (since_day,),
        )
        return [SpendRow(*row) for row in selected]

    @contextmanager
    def _writing(self) -> Generator[Database]:
        connection = connect(self._path)
        try:
            with transaction(connection):
                yield connection
        finally:
            connection.close()


def _spent(db: Database, run: str, day: str) -> Spent:
    return Spent(*rows(db, _SUMS, {"run": run, "day": day})[0])
