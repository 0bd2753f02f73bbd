"""What every store promises: in memory, in a file and in PostgreSQL, by words alone and with vectors."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from director_ai import EvidenceChunk, GroundTruthStore, VectorGroundTruthStore
from director_ai.errors import ConfigError, DirectorError
from director_ai.knowledge import DuplicateFact, Entry, KnowledgeError

REFUND = "Refunds are available within 30 days of delivery."
MUSEUM = "The museum in Bern opens at ten in the morning."
SHOP = "The shop in Basel opens at nine in the morning."
DOSE = "The maximum daily dose of paracetamol is 4000 mg."


@pytest.fixture(params=["memory", "file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("fresh_database"))
    return ":memory:" if request.param == "memory" else str(tmp_path / "facts.db")


@pytest.fixture(params=["file", "postgres"])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.getfixturevalue("fresh_database") if request.param == "postgres" else tmp_path / "facts.db")


KINDS = pytest.mark.parametrize("kind", [GroundTruthStore, VectorGroundTruthStore], ids=["by words", "with vectors"])


@pytest.fixture(params=[GroundTruthStore, VectorGroundTruthStore], ids=["by words", "with vectors"])
def store(request: pytest.FixtureRequest, place: str) -> Iterator[GroundTruthStore]:
    with request.param(place) as made:
        yield made


@pytest.fixture
def words(place: str) -> Iterator[GroundTruthStore]:
    with GroundTruthStore(place) as made:
        yield made


def keys(chunks: list[EvidenceChunk]) -> list[str]:
    return [chunk.source for chunk in chunks]


def test_a_fact_is_found_by_what_it_says(store: GroundTruthStore) -> None:
    store.add_many({"refund": REFUND, "museum": MUSEUM, "dose": DOSE})
    chunks = store.retrieve_context_with_chunks("Within how many days are refunds available?")
    assert chunks[0].text == REFUND
    assert chunks[0].source == "refund"
    assert 0 <= chunks[0].distance < 0.5
    assert [chunk.distance for chunk in chunks] == sorted(chunk.distance for chunk in chunks)
    assert store.retrieve_context("When does the museum in Bern open?", 1) == MUSEUM


def test_nothing_relevant_is_an_answer(store: GroundTruthStore) -> None:
    assert store.retrieve_context_with_chunks("Anything at all") == []
    store.add_many({"refund": REFUND, "museum": MUSEUM})
    assert store.retrieve_context_with_chunks("Quantum chromodynamics describes gluons.") == []
    assert store.retrieve_context("Quantum chromodynamics describes gluons.") == ""
    assert store.retrieve_context_with_chunks(" \n") == []


def test_a_second_load_keeps_the_first(store: GroundTruthStore) -> None:
    store.add_many({"refund": REFUND})
    store.add_many({"museum": MUSEUM})
    assert [fact.key for fact in store.facts()] == ["refund", "museum"]
    assert keys(store.retrieve_context_with_chunks("Are refunds available?", 1)) == ["refund"]


def test_the_same_fact_again_changes_nothing(words: GroundTruthStore) -> None:
    first = words.add("refund", REFUND)
    again = words.add("refund", REFUND)
    assert (first.added, again.added, again.unchanged) == (("refund",), (), 1)
    assert words.revision == first.revision == again.revision


def test_another_fact_under_a_known_key_is_refused_unless_it_is_to_replace(words: GroundTruthStore) -> None:
    words.add("refund", REFUND)
    with pytest.raises(DuplicateFact, match="already stands for another"):
        words.add_many({"museum": MUSEUM, "refund": "No refunds."})
    assert [fact.text for fact in words.facts()] == [REFUND]
    loaded = words.add_many({"museum": MUSEUM, "refund": "No refunds."}, replace=True)
    assert (loaded.added, loaded.updated) == (("museum",), ("refund",))
    assert words.get("refund").version == 2  # type: ignore[union-attr]


def test_an_update_needs_a_fact_and_keeps_the_version_before(store: GroundTruthStore) -> None:
    with pytest.raises(KnowledgeError, match="add\\(\\) makes one"):
        store.update("refund", REFUND)
    store.add("refund", REFUND)
    store.update("refund", "Refunds are available within 60 days of delivery.", added_by="kim")
    assert store.retrieve_context("refunds available days") == "Refunds are available within 60 days of delivery."
    assert [(fact.version, fact.text, fact.added_by) for fact in store.history("refund")] == [
        (1, REFUND, ""),
        (2, "Refunds are available within 60 days of delivery.", "kim"),
    ]


def test_what_is_removed_is_not_found_and_stays_as_history(store: GroundTruthStore) -> None:
    store.add("refund", REFUND)
    assert store.remove("refund")
    assert not store.remove("refund")
    assert store.retrieve_context_with_chunks(REFUND) == []
    assert store.get("refund") is None
    assert [fact.text for fact in store.history("refund")] == [REFUND]
    store.add("refund", REFUND)
    assert [fact.version for fact in store.history("refund")] == [1, 2]


def test_facts_and_removals_of_one_load_are_one_change(words: GroundTruthStore) -> None:
    words.add("refund", REFUND)
    before = words.revision
    loaded = words.add_many({"museum": MUSEUM}, remove=["refund", "never there"])
    assert (loaded.added, loaded.removed, loaded.revision) == (("museum",), ("refund",), before + 1)
    assert [fact.key for fact in words.facts()] == ["museum"]


def test_a_load_is_all_or_nothing(words: GroundTruthStore) -> None:
    words.add("refund", REFUND)

    def breaking() -> object:
        for number in range(700):
            yield f"k{number}", f"Fact number {number} is here."
        raise OSError("the source broke")

    with pytest.raises(OSError, match="the source broke"):
        words.add_many(breaking())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="fact 2 is blank"):
        words.add_many([("a", "One."), ("b", "Two."), ("c", "  ")])
    assert [fact.key for fact in words.facts()] == ["refund"]
    assert words.revision == 1


def test_a_dry_run_says_what_would_change_and_changes_nothing(words: GroundTruthStore) -> None:
    words.add_many({"refund": REFUND, "museum": MUSEUM})
    seen = words.add_many({"refund": "No refunds.", "museum": MUSEUM, "dose": DOSE}, replace=True, dry_run=True)
    assert (seen.added, seen.updated, seen.unchanged) == (("dose",), ("refund",), 1)
    assert {fact.key: fact.text for fact in words.facts()} == {"refund": REFUND, "museum": MUSEUM}
    assert words.revision == 1


def test_a_view_stays_at_its_revision_whatever_changes(store: GroundTruthStore) -> None:
    store.add_many({"refund": REFUND, "museum": MUSEUM})
    view = store.at()
    store.update("refund", "Refunds are available within 60 days of delivery.")
    store.remove("museum")
    store.add("shop", SHOP)
    assert view.retrieve_context("refunds available days") == REFUND
    assert view.retrieve_context("When does the museum in Bern open?") == MUSEUM
    assert [fact.key for fact in view.facts()] == ["refund", "museum"]
    assert view.get("shop") is None
    assert view.revision < store.revision
    assert [fact.key for fact in store.facts()] == ["refund", "shop"]
    for wrong in (-1, store.revision + 1, True, "1", 1.0):
        with pytest.raises(ConfigError, match="revision must be"):
            store.at(wrong)  # type: ignore[arg-type]


def test_what_a_clause_points_back_to_decides_what_it_finds(store: GroundTruthStore) -> None:
    store.add_many({"museum": MUSEUM, "shop": SHOP, "refund": REFUND})
    asked = {"prompt": "When does the shop in Basel open?", "top_k": 1}
    assert keys(store.evidence_for("It opens at ten.", **asked)) == ["shop"]  # type: ignore[arg-type]
    after = ["You asked about Bern.", "The museum is worth a visit."]
    assert keys(store.evidence_for("It opens at nine.", preceding=after, top_k=1)) == ["museum"]
    found = store.evidence_for("The museum in Bern opens at nine.", prompt="What about refunds?", top_k=1)
    assert keys(found) == ["museum"]


def test_facts_that_contradict_each_other_are_reported(store: GroundTruthStore) -> None:
    store.add_many({"refund": REFUND, "museum": MUSEUM})
    store.add("refund-2", "Refunds are available within 60 days of delivery.", "acme")
    (conflict,) = store.conflicts("acme")
    assert (conflict.key, conflict.other, conflict.other_tenant_id) == ("refund-2", "refund", "")
    assert conflict.kinds == ("duration",)
    assert list(store.conflicts()) == []
    assert list(store.conflicts("acme", ["another"])) == []


CONSISTENT = {
    "two shops": ("The shop in Basel opens at nine.", "The shop in Bern opens at ten."),
    "two products": ("The warranty of the kettle lasts two years.", "The warranty of the toaster lasts three years."),
    "two prices": ("The kettle costs 39 dollars.", "The iron costs 59 dollars."),
    "the same in other words": ("The warranty lasts two years.", "The warranty lasts 24 months."),
}


@pytest.mark.parametrize(("one", "other"), CONSISTENT.values(), ids=CONSISTENT)
def test_facts_about_two_things_contradict_nothing(one: str, other: str) -> None:
    assert list(VectorGroundTruthStore(facts={"one": one, "other": other}).conflicts()) == []


CONTRADICTORY = {
    "a negation": ("Dogs are allowed in the shop.", "Dogs are not allowed in the shop."),
    "an opposite": ("The museum is open on Mondays.", "The museum is closed on Mondays."),
    "a name": ("The director of the museum is Jane Doe.", "The director of the museum is John Smith."),
    "a number": ("The branch in Basel has 12 employees.", "The branch in Basel has 14 employees."),
}


@pytest.mark.parametrize(("one", "other"), CONTRADICTORY.values(), ids=CONTRADICTORY)
def test_facts_about_one_thing_contradict_each_other(one: str, other: str) -> None:
    assert len(list(VectorGroundTruthStore(facts={"one": one, "other": other}).conflicts())) == 1


def test_an_update_keeps_where_the_fact_came_from(words: GroundTruthStore) -> None:
    words.add("refund", REFUND, source="terms.md")
    words.update("refund", "No refunds.")
    assert words.get("refund").source == "terms.md"  # type: ignore[union-attr]


def test_what_is_known_already_is_not_embedded_again() -> None:
    class Counting:
        digest = "counting"
        texts: ClassVar[list[str]] = []

        def encode(self, texts: list[str]) -> Any:
            self.texts += texts
            return np.eye(384, dtype=np.float32)[[len(text) % 384 for text in texts]]

    store = VectorGroundTruthStore(encoder=Counting(), facts={"a": "One fact.", "b": "Another fact."})
    store.add_many({"a": "One fact.", "b": "Another fact.", "c": "A third fact."})
    store.add_many({"d": "A fourth fact."}, dry_run=True)
    assert Counting.texts == ["One fact.", "Another fact.", "A third fact."]


def test_one_shared_word_makes_nothing_relevant() -> None:
    store = VectorGroundTruthStore(
        facts={"refund": "Refunds are paid to the original means of payment.", "museum": MUSEUM}
    )
    assert store.retrieve_context("What is the meaning of life?") == ""


def test_clauses_before_are_a_list() -> None:
    with pytest.raises(ConfigError, match="list of clauses"):
        GroundTruthStore().evidence_for("It opens.", preceding="What about the zoo?")


def test_where_a_fact_comes_from_is_kept(words: GroundTruthStore) -> None:
    words.add_many(
        [Entry(key="a", text=REFUND, source="terms.md", start=10, end=59, added_at="2020-02-02T02:02:02Z")],
        added_by="kim",
    )
    (fact,) = words.facts()
    assert (fact.source, fact.start, fact.end, fact.added_by, fact.added_at) == (
        "terms.md", 10, 59, "kim", "2020-02-02T02:02:02Z",
    )  # fmt: skip


# Tenants


def test_a_tenant_reads_its_own_facts_and_the_shared_ones_and_no_others(store: GroundTruthStore) -> None:
    store.add("hours", "The shop opens at nine.")
    store.add("hours", "The shop of acme opens at eight.", "acme")
    store.add("hours", "The shop of bolt opens at seven.", "bolt")
    question = "When does the shop open?"
    assert store.retrieve_context(question) == "The shop opens at nine."
    assert set(store.retrieve_context(question, 5, "acme").splitlines()) == {
        "The shop opens at nine.",
        "The shop of acme opens at eight.",
    }
    assert store.retrieve_context(question, 5, "carl") == "The shop opens at nine."
    assert [fact.text for fact in store.facts("bolt")] == ["The shop of bolt opens at seven."]


def test_a_tenant_changes_only_its_own(words: GroundTruthStore) -> None:
    words.add("hours", "The shop opens at nine.")
    words.add("hours", "The shop of acme opens at eight.", "acme")
    assert not words.remove("hours", "bolt")
    with pytest.raises(KnowledgeError):
        words.update("hours", "Closed.", "bolt")
    assert words.remove("hours", "acme")
    assert [fact.text for fact in words.facts()] == ["The shop opens at nine."]
    assert words.history("hours", "bolt") == []


def test_what_others_store_changes_neither_order_nor_distance(store: GroundTruthStore) -> None:
    store.add_many({"refund": REFUND, "museum": MUSEUM, "shop": SHOP}, "acme")
    before = store.retrieve_context_with_chunks("When does the museum open?", 3, "acme")
    store.add_many({f"k{n}": f"The museum number {n} opens late." for n in range(60)}, "bolt")
    assert store.retrieve_context_with_chunks("When does the museum open?", 3, "acme") == before


BAD_TENANTS = [
    " ",
    "../x",
    "a/b",
    "*",
    "%",
    "x" * 300,
    "a b",
    "ａcme",
    "acmé",
    "a\0",
    "a\n",
    None,
    7,
    b"acme",
    ["acme"],
]


@pytest.mark.parametrize("tenant", BAD_TENANTS, ids=ascii)
def test_a_tenant_that_is_no_identifier_is_refused_everywhere(tenant: object, tmp_path: Path) -> None:
    store = GroundTruthStore()
    calls: list[Callable[[], object]] = [
        lambda: store.add("k", "A fact.", tenant),  # type: ignore[arg-type]
        lambda: store.add_many({"k": "A fact."}, tenant),  # type: ignore[arg-type]
        lambda: store.add_many([Entry(key="k", text="A fact.", tenant_id=tenant)]),  # type: ignore[arg-type]
        lambda: store.update("k", "A fact.", tenant),  # type: ignore[arg-type]
        lambda: store.remove("k", tenant),  # type: ignore[arg-type]
        lambda: store.get("k", tenant),  # type: ignore[arg-type]
        lambda: store.history("k", tenant),  # type: ignore[arg-type]
        lambda: store.facts(tenant),  # type: ignore[arg-type]
        lambda: store.conflicts(tenant),  # type: ignore[arg-type]
        lambda: store.retrieve_context("fact", 3, tenant),  # type: ignore[arg-type]
        lambda: store.evidence_for("fact", tenant_id=tenant),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises(ConfigError, match="tenant_id must be"):
            call()
    assert store.revision == 0


def test_a_twin_that_differs_only_in_capital_letters_is_refused(words: GroundTruthStore) -> None:
    words.add("k", "A fact.", "acme")
    for call in (lambda: words.add("k", "A fact.", "Acme"), lambda: words.retrieve_context("fact", 3, "ACME")):
        with pytest.raises(ConfigError, match="capital letters"):
            call()


@pytest.mark.parametrize("asked", [1_250, pytest.param(5_000, marks=pytest.mark.soak)])
def test_no_tenant_ever_sees_the_canary_of_another(place: str, asked: int) -> None:
    tenants, asked = (200, asked) if "postgresql" not in place else (60, asked * 2 // 25)
    rnd = random.Random(5)
    with GroundTruthStore(place) as store:
        facts = [
            Entry(key=f"k{n}", text=f"The opening hours of branch {n} are told by canary{t}x.", tenant_id=f"tenant-{t}")
            for t in range(tenants)
            for n in range(3)
        ]
        store.add_many(facts)
        store.add("shared", "The opening hours of the head office are from nine to five.")
        for _ in range(asked):
            own = rnd.randrange(tenants)
            question = rnd.choice(
                ["What are the opening hours?", f"canary{rnd.randrange(tenants)}x opening hours branch"]
            )
            found = store.retrieve_context(question, 10, f"tenant-{own}")
            assert found
            assert all(f"canary{own}x" in line or "head office" in line for line in found.splitlines())


# Bad input

STRANGE = {
    "SQL": "Robert'); DROP TABLE fact;-- is a student.",
    "full text syntax": 'refund* AND NOT "delivery" OR NEAR(a b) ^col: {x y} : -',
    "HTML": "<script>alert('refund')</script> is text.",
    "template braces": "{{ refund }} and {% if x %} and ${y} and %s and {0}.",
    "a formula": "=SUM(A1:A9) is the refund.",
    "bidi": "The refund is \u202e30 days\u202c long \u2067x\u2069.",
    "other scripts": "東京の博物館は九時に開きます。 Музей открывается в девять. يفتح المتحف",
    "emoji and marks": "👩‍👩‍👧‍👦 refund 🇨🇭 Z̸̢͝a̵l̶g̷o̴ é ﬁ",
    "one word": "Refund",
    "punctuation alone": "?!… --- ***",
    "a backslash and quotes": "C:\\temp\\'x' \"y\" `z` refund",
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_a_fact_is_text_and_never_code(words: GroundTruthStore, text: str) -> None:
    words.add("refund", REFUND)
    words.add("strange", text, source=text[:50])
    assert words.get("strange").text == text  # type: ignore[union-attr]
    words.retrieve_context_with_chunks(text, 5)
    words.remove("strange")
    assert [fact.key for fact in words.facts()] == ["refund"]


@pytest.mark.parametrize(
    "text", [v for k, v in STRANGE.items() if k != "punctuation alone"], ids=lambda text: ascii(text)[:20]
)
def test_strange_facts_are_found_by_themselves(store: GroundTruthStore, text: str) -> None:
    store.add_many({"strange": text, "museum": MUSEUM})
    assert keys(store.retrieve_context_with_chunks(text, 1)) == ["strange"]


BAD_FACTS = {
    "blank": ("k", " \n\t"), "empty": ("k", ""), "10 MB": ("k", "x" * 10_000_000), "NUL": ("k", "secret\0"),
    "half a character": ("k", "secret \ud800"), "None": ("k", None), "bytes": ("k", b"secret"), "a number": ("k", 7),
    "a blank key": (" ", "secret"), "an empty key": ("", "secret"), "a long key": ("k" * 600, "secret"),
    "spaces around a key": (" k ", "secret"), "NUL in a key": ("k\0", "secret"), "a key that is no text": (7, "secret"),
}  # fmt: skip


@pytest.mark.parametrize(("key", "text"), BAD_FACTS.values(), ids=BAD_FACTS)
def test_a_bad_fact_gets_a_clear_error_and_nothing_is_stored(
    words: GroundTruthStore, key: object, text: object
) -> None:
    with pytest.raises(ConfigError) as refused:
        words.add(key, text)  # type: ignore[arg-type]
    assert "secret" not in str(refused.value)
    assert len(str(refused.value)) < 300
    assert words.revision == 0


@pytest.mark.parametrize("facts", [None, 7, "text", b"x", [1], [("a",)], [("a", "b", "c")], [None]], ids=repr)
def test_what_is_no_series_of_facts_is_refused(facts: object) -> None:
    with pytest.raises(ConfigError):
        GroundTruthStore().add_many(facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("top_k", [0, -1, 1.5, "3", None, True, 10**9], ids=repr)
def test_a_bad_number_of_results_is_refused(top_k: object) -> None:
    with pytest.raises(ConfigError, match="top_k must be"):
        GroundTruthStore().retrieve_context("x", top_k)  # type: ignore[arg-type]


@pytest.mark.parametrize("query", [None, 7, b"x", ["x"]], ids=repr)
def test_a_query_that_is_no_text_is_refused(query: object) -> None:
    with pytest.raises(ConfigError, match="query must be a text"):
        GroundTruthStore().retrieve_context(query)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query", ["x" * 200_000, "refund " * 2_000, "\0", "\ud800 refund", "?" * 999], ids=lambda q: ascii(q)[:10]
)
def test_an_endless_or_broken_query_is_answered(store: GroundTruthStore, query: str) -> None:
    store.add("refund", REFUND)
    found = [chunk.source for chunk in store.retrieve_context_with_chunks(query)]
    assert found == ["refund"] if "refund" in query else found in ([], ["refund"])
    assert store.retrieve_context("refund") == REFUND, "and the next one is, too"


@pytest.mark.parametrize("floor", [-0.1, 1.1, "0.5", True, float("nan")], ids=repr)
def test_a_floor_that_is_no_share_is_refused(floor: object) -> None:
    with pytest.raises(ConfigError, match="floor must be"):
        GroundTruthStore(floor=floor)  # type: ignore[arg-type]


# The same everywhere


def test_distances_are_the_same_in_every_store(tmp_path: Path, fresh_database: str) -> None:
    facts = {"refund": REFUND, "museum": MUSEUM, "shop": SHOP, "dose": DOSE}
    questions = ["When does the shop open?", "How many mg of paracetamol a day?", "refund", "The museum opens at ten."]
    for kind in (GroundTruthStore, VectorGroundTruthStore):
        stores = [
            kind(place, facts=facts) for place in (":memory:", str(tmp_path / f"{kind.__name__}.db"), fresh_database)
        ]
        for question in questions:
            found = [store.retrieve_context_with_chunks(question) for store in stores]
            assert keys(found[0]) == keys(found[1]) == keys(found[2])
            for each in zip(*found, strict=True):
                assert each[1].distance == pytest.approx(each[0].distance, abs=2e-3)
                assert each[2].distance == pytest.approx(each[0].distance, abs=2e-3)
        for store in stores:
            store.close()


@KINDS
def test_a_store_opened_again_answers_the_same(kind: type[GroundTruthStore], durable: str) -> None:
    with kind(durable, facts={"refund": REFUND, "museum": MUSEUM, "shop": SHOP}) as store:
        before = store.retrieve_context_with_chunks("When does the shop open?")
        revision = store.revision
    with kind(durable) as again:
        assert again.retrieve_context_with_chunks("When does the shop open?") == before
        assert again.revision == revision


def test_facts_stored_by_words_alone_get_their_vectors_when_they_are_wanted(durable: str) -> None:
    with GroundTruthStore(durable, facts={"refund": REFUND, "museum": MUSEUM}) as by_words:
        before = by_words.revision
        with VectorGroundTruthStore(durable) as with_vectors:
            assert keys(with_vectors.retrieve_context_with_chunks("How long can I get my money back?", 1)) == ["refund"]
            assert with_vectors.revision == before, "no fact has changed"


def test_many_threads_read_while_one_writes(store: GroundTruthStore) -> None:
    store.add_many({"refund": REFUND, "museum": MUSEUM})
    failures: list[BaseException] = []
    over = threading.Event()

    def read() -> None:
        try:
            while not over.is_set():
                (chunk,) = store.retrieve_context_with_chunks("Are refunds available after delivery?", 1)
                assert chunk.text.startswith("Refunds are available within")
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(15):
        store.update("refund", f"Refunds are available within {number + 31} days of delivery.")
    over.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert len(store.history("refund")) == 16


def test_a_closed_store_says_so(store: GroundTruthStore) -> None:
    store.close()
    store.close()
    with pytest.raises(DirectorError, match="closed"):
        store.add("refund", REFUND)


@pytest.mark.parametrize("place", ["", " ", "a\0b", None, 7, b"x"], ids=repr)
def test_a_place_that_is_none_is_refused(place: object) -> None:
    with pytest.raises(ConfigError, match="a knowledge base is a path"):
        GroundTruthStore(place)  # type: ignore[arg-type]
