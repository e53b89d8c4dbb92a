"""Values behind the name of a password or phrase, judged with the line around them.

The patterns end where a value begins; what the value is, and whether it is a word that a person
uses as a password or a piece of code, is decided from the line.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from session_memory.redact.rule import Rule, fake
from session_memory.redact.secret_names import SUFFIX
from session_memory.redact.surroundings import LINE, STORES, repeats_name
from session_memory.redact.value_checks import (
    ends_as_name,
    is_key,
    is_literal,
    is_mixed,
    is_password_text,
    is_random,
    is_word_value,
)
from session_memory.redact.well_known import is_well_known, is_well_known_login
from session_memory.regex_cache import compiled

Places = Iterator[tuple[int, int]]
_PASSWORD = rb"(?:pass(?:word|wd|phrase|code|wort)?|kennwort|pwd)"
_SECRET = (
    rb"(?:secret(?:[_-]?(?:key(?:[_-]?base)?|salt))?|salt|lozinka|contrase(?:n|\xc3\xb1)a|senha|"
    rb"has(?:l|\xc5\x82)o)"
)
_PHRASE = rb"(?:mnemonic|(?:seed|recovery|backup|secret)[ _-]?(?:phrase|words))"
_CLOSED = rb"(?:['\"`](?:\[[0-9]*\]|[\])])?|\[[0-9]*\]|[\])]|\*\*|__)?"
_TYPED = rb"(?:[ \t]*:[ \t]*[a-z_&*][\w.<>\[\]?|]{0,20}|[ \t]+string)?"
_ASSIGNED = rb"[ \t]*(?:[:!=]?={1,3}>?|:(?:\*\*)?|\|\||\?\?|<-|\bor\b)[ \t]*"
_PASSWORD_KEYWORDS = ("pass", "pwd", "kennwort")
_BEFORE_KEY = (
    *("api", "access", "secret", "private", "auth", "encryption", "signing", "master", "app"),
)
_PHRASE_KEYWORDS = (
    "mnemonic",
    *(
        f"{word}{joint}{end}"
        for word in ("seed", "recovery", "backup", "secret")
        for joint in ("", " ", "_", "-")
        for end in ("phrase", "words")
    ),
)

_QUOTED = compiled(
    rb"(?:(?:new )?(?:\[\]byte|bytes|str|(?:std::)?string|String(?:::from)?|\w{0,12}Secret\w{0,12}|"
    rb"(?:\w{1,16}(?:\.|::|->))?\w{0,12}(?:[hH]ash|crypt|md5|sha[0-9]*|[eE]ncode|[eE]ncrypt)\w{0,12}|Hash::make)\()?"
    rb"[brufl@]{0,2}(?:\"([^\"\r\n]{4,200})(?:\"|\r?\n|$)|'([^'\r\n]{4,200})(?:'|\r?\n|$)|"
    rb"`([^`\r\n]{4,200})(?:`|\r?\n|$))"
)
_BARE = compiled(rb"[^\s'\"`,;&|<>(){}\[\]\\]{4,256}")
_LINE_BEFORE = compiled(
    rb"^[\s+>|*`#-]*(?:[0-9]+(?:\t|:|\||\xe2\x86\x92)\s*)?(?:(?:export|set|env|arg|var|-e|--env)\s+)*"
    rb"['\"]?[\w.\[\]-]*$",
    re.IGNORECASE,
)
_LINE_AFTER = compiled(rb"[ \t]*(?:(?:#|//|;)[^\r\n]*)?(?:\r?\n|$)")
_QUOTES = (b'"', b"'")
_SHORT = compiled(rb"(?i)(?:pass|pwd)[^a-z]")
_IN_WORD = compiled(
    rb"(?<![a-z])(?:by|com|encom|band|low|high|mini|ask|sur|tres|over|under|multi|im|[a-z])$"
)
"""What makes another word of `pass`."""
_FOUNDING = compiled(rb"(?i)(?:^|[^\w])(?:password|secret)\s*[:=]\s*['\"]?$")
_STOP_WORDS = frozenset(
    b"a an the your you my our their its this that these is are was were be been of to for in on "
    b"at with by from as or and not no if it must should can will has have enter again please here "
    b"required invalid incorrect wrong missing empty field value password passwords token secret "
    b"key username user login account email name confirm new old current forgot reset change show "
    b"hide type text min max characters authentication failed error does match see "
    b"de la le les el los du des une der die das ein und ist su sua seu tu tua votre mot passe "
    b"entrez saisissez ingrese introduzca introduce digite informe insira inserisci geben sie ihr "
    b"het een uw con para per por pour mit".split()
)
_PLAIN_WORD = compiled(rb"[A-Za-z0-9'-]{2,16}$")


def is_phrase(value: bytes) -> bool:
    """Several words that make no sentence: no small words, no punctuation, no first capital."""
    words = value.split(b" ")
    if (
        not 3 <= len(words) <= 24
        or len(set(words)) == 1
        or value[:1].isupper() != words[-1][:1].isupper()
    ):
        return False
    return all(_PLAIN_WORD.match(word) and word.lower() not in _STOP_WORDS for word in words)


def _before(text: bytes, start: int) -> bytes:
    """What stands on the line before a place, as far as it is looked at."""
    low = max(0, start - LINE)
    return text[max(low, text.rfind(b"\n", low, start) + 1) : start]


def _rest(text: bytes, end: int) -> bytes:
    """What stands on the line after a place, as far as it is looked at."""
    return text[end : end + LINE].split(b"\n", 1)[0].rstrip()


def _is_short(value: bytes) -> bool:
    """Whether the founding rule leaves a value of this length alone behind a bare `password`."""
    return len(value.decode("utf-8", "replace")) < 8


_ENDS_STATEMENT = compiled(
    rb"[ \t]*(?:[,;)}\]]|(?:#|//)[^\r\n]*)*[ \t]*(?:\r?\n|$|\w+\s*[:=]|[{'\"])"
)
_SETTING_NAME = compiled(rb"(?:^|[\s\"'`])(?:[a-z][\w-]*\.)+[\w-]*$|(?:^|[\s\"'`])[A-Z0-9_]*$")
_PAIR_BEFORE = compiled(rb"[\w.]+=[^\s;'\"]+[ ;]\s*[\w.]*$")


def _is_text(value: bytes, name: bytes) -> bool:
    """Whether what stands in quotes behind a name is the secret."""
    if name[:4].lower() == b"salt":
        return is_key(value) or is_mixed(value)
    if b" " not in value:
        return is_password_text(value) and not (name[:1] in b"sS" and ends_as_name(value))
    words = value.split(b" ")
    return is_phrase(value) or (
        not is_well_known(value)
        and name[:1] in b"sS"
        and len(words) == 2
        and all(map(_is_plain, words))
        and value.islower()
    )


def _is_plain(word: bytes) -> bool:
    return bool(_PLAIN_WORD.match(word)) and word.lower() not in _STOP_WORDS


_LOGIN = compiled(
    rb"(?i)\b(?:user(?:name)?|login|uid|e?mail|host)['\"]?[ \t]*(?:=>|[:=])[ \t]*['\"]"
)


def _login(text: bytes, start: int) -> bool:
    """Whether the lines just above name the other half of a login."""
    return _LOGIN.search(text, max(0, start - LINE), start) is not None


def _assigned(text: bytes, start: int, end: int) -> Places:
    """A password in quotes, or without them where the line is one of a configuration."""
    before = _before(text, start)
    part_of_name = before[-1:].isalnum() or before[-1:] in (b"_", b"-", b".")
    both_quoted = before[-1:] in _QUOTES and text[end : end + 1] in _QUOTES
    if _SHORT.match(text, start) and not (part_of_name or both_quoted or _login(text, start)):
        return  # `pass` and `pwd` alone are words of many meanings
    if _IN_WORD.search(before) and text[start : start + 5].islower() and _SHORT.match(text, start):
        return  # bypass, compass
    quoted = _QUOTED.match(text, end)
    if quoted and quoted.lastindex:
        value = quoted[quoted.lastindex]
        founding = _FOUNDING.search(before + text[start:end] + b'"') and _is_short(value)
        if founding and not _ENDS_STATEMENT.match(text, quoted.end()):
            return
        if _is_text(value, text[start:end]) and not _repeats(text, start, end, value):
            yield quoted.span(quoted.lastindex)
        return
    yield from _assigned_bare(text, start, end)


def _assigned_bare(text: bytes, start: int, end: int) -> Places:
    """A password without quotes: alone on its line, behind a tight `=`, or among other pairs."""
    if text[start : start + 1] in b"sS":
        # Names of secrets stand there as often as secrets; what is random is none.
        salted = _BARE.match(text, end) if text[start : start + 4].lower() == b"salt" else None
        if salted and len(salted[0]) >= _SALT and is_random(salted[0]) and is_literal(salted[0]):
            yield salted.span()
        return
    before, rest = _before(text, start), _rest(text, end)
    if _LINE_BEFORE.match(before) and rest.islower() and is_phrase(rest):
        yield end, end + len(rest)
        return
    bare = _BARE.match(text, end)
    if not bare or text[bare.end() : bare.end() + 1] in (b"(", b"["):
        return
    paired = _PAIR_BEFORE.search(before) is not None
    if not paired and _FOUNDING.search(before + text[start:end]) and _is_short(bare[0]):
        return
    whole_line = _LINE_BEFORE.match(before) and _LINE_AFTER.match(text, bare.end())
    tight = text[end - 1 : end] == b"=" and text[end - 2 : end - 1] not in b" =!:"
    name = before + re.split(rb"[\s:=*\"'`)\]]", text[start:end], maxsplit=1)[0]
    setting = (whole_line or (tight and paired)) and _SETTING_NAME.search(name)
    is_password = _is_setting_text if setting else is_word_value
    if (whole_line or tight) and is_password(bare[0]) and not _repeats(text, start, end, bare[0]):
        yield bare.span()


def _repeats(text: bytes, start: int, end: int, value: bytes) -> bool:
    """Whether a value is the name before it: `self.proxy_password = proxy_password`."""
    name = re.split(rb"[\s:=*\"'`)\]]", text[start:end], maxsplit=1)[0]
    return repeats_name(_before(text, start) + name, value)


def _is_setting_text(value: bytes) -> bool:
    """A value of a file of settings, where no code stands: only a placeholder is no password."""
    return is_password_text(value) and not _CODE.match(value)


_SALT = 8
_CODE = compiled(
    rb"[$@%{<!]|(?:password|passwd|secret|token)_[a-z_]+$|(?:str|int|string|bool|None|null|true|false)\b|[a-z]+\.[a-zA-Z]+\.|[A-Z_][A-Z0-9_]*$"
)


def _phrase(text: bytes, _start: int, end: int) -> Places:
    """The words of a phrase up to the end of the line or the quote."""
    words = re.split(rb"[\"'`\\<]", _rest(text, end), maxsplit=1)[0].rstrip()
    if is_phrase(words):
        yield end, end + len(words)


_SETS = compiled(rb"(?:\b[sS]et|\b[wW]ith|[.>:])(?:[A-Z][a-z]*|_)*_?$")


_KEY_OR_SALT = compiled(rb"(?i)_(?:key|salt)")
_GENERATED = 16


def _argument(text: bytes, start: int, end: int) -> Places:
    """`setenv("PASSWORD", "...")`, `.setPassword("...")`: calls that store what they are given."""
    before = _before(text, start)
    called = text[end - 1 : end] == b"("
    if not called and _SHORT.match(text, start) and before[-1:] in (*_QUOTES, b"`"):
        return  # `set("pwd", "status")` lists words
    stores = _SETS.search(before) if called else STORES.search(before)
    quoted = _QUOTED.match(text, end)
    if not (stores and quoted and quoted.lastindex):
        return
    value = quoted[quoted.lastindex]
    keyed = not called and _KEY_OR_SALT.match(text, start)
    if keyed:
        is_secret = len(value) >= _GENERATED and is_random(value.replace(b" ", b""))
    else:
        is_secret = is_phrase(value) if b" " in value else is_password_text(value)
    if is_secret:
        yield quoted.span(quoted.lastindex)


_BLOCK_LINE = compiled(rb"([ \t]+)([^\s#][^\r\n]*?)[ \t]*(?:\r?\n|$)")
_NESTED = compiled(rb"['\"]?[\w.$-]+['\"]?:(?:\s|$)|-\s|[{\[<!&*]|[\w.]+\(")


def _below(text: bytes, start: int, end: int) -> Places:
    """The value on the line below its name, indented more than it."""
    before = _before(text, start)
    indent = len(before) - len(before.lstrip(b" \t-"))
    value = _BLOCK_LINE.match(text, end)
    if not value or len(value[1]) <= indent or _NESTED.match(value[2]):
        return
    body = value[2].strip(b"'\"")
    password = re.search(rb"(?i)pass|pwd|phrase|mnemonic", text[start:end])
    if b" " in body:
        is_secret = password is not None and is_phrase(body)
    else:
        is_secret = is_word_value(body) if password else is_key(body) or is_mixed(body)
    if is_secret:
        first = text.index(body, value.start(2))
        yield first, first + len(body)


def _is_base64_secret(value: bytes) -> bool:
    """Base64 of a login, of Docker's logins, or of a private key."""
    try:
        plain = base64.b64decode(value[: len(value) // 4 * 4][:400], validate=True)
    except (ValueError, binascii.Error):
        return False
    if is_well_known_login(value):
        return False
    if b"PRIVATE" in plain[:60] or plain.startswith((b'{"auths"', b'{\n\t"auths"')):
        return True
    return (
        plain.isascii() and plain.decode().isprintable() and 0 < plain.find(b":") < len(plain) - 3
    )


def _option_value(text: bytes, start: int, end: int) -> Places:
    """A word after `--password` on a command line, whatever follows; not in help or prose."""
    before = _before(text, start)
    value = re.compile(rb"[a-z][a-z0-9]{4,}(?=[ \t])").match(text, end)
    words = before.lower().split()
    if not value or not words or not is_word_value(value[0]) or value[0].lower() in _STOP_WORDS:
        return
    following = text[value.end() : value.end() + 40].split()[:1]
    if any(word.strip(b"`'\",.:;") in _PROSE for word in (*words, value[0], *following)):
        return
    if re.match(rb"[$#>+]|[a-z][\w./-]*$", words[0]):
        yield value.span()


_PROSE = frozenset(
    b"a an the your you is are was to for in on at with by from as or and not no if it use using "
    b"pass passing add adding via when flag flags option options argument set sets either neither "
    b"nor both without instead usage string value takes accepts requires must should can of that "
    b"authentication auth file prompt fails works support supports which this then but also".split()
)

ASSIGNED = (
    Rule(
        id="password-value",
        pattern=rb"(?i)(?:"
        + _PASSWORD
        + rb"|"
        + _SECRET
        + rb")"
        + SUFFIX
        + _CLOSED
        + _TYPED
        + _ASSIGNED,
        everyday="passwords",
        keywords=(
            *(*_PASSWORD_KEYWORDS, "secret", "salt", "lozinka", "contrase", "senha"),
            *("haslo", "hasło"),
        ),
        find=_assigned,
        must_match=(
            "db_password: opal",
            'smtp_pass = "opal"',
            '{"password": "correct horse battery staple"}',
            '{"user":"me","dbPassword":"bandit',
            "root_password = harbor  # of the host",
        ),
        must_not_match=(
            "password: str",
            "db_password = load_password()",
            "dbPassword: string;",
            "db_password: harbor, user: x",
            '"password": "Enter your password again"',
            "password=abc12!",
            "passed: 12",
        ),
    ),
    Rule(
        id="phrase",
        pattern=rb"(?i)" + _PHRASE + rb"['\"`]?[\])]?[ \t]*(?:[:=]|\bis\b)[ \t]*['\"`]?",
        keywords=_PHRASE_KEYWORDS,
        find=_phrase,
        must_match=(
            'mnemonic = "stone lamp river glove chair oven tent moss cave frog mint rope"',
        ),
        must_not_match=("recovery phrase: the words you wrote down", 'mnemonic = "none"'),
    ),
    Rule(
        id="password-argument",
        pattern=rb"(?i)(?:"
        + _PASSWORD
        + rb"|"
        + _PHRASE
        + rb"|_key|_salt)"
        + SUFFIX
        + rb"(?:['\"`]\s*,\s*|\()",
        everyday="passwords",
        keywords=(*_PASSWORD_KEYWORDS, *_PHRASE_KEYWORDS, "_key", "_salt"),
        find=_argument,
        must_match=(
            'os.getenv("SMTP_PASSWORD", "falcon")',
            'builder.setPassword("swordfish")',
            "define('DB_PASSWORD', 'swordfish');",
        ),
        must_not_match=(
            'field("password", "username")',
            'console.readPassword("prompt")',
            'form.get("password").set("required")',
            'changedSet("pwd", "status")',
        ),
    ),
    Rule(
        id="paired-phrase",
        pattern=rb"(?i)\bname['\"]?\s*[:=]\s*['\"]?[\w.-]*(?:"
        + _PASSWORD
        + rb"|"
        + _PHRASE
        + rb")['\"]?[\s,]*['\"]?value['\"]?\s*[:=][ \t]*['\"]?",
        everyday="passwords",
        keywords=(*_PASSWORD_KEYWORDS, *_PHRASE_KEYWORDS),
        find=_phrase,
        must_match=("- name: PASSPHRASE\n  value: stone lamp river glove",),
        must_not_match=("- name: PASSPHRASE\n  value: of the user", "- name: HOST\n  value: a b c"),
    ),
    Rule(
        id="value-below",
        pattern=rb"(?i)(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|(?:"
        + "|".join(_BEFORE_KEY).encode()
        + rb")[_-]?key|mnemonic|phrase|salt)(?:[_-]?key)?"
        + SUFFIX
        + rb"['\"]?:[ \t]*(?:[|>][+-]?[0-9]?[+-]?)?[ \t]*\r?\n",
        everyday="passwords",
        keywords=(
            *("pass", "pwd", "secret", "token", "mnemonic", "phrase", "salt"),
            *(f"{word}{joint}key" for word in _BEFORE_KEY for joint in ("", "_", "-")),
        ),
        find=_below,
        must_match=(
            "db_password: >-\n  swordfish",
            fake("api_key: |\n    ", 24),
            "a:\n  db_password:\n    opal",
        ),
        must_not_match=("password:\n  type: string", "token:\nnext: line", "secret:\n  - one"),
    ),
    Rule(
        id="option-word",
        pattern=rb"(?:^|[\s])--?(?:[a-z]+-)*(?:password|passwd|passphrase|pass)[ \t]+",
        keywords=("password", "passwd", "passphrase", "-pass"),
        find=_option_value,
        must_match=(
            "tool dump --password swordfish mydb",
            "$ mysql -u root --password swordfish shop",
        ),
        must_not_match=(
            "use --password swordfish here",
            "  --password registry password",
            "the --password flag is needed",
        ),
    ),
    Rule(
        id="base64-login",
        pattern=rb"(?i)(?:\bauth['\"]?|\bbasic|dockerconfigjson['\"]?|[\w.-]*key-data['\"]?|\.(?:key|pem)['\"]?)"
        rb"(?:\s*[:=]\s*|[ \t]+)['\"]?([a-z0-9+/]{12,}={0,2})",
        group=1,
        everyday="others",
        keywords=("auth", "basic", "dockerconfigjson", "key-data", ".key", ".pem"),
        check=_is_base64_secret,
        must_match=(
            '{"auths":{"r.test":{"auth":"' + "bWU6c3dvcmRm" + 'aXNo"}}}',
            "Basic " + "bWU6c3dvcmRmaXNo",
            "client-key-data: " + "LS0tLS1CRUdJTiBQUklW" + "QVRFIEtFWS0tLS0t",
        ),
        must_not_match=("Basic understanding", "basic authentication", fake("auth: ", 24)),
    ),
)
