"""Text from logs is shown as text."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from tests.web.test_app_pages import opened

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.mark.rows("WEB-05")
def test_hostile_text_in_any_field_of_a_log_is_shown_as_text(space: Workspace) -> None:
    hostile = (
        "<script>document.title='owned'</script><img src=x onerror=alert(1)>\u202e {{ 7 * 7 }}"
    )
    folder = "<img src=x onerror=alert(2)>"
    log = ClaudeLog(seed=8, cwd=f"/work/{folder}")
    log.branch, log.version, log.model = hostile, hostile, hostile
    log.prompt(f"look {hostile}")
    log.edit(f"/work/{folder}/{hostile}.py", hostile, f"{hostile} changed")
    log.result(log.call(hostile, {"command": hostile}), hostile, error=True)
    log.title(hostile)
    child = log.subagent(hostile)
    child.say(hostile)
    space.write(log, child)
    space.sweep()
    key = quote(f"{folder}")
    paths = (
        *("/", "/sessions", "/search?q=look", "/usage?by=model&days=", "/usage?by=project&days="),
        *("/sessions/1", "/sessions/2", "/sessions/1/diff", "/sessions/2/diff", "/memory"),
        *(f"/memory/{key}", "/privacy", "/rules", "/effect", f"/sessions?project={key}"),
        *("/health", "/health/check", f"/search?q={quote(hostile)}&note={quote(hostile)}"),
        f"/memory/{key}?why={quote(hostile)}&note={quote(hostile)}",
        *("/forget?text=owned", "/sessions/1?find=%3Cscript%3E", "/search?q=%3Cscript%3E"),
    )
    with opened(space) as served:
        whole = ""
        for path in paths:
            answer = served.ask(path)
            assert answer.status == 200, (path, answer.text[-600:])
            assert "<script>document" not in answer.text, path
            assert "<img" not in answer.text, path
            assert "\u202e" not in answer.text, path
            whole += answer.text
    assert "&lt;script&gt;document" in whole and "{{ 7 * 7 }}" in whole
