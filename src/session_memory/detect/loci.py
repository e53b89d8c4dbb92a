"""Where something happened, in a form that is the same in every session: command, path, error."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from sys import intern

from session_memory.core.commands import Step, steps, words
from session_memory.core.loop.patterns import SignalType
from session_memory.core.text.masks import excerpt, mask
from session_memory.detect.ordinary import is_ordinary_error
from session_memory.regex_cache import compiled

UNQUOTED = "unquoted ?, *, [ or ]"
"""The locus of a word that the shell took for a pattern: what the word was makes no difference."""
_ZSH_PATTERN = compiled(r"(?:zsh|\(eval\)):\d*:? ?no matches found")
_LOCUS_CHARS = 160
_CACHED_LOCI = 65_536
_STEPS = 3
_OWN = "session-memory"
# Programs with subcommands.
_WITH_SUBCOMMAND = words(
    "git npm pnpm yarn bun deno cargo go docker podman kubectl helm terraform gh glab uv pip pip3"
    " poetry pdm hatch conda brew apt apt-get dnf systemctl make just task rake mvn gradle dotnet"
    " swift flutter dart rails bundle composer php artisan az aws gcloud fly vercel netlify"
    " wrangler supabase prisma turbo nx lerna mix rebar3 stack cabal opam dune zig rustup"
    " pre-commit ruff codex claude grok gemini tmux launchctl ansible vault nix"
)
_SIMPLE = compiled(r"[a-z]+ [\w./=:@,+ -]*\w")
_WRAPS = words("uv poetry pdm hatch conda")  # they run another program
_WRAPPING = words("exec dlx x")
_TWO_WORDS = {
    "npm": words("run"),
    "pnpm": words("run"),
    "yarn": words("run workspace"),
    "bun": words("run"),
    "docker": words("compose container image volume network buildx"),
    "gh": words("pr issue run repo release api workflow"),
    "uv": words("pip tool"),
    "git": words("stash worktree submodule remote bisect"),
    "aws": words("s3 ec2 iam lambda sts ssm ecs"),
    "go": words("mod tool"),
}
_RUNS_SCRIPT = compiled(
    r"(?:(?:python|pypy)[\d.]*|node|ruby|perl|bash|sh|zsh|tsx|ts-node|bun|deno)$"
)
_PREPARATION = words("cd pushd set export source . unset mkdir true false : sleep wait exit if fi")
_LOOKS = words(
    "ls cat head tail less more grep rg egrep find fd sed awk sort uniq wc cut tr jq tee echo"
    " printf pwd which type file stat tree diff test [ [[ date env printenv whoami ps du df bat nl"
)
# Options that take the next word as their value, where they stand before the subcommand.
_TAKES_WORD = words(
    "-C -c --git-dir --work-tree --prefix --cwd --dir --filter --workspace --project --directory"
    " --namespace --context --kubeconfig --profile --region"
)
_WORD = compiled(r"[A-Za-z][\w:.-]*$")
_VERB = compiled(r"[a-z]+(?:-[a-z]+)*$")
# The first word after these is what they work on, not what they do.
_TAKES_DATA = words(
    "rm cp mv ln chmod chown touch kill pkill killall open code curl wget ssh scp rsync tar unzip"
    " zip node python python3 ruby perl bash sh zsh tsx ts-node pytest tsc eslint prettier mypy vim"
    " nano source eval exec xargs time seq say osascript"
)

_MISSING_TOOL = compiled(
    r"(?:(?P<a>[\w.+-]+): command not found(?!: )"
    r"|sh: (?:line )?\d+: (?P<g>[\w.+-]+): not found"
    r"|command not found: (?P<b>[\w.+-]+)"
    r"|'(?P<c>[\w.+-]+)' is not recognized as"
    r"|exec: \"(?P<d>[\w.+/-]+)\": executable file not found"
    r"|[Tt]he term '(?P<e>[\w.+-]+)' is not recognized"
    r"|env: [‘'\"]?(?P<f>[\w.+-]+)[’'\"]?: No such file)"
)
_MISSING_MODULE = compiled(
    r"No module named ['\"]?(?P<a>[\w-]+)"
    r"|Cannot find (?:module|package) ['\"](?P<b>@?[\w/-][\w/.-]*)['\"]"
)
_REFUSED = compiled(
    r"user doesn't want to proceed|tool use was rejected|rejected by user|user rejected"
    r"|permission to use \w+ (?:with|has been denied)|auto-denied",
    re.I,
)
_WRONG_PLACE = (
    (compiled(r"not a git repository", re.I), "git repository"),
    (compiled(r"(?:ENOENT|no such file|could not (?:read|find)).*?(package\.json)", re.I), ""),
    (compiled(r"could not find [`'\"]?(Cargo\.toml)", re.I), ""),
    (compiled(r"(go\.mod) file not found", re.I), ""),
    (compiled(r"no (?:rule|makefile).*?(makefile) found|No targets.*?no (makefile)", re.I), ""),
    (
        compiled(r"(?:no such file|not found|does not).*?(pyproject\.toml|tsconfig\.json)", re.I),
        "",
    ),
    (compiled(r"\bcd: .*?(?:no such file|not a directory)", re.I), "cd"),
)

# Most errors have none of these words; a dozen regular expressions can then be skipped.
_HINTS = (
    *("not found", "not recognized", "no module", "cannot find", "no such file", "git repository"),
    *("doesn't want", "rejected", "denied", "could not", "enoent", "makefile", ".toml", ".json"),
)
# A word outside of masks: a path or a number alone does not say what went wrong.
_TELLING = compiled(r"(?<![<\w])[^\W\d_]{2,}(?![\w>])")


@cache
def command_locus(command: str) -> str:
    """The programs and subcommands of a command, arguments masked; '' for one that only looks."""
    telling_steps = [
        step
        for step in _simple(command) or steps(command)
        if step.program not in _PREPARATION and step.program not in _LOOKS
    ]
    if any(step.program == _OWN for step in telling_steps):
        return ""  # trying out this program shows nothing about the work
    named = dict.fromkeys(name for step in telling_steps if (name := _step_locus(step)))
    # Thousands of commands share a locus: interned, it is hashed once and compared by identity.
    return intern(" && ".join(list(named)[:_STEPS])[:_LOCUS_CHARS])


def _simple(command: str) -> tuple[Step, ...]:
    """The only step of a command without shell syntax, at a fifth of the cost of parsing it."""
    if not _SIMPLE.fullmatch(command):
        return ()
    program, second, *rest = command.split()
    if program not in _WITH_SUBCOMMAND or program in _WRAPS or second in _WRAPPING:
        return ()
    return (Step(program, (second, *rest), hides_exit=False),)


def _step_locus(step: Step) -> str:
    """'' for a program with subcommands where none is found: its name alone says too little."""
    plain = _plain(step)
    parts = [step.program if _WORD.match(step.program) else mask(step.program)]
    if step.program in _WITH_SUBCOMMAND and plain and _WORD.match(plain[0]):
        parts.append(plain.pop(0))
        if parts[1] in _TWO_WORDS.get(step.program, ()) and plain and _WORD.match(plain[0]):
            parts.append(plain.pop(0))
    elif _RUNS_SCRIPT.match(step.program) and plain and _is_script(plain[0]):
        parts.append(plain.pop(0))
    elif step.program in _WITH_SUBCOMMAND and plain:
        return ""
    elif step.program not in _TAKES_DATA and plain and _VERB.match(plain[0]):
        parts.append(plain.pop(0))
    if parts[-1] == "api" and plain and "/" in plain[0]:  # which part of it was called
        parts.append(f"{_bare(plain.pop(0)).split('/')[0]}/..")
    return " ".join((*parts, "<args>")) if plain else " ".join(parts)


def _bare(word: str) -> str:
    return word.strip("'\"").lstrip("/")


def _plain(step: Step) -> list[str]:
    """The words without options, and without the values of options before the first plain word."""
    plain: list[str] = []
    skip = False
    for word in step.words:
        if skip:
            skip = False
        elif not word.startswith("-"):
            plain.append(word)
        elif not plain and step.program in _WITH_SUBCOMMAND:
            skip = word in _TAKES_WORD
    return plain


def _is_script(word: str) -> bool:
    """Whether a word names a script of the repository; one from elsewhere is an argument."""
    return not word.startswith(("/", "~", "'", '"', "$", "<")) and "." in word[1:]


def path_locus(path: str, roots: tuple[str, ...]) -> str:
    """The path below the repository; outside of it only the file's name, masked."""
    plain = path.replace("\\", "/")
    for root in roots:
        base = root.replace("\\", "/").rstrip("/")
        if base and plain.startswith(base + "/"):
            return plain[len(base) + 1 :][:_LOCUS_CHARS]
    if plain.startswith(("/", "~")) or plain[1:2] == ":":
        return f"<path>/{plain.rsplit('/', 1)[-1]}"[:_LOCUS_CHARS]
    return plain.removeprefix("./")[:_LOCUS_CHARS]


def error_locus(sample: str, template: str) -> tuple[SignalType, str]:
    """The type of an error and its normalised form; '' if it says nothing useful."""
    if _ZSH_PATTERN.match(sample):
        return "recurring_error", UNQUOTED
    if not any(map(sample.lower().__contains__, _HINTS)):
        return "recurring_error", _template_locus(sample, template)
    if _REFUSED.search(sample):
        return "denied_permission", ""
    if missing := _first(_MISSING_TOOL.search(sample)):
        return "missing_tool", f"command {missing.rsplit('/', 1)[-1]}"
    if missing := _first(_MISSING_MODULE.search(sample)):
        return "missing_tool", f"module {missing}"
    for pattern, name in _WRONG_PLACE:
        if match := pattern.search(sample):
            return "wrong_directory", name or _first(match) or "file"
    return "recurring_error", _template_locus(sample, template)


cached_error_locus = cache(error_locus)


def trim_caches() -> None:
    """Clear the caches of loci once they are large.

    An LRU cache would bound itself, but keeping its order takes as long as the lookups it saves.
    """
    for cached in (command_locus, cached_error_locus):
        if cached.cache_info().currsize > _CACHED_LOCI:
            cached.cache_clear()


def _template_locus(sample: str, template: str) -> str:
    return template if _TELLING.search(template) and not is_ordinary_error(sample) else ""


def _first(match: re.Match[str] | None) -> str:
    return "" if match is None else next((part for part in match.groups() if part), "")


_STOP = words(
    "a an and are as at be but by can could do does don't for from had has have i if in is it its"
    " just me my no not of ok on or please should so that the them then there this to too up was we"
    " what when why will with would you your wait actually hmm hey again still"
)
_TERM = compiled(r"[a-z][\w'./+-]*[\w+]")


@lru_cache(maxsize=4096)
def wording_locus(text: str) -> str:
    """The longest significant words of a text, in alphabetical order; '' if there is only one."""
    terms = sorted({word for word in _TERM.findall(mask(text).lower()) if word not in _STOP})
    longest = sorted(terms, key=lambda word: (-len(word), word))[:6]
    return excerpt(" ".join(sorted(longest)), _LOCUS_CHARS) if len(longest) > 1 else ""
