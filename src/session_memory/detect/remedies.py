"""What was changed so that a failed call worked, as a rule that can be read aloud.

A rule names the change, not the occasion: `--no-pager` dropped from `entire status` is the same
remedy whatever else the call said. Where the change cannot be named there is no rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.core.commands import normalized, pieces, words
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import Cure
from session_memory.core.typed_commands import directory_of, typed_command
from session_memory.detect.loci import UNQUOTED, cached_error_locus
from session_memory.distil.lasting import proves_install
from session_memory.distil.project_checks import FIXES
from session_memory.regex_cache import compiled

_QUOTE = "quote arguments that contain `?`, `*`, `[` or `]`."
_EXAMPLE_CHARS = 70
_WRAPPER_WORDS = 4
_TOOL_CALL = compiled(
    r"(?:[A-Z]\w*|apply_patch|edit\w*|write\w*|read\w*|str_replace\w*|replace|update_plan)(?: |$)"
)
_NAME = compiled(r"[A-Za-z][A-Za-z:_-]*$")
_PATTERN_CHARS = compiled(r"[?*\[\]]")
_GOES_SOMEWHERE = words("cd pushd set export source . true sleep echo printf")


class Remedy(msgspec.Struct, frozen=True):
    """One change that helped."""

    locus: str
    """The change, in a form that is the same in other sessions."""
    rule: str


def quoting(error_locus: str) -> Remedy:
    """What to do about words that the shell takes for patterns."""
    is_zsh = error_locus == UNQUOTED
    return Remedy(UNQUOTED, f"The shell is zsh: {_QUOTE}" if is_zsh else _QUOTE.capitalize())


class _Call(msgspec.Struct, frozen=True):
    """The part of a command line that was changed."""

    words: list[str]
    """Without quotes."""

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def options(self) -> list[str]:
        return [word.partition("=")[0] for word in self.words[1:] if _is_option(word)]

    @property
    def plain(self) -> list[str]:
        return [word for word in self.words[1:] if not _is_option(word)]

    @property
    def name(self) -> str:
        """The program with its subcommand, at most three words."""
        names = [self.program]
        for word in map(_base, self.plain[:2]):
            if not _NAME.match(word):
                break
            names.append(word)
        return " ".join(names)


def remedy_of(cure: Cure, roots: Sequence[str]) -> Remedy | None:
    """The change behind a cure; None where it holds for that occasion only."""
    if cure.kind == "edit" or _TOOL_CALL.match(cure.failed) or _TOOL_CALL.match(cure.steps[-1]):
        return None
    if any("<<" in call or FORGOTTEN in call for call in (cure.failed, *cure.steps)):
        return None
    failed, works = typed_command(cure.failed), typed_command(cure.steps[-1])
    if failed == works:
        return _in_directory(cure, failed, roots)
    if cure.kind == "install":
        return _installed(failed, works) if proves_install(cure) else None
    if normalized(cure.proof) == normalized(cure.failed) != normalized(cure.steps[-1]):
        return _run_first(failed, works)
    return _changed(cure, failed, works)


def _in_directory(cure: Cure, command: str, roots: Sequence[str]) -> Remedy | None:
    directory = directory_of(cure.steps[-1], roots)
    if not directory or directory == directory_of(cure.failed, roots) or not _is_short(command):
        return None
    return Remedy(f"{command} in {directory}", f"Run `{command}` in `{directory}`.")


def _installed(failed: str, works: str) -> Remedy | None:
    if not _is_short(failed, works):
        return None
    return Remedy(
        f"{works} before {failed}", f"In a fresh checkout run `{works}` before `{failed}`."
    )


def _run_first(failed: str, works: str) -> Remedy | None:
    """Something else made the same call work; git getting up to date is ordinary work."""
    if not _is_short(failed, works) or works.startswith("git "):
        return None
    if any(map(FIXES.search, works.split())):
        return Remedy(f"{works} after {failed}", f"Fix what `{failed}` finds with `{works}`.")
    return Remedy(f"{works} before {failed}", f"If `{failed}` fails, run `{works}` first.")


def _changed(cure: Cure, failed: str, works: str) -> Remedy | None:
    """The one simple command that differs, and how."""
    before, after = _pieces(failed), _pieces(works)
    if any(_is_now_quoted(word, after) for piece in before for word in piece):
        return quoting(cached_error_locus(cure.sample, cure.error)[1])
    old = [piece for piece in before if piece not in after]
    new = [piece for piece in after if piece not in before]
    if len(old) != 1 or len(new) != 1:
        return None
    old_call, new_call = _Call(list(map(_bare, old[0]))), _Call(list(map(_bare, new[0])))
    remedy = (
        _other_options(old_call, new_call, cure.sample)
        if old_call.program == new_call.program
        else _other_program(old_call, new_call)
    )
    if remedy is None or not _is_short(failed, works):
        return remedy
    example = f" `{failed}` fails, `{works}` works."
    return Remedy(remedy.locus, remedy.rule + example)


def _other_program(old: _Call, new: _Call) -> Remedy | None:
    """A wrapper dropped or added, or another program with the same words."""
    for at in range(1, min(_WRAPPER_WORDS, len(old.words))):
        if (
            _base(old.words[at]) == _base(new.program)
            and old.words[at + 1 : at + 2] == new.words[1:2]
        ):
            dropped = " ".join(old.words[:at])
            rule = f"Run `{new.program}` without `{dropped}`."
            return Remedy(f"{new.program} without {dropped}", rule)
    for at in range(1, min(_WRAPPER_WORDS, len(new.words))):
        if _base(new.words[at]) == _base(old.program) and " " not in "".join(new.words[:at]):
            whole = " ".join((*new.words[:at], _base(new.words[at])))
            return Remedy(whole, f"Run `{_base(old.program)}` as `{whole}`.")
    if old.words[1:2] == new.words[1:2] and len(old.words) > 1:
        rule = f"Use `{new.program}`, not `{old.program}`."
        return Remedy(f"{new.program} not {old.program}", rule)
    return None


def _other_options(old: _Call, new: _Call, error: str) -> Remedy | None:
    """Options dropped, added or replaced, or another subcommand."""
    dropped = [option for option in old.options if option not in new.options]
    added = [option for option in new.options if option not in old.options]
    refused = [option for option in dropped if option in error]
    same_words = old.plain == new.plain
    if refused or (dropped and not added and same_words):
        options = " ".join(dict.fromkeys(refused or dropped))
        rule = f"Do not pass `{options}` to `{new.name}`."
        return Remedy(f"{new.name} without {options}", rule)
    if same_words and len(added) == len(dropped) == 1:
        rule = f"With `{new.name}` use `{added[0]}`, not `{dropped[0]}`."
        return Remedy(f"{new.name} {added[0]} not {dropped[0]}", rule)
    if same_words and added and not dropped:
        options = " ".join(dict.fromkeys(added))
        return Remedy(f"{new.name} {options}", f"Pass `{options}` to `{new.name}`.")
    if old.name != new.name and (
        new.name in error or set(old.name.split()) < set(new.name.split())
    ):
        return Remedy(f"{new.name} not {old.name}", f"Use `{new.name}`, not `{old.name}`.")
    return None


def _pieces(command: str) -> list[list[str]]:
    return [piece for piece in pieces(command) if piece and piece[0] not in _GOES_SOMEWHERE]


def _is_now_quoted(word: str, after: list[list[str]]) -> bool:
    """Whether a word with characters of a pattern stands in quotes later."""
    if not _PATTERN_CHARS.search(word) or word[0] in "'\"":
        return False
    quoted = {f"'{word}'", f'"{word}"'}
    return any(not quoted.isdisjoint(piece) for piece in after)


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1


def _bare(word: str) -> str:
    return word.strip("'\"")


def _base(word: str) -> str:
    """`vercel@latest` is vercel, `./bin/tool.py` is tool.py."""
    return word.rsplit("/", 1)[-1].split("@")[0] or word


def _is_short(*commands: str) -> bool:
    return all("\n" not in command and len(command) <= _EXAMPLE_CHARS for command in commands)
