import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pty_child import PtyChild

STAGE = Path(__file__).parents[1] / "support" / "hostile_stage.py"
ALLOWED = re.compile(
    rb"\x1b\[\d*(?:;\d+)*H"  # cursor place
    rb"|\x1b\[[0-9;]*m"  # colours and attributes
    rb"|\x1b\[\?(?:1049|1000|1002|1003|1004|1006|1015|1016|2004|2026|2048|25|7)[hl]"
    rb"|\x1b\[\?(?:2026|2048)\$p"  # asks what the terminal can
    rb"|\x1b\[[><]?\d*u"  # the keyboard protocol
    rb"|\x1b\]22;(?:default|pointer|text)\x1b\\"  # the pointer's shape
    rb"|\x1b\]22;(?:default|pointer|text)\x07"
    rb"|[\r\n]"
)
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1b-\x1f\x7f]")
BIDI = re.compile("[\u0080-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ue000]")


@pytest.fixture
def child(tmp_path: Path) -> Iterator[PtyChild]:
    support = str(STAGE.parent)
    child = PtyChild(
        [sys.executable, str(STAGE)], width=160, height=45, PYTHONPATH=support,
        HOME=str(tmp_path),
    )  # fmt: skip
    yield child
    child.end()


def test_no_byte_outside_the_allow_list_reaches_the_terminal(child: PtyChild) -> None:
    seen = child.read_until(b"proofs/h")
    keys = (
        b"j", b"j", b"l", b"g", b"G", b"\t", b"\t", b"w", b"t", b"J", b"x", b"l", b"\r", b"G",
        b"y", b"G", b"q", b"q", b"A", b"3", b"A", b"w", b"M", b"q", b"\\", b"4", b"j", b"j", b"\r",
        b"q", b"q", b"5", b"j", b"q", b"6", b"G", b"q", b"7", b"q", b"b", b"s", b"b", b"r", b"O",
        b"q", b":", b"go ", b"\x1b", b"/gpu=", b"\x1b[C", b"\r", b"\x1b", b"R", b"q", b"D", b"q",
        b"T", b"j", b"\r", b"w", b"\x1b[C", b"\x1b[C", b"2", b"q",
    )  # fmt: skip
    for key in keys:
        child.write(key)
        seen += child.read(0.12)
    seen += child.read(1.0)
    # Out of whatever a slow machine has open, one level at a time.
    while not child.ended:
        child.write(b"\x1b")
        seen += child.read(0.3)
        child.write(b"q")
        seen += child.read(0.5)
    assert child.wait() == 0
    assert b"Traceback" not in seen, plain(seen)
    rest = ALLOWED.sub(b"", seen)
    assert not CONTROL.search(rest), CONTROL.findall(rest)[:20]
    text = rest.decode("utf-8")
    assert not BIDI.search(text)
    assert len(text) > 20_000


def test_a_terminal_that_hangs_up_unheard_ends_the_console(child: PtyChild) -> None:
    child.read_until(b"proofs/h")
    child.hang_up()
    assert child.ended


def plain(seen: bytes) -> str:
    """Return the end of what was drawn, without its sequences."""
    return ALLOWED.sub(b" ", seen)[-4000:].decode("utf-8", "replace")
