"""What a collector that starts remembers of earlier ones."""

from pathlib import Path

from fleetui.collector.health import HealthBoard
from fleetui.collector.machine_memory import MachineMemory
from fleetui.collector.publisher import Publisher
from fleetui.collector.restart import recall_restarts
from fleetui.collector.watcher import Watcher
from fleetui.domain.finding import Finding, Severity
from fleetui.domain.instance import Instance
from fleetui.domain.intent import Intent, IntentState, Verb
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.ssh.link import HostLink
from store_bench import Bench, row


def no_link(*_: object) -> HostLink:
    raise AssertionError("no connection is wanted here")


def watchers_of(bench: Bench, *instances: Instance) -> tuple[list[Watcher], Publisher]:
    publisher = Publisher(
        bench.store, bench.lease, clock=bench.clock, health=HealthBoard("test", bench.clock),
        tick_seconds=1.0, pending_bytes=1 << 20, pending_bytes_per_instance=1 << 20,
    )  # fmt: skip
    watchers = [
        Watcher(
            instance, profile=load("cuzk"), clock=bench.clock, publisher=publisher,
            make_link=no_link, keep_host_key=lambda _instance_id, _key: None,
        )
        for instance in instances
    ]  # fmt: skip
    return watchers, publisher


async def test_a_restart_that_was_asked_for_stays_known(tmp_path: Path) -> None:
    bench = await Bench.open(tmp_path / "fleet.db")
    for number, verb in enumerate((Verb.RESTART_DAEMON, Verb.STOP)):
        intent = Intent(
            intent_id=str(number), verb=verb, instance_id=7 + number, actor=sanitise("ada"),
            reason=sanitise(""), created_at=bench.clock.now(),
        )  # fmt: skip
        await bench.store.intend(intent)
    for intent in await bench.store.claim(bench.lease):
        await bench.store.settle(
            bench.lease, intent.intent_id, IntentState.DONE, sanitise("ok"), bench.clock.now()
        )
    fleet, _ = watchers_of(bench, Instance(instance_id=7), Instance(instance_id=8))
    await recall_restarts(bench.store, fleet)
    asked = {watcher.instance_id: watcher.reader.case(0.0).restarts for watcher in fleet}
    assert asked == {7: (bench.clock.now(),), 8: ()}
    assert fleet[0].reader.reading(bench.clock.now()).begun_anew_at == bench.clock.now()
    await bench.store.close()


async def test_a_machine_with_a_record_is_told_once(tmp_path: Path) -> None:
    bench = await Bench.open(tmp_path / "fleet.db")
    finding = Finding(
        category="gpu_fallen_off_bus", severity=Severity.CRITICAL, confidence=0.9,
        summary=sanitise("gone"), advice=sanitise("destroy"), signature="gpu_fallen_off_bus|x",
    )  # fmt: skip
    await bench.publish(
        instances=[Instance(instance_id=5, machine_id=70)],
        rows=[row(5)],
        readings=[
            Reading(instance_id=5, at=bench.clock.now(), stage=Stage.BENCH, findings=(finding,))
        ],
        gone=[5],
    )
    on_it, elsewhere = (Instance(instance_id=n, machine_id=10 * n) for n in (7, 8))
    fleet, publisher = watchers_of(bench, on_it, elsewhere)
    memory = MachineMemory(fleet, publisher, bench.clock)
    for watcher in (*fleet, *fleet):
        await memory._ask(bench.store, watcher, is_new=True)
    for watcher in fleet:
        watcher.conclude()
    batch = publisher.pending.take(0.0, None, 1 << 20)
    records = {one.instance_id: one.machine_record for one in batch.rows}
    assert records[8] is None
    assert "gpu_fallen_off_bus once" in str(records[7])
    told = [(event.instance_id, event.text) for event in batch.events if event.kind == "machine"]
    assert len(told) == 1
    assert told[0][1].startswith("machine 70 has a record: gpu_fallen_off_bus once")
    await bench.store.close()


async def test_a_new_kind_of_faulty_line_is_read_before_its_turn(tmp_path: Path) -> None:
    bench = await Bench.open(tmp_path / "fleet.db")
    (watcher,), _ = watchers_of(bench, Instance(instance_id=7))
    watcher.ready = True
    watcher.review(100.0)
    for number, text in enumerate((b"thread 'x' panicked at a.rs:1:1:\n",) * 2):
        chunk = LogChunk(
            stream=StreamId(7, "/tmp/cuzk.log"), generation=1, offset=number * len(text),
            data=text, at=bench.clock.now(),
        )  # fmt: skip
        watcher.reader.feed(chunk, "daemon")
        watcher.sink.changed = True
        before = watcher.reading
        watcher.review(100.0 + 0.6 * (number + 1), stretch=10.0)
        is_new = watcher.reading is not before
        assert is_new == (number == 0), "the same again waits for its turn"
    await bench.store.close()
