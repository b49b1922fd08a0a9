"""How fast raw log bytes become facts, beside the plain way with the same rules.

Run: `python benchmarks/reading_throughput.py [COPIES]`. The log is the daemon log of a kept host,
repeated COPIES times, and once more with matching lines thinned out to about one in 300.
The plain way strips every line and tries every rule on it.
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
ROUNDS = 3


def plainly(profile: Profile, data: bytes) -> int:
    """Strip each line and try every rule: literals by `in`, then the expression."""
    rules = [
        (rule, [word.lower() for word in rule.any], [word.lower() for word in rule.unless])
        for rule in profile.rules
        if rule.reads("daemon")
    ]
    colours = re.compile(r"\x1b\[[0-9;]*m")
    found = 0
    for raw in data.split(b"\n"):
        text = colours.sub("", raw.decode("utf-8", "replace"))
        lowered = text.lower()
        for rule, words, without in rules:
            if not any(word in lowered for word in words):
                continue
            if any(word in lowered for word in without):
                continue
            found += rule.pattern is None or rule.pattern.search(text) is not None
    return found


def scanned(profile: Profile, data: bytes) -> int:
    """Bytes to matched rules by the quick path alone."""
    matcher = compiled(profile.rules).for_kind("daemon")
    scanner = Scanner(matcher)
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


def thinned(data: bytes, profile: Profile, one_in: int) -> bytes:
    """Return the log with only one matching line in `one_in` lines."""
    matcher = compiled(profile.rules).for_kind("daemon")
    kept: list[bytes] = []
    since = 0
    for raw in data.splitlines(keepends=True):
        since += 1
        if matcher.match(strip_line(raw)):
            if since < one_in:
                continue
            since = 0
        kept.append(raw)
    return b"".join(kept)


def main() -> None:
    """Print lines a second for each way, on both logs."""
    copies = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    profile = load("cuzk")
    original = LOG.read_bytes()
    ways: list[tuple[str, Callable[[Profile, bytes], int]]] = [
        ("strip + every rule", plainly),
        ("strip only", stripped_only),
        ("quick path", scanned),
        ("whole reader", read),
    ]
    for name, base in (("as written", original), ("1 hit in 300", thinned(original, profile, 300))):
        data = base * copies
        lines = data.count(b"\n")
        print(f"{name}: {lines} lines, {len(data) / 1e6:.1f} MB")
        slowest = None
        for label, way in ways:
            best = min(_seconds(way, profile, data) for _ in range(ROUNDS))
            slowest = slowest or best
            hits = way(profile, data)
            print(
                f"  {label:20} {lines / best / 1e3:8.0f} k lines/s {len(data) / best / 1e6:7.0f}"
                f" MB/s {slowest / best:6.1f} x  {hits} hits"
            )


def _seconds(way: Callable[[Profile, bytes], int], profile: Profile, data: bytes) -> float:
    begun = time.perf_counter()
    way(profile, data)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
