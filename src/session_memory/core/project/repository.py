"""Which git repository a directory belongs to, read from its files without ever running git."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from session_memory.core.project.path_shape import (
    Tree,
    absolute,
    is_windows,
    join,
    leaf,
    never_root,
    parent,
    same_place,
    upward,
)
from session_memory.regex_cache import compiled

POINTER_LIMIT = 4096
CONFIG_LIMIT = 256 * 1024
_SECTION = compiled(r'\[\s*([\w.-]+)(?:\s+"([^"]*)")?\s*\]')
_HOST = compiled(r"[A-Za-z0-9][A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]")


class Repository(msgspec.Struct, frozen=True):
    """A repository as one of its checkouts shows it."""

    work: str
    """The directory that holds `.git`."""
    root: str
    """The main checkout; differs from `work` in a linked worktree."""
    common: str
    """The git directory all its worktrees share."""

    @property
    def is_worktree(self) -> bool:
        return not same_place(self.work, self.root)


def resolve_repo(cwd: str | None, tree: Tree, home: str | None = None) -> str | None:
    """The root of the repository that `cwd` is in, or None.

    A worktree belongs to its main repository and a submodule to itself. A deleted cwd belongs to
    whatever encloses it, as nothing below can say more. A repository that is the whole home
    directory (dotfiles) or file system says nothing about the work, so it does not count.
    """
    place = absolute(cwd) if cwd else None
    if place is None:
        return None
    home = tree.real(home) if home else None
    repository = first_repository(upward(tree.real(place)), tree, home)
    return repository.root if repository else None


def first_repository(levels: Sequence[str], tree: Tree, home: str | None) -> Repository | None:
    """The repository of the nearest level that has one and may be a root."""
    for level in levels:
        if never_root(level, home):
            continue
        repository = repository_at(level, tree)
        if repository is not None:
            too_broad = never_root(repository.root, home)
            return (
                Repository(repository.work, repository.work, repository.common)
                if too_broad
                else repository
            )
    return None


def repository_at(directory: str, tree: Tree) -> Repository | None:
    """The repository whose `.git` lies in this very directory."""
    dot_git = join(directory, ".git")
    if tree.is_dir(dot_git):
        return Repository(directory, directory, dot_git)
    git_dir = _pointer(tree.read_text(dot_git, POINTER_LIMIT), directory)
    if git_dir is None:
        return None
    common = _common_dir(git_dir, tree)
    if common is None:  # a submodule or a separated git directory: a repository of its own
        return Repository(directory, directory, git_dir)
    return Repository(directory, tree.real(_main_root(common, tree)), common)


def _pointer(text: str | None, directory: str) -> str | None:
    """Where a `.git` file points, if it is one and points to a path of this directory's shape."""
    if text is None or not text.startswith("gitdir:"):
        return None
    target = text.removeprefix("gitdir:").strip()
    if not target or "\0" in target:
        return None
    # Inside WSL the pointer may be a Windows path, which says nothing about the tree we can see.
    foreign = absolute(target) is not None and is_windows(target) != is_windows(directory)
    return join(directory, ".git") if foreign else join(directory, target)


def _common_dir(git_dir: str, tree: Tree) -> str | None:
    """The shared git directory of a linked worktree, or None where `git_dir` is not worktree's."""
    stated = (tree.read_text(join(git_dir, "commondir"), POINTER_LIMIT) or "").strip()
    if stated and "\0" not in stated:
        return join(git_dir, stated)
    above = parent(git_dir)
    common = parent(above)
    # Git's bookkeeping may be gone (pruned, main checkout deleted); the path still shows it.
    if leaf(above) == "worktrees" and (leaf(common).startswith(".") or common.endswith(".git")):
        return common
    return None


def _main_root(common: str, tree: Tree) -> str:
    """The main checkout of a shared git directory; a bare repository is its own."""
    if leaf(common).startswith("."):  # `.git`, and `.bare` of the layout with only worktrees
        return parent(common)
    for section, _, key, value in _settings(tree.read_text(join(common, "config"), CONFIG_LIMIT)):
        if (section, key) == ("core", "worktree"):  # a submodule
            return join(common, value)
    return common


def remote_of(repository: Repository, tree: Tree) -> str | None:
    """The repository's `origin` (else its first remote) as host/owner/name."""
    first: str | None = None
    text = tree.read_text(join(repository.common, "config"), CONFIG_LIMIT)
    for section, name, key, value in _settings(text):
        if (section, key) != ("remote", "url"):
            continue
        remote = normal_remote(value)
        if name == "origin" and remote:
            return remote
        first = first or remote
    return first


def normal_remote(url: str) -> str | None:
    """A remote as host/owner/name, equal for every way to reach it; None for a local path.

    Whatever stands before the last `@` goes: userinfo is never kept, not even a malformed one.
    """
    scheme, divider, rest = url.strip().rpartition("://")
    if scheme.lower() == "file" or (not divider and absolute(rest)):
        return None
    rest = re.split(r"[?#]", rest.rpartition("@")[2], maxsplit=1)[0]
    pattern = r"([^/]*?)(?::\d*)?/(.*)" if divider else r"([^/:]*):(.*)"
    match = re.fullmatch(pattern, rest)
    if match is None or not _HOST.fullmatch(match[1]):
        return None
    path = "/".join(part for part in match[2].split("/") if part).removesuffix(".git")
    if not path or not path.isprintable():
        return None
    return f"{match[1].lower()}/{path}"


def _settings(text: str | None) -> Iterator[tuple[str, str, str, str]]:
    """(section, subsection, key, value) of a git config; includes are not followed."""
    section, name = "", ""
    for line in (text or "").splitlines():
        line = line.strip()
        header = _SECTION.match(line)
        if header:
            section, name = header[1].lower(), header[2] or ""
            line = line[header.end() :].strip()
        key, equals, value = line.partition("=")
        if equals and not line.startswith(("#", ";")):
            value = re.split(r"\s[#;]", value.strip(), maxsplit=1)[0].strip()
            yield section, name, key.strip().lower(), value.strip('"')
