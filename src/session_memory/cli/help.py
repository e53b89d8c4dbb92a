"""`session-memory help`: pages on words and rules, and the help of any command."""

from __future__ import annotations

import difflib

import click
from click.shell_completion import CompletionItem

from session_memory.cli.app import App, long_output, pass_app
from session_memory.cli.output import columns, fit
from session_memory.cli.topics import TOPICS
from session_memory.cli.verbs import VERBS, Section, Verb
from session_memory.errors import NotFound


def _complete(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    named = dict[str, Verb | Section](VERBS)
    for word in context.params.get("words") or ():
        section = named.get(word)
        named = dict(section.verbs) if isinstance(section, Section) else {}
    texts = {name: verb.help for name, verb in named.items()}
    if not context.params.get("words"):
        texts |= {name: topic.title for name, topic in TOPICS.items()}
    return [
        CompletionItem(name, help=text) for name, text in texts.items() if name.startswith(begun)
    ]


@click.command(name="help")
@click.argument("words", metavar="[TOPIC | COMMAND]", nargs=-1, shell_complete=_complete)
@pass_app
@long_output
def command(app: App, words: tuple[str, ...]) -> None:
    """Explain a word of this program, or a command; -v prints every page.

    \b
    Examples:
      session-memory help
      session-memory help gate
      session-memory help rules approve
    """
    if not words:
        click.echo(_fitted(_every_page()) if app.verbosity else fit(_contents()))
        return
    topic = TOPICS.get(words[0]) if len(words) == 1 else None
    subcommand = _command(click.get_current_context().find_root(), words)
    if topic is None and subcommand is None:
        near = difflib.get_close_matches(words[0], [*TOPICS, *VERBS], 1, 0.5)
        meant = f"did you mean `help {near[0]}`? " if near else ""
        hint = f"{meant}topics: {', '.join(TOPICS)}"
        raise NotFound(f"no topic or command `{' '.join(words)}`", hint=hint)
    if topic is not None:
        click.echo(_fitted(f"{topic.title}\n\n{topic.text}"))
        if subcommand is not None:
            click.echo(f"\nThe command: session-memory {words[0]} --help")
    elif subcommand is not None:
        click.echo(subcommand.get_help())


def _fitted(text: str) -> str:
    """Prose as wide as the terminal; what is set in columns keeps its lines."""
    if columns() is None:
        return text
    parts = text.split("\n\n")
    return fit("\n\n".join(part if "  " in part else part.replace("\n", " ") for part in parts))


def _every_page() -> str:
    return "\n\n\n".join(f"{page.title} ({name})\n\n{page.text}" for name, page in TOPICS.items())


def _contents() -> str:
    width = max(map(len, TOPICS))
    lines = [f"  {name:<{width}}  {topic.title}" for name, topic in TOPICS.items()]
    return "\n".join(
        (
            "session-memory help TOPIC, on one of:",
            "",
            *lines,
            "",
            "session-memory help COMMAND explains a command; session-memory --help lists them.",
        )
    )


def _command(context: click.Context, words: tuple[str, ...]) -> click.Context | None:
    """The context of the command these words name."""
    for word in words:
        group = context.command
        inner = group.get_command(context, word) if isinstance(group, click.Group) else None
        if inner is None:
            return None
        context = inner.context_class(inner, info_name=word, parent=context)
    return context
