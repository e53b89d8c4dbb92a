"""The files a consolidation made, by path: read from a folder, checked, put into final form."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from session_memory.core.text.own_text import PACK_BEGIN, PACK_END
from session_memory.core.text.safe_text import stripped
from session_memory.errors import Refused
from session_memory.memory.layout import MEMORY, SKILL_FILE, SKILLS, SUMMARY, TRACES
from session_memory.memory.user_part import USER_PART_BEGIN, USER_PART_END

Files = dict[str, str]
"""Texts by their path inside a memory."""
MAX_MEMORY_BYTES = 64 * 1024
MAX_SKILL_BYTES = 32 * 1024
MAX_SKILL_FILES = 20
_SKILL_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_PATH_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s]+)\)")
_OUR_PATHS = (f"{TRACES}/", f"{SKILLS}/", SUMMARY)
_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|#|//", re.I)
_REFERENCE = re.compile(rf"{TRACES}/|{SKILLS}/|{re.escape(MEMORY)}")


def read_outputs(folder: Path) -> Files:
    """The outputs in a folder that an agent worked in; refuses anything but plain files there."""
    outputs: Files = {}
    for path in _walk(folder):
        name = path.relative_to(folder).as_posix()
        if name == MEMORY or name.startswith(f"{SKILLS}/"):
            if path.stat().st_size > MAX_MEMORY_BYTES:
                raise Refused(f"{name} is too large")
            outputs[name] = _text(path, name)
    return outputs


def _walk(folder: Path) -> Iterable[Path]:
    for directory, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(directory) / name
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise Refused(f"{path.relative_to(folder)} is neither a file nor a directory")
            if stat.S_ISREG(mode):
                yield path


def _text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise Refused(f"{name} is not text") from None


def read_inputs(folder: Path) -> Files:
    """The traces and their summary in a folder, which a consolidation may only read."""
    paths = [folder / SUMMARY, *sorted((folder / TRACES).glob("*.md"))]
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace")
        for path in paths
        if path.is_file() and not path.is_symlink()
    }


def check_inputs(before: Files, after: Files) -> None:
    """Refuse a run that changed its inputs; added lines that only refer to files are allowed."""
    for name, text in before.items():
        left = text.splitlines()
        for line in after.get(name, "").splitlines():
            if left and line == left[0]:
                left.pop(0)
            elif line.strip() and not _REFERENCE.search(line):
                raise Refused(f"{name} was rewritten")
        if left:
            raise Refused(f"{name} lost its content")


def final_files(made: Files, traces: Collection[str], redact: Callable[[str], str]) -> Files:
    """The files as they are kept: redacted, without our own marks, every skill linked."""
    files = {name: _without_marks(redact(text)) for name, text in made.items()}
    _check_names(files)
    if not files.get(MEMORY, "").strip():
        raise Refused(f"no {MEMORY} was made")
    files[MEMORY] = _with_skill_links(files)
    files[MEMORY] = _with_valid_links(files, traces)
    _check_sizes(files)
    return files


def _without_marks(text: str) -> str:
    bare = stripped(text)
    for mark in (USER_PART_BEGIN, USER_PART_END, PACK_BEGIN, PACK_END, "<!--"):
        bare = bare.replace(mark, "")
    return bare.strip() + "\n"


def _check_names(made: Files) -> None:
    for name in made:
        top, *rest = name.split("/")
        if name == MEMORY:
            continue
        if top != SKILLS or not 2 <= len(rest) <= 3 or not _SKILL_NAME.fullmatch(rest[0]):
            raise Refused(f"{name[:120]!r} is no place for an output")
        if not all(_PATH_PART.fullmatch(part) for part in rest[1:]):
            raise Refused(f"{name[:120]!r} is no name for a file of a skill")
    for skill in skills_in(made):
        text = made.get(f"{SKILLS}/{skill}/{SKILL_FILE}", "")
        head = text.partition("\n---")[0]
        if not text.startswith("---") or "name:" not in head or "description:" not in head:
            raise Refused(f"the skill {skill} has no {SKILL_FILE} with a name and a description")


def _check_sizes(made: Files) -> None:
    if len(made) - 1 > MAX_SKILL_FILES:
        raise Refused(f"more than {MAX_SKILL_FILES} files of skills")
    for name, text in made.items():
        cap = MAX_MEMORY_BYTES if name == MEMORY else MAX_SKILL_BYTES
        if len(text.encode("utf-8", "replace")) > cap:
            raise Refused(f"{name} is larger than {cap} bytes")


def _with_valid_links(made: Files, traces: Collection[str]) -> str:
    """The page with valid links only; links to files of the project become plain names."""
    existing = {*made, SUMMARY, *traces}

    def checked(match: re.Match[str]) -> str:
        target = match[2].partition("#")[0].removeprefix("./")
        if _EXTERNAL.match(match[2]) or target in existing:
            return match[0]
        if target.startswith(_OUR_PATHS):
            raise Refused(f"{MEMORY} links to {target[:120]!r}, which is not there")
        return f"{match[1]} (`{match[2]}`)"

    return _LINK.sub(checked, made[MEMORY])


def skills_in(made: Collection[str]) -> list[str]:
    """The names of the skills in a list of paths."""
    return sorted({name.split("/")[1] for name in made if name.startswith(f"{SKILLS}/")})


def _with_skill_links(made: Files) -> str:
    page = made[MEMORY]
    missing = [name for name in skills_in(made) if f"]({SKILLS}/{name}/" not in page]
    if not missing:
        return page
    lines = [f"- [{name}]({SKILLS}/{name}/{SKILL_FILE})" for name in missing]
    return page.rstrip() + "\n\n## Skills\n\n" + "\n".join(lines) + "\n"
