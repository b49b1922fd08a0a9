"""A pretend host: a machine that lives through a scenario."""
from fleetui.domain.clock import Clock
from fleetui.simulator.hosts.machine import Hardware, Machine
class Host:
    def __init__(self, instance_id: int, scenario_name: str, seed: int, clock: Clock, started_at: float) -> None:
        self.instance_id = instance_id
        self.machine = Machine(Hardware("RTX 4090",1,24564,450.0,48,504,504,250,"580.95.05","13.0","AMD EPYC",890,1.0), seed, clock, started_at)
    def listens(self, port: int) -> bool:
        return port in self.machine.ports
    def answer_http(self, port: int, request: bytes) -> bytes:
        return b""
