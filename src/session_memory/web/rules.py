"""The inbox of rules: what each rests on, what a yes would change, and the decision itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from session_memory.core.file_edits import FileDiff, line_diff
from session_memory.core.loop.catalog import LIVE, Catalog, Pattern
from session_memory.core.text.masks import excerpt
from session_memory.curate.bloat import index_catalog
from session_memory.curate.decisions import (
    add_rule,
    decide,
    default_reviewer,
    describe,
    full_id,
    propose_detected,
    ranked,
    read_for_review,
    undo_last,
)
from session_memory.curate.freshness import is_current, was_detected
from session_memory.curate.review import (
    DecisionRequest,
    OwnRule,
    awaits_decision,
    gate_now,
    merge_into,
    put_off,
)
from session_memory.distribute.apply import distribute
from session_memory.distribute.files import FileReader
from session_memory.distribute.ledger import Ledger, read_ledger
from session_memory.distribute.plan import make_plan
from session_memory.distribute.plan_builder import Change, LeftOut, Plan, Refusal
from session_memory.distribute.state import states
from session_memory.distribute.undo import UndoRequest, plan_undo
from session_memory.errors import NotFound, Refused, UsageError
from session_memory.web.context import WebContext
from session_memory.web.page import GoTo, Page, PageRequest
from session_memory.worker.lessons import gather, writing_problem

PAGE = 25
QUICK = 1_000
"""Sessions that detection goes through while a person waits for the page."""
_WORDS = 80
Action = Literal["approve", "reject", "retire", "edit", "snooze", "supersede"]


def rules_page(web: WebContext, page_request: PageRequest) -> Page:
    """What awaits a decision first; with `all`, everything."""
    detected, policy = _look_for_rules(web), web.config.curate
    ledger = read_ledger(web.paths.data)
    catalog = read_for_review(web.curate)
    index = index_catalog(catalog)
    # Without a rule that was decided on nothing would change, and planning that is slow.
    plan = _plan(web, ledger) if catalog.patterns or ledger.entries else Plan()
    promotes = {
        name: gate_now(catalog, name, policy).promotes
        for name in ranked(catalog)
        if awaits_decision(catalog, name, policy)
    }
    waiting = sorted(promotes, key=lambda name: not promotes[name])
    start = min(page_request.number("start", 0), max(0, len(waiting) - 1)) // PAGE * PAGE
    decided = [pattern for name, pattern in catalog.patterns.items() if _is_decided(catalog, name)]
    with web.reading() as store:
        projects = [project.key for project in store.projects() if project.root]
    return Page(
        "rules.html",
        {
            "waiting": [
                describe(catalog, name, policy, index) for name in waiting[start : start + PAGE]
            ],
            "count": len(waiting),
            "awaiting": sum(promotes.values()),
            "start": start,
            "page": PAGE,
            "detected": detected,
            "snoozed": [catalog.patterns[name] for name in sorted(catalog.snoozed)],
            "live": _live(catalog),
            "gate": policy.gate,
            "decided": sorted(decided, key=lambda each: -each.current.revision),
            "files": states(ledger, FileReader(), writing_problem),
            "plan": [_diff(change) for change in plan.changes],
            "not_written": (*plan.refused, *plan.left_out),
            "projects": projects,
            "note": page_request.query.get("note", ""),
        },
    )


def rule_page(web: WebContext, page_request: PageRequest) -> Page:
    """One rule: quotes, what it cost, every version, and the files a yes would change."""
    context = web.curate
    catalog = read_for_review(context)
    name = full_id(catalog, page_request.path["rule"])
    row = describe(catalog, name, web.config.curate)
    pattern = catalog.patterns.get(name)
    plan = _if_approved(web, name, row)
    with web.reading() as store:
        sessions = {
            item.session: store.own_session(item.session, item.flavor) for item in row["evidence"]
        }
        shown_in = {item.repo for item in row["evidence"]}
        roots = [each.root for each in store.projects() if each.root and each.key in shown_in]
    return Page(
        "rule.html",
        {
            "rule": row,
            "sessions": sessions,
            "versions": pattern.versions if pattern else (),
            "live": [each for each in _live(catalog) if each.id != name],
            "gate": web.config.curate.gate,
            "snoozed": name in catalog.snoozed,
            "diffs": [_diff(change) for change in plan.changes if name in change.patterns],
            "not_written": _not_written(plan, name, roots),
            "note": page_request.query.get("note", ""),
        },
    )


def decide_on_rule(web: WebContext, page_request: PageRequest) -> GoTo:
    """Approve, reject, retire or edit one rule."""
    action = page_request.form.get("action", "")
    name, here = page_request.path["rule"], f"/rules/{quote(page_request.path['rule'])}"
    if action not in ("approve", "reject", "retire", "edit", "snooze", "supersede"):
        raise NotFound(f"There is no decision {action!r}")
    try:
        (done,) = decide(web.curate, [_decision_request(web, action, name, page_request.form)])
    except (Refused, UsageError) as refused:
        return GoTo(here, f"{refused.message}. {refused.hint or ''}".strip())
    return GoTo(_after(page_request, here), _decision_note(done.pattern))


def _decision_request(
    web: WebContext, action: Action, name: str, form: Mapping[str, str]
) -> DecisionRequest:
    """The decision that a form asks for."""
    who, now, why = default_reviewer(web.environ), web.clock(), form.get("reason", "").strip()
    match action:
        case "snooze":
            days = form.get("days", "")
            return put_off(name, who, now, int(days) if days.isdecimal() else 0, why)
        case "supersede":
            return merge_into(form.get("into", ""), name, who, now, why)
        case "reject":
            return DecisionRequest("reject", name, who, now, why or "no use")
        case "edit":
            return DecisionRequest("edit", name, who, now, why, form.get("text"))
        case _:
            return DecisionRequest(action, name, who, now, why)


def _after(page_request: PageRequest, here: str) -> str:
    """Back to the list for a decision made there, else the rule itself."""
    return "/rules" if page_request.form.get("from") == "list" else here


def _decision_note(pattern: Pattern) -> str:
    current = pattern.current
    words = excerpt(current.text, _WORDS)
    match current.action:
        case "snooze":
            return f"Put off: {words}"
        case "supersede":
            return f"Merged into another rule: {words}"
        case _:
            return f"It is {current.status} now: {words}"


def detected_page(web: WebContext, page_request: PageRequest) -> Page:
    """The inbox after all sessions were looked through for the first time: that takes seconds."""
    with web.detecting:
        if not was_detected(web.paths):
            web.front_end.detect()
    return rules_page(web, page_request)


def detect_rules(web: WebContext, _page_request: PageRequest) -> GoTo:
    """Look through all sessions for what recurs."""
    with web.detecting:
        web.front_end.detect()
    return GoTo("/rules", "All sessions were looked through.")


def _look_for_rules(web: WebContext) -> Literal["now", "before", "never"]:
    """Detect where that is quick; otherwise say when that was done last."""
    with web.reading() as store:
        if is_current(web.paths, store):
            return "now"
        few = len(store.heights()) <= QUICK
    if few:
        propose_detected(web.curate)
        return "now"
    return "before" if was_detected(web.paths) else "never"


def _is_decided(catalog: Catalog, name: str) -> bool:
    return catalog.status(name) != "candidate"


def _live(catalog: Catalog) -> list[Pattern]:
    """Rules in use, into which another may be merged."""
    return [each for name, each in sorted(catalog.patterns.items()) if catalog.status(name) in LIVE]


def undo_decision(web: WebContext, _page_request: PageRequest) -> GoTo:
    """Take the last decision back."""
    undone = undo_last(web.curate, default_reviewer(web.environ))
    names = ", ".join(decision.pattern.id for decision in undone)
    return GoTo("/rules", f"The last decision was taken back: {names}" if names else "")


def add_own_rule(web: WebContext, page_request: PageRequest) -> GoTo:
    """A rule in the user's own words, for one project."""
    project = page_request.form.get("project", "")
    rule = OwnRule(
        text=page_request.form.get("text", "").strip(),
        repos=(project,) if project else (),
        who=default_reviewer(web.environ),
        at=web.clock(),
    )
    (done, *_) = add_rule(web.curate, rule)
    return GoTo(f"/rules/{quote(done.pattern.id)}", "It was added.")


def distribute_rules(web: WebContext, _page_request: PageRequest) -> GoTo:
    """Write every approved rule into the files that the preview shows."""
    plan, result = distribute(
        web.paths.data, lambda ledger: _plan(web, ledger), lambda: _versions(web), web.clock
    )
    refused = len(plan.refused) + len(result.refused)
    return GoTo("/rules", _counted(len(result.changed), "file changed", refused))


def withdraw_rules(web: WebContext, page_request: PageRequest) -> GoTo:
    """Remove what was distributed: of one rule, or everything."""
    name = page_request.form.get("rule", "")
    request = UndoRequest(None, frozenset({name} if name else ()), force=False)
    _, result = distribute(
        web.paths.data,
        lambda ledger: plan_undo(ledger, FileReader(), writing_problem, request),
        lambda: _versions(web),
        web.clock,
    )
    return GoTo("/rules", _counted(len(result.changed), "file put back", len(result.refused)))


def _counted(count: int, what: str, refused: int) -> str:
    noun, _, verb = what.partition(" ")
    files = f"{count} {noun}{'s' * (count != 1)} {verb}."
    return f"{files} {refused} could not be changed." if refused else files


def _plan(web: WebContext, ledger: Ledger, also: Pattern | None = None) -> Plan:
    with web.reading() as store:
        request, _ = gather(store, web.paths.data, web.config, also)
    return make_plan(request, ledger, FileReader(), writing_problem)


def _versions(web: WebContext) -> dict[str, int]:
    catalog = read_for_review(web.curate)
    return {name: pattern.current.number for name, pattern in catalog.patterns.items()}


def _if_approved(web: WebContext, name: str, row: dict[str, Any]) -> Plan:
    """What a yes would do to files; nothing where the gate holds it back."""
    if not row["gate"]["promotes"] or row["status"] not in ("candidate", "provisional"):
        return Plan()
    request = DecisionRequest("approve", name, default_reviewer(web.environ), web.clock())
    (would,) = decide(web.curate, [request], dry_run=True)
    return _plan(web, read_ledger(web.paths.data), would.pattern)


def _not_written(plan: Plan, name: str, roots: list[str]) -> list[Refusal | LeftOut]:
    """Why a rule does not reach files of the projects that showed it."""
    refused = [each for each in plan.refused if each.where.startswith(tuple(roots))]
    return [*refused, *(each for each in plan.left_out if each.pattern == name)]


def _diff(change: Change) -> FileDiff:
    before, after = (
        (content or b"").decode("utf-8", "replace") for content in (change.before, change.after)
    )
    return FileDiff(change.place.full_path, line_diff(before, after))
