"""Markdown as agents write it, as a few harmless elements: nothing loads or leads elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from session_memory.core.event_ids import event_name, split
from session_memory.core.text.safe_text import safe

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"^#{1,6}\s+(.+)$")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,3}[.)])\s+(.+)$")
_INLINE = re.compile(r"`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]{1,200})\]\(([^)\s]{1,500})\)")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
_CITED = re.compile(r"\[e:(\d{1,18})\]")
_DEEPEST = 4


def rendered(text: str) -> Markup:
    """Headings, lists, code and bold words; everything else is a paragraph as it was typed."""
    return Markup("").join(_blocks(safe(text).split("\n")))


def with_evidence(page: Markup) -> Markup:
    """The same, with the events that lines of a memory cite as links to them."""

    def link(cited: re.Match[str]) -> str:
        session, seq = split(int(cited[1]))
        address = f"/sessions/{session}?at={seq}#e{seq}"
        return Markup('<a href="{}">{}</a>').format(address, event_name(int(cited[1])))

    return Markup(_CITED.sub(link, str(page)))  # it is escaped: digits alone change


def _blocks(lines: list[str]) -> Iterator[Markup]:
    paragraph: list[str] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        if fence := _FENCE.match(line):
            yield from _paragraph(paragraph)
            end = _fence_end(lines, index + 1, fence[1])
            yield Markup('<pre tabindex="0">{}</pre>').format("\n".join(lines[index + 1 : end]))
            index = end
        elif heading := _HEADING.match(line):
            yield from _paragraph(paragraph)
            yield Markup('<p class="heading">{}</p>').format(_inline(heading[1]))
        elif item := _ITEM.match(line):
            yield from _paragraph(paragraph)
            depth = min(_DEEPEST, len(item[1].expandtabs(4)) // 2)
            mark = line.strip().split(None, 1)[0]
            sign = mark if mark[0].isdigit() else "\u2022"
            yield Markup('<p class="item depth{}"><span>{}</span> {}</p>').format(
                depth, sign, _inline(item[2])
            )
        elif not line.strip() or _RULE.match(line):
            yield from _paragraph(paragraph)
        else:
            paragraph.append(line)
        index += 1
    yield from _paragraph(paragraph)


def _fence_end(lines: list[str], start: int, fence: str) -> int:
    """The line that closes a block of code; the end of the text where none does."""
    closes = (n for n in range(start, len(lines)) if lines[n].strip().startswith(fence))
    return next(closes, len(lines))


def _paragraph(lines: list[str]) -> Iterator[Markup]:
    """The lines gathered so far, if any; they are taken out of the list."""
    if lines:
        yield Markup("<p>{}</p>").format(Markup("\n").join(map(_inline, lines)))
        lines.clear()


def _inline(line: str) -> Markup:
    """Code, bold words, and links as their text followed by the address."""
    parts: list[Markup] = []
    end = 0
    for match in _INLINE.finditer(line):
        parts.append(escape(line[end : match.start()]))
        code, bold, words, address = match.groups()
        if code is not None:
            parts.append(Markup("<code>{}</code>").format(code))
        elif bold is not None:
            parts.append(Markup("<strong>{}</strong>").format(bold))
        else:
            parts.append(escape(words if words == address else f"{words} ({address})"))
        end = match.end()
    return Markup("").join([*parts, escape(line[end:])])
