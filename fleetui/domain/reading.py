"""What the collector concludes about one instance, whole and as one table row."""

import msgspec

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import DaemonStatus, Probe, SshOutcome, SshState
from fleetui.domain.rate import Rate, RateSource
from fleetui.domain.stage import Progress, Stage, StageSpan
from fleetui.domain.text import SafeText


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The whole reading of an instance: the inspector's contents.

    `findings` has the root cause first. `rates` has at most one rate a source and window.
    `era` is `O` or `N` (facts: cuzk.md, head) or `None` while the log has not told.
    """

    instance_id: int
    at: float
    stage: Stage
    spans: tuple[StageSpan, ...] = ()
    progress: Progress | None = None
    rates: tuple[Rate, ...] = ()
    min_rate: float | None = None
    era: str | None = None
    findings: tuple[Finding, ...] = ()
    probe: Probe | None = None
    status: DaemonStatus | None = None
    status_error: SafeText | None = None
    ssh: SshOutcome | None = None
    newest_byte_at: float | None = None
    newest_byte_source: str | None = None
    clock_skew_seconds: float | None = None
    traits: dict[str, str] = {}
    """What can be compared with siblings: image, driver, daemon era, configuration."""
    begun_anew_at: float | None = None
    """When somebody last had it begin anew: daemon, benchmark or the whole instance."""


class FleetRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the fleet table. `None` is "not known"; each figure has its age beside it."""

    instance_id: int
    label: SafeText | None = None
    machine_id: int | None = None
    host_id: int | None = None
    """The machine's owner."""
    gpu: SafeText | None = None
    num_gpus: int | None = None
    geolocation: SafeText | None = None
    api_status: SafeText | None = None
    row_seen_at: float | None = None
    stage: Stage
    stage_since: float | None = None
    attempt: int = 1
    progress_fraction: float | None = None
    progress_text: SafeText | None = None
    eta_seconds: float | None = None
    proofs_per_hour: float | None = None
    rate_source: RateSource | None = None
    rate_at: float | None = None
    rate_window: float | None = None
    """Seconds that the rate was measured over; 0 where they are not known."""
    counted: tuple[tuple[float, int], ...] = ()
    """Seconds of each window that ends at `counted_at`, and proofs completed in it; the last
    window is since the work began."""
    counted_at: float | None = None
    min_rate: float | None = None
    cost_per_hour: float | None = None
    cost_per_proof: float | None = None
    spent: float | None = None
    """Dollars it has cost since FleetUI first saw it (`spent_since`)."""
    spent_since: float | None = None
    gpu_util: float | None = None
    gpu_temp: float | None = None
    gpu_at: float | None = None
    newest_byte_at: float | None = None
    ssh: SshState = SshState.NONE
    finding_category: str | None = None
    finding_severity: Severity | None = None
    finding_summary: SafeText | None = None
    findings: int = 0
    acting: SafeText | None = None
    """The word for an intent under way, e.g. `destroying`."""
    machine_record: SafeText | None = None
    """What earlier instances left in memory of its machine, as of when it appeared."""
    protected: bool = False
    """Whether nothing may be done to it."""
    odd: SafeText | None = None
    """Why the API's row could not be read in full."""

    @property
    def proving_per_hour(self) -> float | None:
        """The measured rate of present work, as sums take it: a benchmark's earns nothing."""
        return None if self.rate_source is RateSource.BENCHMARK else self.proofs_per_hour
