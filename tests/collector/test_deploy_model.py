"""Any course of faults and crashes rents nothing twice, and what is said of it is true."""

import asyncio
import contextlib
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.collector.run import collect
from fleetui.collector.settings import CollectorSettings
from fleetui.domain.clock import ScaledClock
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.rental import Deploy, Rental, Template, marked_label
from fleetui.domain.secret import Secret
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.simulator.run import Serving
from fleetui.simulator.stock import Offer
from fleetui.ssh.settings import SshSettings
from fleetui.store.sqlite import SqliteStore
from fleetui.vast.client import ApiSettings
from pretend_vast import KEY, pretend_vast

TEMPLATE = Template(image="example/image", label="night")
DEADLINE_SECONDS = 60.0
RENTINGS = 3
FAULTS = [
    "lost_answer", "lost_answer", "api_500", "api_down", "html_200", "refused", "offer_lost",
    "empty_list", "null_list", "partial_walk", "single_unusable",
]  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.sampled_from(FAULTS).map(lambda name: ("fault", name)),
        st.just(("mend", "")),
        st.just(("ask", "")),
        st.just(("crash", "")),
        st.just(("wait", "")),
    ),
    min_size=3,
    max_size=10,
)


class Stage:
    """A pretend API, a store, and a collector that can be killed."""

    def __init__(self, served: Serving, folder: Path) -> None:
        self.served = served
        now = time.time()
        self.clock = ScaledClock(now, now, 1.0)
        self.settings = CollectorSettings(
            store_path=folder / "fleet.db",
            api=ApiSettings(
                base_url=served.environment["VAST_URL"], read_key=Secret(KEY), write_key=Secret(KEY)
            ),
            ssh=SshSettings(use_agent=False),
            profile=load("generic"),
            clock=self.clock,
            holder="",
            deploy=Deploy(templates={"t": TEMPLATE}),
            walk_interval_seconds=0.2,
            api_pace=0.0,
            verify_deadline_seconds=0.6,
            deploy_deadline_seconds=20.0,
            lease_ttl_seconds=30.0,
        )
        self.offers: list[Offer] = list(served.world.offers.values())
        self.asked: dict[str, Offer] = {}
        self.task: asyncio.Task[object] | None = None

    async def start(self) -> None:
        if self.task is None:
            holder = f"model-{uuid.uuid4().hex[:8]}"
            wanted = CollectorSettings(**{**vars(self.settings), "holder": holder})
            self.task = asyncio.create_task(collect(wanted, stop=asyncio.Event()))
            while not self.settings.store_path.exists():  # noqa: ASYNC110 - a file
                await asyncio.sleep(0.01)

    async def crash(self) -> None:
        """End it without a word, wherever it is."""
        if self.task is not None:
            self.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.task
            self.task = None

    async def ask(self, store: SqliteStore) -> None:
        if len(self.asked) >= RENTINGS:
            return
        offer = self.offers[len(self.asked)]
        intent_id = uuid.uuid4().hex
        self.asked[intent_id] = offer
        await store.intend(
            Intent(
                intent_id=intent_id, verb=Verb.DEPLOY, instance_id=0, actor=sanitise("model"),
                reason=sanitise("a test"), created_at=self.clock.now(),
                machine_id=offer.machine.machine_id,
                rental=Rental(
                    offer_id=offer.offer_id, template="t", fingerprint=TEMPLATE.fingerprint,
                    price=offer.fields["dph_total"],
                ),
            )
        )  # fmt: skip

    def sent(self) -> Counter[str]:
        """Count the requests to rent by their label."""
        calls = [call for call in self.served.api.recorded if "/asks/" in call.path]
        return Counter(call.body["label"] for call in calls)

    def rented(self) -> Counter[str]:
        labels = [item.fields["label"] for item in self.served.world.rentals.values()]
        return Counter(label for label in labels if label and label.startswith("night#"))


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS)
def test_nothing_is_rented_twice_and_what_is_said_is_true(steps: list[tuple[str, str]]) -> None:
    asyncio.run(_live(steps))


async def _live(steps: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with pretend_vast(2) as served:
            served.faults.switch_on("ssh_refused")
            await served.doors.settle()
            stage = Stage(served, Path(folder))
            await stage.start()
            store = await SqliteStore.open(
                stage.settings.store_path, clock=stage.clock, viewer=True
            )
            async with contextlib.aclosing(store):
                try:
                    await stage.ask(store)
                    for verb, name in steps:
                        await _step(stage, store, verb, name)
                    _mend(served)
                    await stage.start()
                    await _judge(stage, store)
                finally:
                    await stage.crash()


async def _step(stage: Stage, store: SqliteStore, verb: str, name: str) -> None:
    if verb == "fault":
        stage.served.faults.switch_on(name, calls=3)
    elif verb == "mend":
        _mend(stage.served)
    elif verb == "ask":
        await stage.ask(store)
    elif verb == "crash":
        await stage.crash()
        await stage.start()
    await asyncio.sleep(0.15)


def _mend(served: Serving) -> None:
    for name in set(FAULTS):
        served.faults.switch_off(name)


async def _judge(stage: Stage, store: SqliteStore) -> None:
    for intent_id in stage.asked:
        intent = await _settled(store, intent_id)
        label = marked_label("night", intent_id)
        assert stage.sent()[label] <= 1, (intent.result, stage.sent())
        assert stage.rented()[label] <= 1
        said = str(intent.result)
        if intent.state is IntentState.DONE:
            assert stage.rented()[label] == 1, said
            rental = stage.served.world.rentals[intent.instance_id]
            assert rental.fields["label"] == label
        elif intent.state in (IntentState.REFUSED, IntentState.FAILED):
            assert stage.rented()[label] == 0, said
            assert intent.state is IntentState.FAILED or stage.sent()[label] == 0, said


async def _settled(store: SqliteStore, intent_id: str) -> Intent:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            intent = await store.intent(intent_id)
            if intent is not None and (
                intent.state.is_final or intent.state is IntentState.UNKNOWN
            ):
                return intent
            await asyncio.sleep(0.05)
