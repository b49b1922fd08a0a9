"""Rules on lines, and the raw search that finds their candidates."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetui.domain.text import sanitise
from fleetui.logs.decoder import SegmentDecoder
from fleetui.logs.matcher import Matcher
from fleetui.logs.scanner import Hit, Scanner
from fleetui.logs.strip import strip_line
from fleetui.logs.timestamps import stamp_of
from fleetui.profiles.loader import load
from fleetui.profiles.model import Rule
from fleetui.profiles.patterns import compile_pattern
from fleetui.profiles.tokens import SELECTIVE, raw_tokens

RULES = [
    Rule(id="pipe", kinds=frozenset({"bench"}), any=("broken pipe",), unless=("ignored",)),
    Rule(
        id="done",
        kinds=frozenset({"*"}),
        any=("partition GPU prove complete",),
        pattern=compile_pattern(r"partition=(?P<partition>\d+)(?: gpu_ms=(?P<ms>\d+))?"),
    ),
    Rule(id="key", kinds=frozenset({"*"}), any=("proof assembled job_id=",)),
    Rule(id="killed", kinds=frozenset({"*"}), any=("rc=137", "(137)")),
]
SLOW = [
    *RULES,
    Rule(id="any", kinds=frozenset({"*"}), any=(), pattern=compile_pattern("n[oe]")),
    Rule(id="marks", kinds=frozenset({"*"}), any=(": :",)),
]
PARTITION = (
    b"\x1b[2m2026-03-12T07:05:30.582640Z\x1b[0m \x1b[32m INFO\x1b[0m \x1b[2mcuzk_core::engine"
    b"\x1b[0m\x1b[2m:\x1b[0m partition GPU prove complete \x1b[3mpartition\x1b[0m\x1b[2m=\x1b[0m7"
)


def naive(rules: list[Rule], kind: str, text: str) -> list[str]:
    lowered = text.lower()
    return [
        rule.id
        for rule in rules
        if rule.reads(kind)
        and (not rule.any or any(word.lower() in lowered for word in rule.any))
        and not any(word.lower() in lowered for word in rule.unless)
        and (rule.pattern is None or rule.pattern.search(text) is not None)
    ]


def test_fields_are_the_groups_that_took_part() -> None:
    (match,) = Matcher(RULES).match("daemon", strip_line(PARTITION))
    assert (match[0].id, match[1]) == ("done", {"partition": "7"})


def test_kind_case_and_unless_are_heeded() -> None:
    matcher = Matcher(RULES)
    assert [rule.id for rule, _ in matcher.match("bench", "A BROKEN Pipe")] == ["pipe"]
    assert matcher.match("curio", "a broken pipe") == []
    assert matcher.match("bench", "a broken pipe, ignored") == []


def test_a_literal_written_twice_matches_a_line_once() -> None:
    rule = Rule(id="x.y", kinds=frozenset({"log"}), any=("Hugepage", "hugepage"))
    assert [found.id for found, _ in Matcher((rule,)).match("log", "no hugepage left")] == ["x.y"]


def test_tokens_avoid_what_programs_colour() -> None:
    assert raw_tokens("proof assembled job_id=") == (b"proof assembled",)
    assert raw_tokens("ERROR failed to bind") == (b"failed to bind",)
    assert raw_tokens("cuzk_server::service: Prove ") == (b"cuzk_server",)
    assert raw_tokens(" CN:") == (b"cn:", b"cn\x1b")
    assert raw_tokens("rc=137") == (b"=137", b"m137", b"k137")
    assert raw_tokens(" : ") == ()


def test_every_literal_of_the_profiles_is_searched_before_decoding() -> None:
    for name in ("cuzk", "generic"):
        for rule in load(name).rules:
            assert rule.any, rule.id
            for literal in rule.any:
                assert min(map(len, raw_tokens(literal))) >= SELECTIVE - 1, (rule.id, literal)


HEADS = st.sampled_from(
    [
        b"",
        b"2026-03-12T07:04:18Z ",
        b"\x1b[2m2026-03-12T07:09:18.5Z\x1b[0m ",
        b"[entrypoint] 2026-03-12 07:00:04 ",
        b"03/12 07:00:08 [",
        b"12/31 07:00:08 [",
        b"1999-03-12T07:04:18Z ",
    ]
)
BODIES = st.sampled_from(
    [
        b"",
        b"nothing here",
        PARTITION,
        b"stream closed because of a broken pipe",
        b"broken pipe, ignored",
        b"proof assembled \x1b[3mjob_id\x1b[0m\x1b[2m=\x1b[0mx",
        b"BROKEN PIPE \xe2\x80\x94 \xff",
        b"broken",
        b" pipe",
        b"a broken\tpipe",
        b"exit \x1b[3mrc\x1b[0m\x1b[2m=\x1b[0m137 or rc=1370",
        b"killed (137)",
        b"nothing: : but 137",
    ]
)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\r\n"])
LOGS = st.lists(st.tuples(HEADS, BODIES, ENDS).map(b"".join), max_size=30).map(b"".join)


def plainly(
    data: bytes, rules: list[Rule]
) -> list[tuple[str, int, int, str, float | None, float | None]]:
    """The same by the plain decoder, line by line."""
    decoder = SegmentDecoder()
    last: float | None = None
    found = []
    for segment in decoder.feed(data):
        stamp = stamp_of(segment.raw[:96], 0.0)
        text = sanitise(segment.raw)
        found += [
            (rule, segment.line, segment.offset, str(text), stamp, None if stamp else last)
            for rule in naive(rules, "bench", text)
        ]
        last = stamp if stamp is not None else last
    return found


def quickly(
    parts: list[bytes], rules: list[Rule] = RULES
) -> list[tuple[str, int, int, str, float | None, float | None]]:
    matcher = Matcher(rules).for_kind("bench")
    scanner = Scanner(matcher)
    hits: list[Hit] = [item for part in parts for item in scanner.feed(part, 0.0)]
    return [
        (rule.id, item.line, item.offset, str(item.text), item.stamp, item.inherited)
        for item in hits
        for rule, _ in item.matches
    ]


@pytest.mark.parametrize("rules", [RULES, SLOW], ids=["searched first", "every line"])
@given(data=LOGS, places=st.lists(st.integers(0, 5000), max_size=12))
def test_the_quick_path_finds_exactly_what_the_plain_one_does(
    rules: list[Rule], data: bytes, places: list[int]
) -> None:
    data += b"x"  # an undecided carriage return at the very end is decided by any next byte
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    parts = [data[low:high] for low, high in pairwise(edges)]
    assert quickly(parts, rules) == quickly([data], rules) == plainly(data, rules)


@given(LOGS, st.lists(st.integers(0, 5000), max_size=8))
def test_line_count_and_tail_do_not_depend_on_the_split(data: bytes, places: list[int]) -> None:
    def ends(parts: list[bytes]) -> tuple[int, object, float | None, float | None]:
        scanner = Scanner(Matcher(RULES).for_kind("bench"))
        for part in parts:
            scanner.feed(part, 0.0)
        return scanner.lines, scanner.tail, scanner.first_stamp, scanner.last_stamp

    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    parts = [data[low:high] for low, high in pairwise(edges)]
    assert ends(parts) == ends([data])


def test_an_overlong_redraw_is_cut_and_what_follows_keeps_its_place() -> None:
    head = b"broken pipe " + b"x" * 200_000
    data = head + b"\r" + PARTITION + b"\nnext broken pipe\n"
    for step in (len(data), 1000, 65_536):
        parts = [data[low : low + step] for low in range(0, len(data), step)]
        found = [(rule, line, offset) for rule, line, offset, *_ in quickly(parts)]
        assert found == [
            ("pipe", 1, 0),
            ("done", 1, 0),
            ("pipe", 2, len(head) + len(PARTITION) + 2),
        ]


def test_what_comes_long_after_an_overlong_redraw_keeps_its_place() -> None:
    parts = [b"x" * 200_000, b"x" * 70_000 + b"\n", b"nothing\n", b"nothing\nbroken pipe\n"]
    ((_, line, offset, *_),) = quickly(parts)
    assert (line, offset) == (4, b"".join(parts).index(b"broken"))
    ((_, line, offset, *_),) = quickly([*parts[:3], b"broken ", b"pipe\n"])
    assert (line, offset) == (3, len(b"".join(parts[:3])))
