"""The rules of review: pure functions from a catalog and a request to a pattern's next version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from session_memory.core.hashing import blake2b
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
from session_memory.core.text.masks import excerpt
from session_memory.curate.bloat import BloatWarning, bloat_warnings
from session_memory.curate.gate import admit, examples, gate, hold, take_snapshot
from session_memory.curate.wording import TEXT_LIMIT, Clean, clean_proposal
from session_memory.errors import NotFound, Refused, UsageError
from session_memory.settings import Curate

OWN_RULE = "own_rule"
"""The type of a rule that a person wrote."""
LOCUS_CHARS = 80
MOST_DAYS = 999
"""How long a rule can be put off."""
_DAY_MS = 86_400_000
OURSELVES = "session-memory"
"""Recorded as the reviewer of decisions that the program makes itself."""


class DecisionRequest(msgspec.Struct, frozen=True):
    """What a person wants done with a pattern, and who, when and why."""

    action: Literal["approve", "reject", "edit", "retire", "supersede", "snooze"]
    pattern: str
    who: str
    at: int
    why: str = ""
    text: str | None = None
    superseded_by: str | None = None
    until: int | None = None
    """When a rule that is put off comes back."""


def put_off(name: str, who: str, now: int, days: int, why: str = "") -> DecisionRequest:
    """A request to decide on a rule later, in some days."""
    if not 1 <= days <= MOST_DAYS:
        raise UsageError(f"a rule can be put off for 1 to {MOST_DAYS} days")
    return DecisionRequest("snooze", name, who, now, why, until=now + days * _DAY_MS)


def merge_into(into: str, name: str, who: str, now: int, why: str = "") -> DecisionRequest:
    """A request to replace a rule by another one that is in use."""
    return DecisionRequest("supersede", name, who, now, why, superseded_by=into)


class Decision(msgspec.Struct, frozen=True):
    """The pattern after a decision, and what the decision was based on."""

    before: Status
    pattern: Pattern
    gate: GateResult
    warnings: tuple[BloatWarning, ...] = ()
    is_foreign: bool = False
    """Whether it stays provisional only because its text quotes the output of a tool."""


class Grounds(msgspec.Struct, frozen=True):
    """The evidence there is now, and what it is enough for."""

    snapshot: Snapshot
    evidence: tuple[Evidence, ...]
    gate: GateResult


def review(catalog: Catalog, request: DecisionRequest, policy: Curate, clean: Clean) -> Decision:
    """Decide on a pattern. Only the gate decides whether approval means provisional or approved."""
    entry = find(catalog, request.pattern)
    before, ground = catalog.status(request.pattern), grounds(catalog, request.pattern, policy)
    text = _text_after(entry, request, clean)
    requested_status = _status_after(catalog, request, before, ground.gate)
    after = _unless_quoted(requested_status, entry, text)
    check_transition(before, after)
    version = PatternVersion(
        number=0,  # both numbers are set by _append
        revision=0,
        status=after,
        action=request.action,
        who=clean(request.who),
        at=request.at,
        text=text,
        why=clean(request.why),
        distribution_ready=after == "approved",
        superseded_by=request.superseded_by if after == "superseded" else None,
        snoozed_until=request.until if request.action == "snooze" else None,
        snapshot=ground.snapshot,
        evidence=ground.evidence,
    )
    pattern = _append(catalog, entry, version)
    warns = request.action in ("approve", "edit")
    warnings = bloat_warnings(catalog, pattern, policy.max_patterns) if warns else ()
    return Decision(before, pattern, ground.gate, warnings, after != requested_status)


class OwnRule(msgspec.Struct, frozen=True):
    """A rule that a person writes: its words, the projects it is for, who, when and why."""

    text: str
    repos: tuple[str, ...]
    who: str
    at: int
    why: str = ""


def add_own(catalog: Catalog, rule: OwnRule, policy: Curate, clean: Clean) -> Decision:
    """Take a person's own rule into the catalog; the person is its evidence."""
    text, who = clean(rule.text), clean(rule.who)
    if not text or len(text) > TEXT_LIMIT:
        raise UsageError(f"a rule must have 1 to {TEXT_LIMIT} characters")
    words = "\0".join((OWN_RULE, text, *sorted(rule.repos)))
    name = blake2b(words.encode("utf-8", "replace"), digest_size=6).hexdigest()
    entry: Proposal | Pattern = catalog.patterns.get(name) or Proposal(
        name, "success", OWN_RULE, excerpt(" ".join(text.split()), LOCUS_CHARS), text
    )
    before = catalog.status(name)
    if before in LIVE:
        raise Refused(f"{name} says this already, and is {before}")
    snapshot = Snapshot(
        frequency=1,
        repos=tuple(sorted(rule.repos)),
        first_seen=rule.at,
        last_seen=rule.at,
        written_by=who,
    )
    result = gate(snapshot, policy.gate)
    version = PatternVersion(
        number=0,
        revision=0,
        status=admit(name, result),
        action="approve",
        who=who,
        at=rule.at,
        text=text,
        why=clean(rule.why) or "a rule of one's own",
        distribution_ready=result.distributes,
        snapshot=snapshot,
    )
    pattern = _append(catalog, entry, version)
    return Decision(before, pattern, result, bloat_warnings(catalog, pattern, policy.max_patterns))


def _status_after(
    catalog: Catalog, request: DecisionRequest, before: Status, result: GateResult
) -> Status:
    match request.action:
        case "approve":
            return admit(request.pattern, result)
        case "reject":
            return "rejected"
        case "retire":
            return "retired"
        case "supersede":
            other = request.superseded_by
            if other is None or other == request.pattern or catalog.status(other) not in LIVE:
                raise UsageError(f"{request.pattern} can only be superseded by another rule in use")
            return "superseded"
        case "snooze":
            if before not in ("candidate", "provisional"):
                raise UsageError(f"{request.pattern} is {before}: it does not await a decision")
            return before
        case "edit":
            if before not in LIVE and before != "candidate":
                raise UsageError(f"{request.pattern} is {before}: approve it before editing it")
            return hold(before, result)


def _unless_quoted(status: Status, entry: Proposal | Pattern, text: str) -> Status:
    """A text that quotes a tool is not given to agents until a person has reworded it."""
    foreign = status == "approved" and in_foreign_words(entry, text)
    return "provisional" if foreign else status


def _text_after(entry: Proposal | Pattern, request: DecisionRequest, clean: Clean) -> str:
    """Approving takes the text as it stands in the file; other decisions leave the text alone."""
    if request.text is not None:
        text = clean(request.text)
    elif request.action in ("approve", "edit") or isinstance(entry, Proposal):
        text = clean(entry.text)
    else:
        return entry.current.text
    if not text or len(text) > TEXT_LIMIT:
        raise UsageError(f"the text of {entry.id} must have 1 to {TEXT_LIMIT} characters")
    return text


def undo(catalog: Catalog, who: str, at: int, policy: Curate) -> Decision:
    """Take back a person's last decision; the history keeps both."""
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
        snoozed_until=earlier.snoozed_until if earlier else None,
        undoes=taken.revision,
    )
    return Decision(pattern.current.status, _append(catalog, pattern, version), result)


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


def propose(catalog: Catalog, proposals: Iterable[Proposal], clean: Clean) -> Catalog:
    """The catalog with these proposals added or replaced; decisions already made stand."""
    fresh = {proposal.id: clean_proposal(proposal, clean) for proposal in proposals}
    return replace(catalog, proposals={**catalog.proposals, **fresh})


def regate(catalog: Catalog, at: int, policy: Curate) -> tuple[Decision, ...]:
    """New versions of provisional patterns whose evidence now passes the gate.

    They become approved with `curate.auto_promote`, otherwise they are listed for review again.
    """
    changed: list[Decision] = []
    for name, pattern in sorted(catalog.patterns.items()):
        ground, current = grounds(catalog, name, policy), pattern.current
        was_enough = gate(current.snapshot, policy.gate).distributes
        if current.status != "provisional" or not ground.gate.distributes:
            continue
        if was_enough and not policy.auto_promote:
            continue  # listed for review already
        status = admit(name, ground.gate) if policy.auto_promote else current.status
        status = _unless_quoted(status, pattern, current.text)
        if status == current.status and was_enough:
            continue  # waits for a person to reword what it quotes
        version = replace(
            current,
            status=status,
            action="regate",
            who=OURSELVES,
            at=at,
            why="evidence reached the floors of distribution",
            distribution_ready=status == "approved",
            undoes=None,
            snapshot=ground.snapshot,
            evidence=ground.evidence,
        )
        after = _append(catalog, pattern, version)
        warnings = bloat_warnings(catalog, after, policy.max_patterns)
        catalog = catalog.with_pattern(after)
        changed.append(Decision(current.status, after, ground.gate, warnings))
    return tuple(changed)


def grounds(catalog: Catalog, name: str, policy: Curate) -> Grounds:
    """The evidence for a pattern: what detection last found, else what was last decided on."""
    if proposal := catalog.proposals.get(name):
        snapshot = take_snapshot(proposal.evidence, policy.gate.evidence_per_session)
        return Grounds(snapshot, examples(proposal.evidence), gate(snapshot, policy.gate))
    current = catalog.patterns[name].current
    return Grounds(current.snapshot, current.evidence, gate(current.snapshot, policy.gate))


def gate_now(catalog: Catalog, name: str, policy: Curate) -> GateResult:
    """What the evidence for a pattern is enough for now, without examples for a reader."""
    if proposal := catalog.proposals.get(name):
        snapshot = take_snapshot(proposal.evidence, policy.gate.evidence_per_session)
    else:
        snapshot = catalog.patterns[name].current.snapshot
    return gate(snapshot, policy.gate)


def awaits_decision(catalog: Catalog, name: str, policy: Curate) -> bool:
    """Whether a person should look at it: new, edited, with more evidence, or without effect."""
    pattern, status = catalog.patterns.get(name), catalog.status(name)
    if name in catalog.snoozed:
        return False
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
            reasons[name] = "it quotes the output of a tool"
    return reasons


def under_gate(catalog: Catalog, policy: Curate) -> Catalog:
    """The catalog with everything that the gate holds back made provisional."""
    for name in held_back(catalog, policy):
        pattern = catalog.patterns[name]
        *earlier, current = pattern.versions
        current = replace(current, status="provisional", distribution_ready=False)
        catalog = catalog.with_pattern(replace(pattern, versions=(*earlier, current)))
    return catalog


def distributable(catalog: Catalog, policy: Curate) -> tuple[Pattern, ...]:
    """Patterns that agents may be given: approved by a person, and still above the floors."""
    patterns = under_gate(catalog, policy).patterns
    return tuple(p for _, p in sorted(patterns.items()) if p.current.distribution_ready)


def find(catalog: Catalog, name: str) -> Proposal | Pattern:
    """The pattern of that id or, before any decision on it, the proposal."""
    entry = catalog.patterns.get(name) or catalog.proposals.get(name)
    if entry is None:
        hint = "`session-memory rules list --all` names them"
        raise NotFound(f"no rule {name}", hint=hint)
    return entry


def _append(catalog: Catalog, entry: Proposal | Pattern, version: PatternVersion) -> Pattern:
    """The pattern with one more version, the latest of the whole catalog."""
    earlier = entry.versions if isinstance(entry, Pattern) else ()
    number, revision = len(earlier) + 1, catalog.revision + 1
    version = replace(version, number=number, revision=revision)
    # A text that is being edited in the file must not be overwritten before its decision.
    decided: tuple[Action, ...] = ("approve", "edit")
    keeps = isinstance(entry, Pattern) and entry.is_edited and version.action not in decided
    text = entry.text if keeps else version.text
    return Pattern(entry.id, entry.kind, entry.type, entry.locus, text, (*earlier, version))
