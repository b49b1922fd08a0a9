"""Where the store may lie, and what it says of files that it cannot use."""

import asyncio
import sqlite3
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.store.file_system import mounted_type, prepare_place
from fleetui.store.interface import StoreError
from fleetui.store.schema import VERSION
from fleetui.store.sqlite import SqliteStore
from store_bench import Bench, HandClock, row

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 filer:/home rw,vers=4.2
31 30 0:41 / /home/ada/local\\040disk rw - xfs /dev/sdb rw
32 22 0:42 / /mnt/share rw - cifs //filer/share rw
33 22 0:43 / /mnt/share rw - tmpfs tmpfs rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/x", "ext4"),
        ("/home/ada", "nfs4"),
        ("/homely", "ext4"),
        ("/home/ada/local disk/state", "xfs"),
        ("/mnt/share/x", "tmpfs"),
    ],
)
def test_the_nearest_mount_tells_the_type(path: str, kind: str) -> None:
    assert mounted_type(Path(path), MOUNTS) == kind


@given(st.text())
def test_any_mount_table_is_survived(text: str) -> None:
    mounted_type(Path("/x"), text)


def test_a_network_disk_is_refused_with_what_to_do(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"30 22 0:40 / {tmp_path} rw - nfs4 filer:/home rw\n")
    with pytest.raises(StoreError, match=r"network file system \(nfs4\).*--state-dir.*ssh"):
        prepare_place(tmp_path / "state" / "fleet.db", table)
    assert not (tmp_path / "state").exists()


async def test_a_second_opening_leaves_the_first_its_locks(bench: Bench, path: Path) -> None:
    await bench.publish(rows=[row(1)])
    second = await SqliteStore.open(path, clock=HandClock(), viewer=True)
    log = path.with_name(f"{path.name}-wal")
    before = log.stat().st_ino
    # Without the locks another process takes itself for the last one and removes the log.
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        " print(c.execute('SELECT count(*) FROM fleet_row').fetchone()[0]); c.close()"
    )
    for rows in (1, 2):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, path, stdout=asyncio.subprocess.PIPE
        )
        counted, _ = await process.communicate()
        assert int(counted) == rows
        assert log.stat().st_ino == before
        await bench.publish(rows=[row(2)])
    assert len((await second.fleet()).rows) == 2
    await second.close()


async def test_only_the_owner_may_look(bench: Bench, path: Path) -> None:
    await bench.publish(rows=[row(1)])
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for file in path.parent.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file.name


def test_an_open_file_is_closed_to_others(path: Path) -> None:
    path.parent.mkdir()
    path.touch(0o644)
    prepare_place(path)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="--state-dir"):
        await SqliteStore.open(tmp_path / "file" / "fleet.db", clock=HandClock())


@pytest.mark.parametrize(
    ("version", "word"), [(VERSION + 1, "newer FleetUI"), (0, "making did not end")]
)
@pytest.mark.parametrize("viewer", [True, False])
async def test_another_version_is_refused(
    path: Path, version: int, word: str, viewer: bool
) -> None:
    bench = await Bench.open(path)
    await bench.store.close()
    raw = sqlite3.connect(path)
    raw.execute(f"PRAGMA user_version = {version}")
    raw.close()
    with pytest.raises(StoreError, match=word):
        await SqliteStore.open(path, clock=HandClock(), viewer=viewer)


async def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE theirs (x)")
    raw.close()
    with pytest.raises(StoreError, match="another program"):
        await SqliteStore.open(path, clock=HandClock())


def test_a_file_that_is_no_database_says_what_to_do(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is not a database at all" * 100)
    with pytest.raises(StoreError, match=r"damaged.*move it away"):
        asyncio.run(use_everything(path))


def test_a_damaged_page_says_what_to_do(path: Path) -> None:
    asyncio.run(fill(path))
    content = bytearray(path.read_bytes())
    content[4096 * 4 :] = b"\x5a" * (len(content) - 4096 * 4)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged.*move it away"):
        asyncio.run(use_everything(path))


async def fill(path: Path) -> None:
    bench = await Bench.open(path)
    await bench.publish(rows=[row(number) for number in range(2000)])
    await bench.store.close()


async def use_everything(path: Path) -> None:
    store = await SqliteStore.open(path, clock=HandClock())
    try:
        await store.fleet()
        await store.take_lease("x", 5.0)
        await store.events()
    finally:
        await store.close()


async def test_two_may_make_it_at_once(path: Path) -> None:
    stores = await asyncio.gather(
        *(SqliteStore.open(path, clock=HandClock(), viewer=number % 2 == 0) for number in range(6))
    )
    for store in stores:
        assert (await store.fleet()).rows == ()
        await store.close()


async def test_a_closed_store_says_so(path: Path) -> None:
    bench = await Bench.open(path)
    await bench.store.close()
    await bench.store.close()
    with pytest.raises(StoreError, match="closed"):
        await bench.store.fleet()
