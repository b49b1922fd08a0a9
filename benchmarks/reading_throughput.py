"""How fast raw log bytes become facts, beside the plain way with the same rules.

Run: `python benchmarks/reading_throughput.py [LINES]`. The logs are made from the daemon log of
a kept host, with about LINES lines each, of which 0.3 % and 5 % match a rule; the last one is as
the daemon wrote it. The plain way strips every line and tries every rule on it. Ways take turns,
and the least processor time of five rounds counts. Goals: the whole reader at 500,000 lines a
second and at 8 times the plain way.
"""

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from fleetui.domain.stream import LogChunk, StreamId
from fleetui.logs.matcher import compiled
from fleetui.logs.scanner import Scanner
from fleetui.logs.strip import strip_line
from fleetui.profiles.loader import load
from fleetui.profiles.model import Profile
from fleetui.reading.reader import Reader

LOG = Path(__file__).parent.parent / "tests/data/hosts/b_success/fs/tmp/cuzk-bench-daemon.log"
CHUNK = 64 * 1024
ROUNDS = 5
PLAIN_SHARE = 20
"""The plain way gets one line in so many, or the run would take minutes."""


def plainly(profile: Profile, data: bytes) -> int:
    """Strip each line and try every rule: literals by `in`, then the expression."""
    rules = [
        (
            [word.lower() for word in rule.any],
            [word.lower() for word in rule.unless],
            None if rule.pattern is None else re.compile(rule.pattern.text, re.IGNORECASE),
        )
        for rule in profile.rules
        if rule.reads("daemon")
    ]
    colours = re.compile(r"\x1b\[[0-9;]*m")
    found = 0
    for raw in data.split(b"\n"):
        text = colours.sub("", raw.decode("utf-8", "replace"))
        lowered = text.lower()
        for words, without, pattern in rules:
            if not any(word in lowered for word in words):
                continue
            if any(word in lowered for word in without):
                continue
            found += pattern is None or pattern.search(text) is not None
    return found


def scanned(profile: Profile, data: bytes) -> int:
    """Bytes to matched rules, without what the reader makes of them."""
    scanner = Scanner(compiled(profile.rules).for_kind("daemon"))
    found = 0
    for begin in range(0, len(data), CHUNK):
        for hit in scanner.feed(data[begin : begin + CHUNK], 0.0):
            found += len(hit.matches)
    return found


def stripped_only(_: Profile, data: bytes) -> int:
    """Only strip each line: what full decoding costs before any rule."""
    return sum(len(strip_line(raw)) > 0 for raw in data.split(b"\n"))


def read(profile: Profile, data: bytes) -> int:
    """The whole reader: facts, stages, jobs."""
    reader = Reader(profile, 1)
    stream = StreamId(1, "/var/log/cuzk-bench-daemon.log")
    for begin in range(0, len(data), CHUNK):
        part = data[begin : begin + CHUNK]
        chunk = LogChunk(stream=stream, generation=1, offset=begin, data=part, at=0.0)
        reader.feed(chunk, "daemon")
    return sum(reader.case(0.0).counts.values())


def thinned(data: bytes, profile: Profile, share: float) -> bytes:
    """Return the log with matching lines left out until `share` of its lines match."""
    matcher = compiled(profile.rules).for_kind("daemon")
    kept: list[bytes] = []
    matching = 0
    for raw in data.splitlines(keepends=True):
        matches = bool(matcher.match(strip_line(raw)))
        if matches and matching + 1 > share * (len(kept) + 1):
            continue
        matching += matches
        kept.append(raw)
    return b"".join(kept)


def main() -> None:
    """Print lines a second for each way, on each log."""
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 60_000
    profile = load("cuzk")
    original = LOG.read_bytes()
    ways: list[tuple[str, Callable[[Profile, bytes], int]]] = [
        ("strip + every rule", plainly),
        ("strip only", stripped_only),
        ("scanner", scanned),
        ("whole reader", read),
    ]
    for name, share in (("0.3 % match", 0.003), ("5 % match", 0.05), ("as written", 1.0)):
        base = thinned(original, profile, share)
        data = base * max(1, wanted // base.count(b"\n"))
        few = base * max(1, wanted // PLAIN_SHARE // base.count(b"\n"))
        print(f"{name}: {data.count(10)} lines, {len(data) / 1e6:.1f} MB", end=", ")
        print(f"{_share(profile, base):.2%} of the lines match")
        costs = _costs(ways, profile, data, few)
        for label, _ in ways:
            cost, size, hits = costs[label]
            gain = costs["strip + every rule"][0] / cost
            print(
                f"  {label:20} {1e-3 / cost:8.0f} k lines/s {size / cost / 1e6:7.0f} MB/s"
                f" {gain:6.1f} x  {hits:.4f} hits a line"
            )


def _costs(
    ways: list[tuple[str, Callable[[Profile, bytes], int]]],
    profile: Profile,
    data: bytes,
    few: bytes,
) -> dict[str, tuple[float, float, float]]:
    """Return seconds, bytes and hits a line for each way."""
    costs: dict[str, tuple[float, float, float]] = {}
    for _ in range(ROUNDS):
        for label, way in ways:
            part = few if way is plainly else data
            lines = part.count(b"\n")
            begun = time.process_time()
            hits = way(profile, part)
            cost = (time.process_time() - begun) / lines
            if label not in costs or cost < costs[label][0]:
                costs[label] = (cost, len(part) / lines, hits / lines)
    return costs


def _share(profile: Profile, data: bytes) -> float:
    matcher = compiled(profile.rules).for_kind("daemon")
    lines = data.splitlines()
    return sum(bool(matcher.match(strip_line(raw))) for raw in lines) / len(lines)


if __name__ == "__main__":
    main()
