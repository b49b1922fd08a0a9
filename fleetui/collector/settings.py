"""What one run of the collector is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fleetui.domain.clock import Clock
from fleetui.domain.policy import Policy
from fleetui.domain.rental import Deploy
from fleetui.domain.role import Role
from fleetui.profiles.model import Profile
from fleetui.ssh.settings import SshSettings
from fleetui.store.log_budget import LogBudget
from fleetui.vast.client import ApiSettings


@dataclass(frozen=True, kw_only=True)
class CollectorSettings:
    """Settings of a run. Intervals and deadlines are real seconds, sizes are bytes.

    `auto` says that a console started it: it ends by itself `viewer_patience_seconds` after the
    last viewer. `lifeline_fd` is a pipe's read end; when the other end is closed, the collector
    ends. `sample_interval_seconds` is fleet time. `api_pace` scales the spacing of API calls;
    below 1 is for a simulator only. A list that began `ask_again_seconds` after a
    destroy and still has the row asks for another call; `absence_deadline_seconds` is how long
    the proof is waited for before the target is looked at again. An act that needs the host waits
    at most `first_try_seconds` for the first outcome of its connection.
    `request_expiry_seconds` (fleet time) is how old a request may be when it is first seen, and
    `acts_per_minute` how many that interrupt work are taken within a minute (0: no bound).
    """

    store_path: Path
    api: ApiSettings
    ssh: SshSettings
    profile: Profile
    clock: Clock
    holder: str
    walk_interval_seconds: float = 15.0
    api_pace: float = 1.0
    account_interval_seconds: float = 300.0
    charges_interval_seconds: float = 1800.0
    lease_ttl_seconds: float = 5.0
    tick_seconds: float = 0.3
    sample_interval_seconds: float = 10.0
    ask_again_seconds: float = 12.0
    absence_deadline_seconds: float = 300.0
    drain_deadline_seconds: float = 2700.0
    verify_deadline_seconds: float = 60.0
    first_try_seconds: float = 30.0
    script_timeout_seconds: float = 300.0
    snapshot_seconds: float = 20.0
    policy: Policy = field(default_factory=Policy)
    deploy: Deploy = field(default_factory=Deploy)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    deploy_deadline_seconds: float = 1800.0
    blast_radius_instances: int = 10
    blast_radius_share: float = 0.2
    acts_per_minute: int = 10
    request_expiry_seconds: float = 900.0
    command_seconds: float = 20.0
    role: Role = Role.OWNER
    roles: Mapping[str, Role] = field(default_factory=dict)
    auto: bool = False
    viewer_patience_seconds: float = 60.0
    standby_seconds: float | None = None
    lifeline_fd: int | None = None
    pending_bytes: int = 64 * 1024 * 1024
    pending_bytes_per_instance: int = 2 * 1024 * 1024
    log_budget: LogBudget = field(default_factory=LogBudget)
