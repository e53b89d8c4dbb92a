"""Each stage of the loop with its next command."""

from __future__ import annotations

from msgspec.structs import replace
from tests.measure.measured_sessions import SINCE
from tests.measure.test_report import effect

from session_memory.core.loop.catalog import Catalog, Pattern, PatternVersion, Proposal
from session_memory.core.loop.givings import Given
from session_memory.core.loop.trials import Trial
from session_memory.measure.report import report, verdict_sentence
from session_memory.measure.stages import LoopFacts, counts, stages


def pattern(name: str, status: str) -> Pattern:
    version = PatternVersion(
        number=1, revision=1, status=status, action="approve", who="ada", at=1, text="Words.",
        distribution_ready=status == "approved",
    )  # type: ignore[arg-type]  # fmt: skip
    return Pattern(name, "problem", "failing_command", "npm test", "Words.", (version,))


def test_every_stage_of_the_loop_is_told_with_its_next_command() -> None:
    statuses = dict.fromkeys(("p1", "wait", "ready", "filed", "tried", "bad"), "approved")
    statuses |= {"thin": "provisional", "gone": "retired"}
    catalog = Catalog(
        {name: pattern(name, status) for name, status in statuses.items()},
        {"new": Proposal("new", "problem", "failing_command", "x", "Words.")},
    )
    good, bad, few = effect(20, 4), effect(8, 28), effect(100, 3, 200, 10)
    facts = LoopFacts(
        catalog,
        tuple(Given(name, 1, "shop", SINCE) for name in ("p1", "wait", "filed", "bad")),
        (Trial("tried", 1, SINCE), Trial("p1", 1, 1, 2)),
        (good, replace(bad, pattern_id="bad"), replace(few, pattern_id="wait")),
        thin=frozenset({"thin"}),
    )
    found = {one.pattern_id: one for one in stages(facts)}
    assert {name: one.stage for name, one in found.items()} == {
        "p1": "measured",
        "wait": "distributed",
        "ready": "approved",
        "filed": "distributed",
        "tried": "under_trial",
        "bad": "retirement_proposed",
        "thin": "provisional",
        "gone": "closed",
        "new": "candidate",
    }
    assert found["new"].next == "session-memory rules approve new"
    assert found["ready"].next == "session-memory rules distribute"
    assert found["thin"].next == "wait until more sessions show it"
    assert found["bad"].next == "session-memory rules retire bad"
    assert (
        found["wait"].next
        == f"wait for {few.needs} more sessions, then session-memory rules measure"
    )
    assert (found["filed"].repos, found["filed"].since) == (("shop",), SINCE)
    order = [one.pattern_id for one in stages(facts)]
    assert (order[0], order[-1]) == ("bad", "gone")
    assert counts(found.values())["distributed"] == 2
    assert verdict_sentence(good) in report([good], {})
