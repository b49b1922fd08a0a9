"""The frame parser: exact over any split, and clear about what is no frame."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.ssh.frames import (
    Beat,
    BeyondFrame,
    FileFrame,
    Frame,
    FrameError,
    FrameParser,
    GoneFrame,
    LostFrame,
)

PATHS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=20).map(
    lambda name: f"/tmp/{name}"
)
IDENTITIES = st.tuples(st.integers(10, 99), st.integers(0, 9999), st.integers(0, 2**31)).map(
    lambda parts: ":".join(str(part) for part in parts)
)


@st.composite
def file_frames(draw: st.DrawFn) -> FileFrame:
    before = draw(st.binary(max_size=40))
    data = draw(st.binary(max_size=200))
    offset = len(before) + draw(st.integers(0, 10**12))
    return FileFrame(
        path=draw(PATHS),
        identity=draw(IDENTITIES),
        size=offset + len(data) + draw(st.integers(0, 1000)),
        offset=offset,
        before=before,
        data=data,
        whole=draw(st.booleans()),
    )


FRAMES = st.lists(
    st.one_of(
        file_frames(),
        st.builds(GoneFrame, PATHS, IDENTITIES),
        st.builds(LostFrame, PATHS, IDENTITIES, st.integers(0, 10**18 - 1)),
        st.builds(BeyondFrame, st.integers(0, 10**18 - 1)),
        st.just(Beat()),
    ),
    max_size=8,
)


def written(frame: Frame) -> bytes:
    """Write a frame as follow.sh does."""
    if isinstance(frame, Beat):
        return b"@beat\n"
    if isinstance(frame, BeyondFrame):
        return b"@beyond %d\n" % frame.count
    if isinstance(frame, GoneFrame):
        return f"@gone {frame.identity} {frame.path}\n".encode()
    if isinstance(frame, LostFrame):
        return f"@lost {frame.identity} {frame.unread} {frame.path}\n".encode()
    numbers = f"{frame.size} {frame.offset} {len(frame.before)} {len(frame.data)}"
    header = f"@file {frame.identity} {numbers} {frame.path}\n".encode()
    end = f"{frame.identity} {frame.size}" if frame.whole else f"9:9:9 {frame.size}"
    return header + frame.before + frame.data + f"\n@end {end}\n".encode()


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    points = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *points], [*points, len(data)], strict=True)]


@given(FRAMES, st.lists(st.integers(0, 10**6), max_size=30), st.binary(max_size=100))
def test_any_split_gives_the_same_frames(
    frames: list[Frame], cuts: list[int], noise: bytes
) -> None:
    noise = noise.replace(b"@", b"#")
    stream = noise + b"\n@follow 1\n" + b"".join(written(frame) for frame in frames)
    parser = FrameParser(length_limit=10_000)
    got = [frame for part in split(stream, cuts) for frame in parser.feed(part)]
    assert got == frames
    assert parser.refused == 0


@given(st.binary(max_size=400), st.lists(st.integers(0, 10**6), max_size=5))
def test_garbage_fails_clearly_or_gives_nothing(garbage: bytes, cuts: list[int]) -> None:
    parser = FrameParser(length_limit=1000)
    parser.feed(b"@follow 1\n")
    words = ""
    try:
        for part in split(garbage, cuts):
            parser.feed(part)
    except FrameError as error:
        words = str(error)
    assert words.isprintable()


@pytest.mark.parametrize(
    "stream",
    [
        b"@follow 1\nhello\n",
        b"@follow 1\n@file 1:2:3 5 0 0 notanumber /tmp/a\n",
        b"@follow 1\n@file 1:2:3 5 0 0 99999999 /tmp/a\n",
        b"@follow 1\n@file 1:2:3 5 0 9 1 /tmp/a\n",
        b"@follow 1\n@file 1:2:3 5 0 0 5 /tmp/a\nhelloX@end 1:2:3 5\n",
        b"@follow 1\n@file 1:2:3 5 0 0 5 /tmp/a\nhello\n@beat\n",
        b"@follow 1\n@beyond many\n",
        b"@follow 1\n" + b"x" * 9000,
        b"no shell here " * 6000,
        b"@error this host has no stat that takes -c\n",
    ],
)
def test_what_is_no_frame_is_an_error(stream: bytes) -> None:
    with pytest.raises(FrameError):
        FrameParser(length_limit=1000).feed(stream)


def test_paths_that_cannot_be_named_again_are_read_over() -> None:
    parser = FrameParser(length_limit=1000)
    frames = parser.feed(
        b"@follow 1\n@file 1:2:3 2 0 0 2 /tmp/\xff\nhi\n@end 1:2:3 2\n"
        b"@gone 1:2:3 /tmp/\x1b[31m\n@gone 1:2:3 /tmp/\x1b[31m\n@beat\n"
    )
    assert frames == [Beat()]
    assert parser.refused == 2


def test_a_file_that_changed_during_the_read_does_not_count() -> None:
    parser = FrameParser(length_limit=1000)
    ends = (b"1:2:3 5", b"1:2:3 7", b"1:2:3 4", b"1:9:3 5", b"")
    stream = b"".join(b"@file 1:2:3 5 0 0 5 /tmp/a\nhello\n@end %s\n" % end for end in ends)
    frames = parser.feed(b"@follow 1\n" + stream)
    assert [frame.whole for frame in frames if isinstance(frame, FileFrame)] == [
        True, True, False, False, False,
    ]  # fmt: skip
