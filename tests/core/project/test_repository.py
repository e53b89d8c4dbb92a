"""Repositories, worktrees, submodules and remotes, read from files alone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.identity import Options, Resolution, resolve, resolve_repo
from session_memory.core.project.repository import normal_remote

TREE = DiskTree()
CONFIG = '[core]\n\tbare = false\n[remote "{name}"]\n\turl = {url}\n\tfetch = +refs/*:refs/*\n'


def repository(root: Path, url: str | None = None, name: str = "origin") -> Path:
    (root / ".git").mkdir(parents=True)
    if url is not None:
        (root / ".git" / "config").write_text(CONFIG.format(name=name, url=url))
    return root


def worktree(work: Path, git_dir: Path, *, commondir: str | None = "../..") -> Path:
    """A linked worktree of the repository with that git directory, as `git worktree add` makes."""
    admin = git_dir / "worktrees" / work.name
    work.mkdir(parents=True)
    (work / ".git").write_text(f"gitdir: {admin}\n")
    if commondir is not None:
        admin.mkdir(parents=True)
        (admin / "commondir").write_text(f"{commondir}\n")
    return work


def at(cwd: Path, *, share: bool = True, home: Path | None = None) -> Resolution:
    options = Options(share_worktrees=share, home=str(home) if home else None)
    return resolve(str(cwd), tree=TREE, options=options)


@pytest.mark.rows("CAP-11")
def test_the_repository_of_nested_foreign_and_deleted_directories(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    nested = root / "src" / "pkg"
    nested.mkdir(parents=True)
    plain = tmp_path / "plain"
    plain.mkdir()
    work = worktree(tmp_path / "feature", root / ".git")
    (work / "src").mkdir()
    table = {
        root: root,
        nested: root,
        root / ".git" / "hooks": root,
        plain: None,
        work: root,
        work / "src": root,
        root / "gone" / "deeper": root,
        plain / "gone": None,
        tmp_path / "gone": None,
    }
    for _ in range(2):  # the same answer every time
        found = {cwd: resolve_repo(str(cwd), TREE) for cwd in table}
        assert found == {cwd: str(repo) if repo else None for cwd, repo in table.items()}


@pytest.mark.parametrize("cwd", [None, "", "relative", "with\0nul", "\ud800", "/" + "x" * 5000])
def test_a_cwd_that_cannot_exist_has_no_repository(cwd: str | None) -> None:
    assert resolve_repo(cwd, TREE) is None


def test_a_repository_that_is_the_whole_home_does_not_count(home: Path) -> None:
    repository(home)
    (home / "notes").mkdir()
    assert resolve_repo(str(home / "notes"), TREE, str(home)) is None
    assert resolve_repo(str(repository(home / "app")), TREE, str(home)) == str(home / "app")


def test_a_shared_worktree_is_its_main_repository(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", "https://example.org/o/n.git")
    work = worktree(tmp_path / "elsewhere" / "feature", main / ".git")
    found = at(work)
    assert (found.key, found.root, found.repo) == ("main", str(main), str(main))
    assert (found.worktree_of, found.remote) == (str(main), "example.org/o/n")
    assert (found.source, found.confidence, found.warnings) == ("cwd:.git", "high", ())


def test_a_worktree_may_be_a_project_of_its_own(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    work = worktree(tmp_path / "feature", main / ".git")
    found = at(work, share=False)
    assert (found.key, found.root) == ("feature", str(work))
    assert (found.worktree_of, found.repo, found.warnings) == (str(main), str(main), ())


def test_a_project_inside_a_worktree_is_the_same_one_in_the_main_checkout(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    work = worktree(tmp_path / "feature", main / ".git")
    for checkout in (main, work):
        (checkout / "app").mkdir()
        (checkout / "app" / "AGENTS.md").write_text("Scope: app\n")
    inside_main, inside_work = at(main / "app"), at(work / "app")
    assert inside_work.root == inside_main.root == str(main / "app")
    assert (inside_main.worktree_of, inside_work.worktree_of) == (None, str(main))


def test_a_worktree_whose_bookkeeping_is_gone_is_known_by_its_path(tmp_path: Path) -> None:
    work = worktree(tmp_path / "feature", tmp_path / "main" / ".git", commondir=None)
    assert resolve_repo(str(work), TREE) == str(tmp_path / "main")


def test_a_relative_pointer_is_seen_from_its_own_directory(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    work = worktree(tmp_path / "feature", main / ".git")
    (work / ".git").write_text("gitdir: ../main/.git/worktrees/feature")
    assert resolve_repo(str(work), TREE) == str(main)


@pytest.mark.parametrize(("bare", "root"), [("proj/.bare", "proj"), ("proj.git", "proj.git")])
def test_worktrees_of_a_bare_repository_share_one_project(
    tmp_path: Path, bare: str, root: str
) -> None:
    for name in ("one", "two"):
        found = at(worktree(tmp_path / "proj" / name, tmp_path / bare))
        assert (found.key, found.root) == ("proj", str(tmp_path / root))


def test_a_submodule_is_its_own_repository(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    module = main / ".git" / "modules" / "worktrees" / "lib"  # a name made to confuse
    module.mkdir(parents=True)
    (module / "config").write_text("[core]\n\tworktree = ../../../../lib\n")
    (main / "lib").mkdir()
    (main / "lib" / ".git").write_text("gitdir: ../.git/modules/worktrees/lib\n")
    found = at(main / "lib")
    assert (found.key, found.root, found.worktree_of) == ("lib", str(main / "lib"), None)
    work = worktree(tmp_path / "lib-feature", module)
    assert resolve_repo(str(work), TREE) == str(main / "lib")


def test_a_worktree_of_the_home_repository_stands_for_itself(tmp_path: Path, home: Path) -> None:
    repository(home)
    work = worktree(tmp_path / "dots", home / ".git")
    found = at(work, home=home)
    assert (found.root, found.repo, found.worktree_of) == (str(work), str(work), None)


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: \0", "nonsense", "\xff" * 10])
def test_a_file_that_only_looks_like_a_repository_is_passed_over(
    tmp_path: Path, content: str
) -> None:
    outer = repository(tmp_path / "outer")
    (outer / "inner").mkdir()
    (outer / "inner" / ".git").write_text(content, encoding="latin-1")
    assert resolve_repo(str(outer / "inner"), TREE) == str(outer)


def test_a_pointer_in_the_shape_of_another_system_is_not_followed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text("gitdir: C:/main/.git/worktrees/work\n")
    assert resolve_repo(str(work), TREE) == str(work)


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("https://example.org/owner/name.git", "example.org/owner/name"),
        ("https://example.org/owner/name/", "example.org/owner/name"),
        ("https://user:s3cret@example.org/owner/name", "example.org/owner/name"),
        ("https://user:p@ss/w:rd@example.org:8443/owner/name", "example.org/owner/name"),
        ("https://s3cret@Example.ORG/owner/name.git?token=s3cret", "example.org/owner/name"),
        ("git@example.org:owner/name.git", "example.org/owner/name"),
        ("user:s3cret@example.org:owner/name.git", "example.org/owner/name"),
        ("ssh://git@example.org:22/owner/name.git", "example.org/owner/name"),
        ("git+ssh://git@example.org/~owner/name", "example.org/~owner/name"),
        ("example.org:name", "example.org/name"),
        ("https://example.org/group/sub/name.git", "example.org/group/sub/name"),
        ("/srv/git/name.git", None),
        ("../name.git", None),
        ("file:///srv/git/name.git", None),
        ("C:\\git\\name", None),
        ("C:/git/name", None),
        ("https://s3cret@", None),
        ("https://", None),
        ("", None),
    ],
)
def test_a_remote_is_one_name_for_every_way_to_reach_it(url: str, remote: str | None) -> None:
    assert normal_remote(url) == remote


@pytest.mark.parametrize(
    ("config", "remote"),
    [
        (CONFIG.format(name="origin", url="git@h.org:o/n.git"), "h.org/o/n"),
        (CONFIG.format(name="upstream", url="git@h.org:o/n.git"), "h.org/o/n"),
        (
            CONFIG.format(name="fork", url="git@h.org:me/n.git")
            + CONFIG.format(name="origin", url="git@h.org:o/n.git"),
            "h.org/o/n",
        ),
        ('[REMOTE "origin"] URL = "https://h.org/o/n" ; note\n', "h.org/o/n"),
        ('[remote "origin"]\n# url = https://h.org/no/no\n', None),
        ('[branch "main"]\n\turl = https://h.org/no/no\n', None),
        ("", None),
    ],
)
def test_the_remote_comes_from_origin_or_else_the_first(
    tmp_path: Path, config: str, remote: str | None
) -> None:
    root = repository(tmp_path / "repo")
    (root / ".git" / "config").write_text(config)
    assert at(root).remote == remote


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not here")
def test_what_git_itself_makes_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def git(where: Path, *words: str) -> None:
        config = ["-c", "protocol.file.allow=always", "-c", "user.name=x", "-c", "user.email=x@x"]
        subprocess.run(["git", *config, *words], cwd=where, check=True, capture_output=True)

    main, lib = tmp_path / "main", tmp_path / "lib"
    for root in (main, lib):
        root.mkdir()
        git(root, "init", "-q")
        git(root, "commit", "-q", "--allow-empty", "-m", "start")
    git(main, "submodule", "--quiet", "add", str(lib), "vendor/lib")
    git(main, "commit", "-q", "-m", "with a submodule")
    git(main, "remote", "add", "origin", "https://u:s3cret@example.org/o/n.git")
    git(main, "worktree", "add", "-q", str(tmp_path / "feature"))
    git(tmp_path, "clone", "-q", "--bare", str(lib), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "of-bare"))

    feature, of_bare = at(tmp_path / "feature"), at(tmp_path / "of-bare")
    assert (feature.root, feature.remote) == (str(main), "example.org/o/n")
    assert (of_bare.key, of_bare.root) == ("bare", str(tmp_path / "bare.git"))
    assert at(main / "vendor" / "lib").root == str(main / "vendor" / "lib")


@pytest.mark.rows("IDN-14")
@pytest.mark.parametrize(
    "path",
    [
        "shop/.worktrees/2",
        "shop/.claude/worktrees/dark-mode",
        "shop__worktrees/dark-mode/src",
        "shop.worktrees/dark-mode",
        "shop-worktrees/dark-mode",
    ],
)
@pytest.mark.parametrize("known", [True, False], ids=["checkout is here", "checkout is gone"])
def test_a_deleted_worktree_belongs_to_the_checkout_its_path_names(
    tmp_path: Path, path: str, known: bool
) -> None:
    root = repository(tmp_path / "shop") if known else tmp_path / "shop"
    resolution = at(tmp_path / path)
    assert (resolution.key, resolution.root) == ("shop", str(root))
    alone = at(tmp_path / path, share=False)
    assert known or alone.key == path.rpartition("/")[2]


@pytest.mark.rows("IDN-14")
def test_a_folder_of_worktrees_in_the_home_names_no_checkout(tmp_path: Path) -> None:
    resolution = at(tmp_path / "me" / ".worktrees" / "fix", home=tmp_path / "me")
    assert resolution.key == "fix"
