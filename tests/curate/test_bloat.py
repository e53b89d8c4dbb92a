"""The guard against a catalog that says the same thing twice."""

from __future__ import annotations

import pytest
from tests.curate.proposals import POLICY, catalog_of, decide, proposal

from session_memory.core.loop.catalog import Proposal
from session_memory.curate.bloat import bloat_warnings
from session_memory.settings import Curate


def warned(first: Proposal, second: Proposal, *, then: str | None = None) -> list[tuple[str, str]]:
    """What approving the second says after the first is in the catalog."""
    catalog, _ = decide(catalog_of(first, second), "approve", first.id)
    if then:
        catalog, _ = decide(catalog, then, first.id)
    _, done = decide(catalog, "approve", second.id)
    assert all(item.message.startswith(second.id) for item in done.warnings)
    return [(item.reason, item.other or "") for item in done.warnings]


@pytest.mark.rows("CUR-06")
def test_the_same_type_and_locus_as_an_entry_is_warned_about_and_names_it() -> None:
    near = proposal("p2", locus=" npm  test\tp1 ")
    assert warned(proposal("p1"), near) == [("same_locus", "p1")]
    assert warned(proposal("p1"), proposal("p2")) == []
    assert warned(proposal("p1"), proposal("p2", locus="npm test p1", type="retry_loop")) == []


@pytest.mark.rows("CUR-06")
def test_the_same_text_as_an_entry_is_warned_about_and_names_it() -> None:
    text = proposal("p1").text
    assert warned(proposal("p1"), proposal("p2", text=f"  {text}\n")) == [("same_text", "p1")]
    both = proposal("p2", text=text, locus=proposal("p1").locus)
    assert warned(proposal("p1"), both) == [("same_text", "p1")]


@pytest.mark.rows("CUR-06")
def test_candidates_are_flagged_among_each_other_before_anybody_decides() -> None:
    twins = catalog_of(proposal("p1"), proposal("p2", locus="npm test p1"))
    found = bloat_warnings(twins, twins.proposals["p1"], 100)
    assert [(item.reason, item.other) for item in found] == [("same_locus", "p2")]


def test_a_retired_entry_says_nothing_any_more_and_a_rejected_one_does() -> None:
    near = proposal("p2", locus="npm test p1")
    assert warned(proposal("p1"), near, then="retire") == []
    catalog, _ = decide(catalog_of(proposal("p1"), near), "reject", "p1")
    _, done = decide(catalog, "approve", "p2")
    assert [item.message for item in done.warnings] == [
        "p2 has the type and locus of p1 (rejected)"
    ]


def test_approving_again_is_no_duplicate_of_itself() -> None:
    catalog, _ = decide(catalog_of(proposal("p1")), "approve")
    assert decide(catalog, "approve")[1].warnings == ()


def test_a_full_catalog_warns() -> None:
    small = Curate(max_patterns=1, gate=POLICY.gate)
    catalog, done = decide(catalog_of(proposal("p1"), proposal("p2")), "approve", policy=small)
    assert done.warnings == ()
    _, done = decide(catalog, "approve", "p2", policy=small)
    assert [item.reason for item in done.warnings] == ["too_many"]
