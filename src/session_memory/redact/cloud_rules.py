"""Keys and tokens of clouds, hosts and infrastructure, known by their own form."""

from __future__ import annotations

from session_memory.redact.rule import HEX, LETTERS, UPPER, Rule, fake
from session_memory.redact.value_checks import is_key, is_random, is_token

_SERVICES = (
    rb"heroku|netlify|vercel|cloudflare|datadog|dd_|newrelic|new_relic|algolia|twilio|mailchimp|"
    rb"mailgun|postmark|paypal|square|asana|airtable|notion|figma|cohere|mistral|sentry|dropbox|"
    rb"facebook|twitter|linkedin|bitbucket|jira|okta|auth0|fastly|travis|circleci|codecov|snyk|"
    rb"sonar|artifactory|jfrog|confluent|databricks|snowflake|mapbox|cloudinary|firebase|amplitude|"
    rb"mixpanel|intercom|zendesk|hubspot|coinbase|binance|alchemy|infura|etherscan|spotify|twitch|"
    rb"trello|discord|nuget"
)
_SERVICE_KEYWORDS = tuple(_SERVICES.decode().split("|"))
_SERVICE_VALUE = (
    rb"['\"\\\])]{0,3}\s*(?:[:=]{1,2}|=>|,)\s*['\"\\]{0,3}"
    rb"([a-z0-9/+][a-z0-9_/+-]{18,}[a-z0-9]={0,2})"
)
_SERVICE_ASSIGNED = rb"(?i)(?:" + _SERVICES + rb")[\w .-]*" + _SERVICE_VALUE

CLOUD = (
    Rule(
        id="jwt",
        pattern=rb"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)*",
        keywords=("eyJ",),
        exact=True,
        must_match=(fake("eyJ", 20) + "." + fake("eyJ", 40) + "." + fake("", 43),),
        must_not_match=(fake("eyJ", 40), "eyJhbGciOiJub25l.x.y"),
    ),
    Rule(
        id="aws-secret",
        pattern=rb"(?i)(?:aws_?(?:[a-z0-9]+_)*?secret[a-z_]*|secret_?access_?key)['\"\\]*"
        rb"\s*[:=]>?\s*['\"\\]*([a-z0-9/+]{40})(?:[^a-z0-9/+]|$)",
        group=1,
        keywords=(
            *("aws", "secretaccesskey", "secret_access_key", "secretaccess_key"),
            "secret_accesskey",
        ),
        must_match=(
            "aws_secret_access_key = " + fake("", 40),
            'export AWS_SECRET_ACCESS_KEY="' + fake("", 40) + '"',
            '"SecretAccessKey": "' + fake("", 40) + '"',
        ),
        must_not_match=("aws_secret_access_key = ${AWS_SECRET}", "aws_secret_name: my-database"),
    ),
    Rule(
        id="aws-session",
        pattern=rb"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz|FQoDYXdz)[A-Za-z0-9/+=]{40,}",
        keywords=("IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz", "FQoDYXdz"),
        exact=True,
        must_match=(fake("IQoJb3JpZ2lu", 300), fake("FwoGZXIvYXdz", 300)),
        must_not_match=("IQoJb3JpZ2lu...",),
    ),
    Rule(
        id="aws-temporary-id",
        # AKIA is a founding rule's, which leaves it where it touches an underscore.
        pattern=rb"(?:\b|_)((?:ASIA|ABIA|ACCA|AROA|AIDA|A3T[A-Z0-9])[A-Z0-9]{16})(?:\b|_)|"
        rb"_(AKIA[A-Z0-9]{16})(?:\b|_)|\b(AKIA[A-Z0-9]{16})_",
        group=1,
        keywords=("AKIA", "ASIA", "ABIA", "ACCA", "AROA", "AIDA", "A3T"),
        exact=True,
        check=is_random,
        must_match=(fake("ASIA", 16, UPPER), fake("call_AKIA", 16, UPPER) + "_1"),
        must_not_match=("Asia/Shanghai", fake("XASIA", 16, UPPER)),
    ),
    Rule(
        id="aws-other",
        pattern=rb"amzn\.mws\.[0-9a-f]{8}-[0-9a-f-]{27}|ABSK[A-Za-z0-9+/]{100,}={0,2}|"
        rb"\bda2-[a-z0-9]{26}\b",
        keywords=("amzn.mws.", "ABSK", "da2-"),
        exact=True,
        must_match=(
            fake("amzn.mws.", 8, HEX) + "-0123-4567-89ab-" + fake("", 12, HEX),
            fake("da2-", 26, "a1b2c3d4"),
        ),
        must_not_match=("amzn.mws.key", "da2-short"),
    ),
    Rule(
        id="google-api-key",
        pattern=rb"AIza[A-Za-z0-9_-]{35}",
        keywords=("AIza",),
        exact=True,
        must_match=(fake("AIza", 35),),
        must_not_match=(fake("AIza", 20),),
    ),
    Rule(
        id="google-oauth",
        pattern=rb"GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}|\b1//0[A-Za-z0-9_-]{30,}",
        keywords=("GOCSPX-", "ya29.", "1//0"),
        exact=True,
        must_match=(fake("GOCSPX-", 28), fake("ya29.", 60), fake("1//0", 60)),
        must_not_match=("ya29.short", "1//0"),
    ),
    Rule(
        id="azure-secret",
        pattern=rb"[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}",
        keywords=("7Q~", "8Q~"),
        exact=True,
        must_match=(fake("a1B8Q~", 34),),
        must_not_match=("8Q~short",),
    ),
    Rule(
        id="azure-signature",
        pattern=rb"(?i)[?&;'\"\s]sig=([a-z0-9%/+_-]{40,}={0,2})|"
        rb"(?:AccountKey|SharedAccessKey|AzureWebJobsStorage[^\r\n]{0,80}Key)=([a-z0-9/+]{40,88}={0,2})",
        group=1,
        keywords=("sig=", "accountkey=", "sharedaccesskey=", "azurewebjobsstorage"),
        must_match=(
            fake("?sv=2022&sig=", 43) + "%3D",
            fake("DefaultEndpointsProtocol=https;AccountKey=", 86) + "==",
            fake("SharedAccessKeyName=Root;SharedAccessKey=", 43) + "=",
        ),
        must_not_match=("?sig=short", "AccountKey=..."),
    ),
    Rule(
        id="azure-devops",
        pattern=rb"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}|[A-Za-z0-9/+]{33,76}(?:AzCa|ACDb|AIoT|ASbT|"
        rb"AzSe|AzFu)[A-Za-z0-9+/]{4,6}={0,2}",
        keywords=("JQQJ99", "AzCa", "ACDb", "AIoT", "ASbT", "AzSe", "AzFu"),
        exact=True,
        check=is_random,
        must_match=(fake("", 52) + "JQQJ99" + fake("", 26), fake("", 42) + "AzSeA1b2C3"),
        must_not_match=("AzFunctions and the AIoT of the project",),
    ),
    Rule(
        id="github",
        pattern=rb"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|\bv1\.[0-9a-f]{40}\b",
        keywords=("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "v1."),
        exact=True,
        must_match=(
            *(fake(f"gh{kind}_", 36) for kind in "pousr"),
            fake("github_pat_", 82),
            fake("\\nghp_", 36),
        ),
        must_not_match=("ghp_ tokens start like this", "ghs_length", fake("ghx_", 36), "v1.2.3"),
    ),
    Rule(
        id="gitlab",
        pattern=rb"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|oas|wt|ffct)-[A-Za-z0-9_.-]{20,}|"
        rb"GR1348941[A-Za-z0-9_-]{20}",
        keywords=(
            *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glwt-"),
            *("glagent-", "glsoat-", "gloas-", "glffct-", "GR1348941"),
        ),
        exact=True,
        must_match=(fake("glpat-", 20), fake("glrt-", 20), fake("GR1348941", 20)),
        must_not_match=("glpat-short",),
    ),
    Rule(
        id="atlassian",
        pattern=rb"ATATT3[A-Za-z0-9_=-]{50,}|ATCTT3[A-Za-z0-9_=-]{50,}|ATBB[A-Za-z0-9]{28,}",
        keywords=("ATATT3", "ATCTT3", "ATBB"),
        exact=True,
        must_match=(fake("ATATT3xFfGF0", 180), fake("ATBB", 32)),
        must_not_match=("ATATT3", "ATBB"),
    ),
    Rule(
        id="vault",
        pattern=rb"\bhv[sbr]\.[A-Za-z0-9_-]{20,}|"
        rb"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",
        keywords=("hvs.", "hvb.", "hvr.", ".atlasv1."),
        exact=True,
        check=is_token,
        must_match=(
            fake("hvs.", 90),
            fake("hvs.", 90, LETTERS),
            fake("", 14) + ".atlasv1." + fake("", 67),
        ),
        must_not_match=("hvs.token",),
    ),
    Rule(
        id="infrastructure",
        pattern=rb"do[opr]_v1_[0-9a-f]{64}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}|"
        rb"HRKU-[A-Za-z0-9_-]{30,}|nfp_[A-Za-z0-9_]{36}|vc[pikra]_[A-Za-z0-9]{24,}|"
        rb"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}|cf(?:ut|at|k)_[A-Za-z0-9]{40,}|"
        rb"fo1_[A-Za-z0-9_-]{43}|fm[12][ar]?_[A-Za-z0-9+/=,_]{40,}|FlyV1 [A-Za-z0-9+/=,_]{40,}|"
        rb"rnd_[A-Za-z0-9]{28,}|pul-[0-9a-f]{40}|dapi[0-9a-f]{32}|dop_[A-Za-z0-9]{40,}|"
        rb"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{40,}|tskey-[a-z]+-[A-Za-z0-9-]{16,}|"
        rb"LTAI[A-Za-z0-9]{12,20}\b|AKID[A-Za-z0-9]{32}\b|ops_eyJ[A-Za-z0-9+/=_-]{100,}|"
        rb"A3-[A-Z0-9]{6}-[A-Z0-9]{6,11}-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}|sbp_[0-9a-f]{40}|"
        rb"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9=_.-]{32,}|sb_secret_[A-Za-z0-9_-]{20,}|"
        rb"napi_[A-Za-z0-9]{40,}|jfrt_[A-Za-z0-9]{30,}|cmVmdGtu[A-Za-z0-9]{56}|AKCp[A-Za-z0-9]{69}",
        keywords=(
            *("doo_v1_", "dop_", "dor_v1_", "dckr_", "HRKU-", "nfp_", "vcp_", "vci_", "vck_"),
            *("vcr_", "vca_", "v1.0-", "cfut_", "cfat_", "cfk_", "fo1_", "fm1", "fm2", "FlyV1 "),
            *("rnd_", "pul-", "dapi", "dp.", "tskey-", "LTAI", "AKID", "ops_eyJ", "A3-", "sbp_"),
            *("pscale_", "sb_secret_", "napi_", "jfrt_", "cmVmdGtu", "AKCp"),
        ),
        exact=True,
        must_match=(
            fake("dop_v1_", 64, HEX),
            fake("dckr_pat_", 27),
            fake("nfp_", 36),
            fake("HRKU-", 36),
            fake("dapi", 32, HEX),
            fake("pul-", 40, HEX),
            fake("dp.pt.", 43),
            fake("tskey-auth-", 24),
        ),
        must_not_match=("dckr_pat_", "pul-request", "dapi_client", "dp.state.value", "rnd_seed"),
    ),
    Rule(
        id="service-context",
        # Services whose tokens have no recognisable form: the service is named shortly before.
        pattern=rb"(?i)(?:" + _SERVICES + rb")[\w .-]{0,30}" + _SERVICE_VALUE,
        group=1,
        everyday="services",
        prefilter=_SERVICE_ASSIGNED,
        keywords=_SERVICE_KEYWORDS,
        check=is_key,
        must_match=(
            fake("datadog: ", 32, HEX),
            fake('TWILIO_AUTH = "', 32, HEX) + '"',
            fake("cloudflare_global: ", 37),
        ),
        must_not_match=(
            "heroku: some-long-name-of-an-app",
            "notion page: 3f2b8c1e-9d47-4a6b-8f10-2c5e7d9a1b34",
        ),
    ),
    Rule(
        id="service-key",
        # With the word for it in the name it may also look like a UUID or a checksum.
        pattern=rb"(?i)(?:"
        + _SERVICES
        + rb")[\w .-]{0,20}(?:key|token|secret|auth|login|pat)[\w-]{0,12}"
        + _SERVICE_VALUE,
        group=1,
        everyday="services",
        prefilter=_SERVICE_ASSIGNED,
        keywords=_SERVICE_KEYWORDS,
        check=is_random,
        must_match=(
            "HEROKU_KEY: 3f2b8c1e-9d47-4a6b-8f10-2c5e7d9a1b34",
            fake("sonar.login=", 40, HEX),
        ),
        must_not_match=(
            "HEROKU_KEY: ${HEROKU_KEY_OF_THIS_APP}",
            "sentry_token_name: the-name-of-it",
        ),
    ),
)
