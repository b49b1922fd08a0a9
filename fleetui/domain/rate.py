"""Measured proof rates."""

from enum import StrEnum

import msgspec


class RateSource(StrEnum):
    """What a proofs-per-hour figure was measured from."""

    BENCHMARK = "benchmark"
    COMPLETIONS = "completions"
    STATUS = "status"


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A measured rate of proofs, with its window and age. Never an estimate."""

    proofs_per_hour: float
    proofs: int
    window_seconds: float
    measured_at: float
    source: RateSource
