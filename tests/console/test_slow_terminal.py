import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pty_child import PtyChild
from terminal import wait_until

STAGE = Path(__file__).parents[1] / "support" / "sample_fleet.py"


@pytest.fixture
def child(tmp_path: Path) -> Iterator[PtyChild]:
    child = PtyChild(
        [sys.executable, str(STAGE), "60"], PYTHONPATH=str(STAGE.parent), HOME=str(tmp_path)
    )
    yield child
    child.end()


def test_a_terminal_that_takes_nothing_for_a_while_gets_the_newest_frame(child: PtyChild) -> None:
    child.read_until(b"proofs/h")
    child.read(1.0)
    # Nobody reads: full screens are asked for in turn until the terminal's buffer is long full.
    for _ in range(30):
        child.write(b"2")
        child.write(b"q")
        child.write(b"5")
        child.write(b"q")
    child.write(b"7")
    used = [child.cpu_seconds()]

    def rests() -> bool:
        used.append(child.cpu_seconds())
        return len(used) > 10 and used[-1] - used[-10] < 0.1

    wait_until(rests, "every key is heeded")
    seen = child.read_until(b"frames joined")
    # Frames were joined: sixty screens would be more than half a megabyte.
    assert len(seen) < 250_000
    child.write(b"q")
    child.read(0.5)
    while not child.ended:
        child.write(b"q")
        child.read(0.5)
    assert child.wait() == 0
