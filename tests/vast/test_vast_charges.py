from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.charge import COUNTED_KINDS, Charge
from fleetui.vast.charges import KINDS, day_query, read_charges

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["source", "amount", "items", "type", "other"]), inner, max_size=5
        )
    ),
    max_leaves=20,
)


def row(amount: float, **items: float) -> Mapping[str, Any]:
    return {
        "source": "instance-7", "amount": amount,
        "items": [{"type": kind, "amount": dollars} for kind, dollars in items.items()],
    }  # fmt: skip


def test_a_row_falls_apart_into_its_kinds_and_the_rest_is_other() -> None:
    charges, unreadable = read_charges([row(2.0, gpu=1.25, bwu=0.5)])
    assert unreadable == 0
    assert charges == [
        Charge(instance_id=7, kind="gpu", dollars=1.25),
        Charge(instance_id=7, kind="bwu", dollars=0.5),
        Charge(instance_id=7, kind="other", dollars=0.25),
    ]


def test_what_is_charged_for_no_instance_is_kept_apart() -> None:
    charges, _ = read_charges([{"source": "volume-9", "amount": "0.5", "items": []}])
    assert charges == [Charge(instance_id=None, kind="other", dollars=0.5)]


def test_a_row_without_any_amount_is_counted_as_unreadable() -> None:
    assert read_charges([{"source": "instance-7"}, None, {"amount": float("nan")}]) == ([], 3)


@given(st.lists(ANYTHING, max_size=6))
def test_any_rows_are_survived_and_their_sums_are_kept(rows: list[Any]) -> None:
    charges, unreadable = read_charges(rows)
    assert 0 <= unreadable <= len(rows)
    assert all(charge.kind in KINDS | {"other"} for charge in charges)
    assert COUNTED_KINDS <= KINDS
    assert all(abs(charge.dollars) < 1e9 for charge in charges)


def test_one_day_is_asked_for_whole() -> None:
    query = day_query(20_000, "abc")
    start = 20_000 * 86_400
    assert query["select_filters"] == {"day": {"gte": start, "lte": start + 86_399}}
    assert query["after_token"] == "abc"
