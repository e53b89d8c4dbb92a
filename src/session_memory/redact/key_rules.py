"""Rules for private keys, whole or truncated, and for password hashes."""

from __future__ import annotations

from session_memory.redact.rule import HEX, Rule, fake
from session_memory.redact.value_checks import has_key_material

_KIND = rb"(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_BEGIN = rb"-----BEGIN " + _KIND
_END = rb"-----END " + _KIND
# Between the lines of a key: line ends, also escaped, and the line numbers of a file viewer.
_GAP = rb"(?:\s|\\+[nr]|['\"+,]|[0-9]+(?:\xe2\x86\x92|[\t:|]))*"
_LINES = rb"(?:[A-Za-z0-9+/=]{16,}" + _GAP + rb")+"
# How the inside of a key begins in base64: RSA (PKCS 1 and 8), EC, Ed25519, encrypted, OpenSSH.
_BODY = (
    rb"(?:MII[A-Za-z0-9+/]{2}[AQgw]IBA(?:AK|DAN)|MHcCAQEE|MIG[A-Za-z0-9+/]AgE[AB]|MC4CAQAw|MFMCAQEw|"
    rb"MI[IG][A-Za-z0-9+/]{3,5}BgkqhkiG9w0BBQ|b3BlbnNzaC1rZXktdjE)"
)

KEYS = (
    Rule(
        id="private-key",
        pattern=rb"(?s)" + _BEGIN + rb".*?" + _END,
        keywords=("private key",),
        check=has_key_material,
        must_match=(
            "-----BEGIN PRIVATE KEY-----\n" + fake("", 64) + "\n-----END PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----\\n"
            + fake("", 9000)
            + "\\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2 (Linux)\n\n"
            + fake("", 64)
            + "\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----",
        ),
        must_not_match=(
            "-----BEGIN PUBLIC KEY-----\n" + fake("", 64) + "\n-----END PUBLIC KEY-----",
            'begin = "-----BEGIN PRIVATE KEY-----"; end = "-----END PRIVATE KEY-----"',
        ),
    ),
    Rule(
        id="private-key-cut",
        pattern=_BEGIN + _GAP + _LINES,
        keywords=("private key",),
        must_match=(
            "-----BEGIN EC PRIVATE KEY-----\n" + fake("", 64) + "\n" + fake("", 64),
            "1\t-----BEGIN PRIVATE KEY-----\n     2→" + fake("", 64) + "\n     3→" + fake("", 64),
            "key: |\n    -----BEGIN PRIVATE KEY-----\n    " + fake("", 64),
        ),
        must_not_match=("paste the -----BEGIN PRIVATE KEY----- line and what follows",),
    ),
    Rule(
        id="private-key-tail",
        pattern=_LINES + _END,
        keywords=("private key",),
        must_match=(fake("", 64) + "\n" + fake("", 30) + "\n-----END RSA PRIVATE KEY-----",),
        must_not_match=("-----END RSA PRIVATE KEY-----", "words before -----END PRIVATE KEY-----"),
    ),
    Rule(
        id="private-key-body",
        pattern=_BODY + rb"[A-Za-z0-9+/=]{20,}(?:" + _GAP + rb"[A-Za-z0-9+/=]{16,})*",
        keywords=(
            *("IBAAK", "IBADAN", "MHcCAQEE", "AgEA", "AgEB", "MC4CAQAw", "MFMCAQEw"),
            *("BgkqhkiG9w0BBQ", "b3BlbnNzaC1rZXktdjE"),
        ),
        exact=True,
        must_match=(
            "MIIEpAIBAAKC" + fake("", 52) + "\n" + fake("", 64) + "\n" + fake("", 64),
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + fake("", 32),
            fake("MHcCAQEEI", 55),
            fake("b3BlbnNzaC1rZXktdjEAAAAABG5vbmU", 33),
        ),
        must_not_match=(fake("MIIDdzCCAl+gAwIBAgIEAg", 42), fake("MIIBIjANBgkqhkiG9w0BAQEF", 40)),
    ),
    Rule(
        id="putty-key",
        pattern=rb"Private-Lines: [0-9]+" + _GAP + _LINES,
        keywords=("private-lines:",),
        must_match=("Private-Lines: 2\n" + fake("", 64) + "\n" + fake("", 40),),
        must_not_match=("Private-Lines: 0",),
    ),
    Rule(
        id="age-key",
        pattern=rb"(?i)AGE-SECRET-KEY-1[0-9A-Z]{50,}",
        keywords=("age-secret-key-1",),
        must_match=(fake("AGE-SECRET-KEY-1", 58, "Q1W2E3R4T5"),),
        must_not_match=("AGE-SECRET-KEY-1...",),
    ),
    Rule(
        id="wireguard",
        pattern=rb"(?i)\b(?:PrivateKey|PresharedKey)\s*=\s*([A-Za-z0-9+/]{42,43}=)",
        group=1,
        keywords=("privatekey", "presharedkey"),
        must_match=(fake("PrivateKey = ", 43) + "=",),
        must_not_match=(fake("PublicKey = ", 43) + "=",),
    ),
    Rule(
        id="password-hash",
        pattern=rb"\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}|"
        rb"\$(?:1|5|6|apr1|y|7|gy)\$(?:rounds=[0-9]+\$)?[./A-Za-z0-9]{1,32}\$[./A-Za-z0-9$]{22,}|"
        rb"\$argon2(?:id|i|d)\$v=[0-9]+\$[a-z0-9=,]+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+|"
        rb"\{S?SHA(?:256|512)?\}[A-Za-z0-9+/]{27,}={0,2}|"
        rb"pbkdf2[_:]sha[0-9]+[$:][0-9]+\$[A-Za-z0-9./+=]+\$[A-Za-z0-9+/=]{20,}|"
        rb"scrypt:[0-9]+:[0-9]+:[0-9]+\$[A-Za-z0-9./]+\$[0-9a-f]{32,}",
        keywords=(
            *("$2", "$1$", "$5$", "$6$", "$apr1$", "$y$", "$7$", "$gy$", "$argon2", "{sha"),
            *("{ssha", "pbkdf2", "scrypt:"),
        ),
        must_match=(
            fake("$2b$12$", 53),
            fake("root:$6$saltsalt$", 86),
            fake("$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ$", 43),
            fake("me:$apr1$ab12cd34$", 22),
            fake("pbkdf2_sha256$260000$abc$", 43) + "=",
        ),
        must_not_match=("echo $1$2", "cost is $2b$", fake("sha256:", 64, HEX)),
    ),
)
