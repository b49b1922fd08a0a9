"""`curio fetch-params`: paramfetch's lines and aria2's, interleaved (facts: cuzk.md section 4)."""

import time
from collections.abc import Callable

from fleetui.simulator.hosts.engine import Script
from fleetui.simulator.hosts.machine import GIB, Machine
from fleetui.simulator.hosts.parameters import FILES, FOLDER, GATEWAY, ParameterFile
from fleetui.simulator.hosts.plan import Plan
from fleetui.simulator.hosts.tracing import golog

_RULE = "=" * 79
_LINE = "-" * 79


def _size(value: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.1f}{unit}" if value < 10 and unit != "B" else f"{int(value)}{unit}"
        value /= 1024
    return ""


def _eta(seconds: float) -> str:
    whole = int(seconds)
    hours, rest = divmod(whole, 3600)
    text = f"{rest // 60}m{rest % 60}s" if whole >= 60 else f"{whole}s"
    return f"{hours}h{text}" if hours else text


class Fetch:
    """One run of the downloader; `say` adds bytes to the entrypoint's logs."""

    def __init__(self, machine: Machine, plan: Plan, say: Callable[[bytes], None]) -> None:
        self._machine = machine
        self._plan = plan
        self._say = say
        self.failed = False

    def _log(self, line: int, message: str, level: str = "INFO") -> None:
        self._say(
            golog(
                self._machine.engine.now,
                level,
                "paramfetch",
                f"fastparamfetch/paramfetch.go:{line}",
                message,
            )
        )

    def _short_time(self) -> str:
        return time.strftime("%m/%d %H:%M:%S", time.gmtime(self._machine.engine.now))

    def _complete(self, file: ParameterFile, gid: str, speed: str) -> None:
        path = f"{FOLDER}/{file.name}"
        self._say(
            f"\n{self._short_time()} [\x1b[1;32mNOTICE\x1b[0m] Download complete: {path}\n\nDownload Results:\n"  # noqa: E501 - a line as it is printed
            "gid   |stat|avg speed  |path/URI\n======+====+===========+"
            f"{'=' * 55}\n{gid}|OK  |{speed:>11}|{path}\n\nStatus Legend:\n(OK):download completed.\n".encode()  # noqa: E501 - a line as it is printed
        )

    def run(self) -> Script:
        """Download everything; `failed` says how it went."""
        machine, plan = self._machine, self._plan
        random = machine.random
        machine.files.folder(FOLDER)
        files = [
            file
            for file in FILES
            if plan.params != "incomplete" or not file.name.endswith(".params")
        ]
        if plan.params == "cached" or all(self._is_there(file) for file in files):
            for file in files:
                machine.keep(f"{FOLDER}/{file.name}", file.size)
                yield 0.02
                self._log(227, f"Parameter file {FOLDER}/{file.name} is ok")
            self._log(251, "parameter and key-fetching complete")
            return
        for file in files:
            self._log(262, f"Fetching {FOLDER}/{file.name} from {GATEWAY}")
            yield 0.001
            self._log(268, f"GET {GATEWAY}{file.cid}")
            yield 0.003
        for _ in files:
            self._say(
                f"\n{self._short_time()} [\x1b[1;32mNOTICE\x1b[0m] Downloading 1 item(s)\n".encode()
            )
        yield 0.5
        large = [file for file in files if file.size > 1 << 20]
        for file in files:
            if file not in large:
                machine.files.sized(f"{FOLDER}/{file.name}", file.size)
                self._complete(file, f"{random.getrandbits(24):06x}", "84KiB/s")
                yield 0.004
                self._log(227, f"Parameter file {FOLDER}/{file.name} is ok")
        yield from self._large(large)
        if self.failed:
            self._say(
                f"ERROR: fetching proof parameters: fetching file {FOLDER}/{large[0].name} failed: exit status 9\n\n".encode()  # noqa: E501 - a line as it is printed
            )
            return
        yield 0.01
        self._log(251, "parameter and key-fetching complete")

    def _is_there(self, file: ParameterFile) -> bool:
        """Whether an earlier start of the container has left it whole."""
        path = f"{FOLDER}/{file.name}"
        return self._machine.files.exists(path) and self._machine.files.size(path) == file.size

    def _large(self, files: list[ParameterFile]) -> Script:
        machine, plan, random = self._machine, self._plan, self._machine.random
        gids = {file.name: f"{random.getrandbits(24):06x}" for file in files}
        done = dict.fromkeys(gids, 0.0)
        total = sum(file.size for file in files)
        rate = total / plan.params_seconds
        began = machine.engine.now
        summary_at = began + 60
        left = list(files)
        hashing: list[tuple[float, ParameterFile]] = []
        while left or hashing:
            yield 1.0
            now = machine.engine.now
            stalled = plan.params == "stalled" and sum(done.values()) > 0.37 * total
            for file in list(left):
                share = (
                    0.0
                    if stalled
                    else rate * file.size / sum(f.size for f in left) * random.uniform(0.85, 1.15)
                )
                done[file.name] = min(file.size, done[file.name] + share)
                machine.files.sized(f"{FOLDER}/{file.name}", int(done[file.name]))
                line = self._progress(file, gids[file.name], done[file.name], share)
                if done[file.name] >= file.size:
                    left.remove(file)
                    machine.keep(f"{FOLDER}/{file.name}", file.size)
                    self._say(f"{line}\n".encode())
                    self._complete(
                        file, gids[file.name], f"{_size(file.size / max(1, now - began))}/s"
                    )
                    hashing.append((now + 34 * file.size / (56 * GIB), file))
                    continue
                self._say(f"{line}\n".encode())
                if plan.params == "disk_full" and sum(done.values()) > 0.55 * total:
                    self._no_space(file, gids[file.name])
                    return
            for due, file in list(hashing):
                if now >= due:
                    hashing.remove((due, file))
                    self._log(227, f"Parameter file {FOLDER}/{file.name} is ok")
            if now >= summary_at:
                summary_at += 60
                for file in left:
                    self._summary(file, gids[file.name], done[file.name], rate / max(1, len(left)))

    @staticmethod
    def _progress(file: ParameterFile, gid: str, done: float, speed: float) -> str:
        left = (file.size - done) / speed if speed else 0
        eta = f" ETA:{_eta(left)}" if left >= 1 else ""
        return f"[#{gid} {_size(done)}/{_size(file.size)}({int(done * 100 / file.size)}%) CN:16 DL:{_size(speed)}{eta}]"  # noqa: E501 - a line as it is printed

    def _summary(self, file: ParameterFile, gid: str, done: float, speed: float) -> None:
        when = time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime(self._machine.engine.now))
        if self._plan.params == "stalled":
            speed = 0.0
        self._say(
            f" *** Download Progress Summary as of {when} *** \n{_RULE}\n{self._progress(file, gid, done, speed)}\n"  # noqa: E501 - a line as it is printed
            f"FILE: {FOLDER}/{file.name}\n{_LINE}\n\n".encode()
        )

    def _no_space(self, file: ParameterFile, gid: str) -> None:
        path = f"{FOLDER}/{file.name}"
        self._machine.disk_used_kib = self._machine.hardware.disk_gib << 20
        when = self._short_time()
        self._say(
            f"\n{when} [\x1b[1;31mERROR\x1b[0m] CUID#7 - Download aborted. URI={GATEWAY}{file.cid}\n"  # noqa: E501 - a line as it is printed
            f"Exception: [AbstractDiskWriter.cc:465] errNum=28 errorCode=9 Failed to write into the file {path}, cause: No space left on device\n\n"  # noqa: E501 - a line as it is printed
            "Download Results:\ngid   |stat|avg speed  |path/URI\n"
            f"======+====+===========+{'=' * 55}\n{gid}|ERR |   211MiB/s|{path}\n\nStatus Legend:\n(ERR):error occurred.\n\n"  # noqa: E501 - a line as it is printed
            "aria2 will resume download if the transfer is restarted.\n"
            "If there are any errors, then see the log file. See '-l' option in help/man page for details.\n".encode()  # noqa: E501 - a line as it is printed
        )
        self._log(176, "aria2c fetch failed: exit status 9", "WARN")
        self.failed = True
