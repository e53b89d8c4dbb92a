"""Rules for secrets known by their place: headers, cookies, URLs, connection strings, commands."""

from __future__ import annotations

from session_memory.redact.named_value_rules import bare
from session_memory.redact.rule import HEX, Rule, fake
from session_memory.redact.surroundings import is_no_user
from session_memory.redact.value_checks import (
    has_random_run,
    is_expression,
    is_flag_token,
    is_flag_value,
    is_key,
    is_mixed,
    is_quoted,
    is_random,
    is_setting,
    is_userinfo,
    is_value,
)
from session_memory.redact.well_known import is_well_known_login


def _is_authorization(value: bytes) -> bool:
    code = value[:1] == b"+" and is_expression(value[1:])
    return is_value(value) and not code and not is_well_known_login(value)


def _is_login(value: bytes) -> bool:
    return is_key(value) and not is_well_known_login(value)


HEADERS = (
    Rule(
        id="authorization",
        pattern=rb"(?i)authorization['\"`\\\])]*\s*[:=,]\s*['\"`\\]*(?:bearer|basic|token|api-?key|digest|"
        rb"negotiate|ntlm|key|hawk|oauth|sso-key|genie_?key|client-id|discogs|splunk|bot)\s+"
        rb"['\"\\]*([a-z0-9+/=._~:|-]{8,})",
        group=1,
        keywords=("authorization",),
        check=_is_authorization,
        must_match=(
            fake("Authorization: Bearer 5901|", 40),
            fake("Authorization: Basic ", 24),
            fake('"Authorization": "Token ', 20) + '"',
            fake("authorization: bearer ab+/", 12),
            fake("headers['Authorization'] = 'ApiKey ", 20) + "'",
            fake("Proxy-Authorization: Negotiate ", 40),
        ),
        must_not_match=(
            "Authorization: Bearer $TOKEN",
            "Authorization: Bearer <your-api-key>",
            "Authorization: Basic " + "cm9vdDpjaGFuZ2VtZQ==",
        ),
    ),
    Rule(
        id="authorization-bare",
        pattern=rb"(?i)authorization['\"\\\])]*\s*[:=,]\s*['\"\\]*([a-z0-9+/=._~-]{20,})",
        group=1,
        keywords=("authorization",),
        check=is_key,
        must_match=(fake("Authorization: ", 32),),
        must_not_match=("authorization: request.headers.authorization",),
    ),
    Rule(
        id="basic",
        pattern=rb"(?i)\bbasic\s+([a-z0-9+/]{12,}={0,2})",
        group=1,
        keywords=("basic",),
        check=_is_login,
        must_match=("'Basic " + "dXNlcjpo" + "dW50ZXIyMTIz'",),
        must_not_match=("basic authentication", "Basic understanding of"),
    ),
    Rule(
        id="authorization-part",
        pattern=rb"(?i)(?:digest\s[^\r\n]{0,400}\bresponse|aws4-hmac-sha256[^\r\n]{0,400}\bsignature|"
        rb"[?&]x-amz-(?:signature|security-token|credential)|oauth_signature)"
        rb"\s*[=:]\s*['\"\\]*([a-z0-9%/+=_-]{16,})",
        group=1,
        keywords=("digest", "aws4-hmac-sha256", "x-amz-", "oauth_signature"),
        must_match=(
            fake('Digest username="me", realm="x", response="', 32, HEX) + '"',
            fake("AWS4-HMAC-SHA256 Credential=x/y, SignedHeaders=host, Signature=", 64, HEX),
            fake("https://b.test/o?X-Amz-Signature=", 64, HEX),
        ),
        must_not_match=("digest of the response: fine",),
    ),
    Rule(
        id="cookie",
        pattern=rb"(?i)\bcookies?['\"\\]*\s*[:=]\s*['\"\\{]*\s*('?[\w.$-]+'?\s*[=:]\s*[^\s'\"\\;,]*"
        rb"(?:;\s*[\w.$-]+=[^\s'\"\\;,]*)*)",
        group=1,
        keywords=("cookie",),
        check=has_random_run,
        must_match=(
            fake("Cookie: lang=en-GB-oed; sid=", 24),
            fake("Set-Cookie: JSESSIONID=", 32) + "; Path=/; HttpOnly",
            fake("-b 'x' -H 'cookie: session=", 40) + "'",
        ),
        must_not_match=("Cookie: theme=dark; lang=en", "cookie = request.cookies.get(name)"),
    ),
    Rule(
        id="session-cookie",
        pattern=rb"(?i)\b(?:jsessionid|phpsessid|asp\.net_sessionid|connect\.sid|sessionid|session_id|"
        rb"sess(?:ion)?|csrf_?token|xsrf-token|auth_?session|laravel_session|_session|sid)"
        rb"=([a-z0-9%._~+/-]{16,})",
        group=1,
        keywords=(
            *(
                "jsessionid=",
                "phpsessid=",
                "sessionid=",
                "session_id=",
                "sess=",
                "session=",
                "sid=",
            ),
            *("token=",),
        ),
        check=is_key,
        must_match=(fake("curl -b JSESSIONID=", 32),),
        must_not_match=(
            "session=3f2b8c1e-9d47-4a6b-8f10-2c5e7d9a1b34",
            "session_id=the_session_of_a_test",
        ),
    ),
)

_SETTING = (
    rb"(?i)[;'\"]\s*(?:password|pwd|accountkey|sharedaccesskey|sharedsecretvalue|"
    rb"sharedaccesssignature|integrationsecret)\s*=\s*([^\s;'\"&<>\\]{4,})"
)

ADDRESSES = (
    Rule(
        id="url-password",
        pattern=rb"://[^\s/?#:@'\"<>\\]*:([^\s/?#'\"<>\\]+)@[A-Za-z0-9\[_$%{-]",
        group=1,
        everyday="others",
        keywords=("://",),
        check=is_value,
        must_match=(
            "postgres://app:hunter2@db/main",
            "https://user:p:ss@host.test/",
            "amqp://app:p@ss@host.test:5672",
        ),
        must_not_match=(
            "http://localhost:3000/@vite/client",
            "ssh://git@host.test:org/repo",
            "https://${USER}:${PASS}@host.test",
            "https://user:****@host.test",
        ),
    ),
    Rule(
        id="url-password-loose",
        # A password that holds characters which would have to be escaped.
        pattern=rb"(?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|redis|rediss|amqps?|mssql|"
        rb"sftp|ftp|ldaps?|smtps?)://[^\s/?#:@'\"<>\\]*:([^\s'\"<>\\@]+)@[a-z0-9\[_-]|"
        rb"://[^\s/?#:@'\"<>\\]*:([^\s/'\"<>\\]+)@[a-z0-9\[_$%{-]",
        group=1,
        keywords=("://",),
        everyday="others",
        check=is_userinfo,
        must_match=("postgres://app:hun/ter2#x@db/main", "https://me:hunter?#2@host.test/"),
        must_not_match=("postgres://db:5432/main", "http://localhost:80?to=@me"),
    ),
    Rule(
        id="url-token",
        pattern=rb"://([A-Za-z0-9_-]{16,})(?::[^\s/@'\"<>\\]*)?@",
        group=1,
        everyday="others",
        keywords=("://",),
        check=is_random,
        fits=is_no_user,
        must_match=(
            fake("https://", 40) + "@host.test/repo.git",
            fake("https://", 40) + ":x-oauth-basic@host.test/repo.git",
        ),
        must_not_match=("https://some-long-user-name-in-a-url@host.test/",),
    ),
    Rule(
        id="url-parameter",
        pattern=rb"(?i)[?&;](?:api_?key|apikey|key|sig|signature|auth|code|access_?token|token|secret|"
        rb"client_?secret|pass(?:word|wd)?|pwd|sv_?sig|session|sid|jwt|hash)=([a-z0-9%_.~+/=-]{16,})",
        group=1,
        keywords=tuple(f"{word}=" for word in ("key", "sig", "signature", "auth", "code", "token"))
        + tuple(f"{word}=" for word in ("secret", "pass", "word", "wd", "sid", "session", "jwt"))
        + ("hash=",),
        check=is_key,
        must_match=(fake("https://x.test/?a=1&key=", 32), fake("?sv=1&sig=", 40) + "%3D"),
        must_not_match=("?key=name_of_the_chosen_entry", "?page=2&sort=key"),
    ),
    Rule(
        id="connection-string",
        pattern=_SETTING + rb"(?:;|['\"]|$)",
        # The first pass joins many texts, so `$` matches only the end of the last.
        everyday="names",
        prefilter=_SETTING,
        group=1,
        keywords=(
            "password",
            "pwd",
            "accountkey",
            "sharedaccess",
            "sharedsecret",
            "integrationsec",
        ),
        check=is_mixed,
        must_match=(
            "Server=db;User Id=sa;Pwd=hunTer2;",
            fake("AccountName=x;AccountKey=", 86) + "==;EndpointSuffix=y",
        ),
        must_not_match=("Server=db;Pwd={0};", "password=short1"),
    ),
    Rule(
        id="oracle",
        pattern=rb"(?i)(?:jdbc:oracle:[a-z]+:|(?:sqlplus|impdp|expdp|sqlldr)\s+(?:-\w+\s+)*)[\w$#.-]+/([^\s@/'\"]{3,})@",
        group=1,
        keywords=("jdbc:oracle:", "sqlplus", "impdp", "expdp", "sqlldr"),
        check=is_value,
        must_match=(
            "jdbc:oracle:thin:scott/tiger7@db:1521:x",
            "sqlplus -s app/hunter2@prod",
            "impdp app/swordfish@db",
        ),
        must_not_match=("jdbc:oracle:thin:@db:1521:x", "sqlplus app/${PASS}@prod"),
    ),
)

_FLAG_KEYWORDS = (
    *("-pass", "-token", "-secret", "-api", "-access", "-auth", "-pw", "-credential"),
)
_FLAG = (
    rb"(?i)(?:^|[\s'\"`,(\[])--?(?:[a-z]+-)*(?:password|passwd|passphrase|pass|token|secret|"
    rb"api-?key|access-?key|secret-?key|auth-?key|pwd|pw|credential)"
)
_LISTED = rb"\\*['\"],\s*\\*['\"]"
# What follows a value that could also be prose: the end of the command, another option, or an
# argument that cannot be a word of a sentence.
_ENDS_VALUE = (
    rb"(?:\\*['\"`]|[ \t]*(?:$|[\r\n|;&>)\]}]|\\[nr])|[ \t]+(?:-|\\|[a-z]*[0-9:/@._=$~*{\[][^\s]))"
)

COMMANDS = (
    Rule(
        id="flag",
        pattern=_FLAG + rb"(?:\s+|=|['\"],\s*['\"])['\"]?" + bare(6),
        group=1,
        everyday="flags",
        keywords=_FLAG_KEYWORDS,
        check=is_flag_token,
        must_match=(
            "login --password hunter2hunter2",
            "deploy --auth-token 'a1b2c3d4e5'",
            "-Password 'Sjdn43ss@!'",
            '["--password", "hunter2"]',
            "dump --password zylwsvbyjlrw shop",
        ),
        must_not_match=(
            "--token argument",
            "--password authentication fails",
            "--password <your-password>",
            "--token $TOKEN_12345678",
        ),
    ),
    Rule(
        id="flag-word",
        # A value of letters alone: certain after `=`; after a space it could be prose.
        pattern=_FLAG
        + rb"(?:[ \t=]\\*[\"']([^\s'\"`\\$<>{}][^'\"`\\$<>{}\r\n]{2,80}[^\s'\"`\\$<>{}])\\*[\"']|="
        + rb"\\*['\"]?([^\s'\"`\\;&|<>()\[\]{},]{4,})|"
        + rb"(?:[ \t]+\\*['\"]?|"
        + _LISTED
        + rb")([^\s'\"`\\;&|<>()\[\]{},.-][^\s'\"`\\;&|<>()\[\]{},]{3,})"
        + _ENDS_VALUE
        + rb")",
        everyday="flags",
        prefilter=_FLAG + rb"(?:=|[ \t]|" + _LISTED + rb")",
        group=1,
        keywords=_FLAG_KEYWORDS,
        check=is_flag_value,
        must_match=(
            "login --password correcthorse",
            "login --password 'swordfish' --verbose",
            'gpg --passphrase "correct horse battery" -c file',
            "tool --passwd=swordfish",
            "deploy --token swordfish https://host.test",
            "deploy --api-key swordfish --region eu",
            "gpg --batch --passphrase opensesame -c file",
            "deploy --client-secret swordfish | tee log",
            '["--password", "swordfish"]',
            "influx -username me -password swordfish",
        ),
        must_not_match=(
            "--token argument",
            "the --password flag",
            "--password Registry password",
            "--password <your-password>",
            "  -p, --password string   Registry password",
            "usage: login [--password PASSWORD] [--token TOKEN]",
            "--token=$TOKEN",
            "--token to authenticate with",
            "either --token or --password is required",
            "docker build --secret id=npmrc .",
            "--password-file swordfish",
            "--password=<password>",
            'parser.add_argument("--token", help="Token of the user")',
        ),
    ),
    Rule(
        id="command-user",
        pattern=rb"(?i)\b(?:curl|wget|httpie|smbclient)\b[^\r\n]*?\s"
        rb"(?:-u|--user|--proxy-user|-a|--auth|-U)(?:\s+|=|\\*['\"],\s*)?\\*['\"]?"
        rb"[^\s:%'\"\\]+[:%]([^\s'\"\\]{3,})",
        group=1,
        keywords=("curl", "wget", "httpie", "smbclient"),
        check=is_setting,
        must_match=(
            "curl -s -u admin:hunter2 https://host.test/",
            "curl --user 'admin:hunter2' https://host.test/",
            "smbclient //host/share -U me%hunter2",
        ),
        must_not_match=("curl -u $USER:$PASS https://host.test/", "curl -u admin https://x.test/"),
    ),
    Rule(
        id="command-password",
        pattern=rb"\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\r\n|;&]*?\s-p\\*['\"]?([^\s'\"$<\\-]"
        rb"[^\s'\"\\]{2,})|"
        rb"\b(?:mongo|mongosh|mongodump)\b[^\r\n|;&]*?\s-p\s+\\*['\"]?([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\bsshpass\s+-p\s*\\*['\"]?([^\s'\"$<\\][^\s'\"\\]{2,})|"
        rb"\b(?:docker|podman|helm|az|oc|skopeo|buildah)\b[^\r\n|;&]*\slogin\b[^\r\n|;&]*?\s-p\s+"
        rb"\\*['\"]?([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\bredis-cli\b[^\r\n|;&]*?\s-a\s+\\*['\"]?([^\s'\"$<\\][^\s'\"\\]{2,})|"
        rb"\bldap(?:search|modify|add|delete|whoami)\b[^\r\n|;&]*?\s-w\s+\\*['\"]?([^\s'\"$<\\][^\s'\"\\]{2,})|"
        rb"\bopenssl\b[^\r\n|;&]*?\s-(?:pass|passin|passout)\s+pass:([^\s'\"$<\\][^\s'\"\\]{2,})|"
        rb"\b(?:keytool|jarsigner)\b[^\r\n|;&]*?\s-(?:store|key|srcstore|deststore)pass\s+"
        rb"\\*['\"]?([^\s'\"$<\\][^\s'\"\\]{2,})|"
        rb"\b(?:zip|unzip) (?:[^\r\n|;&]*?\s)?-P\s*\\*['\"]?([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\bhtpasswd\s+(?:-\w+\s+)*?-\w*b\w*\s+(?:-\w+\s+)*(?:\S+\s+){1,2}?([^\s'\"$<\\]{4,})\s*$|"
        rb"\bopenssl\b[^\r\n|;&]*?\s-k\s+([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\b7z[ar]? (?:[^\r\n|;&]*?\s)?-p\\*['\"]?([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\bConvertTo-SecureString\s+(?:-String\s+)?['\"]([^'\"$]{4,})['\"]|"
        rb"\becho\s+\\*['\"]?[\w-]+:([^\s'\"$<\\]{4,})\\*['\"]?\s*\|\s*(?:sudo\s+)?chpasswd|"
        rb"\b(?:sqlcmd|bcp|isql|tsql|osql|mosquitto_[ps]ub)\b[^\r\n|;&]*?\s-P\s*\\*['\"]?"
        rb"([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\b(?:cqlsh|influx|clickhouse-client)\b[^\r\n|;&]*?\s-p\s+\\*['\"]?([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\bssh-keygen\b[^\r\n|;&]*?\s-[NP]\s*\\*['\"]?([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\bmysqladmin\b[^\r\n|;&]*?\spassword\s+\\*['\"]?([^\s'\"$<\\-][^\s'\"\\]{2,})|"
        rb"\blftp\b[^\r\n|;&]*?\s-u\s+\\*['\"]?[^\s,'\"]+,([^\s'\"$<\\]{3,})|"
        rb"\b[wx]freerdp3?\b[^\r\n|;&]*?\s/p:\\*['\"]?([^\s'\"$<\\]{3,})|"
        rb"\becho\s+(?:-n\s+)?\\*['\"]?([^\s'\"$<\\|-][^\s'\"\\|]{2,})\\*['\"]?\s*\|\s*sudo\s+"
        rb"(?:-\w+\s+)*-\w*S\b|"
        rb"\becho\s+(?:-n\s+)?\\*['\"]?([^\s'\"$<\\|-][^\s'\"\\|]{3,})\\*['\"]?\s*\|\s*"
        rb"(?:docker|podman|helm|gh|skopeo)\b[^\r\n|;&]*\slogin\b|"
        rb"\bsudo\s+(?:-\w+\s+)*-\w*S\b[^\r\n|;&]*?<<<\s*\\*['\"]?([^\s'\"$<\\]{3,})|"
        rb":_authToken[ \t]+\\*['\"]?([^\s'\"$<{\\]{6,})",
        group=1,
        keywords=(
            *("mysql", "mariadb", "mongo", "sshpass", "redis-cli", "ldap", "openssl"),
            *(f"{blank}login" for blank in " \t\n\r\f"),
            *(
                "keytool",
                "jarsigner",
                "zip ",
                "7z ",
                "7za ",
                "7zr ",
                "htpasswd",
                "chpasswd",
                "convertto-securestring",
            ),
            *("sqlcmd", "bcp", "isql", "tsql", "osql", "mosquitto_", "cqlsh", "influx"),
            *("clickhouse-client", "ssh-keygen", "lftp", "freerdp", "sudo", "_authtoken"),
        ),
        check=is_setting,
        must_match=(
            "mysql -uroot -phunter2 shop",
            "sshpass -p 'hunter2' ssh me@host.test",
            "docker login -u me -p hunter2 registry.test",
            "redis-cli -h cache -a hunter2",
            "ldapsearch -x -D cn=me -w hunter2",
            "openssl rsa -in a -passin pass:hunter2",
            "htpasswd -b file me hunter2",
            "echo 'root:hunter2' | chpasswd",
            "$c = ConvertTo-SecureString 'hunter2' -AsPlainText",
            "mysql -uroot -pswordfish shop",
            "sshpass -pswordfish ssh me@host.test",
            "sqlcmd -S db -U sa -P swordfish",
            "cqlsh -u app -p swordfish db",
            "mosquitto_pub -u me -P swordfish -t topic",
            "ssh-keygen -t ed25519 -N 'swordfish' -f key",
            "mysqladmin -u root password swordfish",
            "lftp -u me,swordfish ftp://host.test",
            "xfreerdp /u:me /p:swordfish /v:host.test",
            "echo swordfish | sudo -S apt update",
            "sudo -kS true <<< 'swordfish'",
            "npm config set //host.test/:_authToken swordfish",
        ),
        must_not_match=(
            "mysql -u root -p shop --port=3306 && ls",
            "mysql -uroot -p$PASS",
            "docker run -p 8080:80 nginx",
            "mkdir -p some/directory",
            "ssh-keygen -t ed25519 -N '' -f key",
            "echo done | sudo tee /etc/motd",
            "sqlcmd -S db -U sa -P $PASS",
        ),
    ),
    Rule(
        id="sql",
        # `password = '...'` alone belongs to the original rule, which needs eight characters.
        pattern=rb"(?i)(?:\bidentified\s+(?:with\s+\w+\s+)?by|\bpassword|\bmasterauth|\brequirepass|"
        rb"\bset\s+password(?:\s+for\s+\S+)?\s*=|\blogin\s+\w+\s+with\s+password\s*=)\s+"
        rb"(?:password\s*\(\s*)?['\"]([^\s'\"]{4,})['\"]|\brequirepass\s+([^\s'\"]{4,})",
        group=1,
        keywords=("identified", "password", "requirepass", "masterauth"),
        check=is_quoted,
        must_match=(
            "CREATE USER x IDENTIFIED BY 'hunter2'",
            "ALTER ROLE x WITH ENCRYPTED PASSWORD 'hunter2'",
            "requirepass hunter2",
        ),
        must_not_match=("IDENTIFIED BY '<password>'", "password 'secret'"),
    ),
    Rule(
        id="netrc",
        pattern=rb"(?m)(?:^[ \t]*|\b(?:machine[ \t]+\S+|default)[ \t]+)login\s+\S+\s+password\s+"
        rb"([^\s'\"]{4,})|\b(?i:env|arg|setx)\s+\w*(?i:password|passwd|secret|token|_key|_pass)\s+['\"]?([^\s'\"=]{6,})",
        group=1,
        # What both forms hold, and not "env" and "arg", which most texts do.
        keywords=("password", "passwd", "secret", "token", "_key", "_pass"),
        everyday="names",
        check=is_setting,
        must_match=("machine h.test login me password hunter2", "ENV API_TOKEN a1b2c3d4e5"),
        must_not_match=(
            "login me password $PASS",
            "ENV API_TOKEN $TOKEN",
            "Registration and login with password hashing",
        ),
    ),
)
