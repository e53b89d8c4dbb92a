"""Tokens of services that developers talk to, known by their own form."""

from __future__ import annotations

from session_memory.redact.rule import HEX, LETTERS, Rule, fake
from session_memory.redact.value_checks import has_random_run, is_token

MODELS = (
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
        id="sk-dashed",
        pattern=rb"(?:\b|\\[nrt])(sk-[A-Za-z0-9]+[_-][A-Za-z0-9_-]{16,})",
        group=1,
        keywords=("sk-",),
        check=has_random_run,
        must_match=("sk-fake-" + "0123456789" + "abcdefghijklmnop", fake("\\nsk-test_", 24)),
        must_not_match=("sk-learn-compatible-estimators", "task-0123456789-abcdefghijklm"),
    ),
    Rule(
        id="django",
        # What Django writes into a new project; it says itself that it must not be kept.
        pattern=rb"django-insecure-([^\s'\"`\\]{30,})",
        group=1,
        keywords=("django-insecure-",),
        must_match=(fake("django-insecure-h-@^*$%&(=", 36),),
        must_not_match=("django-insecure-key",),
    ),
    Rule(
        id="model-vendor",
        pattern=rb"xai-[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{30,}|api_org_[A-Za-z0-9]{30,}|"
        rb"r8_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{30,}|fw_[A-Za-z0-9]{22,}\b|"
        rb"tgp_v1_[A-Za-z0-9_-]{30,}|nvapi-[A-Za-z0-9_-]{40,}|csk-[a-z0-9]{40,}|"
        rb"tvly-[A-Za-z0-9-]{20,}|lsv2_(?:pt|sk)_[0-9a-f_]{32,}|pcsk_[A-Za-z0-9_]{40,}|"
        rb"jina_[A-Za-z0-9_-]{40,}|fc-[0-9a-f]{32}\b|key_[0-9a-f]{60,}|crsr_[0-9a-f]{60,}",
        keywords=(
            *("xai-", "hf_", "api_org_", "r8_", "gsk_", "pplx-", "fw_", "tgp_v1_", "nvapi-"),
            *("csk-", "tvly-", "lsv2_", "pcsk_", "jina_", "fc-", "key_", "crsr_"),
        ),
        exact=True,
        check=has_random_run,
        must_match=(
            fake("xai-", 80),
            fake("hf_", 34),
            fake("r8_", 37),
            fake("gsk_", 52),
            fake("pplx-", 48),
            fake("hf_", 34, LETTERS),
            fake("gsk_", 52, LETTERS),
            fake("nvapi-", 60, LETTERS),
            fake("tvly-", 32, LETTERS),
        ),
        must_not_match=(
            *("xai-grok-build", "hf_hub_download", "hf_" + "a_" * 20, "gsk_ is Groq"),
            *("hf_" + "x" * 34, "hf_transformerNameResolverFactoryBeans"),
        ),
    ),
)

SERVICES = (
    Rule(
        id="slack",
        pattern=rb"xox[abcdeoprs](?:\.xox[a-z])?-[A-Za-z0-9%-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}|"
        rb"(?:https?://)?hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+-]{20,}",
        keywords=("xox", "xapp-", "hooks.slack"),
        exact=True,
        must_match=(
            "xoxb-123456789012-" + fake("", 24),
            fake("xapp-1-A0-", 40),
            fake("https://hooks.slack.com/services/T0/B0/", 24),
        ),
        must_not_match=("xoxb-...", "https://hooks.slack.com/services/"),
    ),
    Rule(
        id="chat",
        pattern=rb"(?:https?://)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/[A-Za-z0-9_-]{40,}|"
        rb"mfa\.[A-Za-z0-9_-]{80,}|(?:\b|bot)[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}|"
        rb"[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/-]{60,}|"
        rb"chat\.googleapis\.com/v1/spaces/[A-Za-z0-9]+/messages\?key=[A-Za-z0-9_&=%-]{30,}",
        keywords=("/webhooks/", "mfa.", ":AA", ".webhook.office.com", "chat.googleapis.com"),
        exact=True,
        check=is_token,
        must_match=(
            fake("https://discord.com/api/webhooks/123456789/", 68),
            fake("123456789:AA", 33),
        ),
        must_not_match=(fake("12345:AA", 33), "https://discord.com/api/webhooks/1/x"),
    ),
    Rule(
        id="discord",
        pattern=rb"(?:(?i:discord|\.login\(|\.run\()[^\r\n]{0,60}[^A-Za-z0-9_-])"
        rb"([MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,})",
        group=1,
        keywords=("discord", ".login(", ".run("),
        check=is_token,
        must_match=(
            'client.login("' + fake("MTA", 21) + "." + fake("", 6) + "." + fake("", 38) + '")',
        ),
        must_not_match=('client.login("token")',),
    ),
    Rule(
        id="stripe",
        pattern=rb"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}",
        keywords=("k_live_", "k_test_", "k_prod_", "whsec_"),
        exact=True,
        must_match=(fake("sk_live_", 24), fake("rk_live_", 24), fake("sk_test_", 24)),
        must_not_match=(
            fake("pk_live_", 24),
            "sk_test_utils_module_for_tests",
            "sk_test_" + "x" * 24,
        ),
    ),
    Rule(
        id="payment",
        pattern=rb"\bsq0[a-z]{3}-[A-Za-z0-9_-]{22,}|\bEAAA[A-Za-z0-9_-]{56,}|"
        rb"access_token\$(?:production|sandbox)\$[a-z0-9]{13,}\$[0-9a-f]{32}|"
        rb"\bA21AA[A-Za-z0-9_-]{60,}|shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}|"
        rb"rzp_(?:live|test)_[A-Za-z0-9]{14,}|FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}-X|"
        rb"pi_[A-Za-z0-9]{20,}_secret_[A-Za-z0-9]{20,}|plaid-[a-z]+-[0-9a-f-]{36}",
        keywords=(
            *("sq0", "EAAA", "access_token$", "A21AA", "shpat_", "shpca_", "shppa_", "shpss_"),
            *("shptka_", "rzp_", "FLWSECK", "_secret_", "plaid-"),
        ),
        exact=True,
        check=is_token,
        must_match=(fake("sq0atp-", 22), fake("EAAA", 60), fake("shpat_", 32, HEX)),
        must_not_match=("sq0idp", "shpat_token"),
    ),
    Rule(
        id="packages",
        pattern=rb"npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{40,}|rubygems_[0-9a-f]{48}|"
        rb"\boy2[a-z0-9]{43}\b|\bcio[A-Za-z0-9]{32}\b|CLOJARS_[a-z0-9]{60}|"
        rb"sl\.[A-Za-z0-9_-]{100,}|CFPAT-[A-Za-z0-9_-]{43}",
        keywords=("npm_", "pypi-", "rubygems_", "oy2", "cio", "CLOJARS_", "sl.", "CFPAT-"),
        exact=True,
        check=is_token,
        must_match=(
            fake("npm_", 36),
            fake("pypi-AgEIcHlwaS5vcmc", 80),
            fake("rubygems_", 48, HEX),
            fake("oy2", 43, "a1b2c3d4"),
            fake("cio", 32),
            fake("npm_", 36, LETTERS),
        ),
        must_not_match=(
            "npm_config_registry_of_the_whole_organisation",
            "pypi-publish-workflow-for-the-release-branch-of-main",
            "ciothing",
        ),
    ),
    Rule(
        id="monitoring",
        pattern=rb"NRAK-[A-Z0-9]{27}|NR(?:JS|II|AA|RA)-[A-Za-z0-9_-]{19,}|[0-9a-f]{36}NRAL\b|"
        rb"gl(?:sa|c)_[A-Za-z0-9+/=_]{30,}|sntr[yu]s_[A-Za-z0-9+/=_-]{40,}|"
        rb"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}|ddp_[A-Za-z0-9]{36}|"
        rb"phx_[A-Za-z0-9]{40,}|sqp_[0-9a-f]{40}|sq[au]_[0-9a-f]{40}|hc[a-z]ik_[a-z0-9]{58}",
        keywords=(
            *("NRAK-", "NRJS-", "NRII-", "NRAA-", "NRRA-", "NRAL", "glsa_", "glc_", "sntr"),
            *("dt0", "ddp_", "phx_", "sqp_", "squ_", "sqa_", "ik_"),
        ),
        exact=True,
        check=is_token,
        must_match=(
            fake("NRAK-", 27, "A1B2C3D4"),
            fake("glsa_", 41),
            fake("sntrys_eyJ", 60),
            fake("", 36, HEX) + "NRAL",
        ),
        must_not_match=("glsa_token", "NRAK-..."),
    ),
    Rule(
        id="workspace",
        pattern=rb"lin_(?:api|oauth)_[A-Za-z0-9]{32,}|secret_[A-Za-z0-9]{43}\b|ntn_[A-Za-z0-9]{40,}|"
        rb"fig[doru]_[A-Za-z0-9_-]{36,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|"
        rb"pat-(?:na|eu)[0-9]-[0-9a-f-]{36}|\bEZ[AT]K[A-Za-z0-9]{54}|"
        rb"\bEAA[BCDG][A-Za-z0-9]{60,}|AAAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{40,}|"
        rb"\bIGQVJ[A-Za-z0-9_-]{60,}|CCIPAT_[A-Za-z0-9_]{40,}|bkua_[0-9a-f]{40}|"
        rb"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}|frp_[A-Za-z0-9]{30,}|tfp_[A-Za-z0-9_]{59}",
        keywords=(
            *("lin_api_", "lin_oauth_", "secret_", "ntn_", "figd_", "figo_", "figr_", "figu_"),
            *("PMAK-", "pat-na", "pat-eu", "EZAK", "EZTK", "EAAB", "EAAC", "EAAD", "EAAG"),
            *("AAAAAAAAAAAAAAAAAAAAA", "IGQVJ", "CCIPAT_", "bkua_", "xkeysib-", "frp_", "tfp_"),
        ),
        exact=True,
        check=is_token,
        must_match=(
            fake("lin_api_", 40),
            fake("ntn_", 46),
            fake("figd_", 40),
            fake("lin_api_", 40, LETTERS),
        ),
        must_not_match=("lin_api_key", "secret_manager"),
    ),
    Rule(
        id="mail",
        pattern=rb"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\bkey-[0-9a-f]{32}\b|"
        rb"\b[0-9a-f]{32}-us[0-9]{1,2}\b",
        keywords=("SG.", "key-", *(f"-us{digit}" for digit in "0123456789")),
        exact=True,
        check=is_token,
        must_match=(
            "SG." + fake("", 22) + "." + fake("", 43),
            fake("key-", 32, HEX),
            fake("", 32, HEX) + "-us12",
        ),
        must_not_match=("MSG.content.something_long_enough", "key-value-store"),
    ),
    Rule(
        id="twilio",
        pattern=rb"\bSK[0-9a-f]{32}\b",
        keywords=tuple(f"SK{digit}" for digit in HEX),
        exact=True,
        must_match=(fake("SK", 32, HEX),),
        must_not_match=(fake("SK", 40, HEX), fake("RISK", 32, HEX)),
    ),
)
