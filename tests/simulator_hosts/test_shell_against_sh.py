"""The pretend shell does what /bin/sh does."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleetui.simulator.hosts.host import Host
from pretend_host import Ran, make_host, run

SNIPPETS = Path(__file__).parent / "snippets.txt"


@pytest.fixture(scope="module")
def host() -> Host:
    """Return a quiet host."""
    made, _ = make_host("boot", 100)
    return made


def real(text: str, *args: str) -> Ran:
    """Run a program in the real shell."""
    done = subprocess.run(
        ["/bin/sh", "-c", text, "sh", *args],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        timeout=20,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


async def agree(host: Host, text: str, *args: str) -> None:
    """Both shells print the same and end the same."""
    theirs, ours = real(text, *args), await run(host, f"cd /\n{text}", args=args)
    assert (ours.status, ours.stdout) == (theirs.status, theirs.stdout), (text, ours.stderr)


@pytest.mark.parametrize("text", SNIPPETS.read_text("utf-8").split("\n@@\n"))
async def test_known_programs(host: Host, text: str) -> None:
    await agree(host, text)


WORDS = st.text(st.sampled_from("ab *?[]'\"\\$`;&|<>(){}~#!-=%./:\t\n"), max_size=8)
VALUES = st.text(st.sampled_from("abcx./: -_0 \t"), max_size=9)
OPERATORS = [*"+-*/%<>&|^", "<=", ">=", "==", "!=", "&&", "||"]
PATTERNS = st.text(st.sampled_from("ab*?./x:"), min_size=1, max_size=4)


def quote(text: str) -> str:
    """Quote for any POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"


QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(words=st.lists(WORDS, max_size=5))
async def test_quoted_words_arrive_whole(host: Host, words: list[str]) -> None:
    text = "for i in " + " ".join(map(quote, words)) + "; do printf '<%s>' \"$i\"; done"
    await agree(host, text)


@QUICK
@given(args=st.lists(WORDS, max_size=4))
async def test_positional_parameters(host: Host, args: list[str]) -> None:
    text = 'printf "%s," "$#" "$@" "$*" "${2:-none}" "${1+set}"; for a; do printf "[%s]" "$a"; done'
    await agree(host, text, *args)


@QUICK
@given(value=VALUES, separators=st.sampled_from([" \t\n", ":", ": ", "/.", ""]))
async def test_fields_are_split_alike(host: Host, value: str, separators: str) -> None:
    text = (
        f"IFS={quote(separators)}; v={quote(value)}; set -f; "
        "for i in $v; do printf '<%s>' \"$i\"; done"
    )
    await agree(host, text)


@QUICK
@given(value=VALUES, pattern=PATTERNS, op=st.sampled_from(["#", "##", "%", "%%"]))
async def test_prefixes_and_suffixes_are_stripped_alike(
    host: Host, value: str, pattern: str, op: str
) -> None:
    text = (
        f"v={quote(value)}; p={quote(pattern)}; printf '%s|%s|%s' \"${{v{op}$p}}\""
        f' "${{v{op}"$p"}}" "${{#v}}"; case $v in $p) echo yes ;; *) echo no ;; esac'
    )
    await agree(host, text)


@QUICK
@given(
    left=st.integers(-50, 50),
    right=st.integers(1, 50),
    op=st.sampled_from(
        ["+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||"]
    ),
)
async def test_arithmetic(host: Host, left: int, right: int, op: str) -> None:
    await agree(host, f"a={left} b={right}; echo $((a {op} b)) $(( (a) {op} $b + 1 ))")


LINES = st.lists(st.text(st.sampled_from("abc 12:"), max_size=6), max_size=8)
FILTERS = st.sampled_from(
    [
        "cat",
        "head -n 2",
        "tail -n 2",
        "tail -n +2",
        "head -c 5",
        "tail -c 4",
        "tail -c +3",
        "wc -l",
        "wc -c",
        "sort",
        "sort -r",
        "sort -u",
        "sort -n",
        "uniq",
        "uniq -c",
        "cut -d: -f1",
        "cut -c2-3",
        "tr a-c x",
        "tr -d '1 '",
        "tr -s b",
        "grep a",
        "grep -v b",
        "grep -c c",
        "grep -n '^a'",
        "grep -E 'a|2'",
        "grep -q b && echo found",
        "sed -n 2,3p",
        "sed 's/a/[&]/g'",
        "sed 1d",
        '{ read -r x y; printf \'%s+%s\' "$y" "$x"; }',
        "while read -r l; do printf '(%s)' \"$l\"; done",
    ]
)


@QUICK
@given(lines=LINES, filters=st.lists(FILTERS, min_size=1, max_size=3))
async def test_pipelines(host: Host, lines: list[str], filters: list[str]) -> None:
    source = "printf '%s\\n' " + " ".join(map(quote, lines)) if lines else ":"
    await agree(host, f"{source} | {' | '.join(filters)}")


@QUICK
@given(text=st.text(st.sampled_from("ab'\"\\$`;&|<>(){} \n#!="), max_size=14))
async def test_no_text_breaks_the_shell(host: Host, text: str) -> None:
    ran = await run(host, text)
    assert 0 <= ran.status <= 255
