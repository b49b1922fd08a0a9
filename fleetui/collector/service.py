"""The collector as a process: settings completed, signals heeded, a log on stderr."""

import asyncio
import logging
import os
import platform
import signal
import sys
import uuid
from pathlib import Path

from fleetui.collector.lifetime import End
from fleetui.collector.run import collect
from fleetui.collector.settings import CollectorSettings
from fleetui.config import Settings
from fleetui.domain.clock import parse_clock
from fleetui.profiles.loader import load
from fleetui.profiles.model import ProfileError
from fleetui.ssh.event_loop import paced_loop
from fleetui.ssh.settings import SshSettings
from fleetui.store.interface import StoreError
from fleetui.store.log_budget import MEBIBYTE, LogBudget
from fleetui.vast.client import ApiSettings
from fleetui.vast.keys import find_keys

log = logging.getLogger(__name__)

AUTO_STANDBY_SECONDS = 15.0
WALKS_A_BOOK = 120
"""The API's charges are asked for once in so many walks, which is half an hour."""


class NotRunnableError(Exception):
    """The collector cannot run with these settings; the text says what to do."""


def run(settings: Settings, *, auto: bool, lifeline_fd: int | None) -> int:
    """Run until a signal, the lifeline or the lease ends it; returns the exit status."""
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )
    for chatty in ("asyncssh", "httpx", "httpcore"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        wanted = collector_settings(settings, auto=auto, lifeline_fd=lifeline_fd)
    except NotRunnableError as error:
        print(f"fleetui: {error}", file=sys.stderr)  # noqa: T201 - the verb's answer
        return 2
    with asyncio.Runner(loop_factory=paced_loop) as runner:
        return runner.run(_run(wanted))


def collector_settings(
    settings: Settings, *, auto: bool, lifeline_fd: int | None
) -> CollectorSettings:
    """Complete the operator's settings with keys, profile and clock.

    Raises:
        NotRunnableError: there is no API key, or the profile cannot be used.
    """
    keys = find_keys(os.environ, Path.home())
    if keys.read_key is None and keys.write_key is None:
        raise NotRunnableError(keys.explain())
    try:
        profile = load(settings.profile, settings.profile_dir)
    except ProfileError as error:
        raise NotRunnableError(str(error)) from error
    for warning in profile.warnings:
        log.warning("%s", warning)
    try:
        clock = parse_clock(settings.clock)
    except ValueError as error:
        raise NotRunnableError(str(error)) from error
    return CollectorSettings(
        store_path=settings.store_path,
        api=ApiSettings(
            base_url=settings.api_url, read_key=keys.read_key, write_key=keys.write_key
        ),
        ssh=SshSettings(
            user=settings.ssh_user, key_files=settings.ssh_keys, use_agent=settings.ssh_agent
        ),
        profile=profile,
        clock=clock,
        holder=f"{platform.node()}:{os.getpid()}:{uuid.uuid4().hex[:8]}",
        walk_interval_seconds=settings.walk_interval_seconds,
        charges_interval_seconds=settings.walk_interval_seconds * WALKS_A_BOOK,
        snapshot_seconds=settings.snapshot_seconds,
        policy=settings.policy,
        deploy=settings.deploy,
        environment=os.environ,
        blast_radius_instances=settings.blast_radius_instances,
        blast_radius_share=settings.blast_radius_share,
        acts_per_minute=settings.acts_per_minute,
        request_expiry_seconds=settings.request_expiry_minutes * 60.0,
        role=settings.role_here,
        roles=settings.roles,
        auto=auto,
        standby_seconds=AUTO_STANDBY_SECONDS if auto else None,
        lifeline_fd=lifeline_fd,
        log_budget=LogBudget(
            instance_bytes=settings.log_megabytes_per_instance * MEBIBYTE,
            total_bytes=settings.log_megabytes * MEBIBYTE,
        ),
    )


async def _run(settings: CollectorSettings) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    try:
        end = await collect(settings, stop=stop)
    except StoreError as error:
        log.error("%s", error)  # noqa: TRY400 - the text says all
        return 1
    log.info("ended: %s", end)
    return int(end is End.LEASE_LOST)
