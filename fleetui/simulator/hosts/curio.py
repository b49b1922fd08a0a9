"""`curio run` on a worker: market tasks that ask for proofs (facts: cuzk.md section 7)."""

from typing import TYPE_CHECKING

from fleetui.simulator.hosts.daemon import Outcome
from fleetui.simulator.hosts.engine import Script, Signal
from fleetui.simulator.hosts.machine import Process
from fleetui.simulator.hosts.tracing import golog

if TYPE_CHECKING:
    from fleetui.simulator.hosts.workload import Workload

LOG = "/tmp/curio.log"  # noqa: S108 - a path on a pretend host
_LOTUS = "127.0.0.1:1234"
_REFUSED = 'cuzk Prove RPC: rpc error: code = Unavailable desc = connection error: desc = \\"transport: Error while dialing: dial tcp 127.0.0.1:9820: connect: connection refused\\"'  # noqa: E501 - a line as it is printed
_EOF = "cuzk Prove RPC: rpc error: code = Unavailable desc = error reading from server: EOF"


class Curio:
    """Keeps two proofs in the daemon for ever; leaves and comes back as the real one."""

    def __init__(self, workload: "Workload", parent: Process) -> None:
        self._workload = workload
        self._machine = workload.machine
        self._parent = parent
        self._task = 88_000 + workload.instance_id % 1000

    def _say(self, level: str, logger: str, source: str, message: str, data: str = "") -> None:
        if self._workload.plan.run != "silent":
            self._machine.files.append(
                LOG, golog(self._machine.engine.now, level, logger, source, message, data=data)
            )

    def _raw(self, text: str) -> None:
        if self._workload.plan.run != "silent":
            self._machine.files.append(LOG, text.encode())

    def run(self) -> Script:
        """Run until the machine ends."""
        if self._workload.plan.run == "no_lotus":
            yield from self._without_lotus()
            return
        process = self._machine.spawn(
            ["curio", "run", "--layers", "cuzk"], _idle, parent=self._parent.pid, output=LOG
        )
        process.state = "Sl"
        process.wait_channel = "ep_poll"
        process.rss_kib = 412_000
        self._raw("repopath ~/.curio\n")
        yield 1.3
        self._say(
            "INFO",
            "curio/deps",
            "deps/deps.go:402",
            "cuzk proving daemon enabled",
            '{"addr": "127.0.0.1:9820", "maxPending": 10, "proveTimeout": "30m0s"}',
        )
        self._say(
            "INFO",
            "cuzk",
            "cuzk/client.go:88",
            "connected to cuzk daemon",
            '{"addr": "127.0.0.1:9820"}',
        )
        yield 0.4
        self._say(
            "INFO",
            "curio/tasks",
            "tasks/tasks.go:211",
            "This Curio instance handles",
            '{"miner_addresses": [], "tasks": ["PSProve"]}',
        )
        engine = self._machine.engine
        gpus = self._machine.hardware.gpus
        for offset in range(2 + gpus):
            engine.start(self._prover(offset * 9.0))
        while True:
            yield self._machine.random.uniform(25, 45)
            self._say(
                "INFO",
                "proofshare",
                "proofshare/task_request_proofs.go:196",
                "polled work from service",
                '{"requests": 3, "activeAsks": 2}',
            )

    def _prover(self, delay: float) -> Script:
        yield delay
        workload = self._workload
        while True:
            self._task += 1
            number = self._task
            job = f"ps-porep-1000-1-{number}"
            daemon = workload.daemon
            self._say(
                "DEBUG",
                "harmonytask",
                "harmonytask/task_type_handler.go:173",
                "Beginning work on Task",
                f'{{"id": {number}, "from": "poller", "name": "PSProve"}}',
            )
            if daemon is None or not daemon.alive or not daemon.ready.fired:
                self._failed(number, _REFUSED)
                yield 10.0
                continue
            self._say(
                "INFO",
                "proofshare",
                "proofshare/task_prove.go:310",
                "PSProve computePoRep starting",
                '{"sector": {"Miner": 1000, "Number": 1}, "vproofLen": 51388014, "useCuzk": true}',
            )
            self._say(
                "INFO",
                "proofshare",
                "proofshare/task_prove.go:340",
                "PSProve cuzk request",
                '{"wrappedLen": 51388014}',
            )
            outcome: Outcome = yield daemon.prove(job)
            if outcome.kind == "ok":
                self._say(
                    "INFO",
                    "proofshare",
                    "proofshare/task_prove.go:362",
                    "PSProve cuzk proof received",
                    '{"proofLen": 1920}',
                )
                yield 0.4
                self._say(
                    "INFO",
                    "proofshare",
                    "proofshare/task_prove.go:381",
                    "PSProve PoRep proof validated",
                )
                self._say(
                    "INFO",
                    "proofshare",
                    "proofshare/task_submit.go:118",
                    f"successfully submitted proof for service_id={number + 410_000}",
                )
                continue
            error = (
                _EOF
                if outcome.kind == "lost"
                else f"cuzk proof failed: {outcome.message}".replace('"', '\\"')
            )
            self._failed(number, error)
            yield 10.0

    def _failed(self, number: int, error: str) -> None:
        self._say(
            "ERROR",
            "harmonytask",
            "harmonytask/task_type_handler.go:241",
            "Do() returned error",
            f'{{"type": "PSProve", "id": "{number}", "error": "{error}"}}',
        )

    def _without_lotus(self) -> Script:
        rounds = 0
        while True:
            self._raw("repopath ~/.curio\n")
            yield 1.3
            if rounds % 6 < 3:
                text = (
                    f"Not able to establish connection to node with addr: ws://{_LOTUS}/rpc/v1, Reason: cannot dial address "  # noqa: E501 - a line as it is printed
                    f"ws://{_LOTUS}/rpc/v1 for dial tcp {_LOTUS}: connect: connection refused: dial tcp {_LOTUS}: connect: connection refused"  # noqa: E501 - a line as it is printed
                )
                self._say("WARN", "curio/chain", "deps/apiinfo.go:65", text)
            else:
                self._say(
                    "WARN",
                    "curio/chain",
                    "deps/apiinfo.go:72",
                    f'Failed to get network name from node http://{_LOTUS}/rpc/v1: RPC client error: sendRequest failed: Post "http://{_LOTUS}/rpc/v1": dial tcp {_LOTUS}: connect: connection refused',  # noqa: E501 - a line as it is printed
                )
            self._raw("ERROR: failed to establish connection with all chain nodes\n\n")
            yield 0.2
            self._workload.tell("curio exited with 1, restarting in 15s")
            rounds += 1
            yield 15.0


def _idle(process: Process) -> Script:
    del process
    yield Signal()
