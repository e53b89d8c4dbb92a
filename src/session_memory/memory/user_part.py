"""The user part of MEMORY.md: text between two marks, which we keep byte for byte."""

from __future__ import annotations

USER_PART_BEGIN = "<!-- yours: what stands here is kept as it is -->"
USER_PART_END = "<!-- end of yours -->"


def user_part_of(page: str) -> str:
    """The text between the marks, "" if blank; without an end mark it reaches to the end."""
    _, begin, rest = page.partition(USER_PART_BEGIN)
    inside = rest.partition(USER_PART_END)[0] if begin else ""
    return inside if inside.strip() else ""


def page_with_user_part(user_part: str, generated: str = "# Memory\n") -> str:
    """A MEMORY.md of the generated text and the user part."""
    inside = user_part or "\n\n"
    return f"{generated.rstrip()}\n\n{USER_PART_BEGIN}{inside}{USER_PART_END}\n"


def keep_edits(before: str, after: str) -> str:
    """The page after an edit, with lines that were added to the generated text in the user part.

    The generated text is made again from traces, so a line typed into it would be lost.
    """
    generated = generated_part_of(after)
    old_lines = set(generated_part_of(before).splitlines())
    added = [line for line in generated.splitlines() if line.strip() and line not in old_lines]
    user_part = user_part_of(after)
    if not added:
        return page_with_user_part(user_part, generated)
    left = [line for line in generated.splitlines() if not line.strip() or line in old_lines]
    extended = (user_part.rstrip() if user_part else "") + "\n" + "\n".join(added) + "\n"
    return page_with_user_part(extended, "\n".join(left))


def generated_part_of(page: str) -> str:
    """The page without the marks and the text between them."""
    head, begin, rest = page.partition(USER_PART_BEGIN)
    return head + rest.partition(USER_PART_END)[2] if begin else page
