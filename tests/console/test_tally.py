import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fleetui.console.tally import Tally, out_of_sight
from fleetui.domain.finding import Severity
from fleetui.domain.host import SshState
from fleetui.domain.rate import RateSource
from fleetui.domain.reading import FleetRow
from sample_fleet import build

ROW = build(1).rows[min(build(1).rows)][1]
NOW = 10_000.0
AMOUNTS = st.none() | st.floats(0, 1000, allow_nan=False)


@st.composite
def rows(draw: st.DrawFn) -> FleetRow:
    return msgspec.structs.replace(
        ROW,
        instance_id=draw(st.integers(1, 4)),
        cost_per_hour=draw(AMOUNTS),
        proofs_per_hour=draw(AMOUNTS),
        rate_source=draw(st.sampled_from([None, *RateSource])),
        ssh=draw(st.sampled_from([SshState.CONNECTED, SshState.LOST])),
        newest_byte_at=draw(st.none() | st.floats(NOW - 600, NOW)),
        finding_severity=draw(st.none() | st.sampled_from(Severity)),
        finding_category=draw(st.sampled_from(["oom", "slow"])),
    )


@given(st.lists(st.tuples(rows(), st.booleans()), max_size=30))
def test_running_sums_are_those_of_the_rows_however_these_changed(
    changes: list[tuple[FleetRow, bool]],
) -> None:
    tally, kept = Tally(), dict[int, FleetRow]()
    for row, goes in changes:
        old = kept.pop(row.instance_id, None)
        if not goes:
            kept[row.instance_id] = row
        tally.replace(old, None if goes else row)
    totals = tally.totals(NOW, 1.0)
    rates = [
        row.proofs_per_hour
        for row in kept.values()
        if row.proofs_per_hour is not None
        and row.rate_source is not RateSource.BENCHMARK
        and not out_of_sight(row, NOW, 1.0)
    ]
    assert (totals.instances, totals.measured) == (len(kept), len(rates))
    assert totals.unpriced == sum(row.cost_per_hour is None for row in kept.values())
    assert math.isclose(totals.proofs_per_hour, sum(rates), abs_tol=1e-5)
    burn = sum(row.cost_per_hour or 0.0 for row in kept.values())
    assert math.isclose(totals.burn, burn, abs_tol=1e-5)
    found = [row for row in kept.values() if row.finding_severity is not None]
    assert tally.loud(kept, {}).total() == len(found)
