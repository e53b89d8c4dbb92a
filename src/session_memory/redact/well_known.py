"""Values that hide nothing: default passwords of products, and what examples and tests write.

`root`, `changeme`, `minioadmin` and `my-secret-key` are on every list that an attacker tries first,
and say nothing about their owner. No list of values, which would never end: a value is well known
if all of its words are, and the words are those for secrets, for who holds them, for the products
that ship with them and for what examples say of them. One word more, `harbor_password`, and it is
somebody's own.
"""

from __future__ import annotations

import base64
import binascii

from session_memory.regex_cache import compiled

_SECRETS = (
    "password passwords passwd passphrase passcode pass pwd passwort kennwort secret secrets token "
    "tokens key keys credential credentials creds"
)
# What forms call a password in other languages.
_TRANSLATED = (
    "senha senhas contrasena contraseña contrasenya clave claves wachtwoord heslo haslo hasło "
    "parola parole lozinka geslo losenord lösenord passord adgangskode salasana parool sifre şifre "
    "geheim geheimnis jeton passe motdepasse пароль секрет"
)
_HOLDERS = (
    "root admin administrator system super user username guest anonymous nobody owner "
    "operator service server client application account member customer manager staff jwt auth "
    "bearer login cookie session signing signature encryption access refresh webhook salt hash api "
    "oauth csrf hmac postgres postgresql mysql mariadb mongo redis rabbitmq rabbit kafka "
    "minio elastic elasticsearch kibana grafana keycloak neo4j influx couchdb cassandra "
    "oracle mssql sqlserver jenkins gitlab github sonar sonarqube nexus airflow vault registry "
    "docker consul nacos tomcat wordpress drupal django flask laravel symfony rails spring strapi "
    "directus supabase hasura ldap smtp mail email database datasource openai anthropic google "
    "stripe slack azure wifi"
)
_EXAMPLES = (
    "test testing tests tester demo devel development local localhost staging production "
    "default example sample dummy fake mock mocked temp temporary initial another other first "
    "second current change changeme changeit replace update placeholder insecure unsafe secure "
    "safe weak strong long init upstream downstream random some plain hashed encrypted encoded "
    "base64 expired valid invalid wrong incorrect correct real public private shared master "
    "internal external synthetic stub fixture unused value string text please this here your mine "
    "enter type must before with only should never missing unknown segura seguro secreta secreto "
    "sicher"
)
_SHORT = (
    "my me new old dev db app any bad it in for to be is not do use the a an of on and or no raw "
    "env id sa sys adm pw ps pg sql web bot tmp foo bar baz aws gcp ci cd qa ok go set get prod "
    "via one two too very sk pk rk x y z"
)

LONG_WORDS = sorted(
    {*_SECRETS.split(), *_TRANSLATED.split(), *_HOLDERS.split(), *_EXAMPLES.split()}, key=len
)
_GLUED = compiled(("(?:my|dev|db|app|new|old|" + "|".join(LONG_WORDS[::-1]) + ")+$").encode())
"""One word or several without anything between them: `adminpassword`. No word is made of others,
so that there is one way to read a value and no time is lost on the others."""
_SHORT_WORDS = frozenset(_SHORT.encode().split())
_FILLERS = frozenset((b"abc", b"xyz", b"abcd", b"abcdef"))
"""What examples fill up with; alone it is somebody's password."""
_PARTS = compiled(rb"(?<=[a-z])(?=[A-Z])|[-_.:/ ]+")
_OF_TESTS = frozenset(b"test tests testing fake mock mocked dummy example sample stub demo".split())
LONGEST = 80
_COUNT = 4
_SENTENCE = 4
"""Words from which on a value that names a secret, or has small words, is a sentence."""
_SMALL_WORDS = frozenset(
    b"a am an and are as be by do for from i in is it must never not of on only or should that the "
    b"this to was with you your".split()
)
_NOUNS = frozenset(f"{_SECRETS} {_TRANSLATED}".encode().split())


def is_well_known(value: bytes) -> bool:
    """Whether every word of a value is one of defaults and examples, or it is a sentence."""
    if len(value) > LONGEST:
        return False
    parts = [part.lower() for part in _PARTS.split(value.rstrip(b",;.)!")) if part]
    words = [part for part in parts if not part.isdigit()]
    numbers = [part for part in parts if part.isdigit()]
    small = all(len(number) < _COUNT for number in numbers)
    if small and len(words) >= _SENTENCE and b"".join(words).isalpha():
        spoken = sum(word in _SMALL_WORDS for word in words) > 1
        if spoken or not _NOUNS.isdisjoint(words):
            return True
    named = [word for word in words if word not in _FILLERS]
    if not named or not all(word in _SHORT_WORDS or _GLUED.match(word) for word in named):
        return False
    # A number makes a password somebody's own, unless it counts the values of a test.
    return not numbers or (len(words) > 1 and (small or words[0] in _OF_TESTS))


def is_well_known_login(value: bytes) -> bool:
    """Whether base64 holds a login with such a password: `user:password`."""
    try:
        plain = base64.b64decode(value[: len(value) // 4 * 4], validate=True)
    except binascii.Error:
        return False
    return is_well_known(plain.partition(b":")[2])
