"""A last look at a host, kept for when it is gone."""

import msgspec

from fleetui.domain.text import SafeText


class SnapshotSection(msgspec.Struct, frozen=True):
    """What one tool said, or the end of one file (`tail PATH`), secrets masked."""

    name: str
    lines: tuple[SafeText, ...]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Processes with wait channels, kernel log, GPU query, disk, and the ends of the files.

    `whole` is false when the time or the size ran out before all was told.
    """

    instance_id: int
    at: float
    reason: SafeText
    sections: tuple[SnapshotSection, ...]
    whole: bool = True
    snapshot_id: int = 0
    """Given by the store; not part of the document."""
