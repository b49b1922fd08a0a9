"""Fixtures of the stories that cross processes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from terminal import Tmux


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    terminal = Tmux()
    yield terminal
    terminal.end()


@pytest.fixture
def quiet_environment(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home, a temporary folder of its own, and no keys."""
    (tmp_path / "home").mkdir()
    (tmp_path / "tmp").mkdir()
    kept = ("PATH", "LANG", "LC_ALL", "TERM", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    return environment | {
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "LANG": "C.UTF-8",
    }
