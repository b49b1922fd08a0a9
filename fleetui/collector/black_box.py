"""The black box: a last look at a host when a finding turns critical and before it is destroyed."""

import asyncio
import logging
import secrets
import shlex
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from fleetui.collector.publisher import Publisher
from fleetui.collector.watcher import Watcher
from fleetui.domain.clock import Clock
from fleetui.domain.finding import Severity
from fleetui.domain.intent import Event
from fleetui.domain.redaction import Redactor
from fleetui.domain.snapshot import Snapshot, SnapshotSection
from fleetui.domain.text import sanitise
from fleetui.profiles.model import Profile
from fleetui.ssh.link import HostLink
from fleetui.ssh.script_run import ScriptTimeoutError
from fleetui.store.interface import CollectorStore, FenceLostError, Lease, StoreError

log = logging.getLogger(__name__)

TAIL_BYTES = 64 * 1024
MOST_FILES = 24
OUTPUT_LIMIT = 4 * 1024 * 1024
LOOK_SECONDS = 0.5
AT_ONCE = 4
"""So many snapshots are taken side by side, so that a fault of the fleet does not flood us."""
AGAIN_SECONDS = 60.0
"""Between two snapshots of one instance for findings; before a destroy one is always taken."""
_STORE_SECONDS = 10.0
_BINARY_SHARE = 0.3


class BlackBox:
    """Takes snapshots over live connections within `seconds` each and stores them, redacted."""

    def __init__(
        self,
        store: CollectorStore,
        lease: Lease,
        *,
        profile: Profile,
        publisher: Publisher,
        clock: Clock,
        seconds: float,
        secret_names: frozenset[str] = frozenset(),
        make_mark: Callable[[], str] = secrets.token_hex,
    ) -> None:
        """`make_mark` gives a word that nobody on a host can guess beforehand."""
        self._store = store
        self._lease = lease
        self._profile = profile
        self._make_mark = make_mark
        self._publisher = publisher
        self._clock = clock
        self._seconds = seconds
        self._secret_names = secret_names
        self._known: dict[int, frozenset[str]] = {}
        self._taken_at: dict[int, float] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def run(self, fleet: Iterable[Watcher]) -> None:
        """Take one whenever a finding turns critical, until cancelled.

        Raises:
            FenceLostError: somebody else holds the lease.
        """
        self._known = {watcher.instance_id: _critical(watcher) for watcher in fleet}
        async with asyncio.TaskGroup() as group:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                watchers = {watcher.instance_id: watcher for watcher in fleet}
                self._known = {key: self._known.get(key, frozenset()) for key in watchers}
                for instance_id, watcher in watchers.items():
                    reason = self._turned_critical(watcher)
                    if reason is not None:
                        name = f"snapshot-{instance_id}"
                        group.create_task(self._in_turn(watcher, reason), name=name)

    async def take(self, watcher: Watcher, reason: str) -> bool:
        """Take and store one within the time; tells whether that came about. Says it as an event.

        Raises:
            FenceLostError: somebody else holds the lease.
        """
        link = watcher.link
        if link is None or not watcher.connected:
            self._say(watcher, f"no snapshot ({reason}): no SSH connection")
            return False
        mark = self._make_mark()
        output = await self._look(link, snapshot_script(self._profile, mark))
        sections, whole = await asyncio.to_thread(
            sections_of, output, mark, secret_names=self._secret_names
        )
        if not sections:
            self._say(watcher, f"no snapshot ({reason}): the host told nothing in time")
            return False
        snapshot = Snapshot(
            instance_id=watcher.instance_id,
            at=self._clock.now(),
            reason=sanitise(reason),
            sections=sections,
            whole=whole,
        )
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await self._store.keep_snapshot(self._lease, snapshot)
        except FenceLostError:
            raise
        except (StoreError, TimeoutError) as error:
            self._say(watcher, f"the snapshot ({reason}) is not stored: {error}")
            return False
        part = "" if whole else ", in part"
        self._say(watcher, f"snapshot taken{part}: {reason}")
        return True

    async def has_since(self, instance_id: int, at: float) -> bool:
        """Tell whether one was stored since then, as by a run that ended meanwhile."""
        try:
            taken = await self._store.snapshots(instance_id)
        except StoreError as error:
            log.warning("the snapshots of instance %d cannot be read: %s", instance_id, error)
            return False
        return any(snapshot.at >= at for snapshot in taken)

    async def _look(self, link: HostLink, script: str) -> str:
        """Return what came within the time."""
        try:
            result = await link.run_script(script, self._seconds, limit=OUTPUT_LIMIT)
        except ScriptTimeoutError as late:
            return late.stdout
        except (OSError, TimeoutError):
            return ""
        return result.stdout

    async def _in_turn(self, watcher: Watcher, reason: str) -> None:
        async with self._slots:
            try:
                await self.take(watcher, reason)
            except FenceLostError:
                raise
            except Exception:
                # A look that breaks must not end the collection.
                log.exception("the snapshot of instance %d broke", watcher.instance_id)

    def _turned_critical(self, watcher: Watcher) -> str | None:
        """Return what has turned critical, once a snapshot can be taken of it."""
        key, critical = watcher.instance_id, _critical(watcher)
        known = self._known[key]
        new = critical - known
        now = asyncio.get_running_loop().time()
        is_due = now - self._taken_at.get(key, float("-inf")) >= AGAIN_SECONDS
        if not new or not is_due or not watcher.connected:
            self._known[key] = known & critical
            return None
        self._known[key] = critical
        self._taken_at[key] = now
        return ", ".join(sorted(new))

    def _say(self, watcher: Watcher, text: str) -> None:
        event = Event(
            at=self._clock.now(),
            kind="snapshot",
            text=sanitise(text),
            instance_id=watcher.instance_id,
        )
        self._publisher.pending.add_events([event])


def _critical(watcher: Watcher) -> frozenset[str]:
    findings = watcher.reading.findings if watcher.reading is not None else ()
    return frozenset(one.category for one in findings if one.severity is Severity.CRITICAL)


def snapshot_script(profile: Profile, mark: str) -> str:
    """Return the command that prints a last look at a host of this workload.

    The files of the streams' folders are told with their ends; the folders of the probes' paths,
    which hold the large files, are only listed.
    """
    streams = _folders(pattern for spec in profile.streams for pattern in spec.patterns)
    places = [folder for folder in _folders(profile.probe_paths) if folder not in streams]
    parameters = ("\n".join(streams), "\n".join(places), str(TAIL_BYTES), str(MOST_FILES), mark)
    return f"exec sh -c {shlex.join((_text(), 'fleetui-snapshot', *parameters))}"


def _folders(patterns: Iterable[str]) -> list[str]:
    parents = dict.fromkeys(str(PurePosixPath(pattern).parent) for pattern in patterns)
    return [folder for folder in parents if "*" not in folder]


def sections_of(
    output: str, mark: str, *, secret_names: frozenset[str] = frozenset()
) -> tuple[tuple[SnapshotSection, ...], bool]:
    """Read the script's output: safe lines, secrets masked, binary files only named.

    Also tells whether it came to its end; a section that was cut short is kept as far as it came.
    Only `mark` parts the sections: a file may hold the look of another one.
    """
    _, *parts = f"\n{output}".split(f"\n@@{mark} ")
    whole = bool(parts) and parts[-1].rstrip() == "done"
    sections = []
    for part in parts[: len(parts) - whole]:
        name, *lines = part.split("\n")
        sections.append(_section(name, lines, secret_names))
    return tuple(sections), whole


def _section(name: str, lines: list[str], secret_names: frozenset[str]) -> SnapshotSection:
    while lines and not lines[-1]:
        lines.pop()
    text = "\n".join(lines)
    odd = sum(letter == "�" or (letter < " " and letter not in "\n\t\r\x1b") for letter in text)
    if odd > len(text) * _BINARY_SHARE:
        return SnapshotSection(str(sanitise(name, 500)), (sanitise("(binary, not kept)"),))
    redactor = Redactor(names=secret_names)
    safe = tuple(sanitise(line) for line in redactor.lines(lines))
    return SnapshotSection(str(sanitise(name, 500)), safe)


@cache
def _text() -> str:
    text = resources.files(__package__).joinpath("snapshot.sh").read_text("utf-8")
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#")) + "\n"
