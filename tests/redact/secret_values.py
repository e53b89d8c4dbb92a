"""Secrets by class, drawn from a seed: what people and machines put behind a name."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Sequence
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
BASE64 = ALNUM + "+/"
URLSAFE = ALNUM + "-_"

# Two lists, so that a held-back family never shares a word with one that rules were tried on.
DEVELOP_WORDS: Sequence[str] = str.split(
    "river stone winter falcon orange marble silver harbor meadow thunder copper velvet summer "
    "dragon monkey coffee planet guitar tiger rocket swordfish pumpkin lantern cobalt whisper "
    "saffron juniper biscuit cricket pebble walnut anchor bandit cactus domino ember fiddle "
    "glacier hammock island jigsaw kettle lemonade magnet nectar"
)
HELD_WORDS: Sequence[str] = str.split(
    "ocean candle forest eagle purple granite golden valley prairie lightning bronze cotton autumn "
    "wizard donkey cheese comet violin panther engine opensesame squash beacon crimson murmur "
    "paprika cypress waffle beetle gravel hazelnut rudder pirate orchid tango cinder banjo "
    "avalanche canopy lagoon mosaic teapot cordial compass honeydew"
)


class Source(NamedTuple):
    """The dice and the words of one part."""

    rng: random.Random
    words: Sequence[str]

    def text(self, alphabet: str, least: int, most: int = 0) -> str:
        """So many characters of an alphabet."""
        length = self.rng.randint(least, most or least)
        return "".join(self.rng.choice(alphabet) for _ in range(length))

    def word(self) -> str:
        """One word."""
        return self.rng.choice(self.words)


def word(source: Source) -> str:
    """A password that is a lower-case word, or two."""
    short = [word for word in source.words if len(word) >= 6]
    single = source.rng.choice(short)
    return single if source.rng.random() < 0.6 else source.word() + single


def word_with_digits(source: Source) -> str:
    """A word, a number, perhaps a symbol."""
    text = source.word().capitalize() if source.rng.random() < 0.5 else source.word()
    return f"{text}{source.rng.randint(1, 2030)}{source.rng.choice(['', '', '!', '#', '_x'])}"


def strong(source: Source) -> str:
    """What a password manager makes, without what would need escaping."""
    ends = source.text(ALNUM, 2)
    return ends[0] + source.text(ALNUM + "!*_+-.^~", 10, 18) + ends[1]


def random_base64(source: Source) -> str:
    """Bytes in base64."""
    size = source.rng.randint(12, 48)
    return base64.b64encode(source.rng.randbytes(size)).decode()


def random_hex(source: Source) -> str:
    """Bytes in hexadecimal, 16 to 64 digits."""
    return source.rng.randbytes(source.rng.choice([8, 10, 12, 14, 16, 24, 32])).hex()


def alphanumeric(source: Source) -> str:
    """Letters and digits."""
    return source.text(ALNUM, 16, 44)


def jwt(source: Source) -> str:
    """A signed token."""

    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    claims = f'{{"sub":"{source.rng.randint(1, 10**6)}","name":"{source.word()}"}}'
    return ".".join((part('{"alg":"HS256","typ":"JWT"}'), part(claims), source.text(URLSAFE, 43)))


def nkey_seed(source: Source) -> str:
    """The seed of an NKEY of NATS."""
    return "S" + source.rng.choice("UAO") + source.text(BASE32, 56)


PREFIXES = (
    ("ghp_", ALNUM, 36), ("glpat-", ALNUM, 20), ("xoxb-", string.digits, 12), ("npm_", ALNUM, 36),
    ("sk-ant-api03-", URLSAFE, 95), ("sk-proj-", ALNUM, 48), ("sk_live_", ALNUM, 24),
    ("AIza", ALNUM, 35), ("ya29.", URLSAFE, 80), ("GOCSPX-", ALNUM, 28), ("hf_", ALNUM, 34),
    ("gsk_", ALNUM, 52), ("dckr_pat_", ALNUM, 27), ("hvs.", ALNUM, 90), ("shpat_", HEX, 32),
    ("lin_api_", ALNUM, 40), ("figd_", ALNUM, 40), ("whsec_", ALNUM, 32), ("AKIA", BASE32, 16),
)  # fmt: skip


def provider_token(source: Source) -> str:
    """A token with the known beginning of its service."""
    prefix, alphabet, length = source.rng.choice(PREFIXES)
    return prefix + source.text(alphabet, length)


def provider_letters(source: Source) -> str:
    """The same without a digit."""
    prefix, _, length = source.rng.choice([each for each in PREFIXES if each[1] == ALNUM])
    return prefix + source.text(string.ascii_letters, length)


def seed_phrase(source: Source) -> str:
    """Twelve words that open a wallet."""
    short = [word for word in source.words if len(word) <= 8]
    return " ".join(source.rng.choice(short) for _ in range(12))


def passphrase(source: Source) -> str:
    """Several words with blanks."""
    return " ".join(source.rng.sample(list(source.words), source.rng.randint(3, 5)))


def salt(source: Source) -> str:
    """What is mixed into a hash."""
    return random_hex(source)[:32] if source.rng.random() < 0.5 else source.text(ALNUM, 16, 24)


def twilio_sid(source: Source) -> str:
    """An account or key of Twilio."""
    return source.rng.choice(["AC", "SK"]) + source.text(HEX, 32)


def firebase(source: Source) -> str:
    """The host of a Firebase project."""
    ending = source.rng.choice(["firebaseapp.com", "firebaseio.com"])
    return f"{source.word()}-{source.text(HEX, 5)}.{ending}"


class Kind(NamedTuple):
    """A class of values, and the names that people give them (as words)."""

    draw: Callable[[Source], str]
    names: tuple[str, ...]
    weight: int = 2
    blanks: bool = False


_PASSWORDS = (
    *("password", "db password", "user password", "admin passwd", "smtp pass", "root password"),
    *("ldap bind password", "keystore password", "redis password", "pwd", "default password"),
)
_TOKENS = (
    *(
        "api key",
        "access token",
        "client secret",
        "auth token",
        "secret key",
        "jwt secret",
        "token",
    ),
    *("encryption key", "signing key", "app secret", "refresh token", "session secret", "secret"),
    *("webhook secret", "bot token", "consumer secret", "private token", "master key", "app key"),
)
KINDS = {
    "word": Kind(word, _PASSWORDS, 6),
    "word with digits": Kind(word_with_digits, _PASSWORDS, 4),
    "strong password": Kind(strong, _PASSWORDS, 3),
    "base64": Kind(random_base64, _TOKENS, 4),
    "hex": Kind(random_hex, _TOKENS, 5),
    "alphanumeric": Kind(alphanumeric, _TOKENS, 4),
    "jwt": Kind(jwt, (*_TOKENS, "authorization", "id")),
    "nkey seed": Kind(nkey_seed, ("seed", "nkey", "user", "issuer", "credential")),
    "provider token": Kind(provider_token, (*_TOKENS, "value", "auth", "credential", "default")),
    "provider letters": Kind(provider_letters, (*_TOKENS, "value", "auth", "credential")),
    "seed phrase": Kind(seed_phrase, ("mnemonic", "seed phrase", "recovery phrase"), 1, True),
    "passphrase": Kind(passphrase, ("passphrase", "key passphrase", "password"), 2, True),
    "salt": Kind(salt, ("salt", "password salt", "hash salt", "salt key")),
    "twilio sid": Kind(twilio_sid, ("account sid", "twilio sid", "sid")),
    "firebase": Kind(firebase, ("auth domain", "database url", "firebase host"), 1),
}
