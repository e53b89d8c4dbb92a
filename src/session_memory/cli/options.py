"""Options with a help of one paragraph; for longer ones click loads `inspect`, which takes long.

Nearly no command needs it otherwise: see `late_modules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Callback = TypeVar("Callback", bound=Callable[..., Any])


class Option(click.Option):
    """An option whose help is printed as it is."""

    def __init__(self, names: Sequence[str], *, help: str | None = None, **attrs: Any) -> None:
        super().__init__(names, **attrs)
        self.help = help


def option(*names: str, **attrs: Any) -> Callable[[Callback], Callback]:
    """`click.option` of this kind."""
    return click.option(*names, cls=Option, **attrs)


def printing_option(
    names: Sequence[str], help: str, text_of: Callable[[click.Context], str]
) -> Option:
    """An option that prints something instead of running the command."""

    def print_it(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value and not context.resilient_parsing:
            click.echo(text_of(context), color=context.color)
            context.exit()

    return Option(
        names, is_flag=True, is_eager=True, expose_value=False, help=help, callback=print_it
    )
