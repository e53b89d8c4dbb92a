"""Labelled texts from grammars of formats: a family of formats x classes of values.

The split is by family. Rules may be tried on the families of `DEVELOP`; those of `HELD_BACK` are
only measured: nobody looks at what is missed there in order to mend it.
"""

from __future__ import annotations

import base64
import html
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from tests.redact.secret_values import (
    BASE64,
    DEVELOP_WORDS,
    HELD_WORDS,
    KINDS,
    URLSAFE,
    Kind,
    Source,
)

VALUE = "@v@"
Encode = Callable[[str], str]
Fill = dict[str, Callable[[Source], str]]


class Sample(NamedTuple):
    """A text of one or more lines and where its secret stands, in characters."""

    text: str
    spans: tuple[tuple[int, int], ...] = ()
    kind: str = ""


class Family(NamedTuple):
    """How a format writes a name and a value, and what else in it holds a secret."""

    assigned: tuple[str, ...] = ()
    """Templates with `@n@` for a name and `@v@` for any value that fits."""
    own: tuple[tuple[str, str], ...] = ()
    """Templates with `@v@` for a value of the named class."""
    style: str = "snake upper camel kebab"
    """How names are written."""
    blanks: bool = False
    """Whether an unquoted value may hold blanks."""
    encode: Encode = str
    """How the whole text is written."""


def in_string(text: str) -> str:
    return '"payload":' + json.dumps(text)


def in_two_strings(text: str) -> str:
    return json.dumps({"body": json.dumps({"arguments": text})})


def in_url(text: str) -> str:
    return "https://host.test/?q=" + quote(text, safe="") + "&x=1"


def coloured(text: str) -> str:
    return re.sub(r"^(\w{2,4})", "\x1b[1m\\1\x1b[0m", text)


def in_page(text: str) -> str:
    return "<pre>" + html.escape(text) + "</pre>"


def viewed(text: str) -> str:
    return "   41\u2192" + text if len(text) % 2 else "+" + text


def unicode_escaped(text: str) -> str:
    return text.replace('"', "\\u0022").replace("=", "\\u003d")


JWK_FIELDS = ('"kty":"EC","crv":"P-256","x":"@p@","y":"@p@",', '"kty":"RSA","n":"@p@","e":"AQAB",')

DEVELOP: Mapping[str, Family] = {
    "dotenv": Family(
        ("@n@=@v@", '@n@="@v@"', "export @n@='@v@'", "@n@=@v@ # for the @w@ host", "@n@ = @v@"),
        (("# @w@\n@n@=@v@\nPORT=8080", "word"), ("export @n@=@v@\nexport LANG=C", "hex")),
        style="upper",
    ),
    "json": Family(
        (
            '"@n@": "@v@"',
            '{"@n@":"@v@","host":"@w@"}',
            '  "@n@" : "@v@",',
            '{"a":{"@n@":"@v@"}}',
            '{"name": "@n@", "value": "@v@"}',
            '{"user": "@w@", "@n@": "@v@"}',
        ),
        (
            ('{"auths":{"registry.test":{"auth":"@v@"}}}', "base64 login"),
            ("{" + JWK_FIELDS[0] + '"d":"@v@"}', "jwk"),
            ('{"user":"@w@","@n@":"@v@', "word"),
        ),
    ),
    "yaml": Family(
        (
            "@n@: @v@",
            '@n@: "@v@"',
            "  @n@: '@v@'",
            "- @n@: @v@",
            "@n@: >-\n  @v@",
            "@n@: |\n    @v@",
            "env:\n  - name: @n@\n    value: @v@",
            "@n@:\n  @v@",
        ),
        (("users:\n- name: @w@\n  user:\n    client-key-data: @v@", "base64 key"),),
        blanks=True,
    ),
    "python": Family(
        (
            '@n@ = "@v@"',
            "@n@ = '@v@'",
            'connect(host="@w@", @n@="@v@")',
            'config["@n@"] = "@v@"',
            'os.environ["@n@"] = "@v@"',
            '@n@: str = "@v@"',
            '{"@n@": "@v@"}',
            'self.@n@ = "@v@"',
            'os.getenv("@n@", "@v@")',
            "def login(@n@='@v@'):",
            'if @n@ == "@v@":',
        ),
        style="snake upper",
    ),
    "shell": Family(
        (
            "export @n@=@v@",
            "@n@='@v@' ./run.sh",
            "-e @n@=@v@",
            "set @n@ '@v@'",
            'curl -d "@n@=@v@"',
        ),
        (
            ("mysql -u root --password @v@ @w@", "word"),
            ("login --user @w@ --password @v@", "word"),
            ("tool --token @v@ --region eu", "alphanumeric"),
            ("tool --api-key=@v@", "hex"),
            ("sshpass -p @v@ ssh @w@@host.test", "word with digits"),
            ("curl -u @w@:@v@ https://host.test", "word"),
            ("echo '@v@' | docker login", "word"),
            ("curl -H 'Authorization: Bearer @v@' https://h.test", "alphanumeric"),
            ("curl -H 'X-Api-Key: @v@' https://h.test", "hex"),
            ("gpg --passphrase '@v@' -c f", "passphrase"),
            ("db.test:5432:shop:@w@:@v@", "word with digits"),
            ("*:*:*:@w@:@v@", "word"),
        ),
        style="upper snake",
    ),
    "sql": Family(
        (),
        (
            ("CREATE USER @w@ IDENTIFIED BY '@v@';", "word"),
            ("ALTER ROLE @w@ PASSWORD '@v@';", "word"),
            ("ALTER ROLE @w@ WITH ENCRYPTED PASSWORD '@v@'", "strong password"),
            ("INSERT INTO users (name, password) VALUES ('@w@', '@v@');", "word"),
            ("INSERT INTO apps (id, api_key) VALUES (3, '@v@');", "hex"),
            ("UPDATE users SET password = '@v@' WHERE id = 3;", "word with digits"),
            ("SET PASSWORD FOR @w@ = PASSWORD('@v@');", "word with digits"),
            (" id | name | password\n----+------+----------\n  1 | @w@ | @v@", "word"),
            ("| user | token |\n|---|---|\n| @w@ | @v@ |", "alphanumeric"),
        ),
    ),
    "url": Family(
        ("https://host.test/a?page=2&@n@=@v@", "https://host.test/@w@?@n@=@v@&x=1"),
        (
            ("postgres://@w@:@v@@db.test:5432/shop", "word"),
            ("redis://:@v@@cache:6379/0", "word"),
            ("https://@w@:@v@@git.test/a.git", "word with digits"),
            ("https://@v@@git.test/a", "alphanumeric"),
            ("mongodb+srv://@w@:@v@@cluster0.test/x", "strong password"),
            ("amqp://@w@:@v@@mq:5672/", "word"),
            ("smtp://@w@:@v@@mail.test:587", "word"),
        ),
        style="snake",
    ),
    "json in a string": Family(
        ('{"@n@":"@v@"}', '{"id":3,"@n@":"@v@"}', '{"@n@": "@v@", "user": "@w@"}'),
        encode=in_string,
    ),
    "percent-encoded": Family(
        ('{"@n@":"@v@"}', '{"id":3,"@n@":"@v@"}', "a=1&@n@=@v@"),
        encode=in_url,
    ),
    "terminal colours": Family(
        ("@n@=@v@", '@n@: "@v@"', "@n@: @v@"),
        encode=coloured,
    ),
    "key files": Family(
        (),
        (
            ("-----BEGIN PRIVATE KEY-----\n@v@\n-----END PRIVATE KEY-----", "wrapped key"),
            ('key = "-----BEGIN EC PRIVATE KEY-----\\n@v@', "base64 key"),
            ("-----BEGIN NATS USER JWT-----\n@w@\n@v@\n", "nkey seed"),
            ("@v@", "nkey seed"),
            ("@v@", "provider token"),
            ("use @v@ for it", "provider letters"),
        ),
    ),
}

HELD_BACK: Mapping[str, Family] = {
    "toml and ini": Family(
        (
            '@n@ = "@v@"',
            "@n@ = '@v@'",
            "[@w@]\n@n@ = @v@",
            "@n@=@v@",
            '@w@ = { @n@ = "@v@" }',
            "; @w@\n@n@ = @v@",
        ),
        blanks=True,
    ),
    "properties": Family(
        ("spring.@n@=@v@", "app.@n@: @v@", "@w@.@w@.@n@ = @v@", "@n@=@v@", "#@w@\n@n@ @v@"),
        style="camel kebab dotted",
        blanks=True,
    ),
    "java": Family(
        (
            'String @n@ = "@v@";',
            'private static final String @n@ = "@v@";',
            'props.put("@n@", "@v@");',
            'builder.@n@("@v@")',
            'System.setProperty("@n@", "@v@");',
            '@Value("${@n@:@v@}")',
        ),
        (('DriverManager.getConnection(url, "@w@", "@v@");', "word with digits"),),
        style="camel upper",
    ),
    "xml": Family(
        (
            "<@n@>@v@</@n@>",
            '<property name="@n@" value="@v@"/>',
            '<add key="@n@" value="@v@" />',
            '<string name="@n@">@v@</string>',
            '<user name="@w@" @n@="@v@"/>',
            "<@n@>\n  @v@\n</@n@>",
        ),
    ),
    "terraform": Family(
        (
            '@n@ = "@v@"',
            '  @n@    = "@v@"',
            'variable "@n@" {\n  type    = string\n  default = "@v@"\n}',
            'variable "@n@" {\n  default = "@v@"\n  sensitive = true\n}',
            'tags = { @n@ = "@v@" }',
        ),
        (('variable "@w@" {\n  sensitive = true\n  default   = "@v@"\n}', "alphanumeric"),),
        style="snake",
    ),
    "c#": Family(
        (
            'var @n@ = "@v@";',
            'public string @n@ { get; set; } = "@v@";',
            'const string @n@ = @"@v@";',
            'options.@n@ = "@v@";',
            'new Settings { @n@ = "@v@" }',
            'Environment.SetEnvironmentVariable("@n@", "@v@");',
        ),
        (
            ('"Server=db;User Id=@w@;Password=@v@;"', "word with digits"),
            ("Server=db;Uid=sa;Pwd=@v@;Encrypt=yes", "word"),
        ),
        style="camel",
    ),
    "php": Family(
        (
            "$@n@ = '@v@';",
            "'@n@' => '@v@',",
            "define('@n@', '@v@');",
            "$config['@n@'] = \"@v@\";",
            "putenv('@n@=@v@');",
            "->set@n@('@v@')",
            "env('@n@', '@v@')",
        ),
        (
            ("new PDO($dsn, '@w@', '@v@');", "word with digits"),
            ("mysqli_connect('db', '@w@', '@v@', 'shop')", "strong password"),
        ),
        style="snake upper camel",
    ),
    "go": Family(
        (
            '@n@ := "@v@"',
            'const @n@ = "@v@"',
            'var @n@ string = "@v@"',
            '@n@: "@v@",',
            'os.Setenv("@n@", "@v@")',
            '@n@ = []byte("@v@")',
            'flag.String("@n@", "@v@", "what it is")',
        ),
        style="camel",
    ),
    "javascript": Family(
        (
            "const @n@ = '@v@';",
            "@n@: '@v@',",
            "process.env.@n@ = `@v@`",
            'new Client({ @n@: "@v@" })',
            "process.env.@n@ || '@v@'",
            "localStorage.setItem('@n@', '@v@')",
            "headers['x-@n@'] = \"@v@\"",
        ),
        (
            ("axios.get(u, { headers: { Authorization: 'Bearer @v@' } })", "alphanumeric"),
            ("authDomain: '@v@',", "firebase"),
        ),
        style="camel upper",
    ),
    "kubernetes": Family(
        (
            "        - name: @n@\n          value: @v@",
            "stringData:\n  @n@: @v@",
            'args: ["--@n@=@v@"]',
            "kind: Secret\nstringData:\n  @n@: '@v@'",
        ),
        (
            ("apiVersion: v1\nkind: Secret\ntype: Opaque\ndata:\n  @w@: @v@", "base64 word"),
            ("kind: Secret\ndata:\n  .dockerconfigjson: @v@", "base64 login"),
            ("data:\n  tls.crt: @p@\n  tls.key: @v@\nkind: Secret", "base64 key"),
            ("    client-key-data: @v@", "base64 key"),
            ("    token: @v@\n    user: @w@", "jwt"),
        ),
        style="kebab upper",
    ),
    "dockerfile": Family(
        (
            "ENV @n@=@v@",
            'ENV @n@ "@v@"',
            "ENV @n@ @v@",
            "ARG @n@=@v@",
            "RUN export @n@=@v@ && ./@w@.sh",
            "docker run -d -e @n@=@v@ @w@:latest",
            "      - @n@=@v@",
            "      @n@: @v@",
        ),
        (('RUN echo "root:@v@" | chpasswd', "word with digits"),),
        style="upper",
    ),
    "ci logs": Family(
        (
            "2026-03-01T10:00:01Z ##[debug]@n@=@v@",
            "[10:00:01] > @n@: @v@",
            "+ export @n@=@v@",
            "INFO  Config - loaded @n@=@v@, host=@w@",
            "  env:\n    @n@: @v@",
            "[INFO] using @n@ '@v@'",
        ),
        (
            ("+ docker login -u @w@ -p @v@ registry.test", "word with digits"),
            ("$ psql postgresql://@w@:@v@@db:5432/@w@", "word"),
            ("> Authorization: Basic @v@", "base64 login"),
            ("* Server auth using Basic with user '@w@'\n> authorization: Bearer @v@", "jwt"),
            ("$ helm install --set auth.password=@v@ @w@", "word"),
            ("$ tool login --password @v@ @w@", "word"),
        ),
        style="upper snake",
    ),
    "html": Family(
        (
            '<input type="hidden" name="@n@" value="@v@">',
            '<meta name="@n@" content="@v@">',
            '<div data-@n@="@v@">',
            "<script>var @n@ = '@v@';</script>",
            "<td>@n@</td><td>@v@</td>",
        ),
        style="kebab camel snake",
    ),
    "html-escaped": Family(
        ('{"@n@":"@v@"}', '<input name="@n@" value="@v@">', '@n@="@v@"'),
        encode=in_page,
    ),
    "tables": Family(
        (),
        (
            ("| user | password |\n|------|----------|\n| @w@ | @v@ |", "word"),
            ("user,password,host\n@w@,@v@,db.test", "word"),
            ("host;user;passwd\ndb;@w@;@v@", "word with digits"),
            ("NAME      TOKEN\n@w@    @v@", "alphanumeric"),
            ("name\tsecret\n@w@\t@v@", "base64"),
            (
                "+------+----------+\n| name | password |\n+------+----------+\n| @w@ | @v@ |",
                "word with digits",
            ),
            ("id,email,api_key\n3,@w@@host.test,@v@\n", "hex"),
        ),
    ),
    "prose": Family(
        (
            "the @n@ is @v@",
            "@n@: @v@",
            "my @n@ is `@v@`",
            "use @n@ @v@ to log in",
            'Here is the @n@: "@v@"',
            "user @w@, @n@ @v@",
            "@n@ = @v@ (ask @w@)",
            'log in as @w@ with @n@ "@v@"',
        ),
        (
            ("the login is @w@ / @v@", "strong password"),
            ("recovery phrase: @v@", "seed phrase"),
            ("ssh @w@@10.0.0.5 (pw: @v@)", "word with digits"),
        ),
        style="plain",
    ),
    "file views and diffs": Family(
        ("@n@=@v@", '"@n@": "@v@",', "@n@: @v@", '@n@ = "@v@"'),
        encode=viewed,
    ),
    "doubly escaped json": Family(
        ('{"@n@":"@v@"}', '{"id":3,"@n@": "@v@"}'),
        encode=in_two_strings,
    ),
    "unicode-escaped": Family(
        ('{"@n@":"@v@"}', '@n@="@v@"'),
        encode=unicode_escaped,
    ),
}


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


OWN_KINDS: Fill = {
    "base64 word": lambda source: base64_of(KINDS["word"].draw(source)),
    "base64 login": lambda source: base64_of(f"{source.word()}:{KINDS['word'].draw(source)}"),
    "base64 key": lambda source: "LS0tLS1CRUdJTiBQUklWQVRF" + source.text(BASE64, 400),
    "wrapped key": lambda source: "\n".join(source.text(BASE64, 64) for _ in range(4)),
    "jwk": lambda source: source.text(URLSAFE, 43),
}


def written(name: str, style: str) -> str:
    """The words of a name as a format writes them."""
    first, *rest = name.split()
    match style:
        case "upper":
            return "_".join((first, *rest)).upper()
        case "camel":
            return first + "".join(map(str.capitalize, rest))
        case "kebab":
            return "-".join((first, *rest))
        case "dotted":
            return ".".join((first, *rest))
        case "plain":
            return name
        case _:
            return "_".join((first, *rest))


def fitting(template: str, family: Family, source: Source) -> tuple[str, Kind]:
    """A class whose values can stand in a template."""
    before = template[: template.index(VALUE)][-1:]
    blanks = before in tuple("\"'`>") or (family.blanks and template.endswith(VALUE))
    fits = {name: kind for name, kind in KINDS.items() if blanks or not kind.blanks}
    (name,) = source.rng.choices(list(fits), [kind.weight for kind in fits.values()])
    return name, fits[name]


def sample(family: Family, source: Source) -> Sample:
    """One text of a family."""
    rng = source.rng
    share = len(family.own) / (len(family.own) + len(family.assigned) * 2)
    if rng.random() < share:
        template, label = rng.choice(family.own)
        kind = KINDS.get(label)
        value = kind.draw(source) if kind else OWN_KINDS[label](source)
        names = kind.names if kind else ("api token",)
    else:
        template = rng.choice(family.assigned)
        label, kind = fitting(template, family, source)
        value, names = kind.draw(source), kind.names
    name = written(rng.choice(names), rng.choice(family.style.split()))
    template = template.replace("@n@", name)
    for mark, draw in (("@w@", source.word), ("@p@", lambda: source.text(URLSAFE, 43))):
        while mark in template:
            template = template.replace(mark, draw(), 1)
    return placed(template, value, label, family.encode)


MARKED = "\ue000"


def placed(template: str, value: str, label: str, encode: Encode) -> Sample:
    """The text in its encoding; the value's place is found through marks around it."""
    marked = encode(template.replace(VALUE, MARKED + value + MARKED))
    for form in ("\\\\ue000", "\\ue000", quote(MARKED)):
        marked = marked.replace(form, MARKED)
    before, inside, after = marked.split(MARKED)
    return Sample(before + inside + after, ((len(before), len(before) + len(inside)),), label)


def samples(families: Mapping[str, Family], seed: int, each: int) -> Iterator[tuple[str, Sample]]:
    """So many texts of each family, with the family's name."""
    words = DEVELOP_WORDS if families is DEVELOP else HELD_WORDS
    for name, family in families.items():
        source = Source(random.Random(f"{seed} {name}"), words)
        for _ in range(each):
            yield name, sample(family, source)
