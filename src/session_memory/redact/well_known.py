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
    "geheim geheimnis jeton passe motdepasse chave segredo cle chiave segreta sleutel schluessel "
    "kunci rahasia sandi anahtar gizli klucz пароль секрет"
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

# In one order in every process: an expression that differs each time would be compiled each time.
LONG_WORDS = sorted(
    {*_SECRETS.split(), *_TRANSLATED.split(), *_HOLDERS.split(), *_EXAMPLES.split()},
    key=lambda word: (len(word), word),
)
_GLUED = compiled(("(?:my|dev|db|app|new|old|" + "|".join(LONG_WORDS[::-1]) + ")+$").encode())
"""One word or several without anything between them: `adminpassword`. No word is made of others,
so that there is one way to read a value and no time is lost on the others."""
_SHORT_WORDS = frozenset(_SHORT.encode().split())
_FILLERS = frozenset((b"abc", b"xyz", b"abcd", b"abcdef"))
"""Fillers of examples; alone such a word is a real password."""
_DESCRIBED = compiled(
    (
        "(?:this|that|not|an?|is|the|my|your|our|very|top|really|some|any|good|better|best|hard|to|be|"
        "should|its?|in|for|of|and|keep|do|i|am|so|super|much|big|long)+(?:"
        + "|".join(_SECRETS.split())
        + ")$"
    ).encode()
)
"""What says of itself that it is a secret, or a bad one: `notagoodsecret`."""
_FAMOUS = frozenset(
    (b"keyboard cat", b"utf-8", b"utf8", b"utf-16", b"latin1", b"latin-1", b"iso-8859-1", b"ascii")
)
"""Examples of documentation that are known as a whole, and names of encodings."""
_BETWEEN = compiled(rb"[-_.:/ ]+")
_PARTS = compiled(rb"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[-_.:/ ]+")
_OF_TESTS = frozenset(b"test tests testing fake mock mocked dummy example sample stub demo".split())
LONGEST = 80
_COUNT = 4
_OF_TEST = 3
"""Words from which on a value that begins as one of a test is one."""
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
    value = value.rstrip(b",;.)!")
    if value.lower() in _FAMOUS or _is_sentence(value):
        return True
    parts = [part.lower() for part in _PARTS.split(value) if part]
    words = [part for part in parts if not part.isdigit() and part not in _FILLERS]
    if not words or not all(word in _SHORT_WORDS or _GLUED.match(word) for word in words):
        return not set(parts) - set(words) and bool(_DESCRIBED.match(b"".join(parts)))
    # A number makes a password real, unless it counts the values of a test.
    numbers = [part for part in parts if part.isdigit()]
    return not numbers or (len(parts) > 2 and (_is_count(numbers) or words[0] in _OF_TESTS))


def describes_key(value: bytes) -> bool:
    """Three words or more, one of them for a secret and one more known: `acme-secret-value`."""
    words = _spaced(value)
    if len(words) < _OF_TEST or _NOUNS.isdisjoint(words) or not b"".join(words).isalpha():
        return False
    return sum(word in _SHORT_WORDS or bool(_GLUED.match(word)) for word in words) > 1


def _is_sentence(value: bytes) -> bool:
    """Words with something between them that name a secret, speak, or are a test's."""
    parts = _spaced(value)
    words = [part for part in parts if not part.isdigit()]
    if len(words) >= _SENTENCE and not value.isascii():
        return True
    numbers = [part for part in parts if part.isdigit()]
    if len(words) < _OF_TEST or not b"".join(words).isalpha() or not _is_count(numbers):
        return False
    if words[0] in _OF_TESTS:
        return True
    spoken = sum(word in _SMALL_WORDS for word in words) > 1
    return len(words) >= _SENTENCE and (spoken or not _NOUNS.isdisjoint(words))


def _spaced(value: bytes) -> list[bytes]:
    """The words of a value; capitals separate none, as random letters have many."""
    return [part.lower() for part in _BETWEEN.split(value) if part]


def _is_count(numbers: list[bytes]) -> bool:
    return all(len(number) < _COUNT for number in numbers)


def is_well_known_login(value: bytes) -> bool:
    """Whether base64 holds a login with such a password: `user:password`."""
    try:
        plain = base64.b64decode(value[: len(value) // 4 * 4], validate=True)
    except binascii.Error:
        return False
    return is_well_known(plain.partition(b":")[2])
