"""Rows of the wire, from the field's worst to nothing sensible at all."""

import json
import math
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.codec import decode, encode
from fleetui.domain.instance import Instance, Route
from fleetui.domain.text import SafeText
from fleetui.vast import gates
from fleetui.vast.rows import SELECT_COLUMNS, WireRow, decode_json, read_row

SAMPLES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data" / "vast_instances.json").read_text("utf-8")
)


def sample(situation: str) -> Instance:
    rows = [entry["instance"] for entry in SAMPLES if entry["situation"].startswith(situation)]
    instance = read_row(rows[0])
    assert instance is not None
    return instance


def places(instance: Instance) -> list[tuple[str, int, Route]]:
    return [(place.host, place.port, place.route) for place in instance.ssh_addresses]


def test_every_sample_is_read_without_oddness() -> None:
    for entry in SAMPLES:
        instance = read_row(entry["instance"])
        assert instance is not None
        assert instance.odd is None, entry["situation"]
        assert instance.instance_id == entry["instance"]["id"]


def test_secrets_are_neither_asked_for_nor_read() -> None:
    secret = {"jupyter_token", "extra_env", "onstart", "instance_api_key"}
    assert not secret & set(SELECT_COLUMNS)
    for entry in SAMPLES:
        encoded = encode(read_row(entry["instance"])).decode()
        assert entry["instance"]["jupyter_token"] not in encoded


def test_addresses_come_direct_first_then_the_proxy_and_its_neighbour() -> None:
    assert places(sample("running, direct ssh")) == [
        ("203.0.113.24", 40112, Route.DIRECT),
        ("ssh5.vast.ai", 17117, Route.PROXY),
        ("ssh5.vast.ai", 17118, Route.PROXY),
    ]
    jupyter = sample("running, ports missing")
    assert [port for _, port, _ in places(jupyter)] == [18461, 18460]
    assert places(sample("running, 8 GPUs"))[0] == ("203.0.113.88", 20000, Route.DIRECT)


def test_cost_follows_the_state() -> None:
    stopped = sample("stopped by user")
    assert stopped.cost_per_hour == stopped.storage_per_hour
    assert stopped.price_running is not None
    assert math.isclose(stopped.price_running, 0.653333333333333)
    assert sample("running, direct ssh").cost_per_hour == 0.3925


def test_not_reported_telemetry_is_unknown() -> None:
    silent = sample("unknown (no heartbeat)")
    assert silent.gpu_util is None
    assert silent.gpu_temp is None


def test_hostile_label_is_harmless() -> None:
    label = sample("running, hostile unicode label").label
    assert label is not None
    assert isinstance(label, SafeText)
    assert not any(character in label for character in "\x1b\n\t\u202e\u200b")


def test_not_a_number_of_python_servers_is_understood() -> None:
    page = decode_json(b'{"instances":[{"id":7,"dph_total":NaN,"gpu_util":Infinity}]}')
    instance = read_row(page["instances"][0])
    assert instance is not None
    assert instance.price_running is None
    assert instance.odd is not None
    assert "dph_total" in instance.odd


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["NaN", "-1", "1e999", "9" * 5000, "\ud800", "22/tcp", -1, 0, 10**400]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.just("22/tcp"), inner, max_size=3)
        | st.fixed_dictionaries({"22/tcp": st.lists(inner, max_size=2)})
        | st.fixed_dictionaries({"HostPort": inner})
    ),
    max_leaves=6,
)


@given(
    st.integers(min_value=1, max_value=2**53),
    st.dictionaries(st.sampled_from(sorted(set(WireRow.__struct_fields__) - {"id"})), JSON_VALUES),
)
def test_any_row_with_an_id_becomes_an_instance(instance_id: int, values: dict[str, Any]) -> None:
    instance = read_row(values | {"id": instance_id})
    assert instance is not None
    assert instance.instance_id == instance_id
    assert decode(encode(instance), Instance) == instance
    for name in Instance.__struct_fields__:
        value = getattr(instance, name)
        if isinstance(value, float):
            assert math.isfinite(value), name
        if isinstance(value, str):
            assert isinstance(value, SafeText), name
    for place in instance.ssh_addresses:
        assert 0 < place.port < 65536
        assert place.host == place.host.strip()


@given(JSON_VALUES)
def test_anything_at_all_is_read_without_an_error(value: object) -> None:
    read_row(value)
    for gate in (gates.number, gates.amount, gates.whole, gates.flag, gates.text):
        gate(value)


@given(st.binary())
def test_any_body_is_json_or_a_value_error(body: bytes) -> None:
    try:
        decode_json(body)
    except ValueError:
        return


def test_deep_nesting_is_a_value_error() -> None:
    try:
        decode_json(b"[" * 200_000)
    except ValueError:
        return
    raise AssertionError("nesting without an end was read")
