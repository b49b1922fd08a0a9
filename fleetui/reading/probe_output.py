"""The output of the host's own tools, turned into a `Probe`.

Each section may be missing, empty, cut short or hold the tool's complaint instead of an answer.
A complaint is a fact and is kept in `Probe.errors`; nothing in here raises.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from fleetui.domain.host import FileState, Gpu, Probe, Process
from fleetui.domain.text import SafeText, sanitise
from fleetui.reading.findings.matching import names_fault

_KERNEL_LINE_LIMIT = 400
_KERNEL_READ_LIMIT = 50_000
_PROCESS_LIMIT = 2000
_FILE_LIMIT = 2000
_LISTED_FILE = re.compile(
    r"-\S{9,10} +\d+ +\d+ +\d+ +(?P<size>\d{1,18}) +(?P<day>[A-Z][a-z]{2} +\d{1,2})"
    r" +(?P<hour>\d\d:\d\d|\d{4}) +(?P<path>/.*\S)"
)
_FUTURE_SECONDS = 86_400.0
"""A host's clock may be wrong by so much; a time beyond is one of last year."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_COMPLAINT = re.compile(
    r"not permitted|permission denied|not found|no such|failed|unable|cannot|couldn't|error"
    r"|no devices were found|insufficient permissions|gpu is lost|has fallen off"
    r"|requires reset|err!",
    re.IGNORECASE,
)
_KERNEL_REFUSED = re.compile(
    r"^(?:dmesg:|sudo:|\S*sh: )|(?:^|: )(?:operation not permitted|permission denied)$",
    re.IGNORECASE,
)
"""What `dmesg` says when it may not read; the kernel's own lines complain by trade."""
_UNKNOWN_VALUES = frozenset({"", "-", "n/a", "[n/a]", "[not supported]", "[unknown error]", "err!"})

_GPU_FIELDS = {
    "utilization.gpu": "utilization",
    "memory.used": "memory_used_mib",
    "memory.total": "memory_total_mib",
    "temperature.gpu": "temperature",
    "power.draw": "power_watts",
    "power.draw.instant": "power_watts",
    "clocks.sm": "clock_mhz",
    "clocks.current.sm": "clock_mhz",
    "ecc.errors.uncorrected.volatile.total": "ecc_uncorrected",
}
_THROTTLE_COLUMNS = frozenset(
    {
        "clocks_throttle_reasons.active",
        "clocks_event_reasons.active",
        "clocks.throttle_reasons.active",
    }
)


def parse_probe(sections: Mapping[str, str], at: float | None) -> Probe:
    """Read the sections of one look at a host (names: the sample hosts' probe files).

    `at` is epoch seconds of the look. Unknown sections are ignored.
    """
    texts = {_section_name(name): text for name, text in sections.items()}
    errors = {
        name: complaint
        for name, text in texts.items()
        if (complaint := _complaint(name, text)) is not None
    }
    # dmesg in a container mostly answers with a refusal: then there are no kernel lines.
    answered = {name: text for name, text in texts.items() if name not in errors}
    gpus = _gpus(texts.get("nvidia-smi", ""))
    disk = _disk(answered.get("df", ""))
    return Probe(
        at=at,
        gpus=gpus if gpus or "nvidia-smi" in answered else None,
        processes=_processes(answered["ps"]) if "ps" in answered else None,
        memory_events=_memory_events(answered),
        memory_max_bytes=_bytes(answered, "cgroup.memory.max", "memory.limit_in_bytes"),
        memory_current_bytes=_bytes(answered, "cgroup.memory.current", "memory.usage_in_bytes"),
        disk_total_kib=disk[0],
        disk_used_kib=disk[1],
        disk_available_kib=disk[2],
        load=_number(answered.get("loadavg", "").split(" ")[0]),
        files=_files(answered["files"], at) if "files" in answered else None,
        listening=_listening(answered["ss"]) if "ss" in answered else None,
        kernel_lines=_kernel_lines(answered["dmesg"]) if "dmesg" in answered else None,
        clock=_clock(answered.get("date", "")),
        errors=errors,
    )


def _section_name(name: str) -> str:
    base = name.rsplit("/", 1)[-1]
    for suffix in (".txt", ".csv", ".out"):
        base = base.removesuffix(suffix)
    return "nvidia-smi" if base == "nvidia_smi" else base


def _complaint(name: str, text: str) -> SafeText | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    # Some tools warn and then answer; only sections without any answer count as refused.
    complains = [line for line in lines if _COMPLAINT.search(line)]
    if name == "dmesg":
        complains = [line for line in lines if _KERNEL_REFUSED.search(line)]
        answered = len(complains) < len(lines)
    elif name == "nvidia-smi":
        answered = not complains
    elif name == "ps":
        answered = "PID" in text
    elif name == "ss":
        answered = any(line.upper().startswith(("STATE", "LISTEN", "TCP")) for line in lines)
    elif name == "df":
        answered = any("%" in line for line in lines)
    else:
        answered = lines[0] not in complains
    return None if answered else sanitise(next(iter(complains), lines[0]))


def _number(text: str) -> float | None:
    if text.strip().lower() in _UNKNOWN_VALUES:
        return None
    match = _NUMBER.search(text)
    return float(match[0]) if match else None


def _integer(text: str) -> int | None:
    # "max" means no limit; a limit of exabytes is how cgroup v1 says the same.
    match = re.fullmatch(r"\s*(\d{1,20})\s*", text)
    if match is None:
        return None
    value = int(match[1])
    return value if value < 1 << 60 else None


def _clock(text: str) -> int | None:
    value = _integer(text)
    return value if value is not None and value < 1 << 33 else None


def _counters(text: str) -> dict[str, int] | None:
    found = re.findall(r"^\s*(\w{1,40})\s+(\d{1,18})\s*$", text, re.MULTILINE)
    return {name: int(value) for name, value in found} or None


def _bytes(sections: Mapping[str, str], *names: str) -> int | None:
    """Return the first number under these names of cgroup v2 and v1."""
    found = (_integer(_under(sections, name)) for name in names)
    return next((value for value in found if value is not None), None)


def _under(sections: Mapping[str, str], name: str) -> str:
    return sections.get(name) or sections.get(f"cgroup.{name.removeprefix('cgroup.')}", "")


def _memory_events(sections: Mapping[str, str]) -> dict[str, int] | None:
    """Return the counters of `memory.events`, or what cgroup v1 has in their place."""
    events = _counters(sections.get("cgroup.memory.events") or sections.get("memory.events", ""))
    if events is not None:
        return events
    control = _counters(_under(sections, "memory.oom_control")) or {}
    kills = control.get("oom_kill")
    events = {} if kills is None else {"oom_kill": kills}
    hits = _integer(_under(sections, "memory.failcnt"))
    if hits is not None:
        # How often the limit was met; the page cache alone does that on a healthy host.
        events["max"] = hits
    return events or None


def _gpus(text: str) -> tuple[Gpu, ...]:
    """Read `nvidia-smi --query-gpu` CSV with its header, or the fixed order of the probe."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    header: list[str] | None = None
    gpus: list[Gpu] = []
    for line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        if cells[0].lower() in {"index", "gpu", "name"} and len(cells) > 1:
            header = [cell.lower().split(" [")[0] for cell in cells]
        elif header is not None and len(cells) == len(header):
            gpus.append(_gpu(dict(zip(header, cells, strict=True)), len(gpus)))
    return tuple(gpus)


def _gpu(row: Mapping[str, str], position: int) -> Gpu:
    values: dict[str, float | None] = {}
    for column, name in _GPU_FIELDS.items():
        if column in row:
            values[name] = _number(row[column])
    reasons = next((row[column] for column in _THROTTLE_COLUMNS if column in row), "")
    index = _number(row.get("index", ""))
    return Gpu(
        index=position if index is None else int(index),
        name=_text(row.get("name")),
        driver_version=_text(row.get("driver_version")),
        throttle_reasons=int(reasons, 16)
        if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", reasons)
        else None,
        utilization=values.get("utilization"),
        memory_used_mib=values.get("memory_used_mib"),
        memory_total_mib=values.get("memory_total_mib"),
        temperature=values.get("temperature"),
        power_watts=values.get("power_watts"),
        clock_mhz=values.get("clock_mhz"),
        ecc_uncorrected=values.get("ecc_uncorrected"),
    )


def _text(value: str | None) -> SafeText | None:
    if value is None or value.lower() in _UNKNOWN_VALUES:
        return None
    return sanitise(value, 200)


def _processes(text: str) -> tuple[Process, ...]:
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if "PID" in line.split()), None)
    if start is None:
        return ()
    columns = [column.upper() for column in lines[start].split()]
    processes = (_process(columns, line) for line in lines[start + 1 : start + 1 + _PROCESS_LIMIT])
    return tuple(process for process in processes if process is not None)


def _process(columns: list[str], line: str) -> Process | None:
    cells = line.split(None, len(columns) - 1)
    if len(cells) < len(columns):
        return None
    row = dict(zip(columns, cells, strict=True))
    pid = row.get("PID", "")
    if not pid.isdecimal() or len(pid) > 10:
        return None
    args = next((row[name] for name in ("COMMAND", "ARGS", "CMD") if name in row), "")
    elapsed = next((row[name] for name in ("ELAPSEDS", "ETIMES", "ELAPSED") if name in row), "")
    wait = row.get("WCHAN")
    return Process(
        pid=int(pid),
        args=sanitise(args, 1000),
        ppid=int(_number(row.get("PPID", "")) or 0) or None,
        state=_text(row.get("STAT") or row.get("S")),
        wait_channel=_text(wait),
        elapsed_seconds=_elapsed(elapsed),
        rss_kib=_number(row.get("RSS", "")),
    )


def _elapsed(text: str) -> float | None:
    """Read `ps` elapsed time: `[[days-]hours:]minutes:seconds` or plain seconds."""
    match = re.fullmatch(r"(?:(?:(\d{1,6})-)?(\d{1,4}):)?(\d{1,4}):(\d{2})", text)
    if match is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    return float(text) if re.fullmatch(r"\d{1,12}", text) else None


def _disk(text: str) -> tuple[float | None, float | None, float | None]:
    """Read the row of the fullest file system of `df -k` that is not a tiny special one."""
    best: tuple[float, float, float] | None = None
    for line in text.splitlines():
        match = re.search(r"\s(\d{1,18})\s+(\d{1,18})\s+(\d{1,18})\s+\d{1,3}%", line)
        if match is None:
            continue
        total, used, available = (float(value) for value in match.groups())
        if best is None or total > best[0]:
            best = (total, used, available)
    return best or (None, None, None)


def _files(text: str, at: float | None) -> tuple[FileState, ...]:
    """Read lines of size, time and path, or those of `ls -Ldln` in UTC; `at` tells their year."""
    states: list[FileState] = []
    for line in text.splitlines()[:_FILE_LIMIT]:
        match = re.match(r"\s*(\d{1,18})\s+(\d{1,12}(?:\.\d+)?|-)\s+(/.*\S)", line)
        if match is not None:
            modified = None if match[2] == "-" else float(match[2])
            path = str(sanitise(match[3], 1000))
            states.append(FileState(path=path, size=int(match[1]), modified_at=modified))
            continue
        match = _LISTED_FILE.match(line)
        if match is not None:
            path = str(sanitise(match["path"], 1000))
            modified = _listed_time(match["day"], match["hour"], at)
            states.append(FileState(path=path, size=int(match["size"]), modified_at=modified))
    return tuple(states)


def _listed_time(day: str, hour: str, at: float | None) -> float | None:
    """Read the time of `ls -l`: of the last months the minute, of older files the day only."""
    year = hour
    if ":" in hour:
        if at is None:
            return None
        year = f"{datetime.fromtimestamp(at, UTC).year}"
    clock = hour if ":" in hour else "00:00"
    try:
        time = datetime.strptime(f"{year} {day} {clock} +0000", "%Y %b %d %H:%M %z")
        if at is not None and ":" in hour and time.timestamp() > at + _FUTURE_SECONDS:
            time = time.replace(year=time.year - 1)
    except ValueError:
        return None
    return time.timestamp()


def _listening(text: str) -> tuple[str, ...]:
    """Return the local `address:port` of every listening row of `ss -ltn`."""
    found: list[str] = []
    for line in text.splitlines():
        cells = line.split()
        if "LISTEN" in cells:
            local = next((cell for cell in cells if re.fullmatch(r"\S*:\d{1,5}", cell)), None)
            if local is not None:
                found.append(str(sanitise(local, 100)))
    return tuple(found)


def _kernel_lines(text: str) -> tuple[SafeText, ...]:
    """Return the newest lines, and before them those that name a fault, oldest first."""
    lines = [
        sanitise(line, 1000)
        for line in text.splitlines()[-_KERNEL_READ_LIMIT:]
        if line.strip() and not _KERNEL_REFUSED.search(line.strip())
    ]
    older, newest = lines[:-_KERNEL_LINE_LIMIT], lines[-_KERNEL_LINE_LIMIT:]
    telling = [line for line in older if names_fault("dmesg", line)]
    half = _KERNEL_LINE_LIMIT // 2
    # The first of a storm tells its cause, the last ones how it ended.
    kept = telling if len(telling) <= 2 * half else [*telling[:half], *telling[-half:]]
    return (*kept, *newest)
