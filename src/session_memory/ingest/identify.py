"""Assigning sessions to projects: each working directory is resolved once per sweep."""

from __future__ import annotations

import functools

from session_memory.core.project.identity import (
    Options,
    Resolution,
    Tree,
    by_log,
    domain_for,
    resolve,
)
from session_memory.core.project.mentions import mentioned_paths
from session_memory.core.text.own_text import is_own_call
from session_memory.file_names import text_to_name
from session_memory.narrowing import ProjectRules, is_excluded, read_project_rules
from session_memory.store.port import Writer


class RulesUnreadableError(OSError):
    """The file in which a repository may opt out of capture cannot be read now."""


class CachingTree:
    """A tree that caches its answers for one sweep: hundreds of sessions share a directory."""

    def __init__(self, tree: Tree) -> None:
        self.is_dir = functools.cache(tree.is_dir)
        self.is_file = functools.cache(tree.is_file)
        self.read_text = functools.cache(tree.read_text)
        self.real = functools.cache(tree.real)


class ProjectFinder:
    """Resolves working directories and caches the rules of the repositories there."""

    def __init__(self, tree: Tree, options: Options, exclude: tuple[str, ...] = ()) -> None:
        self._tree: Tree = CachingTree(tree)
        self._exclude = exclude
        self._options = options
        self._found: dict[tuple[str | None, str], Resolution] = {}
        self._rules: dict[str, ProjectRules] = {}
        self._domains: dict[Resolution, str] = {}

    def mentions(self, cwd: str | None, prompt: str) -> list[str]:
        """The paths a prompt mentions, as seen from a working directory."""
        return mentioned_paths(prompt, cwd, self._options.home) if cwd else []

    def resolution(self, cwd: str | None, mentions: str = "") -> Resolution:
        """The project of a working directory, and what the paths in a prompt add to it."""
        resolution = self._found.get((cwd, mentions))
        if resolution is None:
            text = " ".join(f'"{path}"' for path in mentions.split("\n")) if mentions else None
            resolution = resolve(cwd, text=text, tree=self._tree, options=self._options)
            self._found[cwd, mentions] = resolution
        return resolution

    def rules(self, cwd: str | None) -> ProjectRules:
        """What the repository at a working directory asks for in its own file."""
        root = self.resolution(cwd).root
        if root is None:
            return ProjectRules()
        rules = self._rules.get(root)
        if rules is None:
            rules = read_project_rules(text_to_name(root))
            self._rules[root] = rules
        return rules

    def unwanted(self, cwd: str | None) -> bool:
        """Whether nothing of this directory is to be captured.

        The user excludes it, its repository opts out, or only our own model calls run there.
        """
        if cwd is None:
            return False
        if is_own_call(cwd):
            return True
        rules = self.rules(cwd)
        if rules.unreadable is not None:
            raise RulesUnreadableError(rules.unreadable)
        place = text_to_name(cwd)
        return not rules.enabled or is_excluded(place, (*self._exclude, *rules.exclude))

    def assign(self, writer: Writer, session_id: int, root: str | None = None) -> None:
        """Give a session its project; `root` is its directory, if no log says it."""
        place = writer.whereabouts(session_id)
        cwd = place.cwd or root
        resolution = by_log(
            self.resolution(cwd, place.mentions),
            place.git_root,
            place.remote,
            tree=self._tree,
            options=self._options,
        )
        domain = self.rules(cwd).domain or self._domain(resolution)
        writer.assign_project(session_id, cwd or "", resolution, domain)

    def _domain(self, resolution: Resolution) -> str:
        """What the user's settings say of a project: the same for all of its sessions."""
        domain = self._domains.get(resolution)
        if domain is None:
            domain = self._domains[resolution] = domain_for(resolution, self._options)
        return domain

    def warnings(self) -> list[str]:
        """Warnings about the repositories' own files."""
        return sorted({w for rules in self._rules.values() for w in rules.warnings})
