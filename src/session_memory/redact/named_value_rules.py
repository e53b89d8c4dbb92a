"""Rules for secrets known by the name before them, in code, configuration, markup and prose."""

from __future__ import annotations

from session_memory.redact.rule import HEX, Rule, fake
from session_memory.redact.secret_names import (
    SHORT,
    SHORT_KEYWORDS,
    STRONG,
    STRONG_ALONE,
    STRONG_ENDS,
    STRONG_KEYWORDS,
    SUFFIX,
    WEAK,
    WEAK_KEYWORDS,
)
from session_memory.redact.surroundings import (
    is_literal_here,
    is_no_loop,
    is_no_public_key,
    is_stored,
    is_worth_hiding,
)
from session_memory.redact.value_checks import (
    has_random_run,
    is_environment,
    is_jumble,
    is_key,
    is_literal,
    is_mixed,
    is_opaque,
    is_password,
    is_quoted,
    is_setting,
)

# A value without quotes ends where a shell or URL ends it; final punctuation is not part of it.
_BARE_ENDS = rb"\s'\"`\\;&|<>()\x80-\xbf"
_LAST = rb"[^" + _BARE_ENDS + rb",.:}\]][\x80-\xbf]*"


def bare(least: int) -> bytes:
    """A group for a value of so many characters without quotes."""
    return rb"((?:[^%b][\x80-\xbf]*){%d,}%b)" % (_BARE_ENDS, least - 1, _LAST)


def quoted(least: int) -> bytes:
    """Groups for a value of so many characters in quotes of any kind, escaped ones too."""
    kinds = (
        rb"\\*%b((?:[^\s\\%b\x80-\xbf][\x80-\xbf]*|\\[^\s\\%b\x80-\xbf][\x80-\xbf]*){%d,})\\*%b"
        % (quote, quote, quote, least, quote)
        for quote in (b'"', b"'", b"`")
    )
    return rb"(?:" + rb"|".join(kinds) + rb")"


# Between a name and its value: the end of a quoted or indexed name, a type, an operator, and the
# letter before a string in Python, C# or Objective-C.
_CLOSING = rb"(?:\\*['\"`](?:\[[0-9]*\]|[\])])?|\[[0-9]*\]|[\])])"
_CLOSED = _CLOSING + rb"?"
_TYPE = rb"(?:\s*:\s*[a-z_&*][\w.<>\[\]?|]{0,20}|\s+string)"
_TYPED = _TYPE + rb"?"
_UNUSUAL = rb"\s*(?:[!:=]={1,2}|=>|\|\||\?\?|<-|\bor\b)\s*"
_OPERATOR = rb"\s*(?:[:!=]?={1,3}|=>|:|\|\||\?\?|<-|\bor\b)>?\s*"
_SAME_LINE = _OPERATOR.replace(rb"\s*", rb"[ \t]*")  # bare words on the next line are not a value
_PREFIX = rb"(?:[brufl@]{1,2})?"
_WRAPPER = rb"(?:new\s+)?[\w.:\[\]&]{1,24}\((?:[^()'\"`]{0,20},|['\"][\w.-]{1,40}['\"]\s*,)?"
_SETTERS = rb"\.(?:equals|set|to_?equal|send_?keys|type|fill|val|set_?value)"
_OPENED = rb"(?:" + _PREFIX + rb"\\*['\"`])?"
_ARGUMENT = (
    rb"(?:\\*['\"`]\s*,|\\*['\"`]?\]?['\"`]?\)?(?:"
    + _SETTERS
    + rb")?\(|\s*,|[ \t]|"
    + _CLOSED
    + _TYPED
    + _OPERATOR
    + _WRAPPER
    + rb")\s*"
    + _PREFIX
    + quoted(6)
)
_TALKED = rb"(?i)\b(?:password|passwd|passphrase|passcode|pwd|pw|secret|token|api[ _-]?key)"
_TALKED_KEYWORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "pw", "secret", "token"),
    *("api key", "api_key", "api-key", "apikey"),
)
_STRONG_NAME = rb"(?i)(?:" + STRONG + rb")" + SUFFIX
_ENDED = rb"(?i)" + STRONG_ENDS + SUFFIX
_SHORT_NAME = rb"(?i)(?:\b|_)(?:" + SHORT + rb")" + SUFFIX

NAMED = (
    Rule(
        id="quoted-name",
        pattern=rb"(?i)(?:(?:[_a-z0-9.-](?:%b)|%b)%b%b%b%b|(?:%b)(?:%b%b|%b%b|%b))%b%b"
        % (
            *(STRONG, STRONG_ALONE, SUFFIX, _CLOSED, _TYPED, _OPERATOR),
            *(STRONG, _CLOSING, _OPERATOR, _TYPE, _OPERATOR, _UNUSUAL, _PREFIX, quoted(6)),
        ),
        everyday="names",
        prefilter=_ENDED + _CLOSED + _TYPED + _OPERATOR + _PREFIX + quoted(6),
        group=1,
        keywords=STRONG_KEYWORDS,
        check=is_quoted,
        fits=is_worth_hiding,
        must_match=(
            '{"password": "hunter2hunter2"}',
            "'client_secret' => 'abcdefgh'",
            '{\\"dbPassword\\": \\"hunter2hunter2\\"}',
            "$config['db_password'] = 'hunter2!';",
            'db_password: str = "hunter2!"',
            'var dbPassword string = "hunter2!"',
            "let appSecret: String = `hunter2!`",
            "process.env.API_TOKEN || 'hunter2!'",
            'if (userPassword === "hunter2!")',
        ),
        must_not_match=(
            '{"password": "<your-password>"}',
            '{"password": "must have eight characters"}',
            '{"tokens": "hunter2hunter2"}',
            '{"apiKey": "xxxxxxxxxxxx"}',
            '{"token": "string"}',
            "'password' => 'confirm_password'",
            '"token_type": "hunter2!"',
            'dbPassword = os.environ["DB_PASSWORD"]',
            '{"accessToken": "injected"}',
        ),
    ),
    Rule(
        id="secret-object",
        # "apiToken": "{\\"...\\": ...}": a whole object, as a text
        pattern=rb"(?i)(?:" + STRONG + rb")\"\s*[:=]\s*\"(\{\\\"(?:[^\"\\]|\\.)*\})\"",
        everyday="names",
        prefilter=_ENDED + rb"\"\s*[:=]\s*\"\{\\\"",
        group=1,
        keywords=STRONG_KEYWORDS,
        check=has_random_run,
        must_match=('"Apitoken":"{\\"key\\":\\"swordfishharbor9\\"}"',),
        must_not_match=('"token": "{\\"type\\": \\"bearer\\"}"', '"tokens":"{\\"a\\":1}"'),
    ),
    Rule(
        id="argument",
        # Also `setPassword("...")`, `put("password", "...")`, `.equals("...")`.
        pattern=_STRONG_NAME + _ARGUMENT,
        everyday="names",
        prefilter=_ENDED + _ARGUMENT,
        group=1,
        keywords=STRONG_KEYWORDS,
        check=is_opaque,
        fits=is_stored,
        must_match=(
            'builder.setPassword("hunter2!")',
            "define('DB_PASSWORD', 'hunter2!');",
            'os.getenv("API_TOKEN", "a1b2c3d4e5")',
            'if (password.equals("hunter2!"))',
            '#define DB_PASSWORD "hunter2!"',
            'let password = String::from("hunter2!");',
            'page.find("#password").send_keys("hunter2!")',
        ),
        must_not_match=(
            'field("password", "username")',
            'getToken("access_token")',
            'form.get("password").setValidators("required")',
        ),
    ),
    Rule(
        id="environment",
        pattern=rb"(?:PASSWORD|PASSWD|PASSPHRASE|PASSCODE|_PWD|_PASS|SECRET(?:_ACCESS)?(?:_KEY)?"
        rb"(?:_BASE)?|TOKEN|(?:API|APP|ACCESS|PRIVATE|AUTH|ENCRYPTION|SIGNING|MASTER|ACCOUNT|"
        rb"SESSION|SHARED|CLIENT|SERVICE|SUBSCRIPTION|STORAGE|JWT|HMAC|LICENSE)_?KEY)"
        rb"(?:_[0-9]{1,2}|_PROD(?:UCTION)?|_DEV|_STAGING|_LIVE)?[ \t]?[:=][ \t]?['\"]?" + bare(8),
        group=1,
        everyday="names",
        keywords=(*STRONG_KEYWORDS, "_pass"),
        check=is_environment,
        fits=is_worth_hiding,
        must_match=(
            "DB_PASSWORD=correcthorse",
            "DB_PASSWORD=пароль-базы",
            "export APP_SECRET='abcdefgh12'",
            "SECRET_KEY_BASE=0123456789abcdef",
            "docker run -e MYSQL_ROOT_PASSWORD=hunter2hunter2 mysql",
            "SMTP_PASS=hunterhunter",
            "API_KEY_PROD: a1b2c3d4e5",
        ),
        must_not_match=(
            "DB_PASSWORD=$OTHER_PASSWORD",
            "DB_PASSWORD=changeme",
            "API_KEY=process.env.API_KEY",
            "ENCRYPTION_KEY = process.env['ENCRYPTION_KEY']",
            "TOTP_SECRET = pyotp.random_base32()",
            "API_KEY_FILE=/run/secrets/api",
            "PRIVATE_KEY=/etc/ssl/private/key.pem",
        ),
    ),
    Rule(
        id="environment-line",
        # Generated keys hold signs that end a value elsewhere: here it ends with its line.
        pattern=rb"(?m)^[ \t]*(?:export[ \t]+|set[ \t]+)?[A-Z0-9_]*"
        rb"(?:SECRET(?:_KEY)?|PASSWORD|PASSWD|TOKEN|_KEY)=([^\s'\"`$][^\s'\"`]{19,})[ \t]*\r?$",
        group=1,
        keywords=("secret=", "secret_key=", "password=", "passwd=", "token=", "_key="),
        check=is_jumble,
        must_match=(
            "DJANGO_SECRET_KEY=+2i!*%t#3g%u1gb5hm2etdv4&ayt*6o8$7#-zyef\nDEBUG=0",
            "DB_PASSWORD=a1(b2)&c3;d4|e5<f6>g7!h8",
        ),
        must_not_match=(
            "API_KEY=process.env.API_KEY&&process.env.OTHER",
            "SECRET_KEY=your-secret-key-goes-here&more",
            "APP_TOKEN=https://h.test/a?token=1&b=2",
        ),
    ),
    Rule(
        id="environment-password",
        # Variables that programs read a password from, short values too: no prose follows `=`.
        pattern=rb"\b(?:[A-Z0-9_]*[A-Z0-9](?:_PASSWORD|_PASSWD|_PASSPHRASE|_PWD)|PGPASSWORD|SSHPASS|"
        rb"REDISCLI_AUTH|LESSPASS)=\\*['\"]?([^\s'\"`\\;&|<>()]{3,})",
        group=1,
        keywords=(
            "_password=",
            "_passwd=",
            "_passphrase=",
            "_pwd=",
            "pgpassword=",
            "sshpass=",
            "rediscli_auth=",
            "lesspass=",
        ),
        check=is_setting,
        fits=is_literal_here,
        must_match=(
            "PGPASSWORD=letters psql -h db",
            "MYSQL_PWD=abc mysql",
            "export SSHPASS='fish'",
            "REDISCLI_AUTH=swordfish redis-cli",
            "docker run -e MYSQL_ROOT_PASSWORD=shop mysql",
        ),
        must_not_match=(
            "PGPASSWORD=$PASS psql",
            "DB_PASSWORD=test",
            "PASSWORD=letters",
            "OLD_PWD=/srv/app",
            "PGPASSWORD= psql",
        ),
    ),
    Rule(
        id="name",
        pattern=rb"(?i)(?:[_a-z0-9.-](?:%b)|\b(?:%b))%b[ \t]*(?:=|:=?)[ \t]*['\"]?%b"
        % (STRONG, STRONG_ALONE, SUFFIX, bare(8)),
        everyday="names",
        prefilter=_ENDED + rb"[ \t]*(?:=|:=?)[ \t]*['\"]?" + bare(8),
        group=1,
        keywords=STRONG_KEYWORDS,
        check=is_literal,
        fits=is_worth_hiding,
        must_match=(
            "access_token: abcdefghijklmnop",
            "refreshToken = 'a1b2c3d4e5'",
            "?access_token=a1b2c3d4e5f6&page=2",
            "//host.test/:_authToken=0123-4567-89ab",
        ),
        must_not_match=(
            "access_token = get_token()",
            "cancellationToken: CancellationToken",
            "accessToken: request.headers.authorization",
            "max_tokens: 1234567890",
            "access_token: undefined",
            "access_token: Optional[str] = None",
        ),
    ),
    Rule(
        id="short-name",
        pattern=_SHORT_NAME + _CLOSED + _TYPED + _SAME_LINE + _OPENED + bare(5),
        group=1,
        everyday="passwords",
        keywords=SHORT_KEYWORDS,
        check=is_mixed,
        must_match=(
            "pw:IhqSb1Gg",
            "ssh me@host.test (pwd: hunter2!)",
            'Server=db;Uid=sa;Pwd=hunter2;"',
            'psk="hunter2"',
        ),
        must_not_match=("PWD=/srv/app", "pwd = os.getcwd()", "pwd: true"),
    ),
    Rule(
        id="short-name-quoted",
        pattern=rb"(?i)\b(?:pass|pwd|creds?|credentials?)"
        + SUFFIX
        + _CLOSED
        + _TYPED
        + _OPERATOR
        + _PREFIX
        + quoted(5),
        group=1,
        everyday="passwords",
        keywords=("pass", "pwd", "cred"),
        check=is_opaque,
        must_match=("pass = 'hunter2'", '"pass": "hunter2"'),
        must_not_match=("pass = 'first'", '"pass": "true"', "'pass' => '<password>'"),
    ),
    Rule(
        id="short-name-bare",
        pattern=rb"(?i)\b(?:pass|creds?|credentials?)" + SUFFIX + rb"[ \t]*[:=][ \t]*" + bare(6),
        group=1,
        everyday="passwords",
        keywords=("pass", "cred"),
        check=is_password,
        must_match=("ssh me@host.test pass:IhqSb1Gg",),
        must_not_match=(
            "PASS: draw1",
            "pass=12, fail=3",
            "pass: test_login_2",
            "pass = first_pass",
        ),
    ),
    Rule(
        id="short-value",
        # A short password under a long name; founding rule 4 leaves bare names to eight characters.
        pattern=rb"(?i)[_a-z0-9.-](?:pass(?:word|wd|phrase|code)|secret)"
        + SUFFIX
        + _CLOSED
        + _SAME_LINE
        + rb"['\"`]?"
        + bare(5),
        group=1,
        everyday="names",
        keywords=("password", "passwd", "passphrase", "passcode", "secret"),
        check=is_mixed,
        fits=is_literal_here,
        must_match=("db.password = abc12!", 'userPassword := "abc12!"', "spring.password=abc123"),
        must_not_match=("password=abc12!", "db.password = other", "db.password = None"),
    ),
    Rule(
        id="weak-name",
        pattern=rb"(?i)(?:\b|[_a-z-])(?:"
        + WEAK
        + rb")"
        + SUFFIX
        + _CLOSED
        + rb"\s*(?:[:=]?=|=>|:|,)\s*"
        + _OPENED
        + rb"([A-Za-z0-9+/=_.~-]{16,})",
        group=1,
        everyday="others",
        keywords=WEAK_KEYWORDS,
        check=is_key,
        fits=is_no_public_key,
        must_match=(
            fake("key = '", 32) + "'",
            fake('"_auth": "', 24) + '"',
            fake("encryption.salt=", 32, HEX),
        ),
        must_not_match=(
            "key: 3f2b8c1e-9d47-4a6b-8f10-2c5e7d9a1b34",
            "cache key: 9fceb02d0ae598e95dc970b74767f19372d61af8",
            "key=some_longer_name_of_a_setting",
            "key: sha256-" + fake("", 43),
        ),
    ),
    Rule(
        id="markup",
        pattern=rb"(?i)<(?:[\w.-]+:)?[\w.-]*(?:"
        + STRONG
        + rb"|pwd|pass|pw)"
        + SUFFIX
        + rb"(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^\s<>\]]{4,})\s*(?:\]\]>)?\s*</",
        group=1,
        everyday="others",
        keywords=("</",),
        check=is_setting,
        must_match=(
            "<password>hunter2</password>",
            "<db:Password type='plain'>hunter2</db:Password>",
            "<apiKey><![CDATA[hunter2]]></apiKey>",
        ),
        must_not_match=("<password>${db.password}</password>", "<tokens>hunter2</tokens>"),
    ),
    Rule(
        id="named-value",
        # {"name": "DB_PASSWORD", "value": "..."}, <add key="..." value="..."/>, and in YAML.
        pattern=rb"(?i)\b(?:name|key|field|variable|id)\\*['\"]?\s*[:=]\s*\\*['\"]?[\w.:-]*(?:"
        + STRONG
        + rb"|pwd|pass)"
        + SUFFIX
        + rb"\\*['\"]?[\s,;]*(?:\\n)?\s*\\*['\"]?(?:>|value\\*['\"]?\s*[:=]\s*)\\*['\"]?"
        rb"([^\s'\"\\<>]{5,})",
        group=1,
        everyday="passwords",
        keywords=(*STRONG_KEYWORDS, "pwd", "pass"),
        check=is_quoted,
        fits=is_worth_hiding,
        must_match=(
            '{"name":"DB_PASSWORD","value":"hunter2"}',
            '<add key="Smtp.Password" value="hunter2" />',
            "- name: DB_PASSWORD\n  value: hunter2",
            '<string name="api_key">hunter2</string>',
        ),
        must_not_match=(
            '{"name":"DB_PASSWORD","value":"${DB}"}',
            '{"name":"DB_HOST","value":"hunter2"}',
        ),
    ),
    Rule(
        id="spoken",
        pattern=_TALKED + rb"[ \t]+['\"`]?" + bare(6),
        group=1,
        everyday="passwords",
        keywords=_TALKED_KEYWORDS,
        check=is_password,
        must_match=("login me password Prl23Db#@",),
        must_not_match=(
            "password reset v1.2.3",
            "secret sauce",
            "token 3f2b8c1e-9d47-4a6b-8f10-2c5e7d9a1b34",
            "password utf8",
        ),
    ),
    Rule(
        id="told",
        pattern=_TALKED + rb"(?:\s+(?:for|of|in)\s+[^\s:]{1,40}(?:\s+is)?\s*[:=]?\s*|"
        rb"\s+(?:is|was|to|as)\s*:?\s+|\s?\()['\"`]?" + bare(6),
        group=1,
        everyday="passwords",
        keywords=_TALKED_KEYWORDS,
        check=is_mixed,
        fits=is_no_loop,
        must_match=(
            "the password is Hunter2",
            "Password for root: Prl23Db#@",
            "password(Prl23Db#@)",
        ),
        must_not_match=("the password is wrong", "the token is invalid", "password=abc123!"),
    ),
)
