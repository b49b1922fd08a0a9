"""Everything a diagnosis may look at, gathered in one frozen value."""

import msgspec

from fleetui.domain.host import DaemonStatus, Probe, SshOutcome
from fleetui.domain.instance import Instance
from fleetui.domain.rate import Rate
from fleetui.domain.stage import Progress, Stage, StageSpan
from fleetui.domain.stream import Fact
from fleetui.domain.text import SafeText
from fleetui.reading.daemon_starts import DaemonStart


class StreamTail(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one stream: its last non-blank line and when it last grew."""

    source: str
    kind: str
    generation: int
    last_line: int
    last_offset: int
    last_text: SafeText
    lines: int
    read_from: int = 0
    """Offset since which every byte was read."""
    grown_at: float | None = None


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A trait in which an instance differs from most of its siblings.

    `alike` of the `siblings` whose trait is known have the `usual` value.
    """

    trait: str
    own: str
    usual: str
    siblings: int
    alike: int


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Proofs of one window (seconds) that ends at `at`, by the log and by the daemon's counter."""

    by_log: int
    by_counter: int
    window: float
    at: float


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence on one instance.

    `live` is false for an inquest into a folder of files: there `now` is the newest time in the
    evidence, and silence proves nothing. `facts` holds the matched lines in the order read,
    thinned per rule and generation to the first and last few; `counts` has the true number a
    rule. `first_probe` is the oldest probe known, to tell counters that rose from old ones.
    `restarts` are the times at which a restart of the daemon was asked for here.
    """

    now: float
    live: bool
    stage: Stage
    spans: tuple[StageSpan, ...] = ()
    progress: Progress | None = None
    rates: tuple[Rate, ...] = ()
    min_rate: float | None = None
    era: str | None = None
    facts: tuple[Fact, ...] = ()
    counts: dict[str, int] = {}
    tails: tuple[StreamTail, ...] = ()
    probe: Probe | None = None
    first_probe: Probe | None = None
    status: DaemonStatus | None = None
    status_error: SafeText | None = None
    instance: Instance | None = None
    ssh: SshOutcome | None = None
    ssh_losses: tuple[SshOutcome, ...] = ()
    """The latest losses of a connection that had stood, oldest first."""
    loading_since: float | None = None
    """Since when the row shows that it is being started, of an instance that had run before."""
    counted: Counted | None = None
    restarts: tuple[float, ...] = ()
    differences: tuple[Difference, ...] = ()
    daemon_starts: tuple[DaemonStart, ...] = ()
    """Starts that the daemon's falling uptime showed."""
    stage_limits: dict[Stage, float] = {}
    silence_limits: dict[Stage, float] = {}
    """Seconds that a stage may take, and may be without a new byte: the profile's."""
    image_cuda: float | None = None
    """CUDA release that the image's programs were built with: the profile's."""
