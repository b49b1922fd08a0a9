"""The parameter fetcher without aria2: one bar at a time, which names no file."""

from hypothesis import given, settings
from hypothesis import strategies as st

from fleetui.profiles.loader import load
from fleetui.reading.download import Download

PROFILE = load("cuzk")
FILES = [path for path in PROFILE.file_sizes if path.endswith(".params")]
GIB = 2.0**30


def bar(done: float, total: float) -> dict[str, str]:
    return {
        "done": f"{done / GIB:.2f} GiB",
        "total": f"{total / GIB:.2f} GiB",
        "percent": f"{100 * done / total:.2f}",
        "speed": "380.80 MiB",
    }


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(FILES), min_size=1, max_size=5, unique=True),
    st.lists(st.floats(0, 1), max_size=8),
)
def test_each_file_keeps_what_was_fetched_of_it(names: list[str], steps: list[float]) -> None:
    download = Download(PROFILE)
    at, checked = 0.0, 0.0
    for name in names:
        path = f"/var/tmp/filecoin-proof-parameters/{name}"
        total = PROFILE.size_of(path) or 0.0
        download.take("file_wanted", {"path": path}, at)
        for step in [*sorted(steps), 1.0]:
            at += 6.0
            download.take("file_progress", bar(step * total, total), at)
            progress = download.progress(at)
            assert progress is not None
            assert progress.total is not None
            assert checked <= progress.done <= progress.total
            assert all(part.total is None or part.done <= part.total for part in progress.parts)
        progress = download.progress(at)
        assert progress is not None
        assert progress.what == "checksums"
        assert progress.parts[-1].state == "fetched"
        download.take("file_checked", {"path": path}, at + 30.0)
        checked += total
    progress = download.progress(at)
    assert progress is not None
    assert (progress.done, progress.total) == (checked, checked)
    assert {part.state for part in progress.parts} == {"ok"}


def test_a_file_that_is_fetched_again_begins_anew() -> None:
    download = Download(PROFILE)
    path = f"/p/{FILES[0]}"
    total = PROFILE.size_of(path) or 0.0
    for at in (0.0, 100.0):
        download.take("file_wanted", {"path": path}, at)
        download.take("file_progress", bar(total / 4, total), at + 1)
        progress = download.progress(at + 1)
        assert progress is not None
        assert progress.parts[0].state == "loading"
        assert progress.done < total / 3
        download.take("file_progress", bar(total, total), at + 2)


@given(st.text("0123456789.", max_size=6), st.text("0123456789.", max_size=6), st.integers(0, 999))
def test_no_file_is_more_than_whole(done: str, total: str, percent: int) -> None:
    download = Download(PROFILE)
    fields = {"gid": "aaaaaa", "done": f"{done}TiB", "total": f"{total}GiB"}
    download.take("file_progress", {**fields, "percent": str(percent)}, 1.0)
    progress = download.progress(1.0)
    assert progress is not None
    for part in progress.parts:
        assert part.total is None or 0 <= part.done <= part.total
