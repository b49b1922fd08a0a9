"""Points of the charts."""

import msgspec


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One instance's figures at one time (epoch seconds); `None` is not measured."""

    instance_id: int
    at: float
    proofs_per_hour: float | None = None
    cost_per_hour: float | None = None
    gpu_util: float | None = None
    gpu_temp: float | None = None


class FleetSample(msgspec.Struct, frozen=True, kw_only=True):
    """The fleet's sum over the instances that have a measured figure in one interval."""

    at: float
    proofs_per_hour: float | None = None
    cost_per_hour: float | None = None
    instances: int = 0
