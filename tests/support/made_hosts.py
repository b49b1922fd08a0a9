"""Kept hosts made from the samples by editing their logs and probes."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleetui.reports.diagnose import diagnose_folder

HOSTS = Path(__file__).parent.parent / "data" / "hosts"


class MadeHost:
    """A copy of a sample host in `folder`, without its timing, to be edited."""

    def __init__(self, folder: Path, sample: str) -> None:
        self.folder = folder / "host"
        shutil.copytree(HOSTS / sample, self.folder)
        for name in ("replay.json", "expected.json"):
            (self.folder / name).unlink(missing_ok=True)

    def path(self, name: str) -> Path:
        """Return where a file of the host (absolute there) lies in the copy."""
        return self.folder / "fs" / name.lstrip("/")

    def append(self, name: str, *lines: str) -> "MadeHost":
        """Append lines to a log."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(line + "\n" for line in lines)
        return self

    def cut(self, name: str, before: str) -> "MadeHost":
        """Drop everything of a log from the first line that holds `before`."""
        data = self.path(name).read_bytes()
        at = data.index(before.encode())
        self.path(name).write_bytes(data[: data.rfind(b"\n", 0, at) + 1])
        return self

    def remove(self, name: str) -> "MadeHost":
        """Remove a log."""
        self.path(name).unlink()
        return self

    def probe(self, **sections: str) -> "MadeHost":
        """Write probe outputs; `_` stands for `.` in a name, except in `nvidia_smi`."""
        for name, text in sections.items():
            file = {"nvidia_smi": "nvidia-smi.csv"}.get(name, name.replace("_", "."))
            for old in (self.folder / "probe").glob(file.removesuffix(".csv") + "*"):
                old.unlink()
            (self.folder / "probe" / file).write_text(text)
        return self

    def findings(self) -> list[Mapping[str, Any]]:
        """Diagnose it as an inquest does."""
        found: list[Mapping[str, Any]] = diagnose_folder(self.folder)["findings"]
        return found
