"""Finds the project and domain of a session from where it ran and what its prompt mentions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile

import msgspec

from session_memory.core.hashing import sha256
from session_memory.core.project.mentions import mentioned_paths
from session_memory.core.project.path_shape import (
    Tree,
    absolute,
    checkout_of,
    fold,
    is_shared_ground,
    is_technical,
    join,
    leaf,
    never_root,
    rebase,
    same_place,
    upward,
    within,
)
from session_memory.core.project.repository import (
    Repository,
    first_repository,
    normal_remote,
    remote_of,
    resolve_repo,
)
from session_memory.core.schema import Confidence
from session_memory.regex_cache import compiled

__all__ = [
    "DEFAULT_KEY",
    "Holder",
    "Options",
    "Resolution",
    "Tree",
    "by_log",
    "domain_for",
    "project_key",
    "resolve",
    "resolve_repo",
    "unique_key",
]

DEFAULT_KEY = "default-project"
KEY_LIMIT = 80
READ_LIMIT = 64 * 1024

TECHNICAL_CWD = "technical_cwd_ignored"
BROAD_CWD = "broad_cwd_ignored"
UNUSABLE_CWD = "unusable_cwd_ignored"
EXTERNAL_MENTION = "mentioned_path_ignored_due_to_cwd_project"
OUTSIDE_MENTION = "mentioned_path_outside_cwd_ignored"

STATE_FILES = (".project-state.json", ".agents/project-state.json")
PACKAGE_MARKERS = ("package.json", "pyproject.toml", "Cargo.toml", "go.mod")

_OUR_BLOCK = compiled(
    r"^[ \t]*<!-- session-memory:begin\b.*?(?:^[ \t]*<!-- session-memory:end -->|\Z)",
    re.MULTILINE | re.DOTALL,
)
# One word: "Scope: the entire repository" is prose about the file, not a name. Neighbouring classes
# never overlap, so that no line, however hostile, costs more than its length.
_SCOPE = compiled(
    r"""^[ \t>*#-]*Scope[ \t*]*:[ \t*]*["'`]?([^\s/\\"'`*]+)["'`]?[ \t\r]*$""",
    re.MULTILINE | re.IGNORECASE,
)
_CANONICAL = compiled(r"^[ \t>*#-]*Canonical[ _-]name[ \t*]*:(.+)$", re.MULTILINE | re.IGNORECASE)


class Options(msgspec.Struct, frozen=True):
    """What the user may decide about identity."""

    share_worktrees: bool = True
    domains: dict[str, str] = {}
    """Repository name, project key, root path or remote -> domain."""
    default_domain: str = "general"
    home: str | None = None


class Resolution(msgspec.Struct, frozen=True):
    """The project of a session, and how surely and by what it was found."""

    key: str = DEFAULT_KEY
    root: str | None = None
    remote: str | None = None
    worktree_of: str | None = None
    """Root of the main repository where the session ran in a linked worktree of it."""
    repo: str | None = None
    source: str = "fallback"
    confidence: Confidence = "low"
    warnings: tuple[str, ...] = ()
    branch: str | None = None
    """Left to the log: what is checked out today says nothing about that day."""


class Holder(msgspec.Struct, frozen=True):
    """A project that has a key already."""

    id: int
    root: str | None


class _ProjectState(msgspec.Struct):
    canonical_name: str


def resolve(
    cwd: str | None,
    *,
    explicit: str | None = None,
    payload_key: str | None = None,
    text: str | None = None,
    tree: Tree,
    options: Options,
) -> Resolution:
    """The project by the first that knows: explicit name, payload, cwd, mention, leaf, default."""
    options = msgspec.structs.replace(options, home=_place(options.home, tree))
    for source, name in (("explicit", explicit), ("payload", payload_key)):
        key = project_key(name)
        if key is not None:
            base = _by_cwd(cwd, "", tree, options)
            return msgspec.structs.replace(base, key=key, source=source, confidence="high")
    return _by_cwd(cwd, text or "", tree, options)


def by_log(
    by_directory: Resolution, git_root: str, remote: str, *, tree: Tree, options: Options
) -> Resolution:
    """The repository that a log names, where the disk shows no project at the directory (now)."""
    url = normal_remote(remote) if remote else None
    if by_directory.confidence != "low" or not (git_root or url):
        return by_directory
    stated = _by_cwd(git_root, "", tree, options) if git_root else Resolution()
    if stated.root is None:
        return (
            msgspec.structs.replace(by_directory, remote=url) if by_directory.root else by_directory
        )
    is_project = stated.confidence != "low"
    return msgspec.structs.replace(
        stated,
        remote=stated.remote or url,
        repo=stated.repo or stated.root,
        source=stated.source if is_project else "log:git_root",
        confidence=stated.confidence if is_project else "medium",
    )


def _by_cwd(cwd: str | None, text: str, tree: Tree, options: Options) -> Resolution:
    """The project of a directory; what the text mentions only helps where that is none."""
    place = _place(cwd, tree)
    if place is None:
        return Resolution(warnings=(UNUSABLE_CWD,) if cwd else ())
    project = _project(upward(place), "cwd", tree, options)
    mentions = [tree.real(path) for path in mentioned_paths(text, place, options.home)]
    if project is None:
        return _without_project(place, mentions, tree, options)
    outside = [path for path in mentions if project.root and not within(path, project.root)]
    if _names_a_project_elsewhere(outside, project, tree, options):
        return msgspec.structs.replace(project, warnings=(EXTERNAL_MENTION,))
    return project


def _place(path: str | None, tree: Tree) -> str | None:
    """The one spelling of a place, so that a linked directory and its target are one project."""
    normal = absolute(path) if path else None
    return tree.real(normal) if normal is not None else None


def _without_project(
    place: str, mentions: Sequence[str], tree: Tree, options: Options
) -> Resolution:
    """The project of a directory that is none itself: only a path mentioned inside it counts."""
    if is_technical(place):
        return Resolution(warnings=(TECHNICAL_CWD,))
    inside = [path for path in mentions if within(path, place)]
    for path in inside:
        levels = takewhile(lambda level: not same_place(level, place), upward(path))
        project = _project(tuple(levels), "mentioned_path", tree, options)
        if project is not None:
            return project
    outside = [path for path in mentions if path not in inside]
    ignored = _names_a_project_elsewhere(outside, Resolution(), tree, options)
    warnings = (OUTSIDE_MENTION,) if ignored else ()
    worktree_of = checkout_of(place)
    if worktree_of is not None and options.share_worktrees and not is_shared_ground(worktree_of):
        checkout = _by_cwd(worktree_of, "", tree, options)
        if checkout.root is not None:
            return msgspec.structs.replace(
                checkout, worktree_of=checkout.root, warnings=(*checkout.warnings, *warnings)
            )
    key = project_key(leaf(place))
    if key is None or never_root(place, options.home) or is_shared_ground(place):
        return Resolution(warnings=(BROAD_CWD, *warnings))
    return Resolution(key, place, source="cwd_leaf", warnings=warnings)


def _names_a_project_elsewhere(
    paths: Sequence[str], own: Resolution, tree: Tree, options: Options
) -> bool:
    """Whether one of the paths leads to a project other than `own`."""
    for path in paths:
        other = _project(upward(path), "mentioned_path", tree, options)
        if other is not None and not same_place(other.root, own.root):
            return True
    return False


def _project(levels: Sequence[str], source: str, tree: Tree, options: Options) -> Resolution | None:
    """The project of the nearest level that shows one (IDN-05)."""
    home = options.home
    # A log may come from another machine: if a directory is not here, no file in it is.
    here = [level for level in levels if tree.is_dir(level)]
    repository = first_repository(here, tree, home) if here else None
    below_home = True
    for level in levels:
        below_home = below_home and not (home and same_place(level, home))
        if level not in here:
            continue
        sign: tuple[str | None, str, Confidence] | None = None
        if below_home and not never_root(level, home):
            sign = _declared(level, tree)
        if sign is None and repository is not None and level == repository.work:
            sign = (None, ".git", "high")
        if sign is None and below_home and not _anybodys(level, home):
            marker = _plain_marker(level, tree, packages=repository is None)
            sign = (None, marker, "medium") if marker else None
        if sign is not None:
            name, marker, confidence = sign
            base = _located(level, name, repository, tree, options)
            return msgspec.structs.replace(base, source=f"{source}:{marker}", confidence=confidence)
    return None


def _anybodys(level: str, home: str | None) -> bool:
    """Directories where a stray package.json says nothing; a declared name or .git still counts."""
    return never_root(level, home) or is_technical(level) or is_shared_ground(level)


def _located(
    level: str, name: str | None, repository: Repository | None, tree: Tree, options: Options
) -> Resolution:
    """The project that starts at `level`; in a shared worktree, its place in the main checkout."""
    root, worktree_of = level, None
    if repository is not None and repository.is_worktree:
        worktree_of = repository.root
        if options.share_worktrees:
            root = rebase(level, repository.work, repository.root)
    key = project_key(name) or project_key(leaf(root).removesuffix(".git")) or DEFAULT_KEY
    return Resolution(
        key=key,
        root=root,
        remote=remote_of(repository, tree) if repository else None,
        worktree_of=worktree_of,
        repo=repository.root if repository else None,
    )


def _declared(level: str, tree: Tree) -> tuple[str, str, Confidence] | None:
    """A name that someone wrote down for this directory, and where."""
    scope = _SCOPE.search(_agents_text(level, tree))
    if scope and project_key(scope[1]):
        return scope[1], "AGENTS.md", "high"
    for file in STATE_FILES:
        text = tree.read_text(join(level, file), READ_LIMIT)
        name = _canonical_name(text) if text else None
        if name:
            return name, "project-state", "high"
    stated = _CANONICAL.search(tree.read_text(join(level, "project-state.md"), READ_LIMIT) or "")
    name = stated[1].strip(" \t\r*`\"'") if stated else None
    return (name, "project-state", "high") if project_key(name) and name else None


def _canonical_name(text: str) -> str | None:
    try:
        name = msgspec.json.decode(text, type=_ProjectState).canonical_name
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return name if project_key(name) else None


def _agents_text(level: str, tree: Tree) -> str:
    """AGENTS.md without what we wrote into it ourselves, or we would read our own guess back."""
    text = tree.read_text(join(level, "AGENTS.md"), READ_LIMIT) or ""
    return _OUR_BLOCK.sub("", text)


def _plain_marker(level: str, tree: Tree, *, packages: bool) -> str | None:
    """A file that marks a project without naming it; package files only outside a repository."""
    written = tree.read_text(join(level, "AGENTS.md"), READ_LIMIT)
    if written is not None and (not written.strip() or _OUR_BLOCK.sub("", written).strip()):
        return "AGENTS.md"  # but not a file that exists only because we distributed into it
    if packages:
        return next((name for name in PACKAGE_MARKERS if tree.is_file(join(level, name))), None)
    return None


def project_key(name: str | None) -> str | None:
    """A name as a key: one printable leaf of at most 80 characters; None if nothing is left."""
    printable = "".join(
        char
        for char in name or ""
        if unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    )
    last = re.split(r"[/\\]", printable.strip().rstrip("/\\"))[-1].strip()
    key = last[:KEY_LIMIT].rstrip()
    return None if key in ("", ".", "..") or re.fullmatch("[A-Za-z]:", key) else key


def unique_key(key: str, root: str | None, holder: Callable[[str], Holder | None]) -> str:
    """`key`, or where another root holds it, `key` with a suffix made from this root.

    A key that is returned is free or held by this very root. The default key belongs to sessions
    without a project, so a folder of that name always gets a suffix. Not for a name the user gave
    (source `explicit` or `payload`): that means the project of this name, wherever the session ran.
    """
    candidate = key
    for candidate in _keys(key, root):
        held = holder(candidate)
        if held is None or same_place(held.root, root):
            break
    return candidate


def _keys(key: str, root: str | None) -> Iterator[str]:
    """The key itself, then longer and longer ones."""
    if root is None or key != DEFAULT_KEY:
        yield key
    place = fold(root) if root is not None else ""
    digest = sha256(place.encode("utf-8", "surrogatepass")).hexdigest()
    for length in (6, 12, 64):
        yield f"{key[: KEY_LIMIT - 1 - length]}-{digest[:length]}"


def domain_for(resolution: Resolution, options: Options) -> str:
    """The domain the user mapped this project to, by its most exact name; else the default."""
    mapped: dict[str, str] = {}
    for name, domain in options.domains.items():
        mapped.setdefault(_comparable(name, options.home), domain)
    remote = resolution.remote
    place = resolution.repo or resolution.root
    names = (
        resolution.root,
        resolution.repo,
        remote,
        resolution.key,
        leaf(place).removesuffix(".git") if place else None,
        remote.rpartition("/")[2] if remote else None,
    )
    for name in names:
        domain = mapped.get(_comparable(name, options.home)) if name else None
        if domain:
            return domain
    return options.default_domain


def _comparable(name: str, home: str | None) -> str:
    """One form for every way a user may spell a path, a remote or a name."""
    if name.startswith("~/") and home:
        return fold(join(home, name[2:]))
    path = absolute(name)
    if path is not None:
        return fold(path)
    return (normal_remote(name) or name).casefold()
