"""Keys that tell projects apart, and the domain a project belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.identity import (
    DEFAULT_KEY,
    Holder,
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


def key_beside(key: str, root: str | None, holders: dict[str, str | None]) -> str:
    """The key of a root where `holders` (key to root) are there already."""
    return unique_key(key, root, lambda k: Holder(1, holders[k]) if k in holders else None)


@pytest.mark.rows("IDN-02")
def test_two_roots_with_one_leaf_get_distinct_keys() -> None:
    holders: dict[str, str | None] = {}
    keys: list[str] = []
    for root in ("/a/app", "/b/app", "/c/app", "/b/app", "/a/app/"):
        key = key_beside("app", root, holders)
        holders.setdefault(key, root)
        keys.append(key)
    assert keys[0] == keys[4] == "app"
    assert keys[1] == keys[3] == key_beside("app", "/b/app", {"app": "/elsewhere"})
    assert len(set(keys)) == 3
    name, _, suffix = keys[1].rpartition("-")
    assert name == "app"
    assert len(suffix) == 6
    assert set(suffix) <= set("0123456789abcdef")


def test_one_windows_root_in_two_spellings_keeps_its_key() -> None:
    assert key_beside("App", "d:/SRC/app", {"App": "D:\\src\\App"}) == "App"


@pytest.mark.rows("IDN-13")
def test_the_default_key_is_for_sessions_without_a_project() -> None:
    assert key_beside(DEFAULT_KEY, None, {}) == DEFAULT_KEY
    assert key_beside(DEFAULT_KEY, None, {DEFAULT_KEY: None}) == DEFAULT_KEY
    assert key_beside(DEFAULT_KEY, "/home/u/default-project", {}) != DEFAULT_KEY
    # A store of an earlier version may have given it to a folder of that name.
    other = key_beside(DEFAULT_KEY, None, {DEFAULT_KEY: "/home/u/default-project"})
    assert other.startswith(f"{DEFAULT_KEY}-")
    held: dict[str, str | None] = {DEFAULT_KEY: "/home/u/default-project", other: None}
    assert key_beside(DEFAULT_KEY, None, held) == other


def test_a_suffixed_key_that_is_taken_grows_and_stays_short() -> None:
    first = key_beside("k" * 80, "/a", {"k" * 80: "/z"})
    grown = key_beside("k" * 80, "/a", {"k" * 80: "/z", first: "/y"})
    assert first != grown
    assert len(first) == len(grown) == 80
    assert unique_key("k", "/a", lambda _: Holder(1, "/always")).startswith("k-")


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
