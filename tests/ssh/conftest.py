from collections.abc import Iterator
from pathlib import Path

import pytest

from openssh import Sshd, serving


@pytest.fixture(scope="module")
def shared_sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """Serve a whole module; for tests that leave the server alone."""
    with serving(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """Serve one test, which may stop it or change its keys."""
    folder = tmp_path / "sshd"
    folder.mkdir()
    with serving(folder) as server:
        yield server
