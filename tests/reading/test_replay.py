"""Kept hosts: the reading does not depend on how their bytes came."""

import json
import random
import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.domain.finding import Severity
from fleetui.domain.rate import RateSource
from fleetui.domain.reading import Reading
from fleetui.domain.stage import Stage
from fleetui.domain.stream import LogChunk, StreamId
from fleetui.profiles.loader import load
from fleetui.profiles.model import Profile
from fleetui.reading.probe_output import parse_probe
from fleetui.reading.reader import Reader
from fleetui.reading.replay import Host, ReplayError, Step, feed_step, load_host, replay

HOSTS = Path(__file__).parent.parent / "data" / "hosts"
NAMES = sorted(path.parent.name for path in HOSTS.glob("*/expected.json"))
FAILED = {name for name in NAMES if name.startswith(("f01", "f02", "f04"))}


@pytest.fixture(scope="module")
def profile() -> Profile:
    return load("cuzk")


def expected(name: str) -> dict[str, object]:
    answer: dict[str, object] = json.loads((HOSTS / name / "expected.json").read_text())
    return answer


def benchmark_rate(reading: Reading) -> float | None:
    rates = [rate for rate in reading.rates if rate.source is RateSource.BENCHMARK]
    return round(rates[0].proofs_per_hour, 1) if rates else None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("timed", [True, False], ids=["timed", "at_once"])
def test_a_kept_host_reads_as_expected(
    name: str, timed: bool, profile: Profile, tmp_path: Path
) -> None:
    folder = tmp_path / name
    shutil.copytree(HOSTS / name, folder)
    if not timed:
        (folder / "replay.json").unlink()
    reader, host = replay(folder, profile)
    ends_at = host.ends_at
    reading = reader.reading(ends_at, live=False)
    answer = expected(name)
    case = reader.case(ends_at, live=False)
    assert case.stage == answer["stage_reached"]
    assert benchmark_rate(reading) == answer.get("rate_proofs_per_hour")
    assert (reading.stage is Stage.FAILED) == (name in FAILED)
    if "min_rate" in answer:
        assert reading.min_rate == answer["min_rate"]
    if answer["category"] is None:
        assert not [item for item in reading.findings if item.severity is Severity.CRITICAL]
    else:
        assert reading.findings[0].category == answer["category"]


def outcome(reader: Reader, ends_at: float) -> bytes:
    """All that a reading says, as bytes; the times of arrival are the same for all feeds."""
    reading = reader.reading(ends_at, live=False)
    case = reader.case(ends_at, live=False)
    return msgspec.json.encode([reading, case], enc_hook=str)


def recut(host: Host, seed: int) -> list[Step]:
    """The same bytes at the same times, cut anew into single bytes and long pieces."""
    dice = random.Random(seed)  # noqa: S311 - cuts are no secrets
    joined: list[Step] = []
    for step in host.steps:
        last = joined[-1] if joined else None
        if step.chunk is None or last is None or last.chunk is None:
            joined.append(step)
            continue
        same = last.chunk.stream == step.chunk.stream and last.at == step.at
        if not same:
            joined.append(step)
            continue
        merged = msgspec.structs.replace(last.chunk, data=last.chunk.data + step.chunk.data)
        joined[-1] = Step(last.at, merged, last.kind)
    cut: list[Step] = []
    for step in joined:
        if step.chunk is None:
            cut.append(step)
            continue
        data, begin = step.chunk.data, 0
        while begin < len(data):
            length = dice.choice((1, 2, 3, 17, 100, 1000, 5000, 100_000))
            chunk = msgspec.structs.replace(
                step.chunk, data=data[begin : begin + length], offset=step.chunk.offset + begin
            )
            cut.append(Step(step.at, chunk, step.kind))
            begin += length
    return cut


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_the_split_never_changes_the_reading(name: str, profile: Profile, seed: int) -> None:
    host = load_host(HOSTS / name, profile)
    whole, cut = Reader(profile, 0), Reader(profile, 0)
    for step in host.steps:
        feed_step(whole, step)
    for step in recut(host, seed):
        feed_step(cut, step)
    assert outcome(cut, host.ends_at) == outcome(whole, host.ends_at)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_first_sight_from_any_middle_is_sound(name: str, profile: Profile, seed: int) -> None:
    """Streams are first seen at any place, and reading goes on from there."""
    dice = random.Random(seed)  # noqa: S311 - cuts are no secrets
    reader = Reader(profile, 0)
    host = load_host(HOSTS / name, profile)
    starts: dict[str, int] = {}
    steps = host.steps[: max(1, int(len(host.steps) * dice.random()))]
    total = {
        step.chunk.stream.path: step.chunk.offset + len(step.chunk.data)
        for step in steps
        if step.chunk is not None
    }
    for path, size in sorted(total.items()):
        starts[path] = dice.randint(0, size)
    for step in steps:
        if step.chunk is None:
            feed_step(reader, step)
            continue
        start = starts[step.chunk.stream.path]
        end = step.chunk.offset + len(step.chunk.data)
        if end <= start:
            continue
        begin = max(start, step.chunk.offset)
        chunk = msgspec.structs.replace(
            step.chunk, offset=begin, data=step.chunk.data[begin - step.chunk.offset :]
        )
        feed_step(reader, Step(step.at, chunk, step.kind))
    reading = reader.reading(steps[-1].at, live=True)
    if expected(name)["category"] is None:
        assert not [item for item in reading.findings if item.severity is Severity.CRITICAL]
    check_sanity(reading)


def check_sanity(reading: Reading) -> None:
    assert all(span.attempt >= 1 for span in reading.spans)
    starts = [span.started_at for span in reading.spans if span.started_at is not None]
    assert starts == sorted(starts)
    progress = reading.progress
    if progress is None:
        return
    assert progress.done >= 0
    assert progress.total is None or progress.done <= progress.total * 1.001
    for eta in (progress.eta_seconds, progress.eta_low_seconds, progress.eta_high_seconds):
        assert eta is None or 0 <= eta < 1e7
    if None not in (progress.eta_low_seconds, progress.eta_seconds, progress.eta_high_seconds):
        assert progress.eta_low_seconds <= progress.eta_seconds  # type: ignore[operator]  # all three are set together
        assert progress.eta_seconds <= progress.eta_high_seconds  # type: ignore[operator]  # all three are set together


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_who_comes_in_the_first_half_ends_where_the_others_do(
    name: str, profile: Profile, seed: int
) -> None:
    """Long streams are first seen somewhere in their first half, and cut at will from there."""
    dice = random.Random(seed)  # noqa: S311 - cuts are no secrets
    host = load_host(HOSTS / name, profile)
    ends: dict[str, int] = {}
    for step in host.steps:
        if step.chunk is not None:
            ends[step.chunk.stream.path] = step.chunk.offset + len(step.chunk.data)
    starts = {
        path: dice.randint(0, end // 2) if end > 1000 else 0 for path, end in sorted(ends.items())
    }
    reader = Reader(profile, 0)
    for step in recut(host, seed):
        chunk = step.chunk
        if chunk is not None:
            late = max(starts[chunk.stream.path] - chunk.offset, 0)
            if late >= len(chunk.data):
                continue
            chunk = msgspec.structs.replace(
                chunk, offset=chunk.offset + late, data=chunk.data[late:]
            )
        feed_step(reader, Step(step.at, chunk, step.kind, step.status))
    if host.sections:
        reader.observe_probe(parse_probe(host.sections, host.ends_at))
    reading = reader.reading(host.ends_at, live=False)
    answer = expected(name)
    assert reader.case(host.ends_at, live=False).stage == answer["stage_reached"]
    assert benchmark_rate(reading) == answer.get("rate_proofs_per_hour")
    check_sanity(reading)


@pytest.mark.parametrize("name", NAMES)
def test_every_moment_of_a_life_reads_soundly_and_stages_only_move_on(
    name: str, profile: Profile
) -> None:
    host = load_host(HOSTS / name, profile)
    reader = Reader(profile, 0)
    ranks: list[int] = []
    order = list(Stage)
    for number, step in enumerate(host.steps):
        feed_step(reader, step)
        if number % max(1, len(host.steps) // 60) == 0:
            reading = reader.reading(step.at)
            check_sanity(reading)
            if reading.stage is not Stage.FAILED:
                ranks.append(order.index(reading.stage))
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("name", "stage", "unit"),
    [
        ("b_success", Stage.PARAM_FETCH, "B"),
        ("b_success", Stage.BENCH, "proofs"),
        ("b_success", Stage.WARMUP, "partitions"),
        ("f08_rate_below_min", Stage.BENCH, "proofs"),
    ],
)
def test_in_the_later_half_of_a_stage_the_eta_is_near_the_truth(
    name: str, stage: Stage, unit: str, profile: Profile
) -> None:
    host = load_host(HOSTS / name, profile)
    whole, _ = replay(HOSTS / name, profile)
    (span,) = [item for item in whole.reading(host.ends_at).spans if item.stage is stage]
    assert span.started_at is not None
    assert span.ended_at is not None
    length = span.ended_at - span.started_at
    reader = Reader(profile, 0)
    errors: list[float] = []
    for step in host.steps:
        feed_step(reader, step)
        passed = (step.at - span.started_at) / length
        if 0.4 < passed < 0.8 and len(errors) < 200:
            progress = reader.reading(step.at).progress
            if progress is not None and progress.eta_seconds is not None:
                assert progress.unit == unit
                left = span.ended_at - step.at
                errors.append(abs(progress.eta_seconds - left) / length)
    assert errors
    assert sorted(errors)[len(errors) // 2] < 0.35


def test_the_benchmark_is_counted_before_its_own_log_says_a_word(profile: Profile) -> None:
    host = load_host(HOSTS / "b_success", profile)
    reader = Reader(profile, 0)
    silent_counts = set()
    for step in host.steps:
        feed_step(reader, step)
        tails = {tail.source: tail for tail in reader.case(step.at).tails}
        bench = tails.get("/tmp/benchmark-full.log")
        if bench is not None and bench.last_text.startswith("concurrency"):
            progress = reader.reading(step.at).progress
            if progress is not None:
                silent_counts.add((progress.done, progress.total))
        elif silent_counts:
            break
    assert {(float(done), 12.0) for done in range(9)} <= silent_counts


def test_copies_of_a_log_count_once(profile: Profile) -> None:
    both, _ = replay(HOSTS / "a_setup_ok", profile)
    host = load_host(HOSTS / "a_setup_ok", profile)
    one = Reader(profile, 0)
    for step in host.steps:
        if step.chunk is not None and step.chunk.stream.path == "/tmp/setup.log":
            feed_step(one, step)
    assert both.case(host.ends_at).counts == one.case(host.ends_at).counts
    assert both.case(host.ends_at).counts["setup.params_done"] == 1
    sources = {tail.source for tail in both.case(host.ends_at).tails}
    assert sources == {"/tmp/setup.log", "/var/log/entrypoint.log"}


def test_facts_are_thinned_and_counts_are_exact(profile: Profile) -> None:
    reader, host = replay(HOSTS / "b_success", profile)
    case = reader.case(host.ends_at)
    text = (HOSTS / "b_success/fs/tmp/cuzk-bench-daemon.log").read_text("utf-8")
    true = text.count("partition GPU prove complete")
    kept = [fact for fact in case.facts if fact.rule == "daemon.partition_proved"]
    assert case.counts["daemon.partition_proved"] == true
    assert len(kept) == 20
    lines = [fact.line for fact in kept]
    assert lines == sorted(lines)
    for fact in kept:
        line = text.split("\n")[fact.line - 1]
        assert "partition GPU prove complete" in line
        assert text.encode()[fact.offset :].startswith(line.encode())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.binary(max_size=200), max_size=12),
    st.sampled_from(sorted({"setup", "bench", "daemon", "curio", "config", "log"})),
)
def test_no_bytes_break_the_reading(parts: list[bytes], kind: str) -> None:
    reader = Reader(load_once(), 0)
    offset = 0
    for number, part in enumerate(parts):
        chunk = LogChunk(
            stream=StreamId(0, "/tmp/x.log"),
            generation=1 + number // 5,
            offset=offset,
            data=part,
            at=1000.0 + number,
        )
        reader.feed(chunk, kind)
        offset += len(part) * (number % 3)
    check_sanity(reader.reading(2000.0))
    check_sanity(reader.reading(2000.0, live=False))


_LOADED: list[Profile] = []


def load_once() -> Profile:
    if not _LOADED:
        _LOADED.append(load("cuzk"))
    return _LOADED[0]


WORDS = [
    b"[#abcdef 1.9GiB/44GiB(4%) CN:16 DL:29MiB ETA:1m30s]\n",
    b"[#abcdef 0B/0B CN:1 DL:0B]\n",
    b"[#ffffff 999999999999999999GiB/1B(999%) CN:1]\n",
    b"FILE: /p/x.params\n",
    b"abcdef|OK  |1MiB/s|/p/x.params\n",
    b"abcdef|ERR |0B/s|/p/x.params\n",
    b"Parameter file /p/x.params is ok\n",
    b"=== Batch Benchmark ===\n",
    b"count:       0\n",
    b"count:       12\n",
    b"concurrency: 3\n",
    b"  [3/12] COMPLETED \xe2\x80\x94 1.0s (\n",
    b"throughput:    0.0.1 proofs/min (\n",
    b"throughput:    0.9 proofs/min (\n",
    b"completed:     0\n",
    b"total time:    9.9.9s\n",
    b"cuzk_daemon: cuzk-daemon starting\n",
    b"submitting proof\n",
    b"job enqueued job_id=ps-porep-1-2-3 proof_kind=porep-c2\n",
    b"dispatching per-partition synthesis job_id=ps-porep-1-2-3 num_partitions=99999999\n",
    b"partition GPU prove complete job_id=ps-porep-1-2-3 partition=7 gpu_ms=3\n",
    b"all partitions complete, proof assembled job_id=snap-1 proof_len=1 total_ms=3\n",
    b"Phase 7: PoRep proof self-check PASSED job_id=ps-porep-1-2-3\n",
    b"Error: x\n",
    b"[entrypoint] 2026-03-12 07:00:04 label=C.1 min_rate=29.0\n",
    b"Starting benchmark\n",
    b"parameter and key-fetching complete\n",
    b"ERROR: fetching proof parameters: x\n",
    b"curl: (22) x\n",
    b"\r###   40.0%\r",
    b"Restarting daemon with full partition_workers=16\n",
    b"benchmark.sh exited with error\n",
    b"2026-03-12T07:00:04Z x\n",
    b"2031-03-12T07:00:04Z x\n",
]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["setup", "bench", "daemon", "curio"]), st.sampled_from(WORDS)),
        max_size=40,
    )
)
def test_known_lines_in_any_order_read_soundly(lines: list[tuple[str, bytes]]) -> None:
    reader = Reader(load_once(), 0)
    offsets: dict[str, int] = {}
    for number, (kind, line) in enumerate(lines):
        offset = offsets.get(kind, 0)
        chunk = LogChunk(
            stream=StreamId(0, f"/tmp/{kind}.log"),
            generation=1,
            offset=offset,
            data=line,
            at=1773298800.0 + number * 7,
        )
        offsets[kind] = offset + len(line)
        reader.feed(chunk, kind)
        check_sanity(reader.reading(chunk.at))


def test_a_folder_with_nothing_in_it_says_so(tmp_path: Path, profile: Profile) -> None:
    with pytest.raises(ReplayError, match="neither log files nor probe outputs"):
        replay(tmp_path, profile)
    with pytest.raises(ReplayError, match="no such folder"):
        replay(tmp_path / "missing", profile)
    (tmp_path / "replay.json").write_text('{"t0": 3}')
    with pytest.raises(ReplayError, match="not a replay file"):
        replay(tmp_path, profile)
