"""Secrets that tell by their own form: key blocks and the tokens of known services."""

from __future__ import annotations

from session_memory.redact.plausible import has_key_material, is_random
from session_memory.redact.rule import HEX, UPPER, Rule, fake

_PEM = rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
# Between the lines of a key: line ends, also escaped ones, and the line numbers of a file viewer.
_PEM_GAP = rb"(?:\s|\\[nr]|['\"+]|[0-9]+(?:\xe2\x86\x92|[\t:|]))*"

PRIVATE_KEYS = (
    Rule(
        id="private-key",
        pattern=rb"(?s)" + _PEM + rb".*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
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
        pattern=_PEM + _PEM_GAP + rb"(?:[A-Za-z0-9+/=]{16,}" + _PEM_GAP + rb")+",
        keywords=("private key",),
        must_match=(
            "-----BEGIN EC PRIVATE KEY-----\n" + fake("", 64) + "\n" + fake("", 64),
            "1\t-----BEGIN PRIVATE KEY-----\n     2→" + fake("", 64) + "\n     3→" + fake("", 64),
        ),
        must_not_match=("paste the -----BEGIN PRIVATE KEY----- line and what follows",),
    ),
)

PROVIDERS = (
    Rule(
        id="jwt",
        pattern=rb"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)*",
        keywords=("eyj",),
        must_match=(fake("eyJ", 20) + "." + fake("eyJ", 40) + "." + fake("", 43),),
        must_not_match=(fake("eyJ", 40), "eyJhbGciOiJub25l.x.y"),
    ),
    Rule(
        id="aws-secret",
        pattern=rb"(?i)aws_?(?:[a-z0-9]+_)*?secret[a-z_]*['\"\\]*\s*[:=]>?\s*['\"\\]*([a-z0-9/+]{40})"
        rb"(?:[^a-z0-9/+]|$)",
        group=1,
        keywords=("aws",),
        must_match=(
            "aws_secret_access_key = " + fake("", 40),
            'export AWS_SECRET_ACCESS_KEY="' + fake("", 40) + '"',
        ),
        must_not_match=("aws_secret_access_key = ${AWS_SECRET}", "aws_secret_name: my-database"),
    ),
    Rule(
        id="aws-temporary-id",
        pattern=rb"\b(?:ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        keywords=("asia", "abia", "acca"),
        must_match=(fake("ASIA", 16, UPPER),),
        must_not_match=("Asia/Shanghai", fake("XASIA", 16, UPPER)),
    ),
    Rule(
        id="google-api-key",
        pattern=rb"AIza[A-Za-z0-9_-]{35}",
        keywords=("aiza",),
        must_match=(fake("AIza", 35),),
        must_not_match=(fake("AIza", 20),),
    ),
    Rule(
        id="google-oauth",
        pattern=rb"GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}",
        keywords=("gocspx-", "ya29."),
        must_match=(fake("GOCSPX-", 28), fake("ya29.", 60)),
        must_not_match=("ya29.short",),
    ),
    Rule(
        id="github",
        pattern=rb"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
        keywords=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        must_match=(
            *(fake(f"gh{kind}_", 36) for kind in "pousr"),
            fake("github_pat_", 82),
            fake("\\nghp_", 36),
        ),
        must_not_match=("ghp_ tokens start like this", "ghs_length", fake("ghx_", 36)),
    ),
    Rule(
        id="gitlab",
        pattern=rb"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{20,}",
        keywords=(
            *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-"),
            *("glagent-", "glsoat-"),
        ),
        must_match=(fake("glpat-", 20), fake("glrt-", 20)),
        must_not_match=("glpat-short",),
    ),
    Rule(
        id="slack",
        pattern=rb"xox[abeoprs](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}|"
        rb"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{20,}",
        keywords=("xox", "xapp-", "hooks.slack.com/"),
        must_match=(
            "xoxb-123456789012-" + fake("", 24),
            fake("xapp-1-A0-", 40),
            fake("https://hooks.slack.com/services/T0/B0/", 24),
        ),
        must_not_match=("xoxb-...", "https://hooks.slack.com/services/"),
    ),
    Rule(
        id="stripe",
        pattern=rb"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
        keywords=("k_live_", "k_test_", "whsec_"),
        must_match=(fake("sk_live_", 24), fake("rk_live_", 24), fake("sk_test_", 24)),
        must_not_match=(fake("pk_live_", 24), "sk_test_utils_module_for_tests"),
    ),
    Rule(
        id="npm",
        pattern=rb"npm_[A-Za-z0-9]{36}",
        keywords=("npm_",),
        must_match=(fake("npm_", 36),),
        must_not_match=("npm_config_registry_of_the_whole_organisation",),
    ),
    Rule(
        id="pypi",
        pattern=rb"pypi-[A-Za-z0-9_-]{40,}",
        keywords=("pypi-",),
        check=is_random,
        must_match=(fake("pypi-AgEIcHlwaS5vcmc", 80),),
        must_not_match=("pypi-publish-workflow-for-the-release-branch-of-main",),
    ),
    Rule(
        id="anthropic",
        pattern=rb"sk-ant-[A-Za-z0-9_-]{16,}",
        keywords=("sk-ant-",),
        must_match=(fake("sk-ant-api03-", 95),),
        must_not_match=("sk-ant-...",),
    ),
    Rule(
        id="openai",
        pattern=rb"sk-(?:proj|svcacct|admin|None|or-v1|lf)-[A-Za-z0-9_-]{20,}",
        keywords=("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-", "sk-or-v1-", "sk-lf-"),
        must_match=(fake("sk-proj-", 48), fake("sk-svcacct-a_", 48), fake("sk-or-v1-", 64, HEX)),
        must_not_match=("sk-proj-xyz", "task-projects"),
    ),
    Rule(
        id="xai",
        pattern=rb"xai-[A-Za-z0-9]{20,}",
        keywords=("xai-",),
        must_match=(fake("xai-", 80),),
        must_not_match=("xai-grok-build",),
    ),
    Rule(
        id="huggingface",
        pattern=rb"hf_[A-Za-z0-9]{30,}",
        keywords=("hf_",),
        must_match=(fake("hf_", 34),),
        must_not_match=("hf_hub_download", "hf_" + "a_" * 20),
    ),
    Rule(
        id="twilio",
        pattern=rb"\bSK[0-9a-f]{32}\b",
        keywords=tuple(f"sk{digit}" for digit in "0123456789abcdef"),
        must_match=(fake("SK", 32, HEX),),
        must_not_match=(fake("SK", 40, HEX), fake("RISK", 32, HEX)),
    ),
    Rule(
        id="sendgrid",
        pattern=rb"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        keywords=("sg.",),
        must_match=("SG." + fake("", 22) + "." + fake("", 43),),
        must_not_match=("MSG.content.something_long_enough",),
    ),
    Rule(
        id="telegram",
        pattern=rb"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}",
        keywords=(":aa",),
        must_match=(fake("123456789:AA", 33),),
        must_not_match=(fake("12345:AA", 33),),
    ),
)
