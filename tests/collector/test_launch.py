"""A console finds a collector running, or starts one that outlives it."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from fleetui.collector.launch import CollectorLaunchError, ensure_collector
from fleetui.config import Settings
from terminal import alive, wait_until


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with an API that refuses connections, and no key of the machine's."""
    for name in [name for name in os.environ if name.startswith(("VAST_", "FLEETUI_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Settings(state_dir=tmp_path / "state", api_url="http://127.0.0.1:9")


def collectors(folder: Path) -> list[int]:
    """Return the pids of collectors of this state folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"collect" in words and str(folder).encode() in words and alive(int(entry.name)):
                    found.append(int(entry.name))
    return found


def test_starts_one_detached_and_only_one(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "key-that-must-not-be-written"
    monkeypatch.setenv("VAST_API_KEY", secret)
    try:
        ensure_collector(settings)
        (pid,) = collectors(settings.state_dir)
        ensure_collector(settings)
        assert collectors(settings.state_dir) == [pid]
        assert os.getsid(pid) != os.getsid(0)
        assert settings.collector_log_path.stat().st_mode & 0o777 == 0o600
    finally:
        for pid in collectors(settings.state_dir):
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not collectors(settings.state_dir), "the collector ended")
    for path in settings.state_dir.iterdir():
        assert secret.encode() not in path.read_bytes(), path


def test_says_why_it_cannot_start(settings: Settings) -> None:
    with pytest.raises(CollectorLaunchError, match="no Vast API key; looked at"):
        ensure_collector(settings)
    assert not collectors(settings.state_dir)
