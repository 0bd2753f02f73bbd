"""Secrets: what is found, what is left alone, and that windows and hostile texts change nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.checks.rules import Check
from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError, UnknownOption
from director_ai.validators.secrets import SECRET_KINDS, Secrets

CHECK = Secrets()
LETTERS = "a8Kd03jfQw92LmZx51Vb" * 3  # none of these was ever issued
HEX = "0f3a9c" * 8


def found(text: str, check: Secrets = CHECK) -> list[tuple[str, str]]:
    return [(edit.reason, text[edit.start : edit.end]) for edit in check.find(text)]


ISSUED = {
    "aws": "AKIA" + "ABCDEFGH234567QR",
    "github": "ghp_" + LETTERS[:36],
    "gitlab": "glpat-" + LETTERS[:20],
    "slack": "xoxb-" + "123456789012-" + LETTERS[:24],
    "anthropic": "sk-ant-api03-" + LETTERS[:40],
    "openai": "sk-proj-" + LETTERS[:48],
    "google": "AIza" + LETTERS[:35],
    "stripe": "sk_live_" + LETTERS[:24],
    "twilio": "SK" + HEX[:32],
    "sendgrid": "SG." + LETTERS[:22] + "." + LETTERS[:43],
    "npm": "npm_" + LETTERS[:36],
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + LETTERS[:60],
    "huggingface": "hf_" + LETTERS[:34],
    "digitalocean": "dop_v1_" + HEX[:48],
    "shopify": "shpat_" + HEX[:32],
    "databricks": "dapi" + HEX[:32],
    "telegram": "123456789:AA" + LETTERS[:33],
    "groq": "gsk_" + LETTERS[:52],
    "xai": "xai-" + LETTERS[:60],
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123",
}


@pytest.mark.parametrize(("kind", "key"), ISSUED.items(), ids=ISSUED)
def test_finds_the_whole_key_of(kind: str, key: str) -> None:
    assert found(f"Use {key}, please.") == [(kind, key)]
    assert found(f'x = "{key}"') == [(kind, key)]


SAID = {
    "a password behind a colon": ("password: hunter2", "password", "hunter2"),
    "a password at the end of a sentence": ("The password is hunter2!", "password", "hunter2"),
    "a password in a setting": ("DB_PASSWORD=abc123xyz", "password", "abc123xyz"),
    "a password of several words in quotes": (
        '"password": "correct horse battery"',
        "password",
        "correct horse battery",
    ),
    "a password with a word for it inside": ("password: MySecret123", "password", "MySecret123"),
    "a password that ends as a sentence does": ("password=S3cr3t!", "password", "S3cr3t!"),
    "a password with a percent sign": ("password: abc123%", "password", "abc123%"),
    "a password of words and a number": ("password: my-dog-rex-99", "password", "my-dog-rex-99"),
    "a password behind a dollar sign": ("password: $ecret-99", "password", "$ecret-99"),
    "a password of several words": ("password: correct-horse-staple", "password", "correct-horse-staple"),
    "a password of a service": ("password_v2: hunter22", "password", "hunter22"),
    "a password in German": ("Passwort: geheim123", "password", "geheim123"),
    "a password in a German sentence": ("Das Kennwort lautet Sommer2024.", "password", "Sommer2024"),
    "a key that says that it is one": ("JWT_SECRET=supersecret123", "api_key", "supersecret123"),
    "a key of hexadecimal digits": (
        'api_key = "a8f5f167f44f4964e6c998dee827110c"',
        "api_key",
        "a8f5f167f44f4964e6c998dee827110c",
    ),
    "a secret of a client": ("client_secret: 8f3kd93kdkd02kd9", "api_key", "8f3kd93kdkd02kd9"),
    "the password of a database": ("postgres://bob:s3cr3t@db.local/x", "connection_string", "s3cr3t"),
    "a password with an at sign": ("amqp://bob:s3@cr3t@db.local/x", "connection_string", "s3@cr3t"),
    "a bearer": ("Authorization: Bearer abcDEF123456ghiJKL789", "bearer", "abcDEF123456ghiJKL789"),
    "basic credentials": ("Authorization: Basic Ym9iOmh1bnRlcjI=", "bearer", "Ym9iOmh1bnRlcjI="),
    "a key of a storage account": (f"AccountKey={LETTERS}==", "azure", f"{LETTERS}=="),
}


@pytest.mark.parametrize(("text", "kind", "span"), SAID.values(), ids=SAID)
def test_finds_exactly(text: str, kind: str, span: str) -> None:
    assert found(text) == [(kind, span)]


LEFT_ALONE = {
    "a rule for passwords": "password: must contain 8 letters",
    "a remark on passwords": "The password is required.",
    "a request": "reset your password: click here",
    "a call": 'password = input("Password: ")',
    "a property": "The password is case-sensitive.",
    "a folder": "pwd: /home/ada/project1",
    "what is known of secrets": (
        "password_expiry: 2024-12-31, password_file=/run/x1, token-url: auth2.example.org/a, secret_name: app/prod/db-24"
    ),
    "two calls": 'password = input("Password: ") and then print("x")',
    "two texts": '{"Password: ", "User name: ", "City: "}',
    "a default": "def login(user, password=None):",
    "a part of an object": "password = user1.password, passwd = old_password_2",
    "variables": "password=%DB_PASS% and password=$DB_PASS1 and password=%(pass1)s",
    "a variable of the environment": 'password=os.environ["DB"]',
    "a placeholder": 'api_key="YOUR_API_KEY" and password: ${DB_PASSWORD}',
    "the password of an example": "postgres://user:password@localhost",
    "a signature": "def login(password: str, token: str)",
    "a count of tokens": "max_tokens: 4096",
    "a call that returns tokens": "tokens = model_1.generate(x)",
    "a saying": "The secret is to keep going; the bearer of good news came.",
    "a commit": "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "a UUID": "id: 550e8400-e29b-41d4-a716-446655440000",
    "a digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "an address": "https://example.org/a/b?page=2#part",
    "a name with the prefix of a key": "sk-learn-based-approach-to-things",
    "a public key": "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
}


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_leaves_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("title", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
def test_a_private_key_goes_up_to_its_last_line(title: str) -> None:
    text = f"Here:\n-----BEGIN {title}-----\nabc\ndef\n-----END {title}-----\nDone."
    assert merge_edits(text, CHECK.find(text)).text == "Here:\n[PRIVATE_KEY]\nDone."


def test_a_private_key_without_a_last_line_goes_to_the_end() -> None:
    text = "Here: -----BEGIN PRIVATE KEY-----\nabc\ndef"
    assert merge_edits(text, CHECK.find(text)).text == "Here: [PRIVATE_KEY]"


def test_a_token_that_may_go_on_reaches_the_end() -> None:
    assert CHECK.find("eyJhbGciOiJIUzI1NiJ9")[0].end == len("eyJhbGciOiJIUzI1NiJ9")
    assert found("eyJhbGciOiJIUzI1NiJ9 is how it begins") == []


def test_only_the_kinds_asked_for_are_found() -> None:
    text = f"password: hunter2 {ISSUED['github']}"
    assert found(text, Secrets(kinds=("github",))) == [("github", ISSUED["github"])]
    assert isinstance(CHECK, Check)


REFUSED = {
    "an unknown kind": ({"kinds": ("gihtub",)}, UnknownOption),
    "no kinds": ({"kinds": ()}, ConfigError),
    "a word for kinds": ({"kinds": "github"}, ConfigError),
    "an empty name": ({"name": ""}, ConfigError),
}


def test_kinds_may_be_a_list() -> None:
    assert Secrets(kinds=["jwt"]) == Secrets(kinds=("jwt",))  # type: ignore[arg-type]


@pytest.mark.parametrize(("options", "error"), REFUSED.values(), ids=REFUSED)
def test_refuses(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        Secrets(**options)  # type: ignore[arg-type]


@given(st.text())
def test_edits_lie_in_order_within_any_text(text: str) -> None:
    edits = CHECK.find(text)
    assert all(0 <= edit.start < edit.end <= len(text) for edit in edits)
    assert list(edits) == sorted(edits, key=lambda edit: edit.start)
    assert {edit.reason for edit in edits} <= set(SECRET_KINDS)


PIECES = st.sampled_from([*ISSUED.values(), *(text for text, _, _ in SAID.values()), *LEFT_ALONE.values(), "\n", "a"])


@given(st.lists(PIECES, max_size=30), st.data())
def test_a_window_decides_its_middle_as_the_whole_text_does(pieces: list[str], data: st.DataObject) -> None:
    text = " — ".join(pieces)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    low = start + CHECK.frontier if start else 0
    high = end - CHECK.frontier if end < len(text) else end
    whole = {place for edit in CHECK.find(text) for place in range(edit.start, edit.end)}
    part = {start + place for edit in CHECK.find(text[start:end]) for place in range(edit.start, edit.end)}
    assert {place for place in whole if low <= place < high} == {place for place in part if low <= place < high}


@pytest.mark.timeout(60)  # a second at most, where the work is proportional
@pytest.mark.parametrize(
    "unit",
    ["password", "password:", "eyJaaaaaaaaaa.", "a://b:", "-----BEGIN PRIVATE KEY-----", "sk-a", "secret=", "SG."],
)
def test_a_hostile_text_of_250_000_characters_does_not_hang(unit: str) -> None:
    text = (unit * 250_000)[:250_000]
    assert all(0 <= edit.start <= edit.end <= len(text) for edit in CHECK.find(text))


@pytest.mark.timeout(60)  # a tenth of a second, where each word is looked at once
def test_a_long_value_full_of_telling_words_does_not_hang() -> None:
    text = f"secret={'token.' * 100_000}-1a"
    assert all(0 <= edit.start <= edit.end <= len(text) for edit in CHECK.find(text))
