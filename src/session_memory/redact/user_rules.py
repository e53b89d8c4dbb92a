"""Rules that a user adds: in the configuration, or as a gitleaks file.

Both have an id, an expression whose first group is the secret, and keywords one of which must be in
the text; gitleaks adds a minimum entropy and allowlists. gitleaks expressions are written for Go;
`(?i)` inside an expression, `\\z` and classes such as `[[:alnum:]]` mean the same to RE2, so they
are used unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from session_memory.redact.engine import Redactor
from session_memory.redact.linear_regex import BadPatternError, Pattern, compile_pattern
from session_memory.redact.rule import Rule
from session_memory.redact.value_checks import entropy
from session_memory.settings import Redact
from session_memory.settings.load import read_toml

Table = Mapping[str, object]
Check = Callable[[bytes], bool]

HINT = "correct the file, or remove `gitleaks` from [redact] in the configuration"


def make_redactor(key: bytes, settings: Redact, warn: Callable[[str], object]) -> Redactor:
    """The redactor of a store: the built-in rules and the user's own.

    `warn` shows the user each rule that cannot be used: text is stored without its protection.
    """
    extra, warnings = load_user_rules(msgspec.to_builtins(settings.rules), settings.gitleaks)
    for text in warnings:
        warn(text)
    return Redactor(key, extra=extra)


def load_user_rules(tables: Sequence[Table], gitleaks: str = "") -> tuple[list[Rule], list[str]]:
    """The user's rules, and a warning for each that cannot be used; it names the rule by its id.

    A gitleaks file that cannot be read is an error: without it secrets would be stored.
    """
    rules, warnings = _from_tables(tables, "redact.rules", ())
    if gitleaks:
        table = read_toml(gitleaks, HINT)
        allowed, warned = _allowed(table, "the whole file")
        more, failed = _from_tables(_tables(table.get("rules")), Path(gitleaks).name, allowed)
        rules += more
        warnings += [*warned, *failed]
    return rules, warnings


def _from_tables(
    tables: Iterable[Table], source: str, allowed: Sequence[Check]
) -> tuple[list[Rule], list[str]]:
    rules: list[Rule] = []
    warnings: list[str] = []
    for number, table in enumerate(tables, 1):
        name = table.get("id")
        name = name if isinstance(name, str) and name else f"number {number}"
        own, warned = _allowed(table, f"rule {name}")
        try:
            rules.append(_rule(name, table, (*allowed, *own)))
            warnings += [f"{source}: {text}" for text in warned]
        except BadPatternError as error:
            warnings.append(f"{source}: rule {name} is not used: {error}")
    return rules, warnings


def _rule(name: str, table: Table, allowed: Sequence[Check]) -> Rule:
    text = table.get("pattern") or table.get("regex")
    if not isinstance(text, str):
        raise BadPatternError("it has no expression, and only names of files")
    expression = text.encode("utf-8")
    pattern = compile_pattern(expression)
    group = table.get("secretGroup")
    group = group if isinstance(group, int) and 0 < group <= pattern.groups else 1
    least = table.get("entropy")
    return Rule(
        id=name,
        pattern=expression,
        keywords=tuple(word.lower() for word in _texts(table.get("keywords")) if word),
        group=min(group, pattern.groups),
        check=_check(float(least) if isinstance(least, int | float) else 0.0, allowed),
    )


def _check(least: float, allowed: Sequence[Check]) -> Check | None:
    if not least and not allowed:
        return None

    def check(secret: bytes) -> bool:
        if least and entropy(secret) <= least:
            return False
        return not any(allows(secret) for allows in allowed)

    return check


def _allowed(table: Table, where: str) -> tuple[list[Check], list[str]]:
    """Checks for the secrets that the allowlists of a rule or file allow; paths are ignored.

    A list that looks at the whole line, or combines conditions, is left out: more is redacted.
    """
    checks: list[Check] = []
    warnings: list[str] = []
    for allowlist in (*_tables(table.get("allowlist")), *_tables(table.get("allowlists"))):
        target = allowlist.get("regexTarget", "secret")
        if target not in ("secret", "") or allowlist.get("condition") == "AND":
            warnings.append(
                f"an allowlist of {where} is left out: it looks at more than the secret"
            )
            continue
        stop = tuple(word.lower().encode() for word in _texts(allowlist.get("stopwords")))
        if stop:
            checks.append(_holds_any(stop))
        for expression in _texts(allowlist.get("regexes")):
            try:
                checks.append(_matches(compile_pattern(expression.encode("utf-8"))))
            except BadPatternError as error:
                warnings.append(f"an allowlist of {where} is left out: {error}")
    return checks, warnings


def _holds_any(words: tuple[bytes, ...]) -> Check:
    return lambda secret: any(word in secret.lower() for word in words)


def _matches(pattern: Pattern) -> Check:
    return lambda secret: next(pattern.finditer(secret), None) is not None


def _tables(value: object) -> list[Table]:
    """One table or a list of tables; anything else is ignored."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return [cast(Table, item) for item in items if isinstance(item, dict)]


def _texts(value: object) -> list[str]:
    items = cast("Iterable[object]", value) if isinstance(value, list | tuple) else ()
    return [item for item in items if isinstance(item, str)]
