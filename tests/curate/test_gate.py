"""The evidence bar: what counts, and how far it reaches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.curate.proposals import POLICY, STRONG, THIN, seen

from session_memory.core.loop.catalog import Evidence, Snapshot
from session_memory.curate.gate import admit, counted, examples, gate, hold, take_snapshot
from session_memory.errors import ConfigError, Refused
from session_memory.settings import Gate
from session_memory.settings.load import load

FLOORS = POLICY.gate
ENOUGH = Snapshot(frequency=4, sessions=3, cost_impact=1.0)

EVIDENCE = st.lists(
    st.builds(
        Evidence,
        session=st.sampled_from(["a", "b", "c", "d"]),
        flavor=st.sampled_from(["claude", "codex"]),
        repo=st.sampled_from([None, "", "r"]),
        at=st.none() | st.integers(0, 2),
        quote=st.sampled_from(["", "x", "y"]),
        cost=st.sampled_from([0.0, 0.25, 1.0]),
    ),
    max_size=12,
)


def test_one_session_counts_only_so_often() -> None:
    snapshot = take_snapshot(seen(sessions=1, each=50), 2)
    assert (snapshot.frequency, snapshot.sessions, snapshot.cost_impact) == (2, 1, 1.0)
    assert not gate(snapshot, FLOORS).promotes


def test_equal_session_ids_of_two_agents_are_two_sessions() -> None:
    both = [Evidence("s", "claude"), Evidence("s", "codex")]
    assert take_snapshot(both, 2).session_ids == ("claude:s", "codex:s")


def test_a_snapshot_tells_where_and_when_of_all_evidence() -> None:
    snapshot = take_snapshot(seen(sessions=3, each=5), 1)
    assert snapshot.frequency == 3
    assert snapshot.flavors == ("claude", "codex")
    assert snapshot.repos == ("repo0", "repo1", "repo2")
    times = [item.at for item in seen(3, 5) if item.at is not None]
    assert (snapshot.first_seen, snapshot.last_seen) == (min(times), max(times))


@pytest.mark.rows("CUR-02")
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("frequency", 1, "frequency 1 is below promote_min_frequency = 2"),
        ("sessions", 1, "sessions 1 is below promote_min_sessions = 2"),
        ("cost_impact", 0.4, "cost_impact 0.4 is below promote_min_cost_impact = 0.5"),
    ],
)
def test_below_any_floor_of_promotion_a_yes_is_refused_by_name(
    field: str, value: float, message: str
) -> None:
    result = gate(replace(ENOUGH, **{field: value}), FLOORS)
    assert not result.promotes
    with pytest.raises(Refused) as refused:
        admit("p1", result)
    assert refused.value.message == f"p1 has too little evidence: {message}"


@pytest.mark.rows("CUR-03")
@pytest.mark.parametrize(
    ("field", "value"), [("frequency", 3), ("sessions", 2), ("cost_impact", 0.9)]
)
def test_every_floor_of_distribution_must_be_reached(field: str, value: float) -> None:
    assert gate(ENOUGH, FLOORS).distributes
    result = gate(replace(ENOUGH, **{field: value}), FLOORS)
    assert result.promotes and not result.distributes
    assert [(short.tier, short.field) for short in result.shortfalls] == [("distribute", field)]
    assert (admit("p1", gate(ENOUGH, FLOORS)), admit("p1", result)) == ("approved", "provisional")
    assert hold("approved", result) == "provisional"


@pytest.mark.rows("CUR-03")
@pytest.mark.parametrize("field", ["frequency", "sessions", "cost_impact"])
def test_a_distribution_floor_below_its_promotion_floor_is_a_configuration_error(
    field: str, tmp_path: Path
) -> None:
    file = tmp_path / "c.toml"
    environ = {"SESSION_MEMORY_HOME": str(tmp_path)}
    file.write_text(f"[curate.gate]\npromote_min_{field} = 9\ndistribute_min_{field} = 9\n")
    floors = load(str(file), environ, None, str(tmp_path)).config.curate.gate
    assert getattr(floors, f"distribute_min_{field}") == 9
    file.write_text(f"[curate.gate]\npromote_min_{field} = 9\ndistribute_min_{field} = 8\n")
    with pytest.raises(ConfigError, match=f"distribute_min_{field} = 8.* is less than"):
        load(str(file), environ, None, str(tmp_path))
    file.write_text(f"[curate.gate]\npromote_min_{field} = 999\n")
    with pytest.raises(ConfigError, match=f"promote_min_{field} = 999"):
        load(str(file), environ, None, str(tmp_path))


@pytest.mark.parametrize("value", ["0", "true", "-1", "1.5", '"many"'])
def test_a_count_is_a_whole_number_above_zero(value: str, tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f"[curate.gate]\nevidence_per_session = {value}\n")
    with pytest.raises(ConfigError, match="a whole number from 1"):
        load(str(file), {"SESSION_MEMORY_HOME": str(tmp_path)}, None, str(tmp_path))


@pytest.mark.parametrize("value", ["nan", "inf", "-0.5", "true", '"cheap"'])
def test_money_is_a_number_from_zero(value: str, tmp_path: Path) -> None:
    environ = {"SESSION_MEMORY_HOME": str(tmp_path)}
    file = tmp_path / "c.toml"
    file.write_text(f"[curate.gate]\ndistribute_min_cost_impact = {value}\n")
    with pytest.raises(ConfigError, match="US dollars"):
        load(str(file), environ, None, str(tmp_path))
    flag = {"curate.gate.distribute_min_cost_impact": value.strip('"')}
    with pytest.raises(ConfigError, match="US dollars"):
        load(None, environ, flag, str(tmp_path))


@given(EVIDENCE.flatmap(lambda items: st.tuples(st.just(items), st.permutations(items))))
@settings(max_examples=60)
def test_the_order_of_evidence_does_not_matter(
    orders: tuple[list[Evidence], list[Evidence]],
) -> None:
    evidence, mixed = orders
    for limit in (1, 2, 3):
        assert take_snapshot(mixed, limit) == take_snapshot(evidence, limit)
        assert counted(mixed, limit) == counted(evidence, limit)
    assert examples(mixed) == examples(evidence)


@given(EVIDENCE, EVIDENCE, st.integers(1, 4))
@settings(max_examples=60)
def test_more_evidence_never_makes_a_pattern_fall(
    evidence: list[Evidence], more: list[Evidence], limit: int
) -> None:
    before = gate(take_snapshot(evidence, limit), FLOORS)
    after = gate(take_snapshot([*evidence, *more], limit), FLOORS)
    assert after.promotes >= before.promotes and after.distributes >= before.distributes


def test_the_defaults_can_be_reached_and_are_in_order() -> None:
    floors = Gate()
    most = floors.evidence_per_session * floors.distribute_min_sessions
    assert floors.promote_min_frequency < floors.distribute_min_frequency <= most
    assert gate(take_snapshot(STRONG, 2), floors).distributes
    assert not gate(take_snapshot(THIN, 2), floors).distributes
