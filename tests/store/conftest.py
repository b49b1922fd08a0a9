from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from store_bench import Bench


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "fleet.db"


@pytest.fixture
async def bench(path: Path) -> AsyncIterator[Bench]:
    bench = await Bench.open(path)
    yield bench
    await bench.store.close()
