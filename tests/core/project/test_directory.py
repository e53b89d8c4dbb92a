"""The project of a directory: the nearest root or alias at or above it, links resolved."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.core.project.directory import project_at
from session_memory.core.schema import Project


def project(number: int, root: str | None, *aliases: str) -> Project:
    return Project(number, f"p{number}", root, aliases=aliases)


@pytest.mark.parametrize(
    ("directory", "expected"),
    [
        ("/code/shop", 1),
        ("/code/shop/src/deep", 1),
        ("/code/shop/vendor/lib/src", 2),
        ("/trees/shop-fix/src", 1),
        ("/code/shopping", None),
        ("/", None),
    ],
)
def test_the_nearest_root_or_alias_wins(directory: str, expected: int | None) -> None:
    projects = [
        project(1, "/code/shop", "/trees/shop-fix"),
        project(2, "/code/shop/vendor/lib"),
        project(3, None),
    ]
    found = project_at(projects, directory)
    assert (found.id if found else None) == expected


def test_links_are_resolved_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "real" / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for root, directory in (("link", "real/src"), ("real", "link/src")):
        found = project_at([project(1, str(tmp_path / root))], str(tmp_path / directory))
        assert found is not None
