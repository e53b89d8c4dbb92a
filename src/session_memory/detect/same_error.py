"""Whether two lines are the same error: word for word, or of the same shape."""

from __future__ import annotations

import msgspec

from session_memory.core.commands import words
from session_memory.core.text.masks import mask, mask_numbers
from session_memory.detect.loci import error_locus
from session_memory.regex_cache import compiled

_CUT = compiled(r"\s*(?:…|\.\.\.)$")
_LEAST_PART = 20
"""From this many characters on, a part of a line identifies the whole."""
_LEAST_BEGINNING = 12
_MASK = compiled(r"<\w+>")
_WORD = compiled(r"[^\W\d_]{3,}")
# Words of counts, summaries and wrappers: a line of these alone says that something went wrong,
# not what.
_SAYS_NOTHING = words(
    "found error errors fail fails failed failing failure failures warning warnings issue issues"
    " problem problems test tests suite suites file files check checks spec specs assertion"
    " assertions pass passed skipped total exit exited code status process command completed with"
    " script scripts task tasks run running returned non zero and the for from your this was has"
    " have been err exception fatal npm pnpm yarn bun make recipe target elifecycle lifecycle"
    " signal terminated finished ended time see above below log logs more details not unknown"
    " usage output result results summary complete could unexpected expected received but got"
    " equal true false null undefined assertionerror expect some were emitted while"
)
# Which command failed, or which assertion: the reason stands on another line.
_NO_REASON = compiled(
    r"failed to push some refs|exited with (?:code|status)"
    r"|^npm (?:error|ERR!) (?:path|command|workspace|location|errno|Lifecycle|A complete log)\b"
    r"|exit (?:code|status) \d|expect\(.*\)\.|\.\.\.(?:Failed|Passed)$"
    r"|^\[FAILED\]|^\[[^\]]+\] (?:ERROR )?(?:task )?failed$"
)
# Words of a language, not of what was run: any script in any project may print them.
_OF_ANY_SCRIPT = compiled(
    r"(?:Uncaught )?(?:\w+\.)*"
    r"(?:Syntax|Indentation|Type|Value|Reference|Range|EOF|JSONDecode)Error: "
)
_NAMES_SOMETHING = compiled(r"['\"`\d/_]|[a-z][A-Z]|\w\.\w")


def telling_words(line: str) -> list[str]:
    """The words that say what went wrong; counts and "exited with code 1" have none."""
    if _NO_REASON.search(line):
        return []
    of_any = _OF_ANY_SCRIPT.match(line)
    if of_any is not None and not _NAMES_SOMETHING.search(line, of_any.end()):
        return []
    words = _WORD.findall(_MASK.sub(" ", line))
    return [word for word in words if word.lower() not in _SAYS_NOTHING]


_TASK = compiled(
    r"^error: script \"(?P<bun>[\w:.-]+)\" exited|^\[(?P<mise>[\w:.-]+)\] ERROR task failed"
    r"|^g?make(?:\[\d+\])?: \*\*\* \[(?:\S+: )?(?P<make>[\w:.-]+)\] Error"
    r"|^npm (?:ERR!|error) Lifecycle script `(?P<npm>[\w:.-]+)` failed"
    r"|^error: Recipe `(?P<just>[\w:.-]+)` failed"
)


def task_of(line: str) -> str:
    """The task that a runner says has failed, with the runner; '' for any other line."""
    match = _TASK.match(line)
    return f"{match.lastgroup} {match[match.lastgroup or 0]}" if match is not None else ""


class ErrorText(msgspec.Struct, frozen=True, gc=False):
    """One line in the forms in which it is compared."""

    exact: str
    """'' where it says nothing."""
    shape: str
    """Names, paths and numbers masked, but for what is missing; '' where that says nothing."""
    is_cut: bool


def error_text(line: str) -> ErrorText:
    """The forms of a line; one that was cut for show is only a beginning."""
    whole = _CUT.sub("", line)
    is_cut = whole != line
    if is_cut:  # the last word may be half of one
        whole = whole.rpartition(" ")[0] or whole
    exact, shape = mask_numbers(whole), mask(whole)
    kind, locus = error_locus(whole, shape)
    if kind == "missing_tool":  # by its name, whatever the shell that missed it
        shape = locus
    elif kind == "wrong_directory":  # where to go differs by project
        shape = ""
    return ErrorText(
        exact if telling_words(exact) else "", shape if telling_words(shape) else "", is_cut
    )


def is_exact(first: ErrorText, second: ErrorText) -> bool:
    """The same words, or a distinctive part of one line in the other."""
    if not first.exact or not second.exact:
        return False
    if first.exact == second.exact:
        return True
    short, long = sorted((first.exact, second.exact), key=len)
    begins = len(short) >= _LEAST_BEGINNING and long.startswith(short)
    return begins or (len(short) >= _LEAST_PART and short in long)


def is_same_shape(first: ErrorText, second: ErrorText) -> bool:
    """The same words once names, paths and numbers are masked."""
    if not first.shape or not second.shape:
        return False
    if first.is_cut or second.is_cut:
        short, long = sorted((first.shape, second.shape), key=len)
        return len(short) >= _LEAST_PART and long.startswith(short)
    return first.shape == second.shape
