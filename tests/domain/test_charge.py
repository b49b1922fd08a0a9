from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.charge import Charge, DayOfCharges, reconcile_days, reconcile_instances
from fleetui.domain.money import Spend
from fleetui.domain.stage import Stage

SEEN = dict.fromkeys(range(1, 5), 0.0)


def spent(instance_id: int, day: int, dollars: float) -> Spend:
    return Spend(
        instance_id=instance_id, machine_id=1, day=day, stage=Stage.RUNNING,
        began_at=day * 86_400.0, seconds=60.0, unseen_seconds=0.0, dollars=dollars,
    )  # fmt: skip


def charged(day: int, *charges: Charge) -> DayOfCharges:
    return DayOfCharges(day=day, read_at=day * 86_400.0, charges=charges, whole=True)


def charge(instance_id: int | None, kind: str, dollars: float) -> Charge:
    return Charge(instance_id=instance_id, kind=kind, dollars=dollars)


def test_both_books_of_a_day_are_laid_side_by_side() -> None:
    days = reconcile_days(
        [spent(1, 5, 2.0), spent(2, 5, 1.0), spent(1, 6, 9.0)],
        [charged(5, charge(1, "gpu", 2.5), charge(1, "disk", 0.25), charge(2, "bwd", 0.5),
                 charge(None, "other", 4.0))],
        SEEN,
    )  # fmt: skip
    assert list(days) == [5]
    day = days[5]
    assert (day.counted, day.charged, day.bandwidth, day.other) == (3.0, 2.75, 0.5, 4.0)
    assert day.difference == -0.25


def test_days_without_charges_are_left_out_of_an_instances_comparison() -> None:
    found = reconcile_instances(
        [spent(1, 5, 2.0), spent(1, 6, 9.0)],
        [charged(5, charge(1, "gpu", 2.0), charge(3, "gpu", 1.0), charge(None, "other", 1.0))],
        SEEN,
    )
    assert found[1].difference == 0
    assert (found[3].counted, found[3].charged) == (0.0, 1.0)
    assert found[None].other == 1.0


def test_a_day_that_goes_on_is_compared_as_of_the_look_at_it() -> None:
    day = DayOfCharges(
        day=5, read_at=1.0, charges=(charge(1, "gpu", 1.25),), counted={1: 1.0, 2: 0.5}
    )
    spend = [spent(1, 5, 7.0), spent(2, 5, 9.0)]
    assert reconcile_days(spend, [day], SEEN)[5].difference == -0.25
    found = reconcile_instances(spend, [day], SEEN)
    assert (found[1].difference, found[2].difference) == (0.25, -0.5)


def test_the_day_of_the_first_look_and_what_was_never_seen_are_told_apart() -> None:
    spend = [spent(1, 5, 2.0), spent(1, 6, 9.0), spent(2, 6, 1.0)]
    days = [
        charged(5, charge(1, "gpu", 20.0), charge(1, "bwd", 0.5)),
        charged(6, charge(1, "gpu", 9.5), charge(2, "gpu", 1.25), charge(77, "disk", 4.0)),
    ]
    seen = {1: 5 * 86_400.0 + 7_200.0, 2: 5 * 86_400.0}
    first, second = reconcile_days(spend, days, seen).values()
    assert (first.counted, first.charged, first.difference) == (0.0, 0.0, 0.0)
    assert (first.before_us, first.before_us_counted, first.bandwidth) == (20.0, 2.0, 0.5)
    assert (second.counted, second.charged, second.difference) == (10.0, 10.75, 0.75)
    assert (second.before_us, second.before_us_counted) == (4.0, 0.0)
    found = reconcile_instances(spend, days, seen)
    assert (found[1].difference, found[1].before_us) == (0.5, 20.0)
    assert (found[77].difference, found[77].before_us) == (0.0, 4.0)


KINDS = st.sampled_from(["gpu", "disk", "bwd", "bwu", "other"])
CENTS = st.integers(-(10**6), 10**6).map(lambda cents: cents / 128)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), CENTS), max_size=12),
    st.dictionaries(
        st.integers(1, 4),
        st.lists(st.tuples(st.none() | st.integers(1, 4), KINDS, CENTS), max_size=6),
        max_size=4,
    ),
    st.dictionaries(st.integers(1, 4), st.floats(0.0, 4 * 86_400.0)),
)
def test_no_dollar_of_a_compared_day_is_lost(
    ours: list[tuple[int, int, float]],
    theirs: dict[int, list[tuple[int | None, str, float]]],
    seen: dict[int, float],
) -> None:
    spend = [spent(*item) for item in ours]
    days = [charged(day, *(charge(*item) for item in items)) for day, items in theirs.items()]
    known = sum(item.dollars for item in spend if item.day in theirs)
    total = sum(item[2] for items in theirs.values() for item in items)
    for books in (
        reconcile_days(spend, days, seen).values(),
        reconcile_instances(spend, days, seen).values(),
    ):
        assert sum(book.counted + book.before_us_counted for book in books) == known
        charges = (item.charged + item.before_us + item.bandwidth + item.other for item in books)
        assert sum(charges) == total
