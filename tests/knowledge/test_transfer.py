"""Facts leave a store as JSON lines and arrive in another as they were."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from director_ai.errors import ConfigError
from director_ai.knowledge import Entry, GroundTruthStore, VectorGroundTruthStore
from director_ai.knowledge.tables import DuplicateFact
from director_ai.knowledge.transfer import LONGEST_LINE, export_facts, import_facts, read_facts

HEADER = '{"director_ai": "facts", "format": 1, "revision": 1, "exported_at": "2026-01-31T12:00:00Z"}\n'
CANARY = "canary-7431"


def exported(store: GroundTruthStore, tenant_id: str = "", **options: Any) -> str:
    stream = io.StringIO()
    export_facts(store, stream, tenant_id, **options)
    return stream.getvalue()


def imported(text: str, **options: Any) -> GroundTruthStore:
    store = GroundTruthStore()
    import_facts(store, io.StringIO(text), **options)
    return store


def provenance(store: GroundTruthStore, tenant_id: str = "") -> list[tuple[Any, ...]]:
    return [(f.key, f.text, f.tenant_id, f.source, f.start, f.end, f.added_by) for f in store.facts(tenant_id)]


def lines(*facts: Any) -> str:
    return HEADER + "".join(json.dumps(fact) + "\n" for fact in facts)


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.one_of(
    st.sampled_from(["The shop opens at nine.", "The shop opens at ten.", "Refunds take 30 days."]),
    st.text(CHARACTERS, min_size=1, max_size=40).filter(str.strip),
)
KEYS = st.one_of(st.sampled_from(["a", "b", "c"]), st.text(CHARACTERS, min_size=1, max_size=9).filter(str.strip)).map(
    str.strip
)
ENTRIES = st.builds(
    Entry,
    key=KEYS,
    text=TEXTS,
    source=st.text(CHARACTERS, max_size=9),
    start=st.none() | st.integers(0, 2**62 - 1),
    end=st.none() | st.integers(0, 2**62 - 1),
    added_by=st.text(CHARACTERS, max_size=9),
)


@given(st.lists(ENTRIES, max_size=12), st.sets(KEYS, max_size=3), st.sampled_from(["", "acme"]))
def test_what_was_exported_is_imported_as_it_was_and_found_as_it_was(
    entries: list[Entry], removed: set[str], tenant: str
) -> None:
    with GroundTruthStore() as store:
        store.add_many(entries, tenant, replace=True)
        for key in removed:
            store.remove(key, tenant)
        with imported(exported(store, tenant)) as other:
            assert provenance(other, tenant) == provenance(store, tenant)
            for query in [*(entry.text for entry in entries), "When does the shop open?"]:
                assert other.retrieve_context_with_chunks(query, 5, tenant) == store.retrieve_context_with_chunks(
                    query, 5, tenant
                )


def test_retrieval_by_meaning_survives_the_journey() -> None:
    facts = {"hours": "The shop opens at nine.", "refunds": "Refunds are available within 30 days of delivery."}
    question = "How long can I send goods back?"
    with VectorGroundTruthStore(facts=facts) as store, VectorGroundTruthStore() as other:
        import_facts(other, io.StringIO(exported(store)))
        found = other.retrieve_context_with_chunks(question)
        assert found == store.retrieve_context_with_chunks(question)
        assert found[0].source == "refunds"


def test_the_file_says_what_it_is_and_leaves_out_what_is_empty() -> None:
    with GroundTruthStore() as store:
        store.add_many([Entry(key="a", text="Caf\xe9 \u202e opens\u2028", source="x.md", start=0, end=9)])
        text = exported(store, now=lambda: "2026-01-31T12:00:00Z")
    header, fact = text.splitlines()
    assert header + "\n" == HEADER
    assert text.isascii()
    record = json.loads(fact)
    assert record.pop("added_at").endswith("Z")
    assert record == {
        "key": "a", "text": "Caf\xe9 \u202e opens\u2028", "source": "x.md", "start": 0, "end": 9, "version": 1
    }  # fmt: skip


@pytest.mark.parametrize("versions", [False, True], ids=["the present", "all versions"])
def test_all_tenants_go_into_one_file_with_one_header(versions: bool) -> None:
    with GroundTruthStore(facts={"a": "One."}) as store:
        store.add("a", "Two.", "acme")
        store.add("b", "Three.", "bolt")
        text = exported(store, all_tenants=True, versions=versions)
        assert text.count("director_ai") == 1
        assert len(text.splitlines()) == 4
        with imported(text) as other:
            for tenant in ("", "acme", "bolt"):
                assert provenance(other, tenant) == provenance(store, tenant)
        with pytest.raises(ConfigError, match="one of the two"):
            exported(store, "acme", all_tenants=True)


class Meddling(io.StringIO):
    """Whatever is written to it, the store has changed meanwhile."""

    def __init__(self, store: GroundTruthStore) -> None:
        super().__init__()
        self.store = store

    def write(self, text: str) -> int:
        self.store.add_many({"a": f"Changed {self.tell()}.", f"new-{self.tell()}": "Another."}, replace=True)
        self.store.remove("c")
        return super().write(text)


@pytest.mark.parametrize("versions", [False, True], ids=["the present", "all versions"])
def test_an_export_shows_one_revision_whatever_changes_meanwhile(versions: bool) -> None:
    with GroundTruthStore(facts={"a": "One.", "b": "Two.", "c": "Three."}) as store:
        store.update("b", "Two and a half.")
        before = exported(store, versions=versions, now=lambda: "")
        stream = Meddling(store)
        export_facts(store, stream, versions=versions, now=lambda: "")
        assert stream.getvalue() == before
        assert store.get("c") is None


def test_a_tenants_export_holds_no_other_facts() -> None:
    with GroundTruthStore(facts={"shared": "All know."}) as store:
        store.add("own", "Acme knows.", "acme")
        store.add("own", "Bolt knows.", "bolt")
        for options in ({}, {"versions": True}):
            records = [json.loads(line) for line in exported(store, "acme", **options).splitlines()[1:]]
            assert [record["text"] for record in records] == ["Acme knows."]
            assert records[0]["tenant_id"] == "acme"


def test_earlier_versions_are_marked_and_not_imported() -> None:
    with GroundTruthStore(facts={"a": "One.", "gone": "Was so."}) as store:
        store.update("a", "Two.")
        store.remove("gone")
        text = exported(store, versions=True)
        records = [json.loads(line) for line in text.splitlines()[1:]]
        assert [(r["key"], r["version"], r.get("ended", False)) for r in records] == [
            ("a", 1, True),
            ("gone", 1, True),
            ("a", 2, False),
        ]
        with imported(text) as other:
            assert provenance(other) == provenance(store)


def test_facts_that_name_no_tenant_go_to_the_one_that_imports() -> None:
    text = lines({"key": "a", "text": "So it is."}, {"key": "b", "text": "And so.", "tenant_id": "acme"})
    with imported(text, tenant_id="acme") as store:
        assert [fact.key for fact in store.facts("acme")] == ["a", "b"]
        assert list(store.facts()) == []


def test_another_tenants_facts_are_refused_with_their_line() -> None:
    text = lines({"key": "a", "text": "So it is."}, {"key": "b", "text": "And so.", "tenant_id": "bolt"})
    with pytest.raises(ConfigError, match=r"^line 3 is a fact of another tenant"):
        imported(text, tenant_id="acme")


def test_a_known_key_is_refused_or_with_replace_gets_a_version() -> None:
    text = lines({"key": "a", "text": "Two."}, {"key": "b", "text": "New."})
    with GroundTruthStore(facts={"a": "One."}) as store:
        with pytest.raises(DuplicateFact):
            import_facts(store, io.StringIO(text))
        assert [fact.text for fact in store.facts()] == ["One."]
        would = import_facts(store, io.StringIO(text), replace=True, dry_run=True)
        assert (would.added, would.updated) == (("b",), ("a",))
        assert [fact.text for fact in store.facts()] == ["One."]
        done = import_facts(store, io.StringIO(text), replace=True)
        assert (done.added, done.updated) == (("b",), ("a",))
        assert [fact.text for fact in store.history("a")] == ["One.", "Two."]


def test_importing_twice_changes_nothing_the_second_time() -> None:
    text = lines({"key": "a", "text": "Two.", "source": "x.md"})
    with imported(text) as store:
        again = import_facts(store, io.StringIO(text))
        assert (again.added, again.updated, again.unchanged) == ((), (), 1)


def test_one_bad_line_and_nothing_is_stored() -> None:
    good = [{"key": f"k{n}", "text": f"Fact {n}."} for n in range(700)]
    with GroundTruthStore() as store:
        with pytest.raises(ConfigError, match=r"^line 702 "):
            import_facts(store, io.StringIO(lines(*good) + "{"))
        assert list(store.facts()) == []


def test_progress_is_told_in_facts() -> None:
    seen: list[int] = []
    imported(lines(*({"key": f"k{n}", "text": f"Fact {n}."} for n in range(300))), progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 300


def test_facts_are_read_as_they_are_asked_for() -> None:
    stream = io.StringIO(lines({"key": "a", "text": "One."}, {"key": "b", "text": "Two."}) + "not read")
    facts = read_facts(stream)
    assert stream.tell() == 0
    assert next(facts) == Entry(key="a", text="One.")
    assert next(facts) == Entry(key="b", text="Two.")
    with pytest.raises(ConfigError, match="line 4"):
        next(facts)


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + lines({"key": "a", "text": "One."}),
        lines({"key": "a", "text": "One."}).replace("\n", "\n\n"),
        lines({"key": "a", "text": "One."}).rstrip("\n"),
        lines({"key": "a", "text": "One."}).replace("\n", "\r\n"),
        HEADER + '{"key": "a", "text": "\\u004fne."}\n',
        HEADER.replace('"format"', '"revision": 3, "format"', 1).replace('"revision": 1, ', "")
        + '{"text": "One.", "key": "a", "version": 7}\n',
    ],
    ids=["a byte order mark", "blank lines", "no last line end", "CRLF", "escapes", "another order of fields"],
)
def test_what_editors_and_tools_do_to_a_file_is_harmless(text: str) -> None:
    assert list(read_facts(io.StringIO(text))) == [Entry(key="a", text="One.")]


def fact(**fields: Any) -> str:
    return HEADER + json.dumps({"key": CANARY, "text": CANARY, **fields}) + "\n"


BAD: dict[str, tuple[str, str]] = {
    "an empty file": ("", "the file is empty"),
    "blank lines only": ("\n\n \n", "the file is empty"),
    "no header": (f'{{"key": "{CANARY}", "text": "x"}}\n', "line 1 does not say"),
    "text that is not JSON": (CANARY, "line 1 does not say"),
    "a later format": (HEADER.replace('"format": 1', '"format": 2'), "format 2"),
    "a format that is no number": (HEADER.replace('"format": 1', '"format": "1"'), "'format' must be"),
    "a format that is true": (HEADER.replace('"format": 1', '"format": true'), "'format' must be"),
    "an unknown field in the header": (HEADER.replace("{", f'{{"{CANARY}": 1, ', 1), "line 1 has 1 unknown field"),
    "a revision that is a text": (HEADER.replace('"revision": 1', f'"revision": "{CANARY}"'), "'revision' must be"),
    "half a line": (HEADER + f'{{"key": "{CANARY}"', "line 2 is not JSON"),
    "a list": (HEADER + f'["{CANARY}"]', "line 2 must be a JSON object"),
    "a number": (HEADER + "17", "line 2 must be a JSON object"),
    "null": (HEADER + "null", "line 2 must be a JSON object"),
    "deep JSON": (HEADER + "[" * 100_000, "line 2 is not JSON"),
    "deep JSON in a field": (HEADER + '{"key":' + "[" * 900 + "]" * 900 + "}", "line 2: 'key' must be a text"),
    "a field twice": (HEADER + f'{{"key": "a", "key": "{CANARY}", "text": "x"}}', "line 2 has a field twice"),
    "NaN": (HEADER + '{"key": "a", "text": "x", "start": NaN}', "line 2 holds NaN"),
    "an infinity": (HEADER + '{"key": "a", "text": "x", "start": -Infinity}', "line 2 holds NaN"),
    "a huge float": (HEADER + '{"key": "a", "text": "x", "start": 1e999}', "'start' must be a whole number"),
    "a number of 10,000 digits": (HEADER + '{"start": ' + "9" * 10_000 + "}", "line 2 is not JSON"),
    "a float for a place": (fact(start=1.0), "'start' must be a whole number"),
    "true for a place": (fact(start=True), "'start' must be a whole number"),
    "a negative place": (fact(end=-1), "line 2: end of the fact"),
    "null for a field": (fact(source=None), "'source' must be a text"),
    "an object for a text": (fact(text={CANARY: 1}), "'text' must be a text"),
    "a number for a key": (fact(key=7), "'key' must be a text"),
    "no key": (HEADER + f'{{"text": "{CANARY}"}}', "line 2 has no 'key'"),
    "no text": (HEADER + f'{{"key": "{CANARY}"}}', "line 2 has no 'text'"),
    "an unknown field": (fact(**{CANARY: 1}), "line 2 has 1 unknown field"),
    "a blank fact": (fact(text=" \n"), "line 2: the fact is blank"),
    "NUL": (fact(text=f"{CANARY}\0"), "line 2: the fact holds a NUL"),
    "half a surrogate pair": (fact(text=f"{CANARY}\ud800"), "line 2: the fact holds half"),
    "a fact that is too long": (fact(text=CANARY * 10_000), "line 2: the fact has 110000 characters"),
    "a key with spaces around it": (fact(key=f" {CANARY}"), "line 2: the key of the fact"),
    "a tenant that is blank": (fact(tenant_id=" "), "line 2: tenant_id must be"),
    "a tenant that is a path": (fact(tenant_id=f"../{CANARY}"), "line 2: tenant_id must be"),
    "a time that is none": (fact(added_at=CANARY), "line 2: added_at of the fact must be a time"),
    "a mark that is no truth value": (fact(ended=CANARY), "'ended' must be true or false"),
    "a bad version that ended": (fact(ended=True, start=-1), "line 2: start of the fact"),
    "an endless line": (HEADER + " " * (LONGEST_LINE + 1), "line 2 has more than"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_a_bad_line_is_named_by_its_number_and_never_repeated(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        list(read_facts(io.StringIO(text)))
    assert words in str(refused.value)
    assert CANARY not in str(refused.value)
    chain = [refused.value.__cause__, refused.value.__context__ if not refused.value.__suppress_context__ else None]
    assert not any(CANARY in str(error) for error in chain if error)


def test_bytes_that_are_not_utf_8_are_named_by_a_line() -> None:
    stream = io.TextIOWrapper(io.BytesIO(HEADER.encode() + b'{"key": "\xff"}\n'), encoding="utf-8")
    with pytest.raises(ConfigError, match="not UTF-8"):
        list(read_facts(stream))


@pytest.mark.parametrize("tenant", [" ", "../x", "a/b", "*", "%", "x" * 300])
def test_a_tenant_that_is_none_is_refused_before_anything_is_written(tenant: str) -> None:
    stream = io.StringIO()
    with GroundTruthStore() as store:
        with pytest.raises(ConfigError, match="tenant_id"):
            export_facts(store, stream, tenant)
        with pytest.raises(ConfigError, match="tenant_id"):
            import_facts(store, io.StringIO(HEADER), tenant_id=tenant)
    assert stream.getvalue() == ""
