"""Decisions for any front end: the same functions that the command calls, without a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
import pytest
from tests.curate.proposals import NOON, POLICY, THIN, proposal

from session_memory.core.loop.catalog import match_id
from session_memory.curate.catalog import INDEX, read_catalog
from session_memory.curate.decisions import (
    CurateContext,
    decide,
    list_for_review,
    read_for_review,
    read_stages,
    take_in,
    undo_last,
)
from session_memory.curate.review import Decision, DecisionRequest
from session_memory.errors import Ambiguous, NotFound, Refused
from session_memory.paths import find_paths
from session_memory.settings import Config
from session_memory.store.port import Store


def no_store() -> AbstractContextManager[Store]:
    raise AssertionError("there is no store to open")


@pytest.fixture
def context(tmp_path: Path) -> CurateContext:
    warnings: list[str] = []
    context = CurateContext(
        paths=find_paths({"SESSION_MEMORY_HOME": str(tmp_path)}),
        config=msgspec.structs.replace(Config(), curate=POLICY),
        environ={},
        clock=lambda: NOON,
        open_store=no_store,
        warn=warnings.append,
    )
    take_in(context, [proposal("p1"), proposal("p2", evidence=THIN)], complete=True)
    assert warnings == []
    return context


def approve(context: CurateContext, *names: str, dry_run: bool = False) -> Sequence[Decision]:
    requests = [DecisionRequest("approve", name, "ada", NOON) for name in names]
    return decide(context, requests, dry_run=dry_run)


def statuses(context: CurateContext) -> dict[str, str]:
    catalog = read_catalog(context.paths.data)
    return {name: catalog.status(name) for name in (*catalog.patterns, *catalog.proposals)}


def test_decisions_are_written_to_the_catalog_and_undone(context: CurateContext) -> None:
    assert [one.pattern.id for one in approve(context, "p1", "p2", "p1")] == ["p1", "p2"]
    assert statuses(context) == {"p1": "approved", "p2": "provisional"}
    undo_last(context, "ada")
    assert statuses(context) == {"p1": "approved", "p2": "candidate"}


def test_a_dry_run_writes_nothing(context: CurateContext) -> None:
    assert approve(context, "p1", dry_run=True)[0].pattern.current.status == "approved"
    assert not (context.paths.data / "catalog").exists()


@pytest.mark.parametrize(
    ("names", "error"), [(("p1", "p9"), NotFound), (("p1", "p"), Ambiguous), (("p1", ""), NotFound)]
)
def test_where_one_is_refused_none_is_decided(
    context: CurateContext, names: tuple[str, ...], error: type[Exception]
) -> None:
    with pytest.raises(error):
        approve(context, *names)
    assert statuses(context) == {"p1": "candidate", "p2": "candidate"}


def test_the_list_is_what_awaits_a_decision(context: CurateContext) -> None:
    def ids(**options: bool) -> list[str]:
        rows = list_for_review(read_for_review(context), POLICY, **options)
        return [row["id"] for row in rows]

    approve(context, "p1")
    assert (ids(), ids(decided=True)) == (["p2"], ["p1", "p2"])


def test_every_pattern_has_a_stage_and_a_next_command(context: CurateContext) -> None:
    approve(context, "p1")
    assert [(item.pattern_id, item.stage, item.next) for item in read_stages(context)] == [
        ("p1", "approved", "session-memory rules distribute"),
        ("p2", "candidate", "session-memory rules approve p2"),
    ]


def test_what_is_wrong_with_the_files_is_reported_to_the_caller(context: CurateContext) -> None:
    approve(context, "p1")
    (context.paths.data / "catalog" / "p1.toml").unlink()
    told: list[str] = []
    read_for_review(msgspec.structs.replace(context, warn=told.append))
    assert told == ["the index names p1, which has no file; the next decision drops it"]
    (context.paths.data / "catalog" / INDEX).unlink()
    (context.paths.data / "catalog" / "p1.toml").write_text("no pattern")
    with pytest.raises(Refused):
        read_for_review(context)


@pytest.mark.parametrize(
    ("given", "expected"),
    [("p1", "p1"), ("sm-p1", "p1"), ("q", "q-22"), ("sm-q", "q-22"), ("", None), ("z", None)],
)
def test_an_id_may_be_shortened_or_copied_from_a_file(given: str, expected: str | None) -> None:
    assert match_id(given, ["p1", "p12", "q-22"]) == expected
