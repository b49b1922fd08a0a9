"""The fleet table's columns: their width, their place in line, their words and their order."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from fleetui.console import figures
from fleetui.console.fitting import fit
from fleetui.console.glyphs import SSH_WORDS, STAGE_TONES, STAGE_WORDS, Glyphs
from fleetui.console.palette import Piece
from fleetui.console.tally import out_of_sight
from fleetui.domain.finding import Severity
from fleetui.domain.finding_record import FindingState
from fleetui.domain.host import SshState
from fleetui.domain.quiet import Quiet
from fleetui.domain.reading import FleetRow
from fleetui.domain.stage import Stage

SEVERITY_TONES = {Severity.CRITICAL: "bad", Severity.WARNING: "warn", Severity.INFO: "dim"}
QUIET_WORDS = {FindingState.ACKNOWLEDGED: "acked ", FindingState.SNOOZED: "snoozed "}
BUSY_STAGES = frozenset(
    {
        Stage.PARAM_FETCH, Stage.C1_DOWNLOAD, Stage.DAEMON_START, Stage.WARMUP,
        Stage.DAEMON_RESTART, Stage.BENCH, Stage.RUNNING,
    }
)  # fmt: skip
SILENCE_WORTH_NOTING_SECONDS = 300.0
HOT_CELSIUS = 85.0


class Scene(msgspec.Struct, frozen=True):
    """What a row is drawn against: the time and which values are too old to be trusted.

    `stale_before` is the fleet time before which an API row counts as missed.
    """

    now: float
    glyphs: Glyphs
    stale_before: float = 0.0
    speed: float = 1.0
    quiet: Mapping[int, Quiet] = {}
    """Instances of which a finding was acknowledged or snoozed."""
    trends: Mapping[int, tuple[float | None, ...]] = {}
    """Proofs per hour of instances over the last hours, where they have been read."""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column.

    `key` orders rows; rows for which it is `None` go last in either direction.
    """

    name: str
    title: str
    width: int
    key: Callable[[FleetRow], float | str | None]
    cell: Callable[[FleetRow, Scene, int], list[Piece]]
    right: bool = False
    flexible: bool = False
    short: str = ""
    """The title where the column is squeezed."""


def _id(row: FleetRow, _: Scene, width: int) -> list[Piece]:
    number = str(row.instance_id)
    sign, tone = ("P", "key") if row.protected else ("?", "warn") if row.odd else ("", "")
    if sign and len(number) < width:
        # P: nothing may be done to it. ?: its row at the API could not be read in full.
        return [(number, "strong"), (fit(sign, width - len(number)), tone)]
    return [(fit(number, width), "strong")]


def _label(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    return [(fit(scene.glyphs.plain(row.label or ""), width, more=scene.glyphs["more"]), "text")]


def _gpu(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    count = f"{row.num_gpus}x " if row.num_gpus else ""
    text = scene.glyphs.plain(count + (row.gpu or figures.UNKNOWN))
    return [(fit(text, width, more=scene.glyphs["more"]), "text")]


def _stage(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    if row.acting:
        word = scene.glyphs.plain(row.acting)
        return [(fit(f"{scene.glyphs['busy']} {word}", width), "warn bold")]
    unseen = out_of_sight(row, scene.now, scene.speed)
    tone = "faint" if unseen else STAGE_TONES.get(row.stage, "busy")
    again = f" #{row.attempt}" if row.attempt > 1 else ""
    sign = scene.glyphs["off"] if unseen else scene.glyphs.stage(row.stage)
    text = f"{sign} {STAGE_WORDS[row.stage]}" + ("?" if unseen else "")
    # The count is never cut: rather the word.
    room = width - len(again)
    if len(text) > room >= 4:
        text = fit(text, room, more=scene.glyphs["more"])
    return [(fit(text + again, width, more=scene.glyphs["more"]), tone)]


def _since(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    seconds = None if row.stage_since is None else scene.now - row.stage_since
    text = figures.age(seconds) if seconds is not None else ""
    return [(fit(scene.glyphs.plain(text), width, right=True), "dim")]


def _progress(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    if row.progress_fraction is None:
        text = scene.glyphs.plain(row.progress_text or "")
        return [(fit(text, width, more=scene.glyphs["more"]), "dim")]
    number = figures.percent(row.progress_fraction).rjust(4)
    if width < 9:
        return [(fit(number, width, right=True), "text")]
    done, rest = scene.glyphs.bar(row.progress_fraction, width - 5)
    return [(done, "active"), (rest, "faint"), (" " + number, "text")]


def _eta(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    text = "" if row.eta_seconds is None else figures.age(row.eta_seconds)
    return [(fit(scene.glyphs.plain(text), width, right=True), "dim")]


def _rate(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    measured = row.proofs_per_hour is not None
    least = "" if row.min_rate is None or not measured else f"/{figures.rate(row.min_rate)}"
    value = figures.rate(row.proofs_per_hour) if row.proofs_per_hour is not None else ""
    if not value:
        value = figures.UNKNOWN
        tone = "faint"
    elif row.min_rate is not None and (row.proofs_per_hour or 0.0) < row.min_rate:
        tone = "bad"
    else:
        tone = "ok" if row.min_rate is not None else "text"
    value = ("<" if tone == "bad" else "") + value
    if out_of_sight(row, scene.now, scene.speed):
        tone = "faint"
    # The minimum is set left in a field of its own so that the figures stay aligned.
    room = 5 if width >= 11 else 0
    pieces = [(fit(scene.glyphs.plain(value), width - room, right=True), tone)]
    return [*pieces, (fit(least, room), "faint")] if room else pieces


def _spent(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    text = scene.glyphs.plain(figures.money(row.spent))
    return [(fit(text, width, right=True), "text" if row.spent is not None else "faint")]


def _odd(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    text = scene.glyphs.plain(row.odd or "")
    return [(fit(text, width, more=scene.glyphs["more"]), "warn")]


def _cost(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    text = scene.glyphs.plain(figures.money(row.cost_per_hour))
    return [(fit(text, width, right=True), "text")]


def _proof(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    known = row.cost_per_proof is not None
    text = scene.glyphs.plain(figures.money(row.cost_per_proof, 3))
    return [(fit(text, width, right=True), "text" if known else "faint")]


def _load(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    old = row.gpu_at is not None and scene.now - row.gpu_at > 120.0 * scene.speed
    known = row.gpu_util is not None
    util = f"{row.gpu_util:.0f}%" if row.gpu_util is not None else figures.UNKNOWN
    idle = row.stage is Stage.RUNNING and row.gpu_util is not None and row.gpu_util < 1
    tone = "faint" if old or not known else "warn" if idle else "text"
    pieces = [(fit(scene.glyphs.plain(util), min(width, 4), right=True), tone)]
    if width >= 9:
        temp = f"{row.gpu_temp:.0f}°" if row.gpu_temp is not None else ""
        hot = row.gpu_temp is not None and row.gpu_temp >= HOT_CELSIUS
        shown = "faint" if old else "warn" if hot else "dim"
        pieces.append((fit(scene.glyphs.plain(temp), width - 4, right=True), shown))
    return pieces


def _trend(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    values = list(scene.trends.get(row.instance_id, ()))
    return [(fit(scene.glyphs.sparkline(values, width), width, right=True), "ok")]


def _text_cell(value: Callable[[FleetRow], object]) -> Callable[..., list[Piece]]:
    def cell(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
        found = value(row)
        text = scene.glyphs.plain("" if found is None else str(found))
        return [(fit(text, width, more=scene.glyphs["more"]), "dim")]

    return cell


def _byte_age(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    seconds = None if row.newest_byte_at is None else scene.now - row.newest_byte_at
    quiet = row.stage in BUSY_STAGES and (seconds or 0.0) > SILENCE_WORTH_NOTING_SECONDS
    text = figures.age(seconds)
    if row.ssh not in (SshState.CONNECTED, SshState.NONE, SshState.CONNECTING):
        # A dead source keeps its age and says that it is dead.
        return [(fit(scene.glyphs.plain(text) + "!", width, right=True), "warn")]
    tone = "warn" if quiet else "faint" if seconds is None else "dim"
    return [(fit(scene.glyphs.plain(text), width, right=True), tone)]


def _finding(row: FleetRow, scene: Scene, width: int) -> list[Piece]:
    if row.finding_severity is None:
        return [(" " * width, "dim")]
    severity, category, words = row.finding_severity, row.finding_category, row.finding_summary
    tone, state = SEVERITY_TONES[severity], ""
    quiet = scene.quiet.get(row.instance_id)
    if quiet is not None and quiet.left is not None:
        severity, category, words = quiet.left.severity, quiet.left.category, quiet.left.summary
        tone = SEVERITY_TONES[severity]
    elif quiet is not None:
        tone, state = "dim", QUIET_WORDS[quiet.state]
    more = f" +{row.findings - 1}" if row.findings > 1 else ""
    sign = scene.glyphs["done"] if state else scene.glyphs.severity(severity)
    head = scene.glyphs.plain(f"{sign} {state}{category or '?'}{more}")
    room = width - len(head) - 2
    if room < 8 or not words:
        return [(fit(head, width, more=scene.glyphs["more"]), tone)]
    summary = fit(scene.glyphs.plain(words), room, more=scene.glyphs["more"])
    return [(head, tone), ("  ", "dim"), (summary, "dim")]


def _finding_key(row: FleetRow) -> float:
    return float(row.finding_severity.rank) if row.finding_severity else 9.0


COLUMNS: tuple[Column, ...] = (
    Column(name="id", title="id", width=9, key=lambda r: float(r.instance_id), cell=_id),
    Column(name="label", title="label", width=12, key=lambda r: r.label, cell=_label),
    Column(name="gpu", title="GPU", width=16, key=lambda r: r.gpu, cell=_gpu),
    Column(
        name="stage", title="stage", width=13,
        key=lambda r: float(list(Stage).index(r.stage)), cell=_stage,
    ),
    Column(
        name="in", title="for", width=5, right=True,
        key=lambda r: None if r.stage_since is None else -r.stage_since, cell=_since,
    ),
    Column(
        name="progress", title="progress", short="done", width=13,
        key=lambda r: r.progress_fraction, cell=_progress,
    ),
    Column(
        name="eta", title="ETA", width=5, right=True,
        key=lambda r: r.eta_seconds, cell=_eta,
    ),
    Column(
        name="rate", title="proofs/h", width=11, right=True,
        key=lambda r: r.proofs_per_hour, cell=_rate,
    ),
    Column(
        name="cost", title="$/h", width=5, right=True,
        key=lambda r: r.cost_per_hour, cell=_cost,
    ),
    Column(
        name="proof", title="$/proof", width=7, right=True,
        key=lambda r: r.cost_per_proof, cell=_proof,
    ),
    Column(
        name="spent", title="$ spent", width=8, right=True,
        key=lambda r: r.spent, cell=_spent,
    ),
    Column(
        name="util", title="GPU% temp", width=9, right=True,
        key=lambda r: r.gpu_util, cell=_load,
    ),
    Column(
        name="age", title="log", width=5, right=True,
        key=lambda r: None if r.newest_byte_at is None else -r.newest_byte_at, cell=_byte_age,
    ),
    Column(
        name="trend", title="trend 6 h", width=12, right=True,
        key=lambda r: r.proofs_per_hour, cell=_trend,
    ),
    Column(
        name="machine", title="machine", width=9,
        key=lambda r: None if r.machine_id is None else float(r.machine_id),
        cell=_text_cell(lambda r: r.machine_id),
    ),
    Column(
        name="region", title="region", width=14, key=lambda r: r.geolocation,
        cell=_text_cell(lambda r: r.geolocation),
    ),
    Column(
        name="status", title="Vast says", width=10, key=lambda r: r.api_status,
        cell=_text_cell(lambda r: r.api_status),
    ),
    Column(
        name="odd", title="odd row", width=14, key=lambda r: r.odd, cell=_odd,
    ),
    Column(
        name="ssh", title="SSH", width=12, key=lambda r: r.ssh.value,
        cell=_text_cell(lambda r: SSH_WORDS[r.ssh]),
    ),
    Column(
        name="finding", title="finding", width=16, flexible=True,
        key=_finding_key, cell=_finding,
    ),
)  # fmt: skip
ALWAYS = frozenset({"id", "stage", "finding"})
BY_NAME = {column.name: column for column in COLUMNS}
SQUEEZED = {"rate": 8, "progress": 5, "gpu": 11, "label": 10}
"""Widths of columns that can also be drawn shorter."""
ARRANGED = (
    "id", "stage", "finding", "rate", "gpu", "progress", "cost", "label", "age", "proof", "util",
    "rate", "gpu", "eta", "in", "label", "progress", "trend",
)  # fmt: skip
"""Who gets room in turn: squeezed the first time, whole the second time."""
SHOWN = tuple(column.name for column in COLUMNS if column.name in ARRANGED)
"""What is shown, in order, while the operator chose nothing."""
GAP = 1


class Layout(msgspec.Struct, frozen=True):
    """Which columns a table of a given width shows, each with its width."""

    width: int
    columns: tuple[tuple[Column, int], ...]
    hidden: int = 0
    """How many chosen columns have no room (they are reached sideways when wide)."""


def layout(width: int, names: Sequence[str] = (), *, wide: bool = False, skip: int = 0) -> Layout:
    """Choose the columns for `width` cells: as many as fit squeezed, then widened.

    `names` are the operator's columns in order (default: our own choice). When `wide`, columns
    have their whole width, the first `skip` of them after the id are scrolled out on the left.
    """
    chosen_names = [name for name in names or SHOWN if name in BY_NAME]
    if "id" not in chosen_names:
        chosen_names.insert(0, "id")
    if wide:
        return _wide(width, chosen_names if names else [c.name for c in COLUMNS], skip)
    usable = max(width - 2, 0)
    chosen: dict[str, int] = {}
    turns = [name for name in ARRANGED if name in chosen_names]
    turns += [name for name in chosen_names if name not in ARRANGED]
    for name in turns:
        column = BY_NAME[name]
        spare = usable - sum(chosen.values()) - GAP * max(len(chosen) - 1, 0)
        if name in chosen:
            chosen[name] += max(min(column.width - chosen[name], spare), 0)
            continue
        least = SQUEEZED.get(name, column.width)
        if least + GAP <= spare or name in ALWAYS:
            chosen[name] = least
    kept = [(BY_NAME[name], chosen[name]) for name in chosen_names if name in chosen]
    spare = usable - sum(size for _, size in kept) - GAP * (len(kept) - 1)
    if spare < 0:
        kept = _shrink(kept, -spare)
        spare = 0
    widened = []
    for column, size in kept:
        extra = 0
        if column.name == "label" and spare > 12:
            extra = min(8, spare // 4)
        widened.append((column, size + extra))
        spare -= extra
    return Layout(
        width,
        tuple((column, size + (spare if column.flexible else 0)) for column, size in widened),
        len(chosen_names) - len(kept),
    )


def _wide(width: int, names: Sequence[str], skip: int) -> Layout:
    first, rest = names[0], names[1:]
    skip = min(max(skip, 0), max(len(rest) - 1, 0))
    room = max(width - 2, 0)
    shown: list[tuple[Column, int]] = []
    left = [first, *rest[skip:]]
    for place, name in enumerate(left):
        column = BY_NAME[name]
        wanted = column.width + (60 if column.flexible else 0)
        size = min(wanted, room)
        if size < min(column.width, 5):
            return Layout(width, tuple(shown), len(left) - place)
        shown.append((column, size))
        room -= size + GAP
    return Layout(width, tuple(shown), 0)


def _shrink(kept: list[tuple[Column, int]], lacking: int) -> list[tuple[Column, int]]:
    """Take cells from the rightmost columns of a table that is too narrow for its core."""
    result: list[tuple[Column, int]] = []
    for column, size in reversed(kept):
        taken = min(lacking, size)
        lacking -= taken
        result.append((column, size - taken))
    return list(reversed(result))
