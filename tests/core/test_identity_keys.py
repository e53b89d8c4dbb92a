"""Keys that tell projects apart, and the domain a project belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.disk_tree import DiskTree
from session_memory.core.identity import (
    Options,
    Resolution,
    domain_for,
    project_key,
    resolve,
    unique_key,
)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("trip-studio", "trip-studio"),
        ("  Trip Studio \n", "Trip Studio"),
        ("/home/bob/app/", "app"),
        ("C:\\src\\app", "app"),
        ("bad\x1b[31m\x00name\u202e", "bad[31mname"),
        ("x" * 200, "x" * 80),
        ("x" * 79 + " y", "x" * 79),
        ("プロジェクト", "プロジェクト"),
        ("", None),
        (" \t", None),
        ("..", None),
        ("///", None),
        ("C:\\", None),
        (None, None),
    ],
)
def test_a_key_is_one_printable_name(name: str | None, key: str | None) -> None:
    assert project_key(name) == key


@given(st.text())
def test_a_key_is_stable_and_never_a_path(name: str) -> None:
    key = project_key(name)
    assert key is None or project_key(key) == key
    assert key is None or (0 < len(key) <= 80 and not set(key) & set("/\\\n\0"))


@pytest.mark.rows("IDN-02")
def test_two_roots_with_one_leaf_get_distinct_keys() -> None:
    holders: dict[str, str] = {}
    keys: list[str] = []
    for root in ("/a/app", "/b/app", "/c/app", "/b/app", "/a/app/"):
        key = unique_key("app", root, holders.get)
        holders.setdefault(key, root)
        keys.append(key)
    assert keys[0] == keys[4] == "app"
    assert keys[1] == keys[3] == unique_key("app", "/b/app", {"app": "/elsewhere"}.get)
    assert len(set(keys)) == 3
    name, _, suffix = keys[1].rpartition("-")
    assert name == "app"
    assert len(suffix) == 6
    assert set(suffix) <= set("0123456789abcdef")


def test_one_windows_root_in_two_spellings_keeps_its_key() -> None:
    assert unique_key("App", "d:/SRC/app", {"App": "D:\\src\\App"}.get) == "App"


def test_a_project_without_root_keeps_its_name() -> None:
    assert unique_key("default-project", None, lambda _: "/x") == "default-project"


def test_a_suffixed_key_that_is_taken_grows_and_stays_short() -> None:
    first = unique_key("k" * 80, "/a", {"k" * 80: "/z"}.get)
    grown = unique_key("k" * 80, "/a", {"k" * 80: "/z", first: "/y"}.get)
    assert first != grown
    assert len(first) == len(grown) == 80
    assert unique_key("k", "/a", lambda _: "/always").startswith("k-")


FOUND = Resolution(
    key="named",
    root="/work/mono/app",
    repo="/work/mono",
    remote="example.org/team/mono-repo",
    source="cwd:AGENTS.md",
    confidence="high",
)


@pytest.mark.rows("CAP-11")
@pytest.mark.parametrize(
    ("domains", "domain"),
    [
        ({}, "general"),
        ({"other": "web"}, "general"),
        ({"named": "web"}, "web"),
        ({"NAMED": "web"}, "web"),
        ({"/work/mono/app/": "web"}, "web"),
        ({"/work/mono": "web"}, "web"),
        ({"~/mono": "web"}, "web"),
        ({"mono": "web"}, "web"),
        ({"mono-repo": "web"}, "web"),
        ({"example.org/team/mono-repo": "web"}, "web"),
        ({"git@Example.org:team/mono-repo.git": "web"}, "web"),
        ({"https://u:p@example.org/team/mono-repo": "web"}, "web"),
        ({"mono": "low", "named": "mid", "/work/mono": "repo", "/work/mono/app": "top"}, "top"),
        ({"mono": "low", "named": "mid"}, "mid"),
        ({"named": ""}, "general"),
    ],
)
def test_a_project_gets_the_domain_it_is_mapped_to(domains: dict[str, str], domain: str) -> None:
    assert domain_for(FOUND, Options(domains=domains, home="/work")) == domain


@pytest.mark.rows("CAP-11")
def test_repositories_on_disk_get_their_domain_or_the_default(tmp_path: Path) -> None:
    for name in ("shop", "misc"):
        (tmp_path / name / ".git").mkdir(parents=True)
    options = Options(domains={"shop": "commerce"}, default_domain="unsorted")
    found = {
        name: domain_for(resolve(str(tmp_path / name), tree=DiskTree(), options=options), options)
        for name in ("shop", "misc", "gone")
    }
    assert found == {"shop": "commerce", "misc": "unsorted", "gone": "unsorted"}


def test_a_session_without_project_has_the_default_domain_unless_mapped() -> None:
    assert domain_for(Resolution(), Options(domains={"": "web", "/": "web"})) == "general"
    assert domain_for(Resolution(), Options(domains={"default-project": "web"})) == "web"
