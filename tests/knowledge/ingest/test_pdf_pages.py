"""PDF: text by page, and a clear word where there is none."""

from __future__ import annotations

import io
import logging
import sys

import pypdf
import pytest
from ingested import fold, ingest, located, pdf, texts

from director_ai.errors import ConfigError, MissingExtra

FEE = ["The fee is ten euros."]


def test_every_passage_knows_its_page() -> None:
    assert located(pdf([["The fee is ten euros. Tea is free."], ["Dogs may enter."]]), ".pdf") == [
        ("The fee is ten euros. Tea is free.", "page 1"),
        ("Dogs may enter.", "page 2"),
    ]


def test_offsets_count_in_the_text_of_all_pages() -> None:
    data = pdf([["The fee is ten euros.", "Tea is free."], ["Dogs may enter."]])
    pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages]
    document = "\f".join(pages)
    found = ingest(data, ".PDF", sentences=1)
    assert [passage.text for passage in found] == ["The fee is ten euros.", "Tea is free.", "Dogs may enter."]
    assert [fold(document[passage.start : passage.end]) for passage in found] == [passage.text for passage in found]


WRAPPED = {
    "a word that was cut": (["The inter-", "national fee is ten."], ["The international fee is ten."]),
    "a name that was cut at its own hyphen": (["The Baden-", "Baden fee is ten."], ["The Baden- Baden fee is ten."]),
    "a range of numbers": (["The fee is 10-", "20 euros."], ["The fee is 10- 20 euros."]),
    "lines of one sentence": (["The fee is", "ten euros."], ["The fee is ten euros."]),
}


@pytest.mark.parametrize(("lines", "expected"), WRAPPED.values(), ids=WRAPPED)
def test_lines_are_put_together(lines: list[str], expected: list[str]) -> None:
    assert texts(pdf([lines]), ".pdf") == expected


def test_pages_without_text_are_passed_over() -> None:
    assert located(pdf([[], FEE, []]), ".pdf") == [("The fee is ten euros.", "page 2")]


def test_a_document_of_pictures_only_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"'.*document\.pdf' has no text on any of its 2 pages .*OCR"):
        ingest(pdf([[], []]), ".pdf")


def encrypted(user_password: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([FEE])))
    writer.encrypt(user_password, "owner", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_an_encrypted_document_is_refused() -> None:
    with pytest.raises(ConfigError, match="is encrypted; save it without a password"):
        ingest(encrypted("secret"), ".pdf")


def test_a_document_that_anybody_may_open_is_read() -> None:
    assert texts(encrypted(""), ".pdf") == FEE


DAMAGED = {
    "no PDF": b"secret secret secret",
    "only a header": b"%PDF-1.4\n",
    "cut in the middle": pdf([FEE])[:200],
    "binary rubbish": bytes(range(256)) * 20,
    "no pages": pdf([FEE]).replace(b"/Pages", b"/Pxges"),
    "a tree of pages that holds itself": pdf([FEE]).replace(b"/Kids [5 0 R]", b"/Kids [2 0 R]"),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_document_is_refused_and_not_quoted(
    data: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError, match=r"document\.pdf' (is no PDF, or a damaged one|has no text)") as caught:
        ingest(data, ".pdf")
    assert "secret" not in str(caught.value) + caplog.text + "".join(capfd.readouterr())
    assert caught.value.__context__ is None


def test_whoever_set_a_level_for_the_library_keeps_it() -> None:
    logger = logging.getLogger("pypdf")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        texts(pdf([FEE]), ".pdf")
        assert logger.level == logging.ERROR
    finally:
        logger.setLevel(before)


def test_an_empty_file_has_no_passages() -> None:
    assert texts(b"", ".pdf") == []


def test_a_missing_library_is_named_by_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf.errors", None)
    with pytest.raises(MissingExtra, match=r"reading PDF .*pip install '\.\[pdf\]"):
        ingest(pdf([FEE]), ".pdf")
