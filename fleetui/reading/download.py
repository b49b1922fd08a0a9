"""The parameter download: many aria2 processes at once, told apart by their gid.

Progress lines carry coarse sizes and no time; a gid gets its file's name only from a summary or
the result table (facts: cuzk.md section 4).
"""

import re
from collections import deque
from dataclasses import dataclass
from functools import lru_cache

from fleetui.domain.stage import Progress, ProgressPart
from fleetui.domain.text import SafeText, sanitise
from fleetui.profiles.model import Profile
from fleetui.reading.eta import Eta, from_times
from fleetui.reading.figures import figure

_UNITS = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_SIZE = re.compile(r"([\d.]+)\s*([KMGT]?)i?B?\Z")
_LARGEST = 2.0**50
_MOST_FILES = 256
_FRESH_SECONDS = 30.0
_STALE_SECONDS = 90.0
"""A speed that was said so long ago is none."""

_SPEED_SECONDS = 120.0
_HASH_SPEED = 1.5 * 2.0**30
"""Bytes checked a second before one was measured: some 30 s a big file (cuzk.md section 4)."""


@lru_cache(maxsize=4096)
def size(text: str) -> float | None:
    """Read a size such as `359MiB`, `0B` or `3.97 GiB`, in bytes; `None` for what is none."""
    match = _SIZE.match(text.strip())
    if match is None:
        return None
    count = figure(match.group(1), 0.0) * _UNITS[match.group(2)]
    return count if count < _LARGEST else None


@dataclass(slots=True)
class _File:
    path: str | None
    done: float = 0.0
    total: float | None = None
    speed: float = 0.0
    state: str = "waiting"
    at: float = 0.0
    fetched_at: float | None = None
    checked_at: float | None = None


class Download:
    """All files of one fetch."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._files: dict[str, _File] = {}
        self._gids: dict[str, _File] = {}
        self._last_gid: str | None = None
        self._fetching: _File | None = None
        """The file that was asked for last: what a bar without a gid is about."""
        self._speeds: deque[tuple[float, float]] = deque(maxlen=1024)
        self._hash_speeds: deque[float] = deque(maxlen=8)
        self.updated_at: float | None = None

    def take(self, signal: str, fields: dict[str, str], at: float) -> None:
        """Take one signal of the setup log that arrived at `at`."""
        path = fields.get("path")
        match signal:
            case "file_wanted" if path:
                file = self._file(path)
                if file is not None and file.state in ("fetched", "ok", "failed"):
                    file.state = "waiting"
                if file is None or not _is_small(file):
                    self._fetching = file
            case "file_progress":
                self._progress(fields, at)
            case "file_named" if path and self._last_gid:
                self._name(self._last_gid, path)
            case "file_result" if path:
                self._result(fields, path, at)
            case "file_fetched" if path:
                self._fetched(self._file(path), at)
            case "file_checked" if path:
                self._checked(path, at)
            case _:
                return
        self.updated_at = at

    def progress(self, now: float) -> Progress | None:
        """Return how far the download is, or its checks when nothing is left to fetch."""
        files = self._wanted()
        if not files:
            return None
        parts = tuple(self._part(file) for file in files)
        total = sum(file.total or 0.0 for file in files)
        if all(file.state in ("fetched", "ok", "failed") for file in files):
            done = sum(file.total or 0.0 for file in files if file.state == "ok")
            speed = max(self._hash_speeds, default=None)
            what, eta = "checksums", self._check_eta(files, now)
        else:
            done = sum(min(file.done, file.total or file.done) for file in files)
            is_stale = self.updated_at is None or now - self.updated_at > _STALE_SECONDS
            speed = None if is_stale or not self._speeds else self._speed()
            what, eta = "parameters", self._fetch_eta(files, speed, now)
        return Progress(
            what=SafeText(what),
            done=done,
            total=total or None,
            unit="B",
            updated_at=self.updated_at,
            per_second=speed,
            eta_seconds=None if eta is None else eta.middle,
            eta_low_seconds=None if eta is None else eta.low,
            eta_high_seconds=None if eta is None else eta.high,
            parts=parts,
        )

    def _fetch_eta(self, files: list[_File], speed: float | None, now: float) -> Eta | None:
        """When the last file will be fetched and checked.

        At best the line stays as full as it is until the end; at worst each file goes on at its
        own speed, as when the other end sets the limit.
        """
        if not speed or not any(file.total for file in files):
            return None
        lefts = {id(file): max((file.total or 0.0) - file.done, 0.0) for file in files}
        newest = max((at for at, _ in self._speeds), default=now)
        speeds = sorted(
            held for at, held in self._speeds if held > 0 and at >= newest - _SPEED_SECONDS
        )
        whole = sum(lefts.values())
        times = [whole / speed + self._least_check(files)]
        times += [
            whole / speeds[place] + self._least_check(files)
            for place in (len(speeds) // 10, len(speeds) * 9 // 10)
            if speeds
        ]
        times += [
            lefts[id(file)] / file.speed + (file.total or 0.0) / self._hash_speed()
            for file in files
            if file.state == "loading" and file.speed > 0
        ]
        slowest = max(times)
        return from_times([time for time in times if time >= times[0] * 0.8] or [slowest], 0.1)

    def _least_check(self, files: list[_File]) -> float:
        """Seconds to check the smallest file that is not there yet: one is the last."""
        sizes = [file.total or 0.0 for file in files if file.state in ("waiting", "loading")]
        return min(sizes, default=0.0) / self._hash_speed()

    def _check_eta(self, files: list[_File], now: float) -> Eta | None:
        """When the last check will be over; files are checked at the same time."""
        lefts = [
            (file.total or 0.0) / self._hash_speed() - (now - file.fetched_at)
            for file in files
            if file.state == "fetched" and file.fetched_at is not None
        ]
        if not lefts:
            return None
        slack = 0.5 if self._hash_speeds else 1.0
        return from_times([max(*lefts, 1.0)], slack)

    def _hash_speed(self) -> float:
        measured = sorted(self._hash_speeds)
        return measured[len(measured) // 2] if measured else _HASH_SPEED

    def _file(self, path: str) -> _File | None:
        file = self._files.get(path)
        if file is None and len(self._files) < _MOST_FILES:
            file = self._files[path] = _File(path, total=self._profile.size_of(path))
        return file

    def _progress(self, fields: dict[str, str], at: float) -> None:
        gid = fields.get("gid", "")
        self._last_gid = gid
        file = self._gids.get(gid)
        if not gid and self._fetching is not None:
            # Without aria2 files are fetched and checked one after the other.
            file = self._gids[gid] = self._fetching
            if file.state in ("fetched", "ok"):
                return
        if file is None:
            if len(self._gids) >= _MOST_FILES:
                return
            file = self._gids[gid] = self._guess(size(fields.get("total", "")))
        done = size(fields.get("done", "")) or 0.0
        stated = size(fields.get("total", ""))
        if file.total is None or (stated and not _alike(stated, file.total)):
            file.total = stated or file.total
        percent = fields.get("percent")
        if percent is not None and file.total:
            done = max(done, figure(percent, 0.0) / 100.0 * file.total)
        # Sizes of many GiB come without decimals: what was reached once stays reached.
        file.done = max(file.done, done) if file.state == "loading" else done
        if file.total is not None:
            file.done = min(file.done, file.total)
        file.speed = size(fields.get("speed", "")) or 0.0
        file.state = "loading"
        file.at = at
        self._speeds.append((at, self._speed()))
        if not gid and percent is not None and figure(percent, 0.0) >= 100.0:
            self._fetched(file, at)

    def _speed(self) -> float:
        newest = whole = 0.0
        for file in self._gids.values():
            newest = max(newest, file.at)
        for file in self._gids.values():
            if file.state == "loading" and file.at >= newest - _FRESH_SECONDS:
                whole += file.speed
        return whole

    def _guess(self, stated: float | None) -> _File:
        """Tell the file by its size where only one wanted file has that size."""
        alike = [
            file
            for file in self._files.values()
            if file.state == "waiting" and stated and file.total and _alike(stated, file.total)
        ]
        taken = {id(file) for file in self._gids.values()}
        alike = [file for file in alike if id(file) not in taken]
        return alike[0] if len(alike) == 1 else _File(None)

    def _name(self, gid: str, path: str) -> None:
        held = self._gids.get(gid)
        if held is None or held.path == path:
            return
        file = self._file(path)
        if file is None:
            return
        file.done, file.speed, file.state, file.at = held.done, held.speed, held.state, held.at
        file.total = file.total or held.total
        self._gids[gid] = file

    def _result(self, fields: dict[str, str], path: str, at: float) -> None:
        self._name(fields.get("gid", ""), path)
        file = self._file(path)
        if fields.get("state", "").upper() == "OK":
            self._fetched(file, at)
        elif file is not None and file.state != "ok":
            file.state = "failed"
            file.speed = 0.0
        self._gids.pop(fields.get("gid", ""), None)

    def _fetched(self, file: _File | None, at: float) -> None:
        if file is not None and file.state not in ("ok", "fetched"):
            file.state = "fetched"
            file.done = file.total or file.done
            file.speed = 0.0
            file.fetched_at = at

    def _checked(self, path: str, at: float) -> None:
        file = self._file(path)
        if file is None or file.state == "ok":
            return
        took = at - file.fetched_at if file.fetched_at is not None else 0.0
        if took > 1 and file.total and file.total > _HASH_SPEED:
            self._hash_speeds.append(file.total / took)
        file.state = "ok"
        file.done = file.total or file.done
        file.speed = 0.0
        file.checked_at = at

    def _wanted(self) -> list[_File]:
        named = [file for file in self._files.values() if not _is_small(file)]
        held = {id(file) for file in named}
        nameless = [file for file in self._gids.values() if id(file) not in held]
        return [*named, *(file for file in nameless if not _is_small(file))]

    def _part(self, file: _File) -> ProgressPart:
        name = file.path.rsplit("/", 1)[-1] if file.path else "?"
        return ProgressPart(
            name=sanitise(name, 160),
            done=file.done if file.total is None else min(file.done, file.total),
            total=file.total,
            per_second=file.speed if file.state == "loading" else None,
            state=SafeText(file.state),
        )


def _is_small(file: _File) -> bool:
    """Verifying keys are a few hundred bytes: they only blur the picture."""
    return bool(file.path and file.path.endswith(".vk"))


def _alike(stated: float, exact: float) -> bool:
    """Whether a size cut to whole units can be `exact`."""
    return stated <= exact * 1.001 and exact < stated * 1.05 + 2.0**20
