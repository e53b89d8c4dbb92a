"""Where something happened, in a form that is the same in every session: command, path, error."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from sys import intern

from session_memory.core.commands import Step, steps, words
from session_memory.core.loop.patterns import SignalType, pattern_id
from session_memory.core.text.masks import excerpt, mask
from session_memory.detect.ordinary import is_ordinary_error

_LOCUS_CHARS = 160
_REMEMBERED = 65_536
_STEPS = 3
_OWN = "session-memory"
# Programs whose first plain word says what they do, and those where it takes two.
_WITH_SUBCOMMAND = words(
    "git npm pnpm yarn bun deno cargo go docker podman kubectl helm terraform gh glab uv pip pip3"
    " poetry pdm hatch conda brew apt apt-get dnf systemctl make just task rake mvn gradle dotnet"
    " swift flutter dart rails bundle composer php artisan az aws gcloud fly vercel netlify"
    " wrangler supabase prisma turbo nx lerna mix rebar3 stack cabal opam dune zig rustup"
    " pre-commit ruff codex claude grok gemini tmux launchctl ansible vault nix"
)
_SIMPLE = re.compile(r"[a-z]+ [\w./=:@,+ -]*\w")
_WRAPS = words("uv poetry pdm hatch conda")  # what they run is the program
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
_RUNS_SCRIPT = re.compile(
    r"(?:(?:python|pypy)[\d.]*|node|ruby|perl|bash|sh|zsh|tsx|ts-node|bun|deno)$"
)
_PREPARATION = words("cd pushd set export source . unset mkdir true false : sleep wait exit if fi")
_LOOKS = words(
    "ls cat head tail less more grep rg egrep find fd sed awk sort uniq wc cut tr jq tee echo"
    " printf pwd which type file stat tree diff test [ [[ date env printenv whoami ps du df bat nl"
)
# Options of such programs that take the next word, before the word that says what they do.
_TAKES_WORD = words(
    "-C -c --git-dir --work-tree --prefix --cwd --dir --filter --workspace --project --directory"
    " --namespace --context --kubeconfig --profile --region"
)
_WORD = re.compile(r"[A-Za-z][\w:.-]*$")

_MISSING_TOOL = re.compile(
    r"(?:(?P<a>[\w.+-]+): command not found(?!: )"
    r"|sh: (?:line )?\d+: (?P<g>[\w.+-]+): not found"
    r"|command not found: (?P<b>[\w.+-]+)"
    r"|'(?P<c>[\w.+-]+)' is not recognized as"
    r"|exec: \"(?P<d>[\w.+/-]+)\": executable file not found"
    r"|[Tt]he term '(?P<e>[\w.+-]+)' is not recognized"
    r"|env: [‘'\"]?(?P<f>[\w.+-]+)[’'\"]?: No such file)"
)
_MISSING_MODULE = re.compile(
    r"No module named ['\"]?(?P<a>[\w-]+)"
    r"|Cannot find (?:module|package) ['\"](?P<b>@?[\w/-][\w/.-]*)['\"]"
)
_REFUSED = re.compile(
    r"user doesn't want to proceed|tool use was rejected|rejected by user|user rejected"
    r"|permission to use \w+ (?:with|has been denied)|auto-denied",
    re.I,
)
_WRONG_PLACE = (
    (re.compile(r"not a git repository", re.I), "git repository"),
    (re.compile(r"(?:ENOENT|no such file|could not (?:read|find)).*?(package\.json)", re.I), ""),
    (re.compile(r"could not find [`'\"]?(Cargo\.toml)", re.I), ""),
    (re.compile(r"(go\.mod) file not found", re.I), ""),
    (re.compile(r"no (?:rule|makefile).*?(makefile) found|No targets.*?no (makefile)", re.I), ""),
    (
        re.compile(r"(?:no such file|not found|does not).*?(pyproject\.toml|tsconfig\.json)", re.I),
        "",
    ),
    (re.compile(r"\bcd: .*?(?:no such file|not a directory)", re.I), "cd"),
)

# Most errors have none of these words, and are then spared a dozen patterns.
_HINTS = (
    *("not found", "not recognized", "no module", "cannot find", "no such file", "git repository"),
    *("doesn't want", "rejected", "denied", "could not", "enoent", "makefile", ".toml", ".json"),
)
# A word that no mask stands for: a path or a number alone says nothing about what went wrong.
_TELLING = re.compile(r"(?<![<\w])[^\W\d_]{2,}(?![\w>])")


@cache
def command_locus(command: str) -> str:
    """The command by its programs and subcommands, arguments masked; '' for one that only looks."""
    kept = [
        step
        for step in _simple(command) or steps(command)
        if step.program not in _PREPARATION and step.program not in _LOOKS
    ]
    if any(step.program == _OWN for step in kept):
        return ""  # who tries out this program teaches nothing about the work
    named = dict.fromkeys(name for step in kept if (name := _step_locus(step)))
    # Thousands of commands share a locus: one text for all of them is compared and hashed once.
    return intern(" && ".join(list(named)[:_STEPS])[:_LOCUS_CHARS])


def _simple(command: str) -> tuple[Step, ...]:
    """The one step of a command without anything to take apart, at a fifth of the cost."""
    if not _SIMPLE.fullmatch(command):
        return ()
    program, second, *rest = command.split()
    if program not in _WITH_SUBCOMMAND or program in _WRAPS or second in _WRAPPING:
        return ()
    return (Step(program, (second, *rest), hides_exit=False),)


def _step_locus(step: Step) -> str:
    """'' for a program of many uses that does not say which: too much would go by that name."""
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
    return " ".join((*parts, "<args>")) if plain else " ".join(parts)


def _plain(step: Step) -> list[str]:
    """The words that are no options, nor values of options in front of the first of them."""
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
    """A script of the repository is a name; one from elsewhere is an argument."""
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
    """What kind of trouble an error tells of, and its normalised form; '' if it tells nothing."""
    if not any(map(sample.lower().__contains__, _HINTS)):
        return "recurring_error", _told(sample, template)
    if _REFUSED.search(sample):
        return "denied_permission", ""
    if missing := _first(_MISSING_TOOL.search(sample)):
        return "missing_tool", f"command {missing.rsplit('/', 1)[-1]}"
    if missing := _first(_MISSING_MODULE.search(sample)):
        return "missing_tool", f"module {missing}"
    for pattern, name in _WRONG_PLACE:
        if found := pattern.search(sample):
            return "wrong_directory", name or _first(found) or "file"
    return "recurring_error", _told(sample, template)


@cache
def trouble(sample: str, template: str) -> tuple[str, SignalType, str]:
    """(id of its pattern, type, locus) of an error."""
    signal_type, locus = error_locus(sample, template)
    return pattern_id(signal_type, locus), signal_type, locus


def forget_some() -> None:
    """Keep what is remembered of commands and errors within bounds.

    A cache that does so itself keeps its entries in order, which takes as long as finding them.
    """
    for memory in (command_locus, trouble):
        if memory.cache_info().currsize > _REMEMBERED:
            memory.cache_clear()


def _told(sample: str, template: str) -> str:
    return template if _TELLING.search(template) and not is_ordinary_error(sample) else ""


def _first(match: re.Match[str] | None) -> str:
    return "" if match is None else next((part for part in match.groups() if part), "")


_STOP = words(
    "a an and are as at be but by can could do does don't for from had has have i if in is it its"
    " just me my no not of ok on or please should so that the them then there this to too up was we"
    " what when why will with would you your wait actually hmm hey again still"
)
_TERM = re.compile(r"[a-z][\w'./+-]*[\w+]")


@lru_cache(maxsize=4096)
def wording_locus(text: str) -> str:
    """What a person's words are about: their telling words, whatever order they stand in."""
    terms = sorted({word for word in _TERM.findall(mask(text).lower()) if word not in _STOP})
    longest = sorted(terms, key=lambda word: (-len(word), word))[:6]
    return excerpt(" ".join(sorted(longest)), _LOCUS_CHARS) if len(longest) > 1 else ""
