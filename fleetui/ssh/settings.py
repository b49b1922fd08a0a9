"""How connections to hosts are made and what is asked over them."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SshSettings:
    """One object for the whole fleet. Times are real seconds, sizes bytes.

    Attributes:
        user: account to log in as; Vast hosts only have `root` (facts: vast_api.md section 4.3).
        key_files: private keys to offer, before those of the agent.
        use_agent: whether to offer the keys of the SSH agent as well.
        agent_path: socket of the agent; `None` means `SSH_AUTH_SOCK`.
        connect_timeout: limit of one connect with handshake and login; handshakes on Vast can
            stall rather than fail.
        keepalive_seconds, keepalive_count: a connection without an answer to this many
            keepalives is lost.
        max_handshakes: how many handshakes may run at once; 50 to 100 is enough for 1,000 hosts
            (facts: perf.md section 4).
        follow_interval_seconds, watched_follow_seconds: how often a host looks at its log files,
            while nobody looks at it and while somebody does.
        beat_seconds, watched_beat_seconds: how long it does so before it says that it is there
            and hears whether the other interval is wanted.
        probe_interval_seconds, watched_probe_seconds: time between looks at processes, GPUs and
            memory, while nobody looks and while somebody does.
        tool_seconds: how long a tool of a look may take before it is killed, whole seconds.
        look_seconds: how long a look may take whose tools hang one after the other.
        first_look_seconds: how long after the login the first look and the first question for
            the status may wait where nobody looks: hosts that come back together are first all
            read, and not all asked at once.
        status_interval_seconds, watched_status_seconds: the same for the daemon's `/status`.
        first_sight_bytes: a file longer than this when first seen is read from near its end;
            what is left out is counted in `StreamPosition.skipped`.
        chunk_bytes: most new bytes of one file in one frame.
        max_files: most files followed on one host.
        retry_seconds, retry_limit_seconds: first and longest pause between connects.
        refused_key_seconds: first pause after a refused login or a changed host key; frequent
            logins get a client blocked for a while (facts: vast_api.md section 7, 25).
    """

    user: str = "root"
    key_files: tuple[Path, ...] = ()
    use_agent: bool = True
    agent_path: str | None = None
    connect_timeout: float = 30.0
    keepalive_seconds: float = 15.0
    keepalive_count: int = 3
    max_handshakes: int = 64
    follow_interval_seconds: float = 0.5
    watched_follow_seconds: float = 0.1
    beat_seconds: float = 5.0
    watched_beat_seconds: float = 1.0
    probe_interval_seconds: float = 10.0
    watched_probe_seconds: float = 2.0
    tool_seconds: int = 10
    look_seconds: float = 120.0
    first_look_seconds: float = 2.5
    status_interval_seconds: float = 15.0
    watched_status_seconds: float = 1.5
    first_sight_bytes: int = 4 * 1024 * 1024
    chunk_bytes: int = 256 * 1024
    max_files: int = 64
    retry_seconds: float = 1.0
    retry_limit_seconds: float = 60.0
    refused_key_seconds: float = 20.0


@dataclass(frozen=True)
class FollowPlan:
    """What to follow and look at on a host; made from a profile.

    `streams` are pairs of stream kind and absolute shell glob; the first that covers a path
    names its kind. `probe_paths` are globs of files whose size and time a probe lists.
    `status_port` is the loopback port of the daemon's `/status`, `None` when it has none.
    """

    streams: tuple[tuple[str, str], ...]
    probe_paths: tuple[str, ...] = ()
    process_names: tuple[str, ...] = ()
    status_port: int | None = None
