"""Texts that look as if they held a secret and do not, by the same families of formats.

As with the secrets, rules may be tried on `DEVELOP` only.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from tests.redact.format_families import Sample, written
from tests.redact.secret_values import BASE64, DEVELOP_WORDS, HELD_WORDS, HEX, Source

NAMES = ("password", "db password", "token", "access token", "api key", "client secret", "secret")

DEVELOP: Mapping[str, tuple[str, ...]] = {
    "dotenv": (
        "@N@=",
        "@N@=${@N@}",
        "@N@=changeme",
        "@N@=<your-@w@>",
        "# @N@=your_@n@_here",
        "@N@=xxxxxxxx",
        "@N@_FILE=/run/secrets/@w@",
        "@N@_TTL=3600",
        "@N@=$(vault read -field=@w@ x)\nPORT=80",
        "@N@=\nPORT=8080",
        "@N@=\nLOGGER=@w@\n",
    ),
    "json": (
        '"@n@": "string"',
        '"@n@": null',
        '"@n@": "<@w@>"',
        '"@n@": "${@w@}"',
        '"max_tokens": 4096',
        '"@n@": {"type": "string"}',
        '"integrity": "sha512-@b@=="',
        '"resolved": "https://host.test/@w@/-/@w@.tgz"',
        '"@n@_type": "@w@"',
        '"@n@": true',
        '"sha": "@h@"',
        '"placeholder": "Enter your @n@"',
        '"@n@": "Enter your @w@ again"',
        '"title": "@n@ of the @w@"',
    ),
    "yaml": (
        "@n@: ${{ secrets.@N@ }}",
        "@n@: !vault |",
        "@n@: *@w@",
        "@n@_name: @w@",
        "@n@:\n  type: string",
        "@n@: { required: true }",
        "secretName: @w@-@w@",
        "secretKeyRef:\n  name: @w@\n  key: @n@",
        "@n@:",
        "- @n@",
        "image: @w@@sha256:@h@",
        "@n@: {{ .Values.@w@.@n@ }}",
    ),
    "python": (
        "@n@ = get_@w@_@n@(user)",
        "@n@ = self.@w@.@n@",
        '@n@ = os.environ["@N@"]',
        "@n@ = @w@_@n@",
        "@n@: str | None = None",
        "def @w@(@n@: str, other: int) -> bool:",
        "return hash_@n@(@n@, rounds)",
        "@n@ = await @w@.fetch_@n@()",
        '@n@ = getpass.getpass("@w@: ")',
        "assert @n@ == expected_@n@",
        "@n@=@w@_settings.@n@,",
        "if not @n@:",
        '@n@ = request.form["@n@"]',
        'raise ValueError("@n@ is missing")',
        "token = self.tokens[self.position]",
        "secret: SecretStr = Field(default=None)",
        "@n@ = secrets.token_urlsafe(32)",
        '@n@ = f"{prefix}-{suffix}"',
        'print("@n@:", @n@)',
        "@n@ = parser.parse_@w@(args)",
        "tokens = tokenizer.encode(text)",
        "@n@_field = models.CharField(max_length=80)",
    ),
    "shell": (
        "export @N@=$(cat /run/secrets/@w@)",
        '@N@="$1"',
        "read -s @N@",
        "tool --password-stdin < file",
        "  --@k@ string   the @w@ to use",
        "tool --@k@ $@N@",
        '[[ -z "$@N@" ]] && exit 1',
        'echo "@n@ is required"',
        "usage: tool [--@k@ @N@]",
        "unset @N@",
        "either --@k@ or a file is needed",
        'curl -u "$USER:$@N@" https://h.test',
    ),
    "sql": (
        "SELECT @n@ FROM users WHERE id = 3;",
        "@n@ VARCHAR(255) NOT NULL,",
        "UPDATE users SET @n@ = $1 WHERE id = $2",
        "ALTER TABLE users ADD COLUMN @n@ text;",
        "INSERT INTO users (name, @n@) VALUES (?, ?);",
        " id | name | @n@\n----+------+------\n(0 rows)",
        "CREATE INDEX ON users (@n@);",
    ),
    "url": (
        "https://host.test/@w@?key=@w@&page=2",
        "https://host.test/docs/@k@#@w@-@w@",
        "http://localhost:3000/@w@",
        "https://host.test/@n@/reset",
        "ssh://git@host.test:org/@w@",
        "https://user:${@N@}@host.test/",
        "https://host.test/commit/@h@",
    ),
    "json in a string": (
        '"payload":"{\\"@n@\\":null}"',
        '"arguments":"{\\"path\\":\\"src/@w@_@n@.py\\"}"',
        '"text":"the \\"@n@\\" field is @w@"',
    ),
    "key files": (
        "-----BEGIN CERTIFICATE-----\n@b@\n-----END CERTIFICATE-----",
        "ssh-ed25519 @b@ @w@@host",
        "paste the line -----BEGIN PRIVATE KEY----- first",
        "commit @h@",
        "sha256:@h@@h@",
    ),
}

HELD_BACK: Mapping[str, tuple[str, ...]] = {
    "toml and ini": (
        '@n@ = ""',
        '@n@ = "env:@N@"',
        "@n@_file = /etc/@w@/@w@.key",
        '@w@ = { version = "1.2", features = ["@n@"] }',
        'checksum = "@h@"',
        "; @n@ = not used",
        "@n@ = %(@w@)s",
    ),
    "java": (
        "String @c@ = config.get@w@();",
        "this.@c@ = @c@;",
        "private String @c@;",
        '@c@ = System.getenv("@N@");',
        "public void set(String @c@) {",
        "Token token = lexer.nextToken();",
        "if (@c@.isEmpty()) {",
        'char[] @c@ = console.readPassword("@w@: ");',
        '@Value("${app.@k@}")',
    ),
    "xml": (
        "<@c@>${env.@N@}</@c@>",
        "<@c@/>",
        '<property name="@c@" value="#{@w@}"/>',
        '<input type="password" name="@c@"/>',
        '<xs:element name="@c@" type="xs:string"/>',
    ),
    "terraform": (
        "@n@ = var.@n@",
        "@n@ = random_password.@w@.result",
        'variable "@n@" {\n  type = string\n}',
        "@n@ = data.@w@_secret.@w@.value",
        'description = "The @n@ of the @w@"',
        "sensitive = true",
    ),
    "c#": (
        "var @c@ = await _client.GetAsync(id);",
        "public string @c@ { get; set; }",
        "CancellationToken cancellationToken = default",
        'options.@c@ = builder.Configuration["@w@"];',
        "@c@: @c@,",
        "_@c@ = @c@ ?? throw new ArgumentNullException();",
    ),
    "php": (
        "$@n@ = $_POST['@n@'];",
        "'@n@' => env('@N@'),",
        "$@n@ = $this->@w@->get@w@();",
        "'@n@' => 'required|min:8',",
        "'@n@' => 'The @w@ is incorrect.',",
    ),
    "go": (
        '@c@ := os.Getenv("@N@")',
        '@c@ string `json:"@n@"`',
        "token := scanner.Next()",
        "@c@: cfg.@c@,",
        'if @c@ == "" {',
        "func parse(@c@ []byte) error {",
        "secret := obj.DeepCopy()",
    ),
    "javascript": (
        "const @c@ = await get@w@(user.id);",
        "const { @c@ } = req.body;",
        "@c@: process.env.@N@,",
        "token: this.@w@.current,",
        "type: 'password', placeholder: 'Enter @n@'",
        "@c@?: string;",
        "import { @c@ } from './@w@';",
        "--color-token-@w@: #ffaa00;",
        "const token = tokens[index];",
        "secret: config.get('@w@'),",
        "@c@: Joi.string().required(),",
    ),
    "kubernetes": (
        "valueFrom:\n  secretKeyRef:\n    name: @w@-@w@\n    key: @k@",
        "kind: SecretList",
        "secretName: @w@-tls",
        "- name: @N@\n  valueFrom:",
        "kind: ConfigMap\ndata:\n  mode: @w@",
        "kubectl get secret @w@ -o yaml",
        "automountServiceAccountToken: false",
    ),
    "dockerfile": (
        "ARG @N@",
        "ENV @N@=$@N@",
        "RUN --mount=type=secret,id=@w@ ./@w@.sh",
        "FROM @w@@sha256:@h@@h@",
        "HEALTHCHECK CMD curl -f http://localhost/@w@",
    ),
    "ci logs": (
        "  @N@: ***",
        "##[debug]Evaluating: secrets.@N@",
        "Basic checks of the @w@ passed",
        "Basic authentication is enabled",
        "error: @n@ must not be empty",
        "warning: unused variable `@n@`",
        "HEAD is now at @s@ @w@ the @w@",
        "input_tokens=812 output_tokens=94",
        "test_@n@_reset PASSED",
        "Digest: sha256:@h@@h@",
        "PASS: @w@/@n@_test.go",
        "Successfully created @n@ for @w@",
        "Invalid @n@: authentication failed",
        "rotating @n@ for @w@ cluster",
    ),
    "html": (
        '<input type="password" name="@c@" placeholder="Enter it">',
        '<label for="@c@">@w@</label>',
        '<meta name="@k@" content="{{ @n@ }}">',
        "<td>@n@</td><td>required</td>",
        "&quot;@n@&quot;: null",
    ),
    "tables": (
        "| option | meaning |\n|---|---|\n| @k@ | the @w@ to use |",
        "| --@k@ | what it is for | none |",
        "NAME      TYPE     DATA\n@w@    Opaque   3",
        "user,password\n@w@,***",
    ),
    "prose": (
        "the @n@ is wrong",
        "please enter your @n@ to continue",
        "the @n@ of the user expires in an hour",
        "Basic understanding of @w@ is enough",
        "the @n@ was rotated by @w@ yesterday",
        "a token is a unit of text",
        "@n@: see the @w@ page",
        "reset the @n@ and log in again",
        "What is a @n@? It is what the @w@ knows.",
        "We store the @n@ in the vault of the team",
        "secret santa is on friday",
        "passwords must have at least ten characters",
    ),
    "file views and diffs": (
        "   41\u2192    @n@ = load_@w@()",
        "+    @n@: str,",
        "-  @c@: string;",
        "index @s@..@s@ 100644",
    ),
}


def filled(template: str, source: Source) -> Sample:
    """A template with names, words and hashes of this draw."""
    name = source.rng.choice(NAMES)
    for mark, style in (("@n@", "snake"), ("@N@", "upper"), ("@c@", "camel"), ("@k@", "kebab")):
        template = template.replace(mark, written(name, style))
    marks = {
        "@w@": source.word,
        "@h@": lambda: source.text(HEX, 40),
        "@s@": lambda: source.text(HEX, 7),
        "@b@": lambda: source.text(BASE64, 86),
    }
    for mark, draw in marks.items():
        while mark in template:
            template = template.replace(mark, draw(), 1)
    return Sample(template)


def look_alikes(
    families: Mapping[str, tuple[str, ...]], seed: int, each: int
) -> Iterator[tuple[str, Sample]]:
    """So many texts of each family, with the family's name."""
    words = DEVELOP_WORDS if families is DEVELOP else HELD_WORDS
    for name, templates in families.items():
        source = Source(random.Random(f"{seed} {name}"), words)
        for _ in range(each):
            yield name, filled(source.rng.choice(templates), source)
