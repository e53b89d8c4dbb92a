"""Secrets known by the structure around them: tables, manifests, blocks, key objects.

A rule's pattern finds the structure; what in it is secret depends on its other lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from session_memory.redact.rule import HEX, Rule, fake
from session_memory.redact.secret_names import is_secret_name
from session_memory.redact.value_checks import (
    is_key,
    is_mixed,
    is_password_text,
    is_quoted,
    is_setting,
    is_value,
)
from session_memory.regex_cache import compiled

Places = Iterator[tuple[int, int]]

ROWS = 200
"""Rows of a table that are looked at."""
HEADER = 400
"""Bytes of a header that are looked at before and after the name in it."""
MANIFEST = 16_384
"""Bytes of a manifest that are looked at before and after its kind."""
_PASSWORD_COLUMN = compiled(r"(?i)pass|pwd|kennwort")
_RULED = compiled(rb"[\s|+:=-]*$")
_LABEL = compiled(rb"[A-Za-z][\w .-]{0,30}$")


def _is_column(label: bytes) -> bool:
    name = label.decode("ascii", "replace").strip().replace(" ", "_")
    return is_secret_name(name)


def _is_cell(label: bytes, value: bytes) -> bool:
    """Whether the cell below such a label holds a secret."""
    if len(value) < 4 or b" " in value or not is_setting(value):
        return False
    if _PASSWORD_COLUMN.search(label.decode("ascii", "replace")):
        return is_quoted(value)
    return is_key(value) or (len(value) >= 8 and is_mixed(value))


def _cells(line: bytes, start: int, separator: re.Pattern[bytes]) -> list[tuple[int, int]]:
    """The places of a line's cells, without the blanks and quotes around them."""
    edges = [0, *(edge for gap in separator.finditer(line) for edge in gap.span()), len(line)]
    cells: list[tuple[int, int]] = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        body = line[first:last]
        cell = body.strip(b" \t\r\"'`")
        first += len(body) - len(body.lstrip(b" \t\r\"'`"))
        cells.append((start + first, start + first + len(cell)))
    return cells


_SEPARATORS = tuple(map(re.compile, (rb"\|", rb"\t+", rb",", rb";", rb" {2,}")))

_BLANKS = (_SEPARATORS[1], _SEPARATORS[4])


def _table(text: bytes, start: int, end: int) -> Places:
    """The cells below the labels of a header that name a secret."""
    start = text.rfind(b"\n", max(0, start - HEADER), start) + 1 or max(0, start - HEADER)
    end = text.find(b"\n", max(start, end - 1), end + HEADER)
    if end < 0:
        return
    header = text[start:end].strip()
    separator = next((each for each in _SEPARATORS if each.search(header)), None)
    if separator is None:
        return
    labels = _cells(text[start:end], start, separator)
    names = [text[first:last] for first, last in labels]
    columns = [index for index, name in enumerate(names) if _is_column(name)]
    if not columns or not all(_LABEL.match(name) for name in names if name):
        return
    if separator in _BLANKS and not (header.isupper() or (header.islower() and b"\t" in header)):
        return  # code, aligned by blanks
    if separator in _SEPARATORS[2:4] and b" " in header:
        return  # a list of words, no columns
    if separator in _BLANKS and (not names[0] or any(name.lower() == b"pwd" for name in names)):
        return
    position = end + 1
    for _ in range(ROWS):
        last = text.find(b"\n", position, position + 4 * HEADER)
        last = min(len(text), position + 4 * HEADER) if last < 0 else last
        line = text[position:last]
        cells = _cells(line, position, separator)
        if len(cells) != len(labels):
            if not (line and _RULED.match(line)):
                return
        else:
            for index in columns:
                first, stop = cells[index]
                if text[first:stop] == names[index]:
                    return  # the next table
                if _is_cell(names[index], text[first:stop]):
                    yield first, stop
        position = last + 1
        if position > len(text):
            return


_CODE_CELL = compiled(rb"\|[ \t]*`([^`\s|]{4,120})`[ \t]*(?=\|)")


def _described(text: bytes, _start: int, end: int) -> Places:
    """The default that a row of a Markdown table gives for a variable with the name of a secret."""
    last = text.find(b"\n", end, end + HEADER)
    for cell in _CODE_CELL.finditer(
        text, end - 1, last if last >= 0 else min(len(text), end + HEADER)
    ):
        if is_password_text(cell[1]):
            yield cell.span(1)


_VALUES = compiled(rb"\(([^()]*)\)")
_COMMA = compiled(rb",")


def _inserted(text: bytes, start: int, end: int) -> Places:
    """The values of an INSERT that stand under the name of a secret."""
    lists = list(_VALUES.finditer(text, start, end))
    if not lists:
        return
    labels = _cells(lists[0][1], 0, _COMMA)
    names = [lists[0][1][first:last] for first, last in labels]
    columns = [index for index, name in enumerate(names) if _is_column(name)]
    for row in lists[1:]:
        cells = _cells(row[1], row.start(1), _COMMA)
        if len(cells) == len(names):
            for index in columns:
                first, last = cells[index]
                if text[first - 1 : first] in (b"'", b'"') and _is_cell(
                    names[index], text[first:last]
                ):
                    yield first, last


_CONTINUED = compiled(rb"\\?\r?\n[ \t]+([A-Za-z0-9+/=_-]{12,})(?=\\?[\"']?[ \t]*(?:\r?\n|$))")


def _wrapped(text: bytes, start: int, end: int) -> Places:
    """The further lines of a value that was wrapped."""
    end = len(text[: text.index(b"\n", start, end)].rstrip(b"\r\\"))
    while (line := _CONTINUED.match(text, end)) and is_key(line[1]):
        yield line.span(1)
        end = line.end()


_NEXT = compiled(rb"\n(?:---|kind:)")
_DATA = compiled(rb"(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n")
_ENTRY = compiled(
    rb"([ \t]+)['\"]?([\w.-]+)['\"]?:[ \t]*(['\"]?)([^\s'\"|>{][^\s'\"]{3,})\3[ \t]*(?:\r?\n|$)"
)
_DATA_JSON = compiled(rb'"(?:data|stringData)"\s*:\s*\{([^{}]*)\}')
_ENTRY_JSON = compiled(rb'"([\w.-]+)"\s*:\s*"([^"\s]{4,})"')
_PUBLIC = compiled(rb"(?i)(?:\.crt|\.pub|\.ca|username|user|host|port|namespace|database)$")


def _secret_manifest(text: bytes, start: int, end: int) -> Places:
    """All data of a Kubernetes Secret, under any key."""
    low = max(0, start - MANIFEST)
    first = max(low, *(text.rfind(mark, low, start) for mark in (b"\n---", b"\nkind:")))
    after = _NEXT.search(text, end, end + MANIFEST)
    last = after.start() if after else min(len(text), end + MANIFEST)
    for block in _DATA.finditer(text, first, last):
        position = block.end()
        while (entry := _ENTRY.match(text, position)) and len(entry[1]) > len(block[1]):
            position = entry.end()
            if not _PUBLIC.search(entry[2]) and is_setting(entry[4]):
                yield entry.span(4)
    for block in _DATA_JSON.finditer(text, first, last):
        for entry in _ENTRY_JSON.finditer(text, *block.span(1)):
            if not _PUBLIC.search(entry[1]) and is_setting(entry[2]):
                yield entry.span(2)


_VARIABLE_NAME = compiled(rb'"([^"\s]+)"')
_SENSITIVE = compiled(rb"\bsensitive\s*=\s*true\b")
_DEFAULT = compiled(rb'\bdefault\s*=\s*"([^"\n$]{4,})"')


def _terraform_default(text: bytes, start: int, end: int) -> Places:
    """What a variable holds that is sensitive, or has the name of a secret."""
    name = _VARIABLE_NAME.search(text, start, end)
    default = _DEFAULT.search(text, start, end)
    if not name or not default or not is_quoted(default[1].replace(b" ", b"")):
        return
    if _is_column(name[1]) or _SENSITIVE.search(text, start, end):
        yield default.span(1)


_PRIVATE_PART = compiled(rb"\"(?:d|p|q|dp|dq|qi|k)\"\s*:\s*\"([A-Za-z0-9_=-]{16,})\"?")


def _private_parts(text: bytes, start: int, end: int) -> Places:
    """The private numbers of a JSON Web Key."""
    for part in _PRIVATE_PART.finditer(text, start, end):
        yield part.span(1)


STRUCTURES = (
    Rule(
        id="table",
        # The end of a cell of a header; a pattern for its beginning would slow the second pass.
        pattern=rb"(?i)(?:password|passwd|passphrase|pwd|secret|token|[ _-]key|apikey)[ \t]*"
        rb"(?:[|;\t]|,[a-z]|  |\r?\n)",
        everyday="passwords",
        keywords=(
            *("password", "passwd", "passphrase", "pwd", "secret", "token"),
            *(" key", "_key", "-key", "apikey"),
        ),
        find=_table,
        must_match=(
            "| user | password |\n|---|---|\n| me | swordfish |",
            fake("NAME    TOKEN\nme      ", 24),
        ),
        must_not_match=(
            "| option | token |\n|---|---|\n| -t | the token to use |",
            "user,password\nme,***",
            "name, password\nare needed, always",
        ),
    ),
    Rule(
        id="described",
        pattern=rb"(?i)\|[ \t]*`[\w.-]*(?:password|passwd|passphrase|_pass|_pwd|secret|token|_key)`"
        rb"[ \t]*\|",
        keywords=(
            "password`",
            "passwd`",
            "passphrase`",
            "_pass`",
            "_pwd`",
            "secret`",
            "token`",
            "_key`",
        ),
        find=_described,
        must_match=("| `DB_PASSWORD` | no | `swordfish` | of the database |",),
        must_not_match=(
            "| `DB_PASSWORD` | `string` | of the database |",
            "| `API_TOKEN` | `your-token` |",
        ),
    ),
    Rule(
        id="sql-insert",
        pattern=rb"(?i)\binsert\s+into\s+[\w.\"`\[\]]+\s*\([^()]*(?:pass|pwd|secret|token|key)[^()]*\)\s*values\s*"
        rb"\([^()]+\)(?:\s*,\s*\([^()]+\))*",
        everyday="others",
        prefilter=rb"(?i)\binsert\s+into\s+[\w.\"`\[\]]+\s*\([^()]*(?:pass|pwd|secret|token|key)",
        keywords=("insert",),
        find=_inserted,
        must_match=("INSERT INTO users (name, password) VALUES ('me', 'swordfish'), ('x', NULL);",),
        must_not_match=(
            "INSERT INTO users (name, password) VALUES (?, ?)",
            "INSERT INTO users (name, host) VALUES ('me', 'swordfish')",
        ),
    ),
    Rule(
        id="wrapped-value",
        pattern=rb"(?i)(?:pass|pwd|secret|token|key)[\w-]{0,12}[\"']?\s*[:=][ \t]*[\"']?"
        rb"[a-z0-9+/_=-]{16,}\\?\r?\n[ \t]+[a-z0-9+/=_-]{12}",
        everyday="others",
        keywords=("pass", "pwd", "secret", "token", "key"),
        find=_wrapped,
        must_match=(fake("api_key: ", 48, HEX) + "\n  " + fake("", 48, HEX),),
        must_not_match=(fake("api_key: ", 48, HEX) + "\n  some_longer_setting_name",),
    ),
    Rule(
        id="kubernetes-secret",
        pattern=rb"(?:^|\n)[ \t]*kind:[ \t]*[\"']?Secret[\"']?[ \t]*(?:\r?\n|$)|"
        rb"\"kind\"\s*:\s*\"Secret\"",
        everyday="others",
        prefilter=rb"kind[\"']?\s*:\s*[\"']?Secret",
        keywords=("kind:", 'kind"'),
        find=_secret_manifest,
        must_match=(
            "kind: Secret\ndata:\n  anything: c3dvcmRmaXNo",
            'kind: Secret\nstringData:\n  a: "opensesame"',
        ),
        must_not_match=(
            "kind: ConfigMap\ndata:\n  anything: c3dvcmRmaXNo",
            "kind: Secret\ndata:\n  tls.crt: c3dvcmRmaXNo",
        ),
    ),
    Rule(
        id="terraform-default",
        pattern=rb"\bvariable\s+\"[^\"\n]+\"\s*\{[^{}]+\}",
        everyday="others",
        prefilter=rb"\bvariable\s+\"",
        keywords=("variable",),
        find=_terraform_default,
        must_match=(
            'variable "db_password" {\n  default = "swordfish"\n}',
            'variable "x" {\n  default = "swordfish"\n  sensitive = true\n}',
        ),
        must_not_match=(
            'variable "region" {\n  default = "swordfish"\n}',
            'variable "token" {\n  type = string\n}',
        ),
    ),
    Rule(
        id="json-web-key",
        pattern=rb"\{[^{}]*\"kty\"\s*:[^{}]*",
        everyday="others",
        prefilter=rb"\"kty\"",
        keywords=('"kty"',),
        find=_private_parts,
        must_match=(fake('{"kty":"EC","x":"abc","d":"', 43) + '"}',),
        must_not_match=(fake('{"kty":"EC","x":"', 43) + '"}',),
    ),
    Rule(
        id="pgpass",
        pattern=rb"(?m)^[\w.*-]+:(?:543[0-9]|6432|3306|\*):[^:\s]+:[^:\s]+:([^:\s]{4,})\r?$",
        everyday="others",
        prefilter=rb"(?:543[0-9]|6432|3306|\*):[^:\s]+:[^:\s]+:[^:\s]{4}",
        group=1,
        keywords=(":54", ":6432:", ":3306:", ":*:"),
        check=is_setting,
        must_match=("db.test:5432:shop:me:swordfish", "*:*:*:me:hunter2"),
        must_not_match=("db.test:5432:shop:me:***", "12:54:32:11:0012x"),
    ),
    Rule(
        id="nkey-seed",
        pattern=rb"\bS[UAONCX][A-Z2-7]{56}\b",
        everyday="others",
        keywords=("SU", "SA", "SO", "SN", "SC", "SX"),
        exact=True,
        must_match=(fake("SU", 56, "A2B3C4D5"), fake("SA", 56, "ZYXW7654")),
        must_not_match=(fake("SU", 55, "A2B3C4D5"), fake("UA", 56, "A2B3C4D5")),
    ),
    Rule(
        id="firebase-host",
        pattern=rb"(?i)\b[a-z0-9][a-z0-9-]{3,}\.(?:firebaseio|firebaseapp)\.com\b",
        keywords=("firebaseio.com", "firebaseapp.com"),
        check=is_value,
        must_match=("https://shop-a1b2c.firebaseio.com/x.json", "shop-a1b2c.firebaseapp.com"),
        must_not_match=("https://firebaseio.com/", "console.firebase.google.com"),
    ),
    Rule(
        id="twilio-account",
        pattern=rb"\bAC[0-9a-f]{32}\b",
        keywords=tuple(f"AC{digit}" for digit in HEX),
        exact=True,
        must_match=(fake("AC", 32, HEX),),
        must_not_match=(fake("AC", 40, HEX), fake("MAC", 32, HEX)),
    ),
)
