"""What a host answers to looks, through the link's sink: said, whatever it is."""

from typing import cast

import pytest

from fleetui.collector.publisher import Publisher
from fleetui.collector.sink import HostSink
from fleetui.domain.clock import SystemClock
from fleetui.profiles.loader import load
from fleetui.reading.reader import Reader


def sink_of(reader: Reader) -> HostSink:
    return HostSink(
        reader,
        cast("Publisher", None),  # only log bytes are published
        instance_id=7,
        positions=(),
        keep_host_key=lambda _instance, _key: None,
        clock=SystemClock(),
    )


@pytest.mark.parametrize("body", [b"[" * 1000, b"[" * 200_000, b'{"a":' * 5000, b"\xff", b"1"])
def test_a_status_that_cannot_be_read_is_said(body: bytes) -> None:
    reader = Reader(load("cuzk"), 7)
    sink_of(reader).status(body, None, 5.0)
    error = reader.reading(6.0).status_error
    assert error is not None
    assert "status answer" in error
