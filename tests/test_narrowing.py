"""A repository may ask for less, never for more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from session_memory.narrowing import (
    IGNORE_FILE,
    PROJECT_FILE,
    PROJECT_FILE_MAX,
    ProjectRules,
    is_excluded,
    read_project_rules,
)


def rules(folder: Path, text: str) -> ProjectRules:
    """What a repository with a file of that text asks for."""
    (folder / PROJECT_FILE).write_text(text, encoding="utf-8")
    return read_project_rules(str(folder))


def test_a_repository_without_a_file_asks_for_nothing(tmp_path: Path) -> None:
    assert read_project_rules(str(tmp_path)) == ProjectRules()
    assert read_project_rules(str(tmp_path / "gone")) == ProjectRules()


def test_a_repository_can_switch_off_exclude_and_name_its_domain(tmp_path: Path) -> None:
    found = rules(tmp_path, 'enabled = false\nexclude = ["private", "x/*"]\ndomain = "work"')
    assert not found.enabled
    assert found.exclude == (f"{tmp_path}/private", f"{tmp_path}/x/*")
    assert found.domain == "work"
    assert not found.warnings


def test_every_other_key_is_refused_with_a_warning(tmp_path: Path) -> None:
    found = rules(tmp_path, 'enabled = true\n[store]\npath = "/tmp"\n[retention]\nx = 1')
    assert found.enabled
    assert found.exclude == ()
    assert [name in "".join(found.warnings) for name in ("store", "retention", "enabled")] == [
        True,
        True,
        True,
    ]


def test_a_repository_cannot_exclude_places_outside_itself(tmp_path: Path) -> None:
    found = rules(tmp_path, 'exclude = ["/etc", "../other", "a/../../b"]')
    assert all(item.startswith(f"{tmp_path}/") and ".." not in item for item in found.exclude)


@pytest.mark.parametrize(
    "text", ["enabled = ", "enabled = 'no'", "exclude = 'x'", "domain = 5", "x" * 70_000]
)
def test_a_file_that_cannot_be_understood_switches_capture_off(tmp_path: Path, text: str) -> None:
    found = rules(tmp_path, text)
    assert not found.enabled
    assert found.warnings


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_or_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / PROJECT_FILE)
    assert not read_project_rules(str(tmp_path)).enabled
    (tmp_path / PROJECT_FILE).unlink()
    (tmp_path / "real.toml").write_text("domain = 'x'")
    (tmp_path / PROJECT_FILE).symlink_to(tmp_path / "real.toml")
    assert read_project_rules(str(tmp_path)).domain is None


@pytest.mark.parametrize(
    ("path", "patterns", "excluded"),
    [
        ("/a/b", ("/a/b",), True),
        ("/a/b/c", ("/a/b",), True),
        ("/a/b/c", ("/a/b/",), True),
        ("/a/bc", ("/a/b",), False),
        ("/a", ("/a/b",), False),
        ("/a/x/../b", ("/a/b",), True),
        ("/w/client-7", ("*/client-*",), True),
        ("/w/client-7/src", ("*/client-*",), True),
        ("/w/mine", ("*/client-*",), False),
        ("/w/mine", (), False),
    ],
)
def test_exclusion_covers_a_directory_and_all_below_it(
    path: str, patterns: tuple[str, ...], excluded: bool
) -> None:
    assert is_excluded(path, patterns) is excluded


@pytest.mark.rows("ING-12")
@pytest.mark.parametrize("name", [PROJECT_FILE, IGNORE_FILE])
@pytest.mark.parametrize("data", [b"\xff\xfe", b"# long\n" * PROJECT_FILE_MAX])
def test_a_file_that_cannot_be_understood_is_named(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    found = read_project_rules(str(tmp_path))
    assert not found.enabled
    (warning,) = found.warnings
    assert warning.startswith(f"{tmp_path / name}: cannot be understood")
