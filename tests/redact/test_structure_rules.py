"""Secrets that only the lines around them show."""

from __future__ import annotations

import pytest

from session_memory.redact import Redactor, render

REDACTOR = Redactor(b"a key of the tests")
MARK = "[REDACTED_SECRET]"


def shown(text: str) -> str:
    return render(REDACTOR.redact_text(text))


@pytest.mark.rows("RED-03")
@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("user,password,host\nme,swordfish,db\nyou,opensesame,web\n", ("swordfish", "opensesame")),
        (
            "| id | password | note |\n|---|---|---|\n| 1 | swordfish | of the host |\n",
            ("swordfish",),
        ),
        (
            "INSERT INTO users (name, password) VALUES ('me', 'swordfish'), ('x', 'opal');",
            ("swordfish", "opal"),
        ),
        (
            "data:\n  a.b: c3dvcmRmaXNo\n  c: b3BhbDc3\nkind: Secret\nmetadata:\n  name: shop\n",
            ("c3dvcmRmaXNo", "b3BhbDc3"),
        ),
        ('variable "x" {\n  default = "swordfish"\n  sensitive = true\n}', ("swordfish",)),
        ("db:\n  password: >-\n    swordfish\n  host: db\n", ("swordfish",)),
        ("$ dump --password swordfish mydb\n", ("swordfish",)),
        ("db.test:5432:shop:me:swordfish\n", ("swordfish",)),
    ],
)
def test_what_is_secret_in_a_structure_goes_and_the_rest_stays(
    text: str, hidden: tuple[str, ...]
) -> None:
    expected = text
    for secret in hidden:
        expected = expected.replace(secret, MARK)
    assert shown(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "| option | token |\n|---|---|\n| -t | the token to use |\n",
        "\tPWD           string\n\tFolder        string\n",
        "kind: Secret\nmetadata:\n  name: shop\n---\nkind: ConfigMap\ndata:\n  mode: opal-fast\n",
        'variable "region" {\n  default = "europe"\n}\nvariable "token" {\n  type = string\n}',
        "password:\n  type: string\n  description: of the user\n",
        "Run it with --password and a file\n",
    ],
)
def test_structures_without_secrets_stay(text: str) -> None:
    assert REDACTOR.redact_text(text) is text
