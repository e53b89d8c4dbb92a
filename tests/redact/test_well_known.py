"""Defaults that everybody knows, and what code and forms write in the place of a secret, stay."""

from __future__ import annotations

import random

import pytest
from tests.redact.secret_values import ALNUM, Source

from session_memory.redact import Redactor
from session_memory.redact.surroundings import repeats_name
from session_memory.redact.well_known import LONG_WORDS, is_well_known, is_well_known_login

REDACTOR = Redactor(b"key")


@pytest.mark.rows("RED-07")
@pytest.mark.parametrize(
    "value",
    [
        *("root", "postgres", "changeme", "minioadmin", "guest", "admin", "rootpassword"),
        *("my-secret-key", "testPassword", "TEST_API_KEY", "dev_secret", "secure_password"),
        *("test-token-12", "fake-key-2031", "token-abc", "sk_test_x", "postgres_password"),
        *("senha", "contraseña", "wachtwoord", "clave_secreta"),
        *("the-one-and-only-lantern-password", "keep-this-lantern-key-to-yourself"),
        *("must-not-be-lit", "notagoodsecret", "test-lantern-file-session", "AWSSecretKey"),
        "kunci-rahasia-12",
    ],
)
def test_a_value_of_known_words_is_well_known(value: str) -> None:
    assert is_well_known(value.encode())
    assert REDACTOR.redact_text(f'db_password = "{value}"') == f'db_password = "{value}"'
    assert REDACTOR.redact_text(f"DB_PASSWORD={value}") == f"DB_PASSWORD={value}"


@pytest.mark.rows("RED-07")
@pytest.mark.parametrize(
    "value",
    [
        *("harbor", "harbor_password", "rootharbor", "admin4711", "lanternroot", "velvet-secret"),
        *(
            "thegoodlantern",
            "test-lantern",
            "admin-2031",
            "shop-prod-password-2031",
            "correct-horse-battery-staple",
            "abc",
        ),
    ],
)
def test_one_word_or_number_more_makes_it_somebodys_own(value: str) -> None:
    assert not is_well_known(value.encode())


def test_no_known_word_is_made_of_others() -> None:
    glued = {"my", "dev", "db", "app", "new", "old", *LONG_WORDS}
    joined = {first + second for first in glued for second in glued}
    assert not joined & glued


def test_a_long_value_is_not_well_known() -> None:
    assert not is_well_known(b"mongodb" * 11 + b"?")
    assert not is_well_known(b"test" * 1000)


@pytest.mark.parametrize(
    ("name", "value", "repeated"),
    [
        (b"self.proxy_password", b"proxy_password", True),
        (b"SHOP_PASSWORD", b"shopPassword,", True),
        (b"proxy_password", b"lantern", False),
        (b"db_pw", b"pw", False),
    ],
)
def test_a_value_repeats_its_name(name: bytes, value: bytes, *, repeated: bool) -> None:
    assert repeats_name(name, value) is repeated


def test_a_login_with_a_well_known_password_is_well_known() -> None:
    assert is_well_known_login(b"cm9vdDpjaGFuZ2VtZQ==")
    assert not is_well_known_login(b"cm9vdDpoYXJib3JsYW5l")
    assert not is_well_known_login(b"no base64 at all")


@pytest.mark.rows("RED-01", "RED-07")
@pytest.mark.parametrize(
    "text",
    [
        # an expression, not a literal
        "token: i1$1.LanternService },",
        "my $password = $ENV{SHOP_PASSWORD} || '';",
        "$password = (string) ($_POST['password'] ?? '');",
        "secret = keypair[:32]",
        "token = header[7:]  # after the word",
        "$env:SHOP_PASSWORD = Read-Host",
        "self.rotate_token = to_lantern_wrapper(",
        "return run(StopToken::Unstoppable());",
        "token = (lexer.LanternToken if double else other)",
        "token: LanternKind,",
        "token = VALUE_OF_LANTERN",
        "on_token: Callable[[str], None]",
        "self.proxy_password = proxy_password",
        'SHOP_PASSWORD: "shopPassword",',
        "set PWD=%~dp0",
        'admin password="#request.shopPassword#"',
        # a text that code puts together, or a pattern
        'print(f"password={password!r}")',
        'lantern_token = f"lantern-barrier-{token}"',
        "copy the token: ${res.reset_token}`",
        'echo "Access token: $output\\n"',
        '"... password=\'"+os.environ["SHOP_PASSWORD"]+"\'"',
        "lantern_token = r'[^\\W\\d]\\w*'",
        "const LANTERN_TOKEN = /^Lantern '?(.)'?/i",
        "re.findall('token=([a-z0-9]+)', url)",
        "Added `password = var.lantern_password` for the example.",
        'headers.Authorization = "Bearer "+localStorage.getItem("lantern")',
        "env=dict(os.environ,PGPASSWORD=unquote(parsed.word or ''))",
        "$token = $self->$handler($line);",
        'userinfo = "%s:%s" % (user, password); user_pass = "%s:%s"',
        "lantern.password = password_ptr",
        'password = password.encode("utf-8")',
        "key_password=certs[0][2],",
        '"output_token": "Lanterns[-1].LanternId",',
        '"pattern": "arn:aws:secretsmanager:eu:1:secret:LanternSecret-a1b2c3"',
        "token: LANTERN_BASE64",
        "refresh token: https://host.test/lantern#section-6",
        'secret: "Lanterns are lit at night",',
        'PASSWD = "me:x:1001:1001::/home/me:/bin/sh"',
        '[Token(Token = "0x2000083")]',
        "Gets the secret of this V1LanternProjection.",
        "the password for PKCS#12 keys",
        "$_[0]='--password --inputbox'",
        "SHOP_PASSWORD: yourpassword123",
        'SHOP_SECRET="quick-lantern-$(date +%s)"',
        '{"secret":"LANTERN-BYTE-CANARY"}',
        '"pwd": "allow",',
        "--set auth.rootPassword=mongo,auth.username=me,auth.database=shop",
        "val chosenPasswd: Passwd? = null,",
        "<p>Your password: <%=password%></p>",
        "MAIL_PASSWORD=password_smtp_anda",
        'MAIL_PASSWORD="đèn_16_ký_tự_mới_tạo"',
        "SHOP_KEY=gsk_votre_cle_ici",
        'Self::ChangePassword => "LANTERN_MANAGEMENT",',
        # names, versions, types, words of other meanings
        "secret: lantern-tls-secret",
        '"accessToken": "injected"',
        '"lanternToken": "tom_lee"',
        '"minipass": "^7.1.3"',
        "'bypass': 'lantern'",
        '"password": "string?"',
        'publicKeyToken="1fc8b3b9a1e18e3b"',
        "Sec-WebSocket-Key: dGhlIGxhbnRlcm4gbm9uY2U=",
        "access_key, path = 'lantern/2031/data_2031-01.csv'",
        'LANTERN_WORDS = ("password", "passfile", "sslkey")',
        'masker.register("password", "filled4")',
        "for token in self.tokens(text, only=words):",
        "AUTH_METHODS = ('client_secret_post', 'client_secret_basic')",
        # descriptions, labels and what has to be filled in
        "client_secret: Configuration options for the lantern.",
        "# - SHOP_PASSWORD: MySQLパスワード",
        '"password": "Lösenord"',
        '"password": "digite sua senha"',
        'API_KEY = "SUA_CHAVE_MUITO_FORTE_123456"',
        '--password="*mysqlpass*" --port=1',
        'char* password = "<PASSWORD WIFI>";',
        "STRIPE=sk_test_" + "x" * 24,
        "Authorization: Basic " + "cm9vdDpjaGFuZ2VtZQ==",
    ],
)
def test_what_stands_in_the_place_of_a_secret_stays(text: str) -> None:
    assert REDACTOR.redact_text(text) is text


@pytest.mark.rows("RED-05")
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("SHOP_PASSWORD: 4711", "4711"),
        ("token = 'lanternfishes'", "lanternfishes"),
        ("api_key = 'shop-secret-key-2031'", "shop-secret-key-2031"),
        ("password: LanternFish", "LanternFish"),
        ("db_password = '^kD9lantern'", "^kD9lantern"),
        ("db_password = '(9x[lantern'", "(9x[lantern"),
        ("mongodb+srv://lanternfishes23:velvet9x@db.test/shop", "velvet9x"),
        ("self.fetch(url, auth_password='velvet')", "velvet"),
        ("localStorage.setItem('token', 'qXvJzKwB9hGp')", "qXvJzKwB9hGp"),
    ],
)
def test_a_literal_beside_it_is_still_found(text: str, secret: str) -> None:
    shown = REDACTOR.redact_text(text)
    assert secret in text
    assert secret not in shown


@pytest.mark.parametrize("text", ['db_password = "@"', '"access_token": "@"', "API_KEY=@"])
def test_generated_values_are_not_taken_for_words_or_code(text: str) -> None:
    source = Source(random.Random(7), ())
    for _ in range(300):
        value = source.text(ALNUM, 16, 40)
        assert value not in REDACTOR.redact_text(text.replace("@", value))


def test_the_user_of_an_address_stays_beside_the_password() -> None:
    shown = REDACTOR.redact_text("mongodb+srv://lanternfishes23:velvet9x@db.test/shop")
    assert shown.startswith("mongodb+srv://lanternfishes23:[")
