"""A text in the editor of the user."""

from __future__ import annotations

import click

from session_memory.errors import SessionMemoryError

_HINT = "nothing was changed; VISUAL or EDITOR names the editor to use, such as `nano`"


def edit_text(text: str, *, extension: str = ".txt") -> str | None:
    """The text as saved in $VISUAL or $EDITOR; None where it was not saved."""
    try:
        return click.edit(text, extension=extension)
    except UnicodeDecodeError:
        raise SessionMemoryError("the edited text is not UTF-8", hint=_HINT) from None
    except ValueError as error:  # a variable with an open quote
        raise SessionMemoryError(f"cannot start the editor: {error}", hint=_HINT) from None
    except click.ClickException as error:
        raise SessionMemoryError(error.message, hint=_HINT) from None
