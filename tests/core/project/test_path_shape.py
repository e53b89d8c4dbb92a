"""Paths of any system on any machine, and the places that are never a project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.identity import Options, Resolution, resolve, resolve_repo
from session_memory.core.project.path_shape import absolute, fold, join, rebase, upward, within


class MemoryTree:
    """A file system in a dict, of whatever shape its paths have; no links."""

    def __init__(self, *paths: str, **texts: str) -> None:
        self.files = dict.fromkeys((fold(path) for path in paths if path[-1] not in "/\\"), "")
        self.files |= {fold(path): text for path, text in texts.items()}
        named = {fold(path) for path in paths if path[-1] in "/\\"}
        self.dirs = named | {fold(d) for path in (*paths, *texts) for d in upward(path)[1:]}

    def is_dir(self, path: str) -> bool:
        return fold(path) in self.dirs

    def is_file(self, path: str) -> bool:
        return fold(path) in self.files

    def read_text(self, path: str, limit: int) -> str | None:
        text = self.files.get(fold(path))
        return text[:limit] if text is not None else None

    def real(self, path: str) -> str:
        return path


def at(
    cwd: str, tree: MemoryTree | None = None, text: str | None = None, home: str | None = None
) -> Resolution:
    return resolve(cwd, text=text, tree=tree or MemoryTree(), options=Options(home=home))


TECHNICAL = [
    "C:\\WINDOWS\\System32",
    "c:\\windows\\system32\\drivers\\etc",
    "C:\\Windows",
    "C:/Windows/Temp",
    "C:\\Temp",
    "C:\\Program Files",
    "C:\\Program Files (x86)\\Vendor\\bin",
    "C:\\Users\\bob\\AppData\\Local\\Temp",
    "/mnt/c/Windows/System32",
    "/c/Program Files/Vendor",
    "/tmp",
    "/tmp/",
    "/var/tmp",
    "/private/tmp",
    "/home/bob/tmp",
    "D:\\work\\temp",
]


@pytest.mark.rows("IDN-04")
@pytest.mark.parametrize("cwd", TECHNICAL)
def test_a_technical_cwd_never_becomes_a_project(cwd: str) -> None:
    inside = join(absolute(cwd) or "", "app")
    tree = MemoryTree(join(inside, ".git") + "/", "D:\\work\\app\\.git\\")
    for text in (None, f"look at {inside} and `{inside}/src`", "see D:\\work\\app"):
        found = at(cwd, tree, text)
        assert (found.key, found.root) == ("default-project", None)
        assert (found.source, found.confidence) == ("fallback", "low")
        assert found.warnings == ("technical_cwd_ignored",)


@pytest.mark.rows("IDN-04")
@pytest.mark.parametrize(
    "cwd",
    [
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "C:\\Windows",
        "C:\\Windows\\System32",
        "C:\\Program Files",
        "C:\\Temp",
    ],
)
def test_the_system_directories_are_no_project_whatever_lies_in_them(cwd: str) -> None:
    tree = MemoryTree(
        join(cwd, ".git") + "/", join(cwd, "package.json"), **{join(cwd, "AGENTS.md"): "Scope: x"}
    )
    assert at(cwd, tree).key == "default-project"
    assert at(join(cwd, "sub"), tree).source in ("cwd_leaf", "fallback")


@pytest.mark.parametrize(
    ("cwd", "root"),
    [
        ("/tmp/work/repo", "/tmp/work/repo"),
        ("/tmp/repo/src", "/tmp/repo"),
        ("/home/bob/app/tmp", "/home/bob/app"),
        ("/srv/tmp", "/srv/tmp"),
        ("C:\\Windows\\Temp\\repo", "C:\\Windows\\Temp\\repo"),
        ("C:\\Program Files\\Vendor", "C:\\Program Files\\Vendor"),
    ],
)
def test_a_repository_in_or_around_a_technical_directory_is_a_project(cwd: str, root: str) -> None:
    found = at(cwd, MemoryTree(join(root, ".git") + "/"))
    assert (found.root, found.source, found.warnings) == (root, "cwd:.git", ())


def test_a_stray_package_file_makes_no_project_of_a_technical_directory() -> None:
    tree = MemoryTree("C:\\Program Files\\Vendor\\package.json", "/x/tmp/package.json")
    assert at("C:\\Program Files\\Vendor", tree).key == "default-project"
    assert at("/x/tmp", tree).key == "default-project"


def test_scratch_space_below_a_temporary_directory_has_its_own_name() -> None:
    assert at("/tmp/scratch-1").key == "scratch-1"


@pytest.mark.parametrize(
    "cwd",
    ["/", "//", "C:\\", "D:/", "\\\\server\\share", "/home", "/home/bob", "/Users/bob", "/root",
     "C:\\Users\\bob", "C:\\Users", "/mnt/c", "/etc", "/work/me"],
)  # fmt: skip
def test_a_place_of_many_projects_is_none_itself(cwd: str) -> None:
    app = join(absolute(cwd) or "", "app")
    tree = MemoryTree(join(app, ".git") + "/")
    found = at(cwd, tree, home="/work/me")
    assert (found.key, found.root) == ("default-project", None)
    assert found.warnings == ("broad_cwd_ignored",)
    mentioned = at(cwd, tree, f"in `{app}`", home="/work/me")
    assert (mentioned.root, mentioned.source) == (app, "mentioned_path:.git")


def test_roots_are_no_project_even_with_a_repository_in_them() -> None:
    tree = MemoryTree("/.git/", "C:\\.git\\", "\\\\server\\share\\.git\\")
    for cwd in ("/", "/srv", "C:\\", "C:\\x", "\\\\server\\share\\x"):
        assert resolve_repo(cwd, tree) is None
        assert at(cwd, tree).repo is None


def test_windows_paths_resolve_on_any_machine() -> None:
    tree = MemoryTree(
        "D:\\src\\App\\.git\\",
        **{
            "E:\\wt\\.git": "gitdir: D:/src/App/.git/worktrees/wt\n",
            "D:\\src\\App\\.git\\worktrees\\wt\\commondir": "../..\n",
            "D:\\src\\App\\.git\\config": '[remote "origin"]\r\n\turl = git@h.org:o/App.git\r\n',
        },
    )
    for cwd in ("D:\\src\\App", "d:/src/app/lib/", "\\\\?\\D:\\src\\App\\lib\\..", "E:\\wt\\lib"):
        found = at(cwd, tree)
        assert fold(found.root or "") == "d:/src/app"
        assert found.remote == "h.org/o/App"
    assert at("E:\\wt", tree).worktree_of == "D:\\src\\App"
    assert at("D:\\other\\place", tree, "..\\..\\src\\App").key == "place"


def test_unc_paths_resolve_on_any_machine() -> None:
    tree = MemoryTree("\\\\srv\\share\\team\\app\\.git\\")
    for cwd in ("\\\\srv\\share\\team\\app\\src", "\\\\?\\UNC\\srv\\share\\team\\app"):
        assert at(cwd, tree).root == "\\\\srv\\share\\team\\app"


def test_a_broad_windows_cwd_yields_to_a_mention_inside_it() -> None:
    tree = MemoryTree(**{"D:\\ws\\trip studio\\AGENTS.md": "Scope: trip-studio\r\n"})
    for text in ('fix "D:\\ws\\trip studio\\src"', "fix 'd:/ws/trip studio'"):
        found = at("D:\\ws", tree, text)
        assert (found.key, found.source) == ("trip-studio", "mentioned_path:AGENTS.md")


def test_the_disk_is_never_asked_about_paths_of_another_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    foreign = "C:\\x" if os.name != "nt" else "/x"
    Path(foreign.replace("/", "")).mkdir()
    Path(foreign.replace("/", ""), ".git").mkdir()
    tree = DiskTree()
    for path in (foreign, "relative", ".", ""):
        assert not tree.is_dir(path)
        assert not tree.is_file(path)
        assert tree.read_text(path, 10) is None
        assert tree.real(path) == path
    assert resolve_repo(foreign, tree) is None


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800", "/" + "x/" * 5000, "/" + "x" * 300])
def test_the_disk_answers_no_to_what_cannot_be(path: str) -> None:
    tree = DiskTree()
    assert not tree.is_dir(path)
    assert not tree.is_file(path)
    assert tree.read_text(path, 10) is None
    assert tree.real(path)


def test_the_disk_reads_no_more_than_asked_and_only_plain_files(tmp_path: Path) -> None:
    tree = DiskTree()
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbfabc\xffdef")
    assert tree.read_text(str(tmp_path / "text"), 6) == "abc"
    assert tree.read_text(str(tmp_path / "text"), 100) == "abc\ufffddef"
    assert tree.read_text(str(tmp_path), 10) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        assert tree.read_text(str(tmp_path / "pipe"), 10) is None


def test_a_circle_of_links_ends_somewhere(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert resolve_repo(str(tmp_path / "a"), DiskTree()) is None


names = st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1)
bases = st.sampled_from(["/", "/a/b", "C:\\", "D:\\x y", "\\\\srv\\share\\", "/mnt/c/q"])
places = st.builds(
    lambda base, tail: join(base, "/".join(tail)), bases, st.lists(names, max_size=14)
)


@given(places)
@example(join("C:\\", "0:"))
def test_every_level_above_a_place_contains_it(place: str) -> None:
    levels = upward(place)
    assert levels[0] == place
    assert len(levels) <= 11
    assert all(within(place, level) for level in levels)
    assert rebase(place, levels[-1], levels[-1]) == place


@given(st.one_of(st.text(), places))
def test_normal_form_is_reached_in_one_step(text: str) -> None:
    once = absolute(text)
    assert once is None or absolute(once) == once


@given(st.text(), st.text(), st.one_of(st.none(), st.text()))
def test_any_text_resolves_without_an_error(cwd: str, text: str, name: str | None) -> None:
    found = resolve(cwd, explicit=name, text=text, tree=MemoryTree(), options=Options())
    assert found.key.strip()
    assert "/" not in found.key
    assert len(found.key) <= 80
