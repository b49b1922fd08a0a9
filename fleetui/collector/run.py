"""One run of the collector: take the lease, collect under it, give it back."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any

import httpx

from fleetui.collector import lifetime, resume, tenure
from fleetui.collector.acts import Tools
from fleetui.collector.admission import Admission, Permissions
from fleetui.collector.black_box import BlackBox
from fleetui.collector.blast_radius import BlastRadius
from fleetui.collector.charges import ChargeKeeper
from fleetui.collector.deploy import Deployer
from fleetui.collector.fleet import Fleet
from fleetui.collector.health import HealthBoard
from fleetui.collector.host_keys import HostKeyKeeper
from fleetui.collector.intents import Executor
from fleetui.collector.lifetime import End
from fleetui.collector.machine_memory import MachineMemory
from fleetui.collector.older_logs import OlderLogs
from fleetui.collector.policy import PolicyRunner
from fleetui.collector.publisher import Publisher
from fleetui.collector.restart import recall_restarts
from fleetui.collector.settings import CollectorSettings
from fleetui.collector.spending import SpendMeter
from fleetui.collector.standing_book import StandingBook
from fleetui.collector.survey import Survey
from fleetui.collector.walks import Walks
from fleetui.collector.watcher import Watcher
from fleetui.domain.clock import ScaledClock
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState
from fleetui.domain.reading import Reading
from fleetui.domain.stream import StreamPosition
from fleetui.domain.text import sanitise
from fleetui.profiles.model import Profile
from fleetui.ssh.gate import HandshakeGate
from fleetui.ssh.host_keys import HostKeyBook
from fleetui.ssh.link import HostLink, LinkSink
from fleetui.ssh.login import Login
from fleetui.ssh.settings import FollowPlan
from fleetui.store.interface import CollectorStore, FenceLostError, Lease, StoreError
from fleetui.store.lease import host_clock
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.client import VastClient
from fleetui.vast.inventory import Inventory
from fleetui.vast.limiter import Limiter

log = logging.getLogger(__name__)

DRAIN_SECONDS = 3.0
BLAST_WINDOW_SECONDS = 600.0
START_AGAIN_SECONDS = 2.0
_LOOPBACK = re.compile(r"https?://(127\.|localhost\b|\[::1\])")


class _EndedError(Exception):
    """Unwinds a run's tasks; carries why."""

    def __init__(self, end: End) -> None:
        super().__init__(end)
        self.end = end


async def collect(settings: CollectorSettings, *, stop: asyncio.Event) -> End:
    """Collect until `stop` is set, the lease is lost, or nobody needs it any more.

    Raises:
        StoreError: the store cannot be opened.
    """
    store = await SqliteStore.open(
        settings.store_path, clock=settings.clock, budget=settings.log_budget
    )
    async with contextlib.aclosing(store):
        with lifetime.lifeline(settings.lifeline_fd, stop):
            while True:
                end = await _tenure(settings, store, stop)
                if end is not None:
                    return end
                if await tenure.pause(stop, START_AGAIN_SECONDS):
                    return End.STOPPED


async def _tenure(
    settings: CollectorSettings, store: CollectorStore, stop: asyncio.Event
) -> End | None:
    """Collect under one lease; `None` says that it is to be taken anew."""
    lease = await tenure.take(
        store,
        settings.holder,
        settings.lease_ttl_seconds,
        stop=stop,
        patience_seconds=settings.standby_seconds,
    )
    if lease is None:
        return End.STOPPED if stop.is_set() else End.STANDBY
    end: End | None = None
    try:
        end = await _hold(settings, store, lease, stop)
    except* FenceLostError as group:
        log.error("stopping: %s", group.exceptions[0])  # noqa: TRY400 - no bug
        end = End.LEASE_LOST
    except* StoreError:
        # Memory and store disagree: begin again from what is stored, under a new epoch, so that
        # intents under way are looked at like those of a collector that crashed.
        log.exception("starting again from the store")
    finally:
        with contextlib.suppress(StoreError):
            await store.release(lease)
    return end


async def _hold(
    settings: CollectorSettings, store: CollectorStore, lease: Lease, stop: asyncio.Event
) -> End:
    health = HealthBoard(settings.holder, settings.clock)
    publisher = Publisher(
        store,
        lease,
        clock=settings.clock,
        health=health,
        tick_seconds=settings.tick_seconds,
        pending_bytes=settings.pending_bytes,
        pending_bytes_per_instance=settings.pending_bytes_per_instance,
    )
    # A task of its own: before Python 3.11.5 a failed TaskGroup leaves its task's cancel count
    # raised, and a later time-out there reads as a cancellation.
    end = await asyncio.create_task(
        _work(settings, store, lease, stop, publisher=publisher, health=health), name="work"
    )
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            await publisher.drain()
    except TimeoutError:
        log.warning("the store did not take the last batch in time")
    return end


async def _work(
    settings: CollectorSettings,
    store: CollectorStore,
    lease: Lease,
    stop: asyncio.Event,
    *,
    publisher: Publisher,
    health: HealthBoard,
) -> End:
    login = Login(settings.ssh)
    end = End.STOPPED
    # A proxy of the environment has no way to a simulator on this machine.
    proxied = not _LOOPBACK.match(settings.api.base_url)
    async with httpx.AsyncClient(trust_env=proxied) as http:
        try:
            async with asyncio.TaskGroup() as group:
                # First of all: what takes long below must not cost the lease.
                _start(group, "lease", tenure.keep(store, lease))
                _start(group, "stop", _end_on(stop))
                await _start_parts(
                    settings,
                    store,
                    lease,
                    group=group,
                    publisher=publisher,
                    health=health,
                    http=http,
                    login=login,
                )
        except* _EndedError as ended:
            end = _first(ended).end
        finally:
            login.close()
    return end


async def _start_parts(
    settings: CollectorSettings,
    store: CollectorStore,
    lease: Lease,
    *,
    group: asyncio.TaskGroup,
    publisher: Publisher,
    health: HealthBoard,
    http: httpx.AsyncClient,
    login: Login,
) -> None:
    resumed = await resume.load(store)
    host_keys = HostKeyBook(resumed.host_keys)
    keeper = HostKeyKeeper(store, lease)
    plan = follow_plan(settings.profile)
    gate = HandshakeGate(settings.ssh.max_handshakes)

    def make_link(
        instance_id: int, sink: LinkSink, positions: Mapping[str, StreamPosition]
    ) -> HostLink:
        return HostLink(
            instance_id,
            settings.ssh,
            profile=plan,
            host_keys=host_keys,
            sink=sink,
            resume=positions,
            gate=gate,
            clock=settings.clock,
            login=login,
        )

    def make_watcher(
        instance: Instance, positions: tuple[StreamPosition, ...], earlier: Reading | None
    ) -> Watcher:
        return Watcher(
            instance,
            profile=settings.profile,
            clock=settings.clock,
            publisher=publisher,
            make_link=make_link,
            keep_host_key=keeper.keep,
            positions=positions,
            earlier=earlier,
        )

    meter = SpendMeter(
        {
            remains.instance.instance_id: (remains.row_seen_at, remains.instance)
            for remains in resumed.remains
        },
        resumed.spent,
        steady=host_clock().now,
        speed=settings.clock.speed if isinstance(settings.clock, ScaledClock) else 1.0,
    )
    standing = StandingBook(store, lease, resumed.standing)
    fleet = Fleet(
        group,
        make_watcher,
        publisher=publisher,
        clock=settings.clock,
        health=health,
        meter=meter,
        standing=standing,
        sample_interval_seconds=settings.sample_interval_seconds,
    )
    fleet.resume(resumed)
    await recall_restarts(store, fleet)
    client = VastClient(settings.api, Limiter(settings.api_pace), http, clock=settings.clock)
    inventory = Inventory(
        [(remains.instance, remains.row_seen_at) for remains in resumed.remains],
        stopping=resumed.stopping,
    )
    walks = Walks(
        client,
        inventory,
        interval_seconds=settings.walk_interval_seconds,
        account_interval_seconds=settings.account_interval_seconds,
        health=health,
        clock=settings.clock,
        on_walk=fleet.on_walk,
        on_gone=fleet.on_gone,
    )
    charges = ChargeKeeper(
        client,
        store,
        lease,
        interval_seconds=settings.charges_interval_seconds,
        health=health,
        clock=settings.clock,
    )
    black_box = BlackBox(
        store,
        lease,
        profile=settings.profile,
        publisher=publisher,
        clock=settings.clock,
        seconds=settings.snapshot_seconds,
        secret_names=settings.deploy.secret_names,
    )
    deployer = Deployer(
        client,
        fleet=fleet,
        walks=walks,
        standing=standing,
        book=store,
        terms=settings.deploy,
        policy=settings.policy,
        clock=settings.clock,
        environment=settings.environment,
        find_seconds=settings.verify_deadline_seconds,
        run_seconds=settings.deploy_deadline_seconds,
    )
    tools = Tools(
        client=client,
        inventory=inventory,
        walks=walks,
        fleet=fleet,
        black_box=black_box,
        standing=standing,
        profile=settings.profile,
        host_keys=host_keys,
        keeper=keeper,
        deployer=deployer,
        older_logs=OlderLogs(store, lease, fleet, settings.clock),
        keep_answer=partial(store.keep_answer, lease),
        answers=store.answers,
        note=partial(_note, settings, store, lease),
        view=store.fleet,
        secret_names=settings.deploy.secret_names,
        clock=settings.clock,
        expiry_seconds=settings.request_expiry_seconds,
        command_seconds=settings.command_seconds,
        ask_again_seconds=settings.ask_again_seconds,
        absence_deadline_seconds=settings.absence_deadline_seconds,
        drain_deadline_seconds=settings.drain_deadline_seconds,
        verify_deadline_seconds=settings.verify_deadline_seconds,
        first_try_seconds=settings.first_try_seconds,
        script_timeout_seconds=settings.script_timeout_seconds,
    )
    blast_radius = BlastRadius(
        instances=settings.blast_radius_instances,
        share=settings.blast_radius_share,
        window_seconds=BLAST_WINDOW_SECONDS,
        earlier=[at for ends_work, at in resumed.interrupted_at if ends_work],
    )
    admission = Admission(
        per_minute=settings.acts_per_minute,
        expiry_seconds=settings.request_expiry_seconds,
        earlier=resumed.interrupted_at,
    )
    runner = PolicyRunner(
        store,
        settings.policy,
        fleet=fleet,
        walks=walks,
        standing=standing,
        publisher=publisher,
        health=health,
        clock=settings.clock,
    )
    executor = Executor(
        store,
        lease,
        tools,
        admission=admission,
        permissions=Permissions(settings.role, settings.roles),
        blast_radius=blast_radius,
        publisher=publisher,
        health=health,
    )
    _start(group, "publisher", publisher.run())
    _start(group, "host keys", keeper.run())
    _start(group, "walks", walks.run())
    _start(group, "suspects", walks.settle_suspects())
    _start(group, "account", walks.watch_account())
    _start(group, "charges", charges.run())
    _start(group, "catch up", fleet.catch_up(store, resumed))
    _start(group, "review", fleet.review())
    _start(group, "viewers", fleet.heed_viewers(store))
    _start(group, "memory", fleet.settle_memory())
    _start(group, "black box", black_box.run(fleet))
    memory = MachineMemory(fleet, publisher, settings.clock)
    _start(group, "machines", memory.run(store))
    _start(group, "survey", Survey(fleet, publisher, settings.clock).run(store))
    _start(group, "policy", runner.run())
    _start(group, "intents", executor.run())
    if settings.auto:
        _start(group, "lifetime", _end_after_viewers(store, settings.viewer_patience_seconds))


async def _note(
    settings: CollectorSettings, store: CollectorStore, lease: Lease, intent: Intent, text: str
) -> None:
    """Keep how far an intent has come, for whoever looks and for the next collector."""
    try:
        at = settings.clock.now()
        await store.settle(lease, intent.intent_id, IntentState.RUNNING, sanitise(text), at)
    except FenceLostError:
        raise
    except StoreError as error:
        log.warning("how far %s has come is not noted: %s", intent.intent_id, error)


def follow_plan(profile: Profile) -> FollowPlan:
    """Return what of a profile concerns a link."""
    return FollowPlan(
        streams=tuple((spec.kind, glob) for spec in profile.streams for glob in spec.patterns),
        probe_paths=profile.probe_paths,
        process_names=profile.process_names,
        status_port=profile.status_port,
    )


def _start(group: asyncio.TaskGroup, name: str, work: Coroutine[Any, Any, None]) -> None:
    group.create_task(work, name=name)


async def _end_on(stop: asyncio.Event) -> None:
    await stop.wait()
    raise _EndedError(End.STOPPED)


async def _end_after_viewers(store: CollectorStore, patience_seconds: float) -> None:
    await lifetime.last_viewer_left(store, patience_seconds)
    raise _EndedError(End.NO_VIEWER)


def _first(group: BaseExceptionGroup[_EndedError]) -> _EndedError:
    leaf: BaseException = group
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    assert isinstance(leaf, _EndedError)  # noqa: S101 - `except*` filtered the group
    return leaf
