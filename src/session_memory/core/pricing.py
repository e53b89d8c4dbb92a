"""Tokens to dollars, from a dated price table that ships with the package.

`scripts/refresh_prices.py` makes the table. Prices are the vendors' list prices, with
long-context tiers, both kinds of cache writes and modes (fast, batch, flex, priority). Discounts,
committed capacity and the surcharge of regional endpoints are left out.
"""

from __future__ import annotations

from datetime import date
from functools import cache, lru_cache
from pathlib import Path

import msgspec

from session_memory.core.schema import Usage
from session_memory.regex_cache import compiled

SYNTHETIC_MODEL = "<synthetic>"
"""Claude Code's name for an answer it wrote itself, without any model."""
STANDARD_MODES = frozenset({"", "standard", "default", "auto", "normal"})
MODE_LENGTH = 40
PER_MILLION = 1_000_000
DAY_MS = 86_400_000
MINUTE_MS = 60_000

BRACKETS = compiled(r"\[[^\]]*\]$")
BEDROCK_VENDOR = compiled(r"^(?:[a-z-]+\.)?anthropic\.")
BEDROCK_VERSION = compiled(r"(?<=\d)-v\d+(?::\d+)?$")
DASHED_DATE = compiled(r"-(20\d\d)-(\d\d)-(\d\d)(?!\d)")
DECIMAL_POINT = compiled(r"(?<=\d)\.(?=\d)")
SNAPSHOT = compiled(r"-(?:20\d{6}|default|latest)$")


class Rate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Dollars for a million tokens of each kind; None where the vendor has no such price."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write_5m: float | None = None
    cache_write_1h: float | None = None


class Tier(Rate, frozen=True, kw_only=True, omit_defaults=True):
    """What all tokens of a response cost once its input is longer than `over` tokens."""

    over: int


class Price(Rate, frozen=True, kw_only=True, omit_defaults=True, rename={"since": "from"}):
    """A rate with the time it holds for and its long-context tiers, shortest first."""

    since: date | None = None
    """First day (UTC) of this price; None: from the beginning."""
    hours: tuple[int, int] | None = None
    """Minutes of the day (UTC) it holds between, where a vendor has peak hours."""
    tiers: tuple[Tier, ...] = ()


class Mode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many times the standard price a mode costs, tokens of every kind alike."""

    times: float
    up_to: int | None = None
    """Tokens of input up to which the vendor states the price; None: however long."""


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model: its canonical names and its prices, of which the last valid one wins."""

    names: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Any name that begins so is this model, unless a longer prefix or an exact name says other."""
    prices: tuple[Price, ...]
    modes: dict[str, Mode] = {}
    """What the vendor charges for modes other than the standard one, where it says so."""


class PriceFile(msgspec.Struct, frozen=True, kw_only=True):
    """The content of prices.json."""

    version: date
    source: str
    models: tuple[Model, ...]


class PriceTable(msgspec.Struct, frozen=True):
    """Models by canonical name and by prefix."""

    version: str
    source: str
    exact: dict[str, Model]
    prefixes: dict[str, Model]
    dated_ms: int
    """Midnight of the version: the moment assumed for a response that has no time."""


_FILE = Path(__file__).with_name("prices.json")


@cache
def load_table() -> PriceTable:
    """The table of this release, read once."""
    return parse_table(_FILE.read_bytes())


def table_version() -> str:
    """The version of the same, from its first line: reading it all takes 10 ms."""
    with _FILE.open() as file:
        return file.readline(100).split('"')[3]


def parse_table(data: bytes) -> PriceTable:
    """A table from the bytes of a price file; raises msgspec.ValidationError if it is not one."""
    content = msgspec.json.decode(data, type=PriceFile)
    return PriceTable(
        version=content.version.isoformat(),
        source=content.source,
        exact={name: model for model in content.models for name in model.names},
        prefixes={head: model for model in content.models for head in model.prefixes},
        dated_ms=_midnight(content.version),
    )


@lru_cache(maxsize=1024)
def canonical(model: str) -> str:
    """One spelling for the many a model goes by; the date of a snapshot stays in it.

    Bedrock's `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, Vertex's `claude-sonnet-4-5@20250929`
    and a router's `anthropic/claude-sonnet-4.5-20250929` are `claude-sonnet-4-5-20250929`.
    """
    name = BRACKETS.sub("", model.strip().lower())
    name = name.rpartition("/")[2]
    name = BEDROCK_VENDOR.sub("", name)
    name = BEDROCK_VERSION.sub("", name)
    name = DASHED_DATE.sub(r"-\1\2\3", name.replace("@", "-"))
    return DECIMAL_POINT.sub("-", name)


def special_mode(stated: object) -> str:
    """A speed or service tier as a log states it; nothing for the standard one, by any name."""
    mode = stated.strip().lower() if isinstance(stated, str) else ""
    return "" if mode in STANDARD_MODES else mode[:MODE_LENGTH]


def price(usage: Usage, table: PriceTable) -> float | None:
    """Dollars for one response; None when its model or mode is not in the table, never "free"."""
    if usage.usd is not None:
        return usage.usd
    if usage.model == SYNTHETIC_MODEL:
        return 0.0
    model = _find(usage.model, table)
    times = _times(usage, model) if model else None
    if model is None or times is None:
        return None
    at = table.dated_ms if usage.at is None else usage.at
    return times * _dollars(usage, _rate(model.prices, at, _input_of(usage)))


def _times(usage: Usage, model: Model) -> float | None:
    """How many times the standard price the mode of a response costs; None if that is not known."""
    if not usage.mode:
        return 1.0
    mode = model.modes.get(usage.mode)
    if mode is None or (mode.up_to is not None and _input_of(usage) > mode.up_to):
        return None
    return mode.times


def _find(model: str, table: PriceTable) -> Model | None:
    name = canonical(model)
    model_prices = table.exact.get(name) or table.exact.get(SNAPSHOT.sub("", name))
    if model_prices is not None or ":" in name:
        # What follows a colon ("...:free") names another offer of the model, at another price.
        return model_prices
    for end in range(len(name), 0, -1):
        if (model_prices := table.prefixes.get(name[:end])) is not None:
            return model_prices
    return None


def _rate(prices: tuple[Price, ...], at: int, input_tokens: int) -> Rate:
    """The rate of a moment for a response that read so many tokens."""
    current = next((each for each in reversed(prices) if _is_valid(each, at)), prices[0])
    reached = [tier for tier in current.tiers if input_tokens > tier.over]
    return reached[-1] if reached else current


def _dollars(usage: Usage, rate: Rate) -> float:
    # Where a vendor has no price for a kind of cache traffic, it is billed as the plainer kind.
    read = rate.input if rate.cache_read is None else rate.cache_read
    write_5m = rate.input if rate.cache_write_5m is None else rate.cache_write_5m
    write_1h = write_5m if rate.cache_write_1h is None else rate.cache_write_1h
    total = (
        usage.input * rate.input
        + usage.output * rate.output
        + usage.cache_read * read
        + usage.cache_write_5m * write_5m
        + usage.cache_write_1h * write_1h
    )
    return total / PER_MILLION


def _is_valid(price: Price, at: int) -> bool:
    if price.since is not None and at < _midnight(price.since):
        return False
    if price.hours is None:
        return True
    start, end = price.hours
    minute = at % DAY_MS // MINUTE_MS
    return start <= minute < end if start <= end else minute >= start or minute < end


def _input_of(usage: Usage) -> int:
    """All tokens the model had to read; `input` alone is only what no cache was asked for."""
    return usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h


def _midnight(day: date) -> int:
    return (day - date(1970, 1, 1)).days * DAY_MS
