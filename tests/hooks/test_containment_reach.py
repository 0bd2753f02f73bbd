"""What reaches out: hosts in every spelling, credentials, and claims to be elsewhere; and what does not."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import pathlib
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from director_ai.hooks.containment import AnchorKey, ContainmentHook, HostRules, issue_anchor
from director_ai.hooks.containment.addresses import find_hosts
from director_ai.hooks.containment.numerals import addresses_of
from director_ai.hooks.protocol import Occasion, ProposedAction
from director_ai.testing import ManualClock

NOW = 1_800_000_000.0
KEY = AnchorKey.from_secret(b"k" * 32)
RULES = HostRules(
    allow=("*.sandbox.example.com", "127.0.0.0/8", "::1", "localhost", "bücher.example"),
    deny=("*.prod.example.com", "prod-*.example.net", "10.20.0.0/16", "2001:db8:77::/48", "prod-db", "vault-*"),
)
OPEN = HostRules(deny=RULES.deny)


def contained(rules: HostRules = RULES, scope: Any = "sandbox") -> ContainmentHook:
    token = issue_anchor(KEY, subject="agent-7", scope=scope, now=NOW)
    return ContainmentHook(token, keys=[KEY], rules={scope: rules}, clock=ManualClock(NOW))


HOOK, OPEN_HOOK = contained(), contained(OPEN)


def text_reasons(text: str, hook: ContainmentHook = HOOK) -> set[str]:
    return set(hook.judge_text(text).reasons)


def action_reasons(hook: ContainmentHook = HOOK, **arguments: Any) -> set[str]:
    return set(hook.examine(Occasion(action=ProposedAction(name="call", arguments=arguments))).reasons)


DENIED: dict[str, str] = {
    "a link": "See https://db.prod.example.com/x.",
    "capitals and a closing dot": "HTTPS://DB.PROD.EXAMPLE.COM./x",
    "a bare name": "Ask db.prod.example.com, please.",
    "a name with a port": "telnet db.prod.example.com:5432",
    "far below": "https://a.b.c.prod.example.com",
    "a glob": "https://prod-eu7.example.net",
    "a name of one word": "connect to prod-db now",
    "a glob of one word": "ask vault-7",
    "mail": "write to root@db.prod.example.com",
    "a shell command": "scp x git@db.prod.example.com:/tmp",
    "another scheme": "postgresql://db.prod.example.com/main",
    "a scheme of two": "jdbc:postgresql://db.prod.example.com:5432/main",
    "no scheme": "fetch(//db.prod.example.com/x)",
    "no slashes": "https:db.prod.example.com",
    "one slash": "https:/db.prod.example.com",
    "many slashes": "https://////db.prod.example.com",
    "backslashes": "https:\\\\db.prod.example.com",
    "a share": "open \\\\db.prod.example.com\\c$",
    "slashes escaped for JSON": 'see "https:\\/\\/db.prod.example.com"',
    "a user that looks like a host": "https://api.sandbox.example.com@db.prod.example.com/",
    "a user and a password that do": "https://api.sandbox.example.com:443@db.prod.example.com/",
    "two users": "https://a@api.sandbox.example.com@db.prod.example.com/",
    "a user with commas": "https://api.sandbox.example.com,x@db.prod.example.com/",
    "a user with brackets": "https://api.sandbox.example.com)@db.prod.example.com/",
    "a backslash before the user's sign": "https://api.sandbox.example.com\\@db.prod.example.com/",
    "the other way round": "https://db.prod.example.com\\@api.sandbox.example.com/",
    "in the query of another": "https://api.sandbox.example.com/?next=https://db.prod.example.com/",
    "escaped in the query of another": "https://api.sandbox.example.com/?next=https%3A%2F%2Fdb.prod.example.com%2F",
    "escaped twice": "https://api.sandbox.example.com/?next=https%253A%252F%252Fdb%252Eprod.example.com",
    "a percent sign for a dot": "https://db%2eprod%2Eexample.com/",
    "entities": "&#104;ttps://db&#46;prod&period;example.com/",
    "escapes of a program": "https://db\\u002eprod\\x2eexample.com/",
    "escapes of another program": "https://db\\u{2e}prod.example.com/",
    "a null byte": "https://db.prod.example.com%00.sandbox.example.com/",
    "wide letters": "https://ｄｂ.ｐｒｏｄ.example.com",
    "dots of other scripts": "https://db。prod．example｡com",
    "letters in circles": "https://ⓓⓑ.prod.example.com",
    "an invisible character": "https://db.pr\u200bod.example.com",
    "a soft hyphen": "https://db.pr\u00adod.example.com",
    "a tag character": "https://db.pr\U000e0070od.example.com",
    "a Cyrillic letter": "https://db.рrоd.example.com",
    "a Greek letter": "https://db.prοd.example.com",
    "an accent": "https://db.pröd.example.com",
    "the same in Punycode": "https://db.xn--prd-tna.example.com",
    "Markdown": "[safe](https://db.prod.example.com/)",
    "a picture": "![x](//db.prod.example.com/x.png)",
    "in quotes": "curl 'https://db.prod.example.com'",
    "an address": "ping 10.20.0.5",
    "an address in a link": "http://10.20.0.5:8080/",
    "one number": "http://169082885/",
    "hexadecimal": "http://0x0A140005/",
    "hexadecimal parts": "http://0x0a.0x14.0x0.0x5/",
    "octal": "http://012.024.0.05/",
    "octal that is read as decimal": "http://010.020.000.005/",
    "three parts": "http://10.20.5/",
    "two parts": "http://10.1310725/",
    "mixed": "http://0xa.024.5/",
    "a closing dot": "http://10.20.0.5./",
    "wide digits": "http://１０.２０.０.５/",
    "an address of the next version": "http://[2001:db8:77::5]/",
    "in full": "http://[2001:0DB8:0077:0000:0000:0000:0000:0005]/",
    "with a zone": "http://[2001:db8:77::5%25eth0]/",
    "bare": "ping6 2001:db8:77::5",
    "mapped": "http://[::ffff:10.20.0.5]/",
    "mapped, in hexadecimal": "http://[::ffff:a14:5]/",
    "compatible": "http://[::10.20.0.5]/",
    "translated": "http://[64:ff9b::10.20.0.5]/",
    "six to four": "http://[2002:a14:5::1]/",
    "Teredo": "http://[2001:0:4136:e378:8000:63bf:f5eb:fffa]/",
    "ISATAP": "http://[fe80::5efe:10.20.0.5]/",
    "a public name of an address": "http://10.20.0.5.nip.io/",
    "with hyphens": "http://x-10-20-0-5.sslip.io/",
    "in hexadecimal": "http://0a140005.nip.io/",
}


@pytest.mark.parametrize("text", DENIED.values(), ids=DENIED.keys())
def test_no_spelling_hides_a_denied_host(text: str) -> None:
    for hook in (HOOK, OPEN_HOOK):
        assert "text.host_denied" in text_reasons(text, hook)
        assert "action.host_denied" in action_reasons(hook, note=text)


OUTSIDE = [
    "https://docs.example.org/",
    "https://sandbox.example.com/",
    "https://api.sandbox.example.com.evil.org/",
    "https://apisandbox.example.com/",
    "https://evil.org/#api.sandbox.example.com",
    "https://evil.org?api.sandbox.example.com",
    "https://api.sandbox.example.com@evil.org",
    "https://аpi.sandbox.example.com/".replace("sandbox", "ѕandbox"),
    "https://intranet/",
    "http://8.8.8.8/",
    "ping 8.8.8.8",
    "http://2130706434.evil.org/",
    "http://[::ffff:127.0.0.1]/",
    "http://127.0.0.1.evil.org/",
    "http://xn--bcher-kva.example.org/",
    "ftp://evil.org",
    "gopher://evil.org:70/_x",
    "//evil.org/x.js",
    "http://8.8.8.8.nip.io/",
    "http://127.0.0.1.nip.io/",
]


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_is_not_allowed_is_outside_where_some_hosts_are_allowed(text: str) -> None:
    assert text_reasons(text) == {"text.host_outside"}
    assert action_reasons(note=text) == {"action.host_outside"}
    assert text_reasons(text, OPEN_HOOK) == set()


UNREADABLE = [
    "http://999.1.1.1/",
    "http://1.2.3.4.5/",
    "http://0x1ffffffff/",
    "http://10.20.0.256/",
    "http://[1::2::3]/",
    "http://a%zz.example.com/",
    f"http://{'a' * 64}.sandbox.example.com/",
    f"http://{'a' * 400}/",
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_link_that_cannot_be_read_is_not_followed(text: str) -> None:
    for hook in (HOOK, OPEN_HOOK):
        assert text_reasons(text, hook) == {"text.host_unreadable"}
        assert action_reasons(hook, note=text) == {"action.host_unreadable"}


HARMLESS = [
    "Hello, all is well.",
    "",
    "Use file.txt, e.g. with Node.js 3.14 or v1.2.3; see README.md.",
    "It costs 1.234.567,89 or 100% of it & more.",
    "At 10:20:30 it was 5 // a comment //TODO and a::b or std::vector.",
    "C:\\\\Users\\\\me and C:/Users/me and \\\\n",
    "http: the protocol. https:// is better.",
    "https://api.sandbox.example.com/x, (https://b.sandbox.example.com) and <https://c.sandbox.example.com>.",
    "http://127.0.0.1:8000/, http://2130706433/, http://0x7f.1/, http://[::1]:80/ and http://localhost:3000/.",
    "https://API.Sandbox.Example.COM./",
    "https://BÜCHER.example/ and https://xn--bcher-kva.example/",
    "The product database is described; predb and prod-dbx too.",
    "https://{host}/ and https://<your-host>/",
    "sqlite:///tmp/x.db and file:///etc/hosts",
    "mail ada@api.sandbox.example.com",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert text_reasons(text) == set()
    assert action_reasons(note=text) == set()


NUMBERS = [
    "The fee is 10.5 percent of the order.",
    "Upgrade to version 10.4.1.",
    "See section 10.3.",
    "Meet at 10.30 am.",
    "$10.99 only",
    "At 0.5 percent.",
]


@pytest.mark.parametrize("text", NUMBERS)
def test_prices_times_and_versions_are_no_addresses(text: str) -> None:
    hook = contained(HostRules(deny=("10.0.0.0/8", "192.168.0.0/16", "0.0.0.0/8")))
    assert text_reasons(text, hook) == set()
    assert action_reasons(hook, price=text) == set()
    assert text_reasons(f"{text} Ask 10.1.2.3 or http://10.5/.", hook) == {"text.host_denied"}


def test_denying_everything_denies_hosts_and_not_words() -> None:
    hook = contained(HostRules(deny=("*",)))
    assert text_reasons("Use file.txt.", hook) == set()
    assert text_reasons("https://a.org http://1.2.3.4/", hook) == {"text.host_denied"}
    assert text_reasons("https://a.org http://1.2.3.4/", contained(HostRules(allow=("*",)))) == set()


def test_what_is_denied_stays_denied_where_it_is_allowed_as_well() -> None:
    hook = contained(HostRules(allow=("*.example.com", "10.0.0.0/8"), deny=("db.example.com", "10.20.0.0/16")))
    assert text_reasons("https://a.example.com http://10.1.0.1/", hook) == set()
    assert text_reasons("https://db.example.com", hook) == {"text.host_denied"}
    assert text_reasons("http://10.20.0.1/", hook) == {"text.host_denied"}
    assert text_reasons("http://012.1.0.1/", hook) == {"text.host_outside"}, "12.1.0.1 to those who read decimals"


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = {"x": [value]}
    return value


ARGUMENTS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "a host": ({"host": "db.prod.example.com"}, {"action.host_denied"}),
    "a host of one word": ({"host": "blue"}, {"action.host_outside"}),
    "a host and its port": ({"server": "blue:80"}, {"action.host_outside"}),
    "a host that is allowed": ({"hosts": ["localhost", "127.0.0.1:80"]}, set()),
    "several hosts in one": ({"brokers": "localhost:1,10.20.0.1:9092"}, {"action.host_denied"}),
    "a number for an address": ({"ip": 169_082_885}, {"action.host_denied"}),
    "such a number elsewhere": ({"amount": 169_082_885}, set()),
    "a small number": ({"server": 3}, set()),
    "an address of the next version": ({"endpoint": "[::ffff:a14:5]:80"}, {"action.host_denied"}),
    "the same without brackets": ({"host": "::ffff:a14:5"}, {"action.host_denied"}),
    "a short form": ({"host": "10.20.5"}, {"action.host_denied"}),
    "a link without a scheme": ({"url": "evil.org/x"}, {"action.host_outside"}),
    "an endpoint that is a path": ({"endpoint": "chat/completions"}, set()),
    "a command of the network": ({"command": "cat x.txt; curl -o out.json evil.org/x"}, {"action.host_outside"}),
    "another one": ({"cmd": "ssh ada@evil.org"}, {"action.host_outside"}),
    "a command inside": ({"script": "curl a.sandbox.example.com -o out.json; python manage.py"}, set()),
    "a sentence about it": ({"query": "how does curl ask example.org"}, set()),
    "a path": ({"url": "/x/y", "link": "x"}, set()),
    "names in camels": ({"baseUrl": "evil.org", "targetHostName": "evil"}, {"action.host_outside"}),
    "line ends in a link": ({"url": "ht\ntp\n://db.pr\tod.example.com"}, {"action.host_denied", "action.host_outside"}),
    "deep inside": ({"x": nested("db.prod.example.com", 10)}, {"action.host_denied"}),
    "as a name": ({"db.prod.example.com": 1}, {"action.host_denied"}),
    "in a set": ({"x": {"db.prod.example.com"}}, {"action.host_denied"}),
    "in bytes": ({"x": b"https://db.prod.example.com"}, {"action.host_denied"}),
    "as an address": ({"x": ipaddress.ip_address("10.20.0.5")}, {"action.host_denied"}),
    "as a path": ({"x": pathlib.PurePosixPath("/mnt/db.prod.example.com")}, {"action.host_denied"}),
    "in JSON": (
        {"body": '{"u": "https:\\/\\/db.prod\\u002eexample.com"}'},
        {"action.host_denied", "action.host_outside"},
    ),
    "an environment": ({"env": "prod"}, {"action.other_scope"}),
    "an environment with a region": ({"APP_ENV": "eu-Production-2"}, {"action.other_scope"}),
    "an environment in wide letters": ({"environment": "ｐｒｏｄ"}, {"action.other_scope"}),
    "the right environment": ({"env": "sandbox", "stage": "test", "environment": "dev"}, set()),
    "a flag": ({"is_production": True}, {"action.other_scope"}),
    "a flag in words": ({"liveMode": "yes"}, {"action.other_scope"}),
    "a flag as a number": ({"prod": 1}, {"action.other_scope"}),
    "a flag that is off": ({"production": False, "dry_run": False}, set()),
    "the sandbox switched off": ({"sandbox": False}, {"action.other_scope"}),
    "another scope switched on": ({"simulate": True}, {"action.other_scope"}),
    "a command": ({"command": "deploy --env production"}, {"action.other_scope"}),
    "a variable": ({"command": "NODE_ENV=production npm start"}, {"action.other_scope"}),
    "a number in a command": ({"command": "curl -s 169082885"}, {"action.host_denied"}),
    "a hexadecimal number in a command": ({"command": "curl 0x0a140005"}, {"action.host_denied"}),
    "small numbers in a command": ({"command": "curl -m 300 --retry 5 localhost:8080"}, set()),
    "a link that is a number": ({"url": 169_082_885}, {"action.host_denied"}),
    "a link that is written as a number": ({"url": "0x0a140005/orders"}, {"action.host_denied"}),
    "a host that is a fraction": ({"host": 169_082_885.0}, {"action.host_denied"}),
    "other numbers": ({"node": 169_082_885, "url_id": 7, "token": 123_456, "port": 8080.0}, set()),
    "a flag as a fraction": ({"is_production": 1.0}, {"action.other_scope"}),
    "the sandbox switched off by a fraction": ({"sandbox": 0.0}, {"action.other_scope"}),
    "the sandbox switched off by a letter": ({"sandbox": "n"}, {"action.other_scope"}),
    "a namespace": ({"namespace": "production"}, {"action.other_scope"}),
    "a deployment": ({"deployment": "Production"}, {"action.other_scope"}),
    "a profile": ({"profile": "prod"}, {"action.other_scope"}),
    "a mode": ({"mode": "live"}, {"action.other_scope"}),
    "other modes": ({"mode": "dev", "profile": "ada", "namespace": "test", "deployment": "blue"}, set()),
    "a password that begins like a word": ({"password": "mysecretpw99"}, {"action.credential"}),
    "a password that begins like a variable": ({"password": "$ecret123"}, {"action.credential"}),
    "a password in brackets": ({"password": "{hunter2}"}, {"action.credential"}),
    "a password of digits": ({"password": 12345678}, {"action.credential"}),
    "short names of passwords": ({"pw": "hunter2!"}, {"action.credential"}),
    "a pass": ({"db_pass": "hunter2!"}, {"action.credential"}),
    "a pass of an airline": ({"boarding_pass": "AB1234"}, set()),
    "where a list goes on": ({"page_token": "abcd1234", "nextPageToken": "abcd1234"}, set()),
    "more to fill in": ({"password": "{{ secrets.db_1 }}", "secret": "your-secret", "pwd": "$DB_PASS"}, set()),
    "a user of a command": ({"command": "curl -u ada:hunter22 localhost"}, {"action.credential"}),
    "a header of a command": ({"x": "curl -H 'Authorization: Basic dXNlcjpwYXNz' x"}, {"action.credential"}),
    "a password": ({"password": "abcd1234"}, {"action.credential"}),
    "a key": ({"apiKey": "abcd1234"}, {"action.credential"}),
    "a header": ({"headers": {"Authorization": "Basic YWJj"}}, {"action.credential"}),
    "a password to fill in": ({"password": "${PASSWORD}", "token": "<token>", "api_key": "***"}, set()),
    "figures about keys": ({"max_tokens": 5, "token_count": "1234", "secret_name": "main-key"}, set()),
    "a number that is none": ({"x": float("nan")}, {"action.unreadable"}),
    "an endless number": ({"x": [float("-inf")]}, {"action.unreadable"}),
    "something else": ({"x": object()}, {"action.unreadable"}),
    "a function": ({"x": {"y": print}}, {"action.unreadable"}),
    "names that are none": ({"x": {(1, 2): 3}}, {"action.unreadable"}),
    "plain values": (
        {
            "a": None,
            "b": True,
            "c": 1.5,
            "d": decimal.Decimal("1.5"),
            "e": np.float32(1.5),
            "f": np.int64(5),
            "g": uuid.UUID(int=5),
            "h": datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC),
            "i": (),
            "j": {1: 2},
        },
        set(),
    ),
    "too deep": ({"x": nested("y", 20)}, {"action.too_large"}),
    "too many": ({"x": [0] * 10_001}, {"action.too_large"}),
    "too long": ({"x": "a" * 1_000_001}, {"action.too_large"}),
    "too many hosts": ({"x": " ".join(f"h{at}.example.org" for at in range(6_000))}, {"action.too_large"}),
}


@pytest.mark.parametrize(("arguments", "expected"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_every_value_of_an_action_is_looked_at(arguments: dict[str, Any], expected: set[str]) -> None:
    assert action_reasons(**arguments) == expected


def test_arguments_that_hold_themselves_are_too_deep() -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert action_reasons(x=loop) == {"action.too_large"}


def test_what_cannot_be_read_hides_nothing_beside_it() -> None:
    found = action_reasons(a=object(), b="https://db.prod.example.com", c=float("nan"), env="prod")
    assert found == {"action.unreadable", "action.host_denied", "action.other_scope"}


class Endless(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return key

    def __iter__(self) -> Iterator[str]:
        while True:
            yield ""

    def __len__(self) -> int:
        return 1


class Raising(Endless):
    def __iter__(self) -> Iterator[str]:
        raise OSError("db.prod.example.com")


class Hiding(dict[str, Any]):
    """Shows nothing of what it holds."""

    def items(self) -> Any:
        return ()


class TwoFaced(str):
    """Says something else whenever it is asked."""

    __slots__ = ()

    def isascii(self) -> bool:
        return True

    def lower(self) -> str:
        return "harmless"

    def __str__(self) -> str:
        return "harmless"

    def __len__(self) -> int:
        return 0


def test_hostile_values_are_refused_or_read_as_they_are() -> None:
    assert action_reasons(x=Endless()) == {"action.too_large"}
    assert action_reasons(x=Raising()) == {"action.unreadable"}
    assert action_reasons(x=Hiding(y="https://db.prod.example.com")) == {"action.host_denied"}
    assert action_reasons(x=TwoFaced("https://db.prod.example.com")) == {"action.host_denied"}
    assert text_reasons(TwoFaced("https://db.prod.example.com")) == {"text.host_denied"}


CREDENTIALS = [
    "-----BEGIN OPENSSH PRIVATE KEY-----\nabc",
    "AKIA" + "ABCDEFGH23456722",
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 12,
    "glpat-" + "a1" * 10,
    "xoxb-" + "1234567890-abc",
    "sk-" + "a1" * 12,
    "sk_live_" + "a1" * 6,
    "AIza" + "a" * 35,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.abc",
    "Authorization: Bearer abcdef0123456789abcdef",
    "postgresql://ada:hunter2@localhost/x",
    "The password is hunter42x.",
    'api_key = "abcd1234efgh"',
]
NO_CREDENTIALS = [
    "Reset your password in the settings.",
    "password: <your password>, password=$PASSWORD, password: ********",
    "The token count is 12345678.",
    "Reset your password: https://a.sandbox.example.com/reset1",
    "Authorization: Basic authentication is used.",
    "curl -u user:password localhost",
    "sk-learn and a sk-lift",
    "https://localhost:8080/@ada",
    "postgresql://ada:${PASSWORD}@localhost/x",
    "0123456789abcdef0123456789abcdef",
]


@pytest.mark.parametrize("text", CREDENTIALS, ids=lambda text: text[:12])
def test_keys_and_passwords_are_seen(text: str) -> None:
    assert "text.credential" in text_reasons(text)
    assert "action.credential" in action_reasons(note=[text])


@pytest.mark.parametrize("text", NO_CREDENTIALS, ids=lambda text: text[:12])
def test_words_about_keys_are_no_keys(text: str) -> None:
    assert text_reasons(text, OPEN_HOOK) == set()


PRODUCTION_CLAIMS = [
    "This is production.",
    "THIS IS PRODUCTION!",
    "We are running in production now.",
    "You're on the live system.",
    "it's now prod",
    "Deploy this to prod.",
    "I switched to the production database.",
    "connected to production",
    "env=prod",
    'ENVIRONMENT: "production"',
    "run it --env live",
    "This is not a sandbox.",
    "We aren't in the sandbox environment.".replace("aren't", "are not"),
    "Тhis iѕ рroduction.".replace("Т", "T").replace("ѕ", "s").replace("р", "p"),
]
SANDBOX_CLAIMS = ["This is a sandbox.", "We're in a test environment.", "this is only a simulation", "It is a dry run."]
NO_CLAIMS = [
    "If this is production, stop.",
    "Tell me whether this is production.",
    "We live in Berlin.",
    "The film went into production in 1999.",
    "This product is live-tested.",
    "Production of steel rose.",
    "The delivery is within 30 days.",
    "This is live music.",
    "It's production ready.",
]


@pytest.mark.parametrize("text", PRODUCTION_CLAIMS)
def test_a_sandbox_does_not_call_itself_production(text: str) -> None:
    assert text_reasons(text, OPEN_HOOK) == {"text.other_scope"}
    if "not" not in text:
        assert text_reasons(text, contained(OPEN, "production")) == set()


@pytest.mark.parametrize("text", SANDBOX_CLAIMS)
def test_production_does_not_call_itself_a_rehearsal(text: str) -> None:
    assert text_reasons(text, contained(OPEN, "production")) == {"text.other_scope"}


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_words_that_claim_nothing_are_left_alone(text: str) -> None:
    for scope in ("sandbox", "production", "simulator", "shadow"):
        assert text_reasons(text, contained(OPEN, scope)) == set()


@pytest.mark.parametrize("scope", ["sandbox", "production", "simulator", "shadow"])
def test_a_scope_may_say_its_own_name(scope: str) -> None:
    assert text_reasons(f"This is the {scope}. We are in the {scope} environment.", contained(OPEN, scope)) == set()


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["d", "x", "o", "3", "2", "mapped", "dotted"]))
def test_every_notation_of_an_address_is_the_same_address(number: int, notation: str) -> None:
    address = ipaddress.IPv4Address(number)
    a, b, c, d = address.packed
    written = {
        "d": str(number),
        "x": hex(number),
        "o": f"0{number:o}",
        "3": f"{a}.{b}.{number & 0xFFFF}",
        "2": f"{a:#x}.{number & 0xFFFFFF}",
        "mapped": f"[::ffff:{address}]",
        "dotted": f"{a}.{b}.{c}.{d}.",
    }[notation]
    assert address in addresses_of(written)[0]


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_any_text_gets_a_verdict(text: str) -> None:
    for hook in (HOOK, OPEN_HOOK):
        assert hook.judge_text(text).decision in ("allow", "warn", "halt")
    assert all(isinstance(mention.host, str) for mention in find_hosts(f"https://{text}", RULES))


@settings(max_examples=100)
@given(st.text(max_size=30), st.text(max_size=30))
def test_whatever_stands_around_it_a_denied_link_is_found(before: str, behind: str) -> None:
    assert "text.host_denied" in text_reasons(f"{before} https://db.prod.example.com/ {behind}")


def test_a_text_beyond_the_limit_is_halted_unread() -> None:
    assert text_reasons("a" * 1_000_001) == {"text.too_large"}
    assert contained().judge_text("a" * 1_000_001).decision == "halt"
