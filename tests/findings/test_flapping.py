"""A connection that is made and lost again and again is said, and no other one."""

from fleetui.domain.finding import Finding, Severity
from fleetui.domain.host import SshOutcome, SshState
from fleetui.domain.instance import Instance
from fleetui.domain.text import sanitise
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader

START = 1_800_000_000.0
ADDRESS = "203.0.113.5:20000"


def reader_of_a_running_host() -> Reader:
    reader = Reader(load("cuzk"), 7)
    row = Instance(
        instance_id=7,
        actual_status=sanitise("running"),
        intended_status=sanitise("running"),
        uptime_seconds=9000.0,
    )
    reader.observe_row(row, START)
    return reader


def observe(reader: Reader, state: SshState, at: float, detail: str | None = None) -> None:
    words = None if detail is None else sanitise(detail)
    reader.observe_ssh(SshOutcome(state=state, at=at, address=ADDRESS, detail=words))


def flap(reader: Reader, at: float, detail: str = "the host closed it") -> None:
    """Connect, and lose the connection after five seconds."""
    observe(reader, SshState.CONNECTED, at)
    observe(reader, SshState.LOST, at + 5.0, detail)


def found(reader: Reader, now: float) -> Finding | None:
    findings = [item for item in reader.reading(now).findings if item.category == "ssh_unreachable"]
    assert len(findings) <= 1
    return findings[0] if findings else None


def test_a_flapping_connection_is_found_with_count_reasons_and_since_when() -> None:
    reader = reader_of_a_running_host()
    for number in range(3):
        flap(reader, START + 60 * number)
        assert found(reader, START + 60 * number + 6) is None
    flap(reader, START + 180, "no answer to three keepalives")
    finding = found(reader, START + 186)
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert (finding.count, finding.first_seen, finding.last_seen) == (4, START + 5, START + 185)
    assert "lost 4 times within 3 min" in finding.summary
    assert "no answer to three keepalives" in finding.summary
    texts = [proof.text for proof in finding.evidence]
    assert any("the host closed it" in text for text in texts)
    assert any("no answer to three keepalives" in text for text in texts)
    # It stays while the connection stands for a moment, under the same signature.
    flap(reader, START + 240)
    observe(reader, SshState.CONNECTED, START + 250)
    again = found(reader, START + 300)
    assert again is not None
    assert again.signature == finding.signature
    assert again.count == 5


def test_it_is_over_once_the_connection_stands() -> None:
    reader = reader_of_a_running_host()
    for number in range(6):
        flap(reader, START + 30 * number)
    observe(reader, SshState.CONNECTED, START + 200)
    assert found(reader, START + 400) is not None
    assert found(reader, START + 500) is None


def test_few_losses_and_old_ones_are_none() -> None:
    reader = reader_of_a_running_host()
    flap(reader, START)
    observe(reader, SshState.CONNECTED, START + 10)
    assert found(reader, START + 20) is None
    # Once in ten minutes, for hours.
    for number in range(20):
        flap(reader, START + 600 * number)
        observe(reader, SshState.CONNECTED, START + 600 * number + 10)
        assert found(reader, START + 600 * number + 11) is None


def test_a_new_collector_begins_to_count_anew() -> None:
    old = reader_of_a_running_host()
    for number in range(6):
        flap(old, START + 30 * number)
    assert found(old, START + 200) is not None
    new = reader_of_a_running_host()
    observe(new, SshState.CONNECTED, START + 210)
    assert found(new, START + 211) is None


def test_a_host_that_refuses_at_last_is_said_once() -> None:
    reader = reader_of_a_running_host()
    for number in range(6):
        flap(reader, START + 30 * number)
    refused = SshOutcome(state=SshState.REFUSED, at=START + 200, address=ADDRESS, attempts=4)
    reader.observe_ssh(refused)
    finding = found(reader, START + 201)
    assert finding is not None
    assert "refuses" in finding.summary
