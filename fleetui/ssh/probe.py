"""The sections that probe.sh prints, parsed from bytes in any split."""

from fleetui.ssh.scripts import FOLLOW_MARK, PROBE_MARK

_HELLO = b"@@ probe 1"
_LOOK_LIMIT = 4 * 1024 * 1024
_NOISE_LIMIT = 64 * 1024


class ProbeError(ValueError):
    """The bytes are not the script's; the channel must be opened anew."""


class ProbeParser:
    """Collects sections until a look is done. `open_section` is the one being printed."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._greeted = False
        self._lines: list[bytes] = []
        self._taken = 0
        self.open_section: str | None = None
        self.sections: dict[str, str] = {}

    def feed(self, data: bytes) -> list[dict[str, str]]:
        """Take more bytes and return the looks they complete.

        Raises:
            ProbeError: a look is longer than any real one, or there is no look in it at all.
        """
        self._buffer += data
        self._taken += len(data)
        if self._taken > (_LOOK_LIMIT if self._greeted else _NOISE_LIMIT + _LOOK_LIMIT):
            raise ProbeError("the host's answer has no end")
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        looks: list[dict[str, str]] = []
        for line in lines:
            self._take(line, looks)
        return looks

    def unfinished(self, reason: str) -> dict[str, str]:
        """Return the sections of the look under way; the one that hangs says `reason`."""
        sections = dict(self.sections)
        if self.open_section is not None:
            sections[self.open_section] = f"error: {reason}"
        return sections

    def _take(self, line: bytes, looks: list[dict[str, str]]) -> None:
        if not self._greeted:
            self._greeted = line == _HELLO
        elif line == b"@@ end" and self.open_section is not None:
            text = b"\n".join(self._lines).decode("utf-8", "replace")
            # The script ends a section with a line end of its own.
            text = text.removesuffix("\n")
            if self.open_section == "ps":
                text = without_own(text)
            self.sections[self.open_section] = text
            self.open_section = None
            self._lines = []
        elif self.open_section is not None:
            self._lines.append(line)
        elif line == b"@@ done":
            looks.append(self.sections)
            self.sections = {}
            self._taken = 0
        elif line.startswith(b"@@ "):
            self.open_section = line[3:].decode("ascii", "replace")


def without_own(ps: str) -> str:
    """Leave out our scripts and their children: their arguments name the workload's files."""
    rows = ps.split("\n")
    header = rows[0].split()
    pid_column = header.index("PID") if "PID" in header else None
    parent_column = header.index("PPID") if "PPID" in header else None
    own: set[str] = set()
    kept = [rows[0]]
    for row in rows[1:]:
        fields = row.split(None, len(header) - 1)
        marked = FOLLOW_MARK in row or PROBE_MARK in row
        parent = fields[parent_column] if parent_column is not None and len(fields) > 1 else None
        if not marked and (parent is None or parent not in own):
            kept.append(row)
        elif pid_column is not None and len(fields) > pid_column:
            own.add(fields[pid_column])
    return "\n".join(kept)
