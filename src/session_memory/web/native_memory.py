"""What the agents of a project have been told in files of their own, and what is wrong with it."""

from __future__ import annotations

import os
from urllib.parse import quote

from session_memory.core.schema import Project
from session_memory.curate.native_fixes import apply_fix, diff_of, read_applied, undo_fix
from session_memory.errors import NotFound, Refused
from session_memory.memory.native.audit import Audit
from session_memory.recall.scope import find_project
from session_memory.web.context import WebContext
from session_memory.web.page import GoTo, Page, PageRequest
from session_memory.worker.memory_audit import audit_project


def audit_page(web: WebContext, page_request: PageRequest) -> Page:
    """Files, tokens, findings and the diffs that would put them right."""
    project, made = _audited(web, page_request)
    diffs = {
        finding.id: diff_of(finding.fix, finding.quotes[-1].file)
        for finding in made.findings
        if finding.fix is not None
    }
    return Page(
        "native_memory.html",
        {
            "project": project,
            "audit": made,
            "readers": made.readers(),
            "tokens": {agent: made.tokens(agent) for agent in made.readers()},
            "diffs": diffs,
            "applied": [fix for fix in read_applied(web.paths.data) if fix.root == made.root],
            "note": page_request.query.get("note", ""),
        },
    )


def decide_on_fix(web: WebContext, page_request: PageRequest) -> GoTo:
    """Make one proposed change, or take one back."""
    here = f"/memory/{quote(page_request.path['project'], safe='')}/files"
    name = page_request.form.get("finding", "")
    choice = page_request.form.get("choice", "")
    try:
        if choice == "undo":
            undo_fix(web.paths.data, name, web.clock())
            return GoTo(here, "The line is as it was.")
        if choice != "apply":
            raise NotFound(f"There is no decision {choice!r}")
        _, made = _audited(web, page_request)
        finding = next((each for each in made.findings if each.id == name), None)
        if finding is None:
            raise NotFound("This is not found any more")
        apply_fix(web.paths.data, made.root, finding, web.clock())
        return GoTo(here, "The line is changed.")
    except Refused as refused:
        return GoTo(here, f"{refused.message}. {refused.hint or ''}".strip())


def _audited(web: WebContext, page_request: PageRequest) -> tuple[Project, Audit]:
    home = web.environ.get("HOME") or os.path.expanduser("~")
    with web.reading() as store:
        project = find_project(store.projects(), page_request.path["project"])
        return project, audit_project(store, project, web.config, web.environ, home)
