"""Plain words as secrets, told from placeholders, labels, rules and code by their surroundings."""

from __future__ import annotations

import pytest

from session_memory.redact import Redactor

REDACTOR = Redactor(b"key")


@pytest.mark.rows("RED-05")
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('  password: "4711",\n', "4711"),
        ("const char* password = 'opal';", "opal"),
        ("app.secret_key = 'lanternFish'", "lanternFish"),
        ("session({\n  secret: 'copper kettle',\n})", "copper kettle"),
        ("app.datasource.password=harbor_password", "harbor_password"),
        ("SHOP_PASSWORD: shop", "shop"),
        ("- **Password**: harborlane", "harborlane"),
        ("'password' => Hash::make('velvet')", "velvet"),
        ("const admin_password = await hashPassword('velvet9');", "velvet9"),
        ("dsn = 'host=db user=app password=opal7'", "opal7"),
        ("  user: 'me@host.test',\n  pass: 'abcd efgh ijkl mnop'", "abcd efgh ijkl mnop"),
        ("$c = mysqli_connect('h.test', 'app', 'velvet', 'shop');", "velvet"),
        (
            "new SecretKeySpec(\n  Base64.getDecoder().decode('bGFudGVybg=='), 'AES')",
            "bGFudGVybg==",
        ),
        ("| `SHOP_PASSWORD` | optional | `harborlane` | of the shop |", "harborlane"),
        ("'password_confirmation' => 'Velvet9!'", "Velvet9!"),
        ('UserSalt = "bGFudGVybmZpc2g5MQ=="', "bGFudGVybmZpc2g5MQ=="),
        ("htpasswd -c -m -b /etc/users me harborlane", "harborlane"),
    ],
)
def test_a_word_is_a_secret_where_its_surroundings_say_so(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in REDACTOR.redact_text(text)


@pytest.mark.rows("RED-05")
@pytest.mark.parametrize(
    "text",
    [
        'const char* password = "YOUR_PASSWORD";',
        "SHOP_SECRET_KEY=your-super-secret-key-change-in-production-32-chars",
        "api_key = 'your_api_key_here'",
        "'password' => 'required|min:8|confirmed',",
        '"confirm_password": "confirm_password"',
        '"changePassword": "Change"',
        "token = 'fake-token'",
        "SECRET_KEY = 'form.secretOpened'",
        "const password = `${phone}${SALT}`",
        "password=_optional('SHOP')",
        "token: cookies.get(`token`),",
        "mysqli_connect('localhost', 'root', '', 'shop');",
        "describe('harborLantern7', () => {",
        "| `SHOP_TOKEN` | `string` | the token |",
        "key = 'abcabcabcabcabcabcabcabc'",
        "%wheel ALL=(ALL) NOPASSWD: /usr/bin/true",
        "SHOP_API_KEY: Optional[str] = None",
    ],
)
def test_a_placeholder_a_label_or_code_stays(text: str) -> None:
    assert REDACTOR.redact_text(text) is text
