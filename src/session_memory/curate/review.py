"""Decisions on patterns: pure functions from a catalog and a wish to the pattern's next version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from session_memory.core.loop.catalog import (
    LIVE,
    Action,
    Catalog,
    Evidence,
    GateResult,
    Pattern,
    PatternVersion,
    Proposal,
    Snapshot,
    Status,
    check_transition,
)
from session_memory.core.loop.tool_words import in_foreign_words
from session_memory.curate.bloat import BloatWarning, bloat_warnings
from session_memory.curate.gate import admit, examples, gate, hold, take_snapshot
from session_memory.curate.wording import TEXT_LIMIT, Clean, clean_proposal
from session_memory.errors import NotFound, Refused, UsageError
from session_memory.settings import Curate

OURSELVES = "session-memory"
"""Who decides where the configuration lets evidence alone decide."""


class Ask(msgspec.Struct, frozen=True):
    """What a person wants done with a pattern, and who, when and why."""

    action: Literal["approve", "reject", "edit", "retire", "supersede"]
    pattern: str
    who: str
    at: int
    why: str = ""
    text: str | None = None
    superseded_by: str | None = None


class Reviewed(msgspec.Struct, frozen=True):
    """The pattern after a decision, and what the decision rested on."""

    before: Status
    pattern: Pattern
    gate: GateResult
    warnings: tuple[BloatWarning, ...] = ()
    is_foreign: bool = False
    """Whether only the words, which are a tool's, keep it from agents."""


class Grounds(msgspec.Struct, frozen=True):
    """The evidence there is now, and what it is enough for."""

    snapshot: Snapshot
    evidence: tuple[Evidence, ...]
    gate: GateResult


def review(catalog: Catalog, ask: Ask, policy: Curate, clean: Clean) -> Reviewed:
    """Decide on a pattern. Whether a yes means provisional or approved is up to the gate alone."""
    entry = find(catalog, ask.pattern)
    before, found = catalog.status(ask.pattern), grounds(catalog, ask.pattern, policy)
    text = _text_after(entry, ask, clean)
    wished = _status_after(catalog, ask, before, found.gate)
    after = _in_own_words(wished, entry, text)
    check_transition(before, after)
    version = PatternVersion(
        number=0,  # both numbers are given by _append
        revision=0,
        status=after,
        action=ask.action,
        who=clean(ask.who),
        at=ask.at,
        text=text,
        why=clean(ask.why),
        distribution_ready=after == "approved",
        superseded_by=ask.superseded_by if after == "superseded" else None,
        snapshot=found.snapshot,
        evidence=found.evidence,
    )
    pattern = _append(catalog, entry, version)
    warns = ask.action in ("approve", "edit")
    warnings = bloat_warnings(catalog, pattern, policy.max_patterns) if warns else ()
    return Reviewed(before, pattern, found.gate, warnings, after != wished)


def _status_after(catalog: Catalog, ask: Ask, before: Status, result: GateResult) -> Status:
    match ask.action:
        case "approve":
            return admit(ask.pattern, result)
        case "reject":
            return "rejected"
        case "retire":
            return "retired"
        case "supersede":
            other = ask.superseded_by
            if other is None or other == ask.pattern or catalog.status(other) not in LIVE:
                raise UsageError(f"{ask.pattern} can be superseded by another pattern in use only")
            return "superseded"
        case "edit":
            if before not in LIVE and before != "candidate":
                raise UsageError(f"{ask.pattern} is {before}: approve it before editing it")
            return hold(before, result)


def _in_own_words(status: Status, entry: Proposal | Pattern, text: str) -> Status:
    """What a tool said is never ready for agents: a person says it in other words first."""
    foreign = status == "approved" and in_foreign_words(entry, text)
    return "provisional" if foreign else status


def _text_after(entry: Proposal | Pattern, ask: Ask, clean: Clean) -> str:
    """A yes is to the text as it stands in the file; every other decision leaves the text alone."""
    if ask.text is not None:
        text = clean(ask.text)
    elif ask.action in ("approve", "edit") or isinstance(entry, Proposal):
        text = clean(entry.text)
    else:
        return entry.current.text
    if not text or len(text) > TEXT_LIMIT:
        raise Refused(f"the text of {entry.id} must have 1 to {TEXT_LIMIT} characters")
    return text


def undo(catalog: Catalog, who: str, at: int, policy: Curate) -> Reviewed:
    """Take back the last decision of a person; what it was stays in the history."""
    pattern, index = _last_decision(catalog)
    taken, earlier = pattern.versions[index], pattern.versions[index - 1] if index else None
    basis = earlier or taken
    proposal = catalog.proposals.get(pattern.id)
    if earlier is None and proposal:  # the text before the first decision was the proposal's
        basis = replace(basis, text=proposal.text)
    result = gate(basis.snapshot, policy.gate)
    status = hold(earlier.status, result) if earlier else "candidate"
    version = replace(
        basis,
        status=status,
        action="undo",
        who=who,
        at=at,
        why="",
        distribution_ready=status == "approved",
        undoes=taken.revision,
    )
    return Reviewed(pattern.current.status, _append(catalog, pattern, version), result)


def _last_decision(catalog: Catalog) -> tuple[Pattern, int]:
    versions = [
        (version.revision, pattern, index)
        for pattern in catalog.patterns.values()
        for index, version in enumerate(pattern.versions)
    ]
    undone = {pattern.versions[index].undoes for _, pattern, index in versions}
    by_people = [
        item
        for item in versions
        if item[1].versions[item[2]].action not in ("undo", "regate") and item[0] not in undone
    ]
    if not by_people:
        raise NotFound("there is no decision to undo")
    _, pattern, index = max(by_people, key=lambda item: item[0])
    return pattern, index


def propose(catalog: Catalog, found: Iterable[Proposal], clean: Clean) -> Catalog:
    """The catalog with what detection found. A decision stands however much evidence arrives."""
    fresh = {proposal.id: clean_proposal(proposal, clean) for proposal in found}
    return replace(catalog, proposals={**catalog.proposals, **fresh})


def regate(catalog: Catalog, at: int, policy: Curate) -> tuple[Reviewed, ...]:
    """The provisional patterns whose evidence has grown enough: approved, or up for review.

    Which of the two is `curate.auto_promote`; either way it is a version with the new evidence.
    """
    changed: list[Reviewed] = []
    for name, pattern in sorted(catalog.patterns.items()):
        found, current = grounds(catalog, name, policy), pattern.current
        was_enough = gate(current.snapshot, policy.gate).distributes
        if current.status != "provisional" or not found.gate.distributes:
            continue
        if was_enough and not policy.auto_promote:
            continue  # listed for review already
        status = admit(name, found.gate) if policy.auto_promote else current.status
        status = _in_own_words(status, pattern, current.text)
        if status == current.status and was_enough:
            continue  # what a tool said waits for a person's words
        version = replace(
            current,
            status=status,
            action="regate",
            who=OURSELVES,
            at=at,
            why="evidence reached the floors of distribution",
            distribution_ready=status == "approved",
            undoes=None,
            snapshot=found.snapshot,
            evidence=found.evidence,
        )
        after = _append(catalog, pattern, version)
        warnings = bloat_warnings(catalog, after, policy.max_patterns)
        catalog = catalog.with_pattern(after)
        changed.append(Reviewed(current.status, after, found.gate, warnings))
    return tuple(changed)


def grounds(catalog: Catalog, name: str, policy: Curate) -> Grounds:
    """The evidence for a pattern: what detection last found, else what was last decided on."""
    if proposal := catalog.proposals.get(name):
        snapshot = take_snapshot(proposal.evidence, policy.gate.evidence_per_session)
        return Grounds(snapshot, examples(proposal.evidence), gate(snapshot, policy.gate))
    current = catalog.patterns[name].current
    return Grounds(current.snapshot, current.evidence, gate(current.snapshot, policy.gate))


def awaits_decision(catalog: Catalog, name: str, policy: Curate) -> bool:
    """Whether a person should look: a candidate, an edited text, evidence that grew, no effect."""
    pattern, status = catalog.patterns.get(name), catalog.status(name)
    if status == "candidate" or pattern is None:
        return True
    if pattern.is_edited or catalog.retirement(name) is not None:
        return True
    return status == "provisional" and grounds(catalog, name, policy).gate.distributes


def held_back(catalog: Catalog, policy: Curate) -> dict[str, str]:
    """Patterns that their files call approved although the gate does not let them pass, with why.

    A file can be edited by hand or come from another machine, and floors can rise.
    """
    reasons: dict[str, str] = {}
    for name, pattern in sorted(catalog.patterns.items()):
        current = pattern.current
        if current.status != "approved":
            continue
        result = gate(current.snapshot, policy.gate)
        if not result.distributes:
            reasons[name] = "; ".join(map(str, result.shortfalls))
        elif in_foreign_words(pattern, current.text):
            reasons[name] = "it quotes what a tool said"
    return reasons


def under_gate(catalog: Catalog, policy: Curate) -> Catalog:
    """The catalog as the gate sees it: what is held back is provisional, whatever its file says."""
    for name in held_back(catalog, policy):
        pattern = catalog.patterns[name]
        *earlier, current = pattern.versions
        current = replace(current, status="provisional", distribution_ready=False)
        catalog = catalog.with_pattern(replace(pattern, versions=(*earlier, current)))
    return catalog


def distributable(catalog: Catalog, policy: Curate) -> tuple[Pattern, ...]:
    """What agents may be given: approved by a person, and by today's floors still enough."""
    patterns = under_gate(catalog, policy).patterns
    return tuple(one for _, one in sorted(patterns.items()) if one.current.distribution_ready)


def find(catalog: Catalog, name: str) -> Proposal | Pattern:
    """What is known under an id: the pattern where one was decided on, else the proposal."""
    entry = catalog.patterns.get(name) or catalog.proposals.get(name)
    if entry is None:
        hint = "`session-memory review list --all` names them"
        raise NotFound(f"no pattern {name}", hint=hint)
    return entry


def _append(catalog: Catalog, entry: Proposal | Pattern, version: PatternVersion) -> Pattern:
    """The pattern with one more version, the latest of the whole catalog."""
    earlier = entry.versions if isinstance(entry, Pattern) else ()
    number, revision = len(earlier) + 1, catalog.revision + 1
    version = replace(version, number=number, revision=revision)
    # A text that somebody is editing in the file is not ours to overwrite before it is decided on.
    decided: tuple[Action, ...] = ("approve", "edit")
    keeps = isinstance(entry, Pattern) and entry.is_edited and version.action not in decided
    text = entry.text if keeps else version.text
    return Pattern(entry.id, entry.kind, entry.type, entry.locus, text, (*earlier, version))
