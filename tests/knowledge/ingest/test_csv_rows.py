"""CSV and TSV: a row is a fact; rows are read one by one; what is wrong is named by its line."""

from __future__ import annotations

import csv
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingested import fold, ingest, located, texts

from director_ai.errors import ConfigError
from director_ai.knowledge.ingest import Passage, csv_rows, read_passages

READ = {
    "a column of facts": ("fact\nThe fee is ten.\n", ["The fee is ten."]),
    "names of columns in any case": ("ID,Text\n1,The fee is ten.\n", ["The fee is ten."]),
    "other columns beside a fact are left out": ("fact,author\nThe fee is ten.,me\n", ["The fee is ten."]),
    "no column of facts": ("Day,Hours\nMon,9\nTue,\n", ["Day: Mon; Hours: 9", "Day: Tue"]),
    "keys and values": ("key,value\nfee,ten\n", ["key: fee; value: ten"]),
    "semicolons": ("Day;Hours\nMon;9,5\n", ["Day: Mon; Hours: 9,5"]),
    "tabs in a .csv": ("Day\tHours\nMon\t9,5\n", ["Day: Mon; Hours: 9,5"]),
    "a delimiter in quotes does not count": ('"a;b;c",d\n1,2\n', ["a;b;c: 1; d: 2"]),
    "quotes, line ends and delimiters in cells": ('fact,x\r\n"The ""fee"",\r\nis ten.",1\r\n', ['The "fee", is ten.']),
    "formulas are data": ("fact\n=1+1\n+1\n-1\n@x\n", ["=1+1", "+1", "-1", "@x"]),
    "blank rows": ("\n\nfact,x\n\nThe fee is ten.,\n,\n   \n", ["The fee is ten."]),
    "old line ends": ("fact\rThe fee is ten.\rTea is free.", ["The fee is ten.", "Tea is free."]),
    "a separator of lines inside a cell": ("fact\nThe fee\u2028is\x85ten.\n", ["The fee is ten."]),
    "NUL and control characters": ("fact\nThe \0fee\x1b is ten.\n", ["The fee is ten."]),
    "SQL, HTML and braces are data": ("fact\n'; DROP TABLE x; <b>{{y}}</b>\n", ["'; DROP TABLE x; <b>{{y}}</b>"]),
    "only a header": ("fact\n", []),
    "nothing": ("", []),
    "only blank lines": ("\n\n \n", []),
}  # fmt: skip


@pytest.mark.parametrize(("document", "expected"), READ.values(), ids=READ)
def test_rows_are_read(document: str, expected: list[str]) -> None:
    assert texts(document, ".csv") == expected


def test_a_tsv_has_tabs_and_a_bom_is_no_part_of_the_header() -> None:
    assert texts("\ufefffact\tnote\nOne, two; three\tx\n", ".TSV") == ["One, two; three"]


def test_keys_offsets_and_rows() -> None:
    document = 'key,fact\nk1,"One,\ntwo."\n\n,Three.\n'
    assert ingest(document, ".csv", source="fees") == [
        Passage(key="k1", text="One, two.", source="fees", start=9, end=23, locator="row 2"),
        Passage(key="fees#4", text="Three.", source="fees", start=25, end=32, locator="row 4"),
    ]


def test_an_id_is_unique_in_its_file_alone_and_a_key_is_unique_everywhere() -> None:
    assert [each.key for each in ingest("ID,Text\n7,One.\n,Two.\n", ".csv", source="fees")] == ["fees#7", "fees#3"]
    assert [each.key for each in ingest("id,key,text\n7,k,One.\n", ".csv", source="fees")] == ["k"]


REFUSED = {
    "a cell too few": ("a,b\n1,2\nsecret\n", "line 3"),
    "a cell too many": ('a,b\n"1\n2",3\n1,2,secret\n', "line 4"),
    "a quotation mark that does not close": ('a,b\n1,2\n"secret,2\n3,4\n', "line 4"),
    "text after a quotation mark": ('a,b\n"secret"x,2\n', "line 2"),
    "a row without its fact": ("key,fact\nsecret,\n", "line 2"),
    "a first row with a number": ("\nsecret,-1.5\ncoffee,4\n", "line 2 looks like data, not like names of columns"),
    "a column without a name": (",secret\n1,Mon\n", "line 1 looks like data"),
    "two columns of facts": ("fact,Fact\nsecret,x\n", "2 columns"),
    "bytes of another encoding": (b"fact\nsecret\xe9\n", "0xe9 at offset 11"),
}


@pytest.mark.parametrize(("document", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_named_by_its_line_and_never_quoted(document: str | bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        ingest(document, ".csv")
    assert "secret" not in str(caught.value)
    assert "document.csv" in str(caught.value)
    assert caught.value.__context__ is None


def test_a_cell_beyond_the_limit_of_the_standard_library_is_read() -> None:
    before = csv.field_size_limit()
    try:
        assert [len(text) for text in texts(f"fact\n{'x' * 300_000}\n", ".csv")] == [300_000]
    finally:
        csv.field_size_limit(before)


def test_a_row_that_never_ends_is_refused_before_memory_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "LONGEST_LINE", 1000)
    with pytest.raises(ConfigError, match="row of more than 1000 characters"):
        ingest('fact\n"' + "x\n" * 1000, ".csv")


def test_a_long_file_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    with path.open("w") as file:
        file.write("fact\n")
        file.writelines(
            f"The fee of the clinic number {number} is ten euros and not more.\n" for number in range(20_000)
        )
    ingest("fact\none\n", ".csv")  # what is loaded once does not count
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_passages(path)) == 20_000
        assert tracemalloc.get_traced_memory()[1] < path.stat().st_size / 4
    finally:
        tracemalloc.stop()


cells = st.text(alphabet='ab ,;"\n\r\t=é', max_size=8)


@given(st.lists(st.lists(cells, min_size=2, max_size=2), max_size=8))
def test_what_a_writer_of_csv_wrote_is_what_is_read(rows: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file).writerows([["a", "b"], *rows])
    folded = [[fold(cell) for cell in row] for row in rows]
    expected = ["; ".join(f"{name}: {cell}" for name, cell in zip("ab", row, strict=True) if cell) for row in folded]
    assert located(file.getvalue(), ".csv") == [(text, f"row {n}") for n, text in enumerate(expected, 2) if text]
