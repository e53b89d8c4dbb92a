"""Decisions: who may become what, on which evidence, and what is remembered of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.curate.proposals import (
    AUTO,
    NOON,
    POLICY,
    STRONG,
    THIN,
    ask,
    catalog_of,
    decide,
    proposal,
    seen,
)

from session_memory.core.loop.catalog import (
    Catalog,
    Status,
)
from session_memory.curate.gate import gate, take_snapshot
from session_memory.curate.review import (
    awaits_decision,
    distributable,
    propose,
    regate,
    review,
    undo,
)
from session_memory.errors import NotFound, Refused, SessionMemoryError, UsageError
from session_memory.settings import Curate, Gate


def more(catalog: Catalog, evidence: Any) -> Catalog:
    """The catalog after detection found more of p1."""
    return propose(catalog, [proposal(evidence=evidence)], str.strip)


@pytest.mark.rows("CUR-04", "CUR-05")
def test_the_same_yes_gives_what_the_evidence_is_worth() -> None:
    strong = review(catalog_of(proposal()), ask("approve"), POLICY, str.strip).pattern.current
    thin = catalog_of(proposal(evidence=THIN))
    weak = review(thin, ask("approve"), POLICY, str.strip).pattern.current
    assert (strong.status, strong.distribution_ready) == ("approved", True)
    assert (weak.status, weak.distribution_ready) == ("provisional", False)
    with pytest.raises(Refused, match="sessions 1 is below promote_min_sessions = 2"):
        review(catalog_of(proposal(evidence=seen(1))), ask("approve"), POLICY, str.strip)


@pytest.mark.rows("CUR-05")
@pytest.mark.parametrize("action", ["reject", "edit", "approve"])
def test_no_decision_on_thin_evidence_approves(action: str) -> None:
    _, done = decide(catalog_of(proposal(evidence=THIN)), action)
    assert done.pattern.current.status != "approved"


@pytest.mark.rows("CUR-05")
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["approve", "reject", "edit", "retire", "supersede", "undo", "more"]),
            st.sampled_from(["p1", "p2"]),
            st.integers(0, 5),
            st.booleans(),
        ),
        max_size=12,
    )
)
@settings(max_examples=120)
def test_nothing_is_ever_approved_on_less_than_the_floor(
    steps: list[tuple[str, str, int, bool]],
) -> None:
    catalog = catalog_of(proposal("p1"), proposal("p2", evidence=THIN))
    for action, name, size, auto in steps:
        policy, before = AUTO if auto else POLICY, catalog
        try:
            if action == "undo":
                catalog = catalog.with_pattern(undo(catalog, "ada", NOON, policy).pattern)
            elif action == "more":
                catalog = propose(catalog, [proposal(name, evidence=seen(size))], str.strip)
                for done in regate(catalog, NOON, policy):
                    catalog = catalog.with_pattern(done.pattern)
            else:
                other = "p2" if name == "p1" else "p1"
                catalog, _ = decide(catalog, action, name, superseded_by=other)
        except SessionMemoryError:
            assert catalog is before
        for pattern in catalog.patterns.values():
            current = pattern.current
            if current.status == "approved":
                assert gate(current.snapshot, POLICY.gate).distributes
            old = before.patterns.get(pattern.id)
            assert old is None or pattern.versions[: len(old.versions)] == old.versions
        assert {item.id for item in distributable(catalog, POLICY)} == {
            name for name in catalog.patterns if catalog.status(name) == "approved"
        }


@pytest.mark.rows("CUR-01")
def test_each_change_is_a_version_and_the_older_ones_can_be_read() -> None:
    catalog, _ = decide(catalog_of(proposal()), "approve")
    catalog, _ = decide(catalog, "edit", text="Run npm ci first.")
    catalog, _ = decide(catalog, "retire", why="npm is gone")
    versions = catalog.patterns["p1"].versions
    assert [(item.number, item.revision, item.status) for item in versions] == [
        (1, 1, "approved"),
        (2, 2, "approved"),
        (3, 3, "retired"),
    ]
    assert [item.text for item in versions] == [proposal().text, *["Run npm ci first."] * 2]
    assert versions[2].why == "npm is gone"


@pytest.mark.rows("CUR-08")
def test_illegal_decisions_raise_and_legal_ones_lead_where_they_should() -> None:
    fresh = catalog_of(proposal("p1"), proposal("p2"))
    with pytest.raises(UsageError, match="candidate rule cannot become retired"):
        decide(fresh, "retire")
    rejected, _ = decide(fresh, "reject")
    assert rejected.status("p1") == "rejected"
    with pytest.raises(UsageError, match="rejected rule cannot become retired"):
        decide(rejected, "retire")
    with pytest.raises(UsageError, match="approve it before editing"):
        decide(rejected, "edit", text="x")
    approved, _ = decide(rejected, "approve")
    assert approved.status("p1") == "approved"
    with pytest.raises(UsageError, match="approved rule cannot become rejected"):
        decide(approved, "reject")
    with pytest.raises(UsageError, match="only be superseded by another rule in use"):
        decide(approved, "supersede", superseded_by="p2")
    both, _ = decide(approved, "approve", "p2")
    replaced, done = decide(both, "supersede", superseded_by="p2")
    assert (replaced.status("p1"), done.pattern.current.superseded_by) == ("superseded", "p2")
    with pytest.raises(UsageError, match="superseded rule cannot become approved"):
        decide(replaced, "approve")
    with pytest.raises(NotFound, match="no rule p9"):
        decide(fresh, "approve", "p9")


@pytest.mark.rows("CUR-09")
def test_grown_evidence_is_listed_for_another_review_unless_it_may_approve_by_itself() -> None:
    catalog, _ = decide(catalog_of(proposal(evidence=THIN)), "approve")
    assert regate(catalog, NOON, AUTO) == ()
    assert not awaits_decision(catalog, "p1", POLICY)
    grown = more(catalog, STRONG)

    (listed,) = regate(grown, NOON, POLICY)
    assert (listed.pattern.current.status, listed.pattern.current.number) == ("provisional", 2)
    after = grown.with_pattern(listed.pattern)
    assert awaits_decision(after, "p1", POLICY)
    assert regate(after, NOON, POLICY) == ()  # said once
    assert distributable(after, POLICY) == ()
    assert decide(after, "approve")[1].pattern.current.status == "approved"

    (promoted,) = regate(grown, NOON, AUTO)
    current = promoted.pattern.current
    assert (current.status, current.distribution_ready, current.number) == ("approved", True, 2)
    assert (current.who, current.snapshot) == ("session-memory", take_snapshot(STRONG, 2))


def test_a_rejected_pattern_is_not_brought_back_by_evidence() -> None:
    catalog, _ = decide(catalog_of(proposal(evidence=THIN)), "reject")
    grown = more(catalog, seen(9))
    assert regate(grown, NOON, AUTO) == ()
    assert grown.status("p1") == "rejected" and not awaits_decision(grown, "p1", AUTO)


@pytest.mark.rows("CUR-10")
def test_a_decision_keeps_who_when_why_and_the_evidence_of_that_day() -> None:
    catalog, done = decide(catalog_of(proposal(evidence=THIN)), "approve", why="seen it myself")
    first = done.pattern.current
    told = msgspec.json.decode(msgspec.json.encode(done.pattern))["versions"][0]
    assert (told["who"], told["at"], told["why"]) == ("ada", NOON, "seen it myself")
    assert told["snapshot"] == {
        "frequency": 4,
        "sessions": 2,
        "cost_impact": 2.0,
        "flavors": ["claude", "codex"],
        "repos": ["repo0", "repo1"],
        "first_seen": NOON,
        "last_seen": NOON + 1001,
        "session_ids": ["claude:s0", "codex:s1"],
    }
    assert [item["quote"] for item in told["evidence"]] == ["npm ERR! 0.0", "npm ERR! 1.0"]
    catalog, _ = decide(more(catalog, STRONG), "approve")
    assert catalog.patterns["p1"].versions[0] == first
    assert catalog.patterns["p1"].current.snapshot.sessions == 4


@pytest.mark.rows("CUR-07")
def test_a_changed_floor_changes_the_outcome_of_the_same_review() -> None:
    catalog = catalog_of(proposal(evidence=THIN))
    lower = Curate(gate=Gate(distribute_min_frequency=4, distribute_min_sessions=2))
    higher = Curate(gate=Gate(promote_min_sessions=3))
    assert decide(catalog, "approve", policy=lower)[1].pattern.current.status == "approved"
    assert decide(catalog, "approve", policy=Curate())[1].pattern.current.status == "provisional"
    with pytest.raises(Refused, match="sessions 2 is below promote_min_sessions = 3"):
        decide(catalog, "approve", policy=higher)


def test_raised_floors_keep_an_approved_pattern_from_agents() -> None:
    catalog, _ = decide(catalog_of(proposal()), "approve")
    assert [item.id for item in distributable(catalog, POLICY)] == ["p1"]
    higher = Curate(gate=Gate(distribute_min_sessions=50))
    assert distributable(catalog, higher) == ()
    edited, _ = decide(catalog, "edit", text="Other words.", policy=higher)
    assert edited.status("p1") == "provisional"


def test_undo_steps_back_through_decisions_and_forgets_none() -> None:
    catalog, _ = decide(catalog_of(proposal("p1"), proposal("p2")), "approve")
    catalog, _ = decide(catalog, "reject", "p2")
    catalog, _ = decide(catalog, "edit", text="Other words.")
    undone: list[tuple[str, Status, str]] = []
    for _ in range(3):
        done = undo(catalog, "bob", NOON, POLICY)
        catalog = catalog.with_pattern(done.pattern)
        current = done.pattern.current
        undone.append((done.pattern.id, current.status, current.text))
    assert undone == [
        ("p1", "approved", proposal("p1").text),
        ("p2", "candidate", proposal("p2").text),
        ("p1", "candidate", proposal("p1").text),
    ]
    with pytest.raises(NotFound, match="no decision to undo"):
        undo(catalog, "bob", NOON, POLICY)
    assert [item.undoes for item in catalog.patterns["p1"].versions] == [None, None, 3, 1]
    assert catalog.revision == 6
    catalog, _ = decide(catalog, "approve")
    assert undo(catalog, "bob", NOON, POLICY).pattern.current.status == "candidate"


def test_undo_takes_back_what_a_person_decided_not_what_evidence_did() -> None:
    catalog, _ = decide(catalog_of(proposal(evidence=THIN)), "approve")
    grown = more(catalog, STRONG)
    (promoted,) = regate(grown, NOON, AUTO)
    done = undo(grown.with_pattern(promoted.pattern), "bob", NOON, POLICY)
    assert (done.before, done.pattern.current.status) == ("approved", "candidate")
    assert done.pattern.current.undoes == 1


def test_undoing_a_retirement_passes_the_gate_again() -> None:
    catalog, _ = decide(catalog_of(proposal()), "approve")
    catalog, _ = decide(catalog, "retire")
    assert undo(catalog, "bob", NOON, POLICY).pattern.current.status == "approved"
    higher = Curate(gate=Gate(distribute_min_sessions=50))
    assert undo(catalog, "bob", NOON, higher).pattern.current.status == "provisional"


@pytest.mark.parametrize("text", ["", "  \n", "x" * 4001])
def test_a_text_of_nothing_or_of_everything_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="1 to 4000 characters"):
        decide(catalog_of(proposal()), "edit", text=text)
