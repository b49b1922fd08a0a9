"""One raw line to one safe line, quickly."""

import re

from fleetui.domain.text import SafeText, sanitise

_CSI = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


def strip_line(raw: bytes) -> SafeText:
    """Return the safe text of one raw line or redraw: colours gone, tabs as blanks.

    The same as `domain.text.sanitise`, but the common cases (colours, tabs) are taken out on the
    bytes, which keeps most lines on its fast path.
    """
    if b"\x1b" in raw:
        # Half of the codes in a line are this one, and a replacement is quick.
        raw = _CSI.sub(b"", raw.replace(b"\x1b[0m", b""))
    if b"\t" in raw:
        raw = raw.replace(b"\t", b" ")
    return sanitise(raw)


def is_blank(raw: bytes) -> bool:
    """Tell whether a raw line shows nothing."""
    if b"\x1b" in raw:
        raw = _CSI.sub(b"", raw)
    return not raw.strip()
