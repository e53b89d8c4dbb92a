"""Error texts as templates: what varies is masked, so that the same error looks the same."""

from __future__ import annotations

import re
from functools import lru_cache

from session_memory.regex_cache import compiled

TEMPLATE_CHARS = 200
_LINE_CHARS = 400
_WINDOW_CHARS = 4096
_SHORT_LINES = 3

_CODE_SUFFIX = (
    r"(?:py|pyi|ts|tsx|mts|cts|js|jsx|mjs|cjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|ps1"
    r"|sql|md|mdx|json|jsonl|ya?ml|toml|lock|txt|html|css|scss|vue|svelte|xml|ini|cfg|exe|log)"
)
# Order matters: a time holds numbers, a path holds words, so the larger thing is tried first.
_VARIABLE = compiled(
    # Words of letters alone come first and in runs: nothing of them is masked, and one by one each
    # letter would be tried against all the rest.
    r"(?P<plain>[A-Za-z]+(?:'[a-z]+)?(?:[,;:.)]? +[A-Za-z]+(?:'[a-z]+)?)*"
    r"(?=[ ,;)]|:(?![\\/])|\.(?: |$)|$))"
    r"|(?P<keep><(?:time|uuid|url|str|path|hex|n)>)"
    r"|\[(?P<secret>REDACTED_SECRET)(?::[^\]\s]{1,64})?\]"
    r"|(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b\d{4}-\d\d-\d\d\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)"
    r"|(?P<uuid>\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b)"
    r"|(?P<url>\b[a-z][a-z0-9+.-]{1,10}://[^\s'\"<>`)\]]+)"
    r"|(?P<str>(?<!\w)'[^'\n]{1,200}'(?!\w)|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`|“[^”\n]{1,200}”"
    r"|‘[^’\n]{1,200}’)"
    r"|(?P<path>\b[A-Za-z]:[\\/][^\s:;,'\"<>|()]+"
    r"|(?<![\w/<])(?:~|\.{1,2})?/[\w.@+~-]+(?:/[\w.@+~-]*)*"
    r"|(?<![\w/<>.-])(?:[\w.@+-]+[\\/]){2,}[\w.@+-]*"
    rf"|(?<![\w/<>.-])(?:[\w.@+-]+[\\/])?[\w@+-][\w.@+-]*\.{_CODE_SUFFIX}\b)"
    r"|(?P<hex>\b0x[0-9a-fA-F]+\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b)"
    r"|(?P<n>(?<![\w<])\d+(?:[.,:]\d+)*(?=\b|[a-zA-Z%]))"
)
# A number behind one of these is the name of the error, not a measure.
_NAMING = (
    "http ",
    "code ",
    "code: ",
    "status ",
    "status: ",
    "errno ",
    "os error ",
    "signal ",
    "error ",
)
_ANSI = compiled(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0e-\x1b]"
)

# In lower case, as the text then is.
_PREFACE = compiled(
    r"(?:exit code:? -?\d+|chunk id:.*|wall time:.*|process exited with code -?\d+|output:"
    r"|original token count:.*|(?:error|signal|process group pgid): \(none\)"
    r"|\$ .*|> .*|% total .*|\[?traceback \(most recent call last\).*"
    r"|\d*\s*\d*\s*[│|┃].*|[\W\d_]*"
    # Tests that passed or were left out, and what was running: their names may tell of errors.
    r"|\W{0,3}(?:pass(?:ed)?|ok|skip(?:ped)?|todo)(?: ?\W |\)|\]).*|[✓✔√○↓] .*|--- (?:pass|skip).*"
    r"|current command:.*|\[?request interrupted.*)$"
)
# What begins with a letter begins like one of these.
_PREFACES = (
    *("exit code", "chunk id:", "wall time:", "process ", "output:", "original token", "error: ("),
    *("signal: (", "traceback (", "pass", "ok", "skip", "todo", "current command:", "request int"),
)
_WARNING = compiled(r"(?:npm )?warn|\W*⚠", re.I)
_TELLING = (
    *("error", "exception", "fatal", "panic", "fail", "denied", "not found", "no such", "cannot"),
    *(
        "can't",
        "couldn't",
        "unable",
        "invalid",
        "unrecognized",
        "unexpected",
        "undefined",
        "missing",
    ),
    *("reject", "timed out", "timeout", "refused", "illegal", "not allowed", "does not", "did not"),
    *("doesn't", "not under", "conflict", "unknown", "no files", "unused", "misuse", "haven't"),
    *("has not been", "has been modified"),
)
# Words of errors that are also in what is no error: they count where no line has a surer one.
_PERHAPS_TELLING = (
    *("issues found", "already exists", "uncommitted", "deprecated", "expected", "no matches"),
    *("is not a", "mismatch", "unmatched", "must be", "required"),
)
_FINDING = compiled(r"\S+\.\w+:\d+(?::\d+)?:? +[A-Za-z]")  # of a linter: place and message
# In lower case, as the text then is.
_NO_ERROR = compiled(r"\b(?:0|no) (?:errors?|failures?|fail(?:ed)?|problems?|warnings?)\b")
_RAISED = compiled(r"[\w.]*(?:Error|Exception|Exit|Interrupt|Warning)\b")
_TAG = compiled(r"</?tool_use_error>|<error>|</error>")


@lru_cache(maxsize=256)  # every search for a cure compares the same errors
def mask(text: str) -> str:
    """The template of one error text: one line, at most TEMPLATE_CHARS long."""
    line = _flat(text[:_LINE_CHARS])
    return _VARIABLE.sub(_masked, line)[:TEMPLATE_CHARS].rstrip()


def mask_numbers(text: str) -> str:
    """The line with its names, paths and quotes as they are; only numbers, times and ids masked."""
    return _VARIABLE.sub(_masked_number, _flat(text[:_LINE_CHARS])).rstrip()


def _masked_number(match: re.Match[str]) -> str:
    return match[0] if match.lastgroup in ("url", "str", "path") else _masked(match)


def _masked(match: re.Match[str]) -> str:
    group = match.lastgroup
    if group in ("plain", "keep"):
        return match[0]
    if group == "secret":
        return "[REDACTED_SECRET]"  # its tag is keyed by the store: the same error must stay equal
    if group == "n":
        before = match.string[max(0, match.start() - 10) : match.start()].lower()
        if before.endswith(_NAMING):
            return match[0]
    return f"<{group}>"


def error_line(text: str) -> str:
    """The line of an output that says what went wrong, at most 400 characters of it.

    Only the head and the tail of a long output are looked at.
    """
    return next(iter(error_lines(text, 1)), "")


def error_lines(text: str, limit: int) -> list[str]:
    """Lines of an output that say what went wrong, the most telling first."""
    return list(_telling_lines(text)[:limit])


@lru_cache(maxsize=2)  # calls, cures and the counts of errors ask about the same output
def _telling_lines(text: str) -> tuple[str, ...]:
    seen = window(text)
    lines = _candidate_lines(seen)
    picked: list[str] = []
    if "Traceback (most recent" in seen:
        picked += [line for line, _ in reversed(lines) if _RAISED.match(line)][:1]
    # Few of the words stand in any one output: that spares most comparisons.
    whole = "\n".join([low for _, low in lines])
    surely = [word for word in _TELLING if word in whole]
    perhaps = [word for word in _PERHAPS_TELLING if word in whole]
    telling = [line for line, low in lines if _tells(low, surely)] if surely else []
    warnings = [line for line in telling if _WARNING.match(line)]
    picked += [line for line in telling if line not in warnings] if warnings else telling
    picked += warnings
    picked += [
        line
        for line, low in lines
        if (perhaps and any(map(low.__contains__, perhaps)))
        or (":" in line and _FINDING.match(line))
    ]
    # A long output without a telling line is what the program found, not what went wrong.
    if not picked and len(lines) <= _SHORT_LINES:
        picked = [line for line, _ in lines[:1]]
    return tuple(dict.fromkeys(picked))


def _tells(lowered: str, words: list[str]) -> bool:
    if not any(map(lowered.__contains__, words)):
        return False
    return not (("no " in lowered or "0 " in lowered) and _NO_ERROR.search(lowered))


def excerpt(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut at a word where possible."""
    line = _flat(text[: limit * 4])
    if len(line) <= limit:
        return line
    cut = line.rfind(" ", limit // 2, limit - 1)
    return line[: cut if cut > 0 else limit - 1].rstrip() + "…"


def _flat(text: str) -> str:
    """The text in one line without terminal escapes, with single blanks."""
    if "  " not in text and text.isprintable():  # no blank but the ordinary one is printable
        return text.strip(" ")
    line = " ".join(text.split())
    return line if line.isprintable() else " ".join(_ANSI.sub("", text).split())


def window(text: str) -> str:
    """Head and tail of a text, so that no pattern ever runs over a whole megabyte."""
    if len(text) <= 2 * _WINDOW_CHARS:
        return text
    return text[:_WINDOW_CHARS] + "\n" + text[-_WINDOW_CHARS:]


def without_colour(text: str) -> str:
    """The text without terminal escapes."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def _candidate_lines(text: str) -> list[tuple[str, str]]:
    """Lines that may say what went wrong, each also in lower case."""
    lines: list[tuple[str, str]] = []
    for raw in without_colour(text).splitlines():
        line = raw.strip()[:_LINE_CHARS]
        lowered = line.lower()
        if not line or _is_preface(lowered):
            continue
        if line[0] == "<" or line[-1] == ">":
            line = _TAG.sub("", line)
            lowered = line.lower()
        lines.append((line, lowered))
    return lines


def _is_preface(lowered: str) -> bool:
    if lowered[0].isalpha() and not lowered.startswith(_PREFACES):
        return False
    return _PREFACE.match(lowered) is not None
