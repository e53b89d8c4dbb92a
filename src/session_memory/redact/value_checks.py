"""Checks that tell a secret from a placeholder, a variable, code or a path."""

from __future__ import annotations

from collections import Counter
from math import log2
from operator import add

from session_memory.redact.well_known import is_well_known
from session_memory.regex_cache import compiled

LOOKED_AT = 256
"""Bytes of a value that are checked: nothing longer is a placeholder."""

_VARIABLE = compiled(
    rb"[?&]\w+=|['\"]\s?[+.&]\s?[A-Za-z_$(]|['\"]?\$[({]|\$env:|['\"]\$\w+['\"]?$|%~|[*&][A-Za-z_]|\$[A-Z_][A-Z0-9_]*\b|\$[A-Za-z_]\w*(?:\\[nrt])*$|\$\$|<[^>]*>?$|\{.*\}$|\{[A-Za-z_][\w.]*$|%[sd](?:$|[^\w])|%[({]|--[a-z-]+$|\$[a-z_]\w*-$|\[[A-Za-z0-9]-[A-Za-z0-9]|\\[dws][+*{]|%[A-Za-z_]+%$|@[({]|"
    rb"#[{(]|#[A-Za-z_][\w.]*#$|"
    rb"\[[A-Za-z _-]+\]$|:[a-z_]+$|:[A-Z_][A-Z0-9_]+$|!(?:ref|sub|secret|vault|env)\b|"
    rb"(?:process\.env|os\.(?:environ|getenv)|import\.meta|secrets?|env|vault|config|settings|self|"
    rb"this|var|local|data|module|options|props|args|params|request|req|ctx|input)\.|"
    rb"(?:Optional|Union|Annotated|[Ll]ist|[Dd]ict|[Ss]equence|Literal)\["
)
_MASK = compiled(
    rb"(?i)xxxx|(?:^|[-_])xxx(?:$|[-_])|\*\*\*|\.\.\.|###|___|\xe2\x80\xa6|\xe2\x80\xa2\xe2\x80\xa2"
)
_STAND_IN = compiled(
    rb"(?i)change-?_?me|example|placeholder|dummy|redacted|sample|your[-_a-z]*"
    rb"(?:key|token|secret|password|here)|(?:insert|replace|enter|add)[-_ ]?(?:your|me|this|with)|"
    rb"(?:^|[-_])(?:todo|fixme|mock(?:ed)?|fake|stub|foo(?:bar)?|lorem|not[-_]?set)(?:$|[-_])"
)
_WORDS = frozenset(
    b"undefined required optional boolean function response request string number object nullable "
    b"hidden masked disabled enabled expired invalid missing unknown provided received none null "
    b"true false empty default password passwd secret token apikey bearer basic test testing "
    b"username user value pass pwd foo bar foobar string? number? boolean?".split()
)
# Words that follow the name of an option in help and prose; some are in _WORDS too.
_BEHIND_FLAGS = frozenset(
    b"a all also an and are argument arguments as at auth authentication be before both but by can "
    b"cannot char chars cli command config credentials did do does e.g. either env environment "
    b"file filename flag flags for from generated given had has have helper here how i.e. id if in "
    b"instead into is it key keys like literal manager may method must name needs nor not now of "
    b"off on only opt option options or over parameter parameters parse parsing path plus prompt "
    b"prompts reads requires same set sets should specified stdin store str strings support "
    b"supported switch takes text than that the their then these this those through tied to "
    b"tokens too type unless until used using values var variable variables via was were when "
    b"where which while will with without word works would yes you your".split()
)
_NOUN = (
    rb"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|(?:api|access|secret|private)?[-_]?key|"
    rb"credentials?)s?"
)
_PATH = compiled(rb"(?:\.{0,2}|~|[A-Za-z]:)(?:[/\\][\w.@{}$*-]+)+[/\\]?$|(?:https?|file)://")
_FILE = compiled(rb"/[^/]*\.[a-z]{2,4}$|/[a-z_]+[-_/][0-9]{4}-?$|(?:[a-z_-]+/){2}")
_SHORT_PARTS = compiled(rb".{0,2}(?:[/\\][^/\\]{1,12}){2,4}$")
_CMDLET = rb"(?:Get|Read|New|Set|Import|ConvertTo|ConvertFrom)-[A-Z][a-z]\w*[,;)]*$"
_EXPRESSION = compiled(
    rb"!?[A-Za-z_]\w*(?:(?:\??\.|->|::)[A-Za-z_]\w*)+[\[,;]*$|[A-Za-z_][\w.]*(?:\[[\w:.-]{0,8}\]?)+(?:\.\w+)*$|[A-Za-z_]+\[\[|\[[a-z_][\w.]*\]?$|"
    rb"[A-Za-z_][\w.]*\(|" + _CMDLET
)
_REFERENCE = compiled(
    rb"(?:await|new)\b|[$@]?[A-Za-z_][\w$]*(?:(?:\??\.|->|::)[A-Za-z_][\w$]*|\[[\w.:-]*\])*"
    rb"(?:\((?:[\w.,:&*$=\[\](){}<>!-]*[,;:})\]]*)$|\[(?:[A-Za-z_][\w.:-]*)?\]?[,;:)]*$)|"
    rb"[$@]?[A-Za-z_][\w$]*(?:(?:\??\.|->|::)[A-Za-z_][\w$]*)+[,;:})\]]*$|"
    rb"[A-Za-z_]\w*(?:\[[\w.,|\[\]]*\]|<[\w.,|<>\[\]]*>)[,;=)?]*$|"
    rb"[A-Za-z_]\w*\[-?[0-9]*:-?[0-9]*\][,;)]*$|"
    rb"\$[A-Za-z_]\w*->|\$\{[^}]*\}[,;)`.!]*$|\$\([^)]*\)?$|\$[A-Za-z_]\w*(?:\{\w+\})?(?:[,;)]|\\[nrt])*$|"
    rb"<[%?]|<[A-Za-z][\w .-]*(?:>[,;)]*)?$|"
    rb"\{\{.*|\$\{\{.*|\*[A-Za-z_]\w*\*?$|%[A-Za-z_]\w*%$|#[A-Za-z_][\w.]*#$|`\$\{.*|"
    rb"\{[A-Za-z_][\w.]*\}[,;)]*$|\((?:string|str|int|bool|char\*?|byte\[\]|array|object|any)\)$|"
    rb"[A-Za-z_][\w.]*\([`\w.,\s]*[)`,;]*$|[A-Za-z_][\w.]*<[\w ,\[\]]{1,40}>\(|" + _CMDLET
)
"""A whole value that is code: a call, a member, an item, a type, a variable, a template."""
_PAIRS_FOLLOW = compiled(rb",[A-Za-z][\w.-]*=")
_DIGIT_INSIDE = compiled(rb"[A-Za-z][0-9]+[A-Za-z]")
_TO_FILL_IN = compiled(
    rb"(?i)(?:(?:your|yours|tu|tua|votre|dein|deine?|mein|seu|sua|su|vos)[-_ ][a-z0-9_ -]+|"
    rb".*(?:\xe4\xbd\xa0|\xe6\x82\xa8)\xe7\x9a\x84.*|(?:your?|my|the)[-_]?(?:own[-_])?"
    + _NOUN
    + rb"[0-9]{0,4}|"
    rb"change[-_]?(?:me|this)|(?:[a-z]+[-_])*(?:change|replace)[-_](?:in|me|this|it|with|before)(?![a-z]).*|"
    rb"placeholder|redacted|x{8,}|\.{3,}|\*{3,}\S*|\[[a-z _-]+\]|"
    rb"[a-z0-9_-]+[-_](?:here|placeholder|aqui|ici|hier|qui|anda|kamu)|"
    rb"your[-_](?:[a-z0-9]+[-_])*[a-z0-9]+|(?:[a-z0-9]+[-_])*(?:fake|dummy|mock|example)[-_](?:[a-z]+[-_])*[a-z]+)"
    rb"[,;.)]*$"
)
"""What documentation and templates write where a secret has to be filled in."""
_CHECKED = compiled(rb"(?i)(?:required|nullable|sometimes|present|string|min:|max:|confirmed)[|:,]")
"""Rules that a value is checked by, in the place of the value."""
_WRITTEN_BY_CODE = compiled(rb"%[sd](?:$|[^\w])|https?://[^@\s]*$|\[[A-Za-z0-9]-[A-Za-z0-9]")
"""A format string, an address or a regular expression, in the place of the value."""
_INTERPOLATED = compiled(
    rb"\{[a-z_]{3}[\w.]*(?:![rsa])?\}|^\{[a-z_]{3}[\w.]*[!(\[]|[$#]\{[A-Za-z_][\w.]{2}|^%\([a-z_]+\)s"
)
"""A text that is put together by code: `f"{user}-{token}"`."""
_REGEX = compiled(
    rb"\(*/\^|\^(?:[\\(\[]|.*\$$)|[\[(]+\?[:=!<]|\(?\[\^|"
    rb"\(?\[[a-zA-Z0-9]-[a-zA-Z0-9]|\(?\\[wdsWDS]|\{\w+\.pattern"
)
_NOTATION = compiled(
    rb"\w[\w.]*\[-?[0-9]*\]\.\w+$|0x[0-9a-fA-F]{1,8}$|\w+:[x*!]:[0-9]+:|"
    rb"[~^]?[0-9]+(?:\.[0-9]+){2,}$|[~^][0-9.]+$"
)
"""A path into data, an address in memory, a line of /etc/passwd, a version, an object id."""
_PAREN = compiled(rb"\((?:redacted\)|[A-Za-z_]\w*(?:->|\.|::)[A-Za-z_])")
"""The beginning of an expression in brackets."""
_IDEOGRAPH = compiled(rb"[\xe3-\xed][\x80-\xbf]{2}")
"""A sign of Chinese, Japanese or Korean: such a value is a description, not a password."""
_DOTTED = compiled(rb"[A-Za-z_]+[0-9]{0,2}(?:\.[A-Za-z_]+)+$|[a-z-]+/[a-z-]+$")
_REPEATED = compiled(rb"(.{2,10}?)\1{2,}$")
_OWN_NAME = compiled(
    rb"(?i)[a-z]\w*?(?:_|(?-i:(?=[A-Z])))(?:password|passwd|token|secret|(?:api_?)?key|credentials?)s?[,;:)]*$|"
    rb"(?:password|passwd|token|secret|api_?key)_[a-z_]+[,;:)]*$"
)
_BEGINS_AS_NAME = compiled(rb"(?i)(?:password|passwd|token|secret|api_?key)_[a-z_]+$")
_TYPE_NAME = compiled(
    rb"(?:[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:Token|String|Str|Bytes|Types?|Secret|Key|Password|Field|Option)|Uint8Array|"
    rb"(?:string|String|boolean|undefined|Optional|unknown)[?]?)[,;:)\]}|]*$"
)
_IDENTIFIER = compiled(rb"(?:[A-Za-z_]+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[,;.]?$")
_CLASS_OF_API = compiled(rb"V[0-9](?:(?:alpha|beta)[0-9])?(?:[A-Z][a-z]+)+$")
_CONSTANT = compiled(rb"[A-Z]+(?:[_-][A-Z]+)+$")
_LONGEST_NAME = 24
_CAMEL_OR_SNAKE = compiled(rb"[a-z][A-Z]|[A-Za-z]_[A-Za-z]")
_NAMES_ITSELF = compiled(
    rb"(?i)^[a-z_. :/-]*(?:passw|passphrase|secret|token|api_?key|credential|auth)[a-z_. :/-]*$"
)
_DIGIT = compiled(rb"[0-9]")
_LETTER = compiled(rb"[A-Za-z]")
_LOWER, _UPPER = compiled(rb"[a-z]"), compiled(rb"[A-Z]")
_SYMBOL = compiled(rb"[!@#$%^&*+=?~]")
_SIGN = compiled(rb"[!@#$%^&*+=?~();|<>-]")
_KEY_MATERIAL = compiled(rb"[A-Za-z0-9+/=]{32}")
_UUID = compiled(rb"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_DIGEST = compiled(rb"(?i)(?:sha[0-9]+|md5)[-:=]|[0-9a-f]{40}$")
_NUMBER = compiled(rb"(?i)v?[0-9]+(?:[.:/x-][0-9a-z*]+)*$|[0-9]+[a-z]{1,3}$|0x[0-9a-f]+$")
_TECHNICAL = compiled(
    rb"(?i)v?[0-9]+(?:[.:/x-][0-9a-z*]+)*$|[a-z]+[-_.]?[0-9]{1,4}$|[0-9]+[a-z]{1,3}$|"
    rb"(?:[a-z]+[-_./:])+[a-z]*[0-9]{0,4}$|\w{1,20}=.|[0-9]+%$|#[0-9]+$"
)
_HEX = compiled(rb"(?i)(?=[a-f]*[0-9])[0-9a-f]{16,}$")
_PORT = compiled(rb"[0-9]{1,5}(?:[/?#]|$)")
_LETTER_RUN = compiled(rb"[A-Za-z]{20,}")
_ALPHANUMERIC_RUN = compiled(rb"[A-Za-z0-9]{12,}")

# Pairs of letters that make up nine tenths of English prose and identifiers, and a third of random
# letters.
_PAIRS = (
    "abacadagaialamanaparasatauaybabebiblbobrbsbucacccdcechcickclcocrcsctcudadddedfdidldodrdsdueaeb"
    "ecedeeefegeielemeneoepeqeresetevewexfafefffiflfofrftgageghgigngrgsguhahehihohtiaibicidieifigil"
    "iminioipirisitivizkelaldlelilllolsltlulymamemimmmompmsnancndnenfngninonsntnunvoaobocodofogoiol"
    "omonoooporosotouovowpapephpiplpoppprpsptpuqurarcrdrergrirlrmrnrorprrrsrtrurysascsesfshsislsosp"
    "ssstsusytatctdtetfthtitltmtotptrtstttutyuaubueuiulumunupurusutvaveviwawewixpxtypysze"
)
_COMMON = frozenset(_PAIRS[index : index + 2] for index in range(0, len(_PAIRS), 2))
SPOKEN = 0.65
"""Share of common pairs above which letters are words: 95 in 100 words of eight letters reach it,
and five in 100 random strings of sixteen."""


def is_value(value: bytes) -> bool:
    """Not a variable, a mask, or a word that documentation uses instead of a secret."""
    head = value[:LOOKED_AT]
    if _VARIABLE.match(head) or _MASK.search(head) or len(set(head)) <= 2:
        return False
    if _TO_FILL_IN.match(head) or _CHECKED.match(head) or _REPEATED.match(head):
        return False
    if _IDEOGRAPH.search(head) or _is_code(head) or is_well_known(head):
        return False
    # A digit makes the difference between `example-key` and a password built on a word.
    return bool(_DIGIT.search(head)) or not (_STAND_IN.search(head) or head.lower() in _WORDS)


def _is_code(head: bytes) -> bool:
    """A regular expression, a text that code puts together, an expression, a notation."""
    return bool(
        _INTERPOLATED.search(head)
        or _REGEX.match(head)
        or _NOTATION.match(head)
        or _PAREN.match(head)
    )


def is_identifier(value: bytes) -> bool:
    """A name of code without quotes: of several words, of a class, or before a comma."""
    if not _IDENTIFIER.match(value) or not is_spoken(value):
        return False
    if len(value) >= _LONGEST_NAME and b"_" not in value:
        return False
    return bool(_CAMEL_OR_SNAKE.search(value)) or value.istitle() or value[-1:] in b",;"


def is_unmasked(value: bytes) -> bool:
    """A token with a known beginning that is not crossed out."""
    return not _MASK.search(value[:LOOKED_AT])


def is_setting(value: bytes) -> bool:
    """A value of a setting: anything but a placeholder, an address or a file path."""
    head = value[:LOOKED_AT]
    return is_value(head) and not (
        _DOTTED.match(head)
        or (_PATH.match(head) and (_SHORT_PARTS.match(head) or b":/" in head or is_spoken(head)))
    )


def is_environment(value: bytes) -> bool:
    """A value of an environment variable: also none that only says what belongs there."""
    head = value[:LOOKED_AT]
    if not is_setting(head) or (_EXPRESSION.match(head) and is_spoken(head)):
        return False
    return not (names_itself(head) or ends_as_name(head) or _BEGINS_AS_NAME.match(head))


def is_literal(value: bytes) -> bool:
    """An unquoted value in code, so it must not be a name or a type either."""
    if pairs := _PAIRS_FOLLOW.search(value):
        value = value[: pairs.start()]
    if not is_setting(value) or _EXPRESSION.match(value[:LOOKED_AT]) or is_expression(value):
        return False
    # Names of variables and types are short and in camel or snake case; long ones are random.
    name = len(value) < _LONGEST_NAME and _IDENTIFIER.match(value) and _CAMEL_OR_SNAKE.search(value)
    return not name and not _NAMES_ITSELF.match(value)


_TYPE_WORDS = frozenset(
    b"string str text bytes byte number int integer bool boolean any object none null nil true "
    b"false optional undefined void char varchar const self this auto dict list array buffer "
    b"field input secret password passwd token value default required hidden literal unicode "
    b"readonly type enum yes no on off file stdin prompt ignore inherit never always env vault "
    b"allow deny ask return await async success fail failed failure passed error warning".split()
)
_NAME_OF_CODE = compiled(rb"(?i)(?:arg|param|input|config|setting|option|env|user|data|req|res)s?$")


_WORD = compiled(rb"[A-Z]?[a-z]+|[A-Z]+")
_ONLY_NOUN = compiled(
    rb"(?:password|passwd|passphrase|passcode|passwort|kennwort|secret|token|key|pass|pwd|credential|apikey)s?$"
)
_DESCRIPTIONS = frozenset(
    b"a access account admin an another anthropic any api app aws azure bad bearer body bot "
    b"client confirm confirmation correct csrf current db default dummy email emails empty "
    b"encoded encrypted enter expired facebook fake field file for forgot github gitlab google "
    b"hashed header id in input invalid is jwt label lbl login missing mock my name nested new "
    b"no not oauth of old only openai or plain private public query queue raw refresh repeat "
    b"required reset sample service session set shared show signing slack some string stripe temp "
    b"temporary test text that the this to txt type user valid value web webhook wrong your".split()
)


def is_expression(value: bytes) -> bool:
    """Code where a literal would stand: a call, a member, a variable, a type, a template."""
    head = value[:LOOKED_AT].rstrip(b"`")
    if _OWN_NAME.match(head) or _TYPE_NAME.match(head):
        return True
    return bool(_REFERENCE.match(head)) and not (_DIGIT_INSIDE.search(head) and b"(" not in head)


def is_literal_text(value: bytes) -> bool:
    """Anything but code, or what is written where a value has to be filled in."""
    head = value[:LOOKED_AT]
    if pairs := _PAIRS_FOLLOW.search(head):
        head = head[: pairs.start()]
    if is_expression(head) or _TO_FILL_IN.match(head) or _CHECKED.match(head):
        return False
    if _MASK.search(head) or _WRITTEN_BY_CODE.match(head):
        return False
    if _IDEOGRAPH.search(head) or _is_code(head) or is_well_known(head):
        return False
    return not _REPEATED.match(head) and head.lower().rstrip(b",;.):") not in _WORDS


def is_word_value(value: bytes) -> bool:
    """A value without quotes that may be a plain word, as in a file of settings."""
    head = value[:LOOKED_AT]
    if not is_literal(head) or _NUMBER.match(head):
        return False
    return head.lower() not in _TYPE_WORDS and not _NAME_OF_CODE.match(head)


def is_quoted(value: bytes) -> bool:
    """A value in quotes under a name such as `password`: anything but a label or an identifier."""
    head = value[:LOOKED_AT]
    if not is_setting(head) or _NAMES_ITSELF.match(head) or is_label(head) or ends_as_name(head):
        return False
    if _CLASS_OF_API.match(head) or _CONSTANT.match(head):
        return False
    return not (_IDENTIFIER.match(head) and _CAMEL_OR_SNAKE.search(head) and is_spoken(head))


def is_label(value: bytes) -> bool:
    """One word with a capital, as a form shows it: `"password": "Passwort"`."""
    text = value.decode("utf-8", "replace")
    return text.isalpha() and text.istitle() and is_spoken(value)


def is_password_text(value: bytes) -> bool:
    """A text in quotes under the name of a password: a word too, but no label, rule or own name."""
    head = value[:LOOKED_AT]
    if not is_setting(head) or is_label(head) or _CONSTANT.match(head):
        return False
    return head.lower() not in _TYPE_WORDS and not names_itself(head)


_ENDS_AS_NAME = compiled(
    rb"(?i)[a-z]+(?:[-_](?:[a-z]+|[0-9]{1,3}))*[-_](?:token|secret|key)(?:[-_]?[0-9]{1,3})?$"
)


def ends_as_name(value: bytes) -> bool:
    """Words that end in what they stand for, `shop-client-secret`: keys are not words."""
    return _ENDS_AS_NAME.match(value) is not None and is_spoken(value)


def is_name_of_secret(value: bytes) -> bool:
    """Words with the name of a secret among them, as in `client_secret_basic`."""
    return _NAMES_ITSELF.match(value) is not None


def names_itself(value: bytes) -> bool:
    """Whether a value only says what it stands for: `client-secret`, `confirm_password`."""
    if _DIGIT.search(value):
        return False
    words = [word.lower() for word in _WORD.findall(value)]
    return any(_ONLY_NOUN.match(word) for word in words) and all(
        _ONLY_NOUN.match(word) or word in _DESCRIPTIONS for word in words
    )


def is_opaque(value: bytes) -> bool:
    """A value that is not made of words, for names that also precede plain words."""
    head = value[:LOOKED_AT]
    return is_quoted(head) and (is_mixed(head) or not is_spoken(head))


def is_random(value: bytes) -> bool:
    """Looks random: digits among letters, and few repetitions."""
    head = value[:LOOKED_AT]
    mixed = _DIGIT.search(head) is not None and not head.isdigit()
    return mixed and entropy(head) >= 2.5 and is_value(value)


def is_mixed(value: bytes) -> bool:
    """Letters with digits or symbols among them: a password, not a word, a number or a call."""
    head = value[:LOOKED_AT]
    others = _DIGIT.search(head) or _SYMBOL.search(head)
    if _CLASS_OF_API.match(head):
        return False
    return bool(others and _LETTER.search(head)) and is_literal(head) and not _NUMBER.match(head)


def is_password(value: bytes) -> bool:
    """Looks like a password in the middle of a sentence: kinds of characters that words lack."""
    head = value[:LOOKED_AT]
    if not is_mixed(head) or _TECHNICAL.match(head) or _UUID.match(head) or _DIGEST.match(head):
        return False
    kinds = sum(bool(kind.search(head)) for kind in (_LOWER, _UPPER, _DIGIT, _SYMBOL))
    return kinds >= 3 or (kinds == 2 and bool(_DIGIT.search(head)) and len(head) >= 6)


def is_jumble(value: bytes) -> bool:
    """Looks generated from all signs of a keyboard: several kinds of them, and no address."""
    head = value[:LOOKED_AT]
    signs = len(set(_SIGN.findall(head)))
    return signs >= 3 and bool(_DIGIT.search(head)) and b"://" not in head and is_value(head)


def is_key(value: bytes) -> bool:
    """Looks like a key under a name that says little: long, random, and no id or checksum."""
    head = value[:LOOKED_AT]
    if _UUID.match(head) or _DIGEST.match(head) or not is_setting(head) or is_spoken(head):
        return False
    if _FILE.search(head):
        return False
    mixed = _DIGIT.search(head) and _LETTER.search(head)
    return bool(mixed) and not _TECHNICAL.match(head) and entropy(head) >= 2.8


def is_userinfo(value: bytes) -> bool:
    """The password of a URL, not a port and what follows it."""
    return is_value(value) and not _PORT.match(value)


def has_random_run(value: bytes) -> bool:
    """Twelve or more letters and digits in a row with both among them, or random letters alone."""
    runs = _ALPHANUMERIC_RUN.findall(value[:LOOKED_AT])
    mixed = any(_DIGIT.search(run) and _LETTER.search(run) for run in runs)
    return mixed or has_random_letters(value)


def has_random_letters(value: bytes) -> bool:
    """Twenty or more letters in a row that make no words: one token in hundreds has no digit."""
    runs = _LETTER_RUN.findall(value[:LOOKED_AT])
    random = any(not is_spoken(run) and entropy(run) >= 3 for run in runs)
    return random and is_value(value)


def is_token(value: bytes) -> bool:
    """The random part after the known prefix of a service's tokens."""
    return is_random(value) or has_random_letters(value)


def is_flag_value(value: bytes) -> bool:
    """A word after `--password`, where help and prose have other words."""
    head = value[:LOOKED_AT]
    if not is_setting(head) or _NAMES_ITSELF.match(head) or _EXPRESSION.match(head):
        return False
    return not head.isupper() and head.lower() not in _BEHIND_FLAGS


def is_flag_token(value: bytes) -> bool:
    """A value after `--token` that cannot be prose, whatever follows it."""
    head = value[:LOOKED_AT]
    letters = len(head) >= 8 and is_flag_value(head) and not is_spoken(head)
    return is_random(value) or letters


def is_spoken(value: bytes) -> bool:
    """Whether the letters of a value are those of words."""
    if _HEX.match(value) or is_jumbled(value):
        return False
    text = value[:LOOKED_AT].decode("ascii", "replace").lower()
    pairs = [pair for pair in map(add, text, text[1:]) if pair.isalpha()]
    return bool(pairs) and sum(pair in _COMMON for pair in pairs) / len(pairs) >= SPOKEN


_KIND_CHANGES = compiled(rb"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")


def is_jumbled(value: bytes) -> bool:
    """Whether small letters, capitals and digits alternate more than in any name."""
    head = value[:LOOKED_AT]
    return len(head) >= 14 and 2 * len(_KIND_CHANGES.findall(head)) >= len(head)


def entropy(value: bytes) -> float:
    """Shannon entropy in bits per byte."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values()) if size else 0.0


def has_key_material(block: bytes) -> bool:
    """A block between key markers holds a key, not just code that names the markers."""
    return _KEY_MATERIAL.search(block) is not None
