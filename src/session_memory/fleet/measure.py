"""`rules measure` over parts: each session slimmed to what is looked for, where it lies."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from session_memory.core.loop.effects import Effect
from session_memory.core.schema import Session
from session_memory.fleet.dataset import Damaged, Dataset
from session_memory.fleet.detect import FleetQuery, Mined, Places, cluster_all, read_statuses
from session_memory.fleet.parts import Filter, evidence
from session_memory.fleet.records import InjectionRecord
from session_memory.measure.metrics import Units, find_units, join_units, watched_signals
from session_memory.measure.run import MeasureInput, measure, names_watched
from session_memory.settings import Measure

Records = dict[tuple[str, str], tuple[InjectionRecord, ...]]
_session = msgspec.json.Decoder(Session).decode
_injections = msgspec.json.Decoder(tuple[InjectionRecord, ...]).decode


class UnitsPart(msgspec.Struct, frozen=True):
    """The measured sessions of some parts, and what hooks recorded of them."""

    units: Units
    records: Records
    damaged: tuple[str, ...] = ()


class Measured(msgspec.Struct, frozen=True):
    """What was measured, and what could not be read."""

    effects: list[Effect]
    damaged: tuple[str, ...]


def measure_all(fleet: Mined, material: MeasureInput, policy: Measure, now_ms: int) -> Measured:
    """What `rules measure` gives of the same sessions."""
    engine, places, mining = fleet
    statuses = read_statuses(places.source)
    clusters = cluster_all(fleet, statuses, FleetQuery())
    merged: Mapping[str, tuple[str, ...]] = {cluster.id: cluster.merged for cluster in clusters}
    material = msgspec.structs.replace(material, aliases=merged)
    names = names_watched(material)
    shares = engine.shares(mining.parts)
    calls = [(places.work, share, names) for share in shares]
    problems = frozenset[str]().union(*engine.map("finding problems", _problems, calls))
    calls = [(places, share, names, problems) for share in shares]
    parts = list(engine.map("reading sessions", _units, calls))
    records: Records = {}
    for part in parts:
        records |= part.records

    def recorded(flavor: str, session: str) -> tuple[InjectionRecord, ...]:
        return records.get((flavor, session), ())

    units = join_units(part.units for part in parts)
    effects = measure(recorded, units, material, policy, now_ms)
    return Measured(effects, tuple(sorted(text for part in parts for text in part.damaged)))


def _problems(work: str, parts: Sequence[str], names: frozenset[str]) -> frozenset[str]:
    """What the watched patterns are about."""
    return frozenset(
        signal.about
        for mined in evidence(Dataset(work), parts, Filter())
        for signal in mined.signals
        if signal.pattern in names
    )


def _units(
    places: Places, parts: Sequence[str], names: frozenset[str], problems: frozenset[str]
) -> UnitsPart:
    """The sessions of these parts that are worth measuring; families are never divided."""
    source, work = Dataset(places.source), Dataset(places.work)
    units_by_part: list[Units] = []
    records: Records = {}
    damaged: list[str] = []
    for part in parts:
        try:
            rows = source.read("sessions", part, ["session", "outcome", "injections"])
        except Damaged as error:
            damaged.append(str(error))
            continue
        sessions = [_session(text) for text in rows["session"].to_pylist()]
        outcomes = dict(
            zip((session.id for session in sessions), rows["outcome"].to_pylist(), strict=True)
        )
        for session, text in zip(sessions, rows["injections"].to_pylist(), strict=True):
            if injections := _injections(text):
                records[session.flavor, session.external_id] = injections
        signals = work.read("signals", part, ["number", "digest_version"])
        versions = dict(
            zip(signals["number"].to_pylist(), signals["digest_version"].to_pylist(), strict=True)
        )
        slim = (
            msgspec.structs.replace(
                session, signals=watched_signals(session.signals, names, problems)
            )
            for session in evidence(work, [part], Filter())
        )
        known_outcomes = {
            number: outcome for number, outcome in outcomes.items() if outcome is not None
        }
        units_by_part.append(find_units(sessions, slim, known_outcomes, versions))
    return UnitsPart(join_units(units_by_part), records, tuple(damaged))
