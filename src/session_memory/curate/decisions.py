"""Carries decisions out: read the catalog, decide, write its files, update the store.

Every front end calls these functions. `review.py` holds the rules as pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import msgspec
from msgspec.structs import replace

from session_memory.clock import Clock
from session_memory.core.loop.catalog import (
    Catalog,
    GateResult,
    Pattern,
    Proposal,
    Retirement,
    Status,
    match_id,
)
from session_memory.curate.bloat import CatalogIndex, bloat_warnings, index_catalog
from session_memory.curate.candidates import proposals_of
from session_memory.curate.catalog import (
    changing,
    missing,
    read_catalog,
    write_patterns,
    write_proposals,
)
from session_memory.curate.freshness import note_detection
from session_memory.curate.review import (
    Decision,
    DecisionRequest,
    OwnRule,
    add_own,
    awaits_decision,
    find,
    grounds,
    held_back,
    propose,
    regate,
    review,
    under_gate,
    undo,
)
from session_memory.curate.wording import Clean, make_clean
from session_memory.detect.cluster import cluster
from session_memory.detect.rank import rank
from session_memory.detect.run import DetectQuery, detect
from session_memory.measure.report import verdict_sentence
from session_memory.measure.stages import LoopFacts, PatternStage, latest_effects, stages
from session_memory.paths import Paths
from session_memory.redact import make_redactor
from session_memory.settings import Config, Curate
from session_memory.store import store_exists
from session_memory.store.given_files import read_given
from session_memory.store.port import Store
from session_memory.store.trial_files import read_trials


class CurateContext(msgspec.Struct, frozen=True):
    """What deciding needs from outside."""

    paths: Paths
    config: Config
    environ: Mapping[str, str]
    clock: Clock
    open_store: Callable[[], AbstractContextManager[Store]]
    warn: Callable[[str], None]
    decided: Callable[[], None] = lambda: None
    """Called after each change of the catalog, since it decides what hooks check."""


class SyncReport(msgspec.Struct, frozen=True):
    """What `sync_store` found in the catalog's files."""

    patterns: int
    changed: tuple[str, ...]
    """Patterns whose status in the store was another."""
    edited_by_hand: tuple[str, ...]
    held_back: dict[str, str]
    """Patterns approved in their files only, with the reason the gate gives."""


def read_for_review(context: CurateContext) -> Catalog:
    """The catalog as the gate lets it pass, with the retirements that measuring proposes."""
    files = read_catalog(context.paths.data)
    for name, reason in held_back(files, context.config.curate).items():
        context.warn(
            f"{name} is approved in its file only; the gate keeps it provisional: {reason}"
        )
    catalog = under_gate(files, context.config.curate)
    _warn_of_missing(context, catalog)
    return replace(catalog.asleep(context.clock()), retirements=_retirements(context))


def list_for_review(
    catalog: Catalog, policy: Curate, status: Status | None = None, *, decided: bool = False
) -> list[dict[str, Any]]:
    """Patterns that await a decision; all of one status, or with `decided` simply all."""
    names = [
        name
        for name in ranked(catalog)
        if status == catalog.status(name)
        or (status is None and (decided or awaits_decision(catalog, name, policy)))
    ]
    index = index_catalog(catalog)
    return [describe(catalog, name, policy, index) for name in names]


def lacks_evidence(row: dict[str, Any]) -> bool:
    """Whether a described pattern is a candidate with too little evidence for a yes."""
    return row["status"] == "candidate" and not row["gate"]["promotes"]


def ranked(catalog: Catalog) -> list[str]:
    """Every pattern, in the order of the last detection; what that did not rank by id behind it."""

    def place(name: str) -> tuple[float, str]:
        proposal = catalog.proposals.get(name)
        return (proposal.rank if proposal and proposal.rank else math.inf, name)

    return sorted({*catalog.proposals, *catalog.patterns}, key=place)


def describe(
    catalog: Catalog, name: str, policy: Curate, index: CatalogIndex | None = None
) -> dict[str, Any]:
    """Everything a person needs in order to decide on a pattern."""
    entry, ground = find(catalog, name), grounds(catalog, name, policy)
    current = entry.current if isinstance(entry, Pattern) else None
    proposal = catalog.proposals.get(name) or Proposal(name, entry.kind, "", "", "")
    return {
        "id": name,
        "status": catalog.status(name),
        "distribution_ready": current is not None and current.distribution_ready,
        "version": current.number if current else 0,
        "awaits_decision": awaits_decision(catalog, name, policy),
        "kind": entry.kind,
        "type": entry.type,
        "locus": entry.locus,
        "text": entry.text,
        "sure": proposal.sure,
        "seen": proposal.seen or ground.snapshot.frequency,
        "cost": proposal.cost if proposal.seen else ground.snapshot.cost_impact,
        "edited_by_hand": isinstance(entry, Pattern) and entry.is_edited,
        "snapshot": ground.snapshot,
        "evidence": ground.evidence,
        "gate": gate_facts(ground.gate),
        "retirement": catalog.retirement(name),
        "warnings": bloat_warnings(catalog, entry, policy.max_patterns, index),
    }


def gate_facts(result: GateResult) -> dict[str, object]:
    """What the gate makes of the evidence, as data and as a sentence."""
    if result.distributes:
        sentence = "a yes approves it"
    elif result.promotes:
        missing = result.missing("distribute")
        sentence = f"a yes keeps it; agents are not given it yet: {missing}"
    else:
        sentence = f"too little evidence for a yes: {result.missing('promote')}"
    return {
        "promotes": result.promotes,
        "distributes": result.distributes,
        "shortfalls": result.shortfalls,
        "missing": result.missing("distribute"),
        "says": sentence,
    }


def full_id(catalog: Catalog, reference: str) -> str:
    """The id of the pattern that was meant; what fits none is returned for `find` to refuse."""
    return match_id(reference, {*catalog.patterns, *catalog.proposals}) or reference


def decide(
    context: CurateContext, requests: Iterable[DecisionRequest], *, dry_run: bool = False
) -> Sequence[Decision]:
    """Decide on patterns, named by id or its beginning; if one is refused, nothing is decided."""
    clean = make_text_cleaner(context)

    def decide_each(catalog: Catalog) -> list[Decision]:
        decisions: dict[str, Decision] = {}
        for request in requests:
            name, other = full_id(catalog, request.pattern), request.superseded_by
            if name in decisions:
                continue
            whole = replace(request, pattern=name, superseded_by=other and full_id(catalog, other))
            decisions[name] = review(catalog, whole, context.config.curate, clean)
            catalog = catalog.with_pattern(decisions[name].pattern)
        return list(decisions.values())

    return _carry_out(context, decide_each, dry_run)


def undo_last(context: CurateContext, who: str, *, dry_run: bool = False) -> Sequence[Decision]:
    """Take back the last decision."""

    def take_back(catalog: Catalog) -> list[Decision]:
        return [undo(catalog, who, context.clock(), context.config.curate)]

    return _carry_out(context, take_back, dry_run)


def detected_proposals(context: CurateContext, *, everything: bool = False) -> list[Proposal]:
    """A proposal for each rule that detection finds, and for each pattern once decided on.

    With `everything`, also for what recurs without a rule that follows from it.
    """
    with context.open_store() as store:
        patterns = store.patterns
        candidates = rank(cluster(patterns.evidence, patterns.statuses()), context.clock())
        proposed = [
            candidate
            for candidate in candidates
            if everything or not candidate.left_out or candidate.status != "candidate"
        ]
        return proposals_of(proposed, patterns.evidence())


def propose_detected(context: CurateContext) -> Sequence[Decision]:
    """Detect, and keep what is found for review, as a person who looks at rules expects.

    Proposals that came from a file stay; earlier ones of detection that it no longer finds go.
    """
    if not store_exists(context.paths.data):
        return ()
    with context.open_store() as store:
        detect(store.patterns, DetectQuery(), context.clock())
        statuses, stamp = store.patterns.statuses(), store.patterns.evidence_stamp()
    detected = detected_proposals(context)
    names = {proposal.id for proposal in detected}
    others = [
        proposal
        for name, proposal in read_catalog(context.paths.data).proposals.items()
        if name not in names and (name in statuses or not proposal.rank)
    ]
    decisions = take_in(context, [*others, *detected], complete=True)
    note_detection(context.paths, stamp)
    return decisions


def add_rule(context: CurateContext, rule: OwnRule, *, dry_run: bool = False) -> Sequence[Decision]:
    """Take a rule of a person's own into the catalog."""
    clean = make_text_cleaner(context)

    def add(catalog: Catalog) -> list[Decision]:
        return [add_own(catalog, rule, context.config.curate, clean)]

    return _carry_out(context, add, dry_run)


def take_in(
    context: CurateContext, proposals: Sequence[Proposal], *, complete: bool, dry_run: bool = False
) -> Sequence[Decision]:
    """Keep proposals, and look again at provisional patterns with the evidence that has come in.

    `complete` says that these are all there are. Earlier ones then go: the sessions that they rest
    on may have been forgotten.
    """
    clean = make_text_cleaner(context)

    def keep_and_regate(catalog: Catalog) -> Sequence[Decision]:
        before = Catalog(catalog.patterns) if complete else catalog
        after = propose(before, proposals, clean)
        decisions = regate(after, context.clock(), context.config.curate)
        if not dry_run:
            write_proposals(context.paths.data, after.proposals)
        return decisions

    return _carry_out(context, keep_and_regate, dry_run)


def sync_store(context: CurateContext, *, dry_run: bool = False) -> SyncReport:
    """Make the store follow the catalog's files, which are the truth."""
    with _catalog_to_change(context, dry_run) as files, context.open_store() as store:
        catalog = under_gate(files, context.config.curate)
        decided: list[tuple[str, str, str, Status]] = [
            (name, pattern.kind, pattern.type, pattern.current.status)
            for name, pattern in sorted(catalog.patterns.items())
        ]
        stored = store.patterns.statuses()
        if not dry_run:
            store.patterns.restore(decided, context.clock())
            detect(store.patterns, DetectQuery(), context.clock())
            write_patterns(context.paths.data, catalog, ())
    return SyncReport(
        patterns=len(decided),
        changed=tuple(name for name, _, _, status in decided if stored.get(name) != status),
        edited_by_hand=tuple(
            name for name, pattern in sorted(catalog.patterns.items()) if pattern.is_edited
        ),
        held_back=held_back(files, context.config.curate),
    )


def read_stages(context: CurateContext) -> list[PatternStage]:
    """Where every pattern stands in the loop, and the next command for it."""
    data, effects = context.paths.data, ()
    if store_exists(data):
        with context.open_store() as store:
            effects = tuple(store.effects.all())
    catalog = under_gate(read_catalog(data), context.config.curate)
    policy = context.config.curate
    thin = frozenset(name for name in ranked(catalog) if _is_thin(catalog, name, policy))
    return stages(LoopFacts(catalog, read_given(data), read_trials(data), effects, thin))


def _is_thin(catalog: Catalog, name: str, policy: Curate) -> bool:
    """Whether a pattern cannot be taken further with the evidence there is."""
    result, status = grounds(catalog, name, policy).gate, catalog.status(name)
    if status == "candidate":
        return not result.promotes
    return status == "provisional" and not result.distributes


def default_reviewer(environ: Mapping[str, str]) -> str:
    """Who decides where no name is given: the user of this machine."""
    names = (environ.get(name) for name in ("USER", "LOGNAME", "USERNAME"))
    return next(filter(None, names), "unknown")


def make_text_cleaner(context: CurateContext) -> Clean:
    """Texts are redacted as in a sweep. The tags are not kept, so any key will do."""
    return make_clean(make_redactor(b"review", context.config.redact, context.warn))


def _carry_out(
    context: CurateContext, decide: Callable[[Catalog], Sequence[Decision]], dry_run: bool
) -> Sequence[Decision]:
    """Decide under a lock, and write what changed."""
    with _catalog_to_change(context, dry_run) as catalog:
        _warn_of_missing(context, catalog)
        decisions = decide(catalog)
        for decision in decisions:
            catalog = catalog.with_pattern(decision.pattern)
        if decisions and not dry_run:
            catalog = under_gate(catalog, context.config.curate)
            names = [decision.pattern.id for decision in decisions]
            write_patterns(context.paths.data, catalog, names)
            _update_statuses(context, catalog)
    if decisions and not dry_run:
        context.decided()
    return decisions


@contextmanager
def _catalog_to_change(context: CurateContext, dry_run: bool) -> Generator[Catalog]:
    """The catalog, locked unless nothing is going to be written."""
    if dry_run:
        yield read_catalog(context.paths.data)
    else:
        with changing(context.paths.data) as catalog:
            yield catalog


def _update_statuses(context: CurateContext, catalog: Catalog) -> None:
    """Update the status of every pattern in the store, in case an earlier run was cut off.

    A pattern whose file is lost keeps its status in the store: a rejection outlives the file.
    """
    if not store_exists(context.paths.data):
        return
    with context.open_store() as store:
        stored = store.patterns.statuses()
        for name in sorted(stored.keys() & catalog.patterns.keys()):
            if stored[name] != (status := catalog.status(name)):
                store.patterns.decide(name, status, context.clock())


def _retirements(context: CurateContext) -> dict[str, Retirement]:
    """Patterns that were measured and did not help."""
    if not store_exists(context.paths.data):
        return {}
    with context.open_store() as store:
        effects = latest_effects(store.effects.all())
    return {
        name: Retirement(effect.version, effect.verdict, verdict_sentence(effect))
        for name, effect in effects.items()
        if effect.retires
    }


def _warn_of_missing(context: CurateContext, catalog: Catalog) -> None:
    for name in missing(context.paths.data, catalog):
        context.warn(f"the index names {name}, which has no file; the next decision drops it")
