"""Regenerate src/session_memory/core/prices.json from the genai-prices development dependency.

What modes cost (fast, batch, flex, priority) is not in genai-prices: `MODES` below states it, as
the vendors' price pages had it on `MODES_READ`. A mode that is not listed has no known price.
`LONG_CONTEXT` adds long-context prices that genai-prices lacks.

    python scripts/refresh_prices.py [--date YYYY-MM-DD] [--check]

The output depends on the installed genai-prices, `MODES` and `LONG_CONTEXT` only. The date of the
table moves when a price, a mode or a name changed, and stays otherwise; what changed is printed.
`--check` writes nothing and exits 1 if the file is out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from pathlib import Path

import genai_prices
import msgspec
from genai_prices import types as theirs
from genai_prices.data import providers

from session_memory.core.pricing import Mode, Model, Price, PriceFile, Rate, Tier, canonical

TARGET = Path(__file__).parents[1] / "src/session_memory/core/prices.json"

PROVIDERS = (
    "anthropic",
    "openai",
    "x-ai",
    "google",
    "deepseek",
    "mistral",
    "moonshotai",
    "zai",
    "minimax",
    "openrouter",
)
"""Those who sell their own models; where two list a name, the first one here sets its price."""

PRICE_KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}

MODES_READ = date(2026, 11, 18)
LONG = 272_000
"""Tokens of input beyond which OpenAI lists no price for priority processing of some models."""
MODES: dict[str, tuple[tuple[str, dict[str, Mode]], ...]] = {
    "anthropic": (
        (r"claude-", {"batch": Mode(times=0.5)}),
        (r"claude-opus-4-[67]$", {"fast": Mode(times=6)}),
        (r"claude-opus-(4-8|5|5-5)$", {"fast": Mode(times=2)}),
    ),
    "openai": (
        (
            r"(gpt-[456]|o\d)(?!.*(image|audio|realtime|search|tts|transcribe))",
            {"batch": Mode(times=0.5)},
        ),
        (
            r"(gpt-5(-[1-6])?(-mini|-nano|-sol|-terra|-luna)?|o3|o4-mini)$",
            {"flex": Mode(times=0.5)},
        ),
        (r"gpt-6-1-(sol|terra)$", {"flex": Mode(times=0.5), "priority": Mode(times=2)}),
        (r"gpt-5(-[12])?(-codex)?$", {"priority": Mode(times=2)}),
        (r"gpt-5-mini$", {"priority": Mode(times=1.8)}),
        (r"gpt-5-4(-mini)?$", {"priority": Mode(times=2, up_to=LONG)}),
        (r"gpt-5-5$", {"priority": Mode(times=2.5, up_to=LONG)}),
        (r"gpt-5-6-(sol|terra|luna)$", {"priority": Mode(times=2)}),
        (r"gpt-4-1$", {"priority": Mode(times=1.75, up_to=LONG)}),
    ),
    # Priority costs "75 to 100 % more", without a figure for each model: it stays unknown.
    "google": (
        (
            r"gemini-(2-5|[34])(?!.*(image|audio|tts|live))",
            {"batch": Mode(times=0.5), "flex": Mode(times=0.5)},
        ),
    ),
}
"""By vendor: how a canonical model name begins, and its modes."""

LONG_CONTEXT: dict[str, Tier] = {
    "claude-sonnet-4-0": Tier(
        over=200_000,
        input=6.0,
        output=22.5,
        cache_read=0.6,
        cache_write_5m=7.5,
        cache_write_1h=12.0,
    ),
}
"""Long-context prices that genai-prices lacks, by the model's id there."""

DATED_RULE = re.compile(r"^\^(?P<name>[\w./\\-]+?)(?:-|\[-@\])\\d\{\d\}(?:-\\d\{\d\})*\$$")
"""A rule "this name and a date"; our lookup ignores the date of a snapshot anyway."""
NUMBERED_RULE = re.compile(r"^\^(?P<name>[\w./\\-]+)-\\d$")
"""A rule "this name and a number"."""


def wanted(provider: str, model_id: str) -> bool:
    """Own models only: cloud vendors resell, and a router is asked just for Qwen's."""
    if provider == "openrouter":
        return model_id.startswith("qwen/") and ":" not in model_id
    return not (provider == "google" and "claude" in model_id)


def rules(match: theirs.MatchLogic) -> Iterator[tuple[str, bool]]:
    """(canonical name, is a prefix) for each way a model may be named."""
    match match:
        case theirs.ClauseOr(or_=parts):
            for part in parts:
                yield from rules(part)
        case theirs.ClauseAnd(and_=[theirs.ClauseStartsWith() as head, *_]):
            # The further conditions take speech models out, which have exact names of their own.
            yield from rules(head)
        case theirs.ClauseEquals(equals=name) | theirs.ClauseEndsWith(ends_with=name):
            yield canonical(name), False
        case theirs.ClauseStartsWith(starts_with=name) | theirs.ClauseContains(contains=name):
            if name.endswith("@"):
                yield canonical(name[:-1]), False
            elif ":" not in name:
                yield canonical(name), True
        case theirs.ClauseRegex(regex=pattern) if found := DATED_RULE.match(pattern):
            yield canonical(found["name"].replace("\\", "")), False
        case theirs.ClauseRegex(regex=pattern) if found := NUMBERED_RULE.match(pattern):
            name = canonical(found["name"].replace("\\", ""))
            yield from ((f"{name}-{digit}", True) for digit in range(10))
        case _:
            print(f"left out, no simple rule: {match}", file=sys.stderr)


def price_over(value: object, tokens: int) -> float | None:
    """What genai-prices asks for a response that read more than so many tokens."""
    if isinstance(value, theirs.TieredPrices):
        reached = [tier.price for tier in value.tiers if tier.start <= tokens]
        value = reached[-1] if reached else value.base
    return None if value is None else float(str(value))


def price_of(entry: theirs.ConditionalPrice) -> Price | None:
    """Our form of one price; None where text tokens have none (speech, images, embeddings)."""
    values = {ours: getattr(entry.prices, key) for ours, key in PRICE_KEYS.items()}
    if values["input"] is None or values["output"] is None:
        return None
    starts = {
        tier.start
        for value in values.values()
        if isinstance(value, theirs.TieredPrices)
        for tier in value.tiers
    }

    def rate(tokens: int) -> dict[str, float]:
        priced = {kind: price_over(value, tokens) for kind, value in values.items()}
        return {kind: amount for kind, amount in priced.items() if amount is not None}

    since, hours = validity(entry.constraint)
    tiers = tuple(Tier(**rate(start), over=start) for start in sorted(starts))
    return Price(**rate(-1), since=since, hours=hours, tiers=tiers)


def validity(constraint: object) -> tuple[date | None, tuple[int, int] | None]:
    """First day and minutes of the day of a price."""
    match constraint:
        case None:
            return None, None
        case theirs.StartDateConstraint(start_date=day):
            return day, None
        case theirs.TimeOfDateConstraint(start_time=start, end_time=end):
            return None, (minute(start), minute(end))
        case _:
            raise SystemExit(f"a kind of price this script does not know: {constraint}")


def minute(moment: time) -> int:
    """Minute of the day in UTC; genai-prices states these times in UTC."""
    if moment.tzinfo not in (None, UTC):
        raise SystemExit(f"a time of day that is not in UTC: {moment}")
    return moment.hour * 60 + moment.minute


def prices_of(model: theirs.ModelInfo) -> tuple[Price, ...]:
    """All prices of a model in order, without changes that only concern what we do not count."""
    entries = model.prices
    if not isinstance(entries, list):
        entries = [theirs.ConditionalPrice(prices=entries)]
    kept: list[Price] = []
    for entry in entries:
        price = price_of(entry)
        if price is None:
            return ()
        if kept and price.hours is None and same_rate(price, kept[-1]):
            continue
        kept.append(price)
    return tuple(kept)


def with_tier(price: Price, tier: Tier) -> Price:
    """A price with one more tier; stops when genai-prices has learned of tiers itself."""
    if price.tiers:
        raise SystemExit(f"genai-prices has tiers now: drop ours over {tier.over} tokens")
    return msgspec.structs.replace(price, tiers=(tier,))


def same_rate(one: Price, other: Price) -> bool:
    """True when two prices differ in their dates only."""
    undated = msgspec.structs.replace(one, since=other.since)
    return undated == other


def modes_of(provider: str, model_id: str) -> dict[str, Mode]:
    """What is known of a model's modes."""
    found: dict[str, Mode] = {}
    for pattern, modes in MODES.get(provider, ()):
        if re.match(pattern, canonical(model_id)):
            found |= modes
    return found


def table_models() -> Iterator[Model]:
    """Every model that can be priced, each name once."""
    taken_names: set[str] = set()
    taken_prefixes: set[str] = set()
    by_id = {provider.id: provider for provider in providers}
    for provider_id in PROVIDERS:
        for model in by_id[provider_id].models:
            prices = prices_of(model) if wanted(provider_id, model.id) else ()
            if not prices:
                continue
            if (tier := LONG_CONTEXT.get(model.id)) is not None:
                prices = tuple(with_tier(price, tier) for price in prices)
            found = list(rules(model.match))
            exact = {name for name, is_prefix in found if not is_prefix}
            # "=m-5-5" beside "^m-5.5" asks for that name alone; both are one spelling here.
            prefixes = {name for name, is_prefix in found if is_prefix} - exact - taken_prefixes
            names = (exact | {canonical(model.id)}) - taken_names
            taken_names |= names
            taken_prefixes |= prefixes
            if names or prefixes:
                yield Model(
                    names=tuple(sorted(names)),
                    prefixes=tuple(sorted(prefixes)),
                    prices=prices,
                    modes=modes_of(provider_id, model.id),
                )


def encode(content: PriceFile) -> bytes:
    """One model a line, so that a diff shows which prices moved."""
    head = msgspec.json.encode({"version": content.version, "source": content.source})
    lines = b",\n".join(msgspec.json.encode(model) for model in content.models)
    return head[:-1] + b',"models":[\n' + lines + b"\n]}\n"


def by_name(content: PriceFile | None) -> dict[str, tuple[tuple[Price, ...], dict[str, Mode]]]:
    """Prices and modes by name and by prefix (written with a star), for comparing two tables."""
    models = content.models if content else ()
    exact = {name: (model.prices, model.modes) for model in models for name in model.names}
    return exact | {
        f"{head}*": (model.prices, model.modes) for model in models for head in model.prefixes
    }


def changes(old: PriceFile | None, new: PriceFile) -> list[str]:
    """One line for each name that came, went or is priced differently."""
    before, after = by_name(old), by_name(new)
    came = [f"new      {name}: {show(after[name][0])}" for name in after.keys() - before.keys()]
    went = [f"gone     {name}" for name in before.keys() - after.keys()]
    moved = [
        f"changed  {name}: {show(before[name][0])} -> {show(after[name][0])}"
        for name in after.keys() & before.keys()
        if after[name] != before[name]
    ]
    return [*sorted(came), *sorted(went), *sorted(moved)]


def show(prices: tuple[Rate, ...]) -> str:
    """The latest price, short."""
    return f"{prices[-1].input:g} in, {prices[-1].output:g} out"


def main() -> int:
    """Compare, print, and write unless asked only to check."""
    parser = argparse.ArgumentParser(description="regenerate prices.json from genai-prices")
    parser.add_argument("--date", type=date.fromisoformat, default=datetime.now(UTC).date())
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    options = parser.parse_args()

    raw = TARGET.read_bytes() if TARGET.exists() else None
    old = msgspec.json.decode(raw, type=PriceFile) if raw else None
    models = tuple(table_models())
    modes = f"modes from pages of vendors and resellers, {MODES_READ}"
    source = f"genai-prices {genai_prices.__version__}; {modes}"
    new = PriceFile(version=options.date, source=source, models=models)
    lines = changes(old, new)
    if old and not lines:
        new = msgspec.structs.replace(new, version=old.version)
    data = encode(new)
    print("\n".join(lines) or "no price changed")
    print(f"{len(models)} models, {len(data)} bytes, version {new.version}")
    if options.check:
        return int(data != raw)
    TARGET.write_bytes(data)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
