"""Any course of requests, crashes, faults and changes from outside ends as it must.

Nothing is destroyed that was not confirmed, nothing confirmed is forgotten, nothing is done twice.
"""

import asyncio
import contextlib
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from fleetui.collector.run import collect
from fleetui.collector.settings import CollectorSettings
from fleetui.domain.intent import Intent, IntentState, Verb, Withdrawal, intent_on
from fleetui.domain.reading import FleetRow
from fleetui.domain.secret import Secret
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.profiles.model import Profile
from fleetui.simulator.run import Serving
from fleetui.simulator.vast_api import Recorded
from fleetui.ssh.settings import SshSettings
from fleetui.store.interface import StoreError
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.client import ApiSettings
from pretend_vast import IdleHost, RealTime, pretend_vast

HOSTS = 4
DEADLINE_SECONDS = 60.0
FAULTS = [
    "api_down", "api_500", "html_200", "auth", "empty_list", "null_list", "partial_walk",
    "row_vanishes", "odd_rows", "refused", "lost_answer", "lost_answer", "single_unusable",
]  # fmt: skip
PACE = 6
SPEED = 60.0
EXPIRY_SECONDS = 1200.0
"""More than a course takes, unless it sleeps."""
COMMANDS = {Verb.RUN: sanitise("uptime")}
FIRM = {"auth", "refused"}
"""Faults under which a confirmed destroy may end as failed: the API refuses it for certain."""
PROFILE: list[Profile] = []
REQUESTS = st.tuples(
    st.integers(0, HOSTS - 1),
    st.sampled_from(
        [
            Verb.DESTROY,
            Verb.DESTROY,
            Verb.DRAIN_DESTROY,
            Verb.REBOOT,
            Verb.STOP,
            Verb.LABEL,
            Verb.RESTART_BENCHMARK,
            Verb.RUN,
        ]
    ),
    st.sampled_from(["", "", "label", "machine_id", "host_id"]),
)
"""Which instance, what, and in what the operator's sight of it is stale."""


class LeapingClock:
    """The fleet's time: it runs fast, and leaps while nobody collects."""

    def __init__(self) -> None:
        self.leapt = 0.0

    def now(self) -> float:
        return 1_790_000_000.0 + time.monotonic() * SPEED + self.leapt


class Stage:
    """A pretend API, a store, and a collector that can be killed and started again."""

    def __init__(self, folder: Path, served: Serving, real: RealTime) -> None:
        self.served = served
        self.real = real
        self.clock = LeapingClock()
        if not PROFILE:
            PROFILE.append(load("cuzk"))
        self._settings = CollectorSettings(
            store_path=folder / "fleet.db",
            api=ApiSettings(
                base_url=served.environment["VAST_URL"],
                write_key=Secret(served.environment["VAST_API_KEY"]),
            ),
            ssh=SshSettings(use_agent=False),
            profile=PROFILE[0],
            clock=self.clock,
            holder="",
            walk_interval_seconds=0.02,
            api_pace=0.0,
            tick_seconds=0.02,
            ask_again_seconds=0.3,
            absence_deadline_seconds=0.5,
            verify_deadline_seconds=0.3,
            blast_radius_instances=1000,
            acts_per_minute=PACE,
            request_expiry_seconds=EXPIRY_SECONDS,
        )
        self._task: asyncio.Task[object] | None = None
        self.taken: list[Recorded] = []
        self.store: SqliteStore

    async def start(self) -> None:
        named = {"holder": f"model-{uuid.uuid4().hex}", "stop": asyncio.Event()}
        stop = named.pop("stop")
        assert isinstance(stop, asyncio.Event)
        # A dataclass, and each run is a holder of its own.
        settings_of_run = CollectorSettings(**{**vars(self._settings), **named})
        self._task = asyncio.create_task(collect(settings_of_run, stop=stop), name="collector")

    async def crash(self) -> None:
        """End the collector without letting it finish anything."""
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait({self._task})
        with contextlib.suppress(asyncio.CancelledError):
            self._task.result()

    def _keep_calls(self) -> None:
        """Keep the actions that were taken: the record holds the newest calls only."""
        recorded = self.served.api.recorded
        while recorded:
            call = recorded.popleft()
            if call.method != "GET" and call.status == 200:
                self.taken.append(call)

    async def until_listed(self) -> dict[int, FleetRow]:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while len(rows := (await self.store.fleet()).rows) < HOSTS:
                await self.breathe(0.02)
        return {row.instance_id: row for row in rows}

    async def breathe(self, seconds: float) -> None:
        """Let the collector work for a moment; destroyed rows age meanwhile."""
        assert self._task is not None
        self.real.value += 1.0
        await asyncio.wait({self._task}, timeout=seconds)
        self._keep_calls()
        if self._task.done():
            self._task.result()
            raise AssertionError("the collector ended by itself")


@settings(
    max_examples=15,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
class ActsMachine(RuleBasedStateMachine):
    """Drives a stage; what was confirmed is the model."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.stack = contextlib.AsyncExitStack()
        self.real = RealTime()
        self.rows: dict[int, FleetRow] = {}
        self.hosts: dict[int, IdleHost] = {}
        self.changed: set[int] = set()
        self.asked: list[tuple[Intent, bool]] = []
        self.met_firm = False
        self.withdrawn: set[str] = set()
        self.slept_over: dict[str, IntentState] = {}
        """What was asked for before the hours without a collector, and how far it had come."""

    @initialize(first=st.lists(REQUESTS, min_size=2, max_size=4))
    def begin(self, first: list[tuple[int, Verb, str]]) -> None:
        self.runner.run(self._begin())
        for place, verb, stale in first:
            self._ask(place, verb, stale)

    async def _begin(self) -> None:
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        served = await self.stack.enter_async_context(pretend_vast(HOSTS, real=self.real))
        served.faults.switch_on("ssh_refused")
        await served.doors.settle()
        self.stage = Stage(Path(folder), served, self.real)
        await self.stage.start()
        self.stage.store = await SqliteStore.open(
            Path(folder) / "fleet.db", clock=self.stage.clock, viewer=True
        )
        self.rows = await self.stage.until_listed()
        for instance_id, rental in served.world.rentals.items():
            assert isinstance(rental.host, IdleHost)
            self.hosts[instance_id] = rental.host

    @rule(request=REQUESTS)
    def ask(self, request: tuple[int, Verb, str]) -> None:
        self._ask(*request)

    def _ask(self, place: int, verb: Verb, stale: str) -> None:
        row = self.rows[sorted(self.rows)[place]]
        if stale == "label":
            row = msgspec.structs.replace(row, label=sanitise("another's"))
        elif stale:
            row = msgspec.structs.replace(row, **{stale: 1})
        intent = intent_on(
            row,
            verb,
            intent_id=uuid.uuid4().hex,
            actor=sanitise("model"),
            reason=sanitise("asked"),
            now=self.stage.clock.now(),
            # Its own label again, so that a labelling stops nothing that comes later.
            argument=row.label if verb is Verb.LABEL else COMMANDS.get(verb),
        )
        self.runner.run(self.stage.store.intend(intent))
        self.asked.append((intent, bool(stale)))

    @precondition(lambda self: self.asked)
    @rule(place=st.integers(0, 100))
    def withdraw(self, place: int) -> None:
        """Somebody takes a request back, if the collector has not taken it."""
        intent, _ = self.asked[place % len(self.asked)]
        taken_back = Withdrawal(intent.intent_id, sanitise("model"), self.stage.clock.now())
        try:
            self.runner.run(self.stage.store.withdraw(taken_back))
        except StoreError:
            return
        self.withdrawn.add(intent.intent_id)

    @precondition(lambda self: not self.slept_over)
    @rule(request=REQUESTS)
    def sleep(self, request: tuple[int, Verb, str]) -> None:
        """No collector runs for hours; what was asked for before is of no interest any more."""
        self.runner.run(self.stage.crash())
        self._ask(*request)
        intents = self.runner.run(self.stage.store.intents(limit=500))
        self.slept_over = {intent.intent_id: intent.state for intent in intents}
        self.stage.clock.leapt += EXPIRY_SECONDS * 10
        self.runner.run(self.stage.start())

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.05, 0.2]))
    def work(self, seconds: float) -> None:
        self.runner.run(self.stage.breathe(seconds))

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.1]))
    def crash(self, seconds: float) -> None:
        async def crash() -> None:
            await self.stage.crash()
            await self.stage.start()
            await self.stage.breathe(seconds)

        self.runner.run(crash())

    @rule(name=st.sampled_from(FAULTS), calls=st.sampled_from([None, 1, 3]))
    def fail(self, name: str, calls: int | None) -> None:
        self.met_firm = self.met_firm or name in FIRM
        self.stage.served.faults.switch_on(name, calls=calls)

    @rule()
    def mend(self) -> None:
        self._mend()

    @precondition(lambda self: len(self.changed) < 2)
    @rule(place=st.integers(0, HOSTS - 1), field=st.sampled_from(["label", "machine_id"]))
    def change(self, place: int, field: str) -> None:
        """Somebody else relabels an instance, or its machine is another one now."""
        instance_id = sorted(self.rows)[place]
        rental = self.stage.served.world.rentals.get(instance_id)
        if rental is not None:
            self.changed.add(instance_id)
            rental.fields[field] = "theirs" if field == "label" else 99_999_999

    @rule(place=st.integers(0, HOSTS - 1))
    def end_elsewhere(self, place: int) -> None:
        self.stage.served.world.destroy(sorted(self.rows)[place])

    def _mend(self) -> None:
        faults = self.stage.served.faults
        faults.switch_off()
        faults.switch_on("ssh_refused")

    def teardown(self) -> None:
        try:
            if self.rows:
                self._mend()
                intents = self.runner.run(self._settled())
                self._judge(intents)
        finally:
            self.runner.run(self._end())
            self.runner.close()

    async def _settled(self) -> dict[str, Intent]:
        """Let everything end; an intent that stays unknown is looked at by a new collector."""
        await self.stage.crash()
        await self.stage.start()
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                await self.stage.breathe(0.05)
                intents = {one.intent_id: one for one in await self.stage.store.intents(limit=500)}
                waiting = (IntentState.REQUESTED, IntentState.RUNNING)
                if not any(one.state in waiting for one in intents.values()):
                    return intents

    async def _end(self) -> None:
        if self.rows:
            await self.stage.crash()
            await self.stage.store.close()
        await self.stack.aclose()

    def _judge(self, intents: dict[str, Intent]) -> None:
        world = self.stage.served.world
        done = self.stage.taken
        deleted = {int(call.path.split("/")[4]) for call in done if call.method == "DELETE"}
        confirmed = {
            intent.instance_id
            for intent, stale in self.asked
            if intent.verb is Verb.DESTROY and not stale and not self._is_off(intent)
        }
        assert deleted <= confirmed, "destroyed without being confirmed"
        for intent, stale in self.asked:
            settled = intents[intent.intent_id]
            if self._is_off(intent):
                assert settled.state is IntentState.REFUSED, settled.result
            elif intent.verb is Verb.DESTROY:
                self._judge_destroy(
                    settled, stale=stale, lives=bool(world.living(intent.instance_id))
                )
            elif intent.verb in (Verb.RUN, Verb.RESTART_BENCHMARK, Verb.DRAIN_DESTROY):
                # No host lets anybody in, so that nothing of this can come about.
                gone = world.living(intent.instance_id) is None
                assert gone or settled.state is not IntentState.DONE, settled.result
        wanted = Counter(one.instance_id for one, _ in self.asked if one.verb is Verb.REBOOT)
        for instance_id, host in self.hosts.items():
            assert host.reboots <= wanted[instance_id], "rebooted twice"

    def _is_off(self, intent: Intent) -> bool:
        """Tell whether a request was taken back, or too old when a collector came."""
        slept_over = self.slept_over.get(intent.intent_id) is IntentState.REQUESTED
        return intent.intent_id in self.withdrawn or slept_over

    def _judge_destroy(self, intent: Intent, *, stale: bool, lives: bool) -> None:
        if stale:
            assert intent.state in (IntentState.REFUSED, IntentState.DONE), intent.result
            assert intent.state is IntentState.REFUSED or not lives
            return
        if intent.state is IntentState.DONE:
            assert not lives, "called destroyed while it lives"
            return
        # Confirmed and not done: only for a reason that is said.
        reason = str(intent.result)
        if intent.state is IntentState.REFUSED:
            unsure = "does not tell" in reason or "no such instance" in reason
            assert unsure or intent.instance_id in self.changed, reason
        else:
            assert intent.state is IntentState.FAILED, reason
            too_old = intent.intent_id in self.slept_over and "not asked for again" in reason
            assert self.met_firm or too_old, reason


TestActs = ActsMachine.TestCase
