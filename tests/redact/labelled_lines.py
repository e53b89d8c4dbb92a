"""Lines with labelled secrets, made from a seed: many kinds of secrets in many surroundings."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
BASE64 = ALNUM + "+/"
WORDS = (
    *("river", "stone", "winter", "falcon", "orange", "marble", "silver", "harbor", "meadow"),
    *("thunder", "copper", "velvet", "summer", "dragon", "monkey", "coffee", "planet", "guitar"),
    *("tiger", "rocket"),
)


class Line(NamedTuple):
    """A line of text and where its secrets stand, in characters."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()


Draw = Callable[[random.Random], str]


def drawn(alphabet: str, least: int, most: int = 0) -> Draw:
    """Characters of an alphabet, always with a digit among them."""

    def draw(rng: random.Random) -> str:
        length = rng.randint(least, most or least)
        body = [rng.choice(alphabet) for _ in range(length)]
        body[rng.randrange(length)] = rng.choice("23456789")
        return "".join(body)

    return draw


def word_password(rng: random.Random) -> str:
    """What people make up: a word or two, a number, a symbol."""
    words = rng.sample(WORDS, rng.randint(1, 2))
    text = "".join(word.capitalize() if rng.random() < 0.6 else word for word in words)
    return text + str(rng.randint(1, 2030)) + rng.choice(["", "!", "#", "@", "$x", "_", "?"])


def plain_password(rng: random.Random) -> str:
    """Two words and no number."""
    return "".join(rng.sample(WORDS, 2))


def strong_password(rng: random.Random) -> str:
    """What a password manager makes."""
    body = drawn(ALNUM + "!@#%^*_+=-", 10, 20)(rng)
    return rng.choice(ALNUM) + body.strip("=-_@#") + rng.choice(ALNUM)


PASSWORDS: tuple[Draw, ...] = (word_password, word_password, strong_password, plain_password)
KEYS: tuple[Draw, ...] = (
    drawn(ALNUM, 20, 48),
    drawn(HEX, 32),
    drawn(HEX, 64),
    lambda rng: drawn(BASE64, 43)(rng) + "=",
    lambda rng: drawn(BASE64, 86)(rng) + "==",
    drawn(ALNUM + "_-", 24, 40),
    lambda rng: "-".join(drawn(HEX, size)(rng) for size in (8, 4, 4, 4, 12)),
)
PREFIXED: tuple[tuple[str, str, int], ...] = (
    ("ghp_", ALNUM, 36), ("github_pat_", ALNUM, 82), ("glpat-", ALNUM, 20), ("xoxb-", ALNUM, 40),
    ("sk-ant-api03-", ALNUM + "_-", 95), ("sk-proj-", ALNUM, 48), ("sk-", ALNUM, 48),
    ("sk_live_", ALNUM, 24), ("AIza", ALNUM + "_-", 35), ("ya29.", ALNUM + "_-", 80),
    ("GOCSPX-", ALNUM, 28), ("npm_", ALNUM, 36), ("pypi-AgEIcHlwaS5vcmc", ALNUM + "_-", 80),
    ("dckr_pat_", ALNUM, 27), ("hvs.", ALNUM, 90), ("dop_v1_", HEX, 64), ("glsa_", ALNUM, 41),
    ("lin_api_", ALNUM, 40), ("shpat_", HEX, 32), ("SG.abcdefghijklmnopqrst.", ALNUM, 43),
    ("hf_", ALNUM, 34), ("gsk_", ALNUM, 52), ("pplx-", ALNUM, 48), ("r8_", ALNUM, 37),
    ("AKIA", BASE32, 16), ("ASIA", BASE32, 16),
    ("figd_", ALNUM, 40), ("ntn_", ALNUM, 46), ("xai-", ALNUM, 80), ("key-", HEX, 32),
    ("rubygems_", HEX, 48), ("sntrys_", ALNUM, 70), ("NRAK-", string.ascii_uppercase, 27),
    ("SK", HEX, 32), ("sq0atp-", ALNUM, 22), ("AGE-SECRET-KEY-1", string.ascii_uppercase, 58),
    ("sk-fake-", ALNUM, 26), ("dapi", HEX, 32), ("whsec_", ALNUM, 32), ("123456789:AA", ALNUM, 33),
    ("https://hooks.slack.com/services/T01/B02/", ALNUM, 24), ("IQoJb3JpZ2lu", BASE64, 200),
    ("MIIEpAIBAAKCAQEA", BASE64, 48), ("$2b$12$", ALNUM, 53), ("$6$saltsalt$", ALNUM, 86),
    ("b3BlbnNzaC1rZXktdjEAAAAA", BASE64, 46), ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.", ALNUM, 43),
)  # fmt: skip

PASSWORD_NAMES = (
    *("db_password", "DB_PASSWORD", "dbPassword", "userPassword", "admin_passwd", "smtp_pass"),
    *("MYSQL_ROOT_PASSWORD", "spring.datasource.password", "redis-password", "passphrase"),
    *("pwd", "keystorePassword", "LDAP_BIND_PASSWORD", "ftp_pwd", "password"),
)
KEY_NAMES = (
    *("api_key", "apiKey", "API_KEY", "STRIPE_API_KEY", "client_secret", "clientSecret", "secret"),
    *("access_token", "accessToken", "AUTH_TOKEN", "SECRET_KEY", "secretKey", "JWT_SECRET"),
    *("encryption_key", "signingKey", "private_key", "app_secret", "refresh_token", "token"),
    *("webhook_secret", "bot_token", "consumerSecret", "x-api-key", "authToken", "session_secret"),
)
ASSIGNMENTS = (
    "{n}={v}", "{n} = {v}", '{n} = "{v}"', "{n}: {v}", '{n}: "{v}"', "{n}: '{v}'", '"{n}": "{v}"',
    '  "{n}" : "{v}",', "'{n}' => '{v}',", 'const {n} = "{v}";', "let {n} = '{v}'",
    'var {n} string = "{v}"', 'String {n} = "{v}";', 'private static final String {n} = "{v}";',
    "export {n}={v}", 'export {n}="{v}"', "ENV {n}={v}", "      - {n}={v}",
    "$config['{n}'] = '{v}';",
    'config["{n}"] = "{v}"', 'os.environ["{n}"] = "{v}"', "<{n}>{v}</{n}>",
    '<property name="{n}" value="{v}"/>', '<add key="{n}" value="{v}" />',
    '{{"name": "{n}", "value": "{v}"}}', '{{\\"{n}\\": \\"{v}\\"}}', 'set("{n}", "{v}")',
    "define('{n}', '{v}');", 'self.{n} = "{v}"', '{n}: str = "{v}"', 'if ({n} == "{v}") {{',
    "2024-05-01 12:00:00 INFO connecting with {n}={v}", "#define {n} \"{v}\"", "{n} := \"{v}\"",
    "process.env.{n} || '{v}'", ":{n} => \"{v}\",", "@Value(\"${{{n}:{v}}}\")", "--{n}={v}",
)  # fmt: skip
PASSWORD_CONTEXTS = (
    "mysql -u root -p{v} shop", "sshpass -p '{v}' ssh deploy@host.test",
    "curl -u admin:{v} https://host.test/api", "docker login -u me -p {v} registry.test",
    "postgres://app:{v}@db.internal:5432/main", "mongodb+srv://app:{v}@cluster0.test/shop",
    "redis://:{v}@cache:6379/0", "https://deploy:{v}@git.test/team/repo.git",
    "Server=db;Database=shop;User Id=sa;Password={v};", "Server=db;Uid=sa;Pwd={v};Encrypt=yes",
    "jdbc:mysql://db/shop?user=app&password={v}", "the password is {v}", "user: admin, pw: {v}",
    "login --username me --password {v}", "ALTER USER app WITH PASSWORD '{v}';",
    "CREATE USER 'app' IDENTIFIED BY '{v}';", "machine host.test login me password {v}",
    "<password>{v}</password>", "requirepass {v}", "ssh me@10.0.0.5 (pwd: {v})",
    "builder.setPassword(\"{v}\");", "PGPASSWORD={v} psql -h db", "amqp://guest:{v}@mq:5672/",
)  # fmt: skip
KEY_CONTEXTS = (
    "Authorization: Bearer {v}", "-H 'Authorization: Token {v}'", "Authorization: Basic {v}",
    '"Authorization": "ApiKey {v}"', "X-Api-Key: {v}", "curl -H \"X-Auth-Token: {v}\" https://x.test",
    "https://api.test/v1?api_key={v}&page=2", "https://api.test/v1?access_token={v}",
    "//registry.test/:_authToken={v}", "Cookie: sessionid={v}; theme=dark",
    "Set-Cookie: JSESSIONID={v}; Path=/; HttpOnly", "deploy --token {v} --region eu",
    "AccountName=shop;AccountKey={v};EndpointSuffix=x", "new Client({{ apiKey: '{v}' }})",
    "client = Client(api_key=\"{v}\")", "Using token {v} for the request", "secret: {v}",
    "AWS4-HMAC-SHA256 Credential=x, SignedHeaders=host, Signature={v}", "key = \"{v}\"",
    "PrivateKey = {v}", "datadog: {v}", "HEROKU_KEY: {v}", "password: {v}", "Private-Token: {v}",
)  # fmt: skip
PROSE = (
    "{v}", "here is the key: {v}", "export KEY={v}", 'client = Client("{v}")', "> {v}",
    "error: invalid credentials {v} given", '  "{v}",', "curl https://x.test -H 'k: {v}'",
)  # fmt: skip


def placed(template: str, secret: str, name: str = "") -> Line:
    """A template with its secret filled in, and where that stands."""
    before, _, after = template.partition("{v}")
    before, after = (part.format(n=name) for part in (before, after))
    return Line(before + secret + after, ((len(before), len(before) + len(secret)),))


def secret_lines(seed: int, count: int) -> Iterator[Line]:
    """So many lines that hold one secret each."""
    rng = random.Random(seed)
    for _ in range(count):
        kind = rng.random()
        if kind < 0.2:
            prefix, alphabet, length = rng.choice(PREFIXED)
            yield placed(rng.choice(PROSE), prefix + drawn(alphabet, length)(rng))
        elif kind < 0.45:
            value = rng.choice(PASSWORDS)(rng)
            yield placed(rng.choice(ASSIGNMENTS), value, rng.choice(PASSWORD_NAMES))
        elif kind < 0.7:
            yield placed(rng.choice(ASSIGNMENTS), rng.choice(KEYS)(rng), rng.choice(KEY_NAMES))
        elif kind < 0.85:
            yield placed(rng.choice(PASSWORD_CONTEXTS), rng.choice(PASSWORDS)(rng))
        else:
            yield placed(rng.choice(KEY_CONTEXTS), rng.choice(KEYS)(rng))


LETTERS_ALONE = tuple(
    (prefix, length)
    for prefix, alphabet, length in PREFIXED
    if alphabet == ALNUM and not prefix.startswith(("$", "eyJ", "https:", "sk-fake-"))
)
FLAGS = (
    "login --username me --password {v}", "login --password={v} --verbose", "tool --passwd {v}",
    "deploy --token {v} --region eu", "deploy --api-key {v} https://host.test", "run --secret {v}",
    "gpg --batch --passphrase '{v}' -c file", '["--password", "{v}"]', "tool --pass {v} | tee x",
    "mysql -uroot -p{v} shop", "sshpass -p {v} ssh me@host.test", "PGPASSWORD={v} psql -h db",
    "MYSQL_PWD={v} mysql", "sqlcmd -S db -U sa -P {v}", "ssh-keygen -t ed25519 -N {v} -f key",
    "redis-cli -a {v}", "echo {v} | sudo -S ls",
)  # fmt: skip
FLAG_TALK = (
    "pass --{n} to the command", "the --{n} flag is required", "  --{n} string   what it is for",
    "usage: tool [--{n} VALUE] file", "use `--{n}` or a variable", "--{n} is read from the file",
    "add --{n} when you log in", "--{n} Registry login of the user", "--{n}=$VALUE",
    'add_argument("--{n}", help="What is needed")', "neither --{n} nor a file was given",
    "run it without --{n}.", "| --{n} | what it means |", "--{n}=<value>", "--{n}-file {w}",
)  # fmt: skip
FLAG_NAMES = ("password", "passwd", "token", "api-key", "secret", "passphrase", "auth-token")


def letter_lines(seed: int, count: int) -> Iterator[Line]:
    """Secrets without a digit: tokens of services, and passwords that are words."""
    rng = random.Random(seed)
    for _ in range(count):
        if rng.random() < 0.5:
            prefix, length = rng.choice(LETTERS_ALONE)
            body = "".join(rng.choice(string.ascii_letters) for _ in range(length))
            yield placed(rng.choice(PROSE), prefix + body)
        else:
            yield placed(rng.choice(FLAGS), rng.choice(WORDS) + rng.choice(("", "hill", "Lake")))


def flag_talk(seed: int, count: int) -> Iterator[Line]:
    """Help and prose about options that take secrets."""
    rng = random.Random(seed)
    for _ in range(count):
        line = rng.choice(FLAG_TALK).format(n=rng.choice(FLAG_NAMES), w=rng.choice(WORDS))
        yield Line(line)


def ordinary_lines(seed: int, count: int) -> Iterator[Line]:
    """Lines that look as if they could hold a secret, and do not."""
    rng = random.Random(seed)
    digest, commit, short = drawn(HEX, 64), drawn(HEX, 40), drawn(HEX, 7)
    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"commit {commit(rng)}",
        lambda: f"{short(rng)} {' '.join(rng.sample(WORDS, 4))}",
        lambda: f'"integrity": "sha512-{drawn(BASE64, 86)(rng)}=="',
        lambda: f"sha256:{digest(rng)}",
        lambda: f"    --hash=sha256:{digest(rng)} \\",
        lambda: "-".join(drawn(HEX, size)(rng) for size in (8, 4, 4, 4, 12)),
        lambda: f"background: url(data:image/png;base64,{drawn(BASE64, 120)(rng)}==)",
        lambda: f'const {rng.choice(WORDS)}Key = "{rng.choice(WORDS)}-{rng.choice(WORDS)}"',
        lambda: f"{rng.choice(WORDS)}_password = {rng.choice(WORDS)}_{rng.choice(WORDS)}",
        lambda: f'db_password: "${{{rng.choice(WORDS).upper()}}}"',
        lambda: f"usage: input_tokens={rng.randint(1, 9999)} output_tokens={rng.randint(1, 9999)}",
        lambda: f"!function(e,t){{e.{rng.choice(WORDS)}=t(n,{rng.randint(1, 99)})}}(this,0)",
        lambda: f"    def {rng.choice(WORDS)}_token(self, key: str) -> None:",
        lambda: f"Enter the password of the {rng.choice(WORDS)} user and press return",
        lambda: f"GET /{rng.choice(WORDS)}/{rng.randint(1, 9999)} 200 {rng.randint(1, 99)}ms",
        lambda: f"key: {rng.choice(WORDS)}-{rng.choice(WORDS)}-v{rng.randint(1, 9)}",
        lambda: f"https://host.test/{rng.choice(WORDS)}?key={rng.choice(WORDS)}&page=2",
        lambda: f"id {rng.choice(WORDS)}@{rng.randint(1, 9)}.{rng.randint(0, 9)}.0",
    )  # fmt: skip
    for _ in range(count):
        yield Line(rng.choice(kinds)())
