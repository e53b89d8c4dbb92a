"""Only the browser that opened the printed link is answered."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.web.served import Served, serving

from session_memory.testing.workspace import Workspace


@pytest.fixture
def served(space: Workspace) -> Iterator[Served]:
    with serving(space) as page:
        yield page


@pytest.mark.rows("WEB-02")
def test_without_the_link_nothing_is_shown(served: Served) -> None:
    for path in ("/", "/sessions", "/static/page.css", "/no/such/page"):
        assert served.ask(path).status == 401
    answer = served.open()
    assert answer.status == 303
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    assert served.ask("/").status == 200


@pytest.mark.rows("WEB-02")
def test_the_link_works_once(served: Served) -> None:
    assert served.open().status == 303
    cookie, served.cookie = served.cookie, ""
    assert served.open().status == 401
    served.cookie = f"{cookie}x"
    assert served.ask("/").status == 401
    served.cookie = cookie
    assert served.ask("/").status == 200


@pytest.mark.rows("WEB-03")
def test_another_name_of_this_machine_is_refused_and_told_what_to_do(served: Served) -> None:
    served.open()
    for host in ("evil.test", f"evil.test:{served.port}", "", "127.0.0.1"):
        answer = served.ask("/", headers={"Host": host})
        assert answer.status == 421
        assert "--name" in answer.text
    assert served.ask("/", headers={"Host": f"localhost:{served.port}"}).status == 200


@pytest.mark.rows("WEB-03")
def test_a_name_of_a_port_forward_is_answered(space: Workspace) -> None:
    with serving(space, "--name", "devbox:9000") as served:
        served.open()
        assert served.ask("/", headers={"Host": "devbox:9000"}).status == 200
        assert served.ask("/", headers={"Host": "devbox:9001"}).status == 421


@pytest.mark.rows("WEB-03")
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_of_other_sites_are_refused(served: Served, headers: dict[str, str]) -> None:
    served.open()
    assert served.ask("/", headers=headers).status == 403
    assert served.ask("/", form={"a": "b"}, headers=headers).status == 403


@pytest.mark.rows("WEB-03")
def test_a_form_needs_its_token_and_other_methods_have_no_use(served: Served) -> None:
    served.open()
    assert served.ask("/", form={"form_token": "guess"}).status == 403
    assert served.ask("/", form={"form_token": "x" * 400_000}).status == 413
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert served.ask("/", method=method).status == 405


@pytest.mark.rows("WEB-03")
def test_every_answer_forbids_foreign_scripts_frames_and_caches(served: Served) -> None:
    refused, opened = served.ask("/"), served.open()
    for answer in (refused, opened, served.ask("/"), served.ask("/static/page.js")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.rows("WEB-01")
def test_it_ends_with_ctrl_c_and_without_complaint(served: Served) -> None:
    served.open()
    code, said = served.end()
    assert code == 0
    assert "Traceback" not in said and "error" not in said


@pytest.mark.rows("WEB-01")
def test_without_a_store_the_page_says_how_to_begin(served: Served) -> None:
    served.open()
    assert "session-memory init" in served.ask("/").text
