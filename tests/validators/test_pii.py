"""Personal data: what is found, what is left alone, and that windows and hostile texts change nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.core.checks.rules import Check
from director_ai.core.merge import merge_edits
from director_ai.errors import ConfigError, MissingExtra, UnknownOption
from director_ai.validators.checksums import digits_of, luhn_holds, mod97, verhoeff_holds
from director_ai.validators.pii import KINDS, PII

CHECK = PII()


def found(text: str, check: PII = CHECK) -> list[tuple[str, str]]:
    return [(edit.reason, text[edit.start : edit.end]) for edit in check.find(text)]


HELD = {
    "an e-mail before a full stop": ("Write to jo.smith+x@mail.example.org.", "email", "jo.smith+x@mail.example.org"),
    "an e-mail in quotes": ("'jo@example.org'", "email", "jo@example.org"),
    "an e-mail spelled out": ("jo [at] example [dot] org", "email", "jo [at] example [dot] org"),
    "an e-mail with umlauts": ("jörg@müller.de", "email", "jörg@müller.de"),
    "a card in one piece": ("card 4111111111111111.", "card", "4111111111111111"),
    "a card in groups": ("5500-0000-0000-0004", "card", "5500-0000-0000-0004"),
    "an Amex card": ("3782 822463 10005", "card", "3782 822463 10005"),
    "a card digit by digit": ("4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "card", "4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
    "a card behind another number": ("12 4111 1111 1111 1111", "card", "4111 1111 1111 1111"),
    "a card between no-break spaces": ("4111\xa01111\xa01111\xa01111", "card", "4111\xa01111\xa01111\xa01111"),
    "a card in full-width digits": ("４１１１１１１１１１１１１１１１", "card", "４１１１１１１１１１１１１１１１"),
    "an IBAN in one piece": ("GB82WEST12345698765432", "iban", "GB82WEST12345698765432"),
    "an IBAN before a word": ("DE89 3704 0044 0532 0130 00 and", "iban", "DE89 3704 0044 0532 0130 00"),
    "an IBAN in lower case": ("gb82west12345698765432", "iban", "gb82west12345698765432"),
    "an American number": ("(212) 555-0123", "phone", "(212) 555-0123"),
    "an American number with an extension": ("259.735.7502x459", "phone", "259.735.7502x459"),
    "an international number": ("+46 (0)8 928 571 38", "phone", "+46 (0)8 928 571 38"),
    "a British mobile": ("07700 900123", "phone", "07700 900123"),
    "a short number behind a word": ("Phone: 358 0594", "phone", "358 0594"),
    "a number before its word": ("416 60 039 office", "phone", "416 60 039"),
    "an SSN": ("054-28-6917", "us_ssn", "054-28-6917"),
    "an SSN in one piece behind a word": ("My SSN is 054286917", "us_ssn", "054286917"),
    "an ITIN": ("912-70-1234", "us_itin", "912-70-1234"),
    "an NHS number behind a word": ("NHS number 943 476 5919", "uk_nhs", "943 476 5919"),
    "a NINO": ("AB 12 34 56 C", "uk_nino", "AB 12 34 56 C"),
    "a German tax id": ("86095742719", "de_tax_id", "86095742719"),
    "a French NIR": ("2 55 08 14 168 025 38", "fr_nir", "2 55 08 14 168 025 38"),
    "a Spanish DNI": ("12345678Z", "es_dni", "12345678Z"),
    "a Spanish NIE": ("X1234567L", "es_nie", "X1234567L"),
    "an Italian fiscal code": ("RSSMRA85T10A562S", "it_fiscal_code", "RSSMRA85T10A562S"),
    "a Dutch BSN behind a word": ("BSN 111222333", "nl_bsn", "111222333"),
    "an Aadhaar number": ("2341 2341 2346", "in_aadhaar", "2341 2341 2346"),
    "an Indian PAN": ("ABCPE1234F", "in_pan", "ABCPE1234F"),
    "an Australian TFN behind a word": ("TFN 123 456 782", "au_tfn", "123 456 782"),
    "a Canadian SIN behind a word": ("SIN 193-456-787", "ca_sin", "193-456-787"),
    "a PESEL behind a word": ("PESEL 44051401359", "pl_pesel", "44051401359"),
    "a personnummer": ("811218-9876", "se_personnummer", "811218-9876"),
    "a HETU": ("131052-308T", "fi_hetu", "131052-308T"),
    "a Belgian number": ("85.07.30-033.28", "be_national_number", "85.07.30-033.28"),
    "an AHV number": ("756.9217.0769.85", "ch_ahv", "756.9217.0769.85"),
    "a CPF": ("529.982.247-25", "br_cpf", "529.982.247-25"),
    "an NRIC": ("S1234567D", "sg_nric", "S1234567D"),
    "a Chinese id": ("11010519491231002X", "cn_id", "11010519491231002X"),
    "a PPS number behind a word": ("PPS 1234567T", "ie_pps", "1234567T"),
    "a NIF behind a word": ("NIF 123456789", "pt_nif", "123456789"),
    "an IPv4 address": ("from 41.173.96.26.", "ip", "41.173.96.26"),
    "an IPv6 address": ("2001:db8::ff00:42:8329", "ip", "2001:db8::ff00:42:8329"),
    "a MAC address": ("00:1B:44:11:3A:B7", "mac", "00:1B:44:11:3A:B7"),
    "a Bitcoin address": ("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "crypto", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
    "a bech32 address": (
        "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
        "crypto",
        "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
    ),
    "a date of birth": ("Her date of birth is 5 May 1990.", "date_of_birth", "5 May 1990"),
    "when somebody was born, in figures": ("She was born on 2/19/1956.", "date_of_birth", "2/19/1956"),
    "a passport behind a word": ("passport number 123456789", "us_passport", "123456789"),
    "a bank account behind a word": ("account number 000123456789", "us_bank", "000123456789"),
    "a license behind a word": ("My driver's license is F162823540116", "us_driver_license", "F162823540116"),
}


@pytest.mark.parametrize(("text", "kind", "span"), HELD.values(), ids=HELD)
def test_finds_exactly(text: str, kind: str, span: str) -> None:
    assert found(text) == [(kind, span)]


LEFT_ALONE = {
    "prose": "The treaty of 1648 ended thirty years of war; some 8,000,000 people had died.",
    "a card with a wrong check digit": "4111111111111112",
    "a number of no issuer": "0000 0000 0000 0000",
    "an IBAN with wrong check digits": "GB83WEST12345698765432",
    "an SSN that was never issued": "666-12-3456 and 000-12-3456",
    "bare digits without a word": "123456789",
    "a date": "on 01.02.2023 and 2024-03-01 at 10:30:00",
    "a date behind a word for calls": "call on 2024-01-02 10:00",
    "a version": "version 1.2.3.4 and v10.20.30.40",
    "what an encyclopedia says": "Diane Baker (born February 25, 1938) is an actress.",
    "a date behind a word for licenses": "the license of 2009-03-08",
    "a section": "Section 5.2.3.8",
    "a slice": "values[3::4]",
    "a loopback address": "127.0.0.1 and ::1",
    "a scope in C++": "std::vector<a::b>",
    "a time": "12:30:45",
    "an ISBN": "ISBN 0-306-40615-2",
    "a decorator": "@app.route",
    "a handle": "ask @someone about it",
    "a commit": "3f786850e387550fdab836ed7e6dc881de23001b",
    "a UUID": "550e8400-e29b-41d4-a716-446655440000",
    "a number with thousands": "1,234,567,890.12",
    "a fraction": "0.4111111111111111",
    "a fiscal code with a wrong check letter": "RSSMRA85T10A562T",
    "an address on the web": "https://example.org/a?b=c",
    "a postal code and a house": "03262 2437",
}


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_leaves_alone(text: str) -> None:
    assert found(text) == []


def test_it_is_a_check_whose_placeholders_have_types() -> None:
    text = "Mail jo@example.org or call +1 212 555 0123."
    assert isinstance(CHECK, Check)
    assert merge_edits(text, CHECK.find(text)).text == "Mail [EMAIL] or call [PHONE]."
    assert all(edit.kind == "remove" and edit.check == "pii" for edit in CHECK.find(text))


def test_only_the_kinds_asked_for_are_found() -> None:
    text = "jo@example.org 41.173.96.26 https://example.org/x"
    assert found(text, PII(kinds=("ip",))) == [("ip", "41.173.96.26")]
    assert found(text, PII(kinds=("url",))) == [("url", "https://example.org/x")]
    assert "url" not in CHECK.kinds


def test_names_come_from_the_recogniser() -> None:
    check = PII(names=lambda text: [(text.index("Ada"), text.index("Ada") + 3)])
    assert found("It was Ada.", check) == [("name", "Ada")]
    with pytest.raises(ConfigError, match="within the text"):
        PII(names=lambda text: [(0, len(text) + 1)]).find("Ada")


def test_regions_decide_how_national_numbers_are_written() -> None:
    assert found("612 345 678", PII(regions=("ES",))) == [("phone", "612 345 678")]
    assert found("212-555-0123", PII(regions=("ES",))) == []


def test_the_library_finds_numbers_with_their_places() -> None:
    pytest.importorskip("phonenumbers")
    check = PII(phonenumbers=True, regions=("US",))
    assert found("Write or dial 212-456-7890 now.", check) == [("phone", "212-456-7890")]


def test_the_library_is_an_extra() -> None:
    try:
        import phonenumbers  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtra, match=r"pip install '\.\[pii\]"):
            PII(phonenumbers=True)


REFUSED = {
    "an unknown kind": ({"kinds": ("emial",)}, UnknownOption),
    "no kinds": ({"kinds": ()}, ConfigError),
    "a word for kinds": ({"kinds": "email"}, ConfigError),
    "an unknown region": ({"regions": ("XX",)}, UnknownOption),
    "names that cannot be called": ({"names": 3}, ConfigError),
    "phonenumbers of another type": ({"phonenumbers": "yes"}, ConfigError),
    "an empty name": ({"name": ""}, ConfigError),
}


def test_kinds_and_regions_may_be_lists() -> None:
    assert PII(kinds=["email"], regions=["US"]) == PII(kinds=("email",), regions=("US",))  # type: ignore[arg-type]


@pytest.mark.parametrize(("options", "error"), REFUSED.values(), ids=REFUSED)
def test_refuses(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        PII(**options)  # type: ignore[arg-type]


PIECES = st.sampled_from([text for text, _, _ in HELD.values()] + list(LEFT_ALONE.values()) + ["\n", "a", " 1 ", "(0"])


@given(st.text())
def test_edits_lie_in_order_within_any_text(text: str) -> None:
    edits = CHECK.find(text)
    assert all(0 <= edit.start < edit.end <= len(text) for edit in edits)
    assert list(edits) == sorted(edits, key=lambda edit: edit.start)
    assert {edit.reason for edit in edits} <= set(KINDS)


@given(st.lists(PIECES, max_size=40), st.data())
def test_a_window_decides_its_middle_as_the_whole_text_does(pieces: list[str], data: st.DataObject) -> None:
    text = " — ".join(pieces)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    low = start + CHECK.frontier if start else 0
    high = end - CHECK.frontier if end < len(text) else end
    whole = {place for edit in CHECK.find(text) for place in range(edit.start, edit.end)}
    part = {start + place for edit in CHECK.find(text[start:end]) for place in range(edit.start, edit.end)}
    assert {place for place in whole if low <= place < high} == {place for place in part if low <= place < high}


@given(st.lists(st.integers(0, 9), min_size=2, max_size=18))
def test_one_wrong_digit_is_noticed(digits: list[int]) -> None:
    for holds in (luhn_holds, verhoeff_holds):
        right = [*digits, next(last for last in range(10) if holds([*digits, last]))]
        wrong = [(right[0] + 1) % 10, *right[1:]]
        assert holds(right)
        assert not holds(wrong)


def test_check_digits_of_known_numbers() -> None:
    assert mod97("GB82WEST12345698765432") == 1
    assert verhoeff_holds(digits_of("2363"))
    assert digits_of("４-1 x٣") == [4, 1, 3]


HOSTILE = [
    "1",
    "1 ",
    "4111 ",
    "02 03 ",
    "ssn 123456789 ",
    "a@",
    "GB12 ",
    "::",
    "(0",
    "1.1.",
    "+1 ",
    "passport 12345678 ",
]


@pytest.mark.timeout(60)  # a second at most, where the work is proportional
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_of_100_000_characters_does_not_hang(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    assert all(0 <= edit.start <= edit.end <= len(text) for edit in CHECK.find(text))
