"""Values of JSON objects beside the rows of tables, JSON results and sentences that they are taken from."""

from __future__ import annotations

import pytest

from director_ai import ProductionGuard
from director_ai.core.scoring.records import compare_record

MOORINGS = (
    "| Harbour | Berth fee per night | Longest boat |\n|---|---|---|\n"
    "| Ostervik | 34 EUR | 14 m |\n| Sandholm | 27 EUR | 11 m |\n| Lyngby | 41 EUR | 18 m |"
)
ORDERS = (
    '[{"order": "K-771", "status": "packed", "weight_kg": 12.5, "insured": true}, '
    '{"order": "K-772", "status": "shipped", "weight_kg": 3.2, "insured": false}]'
)
SPA = "The steam bath is heated to 46 °C and closes at 21:00. The Finnish sauna is heated to 85 °C and closes at 22:00."


@pytest.mark.parametrize(
    ("label", "value", "siblings", "fact", "finding"),
    [
        pytest.param("fee eur", "27", [("harbour", "Sandholm")], MOORINGS, "stated", id="its own row of a table"),
        pytest.param("fee eur", "41", [("harbour", "Sandholm")], MOORINGS, "contradicted", id="another row's value"),
        pytest.param("status", "shipped", [("order", "K-772")], ORDERS, "stated", id="a word of a tool's result"),
        pytest.param("status", "shipped", [("order", "K-771")], ORDERS, "contradicted", id="another order's status"),
        pytest.param("insured", "true", [("order", "K-772")], ORDERS, "contradicted", id="a yes for a no"),
        pytest.param("weight kg", "12.5", [("order", "K-771")], ORDERS, "stated", id="a number with decimals"),
        pytest.param("weight kg", "13.5", [("order", "K-771")], ORDERS, "contradicted", id="no row's number"),
        pytest.param("priority", "3", [("order", "K-771")], ORDERS, "unknown", id="a key that no row has"),
        pytest.param("retries", "5", [("place", "steam bath")], SPA, "unknown", id="a parameter of the call"),
        pytest.param("berth", "9", [], MOORINGS, "unknown", id="nothing says which row"),
    ],
)
def test_a_value_is_compared_with_the_row_that_its_object_is_about(
    label: str, value: str, siblings: list[tuple[str, str]], fact: str, finding: str
) -> None:
    assert compare_record(label, value, siblings, "", [fact]) == finding


def test_a_value_that_the_user_gave_is_no_claim() -> None:
    siblings = [("order", "K-771")]
    assert compare_record("weight kg", "13.5", siblings, "Change K-771 to 13.5 kg, please.", [ORDERS]) == "unknown"


class TestInAStream:
    @pytest.fixture
    def guard(self) -> ProductionGuard:
        guard = ProductionGuard.from_profile("finance", metrics=False)
        guard.load_facts({"fees": MOORINGS})
        return guard

    def test_right_numbers_stay_as_they_are(self, guard: ProductionGuard) -> None:
        call = '{"tool": "book", "arguments": {"harbour": "Lyngby", "fee_eur": 41, "longest_boat_m": 18}}'
        session = guard.repair_stream("Book a berth in Lyngby.", call, shape="json")
        assert session.repaired_text == call

    @pytest.mark.parametrize("size", [1, 3, 200])
    def test_a_wrong_number_becomes_null_and_the_json_stays_valid(self, guard: ProductionGuard, size: int) -> None:
        call = '{"tool": "book", "arguments": {"harbour": "Lyngby", "fee_eur": 27, "longest_boat_m": 18}}'
        tokens = [call[at : at + size] for at in range(0, len(call), size)]
        stream = guard.repair_stream("Book a berth in Lyngby.", tokens, shape="json")
        assert "".join(piece.text for piece in stream) == call.replace("27", "null")
        (action,) = [action for action in stream.result.actions if action.action != "keep"]
        assert (action.action, action.clause) == ("redact", "27")
